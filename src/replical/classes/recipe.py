"""From the class section of a protocol to a class, and from the columns of a pool to its items.

Everything here is public: cuts, ranges and bins are numbers in the protocol, never quantiles of anyone's data.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass, Label
from replical.classes.boxes import Boxes
from replical.classes.halfspaces import HalfSpaces
from replical.classes.intervals import Intervals
from replical.classes.star import Star
from replical.classes.stumps import Stumps
from replical.classes.table import PredictionTable
from replical.classes.thresholds import Thresholds
from replical.errors import BadProtocol

Columns = Mapping[str, NDArray[Any]]

# What each kind may say beside its name: (needed keys, optional keys).
_KEYS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "thresholds": (frozenset({"features"}), frozenset({"cuts", "count", "range", "bins"})),
    "intervals": (frozenset({"features", "bins"}), frozenset({"range"})),
    "stumps": (frozenset({"features"}), frozenset({"cuts", "range", "bins"})),
    "boxes": (frozenset({"features", "bins", "range"}), frozenset()),
    "halfspaces": (frozenset({"features", "count"}), frozenset({"range"})),
    "star": (frozenset({"features", "count"}), frozenset()),
    "table": (frozenset({"candidates"}), frozenset()),
}
_MOST_CUTS = 10**7
_UNIT = float(np.sqrt(12.0))  # a feature uniform on its range gets variance one


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A class and how raw columns become its items.

    Attributes
    ----------
    columns
        The columns a pool must have: features, or one a candidate.
    """

    C: HypothesisClass
    columns: tuple[str, ...]
    _items: Callable[[list[NDArray[Any]]], Any]
    _told: Callable[[int], str] | None = None  # where items are rescaled, so are descriptions

    @property
    def predicts(self) -> bool:
        """Do the columns hold predictions, that is label values?"""
        return isinstance(self.C, PredictionTable)

    def describe(self, h: int) -> str:
        """Hypothesis `h` in words, with the names of the features and in their units."""
        if self._told is not None:
            return self._told(h)
        told = self.C.describe(h)
        if self.predicts:
            return told
        return re.sub(r"\bx(\d*)(?= (?:>=|<|\+) )", lambda found: self.columns[int(found[1] or 0)], told)

    def items(self, columns: Columns) -> Any:
        """The items of the class, from the named columns."""
        return self._items([columns[name] for name in self.columns])


def recipe(section: Mapping[str, Any], labels: Sequence[Label], seed: str) -> Recipe:
    """Read a class section.

    Examples
    --------
    >>> made = recipe({"kind": "thresholds", "features": ["dose"], "range": [[0, 10]], "bins": 4}, ("no", "yes"), "s")
    >>> made.describe(1), made.columns
    ('yes if dose >= 4.0 else no', ('dose',))
    """
    kind = section.get("kind")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise BadProtocol(f"unknown kind of class {kind!r}; the kinds are {', '.join(_KEYS)}")
    needed, optional = _KEYS[kind]
    for key in section:
        if key not in needed | optional | {"kind"}:
            raise BadProtocol(
                f"a class of kind {kind} has no key {key!r}; it has {', '.join(sorted(needed | optional))}"
            )
    for key in sorted(needed):
        if key not in section:
            raise BadProtocol(f"a class of kind {kind} needs the key {key!r}")
    if kind == "table":
        return _table(section, labels)
    names = _texts("features", section["features"])
    make = {
        "thresholds": _thresholds,
        "intervals": _intervals,
        "stumps": _stumps,
        "boxes": _boxes,
        "halfspaces": _halfspaces,
        "star": _star,
    }[kind]
    return make(section, names, tuple(labels), seed)


def _table(section: Mapping[str, Any], labels: Sequence[Label]) -> Recipe:
    candidates = tuple(candidate["name"] for candidate in section["candidates"])
    C = PredictionTable(candidates, labels=labels)
    return Recipe(C=C, columns=candidates, _items=lambda columns: np.stack(columns, axis=1))


def _thresholds(section: Mapping[str, Any], names: tuple[str, ...], labels: tuple[Label, ...], seed: str) -> Recipe:
    _one(names, "thresholds")
    if "count" in section:
        if len(section) > 3:
            raise BadProtocol("a class of kind thresholds has a count, or cuts, or range and bins, not several of them")
        C = Thresholds(_whole("count", section["count"]), labels=labels)
    else:
        C = Thresholds(cuts=_cuts(section, names)[0], labels=labels)
    return Recipe(C=C, columns=names, _items=lambda columns: columns[0])


def _intervals(section: Mapping[str, Any], names: tuple[str, ...], labels: tuple[Label, ...], seed: str) -> Recipe:
    _one(names, "intervals")
    bins = _whole("bins", section["bins"])
    C = Intervals(bins, labels=labels)
    if "range" not in section:
        return Recipe(C=C, columns=names, _items=lambda columns: columns[0])
    ((low, high),) = _ranges(section, names)

    def cells(columns: list[NDArray[Any]]) -> NDArray[np.int64]:
        scaled = (np.asarray(columns[0], dtype=np.float64) - low) / (high - low) * bins
        return np.clip(np.floor(scaled), 0, bins - 1).astype(np.int64)

    def told(h: int) -> str:
        first, last = (int(end[0]) for end in C.ends(np.array([h])))
        if last < first:
            return C.describe(h)
        left, right = (low + (high - low) * end / bins for end in (first, last + 1))
        inside = names[0] if first == 0 else f"{left:g} <= {names[0]}"  # the outermost cells have no end
        inside += "" if last == bins - 1 else f" < {right:g}"
        return f"{labels[1]} if {inside} else {labels[0]}" if inside != names[0] else f"{labels[1]} everywhere"

    return Recipe(C=C, columns=names, _items=cells, _told=told)


