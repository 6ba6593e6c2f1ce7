"""The shape of a protocol: which keys and sections it has, of which type their values are, and what some sections mean.

It is read strictly: a key it may not have is an error that names it. Names of labs are one text each, as `replical run
--lab` says them. Cuts of thresholds may be quantiles of a public table: thresholds on the real line are infinitely many,
cuts at quantiles of public rows are a finite list in their place, and the best of them errs little more than the best cut
of all if the rows are draws from the population of the labs (claim: docs/claims/finite.md).

Who is preferred says the section [handicap], of a learner that takes handicaps, or [prior], of all others. From the string,
the order or the numbers that stand there every handicap is computed again by whoever checks.

    [handicap]
    from = "order"              # or "exponentials", "weights", "cover", "zero", "values"
    order = ["svm", "forest"]   # every candidate, the most preferred first
    shortlist = 20              # only the first so many may be the answer; left out: all of them
    public = "sha256:.."        # of the public table that the order was made from, if there was one,
    public_items = 100          # its number of items
    public_column = "label"     # and the column of their labels; or, where the table had none,
    made = "active"             # how the order was made: by labels that were asked for ("active") or by the "vote",
    asked = ["p17", "p3"]       # which items were asked, in this order,
    answers = ["no", "?"]       # and what was answered, "?" by who could not say
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nextafter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.bounds.finite import quantile_loss, step
from replical.classes.base import Label
from replical.classes.recipe import Recipe
from replical.core.canonical import digest_of, is_digest
from replical.core.files import read_bytes
from replical.core.text import is_seen
from replical.errors import BadProtocol, BadTable, BadUsage, ReplicalError, ValueOutOfRange, remedy
from replical.lab.signatures import is_public_key
from replical.lab.tables import read_features
from replical.learners.catalogue import takes_handicaps
from replical.learners.handicap.handicaps import Handicaps
from replical.learners.parameters import PARAMETERS

SCHEMA = "replical.protocol/1"
PLAIN = ("schema", "title", "notes", "seed", "register", "beacon")
SECTIONS = ("class", "labels", "pool", "prior", "handicap", "learner", "labs")
TOP = (*PLAIN, *SECTIONS)
LEARNER = ("name", "plan", *(key for key in PARAMETERS if key != "shortlist"))  # which stands beside its order
_LABELS = ("values", "weights", "abstain", "price")  # or loss, and what that needs
POOL = ("group", "group_size", "group_weights", "population")
_CANDIDATE = ("name", "digest")
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
            raise BadProtocol(f"a protocol has no key {key!r}{remedy(key) or _keys_words(TOP)}")
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
    _check_pool(content.get("pool", {}))
    _check_learner(content["learner"])
    check_preference(content)
    _check_candidates(content["class"])
    check_quantiles(content["class"])
    if "labs" in content:
        _check_labs(content["labs"])


def _keys_words(keys: Sequence[str]) -> str:
    return f"; it has {', '.join(keys)}"


def _check_registration(content: Mapping[str, Any]) -> None:
    if not isinstance(content.get("register", True), bool):
        raise BadProtocol(f"register must be true or false, got {content['register']!r:.40}")
    if not content.get("beacon", "named").strip():
        raise BadProtocol("beacon is empty: name a public value that will exist after all labs have registered")
    if "beacon" in content and content.get("register") is False:
        raise BadProtocol("with a beacon every lab registers before it is drawn: leave out register = false")


def _check_labels(section: Mapping[str, Any]) -> None:
    if "loss" in section or "scores" in section:
        _check_loss(section)
        return
    for key in section:
        if key not in _LABELS:
            raise BadProtocol(f"[labels] has no key {key!r}{remedy(key) or _keys_words(_LABELS)}")
    if not isinstance(section.get("values"), list):
        raise BadProtocol("[labels] lists the labels in their public order: values = [..]")
    if any(isinstance(value, bool) or not isinstance(value, str | int) for value in section["values"]):
        raise BadProtocol(f"labels must be texts or whole numbers, got {section['values']!r:.60}")
    if "?" in section["values"]:
        raise BadProtocol("'?' cannot be a label: whoever labels by file writes it for items nobody can label")


def _check_pool(section: Mapping[str, Any]) -> None:
    for key in section:
        if key not in POOL:
            raise BadProtocol(f"[pool] has no key {key!r}{_keys_words(POOL)}")
    column = section.get("group", "named")
    if not isinstance(column, str) or not column:
        raise BadProtocol(f"group is the name of the column that says which items belong together, got {column!r:.40}")
    if "population" in section:
        if len(section) > 1 or not is_digest(section["population"]):
            raise BadProtocol(
                "population is the fingerprint of the one table that all labs have, sha256:<64 hex digits>, and stands "
                f"alone, got {section['population']!r:.80}"
            )
        return
    if section and ("group" not in section or "group_size" not in section):
        raise BadProtocol(
            "items that belong together have a column, and a group a largest size that is public: give group and group_size"
        )


def _check_loss(section: Mapping[str, Any]) -> None:
    """A loss takes the place of a list of labels; which numbers it needs, it says itself."""
    kind = "scores" if "scores" in section else "loss"
    for key in section if kind == "scores" else _LABELS:
        if key in section and key != kind:
            raise BadProtocol(f"[labels] has {kind}, in place of a list of labels: leave out {key}, or {kind}")


def _check_learner(section: Mapping[str, Any]) -> None:
    for key in section:
        if key not in LEARNER:
            raise BadProtocol(f"[learner] has no key {key!r}{remedy(key) or _keys_words(LEARNER)}")
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
            if key == "digest" and not is_digest(value):
                raise BadProtocol(f"the digest of {candidate['name']!r} must be written sha256:<64 hex digits>")


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
                f"a lab's name is one line of 1 to {LONGEST_NAME} characters without blanks around it, got {name!r:.90}"
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
                f"the key of the lab {name!r} must be an Ed25519 public key as replical lab keys show prints it, got "
                f"{key!r:.80}"
            )
        if (other := owners.setdefault(key, name)) != name:
            raise BadProtocol(f"the labs {other!r} and {name!r} have one key: every lab makes its own")


LONGEST_NAME = 80  # characters; a name stands in a line of a comparison


def is_name(value: Any) -> bool:
    """Is this a lab's name: a short line of text, without blanks around it?

    Examples
    --------
    >>> is_name("St. Mary, Oslo"), is_name(" Oslo"), is_name("")
    (True, False, False)
    """
    return isinstance(value, str) and is_seen(value) and value == value.strip() and 0 < len(value) <= LONGEST_NAME


def check_name(name: str, listed: Sequence[str]) -> None:
    """Refuse a `name` that is none, or that is not among those `listed`, where any are."""
    if not is_name(name):
        raise BadUsage(
            f"a lab's name is one line of 1 to {LONGEST_NAME} characters without blanks around it, got {name!r:.90}"
        )
    if listed and name not in listed:
        raise BadUsage(
            f"the protocol lists no lab {name!r}, it lists {', '.join(listed)}: give one of these, or leave out --lab"
        )


QUANTILE_LEVEL = 0.05  # with what probability, over the public rows, the loss may be larger than stated
CUT_KINDS = ("thresholds", "stumps")
_QUANTILE_KEYS = {"rows", "bins", "level", "loss", "table"}
_NEAR = 1.5e-6  # losses have six digits; the last may be another machine's


def quantile_cuts(values: NDArray[np.float64], bins: int) -> list[float]:
    """At most `bins` cuts at quantiles of `values`, and one above all of them.

    Every ⌈rows/bins⌉ consecutive values have a cut among them. The last cut stands for the rule that never says the second
    label.

    Examples
    --------
    >>> quantile_cuts(np.array([1.0, 2.0, 2.0, 2.0, 3.0, 9.0]), 3)
    [2.0, 9.0, 11.666666666666666]
    """
    ranked = np.sort(values)
    apart = step(len(ranked), bins)
    at = np.unique(np.append(np.arange(apart - 1, len(ranked), apart), len(ranked) - 1))
    low, high = float(ranked[0]), float(ranked[-1])
    above = high + ((high - low) / bins or 1.0)
    above = above if high < above and isfinite(above) else nextafter(high, float("inf"))
    if not isfinite(above):
        raise BadTable(f"no number is larger than {high}, and the last cut lies above all values")
    return [*np.unique(ranked[at]).tolist(), above]


def quantile_section(kind: str, path: Path, features: Sequence[str], bins: int) -> dict[str, Any]:
    """The class section of a protocol whose cuts are quantiles of the public table at `path`."""
    if bins < 1:
        raise ValueOutOfRange(f"bins must be at least 1, got {bins}")
    ids, X = read_features(path, features)
    about = {
        "rows": len(ids),
        "bins": bins,
        "level": QUANTILE_LEVEL,
        "loss": quantile_loss(len(ids), bins, QUANTILE_LEVEL),
        "table": digest_of(read_bytes(path, what="the public table", refuse=BadTable)),
    }
    cuts = [quantile_cuts(column, bins) for column in X.T]
    return {"kind": kind, "features": list(features), "cuts": cuts, "quantiles": about}


def check_quantiles(section: Mapping[str, Any]) -> None:
    """What a class section says of its quantiles, if it has any, is what their numbers come to."""
    if "quantiles" not in section:
        return
    about = section["quantiles"]
    if not isinstance(about, Mapping) or set(about) != _QUANTILE_KEYS:
        raise BadProtocol(f"quantiles says {', '.join(sorted(_QUANTILE_KEYS))} of the public table, got {about!r:.60}")
    counts = [about["rows"], about["bins"]]
    if any(isinstance(each, bool) or not isinstance(each, int) or each < 1 for each in counts):
        raise BadProtocol(f"rows and bins of quantiles must be whole numbers of at least 1, got {counts}")
    for key in ("level", "loss"):
        if not isinstance(about[key], float) or not 0 < about[key] < 2:
            raise BadProtocol(f"{key} of quantiles must be a number above 0, got {about[key]!r:.40}")
    if about["level"] >= 1:
        raise BadProtocol(f"level of quantiles must be between 0 and 1, got {about['level']}")
    if not is_digest(about["table"]):
        raise BadProtocol(f"table of quantiles must be written sha256:<64 hex digits>, got {about['table']!r:.80}")
    cuts = section.get("cuts")
    lines = cuts if isinstance(cuts, list) else []
    if not lines or any(not isinstance(line, list) or len(line) > about["bins"] + 1 for line in lines):
        raise BadProtocol(f"{about['bins']} quantiles make at most {about['bins'] + 1} cuts a feature, listed as cuts")
    loss = quantile_loss(about["rows"], about["bins"], about["level"])
    if abs(loss - about["loss"]) > _NEAR:
        raise BadProtocol(f"the loss of these quantiles is {loss}, and the protocol says {about['loss']}")


# ---- who is preferred ----


PUBLIC = ("public", "public_items", "public_column")
TRANSCRIPT = ("made", "asked", "answers")  # of an order that was made without a column of labels
SKIPPED = "?"  # no label is called so
# Keys of [handicap] beside where handicaps come from.
_SOURCES: dict[str, tuple[str, ...]] = {
    "order": ("order", *PUBLIC, *TRANSCRIPT),
    "exponentials": (),
    "weights": ("weights",),
    "cover": ("members", "radius", "public", "public_items"),
    "zero": (),
    "values": ("values",),
}
_NUMBERS = int | float


def check_preference(content: Mapping[str, Any]) -> None:
    """Refuse a section of the wrong learner, or with a source or a key that it may not have."""
    own = takes_handicaps(content["learner"])
    if own and "prior" in content:
        raise BadProtocol(
            "[prior] is not for the learner handicap: say who is preferred in [handicap], e.g. from = 'order'"
        )
    if "handicap" not in content:
        return
    if not own:
        raise BadProtocol(f"[handicap] is for the learner of this name, not for {content['learner'].get('name')!r:.40}")
    section = content["handicap"]
    source = section.get("from")
    if not isinstance(source, str) or source not in _SOURCES:
        raise BadProtocol(
            f"[handicap] says where handicaps come from, one of {', '.join(_SOURCES)}; got {source!r:.40}"
        )
    for key in section:
        if key not in ("from", "shortlist", *_SOURCES[source]):  # the plan refuses a shortlist of no order
            raise BadProtocol(f"handicaps from {source!r} have no key {key!r:.40}")


def prior_section(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """What [prior] says or, of a learner that takes handicaps, what [handicap] says in its place."""
    section: Mapping[str, Any] = content.get("handicap", {})
    if section.get("from") in ("order", "weights"):
        return {"kind": section["from"]} | {key: value for key, value in section.items() if key != "from"}
    found: Mapping[str, Any] = content.get("prior", {"kind": "uniform"})
    return found


def handicaps_of(section: Mapping[str, Any], recipe: Recipe) -> Handicaps | None:
    """The cover, the zeros or the numbers that [handicap] names; None where they come from elsewhere."""
    source, C = section.get("from"), recipe.C
    if source not in ("cover", "zero", "values"):
        return None
    if source == "zero":
        return Handicaps.zero()
    try:
        if source == "values":
            values = section.get("values")
            listed = list(values.values()) if isinstance(values, Mapping) else values
            if not isinstance(listed, list) or any(isinstance(c, bool) or not isinstance(c, _NUMBERS) for c in listed):
                raise BadProtocol(f"handicaps are numbers, one a hypothesis: values = [..], got {values!r:.60}")
            return Handicaps.of(C, values if isinstance(values, Mapping) else np.array(listed, dtype=np.float64))
        return Handicaps.cover_of(C, _members(section))
    except ValueOutOfRange as error:
        raise BadProtocol(str(error)) from error


def _members(section: Mapping[str, Any]) -> list[int]:
    """Those of a cover, with how it was found where that is said."""
    members, radius = section.get("members"), section.get("radius", 0.5)
    if not isinstance(members, list) or any(isinstance(h, bool) or not isinstance(h, int) for h in members):
        raise BadProtocol(f"a cover lists the numbers of its members: members = [..], got {members!r:.60}")
    if isinstance(radius, bool) or not isinstance(radius, _NUMBERS) or not 0 < radius < 1:
        raise BadProtocol(f"the radius of a cover is a number between 0 and 1, got {radius!r:.40}")
    if len({"radius", "public", "public_items"} & set(section)) not in (0, 3):
        raise BadProtocol(
            "a cover of public items says radius, public, their fingerprint, and public_items, how many: all three, or none"
        )
    _check_table(section)
    return members


def check_public(section: Mapping[str, Any]) -> None:
    """The public table an order was made from, and how: from a column of labels, or from what was asked; or nothing."""
    if "made" in section or "asked" in section or "answers" in section:
        _check_made(section)
    elif len(set(PUBLIC) & set(section)) not in (0, 3):
        raise BadProtocol(
            "an order from a public table says public, its fingerprint, public_items, its number of items, and "
            "public_column, where the labels stand: all three, or none"
        )
    if not isinstance(section.get("public_column", ""), str):
        raise BadProtocol(f"public_column must be the name of a column, got {section['public_column']!r:.40}")
    _check_table(section)


# What an order says that was made in one of these ways.
_MADE = {"active": {"public", "public_items", "made", "asked", "answers"}, "vote": {"public", "public_items", "made"}}


def _check_made(section: Mapping[str, Any]) -> None:
    made = section.get("made")
    if not isinstance(made, str) or made not in _MADE:
        raise BadProtocol(f"made says how an order was made, {' or '.join(_MADE)}; got {made!r:.40}")
    if (said := {*PUBLIC, *TRANSCRIPT} & set(section)) != _MADE[made]:
        raise BadProtocol(
            f"an order that is made = {made!r} says {', '.join(sorted(_MADE[made]))}, and this one "
            f"{', '.join(sorted(said))}"
        )
    asked, answers = section.get("asked", []), section.get("answers", [])
    check_transcript(asked, answers, BadProtocol)


def check_transcript(asked: Any, answers: Any, refuse: type[ReplicalError]) -> None:
    """Items, each once, and as many answers."""
    if not isinstance(asked, list) or not all(isinstance(each, str) for each in asked):
        raise refuse(f"asked lists the ids of items, as texts, got {asked!r:.60}")
    if len(set(asked)) < len(asked):
        raise refuse("asked lists an item twice: each is asked once")
    plain = isinstance(answers, list) and all(type(each) in (str, int) for each in answers)
    if not plain or len(answers) != len(asked):
        raise refuse(f"answers gives each of the {len(asked)} items asked its label, or '?', got {answers!r:.60}")


def check_answers(section: Mapping[str, Any], labels: Sequence[Label]) -> None:
    """Refuse an answer in the transcript of an order that is no label, nor '?', from who could not say."""
    for item, answer in zip(section.get("asked", ()), section.get("answers", ()), strict=True):
        if answer != SKIPPED and answer not in labels:
            raise BadProtocol(f"the answer for the item {item!r:.60} is {answer!r:.40}, none of {list(labels)!r:.90}")


def _check_table(section: Mapping[str, Any]) -> None:
    public, items = section.get("public", f"sha256:{'0' * 64}"), section.get("public_items", 1)
    if not is_digest(public):
        raise BadProtocol(f"public must be written sha256:<64 hex digits>, got {public!r:.80}")
    if isinstance(items, bool) or not isinstance(items, int) or items < 1:
        raise BadProtocol(f"public_items must be a whole number of at least 1, got {items!r:.40}")
