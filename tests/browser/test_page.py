"""The page in a real browser: people label a whole run, one of them disappears, and nothing differs from the column."""

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from replical.lab.journal import Journal
from support.browser import browsers, installed

pytestmark = pytest.mark.skipif(not installed(), reason="no chromium and chromedriver on this machine")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LABELS = 180  # noisy labels, so that the budget ends the run and every run asks for exactly as many
SHOWN = """const item = document.querySelector('#item-id').innerText;
return item.startsWith('Item ') ? item.slice(5) : document.querySelector('#say').innerText.startsWith('All done')"""
CHANGED = "return document.querySelector('#item-id').innerText !== 'Item ' + arguments[0]"


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(2)
    x, wrong = rng.integers(399, size=4000), rng.random(4000) < 0.3
    table = {"id": [f"{n:04d}" for n in range(4000)], "x": x, "text": [f"value {value}" for value in x]}
    table["label"] = np.where((x >= 150) ^ wrong, "high", "low")
    pq.write_table(pa.table(table), tmp_path / "pool.parquet")
    (tmp_path / "rules.md").write_text("# Rules\n\nSay *high* from 150 on.")
    new = ["protocol", "new", "--out", "p.toml", "--class", "thresholds:400", "--label-values", "low,high", "--seed", "browser",
           "--learner", "rounded-a2", "--epsilon", ".1", "--delta", ".1", "--rho", ".2", "--kappa", ".01", "--batch", "6",
           "--max-labels", str(LABELS), "--title", "<b>Title</b>"]  # fmt: skip
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


def test_three_people_one_of_them_killed(files):
    """180 items by three people at once; the certificate is that of a run from the label column in the same order."""
    table = pq.read_table(files / "pool.parquet")
    truth = dict(zip(table["id"].to_pylist(), table["label"].to_pylist(), strict=True))
    words = ["run", "p.toml", "--pool", "pool.parquet", "--ask", "page", "--show", "text", "--journal", "page.db", "--out",
             "page.json", "--port", "0", "--truths", "0", "--instructions", "rules.md"]  # fmt: skip
    server = subprocess.Popen(
        [sys.executable, "-m", "replical", *words],
        cwd=files,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        url = next(line.split()[-1] for line in server.stderr if line.startswith("Label at"))
        with browsers() as window, ThreadPoolExecutor(3) as crowd:
            ann, bob, cat = people = [window(), window(phone=True), window(dark=True)]
            for name, person in zip(("ann", "bob", "cat"), people, strict=True):
                person.open(url)
                person.type("#name", name)
                person.click("#who button")
            given = list(crowd.map(label, people, [truth] * 3, [36, 24, 36]))
            assert given == [36, 24, 36]
            bob.until(SHOWN)
            bob.kill()  # his machine dies while he is looking at an item
            list(crowd.map(label, [ann, cat], [truth] * 2, [LABELS] * 2))
            assert ann.text("header h1") == "<b>Title</b>"
            said = [entry["message"] for entry in (*ann.console(), *cat.console())]
            assert [
                text for text in said if "409" not in text
            ] == []  # 409: an item that lay idle went to somebody else
        assert server.wait(30) == 0
    finally:
        server.kill()
        server.stderr.close()
    done = json.loads((files / "page.json").read_text())["body"]
    assert done["labels"]["answered"] == LABELS
    with Journal(files / "page.db", write=False) as journal:
        answered = Counter(event.item for event in journal.events() if event.kind == "answer")
        people = Counter(event.annotator for event in journal.events() if event.kind == "answer")
    assert set(answered.values()) == {1}, "nothing is charged twice"
    assert answered.total() == LABELS
    assert people["bob"] >= 20, "what bob said before his browser died counts"
    assert set(people) == {"ann", "bob", "cat"}
    copied = subprocess.run([sys.executable, "-c", COPY], cwd=files, check=True, capture_output=True, text=True)
    assert not copied.stderr
    replical(files, "run", "p.toml", "--pool", "pool.parquet", "--labels", "pool.parquet:label", "--journal", "column.db",
             "--out", "column.json", "--truths", "0")  # fmt: skip
    assert json.loads((files / "column.json").read_text())["body"] == done
    replical(files, "verify", "page.json", "--pool", "pool.parquet", "--journal", "page.db")


# A journal with the same private seed and nothing else, as if the run were about to begin.
COPY = """
from replical.lab.journal import Event, Journal
with Journal("page.db", write=False) as old, Journal("column.db") as new:
    new.append([Event(kind="created", detail=dict(old.created))])
"""
