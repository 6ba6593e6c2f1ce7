"""``replical theta``: the disagreement coefficient, exactly."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from replical.classes.base import HypothesisClass
from replical.classes.boxes import Boxes
from replical.classes.halfspaces import HalfSpaces
from replical.classes.spec import parse, read_csv
from replical.classes.stumps import Stumps
from replical.classes.table import PredictionTable
from replical.cli.output import CLASSES, answer, number, progress, prose, whole
from replical.disagreement import theta
from replical.errors import BadTable
from replical.pool import Pool
from replical.population import Population
from replical.randomness import PrivateRandomness


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
    over = Population(C, target=0, cells=cells) if pool is None else _read_pool(C, pool)
    with progress("centres") as update:
        found = theta(C, over, centre=centre, r0=r0, progress=update)
    points = len(cells) if isinstance(over, Population) else len(over)
    if as_json:
        measured = asdict(found)
        head = {"schema": "replical.theta/1", "class": class_spec, "hypotheses": len(C), "points": points, "r0": r0}
        answer(head | {"theta": measured.pop("value")} | measured)
        return
    (near, of), (disputed, total) = found.radius, found.disagreement
    prose.print(
        f"theta = {found.value:g}: within distance {near}/{of} of hypothesis {found.centre} ({C.describe(found.centre)}), "
        f"hypotheses disagree on {disputed}/{total} of {points} points.",
        markup=False,
        soft_wrap=True,
    )


def _read_pool(C: HypothesisClass, path: Path) -> Pool:
    header, rows, _ = read_csv(path)
    # The coefficient does not depend on the order of the items, so any private order will do.
    private = PrivateRandomness.fresh()
    if isinstance(C, PredictionTable):
        columns = {name: [row[i] for row in rows] for i, name in enumerate(header)}
        return Pool(C, C.rows(columns), private)
    wanted = [f"x{d}" for d in range(C.dimensions)] if isinstance(C, Stumps | Boxes | HalfSpaces) else ["x"]
    if len(header) == len(wanted) and not set(wanted) <= set(header):
        wanted = header  # exactly as many columns as are needed, under other names
    missing = [name for name in wanted if name not in header]
    if missing:
        raise BadTable(f"{path} needs a column {missing[0]!r} with the items, it has {', '.join(header)}")
    try:
        items = np.array([[float(row[header.index(name)]) for name in wanted] for row in rows])
    except ValueError as error:
        raise BadTable(f"{path}: the columns {', '.join(wanted)} must hold numbers ({error})") from error
    if len(wanted) > 1 or isinstance(C, Stumps | Boxes | HalfSpaces):
        return Pool(C, items, private)
    whole_numbers = bool((np.abs(items) < 2**53).all() and (items == np.floor(items)).all())
    return Pool(C, items[:, 0].astype(np.int64) if whole_numbers else items[:, 0], private)
