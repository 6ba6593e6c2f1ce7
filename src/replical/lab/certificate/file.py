"""The certificate of a run: a publishable file from which anyone can check the answer.

Its body holds what is public or harmless: protocol, plan, shared threshold, survivors, counts of labels, what was proven.
No ids, no texts, no annotators; the labels only as the root of a tree of salted hashes, the private seed as a
commitment. Nothing in the body depends on the clock: the same journal gives the same bytes.

A run of 100,000 labels has about as many rounds, most of them alike. Where there are many, a file holds each of their
figures as one text of runs, e.g. ``"200*3 17"`` for 200, 200, 200, 17. It is a way to write: the body that is digested,
signed and checked is the same.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import is_listed
from replical.core.canonical import Json, fingerprint, leaf, root_of, salt_of
from replical.core.files import Refuse, read_whole, write_whole
from replical.errors import BadCertificate, BadUsage
from replical.lab.certificate import envelope as envelopes
from replical.lab.journal.binding import commitment
from replical.lab.journal.journal import Link
from replical.lab.pool import LabPool, Part
from replical.lab.protocol import Protocol
from replical.lab.sessions.session import Session, transcript
from replical.lab.signatures import Signer
from replical.learners.plan import Condition, Plan
from replical.learners.proof import family_of

SCHEMA = "replical.certificate/3"
PARTS = ("schema", "body", "digest", "provenance")


def certify(session: Session) -> dict[str, Any]:
    """The certificate of a run that has ended."""
    body = body_of(session)
    digest = fingerprint(cast(Json, body))
    return {"schema": SCHEMA, "body": body, "digest": digest, "provenance": provenance(digest, session.journal.head)}


def provenance(digest: str, head: Link | None = None) -> dict[str, str]:
    """Where and when something with this digest was made, and from a journal that ended where, sealed."""
    made = {
        "replical": version("replical"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if head is not None:
        made |= {"journal_events": str(head.seq), "journal_head": head.digest}
    return made | {"seal": seal(digest, made)}


def seal(digest: str, provenance: Mapping[str, Any]) -> str:
    """Ties the provenance to the body, so that no byte of the file changes unnoticed."""
    return fingerprint({"digest": digest, **{key: value for key, value in provenance.items() if key != "seal"}})


def body_of(session: Session) -> dict[str, Any]:
    """Everything that is digested."""
    protocol, lab, result, ledger = session.protocol, session.lab, session.result, session.ledger
    h, proof, family = result.hypothesis, result.proof, family_of(protocol.record)
    body: dict[str, Any] = {
        "protocol": protocol.body,
        "protocol_fingerprint": protocol.fingerprint,
        "class_fingerprint": protocol.recipe.C.fingerprint,
        "hypothesis": None if h is None else {"index": h, "description": protocol.recipe.describe(h)},
        "plan": plan_of(protocol.plan),
        "shared": shared_of(protocol, h),
        "survivors": family.survivors_of(result, protocol.recipe),
        "rounds": [
            {"round": number, "disagreement": list(each.disagreement), **{name: getattr(each, name) for name in _PLAIN}}
            for number, each in enumerate(result.rounds, 1)
        ],
        "conditions": [condition_part(each) for each in result.conditions],
        "labels": session.counts,
        "certified": proof is not None and proof.certified,
        "rho_proven": None if proof is None else proof.rho_proven,
        "pool": {"items": len(lab), "fingerprint": lab.fingerprint, "summary": summary(protocol, lab)},
        "private_commitment": commitment(session.secret),
        "transcript": {"entries": sum(map(len, session.used_labels)), "digest": root_of(transcript_leaves(session))},
        "runs_in_journal": len(ledger.results),
    }
    if ledger.lab is not None:
        body["lab"] = ledger.lab
    if ledger.registration is not None:
        body["registration"] = ledger.registration["digest"]
    if lab.parts:
        registered = {lab.first: ledger.registration, **ledger.parts}
        body["parts"] = [_growth_part(each, registered.get(each.fingerprint)) for each in lab.parts]
    if ledger.beacon is not None:
        body["beacon"] = ledger.beacon
    body |= protocol.parts
    if proof is not None:
        body["proof"] = family.part_of(result, protocol.recipe)
        body["verdict"] = asdict(proof.verdict)
        error = result.answer_error
        body["answer_error"] = None if error is None else asdict(error)
    return body


def _growth_part(part: Part, registration: Mapping[str, Any] | None) -> dict[str, Any]:
    digest = None if registration is None else str(registration["digest"])
    return {"items": part.items, "fingerprint": part.fingerprint, "registration": digest}


def condition_part(condition: Condition) -> dict[str, Any]:
    """A condition as it is written."""
    return {"name": condition.name, "value": condition.value, "bound": condition.bound, "held": condition.held}


def plan_of(plan: Plan) -> dict[str, Any]:
    """The plan's numbers, whole where they are whole, fractions as [numerator, denominator]."""
    numbers = [{"name": each.name, "value": _whole(each.value), "source": each.source} for each in plan.numbers]
    return {"learner": plan.learner, "name": plan.name, "numbers": numbers}


