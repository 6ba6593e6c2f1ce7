"""Every kernel equals a loop over unpacked values, on every back end."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.core import bits
from replical.core.kernels.accounts import Kinds, add
from replical.core.kernels.matrices import (
    Columns,
    Nearest,
    add_wrong,
    blank_memory,
    disagreement,
    distances_from,
    gather,
    tallies,
    transpose,
)

pytestmark = pytest.mark.usefixtures("kernels")


@st.composite
def matrices(draw):
    """Codes (rows × columns), packed; most rows agree almost everywhere, as candidates do."""
    digits, columns, rows = (
        draw(st.integers(1, 3)),
        draw(st.sampled_from([1, 3, 64, 65, 300, 1500])),
        draw(st.integers(1, 9)),
    )
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    common = generator.integers(2**digits, size=(rows, 1))
    others = generator.random((rows, columns)) < draw(st.sampled_from([0.0, 0.002, 0.05, 0.5]))
    codes = np.where(others, generator.integers(2**digits, size=(rows, columns)), common)
    return codes, np.stack([bits.pack((codes >> digit) & 1 == 1) for digit in range(digits)]), generator


def some(generator, count):
    """A few of so many numbers, or most, or a run of them, ascending."""
    part = np.flatnonzero(generator.random(count) < generator.choice([0.01, 0.3, 0.95]))
    if generator.random() < 0.3:
        part = np.arange(count)[generator.integers(count) :]
    return part if len(part) else np.array([generator.integers(count)])


@settings(max_examples=40)
@given(matrices())
def test_counting_and_moving_equal_loops(matrix):
    codes, planes, generator = matrix
    chosen, rows = some(generator, codes.shape[1]), generator.integers(len(codes), size=generator.integers(40))
    here = codes[rows][:, chosen]
    spelled = 2 ** len(planes)
    columns = Columns(chosen, codes.shape[1])
    assert tallies(planes, rows, columns, spelled).tolist() == [
        [int((row == c).sum()) for c in range(spelled)] for row in here
    ]
    right, power = generator.integers(spelled, size=len(rows)), int(generator.integers(5))
    sums = np.ones(64 * planes.shape[2], dtype=np.int64)
    add_wrong(sums, planes, rows, right, power)
    assert sums[: codes.shape[1]].tolist() == (1 + ((codes[rows] != right[:, None]).sum(axis=0) << power)).tolist()
    assert gather(planes, rows, chosen).tolist() == packed(here, len(planes))
    assert transpose(planes, rows, codes.shape[1]).tolist() == packed(codes[rows].T, len(planes))
    assert distances_from(planes, 0).tolist() == (codes != codes[0]).sum(axis=1).tolist()
    few = generator.integers(len(codes), size=4)
    distances = np.array([(codes[rows] != codes[row]).sum(axis=1) for row in few])
    assert Nearest(planes).of(rows, few).tolist() == distances.argmin(axis=0).tolist()
    for marks in map(np.array, product([False, True], repeat=len(few))):
        assert Nearest(planes).marks(rows, few, marks).tolist() == marks[distances.argmin(axis=0)].tolist()


@settings(max_examples=40)
@given(matrices())
def test_many_rows_are_counted_as_few_are(matrix):
    """Thousands of rows carry into every bit of the counts, and are added in blocks."""
    codes, planes, generator = matrix
    rows = generator.integers(len(codes), size=2500)
    sums = np.zeros(64 * planes.shape[2], dtype=np.int64)
    add_wrong(sums, planes, rows, np.zeros(2500, dtype=np.int64))
    times = np.bincount(rows, minlength=len(codes))
    assert sums[: codes.shape[1]].tolist() == (times @ (codes != 0)).tolist()


@settings(max_examples=40)
@given(matrices())
def test_rows_taken_up_where_they_were_left_are_the_same(matrix):
    """Fewer and fewer columns: what was seen before changes no answer, and who agreed once agrees from then on."""
    codes, planes, generator = matrix
    chosen, rows = np.arange(codes.shape[1]), np.arange(len(codes))
    seen = blank_memory(len(rows))
    while True:
        columns = Columns(chosen, codes.shape[1])
        expected = [len(set(codes[row, chosen])) > 1 for row in rows]
        found = disagreement(planes, rows, columns, seen)
        assert found.tolist() == expected == disagreement(planes, rows, columns).tolist()
        if len(chosen) == 1:
            break
        rows, seen = rows[found], seen[:, found]
        stays = generator.random(len(chosen)) < generator.choice([0.2, 0.7, 0.98])
        if generator.random() < 0.2:
            stays = np.arange(len(chosen)) >= len(chosen) // 3
        stays[generator.integers(len(chosen))] = True
        chosen = chosen[stays]


def packed(codes, digits):
    return [bits.pack((codes >> digit) & 1 == 1).tolist() for digit in range(digits)]


@given(st.integers(1, 300), st.sampled_from([1, 4, 1000]), st.integers(0, 2**32))
def test_accounts_are_added_up_and_equal_ones_found(count, most, seed):
    generator = np.random.default_rng(seed)
    counts = generator.integers(most, size=(3, count))
    places = generator.permutation(count)[: generator.integers(1, count + 1)]
    more = generator.integers(most, size=(3, len(places)))
    expected = counts.copy()
    for place, new in zip(places.tolist(), more.T, strict=True):
        expected[:, place] += new
    now = add(counts, places, (more[0], more[1], more[2]))
    assert counts.tolist() == expected.tolist()
    assert now.tolist() == expected[:, places].tolist()
    kinds = Kinds.of(now)
    if kinds is None:
        sums = (now.sum(axis=0), now[1], now[2])
        assert np.prod([np.ptp(row) + 1 for row in sums]) > len(places)
        return
    accounts = [tuple(each) for each in now.T.tolist()]
    distinct = [tuple(each) for each in kinds.distinct.T.tolist()]
    assert set(accounts) == set(distinct)
    assert len(distinct) == max(2, len(set(accounts)))
    found = dict(zip(kinds.cells.tolist(), distinct, strict=True))
    assert [found[cell] for cell in kinds.places.tolist()] == accounts
    assert max(found) < kinds.size
