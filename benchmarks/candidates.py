"""Candidate models for choosing among on real data: many classifiers, fitted on public rows only.

Labs that choose one model out of a given list need the list to be the same for all of them and independent of the
rows they label. This script makes two such lists from data sets that scikit-learn bundles, so that nothing is
downloaded:

- ``digits``: 240 classifiers that tell even from odd handwritten digits (500 public rows, 1297 lab rows);
- ``breast_cancer``: 200 classifiers that tell malignant from benign tumours (169 public rows, 400 lab rows).

The rows are shuffled once with a fixed seed. The first rows are public: every candidate is fitted on some of them, and
features are rescaled by what is seen on them alone. The remaining rows belong to the labs: a candidate only predicts
them. The candidates are the combinations of a recipe (a learning method with its settings) and a diet (which public
rows and which features it sees), so that some are good, some are poor and many are nearly tied.

Every list is written as ``NAME.npz``, without pickled objects:

- ``predictions``: the 0/1 matrix of models by lab rows, packed by ``np.packbits`` along axis 1;
- ``shape``: the numbers of models and of lab rows;
- ``labels``: the labels of the lab rows, packed by ``np.packbits``;
- ``names``: the names of the models;
- ``source``: the data set, its citation and how its rows were split.

Running the script again with the same versions of numpy, scipy and scikit-learn gives the same files.
"""

from __future__ import annotations

import argparse
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

SHUFFLE_SEED = 20240229

Floats = NDArray[np.float64]
Bits = NDArray[np.uint8]
Recipe = tuple[str, Any]  # a name and a classifier not yet fitted


