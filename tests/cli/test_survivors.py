"""``run --survivors`` writes who is left; ``verify`` and ``compare`` read it where a certificate tells a digest alone."""

import json

import pytest

from replical.core import ranges
from replical.lab.certificate import checks
from replical.lab.protocol import Protocol
from support import linear
from support.lab import ORDER, content, world, write_csv

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A protocol that ends early, and two labs; not even one range of survivors is named."""
    for module in (ranges, checks):
        monkeypatch.setattr(module, "MOST_RANGES", 0)
    monkeypatch.chdir(tmp_path)
    said = content("handicap", handicap=ORDER, max_labels=60, epsilon=0.1)
    (tmp_path / "p.toml").write_text(Protocol.of(said).toml())
    for name, best, worst in (("a", 0.02, 0.95), ("b", 0.95, 0.02)):  # of two populations, so that others survive
        write_csv(tmp_path / f"{name}.csv", world(seed=41, items=300, best=best, worst=worst))
    return tmp_path


def run(command, name, *more):
    words = ("--pool", f"{name}.csv", "--labels", f"{name}.csv:truth", "--journal", f"{name}.db", "--truths", 0)
    return command("run", "p.toml", *words, "--out", f"{name}.json", *more)


def test_from_a_run_to_a_comparison(folder, command):
    code, _, err = run(command, "a")
    assert code == 0
    assert (
        "a.json tells a digest of its survivors, who are too many to be named there: run the same command with" in err
    )
    code, out, err = run(command, "a", "--survivors", "a.left.json")
    assert code == 0
    assert "a.left.json (survivors)." in out
    assert "too many" not in err
    run(command, "b", "--survivors", "b.left.json")
    left = json.loads((folder / "a.left.json").read_text())
    assert left["schema"] == "replical.survivors/1"
    assert left["digest"] == json.loads((folder / "a.json").read_text())["body"]["survivors"]["digest"]

    code, out, _ = command("verify", "a.json", "-v")
    assert code == 0
    assert "?   the winner is first in the shared order: the file tells how many survive and their digest" in out
    assert "--survivors shows it" in out
    code, out, _ = command("verify", "a.json", "-v", "--survivors", "a.left.json")
    assert code == 0
    assert "--survivors shows it" not in out
    code, out, _ = command("compare", "a.json", "b.json", "--survivors", "a.left.json", "--survivors", "b.left.json")
    assert (code, "Different: nobody is left in all labs." in out) == (1, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("verify", "a.json", "--survivors", "b.left.json"), "b.left.json does not hold the survivors of this certificate"),
        (("verify", "a.json", "--survivors", "a.json"), "this version reads 'replical.survivors/1'"),
        (("verify", "a.json", "--survivors", "none.json"), "cannot read the file of survivors none.json"),
        (("compare", "a.json", "b.json", "--survivors", "a.left.json"), "certificate 2 does not name its"),
        (("compare", "a.json", "a.json", "--survivors", "a.left.json"), "come from one journal"),
        (("verify", "a.json", "--survivors", "a.left.json", "--html", "a.left.json"), "is also --survivors, and would replace"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(folder, command, words, message):
    run(command, "a", "--survivors", "a.left.json")
    run(command, "b", "--survivors", "b.left.json")
    code, out, err = command(*words)
    assert (code, out) == (2, "")
    assert message in err


def test_a_damaged_file_is_refused(folder, command):
    run(command, "a", "--survivors", "a.left.json")
    path = folder / "a.left.json"
    path.write_text(path.read_text().replace('"count": ', '"count": 1'))
    code, _, err = command("verify", "a.json", "--survivors", path)
    assert (code, "is damaged: its ranges do not ascend, or do not hold" in err) == (2, True)


def test_a_vote_shows_no_survivors(folder, command):
    code, _, err = run(command, "a", "--private", "--lab", "north", "--survivors", "a.left.json")
    assert (code, "--private shows nothing but the vote: leave it out" in err) == (2, True)
    assert not (folder / "a.left.json").exists()


def test_no_list_has_no_file(folder, command):
    (folder / "p.toml").write_text(Protocol.of(linear.content()).toml())
    code, _, err = run(command, "a", "--survivors", "a.left.json")
    assert (code, "the class linear is no list: leave it out" in err) == (2, True)
