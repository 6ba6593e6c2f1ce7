"""Version spaces against brute force, and structured predictions against the packed matrix, to the bit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import PredictionTable, SharedRandomness, Thresholds, VersionSpace
from replical.classes.predictions.line import LinePredictions
from replical.classes.predictions.packed import PackedPredictions
from replical.core import bits
from replical.pools.query import Answers
from support import reference

pytestmark = pytest.mark.usefixtures("kernels")


@st.composite
def tables(draw):
    labels = draw(st.sampled_from([2, 3, 10]))
    n, m = draw(st.integers(1, 130)), draw(st.integers(1, 12))
    seed = draw(st.integers(0, 2**32))
    codes = np.random.default_rng(seed).integers(labels, size=(m, n))
    C = PredictionTable([f"c{i}" for i in range(n)], labels=tuple(range(labels)))
    return C, C.items(codes)


@st.composite
def spaces(draw):
    C, items = draw(tables())
    weights = np.array(draw(st.lists(st.integers(0, 5), min_size=len(items), max_size=len(items))), dtype=np.int64)
    weights[0] += 1
    alive = np.array(draw(st.lists(st.booleans(), min_size=len(C), max_size=len(C))))
    alive[draw(st.integers(0, len(C) - 1))] = True
    V = VersionSpace.whole(C, items, weights)
    return C, items, weights, V.keep(alive), np.flatnonzero(alive)


@st.composite
def answers(draw, items, labels, most=9):
    asked = draw(st.lists(st.integers(0, items - 1), max_size=8))
    cells = st.lists(st.integers(0, most), min_size=labels, max_size=labels)
    counts = [draw(cells) for _ in asked]
    dtype = object if most >= 2**62 else np.int64
    return Answers(
        items=np.array(asked, dtype=np.int64), counts=np.array(counts, dtype=dtype).reshape(len(asked), labels)
    )


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=200), min_size=1, max_size=1))
def test_packing_loses_nothing(rows):
    array = np.array(rows)
    assert (bits.unpack(bits.pack(array), array.shape[1]) == array).all()


@given(spaces(), st.data())
def test_everything_equals_brute_force(space, data):
    C, items, weights, V, alive = space
    codes = reference.all_codes(C, items)
    disputed = reference.dis(codes, alive)
    assert V.disagreement.tolist() == disputed
    assert V.mass == Fraction(int(weights[disputed].sum()), int(weights.sum()))
    S = data.draw(answers(len(items), len(C.labels)))
    assert V.errors(S).tolist() == reference.errors(codes, alive, S.items, S.counts)
    h = data.draw(st.integers(0, len(C) - 1))
    assert V.distances(h).tolist() == [reference.distance(codes, weights, g, h) for g in alive]
    assert V.first(SharedRandomness("s")) == reference.first("s", alive)


@given(spaces(), st.data())
def test_errors_of_any_size_are_exact(space, data):
    C, items, _, V, alive = space
    S = data.draw(answers(len(items), len(C.labels), most=10**25))
    assert list(V.errors(S)) == reference.errors(reference.all_codes(C, items), alive, S.items, S.counts)


@given(spaces(), st.data())
def test_keep_only_shrinks(space, data):
    _, _, _, V, _ = space
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=V.size, max_size=V.size)))
    mask[data.draw(st.integers(0, V.size - 1))] = True
    smaller = V.keep(mask)
    assert set(smaller.indices) == set(V.indices[mask])
    assert set(smaller.disputed) <= set(V.disputed)
    assert smaller.mass <= V.mass


@settings(max_examples=200)
@given(st.integers(1, 150), st.data())
def test_the_line_equals_the_packed_matrix(n, data):
    C = Thresholds(n)
    x = np.array(data.draw(st.lists(st.integers(-2, n + 2), min_size=1, max_size=20)))
    line, packed = LinePredictions(C, x), PackedPredictions(C, x)
    alive = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    everything = np.arange(len(x))
    assert line.disagreement(alive, everything).tolist() == packed.disagreement(alive, everything).tolist()
    S = data.draw(answers(len(x), 2, most=2**55))
    assert line.errors(S.items, S.counts, alive).tolist() == packed.errors(S.items, S.counts, alive).tolist()
    h = data.draw(st.integers(0, n - 1))
    assert line.codes(h).tolist() == packed.codes(h).tolist()


def test_whoever_disagrees_is_found_however_late_it_comes():
    C, x = Thresholds(200), np.arange(-1, 201)
    line, packed, everything = LinePredictions(C, x), PackedPredictions(C, x), np.arange(len(x))
    for alive in (np.arange(200), np.arange(70, 140), np.arange(64), np.arange(0, 200, 3)):
        assert packed.disagreement(alive, everything).tolist() == line.disagreement(alive, everything).tolist()


@given(st.integers(1, 30), st.data())
def test_a_structured_class_equals_its_explicit_table(n, data):
    C = Thresholds(n)
    x = np.array(data.draw(st.lists(st.integers(0, n), min_size=1, max_size=20)))
    table = PredictionTable([C.describe(h) for h in range(n)])
    weights = np.ones(len(x), dtype=np.int64)
    V, W = VersionSpace.whole(C, x, weights), VersionSpace.whole(table, table.items(C.predict(x).T), weights)
    S = data.draw(answers(len(x), 2))
    for _ in range(2):
        assert V.mass == W.mass
        assert V.errors(S).tolist() == W.errors(S).tolist()
        keep = V.errors(S) == V.errors(S).min()
        V, W = V.keep(keep), W.keep(keep)


@settings(max_examples=40)
@given(spaces(), st.integers(0, 2**32))
def test_survivors_say_what_brute_force_says(space, seed):
    """Down to one survivor every question has the answer of brute force."""
    C, items, _, V, alive = space
    codes, generator = np.array(reference.all_codes(C, items)), np.random.default_rng(seed)
    labels, anyone, everything = len(C.labels), np.arange(len(C)), np.arange(len(items))
    while True:
        assert V.disagreement.tolist() == reference.dis(codes, alive)
        asked = generator.integers(len(items), size=generator.integers(8))
        counts = generator.integers(9, size=(len(asked), labels))
        expected = reference.errors(codes, alive, asked, counts)
        assert V.errors(Answers(items=asked, counts=counts)).tolist() == expected
        counted = [[int((codes[alive, x] == label).sum()) for label in range(labels)] for x in V.disputed]
        assert V.predictions.votes(V.indices, V.disputed).tolist() == counted
        for h in (int(alive[0]), int(generator.integers(len(C)))):
            assert V.predictions.codes(h).tolist() == codes[h].tolist()
            assert V.predictions.codes(h, V.disputed).tolist() == codes[h, V.disputed].tolist()
        item = int(generator.integers(len(items)))
        assert V.predictions.codes_of_item(item, V.indices).tolist() == codes[alive, item].tolist()
        assert V.predictions.disagreement(anyone, everything).tolist() == reference.dis(codes, anyone)
        if len(alive) == 1:
            break
        mask = generator.random(V.size) < 0.5
        stays, goes = generator.permutation(V.size)[:2]
        mask[stays], mask[goes] = True, False
        V, alive = V.keep(mask), alive[mask]
