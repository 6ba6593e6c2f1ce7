"""The peers' own code, each called in one way: as an iterator that asks about an item, learns its label, and goes on.

scikit-activeml, modAL and Vowpal Wabbit are imported where they are used: who has not installed one does without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

Codes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
MELLOWNESS = (
    0.03  # of Vowpal Wabbit: of .01, .03 and .1 the smallest with which no trial run came to ask nothing useful
)
NOT_ASKED = 1e30  # Vowpal Wabbit takes away the label of an example that it does not ask about


class Step(NamedTuple):
    """One label: the item it was asked for, what it counts, and the model trained up to now, if there is one."""

    item: int
    weight: float = 1.0
    says: Callable[[Floats], Codes] | None = None


class Task:
    """What everybody starts from.

    Parameters
    ----------
    X, y
        Features and labels (0 or 1) of a lab's items; of the labels, only those that are asked for are used.
    first
        Features and labels that are known beforehand.
    seed
        For what a peer draws.
    """

    def __init__(self, X: Floats, y: Codes, first: tuple[Floats, Codes], seed: int = 0) -> None:
        self.X, self.y, self.first, self.seed = X, y, first, seed

    @cached_property
    def rows(self) -> Floats:
        """The features of what is known beforehand, then of the lab's items."""
        return np.concatenate([self.first[0], self.X])


def modal(task: Task) -> Iterator[Step]:
    """modAL: the item that a logistic regression is least sure of."""
    from modAL.models import ActiveLearner, learners

    # modAL 0.4.2 checks its input with an argument that scikit-learn has renamed since; the check is the same.
    check = learners.check_X_y
    learners.check_X_y = lambda X, y, *, force_all_finite, **how: check(X, y, ensure_all_finite=force_all_finite, **how)
    try:
        learner = ActiveLearner(LogisticRegression(), X_training=task.first[0], y_training=task.first[1])
        while True:
            item, _ = learner.query(task.X)
            learner.teach(task.X[item], task.y[item])
            yield Step(int(item[0]))
    finally:
        learners.check_X_y = check


def at_random(task: Task, batch: int = 1, **model: Any) -> Iterator[Step]:
    """scikit-activeml: any item; a logistic regression is fitted on what is known."""
    from skactiveml.pool import RandomSampling

    return _skactiveml(
        task, lambda strategy, X, y, _, n: strategy.query(X, y, batch_size=n), RandomSampling, batch, model
    )


def uncertain(task: Task, batch: int = 1, **model: Any) -> Iterator[Step]:
    """scikit-activeml: the items that a logistic regression fitted on what is known is least sure of."""
    from skactiveml.pool import UncertaintySampling

    return _skactiveml(
        task,
        lambda strategy, X, y, fitted, n: strategy.query(X, y, clf=fitted, fit_clf=False, batch_size=n),
        UncertaintySampling,
        batch,
        model,
    )


def _skactiveml(task: Task, query: Callable[..., Indices], strategy: Any, batch: int, model: Any) -> Iterator[Step]:
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.utils import MISSING_LABEL

    X, before = task.rows, len(task.first[1])
    known = np.concatenate([task.first[1].astype(float), np.full(len(task.y), MISSING_LABEL)])
    fitted = SklearnClassifier(LogisticRegression(**model), classes=[0, 1]).fit(X, known)
    asks = strategy(random_state=task.seed)
    while np.isnan(known).any():
        items = query(asks, X, known, fitted, min(batch, int(np.isnan(known).sum())))
        known[items] = task.y[items - before]
        fitted = SklearnClassifier(LogisticRegression(**model), classes=[0, 1]).fit(X, known)
        for item in items:
            yield Step(int(item) - before, says=lambda rows, model=fitted: model.predict(rows).astype(np.uint8))


def committee(says: Codes, y: Codes, seed: int = 0, batch: int = 1) -> Iterator[Step]:
    """scikit-activeml: where the candidates disagree most, by the entropy of their votes.

    The committee is the list of candidates, which labels do not change; so the order of the items is known beforehand up to
    ties, and asking for many at once is the same as asking for them one by one.
    """
    from skactiveml.base import SkactivemlClassifier
    from skactiveml.pool import QueryByCommittee
    from skactiveml.utils import MISSING_LABEL

    class Candidates(SkactivemlClassifier):  # type: ignore[misc]
        """All candidates; an item is its number, and what they say about it is in the table."""

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            raise NotImplementedError("the candidates are fitted")

        def predict_proba(self, X: Any) -> Any:
            return self.votes(X).mean(axis=0)

        def votes(self, X: Any) -> Any:
            said = says[np.asarray(X)[:, 0].astype(np.int64)].T
            return np.stack([said == 0, said == 1], axis=-1)

    table = Candidates(classes=[0, 1])
    table.classes_ = np.array([0, 1])
    asks = QueryByCommittee("vote_entropy", sample_predictions_method_name="votes", random_state=seed)
    numbers, known = np.arange(len(y), dtype=float)[:, None], np.full(len(y), MISSING_LABEL)
    while np.isnan(known).any():
        n = min(batch, int(np.isnan(known).sum()))
        items = asks.query(numbers, known, ensemble=table, fit_ensemble=False, batch_size=n)
        known[items] = y[items]
        yield from (Step(int(item)) for item in items)


def vowpal(task: Task, mellowness: float) -> Iterator[Step]:
    """Vowpal Wabbit, ``--active --simulation``: one pass over the items, asking where its linear model may be wrong.

    It is told every label and says which of them it has used; what is known beforehand stands at the head of the stream.
    """
    from vowpalwabbit import Workspace

    features = task.X.shape[1]
    how = f"--active --simulation --mellowness {mellowness} --noconstant --quiet --random_seed {task.seed}"
    engine, before = Workspace(how, enable_logging=False), len(task.first[1])
    names = [str(number) for number in range(features)]

    def says(rows: Floats) -> Codes:
        weights = np.array([engine.get_weight_from_name(name, "f") for name in [*names, "one"]])
        return np.asarray(rows @ weights[:-1] + weights[-1] > 0, dtype=np.uint8)

    for number, (row, label) in enumerate(zip(task.rows, np.concatenate([task.first[1], task.y]), strict=True)):
        values = " ".join(f"{name}:{value:.6f}" for name, value in zip(names, row.tolist(), strict=True))
        example = engine.example(f"{1 if label else -1} |f one {values}")
        engine.learn(example)
        asked, weight = example.get_simplelabel_label() < NOT_ASKED, example.get_simplelabel_weight()
        engine.finish_example(example)
        if asked and number >= before:
            yield Step(number - before, float(weight), says)
