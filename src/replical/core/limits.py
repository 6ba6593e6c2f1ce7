"""What a file may ask for that somebody else may have written: so much memory as its own size makes likely.

A file of a few kilobytes can say that it holds sixteen gigabytes. Whoever reads one compares what it says with how large
it is, before any memory is taken. Whoever knows the file lifts the limits: ``--trust-size``, or `trusting_sizes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

REMEDY = "if you know where it comes from, say --trust-size"
# So much is read of any file, however small, and so much for each byte of a larger one. A distinct id takes more than an
# eighth of a byte in any format, and what models say of many items is hardly ever packed 256-fold.
ROWS, ROWS_A_BYTE = 2**20, 8
BYTES, BYTES_A_BYTE = 2**28, 256

_trusted: ContextVar[bool] = ContextVar("trusted", default=False)


@contextmanager
def trusting_sizes(trust: bool = True) -> Iterator[None]:
    """Believe what files say about their sizes, as far as memory goes.

    Parameters
    ----------
    trust
        False ends the trust that somebody further out has begun.

    Returns
    -------
    context
        For a ``with`` statement: the limits are lifted inside of it.

    Examples
    --------
    >>> with trusting_sizes():
    ...     trusted()
    True
    >>> trusted()
    False
    """
    token = _trusted.set(trust)
    try:
        yield
    finally:
        _trusted.reset(token)


def trusted() -> bool:
    """Are sizes believed?"""
    return _trusted.get()


def most_rows(size: int) -> int:
    """Rows that a file of `size` bytes may say it has."""
    return max(ROWS, ROWS_A_BYTE * size)


def most_bytes(size: int) -> int:
    """Bytes that a file of `size` bytes may say it unpacks to."""
    return max(BYTES, BYTES_A_BYTE * size)


def check_claims(name: str, size: int, *, rows: int = 0, unpacked: int = 0, refuse: Callable[[str], Exception]) -> None:
    """Refuse a file, called `name`, of `size` bytes that says it has too many `rows`, or that it is too large `unpacked`.

    Examples
    --------
    >>> check_claims("a.parquet", 114_000, rows=10**7, refuse=ValueError)
    Traceback (most recent call last):
        ...
    ValueError: a.parquet has 114.0 kB and says it holds 10,000,000 rows, ... believed: if you know where it comes from, ...
    """
    if trusted():
        return
    if rows > (most := most_rows(size)):
        raise refuse(
            f"{name} has {amount(size)} and says it holds {rows:,} rows, more than the {most:,} that are believed: {REMEDY}"
        )
    if unpacked > (most := most_bytes(size)):
        raise refuse(
            f"{name} has {amount(size)} and says it unpacks to {amount(unpacked)}, more than the {amount(most)} that are "
            f"believed: {REMEDY}"
        )


def amount(size: int) -> str:
    """Bytes in words.

    Examples
    --------
    >>> amount(512), amount(5_800), amount(16 * 10**9)
    ('512 bytes', '5.8 kB', '16.0 GB')
    """
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size} bytes"
