"""Any class as packed bits, one row an item, one bit plane a binary digit of the label code.

Rows are items because the questions asked most often, "is this item disputed?" and "who is wrong on these labels?",
read whole rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, HypothesisClass, Indices, Items
from replical.core import bits
from replical.errors import ValueOutOfRange

_BLOCK = 2**23  # values held unpacked at a time; larger blocks leave the cache and gain nothing
_MOST_BYTES = 2**34  # 16 GiB of packed bits
_FEW = 4095  # labels an item, up to which adding bits beats the matrix product (measured: 16 times at 18, 6 at 593)
_MEASURED = 1024  # items on which nearness is measured: any number is valid, this one resolves distances to 3%
_FEW_ALIVE = 64  # survivors looked at first for a disagreement; all answers are the same for any number
_RIVALS = 64  # rivals considered at a time
_EXACT_DOUBLE = 2**53  # sums below this are exact in the floating-point matrix product


class PackedPredictions:
    """Predictions of a class `C` on `items`, as ``planes[digit, item, word]``.

    Raises
    ------
    ValueOutOfRange
        If they would not fit into 16 GiB.
    """

    def __init__(self, C: HypothesisClass, items: Items) -> None:
        self._size, self._labels = len(C), len(C.labels)
        digits, words = bits.planes_for(self._labels), bits.words_for(self._size)
        if digits * len(items) * words * 8 > _MOST_BYTES:
            raise ValueOutOfRange(
                f"{self._size} hypotheses on {len(items)} items need {digits * len(items) * words * 8 / 2**30:.0f} GiB "
                f"of packed predictions, more than {_MOST_BYTES // 2**30}: use a smaller class or pool"
            )
        self._planes = np.zeros((digits, len(items), words), dtype=np.uint64)
        everyone = np.arange(self._size, dtype=np.int64)
        for block in _blocks(len(items), self._size):
            codes = C.codes(items[block], everyone).T
            for digit in range(digits):
                self._planes[digit, block] = bits.pack((codes >> digit) & 1 == 1)

    @classmethod
    def packed(cls, planes: NDArray[np.uint64], size: int, labels: int) -> PackedPredictions:
        """Predictions that are packed already, of `size` hypotheses that know so many `labels`; `planes` are shared."""
        predictions = cls.__new__(cls)
        predictions._size, predictions._labels, predictions._planes = size, labels, planes
        return predictions

    def take(self, items: Indices) -> PackedPredictions:
        """The predictions on some of the items, `items`."""
        some = PackedPredictions.__new__(PackedPredictions)
        some._size, some._labels, some._planes = self._size, self._labels, self._planes[:, items]
        return some

    def nearness(self, items: Indices) -> PackedNearness:
        """Distances between hypotheses, measured on (some of) `items` alone."""
        codes = self._codes(items[:_MEASURED], np.arange(self._size, dtype=np.int64)).T
        return PackedNearness([bits.pack((codes >> digit) & 1 == 1) for digit in range(len(self._planes))])

    def disagreement(self, alive: Indices, within: Indices) -> NDArray[np.bool_]:
        """An item is disputed when some binary digit takes both values among the survivors.

        A few survivors disagree on most items that are disputed at all, so everybody is asked about the others only.
        """
        few = alive[:_FEW_ALIVE]
        disputed = self._mixed(few, within)
        if len(few) < len(alive):
            rest = np.flatnonzero(~disputed)
            disputed[rest] = self._mixed(alive, within[rest])
        return disputed

    def _mixed(self, alive: Indices, within: Indices) -> NDArray[np.bool_]:
        words, places = _words_of(alive)
        among = np.zeros(len(words) * 64, dtype=np.bool_)
        among[places] = True
        mixed = np.zeros(len(within), dtype=np.bool_)
        for block in _blocks(len(within), len(among)):
            for plane in self._planes:
                mixed[block] |= bits.mixed(_rows(plane, within[block], words), bits.pack(among))
        return mixed

    def votes(self, alive: Indices, within: Indices) -> NDArray[np.int64]:
        """Survivors behind each label: bits set in all digits of its code."""
        words, places = _words_of(alive)
        among = np.zeros(len(words) * 64, dtype=np.bool_)
        among[places] = True
        votes = np.zeros((len(within), self._labels), dtype=np.int64)
        for block in _blocks(len(within), len(among)):
            rows = [_rows(plane, within[block], words) for plane in self._planes]
            for label in range(self._labels):
                saying = np.broadcast_to(bits.pack(among), rows[0].shape)
                for digit, row in enumerate(rows):
                    saying = saying & (row if (label >> digit) & 1 else ~row)
                votes[block, label] = np.bitwise_count(saying).sum(axis=1, dtype=np.int64)
        return votes

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
        for block in _blocks(len(items), self._size):
            codes = self._codes(items[block], alive)
            for label in range(self._labels):
                right += counts[block, label].astype(exact) @ (codes == label).astype(exact)
        return asked - right.astype(np.int64)

    def _few_errors(self, items: Indices, counts: NDArray[np.int64], alive: Indices) -> NDArray[np.int64]:
        words, places = _words_of(alive)
        sums = np.zeros(len(words) * 64, dtype=np.int64)
        for label in range(self._labels):
            for power in range(_FEW.bit_length()):
                asked = items[(counts[:, label] >> power) & 1 == 1]
                for block in _blocks(len(asked), len(sums)):
                    wrong = np.zeros((len(asked[block]), len(words)), dtype=np.uint64)
                    for digit, plane in enumerate(self._planes):
                        says_one = _rows(plane, asked[block], words)
                        wrong |= ~says_one if (label >> digit) & 1 else says_one
                    sums += bits.column_sums(wrong, len(sums)) << power
        return sums[places]

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
        codes = np.zeros((len(items), len(alive)), dtype=np.uint16)
        for digit, plane in enumerate(self._planes):
            values = bits.unpack(plane[items], self._size)
            codes |= (values if len(alive) == self._size else values[:, alive]).astype(np.uint16) << np.uint16(digit)
        return codes


class PackedNearness:
    """Hamming distances on packed rows, one a hypothesis; rows of distances are kept, because rivals come back."""

    def __init__(self, planes: list[NDArray[np.uint64]]) -> None:
        self._planes = planes
        self._known: dict[int, NDArray[np.uint16]] = {}

    def nearest(self, alive: Indices, among: Indices) -> Indices:
        """The places of the nearest survivors among those at `among`, or at an even selection where they are many."""
        among = among if len(among) <= _RIVALS else among[np.linspace(0, len(among) - 1, _RIVALS).astype(np.int64)]
        distances = np.stack([self._from(int(rival))[alive] for rival in alive[among]])
        closest: Indices = among[np.argmin(distances, axis=0)]
        return closest

    def _from(self, h: int) -> NDArray[np.uint16]:
        if h not in self._known:
            differs = np.zeros_like(self._planes[0])
            for plane in self._planes:
                differs |= plane ^ plane[h]
            self._known[h] = np.bitwise_count(differs).sum(axis=1, dtype=np.uint16)  # at most _MEASURED items
        return self._known[h]


def _words_of(alive: Indices) -> tuple[Indices, Indices]:
    """The words that hold the survivors' bits, and where in those words each survivor is."""
    word = alive >> 6
    held = np.zeros(int(word.max(initial=-1)) + 1, dtype=np.bool_)
    held[word] = True
    return np.flatnonzero(held), ((np.cumsum(held) - 1)[word] << 6) + (alive & 63)


def _rows(plane: NDArray[np.uint64], items: Indices, words: Indices) -> NDArray[np.uint64]:
    if len(words) == plane.shape[1]:
        return plane[items]
    return plane[items][:, words] if 4 * len(words) > plane.shape[1] else plane[np.ix_(items, words)]


def _blocks(rows: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(1, width))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))
