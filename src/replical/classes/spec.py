"""Class specs, the short names of the command line, e.g. ``thresholds:1000`` or ``table:FILE.csv``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from replical.classes.base import HypothesisClass, Items
from replical.classes.catalogue import numbers
from replical.classes.halfspaces import gaussians
from replical.classes.predictions.memory import check_memory
from replical.classes.table import PredictionTable
from replical.core.canonical import digest_of
from replical.core.files import Rows, decode, read_bytes, read_csv
from replical.core.randomness import SharedRandomness
from replical.errors import BadSpec, BadTable

_MOST_LABELS = 256  # different predictions in a table; more are ids or scores
ATOMS = 20_000  # points of a population whose cells cannot be listed
_ATOMS_STRING = "replical atoms"  # public and fixed: every audit of such a class lives on the same points


def parse(spec: str, *, seed: str | None = None, digest: str | None = None) -> tuple[HypothesisClass, Items]:
    """Read a spec: the class, and the items of its standard population.

    Parameters
    ----------
    spec
        E.g. ``stumps:5,40``.
    seed
        The published text a net of half-spaces is drawn from.
    digest
        What `table_digest` said of a table; one that differs is refused.

    Examples
    --------
    >>> C, cells = parse("thresholds:1000")
    >>> len(C), len(cells)
    (1000, 999)
    """
    table = table_path(spec)
    if table is not None:
        return read_table(table, digest=digest)
    kind, sizes = numbers(spec)
    if kind.make is None:
        raise BadSpec(
            f"{spec} has no list of hypotheses, and this needs one: write it into a protocol with replical protocol new, or "
            "take halfspaces:D,N, a list of N half-spaces"
        )
    C = kind.make(sizes, seed)
    check_memory(C)
    cells = C.cells()
    return C, cells if cells is not None else _atoms(C, sizes[0], kind.atoms)


def _atoms(C: HypothesisClass, dimensions: int, drawn: str) -> Items:
    """Public points: uniform on [0, 1], or standard normal."""
    shared = SharedRandomness(_ATOMS_STRING)
    if drawn == "normal":
        points = gaussians(shared, "normal", dimensions, count=ATOMS * dimensions)
    else:
        words = shared.words("uniform", dimensions, count=ATOMS * dimensions)
        points = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return C.items(points.reshape(ATOMS, dimensions))


def known_theta(spec: str) -> float | None:
    """The disagreement coefficient of a class on its uniform population, where theory knows it.

    Examples
    --------
    >>> known_theta("star:64"), known_theta("boxes:2,8")
    (64.0, None)
    """
    if table_path(spec) is not None:
        return None
    kind, sizes = numbers(spec)
    return None if kind.theta is None else kind.theta(sizes)


def table_path(spec: str) -> Path | None:
    """The file that a spec names; None for classes that need none."""
    kind, _, rest = spec.partition(":")
    return Path(rest) if kind == "table" and rest else None


def table_digest(path: Path) -> str:
    """The SHA-256 of a file, as ``sha256sum`` tells it."""
    return digest_of(_read(path))


def read_table(path: Path, *, digest: str | None = None) -> tuple[PredictionTable, Items]:
    """Read a CSV file with one column a candidate and one row an item; the label set is what occurs, sorted."""
    content = _read(path)  # once: what is compared is what is read
    if digest is not None and digest_of(content) != digest:
        raise BadTable(
            f"the table {path} has another content: its {digest_of(content):.23}... should be {digest:.23}..."
        )
    table = _rows(content, path)
    for row, line in zip(table.rows, table.lines, strict=True):
        if "" in row:
            raise BadTable(f"{path}, line {line}: the prediction of {table.header[row.index('')]!r} is missing")
    labels = sorted({value for row in table.rows for value in row})
    if len(labels) < 2:
        raise BadTable(f"{path} holds a single label {labels!r}; candidates that never differ leave nothing to learn")
    if len(labels) > _MOST_LABELS:
        raise BadTable(
            f"{path} holds {len(labels)} different values: every column is a candidate, so leave ids, texts and scores out"
        )
    C = PredictionTable(table.header, labels=labels)
    return C, C.items(table.rows)


def read_file(path: Path) -> Rows:
    """The rows of a CSV file, each as long as its header, no name twice."""
    return _rows(_read(path), path)


def _read(path: Path) -> bytes:
    return read_bytes(path, what="the table", refuse=BadTable)


def _rows(content: bytes, path: Path) -> Rows:
    text = decode(content, path, what="the table", refuse=BadTable)
    return read_csv(text, path, what="the table", refuse=BadTable)
