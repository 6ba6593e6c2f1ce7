"""What would it cost? The label bill of every learner under every plan, side by side, before anything is asked.

Three kinds of figure, never one under the name of another: *most* is what the plan can ask for at all, *expected* is a
theorem's bound on the mean, *estimate* is neither: it supposes that labels are flipped at random at rate ν. A look at a
pool (`replical.worlds.forecast`) is sharper than any of them. Derivations: docs/claims/bills.md.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from fractions import Fraction

from replical.errors import ReplicalError, ValueOutOfRange
from replical.learners.catalogue import Record, find, of_lists
from replical.learners.plan import Number, Setting
from replical.learners.planning import plan

ABSURD = 10**6  # labels nobody has ever asked experts for


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What one learner would ask for under one plan.

    It `applies` where the learner's guarantee holds in the setting; `labels` and `kind` are those of its `Cost`; `pools`
    says whether a finite pool can carry it, be it as large as may be; `absurd` bills are beyond what anybody could pay.
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
    pools: bool = True
    absurd: bool = False
    numbers: tuple[Number, ...] = ()
    note: str = ""


def bills(setting: Setting, learner: str | None = None, *, pool: str = "exact", noisy: bool = False) -> list[Bill]:
    """Every learner under every plan, or one learner under its plans; for labs with a ``"finite"`` pool where that is said.

    Where labels may be wrong though nobody says how often (`noisy`), none are inferred.

    Examples
    --------
    >>> choices = bills(Setting(n=1000, epsilon=.01, delta=.05, rho=.1, theta=2))
    >>> [f"{bill.learner} {bill.labels:.2g}" for bill in choices if bill.applies and bill.plan == "tight"][:4]
    ['erm 9.9e+02', 'cal 95', 'cal-rounds 2.9e+02', 'replicable-erm 3e+07']
    """
    records = of_lists() if learner is None else (find(learner),)
    return [_bill(setting, record, name, pool, noisy) for record in records for name in record.plans]


def cheapest(choices: list[Bill], *, replicable: bool) -> Bill | None:
    """The bill with fewest labels among those that apply and are suggested; only replicable learners if asked."""
    payable = [bill for bill in choices if bill.applies and bill.labels is not None]
    fair = [bill for bill in payable if (bill.replicable or not replicable) and find(bill.learner).instead is None]
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


def _bill(setting: Setting, record: Record, name: str, pool: str, noisy: bool) -> Bill:
    bill = Bill(learner=record.id, plan=name, applies=False, replicable=record.replicable)
    if record.setting == "realizable" and setting.nu:
        return replace(bill, note=f"assumes that some hypothesis makes no error; nu = {setting.nu:g} says otherwise")
    if record.setting == "agnostic" and setting.nu is None:
        return replace(bill, note="for noisy labels: give nu, an upper bound on the error of the best hypothesis")
    if setting.theta is None and record.active:
        return replace(bill, note="needs the disagreement coefficient: give theta")
    try:
        learner_plan = plan(
            record.id,
            setting.n,
            epsilon=setting.epsilon,
            delta=setting.delta,
            rho=setting.rho,
            theta=setting.theta,
            nu=None if record.infers and (noisy or setting.nu) else setting.nu or 0.0,
            name=name,
            pool=pool,
            labs=setting.labs if record.uses("labs") else None,
        )
    except ReplicalError as error:  # the setting makes sense: it is the plan that does not reach so far
        return replace(bill, note=str(error))
    cost = learner_plan.cost(setting)
    absurd = cost.labels > ABSURD
    note = _why_absurd(record, name, noisy=bool(setting.nu), note=cost.note) if absurd else cost.note
    carried = pool == "exact" or not learner_plan.exact_only
    made = replace(bill, applies=True, numbers=learner_plan.numbers, pools=carried, absurd=absurd)
    return replace(made, **asdict(cost) | {"note": note})


def _why_absurd(record: Record, name: str, *, noisy: bool, note: str) -> str:
    """Why nobody can pay a bill, and what would lower it."""
    why = f"it grows with {record.grows_with[noisy]}; raise rho, or take the learner handicap"
    if name == "paper":
        why = "the paper's sizes grow with 1/rho^4 and (ln n)^2; take the plan tight"
    if record.boosts:
        why = "boosting beats the paper's own sizes only below rho of about 10^-7; take the learner itself"
    return f"nobody can pay this: {why}." + (f" {note}." if note else "")
