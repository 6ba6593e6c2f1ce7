"""Work on the processes of this machine: results in order, and nobody is left behind.

`ordered_map` runs one function on many units, in processes started for it alone. `as_completed` hands units to `Workers`:
those of a lost one are run again, and the others go on.

Processes are started clean ("spawn"), because forking a process that holds threads can hang. Interrupts are left to the
parent; when it ends, however it ends, or lets them go, they notice and go too, in the middle of what they do.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import Any, Protocol, TypeVar

from replical.errors import ReplicalError, WorkerLost

Unit = TypeVar("Unit")
Answer = TypeVar("Answer")

_SECONDS = 1.0  # what is sent at a time takes about so long: little is lost with a worker, and messages are few
_MOST = 50  # units sent at a time, at most; one while it is not known how long they take
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_GARBAGE = 100_000  # objects between two looks for garbage in a worker: it makes hardly any, and looking costs a tenth

log = logging.getLogger("replical")


# ---- handing in and collecting ----


class Workers(Protocol):
    """Who does the work: `count` units at a time, and `ahead` more are handed in.

    A unit may cost so many `losses` of workers before it is taken for what ends them; 0: the first loss ends everything.
    """

    count: int
    ahead: int = 0
    losses: int = 3

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Hand in a unit; its future raises `BrokenExecutor` if its worker ended."""
        ...


def ordered_map(
    function: Callable[[Unit], Answer], units: Sequence[Unit], workers: int, what: str = "work unit"
) -> Generator[Answer, None, None]:
    """``function(unit)`` for each of `units`, in their order, as they are ready; errors too come in their turn.

    `workers` is a number of processes, started for this alone: if one of them ends, so does the whole. `what` a unit is
    called is for people.

    >>> list(ordered_map(len, ["one", "three"], 1))
    [3, 5]
    """
    count = min(workers, len(units))
    if count <= 1:
        yield from map(function, units)
    else:
        with closing(Processes(count, ahead=count, losses=0, function=function)) as processes:
            yield from _map_in_order(units, processes, what)


def as_completed(
    take: Callable[[], Unit | None],
    submit: Callable[[Unit], Future[Answer]],
    workers: Workers,
    words: Callable[[Unit], str],
    remedy: str = "use smaller pools, or workers with more memory",
) -> Iterator[tuple[Unit, Future[Answer]]]:
    """Units with their futures, as they are done: those that `take` gives, until it gives None and none is left.

    `words` say which unit it is that lost a worker, `remedy` what to do about one that loses all.
    """
    running: dict[Future[Answer], tuple[Unit, int]] = {}
    again: list[tuple[Unit, int]] = []
    while True:
        while len(running) < workers.count + workers.ahead:
            if again:
                unit, losses = again.pop()
            elif (taken := take()) is not None:
                unit, losses = taken, 0
            else:
                break
            running[submit(unit)] = unit, losses
        if not running:
            return
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            unit, losses = running.pop(future)
            if isinstance(error := future.exception(), BrokenExecutor):
                _check_losses(losses + 1, workers.losses, words(unit), remedy, error)
                again.append((unit, losses + 1))
            else:
                yield unit, future


def _check_losses(losses: int, most: int, which: str, remedy: str, error: BrokenExecutor) -> None:
    if not most:
        raise WorkerLost(
            "a worker process ended before its work was done, perhaps for lack of memory: use fewer workers or smaller pools"
        ) from error
    if losses >= most:
        raise WorkerLost(
            f"one worker after the other ended during {which}, perhaps for lack of memory: {remedy}"
        ) from error
    log.warning("a worker was lost during %s; run again", which)


def _map_in_order(units: Sequence[Any], workers: Processes, what: str) -> Generator[Any, None, None]:
    batches, done = _Batches(len(units), workers.count), 0
    early: dict[int, Future[_Batch]] = {}  # by first number, until those in front of them are back too

    def submit(numbers: range) -> Future[_Batch]:
        return workers.submit(_run_batch, units[numbers.start : numbers.stop])

    def words(numbers: range) -> str:
        return f"{what} {numbers[0]}" if len(numbers) == 1 else f"{what}s {numbers[0]} to {numbers[-1]}"

    for numbers, future in as_completed(batches.take, submit, workers, words):
        early[numbers.start] = future
        if future.exception() is None:
            batches.time(len(numbers), future.result().seconds)
        while done in early:
            batch = early.pop(done).result()
            yield from batch.answers
            done += len(batch.answers)
            if batch.refused is not None:
                raise batch.refused


