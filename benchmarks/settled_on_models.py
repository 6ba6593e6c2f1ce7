"""What `settled` does on real candidate models: certificates, agreement, labels, beside the alternatives.

Twelve sets of fitted models (benchmarks/model_sets.py). A set's population is a table of rows that no model was fitted
on, with predictions and true labels; a lab's items are independent draws from it, with replacement. For each set and
pool size two labs run with each of the strings "settled-on-models/0", "settled-on-models/1", ..:

- `settled`, with a public order (fewest errors on 100 public items first, ties by name) and with the string's random
  order; with v from [.5ε, ε] and from [.75ε, ε], the default. The public items are drawn anew for every string, from the
  same population and independently of both labs;
- `argmax`: the model with the fewest errors on as many items of the lab's pool as settled asked about, drawn as they
  come; ties go to the first in the shared order;
- `a2` at its own stop (the first in the order of who is left), with both orders, and `rounded-a2` with κ = .02 and the
  random order.

    python benchmarks/settled_on_models.py [--quick] [--workers W] [--out DIR]

writes DIR/settled-on-models.json, .md (tables) and .svg/.png (figure).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np
from model_sets import SETS, ModelSet, make
from numpy.typing import NDArray

from replical import PredictionTable, Prior, PrivateRandomness, SharedRandomness, World, plan
from replical.classes.prior import UNIFORM
from replical.core.parallel import in_processes
from replical.learners.for_plan import learner_for
from replical.study.pictures.style import blank, save, style
from replical.worlds.audit import run_lab
from replical.worlds.population import Population

SEED = "settled-on-models"  # chosen once: string number s is SEED/s
STRINGS = 20
SIZES = (2_000, 20_000)
EPSILON, DELTA, RHO, KAPPA = 0.05, 0.05, 0.1, 0.02
RANGES = {".5": 0.5 * EPSILON, ".75": 0.75 * EPSILON}  # where the range of v begins, as a share of ε
DEFAULT = ".75"
PUBLIC = 100  # labelled items that a public order is made from
QUICK = ("iris-10", "even-odd-240")


@dataclass(frozen=True)
class Run:
    """One lab's run, or what it would have chosen otherwise."""

    method: str
    order: str
    items: int
    string: int
    answer: int
    labels: int
    excess: float
    start: str = ""  # of the range of v, as a share of ε, where there is one
    certified: bool = False
    ideal: bool = True  # is the answer the ideal one, where that is what a certificate claims?


