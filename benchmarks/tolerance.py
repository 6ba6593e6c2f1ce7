"""How good the first of a public order is proven to be, after so many labels and at the end of pools.

Twelve sets of fitted models (benchmarks/model_sets.py). Public and lab rows are from disjoint halves of a set, as in
benchmarks/choosing_orders.py: the order is from a hundred public labels, asked where candidates in play differ; the items of
a lab are independent draws from the other half. With each string three labs choose with epsilon = .05, then spend their
labels to sharpen the tolerance (``--until-budget``):

- after 50, 100, 200 and 400 labels in all, of 20,000 items;
- at the end of pools of 500, 2,000 and 20,000 items, whatever that takes (up to 20,000 labels);
- beside it, with 500, 2,000 and 20,000 items, where the answer is proven at epsilon, and no further.

One lab, and three together, by the counts of all added up. Too small is a tolerance below what the first errs more than the
best: the promise allows that to a share of .05.

    python benchmarks/tolerance.py [--quick] [--workers W] [--sets SET ..] [--strings N] [--out DIR] [--record]

writes DIR/tolerance.json and .md, anew after each set; --record puts the figures at benchmarks/history/choosing and the
table on docs/explanation/choosing.md. What is done is kept in DIR/tolerance-parts until the end: an interrupted run goes on
from there if it is started again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from choosing import COMMON, HISTORY, QUICK, RHO, SETTING, all_runs, commit, joint_tolerance, kept, models_of, say
from choosing_orders import FRESH, Ordering
from choosing_tables import markdown, share
from model_sets import SETS, ModelSet

from replical import plan

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "choosing.md"
MARKS = ("<!-- benchmarks/tolerance.py -->\n", "<!-- end -->")  # between them the table stands on the page
LABELS, ITEMS = (50, 100, 200, 400), (500, 2_000, 20_000)
WHERE = {**SETTING, "seed": FRESH}
BATCH = 4  # items open at once: so much faster, and hardly another figure


@dataclass(frozen=True)
class End:
    """Where a run ends: with so many items, and after so many labels, or where its answer is proven."""

    words: str
    items: int
    until: int | None


ENDS = (
    *(End(f"{labels} labels", ITEMS[-1], labels) for labels in LABELS),
    *(End(f"all of {items:,} items", items, items) for items in ITEMS),
    *(End(f"proven at .05, {items:,} items", items, None) for items in ITEMS),
)


@dataclass(frozen=True)
class Bound:
    """What one lab, or it and those before it, have proven of the first of the order."""

    end: str
    string: int
    labs: int
    labels: int
    tolerance: float
    excess: float  # what it errs more than the best
    certified: bool


@dataclass(frozen=True)
class Sharpening:
    """Three labs, to every end; called with a string's number."""

    models: ModelSet
    ends: tuple[End, ...] = ENDS

    @cached_property
    def _orderings(self) -> dict[int, Ordering]:
        return {items: Ordering(self.models, items) for items in {end.items for end in self.ends}}

    def __call__(self, string: int) -> list[Bound]:
        return list(self.bounds(string))

    def bounds(self, string: int) -> Iterator[Bound]:
        prior, _ = self._orderings[self.ends[0].items].prior("active", string)
        for end in self.ends:
            labs, counts = self._orderings[end.items].labs, []
            made = plan("handicap", labs.population.C, pool="finite", prior=prior, rho=RHO, batch=BATCH, **COMMON)
            assert made.favourite is not None, "an order has a first"
            for number, name in enumerate("ABC", 1):
                found = labs.lab(made if end.until is None else made.spending(end.until), string, name)
                counts.append(np.array(found.proof.counts).T)
                told = (found.labels, joint_tolerance(made, counts), labs.excess(made.favourite))
                yield Bound(end.words, string, number, *told, found.proof.certified)


