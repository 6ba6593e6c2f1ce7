"""Two worlds made of real data: labs choose among fitted models that they did not fit.

``digits``: 240 classifiers of even and odd handwritten digits; ``breast_cancer``: 200 classifiers of tumours. All were
fitted on public rows; the labs' items are drawn from other rows, which carry their true labels. The packaged files hold
predictions and labels only; `benchmarks/candidates.py` makes them. `twelve_models`: one of each kind, from ``digits``.
"""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from replical.classes.table import PredictionTable
from replical.errors import BadSpec
from replical.worlds.world import World

NAMES = ("digits", "breast_cancer")
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
    return _world(*_stored(name), pool_size)


def twelve_models(pool_size: int | str) -> World:
    """A world of twelve classifiers of even and odd handwritten digits, one of each kind.

    Examples
    --------
    >>> world = twelve_models(20_000)
    >>> len(world.C), world.C.candidates[0], world.population().nu
    (12, 'adaboost', Fraction(14, 1297))
    """
    return _world(*twelve(), pool_size)


def twelve() -> tuple[list[str], NDArray[np.uint8], NDArray[np.uint8]]:
    """The names of the twelve models, what each says about every row of the labs (a row a model), and the true labels."""
    names, predictions, labels = _stored("digits")
    return list(_TWELVE), predictions[[names.index(name) for name in _TWELVE.values()]], labels


def _stored(name: str) -> tuple[list[str], NDArray[np.uint8], NDArray[np.uint8]]:
    """Names of models, one row of predictions each, and the true labels, from a packaged file."""
    if name not in NAMES:
        raise BadSpec(f"unknown data {name!r}; there are {' and '.join(NAMES)}")
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
