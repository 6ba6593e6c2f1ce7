"""What is asked about packed matrices, ``planes[digit, row, word]``: rows are items and columns hypotheses, or turned round.

Where hypotheses disagree (`disagreement`), how often everyone was wrong (`add_wrong`), votes (`tallies`), how far everyone
is from one (`distances_from`) and who is nearest (`Nearest`); and parts of a matrix (`gather`), rows as columns
(`transpose`). What stands here is NumPy's version of each, the reference; numba's are in `numba_rows`, PyTorch's in
`replical.gpu.kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replical.core import bits
from replical.core.bits import Bits, Packed, blocks
from replical.core.kernels.backend import register

Indices = NDArray[np.int64]
Sums = NDArray[np.int64]

BLOCK = 2**19  # words looked at at a time: they stay in the cache while several passes are made over them

_ALL = np.uint64(2**64 - 1)
_SOME = 8  # times as many words are looked at every time that a row was not decided
_TRIED = 64  # rows of a block whose first words show whether first words are worth a look
_ROWS, _WORDS = 1024, 128  # added up at a time: as much as stays in the cache
_KEPT = 2**27  # bytes of distances that are kept
_UNPACKED = 2**20  # bits held unpacked at a time


# ---- some columns or rows, without a copy where that is possible ----


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns `chosen` (ascending) of rows that are `length` bits long.

    >>> some = Columns(np.array([1, 2, 130]), 200)
    >>> some.words.tolist(), some.mask.tolist(), some.places.tolist()
    ([0, 2], [6, 4], [1, 2, 66])
    """

    chosen: Indices
    length: int

    @property
    def everything(self) -> bool:
        """Are these all columns?"""
        return len(self.chosen) == self.length

    @property
    def scattered(self) -> bool:
        """Are most words without any of them, so that it pays to visit single words?"""
        return 4 * len(self.words) <= bits.words_for(self.length)

    @cached_property
    def words(self) -> Indices:
        """The words that hold them."""
        if self.everything:
            return np.arange(bits.words_for(self.length), dtype=np.int64)
        return np.flatnonzero(self.full_mask)

    @cached_property
    def places(self) -> Indices:
        """Where each of them is when all other words are dropped."""
        if len(self.words) == bits.words_for(self.length):
            return self.chosen
        new = np.zeros(bits.words_for(self.length), dtype=np.int64)
        new[self.words] = np.arange(len(self.words))
        places: Indices = (new[self.chosen >> 6] << 6) + (self.chosen & 63)
        return places

    @cached_property
    def full_mask(self) -> Packed:
        """Which bits they are, in all words of a row."""
        chosen = np.zeros(self.length, dtype=np.bool_)
        chosen[self.chosen] = True
        return bits.pack(chosen)

    @cached_property
    def mask(self) -> Packed:
        """Which bits they are, in `words`."""
        return self.full_mask[self.words]


def choose_rows(plane: Packed, rows: Indices, words: Indices | None = None) -> Packed:
    """These `rows` of a plane, or these `words` of them: a view where rows follow each other and words are all."""
    if words is not None and len(words) == plane.shape[1]:
        words = None
    if words is not None and 4 * len(words) <= plane.shape[1]:
        return plane[rows[:, None], words]
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (rows[1:] > rows[:-1]).all():
        found = plane[rows[0] : rows[-1] + 1]
    else:
        found = plane[rows]
    return found if words is None else found[:, words]


# ---- where columns disagree ----


def blank_memory(rows: int) -> Indices:
    """What `disagreement` remembers of so many rows before it has looked at them.

    First a number that says where each was left: 128 times the word, plus 2 times the plane, plus the value that all
    columns before this word have there. Second that word, with the bits of this value cleared.
    """
    return np.zeros((2, rows), dtype=np.int64)


def _work(planes: Packed, rows: Indices, columns: Columns, seen: Indices | None = None) -> int:
    return 4 * len(planes) * len(rows)  # words looked at where most rows are answered by what was kept


