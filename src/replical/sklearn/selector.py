"""One of several fitted estimators."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from replical.classes.base import Items
from replical.classes.losses import Losses
from replical.classes.predictions.base import predictions_of
from replical.classes.prior import UNIFORM, Prior
from replical.classes.table import PackedRows, PredictionTable
from replical.core.text import listing
from replical.learners.base import Learner
from replical.learners.handicap.order import Inquiry, walk
from replical.learners.result import Result
from replical.pools.groups import Groups
from replical.sklearn import base


def _has_probabilities(selector: ReplicableSelector) -> bool:
    """Does the chosen estimator have them; before a fit, does any?"""
    if hasattr(selector, "best_estimator_"):
        return hasattr(selector.best_estimator_, "predict_proba")
    return any(hasattr(each, "predict_proba") for _, each in base.named_estimators(selector.estimators))


class ReplicableSelector(base.Replicable):
    """Choose one of several fitted estimators, as another lab with the same seed would.

    Any number of classes. Where nothing is proven, `fit` warns (`UncertifiedWarning`).

    Parameters
    ----------
    estimators
        The fitted estimators: a list, a dict of names, or (name, estimator) pairs. Their order is public and the same in
        all labs. A scaler inside one of them is fitted on public rows with it, and is fine; one that stands before the
        selector in a pipeline is fitted on each lab's own rows, so that candidates would say other things in other labs:
        it is warned about.
    public
        Labelled rows (X, y) that belong to no lab, the same for all labs: the estimators are then preferred by the errors
        that they make on them, ties by name, and far fewer labels are needed. They must not be those that the estimators
        were fitted on, nor rows to choose on. With `ask_public` rows X without labels. Left out: handicaps are drawn from
        the seed.
    ask_public
        A function from row numbers of `public` to labels, None where nobody can say: it is called for up to a hundred
        rows, each where estimators that are still in play differ, and they are preferred by the errors that they make on
        these. What it says is public: the first lab publishes ``public_asked_``, and all others give
        ``ask_public=published.__getitem__``. None of the rows of `public` may be among those to choose on, asked or not.
    losses
        What predictions cost where that is not one for each error: `replical.Losses.of`, with the labels in the order of
        `classes`; what an estimator says that abstains is then the last of these. `epsilon` is in costliest errors.
    grouping
        How rows count that belong together, `replical.Groups`, where `fit` is told which do.
    epsilon, delta
        Error asked for, and how often it may be missed.
    rho
        How often two labs may differ.
    nu, theta
        Upper bound on the error of the best hypothesis, and the disagreement coefficient; for learners that need them.
        0 says to ``"handicap"`` that some estimator makes no error.
    learner
        A learner id, as in `replical.plan`. Where the best are nearly equal it asks on: give it `max_labels` where labels
        are dear.
    max_labels
        Budget.
    classes
        The label set, where it cannot be read off `y` or the estimators.
    labs
        How many labs are to agree, for a promise about all of them together; any two of them if left out.
    journal
        A file that keeps every label as soon as it is known: whatever interrupts a fit, fitting again goes on with it. It
        belongs to these rows, this `seed` and these parameters, draws the private order itself, and needs the extra `lab`.
        What `ask_public` says is kept beside it, of ``fit.db`` in ``fit.public.db``.
    seed
        The published string. If left out one is drawn, kept in ``seed_``, and warned about.
    random_state
        Changes the private order in which labels are asked for, which depends on the rows alone if it is left out: the
        same rows are no second chance. Who fits again with another one has run another lab.

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
    survivors_
        Names of those that may still be the ideal answer, proven to contain it; one if certified.
    doubt_
        The smallest level at which the answer would have been proven; None for learners that do not say it.
    tolerance_
        With public rows: the estimator that is first there errs at most so much more than the best. None without.
    excess_upper_
        If certified: a bound on how much more than the best the answer errs.
    public_asked_
        With `ask_public`: the labels that it gave, by row, in the order in which it was asked; None where it could not say.
    seed_
        The published string that was used.
    classes_
        The label set.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> public, X = rng.normal(size=(200, 2)), rng.normal(size=(2000, 2))
    >>> trees = [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 4)]
    >>> named = [(f"depth {tree.max_depth}", tree.fit(public, public.sum(axis=1) > 0)) for tree in trees]
    >>> chosen = ReplicableSelector(named, epsilon=.1, seed="published", random_state=0).fit(X, X.sum(axis=1) > 0)
    >>> chosen.best_name_, chosen.n_labels_, chosen.certified_
    ('depth 4', 19, True)
    """

    def __init__(
        self,
        estimators: base.Candidates = (),
        *,
        public: Any = None,
        ask_public: base.Oracle | None = None,
        epsilon: float = 0.05,
        delta: float = 0.05,
        rho: float = 0.1,
        nu: float | None = None,
        theta: float | None = None,
        losses: Losses | None = None,
        grouping: Groups | None = None,
        learner: str = "handicap",
        max_labels: int | None = None,
        classes: Sequence[Any] | None = None,
        labs: int | None = None,
        journal: str | PathLike[str] | None = None,
        seed: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.public = public
        self.ask_public = ask_public
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.nu = nu
        self.theta = theta
        self.losses = losses
        self.grouping = grouping
        self.learner = learner
        self.max_labels = max_labels
        self.classes = classes
        self.labs = labs
        self.journal = journal
        self.seed = seed
        self.random_state = random_state

    def fit(
        self, X: Any, y: ArrayLike | None = None, *, groups: Any = None, oracle: base.Oracle | None = None
    ) -> ReplicableSelector:
        """Choose an estimator: all of them predict every row, and labels are looked at only where they differ.

        Parameters
        ----------
        X
            Items, one row each.
        y
            Their labels; or
        oracle
            a function from row numbers to labels, called once a row; None says that nobody can label it, and another takes
            its place.
        groups
            Which rows belong together, e.g. a patient's: one value a row. `grouping` says how they count.

        Returns
        -------
        self
            The fitted selector.

        Raises
        ------
        ValueError
            If there are no estimators or some are not fitted, labels come from nowhere or from both, or one of them is not
            in the label set.
        ReplicalError
            Whatever plan and run refuse, e.g. `BudgetSpent` or `ValueOutOfRange`.
        """
        if self.journal is not None and (self.seed is None or self.random_state is not None):
            raise ValueError(
                "a journal belongs to a published text and draws its own order: give seed=, no random_state="
            )
        named = base.named_estimators(self.estimators)
        if (groups is None) != (self.grouping is None):
            raise ValueError(
                "rows that belong together need both: grouping=Groups(..), which is public, and fit(.., groups=..)"
            )
        base.check_fitted(named, X)
        if y is not None:
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        candidate_labels = [known for _, estimator in named for known in getattr(estimator, "classes_", ())]
        classes, labels = self._labels(y, oracle, candidate_labels)
        if len(classes) < 2:
            raise ValueError("1 class is in y and known to the candidates: give all labels as classes=[..]")
        labelled = None if self.public is None or self.ask_public else base.public_rows(self.public, X, classes)
        C = PredictionTable([name for name, _ in named], labels=range(len(classes)))
        candidates = [estimator for _, estimator in named]
        known = (
            self._ask_public_rows(C, candidates, X, classes)
            if self.ask_public
            else _read_public_rows(C, candidates, labelled)
        )
        seed = self._seed()
        codes = _predictions(candidates, X, classes)
        self._warn_of_copies(C, codes, known)
        validate_data(self, X, skip_check_array=True)  # notes the features and their names
        self._warn_of_scaling(X)
        public: dict[str, Any] = {"prior": UNIFORM if known is None else known.prior, "losses": self.losses}
        public |= {"groups": self.grouping} | ({} if self.labs is None else {"labs": self.labs})
        together = None if groups is None else list(groups)
        self._keep(self._run(C, codes, labels, seed, together, **public), classes, seed)
        if known is not None and known.asked is not None:
            self.public_asked_ = known.asked
        self.best_name_, self.best_estimator_ = named[self.hypothesis_ or 0]
        self.survivors_ = [named[h][0] for h in self.result_.survivors.indices.tolist()]
        self._warn_if_uncertified()
        return self

    def _ask(
        self, learner: Learner, C: Any, items: Any, labels: base.RowCodes, seed: str, together: Any = None
    ) -> Result:
        """Let a learner ask until it has an answer; where labels are kept, from where the journal ends."""
        if self.journal is None:
            return super()._ask(learner, C, items, labels, seed, together)
        if together is not None:
            raise ValueError("a journal of a fit keeps no groups: leave out journal=, or take replical.run")
        from replical.sklearn.journal import ask_and_keep  # which needs more than scikit-learn

        return ask_and_keep(self.journal, learner, C, items, labels, seed)

    def _warn_of_copies(self, C: PredictionTable, codes: PackedRows, public: _Public | None) -> None:
        """Estimators that say the same on all public rows, or on all rows where none are public, may be one."""
        said = predictions_of(C, cast(Items, codes)).codes if public is None else public.said.__getitem__
        groups: dict[int, list[str]] = {}
        for h, name in enumerate(C.candidates):
            groups.setdefault(hash(tuple(said(h).tolist())), []).append(name)
        if copies := "; ".join(listing(group, len(group)) for group in groups.values() if len(group) > 1):
            rows = "all rows" if public is None else "all public rows"
            warnings.warn(
                f"estimators that predict the same for {rows}: {copies}. If that is one model, give it once; if not, a fit "
                "may end with both, and survivors_ names them.",
                UserWarning,
                stacklevel=3,
            )

    def _ask_public_rows(self, C: PredictionTable, candidates: Sequence[Any], X: Any, classes: NDArray[Any]) -> _Public:
        """Public rows without labels, of which up to a hundred are asked."""
        assert self.ask_public is not None, "who answers"
        if self.public is None or isinstance(self.public, tuple):
            raise ValueError("ask_public says labels of public rows that have none: give it with public=X_public")
        base.check_apart(self.public, X)
        rows, oracle = cast(Items, _predictions(candidates, self.public, classes)), self.ask_public

        def code_of(row: int) -> int | None:
            label = oracle(row)
            code = None if label is None else int(base.codes_of([label], classes)[0])
            if code is not None and self.losses is not None and code >= self.losses.labels:
                raise ValueError(f"ask_public says {label!r} of row {row}, which is what abstaining is called")
            return code

        if self.journal is None:
            inquiry = Inquiry(C=C, items=rows, walk=walk(tuple(map(str, range(len(rows))))), losses=self.losses)
            for row in inquiry.rows():
                inquiry.hear(row, code_of(row))
        else:
            from replical.sklearn.journal import order_and_keep  # which needs more than scikit-learn

            inquiry = order_and_keep(self.journal, C, rows, self.losses, code_of)
        asked = {item: None if code is None else classes.tolist()[code] for item, code in inquiry.asked}
        said = inquiry.predictions
        return _Public([said.codes(h) for h in range(len(C))], inquiry.prior, asked)

    def __sklearn_clone__(self) -> ReplicableSelector:
        """The candidates stay fitted, as they are: they are what is chosen among."""
        return type(self)(**self.get_params(deep=False))

    def predict(self, X: Any) -> Any:
        """What the chosen estimator says about `X`."""
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)  # as many features as there were, by the same names
        return self.best_estimator_.predict(X)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """How probable the chosen estimator takes each class to be for every row of `X`, in the order of ``classes_``."""
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        said = self.best_estimator_.predict_proba(X)
        known = getattr(self.best_estimator_, "classes_", self.classes_)
        found = np.zeros((len(said), len(self.classes_)))
        found[:, base.codes_of(known, self.classes_)] = said
        return found


class _Public(NamedTuple):
    """What the candidates say about public rows, the order that follows, and what was asked for it, if anything was."""

    said: list[NDArray[Any]]
    prior: Prior
    asked: dict[int, Any] | None = None


def _read_public_rows(
    C: PredictionTable, candidates: Sequence[Any], public: tuple[Any, NDArray[Any]] | None
) -> _Public | None:
    """Public rows with labels: fewest errors first, ties by name; nobody is preferred if there are none."""
    if public is None:
        return None
    said = [np.asarray(each.predict(public[0])) for each in candidates]
    return _Public(said, Prior.by_errors(C, np.array([(each != public[1]).sum() for each in said])))


def _predictions(candidates: Sequence[Any], X: Any, classes: NDArray[Any]) -> PackedRows:
    """What the candidates say about `X`, as codes; of eight candidates at a time, then packed."""
    rows: PackedRows | None = None
    for first in range(0, len(candidates), 8):
        said = [base.codes_of(each.predict(X), classes) for each in candidates[first : first + 8]]
        if rows is None:
            rows = PackedRows.blank(len(said[0]), len(candidates), labels=len(classes))
        rows.write_columns(slice(0, len(rows)), first, said)
    assert rows is not None, "there is a candidate"
    return rows
