"""The same results whoever runs a study, however often it is stopped, and whatever happens to workers and files."""

import contextlib
import dataclasses
import html
import itertools
import json
import os
import random
import resource
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import BrokenExecutor, Future
from fractions import Fraction
from statistics import stdev
from types import SimpleNamespace

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from replical.cli import main
from replical.core.binomial import clopper_pearson
from replical.errors import BadStudy, WorkerLost
from replical.study.enough import Stop
from replical.study.results import SCHEMA, row, summary, table
from replical.study.run import run_study
from replical.study.spec import Study
from replical.study.store import NOTHING, Store
from replical.study.sweep import Sweep
from replical.study.work import Piece, rows_of, work
from replical.study.workers import Workers, local
from replical.worlds.audit import Pair, audit, figures
from replical.worlds.experiment import prepare

GRID = {"class": ["thresholds:50", "thresholds:1000"], "learner": ["cal", "erm"], "epsilon": 0.1, "pool_size": 300}
BASE = {"schema": "replical.study/1", "name": "small", "seed": "small 1", "stop": {"pairs": 30}, "grid": [GRID]}
SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)


def based(**more):
    return {**BASE, **more}


def of_pairs(pairs):
    return based(stop={"pairs": pairs})


# What is found


@pytest.mark.parametrize(
    "grid",
    [
        {"learner": "cal", "class": "thresholds:1000"},
        {"learner": "rounded-cal", "pool_size": 200},
        {"learner": "rounded-a2", "pool_size": 200, "noise": 0.05, "max_labels": 40, "finish": "excess"},
        {"learner": "replical", "pool_size": "exact", "rho": 0.3},
        {"learner": "a2", "pool_size": 200, "noise": "boundary:.2,.1", "max_labels": 10},
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
    assert found["replicable"] == (cell.parameters["learner"] in ("rounded-cal", "rounded-a2", "replical"))
    assert found["vacuous"] == (found["base_agreement"] > 0.8 if found["replicable"] else None)


TWICE = {name: st.tuples(values, values) for name, values in {
    "hypotheses": st.none() | st.integers(0, 9), "unrounded": st.integers(0, 9), "survivors": st.integers(1, 50),
    "labels": st.integers(0, 10**20), "excess_errors": st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 9)]),
    "stopped_short": st.booleans(),
}.items()}  # fmt: skip
ROUNDINGS = st.builds(
    SimpleNamespace, labels_sufficient=st.booleans(), certified=st.booleans(),
    rho_proven=st.none() | st.floats(0, 1), rho_predicted=st.none() | st.floats(0, 1),
)  # fmt: skip
PAIRS = st.builds(
    Pair, number=st.integers(0, 99), target=st.integers(0, 9), same_function=st.booleans(), jaccard_distance=st.floats(0, 1),
    roundings=st.none() | st.tuples(ROUNDINGS, ROUNDINGS), **TWICE,
)  # fmt: skip


@given(st.lists(PAIRS, min_size=1, max_size=6))
def test_the_figures_of_a_cell_are_those_of_an_audit(pairs):
    wanted = dataclasses.asdict(figures(pairs, epsilon=Fraction(1, 10)))
    found = summary(rows_of(pairs, Fraction(1, 10)))
    for name, value in wanted.items():
        assert found[name] == (value if value is None else pytest.approx(value, rel=1e-12)), name
    if len(pairs) > 1:
        error = stdev(Fraction(sum(pair.labels), 2) for pair in pairs) / len(pairs) ** 0.5
        assert found["labels_error"] == pytest.approx(float(error), rel=1e-6, abs=1e-9 * found["labels_mean"])


def test_results_are_a_table_of_the_documented_kind(sweep):
    huge = {
        "learner": ["replical"],
        "pool_size": "exact",
        "k_loop": 2**64 + 1,
        "max_labels": 10**300,
        "theta": 10**30,
        "plan": "paper",
    }
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