@register(_work, numba="numba_rows")
def disagreement(planes: Packed, rows: Indices, columns: Columns, seen: Indices | None = None) -> Bits:
    """For each of `rows`: does some plane hold both a 0 and a 1 in the columns, of which there is one at least?

    A row is looked at word by word until it shows both values, and the word that shows it is kept. Who asks about fewer and
    fewer columns, as a version space that shrinks does, finds most answers in the words that were kept: `seen`, from
    `blank_memory`, is brought up to date. Where such a word no longer shows both values, the row is taken up there: columns
    that agreed still do when some are gone. So over a whole run every word of the matrix is passed once.

    >>> planes = np.array([[[5], [7]]], dtype=np.uint64)
    >>> disagreement(planes, np.array([0, 1]), Columns(np.arange(3), 3)).tolist()
    [True, False]
    """
    if seen is None:
        return _disagreement_once(planes, rows, columns)
    found = remembered_disagreement(columns, seen)
    for digit in range(len(planes)):
        left = np.flatnonzero(~found & ((seen[0] >> 1) & 63 <= digit))
        if len(left):
            found[left] = _disagreement_in_plane(planes, digit, rows[left], columns, seen, left)
    return found


def remembered_disagreement(columns: Columns, seen: Indices) -> Bits:
    """For each row: do the columns hold both values in the word that was kept of it? False where that does not tell.

    >>> seen = blank_memory(2)
    >>> planes = np.array([[[5], [7]]], dtype=np.uint64)
    >>> disagreement(planes, np.array([0, 1]), Columns(np.arange(3), 3), seen).tolist()
    [True, False]
    >>> [remembered_disagreement(Columns(np.array(some), 3), seen).tolist() for some in ([0, 1], [0, 2])]
    [[True, False], [False, False]]
    """
    among = columns.full_mask[seen[0] >> 7]
    differs = seen[1].view(np.uint64) & among
    found: Bits = (differs != 0) & ((seen[0] >> 7 > columns.chosen[0] >> 6) | (differs != among))
    return found