@dataclass(frozen=True)
class Piece:
    """All runs of one set with one string and pool size; number i is a string and a size."""

    models: ModelSet
    sizes: tuple[int, ...]

    @cached_property
    def population(self) -> Population:
        models = self.models
        C = PredictionTable(models.candidates, labels=range(models.labels))
        world = World(C=C, cells=C.items(models.predictions), law=np.eye(models.labels)[models.truth])
        return world.population()

    def __call__(self, number: int) -> list[Run]:
        string, place = divmod(number, len(self.sizes))
        return list(self.runs(string, self.sizes[place]))

    def runs(self, string: int, items: int) -> Iterator[Run]:
        C, shared = self.population.C, SharedRandomness(f"{SEED}/{string}")
        options = {"epsilon": EPSILON, "delta": DELTA, "pool": "finite"}
        left = [self.lab(plan("a2", C, **options), items, shared, name) for name in "AB"]
        rounded = plan("rounded-a2", C, rho=RHO, kappa=KAPPA, items=items, **options)
        for order, prior in (("public", self.public_order(string)), ("random", UNIFORM)):
            places = prior.order_of(shared, "order", n=len(C))
            about = {"order": order, "items": items, "string": string}
            for start, a in RANGES.items():
                settled = plan("settled", C, rho=RHO, a=a, prior=prior, **options)
                ideal = self.ideal(places, settled.threshold(shared))
                for name in "AB":
                    found = self.lab(settled, items, shared, name)
                    h, certified = found.hypothesis, found.settling.certified
                    yield self.run(
                        "settled", h, found.labels, start=start, certified=certified, ideal=h == ideal, **about
                    )
                    best = self.best(found.labels, items, places, self.private(items, shared, name))
                    yield self.run("argmax", best, found.labels, start=start, **about)
            for found in left:
                yield self.run("a2", found.V.first(shared, prior), found.labels, **about)
        for name in "AB":
            found = self.lab(rounded, items, shared, name)
            certified = found.rounding.certified
            yield self.run("rounded-a2", found.hypothesis, found.labels, certified=certified, **about)

    def public_order(self, string: int) -> Prior:
        """Fewest errors on public items first, ties by name."""
        models = self.models
        rows = PrivateRandomness.simulated(SEED, models.name, string, "public").generator()
        chosen = rows.integers(len(models.truth), size=PUBLIC)
        errors = (models.predictions[chosen] != models.truth[chosen, None]).sum(axis=0).tolist()
        return Prior.order(self.population.C, [name for _, name in sorted(zip(errors, models.candidates, strict=True))])

    def ideal(self, places: NDArray[np.int64], v: Fraction) -> int:
        """The first in the order whose excess error is at most v, by the whole population."""
        errors = self.models.errors
        good = [h for h in places.tolist() if Fraction(int(errors[h] - errors.min()), len(self.models.truth)) <= v]
        return good[0]

    def best(self, labels: int, items: int, places: NDArray[np.int64], lab: tuple[str | int, ...]) -> int:
        """The best on the first items of a lab's pool; of equally good ones the first in the order."""
        models, pool = self.models, self.population.pool(items, PrivateRandomness.simulated(*lab))
        rows = pool.ids[pool.order[:labels]]
        errors = (models.predictions[rows] != models.truth[rows, None]).sum(axis=0)
        return int(places[np.argmin(errors[places])])

    def lab(self, chosen: Any, items: int, shared: SharedRandomness, name: str) -> Any:
        """What one lab finds: whatever it runs, it has the same pool."""
        return run_lab(learner_for(chosen), self.population, items, shared, self.private(items, shared, name)).result

    def private(self, items: int, shared: SharedRandomness, name: str) -> tuple[str | int, ...]:
        return (shared.seed, self.models.name, items, name)

    def run(self, method: str, answer: int, labels: int, **about: Any) -> Run:
        excess = float(self.population.error(answer) - self.population.nu)
        return Run(method=method, answer=answer, labels=labels, excess=excess, **about)


def key(run: Run) -> tuple[int, str, str, str]:
    return run.items, run.method, run.order, run.start


def summary(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """Figures of one set, one entry for each pool size, method, order and range."""
    return [
        {"items": items, "method": method, "order": order, "start": start, **figures(list(some))}
        for (items, method, order, start), some in groupby(sorted(runs, key=key), key=key)
    ]


def figures(runs: list[Run]) -> dict[str, Any]:
    """Counts of labs and of pairs; two runs in a row are a pair (sorting leaves them together)."""
    pairs = list(zip(runs[::2], runs[1::2], strict=True))
    assert all(one.string == two.string for one, two in pairs)
    both = [(one, two) for one, two in pairs if one.certified and two.certified]
    labels = [run.labels for run in runs]
    return {
        "labs": len(runs),
        "certified": sum(run.certified for run in runs),
        "wrong_certificates": sum(run.certified and not run.ideal for run in runs),
        "pairs": len(pairs),
        "agreements": sum(one.answer == two.answer for one, two in pairs),
        "certified_pairs": len(both),
        "certified_and_different": sum(one.answer != two.answer for one, two in both),
        "labels_mean": sum(labels) / len(labels),
        "labels_median": median(labels),
        "excess_mean": sum(run.excess for run in runs) / len(runs),
        "excess_max": max(run.excess for run in runs),
        "excess_above_epsilon": sum(run.excess > EPSILON for run in runs),
    }


def about(piece: Piece, strings: int) -> dict[str, Any]:
    """What a set is like, and what the public items alone would have given: the first in each public order."""
    models = piece.models
    excess = (models.errors - models.errors.min()) / len(models.truth)
    firsts = excess[[int(np.argmin(piece.public_order(string).places)) for string in range(strings)]]
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


# Tables


def chosen(found: dict[str, Any], items: int, method: str, order: str, start: str) -> dict[str, Any]:
    key = {"items": items, "method": method, "order": order, "start": start}
    return next(each for each in found["figures"] if key.items() <= each.items())


def row(found: dict[str, Any], items: int) -> list[str]:
    """One set: figures with a public and with a random order, settled with its default range of v."""

    def both(method: str, start: str, cell: Callable[[dict[str, Any]], str]) -> str:
        return " / ".join(cell(chosen(found, items, method, order, start)) for order in ("public", "random"))

    a2, rounded = (chosen(found, items, method, "random", "") for method in ("a2", "rounded-a2"))
    return [
        found["set"]["name"],
        both("settled", DEFAULT, lambda each: share(each["certified"], each["labs"])),
        both("settled", DEFAULT, lambda each: f"{each['labels_mean']:.0f}"),
        both("settled", DEFAULT, lambda each: f"{each['labels_median']:.0f}"),
        f"{a2['labels_mean']:.0f}",
        f"{rounded['labels_mean']:.0f}",
        *(both(method, start, agreement) for method, start in (("settled", DEFAULT), ("argmax", DEFAULT), ("a2", ""))),
        agreement(rounded),
        *(both(method, DEFAULT, lambda each: f"{each['excess_mean']:.4f}") for method in ("settled", "argmax")),
    ]


COLUMNS = ("set", "certified", "labels", "median", "labels A²", "Rounded A²", "agree: settled", "argmax", "A²",
           "Rounded A²", "excess: settled", "argmax")  # fmt: skip


def agreement(found: dict[str, Any]) -> str:
    return share(found["agreements"], found["pairs"])


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%"


def markdown(columns: Iterable[str], rows: Iterable[list[str]]) -> str:
    columns = list(columns)
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in rows)]) + "\n"


