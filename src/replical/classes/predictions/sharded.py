"""Predictions in shards on a disk, for tables larger than memory: each operation is one map over shards and one reduce.

A shard is a file of packed rows with a checksum. It holds whole items, so every question falls apart: where do they
disagree, who votes for what and what a hypothesis says stand side by side, errors are added up. The map runs in this
process, on several, or on a Dask cluster, whose workers open the shards by their paths. What comes back are whole numbers,
put together in the order of the shards: results are the same to the bit, whoever computed them, and the same as those of
`PackedPredictions`, which looks at each shard.

A shard is mapped into memory when it is read, for as long as one operation takes: what is held of it belongs to the system,
which takes it back when memory is short. Before a process trusts a shard it has compared its checksum, or was told by
another process which did, and the file has not been touched since.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, Indices
from replical.classes.predictions.boxes import MEASURED
from replical.classes.predictions.packed import PackedNearness, PackedPredictions
from replical.classes.table import PackedRows, check_room
from replical.core import bits
from replical.core.bits import Packed, blocks
from replical.core.kernels.columns import Columns
from replical.core.kernels.matrices import blank_memory, remembered_disagreement
from replical.errors import BadTable

if TYPE_CHECKING:
    from replical.core.parallel import Workers

SIZE = 2**26  # bytes of a shard: a few hundredths of a second to look at, a small loss with a worker that had it
HELD = 2**30  # bytes of a compacted copy that are held in memory; larger ones go to the disk
SCRATCH = ".compacted-"  # beginning of the names of folders with compacted copies
_NEAR = 2**24  # bytes of rows that are read here, whoever else there is: some milliseconds
_SHRINKS = 8  # times that a compacted copy is smaller, at least
_MOVED = 24  # bytes read in the time it takes to move a bit (one core, 1,000 survivors: 5 GB a second, 5 ns a bit)
_UNITS = 4  # units of work a worker: whoever is slower does fewer, and a lost worker costs little
_READ = 2**26  # codes read at a time, packed
_BLOCK = 2**20  # codes unpacked at a time: they stay in the cache
_LITTLE = np.dtype("<u8")

Stamp = tuple[int, int, int]  # what changes when somebody writes to a file
Operation = Callable[[PackedPredictions, Indices, Indices, Any], Any]

_trusted: dict[tuple[str, str], Stamp] = {}  # files whose checksum this process has compared, as they were then

log = logging.getLogger("replical")


# ---- predictions ----


@dataclass(frozen=True, kw_only=True)
class ShardedTable:
    """A table of predictions in shards, which are in the order of items.

    `folder` is where compacted copies go that are larger than `held` bytes, and `workers` who maps; this process if none are
    given.
    """

    shards: Sequence[Shard]
    size: int
    labels: int
    folder: Path
    workers: Workers | None = None
    held: int = HELD

    @property
    def items(self) -> int:
        """How many items there are."""
        return sum(shard.rows for shard in self.shards)


class ShardedPredictions:
    """Predictions of a class on items, in the shards of a `table`; `visited` counts the rows that were looked at so far."""

    def __init__(self, table: ShardedTable) -> None:
        self._table, self._parts = table, Parts(table.shards)
        self._stamps: dict[str, Stamp] = {}
        self._no_room = False  # on the disk, for a compacted copy
        self.visited = 0

    @property
    def size(self) -> int:
        """How many hypotheses there are."""
        return self._table.size

    @property
    def shape(self) -> tuple[int, ...]:
        """Digits, items and words."""
        first = self._table.shards[0]
        return first.planes, self._table.items, first.words

    @property
    def passes(self) -> float:
        """How often all items were looked at."""
        return self.visited / self.shape[1]

    def blank_memory(self, items: int) -> Indices:
        """Nothing seen of so many items yet."""
        return blank_memory(items)

    def disagreement(self, alive: Indices, within: Indices, seen: Indices | None = None) -> NDArray[np.bool_]:
        """Map: items of a shard whose kept words no longer tell are looked at. Reduce: side by side."""
        known = blank_memory(len(within)) if seen is None else seen
        found = remembered_disagreement(Columns(alive, self.size), known)
        left = np.flatnonzero(~found)

        def memory_of(part: Part) -> Indices | None:
            some: Indices = known[:, left[part.places]]
            return some if some.any() else None

        for part, (disputed, now) in self._map(_disagreement, within[left], alive, memory_of):
            at = left[part.places]
            found[at], known[:, at] = disputed, now
        return found

    def votes(self, alive: Indices, within: Indices) -> NDArray[np.int64]:
        """Map: votes on the items of a shard. Reduce: side by side."""
        votes = np.zeros((len(within), self._table.labels), dtype=np.int64)
        for part, here in self._map(_votes, within, alive):
            votes[part.places] = here
        return votes

    def errors(self, items: Indices, counts: NDArray[np.int64], alive: Indices) -> NDArray[np.int64]:
        """Map: errors on the items of a shard. Reduce: their sum."""
        everyone, which = np.unique(alive, return_inverse=True)
        total = np.zeros(len(everyone), dtype=np.int64)
        for here in self._sums(_errors, items, everyone, lambda part: counts[part.places]):
            total += here
        return total[which]

    def codes(self, h: int, within: Indices | None = None) -> Codes:
        """Map: what hypothesis `h` says about the items of a shard. Reduce: side by side."""
        return self.columns(within, np.array([h]))[:, 0]

    def columns(self, within: Indices | None, chosen: Indices) -> Codes:
        """What the `chosen` hypotheses (columns, in any order) say about every item (rows), or about those of `within`."""
        items = self._everything if within is None else within
        codes = np.zeros((len(items), len(chosen)), dtype=np.uint16)
        for part, here in self._map(_columns, items, self._nobody, lambda part: chosen):
            codes[part.places] = here
        return codes

    def codes_of_item(self, item: int, alive: Indices) -> Codes:
        """What each hypothesis of `alive` says about one `item`: a row of one shard, read here."""
        (part,) = self._parts.of(np.array([item]))
        self.visited += 1
        return self._read(part.shard).codes_of_item(int(part.rows[0]), alive)

    def rows(self, items: Indices) -> PackedRows:
        """What everyone says about some `items`, in memory; refused if that does not fit."""
        digits, _, words = self.shape
        check_room(len(items), self.size, self._table.labels)
        planes = np.empty((digits, len(items), words), dtype=np.uint64)
        for part, here in self._map(_rows, items, self._nobody):
            planes[:, part.places] = here
        return PackedRows(planes, self.size)

    def take(self, items: Indices) -> PackedPredictions:
        """The predictions on some of the items, in memory."""
        return PackedPredictions.of(self.rows(items).planes, self.size, self._table.labels)

    def nearness(self, items: Indices) -> PackedNearness:
        """Distances between hypotheses, measured on (some of) `items` alone."""
        some = self.take(items[:MEASURED])
        return some.nearness(np.arange(some.shape[1]))

    def pays(self, alive: int, within: int) -> bool:
        """Is it time for a compacted copy? It never takes longer than reading has taken so far."""
        digits, items, words = self.shape
        smaller = _SHRINKS * within * bits.words_for(alive) <= items * words
        return not self._no_room and smaller and _MOVED * digits * within * alive <= 8 * digits * words * self.visited

    def part(self, alive: Indices, within: Indices) -> PackedPredictions | ShardedPredictions | None:
        """The predictions of `alive` on `within`, both ascending, by themselves, numbered anew.

        In memory if they fit, else in shards; None if those cannot be written. Map: the bits of a shard moved together.
        Reduce: side by side, or nothing, where workers write them.
        """
        digits, width = self.shape[0], bits.words_for(len(alive))
        if 8 * digits * len(within) * width > self._table.held:
            return self._on_disk(alive, within)
        planes = np.empty((digits, len(within), width), dtype=np.uint64)
        for part, here in self._map(_gather, within, alive):
            planes[:, part.places] = here
        return PackedPredictions.of(planes, len(alive), self._table.labels)

    def _on_disk(self, alive: Indices, within: Indices) -> ShardedPredictions | None:
        """New shards beside the old ones, removed when nobody uses them any more."""
        folder: Path | None = None
        try:
            folder = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=self._table.folder))
            made = [shard for _, shard in self._map(_compact, within, alive, lambda part: str(folder))]
        except BaseException as error:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            if not isinstance(error, OSError):
                raise
            log.warning("no compacted copy in %s (%s): the whole table is read on", self._table.folder, error.strerror)
            self._no_room = True
            return None
        starts = np.cumsum([0, *(shard.rows for shard in made)])
        shards = [replace(shard, start=int(start)) for shard, start in zip(made, starts[:-1], strict=True)]
        smaller = ShardedPredictions(replace(self._table, shards=shards, size=len(alive)))
        weakref.finalize(smaller, shutil.rmtree, folder, ignore_errors=True)
        return smaller

    @property
    def _everything(self) -> Indices:
        return np.arange(self.shape[1], dtype=np.int64)

    @property
    def _nobody(self) -> Indices:
        return np.zeros(0, dtype=np.int64)

    def _map(
        self, operation: Operation, items: Indices, alive: Indices, own: Callable[[Part], Any] = lambda part: None
    ) -> Iterator[tuple[Part, Any]]:
        """An operation on every part that `items` fall into, with what each needs of its `own`; answers in their order."""
        parts = list(self._parts.of(items))
        answers = (answer for done in self._run(operation, parts, alive, own) for answer in done)
        return zip(parts, answers, strict=True)

    def _sums(
        self, operation: Operation, items: Indices, alive: Indices, own: Callable[[Part], Any]
    ) -> Iterator[NDArray[np.int64]]:
        """The same where answers are added up: each worker sends one sum."""
        for done in self._run(operation, list(self._parts.of(items)), alive, own, adds=True):
            yield from done

    def _run(
        self, operation: Operation, parts: list[Part], alive: Indices, own: Callable[[Part], Any], *, adds: bool = False
    ) -> Iterator[list[Any]]:
        marks = np.zeros(self.size, dtype=np.bool_)
        marks[alive] = True
        packed = bits.pack(marks)
        row = 8 * self.shape[0] * self.shape[2]
        much = row * sum(len(part.rows) for part in parts) > _NEAR
        workers = self._table.workers if much and len(parts) > 1 else None
        count = len(parts) if workers is None else min(len(parts), _UNITS * workers.count)
        cuts = [len(parts) * number // max(1, count) for number in range(count + 1)]
        groups = [parts[low:high] for low, high in pairwise(cuts)]
        units = (
            _WorkUnit(
                operation,
                self.size,
                self._table.labels,
                packed,
                [(part.shard, self._stamps.get(part.shard.path), _stretch(part.rows), own(part)) for part in group],
                adds,
            )
            for group in groups
        )
        if workers is None:
            done: Iterator[_Answers] = map(_work, units)
        else:
            from replical.core.parallel import ordered_map  # most runs need no workers

            done = ordered_map(_work, list(units), workers, "part of the shards")
        for group, each in zip(groups, done, strict=True):
            self.visited += sum(len(part.rows) for part in group)
            for part, stamp in zip(group, each.stamps, strict=True):
                self._stamps[part.shard.path] = stamp
            yield each.answers

    def _read(self, shard: Shard) -> PackedPredictions:
        planes, self._stamps[shard.path] = open_shard(shard, self._stamps.get(shard.path))
        return PackedPredictions.of(planes, self.size, self._table.labels)


# ---- what a worker does ----


@dataclass(frozen=True, eq=False)
class _WorkUnit:
    """What one worker is asked at a time: an operation on parts of some shards, for these survivors (packed)."""

    operation: Operation
    size: int
    labels: int
    alive: Packed
    parts: list[tuple[Shard, Stamp | None, Indices | tuple[int, int], Any]]
    adds: bool = False


@dataclass(frozen=True, eq=False)
class _Answers:
    """Its answers, added up or one a part, and the stamps of the shards, whose checksums hold."""

    answers: list[Any]
    stamps: list[Stamp] = field(default_factory=list)


def _stretch(rows: Indices) -> Indices | tuple[int, int]:
    """Rows that follow each other travel as two numbers."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (rows[1:] > rows[:-1]).all():
        return int(rows[0]), int(rows[-1]) + 1
    return rows


