"""CAL, realizable: ask only where survivors disagree, drop everyone who is ever wrong, stop at Δ(V) ≤ ε.

Claim: if some hypothesis makes no error, every survivor at the stop has error at most Δ(V) ≤ ε; with k = 2Θ ln(nN/δ)
labels per round, N rounds suffice with probability at least 1-δ.
Reference: Algorithm 1. With k = 1 it is the streaming form: one item at a time, in private order (learner id "cal");
with the plan's k it is Algorithm 1 itself ("cal-rounds"). Not replicable: "any h in V" is the first in the shared
order, the choice most favourable to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil as ceil_of
from math import log

from replical.core.exact import ceil, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, check_plan, stopped
from replical.learners.plan import (
    MEASURED,
    Condition,
    Cost,
    Number,
    Plan,
    Rounds,
    RunReport,
    Setting,
    Task,
    rounds_cost,
    scanning_labels,
)
from replical.pools.pool import AnyPool


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
        """On `pool`, drop whoever is ever wrong, until Δ(V) ≤ ε or rounds are spent; then the first survivor by `shared`.

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
        plan, rounds = self.plan, 0
        V, scan = pool.version_space(), pool.scan()
        while V.mass > plan.stop_mass and not plan.spent(rounds):
            query = scan.draw(V, plan.k)
            if query.total == 0:  # nothing is disputed
                break
            S = yield query
            V = V.keep(V.errors(S) == 0)
            rounds += 1
        return stopped(V, plan, pool, shared)


@dataclass(frozen=True, kw_only=True)
class CALPlan(Plan):
    """CAL: k labels per round; k = 1 is the streaming form."""

    rounds_most: int | None

    @property
    def k(self) -> int:
        """Labels a round."""
        return self.integer("k_loop")

    def cost(self, setting: Setting) -> Cost:
        """By rounds, or, one item at a time, by Theorem R1 on the items that accuracy needs."""
        if self.rounds_most is not None:
            return rounds_cost(self.rounds_most, self.k, self.stop_mass)
        items = ceil_of((setting.theta or 1.0) * log(setting.n / setting.delta) / setting.epsilon)
        return Cost(labels=scanning_labels(setting, items), kind="expected", unlabelled=items)

    @property
    def keeps_all_left(self) -> bool:
        """There is no last sample."""
        return True

    def check_rounds(self, rounds: Rounds) -> str | None:
        """k labels a round."""
        if all(each["drawn"] == self.k for each in rounds) and not self.spent(len(rounds) - 1):
            return None
        return f"the plan asks for {self.k} labels per round, and for so many rounds only"

    def own_conditions(self, report: RunReport) -> tuple[Condition, ...]:
        """Whether the loop ended because little is disputed, and that masses are measured."""
        return (report.stop_condition(self, inclusive=True), MEASURED)

    def spent(self, rounds: int) -> bool:
        """Is the number of rounds (or, one item at a time, the budget of labels) used up?"""
        most = self.max_labels if self.rounds_most is None else self.rounds_most
        return most is not None and rounds >= most

    @property
    def labels_most(self) -> int | None:
        """The most labels a run can ask for."""
        return self.max_labels if self.rounds_most is None else self.k * self.rounds_most


def streaming(task: Task) -> CALPlan:
    """CAL one item at a time: nothing to size."""
    numbers = (Number(name="k_loop", value=1, source="one item at a time"),)
    return CALPlan(
        learner="cal", name="tight", n=task.n, epsilon=fraction(task.epsilon), numbers=numbers, rounds_most=None
    )


def paper(task: Task) -> CALPlan:
    """Algorithm 1."""
    k = ceil(2 * task.theta * ln(task.n * task.rounds / task.delta))
    source = (
        "2Θ ln(nN/δ): conditional error 1/(2Θ) passes k labels with probability below e^(-k/2Θ), union over n and N"
    )
    return _in_rounds(task, "paper", k, source)


def tight(task: Task) -> CALPlan:
    """Algorithm 1 with the exact tail."""
    k = ceil(ln(task.n * task.rounds / task.delta) / -ln(1 - 1 / (2 * task.theta)))
    source = "conditional error 1/(2Θ) passes k labels with probability at most (1-1/2Θ)^k, union over n and N"
    return _in_rounds(task, "tight", k, source)


def _in_rounds(task: Task, name: str, labels: int, source: str) -> CALPlan:
    N, (k, conditions) = task.rounds, task.size("k_loop", labels, source)
    return CALPlan(
        learner="cal-rounds",
        name=name,
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=(k, Number(name="N", value=N, source="⌊log2(1/ε)⌋+1 halvings")),
        conditions=conditions,
        rounds_most=N,
    )