def _whole(value: int | Fraction) -> int | list[int]:
    return int(value) if value.denominator == 1 else [value.numerator, value.denominator]


def shared_of(protocol: Protocol, h: int | None) -> dict[str, Any]:
    """What the shared randomness said: the word behind the threshold, and the winner's rank in the order of a list."""
    word = protocol.shared.word("threshold")
    rank = None if h is None or not is_listed(protocol.recipe.C) else f"{protocol.shared.word('order', index=h):016x}"
    return {"threshold": f"{word:016x}", "winner_rank": rank}


def summary(protocol: Protocol, lab: LabPool) -> list[dict[str, Any]]:
    """Label-free: how often some public hypotheses predict each label. Labs of one population have similar counts."""
    C, chosen = protocol.recipe.C, summary_hypotheses(protocol)
    codes: NDArray[np.uint16] = C.codes(lab.items, chosen)
    return [
        {"hypothesis": int(h), "predicts": np.bincount(row, minlength=len(C.labels)).tolist()}
        for h, row in zip(chosen, codes, strict=True)
    ]


_SUMMARISED = 32  # hypotheses whose predictions are counted, to compare the pools of labs


def summary_hypotheses(protocol: Protocol) -> NDArray[Any]:
    """The hypotheses whose predictions are counted: public, from the shared string."""
    C = protocol.recipe.C
    if not is_listed(C):
        some = cast(Any, C).some(protocol.shared, "summary", count=_SUMMARISED)
        return np.array(some, dtype=object)  # beyond 64 bits
    return protocol.shared.lowest("summary", n=len(C), count=_SUMMARISED)


def transcript_leaves(session: Session) -> list[bytes]:
    """Hashes of the labels: the root of their tree binds a lab to them, and single ones can be opened later."""
    return [leaf(salt_of(session.private, item), [item, said]) for item, said in transcript(session)]


def write(certificate: Mapping[str, Any], path: Path, *, what: str = "the certificate") -> None:
    """Write whole: a certificate is there or it is not."""
    write_whole(path, text_of(certificate), what=what, refuse=BadCertificate)


def write_enveloped(certificate: Mapping[str, Any], path: Path, signer: Signer | None) -> None:
    """Write as an in-toto Statement, whole; in a DSSE envelope where somebody signs."""
    statement = _dump(envelopes.statement_of(_fold(certificate)))
    text = statement if signer is None else _dump(envelopes.sign(statement, signer))
    write_whole(path, text, what="the certificate", refuse=BadCertificate)


def text_of(certificate: Mapping[str, Any]) -> str:
    """The one way a certificate is written."""
    return _dump(_fold(certificate))


def _fold(certificate: Mapping[str, Any]) -> Mapping[str, Any]:
    rounds = certificate.get("body", {}).get("rounds", ()) if certificate.get("schema") == SCHEMA else ()
    if len(rounds) > MANY:
        certificate = {**certificate, "body": {**certificate["body"], "rounds": fold_rounds(rounds)}}
    return certificate


