"""Comparing certificates: do several labs have one answer to one protocol, and did they sample one population?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from replical.core.text import count
from replical.errors import BadCertificate, BadUsage
from replical.lab.certificate.checks import index_of, protocol_of, record_of
from replical.lab.certificate.overlap import Shared, shared_by
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.learners.proof import family_of, ranges_of

_SUSPICIOUS = 0.001  # two pools of one population look this different once in a thousand comparisons


@dataclass(frozen=True, kw_only=True)
class ConfirmationOutcome:
    """What one lab found of another lab's answer; `lab` is its place among those compared, from 1 on."""

    lab: int
    name: str | None
    signed: bool  # with a key that the protocol lists
    answer: str
    outcome: str
    margin: float
    level: float
    against: str | None


@dataclass(frozen=True, kw_only=True)
class Common:
    """Who is left in every lab: proven to contain the answer, whoever was certified.

    Attributes
    ----------
    count
        How many are left in all of them.
    members
        The first of them, by number, and their `names`.
    level
        Kβ: the answer is not among them with at most this probability.
    tolerance, favourite
        The first of the public order errs at most so much more than the best, by the counts of all labs together; None where
        there is no order, or the labs are not known to be independent.
    alike
        Items on which two that are left never differed in loss, in all labs together; None where that is not told.
    """

    count: int
    members: tuple[int, ...]
    names: tuple[str, ...]
    level: float
    tolerance: float | None
    favourite: str | None
    alike: int | None

    @property
    def answer(self) -> int | None:
        """The one that is left; None where there are several, or none."""
        return self.members[0] if self.count == 1 else None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How several certificates, and confirmations of their answers, relate."""

    identical: bool  # do all labs have one answer to one protocol, and did all that checked it confirm it?
    same_protocol: bool
    same_index: bool
    runs: int  # labs' own runs among the files; the others confirm an answer of theirs
    # how often pools of one population look at least this different; None where protocols differ, or fewer than two
    # labs ran
    same_distribution_p: float | None
    first_difference: str | None  # the first difference that matters, in words; None where there is none
    warning: str | None
    # what those labs found that did not run the protocol, but checked an answer
    confirmations: tuple[ConfirmationOutcome, ...] = ()
    # names of the labs, in the order in which they were given; None where one has no name
    labs: tuple[str | None, ...] = ()
    # pairs of files, by their numbers from 1 on, that have items in common: no two labs that replicate each other
    same_items: tuple[tuple[int, int], ...] = ()
    # what pools share, pair by pair; None where they were not given
    shared: tuple[Shared, ...] | None = None
    # who is left in all labs, where each publishes a set that is proven to contain the answer; None elsewhere
    common: Common | None = None

    @property
    def replicated(self) -> bool:
        """Did two or more labs, each with items of its own, run one protocol and end with one answer?

        Confirmations do not count as runs; one that refutes, or is undecided, speaks against it.
        """
        return self.identical and not self.same_items and self.runs > 1

    @property
    def undecided(self) -> bool:
        """Is nothing different, but some lab could not decide?"""
        refuted = any(each.outcome == "refuted" for each in self.confirmations)
        if self.common is not None and self.common.count != 1:
            return self.common.count > 1 and not refuted
        if self.identical:
            return self.runs < 2
        return self.same_protocol and self.same_index and not self.identical and not refuted


def compare(certificates: Sequence[Mapping[str, Any]], pools: Sequence[LabPool] = ()) -> Comparison:
    """Do these labs have one answer to one protocol? With all their `pools`, in this order, also: on items of their own?"""
    bodies = [certificate["body"] for certificate in certificates]
    for first, number in _repeats([body["private_commitment"] for body in bodies]):
        raise BadUsage(
            f"files {first} and {number} come from one journal, or from journals with one private seed, so they are one "
            "lab's: give one file a lab"
        )
    protocols = [body["protocol_fingerprint"] for body in bodies]
    _check_names(bodies)
    _check_confirmed(certificates)
    indices = list(map(index_of, bodies))
    same_protocol = len(set(protocols)) == 1
    runs = [body for body in bodies if not confirms(body)]
    table = bodies[0]["protocol"].get("pool", {}).get("population")  # which all labs have
    shared = shared_by(pools) if table is None else []
    same_items = _same_items(bodies, shared, known=bool(pools)) if table is None else {}
    common = None
    if same_protocol and runs and all("proof" in body for body in runs) and _contain_answer(runs[0]):
        common = _common(runs, dependent=bool(same_items))
    if common is not None and common.answer is not None:
        indices = [index if confirms(body) else common.answer for index, body in zip(indices, bodies, strict=True)]
    same_index = len(set(indices)) == 1
    if same_protocol and common is None:
        _check_number(runs)
    p = _same_distribution(runs) if same_protocol and len(runs) > 1 and table is None else None
    warning = next((_one_run(pair, why) for pair, why in same_items.items()), None)
    if warning is None and p is not None and p < _SUSPICIOUS:
        warning = (
            f"the pools look as if they came from different distributions (p = {p:.2g}): the promise is about labs that "
            "sample one population"
        )
    numbered = enumerate(certificates, 1)
    confirmations = tuple(_confirmation(number, each) for number, each in numbered if confirms(each["body"]))
    held = all(each.outcome == "confirmed" for each in confirmations)
    alone = common is None or common.count == 1
    identical = same_protocol and same_index and indices[0] is not None and held and alone
    return Comparison(
        identical=identical,
        same_protocol=same_protocol,
        same_index=same_index,
        runs=len(runs),
        same_distribution_p=p,
        first_difference=None if identical else _difference(bodies, protocols, indices, confirmations, common),
        warning=warning,
        confirmations=confirmations,
        labs=tuple(body.get("lab") for body in bodies),
        same_items=tuple(same_items),
        shared=tuple(shared) if pools else None,
        common=common,
    )


_NAMED = 10  # of those left in all labs


def _common(runs: Sequence[Any], *, dependent: bool) -> Common:
    """Who is left in every lab; each contains the answer at its own level, however the labs depend on each other."""
    protocol = Protocol.of(runs[0]["protocol"])
    plan, n, family = protocol.plan, len(protocol.recipe.C), family_of(protocol.record)
    left = ranges_of(runs[0]["survivors"], n)
    for body in runs[1:]:
        left = _overlap(left, ranges_of(body["survivors"], n))
    members = tuple(islice((h for low, high in left for h in range(low, high + 1)), _NAMED))
    parts = [body["proof"] for body in runs]
    dependent = dependent or any(_repeats([body.get("lab") for body in runs]))
    joint = None if dependent else family.joint_tolerance(plan, parts)
    return Common(
        count=sum(high - low + 1 for low, high in left),
        members=members,
        names=tuple(protocol.recipe.describe(h) for h in members),
        level=min(1.0, len(runs) * float(plan["beta"])),
        tolerance=None if joint is None else joint[0],
        favourite=None if joint is None else protocol.recipe.describe(joint[1]),
        alike=family.items_alike(plan, parts, members),
    )


def _overlap(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The numbers that two lists of ascending ranges have in common.

    Examples
    --------
    >>> _overlap([(1, 4), (7, 9)], [(0, 2), (4, 8)])
    [(1, 2), (4, 4), (7, 8)]
    """
    found, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        low, high = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if low <= high:
            found.append((low, high))
        i, j = (i + 1, j) if one[i][1] < other[j][1] else (i, j + 1)
    return found


