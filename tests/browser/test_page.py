"""The page in a real browser: people label a whole run, one of them disappears, and nothing differs from the column."""

import json
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from replical.lab.journal.journal import Journal
from replical.lab.protocol import Protocol
from support.browser import browsers, installed

pytestmark = pytest.mark.skipif(not installed(), reason="no chromium and chromedriver on this machine")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LABELS = 90  # noisy labels, so that the budget ends the run and every run asks for exactly as many
SHOWN = """const item = document.querySelector('#item-id').innerText;
return item.startsWith('Item ') ? item.slice(5) : document.querySelector('#say').innerText.startsWith('All done')"""
COUNT = "const said = document.querySelector('#count').innerText; return said.includes('left') && said"
CHANGED = "return document.querySelector('#item-id').innerText !== 'Item ' + arguments[0]"


@contextmanager
def served(folder, *words):
    """A run at its page: the process, which ends with the block, and the address."""
    server = subprocess.Popen(
        [sys.executable, "-m", "replical", *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield server, next(line.split()[-1] for line in server.stderr if line.startswith("Label at"))
    finally:
        server.kill()
        server.wait()
        server.stderr.close()


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(2)
    x, wrong = rng.integers(399, size=4000), rng.random(4000) < 0.3
    table = {"id": [f"{n:04d}" for n in range(4000)], "x": x, "text": [f"value {value}" for value in x]}
    table["label"] = np.where((x >= 150) ^ wrong, "high", "low")
    pq.write_table(pa.table(table), tmp_path / "pool.parquet")
    (tmp_path / "rules.md").write_text("# Rules\n\nSay *high* from 150 on.")
    new = ["init", "--out", "p.toml", "--class", "thresholds:400", "--label-values", "low,high", "--seed", "browser",
           "--learner", "handicap", "--epsilon", ".1", "--delta", ".1", "--rho", ".2", "--set", "batch=6",
           "--set", f"max_labels={LABELS}", "--title", "<b>Title</b>"]  # fmt: skip
    replical(tmp_path, *new)
    return tmp_path


def replical(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", "replical", *words], cwd=folder, check=True, capture_output=True, text=True
    )


def label(window, truth, most):
    """Label as the expert would, until the run ends or `most` answers are given; returns how many were."""
    for given in range(most):
        item = window.until(SHOWN)
        if item is True:
            return given
        window.click(f"#choices button:nth-child({1 + ('low', 'high').index(truth[item])})")
        window.until(CHANGED, item)
    return most


@pytest.mark.slow
def test_three_people_one_of_them_killed(files):
    """90 items by three people at once; the certificate is that of a run from the label column in the same order."""
    table = pq.read_table(files / "pool.parquet")
    truth = dict(zip(table["id"].to_pylist(), table["label"].to_pylist(), strict=True))
    words = ["run", "p.toml", "--pool", "pool.parquet", "--ask", "page", "--show", "text", "--journal", "page.db", "--out",
             "page.json", "--page", "port=0", "--truths", "0", "--page", "instructions=rules.md"]  # fmt: skip
    with served(files, *words) as (server, url):
        with browsers() as window, ThreadPoolExecutor(3) as crowd:
            ann, bob, cat = people = [window(), window(phone=True), window(dark=True)]
            for name, person in zip(("ann", "bob", "cat"), people, strict=True):
                person.open(url)
                person.type("#name", name)
                person.click("#who button")
            given = list(crowd.map(label, people, [truth] * 3, [20, 14, 20]))
            assert given == [20, 14, 20]
            bob.until(SHOWN)
            bob.kill()  # his machine dies while he is looking at an item
            list(crowd.map(label, [ann, cat], [truth] * 2, [LABELS] * 2))
            assert ann.text("header h1") == "<b>Title</b>"
            said = [entry["message"] for entry in (*ann.console(), *cat.console())]
            assert [
                text for text in said if "409" not in text
            ] == []  # 409: an item that lay idle went to somebody else
        assert server.wait(30) == 0
    done = json.loads((files / "page.json").read_text())["body"]
    assert done["labels"]["answered"] == LABELS
    with Journal(files / "page.db", write=False) as journal:
        answered = Counter(event.item for event in journal.events() if event.kind == "answer")
        people = Counter(event.annotator for event in journal.events() if event.kind == "answer")
    assert set(answered.values()) == {1}, "nothing is charged twice"
    assert answered.total() == LABELS
    assert people["bob"] >= 12, "what bob said before his browser died counts"
    assert set(people) == {"ann", "bob", "cat"}
    copied = subprocess.run([sys.executable, "-c", COPY], cwd=files, check=True, capture_output=True, text=True)
    assert not copied.stderr
    replical(files, "run", "p.toml", "--pool", "pool.parquet", "--labels", "pool.parquet:label", "--journal", "column.db",
             "--out", "column.json", "--truths", "0")  # fmt: skip
    assert json.loads((files / "column.json").read_text())["body"] == done
    replical(files, "verify", "page.json", "--pool", "pool.parquet", "--journal", "page.db")


# A journal with the same private seed and nothing else, as if the run were about to begin.
COPY = """
from replical.lab.journal.journal import Event, Journal
with Journal("page.db", write=False) as old, Journal("column.db") as new:
    new.append([Event(kind="created", detail=dict(old.created))])
"""


SCORED = """const item = document.querySelector('#item-id').innerText, said = document.querySelector('#fields .output');
if (document.querySelector('#say').innerText.startsWith('All done')) return true;
const ready = item.startsWith('Item ') && !document.querySelector('#main').classList.contains('busy');
return ready && [item.slice(5), said ? said.innerText : null]"""


@pytest.mark.slow
def test_two_people_score_a_whole_run(tmp_path):
    """Each output once, by whoever has its item; the certificate is that of a run from a column of the same scores."""
    names, kinds = ("short", "long", "odd"), ("clear", "wordy", "off")
    rng = np.random.default_rng(4)
    said = [rng.choice(kinds, 400, p=p) for p in ([0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6])]
    stars = {f"{n:03d}": dict(zip(kinds, rng.choice(list("2345"), 3).tolist(), strict=True)) for n in range(400)}
    for each in stars.values():
        each["off"] = "1"
    table = {"id": list(stars), **dict(zip(names, said, strict=True))}
    rows = zip(stars.values(), zip(*said, strict=True), strict=True)
    table["stars"] = [json.dumps({each: given[each] for each in set(row)}) for given, row in rows]
    pq.write_table(pa.table(table), tmp_path / "pool.parquet")
    (tmp_path / "names.txt").write_text("\n".join(names))
    replical(tmp_path, "init", "--candidates", "names.txt", "--set", "scores=1-5", "--epsilon", ".2", "--seed", "stars",
             "--set", "batch=4", "--out", "p.toml")  # fmt: skip

    def judge(window):
        seen = None
        while (shown := window.until(SCORED)) is not True:
            item, output = shown
            if output is None:
                window.click("#reveal")
            elif shown != seen:
                window.click(f"#choices button:nth-child({stars[item][output]})")
                seen = shown

    words = ["run", "p.toml", "--pool", "pool.parquet", "--ask", "page", "--journal", "page.db", "--out", "page.json",
             "--page", "port=0", "--truths", "0"]  # fmt: skip
    with served(tmp_path, *words) as (server, url):
        with browsers() as window, ThreadPoolExecutor(2) as crowd:
            people = [window(), window(phone=True)]
            for name, person in zip(("ann", "bob"), people, strict=True):
                person.open(url)
                person.type("#name", name)
                person.click("#who button")
            list(crowd.map(judge, people))
        assert server.wait(30) == 0
    done = json.loads((tmp_path / "page.json").read_text())["body"]
    with Journal(tmp_path / "page.db", write=False) as journal:
        said = [(event.item, *event.answer, event.annotator) for event in journal.events() if event.kind == "answer"]
    assert len(said) == len({each[:2] for each in said}) == done["labels"]["judgements"]
    assert {each[2] for each in said} == {"ann", "bob"}
    assert done["certified"]
    subprocess.run([sys.executable, "-c", COPY], cwd=tmp_path, check=True)
    replical(tmp_path, "run", "p.toml", "--pool", "pool.parquet", "--labels", "pool.parquet:stars", "--journal", "column.db",
             "--out", "column.json", "--truths", "0")  # fmt: skip
    assert json.loads((tmp_path / "column.json").read_text())["body"] == done
    replical(tmp_path, "verify", "page.json", "--pool", "pool.parquet", "--journal", "page.db")


@pytest.fixture
def truth(tmp_path):
    """Eight models' predictions on 400 items, a protocol that chooses among them, and the labels."""
    rng, names = np.random.default_rng(3), [f"m{number}" for number in range(8)]
    truth, hard = rng.integers(2, size=400), rng.random(400)
    wrong = rng.random((400, 8)) < np.linspace(0.1, 0.5, 8) * hard[:, None]
    table = {"id": [f"{n:04d}" for n in range(400)], **dict(zip(names, (truth ^ wrong.T), strict=True))}
    pq.write_table(pa.table(table), tmp_path / "pool.parquet")
    content = {
        "schema": "replical.protocol/1",
        "seed": "browser",
        "class": {"kind": "table", "candidates": [{"name": name} for name in names]},
        "labels": {"values": [0, 1]},
        "learner": {"name": "handicap", "epsilon": 0.05, "delta": 0.1, "rho": 0.2},
    }
    (tmp_path / "p.toml").write_text(Protocol.of(content).toml())
    return truth


@pytest.mark.slow
def test_the_page_says_about_how_many_labels_are_left(tmp_path, truth):
    """At once, by the forecast, and by the labels once sixteen are known; it reads as a rounded count and nothing else."""
    words = ["run", "p.toml", "--pool", "pool.parquet", "--ask", "page", "--journal", "a.db", "--out", "a.json", "--page", "port=0",
             "--truths", "1"]  # fmt: skip
    with served(tmp_path, *words) as (_, url):
        with browsers() as window:
            ann = window()
            ann.open(url)
            ann.type("#name", "ann")
            ann.click("#who button")
            before = ann.until(COUNT)
            for _ in range(20):  # of fewer than 16 nothing more is known than before
                item = ann.until(SHOWN)
                ann.click(f"#choices button:nth-child({1 + truth[int(item)]})")
                ann.until(CHANGED, item)
            said = ann.text("#count")
        for labels, text in ((0, before), (20, said)):
            found = re.fullmatch(r"(\d+) items labelled, about (\d+) left", text)
            assert found, text
            assert int(found[1]) == labels
            assert 1 <= int(found[2]) <= 400
            assert len(found[2].rstrip("0")) <= 2
