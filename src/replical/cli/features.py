"""Which columns a class looks at, as ``replical protocol new`` is told: their names, and perhaps public ranges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.classes.catalogue import UNLISTED
from replical.classes.linear import step_for
from replical.cli.output import number
from replical.core.files import decode, read_bytes, read_csv
from replical.errors import BadProtocol, BadTable

_INTERCEPT = 1.0  # about as large as features that were brought to variance one

FeatureNames = Annotated[
    str | None, typer.Option("--features", help="the columns of the class, e.g. age,dose; placeholders if left out")
]
FeatureFile = Annotated[
    Path | None,
    typer.Option("--features-from", help="a file with these columns, one a line, or CSV: feature and public low, high"),
]
Step = Annotated[
    float | None,
    typer.Option("--step", parser=number, help="class linear: edge of the lattice's cells; if left out from epsilon"),
]
Intercept = Annotated[
    float | None,
    typer.Option(
        "--intercept", parser=number, help="class linear: a public constant as large as features are (1); 0 for none"
    ),
]


@dataclass(frozen=True)
class Features:
    """Columns by name, and low and high of each where they are public."""

    names: list[str]
    ranges: list[list[float]] | None = None


def features_of(names: str | None, file: Path | None) -> Features | None:
    """What the flags say; None if they say nothing."""
    if names is not None and file is not None:
        raise BadProtocol("give --features or --features-from, not both")
    if names is not None:
        listed = [name.strip() for name in names.split(",")]
        if not all(listed):
            raise BadProtocol(f"--features lists the columns, separated by commas, e.g. age,dose; got {names!r}")
        return Features(listed)
    return None if file is None else _from_file(file)


def _from_file(file: Path) -> Features:
    what = "the features"
    text = decode(read_bytes(file, what=what, refuse=BadTable), file, what=what, refuse=BadTable)
    if file.suffix != ".csv":
        listed = [line.strip() for line in text.splitlines() if line.strip()]
        if not listed:
            raise BadTable(f"{file} is empty: write the names of the features into it, one a line")
        return Features(listed)
    table = read_csv(text, file, what=what, refuse=BadTable)
    if table.header not in (["feature"], ["feature", "low", "high"]):
        raise BadTable(f"{file} needs the column feature, or feature, low and high; it has {', '.join(table.header)}")
    if not table.rows:
        raise BadTable(f"{file} holds no features: write one a row")
    names = [row[0] for row in table.rows]
    if len(table.header) == 1:
        return Features(names)
    try:
        return Features(names, [[float(low), float(high)] for _, low, high in table.rows])
    except ValueError as error:
        raise BadTable(f"{file}: low and high must be numbers ({error})") from error


def with_features(section: dict[str, Any], features: Features | None) -> dict[str, Any]:
    """The class section with these columns in place of its placeholders."""
    if features is None:
        return section
    if "features" not in section:
        raise BadProtocol("candidates are columns by themselves: leave out --features and --features-from")
    if len(section["features"]) != len(features.names):
        raise BadProtocol(
            f"the class looks at {len(section['features'])} features, and {len(features.names)} are named: name as many"
        )
    ranges = {} if features.ranges is None else {"range": features.ranges}
    return section | {"features": features.names} | ranges


def lattice_keys(
    section: dict[str, Any], epsilon: float, step: float | None, intercept: float | None
) -> dict[str, Any]:
    """Step and constant of a lattice; a step that nobody gives follows from `epsilon`. Other classes have neither."""
    if section["kind"] not in UNLISTED:
        if step is not None or intercept is not None:
            raise BadProtocol("--step and --intercept are about the class linear: leave them out")
        return {}
    constant = _INTERCEPT if intercept is None else intercept
    d = len(section["features"]) + (constant != 0)
    found = float(f"{step_for(epsilon, d):.3g}") if step is None else step
    return {"step": found} | ({} if constant == 0 else {"intercept": constant})
