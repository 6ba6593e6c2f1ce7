"""The same results in whatever order pieces come, however often a study is stopped, and whatever was there before."""

import contextlib
import dataclasses
from fractions import Fraction
from statistics import stdev
from types import SimpleNamespace

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from replical.study.results import summary
from replical.study.store import rows_of
from replical.worlds.audit import Pair, columns, figures
from support.studies import Chance, of_pairs

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
TWICE = {name: st.tuples(values, values) for name, values in {
    "hypotheses": st.none() | st.integers(0, 9), "survivors": st.integers(1, 50),
    "labels": st.integers(0, 10**20), "excess_errors": st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 9)]),
    "stopped_short": st.booleans(),
}.items()}  # fmt: skip
PROOFS = st.builds(
    SimpleNamespace, certified=st.booleans(),
    rho_proven=st.none() | st.floats(0, 1),
)  # fmt: skip
PAIRS = st.builds(
    Pair, number=st.integers(0, 99), target=st.integers(0, 9), same_function=st.booleans(), jaccard_distance=st.floats(0, 1),
    proofs=st.none() | st.tuples(PROOFS, PROOFS), **TWICE,
)  # fmt: skip


@given(st.lists(PAIRS, min_size=1, max_size=6))
def test_the_figures_of_a_cell_are_those_of_an_audit(pairs):
    wanted = dataclasses.asdict(figures(columns(pairs, Fraction(1, 10))))
    found = summary(rows_of(pairs, Fraction(1, 10)))
    for name, value in wanted.items():
        assert found[name] == (value if value is None else pytest.approx(value, rel=1e-12)), name
    if len(pairs) > 1:
        error = stdev(Fraction(sum(pair.labels), 2) for pair in pairs) / len(pairs) ** 0.5
        assert found["labels_error"] == pytest.approx(float(error), rel=1e-6, abs=1e-9 * found["labels_mean"])


@SHARED
@given(st.integers(0, 10**9), st.integers(1, 5), st.floats(0, 0.6), st.sampled_from([1, 25, 30]))
def test_neither_order_nor_losses_change_anything(in_any_order, sweep, usual, seed, count, lost, pairs):
    chance = in_any_order(Chance(seed, count, lost))
    assert sweep(of_pairs(pairs), workers=chance).tables == usual(pairs)
    assert len(chance.runs) == len(set(chance.runs)) == 4 * pairs  # every pair is run once


class Stopped(BaseException):
    """Somebody pulled the plug."""


@SHARED
@given(st.lists(st.integers(0, 12), max_size=4), st.integers(0, 10**9), st.integers(1, 4))
def test_stopped_and_started_again_it_continues(in_any_order, sweep, usual, tmp_path_factory, stops, seed, count):
    folder = tmp_path_factory.mktemp("stopped")
    for after in stops:
        heard = [0]

        def plug(_, heard=heard, after=after):
            heard[0] += 1
            if heard[0] > after:
                raise Stopped

        chance = in_any_order(Chance(seed, count, 0.1))
        complete = set(folder.glob("cells/*"))
        with contextlib.suppress(Stopped):
            sweep(folder=folder, workers=chance, progress=plug)
        assert not {name for name, _ in chance.runs} & {
            path.stem for path in complete
        }  # what is complete is not run again
        assert all(len(path.stem) == 16 for path in folder.glob("cells/*"))  # and nothing else is there
    assert sweep(folder=folder).tables == usual()


@pytest.mark.slow
@SHARED
@given(st.lists(st.integers(1, 60), min_size=1, max_size=4), st.integers(0, 10**9))
def test_more_pairs_go_on_from_those_that_are_there_and_fewer_are_the_first(
    in_any_order, sweep, usual, tmp_path_factory, lengths, seed
):
    folder, most = tmp_path_factory.mktemp("lengths"), 0
    for pairs in lengths:
        chance = in_any_order(Chance(seed, 2, 0.1))
        found = sweep(of_pairs(pairs), folder=folder, workers=chance).tables
        assert {name: rows for name, (rows, _) in found.items()} == {
            name: {column: values[:pairs] for column, values in rows.items()} for name, (rows, _) in usual(60).items()
        }
        assert len(chance.runs) == 4 * max(0, pairs - most)
        most = max(most, pairs)


@pytest.mark.slow
@SHARED
@given(st.integers(0, 10**9), st.integers(1, 4))
def test_a_refusal_in_the_middle_is_one_whatever_came_first(in_any_order, sweep, tasks, seed, count):
    tasks("""
from dataclasses import replace
def task(piece):
    told = work(piece)
    if piece.start <= 15 < piece.end:
        return replace(told, rows={name: [] for name in told.rows}, refused="too hard", seconds=0.0)
    return told
""")
    found = sweep(workers=in_any_order(Chance(seed, count, 0.1)))
    assert {each["reason"] for each in found.rows} == {"too hard"}
    assert {each["pairs"] for each in found.rows} == {0}
    assert {len(rows["pair"]) for rows, _ in found.tables.values()} == {0}
    assert found.progress[-1].cells_done == 4


# Progress
