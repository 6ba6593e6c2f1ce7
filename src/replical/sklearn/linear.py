"""A half-space, from all there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from replical.core.exact import check_between
from replical.lattice.learner import Lattice, LatticeProof
from replical.lattice.linear import Linear, heights, step_for
from replical.lattice.plan import lattice_plan
from replical.sklearn.base import Oracle, TwoClasses


class ReplicableLinear(TwoClasses):
    """A linear classifier that another lab, with other data and the same seed, would have found too.

    Where some half-space makes no error, it asks near the boundary until all that are left lie in one cell of a public
    lattice: then any other lab of which that is true has the very same half-space. Where labels contradict every half-space,
    nothing is proven; ``rho_predicted_`` is an estimate of how often labs differ.

    Parameters
    ----------
    epsilon, delta
        Error asked for, and how often the proof of it may fail. The lattice's step follows from `epsilon`, see `step`.
    rho, labs
        How often any two of so many labs may differ.
    intercept
        A public constant about as large as the features are; None for half-spaces through the origin. Scale features by
        public constants, not by this sample.
    step
        The lattice's step; if left out, one that costs about half of `epsilon` where items have no preferred direction.
    checks
        Items that are labelled in the end, half of them near the boundary and half at random, to see whether some
        half-space makes no error. Give more where you doubt that: labels of real tables are wrong near the boundary.
    noisy
        Take labels to be wrong now and then from the start: nothing is proven, and `max_labels` labels are asked.
    wrong
        The share of them that is supposed to be wrong then.
    max_labels
        Budget; where labels may be wrong 25 a feature if left out.
    classes
        The label set, where it cannot be read off `y`.
    seed
        The published string. If left out one is drawn, kept in ``seed_``, and warned about.
    random_state
        Fixes the private order of the items.

    Attributes
    ----------
    coef_, intercept_
        The half-space: ``X @ coef_[0] + intercept_[0] >= 0``.
    certified_
        Is it proven that labs which prove it differ with probability ρ at most, and that the error is at most ε?
    rho_proven_, rho_predicted_
        What is proven, 1 for nothing; and an estimate, which is no bound.
    result_
        What the run returned: a `Result`.
    hypothesis_
        The number of the lattice's cell.
    n_labels_
        Labels that were looked at.
    seed_
        The published string that was used.
    classes_
        The label set.
    class_
        The lattice.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> y = X @ [.5, .5, .5, .5] > 0
    >>> model = ReplicableLinear(intercept=None, seed="published", random_state=0).fit(X, y)
    >>> model.n_labels_, model.certified_, model.rho_proven_, float((model.predict(X) == y).mean())
    (46, True, 0.0, 0.97975)
    """

    def __init__(
        self,
        *,
        epsilon: float = 0.05,
        delta: float = 0.05,
        rho: float = 0.1,
        labs: int = 2,
        intercept: float | None = 1.0,
        step: float | None = None,
        checks: int = 20,
        noisy: bool = False,
        wrong: float = 0.1,
        max_labels: int | None = None,
        classes: Sequence[Any] | None = None,
        seed: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.labs = labs
        self.intercept = intercept
        self.step = step
        self.checks = checks
        self.noisy = noisy
        self.wrong = wrong
        self.max_labels = max_labels
        self.classes = classes
        self.seed = seed
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, oracle: Oracle | None = None) -> ReplicableLinear:
        """Find a half-space, looking at a label only when it is asked for.

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
            If labels come from nowhere or from both, or there are not exactly two of them.
        ReplicalError
            Whatever plan and run refuse, e.g. `ValueOutOfRange`.
        """
        X, classes, labels = self._two_classes(X, y, oracle)
        self._warn_of_scaling(X)
        seed = self._seed()
        d = X.shape[1] + (self.intercept is not None)
        step = step_for(check_between("epsilon", self.epsilon, 0, 1), d) if self.step is None else self.step
        C = Linear(X.shape[1], step=step, seed=seed, intercept=self.intercept)
        names = ("epsilon", "delta", "rho", "labs", "checks", "noisy", "wrong", "max_labels")
        plan = lattice_plan(C, **{name: getattr(self, name) for name in names})
        result = self._ask(Lattice(plan), C, X, labels, seed)
        found, h = result.proof, result.hypothesis
        assert isinstance(found, LatticeProof), "every run of Lattice ends with one"
        assert h is not None, "and this"
        self._keep(result, classes, seed)
        self.class_, w = C, C.normal(h)
        self.coef_ = w[None, : X.shape[1]]
        self.intercept_ = np.array([0.0 if self.intercept is None else w[-1] * self.intercept])
        self.rho_proven_, self.rho_predicted_ = found.rho_proven, found.rho_predicted
        self._warn_if_uncertified()
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """On which side of the half-space each row of `X` lies, and how far: positive for the second class."""
        check_is_fitted(self)
        items = self.class_.items(validate_data(self, X, reset=False))
        normal = self.class_.normal(self.result_.hypothesis or 0)
        return heights(items, normal)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """What the half-space says about every row of `X`."""
        second = self.decision_function(X) >= 0
        labels: NDArray[Any] = self.classes_[second.astype(np.int64)]
        return labels
