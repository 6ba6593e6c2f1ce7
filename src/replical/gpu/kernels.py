"""The PyTorch versions of `matrices`, `pairs` and `signs`; what they compute is said there.

*Distances* are products of rows of 1 and -1, whole numbers however they are added. Two rows agree at a position in all of D
digits or not. Written as signs s_d and t_d, the product of the (1 + s_d t_d)/2 says which, and multiplied out it is the sum,
over all sets S of digits, of the product of the s_d in S times that of the t_d in S, divided by 2**D. The sign of a product
is the exclusive or of bits. So, summed over K positions,

    distance = (K (2**D - 1) - sum over S, not empty, of <s_S, t_S>) / 2**D

and pad bits, which are equal, count as positions that agree.

*Balls* of many centres grow side by side. Everyone is sorted by distance from each centre. A step takes the next few rows of
every centre that may still come up to the best ratio, marks where they differ from it, and joins each row's marks with those
of all before it.

*Signs*: on a card where Triton works, which comes with PyTorch there and needs a C compiler, one fused kernel does it
(`triton_signs`). On all other devices a matrix product says most of them. It may add in any order and round less often, so
it is off by rounding. For a sum of d products and a start whose sizes add up to T, any order of rounded or fused operations
is within (d + 2) T 2**-53 of the true sum, to first order, and so is the sum in the fixed order. Where the product is
further than `_SAFE` times that from zero, both have the same sign. The few others, zeros above all, are added up in the
fixed order, one rounded product after the other: PyTorch runs a multiplication and an addition as two operations, and
rounds after each.
"""

from __future__ import annotations

from functools import cache, reduce
from operator import xor

import numpy as np
from numpy.typing import NDArray

from replical.core import bits
from replical.core.bits import Packed, blocks
from replical.core.kernels.matrices import Indices
from replical.core.kernels.pairs import Distances, GrowingBalls, Pairs, Tops, Whole
from replical.gpu import device
from replical.gpu.device import Tensor

_SPREAD = 320  # bytes a word takes where it is spread to a byte a bit, or an int32 an octet
_SIDE = 20_000  # rows of a product on a card; larger ones are no faster
_CENTRES = 2_048  # rows whose distances from everyone are given out together
_UNIT = 32  # rows and columns of a product of bytes are whole multiples of this
_SIGN = 4  # bytes a bit takes while it is spread to a sign, on both sides
_EXACT = 2**24  # sums of fewer signs are exact in single precision
_STEP = 64  # rows added to a ball at a time
_BALL_WORD = 48  # bytes a word takes in a step
_SAFE = 8  # times what two sums can differ by
_TINY = 1e-290  # what products too small for a double may lose
_EACH = 20  # bytes a height takes with its products, comparisons and bits
_MANY = 64  # one in so many left open: then all are added up in order


# ---- matrices ----


def transpose(planes: Packed, rows: Indices, length: int) -> Packed:
    """Rows become columns; the device keeps a copy of them."""
    digits, words = len(planes), bits.words_for(len(rows))
    turned = np.zeros((digits, length, words), dtype=np.uint64)
    if not words:
        return turned
    torch, held, where = device.pytorch(), device.hold(planes), device.send(rows)
    with device.short_of_memory():
        made = torch.zeros(turned.shape, dtype=torch.int64, device=held.device)
        for digit in range(digits):
            for block in device.blocks(bits.words_for(length), _SPREAD * 64 * words):
                bits_here = device.unpack(held[digit, :, block].index_select(0, where))
                values = torch.zeros((bits_here.shape[1], 64 * words), dtype=torch.bool, device=held.device)
                values[:, : len(rows)] = bits_here.T
                columns = slice(64 * block.start, min(64 * block.stop, length))
                made[digit, columns] = device.pack(values)[: columns.stop - columns.start]
        torch.from_numpy(turned.view(np.int64)).copy_(made)
    device.keep(turned, made)
    return turned


# ---- distances ----


def distances(pairs: Pairs, rows: Indices, first: int = 0) -> Distances:
    """Distances of `rows` from all from `first` on; the device keeps a copy."""
    torch = device.pytorch()
    held = [(power, device.hold(planes)) for power, planes in pairs.parts]
    count = pairs.parts[0][1].shape[1] - first
    wide = torch.int64 if pairs.dtype == np.int64 else torch.int32
    with device.short_of_memory():
        far = torch.zeros((len(rows), count), dtype=wide, device=held[0][1].device)
        chosen = device.send(np.asarray(rows))
        for left in blocks(count, 1, _SIDE):
            for power, planes in held:
                some, others = planes[:, chosen], planes[:, first + left.start : first + left.stop]
                far[:, left] += _differences(some, others).to(wide) << power
        narrow = far.to(torch.int16) if pairs.dtype == np.uint16 else far
        found: Distances = narrow.cpu().numpy().view(pairs.dtype)
    device.keep(found, far)
    return found


