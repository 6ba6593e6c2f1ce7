"""Half-spaces: a public net of directions and offsets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import Codes, Indices, Items, Label, Listed, class_size, features, two_labels
from replical.classes.recipe import UNIT, Recipe, Section, rescale, stack_features
from replical.core import memory
from replical.core.bits import Packed
from replical.core.canonical import fingerprint
from replical.core.kernels.signs import signs
from replical.core.randomness import SharedRandomness
from replical.errors import ValueOutOfRange

# Coordinates of the net are multiples of this: the last bit of a platform's logarithm then changes nothing.
_STEP = 2.0**-20
_DRAWN = 64  # bytes for each number of the net while it is drawn (56 measured)


class HalfSpaces(Listed):
    """`count` hypotheses ``h(x) = 1[w.x >= b]``, unit normals w and standard normal offsets b.

    The net is drawn once from a published string, so that it is the same for everyone who knows the string.

    Parameters
    ----------
    dimensions, count
        Number of features, and of hypotheses.
    seed
        The published text the net is drawn from.
    labels
        What is said where ``w.x < b``, and where ``w.x >= b``.

    Attributes
    ----------
    normals, offsets
        w and b, one row a hypothesis.

    Raises
    ------
    ValueOutOfRange
        If a number is not a positive whole number, the seed is no text, or the net would not fit into memory.
    BadLabel
        If there are not two distinct labels.

    Examples
    --------
    >>> C = HalfSpaces(2, 100, seed="published")
    >>> len(C), C.describe(3)
    (100, '1 if 0.984 x0 + 0.176 x1 >= 0.187 else 0')
    >>> int(C.predict([[0.2, 0.0]])[3, 0])
    1
    """

    def __init__(self, dimensions: int, count: int, *, seed: str, labels: Sequence[Label] = (0, 1)) -> None:
        self.dimensions = class_size("the number of features", dimensions)
        self._size = class_size("the number of half-spaces", count)
        if not isinstance(seed, str):
            raise ValueOutOfRange(f"the net of half-spaces is drawn from a published text, got {type(seed).__name__}")
        self.seed, self.labels = seed, two_labels(labels)
        each = _DRAWN * (self.dimensions + 1)
        memory.check(each * self._size, f"{self._size:,} half-spaces", lambda most: f"at most {most // each:,} fit")
        shared = SharedRandomness(seed)
        normals = gaussians(shared, "halfspaces", "normals", count=count * dimensions).reshape(count, dimensions)
        length = np.sqrt((normals**2).sum(axis=1, keepdims=True))
        self.normals = np.round(normals / length / _STEP) * _STEP
        self.offsets = np.round(gaussians(shared, "halfspaces", "offsets", count=count) / _STEP) * _STEP

    def __len__(self) -> int:
        return self._size

    @property
    def fingerprint(self) -> str:
        """A hash of everything that defines the class."""
        shape: dict[str, int | str] = {"dimensions": self.dimensions, "count": self._size, "seed": self.seed}
        return fingerprint({"kind": "halfspaces", **shape, "labels": list(self.labels)})

    def describe(self, h: int) -> str:
        """Hypothesis `h` in words."""
        side = " + ".join(f"{w:.3g} x{d}" for d, w in enumerate(self.normals[h]))
        return f"{self.labels[1]} if {side} >= {self.offsets[h]:.3g} else {self.labels[0]}"

    def items(self, X: ArrayLike) -> Items:
        """Check `X`, a table of numbers with one row an item and one column a feature.

        Raises
        ------
        BadTable
            If the table has another shape, or a value is missing or infinite.
        """
        return features(X, self.dimensions)

    def codes(self, items: Items, hypotheses: Indices) -> Codes:
        """Label codes of `hypotheses` (rows) on checked `items` (columns)."""
        return (self._heights(items, hypotheses) >= 0).astype(np.uint16)

    def pack(self, items: Items, out: Packed) -> None:
        """`codes` of everyone on `items` as bits of `out`: a row an item, a bit a hypothesis."""
        signs(items, self.normals, -self.offsets, out)

    def _heights(self, items: Items, hypotheses: Indices) -> NDArray[np.float64]:
        """w.x - b, added up feature by feature: a matrix product may add in another order on another machine."""
        heights = np.repeat(-self.offsets[hypotheses][:, None], len(items), axis=1)
        for d in range(self.dimensions):
            heights += self.normals[hypotheses, d][:, None] * items[:, d]
        return heights


def gaussians(shared: SharedRandomness, *name: str | int, count: int) -> NDArray[np.float64]:
    """`count` standard normal numbers from the words that `shared` has under `name`; platforms agree to about 1e-15."""
    words = shared.words(*name, count=2 * count)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    radius = np.sqrt(-2 * np.log(uniform[:count]))
    return np.asarray(radius * np.cos(2 * np.pi * uniform[count:]))


def recipe(section: Section) -> Recipe:
    """From a protocol: a net drawn from its string; features with a public range are brought to variance one."""
    names, labels = section.features, section.labels
    C = HalfSpaces(len(names), section.whole("count"), seed=section.seed, labels=labels)
    if "range" not in section.content:
        return Recipe(C=C, columns=names, to_items=stack_features)
    ends = np.array(section.ranges())

    def in_words(h: int) -> str:
        factors = C.normals[h] * UNIT / (ends[:, 1] - ends[:, 0])
        side = " + ".join(f"{factor:.3g} {name}" for factor, name in zip(factors, names, strict=True))
        return f"{labels[1]} if {side} >= {C.offsets[h] + factors @ ends.mean(axis=1):.3g} else {labels[0]}"

    return Recipe(C=C, columns=names, to_items=rescale(ends), in_words=in_words)
