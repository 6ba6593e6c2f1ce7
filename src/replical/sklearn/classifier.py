"""A rule on features."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from replical.classes.base import HypothesisClass
from replical.classes.halfspaces import HalfSpaces
from replical.classes.stumps import Stumps
from replical.core.exact import fraction
from replical.core.randomness import SharedRandomness
from replical.learners.handicap.handicaps import Handicaps
from replical.sklearn.base import Oracle, TwoClasses, check_apart


class ReplicableClassifier(TwoClasses):
    """A classifier that another lab, with other data and the same seed, would have chosen too.

    It knows two classes. For three and more, fit models of any kind on public rows and choose with `ReplicableSelector`.
    Where nothing is proven, `fit` warns (`UncertifiedWarning`).

    Parameters
    ----------
    hypotheses
        ``"stumps"`` (one feature, one public cut), ``"halfspaces"`` (a public net), or a class of your own. Cuts lie
        between -`span` and `span`, so scale features by public constants, not by this sample: a ``StandardScaler`` in a
        pipeline is fitted on each lab's own rows, so the same cut would mean something else in every lab. It is warned
        about; fit the scaler on public rows instead.
    public
        Unlabelled rows that belong to no lab, the same for all labs: the learner then chooses among a few rules from which
        every other differs on at most .8 of `epsilon` of these rows, and needs fewer rows for a proof. The error asked for
        is reached if these rows are like the labs'. Left out: handicaps are drawn from the seed.
    epsilon, delta
        Error asked for, and how often it may be missed.
    rho
        How often two labs may differ.
    nu, theta
        Upper bound on the error of the best hypothesis, and the disagreement coefficient; for learners that need them.
        0 says to ``"handicap"`` that some rule makes no error.
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
        Changes the private order in which labels are asked for, which depends on the rows alone if it is left out: the
        same rows are no second chance. Who fits again with another one has run another lab.

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
    survivors_
        Indices of those that may still be the ideal answer, proven to contain it; one if certified.
    doubt_
        The smallest level at which the answer would have been proven; None for learners that do not say it.
    tolerance_
        None: it is about the first of a public order, and there is none here.
    excess_upper_
        If certified: a bound on how much more than the best the answer errs; with `public` the best of those few rules.
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
    >>> public = np.random.default_rng(1).normal(size=(1000, 2))
    >>> model = ReplicableClassifier(public=public, seed="published", random_state=0).fit(X, y)
    >>> model.n_labels_, model.certified_, model.class_.describe(model.hypothesis_), float((model.predict(X) == y).mean())
    (237, True, '1 if x0 >= 0.454545 else 0', 0.948)
    """

    def __init__(
        self,
        hypotheses: str | HypothesisClass = "stumps",
        *,
        public: ArrayLike | None = None,
        epsilon: float = 0.1,
        delta: float = 0.05,
        rho: float = 0.1,
        nu: float | None = None,
        theta: float | None = None,
        learner: str = "handicap",
        bins: int = 32,
        span: float = 3.0,
        count: int = 1000,
        max_labels: int | None = None,
        classes: Sequence[Any] | None = None,
        seed: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.public = public
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.nu = nu
        self.theta = theta
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
        X, classes, labels = self._two_classes(X, y, oracle)
        seed = self._seed()
        C = self._class(X.shape[1], seed)
        if isinstance(self.hypotheses, str) and self.hypotheses == "stumps":
            self._warn_of_range(X)
        self._warn_of_scaling(X)
        handicaps = None if self.public is None else self._cover(C, X, seed)
        self._keep(self._run(C, X, labels, seed, handicaps=handicaps), classes, seed)
        self.class_, self.survivors_ = C, self.result_.survivors.indices
        self._warn_if_uncertified()
        return self

    def _cover(self, C: HypothesisClass, X: NDArray[Any], seed: str) -> Handicaps:
        """A few rules near which every other is, on public rows."""
        rows = check_array(self.public)
        if rows.shape[1] != X.shape[1]:
            raise ValueError(
                f"public rows have {rows.shape[1]} features, those to choose on {X.shape[1]}: give the same"
            )
        check_apart(rows, X)
        radius = float(Fraction(4, 5) * fraction(self.epsilon))  # the rest of epsilon is for the choice of public rows
        return Handicaps.cover(C, C.items(rows), radius=radius, shared=SharedRandomness(seed))

    def _warn_of_range(self, X: NDArray[Any]) -> None:
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