# Whoever runs it


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """What one process finds without trouble, by number of pairs."""
    found = {}

    def run(pairs=30):
        if pairs not in found:
            with local(1) as busy:
                cells = Study.of(of_pairs(pairs)).cells()
                kept = Sweep(cells, Store(tmp_path_factory.mktemp("usual")), busy).run()
            found[pairs] = {name: (each.rows, each.facts) for name, each in kept.items()}
        return found[pairs]

    return run


@pytest.mark.parametrize("count", [2, 3])
def test_workers_change_nothing(count, sweep, usual):
    with local(count) as busy:
        assert sweep(workers=busy).tables == usual()


class Chance:
    """Workers that finish in any order and end now and then, as a seed has it; the work is done in this process."""

    def __init__(self, seed, count, lost):
        self.random, self.count, self.lost, self.deaths = random.Random(seed), count, lost, 0
        self.ahead, self.losses, self.told, self.runs = count, 10**6, "chance", []

    def submit(self, task, piece):
        done = Future()
        if self.random.random() < self.lost:
            self.deaths += 1
            done.set_exception(BrokenExecutor("it ended"))
        else:
            self.runs.extend((piece.cell, number) for number in range(piece.start, piece.end))
            done.set_result(task(piece))
        return done

    def look(self):
        raise AssertionError("somebody always answers")


@pytest.fixture
def in_any_order(monkeypatch):
    """Whatever waits for several pieces hears of one of them, any one."""

    def use(chance):
        def one_of(futures, **_):
            return {chance.random.choice(list(futures))}, set()

        monkeypatch.setattr("replical.study.sweep.wait", one_of)
        return chance

    return use


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


# Stopping by width


WIDE = {"half_width": 0.13, "batch": 20, "max_pairs": 70}
BY_WIDTH = based(stop=WIDE, grid=[GRID, {**GRID, "class": "thresholds:3", "learner": "cal"}])


def test_batches_are_run_until_the_interval_is_narrow(sweep):
    found = sweep(BY_WIDTH)
    lengths = []
    for rows, _ in found.tables.values():
        pairs = len(rows["pair"])
        lengths.append(pairs)
        for looked in range(20, pairs, 20):
            low, high = clopper_pearson(sum(rows["agree"][:looked]), looked)
            assert (high - low) / 2 > 0.13
        low, high = clopper_pearson(sum(rows["agree"]), pairs)
        assert pairs == 70 or (pairs % 20 == 0 and (high - low) / 2 <= 0.13)
    assert sorted(lengths) == [20, 60, 60, 70, 70]


@pytest.fixture(scope="module")
def by_width(tmp_path_factory):
    with local(1) as busy:
        kept = Sweep(Study.of(BY_WIDTH).cells(), Store(tmp_path_factory.mktemp("by width")), busy).run()
    return {name: (each.rows, each.facts) for name, each in kept.items()}


@SHARED
@given(st.integers(1, 70), st.integers(0, 10**9), st.integers(1, 4), st.integers(0, 30))
def test_whatever_was_there_before_the_stop_is_where_it_would_be(
    in_any_order, sweep, by_width, tmp_path_factory, before, seed, count, after
):
    """Where it would have stopped anyway: after pairs of another stop, losses, a plug pulled between or within batches."""
    folder = tmp_path_factory.mktemp("width")
    sweep(based(grid=[{**GRID, "learner": "erm"}], stop={"pairs": before}), folder=folder)
    heard = [0]

    def plug(_):
        heard[0] += 1
        if heard[0] > after:
            raise Stopped

    with contextlib.suppress(Stopped):
        sweep(BY_WIDTH, folder=folder, workers=in_any_order(Chance(seed, count, 0.2)), progress=plug)
    assert sweep(BY_WIDTH, folder=folder, workers=in_any_order(Chance(seed + 1, count, 0.2))).tables == by_width


