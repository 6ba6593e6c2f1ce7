"""From a task to a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import DecimalException

import numpy as np

from replical.classes.base import HypothesisClass, class_size
from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import at_least, decimal, decimals, in_open
from replical.errors import BadSpec, ValueOutOfRange
from replical.plans import a2, paper, replica2, replical, rounded, tight
from replical.plans.base import Condition, Plan, Task
from replical.plans.boosted import BoostedPlan, boosted


@dataclass(frozen=True, kw_only=True)
class _Learner:
    paper: Callable[[Task], Plan]
    tight: Callable[[Task], Plan]
    needs: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()


_SIZES = frozenset({"k_loop", "k_final"})
_STOP = frozenset({"stop", "stop_delta"})
_LEARNERS = {
    "erm": _Learner(paper=paper.erm, tight=tight.erm, options=frozenset({"k_final", "nu"})),
    "cal": _Learner(paper=tight.cal, tight=tight.cal, options=frozenset({"query"})),
    "cal-rounds": _Learner(
        paper=paper.cal_rounds, tight=tight.cal_rounds, needs=frozenset({"theta"}), options=frozenset({"k_loop"})
    ),
    "a2": _Learner(paper=a2.betting, tight=a2.betting, options=frozenset({"kappa", "batch"})),
    "a2-paired": _Learner(paper=a2.paired, tight=a2.paired, options=frozenset({"kappa", "batch"})),
    "a2-rounds": _Learner(paper=a2.rounds, tight=a2.rounds, needs=frozenset({"theta", "nu"}), options=_SIZES),
    "replicable-erm": _Learner(
        paper=replica2.erm_paper,
        tight=replica2.erm_tight,
        needs=frozenset({"rho", "nu"}),
        options=frozenset({"k_final"}),
    ),
    "replica2": _Learner(
        paper=replica2.paper, tight=replica2.tight, needs=frozenset({"theta", "rho", "nu"}), options=_SIZES | _STOP
    ),
    "replical": _Learner(
        paper=replical.paper,
        tight=replical.tight,
        needs=frozenset({"theta", "rho"}),
        options=_SIZES | _STOP,
    ),
    "rounded-cal": _Learner(
        paper=rounded.cal,
        tight=rounded.cal,
        needs=frozenset({"rho"}),
        options=frozenset({"query", "items", "kappa", "a", "b"}),
    ),
    "rounded-a2": _Learner(
        paper=rounded.a2_betting,
        tight=rounded.a2_betting,
        needs=frozenset({"rho"}),
        options=frozenset({"batch", "items", "finish", "kappa", "a", "b"}),
    ),
}


_LEARNERS |= {
    f"boosted-{base}": _Learner(
        paper=boosted(base, entry.paper),
        tight=boosted(base, entry.tight),
        needs=entry.needs,
        options=(entry.options - _STOP) | {"strings", "runs"},
    )
    for base, entry in _LEARNERS.items()
    if base in ("replicable-erm", "replical", "replica2")
}

LEARNERS = tuple(_LEARNERS)


def uses(learner: str, parameter: str) -> bool:
    """Does a learner's plan depend on a parameter, needed or optional?"""
    return parameter in _find(learner).needs | _find(learner).options


def _find(learner: str) -> _Learner:
    if learner not in _LEARNERS:
        raise BadSpec(f"unknown learner {learner!r}; the learners are {', '.join(_LEARNERS)}")
    return _LEARNERS[learner]


