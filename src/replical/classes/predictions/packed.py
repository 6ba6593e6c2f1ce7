"""Any class as packed bits, one row an item, one bit plane a binary digit of the label code.

Rows are items because the questions asked most often, "is this item disputed?" and "who is wrong on these labels?",
read whole rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, HypothesisClass, Indices, Items
from replical.classes.boxes import Boxes
from replical.classes.halfspaces import HalfSpaces
from replical.classes.intervals import Intervals
from replical.classes.predictions.boxes import MEASURED, choose_rivals
from replical.classes.stumps import Stumps
from replical.classes.table import check_room
from replical.classes.thresholds import Thresholds
from replical.core import bits, memory
from replical.core.bits import Packed, blocks
from replical.core.kernels import matrices
from replical.core.kernels.matrices import blank_memory, disagreement, transpose

_BLOCK = 2**23  # values held unpacked at a time; larger blocks leave the cache and gain nothing
_FEW = 4095  # labels an item, up to which adding bits beats the matrix product (measured: 16 times at 18, 6 at 593)
_EXACT_DOUBLE = 2**53  # sums below this are exact in the floating-point matrix product
_EACH = 128  # bytes of a run for each hypothesis of a structured class (at its peak: 45 with CAL, 105 with A²)


class PackedPredictions:
    """Predictions of a class `C` on `items`, as ``planes[digit, item, word]``; refused if they do not fit into memory."""

    def __init__(self, C: HypothesisClass, items: Items) -> None:
        self._size, self._labels = len(C), len(C.labels)
        digits = bits.planes_for(self._labels)
        check_room(len(items), self._size, self._labels)
        self._planes = np.zeros((digits, len(items), bits.words_for(self._size)), dtype=np.uint64)
        if isinstance(C, HalfSpaces):
            C.pack(items, self._planes[0])
            return
        everyone = np.arange(self._size, dtype=np.int64)
        for block in blocks(len(items), self._size, _BLOCK):
            codes = C.codes(items[block], everyone).T
            for digit in range(digits):
                self._planes[digit, block] = bits.pack((codes >> digit) & 1 == 1)

    @classmethod
    def of(cls, planes: Packed, size: int, labels: int) -> PackedPredictions:
        """Predictions of `size` hypotheses that are packed already, pad bits zero; `planes` are shared."""
        made = cls.__new__(cls)
        made._planes, made._size, made._labels = planes, size, labels
        return made

    def take(self, items: Indices) -> PackedPredictions:
        """The predictions on some of the items, `items`."""
        return self.of(self._planes[:, items], self._size, self._labels)

    def nearness(self, items: Indices) -> PackedNearness:
        """Distances between hypotheses, measured on (some of) `items` alone."""
        return PackedNearness(self.transpose(items[:MEASURED]))

    def transpose(self, items: Indices) -> Packed:
        """What everyone says about `items`: a row a hypothesis, a bit an item."""
        return transpose(self._planes, items, self._size)

    def kinds(self) -> tuple[Indices, Indices]:
        """Items that no hypothesis tells apart are of one kind: an item of each kind, and the kind of each item."""
        digits, items, words = self._planes.shape
        rows = np.ascontiguousarray(self._planes.transpose(1, 0, 2)).reshape(items, digits * words)
        keys = rows.view(np.dtype((np.void, 8 * digits * words))).ravel()
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        return first, which.ravel()

    def blank_memory(self, items: int) -> Indices:
        """Nothing seen of so many items yet."""
        return blank_memory(items)

    def disagreement(self, alive: Indices, within: Indices, seen: Indices | None = None) -> NDArray[np.bool_]:
        """An item is disputed when some binary digit takes both values among the survivors."""
        return disagreement(self._planes, within, matrices.Columns(alive, self._size), seen)

    def votes(self, alive: Indices, within: Indices) -> NDArray[np.int64]:
        """Survivors behind each label: bits set in all digits of its code."""
        return matrices.tallies(self._planes, within, matrices.Columns(alive, self._size), self._labels)

    def errors(self, items: Indices, counts: NDArray[np.int64], alive: Indices) -> NDArray[np.int64]:
        """Labels contradicted: added up bit by bit where every label came back a few times, else as a product."""
        if len(items) == 1:
            wrong_labels: NDArray[np.int64] = (counts[0].sum() - counts[0])[self._codes(items, alive)[0]]
            return wrong_labels
        if counts.size and counts.max() <= _FEW:
            return self._few_errors(items, counts, alive)
        asked = int(counts.sum())
        exact = np.float64 if asked < _EXACT_DOUBLE else np.int64
        right = np.zeros(len(alive), dtype=exact)
        for block in blocks(len(items), self._size, _BLOCK):
            codes = self._codes(items[block], alive)
            for label in range(self._labels):
                right += counts[block, label].astype(exact) @ (codes == label).astype(exact)
        return asked - right.astype(np.int64)

    def _few_errors(self, items: Indices, counts: NDArray[np.int64], alive: Indices) -> NDArray[np.int64]:
        """A label that came back so many times is added once for each binary digit of its count."""
        columns, planes = matrices.Columns(alive, self._size), self._planes
        if columns.scattered:
            planes, items = planes[:, items[:, None], columns.words], np.arange(len(items))
        sums = np.zeros(64 * planes.shape[2], dtype=np.int64)
        for power in range(int(counts.max()).bit_length()):
            row, label = np.nonzero((counts >> power) & 1)
            matrices.add_wrong(sums, planes, items[row], label, power)
        return sums[columns.places if columns.scattered else alive]

    def codes(self, h: int, within: Indices | None = None) -> Codes:
        """What hypothesis `h` says about every item, or about those of `within`."""
        word, bit = divmod(h, 64)
        column = self._planes[:, :, word] if within is None else self._planes[:, within, word]
        digits = (column >> np.uint64(bit)) & np.uint64(1)
        codes = np.zeros(digits.shape[1], dtype=np.uint16)
        for digit, values in enumerate(digits):
            codes |= values.astype(np.uint16) << np.uint16(digit)
        return codes

    def codes_of_item(self, item: int, alive: Indices) -> Codes:
        """What each hypothesis of `alive` says about one `item`."""
        codes: Codes = self._codes(np.array([item]), alive)[0]
        return codes

    def _codes(self, items: Indices, alive: Indices) -> Codes:
        codes = self._digits(0, items, alive).astype(np.uint16)
        for digit in range(1, len(self._planes)):
            codes |= self._digits(digit, items, alive).astype(np.uint16) << np.uint16(digit)
        return codes

    def _digits(self, digit: int, items: Indices, alive: Indices) -> NDArray[np.bool_]:
        values = bits.unpack(self._planes[digit, items], self._size)
        everybody = len(alive) == self._size and bool((alive[1:] > alive[:-1]).all())
        return values if everybody else values.take(alive, axis=1)


class PackedNearness:
    """Hamming distances on packed rows, one a hypothesis."""

    def __init__(self, planes: Packed) -> None:
        self._near = matrices.Nearest(planes)

    def nearest_marks(self, alive: Indices, among: Indices, marks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Is the nearest marked, of those at `among` or of an even selection where they are many?"""
        among = choose_rivals(among)
        return self._near.marks(alive, alive[among], marks[among])


def check_memory(C: HypothesisClass, items: int = 0) -> None:
    """Refuse a structured class that is too large for a run, before any time is spent; `items` are those of a pool.

    >>> check_memory(Intervals(100_000))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    replical.errors.ValueOutOfRange: 5000050001 hypotheses need 596.1 GiB, ...: at most ... hypotheses fit
    """
    if not isinstance(C, Thresholds | Stumps | Intervals | Boxes):
        return
    each = 2 * C.dimensions if isinstance(C, Stumps) else 8

    def remedy(most: int) -> str:
        left = most - each * items
        return f"at most {left // _EACH} hypotheses fit" if left >= _EACH else f"at most {most // each} items fit"

    what = f"{len(C)} hypotheses" + (f" on {items} items" if items else "")
    memory.check(_EACH * len(C) + each * items, what, remedy)