def rows_at_a_time(pairs: Pairs, rows: Indices) -> int:
    """How many rows' distances from everyone are found at a time: as many as leave room for them to be sorted."""
    return max(1, min(_CENTRES, device.room() // (24 * int(pairs.parts[0][1].shape[1]))))


def _differences(some: Tensor, others: Tensor) -> Tensor:
    """Positions at which rows of `some`, (digits, rows, words), differ from rows of `others`, as whole numbers."""
    digits, _, words = some.shape
    strip = max(1, min(_EXACT // 64, device.room() // (64 * _SIGN * max(1, some.shape[1], others.shape[1]))))
    wide = device.pytorch().int32 if 64 * words * 2**digits < 2**31 else device.pytorch().int64
    total: Tensor = None
    for start in range(0, words, strip):
        a, b = some[..., start : start + strip], others[..., start : start + strip]
        for chosen in range(1, 2**digits):
            signs = (
                device.unpack(
                    reduce(xor, (planes[digit] for digit in range(digits) if chosen >> digit & 1)), signs=True
                )
                for planes in (a, b)
            )
            product = _product(*signs).to(wide)
            total = product if total is None else total.add_(product)
    return (64 * words * (2**digits - 1) - total) >> digits


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Scalar products of rows of signs."""
    torch = device.pytorch()
    if a.is_cuda and _bytes_multiply(str(a.device)):
        rows, columns = len(a), len(b)
        return torch._int_mm(_pad(a), _pad(b).T)[:rows, :columns]
    return (a.to(torch.float32) @ b.to(torch.float32).T).to(torch.int32)


def _pad(a: Tensor) -> Tensor:
    missing = -len(a) % _UNIT
    return device.pytorch().nn.functional.pad(a, (0, 0, 0, missing)) if missing else a


@cache
def _bytes_multiply(here: str) -> bool:
    """Are there products of bytes on this card? They are older than none that is sold, but not in every build."""
    torch = device.pytorch()
    try:
        ones = torch.ones((_UNIT, 2 * _UNIT), dtype=torch.int8, device=here)
        return bool((torch._int_mm(ones, ones.T) == 2 * _UNIT).all())
    except (AttributeError, RuntimeError):
        return False


# ---- balls ----


def tops(balls: GrowingBalls, centres: Whole, far: Distances, *, inner: int, best: float) -> Tops:
    """The highest balls."""
    planes, held, distances = balls.planes, device.hold(balls.planes), device.hold(far)
    found = np.zeros((3, len(centres)), dtype=np.int64)
    masks = _by_digit(balls.heavy, planes.shape[2])
    with device.short_of_memory():
        for block in device.blocks(len(centres), _BALL_WORD * _STEP * planes.shape[2] + 32 * planes.shape[1]):
            grown = _Growth(held, masks, balls.whole, device.send(centres[block]), distances[block], inner, best)
            best = grown.grow()
            found[:, block] = grown.found.cpu()
    ratios = found[1] / np.maximum(found[2], 1)
    found[1:, ratios < best] = 0  # a better one is known; where a ball was left out, it is not this one's highest
    return Tops(inside=found[0], disputed=found[1], radius=found[2])


class _Growth:
    """Balls around some centres while they grow."""

    def __init__(self, planes: Tensor, masks: list[tuple[int, Tensor | None]], whole: int, centres: Tensor, far: Tensor,
                 inner: int, best: float) -> None:  # fmt: skip
        torch = device.pytorch()
        self._planes, self._masks, self._whole = planes, masks, whole
        self._inner, self._best = inner, best
        self._at = planes[:, centres]
        self._radii, self._order = far.sort(dim=1, stable=True)
        self._ball = torch.zeros((len(centres), planes.shape[2]), dtype=torch.int64, device=planes.device)
        self._ratio = torch.full((len(centres),), -1.0, dtype=torch.float64, device=planes.device)
        self.found = torch.zeros((3, len(centres)), dtype=torch.int64, device=planes.device)

    def grow(self) -> float:
        """As far as balls may be the highest; the best ratio that is known then."""
        torch, count = device.pytorch(), self._order.shape[1]
        alive = torch.arange(len(self._at[0]), device=self._order.device)
        for start in range(0, count, _STEP):
            stop = min(start + _STEP, count)
            weight, radii = self._step(alive, start, stop), self._radii[alive, start:stop].to(torch.int64)
            following = self._radii[alive, start + 1 : stop + 1].to(torch.int64)
            if stop == count:
                following = torch.nn.functional.pad(following, (0, 1), value=-1)
            self._look(alive, weight, radii, radii != following)
            if stop == count:
                break
            ahead, last = following[:, -1], radii[:, -1]
            full = (weight[:, -1] == self._whole) & (last > self._inner) & (ahead != last)
            late = (ahead > self._inner) & (self._whole / ahead.clamp(min=1).double() < self._best)
            alive = alive[~(full | late)]
            if not len(alive):
                break
        return self._best

    def _step(self, alive: Tensor, start: int, stop: int) -> Tensor:
        """The weight that each of the next balls of every centre disputes."""
        some = self._order[alive, start:stop]
        marks = self._planes[0][some] ^ self._at[0][alive][:, None]
        for plane, at in zip(self._planes[1:], self._at[1:], strict=True):
            marks |= plane[some] ^ at[alive][:, None]
        marks[:, 0] |= self._ball[alive]
        reach = 1
        while reach < marks.shape[1]:  # each row's marks hold those of `reach` rows up to it
            marks[:, reach:] |= marks[:, :-reach].clone()
            reach *= 2
        self._ball[alive] = marks[:, -1]
        weight = 0
        for power, mask in self._masks:
            weight = weight + (device.set_bits(marks if mask is None else marks & mask).sum(dim=2) << power)
        return weight

    def _look(self, alive: Tensor, weight: Tensor, radii: Tensor, last: Tensor) -> None:
        """Compare the balls that are complete, with the last of their radius, with the highest so far."""
        torch = device.pytorch()
        inside = torch.where(radii <= self._inner, weight, 0).amax(dim=1)  # a larger ball disputes no less
        self.found[0, alive] = torch.maximum(self.found[0, alive], inside)
        ratios = torch.where(last & (radii > self._inner), weight.double() / radii.clamp(min=1).double(), -1.0)
        place = ratios.argmax(dim=1, keepdim=True)  # the first of several
        top = ratios.gather(1, place)[:, 0]
        better = top > self._ratio[alive]
        which, place = alive[better], place[better]
        self._ratio[which] = top[better]
        self.found[1, which] = weight[better].gather(1, place)[:, 0]
        self.found[2, which] = radii[better].gather(1, place)[:, 0]
        self._best = max(self._best, float(top.max()))


def _by_digit(weights: Whole, words: int) -> list[tuple[int, Tensor | None]]:
    """For each binary digit that a weight has: the positions whose weight has it, packed; all positions if none has one."""
    if not len(weights):
        return [(0, None)]
    masks: list[tuple[int, Tensor | None]] = []
    for power in range(int(weights.max()).bit_length()):
        marked = np.zeros(64 * words, dtype=np.bool_)
        marked[: len(weights)] = (weights >> power) & 1 == 1
        masks.append((power, device.send(np.packbits(marked, bitorder="little").view(np.int64))))
    return masks


# ---- signs ----


def signs(points: NDArray[np.float64], factors: NDArray[np.float64], starts: NDArray[np.float64], out: Packed) -> None:
    """Set bit j of row i of `out` where ``starts[j] + factors[j] . points[i] >= 0``; the device keeps a copy of `out`."""
    with device.short_of_memory():
        words = packed_signs(device.send(points), device.send(factors), device.send(starts))
        device.pytorch().from_numpy(out.view(np.int64)).copy_(words)
    device.keep(out, words)


def packed_signs(points: Tensor, factors: Tensor, starts: Tensor) -> Tensor:
    """The same on the device: packed rows, one a point."""
    if points.is_cuda and _fuses(str(points.device)):
        from replical.gpu import triton_signs

        return triton_signs.packed_signs(points, factors, starts)
    torch = device.pytorch()
    count, length = len(factors), bits.words_for(len(factors))
    words = torch.empty((len(points), length), dtype=torch.int64, device=points.device)
    sizes = starts.abs().max() + points.abs() @ factors.abs().amax(dim=0)  # at least T, but for rounding
    doubt = (_SAFE * (points.shape[1] + 2) * 2.0**-52 * sizes + _TINY)[:, None]
    across = factors.T.contiguous()
    left, right = torch.nn.functional.pad(points, (0, 1), value=1.0), torch.cat((across, starts[None]))
    for block in device.blocks(len(points), _EACH * 64 * length):
        some, open_below = points[block], doubt[block]
        heights = left[block] @ right
        values = torch.zeros((len(some), 64 * length), dtype=torch.bool, device=points.device)
        sure = values[:, :count]
        torch.gt(heights, open_below, out=sure)
        undecided = ~sure & ~(heights < -open_below)  # also where a number is too large for a double
        row, column = undecided.nonzero(as_tuple=True)
        if len(row) * _MANY <= len(some) * count:
            sure[row, column] = _in_order(some[row].T, across[:, column], starts[column]) >= 0
        else:
            torch.ge(_in_order(some.T[..., None], across, starts), 0, out=sure)
        words[block] = device.pack(values)
    return words


@cache
def _fuses(here: str) -> bool:
    """Does Triton work on this card?"""
    try:
        from replical.gpu import triton_signs

        return triton_signs.works(here)
    except Exception:  # of many kinds: no Triton, no C compiler, a card it does not know
        return False


def _in_order(points: Tensor, factors: Tensor, starts: Tensor) -> Tensor:
    """Heights of pairs of points and planes, added up in the fixed order."""
    heights = starts
    for x, w in zip(points, factors, strict=True):
        heights = heights + x * w
    return heights
