"""Every way to label is killed again and again: nothing acknowledged is lost, and the run ends as if nothing had happened."""

import csv
import random
import signal
from dataclasses import replace

import pytest

from replical.lab.certificate.file import write as write_certificate
from support.faults import Counts, scaled
from support.kills import WAYS, Lab, kill_again_and_again, race, sitting, start
from support.lab import Run, content, world
from support.miniature import DRIVER

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
KILLS = {"Python session": 150, "labels from a column": 70, "terminal": 70, "page": 70, "page beside the run": 50,
         "by file": 70, "Label Studio": 50,
         "Label Studio, live": 50}  # fmt: skip


def test_a_few_kills(lab_of):
    """A small part of the next."""
    counts, lab = Counts("few"), lab_of()
    for name in ("Python session", "labels from a column"):
        kill_again_and_again(WAYS[name], lab, 2, random.Random(name), counts)
    assert counts.faults == {}


# Reads what it has written, and so notices nothing; but only every fourth time it is on the disk.
LATE = """
import contextlib, itertools
def late(database):
    held, times = database.engine.connect(), itertools.count(1)
    @contextlib.contextmanager
    def writing(connection=None):
        if not held.connection.driver_connection.in_transaction:
            held.exec_driver_sql("BEGIN IMMEDIATE")
        yield held
        if next(times) % 4 == 0:
            held.commit()
    database.writing, database.reading = writing, lambda: contextlib.nullcontext(held)
"""


def test_a_journal_that_acknowledges_before_it_commits_is_found(lab_of):
    """The suite can fail."""
    driver = LATE + DRIVER.replace("as journal:\n", "as journal:\n    late(journal._database)\n")
    way = replace(WAYS["Python session"], start=lambda lab: [start("-c", driver, lab.folder, lab.path)])
    counts, lab, chance = Counts("late"), lab_of().again(), random.Random(1)
    while not counts.lost and counts.kills < 40:
        sitting(way, lab, chance, counts)
        lab.check(counts)
    assert counts.faults.keys() == {"lost"}


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_every_way_to_label(name, lab_of, counted):
    counts = counted(f"kills: {name}")
    lab = lab_of(batch=12 if name in ("by file", "Label Studio") else 3)
    kills = scaled(KILLS[name], 3)
    halfway = kill_again_and_again(WAYS[name], lab, kills, random.Random(name), counts)
    lab.end()
    assert counts.faults == {}
    assert halfway >= kills // 3  # many kills met a run at work


@pytest.mark.slow
def test_several_runners(lab_of, counted):
    counts = counted("several runners")
    assert race(lab_of(), scaled(20, 2), random.Random("race"), counts)
    assert counts.faults == {}


def table(folder, name, **how):
    """One lab's items as a file; the truth by item."""
    columns = world(**how)
    with (folder / f"{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    return dict(zip(columns["id"], columns["truth"], strict=True)), columns


@pytest.mark.slow
def test_a_confirmation(tmp_path, counted):
    """Does another lab's answer hold here? Killed, from a column and at the terminal."""
    counts = counted("kills: confirm")
    _, columns = table(tmp_path, "published", seed=11)
    said = content("handicap", batch=2, handicap={"from": "order", "order": [0, 1, 2, 3, 4, 5]})
    with Run(tmp_path, said, columns, "published") as run:
        write_certificate(run.certificate, tmp_path / "published.json")
    truth, _ = table(tmp_path, "own", seed=12)

    def words(journal, out):
        files = ["--pool", tmp_path / "own.csv", "--journal", journal, "--out", out, "--margin", ".1"]
        return [*map(str, ["lab", "confirm", tmp_path / "published.json", *files])]

    lab = Lab(tmp_path, words, truth, tmp_path / "own.csv:truth")
    for name in ("labels from a column", "terminal"):
        kill_again_and_again(WAYS[name], lab, scaled(25, 2), random.Random(name), counts)
    assert counts.faults == {}


@pytest.mark.slow
def test_labs_of_one_protocol(tmp_path, counted, command):
    """Three labs of a list, each killed on its own journal: certificates and their comparison are what they were."""
    counts = counted("kills: three labs")
    names = ["north", "south", "east"]
    (tmp_path / "candidates.txt").write_text("".join(f"m{c}\n" for c in range(6)))
    numbers = ["--learner", "handicap", "--epsilon", ".3", "--set", "batch=3", "--delta", ".2", "--rho", ".6", "--seed",
               "a published text"]  # fmt: skip
    source = ["--candidates", tmp_path / "candidates.txt", "--label-values", "no,yes"]
    listed = [word for name in names for word in ("--lab", name)]
    assert command("init", "--out", tmp_path / "p.toml", *source, *numbers, *listed)[0] == 0
    labs = []
    for number, name in enumerate(names):
        truth, _ = table(tmp_path, name, items=600, seed=11 + number)

        def words(journal, out, name=name):
            files = ["--pool", tmp_path / f"{name}.csv", "--journal", journal, "--out", out, "--truths", "0"]
            return [*map(str, ["run", tmp_path / "p.toml", *files, "--lab", name])]

        labs.append(Lab(tmp_path, words, truth, tmp_path / f"{name}.csv:truth", name=name))
    for number, lab in enumerate(labs):
        way = WAYS[("labels from a column", "terminal", "page")[number]]
        kill_again_and_again(way, lab, scaled(20, 2), random.Random(number), counts)
    compared = [command("compare", *(getattr(lab, which) for lab in labs)) for which in ("out", "straight")]
    counts.changed += compared[0][0] != compared[1][0]
    assert counts.faults == {}
