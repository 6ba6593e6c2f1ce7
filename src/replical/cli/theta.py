"""``replical theta``: the disagreement coefficient, exactly."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from replical.classes.spec import parse
from replical.cli.inputs import items_from
from replical.cli.output import CLASSES, answer, number, progress, prose, whole
from replical.core.randomness import PrivateRandomness
from replical.worlds.population import Population
from replical.worlds.theta import theta


def theta_command(
    class_spec: Annotated[str, typer.Option("--class", help=CLASSES)],
    pool: Annotated[
        Path | None, typer.Option(help="CSV of items to measure on; the class's uniform population if left out")
    ] = None,
    centre: Annotated[int | None, typer.Option(parser=whole, help="one hypothesis; the maximum if left out")] = None,
    seed: Annotated[str | None, typer.Option(help="the published text a net of half-spaces is drawn from")] = None,
    r0: Annotated[float, typer.Option(parser=number, help="smallest radius that matters")] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Compute the disagreement coefficient of a class from unlabelled items."""
    C, cells = parse(class_spec, seed=seed)
    private = PrivateRandomness.fresh()  # the coefficient does not depend on the order of the items
    over = Population(C, target=0, cells=cells) if pool is None else items_from(C, pool, private)
    with progress("centres") as update:
        coefficient = theta(C, over, centre=centre, r0=r0, progress=update)
    points = len(cells) if isinstance(over, Population) else len(over)
    if as_json:
        measured = asdict(coefficient)
        head = {"schema": "replical.theta/1", "class": class_spec, "hypotheses": len(C), "points": points, "r0": r0}
        answer(head | {"theta": measured.pop("value")} | measured)
        return
    (near, of), (disputed, total) = coefficient.radius, coefficient.disagreement
    prose.print(
        f"theta = {coefficient.value:g}: within distance {near}/{of} of hypothesis {coefficient.centre} "
        f"({C.describe(coefficient.centre)}), hypotheses disagree on {disputed}/{total} of {points} points.",
        markup=False,
        soft_wrap=True,
    )
