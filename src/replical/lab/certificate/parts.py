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


class SettlingPart(TypedDict):
    """What a run of Settled knows: levels, the shared threshold, the answer's place, and what was looked at.

    ``agreement_estimate`` is an estimate; ``excess_upper`` is a bound, null where the answer is not certified.
    """

    beta: float
    delta_A: float
    delta_I: float
    v: float
    place: int
    doubt: float
    asked: int
    scanned: int
    excess_upper: float | None
    agreement_estimate: float


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


class Required(TypedDict):
    """What every certificate holds."""

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


class Body(Required, total=False):
    """Everything that is digested.

    `lab` is there where it has a name, `registration`, a digest, where the run was registered, `beacon` where a public value
    took part in its private seed, `shift_most` where a protocol with a shift is certified, `settling` is that of a settled
    run and `enclosing` that of a lattice; both have the last two.
    """

    lab: str
    registration: str
    beacon: str
    shift_most: float
    settling: SettlingPart
    enclosing: EnclosingPart
    verdict: VerdictPart
    answer_error: AnswerErrorPart | None


class Made(TypedDict):
    """Where and when it was made, outside the digest."""

    replical: str
    python: str
    numpy: str
    created: str
    seal: str


class Provenance(Made, total=False):
    """How many events the journal had and the hash of the last, which those of before do not tell."""

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
