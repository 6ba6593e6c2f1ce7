"""A², agnostic: ask only where survivors disagree, remove a hypothesis only when a better one has proved itself.

Claim: whatever the noise, a best hypothesis h* is never removed except with probability δ; so at the stop Δ(V) ≤ κ every
survivor's error is within κ of the best. `A2` needs no Θ, no ν and no rounds; all labels are reused.
Reference: the paper's Algorithm 2 is `A2Rounds`, with sizes; `A2` is the sharper form, by betting. It watches only labels on
which exactly one of two hypotheses is right, stays valid at any time and for any stop, and needs no union bound, because it
protects the best hypothesis alone (docs/claims/a2.md). Not replicable: "any h in V" is the first in the shared order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import ceil as ceil_of
from math import floor, log

import numpy as np
from numpy.typing import NDArray

from replical.classes.predictions.base import Nearness
from replical.core.exact import ceil, decimal, decimals, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, check_plan, masses_condition, stop_condition, stopped
from replical.learners.plan import (
    MEASURED,
    Condition,
    Cost,
    Number,
    Plan,
    Rounds,
    RoundsPlan,
    RunReport,
    Setting,
    Task,
    halving_labels,
    rounds_cost,
)
from replical.learners.result import Result
from replical.pools.pool import AnyPool
from replical.pools.query import Answers, Indices
from replical.pools.version_space import VersionSpace

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class A2:
    """A² by elimination.

    Parameters
    ----------
    plan
        ``plan("a2", C, epsilon=.., delta=..)``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import A2, Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314, noise=.1), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool(5000, lab)
    >>> learner = A2(plan("a2", C, epsilon=.05, delta=.05, pool="finite"))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.V.size, round(float(world.error(result.hypothesis) - world.nu), 3)
    (146, 50, 0.007)
    """

    plan: A2Plan

    def __post_init__(self) -> None:
        check_plan(self.plan, A2Plan, "A2")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """On `pool`, drop whoever a better one has beaten, until Δ(V) ≤ κ = ε; then take the first survivor by `shared`.

        It also ends when the pool is used up or the budget is spent.

        Returns
        -------
        conversation
            It ends with a `Result`. `V`: everyone whom no better one has beaten. `hypothesis`: the first of them in the
            shared order. `unrounded`: the same one. `conditions`: those of the plan, whether Δ(V) ≤ κ was reached, and
            whether masses are known, so that the error bound speaks of the distribution and not only of this pool.
        """
        plan, asked = self.plan, 0
        tail = pool.tail(plan["part"])  # never asked: a choice that looks at items still to come is not fair
        V, scan = pool.version_space(), pool.scan(sparing=len(tail))
        test = self.test(V, tail)
        while V.mass > plan.stop_mass and plan.opens(asked):
            query = scan.some(V, plan.opens(asked))
            if query.total == 0:  # the pool is used up
                break
            asked += query.total
            S = yield query
            mask = test.after(V, S)
            V = V.keep(mask)
            test.keep(mask)
        return stopped(V, plan, pool, shared)

    def test(self, V: VersionSpace, tail: Indices) -> Betting:
        """The bets of the hypotheses in `V`, with nearness measured on `tail`."""
        return Betting(V, V.predictions.nearness(tail), self.plan)


class Betting:
    """Each survivor h bets against an opponent; h is removed when the bets say that it is not the best.

    A wealth for each stake λ is multiplied by 1+λ when the opponent was right and h wrong, by 1-λ in the opposite case.
    It depends only on how often each happened, so two integers a hypothesis suffice.
    """

    def __init__(self, V: VersionSpace, nearness: Nearness, plan: A2Plan) -> None:
        self._nearness, self._plan = nearness, plan
        self._errors, self._lost, self._won = np.zeros(
            (3, V.size), dtype=np.int64
        )  # lost: the opponent alone was right

    def after(self, V: VersionSpace, S: Answers) -> Mask:
        """Settle the bets label by label, in the order of the scan; opponents are chosen before each label is heard."""
        stays = np.ones(V.size, dtype=np.bool_)
        for item, label, count in S.single():
            opponents = self.opponents(V)
            wrong = V.predictions.codes_of_item(item, V.indices) != label
            self._errors += wrong * count  # not with `where`, which is slow where neighbours differ, as stumps do
            opponent_wrong = opponents(wrong)
            winners = opponent_wrong & ~wrong
            if winners.any():
                self._won += winners * count
            losers = np.flatnonzero(wrong & ~opponent_wrong)
            self._lost[losers] += count
            won = self._won[losers]
            stays[losers] &= self._lost[losers] < self._plan.losses_allowed(int(won.max(initial=0)))[won]
        return stays

    def opponents(self, V: VersionSpace) -> Callable[[Mask], Mask]:
        """The opponent of h: among the survivors with fewest errors the one nearest to h, measured on spared items.

        The past alone decides who it is. It is looked for when the label is heard, and only if that takes more than a look
        at who was wrong: the function returned says, from who was wrong, whose opponent was.
        """
        best = np.flatnonzero(self._errors == self._errors.min())

        def wrong_ones(wrong: Mask) -> Mask:
            theirs = self._nearness.nearest_marks(V.indices, best, wrong)
            theirs[best] = wrong[best]  # a hypothesis does not bet against itself
            return theirs

        return wrong_ones

    def keep(self, mask: Mask) -> None:
        """Forget the others."""
        if not mask.all():
            stays = np.flatnonzero(mask)
            self._errors, self._lost, self._won = self._errors[stays], self._lost[stays], self._won[stays]


# Stakes λ with their shares of the wealth, in eighths: of the mixtures tried the one that never asked for more labels than
# five equal stakes from 1 to .15 did and, from 5% noise on, asked for 1 to 5% fewer (benchmarks/elimination.py).
STAKES = (
    (Decimal("0.95"), Decimal("0.375")),
    (Decimal("0.7"), Decimal("0.25")),
    (Decimal("0.45"), Decimal("0.25")),
    (Decimal("0.2"), Decimal("0.125")),
)


@dataclass(frozen=True, kw_only=True)
class A2Plan(Plan):
    """A² by betting: how often the best may be lost, when to stop, how many items are open at once.

    The table grows as a run goes on and holds whole numbers, computed in decimals: two machines remove alike.
    """

    batch: int
    _tables: list[NDArray[np.int64]] = field(
        default_factory=lambda: [np.empty(0, dtype=np.int64)], compare=False, repr=False
    )

    @property
    def stop_mass(self) -> Fraction:
        """Stop when Δ(V) is at most this."""
        return self["kappa"]

    def askable(self, items: int) -> int:
        """All but the last ones, which measure masses alone."""
        return items - floor(self["part"] * items)

    @property
    def keeps_all_left(self) -> bool:
        """There is no last sample."""
        return True

    def check_rounds(self, rounds: Rounds) -> str | None:
        """A batch a round; the last one may be smaller."""
        drawn = [each["drawn"] for each in rounds]
        opened = [self.opens(sum(drawn[:number])) for number in range(len(drawn))]
        if drawn[:-1] != opened[:-1] or not all(0 < count <= most for count, most in zip(drawn, opened, strict=True)):
            return "the plan asks for other numbers of labels per round"
        return None

    def own_conditions(self, report: RunReport) -> tuple[Condition, ...]:
        """Whether the loop ended because little is disputed, and that masses are measured."""
        return (report.stop_condition(self, inclusive=True), MEASURED)

    def opens(self, asked: int) -> int:
        """How many items to ask next: a batch, or what is left of the budget."""
        return self.batch if self.max_labels is None else min(self.batch, self.max_labels - asked)

    @property
    def labels_most(self) -> int | None:
        """Only the pool and the budget limit it."""
        return self.max_labels

    def cost(self, setting: Setting) -> Cost:
        """Labels until everyone but the best has lost, if labels are flipped at random."""
        return Cost(
            labels=halving_labels(setting, bets(setting, self["delta"]), self.stop_mass), kind="estimate", note=FLIPS
        )

    def losses_allowed(self, won: int) -> NDArray[np.int64]:
        """For y = 0 .. `won` bets won, and perhaps more, the fewest bets lost that remove a hypothesis."""
        table = self._tables[0]
        if len(table) <= won:
            entries = table.tolist()
            with decimals():
                while len(entries) <= 2 * won + 1:
                    entries.append(self._fewest_losses(len(entries), entries[-1] if entries else 0))
            self._tables[0] = table = np.array(entries, dtype=np.int64)
        return table

    def _fewest_losses(self, y: int, x: int) -> int:
        """The smallest count from `x` on that takes the wealth to 1/δ."""
        limit = 1 / decimal(self["delta"])
        while sum(share * (1 + stake) ** x * (1 - stake) ** y for stake, share in STAKES) < limit:
            x += 1
        return x


def betting(task: Task) -> A2Plan:
    """A² by betting."""
    numbers = (
        Number(name="delta", value=fraction(task.delta), source="probability that the best hypothesis is ever removed"),
        Number(name="kappa", value=fraction(task.epsilon), source="ε: stop at Δ(V) ≤ κ"),
        Number(name="part", value=Fraction(1, 10), source="of the private order is never asked and measures nearness"),
    )
    return A2Plan(
        learner="a2", name="tight", n=task.n, epsilon=fraction(task.epsilon), numbers=numbers, batch=task.batch
    )


FLIPS = "an estimate for labels flipped at random at rate nu; noise that hides the best hypothesis costs more"


def bets(setting: Setting, delta: Fraction) -> float:
    """Telling labels until a bet is won if the best is right on each with probability 1-ν: its wealth grows as its mean."""
    nu = setting.nu or 0.0
    growth, share = max(
        ((1 - nu) * log(1 + float(stake)) + nu * log(1 - float(stake)), share) for stake, share in STAKES
    )
    return log(1 / (float(share) * float(delta))) / growth


@dataclass(frozen=True)
class A2Rounds:
    """Algorithm 2, with confidence bounds LB and UB.

    Parameters
    ----------
    plan
        ``plan("a2-rounds", C, epsilon=.., delta=.., theta=.., nu=..)``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import A2Rounds, Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314, noise=.01), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool("exact", lab)
    >>> learner = A2Rounds(plan("a2-rounds", C, epsilon=.05, delta=.05, theta=2, nu=.01))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.hypothesis, world.error(result.hypothesis)
    (7054, 314, Fraction(1, 100))
    """

    plan: A2RoundsPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, A2RoundsPlan, "A2Rounds")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Rounds on `pool` while Δ(V) ≥ 8Θν̄, then one last sample; `shared` breaks ties.

        Returns
        -------
        conversation
            It ends with a `Result`. `V`: the best on the last sample. `hypothesis`: the first of them in the shared
            order. `unrounded`: the same one. `conditions`: those of the plan, whether the loop ended because Δ(V) was
            small, and whether masses are known.

        Raises
        ------
        PoolExhausted
            If a finite pool runs out of the items a round needs.
        """
        plan, rounds = self.plan, 0
        V, scan = pool.version_space(), pool.scan()
        while V.mass >= plan.stop_mass and rounds < plan.rounds_most:
            S = yield scan.draw(V, plan.k)
            errors = V.errors(S)
            V = V.keep(errors <= plan.loop_most(int(errors.min())))
            rounds += 1
        conditions = (*plan.conditions, stop_condition(V, plan, held=V.mass < plan.stop_mass), masses_condition(pool))
        if V.mass > 0:
            S = yield scan.draw(V, plan.final_size(V.mass))
            errors = V.errors(S)
            V = V.keep(errors == errors.min())
        h = V.first(shared, plan.prior)
        return Result(hypothesis=h, unrounded=h, V=V, conditions=conditions)


