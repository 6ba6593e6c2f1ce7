"""The folder of a study: whole files, one seed, versions told."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from replical.core.parallel import local
from replical.errors import BadStudy
from replical.study.results import row
from replical.study.run import run_study
from replical.study.spec import Study
from replical.study.store import EMPTY, Piece, Store, work
from replical.worlds.experiment import Experiment
from support.studies import GRID, based, of_pairs


class Stopped(BaseException):
    """Somebody pulled the plug."""


@pytest.mark.parametrize("name", ["pair=3", "seed=1", "rho=0.1 [x]", "é ü", "a.parquet", "s3:--x", "%20"])
def test_a_folder_may_be_called_anything(name, sweep, tmp_path, usual):
    assert sweep(folder=tmp_path / name).tables == usual()
    again = sweep(folder=tmp_path / name)
    assert again.tables == usual()
    assert again.progress[0].cells_done == 4  # nothing was run


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


def test_files_are_there_as_a_whole_or_not_at_all(tmp_path, one_cell):
    _content, folder, file, _ = one_cell
    store, good = Store(folder), file.read_bytes()

    def fail(name):
        with open(name, "wb") as half:
            half.write(b"half")
        raise Stopped

    with pytest.raises(Stopped):
        store.write_file(file, fail)
    assert file.read_bytes() == good
    assert list((folder / "cells").iterdir()) == [file]


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


def test_a_store_gives_back_what_it_was_given(one_cell):
    content, folder, _, tables = one_cell
    (cell,) = Study.of(content).cells()
    found = Store(folder).read(cell)
    assert (found.rows, found.facts) == tables[cell.id]
    assert found.seconds > 0
    assert row(cell, found)["pairs"] == 30
    assert EMPTY.pairs == 0


# ---- work in threads ----


TRIED = [
    Experiment(class_spec="thresholds:300", learner="handicap", epsilon=0.1, pool_size=20_000),
    Experiment(class_spec="stumps:3,20", learner="handicap", epsilon=0.2, pool_size=5000),
    Experiment(class_spec="thresholds:300", learner="a2", epsilon=0.1, pool_size=20_000, noise="0.05"),
]


@pytest.mark.slow
def test_threads_do_not_disturb_each_other():
    """As the threads of a Dask worker."""
    pieces = [
        Piece(cell="", experiment=tried, class_seed="threads", seed="threads", start=start, end=start + 2)
        for start in range(0, 12, 2)
        for tried in TRIED
    ]
    alone = [work(piece).rows for piece in pieces]
    with ThreadPoolExecutor(6) as threads:
        assert [told.rows for told in threads.map(work, pieces)] == alone


def test_a_cell_whose_plan_cannot_be_made_is_refused_and_says_why():
    tried = Experiment(class_spec="stumps:3,20", learner="a2", epsilon=0.1, pool_size=500, options={"max_labels": 0})
    told = work(Piece(cell="", experiment=tried, class_seed="s", seed="s", start=0, end=1))
    assert (told.refused or "").startswith("max_labels must be a whole number of at least 1, got 0")
