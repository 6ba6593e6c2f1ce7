"""How labs choose among candidate models: handicap and simpler ways side by side, on real models.

Twelve sets of fitted models (benchmarks/model_sets.py). A set's population is a table of rows that no model was fitted
on, with predictions and true labels; a lab's items are independent draws from it, with replacement. For each set and
pool size labs run with each of the strings "one learner/SET/0", "one learner/SET/1", ..; all ways meet the same pools:

- `handicap`, with a public order (fewest errors on 100 public items first, ties by name) and with exponentials from the
  string. The public items are drawn anew for every string, from the same population and independently of all labs;
- `usual`: the model with the fewest errors on as many labels as handicap took and the public ones together
  (`replical.worlds.baseline.usual_way`, as in the README and the demo);
- `public-first`: the first of the public order, without a label of a lab's own.

All three are tried a second time with public items from *elsewhere*: items with one of the first half of the labels are
nine times as frequent among them as they should be.

Where the best model makes no error handicap is tried with nu = 0 besides. Of handicap three labs run with a string:
what do two and three of them know together? Pools that grow are read off the pools of 20,000 items, which
are scanned in one order: a lab that stopped within the first n items would have stopped with n items.

    python benchmarks/choosing.py [--quick] [--workers W] [--sets SET ..] [--out DIR] [--record]

writes DIR/choosing.json, .md (tables) and .svg/.png (figure), anew after each pool size; --record adds the tables to
benchmarks/history/choosing, with the commit. What is done is kept in DIR/choosing-parts until the end: an interrupted run
goes on from there if it is started again.

With --orders nothing but public orders is measured (benchmarks/choosing_orders.py): a random hundred, a hundred asked
actively, the first 20 and 8 of that order as a shortlist, the vote; public and lab rows from disjoint halves. Written to
DIR/choosing-orders.json and .md, recorded as benchmarks/history/choosing/orders.json.

With --growth nothing but pools that grow four times by half is measured (benchmarks/choosing_growth.py): written to
DIR/choosing-growth.json and .md, recorded as benchmarks/history/choosing/growth.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np
from choosing_tables import figure, tables
from model_sets import GENERATED, SETS, ModelSet, make
from numpy.typing import NDArray

from replical import PredictionTable, Prior, PrivateRandomness, SharedRandomness, World, plan
from replical.classes.prior import UNIFORM
from replical.core.exact import clopper_pearson
from replical.core.parallel import ordered_map
from replical.learners.handicap.handicaps import UNIT
from replical.learners.handicap.plan import HandicapPlan
from replical.learners.handicap.proof import Accounts, tolerance_of, up
from replical.learners.planning import learner_for
from replical.worlds.baseline import usual_way
from replical.worlds.labs import run_lab
from replical.worlds.world import Population

HISTORY = Path(__file__).parent / "history" / "choosing"
SEED = "one learner"  # chosen once: string number s of a set is SEED/SET/s
STRINGS = {500: 20, 2_000: 20, 20_000: 8}  # by items in a pool
LARGEST = max(STRINGS)
OFTEN = 9  # how much more frequent half of the labels are among public items from elsewhere
GROWN = {first: [round(first * 1.5**times) for times in range(5)] for first in (500, 2_000)}
EPSILON, DELTA, RHO = 0.05, 0.05, 0.1
COMMON = {"epsilon": EPSILON, "delta": DELTA}
NUMBERS = {**COMMON, "rho": RHO}
PUBLIC = 100  # labelled items that a public order is made from
QUICK = ("iris-10", "wine-24")
SETTING = {"seed": SEED, **NUMBERS, "public_items": PUBLIC}


@dataclass(frozen=True)
class Way:
    """How a lab may choose: who learns, with which order and options."""

    method: str
    order: str
    learner: str | None = None  # the method itself if left out
    options: tuple[tuple[str, float], ...] = (("rho", RHO),)
    noiseless: bool = False  # only where the best model makes no error

    @property
    def key(self) -> tuple[str, str]:
        return self.method, self.order

    @property
    def id(self) -> str:
        return self.learner or self.method


RHO_NU = (("rho", RHO), ("nu", 0))
WAYS = (
    Way("handicap", "public"),
    Way("handicap", "random"),
    Way("handicap, nu = 0", "public", "handicap", RHO_NU, noiseless=True),
    Way("usual", "public"),
    Way("public-first", "public"),
    Way("handicap", "elsewhere"),
    Way("usual", "elsewhere"),
    Way("public-first", "elsewhere"),
)
FREE = ("usual", "public-first")  # no learners: they ask for nothing by themselves


@dataclass(frozen=True)
class Run:
    """One lab's run, or what it would have chosen otherwise.

    Attributes
    ----------
    ideal
        Is the answer the ideal one, where that is what a certificate claims?
    scanned
        Items looked at; 0 where that is not known.
    common, common_ideal
        How many survivors this lab and those before it have in common, and whether the ideal answer is among them.
    tolerance
        What is proven of the first of a public order by the counts of this lab and those before it; None without.
    """

    method: str
    order: str
    string: int
    answer: int
    labels: int
    excess: float
    certified: bool = False
    ideal: bool = True
    lab: str = "A"
    scanned: int = 0
    common: int = 0
    common_ideal: bool = True
    tolerance: float | None = None


@dataclass(frozen=True)
class Labs:
    """Labs that choose from one set, with so many items each; called with a string's number."""

    models: ModelSet
    items: int
    ways: tuple[Way, ...] = WAYS
    seed: str = SEED

    @cached_property
    def population(self) -> Population:
        models = self.models
        C = PredictionTable(models.candidates, labels=range(models.labels))
        world = World(C=C, cells=C.items(models.predictions), law=np.eye(models.labels)[models.truth])
        return world.population()

    def __call__(self, string: int) -> list[Run]:
        return list(self.runs(string))

    def runs(self, string: int) -> Iterator[Run]:
        labels: dict[tuple[str, str], int] = {}
        for way in self.ways:
            if way.noiseless and self.models.errors.min() > 0:
                continue
            if way.method in FREE:
                yield from self.simple(way, string, labels)
                continue
            prior = UNIFORM if way.order == "random" else self.public_order(string, way.order)
            for run in self.learnt(way, prior, string):
                if way.method == "handicap":
                    labels[run.lab, run.order] = run.labels
                yield run

    def simple(self, way: Way, string: int, labels: dict[tuple[str, str], int]) -> Iterator[Run]:
        """Both labs without a learner; the usual way has as many `labels` as each lab took with the same public items."""
        errors = self.public_errors(string, way.order)
        for lab in "AB":
            n = labels[lab, way.order] if way.method == "usual" else 0
            h = self.best(n, errors, string, lab)
            yield Run(way.method, way.order, string, h, n, self.excess(h), lab=lab)

    def learnt(self, way: Way, prior: Prior, string: int) -> Iterator[Run]:
        """All labs with a learner; of handicap besides what they know together."""
        shared, options = self.shared(string), dict(way.options)
        made = plan(way.id, self.population.C, pool="finite", prior=prior, **COMMON, **options)
        ideal = self.ideal(made, shared)
        ours = isinstance(made, HandicapPlan)
        common, counts = np.arange(len(self.models.candidates)), []
        for lab in "ABC" if ours else "AB":
            found = self.lab(made, string, lab)
            h, about = found.V.first(shared, prior) if way.id == "a2" else found.hypothesis, {}
            if ours:
                common = np.intersect1d(common, found.V.indices)
                about = {"scanned": found.proof.scanned, "common": len(common), "common_ideal": ideal in common}
                if found.proof.counts is not None:
                    counts.append(np.array(found.proof.counts).T)
                    about["tolerance"] = joint_tolerance(made, counts)
            certified = found.proof is not None and found.proof.certified
            right = ideal is None or h == ideal
            yield Run(way.method, way.order, string, h, found.labels, self.excess(h), certified, right, lab, **about)

    def ideal(self, made: Any, shared: SharedRandomness) -> int | None:
        """What a certificate says the answer is, by the whole population; None where it says something else."""
        errors = self.models.errors
        if isinstance(made, HandicapPlan):
            members, c, _ = made.terms(shared)
            scores = [
                int(errors[h]) * UNIT + int(units) * len(self.models.truth) for h, units in zip(members, c, strict=True)
            ]
            return int(members[scores.index(min(scores))])
        return None

    def excess(self, h: int) -> float:
        return float(self.population.error(h) - self.population.nu)

    def public_order(self, string: int, source: str = "public") -> Prior:
        """Fewest errors on public items first, ties by name."""
        return Prior.by_errors(self.population.C, self.public_errors(string, source))

    def public_errors(self, string: int, source: str) -> NDArray[np.int64]:
        """Of every model, on the public items."""
        return np.asarray(self.wrong(self.public_rows(string, source)).sum(axis=0))

    def public_rows(self, string: int, source: str = "public") -> NDArray[np.int64]:
        """The rows of the population that are the public items."""
        rows = PrivateRandomness.simulated(self.seed, self.models.name, string, "public").generator()
        if source == "elsewhere":
            weights = np.where(2 * self.models.truth < self.models.labels, float(OFTEN), 1.0)
            return rows.choice(len(self.models.truth), size=PUBLIC, p=weights / weights.sum())
        return rows.integers(len(self.models.truth), size=PUBLIC)

    def best(self, labels: int, public: NDArray[np.int64], string: int, name: str) -> int:
        """The usual way, with so many labels of the lab's own beside the public ones."""
        private = PrivateRandomness.simulated(*self.private(string, name))
        pool = self.population.pool(self.items, private)
        return usual_way(pool, self.population.labels(pool, private), labels, public)

    def wrong(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.asarray(self.models.predictions[rows] != self.models.truth[rows, None])

    def lab(self, chosen: Any, string: int, name: str) -> Any:
        """What one lab finds: whatever it runs, it has the same pool."""
        active, private = learner_for(chosen), self.private(string, name)
        return run_lab(active, self.population, self.items, self.shared(string), private).result

    def rows(self, string: int, name: str) -> NDArray[np.int64]:
        """The rows of the population that are a lab's items, in the order in which it goes through them."""
        pool = self.population.pool(self.items, PrivateRandomness.simulated(*self.private(string, name)))
        return np.asarray(pool.ids[pool.order])

    def shared(self, string: int) -> SharedRandomness:
        return SharedRandomness(f"{self.seed}/{self.models.name}/{string}")

    def private(self, string: int, name: str) -> tuple[str | int, ...]:
        return (self.shared(string).seed, self.items, name)


def joint_tolerance(made: HandicapPlan, counts: list[NDArray[np.int64]]) -> float:
    """U of the first of the public order, by the counts of independent labs added up."""
    accounts = Accounts(counts[0].shape[1], made)
    accounts.counts = sum(counts[1:], counts[0])
    assert made.favourite is not None, "only an order has counts"
    return up(tolerance_of(made, accounts, made.favourite))


# Figures


def key(run: Run) -> tuple[str, str]:
    return run.method, run.order


def summary(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """One entry for each method and order (sorting leaves the labs of a string together)."""
    return [
        {"method": method, "order": order, **figures(list(some))}
        for (method, order), some in groupby(sorted(runs, key=key), key=key)
    ]


def figures(runs: list[Run]) -> dict[str, Any]:
    """Counts of labs and of pairs, the first two labs of each string; what labs know together, by how many they are."""
    every, runs = runs, [run for run in runs if run.lab != "C"]
    pairs = list(zip(runs[::2], runs[1::2], strict=True))
    assert all(one.string == two.string for one, two in pairs)
    both = [(one, two) for one, two in pairs if one.certified and two.certified]
    agreements = sum(one.answer == two.answer for one, two in pairs)
    low, high = clopper_pearson(agreements, len(pairs))
    labels, excess = [run.labels for run in runs], [run.excess for run in runs]
    return {
        "labs": len(runs),
        "certified": sum(run.certified for run in runs),
        "wrong_certificates": sum(run.certified and not run.ideal for run in runs),
        "pairs": len(pairs),
        "agreements": agreements,
        "agreement_low": low,
        "agreement_high": high,
        "certified_pairs": len(both),
        "certified_and_different": sum(one.answer != two.answer for one, two in both),
        "labels_mean": sum(labels) / len(labels),
        "labels_median": median(labels),
        "excess_mean": sum(excess) / len(excess),
        "excess_median": median(excess),
        "excess_99": float(np.quantile(excess, 0.99, method="inverted_cdf")),
        "excess_max": max(excess),
        "excess_above_epsilon": sum(each > EPSILON for each in excess),
        "together": [together([run for run in every if run.lab == lab]) for lab in "ABC"] if every[0].common else [],
    }


def together(runs: list[Run]) -> dict[str, Any] | None:
    """What this lab of each string and those before it know; None if there is no such lab."""
    if not runs:
        return None
    known = [run.tolerance for run in runs if run.tolerance is not None]
    return {
        "groups": len(runs),
        "one_common": sum(run.common == 1 for run in runs),
        "none_common": sum(run.common == 0 for run in runs),
        "wrong": sum(not run.common_ideal for run in runs),
        "tolerance_median": median(known) if known else None,
        "tolerance_90": float(np.quantile(known, 0.9, method="inverted_cdf")) if known else None,
        "tolerance_within": sum(each <= EPSILON for each in known),
    }


def growth(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many labs of handicap are certified after each growth of their pools."""
    runs = [Run(**run) for part in parts for run in part["runs"]]
    return [
        {
            "order": order,
            "labs": len(some),
            "certified": [sum(run.certified and run.scanned <= items for run in some) for items in sizes],
            "wrong": sum(run.certified and run.scanned <= sizes[-1] and not run.ideal for run in some),
            "items": sizes,
        }
        for order in ("public", "random")
        for some in [[run for run in runs if key(run) == ("handicap", order)]]
        for sizes in GROWN.values()
    ]


def way(found: list[dict[str, Any]], method: str, order: str) -> dict[str, Any] | None:
    return next((each for each in found if (each["method"], each["order"]) == (method, order)), None)


def totals(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All sets of one pool size together; besides, labels as the geometric mean over sets of the means within them."""
    found = summary(Run(**run) for part in parts for run in part["runs"])
    for each in found:
        of_sets = [way(part["figures"], each["method"], each["order"]) for part in parts]
        means = [some["labels_mean"] for some in of_sets if some is not None]
        each["sets"] = len(means)
        each["labels_geometric"] = geometric_mean(means) if min(means) > 0 else 0.0
    return [some for each in WAYS if (some := way(found, *each.key)) is not None]


def generated(part: dict[str, Any]) -> bool:
    """Has the set so many rows that a pool hardly holds one twice?"""
    return len(models_of(part["setting"]["set"]).truth) == GENERATED


def about(models: ModelSet) -> dict[str, Any]:
    """What a set is like, and what the public items alone would have given: the first in each public order."""
    excess = (models.errors - models.errors.min()) / len(models.truth)
    labs = Labs(models, 1)
    firsts = excess[[int(np.argmin(labs.public_order(string).places)) for string in range(max(STRINGS.values()))]]
    return {
        "name": models.name,
        "words": models.words,
        "models": len(models.candidates),
        "labels": models.labels,
        "rows": len(models.truth),
        "best_error": float(models.errors.min() / len(models.truth)),
        "second_excess": float(np.sort(excess)[1]),
        "within_epsilon": int((excess <= EPSILON).sum()),
        "public_first_excess_mean": float(firsts.mean()),
        "public_first_excess_max": float(firsts.max()),
    }


# Running


def say(words: str, end: str = "\n") -> None:
    print(words, file=sys.stderr, end=end, flush=True)


@cache
def models_of(name: str) -> ModelSet:
    say(f"fitting {name}")
    return make(name)


def kept(path: Path, setting: dict[str, Any], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `work` finds, from the file if it was found in the same setting before."""
    if path.exists() and (known := json.loads(path.read_text(encoding="utf-8")))["setting"] == setting:
        return dict(known)
    made: dict[str, Any] = {"setting": setting, **work()}
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(made), encoding="utf-8")
    unfinished.replace(path)
    return made


def all_runs(labs: Callable[[int], list[Run]], strings: int, workers: int) -> list[Run]:
    """The runs of all strings; a dot is a string."""
    runs = list[Run]()
    for some in ordered_map(labs, range(strings), workers):
        runs += some
        say(".", end="")
    return runs


def part(path: Path, name: str, items: int, strings: int, workers: int) -> dict[str, Any]:
    """All runs of one set and pool size, from the file if they are there; a dot is a string."""

    def work() -> dict[str, Any]:
        labs, started = Labs(models_of(name), items), time.perf_counter()
        say(f"{name}, {items:,} items ", end="")
        runs = all_runs(labs, strings, workers)
        say(f" {time.perf_counter() - started:.0f} s")
        return {"figures": summary(runs), "runs": [asdict(run) for run in runs]}

    return kept(path, {**SETTING, "set": name, "items": items, "strings": strings}, work)


def commit() -> str:
    """The commit that is measured, with a + if its library was changed."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], capture_output=True, text=True, cwd=Path(__file__).parent, check=False)
        return done.stdout.strip()

    return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--", "../src") else "")


def record(folder: Path, found: dict[str, Any]) -> Path:
    """Add a file of figures to a folder of the history."""
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "numpy": np.__version__}
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{len(list(folder.glob('0*.json'))) + 1:04d}.json"
    file.write_text(json.dumps({"machine": machine, **found}, indent=1) + "\n", encoding="utf-8")
    return file


def recorded() -> dict[str, Any]:
    """The last record."""
    return dict(json.loads(sorted(HISTORY.glob("0*.json"))[-1].read_text(encoding="utf-8")))


def grow(names: Iterable[str], strings: int, workers: int, out: Path, *, kept: bool) -> None:
    """Measure pools that grow, print and write it."""
    from choosing_growth import Growing, summary, table

    runs, begun = [], time.perf_counter()
    for name in names:
        for some in ordered_map(Growing(models_of(name)), range(strings), workers):
            runs += some
        say(f"{name}: {time.perf_counter() - begun:.0f} s")
    found = {**SETTING, "commit": commit(), "sets": list(names), "strings": strings, "growth": summary(runs)}
    out.mkdir(parents=True, exist_ok=True)
    for file in (out / "choosing-growth.json", *([HISTORY / "growth.json"] if kept else [])):
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (out / "choosing-growth.md").write_text(table(found["growth"]), encoding="utf-8")
    print(table(found["growth"]), end="")


def order(names: Iterable[str], strings: int, workers: int, out: Path, *, kept: bool) -> None:
    """Measure public orders, print and write it."""
    from choosing_orders import FRESH, SIZES, Ordering, summary, table

    rows, begun = [], time.perf_counter()
    for items in SIZES:
        runs = []
        for name in names:
            for some in ordered_map(Ordering(models_of(name), items), range(strings), workers):
                runs += some
            say(f"{name}, {items:,} items: {time.perf_counter() - begun:.0f} s")
        rows += summary(runs, items)
    found = {**SETTING, "seed": FRESH, "commit": commit(), "sets": list(names), "strings": strings, "orders": rows}
    out.mkdir(parents=True, exist_ok=True)
    for file in (out / "choosing-orders.json", *([HISTORY / "orders.json"] if kept else [])):
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (out / "choosing-orders.md").write_text(table(rows), encoding="utf-8")
    print(table(rows), end="")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two sets and two strings, pools of 500 items")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), help="only these sets")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder for what is written")
    parser.add_argument("--record", action="store_true", help="add a file to benchmarks/history/choosing")
    parser.add_argument("--growth", action="store_true", help="measure pools that grow, and nothing else")
    parser.add_argument("--orders", action="store_true", help="measure public orders, and nothing else")
    parser.add_argument("--strings", type=int, default=10, help="of --orders: strings a set (10)")
    given = parser.parse_args()
    names = given.sets or (QUICK if given.quick else list(SETS))
    if given.growth:
        grow(names, 2 if given.quick else STRINGS[500], given.workers, given.out, kept=given.record)
        return
    if given.orders:
        order(names, 2 if given.quick else given.strings, given.workers, given.out, kept=given.record)
        return
    sizes = {500: 2} if given.quick else STRINGS
    kept, path, begun = given.out / "choosing-parts", given.out / "choosing", time.perf_counter()
    found: dict[str, Any] = {**SETTING, "commit": commit()}
    found |= {"sets": [about(models_of(name)) for name in names], "pools": [], "growth": []}
    for items, strings in sizes.items():
        parts = [part(kept / f"{name}-{items}.json", name, items, strings, given.workers) for name in names]
        sets = [{"name": each["setting"]["set"], "figures": each["figures"]} for each in parts]
        pool = {"items": items, "strings": strings, "totals": totals(parts), "sets": sets}
        found["pools"].append(pool | {"generated": totals([each for each in parts if generated(each)])})
        if items == LARGEST:
            found["growth"] = growth(parts)
        path.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        path.with_suffix(".md").write_text(tables(found), encoding="utf-8")
        figure(found, path)
        minutes = (time.perf_counter() - begun) / 60
        say(f"{items:,} items done after {minutes:.0f} minutes; wrote {path}.json, .md, .svg and .png")
    shutil.rmtree(kept)
    if given.record:
        pools = [{name: pool[name] for name in pool if name != "sets"} for pool in found["pools"]]
        say(f"recorded in {record(HISTORY, {**found, 'pools': pools})}")
    print(tables(found))


if __name__ == "__main__":
    main()
