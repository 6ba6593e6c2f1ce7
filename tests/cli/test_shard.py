"""Tables beyond memory, by the commands: shards are a pool like the table, to the bit."""

import json
import shutil

import pytest

from replical import Protocol
from support.commands import answered
from support.lab import content, world
from support.tables import write

pytest.importorskip("pyarrow")


@pytest.fixture
def lab(tmp_path):
    """A protocol, a table in two parts, its labels, and the shards."""
    protocol, columns = tmp_path / "p.toml", world()
    protocol.write_text(Protocol.of(content(epsilon=0.3, batch=4)).toml(), encoding="utf-8")
    for name, rows in (("whole", slice(None)), ("one", slice(600)), ("two", slice(600, None))):
        write({column: values[rows] for column, values in columns.items()}, tmp_path / f"{name}.parquet")
    return tmp_path


def test_shards_are_a_pool_like_the_table(lab, command):
    parts = ["--pool", lab / "two.parquet", "--pool", lab / "one.parquet"]
    made = answered(command, "data", "shard", lab / "p.toml", *parts, "--out", lab / "shards")
    assert (made["items"], made["candidates"], made["shards"], made["bytes"]) == (1000, 6, 1, 8000)
    files = ["--journal", lab / "a.db", "--out", lab / "a.json", "--labels", f"{lab / 'whole.parquet'}:truth"]
    ran = answered(command, "run", lab / "p.toml", "--pool", lab / "shards", *files)
    assert ran["pool"] == {"items": 1000, "fingerprint": made["fingerprint"]}
    for pool in ("shards", "whole.parquet"):
        words = ["verify", lab / "a.json", "--pool", lab / pool, "--journal", lab / "a.db"]
        assert answered(command, *words)["valid"]
    told = json.loads((lab / "shards" / "contents.json").read_text())
    assert told["schema"] == "replical.shards/1"
    assert told["body"]["fingerprint"] == made["fingerprint"]


def test_verify_does_not_believe_a_table_of_contents(lab, command):
    """A forged one, whole in itself, that claims the fingerprint of another pool."""
    from replical.core.canonical import fingerprint

    answered(command, "data", "shard", lab / "p.toml", "--pool", lab / "one.parquet", "--out", lab / "shards")
    files = ["--journal", lab / "a.db", "--out", lab / "a.json", "--labels", f"{lab / 'whole.parquet'}:truth"]
    ran = answered(command, "run", lab / "p.toml", "--pool", lab / "one.parquet", *files)
    shutil.rmtree(lab / "shards")
    columns = world(seed=2)
    write({column: values[:600] for column, values in columns.items()}, lab / "other.parquet")
    answered(command, "data", "shard", lab / "p.toml", "--pool", lab / "other.parquet", "--out", lab / "shards")
    contents = lab / "shards" / "contents.json"
    told = json.loads(contents.read_text())
    told["body"]["fingerprint"] = ran["pool"]["fingerprint"]
    contents.write_text(json.dumps(told | {"digest": fingerprint(told["body"])}))
    code, out, _ = command("verify", lab / "a.json", "--pool", lab / "shards", "--json")
    assert code == 1
    assert any("pool" in check["name"] and not check["ok"] for check in json.loads(out)["checks"])


def test_what_does_not_go_with_shards_is_one_sentence(lab, command):
    answered(command, "data", "shard", lab / "p.toml", "--pool", lab / "whole.parquet", "--out", lab / "shards")
    run = ["run", lab / "p.toml", "--journal", lab / "a.db", "--out", lab / "a.json", "--ask", "file", "--json"]
    for words, why in (
        (["--pool", lab / "shards", "--show", "text"], "those have predictions alone: leave out --show text"),
        (["--pool", lab / "whole.parquet", "--cluster", "local:2"], "make shards of it with replical data shard"),
        (["--pool", lab / "shards", "--cluster", "local:2", "--device", "cpu"], "leave one of them out"),
        (["--pool", lab / "shards", "--cluster", "local:0"], "--cluster local:N starts N worker processes"),
        (["--pool", lab / "shards", "--cluster", "127.0.0.1:1"], "no Dask scheduler answers at '127.0.0.1:1'"),
    ):
        code, out, _ = command(*run, *words)
        assert (code, why in json.loads(out)["message"]) == (2, True), out
        assert not (lab / "a.db").exists()
    code, out, _ = command(
        "data", "shard", lab / "p.toml", "--pool", lab / "whole.parquet", "--out", lab / "shards", "--json"
    )
    assert (code, "is not empty" in json.loads(out)["message"]) == (2, True)


@pytest.mark.slow
def test_a_run_on_a_cluster(lab, command, monkeypatch):
    from replical.classes.predictions import sharded

    pytest.importorskip("distributed")
    monkeypatch.setattr(sharded, "_NEAR", 0)
    answered(command, "data", "shard", lab / "p.toml", "--pool", lab / "whole.parquet", "--out", lab / "shards")
    files = ["--journal", lab / "a.db", "--out", lab / "a.json", "--labels", f"{lab / 'whole.parquet'}:truth"]
    answered(command, "run", lab / "p.toml", "--pool", lab / "shards", *files, "--cluster", "local:2")
    words = ["verify", lab / "a.json", "--pool", lab / "whole.parquet", "--journal", lab / "a.db"]
    assert answered(command, *words)["valid"]
