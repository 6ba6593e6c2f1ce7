"""``replical board`` and ``replical data import``."""

import json
import sys

import numpy as np
import pytest

from replical.core.exact import fraction

pytest.importorskip("pyarrow")


def write(path, table):
    import pyarrow as pa
    from pyarrow import csv, parquet

    (csv.write_csv if path.suffix == ".csv" else parquet.write_table)(pa.table(table), path)
    return str(path)


def made(rows=400, models=5):
    generator = np.random.default_rng(1)
    gold = generator.integers(4, size=rows)
    wrong = generator.random((rows, models)) < np.linspace(0.1, 0.5, models)
    said = {f"m{h}": np.where(wrong[:, h], (gold + 1) % 4, gold) for h in range(models)}
    return {"id": np.arange(rows)} | said | {"label": gold}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_board_of_labelled_outputs(tmp_path, command, suffix):
    table = write(tmp_path / f"table{suffix}", made())
    written = ["--html", str(tmp_path / "board.html"), "--picture", str(tmp_path / "board.svg")]
    code, out, err = command("board", table, *written, "--top", "2")
    assert code == 0, err
    assert "First: m0" in out
    assert ".. and 3 more" in out
    assert "may be the best" in out
    code, out, _ = command("board", table, "--json", "--tolerance", ".1", "--string", "a text")
    told = json.loads(out)
    assert (told["first"], told["items"], told["models"][0]["model"]) == ("m0", 400, "m0")
    assert told["choice"]["answer"] in {row["model"] for row in told["models"]}
    errors = [row["loss"] for row in told["models"]]
    assert errors == sorted(errors)
    assert sum(row["better_than_next"] for row in told["models"]) == told["neighbours_apart"]
    assert all(row["behind_low"] <= row["behind_high"] for row in told["models"])
    assert [(tmp_path / f"board.{kind}").read_text().count("<circle") for kind in ("html", "svg")] == [5, 5]


def test_a_board_of_scores(tmp_path, command):
    generator = np.random.default_rng(2)
    table = write(
        tmp_path / "grades.csv",
        {"id": np.arange(300), "a": generator.integers(3, 6, 300), "b": generator.integers(1, 4, 300)},
    )
    code, out, err = command("board", table, "--scores", "1:5", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["first"], told["proven"]) == ("a", True)
    assert fraction(told["models"][0]["loss"]) < fraction(0.4)
    assert json.loads(command("board", table, "--scores", "5:1", "--json")[1])["first"] == "b"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--labels", "gold"], "has no column 'gold'"),
        (["--scores", "0:1"], "table.parquet, row 2: 'm0' has the score 2"),
        (["--scores", "high"], "--scores says from where to where"),
        (["--tolerance", ".1"], "--tolerance and --string are given together"),
        (["--model", "m9"], "has no column 'm9'"),
        (["--model", "m1", "--model", "m1"], "two items and two models"),
        (["--level", "0"], "a level lies between 0 and 1"),
        (["--without", "m1", "--without", "m2", "--without", "m3", "--without", "m4"], "two items and two models"),
    ],
)
def test_what_a_board_refuses(tmp_path, command, words, told):
    code, _, err = command("board", write(tmp_path / "table.parquet", made()), *words)
    assert code == 2
    assert told in " ".join(err.split())


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("scores", [[], ["--scores", "0:9"]])
def test_cells_without_a_value_are_named(tmp_path, command, suffix, scores):
    table = made(4) | {"m2": [0, 1, None, 2]}
    code, _, err = command("board", write(tmp_path / f"table{suffix}", table), *scores)
    assert code == 2
    assert f"table{suffix}, row 3: 'm2' has no value" in " ".join(err.split())


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_scores_as_text_are_named(tmp_path, command, suffix):
    """Numbers written as text are numbers."""
    table = {"id": [1, 2, 3], "a": ["1", "0.5", "0"], "b": ["1", "good", "0"]}
    code, _, err = command("board", write(tmp_path / f"t{suffix}", table), "--scores", "0:1")
    assert code == 2
    assert f"t{suffix}, row 2: 'b' has 'good', which is no score" in " ".join(err.split())
    table["b"][1] = "1"
    code, out, _ = command("board", write(tmp_path / f"t{suffix}", table), "--scores", "0:1", "--json")
    assert (code, json.loads(out)["first"]) == (0, "b")