def _stumps(section: Mapping[str, Any], names: tuple[str, ...], labels: tuple[Label, ...], seed: str) -> Recipe:
    return Recipe(C=Stumps(cuts=_cuts(section, names), labels=labels), columns=names, _items=_stacked)


def _boxes(section: Mapping[str, Any], names: tuple[str, ...], labels: tuple[Label, ...], seed: str) -> Recipe:
    ends = np.array(_ranges(section, names))
    C = Boxes(len(names), _whole("bins", section["bins"]), labels=labels)

    def scaled(columns: list[NDArray[Any]]) -> NDArray[np.float64]:
        inside: NDArray[np.float64] = (_stacked(columns) - ends[:, 0]) / (ends[:, 1] - ends[:, 0])
        return inside

    def told(h: int) -> str:
        sides = zip(names, C.ends(h), ends.tolist(), strict=True)
        parts = [
            f"{low + (high - low) * start:g} <= {name} < {low + (high - low) * end:g}"
            for name, (start, end), (low, high) in sides
        ]
        return f"{labels[1]} if {' and '.join(parts)} else {labels[0]}"

    return Recipe(C=C, columns=names, _items=scaled, _told=told)


def _halfspaces(section: Mapping[str, Any], names: tuple[str, ...], labels: tuple[Label, ...], seed: str) -> Recipe:
    C = HalfSpaces(len(names), _whole("count", section["count"]), seed=seed, labels=labels)
    if "range" not in section:
        return Recipe(C=C, columns=names, _items=_stacked)
    ends = np.array(_ranges(section, names))

    def scaled(columns: list[NDArray[Any]]) -> NDArray[np.float64]:
        around: NDArray[np.float64] = (_stacked(columns) - ends.mean(axis=1)) / (ends[:, 1] - ends[:, 0]) * _UNIT
        return around

    def told(h: int) -> str:
        factors = C.normals[h] * _UNIT / (ends[:, 1] - ends[:, 0])
        side = " + ".join(f"{factor:.3g} {name}" for factor, name in zip(factors, names, strict=True))
        return f"{labels[1]} if {side} >= {C.offsets[h] + factors @ ends.mean(axis=1):.3g} else {labels[0]}"

    return Recipe(C=C, columns=names, _items=scaled, _told=told)


def _star(section: Mapping[str, Any], names: tuple[str, ...], labels: tuple[Label, ...], seed: str) -> Recipe:
    _one(names, "star")
    C = Star(_whole("count", section["count"]), labels=labels)
    return Recipe(C=C, columns=names, _items=lambda columns: columns[0])


def _stacked(columns: list[NDArray[Any]]) -> NDArray[np.float64]:
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)


def _cuts(section: Mapping[str, Any], names: tuple[str, ...]) -> list[list[float]]:
    """Cuts as listed, or `bins` equidistant ones inside each range."""
    if "cuts" in section:
        if "range" in section or "bins" in section:
            raise BadProtocol(f"a class of kind {section['kind']} has cuts, or range and bins, not both")
        cuts = section["cuts"]
        listed = isinstance(cuts, list) and all(isinstance(line, list) and all(map(_number, line)) for line in cuts)
        if not listed or len(cuts) != len(names):
            raise BadProtocol(f"cuts must be {len(names)} lists of numbers, one a feature, got {cuts!r:.60}")
        return [[float(cut) for cut in line] for line in cuts]
    if "range" not in section or "bins" not in section:
        raise BadProtocol(f"a class of kind {section['kind']} needs cuts, or range and bins")
    bins = _whole("bins", section["bins"])
    if bins * len(names) > _MOST_CUTS:
        raise BadProtocol(f"at most {_MOST_CUTS} cuts are listed, got {bins} bins for each of {len(names)} features")
    return [[low + (high - low) * (b + 1) / (bins + 1) for b in range(bins)] for low, high in _ranges(section, names)]


def _ranges(section: Mapping[str, Any], names: tuple[str, ...]) -> list[tuple[float, float]]:
    ends = section["range"]
    right = isinstance(ends, list) and len(ends) == len(names)
    if not right or not all(isinstance(end, list) and len(end) == 2 and all(map(_number, end)) for end in ends):
        raise BadProtocol(f"range must be {len(names)} pairs [low, high], one a feature, got {ends!r:.60}")
    for name, (low, high) in zip(names, ends, strict=True):
        if not low < high:
            raise BadProtocol(f"the range of {name!r} must have low < high, got [{low}, {high}]")
    return [(float(low), float(high)) for low, high in ends]


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadProtocol(f"{name} must be a whole number of at least 1, got {value!r}")
    return value


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
        raise BadProtocol(f"{name} must be a list of names, got {value!r:.60}")
    if len(set(value)) < len(value):
        twice = next(each for each in value if value.count(each) > 1)
        raise BadProtocol(f"{name} names {twice!r} twice")
    return tuple(value)


def _one(names: tuple[str, ...], kind: str) -> None:
    if len(names) != 1:
        raise BadProtocol(f"{kind} look at one feature, got {len(names)}: {', '.join(names)}")
