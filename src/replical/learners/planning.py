"""From a task to a plan, and from a plan to the learner that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import DecimalException
from typing import Any

import numpy as np

from replical.classes.base import HypothesisClass, class_size, is_listed
from replical.classes.grading import Gold, Scores, loss_of
from replical.classes.losses import Losses
from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import decimal, decimals
from replical.errors import BadSpec, ValueOutOfRange
from replical.learners.base import Learner
from replical.learners.catalogue import Record, find, load, owner
from replical.learners.handicap.handicaps import UNIT, Handicaps
from replical.learners.handicap.plan import HandicapPlan
from replical.learners.parameters import OPTIONS, PARAMETERS
from replical.learners.plan import Condition, Plan, Task
from replical.pools.groups import SINGLE, Groups


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
    batch: int | None = None,
    a: float | None = None,
    b: float | None = None,
    shortlist: int | None = None,
    strings: int | None = None,
    runs: int | None = None,
    labs: int | None = None,
    losses: Losses | Gold | None = None,
    groups: Groups | None = None,
    table: bool = False,
    handicaps: Handicaps | None = None,
    prior: Prior = UNIFORM,
    max_labels: int | None = None,
) -> Plan:
    """Make the plan of a learner: every size and threshold, each with its source.

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
        ``"tight"``, our sizes, or ``"paper"``, which only learners of the paper have.
    pool
        ``"exact"`` where masses are known, ``"finite"`` where they are measured.
    T
        Threshold range T/Θ of the paper's RepliCAL, 1/8 if left out.
    k_loop, k_final
        Your own sizes in place of the proof's; the result then says which condition they break.
    batch
        Items A² has open at once, 1 if left out.
    a, b
        Range of the shared threshold of handicap where handicaps follow a public order, .75 of epsilon and epsilon if left
        out.
    shortlist
        So many of a public order, from the first on, are the candidates of handicap; all others are out, and the answer is
        within `epsilon` of the best of these.
    strings, runs
        Your own numbers of strings, and of runs with each, in place of boosting's.
    labs
        Labs that the promise of handicap is for, 2 if left out: that any two of them differ has probability at most `rho`.
    losses
        What predictions cost where that is not one for each error: `Losses.of`; for handicap alone. `epsilon`, `a` and `b`
        are then in costliest errors.
    groups
        How items count that belong together, for handicap alone: `Groups`. None where each is a draw of its own.
    table
        Is the pool a table that is the whole population, as of a leaderboard, the same in all labs? For handicap alone.
    handicaps
        Where those of handicap come from, if not from `prior` or the string: `Handicaps`.
    prior
        How the shared order prefers hypotheses.
    max_labels
        Budget.

    Returns
    -------
    plan
        Its ``numbers`` say where each number came from, its ``conditions`` what the guarantee needs beside them.

    Raises
    ------
    BadSpec
        For a learner, plan, word or parameter that does not exist, and for the paper's sizes of a learner it does not have.
    ValueOutOfRange
        For a number out of its range, a missing one, or a budget below what the plan may ask for.

    Examples
    --------
    >>> p = plan("replical", 1000, epsilon=.01, delta=.05, rho=.1, theta=2, name="paper")
    >>> f"{p.integer('m'):.3g} intervals, {p.integer('k_loop'):.2g} labels per round, {p.labels_most:.2g} in all"
    '8.13e+06 intervals, 1.5e+17 labels per round, 1.2e+18 in all'
    """
    values = {
        "epsilon": epsilon, "delta": delta, "rho": rho, "theta": theta, "nu": nu, "T": T, "k_loop": k_loop,
        "k_final": k_final, "batch": batch, "a": a, "b": b, "shortlist": shortlist,
        "strings": strings, "runs": runs, "labs": labs,
        "max_labels": max_labels,
    }  # fmt: skip
    record = find(learner)
    make = record.maker(name)
    if pool not in ("exact", "finite"):
        raise BadSpec(f"a plan is for an 'exact' or a 'finite' pool, got {pool!r}")
    _check_parameters(record, name, values)
    given = None if isinstance(C, int | np.integer) else C
    n = _count_hypotheses(record, C)
    if given is not None:
        prior.check(given)
    try:
        with decimals():
            exact = {each.name: each.exact(values[each.name]) for each in PARAMETERS.values()}
            budget = exact.pop("max_labels")
            spread = decimal(prior.spread(n)) if prior.kind == "weights" else decimal(n)
            draft = make(Task(C=given, n=n, exact=pool == "exact", noiseless=nu == 0, spread=spread, **exact))
    except (DecimalException, OverflowError) as error:
        raise ValueOutOfRange(
            f"these numbers are too extreme to plan with: epsilon {epsilon}, delta {delta}, rho {rho}, theta {theta}, T {T}"
        ) from error
    made = replace(draft, name=name).under(prior, budget)
    losses = loss_of(C) if losses is None else losses
    if losses is not None:
        made = replace(_with_losses(made, C, losses, record), losses=losses)
    if groups is not None:
        grouped = replace(_with_groups(made, groups), groups=groups)
        _ = grouped.outcomes  # refuses too many
        made = grouped
    if table:
        made = replace(_with_table(made), table=True)
    if handicaps is not None:
        made = replace(_with_handicaps(made, given, handicaps), handicaps=handicaps)
    if isinstance(made, HandicapPlan) and shortlist is not None:
        _check_shortlist(made, shortlist)
    return _complete(made, record)


def _check_shortlist(made: HandicapPlan, shortlist: int) -> None:
    """Refuse a shortlist of no order, and one that is longer than the class."""
    if made.source != "order":
        raise ValueOutOfRange(
            f"a shortlist is the beginning of a public order, and handicaps come from {made.source}: publish an order, or "
            "leave the shortlist out"
        )
    if shortlist > made.n:
        raise ValueOutOfRange(f"a shortlist of {shortlist} is longer than the class of {made.n}: give a shorter one")


def _with_losses(made: Plan, C: HypothesisClass | int, losses: Losses | Gold, record: Record) -> HandicapPlan:
    """A plan that can be for losses other than errors."""
    if not record.weighs or not isinstance(made, HandicapPlan):
        raise BadSpec(
            f"{record.id} counts errors, all alike: leave out weights, abstaining and losses, or take the learner handicap"
        )
    if made.noiseless:
        raise BadSpec("nu = 0 is about errors, all alike: leave out nu, or weights, abstaining and losses")
    if isinstance(losses, Gold) or loss_of(C) is not None:
        if losses != loss_of(C):
            raise BadSpec(f"the class compares outputs by {loss_of(C)!r:.80}, and the losses are {losses!r:.80}")
        return made
    if not isinstance(C, int | np.integer) and len(C.labels) != losses.labels + losses.abstains:
        says = losses.labels + losses.abstains
        raise BadSpec(f"the losses are for {says} predictions, and hypotheses of the class say {len(C.labels)} labels")
    return made


def _with_groups(made: Plan, groups: Groups) -> HandicapPlan:
    """A plan that can be for items that belong together."""
    if groups.largest < 2:
        raise BadSpec("a group of at most 1 item is no group: leave groups out, or take a bound of 2 or more")
    if not isinstance(made, HandicapPlan) or made.noiseless:
        what = f"{made.learner} takes every item" if not isinstance(made, HandicapPlan) else "nu = 0 takes every label"
        raise BadSpec(f"{what} by itself: for items that belong together take the learner handicap, without nu")
    return made


def _with_table(made: Plan) -> HandicapPlan:
    """A plan that can be for a table that is the whole population."""
    if not isinstance(made, HandicapPlan) or made.noiseless or made.groups != SINGLE or made.batch > 1:
        raise BadSpec(
            f"a table that is the population is for handicap alone, without nu, batch and groups, got {made.learner}: leave "
            "them out"
        )
    if isinstance(made.losses, Scores):
        raise BadSpec("what judges score is no part of a table, so it cannot be the population: leave out one of them")
    return made


def _with_handicaps(made: Plan, C: HypothesisClass | None, handicaps: Handicaps) -> HandicapPlan:
    """A plan that handicaps are for."""
    if not isinstance(made, HandicapPlan):
        raise BadSpec(f"{made.learner} has no handicaps: leave them out, or take the learner handicap")
    if C is not None:
        handicaps.check(C)
    if handicaps.source == "values" and handicaps.values is not None and handicaps.values.max() > made.epsilon * UNIT:
        most = float(handicaps.values.max() / UNIT)
        raise ValueOutOfRange(
            f"a handicap is {most:g}, above epsilon = {float(made.epsilon):g}: give handicaps up to that"
        )
    return made


def _check_parameters(record: Record, name: str, values: Mapping[str, Any]) -> None:
    """Refuse what a learner needs and was not given, and what it was given and does not know."""
    for parameter in OPTIONS:
        if values[parameter] is None or record.uses(parameter, name):
            continue
        if whose := owner(parameter):
            raise BadSpec(f"{parameter} belongs to the plan 'paper' of {whose}, not to {name!r} of {record.id}")
        raise BadSpec(f"{record.id} has no {parameter}: leave it out")
    for parameter in ("theta", "rho", "nu"):
        if parameter in record.needs and values[parameter] is None:
            raise ValueOutOfRange(f"{record.id} needs {parameter}, and none was given")


def _count_hypotheses(record: Record, C: HypothesisClass | int) -> int:
    """Refuse a learner that needs a list where there is none, and the other way round; the length of the list, else 0."""
    size = C if isinstance(C, int | np.integer) else len(C) if is_listed(C) else None
    if record.lists and size is None:
        raise BadSpec(
            f"{record.id} chooses from a list of hypotheses, and the class linear has none: take the learner lattice, or "
            "the class halfspaces, a list of half-spaces"
        )
    if size is None:
        return 0
    if not record.lists:
        raise BadSpec(
            f"{record.id} rounds directions to the cells of the class linear, and got a list of hypotheses: take the class "
            "linear, or a learner that chooses from a list, e.g. handicap"
        )
    return class_size("the number of hypotheses", size)


_NO_STRICT_PROOF = Condition(
    name="the shared order is random: with a strict order of preference rho is proven for handicap only",
    value=0.0,
    bound=1.0,
    held=False,
)


def _complete(draft: Plan, record: Record) -> Plan:
    """Say what is not proven, and refuse a budget that is too small from the start."""
    if draft.prior.kind == "order" and record.replicable and not record.certifies:
        draft = replace(draft, conditions=(*draft.conditions, _NO_STRICT_PROOF))
    if draft.max_labels is not None and (draft.labels_most or 0) > draft.max_labels:
        raise ValueOutOfRange(
            f"{draft.learner} may ask for {draft.labels_most} labels, more than max_labels = {draft.max_labels}: raise the "
            "budget or ask for less, by larger epsilon, delta or rho or by sizes of your own"
        )
    return draft


def learner_for(plan: Plan) -> Learner:
    """The learner a plan was made for, as its record in `replical.learners.catalogue` says.

    Parameters
    ----------
    plan
        What `replical.plan` returned.

    Returns
    -------
    learner
        Ready for `replical.learn`; one that runs another learner inside has that one made too.

    Raises
    ------
    BadSpec
        For a plan of a learner that no record knows.

    Examples
    --------
    >>> from replical import learner_for, plan
    >>> type(learner_for(plan("cal", 100, epsilon=.1, delta=.1))).__name__
    'CAL'
    """
    make: Callable[..., Learner] = load(find(plan.learner).learner)
    return make(plan) if plan.base is None else make(learner_for(plan.base), plan)
