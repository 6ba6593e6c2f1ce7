"""The forecast as it is told: before the first label, and while people label."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from replical import Protocol, Session, read_pool, run
from replical.cli import main
from replical.cli.forecasts import FIRST, Outlook, rate
from replical.core.text import two_figures
from replical.lab.certificate import file
from replical.lab.journal.journal import Journal
from replical.lab.sessions.labelling import Desk
from support.certificates import resealed

NAMES = [f"m{number}" for number in range(8)]


def write(path, items=400, seed=3):
    """Eight candidates that err where items are hard, and the truth."""
    generator = np.random.default_rng(seed)
    truth, hard = generator.integers(2, size=items), generator.random(items)
    wrong = generator.random((items, 8)) < np.linspace(0.1, 0.5, 8) * hard[:, None]
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", *NAMES, "truth"])
        writer.writerows([f"i{i}", *(truth[i] ^ wrong[i]).tolist(), truth[i]] for i in range(items))
    return dict(zip([f"i{i}" for i in range(items)], truth.tolist(), strict=True))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "pool.csv")
    learner = {"name": "handicap", "epsilon": 0.1, "delta": 0.1, "rho": 0.2}
    content = {
        "schema": "replical.protocol/1",
        "seed": "published",
        "class": {"kind": "table", "candidates": [{"name": name} for name in NAMES]},
        "labels": {"values": [0, 1]},
        "learner": learner,
    }
    (tmp_path / "p.toml").write_text(Protocol.of(content).toml())
    return tmp_path


RUN = ["run", "p.toml", "--pool", "pool.csv", "--journal", "a.db", "--out", "a.json"]


def test_plan_forecasts_handicap(folder, capsys):
    assert main(["plan", "p.toml", "--pool", "pool.csv", "--truths", "4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = told["forecast"]
    assert found["method"] == "votes"
    assert found["labels_low"] <= found["labels_median"] <= found["labels_high"]
    assert 0 <= found["certified"] <= 1
    assert found["differ"] is None
    assert {(each["items"], each["epsilon"]) for each in found["chances"]} == {
        (items, at) for items in (400, 800, 1600) for at in (0.1, 0.2)
    }
    assert found["chances"][4] == {"items": 400, "labels": None, "epsilon": 0.1, "chance": found["certified"]}
    assert main(["plan", "p.toml", "--pool", "pool.csv", "--truths", "4"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Forecast from the unlabelled items" in shown
    assert (
        "Chance of a proof at epsilon 0.1 (at 0.2), with so many items and labels 50 100 200 400 any 400 items" in shown
    )
    assert "two labs both certified with the same answer in at least" in shown
    assert "which cannot show that most models share a mistake" in shown
    assert "0.000" not in shown


def test_what_no_pair_showed_is_not_zero():
    assert rate(0.0, 24) == "< 1/24"
    assert rate(0.0004, 24) == "0.04%"
    assert (rate(1 / 24, 24), rate(1.0, 24)) == ("4.2%", "100%")


def test_a_pool_of_ten_items_has_no_forecast_and_the_rest_is_told(folder, capsys):
    write(folder / "ten.csv", items=10)
    assert main(["plan", "p.toml", "--pool", "ten.csv"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "No forecast from unlabelled items: a forecast needs at least 50 unlabelled items" in shown
    assert "the pool holds 10" in shown
    words = ["run", "p.toml", "--pool", "ten.csv", "--journal", "t.db", "--out", "t.json", "--labels", "ten.csv:truth"]
    assert main(words) == 0
    assert "No forecast: a forecast needs at least 50" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["plan", "p.toml", "--pool", "pool.csv", "--truths", "0"], "--truths must be at least 1, got 0"),
        (["plan", "p.toml", "--pool", "few.csv"], "few.csv has no column 'm7'"),
        (["paper", "bill", "--class", "thresholds:9", "--epsilon", ".1", "--learner", "guess"], "unknown learner 'guess'"),
        ([*RUN, "--labels", "pool.csv:truth", "--truths", "-1"], "--truths must be 0 or more, got -1"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(words, sentence, folder, capsys):
    lines = (folder / "pool.csv").read_text().replace("m7", "m9").splitlines()
    (folder / "few.csv").write_text("\n".join(lines))
    assert main(words) == 2
    told = capsys.readouterr().err
    assert sentence in " ".join(told.split()), told
    assert told.count("Error") == 1


def test_run_by_file_says_how_many_labels_are_left(folder, capsys):
    truth = write(folder / "pool.csv")
    (folder / "p.toml").write_text((folder / "p.toml").read_text().replace("rho = 0.2", "rho = 0.2\nbatch = 20"))
    assert main([*RUN, "--ask", "file", "--truths", "1"]) == 3
    assert "left" not in capsys.readouterr().out  # of no label nothing more can be said than before
    batch = next(folder.glob("a.batches/*.csv"))
    ids = [line.split(",")[0] for line in batch.read_text().splitlines()[1:]]
    batch.write_text("id,label\n" + "".join(f"{each},{truth[each]}\n" for each in ids))
    assert main([*RUN, "--ask", "file", "--truths", "1", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)["forecast"]
    assert told["labels"] == 20
    assert 0 <= told["left_low"] <= told["left_median"] <= told["left_high"] <= 380


def test_a_long_run_from_a_column_says_how_many_labels_are_left(folder, capsys, monkeypatch):
    """A short one does not: it would have ended before the estimate."""
    words = [*RUN, "--labels", "pool.csv:truth", "--truths", "1"]
    monkeypatch.setattr("replical.cli.labels._LONG", 1e9)
    assert main(words) == 0
    assert "left (" not in capsys.readouterr().err
    monkeypatch.setattr("replical.cli.labels._LONG", -1.0)
    monkeypatch.setattr("replical.cli.labels._EVERY", -1.0)
    again = ["b".join(word.split("a")) if word.startswith("a.") else word for word in words]
    assert main(again) == 0
    told = re.findall(r"(\d+) labels; about \d+ left \(\d+ to \d+\)", capsys.readouterr().err)
    assert told  # how long a run is depends on its private scan order
    assert told == [str(16 * 2**look) for look in range(len(told))]


def session_of(folder, journal):
    protocol = Protocol.read(folder / "p.toml")
    session = Session(protocol, read_pool(folder / "pool.csv", protocol.recipe), journal)
    session.private = b"the same secret of all!!"  # which items are asked, and how long a run is, depends on it
    session._course = None
    return session


def test_an_outlook_never_changes_the_run_and_tells_seldom(folder):
    """Items asked with an outlook are those asked without; it speaks at 16, 32, .. labels, of counts alone."""
    truth, asked, said = write(folder / "pool.csv"), {}, []
    for watched in (False, True):
        with Journal(folder / f"{watched}.db") as journal:
            session = session_of(folder, journal)
            outlook = Outlook(session, said.append)
            desk = Desk(session, outlook=outlook if watched else None)
            asked[watched] = []
            while (item := desk.next("ann")) is not None and len(asked[watched]) < 40:
                asked[watched].append(item)
                desk.answer("ann", item, truth[item])
                if watched and len(asked[watched]) in (FIRST, 2 * FIRST):
                    session.refresh()
                    found = outlook.figures()
                    assert found["labels"] == len(asked[watched])
                    assert desk.progress()["about"] == two_figures(found["left_median"])
                elif not watched:
                    assert desk.progress()["about"] is None
    assert asked[True] == asked[False]
    assert [words.split(";")[0] for words in said] == ["16 labels", "32 labels"]


def test_before_the_first_label_it_is_the_forecast_with_the_labels_that_measure_the_error(folder):
    with Journal(folder / "a.db") as journal:
        session = session_of(folder, journal)
        session.measure_error(30)
        desk = Desk(session, outlook=Outlook(session, expected=41.6))
        assert desk.progress()["about"] == 72
        assert Desk(session, outlook=Outlook(session)).progress()["about"] is None


@pytest.mark.parametrize("names", [NAMES, NAMES[::-1]])
def test_the_tolerance_is_told_to_the_end_of_a_budget_at_the_terminal_and_at_the_page(names, folder):
    """Also when one is left and labels sharpen it; but not of a first that is clearly behind."""
    content = (folder / "p.toml").read_text()
    (folder / "p.toml").write_text(content + f"[handicap]\nfrom = 'order'\norder = {json.dumps(names)}\n")
    truth, said, shown = write(folder / "pool.csv", items=4000), [], []
    with Journal(folder / "a.db") as journal:
        session = session_of(folder, journal)
        session.spend(300)
        desk = Desk(session, outlook=Outlook(session, said.append, expected=40.0))
        while (item := desk.next("ann")) is not None:
            desk.answer("ann", item, truth[item])
            shown.append(desk.progress()["within"])
    assert (shown[0], shown[-1]) == (None, None)  # before anything is known, and when the run has ended
    assert [words.split(";")[0] for words in said] == [f"{16 * 2**look} labels" for look in range(len(said))]
    if names == NAMES:
        assert re.fullmatch(
            r"16 labels; about \d+ left \(\d+ to \d+\); proven so far: m0 is within 0\.\d+ of the best", said[0]
        )
        assert re.fullmatch(r"\d+ labels; proven so far: m0 is within 0\.\d+ of the best", said[-1])
        assert shown[-2] == re.search(r"within (.*) of", said[-1])[1]
    else:
        assert any(words.endswith("; m7, the first of the public order, is clearly behind") for words in said), said
        assert shown[-2] is None


def test_of_a_first_nothing_is_proven_by_items_that_nobody_can_label(folder, capsys):
    """Though they count as items on which it does no worse; nor by several labs, one of which has hardly any labels."""
    content = (folder / "p.toml").read_text()
    (folder / "p.toml").write_text(content + f"[handicap]\nfrom = 'order'\norder = {json.dumps(NAMES)}\n")
    truth, other, heard = write(folder / "pool.csv"), write(folder / "other.csv", seed=4), []
    done = run("p.toml", "pool.csv", lambda item: None, "a.db", out="a.json")
    proof = done.certificate["body"]["proof"]
    assert (proof["asked"], proof["skipped"] > 20, proof["tolerance"]) == (0, True, 1.0)
    assert run("p.toml", "other.csv", other.get, "b.db", out="b.json").result.proof.tolerance < 1
    assert main(["verify", "a.json", "--pool", "pool.csv", "--journal", "a.db"]) == 0
    assert main(["compare", "a.json", "b.json"]) in (0, 4)
    assert "By the counts of all labs" not in capsys.readouterr().out
    proof["tolerance"] = 0.2
    file.write(resealed(done.certificate), Path("forged.json"))
    assert main(["verify", "forged.json"]) == 1
    assert "tolerance follows from the counts" in capsys.readouterr().out
    with Journal(folder / "c.db") as journal:  # nor while people label
        session = session_of(folder, journal)
        desk = Desk(session, outlook=Outlook(session, heard.append, expected=40.0))
        for number, item in enumerate(iter(lambda: desk.next("ann"), None)):
            desk.skip("ann", item) if number % 3 else desk.answer("ann", item, truth[item])
    assert len(heard) >= 1
    assert not any("proven so far" in words for words in heard)


@pytest.mark.parametrize(("names", "words"), [(NAMES, "Error: at most"), (NAMES[::-1], "is clearly behind")])
def test_a_run_says_what_is_proven_of_the_first_of_an_order(names, words, folder, capsys):
    """A good first is the answer; a bad one leaves, and the plain rule decides."""
    content = (folder / "p.toml").read_text()
    (folder / "p.toml").write_text(content + f"[handicap]\nfrom = 'order'\norder = {json.dumps(names)}\n")
    write(folder / "pool.csv", items=4000)
    assert main([*RUN, "--labels", "pool.csv:truth", "--truths", "0", "-v"]) == 0
    said = capsys.readouterr().out
    assert words in said, said
    assert ("decide by the plain rule" in said) == (words == "is clearly behind")
    assert names != NAMES or "\n1 survivor: m0. It has the smallest error" in said


def test_who_is_clearly_behind_is_not_to_be_first_again(folder, capsys):
    """A larger epsilon would prove it good enough, and that is not wanted."""
    content = (folder / "p.toml").read_text()
    (folder / "p.toml").write_text(content + f"[handicap]\nfrom = 'order'\norder = {json.dumps(NAMES[::-1])}\n")
    rows = [[f"i{i}", *(int(i % 40 == number) for number in range(7)), i % 2, 0] for i in range(400)]
    with (folder / "pool.csv").open("w", newline="") as out:
        csv.writer(out).writerows([["id", *NAMES, "truth"], *rows])
    assert main([*RUN, "--labels", "pool.csv:truth", "--truths", "0"]) == 0
    said = capsys.readouterr().out
    assert re.search("m7 errs at most .*: a public order in which m[0-6] is the first\\.\n", said), said