def _dump(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def read(path: Path) -> dict[str, Any]:
    """Read a certificate, or one in an envelope, that is written as we write it; a file changed in any byte is refused."""
    return read_as(path, SCHEMA, PARTS, optional=("signature",))


def read_as(
    path: Path,
    schema: str,
    parts: Sequence[str],
    *,
    what: str = "certificate",
    refuse: Refuse = BadCertificate,
    optional: Sequence[str] = (),
) -> dict[str, Any]:
    """Read a file of a `schema` with the `parts` that it must have; `what` it is and how it is refused."""
    try:
        raw = read_whole(path)
    except (OSError, ValueError) as error:
        raise BadUsage(f"cannot read the {what} {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        content: Any = json.loads(raw.decode(), parse_constant=_no_constant, object_pairs_hook=_unique_keys)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise refuse(f"{path} is no {what}: it is not valid JSON ({str(error).splitlines()[0]})") from error
    outer = content if schema == SCHEMA and envelopes.is_enveloped(content) else None
    if outer is not None:
        content = _open(outer, path, refuse)
    if not isinstance(content, dict) or not isinstance(content.get("schema"), str):
        raise refuse(f"{path} is no {what} of replical")
    if content["schema"] != schema:
        ours = content["schema"].partition("/")[0] == schema.partition("/")[0]
        other = ": check it with the version of replical that wrote it, which its provenance names" if ours else ""
        raise refuse(f"{path} says {content['schema']!r:.60}, this version reads {schema!r}{other}")
    if schema == SCHEMA:
        content = _unfold(content, path, refuse)
    if set(content) - set(optional) != set(parts) or not isinstance(content.get("body", {}), dict):
        raise refuse(f"{path} has other parts than {', '.join(parts[:-1])} and {parts[-1]}")
    try:
        untouched = raw == (text_of(content) if outer is None else _text_again(outer, content)).encode()
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):  # what we would not write
        untouched = False
    if not untouched:
        raise refuse(f"{path} is not written as replical writes it: it has been edited")
    if outer is not None and (wrong := envelopes.wrong_envelope(outer, content.get("signature"))):
        raise refuse(f"{path} is no {what}: {wrong} (its envelope)")
    return dict(content)


def _text_again(outer: Mapping[str, Any], certificate: Mapping[str, Any]) -> str:
    """The text of the Statement, or envelope, that was read, if it is as it was written."""
    statement = _dump(envelopes.statement_of(_fold(certificate)))
    return _dump(envelopes.close_envelope(statement, outer["signatures"])) if "payloadType" in outer else statement


def _open(outer: Mapping[str, Any], path: Path, refuse: Refuse) -> Any:
    try:
        return envelopes.open_envelope(outer)
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise refuse(f"{path} is no certificate: its envelope is damaged ({type(error).__name__}: {error})") from error


def _unfold(content: dict[str, Any], path: Path, refuse: Refuse) -> dict[str, Any]:
    """The rounds one by one, where they are written as texts of runs."""
    body = content.get("body")
    if not isinstance(body, dict) or "rounds" not in body or isinstance(body["rounds"], list):
        return content
    try:
        body = {**body, "rounds": unfold_rounds(body["rounds"])}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise refuse(f"{path} is no certificate that replical wrote: its rounds are damaged ({error})") from error
    return {**content, "body": body}


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("a key occurs twice")
    return mapping


MANY = 100  # rounds; fewer are written one by one, for people to read
_MOST = 4_000_000  # rounds that a file may claim: each takes memory here, and none there
_DIGITS = 40  # of a figure, at most
_PLAIN = ("survivors", "drawn", "scanned")
_COLUMNS = ("disagreement", "total", *_PLAIN)


def fold_rounds(rounds: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Rounds numbered from 1 as texts of runs.

    Examples
    --------
    >>> one = {"round": 1, "disagreement": [3, 9], "survivors": 2, "drawn": 1, "scanned": 4}
    >>> fold_rounds([one, one | {"round": 2, "scanned": 5}])
    {'disagreement': '3*2', 'total': '9*2', 'survivors': '2*2', 'drawn': '1*2', 'scanned': '4 5'}
    """
    columns: dict[str, Iterable[int]] = {
        "disagreement": (each["disagreement"][0] for each in rounds),
        "total": (each["disagreement"][1] for each in rounds),
    }
    columns |= {name: [each[name] for each in rounds] for name in _PLAIN}
    return {name: " ".join(_runs(column)) for name, column in columns.items()}


def _runs(column: Iterable[int]) -> Iterator[str]:
    for value, same in groupby(column):
        times = sum(1 for _ in same)
        yield str(value) if times == 1 else f"{value}*{times}"


def unfold_rounds(texts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rounds that `fold_rounds` wrote."""
    if set(texts) != set(_COLUMNS):
        raise ValueError(f"rounds are {', '.join(_COLUMNS)}")
    columns = [_values(texts[name]) for name in _COLUMNS]
    return [
        {"round": number, "disagreement": [mass, total], "survivors": survivors, "drawn": drawn, "scanned": scanned}
        for number, (mass, total, survivors, drawn, scanned) in enumerate(zip(*columns, strict=True), 1)
    ]


def _values(text: str) -> list[int]:
    values: list[int] = []
    for run in text.split(" "):
        value, _, times = run.partition("*")
        if not (value + (times or "1")).isdecimal() or len(run) > _DIGITS:
            raise ValueError(f"{run[:_DIGITS]!r} is no figure of a round")
        if len(values) + int(times or 1) > _MOST:
            raise ValueError(f"more than {_MOST:,} rounds")
        values += [int(value)] * int(times or 1)
    return values
