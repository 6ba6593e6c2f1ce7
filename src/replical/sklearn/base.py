"""What the estimators share: the seed, the private order, labels looked up as they are asked for, and what is kept."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import (
    check_random_state,
    validate_data,
)

from replical.classes.base import Codes, HypothesisClass
from replical.classes.prior import UNIFORM, Prior
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.learners.base import Course, Learner
from replical.learners.for_plan import learner_for
from replical.learners.result import Result
from replical.plans.catalogue import find
from replical.plans.plan import plan
from replical.pools.pool import Pool
from replical.pools.query import Answers

Oracle = Callable[[int], Any]


class Replicable(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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

    def _run(
        self,
        C: HypothesisClass,
        items: Any,
        labels: Callable[[NDArray[np.int64]], Codes],
        seed: str,
        prior: Prior = UNIFORM,
    ) -> Result:
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
            prior=prior,
            **options,
        )
        return self._course(learner_for(learner_plan), C, items, labels, seed)

    def _course(
        self, learner: Learner, C: Any, items: Any, labels: Callable[[NDArray[np.int64]], Codes], seed: str
    ) -> Result:
        """Let a learner ask until it has an answer."""
        course = Course(learner, Pool(C, items, self._private()), SharedRandomness(seed))
        while course.query is not None:
            course.tell(Answers.unanimous(course.query, labels(course.query.items), len(C.labels)))
        return course.ended()

    def _keep(self, result: Result, classes: NDArray[Any], seed: str) -> None:
        """All at once, at the end: a fit that fails leaves the one before as it was."""
        self.result_, self.classes_, self.seed_ = result, classes, seed
        self.n_labels_ = result.labels
        self.hypothesis_ = result.hypothesis
        self.certified_ = result.proven is not None and result.proven.certified

    def _two_classes(
        self, X: Any, y: Any, oracle: Oracle | None
    ) -> tuple[NDArray[Any], NDArray[Any], Callable[[NDArray[np.int64]], Codes]]:
        """The checked items, the two labels, and a way to look one up."""
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
        return X, classes, labels

    def _labels(
        self, y: Any, oracle: Oracle | None, candidate_labels: Sequence[Any] = ()
    ) -> tuple[NDArray[Any], Callable[[NDArray[np.int64]], Codes]]:
        """The label set, with what the candidates may say, and a way to look a label up when it is asked for."""
        if y is None and oracle is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        if y is not None and oracle is not None:
            raise ValueError("labels come from y or from an oracle: give one of them, not both")
        if oracle is not None:
            if self.classes is None and not len(candidate_labels):
                raise ValueError("an oracle says labels one at a time: give the label set as classes=[..]")
            known = np.unique(candidate_labels) if self.classes is None else np.asarray(self.classes)
            return known, lambda items: codes_of([oracle(int(item)) for item in items], known)
        check_classification_targets(y)
        if self.classes is not None:
            known = np.asarray(self.classes)
        else:
            known = unique_labels(y)
            known = np.unique(np.concatenate([known, np.asarray(candidate_labels)])) if len(candidate_labels) else known
        return known, lambda items: codes_of(y[items], known)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_")


def codes_of(values: Any, classes: NDArray[Any]) -> Codes:
    """The place of each value among the `classes`; `ValueError` is raised for one that is not there."""
    values = np.asarray(values)
    places = np.searchsorted(np.sort(classes), values)
    order = np.argsort(classes)
    if len(values) and not (np.isin(values, classes)).all():
        wrong = values[~np.isin(values, classes)].tolist()[0]
        raise ValueError(f"the label {wrong!r} is not among the classes {classes.tolist()!r}")
    codes: Codes = order[np.minimum(places, len(classes) - 1)].astype(np.uint16)
    return codes
