"""Column sums of packed rows: how often everybody was wrong, if rows are items and columns hypotheses.

Carry-save adders turn three rows of one weight into a sum of that weight and a carry of twice the weight, 64 columns a
word; a column's count stands upright, one bit in each of a few rows, and is read once, at the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.core import bits
from replical.core.bits import Packed
from replical.core.kernels import choice, threads
from replical.core.kernels.carries import levels
from replical.core.kernels.columns import Indices

Sums = NDArray[np.int64]
_ROWS, _WORDS = 1024, 128  # added up at a time: as much as stays in the cache
_THREAD = 2**19  # words worth a thread
_PASSES = 6  # that NumPy makes over the rows


def add_wrong(sums: Sums, planes: Packed, rows: Indices, codes: Indices, power: int = 0) -> None:
    """Add ``2**power`` to the sum of every column, for every row in which it does not spell the row's code.

    Parameters
    ----------
    sums
        One sum a column, pad bits included; changed.
    planes
        Packed matrices, ``planes[digit, row, word]``: column c spells in row r the number whose binary digits are there.
    rows
        The rows looked at, repeats allowed.
    codes
        The right number in each of them.
    power
        How much one mistake counts.

    Examples
    --------
    >>> sums = np.zeros(64, dtype=np.int64)
    >>> planes = np.array([[[5], [4], [6]]], dtype=np.uint64)
    >>> add_wrong(sums, planes, np.array([0, 1, 2]), np.array([0, 0, 0]))
    >>> add_wrong(sums, planes, np.array([0]), np.array([1]), power=4)
    >>> sums[:3].tolist()
    [1, 17, 3]
    """
    width = planes.shape[2]
    if choice.on_device(_PASSES * len(planes) * len(rows) * width):
        from replical.core.kernels import torch_rows

        torch_rows.add_wrong(sums, planes, rows, codes, power)
        return
    if choice.compiles(_PASSES * len(planes) * len(rows) * width):
        from replical.core.kernels import compiled

        least = max(1, _THREAD // max(1, len(rows) * len(planes)))
        threads.share(
            lambda start, stop: compiled.add_wrong(sums, planes, rows, codes, power, start, stop), width, least
        )
        return
    for word in range(0, width, _WORDS):
        columns = slice(word, min(word + _WORDS, width))
        here = sums[64 * columns.start : 64 * columns.stop]
        for row in range(0, len(rows), _ROWS):
            some = slice(row, row + _ROWS)
            here += column_sums(_wrong(planes, rows[some], codes[some], columns), len(here)) << power


def _wrong(planes: Packed, rows: Indices, codes: Indices, columns: slice) -> Packed:
    """Where the code is not spelled."""
    wrong: Packed | None = None
    for digit, plane in enumerate(planes):
        differs = plane[rows, columns]
        differs[(codes >> digit) & 1 == 1] ^= np.uint64(2**64 - 1)
        wrong = differs if wrong is None else np.bitwise_or(wrong, differs, out=wrong)
    assert wrong is not None, "a code has at least one digit"
    return wrong


def column_sums(rows: Packed, length: int) -> Sums:
    """How many rows have a 1 at each of `length` positions.

    Examples
    --------
    >>> column_sums(np.array([[5], [4], [6]], dtype=np.uint64), 3).tolist()
    [1, 1, 3]
    """
    sums = np.zeros(length, dtype=np.int64)
    for weight, left in levels(rows, np.concatenate):
        for row in left:
            sums += weight * bits.unpack(row, length)
    return sums