def confirms(body: Mapping[str, Any]) -> bool:
    """Is it about an answer that was there before?"""
    return family_of(record_of(body)).confirms


def _contain_answer(body: Mapping[str, Any]) -> bool:
    """Are survivors proven to contain the answer?"""
    return family_of(record_of(body)).contains_answer


def _same_items(bodies: Sequence[Any], shared: Sequence[Shared], *, known: bool) -> dict[tuple[int, int], str]:
    """Files with items in common, and how that is known: by fingerprints, also of parts; by what pools turn out to share.

    Two files of one lab count as such where its pools are not `known`.
    """
    pairs, seen = dict[tuple[int, int], str](), list[set[str]]()
    for number, body in enumerate(bodies, 1):
        parts = {each.get("fingerprint") for each in (body["pool"], *body.get("parts", ()))} - {None}
        if first := next((place for place, each in enumerate(seen, 1) if parts & each), None):
            pairs[first, number] = "are about the same items: they are one lab's, or share a pool"
        seen.append(parts)
    for each in shared:
        if each.items:
            pairs.setdefault(each.files, f"share {count(each.alike, 'item')}")
    names = [f"{body['protocol_fingerprint']} {body['lab']}" if "lab" in body else None for body in bodies]
    for pair in () if known else _repeats(names):
        why = f"are both of the lab {bodies[pair[1] - 1]['lab']!r}, and may share items, which --pool tells"
        pairs.setdefault(pair, why)
    return dict(sorted(pairs.items()))


