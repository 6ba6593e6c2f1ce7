"""`pairs`, compiled: tiles of rows that stay in the cache, two rows against two at a time.

Slices of rows, not ``rows[i, w]``, stand in the inner loops: numba makes vector code of them only then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.core.bits import Packed
from replical.core.kernels.jit import kernel, popcount

_TILE = 64  # rows a side
_STRIP = 512  # words: two tiles of such strips fit into a second-level cache


def count(some: Packed, others: Packed, counts: NDArray[np.integer[Any]]) -> None:
    """Add to ``counts[i, j]`` the positions at which row i of `some` differs from row j of `others` in some digit."""
    if len(some) == 1:
        _one_digit(some[0], others[0], counts)
    else:
        _digits(some, others, counts)


@kernel
def _one_digit(some: Any, others: Any, counts: Any) -> None:
    words = some.shape[1]
    for left in range(0, len(others), _TILE):
        right = min(left + _TILE, len(others))
        for top in range(0, len(some), _TILE):
            bottom = min(top + _TILE, len(some))
            for start in range(0, words, _STRIP):
                stop = min(start + _STRIP, words)
                for i in range(top, bottom, 2):
                    k = min(i + 1, bottom - 1)  # the last one twice, if alone
                    a, b = some[i, start:stop], some[k, start:stop]
                    for j in range(left, right, 2):
                        m = min(j + 1, right - 1)
                        c, d = others[j, start:stop], others[m, start:stop]
                        ac, ad, bc, bd = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
                        for w in range(stop - start):
                            ac += popcount(a[w] ^ c[w])
                            ad += popcount(a[w] ^ d[w])
                            bc += popcount(b[w] ^ c[w])
                            bd += popcount(b[w] ^ d[w])
                        counts[i, j] += np.int64(ac)
                        if m > j:
                            counts[i, m] += np.int64(ad)
                        if k > i:
                            counts[k, j] += np.int64(bc)
                        if k > i and m > j:
                            counts[k, m] += np.int64(bd)


@kernel
def _digits(some: Any, others: Any, counts: Any) -> None:
    digits, rows, words = some.shape
    room = np.zeros(_STRIP, dtype=np.uint64)
    for left in range(0, others.shape[1], _TILE):
        right = min(left + _TILE, others.shape[1])
        for start in range(0, words, _STRIP):
            stop = min(start + _STRIP, words)
            differs = room[: stop - start]
            for i in range(rows):
                for j in range(left, right):
                    a, c = some[0, i, start:stop], others[0, j, start:stop]
                    for w in range(stop - start):
                        differs[w] = a[w] ^ c[w]
                    for digit in range(1, digits - 1):
                        a, c = some[digit, i, start:stop], others[digit, j, start:stop]
                        for w in range(stop - start):
                            differs[w] |= a[w] ^ c[w]
                    a, c = some[digits - 1, i, start:stop], others[digits - 1, j, start:stop]
                    total = np.uint64(0)
                    for w in range(stop - start):
                        total += popcount(differs[w] | (a[w] ^ c[w]))
                    counts[i, j] += np.int64(total)