def plan(
    learner: str,
    C: HypothesisClass | int,
    *,
    epsilon: float,
    delta: float,
    rho: float | None = None,
    theta: float | None = None,
    nu: float | None = None,
    name: str = "tight",
    pool: str = "exact",
    T: float | None = None,
    k_loop: int | None = None,
    k_final: int | None = None,
    kappa: float | None = None,
    batch: int | None = None,
    query: str | None = None,
    items: int | None = None,
    finish: str | None = None,
    a: float | None = None,
    b: float | None = None,
    stop: str | None = None,
    stop_delta: float | None = None,
    strings: int | None = None,
    runs: int | None = None,
    prior: Prior = UNIFORM,
    max_labels: int | None = None,
) -> Plan:
    """Every size and threshold of a learner, each with its source.

    Parameters
    ----------
    learner
        A learner id, e.g. cal, a2, replical or replica2.
    C
        The class, or its number of hypotheses.
    epsilon, delta
        Error at most `epsilon` with probability at least ``1 - delta``; for CAL on a finite pool, error on that pool.
    rho
        Two labs may differ with probability at most `rho`; needed by replicable learners.
    theta
        Disagreement coefficient, public; needed by learners that work in rounds.
    nu
        Upper bound on the error of the best hypothesis; needed by agnostic learners in rounds and by the passive
        replicable one. The passive learners are the realizable ones exactly when it is 0.
    name
        ``"paper"`` or ``"tight"``.
    pool
        ``"exact"`` where masses are known, ``"finite"`` where they are measured.
    T
        Threshold range T/Θ of the paper's RepliCAL, 1/8 if left out.
    k_loop, k_final
        Your own sizes in place of the proof's; the result then says which condition they break.
    kappa
        Where A² stops: at disagreement mass `kappa` instead of `epsilon`. Where Rounded stops uncertified: at slack
        `kappa`; only by its certificate, the pool's end or the budget if left out.
    batch
        Items A² has open at once, 1 if left out.
    query
        What CAL asks next: ``"scan"``, the next disputed item, or ``"halving"``, the one that splits V most evenly.
    items
        Items on which every lab rounds, its first in private order: public. If left out, each lab uses all it has and
        is certified against the ideal answer, whatever the others have.
    finish
        How Rounded over A² chooses: ``"distance"``, ``"excess"`` or ``"noise"``.
    a, b
        Range of Rounded's shared threshold, .45 and .9 of epsilon if left out.
    stop
        How RepliCAL and ReplicA² know when to leave the loop: ``"mass"``, by the mass of DIS(V), or ``"rstat"``, by a
        replicable estimate from unlabelled items that misses its tolerance with probability `stop_delta`.
    strings, runs
        Your own numbers of strings, and of runs with each, in place of boosting's.
    prior
        How the shared order prefers hypotheses.
    max_labels
        Budget.

    Examples
    --------
    >>> p = plan("replical", 1000, epsilon=.01, delta=.05, rho=.1, theta=2, name="paper")
    >>> f"{p.integer('m'):.3g} intervals, {p.integer('k_loop'):.2g} labels a round, {p.labels_most:.2g} in all"
    '8.13e+06 intervals, 1.5e+17 labels a round, 1.2e+18 in all'
    """
    entry = _find(learner)
    if name not in ("paper", "tight"):
        raise BadSpec(f"unknown plan {name!r}; the plans are paper and tight")
    if pool not in ("exact", "finite"):
        raise BadSpec(f"a plan is for an 'exact' or a 'finite' pool, got {pool!r}")
    if T is not None and (learner, name) != ("replical", "paper"):
        raise BadSpec(f"T belongs to the plan 'paper' of replical, not to {name!r} of {learner}")
    for parameter, value in (("theta", theta), ("rho", rho), ("nu", nu)):
        if parameter in entry.needs and value is None:
            raise ValueOutOfRange(f"{learner} needs {parameter}, and none was given")
    given_options: dict[str, float | str | None] = {
        "k_loop": k_loop,
        "k_final": k_final,
        "kappa": kappa,
        "batch": batch,
    }
    given_options |= {"query": query, "items": items, "finish": finish, "a": a, "b": b}
    given_options |= {"stop": stop, "stop_delta": stop_delta, "strings": strings, "runs": runs}
    for option, given in given_options.items():
        if given is not None and option not in entry.options:
            raise BadSpec(f"{learner} has no {option}")
    if stop_delta is not None and stop != "rstat":
        raise BadSpec("stop_delta belongs to stop = 'rstat'")
    n = class_size("the number of hypotheses", C if isinstance(C, int | np.integer) else len(C))
    if not isinstance(C, int | np.integer):
        prior.check(C)
    try:
        with decimals():
            task = Task(
                n=n,
                epsilon=decimal(in_open("epsilon", epsilon, 0, 1)),
                delta=decimal(in_open("delta", delta, 0, 1)),
                rho=decimal(0.5 if rho is None else in_open("rho", rho, 0, 1)),
                theta=decimal(1 if theta is None else at_least("theta", theta, 1)),
                nu=decimal(0 if nu is None else nu_of(nu)),
                kappa=None if kappa is None else decimal(in_open("kappa", kappa, 0, 1)),
                batch=_size("batch", batch) or 1,
                T=decimal(0.125 if T is None else in_open("T", T, 0, 0.5)),
                k_loop=_size("k_loop", k_loop),
                k_final=_size("k_final", k_final),
                exact=pool == "exact",
                spread=decimal(prior.spread(n)) if prior.kind == "weights" else decimal(n),
                strict=prior.kind == "order",
                query=_one_of("query", query, ("scan", "halving")),
                items=_size("items", items),
                finish=_one_of("finish", finish, rounded.FINISHES),
                a=None if a is None else decimal(in_open("a", a, 0, 1)),
                b=None if b is None else decimal(in_open("b", b, 0, 1)),
                stop=_one_of("stop", stop, ("mass", "rstat")),
                stop_delta=None if stop_delta is None else decimal(in_open("stop_delta", stop_delta, 0, 1)),
                strings=_size("strings", strings),
                runs=_size("runs", runs),
            )
            made = entry.paper(task) if name == "paper" else entry.tight(task)
    except (DecimalException, OverflowError) as error:
        raise ValueOutOfRange(
            f"these numbers are too extreme to plan with: epsilon {epsilon}, delta {delta}, rho {rho}, theta {theta}, T {T}"
        ) from error
    return _finished(replace(made, name=name, max_labels=_size("max_labels", max_labels), prior=prior), entry)