def test_a_stop_by_width_does_not_look_where_the_interval_lies(sweep, tmp_path, tasks):
    """Turn every agreement into a disagreement: as many pairs are run."""
    plain = sweep(BY_WIDTH).tables
    tasks("""
def task(piece):
    told = work(piece)
    told.rows["agree"] = [not each for each in told.rows["agree"]]
    return told
""")
    turned = sweep(BY_WIDTH).tables
    assert {name: len(rows["pair"]) for name, (rows, _) in turned.items()} == {
        name: len(rows["pair"]) for name, (rows, _) in plain.items()
    }


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
    assert found.told[-1].cells_done == 4


# Workers that end


def test_a_killed_worker_costs_its_own_piece_and_nothing_else(sweep, usual, tasks, tmp_path, caplog):
    """One of two processes is killed in the middle of a piece while the other one is in the middle of its own."""
    ran, pairs = tmp_path / "ran", 100
    ran.mkdir()
    wanted = usual(pairs)
    tasks(f"""
def task(piece):
    name = f"{{piece.cell}}-{{piece.start}}"
    tries = len(list(Path({str(ran)!r}).glob(name + "-*")))
    (Path({str(ran)!r}) / f"{{name}}-{{tries}}").write_text("")
    if piece.start <= 40 < piece.end and tries == 0:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return work(piece)
""")
    with local(2) as busy:
        found = sweep(of_pairs(pairs), workers=busy)
    assert found.tables == wanted
    again = sorted(path.name for path in ran.glob("*-1"))
    assert sorted(name.split("-")[0] for name in again) == sorted(found.tables)
    assert all(int(name.split("-")[1]) <= 40 for name in again)
    assert not list(ran.glob("*-2"))
    lost = [record.getMessage() for record in caplog.records]
    assert len(lost) == 4
    assert all("a worker was lost during" in each for each in lost)


def test_a_worker_killed_between_two_pieces_is_replaced(sweep, usual, monkeypatch):
    """Nobody was working on anything: nothing is lost, and handing in does not fail."""
    with local(2) as busy:
        killed = []

        def kill(far):
            if far.pairs_done >= 30 and not killed:
                time.sleep(1)  # both have nothing to do
                killed.extend(process.pid for each in busy._executor._each for process in each._processes.values())
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)
                time.sleep(1)

        assert sweep(workers=busy, progress=kill).tables == usual()
    assert len(killed) == 2


def test_a_piece_that_ends_every_worker_is_named_and_the_rest_is_kept(sweep, tasks, tmp_path, cells_of):
    tasks("""
def task(piece):
    if piece.tried.class_spec == "thresholds:1000" and piece.start <= 10 < piece.end:
        os._exit(9)
    return work(piece)
""")
    folder = tmp_path / "deadly"
    with (
        local(2) as busy,
        pytest.raises(WorkerLost, match="ended during .* on thresholds:1000 .*; what is complete is kept"),
    ):
        sweep(folder=folder, workers=busy)
    kept = cells_of(folder)
    assert len(kept) >= 1
    assert all(Store(folder).read(cell).pairs == 30 for cell in Study.of(BASE).cells() if f"{cell.id}.parquet" in kept)
    tasks("task = work\n")
    assert sweep(folder=folder).tables == sweep().tables


def test_an_error_in_the_work_is_not_hidden(sweep, tasks):
    tasks("""
def task(piece):
    raise ZeroDivisionError("a mistake")
""")
    with local(2) as busy, pytest.raises(ZeroDivisionError, match="a mistake"):
        sweep(workers=busy)


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


# Files


@pytest.fixture
def one_cell(sweep, tmp_path):
    """A folder with one cell of 30 pairs."""
    content = based(grid=[{**GRID, "class": "thresholds:50", "learner": "cal"}])
    folder = tmp_path / "one"
    tables = sweep(content, folder=folder).tables
    (file,) = folder.glob("cells/*.parquet")
    return content, folder, file, tables


