"""``replical init`` with a table."""

import json
import re
import shlex
from pathlib import Path

import pytest

from replical.lab.protocol import Protocol
from support.lab import world

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Six models and the right answers, as a lab has them, in the present folder."""
    import pyarrow as pa
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)

    def write(name="mine.parquet", **changes):
        columns = world(items=60, seed=5, best=0.0, worst=1.0)
        columns |= {"label": columns.pop("truth")} | changes
        parquet.write_table(pa.table({key: column for key, column in columns.items() if column is not None}), name)
        return columns

    write()
    return write


def test_a_table_is_all_it_takes(table, command):
    code, out, err = command("init", "--pool", "mine.parquet")
    assert (code, err) == (0, "")
    protocol = Protocol.read(Path("protocol.toml"))
    assert [each["name"] for each in protocol.content["class"]["candidates"]] == [f"m{k}" for k in range(6)]
    assert protocol.content["labels"]["values"] == ["no", "yes"]
    assert protocol.content["learner"] == {"name": "handicap", "epsilon": 0.05, "delta": 0.05, "rho": 0.1}
    for said in (
        "60 items, 6 models, labels no, yes.",
        "Models: m0, m1, m2, m3, m4, m5.",
        "The column label holds the right answers",
    ):
        assert said in out
    for why in (
        "learner handicap",
        "epsilon 0.05",
        "delta 0.05",
        "rho 0.1",
        "labs 2",
        "handicaps random",
        "seed drawn now",
    ):
        assert f"  {why}" in out
    (run,) = (line.strip() for line in out.splitlines() if line.startswith("  replical run"))
    code, out, err = command(*shlex.split(run)[1:], "--truths", "0")
    assert (code, Path("mine.json").exists()) == (0, True), err


def test_the_commands_it_names_lead_to_the_end(table, command):
    """Whatever the table, its columns and its folder are called."""
    table("my table.parquet", id=None, key=[f"i{n}" for n in range(60)])
    names = [f"p{n}" for n in range(60)]
    table("public.parquet", id=names, key=names, text=names)
    words = ["--pool", "my table.parquet", "--id", "key", "--public", "public.parquet:label", "--json"]
    code, out, _ = command("init", *words)
    told = json.loads(out)
    assert (code, told["schema"], told["labels"]) == (0, "replical.init/1", ["no", "yes"])
    assert Protocol.read(Path("protocol.toml")).public is not None
    run, verify, compare = (shlex.split(step)[1:] for step in told["next"])
    code, _, err = command(*run, "--truths", "0")
    assert code == 0, err
    assert command(*verify)[0] == 0
    assert compare == ["compare", "my table.json", "OTHER-LAB.json"]


def test_without_right_answers_people_are_asked(table, command):
    table(label=None)
    assert "If one holds the right answers: --label-column COLUMN." in command("init", "--pool", "mine.parquet")[1]
    Path("protocol.toml").unlink()
    assert "--ask page" in json.loads(command("init", "--pool", "mine.parquet", "--json")[1])["next"][0]


def test_models_that_abstain_have_a_price(table, command):
    """The command that init suggests where no right answer is what some models say."""
    columns = table()
    said = ["unsure", *columns["m1"][1:]]
    table(m1=said)
    out = command("init", "--pool", "mine.parquet")[1]
    (new,) = re.findall(r"it can have a price: (replical .*)", out)
    code, out, err = command(*shlex.split(new)[1:], "--out", "priced.toml")
    assert code == 0, err
    labels = Protocol.read(Path("priced.toml")).content["labels"]
    assert labels == {"values": ["no", "yes"], "abstain": "unsure", "price": 0.1}
    code, _, err = command(*shlex.split(new)[1:], "--label-values", "yes,no", "--out", "other.toml")
    assert code == 0, err
    assert Protocol.read(Path("other.toml")).content["labels"]["values"] == ["yes", "no"]


@pytest.mark.parametrize(("word", "abstain"), [("unsure", "unsure"), ("9", 9)])
@pytest.mark.parametrize("more", [(), ("--label-values", "0,1")])
def test_labels_stay_numbers_beside_what_models_say_that_abstain(tmp_path, monkeypatch, command, word, abstain, more):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(f"id,m1,m2,label\n1,0,1,0\n2,{word},1,1\n3,1,0,1\n")
    code, _, err = command("init", "--pool", "mine.csv", "--abstain", word, "--price", ".1", *more)
    assert code == 0, err
    labels = Protocol.read(Path("protocol.toml")).content["labels"]
    assert labels == {"values": [0, 1], "abstain": abstain, "price": 0.1}


def test_flags_are_taken(table, command):
    words = ["--epsilon", ".1", "--rho", ".2", "--delta", ".01", "--set", "nu=0", "--labs", "3", "--seed", "drawn now",
             "--label-values", "yes,no", "--leave-out", "m3", "--title", "Mine", "--out", "other.toml"]  # fmt: skip
    code, _, err = command("init", "--pool", "mine.parquet", *words)
    assert code == 0, err
    protocol = Protocol.read(Path("other.toml"))
    learner = {"name": "handicap", "epsilon": 0.1, "delta": 0.01, "rho": 0.2, "nu": 0.0, "labs": 3}
    assert (protocol.content["learner"], protocol.content["seed"], protocol.title) == (learner, "drawn now", "Mine")
    assert protocol.content["labels"]["values"] == ["yes", "no"]
    assert len(protocol.recipe.C) == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pool", "nowhere.csv"], "there is no file nowhere.csv"),
        (["--pool", "mine.parquet", "--label-values", "a,b"], "is a model with the labels a, b; 'm0' says no, yes"),
        (["--pool", "mine.parquet", "--label-column", "truth"], "has no column 'truth'"),
        (["--pool", "mine.parquet", "--learner", "replical"], "replical needs theta"),
        (["--pool", "mine.parquet", "--public", "mine.parquet"], "mine.parquet names no column: give --public mine.parquet:label if it is labelled"),
        (["--pool", "mine.parquet", "--public", "mine.parquet:label"], "public items belong to no lab, and mine.parquet is your"),
        (["--pool", "mine.parquet", "--out", "mine.parquet", "--force"], "would replace it"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_nothing_is_written(table, command, tmp_path, words, message):
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    code, out, _ = command("init", *words, "--json")
    told = json.loads(out)["message"]
    assert code == 2
    assert message in told
    assert "\n" not in told
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_models_that_may_be_one_are_named(table, command):
    """By what they say in the public table where there is one, else in the lab's."""
    columns = table()
    table(m3=columns["m1"], m5=columns["m1"])
    same = "If that is one model, leave all but one out (--leave-out m5); if not, a run may end with both, and says so."
    out = command("init", "--pool", "mine.parquet")[1]
    assert f"The same on every item of mine.parquet: m1, m3, m5. {same}" in out
    assert json.loads(command("init", "--pool", "mine.parquet", "--json", "--force")[1])["alike"] == [
        ["m1", "m3", "m5"]
    ]
    apart = {"text": None, "id": [f"p{n}" for n in range(60)]}
    table("public.parquet", **apart)
    words = ("--pool", "mine.parquet", "--force", "--public", "public.parquet:label")
    assert "The same on every item" not in command("init", *words)[1]
    table("public.parquet", **apart, m4=columns["m0"])
    assert "The same on every item of public.parquet: m0, m4." in command("init", *words)[1]


def test_public_items_in_the_pool_under_other_ids_are_refused(table, command):
    """By what stands in the columns that both tables have, here the text; by init and by a run."""
    names = [f"p{n}" for n in range(60)]
    table("public.parquet", id=names)
    same = "60 of the rows of mine.parquet are in the public table public.parquet too, by text: the item 'i0000' is 'p0' there"
    public = ("--public", "public.parquet:label")
    code, _, err = command("init", "--pool", "mine.parquet", *public)
    assert (code, same in err, Path("protocol.toml").exists()) == (2, True, False), err
    table("other.parquet", text=names)
    told = json.loads(command("init", "--pool", "other.parquet", *public, "--json")[1])
    run = shlex.split(told["next"][0])[1:]
    assert command(*run, "--truths", "0")[0] == 0
    code, _, err = command(*[word.replace("other.", "mine.") for word in run])
    assert (code, same in err) == (2, True), err
