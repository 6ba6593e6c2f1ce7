"""Twelve sets of candidate models, fitted with scikit-learn on data that come with it or that it generates.

A set is a table: what every model says about each row of a population, and the rows' true labels. Models are fitted on
other rows than these. The sets differ in what makes choosing hard or easy: 10 to 240 models, 2 to 10 labels, models that
are nearly the same, fits that failed, a clear winner, near-ties. Everything follows from fixed seeds.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from candidates import SHUFFLE_SEED, Floats, Recipe, Zoo, recipes
from candidates import breast_cancer as tumours
from candidates import digits as even_or_odd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from replical.worlds.datasets import real_world

GENERATED = 50_000  # rows of a population that is generated

Codes = NDArray[np.uint8]


@dataclass(frozen=True)
class ModelSet:
    """What the candidates say about every row of a population, and the truth.

    Attributes
    ----------
    name, words
        How tables call it, and a sentence about it.
    candidates
        Names of the models.
    predictions
        Label codes, one row an item, one column a model.
    truth
        The label code of each item.
    features
        What a new model could be trained on, one row an item: scaled as for the candidates, by rows they were fitted on.
    """

    name: str
    words: str
    candidates: tuple[str, ...]
    predictions: Codes
    truth: Codes
    features: Floats | None = None

    @property
    def labels(self) -> int:
        """How many label values there are."""
        return int(self.truth.max()) + 1

    @property
    def errors(self) -> NDArray[np.int64]:
        """Rows on which each model is wrong."""
        wrong: NDArray[np.int64] = (self.predictions != self.truth[:, None]).sum(axis=0)
        return wrong


@dataclass(frozen=True)
class Rows:
    """A data set cut in two: rows to fit on, and rows that become the population.

    Features are centred and divided by their spread, both as seen on the rows to fit on.
    """

    X: Floats
    y: Codes
    fit: int

    @property
    def scaled(self) -> Floats:
        """All features in units of their spread; features that never vary stay 0."""
        seen = self.X[: self.fit]
        spread = seen.std(axis=0)
        return np.asarray((self.X - seen.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


@dataclass(frozen=True)
class Fit:
    """One candidate: a model not yet fitted and what it sees of the rows to fit on.

    Attributes
    ----------
    rows, features
        Shares of the rows and of the features.
    bootstrap
        Are rows drawn with replacement?
    shuffled
        Are labels shuffled first, so that there is nothing to learn?
    """

    name: str
    model: Any
    rows: float = 1.0
    features: float = 1.0
    bootstrap: bool = False
    shuffled: bool = False


def fitted(name: str, words: str, rows: Rows, fits: Iterable[Fit]) -> ModelSet:
    """Fit all candidates; each one's name is its seed, so adding others leaves it as it is."""
    X, fits = rows.scaled, list(fits)
    says = [_predict(X, rows, each, zlib.crc32(f"{name}/{each.name}".encode())) for each in fits]
    names, truth = tuple(each.name for each in fits), rows.y[rows.fit :]
    return ModelSet(name, words, names, np.stack(says, axis=1), truth, X[rows.fit :])


def _predict(X: Floats, rows: Rows, fit: Fit, seed: int) -> Codes:
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.choice(X.shape[1], size=max(1, round(fit.features * X.shape[1])), replace=False))
    chosen = rng.choice(rows.fit, size=round(fit.rows * rows.fit), replace=fit.bootstrap)
    y = rng.permutation(rows.y[chosen]) if fit.shuffled else rows.y[chosen]
    model = clone(fit.model)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed % 2**31)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some fits are poor on purpose, and scikit-learn says so
        model.fit(X[np.ix_(chosen, columns)], y)
        return np.asarray(model.predict(X[rows.fit :, columns]), dtype=np.uint8)


# Models


def ordinary() -> list[Recipe]:
    """Twelve models that anybody would try, the last of which learns nothing."""
    return [
        ("logistic", LogisticRegression(max_iter=1000)),
        ("svm", SVC()),
        ("forest", RandomForestClassifier(n_estimators=60)),
        ("boosting", GradientBoostingClassifier(n_estimators=20, max_features=0.3)),
        ("neighbours", KNeighborsClassifier()),
        ("bayes", GaussianNB(var_smoothing=0.01)),
        ("tree", DecisionTreeClassifier()),
        ("extra-trees", ExtraTreesClassifier(n_estimators=60)),
        ("lda", LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)),
        ("ridge", RidgeClassifier()),
        ("network", MLPClassifier((30,), max_iter=150)),
        ("dummy", DummyClassifier()),
    ]


def quick() -> list[Recipe]:
    """Those of the twelve that are fitted in no time."""
    return [(name, model) for name, model in ordinary() if name not in ("boosting", "network", "dummy")]


def plain(models: Iterable[Recipe]) -> list[Fit]:
    """Every model once, on all rows."""
    return [Fit(name, model) for name, model in models]


# Data


