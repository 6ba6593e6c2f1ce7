"""Three labs choose among twelve ordinary models of handwritten digits, with the commands that a user would type.

For each of the strings "three-labs/0", "three-labs/1", ..: `init` with three labs, `run` for each of them, `verify`
with pool and journal, `compare`. Once with a public order (`--public`: fewest errors on 100 public digits first, ties
by name), once with the string's random order. Each lab has 10,000 items of its own, drawn with replacement from 1,197
digits that no model was fitted on; the public digits are drawn like them.

    python benchmarks/three_labs.py [--strings N]

Tables of items follow from the strings. The order in which a lab goes through its own is private, drawn afresh in every
run as for a real lab: figures differ a little from one run of this script to the next.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from model_sets import ModelSet, make
from pyarrow import parquet

from replical import PrivateRandomness
from replical.cli import main as replical

SEED = "three-labs"  # chosen once: string number s is SEED/s
STRINGS, LABS, ITEMS, PUBLIC = 20, "abc", 10_000, 100
NUMBERS = ["--epsilon", ".05", "--delta", ".05", "--rho", ".1", "--labs", str(len(LABS))]


@dataclass(frozen=True)
class Group:
    """What three labs with one string and one order found."""

    certified: int
    identical: bool
    certified_differ: bool
    labels: list[int]
    answers: list[str]


def group(models: ModelSet, string: int, *, public: bool) -> Group:
    """All commands, in the present folder, which is empty."""
    Path("candidates.txt").write_text("\n".join(models.candidates) + "\n", encoding="utf-8")
    order, apart = [], []
    if public:
        write_table(models, drawn(models, string, "public", PUBLIC), "public", labels=True)
        order, apart = ["--public", "public.parquet:label"], ["--public", "public.parquet"]
    values = ",".join(map(str, range(models.labels)))
    candidates = ["--candidates", "candidates.txt", "--label-values", values]
    answer("init", "--out", "p.toml", *candidates, *NUMBERS, *order, "--seed", f"{SEED}/{string}")
    found = []
    for lab in LABS:
        rows = drawn(models, string, lab, ITEMS)
        write_table(models, rows, lab, labels=False)
        parquet.write_table(pa.table({"id": ids(lab, rows), "label": models.truth[rows]}), f"{lab}-labels.parquet")
        files = ["--pool", f"{lab}.parquet", "--journal", f"{lab}.db"]
        asks = ["--labels", f"{lab}-labels.parquet:label", "--truths", "0"]
        found.append(answer("run", "p.toml", *files, *asks, *apart, "--out", f"{lab}.json"))
        assert answer("verify", f"{lab}.json", *files)["valid"]
    compared = answer("compare", *(f"{lab}.json" for lab in LABS), allowed=(0, 1, 4))  # 4: several are left
    proven = {each["hypothesis"]["index"] for each in found if each["certified"]}
    return Group(
        certified=sum(each["certified"] for each in found),
        identical=compared["identical"],
        certified_differ=len(proven) > 1,
        labels=[each["labels"]["answered"] for each in found],
        answers=[each["hypothesis"]["name"] for each in found],
    )


def answer(*words: str, allowed: tuple[int, ...] = (0,)) -> Any:
    """What a command of replical answers."""
    with contextlib.redirect_stdout(io.StringIO()) as told, contextlib.redirect_stderr(io.StringIO()) as notes:
        code = replical([*words, "--json"])
    if code not in allowed:
        raise SystemExit(f"replical {' '.join(words)}: exit {code}\n{notes.getvalue()}{told.getvalue()}")
    return json.loads(told.getvalue())


def write_table(models: ModelSet, rows: np.ndarray, who: str, *, labels: bool) -> None:
    """Items with what every model says about them, and their labels where those are public."""
    said = {name: models.predictions[rows, h] for h, name in enumerate(models.candidates)}
    truth = {"label": models.truth[rows]} if labels else {}
    parquet.write_table(pa.table({"id": ids(who, rows), **said, **truth}), f"{who}.parquet")


def ids(who: str, rows: np.ndarray) -> list[str]:
    return [f"{who}{number:05d}" for number in range(len(rows))]


def drawn(models: ModelSet, string: int, who: str, count: int) -> np.ndarray:
    return PrivateRandomness.simulated(SEED, string, who).generator().integers(len(models.truth), size=count)


def told(groups: list[Group]) -> str:
    labels = [count for each in groups for count in each.labels]
    return (
        f"{sum(each.certified for each in groups)} of {len(labels)} labs certified, "
        f"{sum(each.identical for each in groups)} of {len(groups)} triples identical, "
        f"{sum(each.certified_differ for each in groups)} triples with two certified labs that differ; "
        f"labels a lab: {np.mean(labels):.0f} in the mean, {np.median(labels):.0f} in the median"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strings", type=int, default=STRINGS, help=f"how many strings ({STRINGS})")
    given = parser.parse_args()
    models, begun = make("digits-12"), time.perf_counter()
    for name, public in (("public order", True), ("random order", False)):
        groups = []
        for string in range(given.strings):
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                groups.append(group(models, string, public=public))
            print(f"{name}, string {string}: {groups[-1]}", file=sys.stderr, flush=True)
        print(f"{name}: {told(groups)}", flush=True)
    print(f"{time.perf_counter() - begun:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
