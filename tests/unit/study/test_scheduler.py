"""A sweep: what a cell finds, when it stops, and what is told on the way."""

import dataclasses
from concurrent.futures import Future

import pyarrow as pa
import pytest

from replical.core.parallel import local
from replical.study.results import SCHEMA, table
from replical.study.spec import Study
from replical.worlds.audit import audit
from replical.worlds.experiment import prepare
from replical.worlds.labs import CONTROLLED
from support.studies import BASE, GRID, based, of_pairs


# What is found
@pytest.mark.parametrize(
    "grid",
    [
        {"learner": "cal", "class": "thresholds:1000"},
        {"learner": "handicap", "pool_size": 200},
        {"learner": "handicap", "pool_size": 200, "noise": 0.05, "max_labels": 40},
        {"learner": "replical", "pool_size": "exact", "rho": 0.3},
        {"learner": "a2", "pool_size": 200, "noise": 0.2, "max_labels": 10},
        {"learner": "cal", "class": "halfspaces:2,40", "pool_size": 100},
    ],
    ids=lambda grid: grid["learner"] + " " + grid.get("class", ""),
)
def test_a_cell_is_an_audit(grid, sweep):
    content = based(grid=[{**GRID, "class": "thresholds:50", **grid}], stop={"pairs": 12})
    (found,) = sweep(content).rows
    (cell,) = Study.of(content).cells()
    ready = prepare(cell.experiment, seed=BASE["seed"])
    wanted = dataclasses.asdict(audit(ready.learner, ready.world, seed=cell.seed, pairs=12))
    for name, value in wanted.items():
        assert found[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value), name
    assert (found["theta"], found["nu"]) == (ready.theta, ready.nu)
    assert found["hypotheses"] == len(ready.world.C)
    assert found["disagreement"] == 1 - found["agreement"]
    assert found["replicable"] == (cell.parameters["learner"] in ("handicap", "handicap", "replical"))
    shares = (found["own_string"], found["fewest_errors"])
    assert found["vacuous"] == (min(shares) > 0.8 if found["replicable"] else None)
    assert found["controls"] == (min(found["pairs"], CONTROLLED) if found["replicable"] else 0)


def test_results_are_a_table_of_the_documented_kind(sweep):
    huge = {
        "learner": ["replical"], "pool_size": "exact", "k_loop": 2**64 + 1, "max_labels": 10**300, "theta": 10**30,
        "plan": "paper",
    }  # fmt: skip
    refused = {"learner": "replical", "plan": "paper", "theta": 3, "class": "thresholds:50"}
    rows = sweep(based(grid=[GRID, {**GRID, **huge}, {**GRID, **refused}], stop={"pairs": 3})).rows
    found = table(rows[::-1], pa)
    assert [(field.name, str(field.type)) for field in found.schema] == [
        (name, {"strings": "list<item: string>"}.get(kind, kind)) for name, kind in SCHEMA
    ]
    assert found["cell"].to_pylist() == sorted(each["cell"] for each in rows)
    assert not [name for name in found.column_names if "second" in name or "time" in name]
    assert {"done", "refused"} == set(found["status"].to_pylist())
    paper = next(each for each in found.to_pylist() if each["status"] == "refused" and each["pool_size"] == "300")
    assert (paper["theta"], paper["pairs"], paper["agreement"]) == (3.0, 0, None)
    assert "finite pool" in paper["reason"]


def test_every_cell_has_pairs_of_its_own(sweep):
    """Neither a grid nor a seed more changes what the others found."""
    alone = sweep(based(grid=[{**GRID, "learner": "cal"}])).tables
    assert sweep().tables.items() >= alone.items()
    other = sweep(based(seed="small 2")).tables
    assert all(other[name][0] != rows for name, (rows, _) in alone.items())
    hypotheses = [rows["hypothesis_a"] for rows, _ in sweep().tables.values()]
    assert len({tuple(each) for each in hypotheses}) == 4


@pytest.mark.parametrize("count", [2, 3])
def test_workers_change_nothing(count, sweep, usual):
    with local(count) as busy:
        assert sweep(workers=busy).tables == usual()


def test_a_quick_run_after_the_whole_is_cut_from_it_and_leaves_it_alone(sweep, tmp_path, cells_of):
    content = based(quick={"stop": {"pairs": 7}, "learner": ["cal"]})
    folder, alone = tmp_path / "whole", sweep(content, quick=True)
    whole = sweep(content, folder=folder)
    before = cells_of(folder)
    cut = sweep(content, folder=folder, quick=True)
    assert (cut.rows, cut.tables) == (alone.rows, alone.tables)
    assert [each["pairs"] for each in cut.rows] == [7, 7]
    assert cells_of(folder) == before
    assert sweep(content, folder=folder).tables == whole.tables


