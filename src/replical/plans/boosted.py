"""Plans of boosting: strings, runs, and the shared threshold on the winner's frequency. Claim: docs/claims/boosting.md.

Two ways: the paper's, rHeavyHitters on data sets that all strings share, and ours, the mode of fresh runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from replical.bounds.subroutines import HeavyHitters
from replical.classes.prior import Prior
from replical.core.exact import ceil, decimal, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.errors import ValueOutOfRange
from replical.plans.base import Condition, Number, Plan, SamplePlan, Task
from replical.plans.costs import Cost, Setting
from replical.pools.pool import AnyPool

HEAVY_HITTERS, MODES = "heavy-hitters", "modes"
USUAL = {"paper": HEAVY_HITTERS, "tight": MODES}  # what a plan means where nobody says
Made = TypeVar("Made", bound="BoostedPlan")

_RHO_BASE = Decimal("0.01")  # of a run: then a string is bad with probability at most .01/.25 = 1/25
_LOW, _HIGH = Fraction(11, 20), Fraction(7, 10)  # a good string's winner has .75, a tie at most .5
_MIDDLE, _HALF = (_LOW + _HIGH) / 2, (_HIGH - _LOW) / 2  # v and ε of rHeavyHitters


@dataclass(frozen=True, kw_only=True)
class BoostedPlan(Plan):
    """Run a replicable learner often with each of a few strings; a frequent winner is the answer.

    Attributes
    ----------
    base
        The plan of one run.
    """

    base: Plan

    @property
    def shrinks(self) -> bool:
        """Every run begins anew."""
        return False

    @property
    def abstains(self) -> bool:
        """Without a heavy hitter there is no answer."""
        return True

    @property
    def grows_with(self) -> str:
        """It takes a tiny ρ before 1/ρ² runs at ρ = .01 cost less than one run at ρ."""
        return "boosting beats the paper's own sizes only below rho of about 10^-7; take the learner itself"

    def cost(self, setting: Setting) -> Cost:
        """Every run of every string."""
        one, runs = self.base.cost(setting), self.strings * self.runs
        note = f"{self.runs} runs with each of {self.strings} strings; fewer strings if the first has a heavy hitter"
        items = None if one.unlabelled is None else runs * one.unlabelled
        return Cost(labels=runs * one.labels, kind="most", unlabelled=items, note=note)

    def under(self, prior: Prior, max_labels: int | None) -> BoostedPlan:
        """The prior is every run's; the budget is that of all of them."""
        return replace(super().under(prior, max_labels), base=self.base.under(prior, None))

    @property
    def strings(self) -> int:
        """K."""
        return self.integer("K")

    @property
    def runs(self) -> int:
        """With each string."""
        raise NotImplementedError

    @property
    def labels_most(self) -> int | None:
        """Every run of every string."""
        most = self.base.labels_most
        return None if most is None else self.strings * self.runs * most

    def frequency(self, shared: SharedRandomness, string: int) -> Fraction:
        """The shared threshold v' on the frequency of a string's winner."""
        raise NotImplementedError

    def _between(self, position: float) -> Fraction:
        return self["low"] + (self["high"] - self["low"]) * Fraction(position)

    def check(self, pool: AnyPool) -> None:
        """Refuse a pool this plan was not made for."""
        super().check(pool)
        self.base.check(pool)


@dataclass(frozen=True, kw_only=True)
class ModesPlan(BoostedPlan):
    """Ours: T runs with each string on data of their own, one threshold on the frequency of each string's mode."""

    @property
    def runs(self) -> int:
        """T, with each string."""
        return self.integer("runs")

    def frequency(self, shared: SharedRandomness, string: int) -> Fraction:
        """One threshold for all strings."""
        return self._between(shared.uniform("frequency"))


@dataclass(frozen=True, kw_only=True)
class HeavyHittersPlan(BoostedPlan):
    """The paper's: rHeavyHitters with each string, on Q1+Q2 data sets that all strings share.

    Attributes
    ----------
    labelled_once
        Does every string ask for the same labels of a data set? A passive learner on a pool does.
    """

    labelled_once: bool = False

    @property
    def sizes(self) -> HeavyHitters:
        """Q1 runs that name candidates, Q2 that count them."""
        return HeavyHitters(candidates=self.integer("Q1"), counted=self.integer("Q2"))

    @property
    def runs(self) -> int:
        """Q1+Q2, with each string: one on every data set."""
        return self.sizes.candidates + self.sizes.counted

    @property
    def labels_most(self) -> int | None:
        """Every run of every string, or of one where all ask the same."""
        most = self.base.labels_most
        return None if most is None else self._paid * most

    def cost(self, setting: Setting) -> Cost:
        """Labels of every run, or of one string's where all ask the same; the items of the data sets once."""
        one, strings = self.base.cost(setting), f"each of {self.strings} strings"
        note = f"{self.runs} data sets, run with {strings}; labels that strings share are paid once"
        items = None if one.unlabelled is None else self.runs * one.unlabelled
        return Cost(labels=self._paid * one.labels, kind="most", unlabelled=items, note=note)

    @property
    def _paid(self) -> int:
        return self.runs if self.labelled_once else self.strings * self.runs

    def frequency(self, shared: SharedRandomness, string: int) -> Fraction:
        """Every string has a threshold of its own."""
        return self._between(shared.uniform("frequency", string))


