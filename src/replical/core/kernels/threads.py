"""Compiled kernels on several cores: threads of our own, because a kernel lets go of the interpreter's lock."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

from replical.core.parallel import cores


def count() -> int:
    """Threads to use: one a core, one alone in a worker process, which has brothers on the other cores.

    Examples
    --------
    >>> count() >= 1
    True
    """
    return cores() if multiprocessing.parent_process() is None else 1


def share(task: Callable[[int, int], object], length: int, least: int) -> None:
    """``task(start, stop)`` for stretches that cover ``range(length)``, at the same time where that pays.

    Parameters
    ----------
    task
        Works on the numbers from `start` to `stop`; it must not write where another stretch does, nor call `share`.
    length
        How many numbers there are.
    least
        The shortest stretch worth a thread.

    Examples
    --------
    >>> done = []
    >>> share(lambda start, stop: done.extend(range(start, stop)), 5, 100)
    >>> done
    [0, 1, 2, 3, 4]
    """
    pieces = max(1, min(count(), length // max(1, least)))
    bounds = [length * piece // pieces for piece in range(pieces + 1)]
    futures = [_pool().submit(task, start, stop) for start, stop in pairwise(bounds[1:])]
    try:
        task(0, bounds[1])
    finally:
        for future in futures:
            future.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, count() - 1), thread_name_prefix="replical-kernels")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of the threads
