"""Studies over a table: it counts by what is in it, wherever it lies and whoever reads it."""

import hashlib
import json
import random

import pyarrow.parquet as pq
import pytest

from replical.classes.catalogue import read_table
from replical.cli import main
from replical.core.parallel import cluster, local
from replical.errors import BadStudy, BadTable
from replical.study.scheduler import Sweep
from replical.study.spec import Study
from replical.study.store import Store, _prepare

TEXT = """
schema = "replical.study/1"
name = "own"
seed = "own 1"
stop = {{ pairs = {pairs} }}
[[grid]]
class = {classes}
learner = ["cal", "handicap"]
epsilon = 0.2
pool_size = 60
"""


def predictions(seed):
    """Forty items, six candidates."""
    chance = random.Random(seed)
    rows = [",".join(chance.choice(("no", "yes")) for _ in range(6)) for _ in range(40)]
    return "\n".join(["a,b,c,d,e,f", *rows]) + "\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with a study over the table beside it; the current folder is another one."""
    monkeypatch.setattr("replical.study.run.draw", lambda *_, **__: [])
    monkeypatch.setattr("replical.study.run.report", lambda *_, **__: "<!doctype html>")
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "preds.csv").write_text(predictions(1), encoding="utf-8")
    write(folder)
    monkeypatch.chdir(tmp_path)
    return folder


def write(folder, *, pairs=20, classes=("table:preds.csv",)):
    (folder / "study.toml").write_text(TEXT.format(pairs=pairs, classes=json.dumps(classes)), encoding="utf-8")


def ran(folder, out, *words):
    _prepare.cache_clear()  # as in a process of its own
    assert (
        main(
            ["paper", "study", str(folder / "study.toml"), "--out", str(out), "--json", *(words or ("--workers", "1"))]
        )
        == 0
    )
    return (out / "results.parquet").read_bytes()


def ids(folder):
    return [cell.id for cell in Study.read(folder / "study.toml").cells()]


@pytest.mark.slow
def test_a_table_is_looked_for_beside_the_study(home, tmp_path, monkeypatch):
    (tmp_path / "preds.csv").write_text(predictions(2), encoding="utf-8")  # of the same name, where the command runs
    found = {ran(home, tmp_path / "one"), ran(home, tmp_path / "two", "--workers", "2")}
    monkeypatch.chdir(home)
    found.add(ran(home.relative_to(home), tmp_path / "three"))
    assert len(found) == 1
    rows = pq.read_table(tmp_path / "one" / "results.parquet").to_pylist()
    assert {row["class"] for row in rows} == {"table:preds.csv"}  # as it was written, for people
    assert str(tmp_path) not in str(rows)


@pytest.mark.slow
def test_workers_in_other_folders_find_it(home, tmp_path):
    pytest.importorskip("distributed")
    assert ran(home, tmp_path / "dask", "--cluster", "local:2") == ran(home, tmp_path / "here")


def test_a_changed_table_makes_other_cells(home, tmp_path):
    out = tmp_path / "out"
    old, before = ran(home, out), ids(home)
    (home / "preds.csv").write_text(predictions(2), encoding="utf-8")
    assert not set(ids(home)) & set(before)
    write(home, pairs=30)
    assert ran(home, out) == ran(home, tmp_path / "fresh")  # no pair of the old table in it
    (home / "preds.csv").write_text(predictions(1), encoding="utf-8")
    write(home)
    assert ran(home, out) == old


def test_an_id_is_the_hash_of_what_is_in_the_table(home):
    (cell, _) = Study.read(home / "study.toml").cells()
    digest = hashlib.sha256((home / "preds.csv").read_bytes()).hexdigest()
    text = (
        f'{{"class":"table:sha256:{digest}","delta":0.05,"epsilon":0.2,"learner":"cal","noise":0,"plan":"tight",'
        '"pool_size":60}'
    )
    assert cell.id == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_neither_the_name_of_a_table_nor_its_folder_counts(home, tmp_path):
    before, out = ids(home), tmp_path / "out"
    ran(home, out)
    cells = {path.name: path.read_bytes() for path in out.glob("cells/*")}
    moved = home.rename(tmp_path / "moved")
    assert ids(moved) == before
    (moved / "preds.csv").rename(tmp_path / "other.csv")
    for spec in ("table:../other.csv", f"table:{tmp_path / 'other.csv'}"):
        write(moved, classes=[spec])
        assert ids(moved) == before
        ran(moved, out)
        assert {path.name: path.read_bytes() for path in out.glob("cells/*")} == cells  # nothing was run again
    write(moved, classes=["table:../other.csv", f"table:{tmp_path / 'other.csv'}"])
    assert ids(moved) == before  # one table, one cell


@pytest.mark.parametrize("change", ["another", "none"])
@pytest.mark.parametrize("workers", ["here", "processes", "dask"])
def test_who_has_another_table_or_none_says_so_and_what_is_there_is_kept(change, workers, home, tmp_path):
    folder = tmp_path / "out"
    with local(1) as busy:
        Sweep(Study.read(home / "study.toml").cells(), Store(folder), busy).run()
    before = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    write(home, pairs=25)
    cells = Study.read(home / "study.toml").cells()
    path = home / "preds.csv"
    path.unlink()
    if change == "another":
        path.write_text(predictions(2), encoding="utf-8")
    if workers == "dask":
        pytest.importorskip("distributed")
    started = {"here": lambda: local(1), "processes": lambda: local(2), "dask": lambda: cluster("local:1")}
    _prepare.cache_clear()
    with started[workers]() as busy, pytest.raises(BadStudy) as caught:
        Sweep(cells, Store(folder), busy).run()
    beginning = {"another": f"the table {path} has another content: ", "none": f"cannot read the table {path}: "}
    assert str(caught.value).startswith(beginning[change])
    assert "put the study's own file there" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert {path: path.read_bytes() for path in folder.rglob("*.parquet")} == before


def test_a_bad_table_is_named_where_it_was_looked_for(home, tmp_path, capsys):
    for name, content, message in (
        ("nowhere.csv", None, "cannot read the table home/nowhere.csv: No such file"),
        ("same.csv", "a,b\nyes,yes\n", "home/same.csv holds a single label"),
        ("bytes.csv", "a,b\n\udcff,yes\n", "cannot read the table home/bytes.csv"),
    ):
        if content is not None:
            (home / name).write_bytes(content.encode("utf-8", "surrogateescape"))
        write(home, classes=[f"table:{name}"])
        assert main(["paper", "study", "home/study.toml", "--out", str(tmp_path / "out"), "--json"]) == 2
        assert message in json.loads(capsys.readouterr().out)["message"]
    assert not (tmp_path / "out").exists()


def test_a_table_is_read_only_if_it_is_the_one_that_was_meant(home):
    digest = "sha256:" + hashlib.sha256((home / "preds.csv").read_bytes()).hexdigest()
    assert len(read_table(home / "preds.csv", digest=digest)[0]) == 6
    with pytest.raises(BadTable, match="has another content"):
        read_table(home / "preds.csv", digest="sha256:" + "0" * 64)
