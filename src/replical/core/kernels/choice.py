"""Which back end runs a kernel: NumPy alone, or numba where it is installed and pays.

Results are the same to the bit, so a choice is about time alone. Left to itself, a process starts with NumPy and changes
to numba when it has spent on NumPy kernels about what loading numba costs: it never takes much more than twice the time
of whichever would have been better.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec

from replical.errors import BadUsage, MissingExtra

VARIABLE = "REPLICAL_KERNELS"
NUMPY, NUMBA = "numpy", "numba"
NAMES = (NUMPY, NUMBA)
_PAYS = 2**28  # words that NumPy passes over in about half a second: what importing numba and its cached code takes

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
        If it names numba, which is not installed or cannot be imported.

    Examples
    --------
    >>> with using("numpy"):
    ...     compiles(10**12)
    False
    """
    wanted = named()
    if wanted is not None:
        return wanted == NUMBA
    if _spent[0] < _PAYS:
        _spent[0] += work
        return _spent[0] >= _PAYS and trouble() is None
    return trouble() is None


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
        If it is numba, which is not installed or cannot be imported.

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


def _checked(name: str) -> str:
    if name not in NAMES:
        raise BadUsage(f"there are no kernels {name!r}: {VARIABLE} is numpy or numba")
    if name == NUMBA and (why := trouble()) is not None:
        raise MissingExtra(
            f'the numba kernels cannot be used, {why}: pip install "replical[fast]", or leave {VARIABLE} unset for NumPy, '
            "whose results are the same"
        )
    return name
