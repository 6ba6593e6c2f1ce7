"""The certificate of a run: a publishable file from which anyone can check the answer.

Its body holds what is public or harmless: protocol, plan, shared threshold, survivors, the set the shared order chose
from, counts of labels, what was proven. No ids, no texts, no annotators; the transcript only as a salted digest, the
private seed only as a commitment. Nothing in the body depends on the clock: the same journal gives the same bytes.

A run of 100,000 labels has about as many rounds, most of them alike. Where there are many, a file holds each of their
figures as one text of runs, e.g. ``"200*3 17"`` for 200, 200, 200, 17. It is a way to write: the body that is digested,
signed and checked is the same.
"""

from __future__ import annotations

import json
import platform
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Indices, is_listed
from replical.core.canonical import Json, canonical, digest_of, fingerprint
from replical.core.files import Refuse, write_whole
from replical.errors import BadCertificate, BadUsage
from replical.lab.journal.journal import Link
from replical.lab.journal.owner import commitment
from replical.lab.pool import LabPool, Part
from replical.lab.protocol import Protocol
from replical.lab.sessions.session import LabelCounts, Session, transcript
from replical.learners.catalogue import load
from replical.learners.plan import Condition, Plan
from replical.learners.proof import Family
from replical.learners.result import Proven, Result

MOST_RANGES = 10_000  # of survivors that are named
SCHEMA = "replical.certificate/1"
FOLDED = "replical.certificate/2"  # the same with many rounds, in few bytes
PARTS = ("schema", "body", "digest", "provenance")


class RequiredBody(TypedDict):
    """What every certificate holds."""

    protocol: dict[str, Any]
    protocol_fingerprint: str
    class_fingerprint: str
    hypothesis: dict[str, Any] | None
    plan: dict[str, Any]
    shared: dict[str, Any]
    survivors: HypothesisSet | HypothesisDigest
    kept: HypothesisSet | HypothesisDigest
    rounds: list[RoundPart]
    conditions: list[ConditionPart]
    labels: LabelCounts
    certified: bool
    labels_sufficient: bool
    rho_proven: float | None
    rho_predicted: float | None
    pool: PoolPart
    private_commitment: str
    transcript: TranscriptPart
    runs_in_journal: int


class Body(RequiredBody, total=False):
    """Everything that is digested.

    `lab` is there where it has a name, `registration`, a digest, where the run was registered, `parts` where the pool has
    grown, `beacon` where a public value took part in its private seed. `proof` is what the family of its learner wrote and
    `enclosing` that of a lattice; these have the last two.
    """

    lab: str
    registration: str
    parts: list[GrowthPart]
    beacon: str
    proof: Mapping[str, Any]
    enclosing: EnclosingPart
    verdict: VerdictPart
    answer_error: AnswerErrorPart | None


class HypothesisSet(TypedDict):
    """Hypotheses as ascending ranges [low, high], and how many there are."""

    count: int
    ranges: list[list[int]]


class HypothesisDigest(TypedDict):
    """How many hypotheses there are, and the digest of a set of more than `MOST_RANGES` ranges."""

    count: int
    digest: str


class NotNamed(Exception):
    """Who survived would have to be known, and the certificate tells a digest alone."""


class RoundPart(TypedDict):
    """One exchange: Δ(V) as [count, total], survivors, labels asked for, items looked at."""

    round: int
    disagreement: list[int]
    survivors: int
    drawn: int
    scanned: int


class ConditionPart(TypedDict):
    """Something a guarantee needs, and whether it held."""

    name: str
    value: float
    bound: float
    held: bool


class SummaryPart(TypedDict):
    """How often one public hypothesis predicts each label."""

    hypothesis: int
    predicts: list[int]


class PoolPart(TypedDict):
    """The lab's items, without saying what they are."""

    items: int
    fingerprint: str
    summary: list[SummaryPart]


class GrowthPart(TypedDict):
    """Items that came together, and the digest of their registration, null where they have none."""

    items: int
    fingerprint: str
    registration: str | None


class TranscriptPart(TypedDict):
    """The labels, without saying what they are."""

    entries: int
    digest: str