def totals(results: list[dict[str, Any]], sizes: Iterable[int]) -> list[dict[str, Any]]:
    """Over all sets: counts added up, labels as the geometric mean over sets of the means within them."""
    totals = []
    for items in sizes:
        for method, order, start in WAYS:
            all_sets = [chosen(found, items, method, order, start) for found in results]
            added = {name: sum(each[name] for each in all_sets) for name in ADDED}
            labels = geometric_mean(max(1.0, each["labels_mean"]) for each in all_sets)
            excess = sum(each["excess_mean"] for each in all_sets) / len(all_sets)
            way = {"items": items, "method": method, "order": order, "start": start}
            totals.append(way | added | {"labels": labels, "excess_mean": excess})
    return totals


ADDED = ("labs", "certified", "wrong_certificates", "pairs", "agreements", "certified_pairs", "certified_and_different",
         "excess_above_epsilon")  # fmt: skip
WAYS = [
    *(("settled", order, start) for order in ("public", "random") for start in RANGES),
    *(("argmax", order, start) for order in ("public", "random") for start in RANGES),
    ("a2", "public", ""),
    ("a2", "random", ""),
    ("rounded-a2", "random", ""),
]


def total_row(found: dict[str, Any]) -> list[str]:
    proves = found["method"] in ("settled", "rounded-a2")
    settled = found["method"] == "settled"
    return [
        f"{found['items']:,}",
        found["method"],
        found["order"],
        f"[{found['start']}ε, ε]" if found["start"] else "",
        share(found["certified"], found["labs"]) if proves else "",
        f"{found['wrong_certificates']} of {found['certified']}" if settled else "",
        f"{found['certified_and_different']} of {found['certified_pairs']}" if proves else "",
        agreement(found),
        f"{found['labels']:.0f}",
        f"{found['excess_mean']:.4f}",
        f"{found['excess_above_epsilon']} of {found['labs']}",
    ]


TOTALS = ("items", "method", "order", "v from", "certified labs", "wrong certificates", "pairs certified and different",
          "pairs that agree", "labels a lab", "mean excess", "labs above ε")  # fmt: skip
ABOUT = ("set", "models", "labels", "rows", "best error", "second best: more by", "models within ε",
         "best on public items: excess, mean (largest)", "what it is")  # fmt: skip


def about_row(found: dict[str, Any]) -> list[str]:
    of = found["set"]
    counts = (f"{of[name]:,}" for name in ("models", "labels", "rows"))
    errors = (f"{of[name]:.3f}" for name in ("best_error", "second_excess"))
    first = f"{of['public_first_excess_mean']:.4f} ({of['public_first_excess_max']:.3f})"
    return [of["name"], *counts, *errors, str(of["within_epsilon"]), first, of["words"]]


def tables(results: list[dict[str, Any]], sizes: Iterable[int]) -> str:
    sizes = list(sizes)
    parts = [
        "The sets\n\n" + markdown(ABOUT, map(about_row, results)),
        "Over all sets\n\n" + markdown(TOTALS, map(total_row, totals(results, sizes))),
        *(f"{items:,} items\n\n" + markdown(COLUMNS, (row(found, items) for found in results)) for items in sizes),
    ]
    return "\n".join(parts)