def _work(work: _WorkUnit) -> _Answers:
    """The map: whoever works opens the shards by their paths."""
    alive = np.flatnonzero(bits.unpack(work.alive, work.size))
    answers: list[Any] = []
    stamps = []
    for shard, told, stretch, own in work.parts:
        planes, stamp = open_shard(shard, told)
        rows = np.arange(*stretch) if isinstance(stretch, tuple) else stretch
        answer = work.operation(PackedPredictions.of(planes, work.size, work.labels), rows, alive, own)
        if work.adds and answers:
            answers[0] += answer
        else:
            answers.append(answer)
        stamps.append(stamp)
    return _Answers(answers, stamps)


def _disagreement(
    here: PackedPredictions, rows: Indices, alive: Indices, kept: Indices | None
) -> tuple[NDArray[np.bool_], Indices]:
    seen = blank_memory(len(rows)) if kept is None else np.ascontiguousarray(kept)
    return here.disagreement(alive, rows, seen), seen


def _votes(here: PackedPredictions, rows: Indices, alive: Indices, _: None) -> NDArray[np.int64]:
    return here.votes(alive, rows)


def _errors(here: PackedPredictions, rows: Indices, alive: Indices, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return here.errors(rows, counts, alive)


def _columns(here: PackedPredictions, rows: Indices, _: Indices, chosen: Indices) -> Codes:
    return np.stack([here.codes(int(h), rows) for h in chosen], axis=1)


def _rows(here: PackedPredictions, rows: Indices, _: Indices, __: None) -> Packed:
    return here.take(rows).planes


def _gather(here: PackedPredictions, rows: Indices, alive: Indices, _: None) -> Packed:
    return here.part(alive, rows).planes


def _compact(here: PackedPredictions, rows: Indices, alive: Indices, folder: str) -> Shard:
    planes = _gather(here, rows, alive, None)
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".bits", delete=False) as file:
        file.write(planes.astype("<u8", copy=False).data)
    digits, count, words = planes.shape
    return seal(Shard(file.name, 0, count, digits, words, digest=""))


