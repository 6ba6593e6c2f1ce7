"""Running a study: cells that are complete are passed over, the others are worked on piece by piece.

The pieces of a cell are the same whoever runs them, and are put together in their order. A cell goes to the disk when
it has all the pairs its stop asks for, or a whole batch of them. A lost worker costs the pieces it was working on.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

from replical.errors import WorkerLost
from replical.study.spec import Cell
from replical.study.store import NOTHING, Kept, Store
from replical.study.work import Piece, Told, work
from replical.study.workers import Workers

_PIECE = 10  # pairs a piece: seconds of work, so that little is lost with a worker and all are busy to the end
_AHEAD = 2  # pieces handed in for each worker
_LOSSES = 3  # workers a piece may outlive; then it is the piece that kills them

log = logging.getLogger("replical")


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a study is.

    Attributes
    ----------
    seconds_left
        An estimate from the pairs run so far; None while there is nothing to go by.
    """

    cells: int
    cells_done: int
    pairs: int
    pairs_done: int
    seconds_left: float | None
    now: str


@dataclass
class _Open:
    """A cell that is being worked on."""

    cell: Cell
    kept: Kept
    target: int
    handed: int  # pairs handed in or done
    early: dict[int, Told] = field(default_factory=dict)  # pieces that came before those in front of them

    def pieces(self, class_seed: str) -> Iterator[Piece]:
        while self.handed < self.target:
            start = self.handed
            self.handed = min(self.target, start + _PIECE)
            yield Piece(
                cell=self.cell.id,
                tried=self.cell.experiment,
                class_seed=class_seed,
                seed=self.cell.seed,
                start=start,
                end=self.handed,
            )


