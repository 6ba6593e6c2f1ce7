"""Every learner × class × pool keeps the protocol."""

import random

import numpy as np
import pytest

from replical import AskTell, KnownLabels, Pool, Population, PrivateRandomness, SharedRandomness, learn
from replical.errors import PlanMismatch
from replical.learners.catalogue import find
from replical.pools.query import Answers
from support.worlds import FINITE_ONLY, SIZES, classes, learners

SHARED = SharedRandomness("contract")
CASES = [(name, learner) for name, *_ in classes() for learner in SIZES]


def setting(name, learner, kind):
    C, cells = next((C, cells) for other, C, cells in classes() if other == name)
    private = PrivateRandomness.simulated("contract", name)
    world = Population(C, target=len(C) // 2, cells=cells)
    pool = world.pool("exact" if kind == "exact" else 40_000, private)
    return learners(C, pool=kind)[learner], pool, world.labels(pool, private), world


def rows_of_their_own(pool):
    """The same items in the same order, each in a row that stands for it alone."""
    ids, order = pool.ids[pool.order], np.arange(len(pool))
    return Pool.in_order(pool.C, pool.items[pool.order], ids, order, pool.predictions.take(pool.order))


class Book:
    """A label source that writes everything down."""

    def __init__(self, source):
        self.source, self.entries = source, []

    def answer(self, query):
        answers = self.source.answer(query)
        self.entries.append((query, answers))
        return answers


class Replay:
    """A label source that reads from a book."""

    def __init__(self, entries):
        self.entries = iter(entries)

    def answer(self, query):
        asked, answers = next(self.entries)
        assert query.items.tolist() == asked.items.tolist()
        assert list(query.counts) == list(asked.counts)
        return Answers(items=answers.items.copy(), counts=answers.counts.copy())


def outcome(result):
    return (
        result.hypothesis, result.unrounded, result.V.indices.tolist(), result.labels, result.rounds,
        result.conditions,
    )  # fmt: skip


def test_whoever_infers_labels_refuses_a_known_distribution():
    active, pool, labels, _ = setting("thresholds", "handicap-noiseless-batch", "exact")
    with pytest.raises(PlanMismatch, match="give a pool size instead of 'exact'"):
        learn(active, pool, labels, SHARED)


@pytest.mark.parametrize(
    ("name", "learner", "kind"),
    [
        (name, learner, kind)
        for name, learner in CASES
        for kind in ("exact", "finite")
        if kind == "finite" or not learner.startswith(FINITE_ONLY)
    ],
)
def test_the_protocol(name, learner, kind):
    active, pool, labels, world = setting(name, learner, kind)
    book = Book(labels)
    result = learn(active, pool, book, SHARED)

    # the answer is a survivor; the books balance
    assert result.hypothesis in result.survivors.indices
    assert result.labels == sum(query.total for query, _ in book.entries)
    assert len(result.rounds) == len(book.entries)

    # the same inputs give the same result, whatever the state of the world's random generators
    np.random.seed(1)  # noqa: NPY002 - the point is to disturb the global state
    random.seed(1)
    assert outcome(
        learn(active, pool, world.labels(pool, PrivateRandomness.simulated("contract", name)), SHARED)
    ) == outcome(result)

    # a run is rebuilt from its journal alone
    assert outcome(learn(active, pool, Replay(book.entries), SHARED)) == outcome(result)

    # an active learner asks inside the disagreement region of its survivors and nowhere else
    if "erm" not in learner:
        seen = pool.reserve(getattr(active.plan, "measuring", 0))
        V = seen.first(getattr(active.plan, "items", None)).version_space()
        for query, _ in book.entries:
            assert set(query.items) <= set(V.disputed)
            assert query.disagreement[0] <= V.disagreement_weight

    # no item of a finite pool is asked more often than it occurs
    if kind == "finite":
        asked = np.zeros(len(pool.items), dtype=int)
        for query, _ in book.entries:
            np.add.at(asked, query.items, query.counts.astype(int))
        assert (asked <= pool.weights).all()


@pytest.mark.parametrize(("name", "learner"), CASES)
def test_a_column_and_a_population_give_the_same_run(name, learner):
    active, pool, _, world = setting(name, learner, "finite")
    pool = rows_of_their_own(pool)
    labels = world.labels(pool, PrivateRandomness.simulated("contract", name))
    column = KnownLabels(world.C, np.array(world.C.labels, dtype=object)[world.codes(world.target)[pool.ids]])
    assert outcome(learn(active, pool, column, SHARED)) == outcome(learn(active, pool, labels, SHARED))


@pytest.mark.parametrize("learner", learners(classes()[0][1], pool="finite"))
def test_one_label_for_several_items_is_refused_where_labels_may_be_wrong(learner):
    """Heard as often as its row counts, one wrong label outweighs many right ones."""
    active, pool, _, world = setting(classes()[0][0], learner, "finite")
    column = KnownLabels(world.C, np.array(world.C.labels, dtype=object)[world.codes(world.target)[pool.ids]])
    begins = (lambda: learn(active, pool, column, SHARED), lambda: AskTell(active, pool, SHARED))
    copies = int(pool.weights.max())
    assert copies > 1
    for begin in begins:
        if find(active.plan.learner).setting == "realizable":
            begin()
        else:
            with pytest.raises(
                PlanMismatch, match=f"stands for {copies} items and has one label, .* a row and a label of"
            ):
                begin()


def test_asked_items_lie_in_the_region_of_the_moment():
    """Follow CAL label by label: each item is disputed by the hypotheses that fit all earlier labels."""
    C, cells = classes()[0][1:]
    pool = Pool(C, np.tile(cells, 20), PrivateRandomness.simulated("moment"))
    world = Population(C, target=31, cells=np.tile(cells, 20))
    truth = world.codes(31)
    codes = C.codes(pool.items, np.arange(len(C)))
    alive = np.arange(len(C))
    conversation = learners(C)["cal"].run(pool, SHARED)
    query = next(conversation)
    asked = 0
    while True:
        column = codes[alive, query.items[0]]
        assert column.min() < column.max()
        alive = alive[column == truth[query.items[0]]]
        asked += 1
        try:
            query = conversation.send(KnownLabels(C, truth).answer(query))
        except StopIteration as stop:
            assert stop.value.V.indices.tolist() == alive.tolist()
            break
    assert asked > 3
