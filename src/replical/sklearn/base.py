"""What the estimators share: seed, private order, labels looked up as they are asked for, checks of candidates and rows."""

from __future__ import annotations

import logging
import secrets
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    check_random_state,
    column_or_1d,
    validate_data,
)

from replical.classes.base import Codes, HypothesisClass
from replical.classes.table import PackedRows
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.core.text import at_most, count, plural
from replical.errors import UncertifiedWarning
from replical.learners.base import Learner, learn
from replical.learners.catalogue import find, standard_learner
from replical.learners.planning import learner_for, plan
from replical.learners.result import Result
from replical.pools.pool import Pool
from replical.pools.query import Answers, Query

Candidates = Sequence[Any] | Mapping[str, Any]
Named = list[tuple[str, Any]]
Oracle = Callable[[int], Any]
RowCodes = Callable[[NDArray[np.int64]], Codes]  # labels of rows, looked up when they are asked for
# What would help, as a command says it and as Python does.
_SAID = {"a public order of preference": "public rows (public=..)", "--learner ": "learner="}
log = logging.getLogger("replical")
_SOME = 10_000  # rows that show whether features tell items apart
_OWN = 0.99  # of the rows are different where features tell items apart


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

    def _private(self, items: Any) -> PrivateRandomness:
        """The order in which labels are asked for: the same whenever these rows are fitted with this random_state.

        A fit that begins anew in another order would be a second chance, and the promise is for one.
        """
        rows = items.planes if isinstance(items, PackedRows) else items
        digest = blake2b(np.ascontiguousarray(rows).tobytes(), digest_size=16).hexdigest()
        state = "" if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))
        return PrivateRandomness.simulated("sklearn", digest, state)

    def _run(
        self, C: HypothesisClass, items: Any, labels: RowCodes, seed: str, together: Any = None, **public: Any
    ) -> Result:
        """Ask for labels as the learner wants them, and for no others; `public` is what else the plan depends on.

        Which rows belong `together` is one value a row.
        """
        names = ["epsilon", "delta", "rho", "max_labels"]
        names += [name for name in ("nu", "theta") if find(self.learner).uses(name)]
        options = {name: getattr(self, name) for name in names}
        learner_plan = plan(self.learner, C, pool="finite", **public, **options)
        return self._ask(learner_for(learner_plan), C, items, labels, seed, together)

    def _ask(self, learner: Learner, C: Any, items: Any, labels: RowCodes, seed: str, together: Any = None) -> Result:
        """Let a learner ask until it has an answer; begun anew without a row that nobody can label."""
        whole = pool = Pool(C, items, self._private(items), groups=together)
        skipped = set[int]()
        while True:
            try:
                return learn(learner, pool, _Lookup(labels, len(C.labels)), SharedRandomness(seed))
            except _SkippedRowsError as error:
                skipped |= error.args[0]
                if len(skipped) == len(items):
                    raise ValueError(f"the oracle gives no label for any of {count(len(items), 'row')}") from error
                pool = whole.without(np.array(sorted(skipped), dtype=np.int64))

    def _keep(self, result: Result, classes: NDArray[Any], seed: str) -> None:
        """All at once, at the end: a fit that fails leaves the one before as it was."""
        self.result_, self.classes_, self.seed_ = result, classes, seed
        self.n_labels_ = result.labels
        self.hypothesis_ = result.hypothesis
        self.certified_ = result.proof is not None and result.proof.certified
        self.doubt_, self.tolerance_, self.excess_upper_ = (
            getattr(result.proof, name, None) for name in ("doubt", "tolerance", "excess_upper")
        )

    def _warn_if_uncertified(self) -> None:
        """Warn where nothing was proven: why, and what would help. The last thing a fit does."""
        if self.certified_:
            return
        verdict = self.result_.verdict
        learner = getattr(self, "learner", "")
        why = f"the learner {learner} does not prove that labs agree" if verdict is None else verdict.why
        helps = f"learner={standard_learner()!r}" if verdict is None else python_words(verdict.helps)
        if getattr(self, "public", None) is not None:  # they are there
            helps = helps.replace("public rows (public=..), ", "")
        if more := getattr(self.result_.proof, "more", ""):  # an estimate
            helps = helps.replace("more items", more).replace("more labels", more)
        proven = ""
        if self.tolerance_ is not None and self.tolerance_ < 1:
            most = at_most(self.tolerance_)
            errs = "errs" if getattr(self, "losses", None) is None else "loses"
            proven = f" Proven all the same: the first on the public rows {errs} at most {most} more than the best."
        warnings.warn(
            f"not certified: {why}, so another lab may well have another answer.{proven} What would help: {helps}.",
            UncertifiedWarning,
            stacklevel=3,
        )

    def _warn_of_scaling(self, X: Any) -> None:
        """Features that this very sample was used to scale: another lab's are scaled otherwise, so that is said."""
        how = scaled_by_itself(X)
        if how:
            warnings.warn(
                f"the features look as if they were scaled by these rows themselves ({how}): another lab's rows scale them "
                "otherwise, and the same rule means something else there. Fit the scaler on public rows, once for all labs.",
                UserWarning,
                stacklevel=3,
            )

    def _labels(
        self, y: Any, oracle: Oracle | None, candidate_labels: Sequence[Any] = ()
    ) -> tuple[NDArray[Any], RowCodes]:
        """The label set, with what the candidates may say, and a way to look a label up when it is asked for."""
        if y is None and oracle is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        if y is not None and oracle is not None:
            raise ValueError("labels come from y or from an oracle: give one of them, not both")
        if oracle is not None:
            if self.classes is None and not len(candidate_labels):
                raise ValueError("an oracle says labels one at a time: give the label set as classes=[..]")
            known = np.unique(candidate_labels) if self.classes is None else np.asarray(self.classes)
            ask = cache(lambda row: SKIPPED if (label := oracle(row)) is None else codes_of([label], known)[0])
            return known, lambda items: np.array([*map(ask, items.tolist())], dtype=np.uint16)
        if _lacks_labels(y):
            raise ValueError(
                "Input y contains NaN. For rows without a label give no y but oracle=.., a function from row numbers to "
                "labels: it is called for the rows whose label is needed."
            )
        check_classification_targets(y)
        if self.classes is not None:
            known = np.asarray(self.classes)
        else:
            known = unique_labels(y)
            known = np.unique(np.concatenate([known, np.asarray(candidate_labels)])) if len(candidate_labels) else known
        return known, lambda items: codes_of(y[items], known)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_")


