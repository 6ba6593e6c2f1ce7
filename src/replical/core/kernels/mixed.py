"""Which rows hold both a 0 and a 1 in some columns: where hypotheses disagree, if rows are items.

A row is looked at word by word until it shows both values. Who asks about fewer and fewer columns, as a version space that
shrinks does, looks at no word twice in vain: columns that agree still do when some are gone, so a row is taken up where it
was left, and over a whole run every word is passed once.
"""

from __future__ import annotations

import numpy as np

from replical.core.bits import Bits, Packed
from replical.core.kernels import choice, threads
from replical.core.kernels.columns import Columns, Indices
from replical.core.kernels.rows import blocks, chosen_rows

_SOME = 8  # words looked at after the first one and before all of them
_THREAD = 2**14  # rows worth a thread
_ALL = np.uint64(2**64 - 1)


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
        How far each row was looked at for more columns, zeros at first; brought up to date. Twice the number of words
        passed, in all planes one after the other, plus the value that they agree on in the last of these planes.

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
    seen = np.zeros(len(rows), dtype=np.int64) if seen is None else seen
    if choice.compiles(4 * len(planes) * len(rows)):
        return _compiled(planes, rows, columns, seen)
    found = np.zeros(len(rows), dtype=np.bool_)
    for digit in range(len(planes)):
        left = np.flatnonzero(~found & (seen < 2 * (digit + 1) * planes.shape[2]))
        found[left] = _in_plane(planes[digit], rows[left], columns, seen, left, digit * planes.shape[2])
    return found


def _in_plane(plane: Packed, rows: Indices, columns: Columns, seen: Indices, which: Indices, passed: int) -> Bits:
    """`mixed` in one plane, before which `passed` words were; `seen` at `which` is brought up to date."""
    words, mask, found = columns.words, columns.mask, np.zeros(len(rows), dtype=np.bool_)
    at = np.searchsorted(words, (seen[which] >> 1) - passed)  # the next of the words
    value = np.where(at > 0, seen[which] & 1, (plane[rows, words[0]] >> np.uint64(columns.chosen[0] & 63)) & 1 == 1)
    flip = np.where(value == 1, _ALL, np.uint64(0))
    left, count, fresh = np.flatnonzero(at < len(words)), 1, not at.any()
    while len(left):
        if (
            fresh and count > _SOME
        ):  # most of those that are left agree everywhere: pass over whole rows, without a copy
            left, fresh = _settle(plane, rows, columns, left, at), False
            continue
        hit = np.zeros(len(left), dtype=np.bool_)
        for block in blocks(len(left), count):
            some = left[block]
            ahead = np.minimum(at[some, None] + np.arange(count), len(words) - 1)
            differs = (plane[rows[some, None], words[ahead]] ^ flip[some, None]) & mask[ahead] != 0
            hit[block] = differs.any(axis=1)
            at[some] += np.where(hit[block], differs.argmax(axis=1), count)
        found[left[hit]] = True
        left, count = left[~hit & (at[left] < len(words))], _SOME * count
    seen[which] = 2 * (passed + np.append(words, plane.shape[1])[np.minimum(at, len(words))]) + (value == 1)
    return found


def _settle(plane: Packed, rows: Indices, columns: Columns, left: Indices, at: Indices) -> Indices:
    """Those of `left` that do hold both values; the others are passed."""
    both = np.zeros(len(left), dtype=np.bool_)
    for block in blocks(len(left), len(columns.words)):
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
    from replical.core.kernels import compiled

    found, first = np.zeros(len(rows), dtype=np.bool_), int(columns.chosen[0])
    if columns.scattered:
        words, mask = columns.words, columns.mask
        threads.share(
            lambda start, stop: compiled.mixed_in_words(planes, rows, words, mask, first, seen, found, start, stop),
            len(rows),
            _THREAD,
        )
    else:
        full = columns.full_mask
        threads.share(
            lambda start, stop: compiled.mixed(planes, rows, full, first, seen, found, start, stop), len(rows), _THREAD
        )
    return found
