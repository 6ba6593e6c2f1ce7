"""The parts of a certificate: which keys it has, and what they hold. Writing and checking read them here."""

from __future__ import annotations

from typing import Any, TypedDict

from replical.lab.session import LabelCounts


class HypothesisSet(TypedDict):
    """Hypotheses as ascending ranges [low, high], and how many there are."""

    count: int
    ranges: list[list[int]]


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


class TranscriptPart(TypedDict):
    """The labels, without saying what they are."""

    entries: int
    digest: str


class Body(TypedDict):
    """Everything that is digested."""

    protocol: dict[str, Any]
    protocol_fingerprint: str
    class_fingerprint: str
    hypothesis: dict[str, Any] | None
    plan: dict[str, Any]
    shared: dict[str, Any]
    survivors: HypothesisSet
    kept: HypothesisSet
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


class Provenance(TypedDict):
    """Where and when it was made, outside the digest."""

    replical: str
    python: str
    numpy: str
    created: str
    seal: str


def keys(part: type) -> frozenset[str]:
    """The keys a part must have, no more and no fewer.

    Examples
    --------
    >>> sorted(keys(TranscriptPart))
    ['digest', 'entries']
    """
    return frozenset(part.__annotations__)