def _repeats(marks: Sequence[str | None]) -> Iterator[tuple[int, int]]:
    """Who has the mark of an earlier one, with that one; numbers from 1 on."""
    for number, mark in enumerate(marks):
        if mark is not None and (first := marks.index(mark)) < number:
            yield first + 1, number + 1


def _one_run(pair: tuple[int, int], why: str) -> str:
    """Two runs on items that both have are one run, whatever they agree on."""
    return (
        f"files {pair[0]} and {pair[1]} {why}, so that they agree says nothing of labs that do not; each lab needs items of "
        "its own"
    )


def _check_names(bodies: Sequence[Any]) -> None:
    """Names of labs are their own: a lab that answers one protocol twice is counted once."""
    places: dict[tuple[str, str], int] = {}
    for number, body in enumerate(bodies, 1):
        if "lab" in body:
            first = places.setdefault((body["protocol_fingerprint"], body["lab"]), number)
            sets = all("proof" in each and _contain_answer(each) for each in (body, bodies[first - 1]))
            if first < number and not sets:  # of sets each counts as a lab, whosever it is
                raise BadUsage(f"files {first} and {number} are both of the lab {body['lab']!r}: give one file a lab")


def _check_confirmed(certificates: Sequence[Mapping[str, Any]]) -> None:
    """A confirmation is about the answer of a certificate that is here too, found on the items that it names."""
    given = {each.get("digest"): each["body"] for each in certificates if not confirms(each["body"])}
    for number, each in enumerate(certificates, 1):
        body = each["body"]
        if not confirms(body):
            continue
        said = body["confirms"]
        if (of := given.get(said["certificate"])) is None:
            raise BadUsage(
                f"file {number} confirms the answer of the certificate {said['certificate'][:23]}, which is not among "
                "these: give it too"
            )
        origin = (said["pool_fingerprint"], body["protocol_fingerprint"], body["hypothesis"])
        if origin != (of["pool"]["fingerprint"], of["protocol_fingerprint"], of["hypothesis"]):
            raise BadCertificate(
                f"file {number} says that it confirms the certificate {said['certificate'][:23]}, and tells another answer, "
                "protocol or pool than that"
            )


def _check_number(runs: Sequence[Any]) -> None:
    """The promise is about K labs together: beyond them nothing is promised, and the best of many is no K labs."""
    numbers = runs[0]["plan"]["numbers"] if runs else []
    most = next((each["value"] for each in numbers if each["name"] == "labs"), None)
    if most is not None and len(runs) > most:
        raise BadUsage(
            f"{len(runs)} certificates are given, but the protocol's promise is about labs = {most}: compare at most "
            f"{most}, or publish a protocol with labs = {len(runs)}"
        )


