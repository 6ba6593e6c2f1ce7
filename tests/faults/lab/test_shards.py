"""Shards that were damaged, cut short, changed, lost or never finished; full disks; workers that are killed."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest

from replical import Protocol, Session, read_pool
from replical.classes.predictions import sharded
from replical.classes.predictions import sharded as files
from replical.classes.predictions.sharded import ShardedPredictions, ShardWriter
from replical.core.parallel import cluster, local
from replical.errors import BadTable, BadUsage, ReplicalError
from replical.lab import shards as writing
from replical.lab.certificate.file import certify
from replical.lab.journal.journal import Journal
from replical.lab.shards import write_shards
from support.lab import answered, begin, content, world
from support.shards import in_shards, slow_votes
from support.tables import write

pytest.importorskip("pyarrow")

PROTOCOL = Protocol.of(content("handicap", epsilon=0.3, batch=4))
AGAIN = "make the shards again with replical data shard"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table and its shards, of 100 items each."""
    folder = tmp_path_factory.mktemp("shards")
    table = write(world(), folder / "pool.parquet")
    write_shards([table], PROTOCOL.recipe, folder / "shards", size=800)
    return folder


@pytest.fixture
def shards(made, tmp_path):
    """A copy, to be damaged."""
    files._trusted.clear()
    return shutil.copytree(made / "shards", tmp_path / "shards")


@pytest.fixture
def far(monkeypatch):
    """However little there is to read, workers are asked."""
    monkeypatch.setattr(sharded, "_NEAR", 0)


