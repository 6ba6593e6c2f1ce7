"""Decision stumps: one feature, one public cut, one direction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import Codes, Indices, Items, Label, Listed, class_size, features, two_labels
from replical.classes.recipe import Recipe, Section, stack_features
from replical.core.canonical import CanonicalText, canonical, fingerprint
from replical.errors import ValueOutOfRange

_MOST_CUTS = 2**28  # of one feature, listed


class Stumps(Listed):
    """Hypotheses "high from the cut on" and "high below the cut", for every feature and cut.

    Cuts are public numbers, never quantiles of anyone's data. The index is ``2 * (cuts before) + direction``, feature
    by feature, direction 0 for "from the cut on".

    Parameters
    ----------
    dimensions, bins
        `bins` equidistant cuts inside (0, 1) for each of `dimensions` features.
    cuts
        One ascending list of cuts a feature, instead.
    labels
        What is said below the cut and from the cut on, in direction 0.

    Raises
    ------
    ValueOutOfRange
        If a number is not a positive whole number, or cuts are not finite and strictly ascending.
    BadLabel
        If there are not two distinct labels.

    Examples
    --------
    >>> C = Stumps(2, 3)
    >>> len(C), C.describe(0), C.describe(7)
    (12, '1 if x0 >= 0.25 else 0', '0 if x1 >= 0.25 else 1')
    >>> C.predict([[0.3, 0.9]])[:4, 0].tolist()
    [1, 0, 0, 1]
    """

    def __init__(
        self,
        dimensions: int | None = None,
        bins: int | None = None,
        *,
        cuts: Sequence[Sequence[float]] | None = None,
        labels: Sequence[Label] = (0, 1),
    ) -> None:
        if cuts is None:
            inside = class_size("the number of cuts", bins or 0)
            if inside > _MOST_CUTS:
                raise ValueOutOfRange(f"a feature has at most {_MOST_CUTS} cuts, got {inside}")
            count = class_size("the number of features", dimensions or 0)
            class_size("the number of stumps", 2 * inside * count)
            self.cuts = (np.arange(1, inside + 1) / (inside + 1),) * count
        else:
            self.cuts = tuple(np.array(list(map(float, line))) for line in cuts)
        for number, line in enumerate(self.cuts if cuts is not None else self.cuts[:1]):
            if len(line) == 0 or not (np.isfinite(line).all() and (np.diff(line) > 0).all()):
                raise ValueOutOfRange(f"the cuts of feature {number} must be finite and strictly ascending")
        self.dimensions = class_size("the number of features", len(self.cuts))
        self.starts: Indices = np.cumsum([0, *map(len, self.cuts)], dtype=np.int64)
        class_size("the number of stumps", len(self))
        self.labels = two_labels(labels)

    def __len__(self) -> int:
        return 2 * int(self.starts[-1])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that defines the class."""
        lines = {line.tobytes(): line for line in self.cuts}  # features may share theirs, which are long
        spelled = {key: CanonicalText(canonical(line.tolist())) for key, line in lines.items()}
        cuts = [spelled[line.tobytes()] for line in self.cuts]
        return fingerprint({"kind": "stumps", "cuts": cuts, "labels": list(self.labels)})

    def describe(self, h: int) -> str:
        """Hypothesis `h` in words."""
        feature, cut = self._parts(np.array([h]))
        low, high = self.labels if h % 2 == 0 else self.labels[::-1]
        return f"{high} if x{feature[0]} >= {cut[0]:g} else {low}"

    def _parts(self, hypotheses: Indices) -> tuple[Indices, NDArray[np.float64]]:
        """Feature and cut of each hypothesis."""
        place = np.asarray(hypotheses) // 2
        feature = np.searchsorted(self.starts, place, side="right") - 1
        return feature, np.concatenate(self.cuts)[place]

    def items(self, X: ArrayLike) -> Items:
        """Check `X`, a table of numbers with one row an item and one column a feature.

        Raises
        ------
        BadTable
            If the table has another shape, or a value is missing or infinite.
        """
        return features(X, len(self.cuts))

    def positions(self, items: Items) -> NDArray[np.unsignedinteger]:
        """How many cuts of each feature (rows) each of `items` (columns) has reached."""
        most = max(map(len, self.cuts))
        columns: NDArray[np.unsignedinteger] = np.empty(
            (self.dimensions, len(items)), dtype=np.uint16 if most < 2**16 else np.uint32
        )
        for feature, line in enumerate(self.cuts):
            columns[feature] = np.searchsorted(line, items[:, feature], side="right")
        return columns

    def codes(self, items: Items, hypotheses: Indices) -> Codes:
        """Label codes of `hypotheses` (rows) on checked `items` (columns)."""
        feature, cut = self._parts(hypotheses)
        reached = items.T[feature] >= cut[:, None]
        return np.asarray(reached ^ (np.asarray(hypotheses) % 2 == 1)[:, None], dtype=np.uint16)


def recipe(section: Section) -> Recipe:
    """From a protocol: public cuts of each feature."""
    return Recipe(
        C=Stumps(cuts=section.cuts(), labels=section.labels), columns=section.features, to_items=stack_features
    )
