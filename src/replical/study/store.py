"""Cells of a study: a worker runs some pairs of one, the folder holds a file for each.

A worker keeps the world of the last cells it saw, because the pieces of one cell follow each other. Files are written
whole and renamed, so that what is there is complete.
"""

from __future__ import annotations

import json
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import version
from math import log10
from pathlib import Path
from typing import Any

from replical.core.files import PART, check_regular, write_whole
from replical.errors import BadStudy, BadTable, ReplicalError, ValueOutOfRange, need
from replical.study.spec import Cell
from replical.worlds.audit import COLUMNS, Columns, Pair, columns, controlled_pair
from replical.worlds.experiment import Experiment, Setup, prepare


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Some pairs of one cell: all a worker needs to know.

    `class_seed` is what a net of half-spaces is drawn from: the study's own text, one net for all its cells.
    """

    cell: str
    experiment: Experiment
    class_seed: str
    seed: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a worker answers: rows, or the sentence that says why there are none."""

    piece: Piece
    rows: Columns
    theta: float | None = None
    nu: float | None = None
    hypotheses: int | None = None
    labels_most: int | None = None
    refused: str | None = None
    seconds: float = 0.0


def work(piece: Piece) -> Outcome:
    """Run the pairs of a piece; the same rows wherever and whenever it runs."""
    started = time.perf_counter()
    try:
        ready = _prepare(piece.experiment, piece.class_seed)
        plan = ready.learner.plan
        _as_double(plan.labels_most or 0)  # before any pair is run
        rows = rows_of(
            [
                controlled_pair(ready.learner, ready.world, piece.seed, number)
                for number in range(piece.start, piece.end)
            ],
            plan.epsilon,
        )
    except BadTable as error:  # the fault of this machine, not of the cell: elsewhere its pairs are good
        raise BadStudy(
            f"{error} (on {socket.gethostname()}): put the study's own file there, or run the study again with the new one"
        ) from error
    except ReplicalError as error:
        return Outcome(piece=piece, rows=rows_of([], Fraction(1)), refused=str(error))
    return Outcome(
        piece=piece,
        rows=rows,
        theta=ready.theta,
        nu=ready.nu,
        hypotheses=len(ready.world.C),
        labels_most=plan.labels_most,
        seconds=time.perf_counter() - started,
    )


@lru_cache(maxsize=2)
def _prepare(experiment: Experiment, class_seed: str) -> Setup:
    return prepare(experiment, seed=class_seed)


def _as_double(labels: int) -> float:
    if labels > sys.float_info.max:
        raise ValueOutOfRange(
            f"the plan asks for about 10**{log10(labels):.0f} labels, and the tables of a study hold up to 10**308: "
            "choose a larger epsilon, delta or rho"
        )
    return float(labels)


def rows_of(pairs: Sequence[Pair], epsilon: Fraction) -> Columns:
    """Pairs as columns. Counts of labels beyond 2**53 are rounded to doubles; nothing is compared after rounding."""
    rows = columns(pairs, epsilon)
    return rows | {name: [_as_double(count) for count in rows[name]] for name in ("labels_a", "labels_b")}