def _finished(made: Plan, entry: _Learner) -> Plan:
    """Hand prior and budget down to the base, and refuse a budget that is too small from the start."""
    prior, max_labels = made.prior, made.max_labels
    if isinstance(made, rounded.RoundedPlan):
        made = replace(made, base=replace(made.base, max_labels=max_labels))
    elif prior.kind == "order" and "rho" in entry.needs:
        made = replace(made, conditions=(*made.conditions, _NO_STRICT_PROOF))
    if isinstance(made, BoostedPlan):
        made = replace(made, base=replace(made.base, prior=prior))
    if max_labels is not None and (made.labels_most or 0) > max_labels:
        raise ValueOutOfRange(
            f"{made.learner} may ask for {made.labels_most} labels, more than max_labels = {max_labels}: raise the budget "
            "or ask for less, by larger epsilon, delta or rho or by sizes of your own"
        )
    return made


_NO_STRICT_PROOF = Condition(
    name="the shared order is random: with a strict order of preference rho is proven for the rounded learners only",
    value=0.0,
    bound=1.0,
    held=False,
)


def _one_of(name: str, value: str | None, known: tuple[str, ...]) -> str:
    if value is not None and value not in known:
        raise BadSpec(f"unknown {name} {value!r}; it is one of {', '.join(known)}")
    return known[0] if value is None else value


def _size(name: str, value: int | None) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueOutOfRange(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def nu_of(nu: float) -> float:
    """Check ν: from one half on, guessing would do as well."""
    if not 0 <= nu < 0.5:
        raise ValueOutOfRange(f"nu must be in [0, 0.5), got {nu:g}")
    return nu
