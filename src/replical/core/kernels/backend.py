"""Which back end runs a kernel: NumPy alone, numba where it is installed and pays, or PyTorch on a graphics card.

A kernel is a NumPy function that is registered with the names of its other versions; those are imported when they are
picked. Results are the same to the bit, so the choice is about time alone. Left to itself, a process starts with NumPy and
changes to numba when it has spent on NumPy kernels about what loading numba costs: it never takes much more than twice the
time of whichever would have been better. A card is used where one is named, for work that is worth the way to it and back.

Compiled kernels share work among cores by threads of our own, because a kernel lets go of the interpreter's lock.
"""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, TypeVar, cast

from replical.core.parallel import cores
from replical.errors import BadUsage

DEVICE = "REPLICAL_DEVICE"
NUMPY, NUMBA, TORCH = "numpy", "numba", "torch"
CPU = "cpu"
_CARD = "replical.gpu.kernels"
_PAYS = 2**28  # words that NumPy passes over in about half a second: what importing numba and its cached code takes
_WORTH = 2**20  # words that NumPy passes over in a few milliseconds: a card has answered by then

_wanted: ContextVar[str | None] = ContextVar("kernels", default=None)
_spent = [0]  # words passed over by NumPy kernels in this process so far

Function = TypeVar("Function", bound=Callable[..., Any])


def register(work: Callable[..., int], *, numba: str = "", torch: bool = False) -> Callable[[Function], Function]:
    """A NumPy function becomes a kernel: whoever calls it gets the version that pays.

    Other versions have the same name, without underscores, in the module `numba` of this package and, for `torch`, in
    `replical.gpu.kernels`. `work` tells from the arguments about how many 64-bit words NumPy would read or write, all its
    passes together.
    """

    def make(plain: Function) -> Function:
        @wraps(plain)
        def dispatch(*args: Any, **kwargs: Any) -> Any:
            words, version = work(*args, **kwargs), plain
            if torch and on_device(words):
                version = _version(_CARD, plain.__name__)
            elif numba and compiles(words):
                version = _version(f"{__package__}.{numba}", plain.__name__)
            return version(*args, **kwargs)

        return cast(Function, dispatch)

    return make


@cache
def _version(module: str, name: str) -> Any:
    return getattr(import_module(module), name.strip("_"))


def compiles(work: int) -> bool:
    """Shall a kernel that passes over `work` words run compiled?

    >>> with using("numpy"):
    ...     compiles(10**12)
    False
    """
    wanted = _wanted.get()
    if wanted in (NUMPY, NUMBA):
        return wanted == NUMBA
    if _spent[0] < _PAYS:
        _spent[0] += work
        return _spent[0] >= _PAYS and trouble() is None
    return trouble() is None


def on_device(work: int) -> bool:
    """Shall it run in PyTorch: whatever the work if that back end is named, else for large work where a card is named?"""
    wanted = _wanted.get()
    if wanted is not None:
        return wanted == TORCH
    return work >= _WORTH and device() not in (None, CPU)


def device() -> str | None:
    """The device that the environment variable names: cpu, cuda or cuda:N; None if none."""
    return check_device(os.environ.get(DEVICE, "").strip().lower() or None, DEVICE)


def check_device(name: str | None, source: str) -> str | None:
    """The name of a device, as `source` has it; `BadUsage` is raised if it is none."""
    if name is not None and not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise BadUsage(f"there is no device {name!r}: {source} is cpu, cuda, or cuda:N for the card with this number")
    return name


def in_use() -> str:
    """The back end of large work in this process."""
    return NUMPY if trouble() else NUMBA


@contextmanager
def using(name: str) -> Iterator[None]:
    """Run kernels on the back end `name` meanwhile, in this thread, however small the work: for tests and benchmarks."""
    token = _wanted.set(name)
    try:
        yield
    finally:
        _wanted.reset(token)


@cache
def trouble() -> str | None:
    """Why numba cannot be used here; None if it can."""
    if find_spec("numba") is None:
        return "it is not installed"
    try:
        from numba.core import config
    except Exception as error:  # a numba that does not fit this NumPy says so in various ways
        return f"it cannot be imported ({error})"
    return "NUMBA_DISABLE_JIT is set" if getattr(config, "DISABLE_JIT", 0) else None


@cache
def torch_trouble() -> str | None:
    """Why PyTorch cannot be used here; None if it can be found. It is imported where it is used, which takes seconds."""
    return "PyTorch is not installed" if find_spec("torch") is None else None


def thread_count() -> int:
    """Threads to use: one a core, one alone in a worker process, which has brothers on the other cores."""
    return cores() if multiprocessing.parent_process() is None else 1


def share(task: Callable[[int, int], object], length: int, least: int) -> None:
    """``task(start, stop)`` for stretches of ``range(length)``, at the same time where they are at least `least` long.

    A task must not write where another stretch does, nor call `share`.

    >>> done = []
    >>> share(lambda start, stop: done.extend(range(start, stop)), 5, 100)
    >>> done
    [0, 1, 2, 3, 4]
    """
    stretches = max(1, min(thread_count(), length // max(1, least)))
    bounds = [length * number // stretches for number in range(stretches + 1)]
    futures = [_pool().submit(task, start, stop) for start, stop in pairwise(bounds[1:])]
    try:
        task(0, bounds[1])
    finally:
        for future in futures:
            future.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, thread_count() - 1), thread_name_prefix="replical-kernels")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of the threads