class Sweep:
    """The cells of a study on some workers.

    Parameters
    ----------
    cells, store, workers
        What to run, where to keep it, who runs it.
    progress
        Called after every piece.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        store: Store,
        workers: Workers,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._store, self._workers, self._progress = store, workers, progress
        self._cells = {cell.id: cell for cell in cells}
        self.kept: dict[str, Kept] = {}
        self._open: dict[str, _Open] = {}
        self._waiting = deque(self._find())
        self._flying: dict[Future[Told], Piece] = {}
        self._lost: dict[tuple[str, int], int] = {}
        self._spent: dict[str, tuple[float, int]] = {}  # seconds and pairs of this run, by cell

    def _find(self) -> list[Cell]:
        """Cells that are not complete; a complete one that holds more than is asked for is cut to that."""
        left = []
        for cell in self._cells.values():
            kept = self._store.read(cell)
            if kept.refused is not None:  # it may have been the fault of a version that is gone
                kept = NOTHING
            target = _target(cell, kept)
            if target > kept.pairs:
                left.append(cell)
            self.kept[cell.id] = kept.first(target)
        return left

    def run(self) -> dict[str, Kept]:
        """Run what is missing; what is known of every cell, by its id."""
        self._report("")
        queue = self._queue()
        ready: list[Piece] = []
        while True:
            while len(self._flying) < _AHEAD * self._workers.count and (ready or (following := next(queue, None))):
                piece = ready.pop() if ready else following
                assert piece is not None, "one of them was there"
                self._flying[self._workers.submit(work, piece)] = piece
            if not self._flying:
                return self.kept
            done, _ = wait(self._flying, return_when=FIRST_COMPLETED)
            broken = False
            for future in done:
                piece = self._flying.pop(future)
                try:
                    told = future.result()
                except (BrokenProcessPool, CancelledError) as error:
                    broken = True
                    ready.append(self._again(piece, error))
                    continue
                ready.extend(self._hear(told))
            if broken:  # whatever else was under way died with it
                ready.extend(self._flying.values())
                self._flying.clear()
                self._workers.anew()

    def _queue(self) -> Iterator[Piece]:
        """Pieces of the cells that wait, one cell after the other."""
        while self._waiting:
            cell = self._waiting.popleft()
            kept = self.kept[cell.id]
            opened = _Open(cell=cell, kept=kept, target=_target(cell, kept), handed=kept.pairs)
            self._open[cell.id] = opened
            yield from opened.pieces(cell.study_seed)

    def _hear(self, told: Told) -> list[Piece]:
        """Put a piece in its place; what its cell needs next."""
        opened = self._open.get(told.piece.cell)
        if opened is None:
            return []  # the cell was refused meanwhile
        opened.early[told.piece.start] = told
        seconds, pairs = self._spent.get(told.piece.cell, (0.0, 0))
        self._spent[told.piece.cell] = (seconds + told.seconds, pairs + told.piece.end - told.piece.start)
        while opened.kept.pairs in opened.early and opened.kept.refused is None:
            opened.kept = opened.kept.with_more(opened.early.pop(opened.kept.pairs))
        more: list[Piece] = []
        if opened.kept.refused is not None or opened.kept.pairs >= opened.target:
            more = self._whole(opened)
        self._report(opened.cell.told)
        return more

    def _whole(self, opened: _Open) -> list[Piece]:
        """All pairs asked for are there: keep them; perhaps more are wanted."""
        cell, kept = opened.cell, opened.kept
        self._store.write(cell, kept)
        self.kept[cell.id] = kept
        opened.target = 0 if kept.refused is not None else _target(cell, kept)
        if opened.target > kept.pairs:
            return list(opened.pieces(cell.study_seed))[::-1]
        del self._open[cell.id]
        return []

    def _again(self, piece: Piece, error: BaseException) -> Piece:
        key = (piece.cell, piece.start)
        self._lost[key] = self._lost.get(key, 0) + 1
        told = self._cells[piece.cell].told
        log.warning("a worker was lost during %s; its pairs are run again", told)
        if self._lost[key] >= _LOSSES:
            raise WorkerLost(
                f"{_LOSSES} workers ended during {told}, perhaps for lack of memory: use fewer workers or smaller pools; "
                "what is complete is kept"
            ) from error
        return piece

    def _report(self, now: str) -> None:
        left = {cell.id: max(cell.stop.wanted(0, 0), 1) for cell in self._waiting}
        left |= {name: each.target - each.kept.pairs for name, each in self._open.items()}
        done = sum(kept.pairs for kept in self.kept.values()) + sum(
            each.kept.pairs - self.kept[name].pairs for name, each in self._open.items()
        )
        self._progress(
            Progress(
                cells=len(self._cells),
                cells_done=len(self._cells) - len(left),
                pairs=done + sum(left.values()),
                pairs_done=done,
                seconds_left=self._estimate(left),
                now=now,
            )
        )

    def _estimate(self, left: dict[str, int]) -> float | None:
        """Time left: each cell at the pace of the cells most like it that have run so far."""
        if not self._spent:
            return None
        total = 0.0
        for name, pairs in left.items():
            total += pairs * self._pace(self._cells[name])
        return total / self._workers.count

    def _pace(self, cell: Cell) -> float:
        """Seconds a pair: of the cell itself, of its class and learner, of its learner, of all."""
        given = cell.parameters
        for like in (("class", "learner", "epsilon", "noise", "pool_size"), ("class", "learner"), ("learner",), ()):
            alike = [
                spent
                for name, spent in self._spent.items()
                if all(self._cells[name].parameters.get(key) == given.get(key) for key in like)
            ]
            if alike:
                return sum(seconds for seconds, _ in alike) / max(1, sum(pairs for _, pairs in alike))
        return 0.0


def _target(cell: Cell, kept: Kept) -> int:
    """How many pairs the cell's stop asks for, going by those that are there: batch by batch, from the first."""
    pairs = 0
    while (wanted := cell.stop.wanted(sum(kept.rows["agree"][:pairs]), pairs)) > pairs:
        if wanted > kept.pairs:
            return wanted
        pairs = wanted
    return pairs
