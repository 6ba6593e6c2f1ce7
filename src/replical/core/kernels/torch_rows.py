"""Rows and columns of packed matrices on a PyTorch device: `mixed`, `sums`, `tallies`, `apart`, and rows `turned`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.core import bits
from replical.core.bits import Bits, Packed
from replical.core.kernels import device
from replical.core.kernels.carries import levels
from replical.core.kernels.columns import Columns, Indices
from replical.core.kernels.device import Tensor

_WORD = 40  # bytes a word takes with what is computed from it
_SPREAD = 8 * _WORD  # and where it is spread to a byte a bit, or an int32 an octet


def first_mixed(planes: Packed, digit: int, rows: Indices, columns: Columns) -> tuple[Bits, Indices, Packed, Indices]:
    """Which `rows` of a plane hold both values in the columns, the place in `columns.words` of the first word that shows
    it, that word, and the value that the first column has.
    """  # noqa: D205
    torch, plane = device.pytorch(), device.held(planes)[digit]
    found = np.zeros(len(rows), dtype=np.bool_)
    at, shown, value = (np.zeros(len(rows), dtype=np.int64) for _ in range(3))
    words = None if len(columns.words) == plane.shape[1] else device.sent(columns.words)
    mask, where = device.sent(columns.mask.view(np.int64)), device.sent(rows)
    first, bit = int(columns.chosen[0]) >> 6, int(columns.chosen[0]) & 63
    with device.short_of_memory():
        for block in device.blocks(len(rows), _WORD * max(1, len(columns.words))):
            part = _chosen(plane, rows[block], where[block])
            values = (part[:, first] >> bit) & 1
            part = part if words is None else part.index_select(1, words)
            differs = ((part ^ -values[:, None]) & mask) != 0
            both = differs.any(dim=1)
            place = differs.view(torch.uint8).argmax(dim=1)  # the first of several
            found[block], at[block], value[block] = both.cpu(), place.cpu(), values.cpu()
            shown[block] = part.gather(1, place[:, None])[:, 0].cpu()
    return found, at, shown.view(np.uint64), value


def add_wrong(sums: NDArray[np.int64], planes: Packed, rows: Indices, codes: Indices, power: int) -> None:
    """Add ``2**power`` to the sum of every column, for every row in which it does not spell the row's code."""
    held, where = device.held(planes), device.sent(rows)
    total = device.pytorch().zeros(len(sums), dtype=device.pytorch().int64, device=held.device)
    right = device.sent(codes.astype(np.int64))
    with device.short_of_memory():
        for block in device.blocks(len(rows), _WORD * planes.shape[2]):
            wrong = None
            for digit, plane in enumerate(held):
                spelled = -((right[block] >> digit) & 1)  # all bits of a word
                differs = _chosen(plane, rows[block], where[block]) ^ spelled[:, None]
                wrong = differs if wrong is None else wrong | differs
            total += column_sums(wrong)
    sums += total.cpu().numpy() << power


def column_sums(rows: Tensor) -> Tensor:
    """How many rows have a 1 at each position."""
    torch = device.pytorch()
    sums = torch.zeros(64 * rows.shape[1], dtype=torch.int64, device=rows.device)
    for weight, left in levels(rows, torch.cat):
        sums += weight * device.unpacked(left).sum(dim=0, dtype=torch.int64)
    return sums


def tallies(planes: Packed, rows: Indices, columns: Columns, codes: int) -> NDArray[np.int64]:
    """For each of `rows` (rows): how many of the columns spell each of the numbers below `codes` (columns)."""
    held, where = device.held(planes), device.sent(rows)
    words = None if len(columns.words) == planes.shape[2] else device.sent(columns.words)
    mask = device.sent(columns.mask.view(np.int64))
    counts = np.zeros((len(rows), codes), dtype=np.int64)
    with device.short_of_memory():
        for block in device.blocks(len(rows), (_WORD + 8 * len(planes)) * max(1, len(columns.words))):
            parts = [_chosen(plane, rows[block], where[block]) for plane in held]
            parts = parts if words is None else [part.index_select(1, words) for part in parts]
            for code in range(1, codes):
                spelled = mask
                for digit, part in enumerate(parts):
                    spelled = spelled & (part if (code >> digit) & 1 else ~part)
                counts[block, code] = device.set_bits(spelled).sum(dim=1).cpu()
    counts[:, 0] = len(columns.chosen) - counts.sum(axis=1)
    return counts


def apart(planes: Packed, row: int) -> NDArray[np.int64]:
    """For every row: in how many columns it spells another number than row `row` does."""
    held = device.held(planes)
    counts = np.zeros(planes.shape[1], dtype=np.int64)
    with device.short_of_memory():
        for block in device.blocks(len(counts), _WORD * max(1, planes.shape[2])):
            differs = held[0, block] ^ held[0, row]
            for plane in held[1:]:
                differs |= plane[block] ^ plane[row]
            counts[block] = device.set_bits(differs).sum(dim=1).cpu()
    return counts


def turned(planes: Packed, rows: Indices, result: Packed) -> None:
    """Rows become columns; the device keeps a copy of `result`."""
    torch, held, where = device.pytorch(), device.held(planes), device.sent(rows)
    digits, length, words = result.shape
    with device.short_of_memory():
        made = torch.zeros(result.shape, dtype=torch.int64, device=held.device)
        for digit in range(digits):
            for block in device.blocks(bits.words_for(length), _SPREAD * 64 * words):
                bits_here = device.unpacked(held[digit, :, block].index_select(0, where))
                values = torch.zeros((bits_here.shape[1], 64 * words), dtype=torch.bool, device=held.device)
                values[:, : len(rows)] = bits_here.T
                columns = slice(64 * block.start, min(64 * block.stop, length))
                made[digit, columns] = device.packed(values)[: columns.stop - columns.start]
        torch.from_numpy(result.view(np.int64)).copy_(made)
    device.keep(result, made)


def _chosen(plane: Tensor, rows: Indices, where: Tensor) -> Tensor:
    """These rows of a plane: a view where they follow each other."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (rows[1:] > rows[:-1]).all():
        return plane[int(rows[0]) : int(rows[-1]) + 1]
    return plane.index_select(0, where)