class TwoClasses(Replicable):
    """Estimators that find a rule, and know two labels."""

    def _two_classes(self, X: Any, y: Any, oracle: Oracle | None) -> tuple[NDArray[Any], NDArray[Any], RowCodes]:
        """The checked items, the two labels, and a way to look one up."""
        if y is None and oracle is None:
            self._labels(y, oracle)
        if y is None:
            X = validate_data(self, X)
        else:
            X, y = validate_data(self, X, y)
        classes, labels = self._labels(y, oracle)
        if (count := len(classes)) != 2:
            helps = (
                "If y holds one label by chance, give both as classes=[..]."
                if count < 2
                else "For more than two, fit models of any kind on public rows and choose among them: ReplicableSelector."
            )
            raise ValueError(
                f"Only binary classification is supported. {count} {plural(count, 'class', 'classes')} given. {helps}"
            )
        return X, classes, labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


SKIPPED = np.iinfo(np.uint16).max  # in place of a code: nobody can label this row


class _SkippedRowsError(Exception):
    """These rows were asked for, and nobody can label them."""


class _Lookup:
    """Labels that are looked up row by row when they are asked for."""

    def __init__(self, labels: RowCodes, kinds: int) -> None:
        self._labels, self._kinds, self._heard = labels, kinds, 0

    def answer(self, query: Query) -> Answers:
        """Each row's label, as often as it is asked."""
        log_progress(self._heard, query.survivors)
        codes = self._labels(query.items)
        if (codes == SKIPPED).any():
            raise _SkippedRowsError({*query.items[codes == SKIPPED].tolist()})
        self._heard += len(codes)
        return Answers.unanimous(query, codes, self._kinds)


def log_progress(labels: int, survivors: int) -> None:
    """For whoever listens to the logger ``replical``: how far a fit has come."""
    log.info("%s, %s left", count(labels, "label"), count(survivors, "candidate"))


def python_words(helps: str) -> str:
    """What would help, in the words of somebody who types no command.

    Examples
    --------
    >>> python_words("more labels, a public order of preference, or a larger epsilon")
    'more labels, public rows (public=..), or a larger epsilon'
    """
    for command, python in _SAID.items():
        helps = helps.replace(command, python)
    return helps


def scaled_by_itself(X: Any) -> str:
    """By what the columns of `X` look scaled that was fitted on them: nothing else hits its marks to the last digit.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) + 1
    >>> scaled_by_itself((X - X.mean(axis=0)) / X.std(axis=0)), scaled_by_itself(X)
    ('means of 0 and deviations of 1', '')
    """
    X = X.to_numpy() if hasattr(X, "to_numpy") else X  # a data frame
    if not isinstance(X, np.ndarray) or X.ndim != 2 or len(X) < 3 or X.dtype.kind != "f":
        return ""
    varied = X[:, X.min(axis=0) < X.max(axis=0)]
    if not varied.shape[1] or not np.isfinite(varied).all():
        return ""
    low, high = varied.min(axis=0), varied.max(axis=0)
    tiny = 1e-9 if X.dtype == np.float64 else 1e-5
    with np.errstate(over="ignore", invalid="ignore"):
        if (abs(varied.mean(axis=0)) < tiny).all() and (abs(varied.std(axis=0) - 1) < tiny).all():
            return "means of 0 and deviations of 1"
    between = ((varied > low) & (varied < high)).any(axis=0).all()
    ends = (low == 0).all() and (abs(high - 1) < tiny).all()
    return "smallest values of 0 and largest of 1" if between and ends else ""