def test_broken_files_are_made_again(one_cell, sweep):
    content, folder, file, tables = one_cell
    good = file.read_bytes()
    other = pa.table({"pair": [0]})
    cases = [
        b"",
        b"PAR1",
        b"PAR1PAR1",
        good[:100],
        good[:-1],
        good[:-8],
        good[8:],
        good + b"x",
        b"\0" * len(good),
        os.urandom(999),
    ]
    for case in cases:
        file.write_bytes(case)
        assert sweep(content, folder=folder).tables == tables
        assert file.read_bytes()[:4] == b"PAR1"
    for strange in (
        other,
        other.replace_schema_metadata({"replical": "{}"}),
        other.replace_schema_metadata({"replical": "nonsense"}),
        other.replace_schema_metadata({"replical": '{"seed": "small 1", "cell": {}, "facts": 5, "seconds": "x"}'}),
        pq.read_table(pa.BufferReader(good)).drop_columns(["agree"]),
        pq.read_table(pa.BufferReader(good)).slice(1),
        pq.read_table(pa.BufferReader(good)).replace_schema_metadata({}),
    ):
        pq.write_table(strange, file)
        assert sweep(content, folder=folder).tables == tables


def test_no_flipped_bit_is_believed(one_cell, sweep):
    """Any byte of the file, changed: the same rows, or none and they are made again."""
    content, folder, file, tables = one_cell
    good, (cell,) = file.read_bytes(), Study.of(content).cells()
    chance = random.Random(7)
    for place in sorted(chance.sample(range(len(good)), 250)):
        file.write_bytes(good[:place] + bytes([good[place] ^ (1 << chance.randrange(8))]) + good[place + 1 :])
        found = Store(folder).read(cell)
        assert found.pairs == 0 or found.rows == tables[cell.id][0], place


def test_a_cell_of_another_name_is_not_believed(sweep, tmp_path, usual):
    folder = tmp_path / "swapped"
    sweep(folder=folder)
    files = sorted(folder.glob("cells/*.parquet"))
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents[1:] + contents[:1], strict=True):
        file.write_bytes(content)
    assert sweep(folder=folder).tables == usual()


@pytest.mark.parametrize("name", ["pair=3", "seed=1", "rho=0.1 [x]", "é ü", "a.parquet", "s3:--x", "%20"])
def test_a_folder_may_be_called_anything(name, sweep, tmp_path, usual):
    assert sweep(folder=tmp_path / name).tables == usual()
    again = sweep(folder=tmp_path / name)
    assert again.tables == usual()
    assert again.told[0].cells_done == 4  # nothing was run


@pytest.mark.parametrize("grid", [GRID, {**GRID, "class": "star:9"}], ids=["the same cells", "other cells"])
def test_a_folder_of_another_seed_is_refused_and_untouched(grid, sweep, tmp_path, cells_of):
    folder = tmp_path / "other"
    sweep(folder=folder)
    before = cells_of(folder)
    with pytest.raises(
        BadStudy, match="holds cells of a study with the seed 'small 1', not 'small 2': choose another folder"
    ):
        sweep(based(seed="small 2", grid=[grid]), folder=folder)
    assert cells_of(folder) == before


def test_a_broken_file_does_not_hide_the_seed(sweep, tmp_path):
    folder = tmp_path / "other"
    sweep(folder=folder)
    for file in sorted(folder.glob("cells/*.parquet"))[:3]:
        file.write_bytes(b"PAR1")
    with pytest.raises(BadStudy, match="choose another folder"):
        sweep(based(seed="small 2"), folder=folder)


def test_files_are_there_as_a_whole_or_not_at_all(tmp_path, one_cell):
    _content, folder, file, _ = one_cell
    store, good = Store(folder), file.read_bytes()

    def fail(name):
        with open(name, "wb") as half:
            half.write(b"half")
        raise Stopped

    with pytest.raises(Stopped):
        store.whole(file, fail)
    assert file.read_bytes() == good
    assert list((folder / "cells").iterdir()) == [file]


def test_what_the_killed_left_behind_is_ignored_and_goes_in_time(one_cell, sweep):
    content, folder, file, tables = one_cell
    fresh, stale = folder / "cells" / ".part-new.parquet", folder / "cells" / ".part-old.parquet"
    for part in (fresh, stale):
        part.write_bytes(file.read_bytes()[:50])
    os.utime(stale, (time.time() - 7200,) * 2)
    assert sweep(content, folder=folder).tables == tables
    assert fresh.exists()  # somebody may be writing it
    assert not stale.exists()


