"""What a conversation remembers between two answers, so that it can go on later without hearing everything again.

A replay of the same labels comes to the same state, only more slowly: a memory saves time and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from replical.core.randomness import SharedRandomness
from replical.pools.pool import AnyPool

Kept = Mapping[str, NDArray[Any]]


class Memory:
    """Where a conversation is to go on, and where it is now.

    Attributes
    ----------
    kept
        What another conversation of the same learner on the same pool had kept; None to begin at the beginning.
    look
        What is kept when the present query is made, for whoever asks while it waits for answers; None where nothing is.
    """

    def __init__(self, kept: Kept | None = None) -> None:
        self.kept = kept
        self.look: Callable[[], Kept | None] | None = None


@runtime_checkable
class Remembers(Protocol):
    """A learner whose conversation can go on from what it kept."""

    def remembered(self, pool: AnyPool, shared: SharedRandomness, memory: Memory) -> Any:
        """The conversation of ``run``, from ``memory.kept`` on; it raises `ValueError` if nobody can have kept that."""
        ...


def like(array: NDArray[Any], shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    """An array of this shape and type, or `ValueError`."""
    if array.shape != shape or array.dtype != kind:
        raise ValueError(f"{array.dtype} {array.shape} in place of {np.dtype(kind)} {shape}")
    return array
