"""The figures of an audit, from the columns of its pairs: how often labs agreed, and at what price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import fsum
from typing import Any

from replical.core.binomial import clopper_pearson
from replical.learners.findings import Proven

COUNTED = 0.2  # share of pairs that must differ before the last step: otherwise labs agree anyway and nothing is shown

# Columns of a table of pairs: name and kind, one row a pair, `_a` and `_b` for its two labs.
_OF_PAIR = (("pair", "int64"), ("target", "int64"), ("agree", "bool"), ("same_function", "bool"), ("jaccard", "double"))
_OF_LAB = (
    ("hypothesis", "int64"), ("unrounded", "int64"), ("survivors", "int64"), ("labels", "double"),
    ("excess_error", "double"), ("over_epsilon", "bool"), ("stopped_short", "bool"), ("labels_sufficient", "bool"),
    ("certified", "bool"), ("rho_proven", "double"), ("rho_predicted", "double"),
)  # fmt: skip
COLUMNS = _OF_PAIR + tuple((f"{name}_{lab}", kind) for name, kind in _OF_LAB for lab in "ab")

Columns = dict[str, list[Any]]


@dataclass(frozen=True, kw_only=True)
class Group:
    """All labs with one string.

    Attributes
    ----------
    hypotheses
        What the labs returned; None for no answer.
    certified
        Which of them were certified; None where the learner does not do that.
    rho_proven
        What they proved.
    jaccard_distance
        1 - |∩|/|∪| of their balls around the centre, averaged over the shared threshold; None where labs do not round.
    """

    hypotheses: tuple[int | None, ...]
    certified: tuple[bool, ...] | None
    rho_proven: tuple[float | None, ...]
    jaccard_distance: float | None

    @property
    def pairs_differ(self) -> float:
        """The share of pairs of labs whose answers differ, or that have none."""
        pairs = list(combinations(self.hypotheses, 2))
        return sum(one is None or one != two for one, two in pairs) / len(pairs)

    @property
    def certified_differ(self) -> bool | None:
        """Do two certified labs differ? That is what is promised to be rare."""
        if self.certified is None:
            return None
        return len({h for h, sure in zip(self.hypotheses, self.certified, strict=True) if sure}) > 1


@dataclass(frozen=True, kw_only=True)
class Groups:
    """The figures of an audit of groups of labs.

    Attributes
    ----------
    groups, labs
        Groups, and labs in each.
    all_agree, all_agree_low, all_agree_high
        The share of groups whose labs all returned the identical hypothesis, and its exact (Clopper-Pearson) interval at
        95%.
    pairs_differ
        The share of pairs of labs that differ, mean over groups.
    certified_differ
        The share of groups in which two certified labs differ; None where the learner certifies nothing.
    jaccard_distance
        Mean `Group.jaccard_distance`: how often the labs would not all agree, over every threshold and order.
    rho_proven
        Mean over all labs of what they proved about it.
    """

    groups: int
    labs: int
    all_agree: float
    all_agree_low: float
    all_agree_high: float
    pairs_differ: float
    certified_differ: float | None
    jaccard_distance: float | None
    rho_proven: float | None


def together(pairs: Sequence[Pair]) -> Groups:
    """The figures of the groups that these pairs are the first labs of."""
    groups = [pair.group for pair in pairs if pair.group is not None]
    agree = sum(group.pairs_differ == 0 for group in groups)
    low, high = clopper_pearson(agree, len(groups))
    return Groups(
        groups=len(groups),
        labs=len(groups[0].hypotheses),
        all_agree=agree / len(groups),
        all_agree_low=low,
        all_agree_high=high,
        pairs_differ=fsum(group.pairs_differ for group in groups) / len(groups),
        certified_differ=mean([group.certified_differ for group in groups]),
        jaccard_distance=mean([group.jaccard_distance for group in groups]),
        rho_proven=mean([rho for group in groups for rho in group.rho_proven]),
    )


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two labs with one string; small enough to travel between processes. Pairs of values are lab A's and lab B's.

    Attributes
    ----------
    number
        Which pair of the audit this is.
    target
        The hypothesis that gave the labels.
    hypotheses
        What the labs returned; None for no answer.
    unrounded
        What they would have returned without the replicable last step.
    same_function
        Do the two answers say the same in every cell that has mass?
    jaccard_distance
        1 - |V1∩V2|/|V1∪V2|, of the version spaces at the end; where labs round, of their balls around the centre,
        averaged over the shared threshold.
    survivors
        Sizes of the version spaces at the end.
    labels
        Labels asked for.
    excess_errors
        Errors of the answers above ν, the smallest of the class.
    stopped_short
        Did the run end other than by its own stop test: at a cap, its budget or the pool's end, or uncertified?
    proofs
        What the labs proved of themselves; None where the learner does not do that.
    group
        All labs with this string, the two of the pair first.
    """

    number: int
    target: int
    hypotheses: tuple[int | None, int | None]
    unrounded: tuple[int, int]
    same_function: bool
    jaccard_distance: float
    survivors: tuple[int, int]
    labels: tuple[int, int]
    excess_errors: tuple[Fraction, Fraction]
    stopped_short: tuple[bool, bool]
    proofs: tuple[Proven, Proven] | None = None
    group: Group | None = None

    @property
    def agree(self) -> bool:
        """Did both labs return the identical hypothesis?"""
        return self.hypotheses[0] is not None and self.hypotheses[0] == self.hypotheses[1]


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The figures of an audit.

    What labs proved and estimated (`labels_sufficient_fraction` to `rho_predicted`) is None where the learner does not
    round.

    Attributes
    ----------
    pairs, agreements
        Pairs of labs, and how many of them returned the identical hypothesis.
    agreement, agreement_low, agreement_high
        The share of pairs that agree, and its exact (Clopper-Pearson) interval at 95%.
    function_agreement
        The share of pairs whose answers say the same everywhere, identical or not.
    expected_jaccard
        Mean `Pair.jaccard_distance`.
    survivors_mean
        Hypotheses that a lab had left at the end.
    base_agreement
        The share of pairs that would agree without the replicable last step.
    labels_mean, labels_max
        Labels a lab asked for: mean and most.
    excess_error_mean, excess_error_max
        Error of a lab's answer above the smallest of the class: mean and largest.
    excess_over_epsilon
        Labs whose excess error is above ε.
    labels_sufficient_fraction
        The share of labs that needed no more labels, only perhaps a larger pool.
    certified_fraction
        The share of labs that ended certified.
    rho_proven, rho_predicted
        Means over labs of what they proved, and estimated, about how often two labs differ.
    cap_reached
        Labs whose run ended other than by its own stop test.
    """

    pairs: int
    agreements: int
    agreement: float
    agreement_low: float
    agreement_high: float
    function_agreement: float
    expected_jaccard: float
    survivors_mean: float
    base_agreement: float
    labels_mean: float
    labels_max: int
    excess_error_mean: float
    excess_error_max: float
    excess_over_epsilon: int
    labels_sufficient_fraction: float | None
    certified_fraction: float | None
    rho_proven: float | None
    rho_predicted: float | None
    cap_reached: int


def columns(pairs: Sequence[Pair], epsilon: Fraction) -> Columns:
    """Pairs as columns."""
    table: Columns = {name: [] for name, _ in COLUMNS}
    for pair in pairs:
        table["pair"].append(pair.number)
        table["target"].append(pair.target)
        table["agree"].append(pair.agree)
        table["same_function"].append(pair.same_function)
        table["jaccard"].append(pair.jaccard_distance)
        for lab, letter in enumerate("ab"):
            for name, value in _of_lab(pair, lab, epsilon).items():
                table[f"{name}_{letter}"].append(value)
    return table


def _of_lab(pair: Pair, lab: int, epsilon: Fraction) -> dict[str, Any]:
    proof = None if pair.proofs is None else pair.proofs[lab]
    return {
        "hypothesis": pair.hypotheses[lab],
        "unrounded": pair.unrounded[lab],
        "survivors": pair.survivors[lab],
        "labels": pair.labels[lab],
        "excess_error": float(pair.excess_errors[lab]),
        "over_epsilon": pair.excess_errors[lab] > epsilon,
        "stopped_short": pair.stopped_short[lab],
        "labels_sufficient": None if proof is None else proof.labels_sufficient,
        "certified": None if proof is None else proof.certified,
        "rho_proven": None if proof is None else proof.rho_proven,
        "rho_predicted": None if proof is None else proof.rho_predicted,
    }


def figures(rows: Columns) -> Audit:
    """The figures of an audit; sums are exact, so that the order of the pairs does not matter."""
    pairs, agreements = len(rows["pair"]), sum(rows["agree"])
    low, high = clopper_pearson(agreements, pairs)
    labs = {name: rows[f"{name}_a"] + rows[f"{name}_b"] for name, _ in _OF_LAB}
    unrounded = zip(rows["unrounded_a"], rows["unrounded_b"], strict=True)
    return Audit(
        pairs=pairs,
        agreements=agreements,
        agreement=agreements / pairs,
        agreement_low=low,
        agreement_high=high,
        function_agreement=sum(rows["same_function"]) / pairs,
        expected_jaccard=fsum(rows["jaccard"]) / pairs,
        survivors_mean=sum(labs["survivors"]) / (2 * pairs),
        base_agreement=sum(one == two for one, two in unrounded) / pairs,
        labels_mean=_sum(labs["labels"]) / (2 * pairs),
        labels_max=max(labs["labels"]),
        excess_error_mean=fsum(labs["excess_error"]) / (2 * pairs),
        excess_error_max=max(labs["excess_error"]),
        excess_over_epsilon=sum(labs["over_epsilon"]),
        labels_sufficient_fraction=mean(labs["labels_sufficient"]),
        certified_fraction=mean(labs["certified"]),
        rho_proven=mean(labs["rho_proven"]),
        rho_predicted=mean(labs["rho_predicted"]),
        cap_reached=sum(labs["stopped_short"]),
    )


def _sum(values: Sequence[Any]) -> Any:
    """Whole numbers of any size, or doubles."""
    return sum(values) if all(isinstance(value, int) for value in values) else fsum(values)


def mean(values: Sequence[float | None]) -> float | None:
    """Of those that are there; None if none is.

    Examples
    --------
    >>> mean([1, None, 2]), mean([None])
    (1.5, None)
    """
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None
