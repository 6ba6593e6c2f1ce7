"""Running a study: cells that are complete are passed over, the others are worked on piece by piece.

A pair is the same whoever runs it and with whichever others; the pieces of a cell are put together in their order. A
cell goes to the disk when it has all its pairs. A lost worker costs the pieces it was working on.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from replical.core.parallel import Workers, as_completed
from replical.errors import WorkerLost
from replical.study.spec import Cell
from replical.study.store import EMPTY, Entry, Outcome, Piece, Store, work

_SECONDS = 1.0  # a piece takes about so long: little is lost with a worker, all are busy to the end, and messages few
_MOST = 50  # pairs of a piece at most; one while it is not known how long they take
_QUIET = 10  # after telling how far it is, ten times as long nothing is told: that takes a tenth of the time at most


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a study is; `seconds_left` is an estimate."""

    cells: int
    cells_done: int
    pairs: int
    pairs_done: int
    seconds_left: float | None
    now: str


@dataclass
class _OpenCell:
    """A cell that is being worked on."""

    cell: Cell
    entry: Entry
    handed: int  # pairs handed in or done
    early: dict[int, Outcome] = field(default_factory=dict)  # pieces that came before those in front of them
    seconds: float = 0.0  # that so many pairs of it took
    timed: int = 0

    def next_piece(self) -> Piece:
        """Pairs that take about a second, as far as that is known."""
        start, second = self.handed, round(_SECONDS * self.timed / max(self.seconds, 1e-9))
        self.handed = min(self.cell.pairs, start + max(1, min(_MOST, second)))
        return Piece(
            cell=self.cell.id,
            experiment=self.cell.experiment,
            class_seed=self.cell.study_seed,
            seed=self.cell.seed,
            start=start,
            end=self.handed,
        )


class Sweep:
    """The cells of a study on some workers; `progress` is called at the beginning, at the end, and in between."""

    def __init__(
        self,
        cells: Sequence[Cell],
        store: Store,
        workers: Workers,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._store, self._workers, self._progress = store, workers, progress
        self._cells = {cell.id: cell for cell in cells}
        self.entries: dict[str, Entry] = {}
        self._open: dict[str, _OpenCell] = {}
        self._left = self._load()  # cells that are not complete
        self._waiting = deque(self._left.values())
        self._quiet = 0.0  # until then
        self._seconds, self._pairs = 0.0, 0  # that so many pairs of this run took

    def _load(self) -> dict[str, Cell]:
        """Cells that are not complete; a complete one that holds more than is asked for is cut to that."""
        left = {}
        for cell in list(self._cells.values())[:1]:
            self._store.check(cell.study_seed)
        for cell in self._cells.values():
            entry = self._store.read(cell)
            if entry.refused is not None:  # it may have been the fault of a version that is gone
                entry = EMPTY
            self.entries[cell.id] = entry.cut(cell.pairs)
            if cell.pairs > entry.pairs:
                left[cell.id] = cell
        return left

    def run(self) -> dict[str, Entry]:
        """Run what is missing; what is known of every cell, by its id."""
        try:
            return self._run()
        except WorkerLost as error:
            raise WorkerLost(f"{error}; what is complete is kept") from error

    def _run(self) -> dict[str, Entry]:
        self._report("")
        for _, future in as_completed(
            self._next,
            lambda piece: self._workers.submit(work, piece),
            self._workers,
            lambda piece: self._cells[piece.cell].words,
            remedy="use fewer workers or smaller pools",
        ):
            self._receive(future.result())
        self._report("")
        return self.entries

    def _next(self) -> Piece | None:
        """A piece of a cell that is open, else of one that waits."""
        for opened in self._open.values():
            if opened.handed < opened.cell.pairs:
                return opened.next_piece()
        if not self._waiting:
            return None
        cell = self._waiting.popleft()
        entry = self.entries[cell.id]
        self._open[cell.id] = _OpenCell(cell=cell, entry=entry, handed=entry.pairs)
        return self._next()

    def _receive(self, outcome: Outcome) -> None:
        """Put a piece in its place."""
        opened = self._open.get(outcome.piece.cell)
        if opened is None:
            return  # the cell was refused meanwhile
        opened.early[outcome.piece.start] = outcome
        if outcome.refused is None:
            opened.seconds += outcome.seconds
            opened.timed += outcome.piece.end - outcome.piece.start
            self._seconds += outcome.seconds
            self._pairs += outcome.piece.end - outcome.piece.start
        while opened.entry.pairs in opened.early and opened.entry.refused is None:
            opened.entry = opened.entry.extend(opened.early.pop(opened.entry.pairs))
        if opened.entry.refused is not None or opened.entry.pairs >= opened.cell.pairs:
            self._complete(opened)
        if time.monotonic() >= self._quiet:
            self._report(opened.cell.words)

    def _complete(self, opened: _OpenCell) -> None:
        """All pairs asked for are there: keep them."""
        self._store.write(opened.cell, opened.entry)
        self.entries[opened.cell.id] = opened.entry
        del self._open[opened.cell.id], self._left[opened.cell.id]

    def _report(self, now: str) -> None:
        started = time.monotonic()
        have = {name: entry.pairs for name, entry in self.entries.items()}
        have |= {name: each.entry.pairs for name, each in self._open.items()}
        left = {name: cell.pairs - have[name] for name, cell in self._left.items()}
        done = sum(have.values())
        self._progress(
            Progress(
                cells=len(self._cells),
                cells_done=len(self._cells) - len(left),
                pairs=done + sum(left.values()),
                pairs_done=done,
                seconds_left=self._estimate(sum(left.values())),
                now=now,
            )
        )
        self._quiet = time.monotonic() + _QUIET * (time.monotonic() - started)

    def _estimate(self, pairs: int) -> float | None:
        """Time left, at the pace of the pairs that have run so far."""
        return pairs * self._seconds / self._pairs / self._workers.count if self._pairs else None