# ---- rows ----


class ShardedRows:
    """Label codes, one row an item, one column a candidate, in the shards of a `table`: they index like `PackedRows`.

    What is asked for is read when it is asked for. `predictions` are the same, as a run needs them.
    """

    ndim = 2
    dtype = np.dtype(np.uint16)

    def __init__(self, table: ShardedTable) -> None:
        self._table, self.predictions = table, ShardedPredictions(table)

    def with_workers(self, workers: Workers) -> ShardedRows:
        """The same rows, where `workers` compute."""
        return ShardedRows(replace(self._table, workers=workers))

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns."""
        return self.predictions.shape[1], self.predictions.size

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, None)
        everyone = np.arange(len(self), dtype=np.int64)
        chosen = everyone if isinstance(rows, slice) and rows == slice(None) else np.atleast_1d(everyone[rows])
        if columns is None:
            found: Any = self.predictions.rows(chosen)
            return found if np.ndim(everyone[rows]) else found[0]
        which = np.arange(self.shape[1], dtype=np.int64)[columns]
        if np.ndim(rows) and np.ndim(columns):  # cell by cell, as of an array
            return np.asarray(self.predictions.rows(chosen)[np.arange(len(chosen)), which])
        codes: Any = self.predictions.columns(chosen, np.atleast_1d(which))
        codes = codes if np.ndim(which) else codes[:, 0]
        return codes if isinstance(rows, slice) or np.ndim(rows) else codes[0]

    def blocks(self, codes: int = _BLOCK) -> Iterator[tuple[slice, Codes]]:
        """All codes, so many `codes` at a time, as whole rows, with where they stand."""
        for at in blocks(*self.shape, max(codes, _READ)):
            for part, block in self[at].blocks(codes):
                yield slice(at.start + part.start, at.start + part.stop), block

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The array of codes."""
        return np.asarray(self[:], dtype=self.dtype if dtype is None else dtype)