def figure(results: list[dict[str, Any]], sizes: tuple[int, ...], path: Path) -> None:
    """Labels, certified labs and pairs that agree, set by set; the public order a little above the random one."""
    from matplotlib.ticker import StrMethodFormatter

    lines = np.arange(len(results))[::-1]
    with style():
        drawn = blank(11.5, 0.42 * len(results) + 1.7)
        labels, certified, agree = drawn.subplots(1, 3, sharey=True)
        for order, colour, above in (("public", "#1f6fb2", 0.15), ("random", "#c44e52", -0.15)):
            small, large = (
                [chosen(found, items, "settled", order, DEFAULT) for found in results]
                for items in (sizes[0], sizes[-1])
            )
            argmax = [chosen(found, sizes[-1], "argmax", order, DEFAULT) for found in results]
            places = lines + above
            labels.plot([each["labels_mean"] for each in large], places, "o", color=colour, label=f"{order} order")
            for axis, one, two, mark in ((certified, small, large, "o"), (agree, argmax, large, "x")):
                parts = ("certified", "labs") if axis is certified else ("agreements", "pairs")
                ends = [[100 * each[parts[0]] / each[parts[1]] for each in some] for some in (one, two)]
                axis.hlines(places, *ends, color=colour, lw=1, alpha=0.5)
                axis.plot(ends[0], places, mark, color=colour, mfc="white", markersize=8.5)  # larger: seen behind a dot
                axis.plot(ends[1], places, "o", color=colour, markersize=5)
        labels.set(xscale="log", xlim=(10, None), title=f"labels a lab\n({sizes[-1]:,} items)")
        labels.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        labels.xaxis.set_minor_formatter("")
        certified.set(title=f"labs certified, %\n(empty: {sizes[0]:,} items, full: {sizes[-1]:,})", xlim=(-4, 104))
        agree.set(title="pairs that agree, %\n(dot: settled, cross: the best on as many labels)", xlim=(-4, 104))
        labels.set_yticks(lines, [found["set"]["name"] for found in results])
        labels.set_ylim(-0.5, len(results) - 0.5)
        drawn.legend(*labels.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        for kind in (".svg", ".png"):
            save(drawn, path.with_suffix(kind))


def all_pieces(piece: Piece, count: int, workers: int) -> Iterator[list[Run]]:
    """One after the other, here or in processes of their own."""
    return map(piece, range(count)) if workers == 1 else in_processes(piece, count, workers)


def write(path: Path, results: list[dict[str, Any]], *, strings: int, sizes: tuple[int, ...]) -> None:
    """The figures as JSON, and the tables."""
    public = {"epsilon": EPSILON, "delta": DELTA, "rho": RHO, "kappa": KAPPA, "public_items": PUBLIC}
    setting = {"seed": SEED, "strings": strings, "sizes": sizes, **public}
    text = json.dumps({**setting, "totals": totals(results, sizes), "sets": results}, indent=1)
    path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(tables(results, sizes), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two sets and two strings, pools of 2,000 items")
    parser.add_argument("--workers", type=int, default=2, help="processes (2)")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), help="only these sets")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder for what is written")
    given = parser.parse_args()
    names = given.sets or (QUICK if given.quick else list(SETS))
    strings, sizes = (2, SIZES[:1]) if given.quick else (STRINGS, SIZES)
    given.out.mkdir(parents=True, exist_ok=True)
    path, results, begun = given.out / "settled-on-models", [], time.perf_counter()
    for number, name in enumerate(names, 1):
        models, started = make(name), time.perf_counter()
        piece, runs = Piece(models, sizes), list[Run]()
        for some in all_pieces(piece, strings * len(sizes), given.workers):
            runs += some
        results.append({"set": about(piece, strings), "figures": summary(runs)})
        write(path, results, strings=strings, sizes=sizes)  # again after every set: what is done is done
        seconds = time.perf_counter() - started
        print(f"[{number}/{len(names)}] {models.name}: {len(runs)} runs, {seconds:.0f} s", file=sys.stderr, flush=True)
    figure(results, sizes, path)
    print(tables(results, sizes))
    print(f"wrote {path}.json, .md, .svg and .png; {time.perf_counter() - begun:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