@dataclass(frozen=True, kw_only=True)
class AgnosticRoundsPlan(RoundsPlan):
    """Rounds while Δ(V) ≥ 8Θν̄, then a last sample whose size depends on the Δ that is left.

    Attributes
    ----------
    own_final
        The user's own size of the last sample.
    """

    own_final: int | None = None

    @property
    def stop_mass(self) -> Fraction:
        """The loop runs while Δ(V) is at least this."""
        return self["stop"]

    @property
    def labels_most(self) -> int:
        """N rounds and the largest last sample, at the mass the loop stops at."""
        return self.k * self.rounds_most + self.final_size(min(Fraction(1), self.stop_mass))

    @property
    def rounds_most(self) -> int:
        """N, or none where 8Θν̄ is 1 or more: the last sample is then passive."""
        return self.integer("N") if self.stop_mass < 1 else 0

    def cost(self, setting: Setting) -> Cost:
        """The rounds, and the last sample at the mass the loop stops at."""
        mass = min(Fraction(1), self.stop_mass)
        last = self.final_size(mass)
        return rounds_cost(self.rounds_most, self.k, self.stop_mass, last=last, looked_at=last / mass)

    def final_size(self, mass: Fraction) -> int:
        """k' for the mass that is left."""
        return max(1, ceil_of(self["final_scale"] * mass**2)) if self.own_final is None else self.own_final


