"""`balls`, compiled: bucket sorts by distance, then one pass over the rows of each ball."""

from __future__ import annotations

from typing import Any

import numpy as np

from replical.core.kernels.jit import kernel, popcount

_DIGITS = 12  # binary digits of a distance that one sort looks at
_BUCKETS = 2**_DIGITS


@kernel
def sweep(planes: Any, weights: Any, whole: int, centre: int, far: Any, most: int, radii: Any, disputed: Any,
          members: Any) -> int:  # fmt: skip
    """All balls around `centre` up to radius `most`, written to the last three; how many there are."""
    order = np.empty(len(far) + 1, dtype=np.int64)
    ball = np.zeros(planes.shape[2], dtype=np.uint64)
    inside = _ordered(far, most, order)
    count, start, weight = 0, 0, 0
    while start < inside:
        stop = _level(far, order, start, inside)
        if weight < whole:
            weight = _grown(planes, weights, centre, order[start:stop], ball, weight)
        radii[count], disputed[count], members[count] = far[order[start]], weight, stop
        count, start = count + 1, stop
    return count


@kernel
def tops(planes: Any, weights: Any, whole: int, centres: Any, far: Any, inner: int, best: float, inside: Any,
         disputed: Any, radius: Any) -> None:  # fmt: skip
    """The highest ball of each centre, as `balls.Tops` has it."""
    order = np.empty(far.shape[1] + 1, dtype=np.int64)
    ball = np.zeros(planes.shape[2], dtype=np.uint64)
    for i in range(len(centres)):
        most: Any = whole if best <= 0 else max(inner, np.int64(whole / best) + 1)
        within = _ordered(far[i], most, order)
        ball[:] = 0
        start, weight = 0, 0
        while start < within:
            r = np.int64(far[i, order[start]])
            if r > inner and whole / r < best:  # nor can any larger ball come up to it
                break
            stop = _level(far[i], order, start, within)
            weight = _grown(planes, weights, centres[i], order[start:stop], ball, weight)
            if r <= inner:
                inside[i] = weight
            elif weight / r > best or (weight / r == best and radius[i] == 0):
                best, disputed[i], radius[i] = weight / r, weight, r
            if weight == whole and r > inner:
                break
            start = stop


@kernel
def _ordered(far: Any, most: int, order: Any) -> int:
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
def _grown(planes: Any, weights: Any, centre: int, rows: Any, ball: Any, weight: int) -> int:
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