class EnclosingPart(TypedDict):
    """What a run of Lattice knows: its cell and the direction in the middle of it, and what is left, in cells an axis.

    ``axes``, ``wrong`` and ``open`` are null where labels may be wrong; ``axes`` also where nothing bounds what is left.
    """

    enclosed: bool
    cell: list[int]
    direction: list[float]
    axes: list[list[float]] | None
    wrong: int | None
    open: int | None


class VerdictPart(TypedDict):
    """Proven or not, why not, what would help."""

    certified: bool
    why: str
    helps: str


class AnswerErrorPart(TypedDict):
    """How often the answer errs, or errs more than the best: an estimate, and an interval at a level."""

    estimate: float
    low: float
    high: float
    level: float
    of: str
    labels: int
    skipped: int


class RequiredProvenance(TypedDict):
    """Where and when it was made, outside the digest."""

    replical: str
    python: str
    numpy: str
    created: str
    seal: str


class Provenance(RequiredProvenance, total=False):
    """How many events the journal had and the hash of the last, where the file was made from a journal."""

    journal_events: str
    journal_head: str


def keys(part: type) -> frozenset[str]:
    """The keys a part must have.

    Examples
    --------
    >>> sorted(keys(TranscriptPart))
    ['digest', 'entries']
    """
    required: frozenset[str] = part.__required_keys__  # type: ignore[attr-defined]
    return required


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


