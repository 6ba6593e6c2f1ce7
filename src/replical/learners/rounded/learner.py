"""Rounded: replicability for an additive price in labels.

Shrink a version space with CAL or A² further than accuracy needs, take its centre, and return the first hypothesis in
the shared order within a shared distance v of it. The last step costs no labels. The run stops as soon as this lab's own
bound gamma, computed without labels, proves that two labs are both certified and different with probability at most ρ.

Claim: for every fixed ρ, Pr[both labs certified and their answers differ] ≤ ρ, and Pr[certified, error above ν+ε] ≤ δ; over
CAL under realizability, over A² whatever the noise. Where a run is not certified its verdict says which of the two
conditions failed, and what would help. Reference: ours, Theorems L1-L2 (docs/claims/certificate.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from replical.core.exact import round_down, round_up
from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, Shrinkage, Shrinker, check_base, check_plan
from replical.learners.catalogue import find
from replical.learners.plan import Condition
from replical.learners.result import Result, Rounding, Verdict
from replical.learners.rounded.plan import RoundedPlan
from replical.learners.rounded.proof import Looks, Proof, YardstickProof
from replical.pools.pool import AnyPool
from replical.pools.version_space import VersionSpace


def verdict(plan: RoundedPlan, rounding: Rounding) -> Verdict:
    """What a lab with this `plan` may say of its `rounding`.

    Examples
    --------
    >>> from replical import Population, PrivateRandomness, SharedRandomness, Thresholds, learn, learner_for, plan
    >>> C = Thresholds(100)
    >>> world, lab = Population(C, target=31), PrivateRandomness.simulated("doctest")
    >>> p = plan("rounded-cal", C, epsilon=.1, delta=.05, rho=.3, pool="finite")
    >>> pool = world.pool(5000, lab)
    >>> result = learn(learner_for(p), pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> found = verdict(p, result.rounding)
    >>> print(found.why)
    0.282 is proven, but the pool of 5,000 items is too small for the error bound
    >>> print(found.helps)
    about 11,313 items, or --learner settled-cal
    """
    if plan.yardstick is not None:
        return _by_yardstick(plan, rounding)
    if rounding.certified:
        return Verdict(certified=True, why="", helps="")
    rho, inaccurate = float(plan["rho"]), _inaccurate(rounding)
    if rounding.rho_proven <= rho:
        why, ways = f"{round_up(rounding.rho_proven, 3)} is proven, but {inaccurate}", _to_be_accurate(plan, rounding)
    else:
        proven = "nothing is" if rounding.rho_proven >= 1 else f"only {round_up(rounding.rho_proven, 3)} is"
        why = f"{proven} proven of how often labs differ, and {rho:g} was asked for"
        why, ways = f"{why}; {inaccurate}" if inaccurate else why, [_to_prove(plan, rounding)]
    return Verdict(certified=False, why=why, helps=", or ".join([*ways, f"--learner {_settled(plan)}"]))


def _by_yardstick(plan: RoundedPlan, rounding: Rounding) -> Verdict:
    """That labs agree and that the answer is accurate are said apart; one does not take back the other."""
    share, most = rounding.accuracy
    near = f"the answer differs from a survivor on {round_up(share, 3)} of this lab's items"
    inaccurate = (
        f"{near}, and the error bound allows {round_down(most, 3)}"
        if most > 0
        else "the pool is too small for the error bound"
    )
    helps = [] if rounding.accurate else ["a smaller b", "more items"]
    if rounding.certified:
        return Verdict(certified=True, why="" if rounding.accurate else inaccurate, helps=", or ".join(helps))
    proven = "nothing is" if rounding.rho_proven >= 1 else f"only {round_up(rounding.rho_proven, 3)} is"
    why = f"{proven} proven of how often labs differ, and {float(plan['rho']):g} was asked for"
    why = why if rounding.accurate else f"{why}; {inaccurate}"
    return Verdict(
        certified=False, why=why, helps=", or ".join([_labels(plan, rounding), f"--learner {_settled(plan)}"])
    )


def _settled(plan: RoundedPlan) -> str:
    """The learner that needs no pool size, for the same labels."""
    return "settled-cal" if find(plan.learner).setting == "realizable" else "settled"


def _inaccurate(rounding: Rounding) -> str:
    """Why the error bound does not hold; empty if it does."""
    if rounding.accurate:
        return ""
    slack, most = rounding.accuracy
    if most < 0:
        return f"the pool of {rounding.items:,} items is too small for the error bound"
    return f"the slack {round_up(slack, 4)} is too large for the error bound, which allows {round_down(most, 4)}"


def _to_be_accurate(plan: RoundedPlan, rounding: Rounding) -> list[str]:
    """More items for the slack there is, or less slack."""
    ways = [_labels(plan, rounding)] if rounding.accuracy[1] >= 0 else []
    if (enough := plan.pool_accurate(Fraction(rounding.kappa, rounding.items))) is not None:
        return [f"about {enough:,} items", *ways]
    if ways or (least := plan.pool_accurate(Fraction(0))) is None:
        return ways or ["more than 10,000,000 items"]
    return [f"more than {least:,} items and more labels"]


def _to_prove(plan: RoundedPlan, rounding: Rounding) -> str:
    """More items, or, where there are enough, less slack."""
    needed = rounding.pool_needed
    if needed is None:
        return f"more than 10,000,000 items{_supports(plan, rounding)}"
    if needed <= rounding.items:
        return _labels(plan, rounding)
    labels = "" if rounding.labels_sufficient or rounding.kappa == 0 else " and more labels"
    return f"about {needed:,} items{labels}{_supports(plan, rounding)}"


def _supports(plan: RoundedPlan, rounding: Rounding) -> str:
    if rounding.supports is None or rounding.supports <= float(plan["rho"]):
        return ""
    most = "nothing" if rounding.supports >= 1 else round_up(rounding.supports, 3)
    return f" (these {rounding.items:,} could prove {most} with all labels in the world)"


def _labels(plan: RoundedPlan, rounding: Rounding) -> str:
    """How more labels are had: it depends on what ended the run."""
    if rounding.kappa <= plan.slack * rounding.items:
        return f"a kappa below {rounding.kappa / rounding.items:.4g}"
    return "a larger budget" if rounding.spent else "more items to label"


CERTIFIED = "this lab's certificate proves rho"
ACCURATE = "slack is small enough for the error bound"
NEAR = "the answer is near enough to every survivor for the error bound"


@dataclass(frozen=True)
class Rounded:
    """A base learner, stopped by its lab's own proof of ρ and rounded without labels.

    Parameters
    ----------
    base
        The learner that shrinks the version space: ``CAL(plan.base)`` or ``A2(plan.base)``, whichever the plan is for.
        The proof is about ``plan.base``, so a base with any other plan is refused.
    plan
        ``plan("rounded-cal", C, epsilon=.., delta=.., rho=.., pool="finite")`` or ``"rounded-a2"``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner, or the base follows another plan than ``plan.base``.

    Examples
    --------
    >>> from replical import CAL, Population, PrivateRandomness, Rounded, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool(50_000, lab)
    >>> p = plan("rounded-cal", C, epsilon=.1, delta=.05, rho=.1, pool="finite", items=50_000)
    >>> learner = Rounded(CAL(p.base), p)
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.hypothesis, result.rounding.certified, result.rounding.rho_proven
    (12, 340, True, 0.089425)
    """

    base: Shrinker
    plan: RoundedPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, RoundedPlan, "Rounded")
        check_base(self.base, self.plan, "Rounded")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Shrink V on `pool` until this lab's own proof holds, then round by `shared`.

        Returns
        -------
        conversation
            It ends with a `Result`. `hypothesis`: the first in the shared order within a shared distance of the
            centre of V. `unrounded`: the first of V in the shared order. `V`:
            what the base left. `conditions`: those of the plan, whether ρ is proven, and whether the slack is small
            enough for the error bound. `rounding`: what this lab has proven.

        Raises
        ------
        EmptyVersionSpace
            Over CAL, if everyone was wrong: no hypothesis fits the labels.
        """
        pool = pool.first(self.plan.items)
        proof = self.proof(pool)
        shrunk = yield from self.base.shrink(pool, proof.reached)
        return self.conclude(proof, shrunk, shared)

    def proof(self, pool: AnyPool) -> Looks:
        """How this lab proves ρ: on the plan's yardstick, or on the items of its `pool`."""
        return Proof(self.plan, pool) if self.plan.yardstick is None else YardstickProof(self.plan, pool)

    def conclude(self, proof: Looks, shrunk: Shrinkage, shared: SharedRandomness) -> Result:
        """Round `shrunk`, what the base left, without labels; `proof` is this lab's own, `shared` the published randomness.

        Returns
        -------
        result
            As `run` ends with.
        """
        plan = self.plan
        rounding = proof.conclude(shrunk)
        ball = plan.ball(shared, rounding.scores, rounding.items, shrunk.V.indices)
        answer = plan.prior.first(shared, "order", indices=ball)
        rounding = proof.judged(rounding, shrunk.V, answer, shared)
        return Result(
            hypothesis=answer,
            unrounded=shrunk.V.first(shared, plan.prior),
            V=shrunk.V,
            conditions=(*plan.conditions, *_conditions(plan, rounding)),
            rounding=rounding,
            verdict=verdict(plan, rounding),
            ball=ball,
        )

    def repeatable(self, items: int) -> bool:
        """Does the proof follow from so many `items` and the survivors? Not where some of the items did."""
        return self.plan.items in (None, items)

    def prove(self, pool: AnyPool, V: VersionSpace, shared: SharedRandomness) -> Result:
        """What the survivors `V` prove on this `pool` with the `shared` string, without labels."""
        proof = self.proof(pool)
        proof.reached(V)
        return self.conclude(proof, Shrinkage(V=V, answers=(), scanned=0), shared)


def _conditions(plan: RoundedPlan, rounding: Rounding) -> tuple[Condition, Condition]:
    proven, rho = rounding.rho_proven, float(plan["rho"])
    return (
        Condition(name=CERTIFIED, value=proven, bound=rho, held=proven <= rho),
        Condition(
            name=ACCURATE if plan.yardstick is None else NEAR,
            value=rounding.accuracy[0],
            bound=rounding.accuracy[1],
            held=rounding.accurate,
        ),
    )
