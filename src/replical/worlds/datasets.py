"""Worlds made of real data: labs choose among fitted models that they did not fit.

``digits``: 240 classifiers of even and odd handwritten digits; ``breast_cancer``: 200 classifiers of tumours;
`flight_worlds`: twelve classifiers of late flights. All were fitted on other rows than the labs' items are drawn from.
Packaged files hold predictions and labels only; `benchmarks/candidates.py` and `benchmarks/flights.py` make them.
"""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from replical.classes.table import PredictionTable
from replical.errors import BadSpec
from replical.worlds.world import World

NAMES = ("digits", "breast_cancer")
_PUBLIC_FLIGHTS = 20_000  # the first ones; the others are the labs'
_TWELVE = {  # one of each kind of model, fitted on all public rows, and what the packaged file calls it
    "adaboost": "adaboost-t30-all",
    "boosting": "boosting-t50-d3-all",
    "discriminant": "lda-all",
    "extra-trees": "extratrees-t40-all",
    "forest": "forest-t40-all",
    "logistic": "logistic-C0.3-all",
    "nearest-5": "knn-k5-all",
    "network": "mlp-h32-all",
    "svm-cubic": "svm-poly-d3-all",
    "svm-linear": "svm-linear-C1-all",
    "svm-rbf": "svm-rbf-C1-g0.03-all",
    "tree": "tree-d10-all",
}


def real_world(name: str, pool_size: int | str) -> World:
    """A world whose population is uniform over the labs' rows of a data set.

    Examples
    --------
    >>> world = real_world("digits", 10_000)
    >>> len(world.C), world.population().nu
    (240, Fraction(13, 1297))
    """
    if name not in NAMES:
        raise BadSpec(f"unknown data {name!r}; there are {' and '.join(NAMES)}")
    return _world(*_load(name), pool_size)


def flight_worlds(items: int, public: int) -> tuple[World, World, World]:
    """Twelve models that say whether a flight will be late: labs with so many items, and two kinds of public flights.

    The first public ones are like the labs' flights; of the second ones, which are from elsewhere, half were late.

    Examples
    --------
    >>> labs, alike, balanced = flight_worlds(20_000, 100)
    >>> len(labs.C), labs.C.candidates[0], len(labs.cells), len(alike.cells), len(balanced.cells)
    (12, 'discriminant', 100000, 20000, 9350)
    """
    names, predictions, late = _load("flights")
    public_rows, lab_rows = np.split(np.arange(len(late)), [_PUBLIC_FLIGHTS])
    in_time, delayed = (public_rows[late[public_rows] == each] for each in (0, 1))
    balanced = np.concatenate([delayed, in_time[: len(delayed)]])

    def world(rows: NDArray[np.int64], size: int) -> World:
        return _world(names, predictions[:, rows], late[rows], size)

    return world(lab_rows, items), world(public_rows, public), world(balanced, public)


def twelve() -> tuple[list[str], NDArray[np.uint8], NDArray[np.uint8]]:
    """The names of the twelve models, what each says about every row of the labs (a row a model), and the true labels."""
    names, predictions, labels = _load("digits")
    return list(_TWELVE), predictions[[names.index(name) for name in _TWELVE.values()]], labels


def _load(name: str) -> tuple[list[str], NDArray[np.uint8], NDArray[np.uint8]]:
    """Names of models, one row of predictions each, and the true labels, from a packaged file."""
    with (
        as_file(files("replical.worlds") / "data" / f"{name}.npz") as path,
        np.load(path, allow_pickle=False) as stored,
    ):
        models, rows = stored["shape"].tolist()
        predictions = np.unpackbits(stored["predictions"], axis=1, count=rows)
        labels = np.unpackbits(stored["labels"], count=rows)
        names = [str(candidate) for candidate in stored["names"]]
    assert predictions.shape == (models, rows), "a packaged file is damaged"
    return names, predictions, labels


def _world(names: list[str], predictions: NDArray[np.uint8], labels: NDArray[np.uint8], pool_size: int | str) -> World:
    C = PredictionTable(names)
    law = np.stack([1 - labels, labels], axis=1).astype(np.float64)
    return World(C=C, cells=C.items(predictions.T), law=law, pool_size=pool_size)