@dataclass(frozen=True, kw_only=True)
class A2RoundsPlan(AgnosticRoundsPlan):
    """Algorithm 2, with confidence bounds."""

    def own_conditions(self, report: RunReport) -> tuple[Condition, ...]:
        """Whether the loop ended because little is disputed, and that masses are measured."""
        return (*super().own_conditions(report), MEASURED)

    def loop_most(self, fewest: int) -> int:
        """LB(h) ≤ min UB, in whole errors: nobody above the fewest errors plus two widths."""
        return fewest + floor(2 * self.k * self["width"])


def rounds(task: Task) -> A2RoundsPlan:
    """Algorithm 2 with the sizes that halve Δ in every round."""
    N = agnostic_rounds(task)
    k, conditions = task.size(
        "k_loop",
        ceil(128 * task.theta**2 * ln(4 * task.n * N / task.delta)),
        "128Θ² ln(4nN/δ): confidence widths of 1/(16Θ), so that conditional excess 1/(4Θ) is removed",
    )
    width = (ln(2 * task.n * (N + 1) / task.delta) / (2 * int(k.value))).sqrt()
    final, more = final_sample(task, 18 * ln(4 * task.n / task.delta) / task.epsilon**2, "18(Δ/ε)² ln(4n/δ)")
    return A2RoundsPlan(
        learner="a2-rounds",
        name="paper",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=(
            *agnostic_numbers(task, N),
            k,
            Number(name="width", value=fraction(width), source="sqrt(ln(2n(N+1)/δ)/(2k)): LB, UB = p̂ ∓ width"),
            *final,
        ),
        conditions=(loop_runs(task), *conditions, *more),
        own_final=task.k_final,
    )