def sentence(act):
    with pytest.raises(ReplicalError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def look(folder):
    """A pool, and a first look at all of it, as every run begins."""
    lab = read_pool(folder, PROTOCOL.recipe)
    return lab.items.predictions.disagreement(np.arange(6), np.arange(1000))


def test_a_damaged_shard_is_refused_by_name(shards):
    file = shards / "shard-000007.bits"
    content = bytearray(file.read_bytes())
    content[133] ^= 4  # one bit
    file.write_bytes(content)
    assert sentence(lambda: look(shards)) == (
        f"the shard {file} is damaged or was changed: its checksum is not the one that was written, so {AGAIN}"
    )


def test_a_shard_that_changes_between_two_looks_is_noticed(shards):
    lab = read_pool(shards, PROTOCOL.recipe)
    everyone, items = np.arange(6), np.arange(1000)
    lab.items.predictions.votes(everyone, items)
    file = shards / "shard-000002.bits"
    file.write_bytes(bytes(800))
    os.utime(file, (time.time() + 5, time.time() + 5))
    assert f"the shard {file} is damaged" in sentence(lambda: lab.items.predictions.votes(everyone, items))
    file.write_bytes(bytes(80))
    assert f"the shard {file} has 80 bytes" in sentence(lambda: lab.items.predictions.codes_of_item(200, everyone))
    file.unlink()
    assert f"cannot read the shard {file}: No such" in sentence(lambda: lab.items.predictions.votes(everyone, items))


def test_a_touched_shard_is_compared_again_and_used(shards):
    before = look(shards)
    os.utime(shards / "shard-000002.bits", (1, 1))
    assert (look(shards) == before).all()


@pytest.mark.parametrize("size", [0, 799, 801])
def test_a_shard_of_another_size_is_refused_before_anything_is_read(shards, size):
    file = shards / "shard-000003.bits"
    os.truncate(file, size)
    assert sentence(lambda: read_pool(shards, PROTOCOL.recipe)) == (
        f"the shard {file} has {size} bytes where 800 were written: {AGAIN}"
    )


def test_a_lost_shard_is_refused_by_name(shards):
    (shards / "shard-000009.bits").unlink()
    assert sentence(lambda: read_pool(shards, PROTOCOL.recipe)) == (
        f"the shard {shards / 'shard-000009.bits'} cannot be read (No such file or directory): {AGAIN}"
    )


def test_shards_that_change_places_are_refused(shards):
    (shards / "shard-000001.bits").rename(shards / "other")
    (shards / "shard-000002.bits").rename(shards / "shard-000001.bits")
    (shards / "other").rename(shards / "shard-000002.bits")
    assert f"the shard {shards / 'shard-000001.bits'} is damaged or was changed" in sentence(lambda: look(shards))


def test_changed_ids_and_contents_are_refused(shards):
    ids, contents = shards / "ids.json", shards / "contents.json"
    kept = ids.read_text()
    ids.write_text(kept.replace("i0001", "i9999"))
    assert sentence(lambda: read_pool(shards, PROTOCOL.recipe)) == f"the ids {ids} are damaged or were changed: {AGAIN}"
    ids.unlink()
    assert f"cannot read the ids {ids}" in sentence(lambda: read_pool(shards, PROTOCOL.recipe))
    ids.write_text(kept)
    told = json.loads(contents.read_text())
    for spoilt, why in (
        ("", f"{contents} is no table of contents of shards: {AGAIN}"),
        ("[]", f"{contents} is no table of contents of shards: {AGAIN}"),
        (json.dumps(told | {"schema": "replical.shards/9"}), "has the schema 'replical.shards/9'"),
        (json.dumps(told | {"body": told["body"] | {"items": 999}}), "its own checksum does not fit"),
        (json.dumps(told | {"body": 1}), "its own checksum does not fit"),
    ):
        contents.write_text(spoilt)
        assert why in sentence(lambda: read_pool(shards, PROTOCOL.recipe))


def test_an_unfinished_folder_is_refused_by_name(shards, tmp_path):
    (shards / "contents.json").unlink()
    assert sentence(lambda: read_pool(shards, PROTOCOL.recipe)) == (
        f"the shards in {shards} are unfinished, there is no contents.json: remove the folder and {AGAIN}"
    )
    (tmp_path / "empty").mkdir()
    assert "is a folder without shards" in sentence(lambda: read_pool(tmp_path / "empty", PROTOCOL.recipe))


def test_shards_of_other_candidates_are_refused(shards):
    other = Protocol.of(content("handicap", candidates=5))
    assert "were made for other candidates or labels" in sentence(lambda: read_pool(shards, other.recipe))


@pytest.mark.parametrize("when", ["first", "later", "sealing"])
def test_a_full_disk_leaves_nothing(made, tmp_path, monkeypatch, when):
    """Whether the folder was there or not, and however far it was."""
    calls = []

    def full(*these):
        calls.append(1)
        if when != "later" or len(calls) > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return into(*these)

    into = ShardWriter._into
    if when == "sealing":
        monkeypatch.setattr(files, "seal", full)
    else:
        monkeypatch.setattr(ShardWriter, "_into", full)
    for out, there in ((tmp_path / "new", False), (tmp_path / "old", True)):
        calls.clear()
        if there:
            out.mkdir()
        with pytest.raises(BadUsage) as caught:
            write_shards([made / "pool.parquet"], PROTOCOL.recipe, out, size=800)
        assert str(caught.value) == (
            f"cannot write the shards in {out}: No space left on device; nothing of them is left there"
        )
        assert (list(out.iterdir()) if there else not out.exists()) == ([] if there else True)


def test_too_little_room_is_told_before_anything_is_read(made, tmp_path, monkeypatch):
    monkeypatch.setattr(writing.shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10, 3, 7))
    monkeypatch.setattr(writing._ShardWriter, "_read", None)
    with pytest.raises(BadUsage, match=r"the shards need 8\.0 kB and .* has room for 7 bytes: give --out a folder on"):
        write_shards([made / "pool.parquet"], PROTOCOL.recipe, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_what_cannot_be_sharded_is_one_sentence(made, tmp_path):
    table, used = made / "pool.parquet", made / "shards"
    dose = {"kind": "thresholds", "features": ["dose"], "cuts": [[1.0, 2.0]]}
    features = Protocol.of(content("handicap") | {"class": dose})
    other = write(world(items=3), tmp_path / "other.csv")
    empty = write({key: [] for key in world()}, tmp_path / "empty.parquet")
    wrong = write(world(items=3) | {"m3": ["no", "perhaps", "no"]}, tmp_path / "wrong.parquet")
    for tables, recipe, out, why in (
        ([table], features.recipe, "x", "this protocol's class looks at features"),
        ([table], PROTOCOL.recipe, used, f"{used} is not empty: give --out a new folder"),
        ([table], PROTOCOL.recipe, table, f"cannot make the folder {table}"),
        ([table, other], PROTOCOL.recipe, "x", f"{table} and {other} both have the item 'i0000'"),
        ([empty], PROTOCOL.recipe, "x", f"{empty} holds no items"),
        ([wrong], PROTOCOL.recipe, "x", f"{wrong}, item 'i0001': a prediction of 'm3' is 'perhaps'"),
        ([tmp_path / "none.csv"], PROTOCOL.recipe, "x", "there is no file"),
    ):
        assert why in sentence(lambda: write_shards(tables, recipe, tmp_path / out))  # noqa: B023
        assert not (tmp_path / "x").exists()


def test_a_table_that_changes_between_ids_and_predictions_is_refused(made, tmp_path, monkeypatch):
    table = write(world(items=30), tmp_path / "pool.csv")
    read = writing._ShardWriter._check_room

    def change(*these):
        write(world(items=30) | {"id": [f"j{number}" for number in range(30)]}, table)
        read(*these)

    monkeypatch.setattr(writing._ShardWriter, "_check_room", change)
    assert sentence(lambda: write_shards([table], PROTOCOL.recipe, tmp_path / "out")).startswith(
        f"{table} was changed while it was read"
    )


@pytest.mark.slow
def test_a_killed_sharding_is_never_used(made, tmp_path):
    code = (
        "import sys, os, signal; from pathlib import Path; from replical import Protocol\n"
        "from replical.lab.shards import write_shards; from replical.classes.predictions.sharded import ShardWriter\n"
        "from support.lab import content\n"
        "ShardWriter.seal = lambda self: os.kill(os.getpid(), signal.SIGKILL)\n"
        "recipe = Protocol.of(content('handicap', epsilon=0.3, batch=4)).recipe\n"
        f"write_shards([Path({str(made / 'pool.parquet')!r})], recipe, Path({str(tmp_path / 'out')!r}))"
    )
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | path, check=False, timeout=100)
    assert done.returncode == -signal.SIGKILL
    assert list((tmp_path / "out").iterdir())
    assert "are unfinished" in sentence(lambda: read_pool(tmp_path / "out", PROTOCOL.recipe))