# ---- files ----


@dataclass(frozen=True)
class Shard:
    """A file of `rows` packed rows, those of a matrix from `start` on: all of the first plane, then of the next.

    It lies at `path` on every machine that reads it; `digest` is the SHA-256 of the whole file. A code has so many `planes`
    of binary digits, and a row of a plane so many 64-bit `words`.
    """

    path: str
    start: int
    rows: int
    planes: int
    words: int
    digest: str

    @property
    def bytes(self) -> int:
        """How long the file is."""
        return 8 * self.planes * self.rows * self.words


def open_shard(shard: Shard, told: Stamp | None = None) -> tuple[Packed, Stamp]:
    """The bits of a shard, ``planes[digit, row, word]``, mapped as long as somebody holds them; and the file's stamp.

    `told` is the stamp of the file when another process compared its checksum: it is compared here if the stamp is another.
    `BadTable` is raised if the file is gone, or is not what was written.
    """
    path = Path(shard.path)
    try:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            if stat.st_size != shard.bytes:
                raise BadTable(
                    f"the shard {path} has {stat.st_size:,} bytes where {shard.bytes:,} were written: it was cut short or "
                    "changed, so make the shards again with replical data shard"
                )
            held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)  # nothing is written: pages stay the file's
    except OSError as error:
        raise BadTable(f"cannot read the shard {path}: {error.strerror or error}") from error
    stamp = stat.st_size, stat.st_mtime_ns, stat.st_ino
    key = shard.path, shard.digest
    if stamp not in (told, _trusted.get(key)):
        found = f"sha256:{hashlib.sha256(held).hexdigest()}"
        if found != shard.digest:
            raise BadTable(
                f"the shard {path} is damaged or was changed: its checksum is not the one that was written, so make the "
                "shards again with replical data shard"
            )
        _trusted[key] = stamp
    bits = np.frombuffer(held, dtype=_LITTLE).astype(np.uint64, copy=False)
    return bits.reshape(shard.planes, shard.rows, shard.words), stamp


