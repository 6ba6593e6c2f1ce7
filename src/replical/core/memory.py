"""Memory: how much is free, what cannot fit into it, and what a command makes once and keeps until it ends."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar, cast

from replical.errors import ValueOutOfRange

MOST = 2**34  # 16 GiB: beyond, nothing is held in memory at once, however much there is
_PROC = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup/memory.max")  # the limit of a container


def free() -> int | None:
    """Bytes that can still be used, or at least that the machine has; None where the system does not say."""
    sizes = [size for size in (_available(), _limit()) if size is not None]
    return min(sizes) if sizes else None


def check(needed: int, what: str, remedy: Callable[[int], str]) -> None:
    """Refuse `what` needs more bytes than there are: one sentence now in place of an hour and a killed process.

    `remedy` says what to do if so many bytes are all there is.

    >>> check(2**40, "100 models", lambda most: f"bring {100 * most // 2**40} of them")
    Traceback (most recent call last):
        ...
    replical.errors.ValueOutOfRange: 100 models need 1024.0 GiB, more than 16.0 GiB: bring 1 of them
    """
    there = free()
    most = MOST if there is None else min(MOST, there)
    if needed > most:
        why = f"more than {_amount(MOST)}" if most == MOST else f"and {_amount(most)} of memory are free"
        raise ValueOutOfRange(f"{what} need {_amount(needed)}, {why}: {remedy(most)}")


T = TypeVar("T")
_made: ContextVar[dict[str, tuple[str, Any]] | None] = ContextVar("made", default=None)


@contextmanager
def remembering() -> Iterator[None]:
    """Meanwhile `remembered` keeps the last thing of each kind."""
    token = _made.set({})
    try:
        yield
    finally:
        _made.reset(token)


def remembered(kind: str, content: Any, make: Callable[[], T]) -> T:
    """What `make` makes of this `content`, plain values that nobody changes; where it was the last made, that one.

    >>> with remembering():
    ...     one, again, other = (remembered("list", content, lambda: []) for content in ("a", "a", "b"))
    >>> one is again, one is other, remembered("list", "a", list) is one
    (True, False, False)
    """
    made = _made.get()
    try:
        key = "" if made is None else repr(content)
    except RecursionError:  # nested too deeply: whoever makes something of it says so
        made = None
    if made is None:
        return make()
    if kind not in made or made[kind][0] != key:
        made[kind] = (key, make())
    return cast(T, made[kind][1])


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Where a million small objects are made that all stay, looking for garbage would take half the time."""
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()


def _amount(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.1f} MiB"


def _available() -> int | None:
    try:
        for line in _PROC.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not a POSIX system, or one that does not know
        return None


def _limit() -> int | None:
    try:
        return int(_GROUP.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no container, or "max"
        return None
