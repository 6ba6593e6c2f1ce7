"""Like any estimator of scikit-learn: fit, predict, pipelines, cross-validation, with labels revealed as they are asked for.

Needs scikit-learn: ``pip install 'replical[sklearn]'``.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    check_random_state,
    column_or_1d,
    validate_data,
)

from replical.classes.base import Codes, HypothesisClass
from replical.classes.halfspaces import HalfSpaces
from replical.classes.rows import PackedRows
from replical.classes.stumps import Stumps
from replical.classes.table import PredictionTable
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.learners.base import Course
from replical.learners.for_plan import learner_for
from replical.learners.result import Result
from replical.plans.catalogue import find
from replical.plans.plan import plan
from replical.pools.pool import Pool
from replical.pools.query import Answers

Oracle = Callable[[int], Any]


class _Replicable(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What the two estimators share: parameters of the learner, the seed, and the run itself."""

    def _seed(self) -> str:
        """The published string; without one the run cannot be repeated elsewhere, so that is said once."""
        if self.seed is not None:
            return str(self.seed)
        warnings.warn(
            "no seed is given: one was drawn and kept in seed_. Publish it before anyone fits, or give seed=, so that "
            "another lab can reach the same answer.",
            UserWarning,
            stacklevel=3,
        )
        return secrets.token_hex(16)

    def _private(self) -> PrivateRandomness:
        """The order in which labels are asked for: fresh, or fixed by random_state as everywhere in scikit-learn."""
        if self.random_state is None:
            return PrivateRandomness.fresh()
        return PrivateRandomness.simulated("sklearn", int(check_random_state(self.random_state).randint(2**31)))

    def _run(self, C: HypothesisClass, items: Any, labels: Callable[[NDArray[np.int64]], Codes], seed: str) -> Result:
        """Ask for labels as the learner wants them, and for no others."""
        options = {name: getattr(self, name) for name in ("nu", "theta", "kappa") if find(self.learner).uses(name)}
        if options.get("kappa") is not None and options["kappa"] > self.epsilon:
            options["kappa"] = self.epsilon  # a default that is made for larger errors
        learner_plan = plan(
            self.learner,
            C,
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho,
            pool="finite",
            max_labels=self.max_labels,
            **options,
        )
        course = Course(learner_for(learner_plan), Pool(C, items, self._private()), SharedRandomness(seed))
        while course.query is not None:
            course.tell(Answers.unanimous(course.query, labels(course.query.items), len(C.labels)))
        return course.ended()

    def _keep(self, result: Result, classes: NDArray[Any], seed: str) -> None:
        """All at once, at the end: a fit that fails leaves the one before as it was."""
        self.result_, self.classes_, self.seed_ = result, classes, seed
        self.n_labels_ = result.labels
        self.hypothesis_ = result.hypothesis
        self.certified_ = result.proven is not None and result.proven.certified

    def _labels(
        self, y: Any, oracle: Oracle | None, candidate_labels: Sequence[Any] = ()
    ) -> tuple[NDArray[Any], Callable[[NDArray[np.int64]], Codes]]:
        """The label set, with what the candidates may say, and a way to look a label up when it is asked for."""
        if y is None and oracle is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        if y is not None and oracle is not None:
            raise ValueError("labels come from y or from an oracle: give one of them, not both")
        if oracle is not None:
            if self.classes is None:
                raise ValueError("an oracle says labels one at a time: give the label set as classes=[..]")
            known = np.asarray(self.classes)
            return known, lambda items: _codes([oracle(int(item)) for item in items], known)
        check_classification_targets(y)
        if self.classes is not None:
            known = np.asarray(self.classes)
        else:
            known = unique_labels(y)
            known = np.unique(np.concatenate([known, np.asarray(candidate_labels)])) if len(candidate_labels) else known
        return known, lambda items: _codes(y[items], known)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_")


def _codes(values: Any, classes: NDArray[Any]) -> Codes:
    values = np.asarray(values)
    places = np.searchsorted(np.sort(classes), values)
    order = np.argsort(classes)
    if len(values) and not (np.isin(values, classes)).all():
        wrong = values[~np.isin(values, classes)][0]
        raise ValueError(f"the label {wrong!r} is not among the classes {classes.tolist()!r}")
    codes: Codes = order[np.minimum(places, len(classes) - 1)].astype(np.uint16)
    return codes


