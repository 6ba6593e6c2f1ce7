"""``replical plan``: the bill before the first label."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.classes.base import HypothesisClass
from replical.classes.spec import parse
from replical.cli.inputs import read_pool, read_prior
from replical.cli.output import CLASSES, amount, answer, number, progress, prose, whole
from replical.noise import parse_noise
from replical.plans import plan
from replical.prediction import Prediction, predict_agreement
from replical.prior import Prior
from replical.randomness import PrivateRandomness


def plan_command(
    class_spec: Annotated[str, typer.Option("--class", help=CLASSES)],
    epsilon: Annotated[float, typer.Option(parser=number, help="target error")],
    learner: Annotated[str, typer.Option(help="rounded-cal or rounded-a2")] = "rounded-a2",
    delta: Annotated[float, typer.Option(parser=number, help="failure probability of the error bound")] = 0.05,
    rho: Annotated[float, typer.Option(parser=number, help="how often two labs may differ")] = 0.1,
    pool: Annotated[Path | None, typer.Option(help="CSV of this lab's unlabelled items")] = None,
    items: Annotated[int | None, typer.Option(parser=whole, help="items each lab rounds on; all of the pool")] = None,
    noise: Annotated[str, typer.Option(help="share of wrong labels to expect, or boundary:RATE,RADIUS")] = "0",
    kappa: Annotated[float | None, typer.Option(parser=number, help="slack at which a run stops uncertified")] = None,
    max_labels: Annotated[int | None, typer.Option(parser=whole, help="budget of labels a lab")] = None,
    prior: Annotated[Path | None, typer.Option(help="CSV of prior weights: columns candidate and weight")] = None,
    prefer: Annotated[Path | None, typer.Option(help="strict order of preference, one a line, best first")] = None,
    truths: Annotated[int, typer.Option(parser=whole, help="hypotheses that take their turn as the truth")] = 16,
    seed: Annotated[str | None, typer.Option(help="the published text a net of half-spaces is drawn from")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Show a plan's numbers and, for a pool of unlabelled items, predict labels and agreement."""
    C, _ = parse(class_spec, seed=seed)
    public = read_prior(C, prior, prefer)
    made = plan(
        learner,
        C,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        pool="finite",
        items=items,
        kappa=kappa,
        max_labels=max_labels,
        prior=public,
    )
    found = None
    if pool is not None:
        given = read_pool(C, pool, PrivateRandomness.simulated("prediction"))
        with progress("simulated pairs of labs") as update:
            found = predict_agreement(
                C,
                given,
                epsilon,
                learner,
                delta=delta,
                rho=rho,
                noise=parse_noise(noise),
                items=items,
                prior=public,
                kappa=kappa,
                max_labels=max_labels,
                truths=truths,
                progress=update,
            )
    numbers = [{"name": each.name, "value": _plain(each.value), "source": each.source} for each in made.numbers]
    reading = _reading(found, rho, public) if found is not None else "give --pool FILE to predict labels and agreement"
    if as_json:
        inputs = {
            "class": class_spec,
            "learner": learner,
            "epsilon": epsilon,
            "delta": delta,
            "rho": rho,
            "noise": noise,
        }
        inputs |= {"items": items, "kappa": kappa, "max_labels": max_labels, "prior": public.kind}
        bills = [{"learner": learner, "plan": made.name, "replicable": True, "numbers": numbers}]
        prediction = None if found is None else _prediction(C, found)
        answer(
            {
                "schema": "replical.plan/1",
                "inputs": inputs,
                "bills": bills,
                "reading": reading,
                "prediction": prediction,
            }
        )
        return
    for each in numbers:
        prose.print(f"  {each['name']:<10} {each['value']:<12.6g} {each['source']}", markup=False, soft_wrap=True)
    if found is not None:
        _show(C, found)
    prose.print(reading, markup=False, soft_wrap=True)


def _plain(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)


def _prediction(C: HypothesisClass, found: Prediction) -> dict[str, Any]:
    told = asdict(found)
    return told | {"ties": [[C.describe(h) for h in group] for group in found.ties], "worst": C.describe(found.worst)}


def _show(C: HypothesisClass, found: Prediction) -> None:
    rows = {
        "items a lab": f"{found.items:,}",
        "labels a lab": f"{amount(round(found.labels_mean))} ({found.labels_low:.0f} to {found.labels_high:.0f})",
        "labs differ": f"{found.disagreement_mean:.3f}, at worst {found.disagreement_worst:.3f}",
        "certified": f"{100 * found.certified_fraction:.0f}% of labs",
        "pool for rho": "more than 10^7 items" if found.pool_for_rho is None else f"{found.pool_for_rho:,} items",
    }
    for name, value in rows.items():
        prose.print(f"  {name:<14} {value}", markup=False)
    for group in sorted(found.ties, key=len, reverse=True)[:3]:
        names = ", ".join(C.describe(h) for h in group[:6]) + (f" and {len(group) - 6} more" if len(group) > 6 else "")
        prose.print(f"  near-ties      {names}", markup=False, soft_wrap=True)


def _reading(found: Prediction, rho: float, prior: Prior) -> str:
    told = (
        f"Expect about {found.labels_mean:.0f} labels a lab and different answers in {100 * found.disagreement_mean:.1f}% "
        f"of pairs (an estimate from {found.items:,} unlabelled items)"
    )
    if found.certified_fraction >= 0.5:
        told += f"; most labs can prove {rho:g}."
    elif found.pool_for_rho is None:
        told += f"; {rho:g} cannot be proven with 10^7 items: raise rho or epsilon."
    elif found.pool_for_rho > found.items:
        told += f"; to prove {rho:g} about {found.pool_for_rho:,} items are needed."
    else:
        told += f"; the pool could prove {rho:g}, but the labels that would take are not reached."
    if prior.kind != "uniform":
        with_without = f"{found.disagreement_mean:.3f} with it, {found.uniform_disagreement:.3f} without"
        told += (
            f" The prior helps: {with_without}."
            if found.prior_helps
            else f" Warning: the prior hurts, because it prefers candidates far from the good ones: {with_without}."
        )
        if prior.kind == "weights":
            told += f" (1 + ln 1/mass near the truth: {found.prior_log:.1f} against {found.uniform_log:.1f}.)"
    return told
