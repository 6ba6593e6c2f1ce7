"""How labs choose among candidate models: all ways side by side, on real models.

Twelve sets of fitted models (benchmarks/model_sets.py). A set's population is a table of rows that no model was fitted
on, with predictions and true labels; a lab's items are independent draws from it, with replacement. For each set and
pool size two labs run with each of the strings "choosing/SET/0", "choosing/SET/1", ..:

- `settled`, with a public order (fewest errors on 100 public items first, ties by name) and with the string's random
  order. The public items are drawn anew for every string, from the same population and independently of both labs;
- `argmax`: the model with the fewest errors on as many labels as settled took. Only items on which models differ are
  labelled, as others cannot tell who is best; ties go to the first in the shared order;
- `model-picker` (benchmarks/model_picker.py) over the whole pool, and stopped at as many labels as settled took;
- `public-first`: the first of the public order, without a label of a lab's own;
- `a2` at its own stop (the first in the order of who is left), and `rounded-a2` with κ = .02, with both orders.

Before the first label `replical.worlds.forecast` says how many labels settled (public order) and rounded-a2 will take.

    python benchmarks/choosing.py [--quick] [--workers W] [--out DIR]

writes DIR/choosing.json, .md (tables) and .svg/.png (figure), anew after each pool size. What is done is kept in
DIR/choosing-parts until the end: an interrupted run goes on from there if it is started again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np
from choosing_tables import figure, tables
from model_picker import pick
from model_sets import SETS, ModelSet, make
from numpy.typing import NDArray

from replical import Pool, PredictionTable, Prior, PrivateRandomness, SharedRandomness, World, plan
from replical.classes.prior import UNIFORM
from replical.core.exact import clopper_pearson
from replical.core.parallel import ordered_map
from replical.learners.planning import learner_for
from replical.worlds.audit import run_lab
from replical.worlds.forecast import forecast
from replical.worlds.world import Population

SEED = "choosing"  # chosen once: string number s of a set is SEED/SET/s
STRINGS = {500: 10, 2_000: 10, 10_000: 10, 100_000: 3}  # by items in a pool
FORECAST = 10_000  # forecasts are made for pools up to this size,
DRAWS = 12  # from so many worlds, half of what `replical plan` looks at
EPSILON, DELTA, RHO, KAPPA = 0.05, 0.05, 0.1, 0.02
COMMON = {"epsilon": EPSILON, "delta": DELTA}
SETTLED = {**COMMON, "rho": RHO}
ROUNDED = {**SETTLED, "kappa": KAPPA}
PUBLIC = 100  # labelled items that a public order is made from
QUICK = ("iris-10", "even-odd-240")
SETTING = {"seed": SEED, **ROUNDED, "public_items": PUBLIC, "forecast_draws": DRAWS}

WAYS = [
    ("settled", "public"),
    ("settled", "random"),
    ("argmax", "public"),
    ("argmax", "random"),
    ("model-picker-equal", "public"),
    ("model-picker-equal", "random"),
    ("model-picker", "public"),
    ("public-first", "public"),
    ("a2", "public"),
    ("a2", "random"),
    ("rounded-a2", "public"),
    ("rounded-a2", "random"),
]


@dataclass(frozen=True)
class Run:
    """One lab's run, or what it would have chosen otherwise."""

    method: str
    order: str
    string: int
    answer: int
    labels: int
    excess: float
    certified: bool = False
    ideal: bool = True  # is the answer the ideal one, where that is what a certificate claims?


