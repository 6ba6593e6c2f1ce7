"""``replical data order`` and ``init --prefer``: from a public table without labels to a certificate that is verified."""

import json
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from replical.cli import main
from support.annotators import Annotator
from support.lab import world, write_csv

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A public table with labels and one without, and a lab's table, in the present folder."""
    monkeypatch.chdir(tmp_path)
    public = world(items=300, seed=3, best=0.05, worst=0.4)
    public = {"id": [f"p{number}" for number in range(300)], **{key: public[key] for key in ("truth", *MODELS)}}
    write_csv("public.csv", public)
    write_csv("plain.csv", {key: column for key, column in public.items() if key != "truth"})
    write_csv("a.csv", world(items=800, seed=4, best=0.05, worst=0.4))
    return public


MODELS = tuple(f"m{h}" for h in range(6))
INIT = ("init", "--pool", "a.csv", "--seed", "s", "--epsilon", ".3", "--out", "p.toml")


def test_a_hundred_are_asked_and_everything_is_computed_again(folder, command):
    code, out, _ = command("data", "order", "public.csv", "--labels", "truth", "--out", "o.json")
    assert code == 0
    assert "of 300 public items" in out
    assert "Next: replical init --pool YOUR-TABLE --public public.csv --prefer o.json" in out
    order = json.loads(Path("o.json").read_text())
    assert sorted(order["order"]) == sorted(MODELS)
    assert 0 < len(order["asked"]) <= 100
    truth = dict(zip(folder["id"], folder["truth"], strict=True))
    assert order["answers"] == [truth[item] for item in order["asked"]]
    assert command(*INIT, "--public", "plain.csv", "--prefer", "o.json")[0] == 0  # the labels are in the order
    said = tomllib.loads(Path("p.toml").read_text())["handicap"]
    assert (said["made"], said["asked"], said["answers"]) == ("active", order["asked"], order["answers"])
    assert [MODELS[h] for h in said["order"]] == order["order"]
    run = ("run", "p.toml", "--pool", "a.csv", "--labels", "a.csv:truth", "--journal", "a.db", "--out", "a.json")
    assert command(*run, "--public", "plain.csv")[0] == 0
    assert command("verify", "a.json", "--public", "plain.csv")[0] == 0
    code, out, _ = command("verify", "a.json", "--public", "a.csv")
    assert code == 1
    assert "is not the public table of the protocol" in out


def test_a_forged_transcript_is_noticed_by_whoever_has_the_table(folder, command):
    command("data", "order", "public.csv", "--labels", "truth", "--out", "o.json")
    command(*INIT, "--public", "public.csv", "--prefer", "o.json")
    text = Path("p.toml").read_text()
    line = next(line for line in text.splitlines() if line.startswith("answers = "))
    turned = line.replace('"yes"', '"x"').replace('"no"', '"yes"').replace('"x"', '"no"')
    Path("p.toml").write_text(text.replace(line, turned))
    run = ("run", "p.toml", "--pool", "a.csv", "--labels", "a.csv:truth", "--journal", "a.db", "--out", "a.json")
    code, _, err = command(*run, "--public", "public.csv")
    assert code == 2
    assert "the protocol's order is not " in err
    assert command(*run)[0] == 0  # without the table nobody can tell
    assert command("verify", "a.json", "--public", "public.csv")[0] == 1


@pytest.mark.parametrize("row", ["asked", "not asked"])
def test_a_pool_with_an_item_that_was_looked_at_is_refused(folder, command, row):
    """Whether it was asked or not: that is the trap."""
    command("data", "order", "public.csv", "--labels", "truth", "--out", "o.json")
    assert command(*INIT, "--public", "public.csv", "--prefer", "o.json")[0] == 0
    asked = json.loads(Path("o.json").read_text())["asked"]
    item = asked[0] if row == "asked" else next(each for each in folder["id"] if each not in asked)
    columns = world(items=800, seed=4, best=0.05, worst=0.4)
    write_csv("b.csv", columns | {"id": [item, *columns["id"][1:]]})
    code, _, err = command(*INIT, "--pool", "b.csv", "--force", "--public", "public.csv", "--prefer", "o.json")
    assert (code, f"e.g. {item!r}: every row of that table was looked at" in err) == (2, True)
    run = ("run", "p.toml", "--pool", "b.csv", "--labels", "b.csv:truth", "--journal", "b.db", "--out", "b.json")
    code, _, err = command(*run, "--public", "public.csv")
    told = "which was asked for the protocol's order" if row == "asked" else "is in the public table public.csv"
    assert (code, told in err, repr(item) in err) == (2, True, True)
    code, _, err = command(*run)
    if row == "asked":  # the protocol lists those, so no table is needed
        assert (code, f"the pool has the item {item!r}, which was asked for the protocol's order" in err) == (2, True)
        return
    assert (code, "nobody has looked: give --public TABLE" in err) == (0, True)
    assert command("verify", "b.json", "--pool", "b.csv")[0] == 0
    code, out, _ = command("verify", "b.json", "--pool", "b.csv", "--public", "public.csv")
    assert (code, "no item of the pool is in the public table: 1 of 800 items" in out) == (1, True)


