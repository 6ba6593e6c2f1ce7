"""The files of the tutorial: a protocol, pictures of handwritten digits, nine models' predictions, and rules.

    python examples/people_who_label.py

Nothing is labelled here; that is for people, at the page. The last line is the command that serves it.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pictures import write_pictures
from setting import command, inside, options, shown
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

PUBLIC = 500  # rows that the models are fitted on; the lab has the others
LEARNER = ["--epsilon", ".1", "--delta", ".05", "--rho", ".1"]
LEARNER += ["--set", "batch=3", "--seed", "tutorial", "--title", "Even or odd?"]
RUN = ["run", "protocol.toml", "--pool", "lab.parquet", "--ask", "page", "--show", "picture", "--page", "media=media"]
RUN += ["--page", "instructions=rules.md", "--journal", "lab.db", "--out", "lab.json"]
RULES = """# What to do

Say whether the digit is **even** or **odd**.

- Look at the picture only; nobody else's opinion is shown to you.
- Press `?` if you cannot say, `u` to take your last answer back.
"""


def make_files() -> None:
    """Everything that people need to begin, in the present folder."""
    digits = load_digits()
    parity, rows = np.where(digits.target % 2, "odd", "even"), np.arange(PUBLIC, len(digits.target))
    table = {"id": [f"digit-{row:04d}" for row in rows], "picture": [f"{row}.png" for row in rows]}
    for name, model in models().items():
        table[name] = model.fit(digits.data[:PUBLIC], parity[:PUBLIC]).predict(digits.data[rows])
    pq.write_table(pa.table(table), "lab.parquet")
    write_pictures((Path("media") / f"{row}.png", digits.images[row]) for row in rows)
    Path("rules.md").write_text(RULES, encoding="utf-8")
    Path("models.txt").write_text("".join(f"{name}\n" for name in models()), encoding="utf-8")
    candidates = ["--candidates", "models.txt", "--label-values", "even,odd"]
    command("init", "--out", "protocol.toml", *candidates, *LEARNER)


def models() -> dict[str, LogisticRegression | KNeighborsClassifier | DecisionTreeClassifier]:
    """Good ones and poor ones, by name."""
    found = {f"logistic-{C}": LogisticRegression(C=C, max_iter=2000) for C in (0.0001, 0.001, 0.01)}
    found |= {f"knn-{k}": KNeighborsClassifier(k) for k in (1, 5, 25)}
    return found | {f"tree-{d}": DecisionTreeClassifier(max_depth=d, random_state=0) for d in (2, 4, 8)}


def main() -> int:
    """Make the files and say what to do with them."""
    parser = options("Make the files of the tutorial about people who label.")
    folder = parser.parse_args().out
    with inside(folder, parser):
        make_files()
    print("Next:")
    print(f"cd {shlex.quote(shown(folder))}")
    print(f"replical {shlex.join(RUN)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
