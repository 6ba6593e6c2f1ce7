"""``replical paper audit``: how often do two labs agree, and at what price?"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import asdict
from typing import Annotated, Any

import typer

from replical.classes.catalogue import parse
from replical.cli import inputs as flags
from replical.cli.output import AsJson, answer, notes, progress, prose
from replical.core.parallel import Workers, cluster
from replical.core.text import about, amount, at_most, interval
from replical.errors import BadUsage
from replical.gpu.device import use
from replical.learners.paper.a2 import LOOP_RUNS
from replical.learners.parameters import OPTIONS
from replical.worlds.audit import COUNTED, Audit, GroupAudit, audit_groups
from replical.worlds.experiment import Experiment, Setup, prepare

_RARE = tuple(name for name in OPTIONS if name != "labs")  # what --set takes, beside the plan
_TERMS = (
    "A pair is two simulated labs, each with items and labels of its own, and one published string in common. Jaccard "
    "distance: the share of the hypotheses left to either lab that are not left to both. Survivors: hypotheses left to a "
    "lab. Excess error: how much more often an answer errs than the best hypothesis."
)


def audit_command(
    class_spec: Annotated[str, typer.Option("--class", help=flags.CLASSES)],
    learner: Annotated[str, flags.learner_flag()],
    epsilon: Annotated[float, flags.parameter("epsilon")],
    pool_size: Annotated[str, typer.Option(help="items in each lab's pool, or 'exact' for the distribution itself")],
    seed: Annotated[str, typer.Option(help="any text; the same text gives the same figures")],
    delta: Annotated[float, flags.parameter("delta")] = 0.05,
    rho: Annotated[float, flags.parameter("rho")] = 0.1,
    theta: Annotated[float | None, flags.parameter("theta", "disagreement coefficient; exact if left out")] = None,
    nu: Annotated[float | None, flags.parameter("nu", "bound on the best error; the population's if left out")] = None,
    noise: Annotated[str, typer.Option(help="probability that a label is wrong")] = "0",
    labs: Annotated[int | None, flags.parameter("labs")] = None,
    prefer: flags.Prefer = None,
    given: flags.Set = None,
    pairs: Annotated[int, typer.Option(parser=flags.whole, help="pairs of labs")] = 200,
    workers: Annotated[int | None, typer.Option(parser=flags.whole, help="processes; every core if left out")] = None,
    at: flags.Cluster = None,
    device: flags.Device = None,
    as_json: AsJson = False,
) -> None:
    """Run many pairs of simulated labs, each pair sharing one random string, and report how often they agree.

    With --labs the pairs are groups of so many labs. --set takes the rare parameters of learners, and plan, which is tight
    or paper: T, k_loop, k_final, batch, a, b, shortlist, strings, runs, max_labels.
    """
    if at is not None:
        _check_cluster(workers, device)
    use(device)
    rare = flags.settings(given, _RARE, {"plan": flags.PLAN})
    plan_name = rare.pop("plan", "tight")
    named = {"labs": labs} | {name: rare.get(name) for name in _RARE}
    experiment = Experiment(
        class_spec=class_spec,
        learner=learner,
        epsilon=epsilon,
        pool_size=pool_size,
        delta=delta,
        rho=rho,
        noise=noise,
        theta=theta,
        nu=nu,
        plan=plan_name,
        options=named,
    )
    C, _ = parse(class_spec, seed=seed)
    public_prior = flags.read_prior(C, prefer)
    with cluster(at) if at is not None else nullcontext(workers) as busy:
        with progress("disagreement coefficient") as update:
            ready = prepare(experiment, seed=seed, prior=public_prior, progress=update)
        used = ready.learner.plan.prior
        asked, found = ("learner", "plan", "epsilon", "delta", "rho"), ("theta", "theta_source", "nu", "nu_source")
        inputs = {"class": class_spec} | {name: getattr(experiment, name) for name in asked}
        inputs |= {name: getattr(ready, name) for name in found}
        inputs |= {"noise": ready.world.noise, "pool_size": ready.world.pool_size, **named}
        inputs |= {"prior": None if used.kind == "uniform" else used.fingerprint, "seed": seed}
        _all_pairs(ready, inputs, pairs, busy, as_json=as_json)


def _check_cluster(workers: int | None, device: str | None) -> None:
    """What does not go with a cluster."""
    if workers is not None:
        raise BadUsage("--workers counts processes of this machine: leave it out with --cluster")
    if device is not None:
        raise BadUsage("--device is a card of this machine, and a cluster computes elsewhere: leave one of them out")


def _all_pairs(
    ready: Setup, inputs: dict[str, Any], pairs: int, workers: int | Workers | None, *, as_json: bool
) -> None:
    if isinstance(workers, Workers):
        notes.say(f"workers: {workers.words}")
    started = time.perf_counter()
    labs = inputs["labs"]
    with progress("pairs of labs" if labs is None else f"groups of {labs} labs") as update:
        figures, groups = audit_groups(
            ready.learner,
            ready.world,
            seed=inputs["seed"],
            groups=pairs,
            labs=labs or 2,
            workers=workers,
            progress=update,
        )
    seconds = round(time.perf_counter() - started, 2)
    if as_json:
        fields = {"conditions": [asdict(each) for each in ready.broken], "vacuous": figures.vacuous, "seconds": seconds}
        fields |= {"global_stability": figures.global_stability} | ({} if labs is None else _group_figures(groups))
        answer({"schema": "replical.audit/1", "inputs": inputs} | asdict(figures) | fields)
        return
    _show(figures, None if labs is None else groups, inputs, seconds)
    for each in ready.broken:
        prose.say(f"Not held: {each.name} ({each.value:g}, bound {each.bound:g}).")
    if any(each.name != LOOP_RUNS for each in ready.broken):
        prose.print("So nothing that the learner promises is proven for these runs.")
    if figures.controls:
        prose.print(string_at_work(figures))


_OWN = {"own_string": "strings", "own_threshold": "thresholds", "own_order": "orders"}


def string_at_work(figures: Audit) -> str:
    """What the string does, and which part of it; that is for whoever wonders what agreement shows."""
    found = {what: getattr(figures, name) for name, what in _OWN.items() if getattr(figures, name) is not None}
    own = ", ".join(f"{100 * share:.1f}% with {what} of their own" for what, share in found.items())
    best = f"{100 * (figures.fewest_errors or 0):.1f}% if each takes what errs least on as many labels"
    first = f"Controls: the same labs agree in {own}, and in {best} ({figures.controls} pairs)."
    if figures.vacuous:
        return (
            f"{first} Vacuous: labs agree whatever they do, so that it shows nothing about the learner. A finer class or a "
            "larger epsilon would."
        )
    if figures.fewest_errors is not None and figures.fewest_errors > 1 - COUNTED:
        return f"{first} So many labels decide without a string too."
    return first


def _group_figures(groups: GroupAudit) -> dict[str, Any]:
    """The names that only whole groups have; what all labs proved goes with what they did."""
    of_groups = ("groups", "all_agree", "all_agree_low", "all_agree_high", "pairs_differ", "certified_differ")
    named = {name: getattr(groups, name) for name in of_groups}
    return named | {"groups_rho_proven": groups.rho_proven}


def _show(figures: Audit, groups: GroupAudit | None, inputs: dict[str, Any], seconds: float) -> None:
    from rich.markup import escape
    from rich.table import Table

    what = "pairs of labs" if groups is None else f"groups of {groups.labs} labs; below the line, of the first two"
    table = Table(title=escape(f"{inputs['learner']} on {inputs['class']}, {figures.pairs} {what}"), show_header=False)
    if groups is not None:
        _show_groups(table, groups, inputs["rho"])
        table.add_section()
    table.add_row("identical hypothesis", f"{100 * figures.agreement:.1f}%")
    table.add_row("  95% interval", interval(figures.agreement_low, figures.agreement_high))
    table.add_row("identical function", f"{100 * figures.function_agreement:.1f}%")
    table.add_row("mean Jaccard distance", about(figures.expected_jaccard, 4))
    table.add_row("survivors, mean", amount(figures.survivors_mean))
    table.add_row("labels per lab, mean", amount(figures.labels_mean))
    table.add_row("labels per lab, most", amount(figures.labels_max))
    table.add_row("excess error, mean", about(figures.excess_error_mean, 5))
    table.add_row("excess error, most", about(figures.excess_error_max, 5))
    table.add_row("labs above epsilon", str(figures.excess_over_epsilon))
    table.add_row("labs stopped short", str(figures.cap_reached))
    if figures.global_stability is not None:
        table.add_row("most frequent answer if nothing is shared", interval(*figures.global_stability))
    if figures.certified_fraction is not None:
        table.add_row("labs certified", f"{100 * figures.certified_fraction:.1f}%")
    if figures.rho_proven is not None:
        table.add_row("rho proven, mean of labs", at_most(figures.rho_proven, 4))
    prose.print(table)
    prose.print(_TERMS)
    prose.print(f"Took {seconds} s; the same seed gives the same figures on any number of workers.")


def _show_groups(table: Any, groups: GroupAudit, rho: float) -> None:
    table.add_row(f"all {groups.labs} labs agree", f"{100 * groups.all_agree:.1f}%")
    table.add_row("  95% interval", interval(groups.all_agree_low, groups.all_agree_high))
    table.add_row(f"two of {groups.labs} labs differ, mean of pairs", f"{100 * groups.pairs_differ:.1f}%")
    if groups.certified_differ is not None:
        differ = f"{round(groups.certified_differ * groups.groups)} of {groups.groups} groups"
        table.add_row("two certified labs differ", f"{differ}, at most {100 * rho:g}% promised")
