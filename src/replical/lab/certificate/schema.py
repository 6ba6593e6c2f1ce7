"""What a certificate is made of: every part with its keys and kinds; anything else is refused, and the path is named.

Digests are of the raw JSON; these schemas say only what may stand there. The part ``proof`` is checked by the schema of its
family (`replical.learners.proof`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from replical.learners.proof import Family

Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Digest = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
Word = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]


class HypothesisName(Struct, forbid_unknown_fields=True):
    """A hypothesis, by number and in words."""

    index: int
    description: str


class Number(Struct, forbid_unknown_fields=True):
    """A number of the plan, whole or [numerator, denominator], and where it came from."""

    name: str
    value: int | tuple[int, int]
    source: str


class PlanPart(Struct, forbid_unknown_fields=True):
    """The plan."""

    learner: str
    name: str
    numbers: list[Number]


class Shared(Struct, forbid_unknown_fields=True):
    """The word behind the shared threshold, and the winner's in the shared order."""

    threshold: Word
    winner_rank: Word | None


class HypothesisSet(Struct, forbid_unknown_fields=True):
    """Hypotheses as ascending ranges [low, high], and how many there are."""

    count: int
    ranges: list[tuple[int, int]] | UnsetType = UNSET


class Round(Struct, forbid_unknown_fields=True):
    """One exchange: Δ(V) as [count, total], survivors, labels asked for, items looked at."""

    round: Count
    disagreement: tuple[Count, Count]
    survivors: Count
    drawn: Count
    scanned: Count


class Condition(Struct, forbid_unknown_fields=True):
    """Something a guarantee needs, and whether it held."""

    name: str
    value: float
    bound: float
    held: bool


class Summary(Struct, forbid_unknown_fields=True):
    """How often one public hypothesis predicts each label."""

    hypothesis: Count
    predicts: list[Count]


class Pool(Struct, forbid_unknown_fields=True):
    """The lab's items, without saying what they are."""

    items: int
    fingerprint: Digest
    summary: list[Summary]


class Growth(Struct, forbid_unknown_fields=True):
    """Items that came together, and the digest of their registration, null where they have none."""

    items: int
    fingerprint: Digest
    registration: str | None


class Labels(Struct, forbid_unknown_fields=True):
    """How many labels were asked, answered, skipped and corrected; and how many the lab wanted to spend, if it said so."""

    asked: Count
    answered: Count
    skipped: Count
    corrected: Count
    budget: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    judgements: Count | UnsetType = UNSET


class Transcript(Struct, forbid_unknown_fields=True):
    """The labels, without saying what they are."""

    entries: Count
    digest: Digest


class Verdict(Struct, forbid_unknown_fields=True):
    """Proven or not, why not, what would help."""

    certified: bool
    why: str
    helps: str


class AnswerError(Struct, forbid_unknown_fields=True):
    """How often the answer errs, or errs more than the best: an estimate, and an interval at a level."""

    estimate: float
    low: float
    high: float
    level: float
    of: Literal["error", "loss", "excess"]
    labels: Count
    skipped: Count


class Confirms(Struct, forbid_unknown_fields=True):
    """The certificate whose answer is confirmed, the pool that was computed on, and how closely it is looked at."""

    certificate: Digest
    pool_fingerprint: Digest
    margin: float
    level: float
    batch: Count
    max_labels: Count | None


class Body(Struct, forbid_unknown_fields=True):
    """Everything that is digested.

    `lab` is there where it has a name, `registration`, a digest, where the run was registered, `parts` where the pool has
    grown, `beacon` where a public value took part in its private seed, `confirms` where an answer is confirmed. Runs that
    prove something have the last three.
    """

    protocol: dict[str, Any]
    protocol_fingerprint: Digest
    class_fingerprint: Digest
    hypothesis: HypothesisName | None
    plan: PlanPart
    shared: Shared
    survivors: HypothesisSet
    rounds: list[Round]
    conditions: list[Condition]
    labels: Labels
    certified: bool
    rho_proven: Share | None
    pool: Pool
    private_commitment: Digest
    transcript: Transcript
    runs_in_journal: Count
    lab: str | UnsetType = UNSET
    registration: str | UnsetType = UNSET
    parts: list[Growth] | UnsetType = UNSET
    beacon: str | UnsetType = UNSET
    confirms: Confirms | UnsetType = UNSET
    proof: dict[str, Any] | UnsetType = UNSET
    verdict: Verdict | UnsetType = UNSET
    answer_error: AnswerError | UnsetType | None = UNSET


class Provenance(Struct, forbid_unknown_fields=True):
    """Where and when it was made, outside the digest; and where its journal ended, if it was made from one."""

    replical: str
    python: str
    numpy: str
    created: str
    seal: str
    journal_events: str | UnsetType = UNSET
    journal_head: str | UnsetType = UNSET


def wrong_shape(content: Any, schema: type[Struct]) -> str | None:
    """What does not fit a schema, with its path; nothing if all does."""
    try:
        msgspec.convert(content, schema)
    except msgspec.ValidationError as error:
        return str(error)
    return None


def wrong_body(body: Mapping[str, Any], family: Family) -> str | None:
    """What does not fit the schemas of bodies, and of the family's part."""
    if wrong := wrong_shape(body, Body):
        return wrong
    proves = ("proof", "verdict", "answer_error")
    if {name in body for name in proves} != {family.Part is not None}:
        return f"{', '.join(proves)} are told by learners that prove something of their runs, and by no others"
    if family.Part is None:
        return None
    wrong = wrong_shape(body["proof"], family.Part)
    return None if wrong is None else wrong.replace("$", "$.proof")