# Cells that cannot be run
def test_a_refused_cell_is_a_row_and_stops_nobody(sweep, tmp_path):
    content = based(grid=[{**GRID, "learner": ["cal", "replical"], "theta": 2}])
    found = sweep(content, folder=tmp_path / "refused")
    assert sorted(each["status"] for each in found.rows) == ["done", "done", "refused", "refused"]
    reasons = [each["reason"] for each in found.rows if each["status"] == "refused"]
    assert all("items aside" in each for each in reasons)
    assert sweep(content, folder=tmp_path / "refused").rows == found.rows


def test_what_was_refused_is_tried_again(sweep, tasks, tmp_path):
    """It may have been the fault of a version that is gone."""
    tasks("""
from dataclasses import replace
def task(piece):
    told = work(piece)
    return replace(told, rows={name: [] for name in told.rows}, refused="too hard")
""")
    assert {each["reason"] for each in sweep(folder=tmp_path / "refused").rows} == {"too hard"}
    tasks("task = work\n")
    assert sweep(folder=tmp_path / "refused").tables == sweep().tables


@pytest.mark.parametrize(
    ("grid", "size"),
    [
        ({"learner": "a2-rounds", "epsilon": 1e-300, "noise": 0.1}, 602),
        ({"learner": "erm", "epsilon": 5e-324, "plan": "paper", "pool_size": "exact"}, 324),
    ],
    ids=["may ask for", "asks for"],
)
def test_more_labels_than_a_double_holds_are_refused(grid, size, sweep):
    (found,) = sweep(based(grid=[{**GRID, "class": "thresholds:1", **grid}], stop={"pairs": 2})).rows
    assert found["status"] == "refused"
    assert found["reason"] == (
        f"the plan asks for about 10**{size} labels, and the tables of a study hold up to 10**308: "
        "choose a larger epsilon, delta or rho"
    )
    assert table([found], pa).num_rows == 1


def test_what_is_complete_counts_as_done_and_not_as_left(sweep, tmp_path):
    folder = tmp_path / "resumed"
    sweep(of_pairs(20), folder=folder)
    told = sweep(of_pairs(60), folder=folder).progress
    assert (told[0].pairs, told[0].pairs_done, told[0].cells_done) == (240, 80, 0)
    assert {each.pairs for each in told} == {240}
    again = sweep(of_pairs(60), folder=folder).progress[0]
    assert (again.pairs, again.pairs_done, again.cells_done, again.seconds_left) == (240, 240, 4, None)


class Clock:
    """A worker whose pieces take as long as they say."""

    def __init__(self, seconds, count=1):
        self.seconds, self.count, self.ahead, self.losses, self.lengths = seconds, count, 0, 3, []

    def submit(self, task, piece):
        done = Future()
        told = task(piece)
        self.lengths.append(piece.end - piece.start)
        done.set_result(dataclasses.replace(told, seconds=0.0 if told.refused else self.seconds(piece)))
        return done


def test_an_estimate_is_the_pairs_left_at_the_pace_so_far(sweep):
    """Refusals take no time."""
    grid = {**GRID, "learner": ["cal", "replical", "erm"], "theta": 2}
    paces = {"cal": 1.0, "erm": 10.0}
    clock = Clock(lambda piece: paces[piece.experiment.learner] * (piece.end - piece.start))
    told = sweep(based(grid=[grid]), workers=clock).progress
    assert {far.seconds_left for far in told if far.pairs_done == 0} == {None}
    early = [far for far in told if 0 < far.pairs_done <= 30]  # of cal alone
    assert early
    assert all(far.seconds_left == pytest.approx(far.pairs - far.pairs_done) for far in early)
    assert told[-1].seconds_left == 0


@pytest.mark.parametrize(("pace", "lengths"), [(5.0, [1] * 60), (0.25, [1] + 14 * [4] + [3]), (0.001, [1, 50, 9])])
def test_a_piece_takes_about_a_second(pace, lengths, sweep):
    clock = Clock(lambda piece: pace * (piece.end - piece.start))
    sweep(based(grid=[{**GRID, "class": "thresholds:50", "learner": "cal"}], stop={"pairs": 60}), workers=clock)
    assert clock.lengths == lengths
