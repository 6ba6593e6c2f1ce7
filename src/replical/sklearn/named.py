"""The candidates of a selector: their names, and whether they are fitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from replical.core.words import count, plural

Candidates = Sequence[Any] | Mapping[str, Any]
Named = list[tuple[str, Any]]


def named_estimators(estimators: Candidates) -> Named:
    """(name, estimator) pairs, from pairs, a mapping, or a list, in which each is called by its class.

    Raises
    ------
    ValueError
        If there are none, it is one and no list, or one can neither predict nor is a pair.

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
    """Refuse candidates that are not fitted: one that says it is not, and cannot predict the first row of `X` either.

    Raises
    ------
    ValueError
        If there is one; scikit-learn's `NotFittedError`.
    """
    unfitted = [name for name, each in named if not _fitted(each, X)]
    if unfitted:
        some = f"{len(unfitted)} of {count(len(named), 'candidate')} {plural(len(unfitted), 'is', 'are')} not fitted"
        raise NotFittedError(
            f"{some}, the first of them {unfitted[0]!r}: fit each with model.fit(X_public, y_public), on public rows "
            "that no lab uses, before they are chosen among"
        )


def _fitted(estimator: Any, X: Any) -> bool:
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