def loop_mass(task: Task) -> Fraction:
    """s = min(1, 8Θν̄): the least Δ(V) at which the loop runs."""
    return min(Fraction(1), 8 * fraction(task.theta) * fraction(task.nu_bar))


def agnostic_rounds(task: Task) -> int:
    """N = max(1, ⌊log2(1/min(1, 8Θν̄))⌋ + 1): halvings until the mass is below 8Θν̄."""
    stop, N = loop_mass(task), 1
    while Fraction(1, 2**N) >= stop:
        N += 1
    return N


def agnostic_numbers(
    task: Task, N: int, source: str = "max(1, ⌊log2(1/min(1, 8Θν̄))⌋+1) halvings"
) -> tuple[Number, ...]:
    """What the agnostic learners in rounds have in common."""
    return (
        Number(name="N", value=N, source=source),
        Number(name="nu_bar", value=fraction(task.nu_bar), source="max(ν, ε): only an upper bound on ν is needed"),
        Number(
            name="stop",
            value=8 * fraction(task.theta) * fraction(task.nu_bar),
            source="8Θν̄: the loop runs while Δ(V) is at least this; from 1 on it never runs and the last sample is passive",
        ),
    )


LOOP_RUNS = "8 theta nu is below 1, so that the loop runs (otherwise the last sample is passive)"


def loop_runs(task: Task) -> Condition:
    """Is there anything active about it? Not a failure of the proof, but the user should know."""
    stop = 8 * fraction(task.theta) * fraction(task.nu_bar)
    return Condition(name=LOOP_RUNS, value=float(stop), bound=1.0, held=stop < 1)


def final_sample(task: Task, scale: Decimal, formula: str) -> tuple[tuple[Number, ...], tuple[Condition, ...]]:
    """The last sample: a size that depends on Δ, or the user's own."""
    numbers = (
        Number(name="final_scale", value=fraction(scale), source=f"the last sample is this times Δ²: {formula}"),
    )
    if task.k_final is None:
        return (*numbers, Number(name="k_final", value=0, source="computed from Δ(V) at the stop")), ()
    worst = ceil_of(fraction(scale))
    name = "k_final is at least what the proof needs at the largest mass"
    held = Condition(name=name, value=task.k_final, bound=worst, held=task.k_final >= worst)
    return (*numbers, Number(name="k_final", value=task.k_final, source="given")), (held,)
