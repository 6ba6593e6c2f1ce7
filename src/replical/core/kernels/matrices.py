"""Which rows hold both a 0 and a 1 in some columns: where hypotheses disagree, if rows are items.

A row is looked at word by word until it shows both values, and the word that shows it is kept. Who asks about fewer and
fewer columns, as a version space that shrinks does, finds most answers in the words that were kept. Where such a word no
longer shows both values, the row is taken up there: columns that agreed still do when some are gone. So over a whole run
every word of the matrix is passed once.

Column sums of packed rows: how often everybody was wrong, if rows are items and columns hypotheses.

Carry-save adders turn three rows of one weight into a sum of that weight and a carry of twice the weight, 64 columns a
word; a column's count stands upright, one bit in each of a few rows, and is read once, at the end.

How many columns spell each code in a row: votes, if rows are items and columns hypotheses.

In how many columns every row differs from one of them: distances from one hypothesis, if rows are hypotheses.

Which of a few rows each row differs least from: opponents, if rows are hypotheses.

Packed matrices made smaller or turned: chosen rows and columns moved together, rows become columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.core import bits
from replical.core.bits import Bits, Packed, blocks
from replical.core.kernels import backend as choice
from replical.core.kernels import backend as threads
from replical.core.kernels.columns import BLOCK, Columns, Indices, chosen_rows, levels

_SOME = 8  # times as many words are looked at every time that a row was not decided
_TRIED = 64  # rows of a block whose first words show whether first words are worth a look
_THREAD = 2**19  # words worth a thread
_ALL = np.uint64(2**64 - 1)


def unseen(rows: int) -> Indices:
    """What `mixed` remembers of so many rows before it has looked at them.

    First a number that says where each was left: 128 times the word, plus 2 times the plane, plus the value that all
    columns before this word have there. Second that word, with the bits of this value cleared.
    """
    return np.zeros((2, rows), dtype=np.int64)


def mixed(planes: Packed, rows: Indices, columns: Columns, seen: Indices | None = None) -> Bits:
    """For each of `rows`: does some plane hold both a 0 and a 1 in the columns?

    Parameters
    ----------
    planes
        Packed matrices, ``planes[digit, row, word]``, with pad bits zero.
    rows
        The rows asked about.
    columns
        The columns looked at, at least one.
    seen
        What was seen of these rows when more columns were looked at, from `unseen`; brought up to date.

    Returns
    -------
    both
        One truth value a row.

    Examples
    --------
    >>> planes = np.array([[[5], [7]]], dtype=np.uint64)
    >>> mixed(planes, np.array([0, 1]), Columns(np.arange(3), 3)).tolist()
    [True, False]
    """
    few = 4 * len(planes) * len(rows)  # words looked at where most rows are answered by what was kept
    fresh = seen is None or not seen.any()
    in_plane = _in_plane
    if choice.on_device(len(planes) * len(rows) * len(columns.words) if fresh else few):
        seen, in_plane = unseen(len(rows)) if seen is None else seen, _on_device
    elif choice.compiles(few):
        return _compiled(planes, rows, columns, unseen(len(rows)) if seen is None else seen)
    elif seen is None:
        return _once(planes, rows, columns)
    found = still_mixed(columns, seen)
    for digit in range(len(planes)):
        left = np.flatnonzero(~found & ((seen[0] >> 1) & 63 <= digit))
        if len(left):
            found[left] = in_plane(planes, digit, rows[left], columns, seen, left)
    return found


def still_mixed(columns: Columns, seen: Indices) -> Bits:
    """For each row: do the columns hold both values in the word that was kept of it? False where that does not tell.

    Examples
    --------
    >>> seen = unseen(2)
    >>> planes = np.array([[[5], [7]]], dtype=np.uint64)
    >>> mixed(planes, np.array([0, 1]), Columns(np.arange(3), 3), seen).tolist()
    [True, False]
    >>> still_mixed(Columns(np.array([0, 1]), 3), seen).tolist(), still_mixed(Columns(np.array([0, 2]), 3), seen).tolist()
    ([True, False], [False, False])
    """
    among = columns.full_mask[seen[0] >> 7]
    differs = seen[1].view(np.uint64) & among
    found: Bits = (differs != 0) & ((seen[0] >> 7 > columns.chosen[0] >> 6) | (differs != among))
    return found


def _once(planes: Packed, rows: Indices, columns: Columns) -> Bits:
    """`mixed` with nothing to remember: the first word of a block of rows where it tells anything, then all of them."""
    found, look = np.zeros(len(rows), dtype=np.bool_), _whole if columns.everything else _masked
    for block in blocks(len(rows), len(columns.words), BLOCK):
        for plane in planes:
            part = chosen_rows(plane, rows[block], columns.words)
            if _masked(part[:: 1 + len(part) // _TRIED, :1], columns.mask[:1]).any():
                found[block] |= _masked(part[:, :1], columns.mask[:1])
            if not found[block].all():
                found[block] |= look(part, columns.mask)
    return found


def _in_plane(planes: Packed, digit: int, rows: Indices, columns: Columns, seen: Indices, which: Indices) -> Bits:
    """`mixed` in one plane; what was `seen` of the rows, at `which`, is brought up to date."""
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
        left, count = _settle(plane, rows, columns, left, at), _SOME
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
    seen[0, which] = np.where(found, 128 * words[np.minimum(at, len(words) - 1)] + 2 * digit + value, 2 * (digit + 1))
    seen[1, which] = np.where(found, first ^ flip, np.uint64(0)).view(np.int64)
    return found


def _on_device(planes: Packed, digit: int, rows: Indices, columns: Columns, seen: Indices, which: Indices) -> Bits:
    """As `_in_plane`, all words at once on a PyTorch device."""
    from replical.core.kernels import torch_kernels as torch_rows

    found, at, word, value = torch_rows.first_mixed(planes, digit, rows, columns)
    flip = np.where(value == 1, _ALL, np.uint64(0))
    seen[0, which] = np.where(found, 128 * columns.words[at] + 2 * digit + value, 2 * (digit + 1))
    seen[1, which] = np.where(found, word ^ flip, np.uint64(0)).view(np.int64)
    return found


def _settle(plane: Packed, rows: Indices, columns: Columns, left: Indices, at: Indices) -> Indices:
    """Those of `left` that do hold both values; the others are passed."""
    both = np.zeros(len(left), dtype=np.bool_)
    for block in blocks(len(left), len(columns.words), BLOCK):
        part = chosen_rows(plane, rows[left[block]], columns.words)
        both[block] = (_whole if columns.everything else _masked)(part, columns.mask)
    at[left[~both]] = len(columns.words)
    return left[both]


def _masked(rows: Packed, mask: Packed) -> Bits:
    ones = rows & mask
    some = np.bitwise_or.reduce(ones, axis=1) != 0
    lacking = np.bitwise_or.reduce(np.bitwise_xor(ones, mask, out=ones), axis=1) != 0
    both: Bits = some & lacking
    return both


def _whole(rows: Packed, mask: Packed) -> Bits:
    """As `_masked` where the mask is full but for the pad bits of the last word: two passes and no copy."""
    some = np.bitwise_or.reduce(rows, axis=1) != 0
    lacking = (np.bitwise_and.reduce(rows[:, :-1], axis=1) != _ALL) | (rows[:, -1] != mask[-1])
    both: Bits = some & lacking
    return both


def _compiled(planes: Packed, rows: Indices, columns: Columns, seen: Indices) -> Bits:
    from replical.core.kernels import numba_rows as compiled

    found, first = np.zeros(len(rows), dtype=np.bool_), int(columns.chosen[0])
    fresh = not seen.any()
    least = max(1, _THREAD // len(columns.words)) if fresh else _THREAD  # most rows are answered by what was kept
    if fresh:
        threads.share(
            lambda start, stop: compiled.look(planes, rows, first, seen, start, stop), len(rows), _THREAD // 8
        )
    if columns.scattered:
        words, mask = columns.words, columns.mask
        threads.share(
            lambda start, stop: compiled.mixed_in_words(planes, rows, words, mask, first, seen, found, start, stop),
            len(rows),
            least,
        )
    else:
        full = columns.full_mask
        threads.share(
            lambda start, stop: compiled.mixed(planes, rows, full, first, seen, found, start, stop), len(rows), least
        )
    return found


Sums = NDArray[np.int64]
_ROWS, _WORDS = 1024, 128  # added up at a time: as much as stays in the cache
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
        from replical.core.kernels import torch_kernels as torch_rows

        torch_rows.add_wrong(sums, planes, rows, codes, power)
        return
    if choice.compiles(_PASSES * len(planes) * len(rows) * width):
        from replical.core.kernels import numba_rows as compiled

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


def tallies(planes: Packed, rows: Indices, columns: Columns, codes: int) -> NDArray[np.int64]:
    """For each of `rows` (rows): how many of the columns spell each of the numbers below `codes` (columns).

    Examples
    --------
    >>> planes = np.array([[[5], [7]]], dtype=np.uint64)
    >>> tallies(planes, np.array([0, 1]), Columns(np.arange(3), 3), 2).tolist()
    [[1, 2], [0, 3]]
    """
    counts = np.zeros((len(rows), codes), dtype=np.int64)
    work = len(rows) * len(columns.words) * codes * (len(planes) + 1)
    if choice.on_device(work):
        from replical.core.kernels import torch_kernels as torch_rows

        return torch_rows.tallies(planes, rows, columns, codes)
    if choice.compiles(work):
        from replical.core.kernels import numba_rows as compiled

        words, mask = columns.words, columns.mask
        threads.share(
            lambda start, stop: compiled.tallies(planes, rows, words, mask, counts, start, stop),
            len(rows),
            max(1, _THREAD // max(1, len(words) * codes)),
        )
        return counts
    for block in blocks(len(rows), len(columns.words), BLOCK):
        parts = [chosen_rows(plane, rows[block], columns.words) for plane in planes]
        for code in range(1, codes):
            spelled = np.broadcast_to(columns.mask, parts[0].shape)
            for digit, part in enumerate(parts):
                spelled = spelled & (part if (code >> digit) & 1 else ~part)
            counts[block, code] = np.bitwise_count(spelled).sum(axis=1, dtype=np.int64)
    counts[:, 0] = len(columns.chosen) - counts.sum(axis=1)  # whoever spells no other code
    return counts


_PASSES_apart = 4  # that NumPy makes


def apart(planes: Packed, row: int) -> NDArray[np.int64]:
    """For every row: in how many columns it spells another number than row `row` does.

    Examples
    --------
    >>> apart(np.array([[[5], [6], [5]]], dtype=np.uint64), 0).tolist()
    [0, 2, 0]
    """
    if choice.on_device(_PASSES_apart * planes.size):
        from replical.core.kernels import torch_kernels as torch_rows

        return torch_rows.apart(planes, row)
    if choice.compiles(_PASSES_apart * planes.size):
        from replical.core.kernels import numba_rows as compiled

        counts = np.zeros(planes.shape[1], dtype=np.int64)
        least = max(1, _THREAD // max(1, planes.shape[2]))
        threads.share(lambda start, stop: compiled.apart(planes, row, counts, start, stop), len(counts), least)
        return counts
    differs = planes[0] ^ planes[0, row]
    for plane in planes[1:]:
        differs |= plane ^ plane[row]
    distances: NDArray[np.int64] = np.bitwise_count(differs).sum(axis=1, dtype=np.int64)
    return distances


_KEPT = 2**27  # bytes of distances that are kept


class Nearest:
    """Rows of packed matrices ``planes[digit, row, word]``; NumPy keeps distances, because the same few rows come back.

    Examples
    --------
    >>> near = Nearest(np.array([[[0], [1], [6], [7]]], dtype=np.uint64))
    >>> near.of(np.array([1, 2]), np.array([0, 3])).tolist()
    [0, 1]
    >>> near.marked(np.array([1, 2]), np.array([0, 3]), np.array([True, False])).tolist()
    [True, False]
    """

    def __init__(self, planes: Packed) -> None:
        self._planes = planes
        self._known: dict[int, NDArray[np.int32]] = {}

    def of(self, rows: Indices, few: Indices) -> Indices:
        """For each of `rows` the place in `few` of the nearest of these, the first if several are equally near."""
        nearest, places = self._from(int(few[0]))[rows], np.zeros(len(rows), dtype=np.int64)
        for place, row in enumerate(few[1:].tolist(), start=1):
            distances = self._from(row)[rows]
            places[distances < nearest] = place
            np.minimum(nearest, distances, out=nearest)
        return places

    def marked(self, rows: Indices, few: Indices, marks: Bits) -> Bits:
        """For each of `rows`: does the nearest of `few` have a mark? `marks` has one truth value for each of these.

        Where all marks are equal nothing is measured. Otherwise the compiled version looks at the smaller part first and
        then at the others, until one of them is nearer.
        """
        small = np.count_nonzero(marks)
        if small in {0, len(few)}:
            return np.full(len(rows), marks[0])
        if choice.compiles(len(rows) * len(few)):
            from replical.core.kernels import numba_rows as compiled

            common = 2 * small > len(few)
            some, others = np.flatnonzero(marks != common), np.flatnonzero(marks == common)
            found, planes = np.empty(len(rows), dtype=np.bool_), self._planes
            least = max(1, _THREAD // max(1, len(few) * planes.shape[2] * len(planes)))
            threads.share(
                lambda start, stop: compiled.nearest_in(planes, rows, few, some, others, found, start, stop),
                len(rows),
                least,
            )
            return ~found if common else found
        return marks[self.of(rows, few)]

    def _from(self, row: int) -> NDArray[np.int32]:
        if row not in self._known:
            if len(self._known) * self._planes.shape[1] * 4 > _KEPT:
                del self._known[next(iter(self._known))]
            self._known[row] = apart(self._planes, row).astype(np.int32)
        return self._known[row]


_BLOCK = 2**20  # bits held unpacked at a time
_PASSES_moves = 4  # that NumPy makes over the unpacked bits, eight to a word


def together(planes: Packed, rows: Indices, columns: Indices) -> Packed:
    """The chosen `rows` and `columns` of a packed matrix as one of their own, in the order given.

    Examples
    --------
    >>> planes = np.array([[[5], [6]]], dtype=np.uint64)
    >>> together(planes, np.array([1, 0]), np.array([0, 2])).tolist()
    [[[2], [3]]]
    """
    moved = np.zeros((len(planes), len(rows), bits.words_for(len(columns))), dtype=np.uint64)
    if choice.compiles(_PASSES_moves * moved.size * 8):
        from replical.core.kernels import numba_rows as compiled

        threads.share(
            lambda start, stop: compiled.together(planes, rows, columns, moved, start, stop),
            len(rows),
            max(1, _THREAD // max(1, len(columns))),
        )
        return moved
    octet, bit = columns >> 3, (columns & 7).astype(np.uint8)
    for block in blocks(len(rows), len(columns), _BLOCK):
        for digit, plane in enumerate(planes):
            octets = np.ascontiguousarray(chosen_rows(plane, rows[block])).astype("<u8", copy=False).view(np.uint8)
            values = np.take(octets, octet, axis=1)
            np.right_shift(values, bit, out=values)
            np.bitwise_and(values, np.uint8(1), out=values)
            moved[digit, block] = bits.pack(values.view(np.bool_))
    return moved


def turned(planes: Packed, rows: Indices, length: int) -> Packed:
    """The chosen `rows`, `length` bits long, as columns.

    Examples
    --------
    >>> turned(np.array([[[5], [6]]], dtype=np.uint64), np.array([0, 1]), 3).tolist()
    [[[1], [2], [3]]]
    """
    result = np.zeros((len(planes), length, bits.words_for(len(rows))), dtype=np.uint64)
    step = 64 * max(1, _BLOCK // max(64, 64 * len(rows)))
    if len(rows) and choice.on_device(_PASSES_moves * len(planes) * len(rows) * length // 8):
        from replical.core.kernels import torch_kernels as torch_rows

        torch_rows.turned(planes, rows, result)
        return result
    if choice.compiles(_PASSES_moves * len(planes) * len(rows) * length // 8):
        from replical.core.kernels import numba_rows as compiled

        threads.share(lambda start, stop: compiled.turned(planes, rows, result, start, stop), planes.shape[2], 64)
        return result
    for digit, plane in enumerate(planes):
        for start in range(0, length, step):
            stop = min(start + step, length)
            part = plane[rows, start // 64 : bits.words_for(stop)]
            result[digit, start:stop] = bits.pack(bits.unpack(part, stop - start).T)
    return result