def bundled(load: Callable[..., Any], fit: int) -> Rows:
    """A data set of scikit-learn, its rows shuffled once."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(SHUFFLE_SEED).permutation(y.size)
    return Rows(X[order], y[order].astype(np.uint8), fit)


def generated(fit: int, **options: Any) -> Rows:
    """A data set that scikit-learn generates, as large as one likes."""
    X, y = make_classification(fit + GENERATED, random_state=SHUFFLE_SEED, **options)
    return Rows(X, y.astype(np.uint8), fit)


# The sets


def packaged(name: str, zoo: Zoo, words: str) -> ModelSet:
    """One of the two sets that come with the library (benchmarks/candidates.py)."""
    world = real_world(zoo.name, "exact")
    assert world.cells is not None
    assert world.law is not None
    truth, features = world.law.argmax(axis=1).astype(np.uint8), zoo.rescaled()[zoo.public :]
    assert np.array_equal(truth, zoo.y[zoo.public :])
    return ModelSet(name, words, world.C.candidates, np.asarray(world.cells, dtype=np.uint8), truth, features)


def iris() -> ModelSet:
    words = "ten of the ordinary models on 50 flowers"
    return fitted("iris-10", words, bundled(load_iris, 50), plain(ordinary()[:10]))


def wine() -> ModelSet:
    fits = [
        Fit(f"{name}-{diet}", model, rows=rows)
        for name, model in ordinary()
        for diet, rows in (("all", 1.0), ("half", 0.5))
    ]
    return fitted("wine-24", "the ordinary models on 60 wines and on 30 of them", bundled(load_wine, 60), fits)


def digits() -> ModelSet:
    words = "the twelve ordinary models on 600 digits"
    return fitted("digits-12", words, bundled(load_digits, 600), plain(ordinary()))


def digits_sizes() -> ModelSet:
    fits = [Fit(f"{name}-{n}", model, rows=n / 800) for name, model in ordinary() for n in (80, 160, 320, 560, 800)]
    words = "the twelve ordinary models, each fitted on 80, 160, 320, 560 and 800 digits"
    return fitted("digits-60", words, bundled(load_digits, 800), fits)


def digits_copies() -> ModelSet:
    fits = [Fit(f"logistic-{seed}", LogisticRegression(max_iter=1000), bootstrap=True) for seed in range(100)]
    words = "near-duplicates: one logistic regression, fitted on 100 bootstrap samples of 600 digits"
    return fitted("digits-copies-100", words, bundled(load_digits, 600), fits)


def digits_failed() -> ModelSet:
    constant = [Fit(f"always-{digit}", DummyClassifier(strategy="constant", constant=digit)) for digit in range(10)]
    shuffled = [Fit(f"{name}-shuffled-{seed}", model, shuffled=True) for name, model in quick() for seed in range(2)]
    words = "failed fits: the twelve ordinary models among ten constants and 18 models fitted on shuffled labels"
    return fitted("digits-failed-40", words, bundled(load_digits, 600), [*plain(ordinary()), *constant, *shuffled])


def moons() -> ModelSet:
    X, y = make_moons(400 + GENERATED, noise=0.3, random_state=SHUFFLE_SEED)
    diets = (
        ("all", 1.0, False),
        ("boot", 1.0, True),
        ("half", 0.5, False),
        ("quarter", 0.25, False),
        ("tenth", 0.1, False),
    )
    fits = [
        Fit(f"{name}-{diet}", model, rows=rows, bootstrap=bootstrap)
        for name, model in recipes()
        for diet, rows, bootstrap in diets
    ]
    words = "near-ties: 40 recipes on five samples of 400 points of two overlapping moons"
    return fitted("moons-200", words, Rows(X, y.astype(np.uint8), 400), fits)


def two_classes() -> ModelSet:
    rows = generated(500, n_features=20, n_informative=6, flip_y=0.2)
    fits = [
        Fit(f"{name}-{diet}", model, rows=share, bootstrap=boot)
        for name, model in recipes()
        for diet, share, boot in (("boot", 1.0, True), ("half", 0.5, False))
    ]
    words = "noise: a tenth of the labels wrong, 40 recipes on two samples of 500 rows"
    return fitted("two-classes-80", words, rows, fits)


def four_classes() -> ModelSet:
    rows = generated(1000, n_features=12, n_informative=12, n_redundant=0, n_classes=4, class_sep=1.5, flip_y=0.01)
    poor = [Fit(f"{name}-{seed}", model, features=0.4) for name, model in quick() for seed in range(3)]
    words = "a clear winner: one support vector machine sees all 12 features, 27 models see five of them"
    return fitted("winner-28", words, rows, [*poor, Fit("svm-all", SVC())])


def ten_classes() -> ModelSet:
    rows = generated(
        600, n_features=20, n_informative=15, n_classes=10, n_clusters_per_class=1, class_sep=2, flip_y=0.02
    )
    fits = [Fit(f"{name}-{seed}", model, bootstrap=True) for name, model in ordinary() for seed in range(10)]
    words = "the twelve ordinary models, each on ten bootstrap samples of 600 rows"
    return fitted("ten-classes-120", words, rows, fits)


SETS: dict[str, Callable[[], ModelSet]] = {
    "iris-10": iris,
    "wine-24": wine,
    "breast-200": lambda: packaged("breast-200", tumours(), "tumours: 40 recipes on five samples of 169 rows"),
    "digits-12": digits,
    "digits-60": digits_sizes,
    "digits-copies-100": digits_copies,
    "digits-failed-40": digits_failed,
    "even-odd-240": lambda: packaged(
        "even-odd-240", even_or_odd(), "even or odd digits: 40 recipes on six samples of 500 rows"
    ),
    "moons-200": moons,
    "two-classes-80": two_classes,
    "winner-28": four_classes,
    "ten-classes-120": ten_classes,
}


def make(name: str) -> ModelSet:
    """Fit the models of a set."""
    with threadpool_limits(limits=1):  # sums in another order could change a prediction
        return SETS[name]()
