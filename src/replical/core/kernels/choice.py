"""Which back end runs a kernel: NumPy alone, numba where it is installed and pays, or PyTorch on a graphics card.

Results are the same to the bit, so a choice is about time alone. Left to itself, a process starts with NumPy and changes
to numba when it has spent on NumPy kernels about what loading numba costs: it never takes much more than twice the time
of whichever would have been better. A card is used where one is named, for work that is worth the way to it and back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec

from replical.errors import BadUsage, MissingExtra

VARIABLE = "REPLICAL_KERNELS"
DEVICE = "REPLICAL_DEVICE"
NUMPY, NUMBA, TORCH = "numpy", "numba", "torch"
NAMES = (NUMPY, NUMBA, TORCH)
CPU = "cpu"
_PAYS = 2**28  # words that NumPy passes over in about half a second: what importing numba and its cached code takes
_WORTH = 2**20  # words that NumPy passes over in a few milliseconds: a card has answered by then

_wanted: ContextVar[str | None] = ContextVar("kernels", default=None)
_spent = [0]  # words passed over by NumPy kernels in this process so far


def compiles(work: int) -> bool:
    """Shall a kernel that passes over `work` words run compiled?

    Parameters
    ----------
    work
        About how many 64-bit words NumPy would read or write, all its passes together.

    Returns
    -------
    compiled
        True: import the compiled version and run it. False: run NumPy's.

    Raises
    ------
    BadUsage
        If the environment variable names no back end.
    MissingExtra
        If it names one that is not installed or cannot be imported.

    Examples
    --------
    >>> with using("numpy"):
    ...     compiles(10**12)
    False
    """
    wanted = named()
    if wanted in (NUMPY, NUMBA):
        return wanted == NUMBA
    if _spent[0] < _PAYS:
        _spent[0] += work
        return _spent[0] >= _PAYS and trouble() is None
    return trouble() is None


def on_device(work: int) -> bool:
    """Shall a kernel that passes over `work` words run in PyTorch? Kernels that have no such version do not ask.

    Parameters
    ----------
    work
        As for `compiles`.

    Returns
    -------
    device
        True: run PyTorch's version on `device`, whatever the work if the back end is named torch, else for large work
        where a card is named. False: ask `compiles`.

    Raises
    ------
    BadUsage
        If an environment variable names no back end or no device.
    MissingExtra
        If the back end it names is not installed.

    Examples
    --------
    >>> with using("numpy"):
    ...     on_device(10**12)
    False
    """
    wanted = named()
    if wanted is not None:
        return wanted == TORCH
    return work >= _WORTH and device() not in (None, CPU)


def device() -> str | None:
    """The device that the environment variable names: cpu, cuda or cuda:N; None if none.

    Raises
    ------
    BadUsage
        If it names something else.
    """
    return checked_device(os.environ.get(DEVICE, "").strip().lower() or None, DEVICE)


def checked_device(name: str | None, said_by: str) -> str | None:
    """The name of a device, as `said_by` has it.

    Raises
    ------
    BadUsage
        If it is none.

    Examples
    --------
    >>> checked_device("cuda:1", "--device")
    'cuda:1'
    """
    if name is not None and not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise BadUsage(f"there is no device {name!r}: {said_by} is cpu, cuda, or cuda:N for the card with this number")
    return name


def named() -> str | None:
    """The back end that `using` or the environment variable names; None where work decides."""
    name = _wanted.get()
    if name is None:
        name = os.environ.get(VARIABLE, "").strip().lower() or None
    return None if name is None else _checked(name)


def in_use() -> str:
    """The back end of large work in this process.

    Examples
    --------
    >>> with using("numpy"):
    ...     in_use()
    'numpy'
    """
    return named() or (NUMPY if trouble() else NUMBA)


@contextmanager
def using(name: str) -> Iterator[None]:
    """Run kernels on the back end `name` meanwhile, in this thread, however small the work: for tests and benchmarks.

    Raises
    ------
    BadUsage
        If no back end has this name.
    MissingExtra
        If it is not installed or cannot be imported.

    Examples
    --------
    >>> with using("numpy"):
    ...     named()
    'numpy'
    """
    token = _wanted.set(_checked(name))
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


def _checked(name: str) -> str:
    if name not in NAMES:
        raise BadUsage(f"there are no kernels {name!r}: {VARIABLE} is numpy, numba or torch")
    if name == NUMBA and (why := trouble()) is not None:
        raise MissingExtra(
            f'the numba kernels cannot be used, {why}: pip install "replical[fast]", or leave {VARIABLE} unset for NumPy, '
            "whose results are the same"
        )
    if name == TORCH and (why := torch_trouble()) is not None:
        raise MissingExtra(
            f'the torch kernels cannot be used, {why}: pip install "replical[gpu]", or leave {VARIABLE} unset for the '
            "processor, whose results are the same"
        )
    return name
