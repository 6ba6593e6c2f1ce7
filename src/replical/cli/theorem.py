"""``replical paper theorem``: what a theorem of the paper claims, beside what pairs of labs do at its own sizes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from replical.cli.audit import string_at_work
from replical.cli.inputs import CLASSES, number, parameter, whole
from replical.cli.output import AsJson, answer, prose
from replical.core.text import about, amount
from replical.errors import BadUsage
from replical.study.theorem import THEOREMS, Anatomy, Measured, Step, Trial, crossing

_DIVIDED = 20  # pairs of each step of --divide


def theorem_command(
    theorem: Annotated[int, typer.Argument(metavar="1|2", parser=whole, help="1: no errors; 2: noise")],
    class_spec: Annotated[str, typer.Option("--class", help=CLASSES)] = "thresholds:20000",
    epsilon: Annotated[float, parameter("epsilon")] = 0.05,
    delta: Annotated[float, parameter("delta")] = 0.05,
    rho: Annotated[float, parameter("rho")] = 0.1,
    theta: Annotated[float | None, parameter("theta", "disagreement coefficient; exact if left out")] = None,
    noise: Annotated[float | None, typer.Option(parser=number, help="rate of wrong labels; 0.05 for theorem 2")] = None,
    pairs: Annotated[int, typer.Option(parser=whole, help="pairs of labs")] = 40,
    seed: Annotated[str, typer.Option(help="any text; the same text gives the same figures")] = "theorem",
    divide: Annotated[bool, typer.Option("--divide", help="divide the sizes until the promise breaks")] = False,
    anatomy: Annotated[bool, typer.Option("--anatomy", help="measure what the proof counts, too")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a theorem of the paper at its own sizes: its claims beside what simulated pairs of labs did.

    The distribution is known exactly, so that 10^17 labels cost no more than ten: only counts matter.
    """
    if theorem not in THEOREMS:
        raise BadUsage(f"the paper has theorems 1 and 2, not {theorem}")
    if pairs < 1:
        raise BadUsage(f"--pairs must be at least 1, got {pairs}")
    started, said = time.perf_counter(), THEOREMS[theorem]
    numbers: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "theta": theta, "noise": noise}
    trial = Trial.of(said, class_spec, seed=seed, rho=rho, **numbers)
    found = trial.measure(pairs, dissect=anatomy)
    steps = list(trial.divide(_DIVIDED)) if divide else []
    seconds = round(time.perf_counter() - started, 2)
    if as_json:
        answer(_record(trial, found, steps, class_spec) | {"seconds": seconds})
        return
    _claims(trial, found, class_spec)
    if anatomy:
        _anatomy(trial, found.anatomies)
    if steps:
        _steps(trial, steps, dissected=anatomy)
    prose.print(f"Took {seconds} s; the same seed gives the same figures.")


def _record(trial: Trial, found: Measured, steps: list[Step], class_spec: str) -> dict[str, Any]:
    plan, ready = trial.plan, trial.ready
    claimed = {"differ": trial.rho, "excess_error": float(plan.epsilon), "rounds": plan.rounds_most}
    return {
        "schema": "replical.theorem/1",
        "theorem": trial.theorem.number,
        "inputs": {"class": class_spec, "theta": ready.theta, "nu": ready.nu, "seed": trial.seed},
        "sizes": {each.name: float(each.value) for each in plan.numbers},
        "claimed": claimed | {"labels": plan.labels_most},
        "conditions": [asdict(each) for each in ready.broken],
        "measured": asdict(found.audit) | {"vacuous": found.audit.vacuous, "rounds": found.rounds},
        "anatomy": [asdict(each) for each in found.anatomies],
        "divided": [asdict(each) for each in steps],
    }


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table

    table = Table(title=title or None, title_justify="left")
    for head in heads:
        table.add_column(head)
    for row in rows:
        table.add_row(*row)
    prose.print(table)


