"""CAL, realizable: ask only where survivors disagree, drop everyone who is ever wrong, stop at Δ(V) ≤ ε.

Claim: if some hypothesis makes no error, every survivor at the stop has error at most Δ(V) ≤ ε; with k = 2Θ ln(nN/δ)
labels per round, N rounds suffice with probability at least 1-δ.
Reference: Algorithm 1. With k = 1 it is the streaming form: one item at a time, in private order (learner id "cal");
with the plan's k it is Algorithm 1 itself ("cal-rounds"). Not replicable: "any h in V" is the first in the shared
order, the choice most favourable to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, Shrinking, Shrunk, Until, at_own_stop, check_plan
from replical.plans.base import CALPlan
from replical.pools.pool import AnyPool
from replical.pools.query import Answers


@dataclass(frozen=True)
class CAL:
    """CAL, streaming or in rounds as its plan says.

    Parameters
    ----------
    plan
        ``plan("cal", C, epsilon=.., delta=..)`` or ``plan("cal-rounds", C, epsilon=.., delta=.., theta=..)``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import CAL, Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool(5000, lab)
    >>> learner = CAL(plan("cal", C, epsilon=.05, delta=.05, pool="finite"))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.V.size, result.V.mass
    (7, 43, Fraction(109, 2500))
    """

    plan: CALPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, CALPlan, "CAL")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Shrink V on `pool` until Δ(V) ≤ ε, then take the first survivor by `shared`.

        Returns
        -------
        conversation
            It ends with a `Result`. `V`: everyone who was never wrong. `hypothesis`: the first of them in the shared
            order. `unrounded`: the same one. `conditions`: those of the plan, whether Δ(V) ≤ ε was reached, and whether
            masses are known, so that the error bound speaks of the distribution and not only of this pool.

        Raises
        ------
        EmptyVersionSpace
            If everyone was wrong: no hypothesis fits the labels.
        PoolExhausted
            If a finite pool runs out of the items a round needs.
        """
        return at_own_stop(self, pool, shared)

    def shrink(self, pool: AnyPool, until: Until) -> Shrinking:
        """On `pool`, drop whoever is ever wrong, until V passes the rule `until` or the plan's rounds are spent.

        Returns
        -------
        shrinking
            It ends with V, the answers heard, and how many items were looked at.
        """
        plan, scanned = self.plan, 0
        answers: list[Answers] = []
        V, scan = pool.version_space(), pool.scan()
        while not until(V) and not plan.spent(len(answers)):
            query = plan.next(scan, V)
            if query.total == 0:  # nothing is disputed
                break
            S = yield query
            V = V.keep(V.errors(S) == 0)
            answers.append(S)
            scanned += query.scanned
        return Shrunk(V=V, answers=tuple(answers), scanned=scanned)