def codes_of(values: Any, classes: NDArray[Any]) -> Codes:
    """The place of each value among the `classes`; `ValueError` is raised for one that is not there."""
    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"there is one label an item, got {values[0].tolist()!r:.60}")
    known = np.isin(values, classes)
    if not known.all():
        wrong = values[~known].tolist()[0]
        raise ValueError(
            f"the label {wrong!r} is not among the classes {classes.tolist()!r}: estimators and labels must write them alike"
        )
    order = np.argsort(classes)
    codes: Codes = order[np.searchsorted(classes[order], values)].astype(np.uint16)
    return codes


def _lacks_labels(y: Any) -> bool:
    """Has some row no label?"""
    values = np.asarray(y, dtype=object).ravel().tolist()
    return any(value is None or (isinstance(value, float) and np.isnan(value)) for value in values)


def named_estimators(estimators: Candidates) -> Named:
    """(name, estimator) pairs, from pairs, a mapping, or a list, in which each is called by its class.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> one, other = DummyClassifier(), DummyClassifier()
    >>> [name for name, _ in named_estimators([one, other])], [name for name, _ in named_estimators({"a": one})]
    (['dummyclassifier-1', 'dummyclassifier-2'], ['a'])
    """
    if hasattr(estimators, "predict"):
        raise ValueError(
            "one estimator leaves nothing to choose: give a list of them, a dict or (name, estimator) pairs"
        )
    given = list(estimators.items() if isinstance(estimators, Mapping) else estimators)
    if not given:
        raise ValueError("give the fitted estimators to choose among: a list, a dict or (name, estimator) pairs")
    if all(isinstance(each, tuple | list) and len(each) == 2 and isinstance(each[0], str) for each in given):
        named = [(name, estimator) for name, estimator in given]
    else:
        kinds = [type(each).__name__.lower() for each in given]
        often, seen = Counter(kinds), Counter[str]()
        named = []
        for kind, each in zip(kinds, given, strict=True):
            seen[kind] += 1
            named.append((kind if often[kind] == 1 else f"{kind}-{seen[kind]}", each))
    for name, each in named:
        if isinstance(each, type) or not hasattr(each, "predict"):
            kind = f"the class {each.__name__}" if isinstance(each, type) else f"a {type(each).__name__}"
            raise ValueError(f"the candidate {name!r} is {kind}, which cannot predict: give estimators that are fitted")
    return named


def check_fitted(named: Named, X: Any) -> None:
    """Refuse candidates that are not fitted: one that says it is not, and cannot predict the first row of `X` either."""
    unfitted = [name for name, each in named if not _is_fitted(each, X)]
    if unfitted:
        some = f"{len(unfitted)} of {count(len(named), 'candidate')} {plural(len(unfitted), 'is', 'are')} not fitted"
        raise NotFittedError(
            f"{some}, the first of them {unfitted[0]!r}: fit each with model.fit(X_public, y_public), on public rows "
            "that no lab uses, before they are chosen among"
        )


def _is_fitted(estimator: Any, X: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:  # as far as scikit-learn can see
        try:
            estimator.predict(X[:1])
        except Exception:
            return False
    except (TypeError, AttributeError):  # no estimator of scikit-learn's: it may know how to predict all the same
        return True
    return True


def public_rows(public: Any, X: Any, classes: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """The pair of rows and labels, if it is one; rows that are among those of `X` are refused."""
    if not isinstance(public, tuple | list) or len(public) != 2:
        kind = f"a {type(public).__name__}" + (f" of {len(public)}" if hasattr(public, "__len__") else "")
        raise ValueError(f"public is a pair of rows and their labels, public=(X_public, y_public), got {kind}")
    rows, labels = public[0], column_or_1d(public[1])
    check_consistent_length(rows, labels)
    try:
        codes_of(labels, classes)
    except ValueError as error:
        raise ValueError(f"public: {error}") from error
    check_apart(rows, X)
    return rows, labels


def check_apart(rows: Any, X: Any) -> None:
    """Refuse public rows that are among those of `X`: what is public would depend on what this lab looks at."""
    if among := shared_rows(rows, X):
        raise ValueError(
            f"{among} of {len(rows)} public rows are among the rows to choose on, so nothing would be proven: take them out "
            "of one of the two"
        )


def shared_rows(rows: ArrayLike, X: ArrayLike) -> int:
    """How many rows are also rows of `X`; 0 where features are too few or too coarse to tell items apart.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> shared_rows(X[:7], X), shared_rows(X[:7] + 1, X), shared_rows(np.ones((5, 2)), np.ones((100, 2)))
    (7, 0, 0)
    """
    try:
        ours, theirs = (np.ascontiguousarray(np.asarray(each, dtype=np.float64)) for each in (rows, X))
    except (TypeError, ValueError):  # texts, say
        return 0
    if ours.ndim != 2 or theirs.ndim != 2 or ours.shape[1] != theirs.shape[1] or not theirs.shape[1]:
        return 0
    some = theirs[:_SOME]
    if len({row.tobytes() for row in some}) < _OWN * len(some):
        return 0
    public = [row.tobytes() for row in ours]
    known = set(public)
    found = {row for row in map(bytes, theirs) if row in known}
    return sum(row in found for row in public)
