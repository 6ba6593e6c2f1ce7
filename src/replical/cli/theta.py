"""``replical theta``: the disagreement coefficient, exactly; from a pool also what it may be beyond the pool."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from replical.classes.catalogue import parse, table_path
from replical.cli.inputs import CLASSES, Device, items_from, never_over
from replical.cli.output import answer, number, progress, prose, whole
from replical.core.kernels.torch_device import use
from replical.core.randomness import PrivateRandomness
from replical.study.pictures.style import check_name, new_figure, save
from replical.study.pictures.theory import theta_picture
from replical.worlds.theta import curve, theta, theta_bound
from replical.worlds.world import Population


def theta_command(
    class_spec: Annotated[str, typer.Option("--class", help=CLASSES)],
    pool: Annotated[
        Path | None, typer.Option(help="CSV of items to measure on; the class's uniform population if left out")
    ] = None,
    centre: Annotated[int | None, typer.Option(parser=whole, help="one hypothesis; the maximum if left out")] = None,
    seed: Annotated[str | None, typer.Option(help="the published text a net of half-spaces is drawn from")] = None,
    r0: Annotated[float, typer.Option(parser=number, help="smallest radius that matters")] = 0.0,
    plot: Annotated[
        Path | None, typer.Option(help="draw what a ball disputes against its radius: a .svg, .png or .pdf file")
    ] = None,
    device: Device = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Compute the disagreement coefficient of a class from unlabelled items."""
    use(device)
    if plot is not None:
        check_name(plot)
        never_over({"--plot": plot}, {"--pool": pool, "--class": table_path(class_spec)})
        new_figure()  # says what to install, before anything is computed
    C, cells = parse(class_spec, seed=seed)
    private = PrivateRandomness.fresh()  # the coefficient does not depend on the order of the items
    items = None if pool is None else items_from(C, pool, private)
    over = Population(C, target=0, cells=cells) if items is None else items
    with progress("centres") as update:
        coefficient = theta(C, over, centre=centre, r0=r0, progress=update)
    bound = None
    if items is not None:
        with progress("centres, for the bound") as update:
            bound = theta_bound(C, items, centre=centre, r0=r0, progress=update)
    if plot is not None:
        title = f"{class_spec}: balls around “{C.describe(coefficient.centre)}”"
        save(theta_picture(curve(C, over, coefficient.centre), coefficient, title, r0=r0, bound=bound), plot)
    points = len(cells) if items is None else len(items)
    if as_json:
        measured = asdict(coefficient)
        head = {"schema": "replical.theta/1", "class": class_spec, "hypotheses": len(C), "points": points, "r0": r0}
        upper = (None, None) if bound is None else (bound.value, bound.confidence)
        answer(
            head | {"theta": measured.pop("value")} | measured | dict(zip(("upper", "confidence"), upper, strict=True))
        )
        return
    (near, of), (disputed, total) = coefficient.radius, coefficient.disagreement
    prose.print(
        f"theta = {coefficient.value:g}: within distance {near}/{of} of hypothesis {coefficient.centre} "
        f"({C.describe(coefficient.centre)}), hypotheses disagree on {disputed}/{total} of {points} points.",
        markup=False,
        soft_wrap=True,
    )
    if bound is not None:
        radii = f" at radii from {r0:g} on" if r0 else ""
        prose.print(
            f"That is theta of these items. If they are an independent sample, theta of the population{radii} is at most "
            f"{bound.value:.4g}, with {bound.confidence:.0%} confidence.",
            markup=False,
            soft_wrap=True,
        )
    if plot is not None:
        prose.print(f"Drawn: {plot}", markup=False, soft_wrap=True)
