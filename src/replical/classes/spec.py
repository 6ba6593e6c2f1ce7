"""Class specs, the short names of the command line, e.g. ``thresholds:1000`` or ``table:FILE.csv``."""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from pathlib import Path

import numpy as np

from replical.classes.base import HypothesisClass, Items
from replical.classes.boxes import Boxes
from replical.classes.halfspaces import HalfSpaces, gaussians
from replical.classes.intervals import Intervals
from replical.classes.star import Star
from replical.classes.stumps import Stumps
from replical.classes.table import PredictionTable
from replical.classes.thresholds import Thresholds
from replical.core.randomness import SharedRandomness
from replical.errors import BadSpec, BadTable

_MOST_LABELS = 256  # different predictions in a table; more are ids or scores
ATOMS = 20_000  # points of a population whose cells cannot be listed
_ATOMS_STRING = "replical atoms"  # public and fixed: every audit of such a class lives on the same points

# kind: how many numbers its spec has, and an example
_KINDS = {
    "thresholds": (1, "thresholds:1000"),
    "intervals": (1, "intervals:40"),
    "star": (1, "star:32"),
    "stumps": (2, "stumps:5,40"),
    "boxes": (2, "boxes:2,8"),
    "halfspaces": (2, "halfspaces:2,2000"),
}


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
    kind, _, rest = spec.partition(":")
    if kind not in _KINDS:
        known = ", ".join(example for _, example in _KINDS.values())
        raise BadSpec(f"unknown class {spec!r}; the classes are {known} and table:FILE.csv")
    count, example = _KINDS[kind]
    words = rest.split(",")
    if len(words) != count or not all(word.isascii() and word.isdigit() and len(word) < 20 for word in words):
        raise BadSpec(f"malformed class {spec!r:.80}; write it as in {example}")
    C = _make(kind, [int(word) for word in words], seed)
    cells = C.cells()
    return C, cells if cells is not None else _atoms(C, int(words[0]))


def _make(kind: str, sizes: list[int], seed: str | None) -> HypothesisClass:
    match kind:
        case "thresholds":
            return Thresholds(sizes[0])
        case "intervals":
            return Intervals(sizes[0])
        case "star":
            return Star(sizes[0])
        case "stumps":
            return Stumps(*sizes)
        case "boxes":
            return Boxes(*sizes)
    if seed is None:
        raise BadSpec("half-spaces are drawn from a published text: give one with --seed")
    return HalfSpaces(*sizes, seed=seed)


def _atoms(C: HypothesisClass, dimensions: int) -> Items:
    """Public points: uniform on [0, 1], or standard normal for half-spaces."""
    shared = SharedRandomness(_ATOMS_STRING)
    if isinstance(C, HalfSpaces):
        points = gaussians(shared, "normal", dimensions, count=ATOMS * dimensions)
    else:
        words = shared.words("uniform", dimensions, count=ATOMS * dimensions)
        points = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return C.items(points.reshape(ATOMS, dimensions))


def table_path(spec: str) -> Path | None:
    """The file that a spec names; None for classes that need none."""
    kind, _, rest = spec.partition(":")
    return Path(rest) if kind == "table" and rest else None


def table_digest(path: Path) -> str:
    """The SHA-256 of a file, as ``sha256sum`` tells it."""
    return _digest(_read(path))


def read_table(path: Path, *, digest: str | None = None) -> tuple[PredictionTable, Items]:
    """Read a CSV file with one column a candidate and one row an item; the label set is what occurs, sorted."""
    content = _read(path)  # once: what is compared is what is read
    if digest is not None and _digest(content) != digest:
        raise BadTable(f"the table {path} has another content: its {_digest(content):.23}... should be {digest:.23}...")
    names, rows, lines = _rows(content, path)
    for row, line in zip(rows, lines, strict=True):
        if "" in row:
            raise BadTable(f"{path}, line {line}: the prediction of {names[row.index('')]!r} is missing")
    labels = sorted({value for row in rows for value in row})
    if len(labels) < 2:
        raise BadTable(f"{path} holds a single label {labels!r}; candidates that never differ leave nothing to learn")
    if len(labels) > _MOST_LABELS:
        raise BadTable(
            f"{path} holds {len(labels)} different values: every column is a candidate, so leave ids, texts and scores out"
        )
    C = PredictionTable(names, labels=labels)
    return C, C.items(rows)


def read_csv(path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    """Header, rows, and the line each row ends on; every row as long as the header, no name twice."""
    return _rows(_read(path), path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # a ValueError: no file can have such a name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadTable(f"cannot read the table {path}: {reason}") from error


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _rows(content: bytes, path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        for row in reader:
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadTable(f"cannot read the table {path}: {error}") from error
    if len(rows) < 2:
        raise BadTable(f"{path} needs a header and at least one row")
    header = rows[0]
    twice = Counter(header).most_common(1)[0]
    if twice[1] > 1:
        raise BadTable(f"{path}: the column {twice[0]!r} is named twice")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise BadTable(f"{path}, line {line}: {len(row)} values where the header names {len(header)}")
    return header, rows[1:], lines[1:]
