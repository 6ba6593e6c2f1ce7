"""Littlestone and VC dimension of a finite class with two labels, exactly.

A class shatters a set of items if its hypotheses label them in all possible ways: the largest such set is the VC dimension.
An adversary who chooses each item by the labels given so far keeps both labels possible for longer: that depth is the
Littlestone dimension, finite exactly where some learner is replicable under every distribution of items (quoted in
docs/explanation/open-problems.md). Sets of hypotheses are whole numbers with one bit each.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from replical.classes.base import HypothesisClass, Items
from replical.errors import ValueOutOfRange

_LARGEST = 2**10  # hypotheses
_CELLS = 2**24  # hypotheses times items
_STEPS = 2 * 10**6  # sets that an item parts; a second or two

Sets = list[int]


def littlestone(C: HypothesisClass, items: Items | None = None) -> int:
    """The Littlestone dimension of `C` on checked `items`, the class's own cells if left out.

    Raises
    ------
    ValueOutOfRange
        If the class has more than two labels, lists no cells, or is too large for an exact answer.

    Examples
    --------
    >>> from replical import Star, Thresholds
    >>> littlestone(Thresholds(1000)), littlestone(Star(50))
    (9, 1)
    """
    everybody, splits = _splits(C, items)
    known: dict[tuple[int, int], bool] = {}
    spend = _purse()

    def lasts(V: int, depth: int) -> bool:
        """Can an adversary ask `depth` items of a learner who has V left, and be wrong about each of its answers?"""
        if depth == 0 or V.bit_count() < 2**depth:
            return depth == 0
        if (V, depth) not in known:
            known[V, depth] = any(lasts(one, depth - 1) and lasts(V ^ one, depth - 1) for one in halves(V))
        return known[V, depth]

    def halves(V: int) -> Sets:
        """The more even first: such items are worth more to an adversary."""
        ones = {V & split for split in splits}
        spend(len(splits))
        return sorted(ones, key=lambda one: abs(2 * one.bit_count() - V.bit_count()))

    return _deepest(lambda depth: lasts(everybody, depth))


def vc(C: HypothesisClass, items: Items | None = None) -> int:
    """The VC dimension of `C` on checked `items`, the class's own cells if left out; raises as `littlestone` does.

    Examples
    --------
    >>> from replical import Intervals, Thresholds
    >>> vc(Thresholds(1000)), vc(Intervals(12))
    (1, 2)
    """
    everybody, splits = _splits(C, items)
    spend = _purse()

    def shatters(blocks: Sets, first: int, more: int) -> bool:
        """Do `more` items from the `first` on split every block in all possible ways?"""
        if more == 0:
            return True
        for place in range(first, len(splits) - more + 1):
            halves, split = [], splits[place]
            for block in blocks:
                spend()
                one = block & split
                halves += [one, block ^ one]
                if min(one.bit_count(), halves[-1].bit_count()) < 2 ** (more - 1):
                    break
            else:
                if shatters(halves, place + 1, more - 1):
                    return True
        return False

    return _deepest(lambda depth: everybody.bit_count() >= 2**depth and shatters([everybody], 0, depth))


def _deepest(holds: Callable[[int], bool]) -> int:
    depth = 0
    while holds(depth + 1):
        depth += 1
    return depth


def _purse() -> Callable[..., None]:
    left = _STEPS

    def spend(steps: int = 1) -> None:
        nonlocal left
        left -= steps
        if left < 0:
            raise ValueOutOfRange("an exact dimension of this class takes too long: take fewer hypotheses or items")

    return spend


def _splits(C: HypothesisClass, items: Items | None) -> tuple[int, Sets]:
    """All different hypotheses, and who of them gives the second label, once for each way in which an item parts them."""
    if len(C.labels) != 2:
        raise ValueOutOfRange(f"dimensions are for classes with 2 labels, and this one has {len(C.labels)}")
    listed = C.cells() if items is None else items
    if listed is None:
        raise ValueOutOfRange("this class does not list its cells: give the items that count")
    if len(C) > _LARGEST or len(C) * len(listed) > _CELLS:
        raise ValueOutOfRange(
            f"an exact dimension takes at most {_LARGEST:,} hypotheses and {_CELLS:,} predictions, got {len(C):,} and "
            f"{len(C) * len(listed):,}: take fewer hypotheses or items"
        )
    codes = np.unique(C.codes(listed, np.arange(len(C), dtype=np.int64)), axis=0).astype(bool)
    parting = codes[:, codes.any(axis=0) & ~codes.all(axis=0)]
    columns = np.unique(parting ^ parting[:1], axis=1)  # which label is the second one does not matter
    packed = np.packbits(columns.T, axis=1)
    return (1 << len(codes)) - 1, [int.from_bytes(row.tobytes(), "big") >> (-len(codes) % 8) for row in packed]