def body(source, folder, workers=None):
    """What the certificate of a whole run says; the private seed is always the same."""
    lab = read_pool(source, PROTOCOL.recipe).on(workers)
    folder.mkdir()
    with Journal(folder / "lab.db") as journal:
        begin(journal, PROTOCOL, lab, "lab")
        return certify(answered(Session(PROTOCOL, lab, journal), world()))["body"]


@pytest.mark.usefixtures("far")
@pytest.mark.parametrize(
    "who", ["here", *(pytest.param(each, marks=pytest.mark.slow) for each in ("processes", "dask"))]
)
def test_the_certificate_is_that_of_the_table(made, tmp_path, who):
    with {"here": nullcontext, "processes": lambda: local(2), "dask": lambda: cluster("local:2")}[who]() as workers:
        found = body(made / "shards", tmp_path / "shards", workers)
    assert found == body(made / "pool.parquet", tmp_path / "table")


def test_a_compacted_copy_that_cannot_be_written_is_done_without(tmp_path, monkeypatch, caplog):
    codes = np.random.default_rng(1).integers(2, size=(60, 900))
    shards = ShardedPredictions(in_shards(codes, 2, tmp_path, (20, 50), held=0))
    monkeypatch.setattr(sharded, "_MOVED", 0)
    monkeypatch.setattr(sharded, "seal", lambda shard: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space")))
    before = sorted(tmp_path.iterdir())
    assert shards.pays(5, 60)
    assert shards.part(np.arange(5), np.arange(60)) is None
    assert "no compacted copy" in caplog.text
    assert not shards.pays(5, 60)
    assert sorted(tmp_path.iterdir()) == before


def kill_one(folder):
    """End whoever is first seen at work."""
    while not os.listdir(folder):
        time.sleep(0.01)
    os.kill(int(min(os.listdir(folder)).split("-")[1]), signal.SIGKILL)


@pytest.mark.usefixtures("far")
@pytest.mark.slow
@pytest.mark.parametrize("who", ["processes", "dask"])
def test_a_killed_worker_s_shards_are_read_again(who, tmp_path):
    """Two workers, one of them killed in the middle: the votes are those of the whole table."""
    if who == "dask":
        pytest.importorskip("distributed")
    codes = np.random.default_rng(1).integers(3, size=(80, 70))
    (tmp_path / "bits").mkdir()
    (tmp_path / "seen").mkdir()
    with cluster("local:2") if who == "dask" else local(2) as workers:
        shards = ShardedPredictions(in_shards(codes, 3, tmp_path / "bits", range(10, 80, 10), workers=workers))
        killer = threading.Thread(target=kill_one, args=(tmp_path / "seen",))
        killer.start()
        votes = np.zeros((80, 3), dtype=np.int64)
        for part, here in shards._map(slow_votes, np.arange(80), np.arange(70), lambda part: str(tmp_path / "seen")):
            votes[part.places] = here
        killer.join()
        assert votes.tolist() == [[(row == label).sum() for label in range(3)] for row in codes]
        assert votes.tolist() == shards.votes(np.arange(70), np.arange(80)).tolist()
    assert len(os.listdir(tmp_path / "seen")) > 8  # a shard was read twice


@pytest.mark.usefixtures("far")
@pytest.mark.slow
def test_a_whole_run_survives_a_killed_worker(made, tmp_path):
    """One of two Dask workers is killed again and again while the run goes on: the same certificate."""
    pytest.importorskip("distributed")
    killed = []
    with cluster("local:2") as workers:
        client, over = workers._client, threading.Event()

        def kill():
            while not over.wait(0.5) and len(killed) < 3:
                running = set(client.run(os.getpid, on_error="ignore").values()) - set(killed)
                if len(running) == 2:
                    killed.append(min(running))
                    os.kill(killed[-1], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        found = body(made / "shards", tmp_path / "shards", workers)
        over.set()
        killer.join()
    assert killed
    assert found == body(made / "pool.parquet", tmp_path / "table")


@pytest.mark.usefixtures("far")
@pytest.mark.slow
def test_a_shard_that_a_worker_finds_damaged_is_named(shards):
    pytest.importorskip("distributed")
    (shards / "shard-000004.bits").write_bytes(bytes(800))
    lab = read_pool(shards, PROTOCOL.recipe)
    with cluster("local:2") as workers, pytest.raises(BadTable, match="shard-000004.bits is damaged or was changed"):
        lab.on(workers).items.predictions.votes(np.arange(6), np.arange(1000))