def body_of(session: Session) -> Body:
    """Everything that is digested."""
    protocol, lab, result, ledger = session.protocol, session.lab, session.result, session.ledger
    h, proven, left = result.hypothesis, result.proven, _survivor_parts(protocol, result)
    body: Body = {
        "protocol": protocol.body,
        "protocol_fingerprint": protocol.fingerprint,
        "class_fingerprint": protocol.recipe.C.fingerprint,
        "hypothesis": None if h is None else {"index": h, "description": protocol.recipe.describe(h)},
        "plan": plan_of(protocol.plan),
        "shared": shared_of(protocol, h),
        "survivors": left["survivors"],
        "kept": left["kept"],
        "rounds": [
            {
                "round": number + 1,
                "disagreement": list(each.disagreement),
                "survivors": each.survivors,
                "drawn": each.drawn,
                "scanned": each.scanned,
            }
            for number, each in enumerate(result.rounds)
        ],
        "conditions": [condition_part(each) for each in result.conditions],
        "labels": session.counts,
        "certified": proven is not None and proven.certified,
        "labels_sufficient": proven is not None and proven.labels_sufficient,
        "rho_proven": None if proven is None else proven.rho_proven,
        "rho_predicted": _six_digits(proven),
        "pool": {"items": len(lab), "fingerprint": lab.fingerprint, "summary": summary(protocol, lab)},
        "private_commitment": commitment(session.secret),
        "transcript": {
            "entries": sum(map(len, session.used_labels)),
            "digest": transcript_digest(session),
        },
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
    if (result.proof or result.enclosing) is not None and result.verdict is not None:
        body["verdict"] = cast(VerdictPart, asdict(result.verdict))
        if result.proof is not None:
            body["proof"] = family_of(protocol).part_of(result.proof)
        if not protocol.record.lists:
            body["enclosing"] = load(f"{protocol.record.family}:part")(protocol, result)
        error = result.answer_error
        body["answer_error"] = None if error is None else cast(AnswerErrorPart, asdict(error))
    return body


def _growth_part(part: Part, registration: Mapping[str, Any] | None) -> GrowthPart:
    digest = None if registration is None else str(registration["digest"])
    return {"items": part.items, "fingerprint": part.fingerprint, "registration": digest}


def _survivor_parts(protocol: Protocol, result: Result) -> dict[str, HypothesisSet | HypothesisDigest]:
    """Who is left, and whom the shared order chose from."""
    if not protocol.record.lists:
        left: Callable[[Protocol, Result], dict[str, HypothesisSet | HypothesisDigest]]
        left = load(f"{protocol.record.family}:left")
        return left(protocol, result)
    told = told_set(result.survivors.indices)
    return {"survivors": told, "kept": told}


def family_of(protocol: Protocol) -> Family:
    """The module that writes and checks what the protocol's learner proves."""
    return cast(Family, import_module(protocol.record.family))


def _six_digits(proven: Proven | None) -> float | None:
    """An estimate to six digits: the last bits are those of a machine, and a certificate is for all of them."""
    return None if proven is None or proven.rho_predicted is None else round(proven.rho_predicted, 6)


def condition_part(condition: Condition) -> ConditionPart:
    """A condition as it is written."""
    return {"name": condition.name, "value": condition.value, "bound": condition.bound, "held": condition.held}


def plan_of(plan: Plan) -> dict[str, Any]:
    """The plan's numbers, whole where they are whole, fractions as [numerator, denominator]."""
    numbers = [
        {
            "name": number.name,
            "value": (
                int(number.value)
                if number.value.denominator == 1
                else [number.value.numerator, number.value.denominator]
            ),
            "source": number.source,
        }
        for number in plan.numbers
    ]
    return {"learner": plan.learner, "name": plan.name, "numbers": numbers}


def shared_of(protocol: Protocol, h: int | None) -> dict[str, Any]:
    """What the shared randomness said: the word behind the threshold, and the winner's rank in the order of a list."""
    word = protocol.shared.word("threshold")
    rank = None if h is None or not protocol.record.lists else f"{protocol.shared.word('order', index=h):016x}"
    return {"threshold": f"{word:016x}", "winner_rank": rank}


def set_of(indices: Indices) -> HypothesisSet:
    """A set of hypotheses as ranges.

    Examples
    --------
    >>> set_of(np.array([1, 2, 3, 7]))
    {'count': 4, 'ranges': [[1, 3], [7, 7]]}
    """
    breaks = np.flatnonzero(np.diff(indices) > 1)
    starts = indices[np.concatenate(([0], breaks + 1))] if len(indices) else indices
    ends = indices[np.concatenate((breaks, [len(indices) - 1]))] if len(indices) else indices
    ranges = [[int(low), int(high)] for low, high in zip(starts, ends, strict=True)]
    return {"count": len(indices), "ranges": ranges}


def told_set(indices: Indices) -> HypothesisSet | HypothesisDigest:
    """A set as a certificate tells it: its ranges, or their digest where they are more than `MOST_RANGES`."""
    whole = set_of(indices)
    if len(whole["ranges"]) <= MOST_RANGES:
        return whole
    return {"count": whole["count"], "digest": digest_of_set(whole)}


def digest_of_set(entry: Mapping[str, Any]) -> str:
    """The digest of a set that `set_of` wrote."""
    return fingerprint({"count": entry["count"], "ranges": entry["ranges"]})


def indices_of(entry: Mapping[str, Any], n: int) -> Indices:
    """The set that `set_of` wrote; anything else is refused."""
    ranges = ranges_of(entry, n)
    return np.concatenate([np.arange(low, high + 1, dtype=np.int64) for low, high in ranges] or [np.zeros(0, np.int64)])


def ranges_of(entry: Mapping[str, Any], n: int) -> list[tuple[int, int]]:
    """The set that `set_of` wrote, as ascending ranges of indices below `n`, both ends included."""
    try:
        if "digest" in entry and "ranges" not in entry:
            raise NotNamed("the file tells how many survive and their digest, and does not name them")
        ranges = [(int(low), int(high)) for low, high in entry["ranges"]]
        count = entry["count"]
    except (KeyError, TypeError, ValueError) as error:
        raise BadCertificate("a set of hypotheses is written as ranges [low, high] with their count") from error
    before = -2
    for low, high in ranges:
        if not before + 1 < low <= high < n:
            raise BadCertificate(f"the range [{low}, {high}] is not ascending, apart from the last, and below {n}")
        before = high
    if sum(high - low + 1 for low, high in ranges) != count:
        raise BadCertificate(f"the ranges do not hold {count} hypotheses")
    return ranges


def within(inner: Sequence[tuple[int, int]], outer: Sequence[tuple[int, int]]) -> bool:
    """Are the numbers of ascending ranges that lie apart all in others of the kind?

    Examples
    --------
    >>> within([(1, 2), (5, 5)], [(0, 2), (4, 9)]), within([(1, 5)], [(0, 2), (4, 9)])
    (True, False)
    """
    starts = [low for low, _ in outer]
    places = [bisect_right(starts, low) - 1 for low, _ in inner]
    return all(place >= 0 and high <= outer[place][1] for place, (_, high) in zip(places, inner, strict=True))


def overlap(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The numbers that two lists of ascending ranges have in common.

    Examples
    --------
    >>> overlap([(1, 4), (7, 9)], [(0, 2), (4, 8)])
    [(1, 2), (4, 4), (7, 8)]
    """
    found, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        low, high = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if low <= high:
            found.append((low, high))
        i, j = (i + 1, j) if one[i][1] < other[j][1] else (i, j + 1)
    return found


def summary(protocol: Protocol, lab: LabPool) -> list[SummaryPart]:
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
        return np.array(
            cast(Any, C).some(protocol.shared, "summary", count=_SUMMARISED), dtype=object
        )  # beyond 64 bits
    return protocol.shared.lowest("summary", n=len(C), count=_SUMMARISED)


def transcript_digest(session: Session) -> str:
    """Binds a lab to its labels without telling them: the salt is the private seed."""
    content = canonical(transcript(session)).encode()
    return digest_of(session.private + b"\0transcript\0" + content)


def write(certificate: Mapping[str, Any], path: Path, *, what: str = "the certificate") -> None:
    """Write whole: a certificate is there or it is not."""
    write_whole(path, text_of(certificate), what=what, refuse=BadCertificate)


def text_of(certificate: Mapping[str, Any]) -> str:
    """The one way a certificate is written."""
    rounds = certificate.get("body", {}).get("rounds", ()) if certificate.get("schema") == SCHEMA else ()
    if len(rounds) > MANY:
        certificate = {**certificate, "schema": FOLDED, "body": {**certificate["body"], "rounds": fold_rounds(rounds)}}
    return json.dumps(certificate, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def read(path: Path) -> dict[str, Any]:
    """Read a certificate that is written as we write it; a file changed in any byte that matters to JSON is refused."""
    return read_as(path, {SCHEMA: PARTS}, optional=("signature",))


def read_as(
    path: Path,
    parts: Mapping[str, Sequence[str]],
    *,
    what: str = "certificate",
    refuse: Refuse = BadCertificate,
    optional: Sequence[str] = (),
) -> dict[str, Any]:
    """Read a file of one of several schemas, each with the parts that it must have; `what` it is and how it is refused."""
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        raise BadUsage(f"cannot read the {what} {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        content: Any = json.loads(raw.decode(), parse_constant=_no_constant, object_pairs_hook=_unique_keys)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise refuse(f"{path} is no {what}: it is not valid JSON ({str(error).splitlines()[0]})") from error
    if not isinstance(content, dict) or not isinstance(content.get("schema"), str):
        raise refuse(f"{path} is no {what} of replical")
    if content["schema"] == FOLDED and SCHEMA in parts:
        content = _unfold(content, path, refuse)
    wanted = parts.get(content["schema"])
    if wanted is None:
        raise refuse(f"{path} says {content['schema']!r}, this version reads {' and '.join(map(repr, parts))}")
    if set(content) - set(optional) != set(wanted) or not isinstance(content.get("body", {}), dict):
        raise refuse(f"{path} has other parts than {', '.join(wanted[:-1])} and {wanted[-1]}")
    try:
        untouched = raw == text_of(content).encode()
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):  # what we would not write
        untouched = False
    if not untouched:
        raise refuse(f"{path} is not written as replical writes it: it has been edited")
    return dict(content)


def _unfold(content: dict[str, Any], path: Path, refuse: Refuse) -> dict[str, Any]:
    try:
        body = {**content["body"], "rounds": unfold_rounds(content["body"]["rounds"])}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise refuse(f"{path} is no certificate that replical wrote: its rounds are damaged ({error})") from error
    return {**content, "schema": SCHEMA, "body": body}


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