def test_logs_become_a_pool_that_init_reads(tmp_path, command):
    generator, folder = np.random.default_rng(3), tmp_path / "logs"
    for model in range(3):
        rows = [
            {
                "doc_id": item,
                "target": str(item % 4),
                "filtered_resps": [str((item + (generator.random() < 0.2)) % 4)],
                "metrics": [],
            }
            for item in range(60)
        ]
        (folder / f"org__m{model}").mkdir(parents=True)
        (folder / f"org__m{model}" / "samples_quiz.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pool = str(tmp_path / "pool.parquet")
    code, out, err = command("data", "import", str(folder), "--out", pool)
    assert code == 0, err
    assert "60 items, 3 models, with the right answers" in out
    assert f"Next: replical board {pool}" in out
    code, out, _ = command("init", "--pool", pool, "--seed", "a text", "--out", str(tmp_path / "p.toml"))
    assert code == 0
    assert "org/m1" in (tmp_path / "p.toml").read_text()
    one = f"mine={folder / 'org__m1' / 'samples_quiz.jsonl'}"
    code, out, _ = command("data", "import", one, "--out", str(tmp_path / "one.csv"), "--json")
    assert json.loads(out)["models"] == ["mine"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--what", "both"], "--what is outputs or scores"),
        (["--answers", "loud"], "--answers is plain, text or number"),
        (["--out", "pool.xlsx"], "ends in .parquet or .csv"),
        (["--what", "scores"], "the logs hold no scores"),
    ],
)
def test_what_an_import_refuses(tmp_path, command, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.jsonl").write_text('{"item": 1, "model": "m", "output": "x"}\n')
    code, _, err = command("data", "import", "log.jsonl", "--out", "pool.csv", *words)
    assert code == 2
    assert told in " ".join(err.split())
    (tmp_path / "empty").mkdir()
    (tmp_path / "none.jsonl").touch()
    assert "the logs hold no items" in command("data", "import", "none.jsonl", "--out", "pool.csv")[2]
    assert "holds no logs" in " ".join(command("data", "import", "empty", "--out", "pool.csv")[2].split())


def test_an_import_warns_where_scores_say_otherwise(tmp_path, command):
    """A right answer between words is no right answer, unless somebody says what is kept."""
    rows = [{"item": i, "model": "m", "output": "It is 4.", "gold": "4", "score": 1} for i in range(3)]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ("data", "import", str(tmp_path / "log.jsonl"), "--out", str(tmp_path / "t.csv"))
    _, _, err = command(*words)
    assert "Warning: of 3 outputs the log's own score says otherwise than the right answer, first in" in err
    assert "log.jsonl, line 1: --what scores takes the scores" in err
    assert "Warning" not in command(*words, "--answers", "number")[2]
    assert json.loads(command(*words, "--json")[1])["against_score"] == 3


READER = """
def read(path):
    for number, line in enumerate(path.read_text().split()):
        model, output = line.split("=")
        yield {{"item": number // 2, "model": model, "output": output, "gold": "x", {more}}}

broken = 1 / {divisor}
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package that has a reader of logs."""

    def install(more="", divisor=1):
        monkeypatch.delitem(sys.modules, "replical_logs", raising=False)
        (tmp_path / "replical_logs.py").write_text(READER.format(more=more, divisor=divisor))
        about = tmp_path / "replical_logs-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: replical-logs\nVersion: 1\n")
        (about / "entry_points.txt").write_text("[replical.readers]\nours = replical_logs:read\n")

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    return install


def test_a_reader_of_ones_own_is_an_entry_point(tmp_path, command, install):
    install()
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "one.log").write_text("m=x n=y m=x n=x")
    code, out, err = command("data", "import", str(folder), "--reader", "ours", "--out", str(tmp_path / "t.csv"))
    assert code == 0, err
    assert "2 items, 2 models, with the right answers" in out
    assert (tmp_path / "t.csv").read_text().splitlines()[1:] == ['"0","x","y","x"', '"1","x","x","x"']


@pytest.mark.parametrize(
    ("log", "more", "divisor", "told"),
    [
        ("m=x", "", 0, "the reader 'ours' cannot be loaded: ZeroDivisionError"),
        ("m=x n", "", 1, "one.log: the reader fails after entry 1: ValueError"),
        ("m=x n=y", "'score': 'good'", 1, "one.log, entry 1: the score 'good' is no number"),
        ("m=x n=y", "'task': model", 1, "one.log, entry 2: the logs are of two tasks, 'm' and 'n'"),
        ("m=x n=y m=x", "", 1, "n has no output for 1 of 2 items (1; the first is in {folder}/one.log, entry 3)"),
    ],
)
def test_what_is_wrong_with_a_reader_is_one_sentence(tmp_path, command, install, log, more, divisor, told):
    install(more, divisor)
    (tmp_path / "one.log").write_text(log)
    words = ("data", "import", str(tmp_path / "one.log"), "--out", str(tmp_path / "t.csv"))
    code, _, err = command(*words, "--reader", "ours")
    assert code == 2
    assert told.format(folder=tmp_path) in " ".join(err.split())
    assert "has the reader 'mine'" in command(*words, "--reader", "mine")[2]
