"""Numbered pieces of work on several processes, in order, without leaving anyone behind.

Workers are started clean ("spawn"), because forking a process that holds threads can hang. Interrupts are left to the
parent; when it ends, however it ends, or lets them go, they notice and go too, in the middle of what they do.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from replical.errors import WorkerLost

Piece = TypeVar("Piece")

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_GARBAGE = 100_000  # objects between two looks for garbage in a worker: it makes hardly any, and looking costs a tenth
_CHUNK = 16  # pieces sent to a worker at a time, at most
_AHEAD = 4  # chunks a worker that wait to be taken: enough to keep it busy, few enough to be forgotten quickly

_task: list[Callable[[int], Any]] = []  # what this worker runs: sent once, so that it can keep what it computes


def in_processes(task: Callable[[int], Piece], count: int, workers: int) -> Generator[Piece, None, None]:
    """``task(0), task(1), .. task(count - 1)``, in that order, on `workers` processes.

    Parameters
    ----------
    task
        What is done with a number; it travels to the processes once.
    count
        How many pieces.
    workers
        How many processes.

    Returns
    -------
    pieces
        One after the other, as they are ready.

    Raises
    ------
    WorkerLost
        If a process ended before its work was done.
    """
    executor = FreshProcesses(workers, task)
    step = max(1, min(_CHUNK, count // (4 * workers)))
    starts = iter(range(0, count, step))
    waiting: deque[Future[list[Piece]]] = deque()
    try:
        for start in starts:
            waiting.append(executor.submit(_run, range(start, min(start + step, count))))
            if len(waiting) > _AHEAD * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerLost(
            "a worker process ended before its work was done, perhaps for lack of memory: use fewer workers or smaller pools"
        ) from error
    finally:
        executor.let_go()


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class FreshProcesses(ProcessPoolExecutor):
    """Processes that leave interrupts to the parent and go when it goes.

    Parameters
    ----------
    workers
        How many.
    task
        What each keeps to run, if anything.
    """

    def __init__(self, workers: int, task: Callable[[int], Any] | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        ends, self._open = context.Pipe(duplex=False)
        super().__init__(workers, mp_context=context, initializer=_receive, initargs=(ends, task))
        try:
            for _ in range(workers):  # one piece of nothing for each, so that all start now
                self.submit(int)
        except BaseException:
            self.let_go()
            raise

    def submit(self, *call: Any, **named: Any) -> Future[Any]:
        """Work for one of them; it may start a process, which inherits that an interrupt is the parent's business."""
        with interrupts_held(), _one_thread_each():
            return super().submit(*call, **named)

    def let_go(self) -> None:
        """End them now, whatever they do, and see them off: a parent that leaves first may trip over its own threads."""
        self._open.close()
        self.shutdown(wait=True, cancel_futures=True)


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
def interrupts_held() -> Iterator[None]:
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


def _receive(ends: Connection, task: Callable[[int], Any] | None) -> None:
    _task[:] = [] if task is None else [task]
    gc.set_threshold(_GARBAGE)
    threading.Thread(target=_leave_with_the_parent, args=(ends,), daemon=True).start()


def _leave_with_the_parent(ends: Connection) -> None:
    """Wait until the parent closes its end, or is no more."""
    parent = multiprocessing.parent_process()
    wait([ends] if parent is None else [ends, parent.sentinel])
    os._exit(1)


def _run(numbers: range) -> list[Any]:
    return [_task[0](number) for number in numbers]
