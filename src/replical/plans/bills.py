"""What would it cost? The label bill of every learner under every plan, side by side, before anything is asked.

Three kinds of figure, never one under the name of another: *most* is what the plan can ask for at all, *expected* is a
theorem's bound on the mean, *estimate* is neither: it supposes that labels are flipped at random at rate ν. A look at a
pool (`replical.worlds.forecast`) is sharper than any of them. Derivations: docs/claims/bills.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, log, log2
from typing import Any

from replical.classes.base import class_size
from replical.core.exact import at_least, in_open
from replical.errors import ReplicalError, ValueOutOfRange
from replical.plans.a2 import STAKES, A2Plan, AgnosticRoundsPlan
from replical.plans.base import CALPlan, Number, Plan, RoundsPlan, SamplePlan
from replical.plans.boosted import BoostedPlan
from replical.plans.plan import LEARNERS, nu_of, plan, uses
from replical.plans.replical import RepliCALPlan, TightRepliCALPlan
from replical.plans.rounded import RoundedPlan

ABSURD = 10**6  # labels nobody has ever asked experts for
_ONE_PLAN = {"cal": "tight", "a2": "tight", "a2-paired": "tight", "a2-rounds": "paper"}
_ONE_PLAN |= {"rounded-cal": "tight", "rounded-a2": "tight"}
_REALIZABLE = ("cal", "cal-rounds", "replical", "boosted-replical", "rounded-cal")
_FLIPS = "an estimate for labels flipped at random at rate nu; noise that hides the best hypothesis costs more"
_SHARPER = "with a look at a pool the certificate needs far fewer items and labels"
_AGNOSTIC = ("a2", "a2-paired", "a2-rounds", "replica2", "boosted-replica2", "rounded-a2")


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What one learner would ask for under one plan.

    Attributes
    ----------
    applies
        Does its guarantee hold in this setting?
    labels, kind
        How many labels, and in which sense: ``"most"``, ``"expected"`` or ``"estimate"``.
    rounds, labels_per_round, labels_final
        What they are made of, where the learner works in rounds.
    unlabelled
        Items to look at, where that can be said.
    absurd
        More labels than anybody could pay for.
    """

    learner: str
    plan: str
    applies: bool
    replicable: bool
    rounds: int | None = None
    labels_per_round: int | None = None
    labels_final: int | None = None
    labels: int | None = None
    kind: str | None = None
    unlabelled: int | None = None
    absurd: bool = False
    numbers: tuple[Number, ...] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public numbers a bill depends on."""

    n: int
    epsilon: float
    delta: float
    rho: float
    theta: float | None = None
    nu: float | None = None

    def __post_init__(self) -> None:
        class_size("the number of hypotheses", self.n)
        for name in ("epsilon", "delta", "rho"):
            in_open(name, getattr(self, name), 0, 1)
        if self.theta is not None:
            at_least("theta", self.theta, 1)
        if self.nu is not None:
            nu_of(self.nu)


def bills(setting: Setting, learner: str | None = None) -> list[Bill]:
    """Every learner under every plan, or one learner under its plans.

    Examples
    --------
    >>> found = bills(Setting(n=1000, epsilon=.01, delta=.05, rho=.1, theta=2))
    >>> [f"{bill.learner} {bill.labels:.2g}" for bill in found if bill.applies and bill.plan == "tight"][:4]
    ['erm 9.9e+02', 'cal 95', 'cal-rounds 2.9e+02', 'replicable-erm 9.5e+07']
    """
    if learner is not None and learner not in LEARNERS:
        uses(learner, "rho")  # names the learners there are
    return [
        _bill(setting, each, name)
        for each in LEARNERS
        if learner in (None, each)
        for name in ([_ONE_PLAN[each]] if each in _ONE_PLAN else ["paper", "tight"])
    ]


def cheapest(found: list[Bill], *, replicable: bool) -> Bill | None:
    """The bill with fewest labels among those that apply; only replicable learners if asked."""
    fair = [bill for bill in found if bill.applies and bill.labels is not None and (bill.replicable or not replicable)]
    return min(fair, key=lambda bill: bill.labels or 0, default=None)


def all_agree(labs: int, rho: float) -> float:
    """With what probability do all of `labs` labs return one answer? At least 1-(labs-1)ρ: each agrees with the first.

    Examples
    --------
    >>> all_agree(4, .1)
    0.7
    """
    if labs < 2:
        raise ValueOutOfRange(f"there are at least 2 labs, got {labs}")
    return max(0.0, float(1 - (labs - 1) * Fraction(repr(float(rho)))))


def _bill(setting: Setting, learner: str, name: str) -> Bill:
    bill = Bill(learner=learner, plan=name, applies=False, replicable=uses(learner, "rho"))
    if learner in _REALIZABLE and setting.nu:
        return replace(bill, note=f"assumes that some hypothesis makes no error; nu = {setting.nu:g} says otherwise")
    if learner in _AGNOSTIC and setting.nu is None:
        return replace(bill, note="for noisy labels: give nu, an upper bound on the error of the best hypothesis")
    if setting.theta is None and (uses(learner, "theta") or learner in _ONE_PLAN):
        return replace(bill, note="needs the disagreement coefficient: give theta")
    try:
        made = plan(
            learner,
            setting.n,
            epsilon=setting.epsilon,
            delta=setting.delta,
            rho=setting.rho,
            theta=setting.theta,
            nu=setting.nu or 0.0,
            name=name,
            pool="finite" if learner.startswith("rounded") else "exact",
        )
    except ReplicalError as error:  # the setting makes sense: it is the plan that does not reach so far
        return replace(bill, note=str(error))
    filled = replace(bill, applies=True, numbers=made.numbers, **_figures(made, setting))
    absurd = (filled.labels or 0) > ABSURD
    return replace(filled, absurd=absurd, note=_note(filled, made) if absurd else filled.note)


def _figures(made: Plan, setting: Setting) -> dict[str, Any]:
    """The fields of a bill that depend on the kind of plan."""
    if isinstance(made, BoostedPlan):
        of_base = _figures(made.base, setting)
        runs = made.strings * made.runs
        note = f"{made.runs} runs with each of {made.strings} strings; fewer strings if the first has a heavy hitter"
        return {key: runs * of_base[key] for key in ("labels", "unlabelled")} | {"kind": "most", "note": note}
    if isinstance(made, SamplePlan):
        return {"rounds": 1, "labels_final": made.k, "labels": made.k, "kind": "most", "unlabelled": made.k}
    if isinstance(made, RoundedPlan):
        return _rounded(made, setting)
    if isinstance(made, A2Plan):
        told = _bets(setting, made["delta"]) if made.test == "betting" else _comparisons(setting)
        return {"labels": _by_halving(setting, told, made["kappa"]), "kind": "estimate", "note": _FLIPS}
    if isinstance(made, CALPlan) and made.rounds_most is None:
        items = ceil(_theta(setting) * log(setting.n / setting.delta) / setting.epsilon)
        return {"labels": _by_scanning(setting, items), "kind": "expected", "unlabelled": items}
    assert isinstance(made, CALPlan | RoundsPlan), "a plan works in rounds, or by one of the ways above"
    return _in_rounds(made)


def _in_rounds(made: CALPlan | RoundsPlan) -> dict[str, Any]:
    """N rounds of k labels, and a last sample. Finding k items in DIS(V) takes about k/Δ(V), and Δ halves."""
    N, last, found = made.rounds_most or 0, 0, Fraction(0)
    if isinstance(made, AgnosticRoundsPlan):
        mass = min(Fraction(1), made.stop)
        last = made.final_size(mass)
        found = last / mass
    elif isinstance(made, RepliCALPlan):
        last = made.labels_most - N * made.k
        found = Fraction(made.integer("k_final")) / (1 if isinstance(made, TightRepliCALPlan) else made.stop)
    found += sum(made.k * min(Fraction(2**r), 1 / made.stop) for r in range(N))
    return {
        "rounds": N,
        "labels_per_round": made.k,
        "labels_final": last or None,
        "labels": N * made.k + last,
        "kind": "most",
        "unlabelled": ceil(found),
    }


def _rounded(made: RoundedPlan, setting: Setting) -> dict[str, Any]:
    """Theorem R1 or R2, without a look at a pool."""
    if isinstance(made.base, CALPlan):
        items = made.integer("pool_R1")
        found = {"labels": _by_scanning(setting, items), "kind": "expected", "unlabelled": items}
        return found | {"note": _SHARPER}
    labels = _by_halving(setting, _bets(setting, made["delta_A"]), made["kappa_R2"])
    return {
        "labels": labels,
        "kind": "estimate",
        "unlabelled": made.integer("pool_R2"),
        "note": f"{_FLIPS}; {_SHARPER}",
    }


def _by_scanning(setting: Setting, items: int) -> int:
    """CAL over so many items asks 2+A(1+ln(U/A)) labels in the mean at most, A = Θ(1+ln n) (Theorem R1)."""
    A = min(_theta(setting) * (1 + log(setting.n)), items)
    return min(ceil(2 + A * (1 + log(items / A))), items)


def _by_halving(setting: Setting, told: float, kappa: Fraction) -> int:
    """A² until Δ ≤ κ: halvings, times labels; at least one in 2Θ tells a hypothesis that has to go from the best."""
    return ceil(log2(1 / kappa) * 2 * _theta(setting) * told)


def _bets(setting: Setting, delta: Fraction) -> float:
    """Telling labels until a bet is won if the best is right on each with probability 1-ν: its wealth grows as its mean."""
    nu = setting.nu or 0.0
    growth, share = max(
        ((1 - nu) * log(1 + float(stake)) + nu * log(1 - float(stake)), share) for stake, share in STAKES
    )
    return log(1 / (float(share) * float(delta))) / growth


def _comparisons(setting: Setting) -> float:
    """Telling labels until the mean lead (1-2ν)m reaches sqrt(2m ln((n-1)m(m+1)/δ))."""
    m = 1.0
    for _ in range(50):  # a contraction: a few steps would do
        m = 2 * log(max(2, setting.n - 1) * m * (m + 1) / setting.delta) / (1 - 2 * (setting.nu or 0.0)) ** 2
    return m


def _theta(setting: Setting) -> float:
    return 1.0 if setting.theta is None else setting.theta


def _note(bill: Bill, made: Plan) -> str:
    """Why a bill is absurd, and what would lower it."""
    more = f" {bill.note}." if bill.note else ""
    if isinstance(made, BoostedPlan):
        why = "boosting beats the paper's own sizes only below rho of about 10^-7; take the learner itself"
        return f"nobody can pay this: {why}.{more}"
    if bill.plan == "paper":
        return f"nobody can pay this: the paper's sizes grow with 1/rho^4 and (ln n)^2; take the plan tight.{more}"
    power = "epsilon^2" if isinstance(made, AgnosticRoundsPlan) or "excess" in str(made.numbers) else "epsilon"
    grows = "rho^2" if isinstance(made, RepliCALPlan) else f"{power} rho^2"
    return f"nobody can pay this: it grows with (ln n)^3/({grows}); raise rho or round instead.{more}"
