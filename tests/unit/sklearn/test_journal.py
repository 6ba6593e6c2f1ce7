"""A fit whose labels are kept in a journal, one with more than two labs, and rows that nobody can label."""

import logging

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.tree import DecisionTreeClassifier

from replical.errors import BadJournal
from replical.sklearn import ReplicableClassifier, ReplicableSelector

GENERATOR = np.random.default_rng(0)
PUBLIC, X = GENERATOR.normal(size=(300, 2)), GENERATOR.normal(size=(3000, 2))


def truth(rows):
    return np.where(rows.sum(axis=1) > 0, "yes", "no")


@pytest.fixture(scope="module")
def given():
    """Trees and public labelled rows."""
    trees = [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 4, 6)]
    models = [(f"depth {tree.max_depth}", tree.fit(PUBLIC[:200], truth(PUBLIC[:200]))) for tree in trees]
    return {"estimators": models, "public": (PUBLIC[200:], truth(PUBLIC[200:])), "epsilon": 0.1, "seed": "published"}


class Expert:
    """Says labels, leaves at a call, cannot label at others."""

    def __init__(self, leaves=None, skips=()):
        self.calls, self._leaves, self._skips = [], leaves, skips

    def __call__(self, row):
        if len(self.calls) + 1 == self._leaves:
            self._leaves = None
            raise KeyboardInterrupt
        self.calls.append(row)
        return None if len(self.calls) in self._skips else truth(X[row : row + 1])[0]


def test_an_interrupted_fit_loses_nothing(given, tmp_path, caplog):
    pytest.importorskip("sqlalchemy")
    caplog.set_level(logging.INFO, logger="replical")
    selector, expert = ReplicableSelector(**given, journal=tmp_path / "a.db"), Expert(leaves=5, skips=(3,))
    with pytest.raises(KeyboardInterrupt):
        selector.fit(X, oracle=expert)
    assert len(expert.calls) == 4
    selector.fit(X, oracle=expert)
    assert len(expert.calls) == len(set(expert.calls)) == selector.n_labels_ + 1
    assert any(message.startswith("3 labels, ") for message in caplog.messages)
    first = selector.best_name_, selector.n_labels_
    selector.fit(X, oracle=lambda row: pytest.fail("it has ended"))
    assert (selector.best_name_, selector.n_labels_) == first
    more = np.vstack([X, GENERATOR.normal(size=(10, 2))])  # a pool may grow
    assert selector.fit(more, truth(more)).n_labels_ == first[1]


def test_an_interrupted_question_about_public_rows_loses_nothing(given, tmp_path):
    pytest.importorskip("sqlalchemy")
    rows, calls = GENERATOR.normal(size=(900, 2)), []

    def ask_public(row):
        if len(calls) == 4 and calls[-1] is not None:
            calls.append(None)
            raise KeyboardInterrupt
        calls.append(row)
        return None if len(calls) == 2 else truth(rows[row : row + 1])[0]

    asks = given | {"public": rows, "ask_public": ask_public}
    selector = ReplicableSelector(**asks, journal=tmp_path / "a.db")
    with pytest.raises(KeyboardInterrupt):
        selector.fit(X, truth(X))
    told = selector.fit(X, truth(X)).public_asked_
    assert list(told) == [row for row in calls if row is not None]  # each once
    assert list(told.values()).count(None) == 1
    plain = ReplicableSelector(**asks | {"ask_public": told.__getitem__}).fit(X, truth(X))
    assert (plain.public_asked_, plain.best_name_) == (told, selector.best_name_)
    with pytest.raises(BadJournal, match="the pool has changed since"):
        ReplicableSelector(**asks | {"public": rows[:800]}, journal=tmp_path / "a.db").fit(X, truth(X))


@pytest.mark.parametrize("change", [{"epsilon": 0.2}, {"seed": "other"}, {"public": None}, {"labs": 3}])
def test_a_journal_belongs_to_one_fit(given, tmp_path, change):
    pytest.importorskip("sqlalchemy")
    ReplicableSelector(**given, journal=str(tmp_path / "a.db")).fit(X, truth(X))
    with pytest.raises(BadJournal, match="a changed protocol needs a journal of its own"):
        ReplicableSelector(**given | change, journal=str(tmp_path / "a.db")).fit(X, truth(X))
    with pytest.raises(BadJournal, match="it had 3,000 items and now has 100"):
        ReplicableSelector(**given, journal=str(tmp_path / "a.db")).fit(X[:100], truth(X[:100]))


def test_a_journal_needs_a_published_text_and_draws_its_own_order(given):
    for wrong in ({"seed": None}, {"random_state": 1}):
        with pytest.raises(
            ValueError, match="a journal belongs to a published text and draws its own order: give seed="
        ):
            ReplicableSelector(**given | wrong, journal="a.db").fit(X, truth(X))


def test_a_row_that_nobody_can_label_is_passed(given):
    expert = Expert(skips=(2, 5))
    chosen = ReplicableSelector(**given).fit(X, oracle=expert)
    assert (chosen.certified_, chosen.n_labels_) == (True, len(expert.calls) - 2)
    assert len(expert.calls) == len(set(expert.calls))
    expert = Expert(skips=(1, 4))
    rule = ReplicableClassifier(seed="published", epsilon=0.2, classes=["no", "yes"]).fit(X, oracle=expert)
    assert (rule.n_labels_, len(set(expert.calls))) == (len(expert.calls) - 2, len(expert.calls))


def test_more_labs_cost_more_labels(given):
    two, many = (ReplicableSelector(**given, labs=labs).fit(X, truth(X)) for labs in (None, 30))
    assert two.certified_
    assert two.n_labels_ < many.n_labels_
    with pytest.raises(ValueError, match="labs must be a whole number of at least 2, got 1"):
        ReplicableSelector(**given, labs=1).fit(X, truth(X))