class ReplicableClassifier(_Replicable):
    """A classifier that another lab, with other data and the same seed, would have chosen too.

    Parameters
    ----------
    hypotheses
        ``"stumps"`` (one feature, one public cut), ``"halfspaces"`` (a public net), or a class of your own. Cuts lie
        between -`span` and `span`, so scale features by public constants, not by this sample.
    epsilon, delta
        Error asked for, and how often it may be missed.
    rho
        How often two labs may differ.
    nu, theta
        Upper bound on the error of the best hypothesis, and the disagreement coefficient; for learners that need them.
    kappa
        Where the learner may stop uncertified, as in `replical.plan`; at most epsilon.
    learner
        A learner id, as in `replical.plan`.
    bins, span, count
        Cuts a feature and their range; half-spaces in the net.
    max_labels
        Budget.
    classes
        The label set, where it cannot be read off `y`.
    seed
        The published string. If left out one is drawn, kept in ``seed_``, and warned about.
    random_state
        Fixes the private order in which labels are asked for.

    Attributes
    ----------
    result_
        What the run returned: a `Result`.
    hypothesis_
        Index of the chosen hypothesis.
    n_labels_
        Labels that were looked at.
    certified_
        Did the learner prove ρ on these items? False for learners that prove nothing.
    seed_
        The published string that was used.
    classes_
        The label set.
    class_
        The class of hypotheses it is one of.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = np.where(X[:, 0] > .3, "yes", "no")
    >>> model = ReplicableClassifier(seed="published", random_state=0).fit(X, y)
    >>> model.n_labels_, model.class_.describe(model.hypothesis_), float((model.predict(X) == y).mean())
    (89, '1 if x0 >= 0.272727 else 0', 0.9885)
    """

    def __init__(
        self,
        hypotheses: str | HypothesisClass = "stumps",
        *,
        epsilon: float = 0.1,
        delta: float = 0.05,
        rho: float = 0.1,
        nu: float | None = None,
        theta: float | None = None,
        kappa: float | None = 0.05,
        learner: str = "rounded-a2",
        bins: int = 32,
        span: float = 3.0,
        count: int = 1000,
        max_labels: int | None = None,
        classes: Sequence[Any] | None = None,
        seed: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.nu = nu
        self.theta = theta
        self.kappa = kappa
        self.learner = learner
        self.bins = bins
        self.span = span
        self.count = count
        self.max_labels = max_labels
        self.classes = classes
        self.seed = seed
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, oracle: Oracle | None = None) -> ReplicableClassifier:
        """Choose a hypothesis, looking at a label only when it is asked for.

        Parameters
        ----------
        X
            Items, one row each.
        y
            Their labels; or
        oracle
            a function from row numbers to labels, called once a label.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If labels come from nowhere or from both, there are not exactly two of them, or `hypotheses` is unknown.
        ReplicalError
            Whatever plan and run refuse, e.g. `BudgetSpent` or `ValueOutOfRange`.
        """
        if y is None and oracle is None:
            self._labels(y, oracle)
        if y is None:
            X = validate_data(self, X)
        else:
            X, y = validate_data(self, X, y)
        classes, labels = self._labels(y, oracle)
        if (count := len(classes)) != 2:
            raise ValueError(
                f"Only binary classification is supported. {count} class{'' if count == 1 else 'es'} given."
            )
        seed = self._seed()
        C = self._class(X.shape[1], seed)
        if isinstance(self.hypotheses, str) and self.hypotheses == "stumps":
            self._look_at_scale(X)
        self._keep(self._run(C, X, labels, seed), classes, seed)
        self.class_ = C
        return self

    def _look_at_scale(self, X: NDArray[Any]) -> None:
        """Cuts are public, so they cannot follow the data; say so where they miss it."""
        beyond = np.flatnonzero((np.abs(X) > self.span).mean(axis=0) > 0.5)
        if len(beyond):
            named = getattr(self, "feature_names_in_", range(X.shape[1]))
            warnings.warn(
                f"most values of feature {named[beyond[0]]!r} lie beyond ±{self.span:g}, where no cut is"
                + (f" ({len(beyond)} of {X.shape[1]} features)" if len(beyond) > 1 else "")
                + ": scale features by public constants, or give a larger span.",
                UserWarning,
                stacklevel=3,
            )

    def _class(self, features: int, seed: str) -> HypothesisClass:
        if not isinstance(self.hypotheses, str):
            return self.hypotheses
        if self.hypotheses == "stumps":
            line = [self.span * (2 * (b + 1) / (self.bins + 1) - 1) for b in range(self.bins)]
            return Stumps(cuts=[line] * features)
        if self.hypotheses == "halfspaces":
            return HalfSpaces(features, self.count, seed=seed)
        raise ValueError(f"hypotheses must be 'stumps', 'halfspaces' or a class, got {self.hypotheses!r}")

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """What the chosen hypothesis says about every row of `X`."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        codes = self.class_.codes(self.class_.items(X), np.array([self.hypothesis_]))[0]
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class ReplicableSelector(_Replicable):
    """Choose one of several fitted estimators, as another lab with the same seed would.

    Parameters
    ----------
    estimators
        (name, fitted estimator) pairs; their order is public.
    epsilon, delta
        Error asked for, and how often it may be missed.
    rho
        How often two labs may differ.
    nu, theta
        Upper bound on the error of the best hypothesis, and the disagreement coefficient; for learners that need them.
    kappa
        Where the learner may stop uncertified, as in `replical.plan`; at most epsilon.
    learner
        A learner id, as in `replical.plan`. Near-ties at the shared threshold make `settled` ask on: give it `max_labels`
        where labels are dear.
    max_labels
        Budget.
    classes
        The label set, where it cannot be read off `y` and the estimators.
    seed
        The published string. If left out one is drawn, kept in ``seed_``, and warned about.
    random_state
        Fixes the private order in which labels are asked for.

    Attributes
    ----------
    best_estimator_, best_name_
        The chosen one.
    result_
        What the run returned: a `Result`.
    hypothesis_
        Its place in `estimators`; None where boosting found no frequent winner.
    n_labels_
        Labels that were looked at.
    certified_
        Did the learner prove ρ on these items? False for learners that prove nothing.
    seed_
        The published string that was used.
    classes_
        The label set.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> public, X = rng.normal(size=(200, 2)), rng.normal(size=(2000, 2))
    >>> trees = [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 4)]
    >>> named = [(f"depth {tree.max_depth}", tree.fit(public, public.sum(axis=1) > 0)) for tree in trees]
    >>> chosen = ReplicableSelector(named, epsilon=.1, seed="published", random_state=0).fit(X, X.sum(axis=1) > 0)
    >>> chosen.best_name_, chosen.n_labels_, chosen.certified_
    ('depth 2', 138, True)
    """

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]] = (),
        *,
        epsilon: float = 0.05,
        delta: float = 0.05,
        rho: float = 0.1,
        nu: float | None = None,
        theta: float | None = None,
        kappa: float | None = 0.02,
        learner: str = "settled",
        max_labels: int | None = None,
        classes: Sequence[Any] | None = None,
        seed: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.nu = nu
        self.theta = theta
        self.kappa = kappa
        self.learner = learner
        self.max_labels = max_labels
        self.classes = classes
        self.seed = seed
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None, *, oracle: Oracle | None = None) -> ReplicableSelector:
        """Choose an estimator: all of them predict every row, and labels are looked at only where they differ.

        Parameters
        ----------
        X
            Items, one row each.
        y
            Their labels; or
        oracle
            a function from row numbers to labels, called once a label.

        Returns
        -------
        self
            The fitted selector.

        Raises
        ------
        ValueError
            If there are no estimators, labels come from nowhere or from both, or one of them is not in the label set.
        ReplicalError
            Whatever plan and run refuse, e.g. `BudgetSpent` or `ValueOutOfRange`.
        """
        if not self.estimators:
            raise ValueError("give the fitted estimators to choose among, as (name, estimator) pairs")
        if y is not None:
            y = column_or_1d(y)
            check_consistent_length(X, y)
        candidate_labels = [known for _, estimator in self.estimators for known in getattr(estimator, "classes_", ())]
        classes, labels = self._labels(y, oracle, candidate_labels)
        seed = self._seed()
        C = PredictionTable([name for name, _ in self.estimators], labels=range(len(classes)))
        codes = self._predictions(X, classes)
        validate_data(self, X, skip_check_array=True)  # notes the features and their names
        self._keep(self._run(C, codes, labels, seed), classes, seed)
        self.best_name_, self.best_estimator_ = self.estimators[self.hypothesis_ or 0]
        return self

    def _predictions(self, X: Any, classes: NDArray[Any]) -> PackedRows:
        """What the candidates say about `X`, as codes; of eight candidates at a time, then packed."""
        rows: PackedRows | None = None
        for first in range(0, len(self.estimators), 8):
            said = [_codes(estimator.predict(X), classes) for _, estimator in self.estimators[first : first + 8]]
            if rows is None:
                rows = PackedRows.blank(len(said[0]), len(self.estimators), labels=len(classes))
            rows.write_columns(slice(0, len(rows)), first, said)
        assert rows is not None, "there is a candidate"
        return rows

    def __sklearn_clone__(self) -> ReplicableSelector:
        """The candidates stay fitted, as they are: they are what is chosen among."""
        return type(self)(**self.get_params(deep=False))

    def predict(self, X: Any) -> Any:
        """What the chosen estimator says about `X`."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)