def _disagreement_once(planes: Packed, rows: Indices, columns: Columns) -> Bits:
    """With nothing to remember: the first word of a block of rows where it tells anything, then all of them."""
    found, look = np.zeros(len(rows), dtype=np.bool_), _both_values if columns.everything else _both_values_masked
    for block in blocks(len(rows), len(columns.words), BLOCK):
        for plane in planes:
            part = choose_rows(plane, rows[block], columns.words)
            if _both_values_masked(part[:: 1 + len(part) // _TRIED, :1], columns.mask[:1]).any():
                found[block] |= _both_values_masked(part[:, :1], columns.mask[:1])
            if not found[block].all():
                found[block] |= look(part, columns.mask)
    return found


def _disagreement_in_plane(
    planes: Packed, digit: int, rows: Indices, columns: Columns, seen: Indices, which: Indices
) -> Bits:
    """`disagreement` in one plane; what was `seen` of the rows, at `which`, is brought up to date."""
    plane, words, mask, here = planes[digit], columns.words, columns.mask, seen[:, which]
    at = np.where((here[0] >> 1) & 63 == digit, here[0] >> 7, 0)
    fresh = not at.any()
    at = at if fresh else np.searchsorted(words, at)  # the next of the words
    first = plane[rows, words[0]]
    value = np.where(at > 0, here[0] & 1, ((first >> np.uint64(columns.chosen[0] & 63)) & np.uint64(1)).view(np.int64))
    flip = np.where(value == 1, _ALL, np.uint64(0))
    found: Bits = (at == 0) & ((first ^ flip) & mask[0] != 0)
    at[(at == 0) & ~found] = 1
    left, count = np.flatnonzero(~found & (at < len(words))), 1
    if fresh:  # most of what is left agrees everywhere: pass over whole rows, without a copy
        left, count = _pass_over(plane, rows, columns, left, at), _SOME
    while len(left):
        hit = np.zeros(len(left), dtype=np.bool_)
        for block in blocks(len(left), count, BLOCK):
            some = left[block]
            ahead = np.minimum(at[some, None] + np.arange(count), len(words) - 1)
            differs = (plane[rows[some, None], words[ahead]] ^ flip[some, None]) & mask[ahead] != 0
            hit[block] = differs.any(axis=1)
            at[some] += np.where(hit[block], differs.argmax(axis=1), count)
        found[left[hit]] = True
        left, count = left[~hit & (at[left] < len(words))], _SOME * count
    later = np.flatnonzero(found & (at > 0))
    first[later] = plane[rows[later], words[at[later]]]
    word = words[np.minimum(at, len(words) - 1)]
    seen[0, which] = np.where(found, 128 * word + 2 * digit + value, 2 * (digit + 1))
    seen[1, which] = np.where(found, first ^ flip, np.uint64(0)).view(np.int64)
    return found


def _pass_over(plane: Packed, rows: Indices, columns: Columns, left: Indices, at: Indices) -> Indices:
    """Those of `left` that do hold both values; the others are passed."""
    both = np.zeros(len(left), dtype=np.bool_)
    for block in blocks(len(left), len(columns.words), BLOCK):
        part = choose_rows(plane, rows[left[block]], columns.words)
        both[block] = (_both_values if columns.everything else _both_values_masked)(part, columns.mask)
    at[left[~both]] = len(columns.words)
    return left[both]


def _both_values_masked(rows: Packed, mask: Packed) -> Bits:
    ones = rows & mask
    some = np.bitwise_or.reduce(ones, axis=1) != 0
    lacking = np.bitwise_or.reduce(np.bitwise_xor(ones, mask, out=ones), axis=1) != 0
    both: Bits = some & lacking
    return both


def _both_values(rows: Packed, mask: Packed) -> Bits:
    """As `_both_values_masked` where the mask is full but for the pad bits of the last word: two passes and no copy."""
    some = np.bitwise_or.reduce(rows, axis=1) != 0
    lacking = (np.bitwise_and.reduce(rows[:, :-1], axis=1) != _ALL) | (rows[:, -1] != mask[-1])
    both: Bits = some & lacking
    return both


# ---- sums and votes ----


@register(
    lambda sums, planes, rows, *_, **power: 6 * len(planes) * len(rows) * planes.shape[2],
    numba="numba_rows",
)  # fmt: skip
def add_wrong(sums: Sums, planes: Packed, rows: Indices, codes: Indices, power: int = 0) -> None:
    """Add ``2**power`` to the sum of every column, for each of `rows` in which it does not spell the row's code.

    Column c spells in row r the number whose binary digits are there. `sums` has one sum a column, pad bits included.

    >>> sums = np.zeros(64, dtype=np.int64)
    >>> planes = np.array([[[5], [4], [6]]], dtype=np.uint64)
    >>> add_wrong(sums, planes, np.array([0, 1, 2]), np.array([0, 0, 0]))
    >>> add_wrong(sums, planes, np.array([0]), np.array([1]), power=4)
    >>> sums[:3].tolist()
    [1, 17, 3]
    """
    width = planes.shape[2]
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

    Carry-save adders turn three rows of one weight into a sum of that weight and a carry of twice the weight, 64 columns a
    word; a column's count stands upright, one bit in each of a few rows, and is read once, at the end.

    >>> column_sums(np.array([[5], [4], [6]], dtype=np.uint64), 3).tolist()
    [1, 1, 3]
    """
    sums, weight = np.zeros(length, dtype=np.int64), 1
    while len(rows):
        carries = []
        while len(rows) >= 3:
            third = len(rows) // 3
            a, b, c = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]
            either = a ^ b
            carries.append((a & b) | (either & c))
            rows = np.concatenate((either ^ c, rows[3 * third :]))
        for row in rows:
            sums += weight * bits.unpack(row, length)
        rows = np.concatenate(carries) if carries else rows[:0]
        weight *= 2
    return sums


def tallies(planes: Packed, rows: Indices, columns: Columns, codes: int) -> NDArray[np.int64]:
    """For each of `rows` (rows): how many of the columns spell each of the numbers below `codes` (columns).

    >>> planes = np.array([[[5], [7]]], dtype=np.uint64)
    >>> tallies(planes, np.array([0, 1]), Columns(np.arange(3), 3), 2).tolist()
    [[1, 2], [0, 3]]
    """
    counts = np.zeros((len(rows), codes), dtype=np.int64)
    for block in blocks(len(rows), len(columns.words), BLOCK):
        parts = [choose_rows(plane, rows[block], columns.words) for plane in planes]
        for code in range(1, codes):
            spelled = np.broadcast_to(columns.mask, parts[0].shape)
            for digit, part in enumerate(parts):
                spelled = spelled & (part if (code >> digit) & 1 else ~part)
            counts[block, code] = np.bitwise_count(spelled).sum(axis=1, dtype=np.int64)
    counts[:, 0] = len(columns.chosen) - counts.sum(axis=1)  # whoever spells no other code
    return counts


# ---- distances ----


def distances_from(planes: Packed, row: int) -> NDArray[np.int64]:
    """For every row: in how many columns it spells another number than row `row` does.

    >>> distances_from(np.array([[[5], [6], [5]]], dtype=np.uint64), 0).tolist()
    [0, 2, 0]
    """
    differs = planes[0] ^ planes[0, row]
    for plane in planes[1:]:
        differs |= plane ^ plane[row]
    distances: NDArray[np.int64] = np.bitwise_count(differs).sum(axis=1, dtype=np.int64)
    return distances


class Nearest:
    """Which of a few rows of a matrix each row differs least from; NumPy keeps distances, because the same few come back.

    >>> near = Nearest(np.array([[[0], [1], [6], [7]]], dtype=np.uint64))
    >>> near.of(np.array([1, 2]), np.array([0, 3])).tolist()
    [0, 1]
    >>> near.marks(np.array([1, 2]), np.array([0, 3]), np.array([True, False])).tolist()
    [True, False]
    """

    def __init__(self, planes: Packed) -> None:
        self.planes = planes
        self._known: dict[int, NDArray[np.int32]] = {}

    def of(self, rows: Indices, few: Indices) -> Indices:
        """For each of `rows` the place in `few` of the nearest of these, the first if several are equally near."""
        nearest, places = self._from(int(few[0]))[rows], np.zeros(len(rows), dtype=np.int64)
        for place, row in enumerate(few[1:].tolist(), start=1):
            distances = self._from(row)[rows]
            places[distances < nearest] = place
            np.minimum(nearest, distances, out=nearest)
        return places

    def marks(self, rows: Indices, few: Indices, marks: Bits) -> Bits:
        """For each of `rows`: does the nearest of `few` have a mark? Where all marks are equal nothing is measured."""
        if np.count_nonzero(marks) in {0, len(few)}:
            return np.full(len(rows), marks[0])
        return self._marks(rows, few, marks)

    @register(lambda near, rows, few, marks: len(rows) * len(few), numba="numba_rows")
    def _marks(self, rows: Indices, few: Indices, marks: Bits) -> Bits:
        return marks[self.of(rows, few)]

    def _from(self, row: int) -> NDArray[np.int32]:
        if row not in self._known:
            if len(self._known) * self.planes.shape[1] * 4 > _KEPT:
                del self._known[next(iter(self._known))]
            self._known[row] = distances_from(self.planes, row).astype(np.int32)
        return self._known[row]


# ---- parts ----


def gather(planes: Packed, rows: Indices, columns: Indices) -> Packed:
    """The chosen `rows` and `columns` of a packed matrix as one of their own, in the order given.

    >>> planes = np.array([[[5], [6]]], dtype=np.uint64)
    >>> gather(planes, np.array([1, 0]), np.array([0, 2])).tolist()
    [[[2], [3]]]
    """
    gathered = np.zeros((len(planes), len(rows), bits.words_for(len(columns))), dtype=np.uint64)
    octet, bit = columns >> 3, (columns & 7).astype(np.uint8)
    for block in blocks(len(rows), len(columns), _UNPACKED):
        for digit, plane in enumerate(planes):
            octets = np.ascontiguousarray(choose_rows(plane, rows[block])).astype("<u8", copy=False).view(np.uint8)
            values = np.take(octets, octet, axis=1)
            np.right_shift(values, bit, out=values)
            np.bitwise_and(values, np.uint8(1), out=values)
            gathered[digit, block] = bits.pack(values.view(np.bool_))
    return gathered


@register(lambda planes, rows, length: len(planes) * len(rows) * length // 2, numba="numba_rows", torch=True)
def transpose(planes: Packed, rows: Indices, length: int) -> Packed:
    """The chosen `rows`, `length` bits long, as columns.

    >>> transpose(np.array([[[5], [6]]], dtype=np.uint64), np.array([0, 1]), 3).tolist()
    [[[1], [2], [3]]]
    """
    turned = np.zeros((len(planes), length, bits.words_for(len(rows))), dtype=np.uint64)
    step = 64 * max(1, _UNPACKED // max(64, 64 * len(rows)))
    for digit, plane in enumerate(planes):
        for start in range(0, length, step):
            stop = min(start + step, length)
            part = plane[rows, start // 64 : bits.words_for(stop)]
            turned[digit, start:stop] = bits.pack(bits.unpack(part, stop - start).T)
    return turned