def _confirmation(number: int, certificate: Mapping[str, Any]) -> ConfirmationOutcome:
    body, key = certificate["body"], certificate.get("signature", {}).get("key")
    against, said, keys = body["proof"]["against"], body["confirms"], protocol_of(body).lab_keys
    return ConfirmationOutcome(
        lab=number,
        name=body.get("lab"),
        signed=key is not None and keys.get(body.get("lab", "")) == key,
        answer=_name(body),
        outcome=body["proof"]["outcome"],
        margin=said["margin"],
        level=said["level"],
        against=None if against is None else protocol_of(body).recipe.describe(against),
    )


def _which(number: int, body: Mapping[str, Any]) -> str:
    return f"certificate {number + 1}" + (f" ({body['lab']})" if "lab" in body else "")


def _name(body: Mapping[str, Any]) -> str:
    return str(body["hypothesis"]["description"])


def _difference(
    bodies: Sequence[Any],
    protocols: list[str],
    indices: list[int | None],
    confirmations: Sequence[ConfirmationOutcome],
    common: Common | None,
) -> str:
    for number, body in enumerate(bodies):
        if protocols[number] != protocols[0]:
            where = ", ".join(_differing_keys(bodies[0]["protocol"], body["protocol"])) or "keys"
            return f"{_which(number, body)} follows another protocol than the first: they differ in {where}"
    if common is not None and common.count == 0:
        return (
            f"no {protocol_of(bodies[0]).recipe.member} is left in all labs, so their items come from different "
            f"populations, or a condition is broken, except with probability {common.level:g}"
        )
    if common is not None and common.count > 1:
        return f"{protocol_of(bodies[0]).recipe.count(common.count)} are left in all labs"
    for number, index in enumerate(indices):
        if index is None or indices[0] is None:
            return f"{_which(number, bodies[number])} has no answer: no heavy hitter was found"
        if index != indices[0]:
            verb, which = "is about" if confirms(bodies[number]) else "chose", _which(number, bodies[number])
            if apart := _other_cell(bodies[0], bodies[number]):
                return f"{which} {verb} {_name(bodies[number])!r}, the first {_name(bodies[0])!r}: {apart}"
            recipe = protocol_of(bodies[0]).recipe
            return f"{which} {verb} {recipe.name(index)}, the first {recipe.name(indices[0])}"
    for outcome in ("refuted", "undecided"):
        for each in confirmations:
            if each.outcome == outcome:
                return f"lab {each.lab} {'refuted' if outcome == 'refuted' else 'is undecided about'} {each.answer!r}"
    return "nothing that matters"


def _other_cell(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """How far apart the cells of two labs lie, where their answers are cells."""
    cells = [body.get("proof", {}).get("cell") for body in (one, other)]
    if None in cells:
        return None
    steps = [abs(a - b) for a, b in zip(*cells, strict=True)]
    apart = sum(step > 0 for step in steps)
    axes = "1 axis" if apart == 1 else f"{apart} axes"
    return f"their cells differ along {axes} of the lattice, by {max(steps)} at most"


def _same_distribution(bodies: Sequence[Any]) -> float:
    """Chi-square tests of the label-free summaries, one a summarised hypothesis, corrected for their number.

    Items of a group are counted as if they were all alike.
    """
    from scipy.special import chdtrc

    smallest, alike = 1.0, bodies[0]["protocol"].get("pool", {}).get("group_size", 1)
    tables = [[each["predicts"] for each in body["pool"]["summary"]] for body in bodies]
    for counts in zip(*tables, strict=True):
        table = np.array(counts, dtype=np.float64)
        table = table[:, table.sum(axis=0) > 0]
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
        freedom = (len(table) - 1) * (table.shape[1] - 1)
        if freedom:
            smallest = min(smallest, float(chdtrc(freedom, ((table - expected) ** 2 / expected).sum() / alike)))
    return min(1.0, smallest * len(tables[0]))


def _differing_keys(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """The keys in which two protocols differ; of a table, its own keys, as in ``learner.epsilon``."""
    for key in [*one, *(key for key in other if key not in one)]:
        mine, theirs = one.get(key), other.get(key)
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            yield from (f"{key}.{each}" for each in _differing_keys(mine, theirs))
        elif mine != theirs:
            yield key
