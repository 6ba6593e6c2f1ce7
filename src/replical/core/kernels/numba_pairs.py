"""The compiled versions of `pairs` and `signs`; what they compute is said there.

Distances: tiles of rows that stay in the cache, two rows against two at a time. Slices of rows, not ``rows[i, w]``, stand
in the inner loops: numba makes vector code of them only then. Balls: bucket sorts by distance, then one pass over the rows
of each. Signs: a stretch of columns at a time, so that heights stay in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from replical.core.bits import Packed
from replical.core.kernels.backend import share
from replical.core.kernels.numba_rows import kernel, popcount
from replical.core.kernels.pairs import Distances, GrowingBalls, Parts, Swept, Tops, Whole, share_columns
from replical.core.kernels.signs import Floats, share_points

_TILE = 64  # rows a side
_STRIP = 512  # words: two tiles of such strips fit into a second-level cache


def measure(parts: Parts, far: Distances, then: Callable[[int, int], None]) -> None:
    """Distances added."""
    share_columns(_count, parts, far, then)


def _count(some: Packed, others: Packed, counts: Distances) -> None:
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


_SHARE = 2**20  # words worth a thread
_DIGITS = 12  # binary digits of a distance that one sort looks at
_BUCKETS = 2**_DIGITS


def sweep(balls: GrowingBalls, centre: int, far: Distances, most: int) -> Swept:
    """All balls around a centre."""
    radii, disputed, members = (np.zeros(balls.planes.shape[1], dtype=np.int64) for _ in range(3))
    count = _sweep(balls.planes, balls.heavy, balls.whole, centre, far, most, radii, disputed, members)
    return radii[:count], disputed[:count], members[:count]


@kernel
def _sweep(planes: Any, weights: Any, whole: int, centre: int, far: Any, most: int, radii: Any, disputed: Any,
           members: Any) -> int:  # fmt: skip
    """Balls up to radius `most`, written to the last three; how many there are."""
    order = np.empty(len(far) + 1, dtype=np.int64)
    ball = np.zeros(planes.shape[2], dtype=np.uint64)
    inside = _sort(far, most, order)
    count, start, weight = 0, 0, 0
    while start < inside:
        stop = _level(far, order, start, inside)
        if weight < whole:
            weight = _grow(planes, weights, centre, order[start:stop], ball, weight)
        radii[count], disputed[count], members[count] = far[order[start]], weight, stop
        count, start = count + 1, stop
    return count


def tops(balls: GrowingBalls, centres: Whole, far: Distances, *, inner: int, best: float) -> Tops:
    """The highest balls."""
    inside, disputed, radius = (np.zeros(len(centres), dtype=np.int64) for _ in range(3))

    def stretch(start: int, stop: int) -> None:
        some = slice(start, stop)
        _tops(balls.planes, balls.heavy, balls.whole, centres[some], far[some], inner, best,
              inside[some], disputed[some], radius[some])  # fmt: skip

    share(stretch, len(centres), _SHARE // balls.planes.size + 1)
    return Tops(inside=inside, disputed=disputed, radius=radius)


@kernel
def _tops(planes: Any, weights: Any, whole: int, centres: Any, far: Any, inner: int, best: float, inside: Any,
          disputed: Any, radius: Any) -> None:  # fmt: skip
    order = np.empty(far.shape[1] + 1, dtype=np.int64)
    ball = np.zeros(planes.shape[2], dtype=np.uint64)
    for i in range(len(centres)):
        most: Any = whole if best <= 0 else max(inner, np.int64(whole / best) + 1)
        within = _sort(far[i], most, order)
        ball[:] = 0
        start, weight = 0, 0
        while start < within:
            r = np.int64(far[i, order[start]])
            if r > inner and whole / r < best:  # nor can any larger ball come up to it
                break
            stop = _level(far[i], order, start, within)
            weight = _grow(planes, weights, centres[i], order[start:stop], ball, weight)
            if r <= inner:
                inside[i] = weight
            elif weight / r > best or (weight / r == best and radius[i] == 0):
                best, disputed[i], radius[i] = weight / r, weight, r
            if weight == whole and r > inner:
                break
            start = stop


@kernel
def _sort(far: Any, most: int, order: Any) -> int:
    """Everyone within `most`, the nearest first, at the start of `order`; how many they are."""
    inside = 0
    for h in range(len(far)):
        order[inside] = h  # and is written over if h is not inside
        inside += far[h] <= most
    shift = 0
    while most >> shift > 0:  # the last digits first: a later sort keeps the order of an earlier one
        places = np.zeros(min(most >> shift, _BUCKETS - 1) + 2, dtype=np.int64)
        before = order[:inside].copy()
        for h in before:
            places[((np.int64(far[h]) >> shift) & (_BUCKETS - 1)) + 1] += 1
        for bucket in range(1, len(places)):
            places[bucket] += places[bucket - 1]
        for h in before:
            bucket = (np.int64(far[h]) >> shift) & (_BUCKETS - 1)
            order[places[bucket]] = h
            places[bucket] += 1
        shift += _DIGITS
    return inside


@kernel
def _level(far: Any, order: Any, start: int, stop: int) -> int:
    """Where those at the same distance as ``order[start]`` end."""
    end = start + 1
    while end < stop and far[order[end]] == far[order[start]]:
        end += 1
    return end


@kernel
def _grow(planes: Any, weights: Any, centre: int, rows: Any, ball: Any, weight: int) -> int:
    """`rows` join the ball; the weight it disputes then."""
    for h in rows:
        for digit in range(len(planes)):
            a, c = planes[digit, h], planes[digit, centre]
            if len(weights):
                weight += _weight_of_new(a, c, weights, ball)
            else:
                for w in range(len(ball)):
                    ball[w] |= a[w] ^ c[w]
    if len(weights):
        return weight
    count = np.uint64(0)
    for w in range(len(ball)):
        count += popcount(ball[w])
    return int(count)


@kernel
def _weight_of_new(a: Any, c: Any, weights: Any, ball: Any) -> int:
    """Add to `ball` the positions at which `a` and `c` differ, and return the weight of those it had not."""
    weight = 0
    for w in range(len(ball)):
        new = (a[w] ^ c[w]) & ~ball[w]
        ball[w] |= new
        while new:
            weight += weights[64 * w + np.int64(popcount((new & (~new + np.uint64(1))) - np.uint64(1)))]
            new &= new - np.uint64(1)
    return weight


_STRETCH = 512  # columns


@intrinsic
def _at_least_zero(typing_context: Any, numbers: Any, first: Any) -> Any:
    """Which of the 64 numbers from `first` on are at least 0, a bit each: one comparison of vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        vector = ir.VectorType(ir.DoubleType(), 64)
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), vector.as_pointer())
        zeros = ir.Constant(vector, [ir.Constant(ir.DoubleType(), 0.0)] * 64)
        return builder.bitcast(builder.fcmp_ordered(">=", builder.load(place, align=8), zeros), ir.IntType(64))

    return types.uint64(numbers, types.intp), generate


_not_negative: Any = _at_least_zero


def signs(points: Floats, factors: Floats, starts: Floats, out: Packed) -> None:
    """Sides of planes, packed."""
    share_points(_signs, points, factors, starts, out)


@kernel
def _signs(points: Any, across: Any, starts: Any, out: Any) -> None:
    """Set bit j of row i of `out` where ``starts[j] + points[i] . across[:, j] >= 0``, the sum made in this order."""
    dimensions, count = across.shape
    heights = np.zeros(_STRETCH)
    for left in range(0, count, _STRETCH):
        right = min(left + _STRETCH, count)
        sums, begin, first = heights[: right - left], starts[left:right], across[0, left:right]
        heights[right - left :] = -1.0  # pad bits are zero
        for i in range(len(points)):
            x = points[i, 0]
            for j in range(right - left):
                sums[j] = begin[j] + x * first[j]
            for d in range(1, dimensions):
                y, factors = points[i, d], across[d, left:right]
                for j in range(right - left):
                    sums[j] += y * factors[j]
            for word in range((right - left + 63) // 64):
                out[i, left // 64 + word] = _not_negative(heights, 64 * word)