_META = b"replical"
_VERSION = version("replical")
_AND = ", "  # between the versions of a cell
_STALE = 3600.0  # seconds after which a file that is not whole was left behind by someone who was killed


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What is known of a cell: its pairs so far, what its plan was made of, time, versions of the library that ran it."""

    rows: Columns
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    versions: tuple[str, ...] = ()

    @property
    def pairs(self) -> int:
        """How many."""
        return len(self.rows["pair"])

    @property
    def agreements(self) -> int:
        """How many of them agree."""
        return sum(self.rows["agree"])

    @property
    def refused(self) -> str | None:
        """Why it could not be run."""
        sentence: str | None = self.facts.get("refused")
        return sentence

    def extend(self, outcome: Outcome) -> Entry:
        """With one more piece of work; a refusal stays the last word."""
        facts = {name: getattr(outcome, name) for name in ("theta", "nu", "hypotheses", "refused")}
        facts["labels_most"] = None if outcome.labels_most is None else float(outcome.labels_most)
        if outcome.refused is not None:
            return Entry(rows=outcome.rows, facts=facts, versions=(_VERSION,))
        rows = {name: self.rows[name] + outcome.rows[name] for name in self.rows}
        versions = tuple(dict.fromkeys((*self.versions, _VERSION)))
        return Entry(rows=rows, facts=facts, seconds=self.seconds + outcome.seconds, versions=versions)

    def cut(self, pairs: int) -> Entry:
        """Its first pairs only: what a run that asked for so many would have found."""
        rows = {name: values[:pairs] for name, values in self.rows.items()}
        seconds = self.seconds * min(1.0, pairs / max(1, self.pairs))
        return Entry(rows=rows, facts=self.facts, seconds=seconds, versions=self.versions)


EMPTY = Entry(rows={name: [] for name, _ in COLUMNS})


class Store:
    """Cells on the disk."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._cells = folder, folder / "cells"
        try:
            self._cells.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self._cells).close()
            for part in folder.rglob(f"{PART}*"):
                if time.time() - part.stat().st_mtime > _STALE:
                    part.unlink(missing_ok=True)
        except OSError as error:
            raise BadStudy(f"cannot write to the folder {folder}: {error.strerror or error}") from error

    def check(self, seed: str) -> None:
        """Refuse a folder with cells of another seed; all of them have the same, so that one tells."""
        _, parquet = arrow()
        for path in self._cells.glob("[0-9a-f]*.parquet"):
            try:
                check_regular(path)
                folder_seed = json.loads(parquet.read_schema(path).metadata[_META])["seed"]
            except Exception:  # of many kinds: a broken file tells nothing
                continue
            if folder_seed != seed:
                raise BadStudy(
                    f"{self.folder} holds cells of a study with the seed {folder_seed!r:.60}, not {seed!r:.60}: "
                    "choose another folder with --out"
                )
            return

    def read(self, cell: Cell) -> Entry:
        """What is there of a cell; nothing, if there is none or what is there is broken."""
        path = self._path(cell)
        _, parquet = arrow()
        if not path.exists():
            return EMPTY
        try:
            check_regular(path)
            table = parquet.read_table(path, partitioning=None, page_checksum_verification=True)
            meta = json.loads(table.schema.metadata[_META])
            rows = {name: table[name].to_pylist() for name, _ in COLUMNS}
            versions = tuple(meta["version"].split(_AND))
            entry = Entry(rows=rows, facts=dict(meta["facts"]), seconds=meta["seconds"], versions=versions)
            whole = (meta["cell"], meta["seed"], rows["pair"])
        except Exception:  # of many kinds, depending on what is broken: it is made again
            return EMPTY
        return entry if whole == (cell.identity, cell.study_seed, list(range(entry.pairs))) else EMPTY

    def write(self, cell: Cell, entry: Entry) -> None:
        """Keep a cell."""
        pa, parquet = arrow()
        meta = {"cell": cell.identity, "seed": cell.study_seed, "facts": entry.facts, "seconds": entry.seconds}
        kinds = {"int64": pa.int64(), "bool": pa.bool_(), "double": pa.float64()}
        fields = [(name, kinds[kind]) for name, kind in COLUMNS]
        schema = pa.schema(fields, metadata={_META: json.dumps(meta | {"version": _AND.join(entry.versions)})})
        table = pa.table(entry.rows, schema=schema)
        self.write_file(self._path(cell), lambda path: parquet.write_table(table, path, write_page_checksum=True))

    def write_file(self, path: Path, write: Callable[[Path], object] | str) -> None:
        """Write a file of the folder: it is there as a whole or not at all."""
        write_whole(path, write, what="the file", refuse=BadStudy)

    def _path(self, cell: Cell) -> Path:
        return self._cells / f"{cell.id}.parquet"


def arrow() -> Any:
    """pyarrow and its Parquet part."""
    return tuple(need(each, "a study keeps its tables with pyarrow") for each in ("pyarrow", "pyarrow.parquet"))
