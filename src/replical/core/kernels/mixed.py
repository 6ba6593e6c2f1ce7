"""Which rows hold both a 0 and a 1 in some columns: where hypotheses disagree, if rows are items.

A row is looked at word by word until it shows both values, and the word that shows it is kept. Who asks about fewer and
fewer columns, as a version space that shrinks does, finds most answers in the words that were kept. Where such a word no
longer shows both values, the row is taken up there: columns that agreed still do when some are gone. So over a whole run
every word of the matrix is passed once.
"""

from __future__ import annotations

import numpy as np

from replical.core.bits import Bits, Packed
from replical.core.blocks import blocks
from replical.core.kernels import choice, threads
from replical.core.kernels.columns import Columns, Indices
from replical.core.kernels.rows import BLOCK, chosen_rows

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
    from replical.core.kernels import torch_rows

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
    from replical.core.kernels import compiled

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
