"""Numbered pieces of work on any workers, in order; those of a lost worker are run again."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from replical.core.workers import Workers
from replical.errors import ReplicalError, WorkerLost

Piece = TypeVar("Piece")

_SECONDS = 1.0  # what is sent at a time takes about so long: little is lost with a worker, and messages are few
_MOST = 50  # pieces sent at a time, at most; one while it is not known how long they take
_PATIENCE = 30.0  # seconds without an answer after which to see whether anyone is there

log = logging.getLogger("replical")


@dataclass(frozen=True, kw_only=True)
class _Told(Generic[Piece]):
    """What a worker answers: pieces, all of them unless one was refused."""

    pieces: list[Piece]
    refused: ReplicalError | None
    seconds: float


def in_order(
    task: Callable[[int], Piece], count: int, workers: Workers, what: str = "piece"
) -> Generator[Piece, None, None]:
    """``task(0), task(1), .. task(count - 1)``, in that order, on `workers`.

    Parameters
    ----------
    task
        What is done with a number; it travels once to each worker of a cluster.
    count
        How many pieces.
    workers
        Who does it.
    what
        What a piece is called where people read of it.

    Returns
    -------
    pieces
        One after the other, as they are ready.

    Raises
    ------
    ReplicalError
        What the task raises, for the first number for which it does.
    WorkerLost
        If a piece ended several workers, or the cluster is gone.

    Examples
    --------
    >>> from replical.core.workers import local
    >>> with local(1) as here:
    ...     list(in_order(str, 3, here))
    ['0', '1', '2']
    """
    with workers.holding(task) as held:
        yield from _Running(held, range(count), workers, what).pieces()


def each_in_order(
    task: Callable[[Any], Piece], pieces: Sequence[Any], workers: Workers, what: str = "piece"
) -> Generator[Piece, None, None]:
    """``task(piece)`` for each of `pieces`, in their order, on `workers`: as `in_order`, where pieces travel themselves.

    Examples
    --------
    >>> from replical.core.workers import local
    >>> with local(1) as here:
    ...     list(each_in_order(len, ["one", "three"], here))
    [3, 5]
    """
    yield from _Running(task, pieces, workers, what).pieces()


class _Running(Generic[Piece]):
    """What is handed in, what is back, and what comes next."""

    def __init__(self, task: Callable[[Any], Piece], pieces: Sequence[Any], workers: Workers, what: str) -> None:
        self._task, self._pieces, self._workers, self._what = task, pieces, workers, what
        self._count = len(pieces)
        self._handed = 0  # the next number to hand in
        self._flying: dict[Future[_Told[Piece]], range] = {}
        self._back: dict[int, _Told[Piece]] = {}  # by first number, until those in front of them are back too
        self._again: list[range] = []  # lost with a worker
        self._lost: Counter[range] = Counter()
        self._seconds, self._known = 0.0, 0  # that so many pieces took

    def pieces(self) -> Generator[Piece, None, None]:
        done = 0
        while done < self._count:
            self._hand_in()
            self._hear()
            while (told := self._back.pop(done, None)) is not None:
                yield from told.pieces
                done += len(told.pieces)
                if told.refused is not None:
                    raise told.refused

    def _hand_in(self) -> None:
        while len(self._flying) < self._workers.count + self._workers.ahead:
            if self._again:
                numbers = self._again.pop()
            elif self._handed < self._count:
                numbers = range(self._handed, self._handed + self._worth())
                self._handed = numbers.stop
            else:
                return
            some = self._pieces[numbers.start : numbers.stop]
            self._flying[self._workers.submit(_run, self._task, some)] = numbers

    def _worth(self) -> int:
        """How many to send at a time: about a second's, and fewer towards the end, so that all are busy until then."""
        if not self._known:
            return 1
        left = self._count - self._handed
        second = round(_SECONDS * self._known / max(self._seconds, 1e-9))
        return max(1, min(_MOST, second, left // (2 * self._workers.count)))

    def _hear(self) -> None:
        """Wait for at least one that is back."""
        done, _ = wait(self._flying, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
        if not done:
            self._workers.look()
        for future in done:
            numbers = self._flying.pop(future)
            try:
                told = future.result()
            except BrokenExecutor as error:
                self._lose(numbers, error)
            else:
                self._back[numbers.start] = told
                self._seconds, self._known = self._seconds + told.seconds, self._known + len(numbers)

    def _lose(self, numbers: range, error: BaseException) -> None:
        self._lost[numbers] += 1
        which = _words(self._what, numbers)
        if self._lost[numbers] >= self._workers.losses:
            raise WorkerLost(
                f"one worker after the other ended during {which}, perhaps for lack of memory: "
                "use smaller pools, or workers with more memory"
            ) from error
        log.warning("a worker was lost during %s; run again", which)
        self._again.append(numbers)


def _words(what: str, numbers: Sequence[int]) -> str:
    return f"{what} {numbers[0]}" if len(numbers) == 1 else f"{what}s {numbers[0]} to {numbers[-1]}"


def _run(task: Callable[[Any], Any], some: Sequence[Any]) -> _Told[Any]:
    started, pieces, refused = time.perf_counter(), [], None
    try:
        for piece in some:
            pieces.append(task(piece))
    except ReplicalError as error:  # told when its turn comes, as if one process had run everything
        refused = error
    return _Told(pieces=pieces, refused=refused, seconds=time.perf_counter() - started)
