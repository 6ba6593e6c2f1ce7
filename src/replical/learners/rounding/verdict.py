"""Is a rounded run certified? If not: which of the two conditions failed, and what would help."""

from __future__ import annotations

from fractions import Fraction

from replical.core.exact import down, up
from replical.learners.findings import Rounding, Verdict
from replical.plans.catalogue import find
from replical.plans.rounded import RoundedPlan


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
    if rounding.rho_proven is None:
        why = f"the finish {plan.finish!r} has no proof that labs agree"
        return Verdict(certified=False, why=why, helps=f"--learner {_settled(plan)}, which has one")
    rho, inaccurate = float(plan["rho"]), _inaccurate(rounding)
    if rounding.rho_proven <= rho:
        why, ways = f"{up(rounding.rho_proven, 3)} is proven, but {inaccurate}", _to_be_accurate(plan, rounding)
    else:
        proven = "nothing is" if rounding.rho_proven >= 1 else f"only {up(rounding.rho_proven, 3)} is"
        why = f"{proven} proven of how often labs differ, and {rho:g} was asked for"
        why, ways = f"{why}; {inaccurate}" if inaccurate else why, [_to_prove(plan, rounding)]
    return Verdict(certified=False, why=why, helps=", or ".join([*ways, *_other(plan)]))


def _by_yardstick(plan: RoundedPlan, rounding: Rounding) -> Verdict:
    """That labs agree and that the answer is accurate are said apart; one does not take back the other."""
    share, most = rounding.accuracy
    near = f"the answer differs from a survivor on {up(share, 3)} of this lab's items"
    inaccurate = (
        f"{near}, and the error bound allows {down(most, 3)}"
        if most > 0
        else "the pool is too small for the error bound"
    )
    helps = [] if rounding.accurate else ["a smaller b", "more items"]
    if rounding.certified:
        return Verdict(certified=True, why="" if rounding.accurate else inaccurate, helps=", or ".join(helps))
    assert rounding.rho_proven is not None, "a yardstick always proves something"
    proven = "nothing is" if rounding.rho_proven >= 1 else f"only {up(rounding.rho_proven, 3)} is"
    why = f"{proven} proven of how often labs differ, and {float(plan['rho']):g} was asked for"
    why = why if rounding.accurate else f"{why}; {inaccurate}"
    return Verdict(certified=False, why=why, helps=", or ".join([_labels(plan, rounding), *_other(plan)]))


def _other(plan: RoundedPlan) -> list[str]:
    """Another learner, where one would do: none that needs no pool size knows a shift."""
    return [] if plan.shift else [f"--learner {_settled(plan)}"]


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
    return f"the slack {up(slack, 4)} is too large for the error bound, which allows {down(most, 4)}"


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
    if needed is None and plan.shift:
        return f"a shift below {float(plan.shift):g}{_supports(plan, rounding)}"
    if needed is None:
        return f"more than 10,000,000 items{_supports(plan, rounding)}"
    if needed <= rounding.items:
        return _labels(plan, rounding)
    labels = "" if rounding.labels_sufficient or rounding.kappa == 0 else " and more labels"
    return f"about {needed:,} items{labels}{_supports(plan, rounding)}"


def _supports(plan: RoundedPlan, rounding: Rounding) -> str:
    if rounding.supports is None or rounding.supports <= float(plan["rho"]):
        return ""
    most = "nothing" if rounding.supports >= 1 else up(rounding.supports, 3)
    return f" (these {rounding.items:,} could prove {most} with all labels in the world)"


def _labels(plan: RoundedPlan, rounding: Rounding) -> str:
    """How more labels are had: it depends on what ended the run."""
    if rounding.kappa <= plan.slack * rounding.items:
        return f"a kappa below {rounding.kappa / rounding.items:.4g}"
    return "a larger budget" if rounding.spent else "more items to label"