def boosted(learner: str, make: Callable[[Task], Plan], usual: str) -> Callable[[Task], BoostedPlan]:
    """The boosted form of a learner, given how its own plan is made, in the `usual` way if none is asked for."""
    ways = {HEAVY_HITTERS: _heavy_hitters, MODES: _modes}
    return lambda task: ways[task.boosting or usual](learner, make, task)


def _modes(learner: str, make: Callable[[Task], Plan], task: Task) -> ModesPlan:
    rho = task.rho
    K = task.strings or _strings(task)
    spread = Decimal(_HIGH.numerator) / _HIGH.denominator - Decimal(_LOW.numerator) / _LOW.denominator
    replicable = 32 * K**2 * ln(16 * K / rho) / (spread * rho) ** 2
    needed = ceil(max(replicable, 200 * ln(6 * K / task.delta)))
    source = "the larger of 32K² ln(16K/ρ)/(.15ρ)² (Hoeffding) and 200 ln(6K/δ) (no winner below one half)"
    runs = Number(
        name="runs", value=task.runs or needed, source=f"given; the proof asks for {needed}" if task.runs else source
    )
    delta = Number(name="delta_base", value=fraction(task.delta / (4 * K)), source="δ/(4K): a run is inaccurate")
    return _made(ModesPlan, learner, make(_of_a_run(task, delta)), task, needed, (_K(task), runs, *_RANGE, delta))


def _heavy_hitters(learner: str, make: Callable[[Task], Plan], task: Task) -> HeavyHittersPlan:
    K = task.strings or _strings(task)
    rho = 3 * fraction(task.rho) / (4 * K)
    proven = HeavyHitters.of(rho=rho, v=_MIDDLE, epsilon=_HALF, sharp=True)
    sizes, needed = _shared_out(task.runs, proven), proven.candidates + proven.counted
    own = f"given; the proof asks for {proven.candidates} and {proven.counted}" if task.runs else ""
    delta = Number(
        name="delta_base",
        value=fraction(task.delta) / (K * (sizes.candidates + sizes.counted)),
        source="δ/(K(Q1+Q2)): no run is inaccurate, a union bound over all of them, as in the paper",
    )
    numbers = (
        _K(task),
        Number(name="Q1", value=sizes.candidates, source=own or "⌈ln(6/(.55ρ_hh))/.55⌉ runs name candidates"),
        Number(name="Q2", value=sizes.counted, source=own or "⌈4.5 ln(32Q1/ρ_hh)/(.075ρ_hh)²⌉ fresh runs count them"),
        Number(name="rho_hh", value=rho, source="3ρ/(4K): how often rHeavyHitters may differ with one string"),
        *_RANGE,
        delta,
    )
    base = make(_of_a_run(task, delta))
    made = _made(HeavyHittersPlan, learner, base, task, needed, numbers)
    return replace(made, labelled_once=isinstance(base, SamplePlan) and not task.exact)


def _strings(task: Task) -> int:
    return ceil(ln(4 / task.rho) / ln(25))


def _K(task: Task) -> Number:
    source = "given" if task.strings else "⌈ln(4/ρ)/ln 25⌉ strings: all are bad with probability at most ρ/4"
    return Number(name="K", value=task.strings or _strings(task), source=source)


_RANGE = (
    Number(name="low", value=_LOW, source="start of the range of the threshold on the frequency"),
    Number(name="high", value=_HIGH, source="its end: a good string's winner has frequency .75 at least"),
    Number(name="rho_base", value=fraction(_RHO_BASE), source="how often two runs with one string may differ"),
)


def _shared_out(runs: int | None, proven: HeavyHitters) -> HeavyHitters:
    """The user's own number of runs: as many candidates as the proof names, or half of the runs, and the rest counts."""
    if runs is None:
        return proven
    if runs < 2:
        raise ValueOutOfRange(
            f"boosting by heavy-hitters needs runs of at least 2, one to name a candidate and one to count it, got {runs}"
        )
    candidates = min(proven.candidates, runs // 2)
    return HeavyHitters(candidates=candidates, counted=runs - candidates)


def _of_a_run(task: Task, delta: Number) -> Task:
    return replace(task, rho=_RHO_BASE, delta=decimal(delta.value))


def _made(kind: type[Made], learner: str, base: Plan, task: Task, needed: int, numbers: tuple[Number, ...]) -> Made:
    return kind(
        learner=f"boosted-{learner}",
        name=base.name,
        n=task.n,
        epsilon=base.epsilon,
        numbers=numbers,
        conditions=(*_enough(task, int(numbers[0].value), needed), *base.conditions),
        exact_only=base.exact_only,
        base=base,
    )


def _enough(task: Task, K: int, needed: int) -> tuple[Condition, ...]:
    conditions = []
    if task.strings:
        failing = (1 / 25) ** K
        bound = float(task.rho / 4)
        conditions.append(
            Condition(
                name="all strings are bad with probability at most rho/4",
                value=failing,
                bound=bound,
                held=failing <= bound,
            )
        )
    if task.runs:
        held = task.runs >= needed
        conditions.append(
            Condition(
                name="runs with each string are at least what the proof needs", value=task.runs, bound=needed, held=held
            )
        )
    return tuple(conditions)
