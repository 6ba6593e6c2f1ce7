"""Models that give probabilities: with public cuts each is as many candidates as there are cuts.

The candidate ``name@cut`` says the second label where the model's probability of it is at least the cut. Where candidates
may abstain a cut may be a band: ``name@low-high`` abstains from low on and says the second label from high on. From there
on it is a table of predictions like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Label, two_labels
from replical.classes.recipe import Recipe, Section, stacked
from replical.classes.table import PredictionTable
from replical.errors import BadProtocol

Cuts = tuple[tuple[float, float], ...]  # where a band begins and ends; of a plain cut both are the same


@dataclass(frozen=True, eq=False)
class Thresholded:
    """Predictions of every model at every cut, made when rows are looked at: they are far larger than the scores.

    Examples
    --------
    >>> rows = Thresholded(np.array([[0.2, 0.5], [0.9, 0.4]]), ((0.3, 0.3), (0.4, 0.6)), ("no", "yes", "unsure"))
    >>> rows.shape, rows[:].tolist()
    ((2, 4), [['no', 'no', 'yes', 'unsure'], ['yes', 'yes', 'yes', 'unsure']])
    """

    scores: NDArray[np.float64]
    cuts: Cuts
    labels: tuple[Label, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Items and candidates."""
        return len(self.scores), self.scores.shape[1] * len(self.cuts)

    def __getitem__(self, at: slice) -> NDArray[Any]:
        scores = self.scores[at][:, :, None]
        low, high = np.array(self.cuts).T
        codes = np.where(scores >= high, 1, np.where(scores >= low, 2, 0)).reshape(len(scores), -1)
        return np.array(self.labels, dtype=object)[codes]


def recipe(section: Section) -> Recipe:
    """From a protocol: one column a model, with the probability of the second label."""
    listed = section.content["candidates"]
    if heavy := [candidate["name"] for candidate in listed if "weight" in candidate]:
        raise BadProtocol(
            f"{heavy[0]!r} has a weight, and with cuts candidates are called name@cut: write [prior] weights"
        )
    models, cuts = tuple(candidate["name"] for candidate in listed), _cuts(section.content["cuts"], section.abstains)
    two_labels(section.labels[:-1] if section.abstains else section.labels)
    C = PredictionTable([f"{model}@{_spelled(cut)}" for model in models for cut in cuts], labels=section.labels)
    return Recipe(
        C=C,
        columns=models,
        to_items=lambda columns: Thresholded(stacked(columns), cuts, section.labels),
        in_words=C.describe,
        scores=True,
    )


def _spelled(cut: tuple[float, float]) -> str:
    low, high = cut
    return f"{low}" if low == high else f"{low}-{high}"


def _cuts(value: Any, abstains: bool) -> Cuts:
    bands = [each if isinstance(each, list) else [each, each] for each in value] if isinstance(value, list) else []
    numbers = [end for band in bands for end in band]
    if not bands or any(isinstance(end, bool) or not isinstance(end, int | float) for end in numbers):
        raise BadProtocol(f"cuts of a table are a list of numbers for scores, e.g. [0.3, 0.5], got {value!r:.60}")
    for end in numbers:
        if not 0 < end <= 1:
            raise BadProtocol(f"a cut for scores must lie above 0 and at most at 1, got {end}")
    for each, band in zip(value, bands, strict=True):
        if isinstance(each, list) and not abstains:
            raise BadProtocol(
                f"the band {each!r:.40} is for candidates that abstain: give abstain and price, or one number"
            )
        if isinstance(each, list) and (len(band) != 2 or not band[0] < band[1]):
            raise BadProtocol(f"a band of scores is written [low, high] with low < high, got {each!r:.40}")
    cuts = tuple((float(low), float(high)) for low, high in bands)
    if len(set(cuts)) < len(cuts):
        raise BadProtocol(f"cuts for scores are listed each once, got {value!r:.60}")
    return cuts
