"""The page in a real browser: people label a whole run, one of them disappears, and nothing differs from the column."""

import json
import subprocess
import sys

import numpy as np
import pytest

from support.browser import browsers, installed

pytestmark = pytest.mark.skipif(not installed(), reason="no chromium and chromedriver on this machine")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SHOWN = "const it = document.querySelector('#item-id').innerText; return it.startsWith('Item ') && it"


@pytest.fixture
def files(tmp_path):
    x = np.random.default_rng(2).integers(399, size=4000)
    table = {"id": [f"{n:04d}" for n in range(4000)], "x": x, "text": [f"value {value}" for value in x]}
    table["label"] = np.where(x >= 150, "high", "low")
    pq.write_table(pa.table(table), tmp_path / "pool.parquet")
    (tmp_path / "rules.md").write_text("# Rules\n\nSay *high* from 150 on.")
    new = ["protocol", "new", "--out", "p.toml", "--class", "thresholds:400", "--label-values", "low,high", "--seed", "browser",
           "--learner", "rounded-a2", "--epsilon", ".1", "--delta", ".1", "--rho", ".2", "--kappa", ".02", "--batch", "3",
           "--title", "<b>Title</b>"]  # fmt: skip
    replical(tmp_path, *new)
    return tmp_path


def replical(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", "replical", *words], cwd=folder, check=True, capture_output=True, text=True
    )


def label(window, most):
    """Label as the text says, until the run ends or `most` answers are given."""
    for _ in range(most):
        shown = window.until(f"{SHOWN} || document.querySelector('#say').innerText.startsWith('All done')")
        if shown is True:
            return
        value = int(window.text("#fields dd").split()[1])
        window.click(f"#choices button:nth-child({2 if value >= 150 else 1})")
        window.until("return document.querySelector('#item-id').innerText !== arguments[0]", shown)


def test_three_people_one_of_them_killed(files):
    """The certificate says what the run from the label column says, on the same private order."""
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
        with browsers() as window:
            people = [window(), window(phone=True), window(dark=True)]
            for name, person in zip(("ann", "bob", "cat"), people, strict=True):
                person.open(url)
                person.type("#name", name)
                person.click("#who button")
            label(people[1], 4)
            people[1].close()  # bob's machine dies while he is looking at an item
            label(people[2], 6)
            label(people[0], 400)
            assert people[0].text("header h1") == "<b>Title</b>"
            said = [entry for entry in people[0].console() if "409" not in entry["message"]]  # somebody else was faster
            assert said == []
        assert server.wait(30) == 0
    finally:
        server.kill()
        server.stderr.close()
    done = json.loads((files / "page.json").read_text())["body"]
    copied = subprocess.run([sys.executable, "-c", COPY], cwd=files, check=True, capture_output=True, text=True)
    assert not copied.stderr
    replical(files, "run", "p.toml", "--pool", "pool.parquet", "--labels", "pool.parquet:label", "--journal", "column.db",
             "--out", "column.json", "--truths", "0")  # fmt: skip
    assert json.loads((files / "column.json").read_text())["body"] == done
    replical(files, "verify", "page.json", "--pool", "pool.parquet", "--journal", "page.db")


# A journal with the same private seed and nothing else, as if the run were about to begin.
COPY = """
from replical.journal import Event, Journal
with Journal("page.db", write=False) as old, Journal("column.db") as new:
    new.append([Event(kind="created", detail=dict(old.created))])
"""
