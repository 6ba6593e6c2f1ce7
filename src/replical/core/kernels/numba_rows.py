"""Compiled versions of `matrices`, which says what they compute; imported only where one is about to run.

Kernels are serial and release the interpreter's lock, so that `backend` can run several: numba's own threads die in
forked processes and abort on concurrent calls.

A compiled function works on a stretch, from `start` to `stop`, of what it writes, so that stretches can run at the same
time. Inner loops go over slices of rows: indexing the matrix itself keeps the compiler from using wide registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from replical.core import bits
from replical.core.bits import Bits, Packed
from replical.core.kernels.backend import share
from replical.core.kernels.matrices import Columns, Indices, Nearest, blank_memory

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


_THREAD = 2**19  # words worth a thread

_HEAD, _CHUNK = 32, 256  # words between two looks whether a row is decided: few at first, many at last
_WIDE = 128  # words whose counts stay in the nearest cache
_ZERO, _ONE, _SEVEN = np.uint64(0), np.uint64(1), np.uint64(7)


def disagreement(planes: Packed, rows: Indices, columns: Columns, seen: Indices | None = None) -> Bits:
    """Whether rows hold both values."""
    seen = blank_memory(len(rows)) if seen is None else seen
    found, first = np.zeros(len(rows), dtype=np.bool_), int(columns.chosen[0])
    fresh = not seen.any()
    least = max(1, _THREAD // len(columns.words)) if fresh else _THREAD  # most rows are answered by what was kept
    if fresh:
        share(lambda start, stop: _look(planes, rows, first, seen, start, stop), len(rows), _THREAD // 8)
    if columns.scattered:
        words, mask = columns.words, columns.mask
        share(
            lambda start, stop: _disagree_in_words(planes, rows, words, mask, first, seen, found, start, stop),
            len(rows),
            least,
        )
    else:
        full = columns.full_mask
        share(lambda start, stop: _disagree(planes, rows, full, first, seen, found, start, stop), len(rows), least)
    return found


@kernel
def _look(planes: Packed, rows: Indices, first: int, seen: Indices, start: int, stop: int) -> None:
    """The word of the first column in rows never seen: no branches, so that many rows are on their way at once."""
    plane, lowest, bit = planes[0], first >> 6, np.uint64(first & 63)
    left, kept = seen[0], seen[1]
    for at in range(start, stop):
        word = plane[rows[at], lowest]
        value = (word >> bit) & _ONE
        left[at] = 128 * lowest + np.int64(value)
        kept[at] = np.int64(word ^ (_ZERO - value))


@kernel
def _disagree(
    planes: Packed, rows: Indices, mask: Packed, first: int, seen: Indices, found: Bits, start: int, stop: int
) -> None:
    """Rows that hold both values in the columns of a mask over all words; `first` is the first of these columns."""
    digits, _, width = planes.shape
    lowest, bit = first >> 6, np.uint64(first & 63)
    rows, found, left, kept = rows[start:stop], found[start:stop], seen[0, start:stop], seen[1, start:stop]
    for at in range(len(rows)):
        here = np.uint64(left[at]) >> _SEVEN  # an index without a sign cannot count from the end: no branch
        among = mask[here]
        differs = np.uint64(kept[at]) & among
        found[at] = (differs != 0) & ((here > np.uint64(lowest)) | (differs != among))
    for at in range(len(rows)):
        if found[at]:
            continue
        begin, digit, value = left[at] >> 7, (left[at] >> 1) & 63, left[at] & 1
        left[at], kept[at] = 2 * digits, 0
        while digit < digits:
            row = planes[digit, rows[at]]
            if begin <= lowest:
                begin, value = lowest, np.int64((row[lowest] >> bit) & _ONE)
            flip, step, differs = _ZERO - np.uint64(value), _HEAD, _ZERO
            while begin < width:
                end = min(begin + step, width)
                part, among_these = row[begin:end], mask[begin:end]
                for word in range(len(part)):
                    differs |= (part[word] ^ flip) & among_these[word]
                if differs != 0:
                    break
                begin, step = end, min(2 * step, _CHUNK)
            if differs != 0:
                while (row[begin] ^ flip) & mask[begin] == 0:
                    begin += 1
                found[at], left[at], kept[at] = True, 128 * begin + 2 * digit + value, np.int64(row[begin] ^ flip)
                break
            digit, begin = digit + 1, 0


@kernel
def _disagree_in_words(planes: Packed, rows: Indices, words: Indices, mask: Packed, first: int, seen: Indices, found: Bits,
                       start: int, stop: int) -> None:  # fmt: skip
    """The same where few words hold any of the columns, and `mask` is for those."""
    digits, _, width = planes.shape
    bit = np.uint64(first & 63)
    following = np.searchsorted(words, np.arange(width))  # the number of the next of the words
    left, kept = seen[0], seen[1]
    for at in range(start, stop):
        begin, digit, value = left[at] >> 7, (left[at] >> 1) & 63, left[at] & 1
        number = following[begin]
        if number < len(words) and words[number] == begin:
            differs = np.uint64(kept[at]) & mask[number]
            if differs != 0 and (number > 0 or differs != mask[number]):
                found[at] = True
                continue
        left[at], kept[at] = 2 * digits, 0
        while digit < digits:
            row = planes[digit, rows[at]]
            if number == 0:
                value = np.int64((row[words[0]] >> bit) & _ONE)
            flip = _ZERO - np.uint64(value)
            while number < len(words) and (row[words[number]] ^ flip) & mask[number] == 0:
                number += 1
            if number < len(words):
                word = words[number]
                found[at], left[at], kept[at] = True, 128 * word + 2 * digit + value, np.int64(row[word] ^ flip)
                break
            digit, number = digit + 1, 0


def add_wrong(sums: NDArray[np.int64], planes: Packed, rows: Indices, codes: Indices, power: int = 0) -> None:
    """How often columns do not spell the code."""
    least = max(1, _THREAD // max(1, len(rows) * len(planes)))
    share(lambda start, stop: _add_wrong(sums, planes, rows, codes, power, start, stop), planes.shape[2], least)


@kernel
def _add_wrong(  # noqa: PLR0912, PLR0915 - one loop nest
    sums: NDArray[np.int64], planes: Packed, rows: Indices, codes: Indices, power: int, start: int, stop: int
) -> None:
    """Sums of the columns in words `start` to `stop`."""
    digits, count = planes.shape[0], len(rows)
    levels = 4
    while (1 << levels) <= count:
        levels += 1
    upright = np.zeros((levels, _WIDE), dtype=np.uint64)  # bit l of every column's count
    eight = np.zeros((8, _WIDE), dtype=np.uint64)
    for begin in range(start, stop, _WIDE):
        width = min(_WIDE, stop - begin)
        upright[:] = 0
        for top in range(0, count, 8):
            for number in range(8):
                wrong = eight[number, :width]
                if top + number >= count:
                    wrong[:] = 0
                    continue
                item, code = rows[top + number], codes[top + number]
                part = planes[0, item, begin : begin + width]
                flip = _ZERO - np.uint64(code & 1)
                for word in range(width):
                    wrong[word] = part[word] ^ flip
                for digit in range(1, digits):
                    part = planes[digit, item, begin : begin + width]
                    flip = _ZERO - np.uint64((code >> digit) & 1)
                    for word in range(width):
                        wrong[word] |= part[word] ^ flip
            carry = eight[0]
            ones, twos, fours = upright[0], upright[1], upright[2]  # the eights are carried on
            r0, r1, r2, r3 = eight[0], eight[1], eight[2], eight[3]
            r4, r5, r6, r7 = eight[4], eight[5], eight[6], eight[7]
            for word in range(_WIDE):
                a, b, c = ones[word], r0[word], r1[word]
                either = a ^ b
                two_1, a = (a & b) | (either & c), either ^ c
                b, c = r2[word], r3[word]
                either = a ^ b
                two_2, a = (a & b) | (either & c), either ^ c
                two = twos[word]
                either = two ^ two_1
                four_1, two = (two & two_1) | (either & two_2), either ^ two_2
                b, c = r4[word], r5[word]
                either = a ^ b
                two_1, a = (a & b) | (either & c), either ^ c
                b, c = r6[word], r7[word]
                either = a ^ b
                two_2, a = (a & b) | (either & c), either ^ c
                either = two ^ two_1
                four_2, two = (two & two_1) | (either & two_2), either ^ two_2
                four = fours[word]
                either = four ^ four_1
                carry[word] = (four & four_1) | (either & four_2)
                ones[word], twos[word], fours[word] = a, two, either ^ four_2
            for level in range(3, levels):
                bit, left = upright[level], _ZERO
                for word in range(width):
                    both = bit[word] & carry[word]
                    bit[word] ^= carry[word]
                    carry[word] = both
                    left |= both
                if left == 0:
                    break
        for word in range(width):
            counts = sums[64 * (begin + word) : 64 * (begin + word + 1)]
            for level in range(levels):
                bits_here, scale = upright[level, word], np.uint64(level + power)
                for column in range(64):
                    counts[column] += np.int64(((bits_here >> np.uint64(column)) & _ONE) << scale)


def transpose(planes: Packed, rows: Indices, length: int) -> Packed:
    """Rows become columns."""
    turned = np.zeros((len(planes), length, bits.words_for(len(rows))), dtype=np.uint64)
    share(lambda start, stop: _transpose(planes, rows, turned, start, stop), planes.shape[2], 64)
    return turned


@kernel
def _transpose(planes: Packed, rows: Indices, turned: Packed, start: int, stop: int) -> None:
    length = turned.shape[1]
    square = np.zeros(64, dtype=np.uint64)
    for digit in range(planes.shape[0]):
        for target in range(turned.shape[2]):
            some = rows[64 * target : 64 * target + 64]
            for word in range(start, stop):
                for number in range(64):
                    square[number] = planes[digit, some[number], word] if number < len(some) else _ZERO
                _transpose_square(square)
                for number in range(min(64, length - 64 * word)):
                    turned[digit, 64 * word + number, target] = square[number]


@kernel
def _transpose_square(square: Packed) -> None:
    """A square of 64 x 64 bits, rows to columns, by swapping ever smaller blocks beside the diagonal."""
    size, mask = 32, np.uint64(0x00000000FFFFFFFF)
    while size:
        shift = np.uint64(size)
        number = 0
        while number < 64:
            swap = ((square[number] >> shift) ^ square[number + size]) & mask
            square[number] ^= swap << shift
            square[number + size] ^= swap
            number = (number + size + 1) & ~size
        size >>= 1
        mask ^= mask << np.uint64(size)


def marks(near: Nearest, rows: Indices, few: Indices, marks: Bits) -> Bits:
    """The rarer kind of mark is looked at first, then the others until one of them is nearer."""
    common, planes = 2 * np.count_nonzero(marks) > len(few), near.planes
    some, others = np.flatnonzero(marks != common), np.flatnonzero(marks == common)
    found = np.empty(len(rows), dtype=np.bool_)
    least = max(1, _THREAD // max(1, len(few) * planes.shape[2] * len(planes)))
    share(lambda start, stop: _nearest_in(planes, rows, few, some, others, found, start, stop), len(rows), least)
    return ~found if common else found


@kernel
def _nearest_in(
    planes: Packed, rows: Indices, few: Indices, some: Indices, others: Indices, found: Bits, start: int, stop: int
) -> None:
    """Is the nearest of a few rows at one of the places `some`, and not at one of the `others`?"""
    width = planes.shape[2]
    for at in range(start, stop):
        least, place = np.uint64(64 * width + 1), 0
        for number in some:
            total = _distance(planes, rows[at], few[number])
            if total < least:
                least, place = total, number
        found[at] = True
        for number in others:
            total = _distance(planes, rows[at], few[number])
            if total < least or (total == least and number < place):
                found[at] = False
                break


@kernel
def _distance(planes: Packed, one: int, other: int) -> np.uint64:
    """In how many columns two rows differ."""
    digits, _, width = planes.shape
    total = _ZERO
    if digits == 1:
        here, there = planes[0, one], planes[0, other]
        for word in range(width):
            total += popcount(here[word] ^ there[word])
    else:
        for word in range(width):
            differs = _ZERO
            for digit in range(digits):
                differs |= planes[digit, one, word] ^ planes[digit, other, word]
            total += popcount(differs)
    return total