def summary(runs: list[Bound], ends: tuple[End, ...] = ENDS) -> list[dict[str, Any]]:
    """One row an end, of all sets: one lab alone, and three together."""
    rows = []
    for end in ends:
        alone, three = ([run for run in runs if run.end == end.words and run.labs == labs] for labs in (1, 3))
        rows.append({"end": end.words, "alone": figures(alone), "three": figures(three)})
    return rows


def figures(runs: list[Bound]) -> dict[str, Any]:
    """Median and 90% of the tolerances, and how many are below what is true."""
    known = [run.tolerance for run in runs]
    return {
        "runs": len(runs),
        "median": median(known),
        "within_90": float(np.quantile(known, 0.9, method="inverted_cdf")),
        "at_most_epsilon": sum(each <= COMMON["epsilon"] for each in known),
        "too_small": sum(run.tolerance < run.excess for run in runs),
        "certified": sum(run.certified for run in runs),
        "labels_median": median(run.labels for run in runs),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """One line an end."""
    columns = (
        "a run that ends with",
        "labels, median",
        "one lab: median (90%)",
        "at most .05",
        "three together: median (90%)",
        "at most .05",
        "too small: one lab, three",
    )
    return markdown(columns, (_line(row["end"], row["alone"], row["three"]) for row in rows))


def _line(end: str, alone: dict[str, Any], three: dict[str, Any]) -> list[str]:
    """The cells of one line."""
    told = [
        cell
        for each in (alone, three)
        for cell in (f"{each['median']:.3f} ({each['within_90']:.3f})", share(each["at_most_epsilon"], each["runs"]))
    ]
    return [
        end,
        f"{alone['labels_median']:,.0f}",
        *told,
        f"{alone['too_small']}, {three['too_small']} of {alone['runs']}",
    ]


def part(path: Path, name: str, strings: int, ends: tuple[End, ...], workers: int) -> list[Bound]:
    """All runs of one set, from the file if they are there; a dot is a string."""

    def work() -> dict[str, Any]:
        started = time.perf_counter()
        say(f"{name} ", end="")
        runs: Any = all_runs(Sharpening(models_of(name), ends), strings, workers)
        say(f" {time.perf_counter() - started:.0f} s")
        return {"runs": [asdict(run) for run in runs]}

    setting = {**WHERE, "set": name, "strings": strings, "batch": BATCH, "ends": [end.words for end in ends]}
    return [Bound(**run) for run in kept(path, setting, work)["runs"]]


def show(words: str) -> None:
    """Put the table on the page, between its marks."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(MARKS[0])
    after = rest.split(MARKS[1], maxsplit=1)[1]
    PAGE.write_text(f"{before}{MARKS[0]}\n{words}\n{MARKS[1]}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two sets, two strings, and no pool of 20,000 items")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), help="only these sets")
    parser.add_argument("--strings", type=int, default=16, help="strings a set (16)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder for what is written")
    parser.add_argument("--record", action="store_true", help="keep the figures and put the table on its page")
    given = parser.parse_args()
    names = given.sets or (QUICK if given.quick else list(SETS))
    ends = tuple(end for end in ENDS if end.items < ITEMS[-1]) if given.quick else ENDS
    strings, folder, begun, runs = 2 if given.quick else given.strings, given.out / "tolerance-parts", time.time(), []
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "numpy": np.__version__}
    for done, name in enumerate(names, 1):
        runs += part(folder / f"{name}.json", name, strings, ends, given.workers)
        found = {"machine": machine, **WHERE, "commit": commit(), "sets": list(names[:done]), "strings": strings}
        found |= {"minutes": round((time.time() - begun) / 60, 1), "batch": BATCH, "tolerance": summary(runs, ends)}
        told = json.dumps(found, indent=1) + "\n"
        (given.out / "tolerance.json").write_text(told, encoding="utf-8")
        (given.out / "tolerance.md").write_text(table(found["tolerance"]), encoding="utf-8")
    shutil.rmtree(folder)
    if given.record:
        (HISTORY / "tolerance.json").write_text(told, encoding="utf-8")
        show(table(found["tolerance"]))
    print(table(found["tolerance"]), end="")


if __name__ == "__main__":
    main()
