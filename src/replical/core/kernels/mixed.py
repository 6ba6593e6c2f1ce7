"""Which rows hold both a 0 and a 1 in some columns: where hypotheses disagree, if rows are items.

Most rows show both in a few words, so these are looked at first, and the rest of the words only in the rows that are left.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from replical.core.bits import Bits, Packed
from replical.core.kernels import choice, threads
from replical.core.kernels.columns import Columns, Indices
from replical.core.kernels.rows import blocks, chosen_rows

_SOME = 8  # words looked at after the first one and before all of them
_THREAD = 2**17  # words worth a thread


def mixed(planes: Packed, rows: Indices, columns: Columns) -> Bits:
    """For each of `rows`: does some plane hold both a 0 and a 1 in the columns?

    Parameters
    ----------
    planes
        Packed matrices, ``planes[digit, row, word]``, with pad bits zero.
    rows
        The rows asked about.
    columns
        The columns looked at, at least one.

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
    if choice.compiles(len(planes) * len(rows) * min(len(columns.words), _SOME)):
        return _compiled(planes, rows, columns)
    found = np.zeros(len(rows), dtype=np.bool_)
    for words, mask in _looks(columns):
        left = np.flatnonzero(~found)
        pad_free = columns.everything and len(words) == planes.shape[2]
        for block in blocks(len(left), len(words)):
            some = left[block]
            for plane in planes:
                part = chosen_rows(plane, rows[some], words)
                found[some] |= _whole(part, mask) if pad_free else _masked(part, mask)
    return found


def _looks(columns: Columns) -> Iterator[tuple[Indices, Packed]]:
    """The word that holds most of the columns, a few words, all of them."""
    words, mask = columns.words, columns.mask
    if len(words) > _SOME:
        fullest = int(np.bitwise_count(mask).argmax())
        yield words[fullest : fullest + 1], mask[fullest : fullest + 1]
        yield words[:_SOME], mask[:_SOME]
    yield words, mask


def _masked(rows: Packed, mask: Packed) -> Bits:
    ones = rows & mask
    some = np.bitwise_or.reduce(ones, axis=1) != 0
    lacking = np.bitwise_or.reduce(np.bitwise_xor(ones, mask, out=ones), axis=1) != 0
    both: Bits = some & lacking
    return both


def _whole(rows: Packed, mask: Packed) -> Bits:
    """As `_masked` where the mask is full but for the pad bits of the last word: two passes and no copy."""
    some = np.bitwise_or.reduce(rows, axis=1) != 0
    lacking = (np.bitwise_and.reduce(rows[:, :-1], axis=1) != np.uint64(2**64 - 1)) | (rows[:, -1] != mask[-1])
    both: Bits = some & lacking
    return both


def _compiled(planes: Packed, rows: Indices, columns: Columns) -> Bits:
    from replical.core.kernels import compiled

    found = np.zeros(len(rows), dtype=np.bool_)
    fullest = int(np.bitwise_count(columns.mask).argmax())
    least = max(1, _THREAD // len(columns.words))
    if columns.scattered:
        words, mask = columns.words, columns.mask
        threads.share(
            lambda start, stop: compiled.mixed_in_words(planes, rows, words, mask, fullest, found, start, stop),
            len(rows),
            least,
        )
    else:
        full, word = columns.full_mask, int(columns.words[fullest])
        threads.share(
            lambda start, stop: compiled.mixed(planes, rows, full, word, found, start, stop), len(rows), least
        )
    return found