def test_a_person_at_the_terminal_skips_leaves_and_goes_on(folder, command, typed):
    words = ("data", "order", "plain.csv", "--ask", "terminal", "--journal", "o.db", "--show", "id", "--out", "o.json")
    typed(["yes", "?", "no", "q"])
    code, out, err = command(*words)
    assert (code, "1 label is pending" in out, Path("o.json").exists()) == (3, True, False)
    assert "Item 3: " in err
    typed(["yes"] * 150)
    code, out, _ = command(*words)
    assert (code, "and 1 skipped" in out) == (0, True)
    order = json.loads(Path("o.json").read_text())
    assert order["answers"][:3] == ["yes", "?", "no"]
    assert set(order["answers"][3:]) == {"yes"}
    assert command(*INIT, "--public", "plain.csv", "--prefer", "o.json")[0] == 0
    code, _, err = command("data", "order", "public.csv", "--labels", "truth", "--out", "o.json")
    assert (code, "o.json exists" in err) == (2, True)


def test_people_at_a_page_make_the_order_that_the_column_makes(folder, command, monkeypatch):
    pytest.importorskip("starlette")
    command("data", "order", "public.csv", "--labels", "truth", "--out", "column.json")
    truth, links = dict(zip(folder["id"], folder["truth"], strict=True)), []
    monkeypatch.setattr("replical.lab.page.serve._GRACE", 0.1)
    monkeypatch.setattr("replical.cli.page.notes.say", links.append)
    asked = ("--ask", "page", "--page", "port=0", "--journal", "o.db", "--out", "page.json")
    with ThreadPoolExecutor(1) as pool:
        served = pool.submit(main, ["data", "order", "plain.csv", *asked])
        while not links:
            assert not served.done(), served.result()
            time.sleep(0.02)
        ann = Annotator(links[0].removeprefix("Label at "), "ann")
        while (item := ann.next()) is not None:
            assert ann.answer(item, truth[item])[0] == 200
        ann.close()
        assert served.result(60) == 0
    assert Path("page.json").read_bytes() == Path("column.json").read_bytes()


@pytest.fixture
def typed(monkeypatch):
    """What a person types, line by line."""
    import io
    import sys

    return lambda lines: monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_without_labels_by_the_vote_or_by_numbers(folder, command):
    assert command("data", "order", "plain.csv", "--by", "vote", "--out", "v.json")[0] == 0
    assert command(*INIT, "--public", "plain.csv", "--prefer", "v.json")[0] == 0
    assert tomllib.loads(Path("p.toml").read_text())["handicap"]["made"] == "vote"
    Path("s.csv").write_text("candidate,price,size\n" + "".join(f"m{h},{h // 2},{-h}\n" for h in range(6)))
    assert command("data", "order", "plain.csv", "--by", "s.csv:price,size", "--out", "n.json")[0] == 0
    assert command(*INIT, "--force", "--prefer", "n.json")[0] == 0
    said = tomllib.loads(Path("p.toml").read_text())["handicap"]
    assert said == {"from": "order", "order": [1, 0, 3, 2, 5, 4]}
    code, out, _ = command(
        "data", "order", "plain.csv", "--by", "s.csv:size", "--descending", "--out", "d.json", "--json"
    )
    told = json.loads(out)
    assert (code, told["order"], told["made"]) == (0, list(MODELS), "s.csv:size, the largest first")