class _Batches:
    """Which units are sent at a time: about a second's, and fewer towards the end, so that all are busy until then."""

    def __init__(self, count: int, workers: int) -> None:
        self._count, self._workers = count, workers
        self._next = 0
        self._seconds, self._timed = 0.0, 0  # that so many units took

    def take(self) -> range | None:
        if self._next == self._count:
            return None
        numbers = range(self._next, self._next + self._size())
        self._next = numbers.stop
        return numbers

    def _size(self) -> int:
        if not self._timed:
            return 1
        second = round(_SECONDS * self._timed / max(self._seconds, 1e-9))
        return max(1, min(_MOST, second, (self._count - self._next) // (2 * self._workers)))

    def time(self, units: int, seconds: float) -> None:
        self._seconds, self._timed = self._seconds + seconds, self._timed + units


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """What a worker returns: answers, to all units unless one was refused."""

    answers: list[Any]
    refused: ReplicalError | None
    seconds: float


_function: list[Any] = []  # what this process was started to run on every unit; packed until its first


def _run_batch(units: Sequence[Any]) -> _Batch:
    started, answers, refused = time.perf_counter(), [], None
    if isinstance(_function[0], bytes):
        _function[0] = pickle.loads(_function[0])
    try:
        for unit in units:
            answers.append(_function[0](unit))
    except ReplicalError as error:  # raised when its turn comes, as if one process had run everything
        refused = error
    return _Batch(answers=answers, refused=refused, seconds=time.perf_counter() - started)


# ---- this machine ----


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local(count: int | None) -> Iterator[Workers]:
    """Processes of this machine; every core if left out. One alone is this very process."""
    count = count or cores()
    if count == 1:
        yield ThisProcess()
        return
    with closing(Processes(count)) as processes:
        yield processes


class ThisProcess(Workers):
    """The very process that asks: work is done when it is handed in."""

    count = 1

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Do it now."""
        done: Future[Any] = Future()
        done.set_result(function(*args))
        return done


class Processes(Workers):
    """Processes of this machine, each on its own: one that ends takes nothing with it but its own work."""

    def __init__(
        self, count: int, *, ahead: int = 0, losses: int = 3, function: Callable[[Any], Any] | None = None
    ) -> None:
        self.count, self.ahead, self.losses = count, ahead, losses
        self._packed = None if function is None else pickle.dumps(function)  # it travels once to each
        self._child_end, self._own_end = multiprocessing.get_context("spawn").Pipe(duplex=False)
        self._each: list[ProcessPoolExecutor] = []
        self._futures: list[list[Future[Any]]] = [[] for _ in range(count)]
        try:
            for _ in range(count):
                self._each.append(self._start())
        except BaseException:
            self.close()
            raise

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Hand it to the one that has the least to do, started anew if it ended."""
        self._futures = [[future for future in futures if not future.done()] for futures in self._futures]
        number = min(range(self.count), key=lambda each: len(self._futures[each]))
        try:
            future = _submit(self._each[number], function, *args)
        except BrokenProcessPool:
            self._each[number].shutdown(cancel_futures=True)
            self._each[number] = self._start()
            future = _submit(self._each[number], function, *args)
        self._futures[number].append(future)
        return future

    def close(self) -> None:
        """End them now, whatever they do, and see them off: a parent that leaves first may trip over its own threads."""
        self._own_end.close()
        for each in self._each:
            each.shutdown(cancel_futures=True)

    def _start(self) -> ProcessPoolExecutor:
        """One, started now and not with its first unit."""
        context = multiprocessing.get_context("spawn")
        process = ProcessPoolExecutor(1, context, initializer=_begin, initargs=(self._child_end, self._packed))
        _submit(process, int)
        return process


def _submit(process: ProcessPoolExecutor, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
    """Work for a process; it may start it, which inherits that an interrupt is the parent's business."""
    with _interrupts_held(), _one_thread_each():
        return process.submit(function, *args)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started meanwhile do linear algebra with one thread: there are as many of them as cores."""
    ours = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(ours, "1"))
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Interrupts that arrive meanwhile are delivered afterwards; processes started meanwhile never get any."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would lift the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(child_end: Connection, packed: bytes | None) -> None:
    gc.set_threshold(_GARBAGE)
    _function.append(packed)
    threading.Thread(target=_leave_with_the_parent, args=(child_end,), daemon=True).start()


def _leave_with_the_parent(child_end: Connection) -> None:
    """Wait until the parent closes its end, or is no more."""
    parent = multiprocessing.parent_process()
    wait_for([child_end] if parent is None else [child_end, parent.sentinel])
    os._exit(1)
