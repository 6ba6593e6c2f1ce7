"""Model Picker: which of k fitted models is best, from a stream of items of which few are labelled.

Karimi, Gürel, Karlaš, Rausch, Zhang and Krause, "Online Active Model Selection for Pre-trained Classifiers", AISTATS 2021
(PMLR 130, arXiv:2010.09818), as it is defined there. At item t, with L the models' estimated losses so far:

    η = √(ln k / 2t);  wᵢ ∝ exp(-η Lᵢ)
    v = max over labels c of λ(1 - λ), λ the weight of the models that do not say c
    with probability q = min(1, max(v, η)), or 0 if all models agree: ask, and add 1/q to L of those who are wrong

The answer is a model of smallest L. It has no rule to stop: it ends with the stream, or with a budget of labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK = 64  # items looked at together; the first one that is asked ends a block, so this changes no decision

Codes = NDArray[np.uint8]
Floats = NDArray[np.float64]


class Step(NamedTuple):
    """Where Model Picker is after a label: the item it asked about and each model's estimated loss so far."""

    item: int
    losses: Floats


def steps(predictions: Codes, truth: Codes, coins: Floats) -> Iterator[Step]:
    """Run Model Picker, label by label.

    Parameters
    ----------
    predictions
        Label codes, one row an item of the stream, one column a model.
    truth
        The label code of each item; those that are not asked are not looked at.
    coins
        One number in [0, 1) an item: it is asked if its coin is below q.

    Yields
    ------
    step
        One a label.
    """
    k, labels = predictions.shape[1], int(predictions.max()) + 1
    disputed = np.flatnonzero((predictions != predictions[:, :1]).any(axis=1))
    losses, at = np.zeros(k), 0
    while at < len(disputed):
        items = disputed[at : at + BLOCK]
        eta = np.sqrt(np.log(k) / (2 * (items + 1)))
        w = np.exp(-eta[:, None] * (losses - losses.min()))
        w /= w.sum(axis=1, keepdims=True)
        cell = predictions[items] + labels * np.arange(len(items))[:, None]  # an item and a label
        says = np.bincount(cell.ravel(), w.ravel(), minlength=labels * len(items)).reshape(-1, labels)
        q = np.minimum(1, np.maximum((says * (1 - says)).max(axis=1), eta))
        hits = np.flatnonzero(coins[items] < q)
        if not hits.size:
            at += len(items)
            continue
        item = items[hits[0]]
        losses = losses + (predictions[item] != truth[item]) / q[hits[0]]
        yield Step(int(item), losses)
        at += int(hits[0]) + 1


def pick(predictions: Codes, truth: Codes, coins: Floats, budget: float = inf) -> tuple[Floats, int]:
    """Run Model Picker to its end, or until it has taken as many labels as `budget` allows.

    Returns
    -------
    losses, asked
        Each model's estimated loss, and how many labels it took.
    """
    losses, asked, run = np.zeros(predictions.shape[1]), 0, steps(predictions, truth, coins)
    while asked < budget and (step := next(run, None)) is not None:
        losses, asked = step.losses, asked + 1
    return losses, asked