def write_numbers(text):
    Path("s.csv").write_text(text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give --labels COLUMN, --ask terminal|page, or --by vote|FILE:COLUMN, and one of them alone"),
        (("--labels", "truth", "--by", "vote"), "and one of them alone"),
        (("--ask", "file"), "--ask is terminal or page, got 'file'"),
        (("--ask", "page"), "--ask keeps every label in a journal: give --journal FILE too"),
        (("--by", "vote", "--journal", "o.db"), "a journal is for labels that people give"),
        (("--by", "vote", "--descending"), "--descending is about --by FILE:COLUMN"),
        (("--by", "s.csv"), "--by names a file and a column, FILE:COLUMN, got 's.csv'"),
        (("--by", "s.csv:cost"), "s.csv needs a column 'cost', it has candidate, price"),
        (("--by", "twice.csv:price"), "twice.csv, line 8: 'm0' stands in it twice: leave one row out"),
        (("--by", "word.csv:price"), "word.csv, line 4: the price 'dear' is no number: every candidate needs one"),
        (("--labels", "gold"), "has no column 'gold'"),
        (("--labels", "m0", "--candidates", "few.txt"), "'m0' is a model, not the labels of public.csv"),
        (("--labels", "some"), "which is asked: label it, or have people asked, who may skip it (--ask page)"),
        (("--by", "vote", "--leave-out", "m7"), "has no column 'm7'"),
    ],
)
def test_what_cannot_be_an_order_is_one_sentence(folder, command, words, message):
    write_numbers("candidate,price\n" + "".join(f"m{h},{h // 2}\n" for h in range(6)))
    if "some" in words:
        some = [label if number % 3 else "" for number, label in enumerate(folder["truth"])]
        write_csv("public.csv", folder | {"some": some})
    Path("few.txt").write_text("m0\nm1\n")
    rows = [f"m{h},{h}" for h in range(6)]
    wrong = {"word": [*rows[:2], "m2,dear", *rows[3:]], "twice": [*rows, "m0,7"]}
    for name, lines in wrong.items():
        Path(f"{name}.csv").write_text("\n".join(["candidate,price", *lines]))
    code, _, err = command("data", "order", "public.csv", "--out", "o.json", *words)
    assert code == 2
    assert message in err
    assert not Path("o.json").exists()


def test_an_order_without_a_label_says_so(folder, command):
    write_csv("same.csv", folder | dict.fromkeys(MODELS, folder["truth"]))
    code, out, _ = command("data", "order", "same.csv", "--labels", "truth", "--out", "o.json")
    assert (code, "Nothing was learned of the models: the order is by the vote, then by name." in out) == (0, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--prefer", "o.json"), "o.json was made from a public table: give it too, --public TABLE"),
        (("--prefer", "o.json", "--public", "public.csv:truth"), "--public names the table alone"),
        (("--prefer", "o.json", "--public", "a.csv"), "and a.csv is your table"),
        (("--prefer", "o.json", "--public", "narrow.csv"), "narrow.csv has no column 'm5'"),
        (("--prefer", "o.json", "--handicap", "zero"), "give it, or --handicap"),
        (("--prefer", "n.json", "--public", "public.csv"), "was made by s.csv:price, without a public table"),
        (("--prefer", "o.json", "--leave-out", "m5", "--public", "public.csv"), "orders 'm5', which is none of the"),
        (("--prefer", "none.json"), "none.json"),
        (("--public", "lab.csv:truth"), "are in the public table lab.csv too, e.g. 'i0000'"),
        (("--public", "plain.csv"), "replical data order plain.csv --ask page --journal public.db --out order.json"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_order_is_one_sentence(folder, command, words, message):
    command("data", "order", "public.csv", "--labels", "truth", "--out", "o.json")
    write_numbers("candidate,price\n" + "".join(f"m{h},{h}\n" for h in range(6)))
    command("data", "order", "public.csv", "--by", "s.csv:price", "--out", "n.json")
    write_csv("narrow.csv", {key: column for key, column in folder.items() if key != "m5"})
    write_csv("lab.csv", folder | {"id": [f"i{number:04d}" for number in range(300)]})
    code, _, err = command(*INIT, *words)
    assert code == 2
    assert message in err
    assert not Path("p.toml").exists()


def test_losses_decide_who_is_in_play_and_must_be_those_of_the_protocol(folder, command):
    costs = ("--weights", "no=1,yes=5")
    assert command("data", "order", "public.csv", "--labels", "truth", *costs, "--out", "o.json")[0] == 0
    assert command(*INIT, *costs, "--public", "public.csv", "--prefer", "o.json")[0] == 0
    code, _, err = command(*INIT, "--force", "--public", "public.csv", "--prefer", "o.json")
    assert (code, "o.json is not" in err) == (2, True)