def _claims(trial: Trial, found: Measured, class_spec: str) -> None:
    plan, ready, audit = trial.plan, trial.ready, found.audit
    epsilon, over = float(plan.epsilon), audit.excess_over_epsilon
    prose.say(f"Theorem {trial.theorem.number}, {trial.theorem.name}. {trial.theorem.says}")
    prose.print(f"Labels: O({trial.theorem.labels}).")
    nu = f", ν = {ready.nu:g}" if ready.nu else ""
    prose.say(
        f"Here: {class_spec}, |C| = {plan.n:,}, Θ = {ready.theta:g}, ε = {epsilon:g}, δ = {trial.delta:g}, ρ = "
        f"{trial.rho:g}{nu}. With every constant of the proof: N = {plan.rounds_most}, {amount(plan.k)} labels a round, one "
        f"of {amount(plan.integer('m'))} thresholds."
    )
    apart, interval = audit.pairs - audit.agreements, f"95%: to {found.differ_high:.3f}"
    excess = f"at most {audit.excess_error_max:.2g}; {over} of {2 * audit.pairs} above"
    rows = (
        ("two labs differ", f"at most {trial.rho:g}", f"{apart} of {audit.pairs} pairs, {interval}"),
        ("excess error", f"at most {epsilon:g}, but for {trial.delta:g}", excess),
        ("rounds", f"at most {plan.rounds_most}", f"at most {found.rounds}"),
        ("labels per lab", f"at most {amount(plan.labels_most)}", f"{amount(audit.labels_mean)} in the mean"),
    )
    _table("", ("", "claimed", "measured"), rows)
    for each in ready.broken:
        prose.say(f"Not held: {each.name} ({each.value:g}, bound {each.bound:g}).")
    prose.print(string_at_work(audit))


def _anatomy(trial: Trial, found: Sequence[Anatomy]) -> None:
    rho, pairs = trial.rho_drawn, len(found)
    jaccard = [each.jaccard for each in found]

    def shares(name: str) -> str:
        mine = [share for each in found for share in getattr(each, name)]
        return f"at most {about(max(mine), 4)}; more in {sum(each > rho / 30 for each in mine)} of {2 * pairs} labs"

    often = f"more than {rho / 30:.2g} in {rho / 64:.2g} of labs"
    bad = f"at most {max(each.bad for each in found):.1e}; drawn in {sum(each.drawn_bad for each in found)} of {pairs}"
    apart = (
        f"{about(sum(jaccard) / pairs, 4)} in the mean; more in {sum(each > rho / 4 for each in jaccard)} of {pairs}"
    )
    rows = (
        ("bad thresholds", f"a share of {rho / 8:.2g}", bad),
        ("intruders", often, shares("intruders")),
        ("expelled", often, shares("expelled")),
        ("in the interval", f"{rho / 30:.2g}", f"at most {about(max(each.inside for each in found), 4)}"),
        ("Jaccard distance", f"more than {rho / 4:.2g} in {rho / 8:.2g} of pairs", apart),
    )
    _table(f"What the proof counts, with ρ' = {rho:.3g}", ("", "allowed", "measured"), rows)
    prose.print(
        "A threshold is bad if too many hypotheses err about as much as it says, or soon more. Intruders err more and are "
        "kept, expelled ones err less and are lost: shares of all who err less."
    )


def _steps(trial: Trial, steps: list[Step], *, dissected: bool) -> None:
    heads = ["divided by", "labels", "differ", "E[J]", "fewest errors", "> ε"]
    more = ["intruders", "expelled"] if dissected else []
    rows = [
        [
            f"{each.divisor:.1e}",
            f"{each.labels:.1e}",
            f"{each.differ:.2f}",
            about(each.jaccard, 4),
            f"{each.fewest_errors_differ:.2f}",
            f"{each.above:.2f}",
            *(about(getattr(each, name), 4) for name in more),
        ]
        for each in steps
    ]
    _table(f"Sizes divided, {_DIVIDED} pairs each", [*heads, *more], rows)
    divisor, labels = crossing(steps, trial.rho)
    prose.print(
        "How often labs differ; E[J] is the same in the mean over orders, with less noise; and how often those differ that "
        f"return what errs least on as many labels. E[J] reaches ρ = {trial.rho:g} at about {divisor:.0e}: "
        f"{amount(float(f'{labels:.2g}'))} labels would have done here, in place of {amount(trial.plan.labels_most)}."
    )
