"""Compiling with numba; this module is imported only where a compiled kernel is about to run.

Kernels are serial and release the interpreter's lock, so that `backend` can run several: numba's own threads die in
forked processes and abort on concurrent calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile `function` when it is first called, and keep the code on the disk where there is a place for it."""
    try:
        compiled = numba.njit(function, cache=True, nogil=True)
    except RuntimeError:  # neither beside this file nor in the user's cache may anything be written
        compiled = numba.njit(function, nogil=True)
    return cast(Function, compiled)


@intrinsic
def _popcount(typing_context: Any, word: Any) -> Any:
    """How many bits of a 64-bit word are set, as the machine's own instruction; for use inside kernels."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


popcount: Any = _popcount
