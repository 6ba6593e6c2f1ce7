"""How much memory is free, as far as the system tells without further packages."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup/memory.max")  # the limit of a container


def free() -> int | None:
    """Bytes that can still be used, or at least that the machine has; None where the system does not say.

    Examples
    --------
    >>> free() is None or free() > 2**20
    True
    """
    told = [size for size in (_available(), _limit()) if size is not None]
    return min(told) if told else None


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
