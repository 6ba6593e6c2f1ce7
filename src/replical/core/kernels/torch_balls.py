"""`balls` on a PyTorch device: the balls of many centres grow side by side, some rows at a time.

Everyone is sorted by distance from each centre. A step takes the next few rows of every centre that may still come up to
the best ratio, marks where they differ from it, and joins each row's marks with those of all before it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.core.bits import Packed
from replical.core.kernels import device
from replical.core.kernels.device import Tensor
from replical.core.kernels.pairs import Distances

Whole = NDArray[np.int64]

_STEP = 64  # rows added to a ball at a time
_WORD = 48  # bytes a word takes in a step


def tops(planes: Packed, weights: Whole, whole: int, centres: Whole, far: Distances, inner: int, best: float
         ) -> tuple[Whole, Whole, Whole]:  # fmt: skip
    """The highest ball of each centre, as `balls.Tops` has it: weight inside, weight disputed, radius."""
    held, distances = device.held(planes), device.held(far)
    found = np.zeros((3, len(centres)), dtype=np.int64)
    masks = _by_digit(weights, planes.shape[2])
    with device.short_of_memory():
        for block in device.blocks(len(centres), _WORD * _STEP * planes.shape[2] + 32 * planes.shape[1]):
            grown = _Growing(held, masks, whole, device.sent(centres[block]), distances[block], inner, best)
            best = grown.grow()
            found[:, block] = grown.found.cpu()
    ratios = found[1] / np.maximum(found[2], 1)
    found[1:, ratios < best] = 0  # a better one is known; where a ball was left out, it is not this one's highest
    return found[0], found[1], found[2]


class _Growing:
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
        masks.append((power, device.sent(np.packbits(marked, bitorder="little").view(np.int64))))
    return masks