@dataclass(frozen=True)
class Labs:
    """Pairs of labs that choose from one set, with so many items each; called with a string's number."""

    models: ModelSet
    items: int

    @cached_property
    def population(self) -> Population:
        models = self.models
        C = PredictionTable(models.candidates, labels=range(models.labels))
        world = World(C=C, cells=C.items(models.predictions), law=np.eye(models.labels)[models.truth])
        return world.population()

    def __call__(self, string: int) -> list[Run]:
        return list(self.runs(string))

    def runs(self, string: int) -> Iterator[Run]:
        C, shared = self.population.C, self.shared(string)
        finite = {"pool": "finite", "items": self.items}
        left = {name: self.lab(plan("a2", C, pool="finite", **COMMON), string, name) for name in "AB"}
        for order, prior in (("public", self.public_order(string)), ("random", UNIFORM)):
            places = prior.order_of(shared, "order", n=len(C))
            settled = plan("settled", C, pool="finite", prior=prior, **SETTLED)
            rounded = plan("rounded-a2", C, prior=prior, **finite, **ROUNDED)
            ideal = self.ideal(places, settled.threshold(shared))
            for name in "AB":

                def run(method: str, answer: int, labels: int, **about: Any) -> Run:
                    excess = float(self.population.error(answer) - self.population.nu)
                    return Run(method, order, string, answer, labels, excess, **about)  # noqa: B023

                found = self.lab(settled, string, name)
                h, n = found.hypothesis, found.labels
                yield run("settled", h, n, certified=found.settling.certified, ideal=h == ideal)
                yield run("argmax", self.best(n, places, string, name), n)
                yield run("model-picker-equal", *self.picked(places, string, name, budget=n))
                if order == "public":
                    yield run("model-picker", *self.picked(places, string, name))
                    yield run("public-first", int(places[0]), 0)
                yield run("a2", left[name].V.first(shared, prior), left[name].labels)
                found = self.lab(rounded, string, name)
                yield run("rounded-a2", found.hypothesis, found.labels, certified=found.rounding.certified)

    def public_order(self, string: int) -> Prior:
        """Fewest errors on public items first, ties by name."""
        return Prior.by_errors(self.population.C, self.wrong(self.public_rows(string)).sum(axis=0))

    def public_rows(self, string: int) -> NDArray[np.int64]:
        """The rows of the population that are the public items."""
        rows = PrivateRandomness.simulated(SEED, self.models.name, string, "public").generator()
        return rows.integers(len(self.models.truth), size=PUBLIC)

    def ideal(self, places: NDArray[np.int64], v: Fraction) -> int:
        """The first in the order whose excess error is at most v, by the whole population."""
        errors = self.models.errors
        good = [h for h in places.tolist() if Fraction(int(errors[h] - errors.min()), len(self.models.truth)) <= v]
        return good[0]

    def best(self, labels: int, places: NDArray[np.int64], string: int, name: str) -> int:
        """The best on the first items on which models differ; of equally good ones the first in the order."""
        rows = self.rows(string, name)
        says = self.models.predictions[rows]
        differ = (says != says[:, :1]).any(axis=1)
        return first_of_least(self.wrong(rows[differ][:labels]).sum(axis=0), places)

    def picked(self, places: NDArray[np.int64], string: int, name: str, **budget: int) -> tuple[int, int]:
        """What Model Picker chooses, of equally good ones the first in the order; and its labels."""
        rows = self.rows(string, name)
        coins = PrivateRandomness.simulated(*self.private(string, name)).generator("coins").random(len(rows))
        losses, asked = pick(self.models.predictions[rows], self.models.truth[rows], coins, **budget)
        return first_of_least(losses, places), asked

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
        return SharedRandomness(f"{SEED}/{self.models.name}/{string}")

    def private(self, string: int, name: str) -> tuple[str | int, ...]:
        return (self.shared(string).seed, self.items, name)

    def forecasts(self, found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """What the first lab could have known before its first label, beside what all labs found."""
        private = PrivateRandomness.simulated(*self.private(0, "A"))
        pool = Pool(self.population.C, self.population.cells[self.rows(0, "A")], private)
        public = {"prior": self.public_order(0)}
        for learner, order, options in (
            ("settled", "public", {**SETTLED, **public}),
            ("rounded-a2", "random", {**ROUNDED, "items": self.items}),
        ):
            said = forecast(pool, learner, options, draws=DRAWS)
            fact = way(found, learner, order)
            yield {
                "method": learner,
                "order": order,
                "labels_low": said.labels_low,
                "labels": said.labels_median,
                "labels_high": said.labels_high,
                "labels_fact": fact["labels_median"],
                "ratio": max(said.labels_median, 1.0) / max(fact["labels_median"], 1.0),
                "covered": said.labels_low <= fact["labels_median"] <= said.labels_high,
                "certified": said.certified_fraction,
                "certified_fact": fact["certified"] / fact["labs"],
            }


def first_of_least(losses: NDArray[Any], places: NDArray[np.int64]) -> int:
    return int(places[np.argmin(losses[places])])


# Figures


def key(run: Run) -> tuple[str, str]:
    return run.method, run.order


def summary(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """One entry for each method and order; two runs of a string are a pair (sorting leaves them together)."""
    return [
        {"method": method, "order": order, **figures(list(some))}
        for (method, order), some in groupby(sorted(runs, key=key), key=key)
    ]


def figures(runs: list[Run]) -> dict[str, Any]:
    """Counts of labs and of pairs."""
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
        "excess_99": float(np.quantile(excess, 0.99, method="inverted_cdf")),
        "excess_max": max(excess),
        "excess_above_epsilon": sum(each > EPSILON for each in excess),
    }


def way(found: list[dict[str, Any]], method: str, order: str) -> dict[str, Any]:
    return next(each for each in found if (each["method"], each["order"]) == (method, order))


def totals(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All sets of one pool size together; besides, labels as the geometric mean over sets of the means within them."""
    together = summary(Run(**run) for part in parts for run in part["runs"])
    for each in together:
        means = [way(part["figures"], each["method"], each["order"])["labels_mean"] for part in parts]
        each["labels_geometric"] = geometric_mean(means) if min(means) > 0 else 0.0
    return [way(together, *named) for named in WAYS]


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
    """All runs of one set and pool size, from the file if they are there; a dot is a string, an f a forecast."""

    def work() -> dict[str, Any]:
        labs, started = Labs(models_of(name), items), time.perf_counter()
        say(f"{name}, {items:,} items ", end="")
        runs = all_runs(labs, strings, workers)
        found, forecasts = summary(runs), []
        for each in labs.forecasts(found) if items <= FORECAST else ():
            forecasts.append(each)
            say("f", end="")
        say(f" {time.perf_counter() - started:.0f} s")
        return {"figures": found, "forecasts": forecasts, "runs": [asdict(run) for run in runs]}

    return kept(path, {**SETTING, "set": name, "items": items, "strings": strings}, work)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two sets and two strings, pools of 500 items")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), help="only these sets")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder for what is written")
    given = parser.parse_args()
    names = given.sets or (QUICK if given.quick else list(SETS))
    sizes = {500: 2} if given.quick else STRINGS
    kept, path, begun = given.out / "choosing-parts", given.out / "choosing", time.perf_counter()
    found: dict[str, Any] = {**SETTING, "sets": [about(models_of(name)) for name in names], "pools": []}
    for items, strings in sizes.items():
        parts = [part(kept / f"{name}-{items}.json", name, items, strings, given.workers) for name in names]
        sets = [{"name": each["setting"]["set"], **{k: each[k] for k in ("figures", "forecasts")}} for each in parts]
        found["pools"].append({"items": items, "strings": strings, "totals": totals(parts), "sets": sets})
        path.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        path.with_suffix(".md").write_text(tables(found), encoding="utf-8")
        figure(found, path)
        minutes = (time.perf_counter() - begun) / 60
        say(f"{items:,} items done after {minutes:.0f} minutes; wrote {path}.json, .md, .svg and .png")
    shutil.rmtree(kept)
    print(tables(found))


if __name__ == "__main__":
    main()
