"""A class and how the raw columns of a table become its items; what the sections of protocols have in common.

Everything here is public: cuts, ranges and bins are numbers in the protocol, never quantiles of anyone's data.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass, Label
from replical.classes.grading import Gold
from replical.classes.losses import Losses
from replical.core.text import count, is_seen
from replical.errors import BadProtocol

Columns = Mapping[str, NDArray[Any]]

_MOST_CUTS = 10**7
UNIT = float(np.sqrt(12.0))  # a feature uniform on its range gets variance one


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A class and how raw columns become its items.

    Attributes
    ----------
    columns
        The columns a pool must have: features, or one a candidate.
    to_items
        From these columns to the items of the class.
    in_words
        A hypothesis in the units of the columns, where items are rescaled.
    predicts, scores
        Do the columns hold predictions, that is label values, or probabilities of the second label?
    losses
        What predictions cost; None where errors are counted.
    group
        The column that says which items belong together; None where each is a draw of its own.
    """

    C: HypothesisClass
    columns: tuple[str, ...]
    to_items: Callable[[list[NDArray[Any]]], Any]
    in_words: Callable[[int], str] | None = None
    predicts: bool = False
    scores: bool = False
    losses: Losses | Gold | None = None
    group: str | None = None

    @property
    def answers(self) -> tuple[Label, ...]:
        """What labs may say: every label but the word of those who abstain; nothing is listed where outputs are compared."""
        if isinstance(self.losses, Gold):
            return ()
        return tuple(self.C.labels) if self.losses is None else tuple(self.C.labels[: self.losses.labels])

    @property
    def models(self) -> bool:
        """Are the columns what models say? Whoever labels is not shown them."""
        return self.predicts or self.scores

    @property
    def member(self) -> str:
        """What one of the class is called."""
        return "model" if self.models else "hypothesis"

    def count(self, size: int, which: str = "") -> str:
        """So many of the class."""
        return count(size, f"{which}{self.member}", f"{which}{'models' if self.models else 'hypotheses'}")

    @property
    def errs(self) -> str:
        """What a hypothesis does that is not the best: the verb."""
        return "errs" if self.losses is None else "loses"

    def describe(self, h: int) -> str:
        """Hypothesis `h` in words, with the names of the features and in their units."""
        if self.in_words is not None:
            return self.in_words(h)
        words = self.C.describe(h)
        if self.predicts:
            return words
        return re.sub(r"\bx(\d*)(?= (?:>=|<|\+) )", lambda match: self.columns[int(match[1] or 0)], words)

    def name(self, h: int) -> str:
        """A model by its name, which is its own; any other hypothesis by its number too."""
        return self.describe(h) if self.models else f"{self.describe(h)} (hypothesis {h})"

    def items(self, columns: Columns) -> Any:
        """The items of the class, from the named columns."""
        return self.to_items([columns[name] for name in self.columns])


@dataclass(frozen=True, kw_only=True)
class Section:
    """The class section of a protocol, with the label set and the published string, `seed`, that stand beside it.

    Where candidates may abstain, the last of the labels is their word for it.
    """

    content: Mapping[str, Any]
    labels: tuple[Label, ...]
    seed: str
    abstains: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns that the class looks at."""
        value = self.content["features"]
        if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
            raise BadProtocol(f"features must be a list of names, got {value!r:.60}")
        if len(set(value)) < len(value):
            twice = next(each for each in value if value.count(each) > 1)
            raise BadProtocol(f"features names {twice!r} twice")
        if hidden := [each for each in value if not is_seen(each)]:
            raise BadProtocol(
                f"a feature's name is one line of letters that are seen, got {hidden[0]!r:.80}: rename it"
            )
        return tuple(value)

    @property
    def feature(self) -> str:
        """The one column that the class looks at."""
        names = self.features
        if len(names) != 1:
            raise BadProtocol(f"{self.content['kind']} look at one feature, got {len(names)}: {', '.join(names)}")
        return names[0]

    def whole(self, key: str) -> int:
        """A size."""
        value = self.content[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise BadProtocol(f"{key} must be a whole number of at least 1, got {value!r}")
        return value

    def number(self, key: str) -> float:
        """A number."""
        value = self.content[key]
        if not _number(value):
            raise BadProtocol(f"{key} must be a number, got {value!r:.40}")
        return float(value)

    def ranges(self) -> list[tuple[float, float]]:
        """Low and high of each feature."""
        ends, names = self.content["range"], self.features
        right = isinstance(ends, list) and len(ends) == len(names)
        if not right or not all(isinstance(end, list) and len(end) == 2 and all(map(_number, end)) for end in ends):
            raise BadProtocol(f"range must be {len(names)} pairs [low, high], one a feature, got {ends!r:.60}")
        for name, (low, high) in zip(names, ends, strict=True):
            if not low < high:
                raise BadProtocol(f"the range of {name!r} must have low < high, got [{low}, {high}]")
            if not sys.float_info.min <= high - low <= sys.float_info.max:
                raise BadProtocol(f"the range of {name!r} is too wide or too narrow to scale by, got [{low}, {high}]")
        return [(float(low), float(high)) for low, high in ends]

    def cuts(self) -> list[list[float]]:
        """Cuts as listed, or `bins` equidistant ones inside each range."""
        content, names = self.content, self.features
        if "cuts" in content:
            if "range" in content or "bins" in content:
                raise BadProtocol(f"a class of kind {content['kind']} has cuts, or range and bins, not both")
            cuts = content["cuts"]
            listed = isinstance(cuts, list) and all(isinstance(line, list) and all(map(_number, line)) for line in cuts)
            if not listed or len(cuts) != len(names):
                raise BadProtocol(f"cuts must be {len(names)} lists of numbers, one a feature, got {cuts!r:.60}")
            return [[float(cut) for cut in line] for line in cuts]
        if "range" not in content or "bins" not in content:
            raise BadProtocol(f"a class of kind {content['kind']} needs cuts, or range and bins")
        bins = self.whole("bins")
        if bins * len(names) > _MOST_CUTS:
            raise BadProtocol(
                f"at most {_MOST_CUTS} cuts are listed, got {bins} bins for each of {len(names)} features"
            )
        return [[low + (high - low) * (b + 1) / (bins + 1) for b in range(bins)] for low, high in self.ranges()]


def stack_features(columns: list[NDArray[Any]]) -> NDArray[np.float64]:
    """Features side by side, one row an item."""
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)


def rescale(ends: NDArray[np.float64]) -> Callable[[list[NDArray[Any]]], NDArray[np.float64]]:
    """Features with public ranges, low and high a row of `ends`, brought to middle 0 and variance one."""

    def scale(columns: list[NDArray[Any]]) -> NDArray[np.float64]:
        around: NDArray[np.float64] = (stack_features(columns) - ends.mean(axis=1)) / (ends[:, 1] - ends[:, 0]) * UNIT
        return around

    return scale


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