class ShardWriter:
    """Shards of a matrix of so many `rows`, `planes` and `words` while they are written; nothing counts before `seal`.

    Rows come in any order. `size` is how many bytes a shard has at most, but for one row.
    """

    def __init__(self, folder: Path, *, rows: int, planes: int, words: int, size: int = SIZE) -> None:
        self.folder, self.rows, self.planes, self.words = folder, rows, planes, words
        self._each = max(1, size // (8 * planes * words))
        self._starts = np.arange(0, rows, self._each)

    def name(self, number: int) -> str:
        """What a shard is called."""
        return f"shard-{number:06d}.bits"

    def write(self, at: Indices, first: int, planes: Packed) -> None:
        """Write the words from `first` on of rows of the matrix; row ``at[i]`` is ``planes[:, i]``, `at` ascending."""
        parts = np.searchsorted(at, [*self._starts, self.rows])
        for number, (low, high) in enumerate(pairwise(parts.tolist())):
            if low < high:
                self._into(number, at[low:high] - self._starts[number], first, planes[:, low:high])

    def _into(self, number: int, at: Indices, first: int, planes: Packed) -> None:
        rows, width = self._rows(number), planes.shape[2]
        whole = width == self.words
        ends = np.flatnonzero(np.diff(at) != 1) + 1 if whole else np.arange(1, len(at))
        with open(self.folder / self.name(number), "r+b" if self._there(number) else "w+b") as file:
            for digit, plane in enumerate(planes):
                for low, high in pairwise([0, *ends.tolist(), len(at)]):
                    file.seek(8 * ((digit * rows + int(at[low])) * self.words + first))
                    file.write(np.ascontiguousarray(plane[low:high]).astype(_LITTLE, copy=False).data)

    def _there(self, number: int) -> bool:
        return (self.folder / self.name(number)).exists()

    def _rows(self, number: int) -> int:
        return min(self._each, self.rows - number * self._each)

    def seal(self) -> list[Shard]:
        """The shards, on the disk and with their checksums."""
        shards = []
        for number, start in enumerate(self._starts.tolist()):
            path, rows = self.folder / self.name(number), self._rows(number)
            with path.open("rb") as file:
                os.fsync(file.fileno())
            shards.append(seal(Shard(str(path.absolute()), start, rows, self.planes, self.words, digest="")))
        return shards


def seal(shard: Shard) -> Shard:
    """The same shard, just written, with the checksum of what is in the file."""
    with open(shard.path, "rb") as file:
        digest = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
        stat = os.fstat(file.fileno())
    if stat.st_size != shard.bytes:
        raise OSError(errno.EIO, f"{shard.path} has {stat.st_size:,} bytes in place of {shard.bytes:,}")
    done = Shard(shard.path, shard.start, shard.rows, shard.planes, shard.words, digest)
    _trusted[shard.path, digest] = stat.st_size, stat.st_mtime_ns, stat.st_ino
    return done


class Parts:
    """Which rows of which shards some rows of the matrix are.

    >>> shards = [Shard("a", 0, 3, 1, 1, ""), Shard("b", 3, 2, 1, 1, "")]
    >>> [(part.shard.path, part.rows.tolist(), part.places.tolist()) for part in Parts(shards).of(np.array([4, 1, 3]))]
    [('a', [1], [1]), ('b', [0, 1], [2, 0])]
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards, self._starts = shards, np.array([shard.start for shard in shards])

    def of(self, rows: Indices) -> Iterator[Part]:
        """The parts that hold `rows`, in the order of the shards."""
        ascending = bool((rows[1:] >= rows[:-1]).all())
        order = None if ascending else np.argsort(rows, kind="stable")
        sorted_rows = rows if order is None else rows[order]
        cuts = [*np.searchsorted(sorted_rows, self._starts).tolist(), len(rows)]
        for shard, (low, high) in zip(self._shards, pairwise(cuts), strict=True):
            if low < high:
                places = np.arange(low, high) if order is None else order[low:high]
                yield Part(shard, sorted_rows[low:high] - shard.start, places)


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a shard, by their numbers there, and their places among the rows that were asked for."""

    shard: Shard
    rows: Indices
    places: Indices