def test_a_folder_that_cannot_be_written_is_named_before_any_work(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(BadStudy, match="cannot write to the folder"):
            Store(folder)
    (tmp_path / "closed" / "cells").mkdir(parents=True)

    def closed(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", closed)
    with pytest.raises(BadStudy, match="cannot write to the folder .*closed: Permission denied"):
        Store(tmp_path / "closed")


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs limits on files")
def test_a_full_disk_is_one_sentence_and_leaves_no_half_file(tmp_path, sweep, cells_of):
    """The second cell does not fit; with room again the run continues."""
    content = based(
        grid=[
            {**GRID, "learner": "cal", "class": "thresholds:50", "epsilon": [0.1, 0.2], "quick": False},
            {**GRID, "epsilon": 0.3, "learner": "cal", "class": "thresholds:1000", "stop": {"pairs": 300}},
            {**GRID, "class": "star:5", "learner": "cal"},
        ]
    )
    script = f"""
    import resource
    from pathlib import Path
    from replical.errors import BadStudy
    from replical.study.spec import Study
    from replical.study.store import Store
    from replical.study.sweep import Sweep
    from replical.study.workers import local
    resource.setrlimit(resource.RLIMIT_FSIZE, (14_000, 14_000))
    try:
        with local(1) as busy:
            Sweep(Study.of({content!r}).cells(), Store(Path({str(tmp_path / "full")!r})), busy).run()
    except BadStudy as error:
        print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert "cannot write" in done.stdout
    assert done.stdout.count("\n") == 1
    kept = cells_of(tmp_path / "full")
    assert len(kept) == 2
    assert len(list((tmp_path / "full" / "cells").iterdir())) == 2
    again = sweep(content, folder=tmp_path / "full")
    assert again.tables == sweep(content).tables
    assert cells_of(tmp_path / "full").items() >= kept.items()


def test_every_version_that_ran_pairs_of_a_cell_is_told(tmp_path, monkeypatch):
    """One that extends a cell does not hide who began it, not even where all cells were extended."""
    monkeypatch.setattr("replical.study.run.draw", lambda *_, **__: [])

    def ran(version, pairs):
        monkeypatch.setattr("replical.study.store._VERSION", version)
        with local(1) as busy:
            run_study(Study.of(of_pairs(pairs)), tmp_path / "out", quick=False, workers=busy)
        facts = json.loads((tmp_path / "out" / "study.json").read_text(encoding="utf-8"))
        page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
        return facts["cells_by_version"], "not all run by one version" in page

    assert ran("0.0.1", 20) == ({"0.0.1": 4}, False)
    assert ran("0.1.0", 20) == ({"0.0.1": 4}, False)  # it ran nothing
    assert ran("0.1.0", 30) == ({"0.0.1": 4, "0.1.0": 4}, True)
    assert ran("0.0.1", 40) == ({"0.0.1": 4, "0.1.0": 4}, True)
    assert ran("0.2.0", 10) == ({"0.0.1": 4, "0.1.0": 4}, True)  # whose the first pairs are is not known


@pytest.mark.parametrize("quick", [[], ["--quick"]])
def test_the_command_is_told_with_its_paths_as_they_were_typed(quick, tmp_path, monkeypatch):
    monkeypatch.setattr("replical.study.run.draw", lambda *_, **__: [])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "we ird").mkdir()
    text = 'schema = "replical.study/1"\nname = "s"\nseed = "s"\nstop = { pairs = 3 }\n[[grid]]\n'
    text += 'class = "thresholds:50"\nlearner = "cal"\nepsilon = 0.1\npool_size = 300\n'
    (tmp_path / "we ird" / "s t.toml").write_text(text, encoding="utf-8")
    (tmp_path / "-s.toml").write_text(text, encoding="utf-8")
    typed = {
        ("we ird/s t.toml", "we ird/o"): ["we ird/s t.toml", "--out", "we ird/o"],
        (str(tmp_path / "we ird" / "s t.toml"), "../o"): [str(tmp_path / "we ird" / "s t.toml"), "--out", "../o"],
        ("./-s.toml", "o"): ["./-s.toml", "--out", "o"],
    }
    found = set()
    for (file, out), told in typed.items():
        assert main(["study", file, "--out", out, *quick, "--workers", "1", "--json"]) == 0
        command = json.loads((tmp_path / out / "study.json").read_text(encoding="utf-8"))["command"]
        assert shlex.split(command) == ["replical", "study", *told, *quick]
        assert html.escape(command) in (tmp_path / out / "report.html").read_text(encoding="utf-8")
        found.add((tmp_path / out / "results.parquet").read_bytes())
    assert len(found) == 1  # folders are told nowhere else


def test_a_store_gives_back_what_it_was_given(one_cell):
    content, folder, _, tables = one_cell
    (cell,) = Study.of(content).cells()
    found = Store(folder).read(cell)
    assert (found.rows, found.facts) == tables[cell.id]
    assert found.seconds > 0
    assert row(cell, found)["pairs"] == 30
    assert NOTHING.pairs == 0


# Progress


def check_progress(told, cells):
    assert told[0].seconds_left is None
    assert (told[0].cells, told[0].now) == (cells, "")
    for one, two in itertools.pairwise(told):
        assert one.pairs_done <= two.pairs_done
        assert one.cells_done <= two.cells_done
    for each in told:
        assert each.seconds_left is None or each.seconds_left >= 0
        assert 0 <= each.cells_done <= each.cells
        assert 0 <= each.pairs_done <= each.pairs
    last = told[-1]
    assert last.cells_done == last.cells
    assert last.pairs_done == last.pairs
    assert not last.seconds_left


@SHARED
@given(st.integers(0, 10**9), st.integers(1, 4), st.sampled_from([{"pairs": 30}, WIDE]))
def test_progress_only_goes_forward(in_any_order, sweep, seed, count, stop):
    found = sweep({**BY_WIDTH, "stop": stop}, workers=in_any_order(Chance(seed, count, 0.1)))
    check_progress(found.told, 5)
    assert found.told[-1].pairs_done == sum(each["pairs"] for each in found.rows)
    if "pairs" in stop:
        assert {each.pairs for each in found.told} == {150}


def test_what_is_complete_counts_as_done_and_not_as_left(sweep, tmp_path):
    folder = tmp_path / "resumed"
    sweep(of_pairs(20), folder=folder)
    told = sweep(of_pairs(60), folder=folder).told
    assert (told[0].pairs, told[0].pairs_done, told[0].cells_done) == (240, 80, 0)
    assert {each.pairs for each in told} == {240}
    again = sweep(of_pairs(60), folder=folder).told[0]
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


def test_an_estimate_is_the_pairs_left_at_the_pace_of_cells_alike(sweep):
    """Cells of one learner take ten times as long: known at once for those alike, and for all in the end."""

    def seconds(piece):
        return (10.0 if piece.tried.learner == "erm" else 1.0) * (piece.end - piece.start)

    told = sweep(workers=Clock(seconds)).told
    order = [cell.parameters["learner"] for cell in Study.of(BASE).cells()]
    assert order == ["cal", "erm", "cal", "erm"]
    known = {"cal"}
    assert len(told) == 122
    for spent, far in enumerate(told[1:-1], 1):
        if spent > 30:
            known.add("erm")
        paces = {"cal": 1.0, "erm": 10.0 if "erm" in known else 1.0}
        left = [max(0, min(30, 30 * (index + 1) - spent)) * paces[learner] for index, learner in enumerate(order)]
        assert far.seconds_left == pytest.approx(sum(left))
    for far in sweep(workers=Clock(lambda piece: float(piece.end - piece.start), count=4)).told[1:]:
        assert far.seconds_left == pytest.approx((far.pairs - far.pairs_done) / 4)


def test_every_learner_has_a_turn_before_any_has_two(sweep):
    """So that the estimate soon knows how long each of them takes."""
    classes = ["thresholds:50", "thresholds:60", "thresholds:70"]
    content = based(
        grid=[{**GRID, "class": classes, "learner": who} for who in ("cal", "erm", "a2")], stop={"pairs": 1}
    )
    told = sweep(content, workers=Clock(lambda piece: {"cal": 1.0, "erm": 10.0, "a2": 100.0}[piece.tried.learner])).told
    assert [far.seconds_left for far in told[3:-1]] == [222.0, 221.0, 211.0, 111.0, 110.0, 100.0, 0.0]


def test_refusals_take_no_time_and_say_nothing_about_it(sweep):
    content = based(
        grid=[{**GRID, "learner": ["replical", "cal"], "theta": 2, "class": ["thresholds:1000", "thresholds:50"]}]
    )
    told = sweep(content, workers=Clock(lambda piece: 5.0)).told
    assert [far.seconds_left for far in told if far.pairs_done == 0] == [None, None]
    assert next(far for far in told if far.pairs_done == 10).seconds_left == pytest.approx(5.0 * 20 + 2 * 5.0 * 30)


@pytest.mark.parametrize(("pace", "lengths"), [(5.0, [1] * 60), (0.25, [1] + 14 * [4] + [3]), (0.001, [1, 50, 9])])
def test_a_piece_takes_about_a_second(pace, lengths, sweep):
    clock = Clock(lambda piece: pace * (piece.end - piece.start))
    sweep(based(grid=[{**GRID, "class": "thresholds:50", "learner": "cal"}], stop={"pairs": 60}), workers=clock)
    assert clock.lengths == lengths


def test_an_estimate_foresees_the_batches_that_will_be_needed(sweep):
    content = based(
        grid=[{**GRID, "class": "thresholds:50", "learner": "cal"}],
        stop={"half_width": 0.1, "batch": 20, "max_pairs": 400},
    )
    found = sweep(content, workers=Clock(lambda piece: float(piece.end - piece.start)))
    assert found.told[0].pairs == Stop(half_width=0.1, batch=20, max_pairs=400).expected(0, 0) == 120
    final = found.told[-1].pairs_done
    for far in found.told[3:]:
        assert far.seconds_left == far.pairs - far.pairs_done
        assert abs(far.pairs - final) <= 40


def test_a_study_of_many_cells_is_not_held_up_by_its_estimate(tmp_path):
    """The time of a report grows with the cells, not with their square."""
    content = based(grid=[{**GRID, "max_labels": [i + 1 for i in range(250)]}], stop={"pairs": 1})
    cells = Study.of(content).cells()

    class Idle(Clock):
        def submit(self, task, piece):
            done = Future()
            done.set_result(
                self.answer if self.answer.piece == piece else dataclasses.replace(self.answer, piece=piece)
            )
            return done

    first = Study.of(based(grid=[{**GRID, "max_labels": 50}], stop={"pairs": 1})).cells()[0]
    idle = Idle(None)
    idle.answer = work(Piece(cell=first.id, tried=first.experiment, class_seed="s", seed="s", start=0, end=1))
    sweeping = Sweep(cells, Store(tmp_path), idle)
    sweeping._store = type("Nowhere", (), {"write": staticmethod(lambda *_: None)})()
    started = time.process_time()
    sweeping.run()
    assert time.process_time() - started < 60


# The workers themselves


def test_workers_of_this_machine_are_told_and_leave(sweep):
    with local(2) as busy:
        assert (busy.count, busy.told) == (2, "2 on this machine")
        pids = [busy.submit(os.getpid).result() for _ in range(2)]
        assert os.getpid() not in pids
        for _ in range(3):
            busy.submit(time.sleep, 60)  # nobody waits for that
    with local(1) as busy:
        assert busy.submit(os.getpid).result() == os.getpid()
    assert isinstance(busy, Workers)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
