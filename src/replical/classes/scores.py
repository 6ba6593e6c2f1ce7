"""Models that give probabilities: with public cuts each is as many candidates as there are cuts.

The candidate ``name@cut`` says the second label where the model's probability of it is at least the cut. From there on it
is a table of predictions like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Label, two_labels
from replical.classes.recipe import Recipe, Section, stacked
from replical.classes.table import PredictionTable
from replical.errors import BadProtocol


@dataclass(frozen=True, eq=False)
class Thresholded:
    """Predictions of every model at every cut, made when rows are looked at: they are far larger than the scores.

    Examples
    --------
    >>> rows = Thresholded(np.array([[0.2, 0.5], [0.9, 0.4]]), (0.3, 0.5), ("no", "yes"))
    >>> rows.shape, rows[:].tolist()
    ((2, 4), [['no', 'no', 'yes', 'yes'], ['yes', 'yes', 'yes', 'no']])
    """

    scores: NDArray[np.float64]
    cuts: tuple[float, ...]
    labels: tuple[Label, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Items and candidates."""
        return len(self.scores), self.scores.shape[1] * len(self.cuts)

    def __getitem__(self, at: slice) -> NDArray[Any]:
        scores = self.scores[at]
        reached = scores[:, :, None] >= np.array(self.cuts)
        return np.array(self.labels, dtype=object)[reached.reshape(len(scores), -1).astype(np.int64)]


def recipe(section: Section) -> Recipe:
    """From a protocol: one column a model, with the probability of the second label."""
    models = tuple(candidate["name"] for candidate in section.content["candidates"])
    if heavy := [candidate["name"] for candidate in section.content["candidates"] if "weight" in candidate]:
        raise BadProtocol(
            f"{heavy[0]!r} has a weight, and with cuts candidates are called name@cut: write [prior] weights"
        )
    cuts, labels = _cuts(section.content["cuts"]), two_labels(section.labels)
    C = PredictionTable([f"{model}@{cut}" for model in models for cut in cuts], labels=labels)
    return Recipe(
        C=C,
        columns=models,
        to_items=lambda columns: Thresholded(stacked(columns), cuts, labels),
        in_words=C.describe,
        scores=True,
    )


def _cuts(value: Any) -> tuple[float, ...]:
    listed = isinstance(value, list) and len(value) > 0
    if not listed or any(isinstance(cut, bool) or not isinstance(cut, int | float) for cut in value):
        raise BadProtocol(f"cuts of a table are a list of numbers for scores, e.g. [0.3, 0.5], got {value!r:.60}")
    cuts = tuple(float(cut) for cut in value)
    for cut in cuts:
        if not 0 < cut <= 1:
            raise BadProtocol(f"a cut for scores must lie above 0 and at most at 1, got {cut}")
    if any(two <= one for one, two in pairwise(cuts)):
        raise BadProtocol(f"cuts for scores must be ascending, each once, got {value!r:.60}")
    return cuts
