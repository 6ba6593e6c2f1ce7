"""The shape of a protocol: which keys and sections it has, and of which type their values are.

It is read strictly: a key it may not have is an error that names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replical.core.canonical import is_digest
from replical.errors import BadProtocol
from replical.lab.names import LONGEST, is_name
from replical.lab.quantiles import check_quantiles
from replical.lab.signatures import is_public_key
from replical.lab.yardstick import check_section
from replical.plans.parameters import PARAMETERS

SCHEMA = "replical.protocol/1"
PLAIN = ("schema", "title", "notes", "seed", "register", "beacon")
SECTIONS = ("class", "labels", "prior", "yardstick", "learner", "labs")
TOP = (*PLAIN, *SECTIONS)
_LABELS = ("values", "weights", "abstain", "price")
_CANDIDATE = ("name", "digest", "weight")
# What a value in a file must be, by the kind of its parameter.
_KINDS: dict[str, tuple[str, Any]] = {
    "share": ("number", int | float),
    "number": ("number", int | float),
    "count": ("whole number", int),
    "word": ("text", str),
}


def check_shape(content: Mapping[str, Any]) -> None:
    """The shape: which keys there are, and of which type."""
    for key in content:
        if key not in TOP:
            raise BadProtocol(f"a protocol has no key {key!r}; it has {', '.join(TOP)}")
    if content.get("schema") != SCHEMA:
        raise BadProtocol(f"schema must be {SCHEMA!r}, got {content.get('schema')!r}")
    for key in ("seed", "class", "labels", "learner"):
        if key not in content:
            raise BadProtocol(f"the key {key!r} is missing")
    for key in ("title", "notes", "seed", "beacon"):
        if not isinstance(content.get(key, ""), str):
            raise BadProtocol(f"{key} must be a text, got {content[key]!r:.40}")
    if not content["seed"].strip():
        raise BadProtocol("seed is empty: publish a text that nobody could choose after seeing data")
    _check_registration(content)
    for key in SECTIONS:
        if not isinstance(content.get(key, {}), Mapping):
            raise BadProtocol(f"{key} must be a section [{key}], got {content[key]!r:.40}")
    _check_labels(content["labels"])
    _check_learner(content["learner"])
    _check_candidates(content["class"])
    check_quantiles(content["class"])
    if "yardstick" in content:
        check_section(content["yardstick"])
    if "labs" in content:
        _check_labs(content["labs"])


def _check_registration(content: Mapping[str, Any]) -> None:
    if not isinstance(content.get("register", True), bool):
        raise BadProtocol(f"register must be true or false, got {content['register']!r:.40}")
    if not content.get("beacon", "named").strip():
        raise BadProtocol("beacon is empty: name a public value that will exist after all labs have registered")
    if "beacon" in content and content.get("register") is False:
        raise BadProtocol("with a beacon every lab registers before it is drawn: leave out register = false")


def _check_labels(section: Mapping[str, Any]) -> None:
    for key in section:
        if key not in _LABELS:
            raise BadProtocol(f"[labels] has no key {key!r}; it has {', '.join(_LABELS)}")
    if not isinstance(section.get("values"), list):
        raise BadProtocol("[labels] lists the labels in their public order: values = [..]")
    if any(isinstance(value, bool) or not isinstance(value, str | int) for value in section["values"]):
        raise BadProtocol(f"labels must be texts or whole numbers, got {section['values']!r:.60}")
    if "?" in section["values"]:
        raise BadProtocol("'?' cannot be a label: whoever labels by file writes it for items nobody can label")


def _check_labs(section: Mapping[str, Any]) -> None:
    for key in section:
        if key not in ("names", "keys"):
            raise BadProtocol(f"[labs] has no key {key!r}; it has names, and keys of labs that sign")
    names = section.get("names")
    if not isinstance(names, list) or len(names) < 2:
        raise BadProtocol(f"[labs] lists the names of two or more labs: names = [..], got {names!r:.40}")
    for number, name in enumerate(names):
        if not is_name(name):
            raise BadProtocol(
                f"a lab's name is one line of 1 to {LONGEST} characters without blanks around it, got {name!r:.90}"
            )
        if name in names[:number]:
            raise BadProtocol(f"the lab {name!r} is listed twice: give every lab a name of its own")
    if "keys" in section:
        _check_keys(section["keys"], names)


def _check_keys(keys: Any, names: list[str]) -> None:
    if not isinstance(keys, Mapping) or not keys:
        raise BadProtocol(f'keys of labs are written keys = {{ NAME = "KEY", .. }}, got {keys!r:.40}')
    owners: dict[str, str] = {}
    for name, key in keys.items():
        if name not in names:
            raise BadProtocol(f"there is a key of {name!r:.90}, which is no lab that the protocol lists")
        if not is_public_key(key):
            raise BadProtocol(
                f"the key of the lab {name!r} must be an Ed25519 public key as replical keys show prints it, got {key!r:.80}"
            )
        if (other := owners.setdefault(key, name)) != name:
            raise BadProtocol(f"the labs {other!r} and {name!r} have one key: every lab makes its own")


def _check_learner(section: Mapping[str, Any]) -> None:
    for key in section:
        if key not in ("name", "plan") and key not in PARAMETERS:
            raise BadProtocol(f"[learner] has no key {key!r}; it has {', '.join(('name', 'plan', *PARAMETERS))}")
    for key in ("name", "epsilon", "delta", "rho"):
        if key not in section:
            raise BadProtocol(f"[learner] needs the key {key!r}")
    for key, value in section.items():
        word, types = _KINDS[PARAMETERS[key].kind if key in PARAMETERS else "word"]
        if isinstance(value, bool) or not isinstance(value, types):
            raise BadProtocol(f"{key} must be a {word}, got {value!r:.40}")


def _check_candidates(section: Mapping[str, Any]) -> None:
    if section.get("kind") != "table":
        return
    listed = section.get("candidates")
    if not isinstance(listed, list) or not listed:
        raise BadProtocol("a class of kind table lists its candidates: candidates = [{ name = .. }, ..]")
    for number, candidate in enumerate(listed):
        if not isinstance(candidate, Mapping) or not isinstance(candidate.get("name"), str) or not candidate["name"]:
            raise BadProtocol(f"candidate {number} needs a name, got {candidate!r:.60}")
        for key, value in candidate.items():
            if key not in _CANDIDATE:
                raise BadProtocol(f"a candidate has no key {key!r}; it has {', '.join(_CANDIDATE)}")
            if key == "weight" and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise BadProtocol(f"the weight of {candidate['name']!r} must be a number, got {value!r:.40}")
            if key == "digest" and not is_digest(value):
                raise BadProtocol(f"the digest of {candidate['name']!r} must be written sha256:<64 hex digits>")
