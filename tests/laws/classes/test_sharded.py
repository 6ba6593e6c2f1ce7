"""Predictions in shards say what packed ones in memory say, to the bit: wherever they are cut, whoever maps."""

import tempfile
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replical import KnownLabels, Pool, PredictionTable, PrivateRandomness, SharedRandomness, learn, plan
from replical.classes.predictions import sharded
from replical.classes.predictions.packed import PackedPredictions
from replical.classes.predictions.sharded import ShardedPredictions, ShardedRows
from replical.core.parallel import ThisProcess, cluster, local
from replical.learners.planning import learner_for
from support.shards import in_shards, packed

N, U = 130, 600
NUMBERS = {"epsilon": 0.1, "delta": 0.1, "pool": "finite"}
LEARNERS = {
    "cal": NUMBERS,
    "a2": NUMBERS,
    "handicap": NUMBERS | {"rho": 0.2},
    "handicap without errors": NUMBERS | {"rho": 0.2, "nu": 0.0},
}


@st.composite
def tables(draw):
    """Codes of up to 200 candidates on up to 40 items, as an array, as packed predictions and in shards."""
    n, m, labels = draw(st.integers(1, 200)), draw(st.integers(1, 40)), draw(st.sampled_from([2, 3, 5]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = generator.integers(labels, size=(m, n)) * (generator.random((m, 1)) < 0.8)  # some rows all agree
    return codes, labels, draw(st.sets(st.integers(1, m), max_size=6))


def some(data, count, *, ascending, empty=False, repeats=False):
    """Some of so many numbers."""
    drawn = data.draw(
        st.lists(st.integers(0, count - 1), min_size=0 if empty else 1, max_size=3 * count, unique=not repeats)
    )
    return np.array(sorted(drawn) if ascending else drawn, dtype=np.int64)


@settings(max_examples=25)
@given(tables(), st.integers(0, 5), st.data())
def test_every_operation_on_shards_is_that_on_the_whole(table, workers, data):
    codes, labels, cuts = table
    m, n = codes.shape
    whole = PackedPredictions.of(packed(codes, labels).planes, n, labels)
    busy = ThisProcess(workers) if workers else None
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(sharded, "_NEAR", 0):
        shards = ShardedPredictions(in_shards(codes, labels, folder, cuts, workers=busy))
        assert (shards.size, shards.shape) == (whole.size, whole.shape)
        alive = some(data, n, ascending=True)
        items = some(data, m, ascending=False, empty=True, repeats=True)
        counts = np.array(data.draw(st.lists(st.integers(0, 5000), min_size=labels, max_size=labels)))
        counts = counts * np.arange(len(items))[:, None] % 7000
        any_order = some(data, n, ascending=False)
        assert shards.errors(items, counts, any_order).tolist() == whole.errors(items, counts, any_order).tolist()
        assert shards.votes(alive, items).tolist() == whole.votes(alive, items).tolist()
        assert shards.disagreement(alive, items).tolist() == whole.disagreement(alive, items).tolist()
        h, item = int(alive[0]), int(data.draw(st.integers(0, m - 1)))
        assert shards.codes(h).tolist() == codes[:, h].tolist()
        assert shards.codes(h, items).tolist() == codes[items, h].tolist()
        assert shards.codes_of_item(item, alive).tolist() == codes[item, alive].tolist()
        assert shards.take(items).planes.tolist() == whole.take(items).planes.tolist()
        near, among = (each.nearness(np.arange(m)) for each in (shards, whole)), np.arange(len(alive))[:3]
        assert len({tuple(each.nearest(alive, among)) for each in near}) == 1


def test_everybody_in_another_order():
    """Errors, and what is said of an item, come in the order in which hypotheses are named, also where none is missing."""
    codes, order = np.array([[1, 1, 0], [0, 1, 0]]), np.array([2, 0, 1])
    whole, counts = PackedPredictions.of(packed(codes, 2).planes, 3, 2), np.array([[5000, 1], [0, 3]])
    assert whole.errors(np.array([0, 1]), counts, order).tolist() == [4, 5003, 5000]
    assert whole.codes_of_item(0, order).tolist() == [0, 1, 1]


@pytest.fixture(scope="module", params=["processes", "dask"])
def busy(request):
    """Two workers of each kind, started once."""
    if request.param == "dask":
        pytest.importorskip("distributed")
    with cluster("local:2") if request.param == "dask" else local(2) as workers:
        yield workers


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(), seed=st.integers(0, 2**32))
def test_workers_tell_what_one_process_does(table, seed, busy, tmp_path):
    codes, labels, cuts = table
    m, n = codes.shape
    generator = np.random.default_rng(seed)
    alive = np.flatnonzero(generator.random(n) < generator.random()) if n > 1 else np.arange(n)
    alive, items = alive if len(alive) else np.arange(n), generator.permutation(m)[: 1 + seed % m]
    counts = generator.integers(9, size=(len(items), labels))
    whole = PackedPredictions.of(packed(codes, labels).planes, n, labels)
    with mock.patch.object(sharded, "_NEAR", 0):
        shards = ShardedPredictions(in_shards(codes, labels, tmp_path, cuts, workers=busy, held=seed % 2 * 2**20))
        for ask in (
            lambda form: form.errors(items, counts, alive),
            lambda form: form.votes(alive, items),
            lambda form: form.disagreement(alive, items),
            lambda form: form.codes(int(alive[0]), items),
            lambda form: form.take(items).planes,
            lambda form: form.part(alive, np.sort(items)).take(np.arange(len(items))).planes,
        ):
            assert ask(shards).tolist() == ask(whole).tolist()


@settings(max_examples=25)
@given(tables(), st.data())
def test_what_was_seen_serves_smaller_version_spaces(table, data):
    codes, labels, cuts = table
    m, n = codes.shape
    with tempfile.TemporaryDirectory() as folder:
        shards = ShardedPredictions(in_shards(codes, labels, folder, cuts))
        seen, alive = shards.blank_memory(m), np.arange(n)
        for part in data.draw(st.lists(st.floats(0, 1), max_size=4)):
            disputed = shards.disagreement(alive, np.arange(m), seen)
            assert disputed.tolist() == [len(set(row[alive])) > 1 for row in codes]
            before = shards.visited
            assert shards.disagreement(alive, np.arange(m), seen).tolist() == disputed.tolist()
            assert shards.visited - before == np.count_nonzero(~disputed)  # kept words answer for all others
            alive = alive[np.random.default_rng(m).random(len(alive)) < part] if len(alive) > 1 else alive
            if not len(alive):
                break


@settings(max_examples=25)
@given(tables(), st.booleans(), st.data())
def test_compacted_copies_in_memory_and_on_the_disk_are_the_part(table, on_disk, data):
    codes, labels, cuts = table
    m, n = codes.shape
    alive, within = some(data, n, ascending=True), some(data, m, ascending=True)
    whole = PackedPredictions.of(packed(codes, labels).planes, n, labels)
    with tempfile.TemporaryDirectory() as folder:
        shards = ShardedPredictions(in_shards(codes, labels, folder, cuts, held=0 if on_disk else 2**20))
        part = shards.part(alive, within)
        assert isinstance(part, ShardedPredictions if on_disk else PackedPredictions)
        assert part.take(np.arange(len(within))).planes.tolist() == whole.part(alive, within).planes.tolist()


@settings(max_examples=25)
@given(tables(), st.data())
def test_sharded_rows_index_like_the_array_of_codes(table, data):
    codes, labels, cuts = table
    m, n = codes.shape
    with tempfile.TemporaryDirectory() as folder:
        rows = ShardedRows(in_shards(codes, labels, folder, cuts))
        items, columns = some(data, m, ascending=False), some(data, n, ascending=False)
        assert (len(rows), rows.shape, np.asarray(rows).tolist()) == (m, (m, n), codes.tolist())
        assert np.asarray(rows[items]).tolist() == codes[items].tolist()
        assert rows[:, columns].tolist() == codes[:, columns].tolist()
        assert rows[items, int(columns[0])].tolist() == codes[items, columns[0]].tolist()
        assert rows[int(items[0])].tolist() == codes[items[0]].tolist()
        assert rows[0, 0] == codes[0, 0]
        pairs = min(len(items), len(columns))
        assert rows[items[:pairs], columns[:pairs]].tolist() == codes[items[:pairs], columns[:pairs]].tolist()
        assert np.concatenate([block for _, block in rows.blocks(3 * n)]).tolist() == codes.tolist()


def facts(learner, labels, folder=None, **how):
    """Everything a run says, from a table in which one candidate makes no error."""
    generator = np.random.default_rng(3)
    truth = generator.integers(labels, size=U)
    wrong = generator.random((U, N)) < generator.choice([0.01, 0.1, 0.3, 0.5], size=N)
    wrong[:, 17] = False
    C = PredictionTable([f"c{i}" for i in range(N)], labels=tuple(range(labels)))
    codes = np.where(wrong, (truth[:, None] + 1) % labels, truth[:, None])
    order, everything = PrivateRandomness.simulated("shards").permutation(U), np.arange(U)
    rows = packed(codes, labels)
    items = rows if folder is None else ShardedRows(in_shards(codes, labels, folder, (7, 8, 300, 420), **how))
    predictions = PackedPredictions.of(rows.planes, N, labels) if folder is None else items.predictions
    pool = Pool.in_order(C, items, everything, order, predictions)
    shared = SharedRandomness("shards")
    result = learn(learner_for(plan(learner.split()[0], C, **LEARNERS[learner])), pool, KnownLabels(C, truth), shared)
    return (
        (result.hypothesis, result.unrounded, result.labels, result.rounds, result.conditions),
        result.V.indices.tolist(),
        result.V.disagreement.tolist(),
        repr(result.proof),
    )


FAST = (("handicap", 3),)
EVERY = [(learner, labels) for learner in LEARNERS for labels in (2, 3)]


@pytest.mark.parametrize(
    ("learner", "labels"), [pytest.param(*each, marks=[] if each in FAST else pytest.mark.slow) for each in EVERY]
)
def test_a_run_on_shards_is_that_in_memory(learner, labels, monkeypatch, tmp_path):
    """Without a copy, with one in memory, with one on the disk."""
    expected = facts(learner, labels)
    assert facts(learner, labels, tmp_path) == expected
    monkeypatch.setattr(sharded, "_SHRINKS", 1)
    monkeypatch.setattr(sharded, "_MOVED", 0)
    made, part = [], ShardedPredictions.part
    monkeypatch.setattr(ShardedPredictions, "part", lambda *these: (made.append(part(*these)), made[-1])[1])
    for held, kind in ((2**20, PackedPredictions), (0, ShardedPredictions)):
        assert facts(learner, labels, tmp_path, held=held) == expected
        assert made
        assert all(isinstance(each, kind) for each in made)
        made.clear()
    assert not list(tmp_path.glob(f"{sharded.SCRATCH}*"))
