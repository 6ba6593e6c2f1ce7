"""A page that shows what commands print: they are run again, on small tables, and the page must say the same.

``PYTHONPATH=src:tests python tests/support/outputs.py`` writes the page anew.
"""

import contextlib
import csv
import hashlib
import io
import os
import re
import shlex
import subprocess
import tempfile
from unittest import mock

import numpy as np

from replical.cli import main
from support.paths import ROOT

PAGE = ROOT / "docs/reference/outputs.md"
MODELS = {
    "bayes": 0.12, "boosting": 0.05, "forest": 0.04, "knn": 0.15, "logistic": 0.1, "stump": 0.3, "svm": 0.06,
    "tree": 0.2,
}  # fmt: skip
ITEMS = {"a": 2000, "b": 2000, "public": 100}


def write_tables(folder):
    """Two labs and a public table: texts that are spam or not, and what eight models say about them."""
    for seed, (name, items) in enumerate(ITEMS.items()):
        generator = np.random.default_rng(seed)
        values, truth = np.array(["ham", "spam"]), generator.integers(2, size=items)
        hard = generator.random(items)[:, None]  # texts on which many err at once
        rates = np.array([*MODELS.values()])
        wrong = (0.7 * hard + 0.3 * generator.random((items, len(MODELS)))) > 1 - 0.95 * rates
        said = values[np.where(wrong, 1 - truth[:, None], truth[:, None])]
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = ([f"{name}{i:04d}", values[truth[i]], *said[i]] for i in range(items))
            csv.writer(file).writerows([["id", "label", *MODELS], *rows])
    (folder / "candidates.txt").write_text("".join(f"{model}\n" for model in MODELS), encoding="utf-8")


def run(line):
    """What a command of the page prints on standard output; those of replical run in this process."""
    words = shlex.split(line)
    if words[0] != "replical":
        return subprocess.run(line, shell=True, capture_output=True, text=True, check=True).stdout
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(words[1:])
    assert code in (0, 1, 4), err.getvalue()
    return out.getvalue()


def written(text):
    """The same page with what its commands print now; every journal has a private seed of its own, always the same."""
    number = iter(range(1000))

    def private(size):
        return hashlib.sha256(f"outputs {next(number)}".encode()).hexdigest()[: 2 * size]

    def again(block):
        made = []
        for part in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
            line = re.match(r"(.*\\\n)*.*\n", part)[0]
            printed = run(line.replace("\\\n", " "))
            printed = re.sub(r"sha256:[0-9a-f]+(\.\.)?", "sha256:..", printed)  # they change with what is hashed
            made.append(f"$ {line}" + "".join(f"{each.rstrip()}\n" for each in printed.splitlines()))
        return f"```\n{''.join(made)}```"

    with mock.patch("replical.lab.journal.journal.secrets.token_hex", private):
        return re.sub(r"^```\n(\$ .*?)^```", again, text, flags=re.DOTALL | re.MULTILINE)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_tables(PAGE.__class__(folder))
        PAGE.write_text(written(PAGE.read_text("utf-8")), encoding="utf-8")