@dataclass(frozen=True)
class Diet:
    """What part of the public rows a candidate is fitted on.

    Parameters
    ----------
    name
        How the diet appears in the names of models.
    rows
        Share of the public rows that are drawn.
    features
        Share of the features that are kept.
    replace
        Whether rows are drawn with replacement.
    """

    name: str
    rows: float = 1.0
    features: float = 1.0
    replace: bool = False

    def draw(self, rng: np.random.Generator, labels: Bits, features: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Indices of the rows and of the features, drawn until both labels occur."""
        columns = np.sort(rng.choice(features, size=max(1, round(self.features * features)), replace=False))
        while True:
            rows = rng.choice(labels.size, size=round(self.rows * labels.size), replace=self.replace)
            if np.unique(labels[rows]).size == 2:
                return rows, columns


@dataclass(frozen=True)
class Zoo:
    """A data set, split into public rows and lab rows, with the diets of its candidates.

    Parameters
    ----------
    name
        Name of the file, without its ending.
    source
        The data set and its citation, in a sentence or two.
    X, y
        Features and 0/1 labels of all rows, in shuffled order.
    public
        Number of public rows, which come first.
    common_scale
        Whether all features share one unit, and so are divided by one number.
    diets
        What the candidates are fitted on; every recipe is fitted once on each.
    """

    name: str
    source: str
    X: Floats
    y: Bits
    public: int
    common_scale: bool
    diets: tuple[Diet, ...]

    def rescaled(self) -> Floats:
        """Features centred and divided by their spread, both as seen on the public rows."""
        seen = self.X[: self.public]
        centred = seen - seen.mean(axis=0)
        spread = np.sqrt((centred**2).mean(axis=None if self.common_scale else 0))
        return np.asarray((self.X - seen.mean(axis=0)) / spread)

    def description(self) -> str:
        """The source, followed by how its rows were split."""
        return (
            f"{self.source} Its {self.y.size} rows were shuffled by numpy.random.default_rng({SHUFFLE_SEED}); the first "
            f"{self.public} are public and the models were fitted on them alone, the other "
            f"{self.y.size - self.public} are the lab rows, in shuffled order."
        )


def digits() -> Zoo:
    """Even (0) against odd (1) handwritten digits."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(SHUFFLE_SEED).permutation(y.size)
    source = (
        "Even (0) or odd (1) digit in Optical Recognition of Handwritten Digits (E. Alpaydin and C. Kaynak, 1998, "
        "UCI Machine Learning Repository), the test part that scikit-learn bundles as load_digits."
    )
    diets = (
        Diet("all"),
        Diet("boot", replace=True),
        Diet("half", rows=0.5),
        Diet("quarter", rows=0.25),
        Diet("tenth", rows=0.1),
        Diet("halfpixels", features=0.5),
    )
    return Zoo("digits", source, X[order], (y[order] % 2).astype(np.uint8), 500, True, diets)


def breast_cancer() -> Zoo:
    """Benign (0) against malignant (1) tumours."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(SHUFFLE_SEED).permutation(y.size)
    source = (
        "Benign (0) or malignant (1) tumour in Breast Cancer Wisconsin (Diagnostic) (W. Wolberg, O. Mangasarian, "
        "N. Street and W. Street, 1995, UCI Machine Learning Repository), which scikit-learn bundles as "
        "load_breast_cancer."
    )
    diets = (
        Diet("boot", replace=True),
        Diet("half", rows=0.5),
        Diet("fifth", rows=0.2),
        Diet("halffeatures", features=0.5),
        Diet("threefeatures", rows=0.5, features=0.1),
    )
    # scikit-learn codes malignant as 0
    return Zoo("breast_cancer", source, X[order], (1 - y[order]).astype(np.uint8), 169, False, diets)


def linear_recipes() -> Iterator[Recipe]:
    """Linear boundaries and naive Bayes."""
    for C in (0.003, 0.03, 0.3, 10.0):
        yield f"logistic-C{C:g}", LogisticRegression(C=C, max_iter=2000)
    for C in (0.01, 1.0):
        yield f"svm-linear-C{C:g}", SVC(kernel="linear", C=C)
    yield "ridge-a100", RidgeClassifier(alpha=100.0)
    yield "lda", LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2)
    yield "bayes-gauss", GaussianNB(var_smoothing=0.01)
    yield "bayes-signs", BernoulliNB(binarize=0.0)
    yield "centroid", NearestCentroid()


def kernel_recipes() -> Iterator[Recipe]:
    """Support vector machines and nearest neighbours."""
    for C, gamma in ((1, 0.003), (10, 0.003), (1, 0.01), (10, 0.01), (1, 0.03), (10, 0.03), (100, 0.01), (10, 0.1)):
        yield f"svm-rbf-C{C}-g{gamma:g}", SVC(kernel="rbf", C=C, gamma=gamma)
    for degree in (2, 3):
        yield f"svm-poly-d{degree}", SVC(kernel="poly", degree=degree, C=1.0, gamma=0.02, coef0=1.0)
    for k in (1, 3, 5, 11, 25):
        yield f"knn-k{k}", KNeighborsClassifier(n_neighbors=k, n_jobs=1)


def tree_recipes() -> Iterator[Recipe]:
    """Single trees and small collections of trees."""
    for depth in (2, 3, 4, 6, 10):
        yield f"tree-d{depth}", DecisionTreeClassifier(max_depth=depth)
    for trees in (10, 40):
        yield f"forest-t{trees}", RandomForestClassifier(n_estimators=trees, n_jobs=1)
        yield f"extratrees-t{trees}", ExtraTreesClassifier(n_estimators=trees, n_jobs=1)
    for trees, depth in ((20, 2), (50, 3)):
        model = GradientBoostingClassifier(n_estimators=trees, max_depth=depth, max_features=0.5)
        yield f"boosting-t{trees}-d{depth}", model
    yield "adaboost-t30", AdaBoostClassifier(n_estimators=30)


def network_recipes() -> Iterator[Recipe]:
    """Small neural networks."""
    for units in (8, 32):
        yield f"mlp-h{units}", MLPClassifier((units,), max_iter=60, learning_rate_init=0.01)


def recipes() -> list[Recipe]:
    """All recipes."""
    return [*linear_recipes(), *kernel_recipes(), *tree_recipes(), *network_recipes()]


def fit_predict(zoo: Zoo, X: Floats, name: str, unfitted: Any, diet: Diet) -> Bits:
    """Fit one candidate on its share of the public rows, and predict the lab rows.

    The candidate's name is its seed, so that adding or removing others leaves it as it is.
    """
    seed = zlib.crc32(f"{zoo.name}/{name}".encode())
    rows, columns = diet.draw(np.random.default_rng(seed), zoo.y[: zoo.public], X.shape[1])
    model = clone(unfitted)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed % 2**31)
    with warnings.catch_warnings():
        # the networks are stopped early on purpose
        warnings.simplefilter("ignore", ConvergenceWarning)
        # some pixels at the edge are always blank, which leaves the centroids as they are
        warnings.filterwarnings("ignore", message=".*zero standard deviation", category=UserWarning)
        model.fit(X[np.ix_(rows, columns)], zoo.y[rows])
    return np.asarray(model.predict(X[zoo.public :, columns]), dtype=np.uint8)


def candidates(zoo: Zoo) -> tuple[list[str], Bits]:
    """Names of all candidates, and their predictions as a matrix of models by lab rows."""
    X = zoo.rescaled()
    named = [(f"{method}-{diet.name}", model, diet) for method, model in recipes() for diet in zoo.diets]
    predictions = np.stack([fit_predict(zoo, X, name, model, diet) for name, model, diet in named])
    return [name for name, _, _ in named], predictions


def save(zoo: Zoo, folder: Path) -> Path:
    """Make the candidates of one data set and write them into the folder.

    Returns
    -------
    Path
        The file.
    """
    names, predictions = candidates(zoo)
    path = folder / f"{zoo.name}.npz"
    np.savez_compressed(
        path,
        predictions=np.packbits(predictions, axis=1),
        shape=np.array(predictions.shape, dtype=np.int64),
        labels=np.packbits(zoo.y[zoo.public :]),
        names=np.array(names),
        source=np.array(zoo.description()),
    )
    return path


def main() -> None:
    """Write ``digits.npz`` and ``breast_cancer.npz``."""
    parser = argparse.ArgumentParser(
        description="Fit candidate models on public rows of two bundled data sets, and save what they predict elsewhere."
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder for digits.npz and breast_cancer.npz"
    )
    folder: Path = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    # one thread, because sums in another order could change a prediction
    with threadpool_limits(limits=1):
        for zoo in (digits(), breast_cancer()):
            save(zoo, folder)


if __name__ == "__main__":
    main()
