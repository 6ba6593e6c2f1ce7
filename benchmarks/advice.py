"""Is the advice right? Labs that end without a proof do what they are told, and forecasts are compared with what came.

Twelve sets of fitted models (benchmarks/model_sets.py), public and lab rows from disjoint halves
(benchmarks/choosing_orders.py), epsilon = .05; a public order from a hundred labels asked actively or at random, or
exponentials; with --orders elsewhere, from a random hundred of another mix of labels. A lab has 500 or 2,000 items. If it
ends without a proof, items are added at the end of its pool, from the same population, until it has one, or 51 times as many
as at first. How many more items and labels it takes is compared with the range and the median it was told; besides, it runs
with the larger epsilon it was told, on the same items and on as many others.

Before the run labels and the chance of a proof are forecast from the unlabelled items of another lab (first string only).

Ranges are moved apart by `SPREAD` on either side. How many cover what came with this factor and others is told
of every other set, beginning with the first; what is shown as "the other sets" had no say in it.

    python benchmarks/advice.py [--quick] [--workers W] [--sets SET ..] [--strings N] [--orders ORDER ..] [--out DIR]
        [--record]

writes DIR/advice.json and .md, anew after each set; --record puts the figures at benchmarks/history/choosing and the table
on docs/how-to/plan-a-budget.md (with --orders the figures alone, at advice-ORDER.json). What is done is kept in
DIR/advice-parts until the end: an interrupted run goes on from there.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from choosing import COMMON, HISTORY, NUMBERS, QUICK, RHO, SETTING, Labs, all_runs, commit, kept, models_of, say
from choosing_orders import FRESH, Ordering
from choosing_tables import markdown, share
from model_sets import SETS, ModelSet

from replical import Pool, PrivateRandomness, learn, plan
from replical.classes.prior import UNIFORM, Prior
from replical.learners.handicap.ahead import FAR
from replical.learners.planning import learner_for
from replical.learners.result import SPREAD
from replical.worlds.forecast import forecast

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "plan-a-budget.md"
MARKS = ("<!-- benchmarks/advice.py -->\n", "<!-- end -->")  # between them the table stands on the page
ORDERS = {"active": "a hundred asked actively", "random": "a random hundred", "none": "exponentials"}
WORDS = {**ORDERS, "elsewhere": "a random hundred from elsewhere"}
ITEMS = (500, 2_000)
WHERE = {**SETTING, "seed": FRESH}
SPREADS = (1.0, 1.15, 1.3, 1.5, 2.0)
BATCH = 4  # items open at once: so much faster, and hardly another figure
FORECASTS = 1  # strings a set that are forecast


@dataclass(frozen=True)
class Told:
    """A range, of which `known` ends and median were known, and what came; None if that is beyond what was tried."""

    low: float
    median: float
    high: float
    known: int
    came: float | None
    near: float  # share of the plays that are within a factor 2 of their median

    def covers(self, spread: float = SPREAD) -> bool:
        """Is what came in the range, had its ends been moved apart by this `spread`?"""
        came = np.inf if self.came is None else self.came
        low, high = self.low * SPREAD / spread, self.high / SPREAD * spread
        return low <= came and (self.known < 3 or came <= high)

    @property
    def within_two(self) -> bool:
        if self.came is None:
            return self.known < 2
        return self.known >= 2 and max(self.came, 1) / 2 <= max(self.median, 1) <= 2 * max(self.came, 1)


@dataclass(frozen=True)
class Followed:
    """One lab: what was forecast, how it ended, and what came of the advice."""

    set: str
    items: int
    order: str
    labels: Told | None  # forecast; None where it was not
    chance: float | None
    certified: bool
    more_items: Told | None = None  # None where it had a proof
    more_labels: Told | None = None
    wider: tuple[bool, bool] | None = None  # a proof with the epsilon that was named: on these items, on as many others


@dataclass(frozen=True)
class Following:
    """Labs that follow advice; called with a string's number."""

    models: ModelSet
    orders: tuple[str, ...] = tuple(ORDERS)

    @cached_property
    def _orderings(self) -> dict[int, Ordering]:
        return {items: Ordering(self.models, items) for items in ITEMS}

    def __call__(self, string: int) -> list[Followed]:
        return [self.lab(items, order, string) for items in ITEMS for order in self.orders]

    def lab(self, items: int, order: str, string: int) -> Followed:
        """A lab that does what it is told."""
        labs = self._orderings[items].labs
        prior = UNIFORM if order == "none" else self._orderings[items].prior(order, string)[0]
        expected = self.forecast(labs, prior, string) if string < FORECASTS else None
        made = plan("handicap", labs.population.C, pool="finite", prior=prior, batch=BATCH, **NUMBERS)
        found = run(labs, made, string, "A", items)
        labels = None if expected is None else replace(expected[0], came=float(found.labels))
        about = (self.models.name, items, order, labels, None if expected is None else expected[1])
        proof = found.proof
        if proof.certified:
            return Followed(*about, certified=True)
        rest, later = proof.ahead.play(), run(labs, made, string, "A", items, FAR * items)
        came = {"items": later.proof.scanned - proof.scanned, "labels": later.labels - found.labels}
        told = {
            what: told_of(rest, what, float(came[what]) if later.proof.certified else None)
            for what in ("items", "labels")
        }
        epsilon = None if proof.tolerance is None else made.wider(proof.tolerance)
        wider = None
        if epsilon is not None:
            more = {**COMMON, "epsilon": epsilon}
            coarse = plan("handicap", labs.population.C, pool="finite", prior=prior, rho=RHO, batch=BATCH, **more)
            wider = tuple(run(labs, coarse, string, name, items).proof.certified for name in "AB")
        return Followed(*about, False, told["items"], told["labels"], wider)

    def forecast(self, labs: Labs, prior: Prior, string: int) -> tuple[Told, float | None]:
        """Labels and the chance of a proof, from what the models say about the items of a lab that does not run."""
        C = labs.population.C
        said = C.items(labs.models.predictions[labs.rows(string, "pilot")])
        pilot = Pool(C, said, PrivateRandomness.simulated("advice"))
        found = forecast(pilot, "handicap", {**NUMBERS, "prior": prior}, far=False)
        low, median, high = found.labels_low, found.labels_median, found.labels_high
        assert found.labs is not None, "handicap proves"
        near = np.mean((found.labs.labels >= median / 2) & (found.labs.labels <= 2 * median))
        return Told(low, median, high, 3, None, float(near)), found.certified_fraction


def run(labs: Labs, made: Any, string: int, name: str, items: int, more: int = 0) -> Any:
    """What a lab finds whose pool has grown by `more` items."""
    private = PrivateRandomness.simulated(*labs.private(string, name))
    drawn = labs.population.pool((FAR + 1) * items, private)
    order, ends = drawn.order[: items + more], (items,) if more else ()
    pool = Pool.in_order(labs.population.C, drawn.items, drawn.ids, order, drawn.predictions, ends)
    return learn(learner_for(made), pool, labs.population.labels(pool, private), labs.shared(string))


def told_of(rest: Any, what: str, came: float | None) -> Told:
    """A range that was told, and what came."""
    span, values = rest.span(what), np.where(rest.proven, getattr(rest, what), np.inf)
    near = (values >= span.median / 2) & (values <= 2 * span.median) if span.known >= 2 else np.isinf(values)
    return Told(span.low, span.median, span.high, span.known, came, float(np.mean(near)))


def summary(runs: list[Followed]) -> dict[str, Any]:
    """One row a group of labs; coverage on every other set for each spread, and on the others with the one that is used."""
    names = list(dict.fromkeys(run.set for run in runs))
    chosen, others = (set(names[start::2]) for start in (0, 1))
    groups = {
        f"{WORDS[order]}, {items:,} items": [run for run in runs if (run.order, run.items) == (order, items)]
        for items in ITEMS
        for order in WORDS
    }
    groups["all"] = runs
    groups["the other sets"] = [run for run in runs if run.set in others]
    rows = [{"labs": words, **figures(some)} for words, some in groups.items() if some]
    tuned = {
        f"{spread:g}": covered((run.more_items for run in runs if run.set in chosen), spread) for spread in SPREADS
    }
    return {"rows": rows, "spread": SPREAD, "covered_by_spread": tuned}


def covered(told: Iterable[Told | None], spread: float = SPREAD) -> float | None:
    known = [each.covers(spread) for each in told if each is not None]
    return float(np.mean(known)) if known else None


def figures(runs: list[Followed]) -> dict[str, Any]:
    """Of these labs: how good forecasts were, and advice."""
    ends = [run for run in runs if not run.certified]
    forecasts = [run for run in runs if run.labels is not None]
    wider = [run.wider for run in ends if run.wider is not None]
    items = [run.more_items for run in ends if run.more_items is not None]
    return {
        "runs": len(runs),
        "forecasts": len(forecasts),
        **of("forecast", [run.labels for run in forecasts if run.labels is not None]),
        "chance": float(np.mean([run.chance for run in forecasts])) if forecasts else None,
        "certified": float(np.mean([run.certified for run in forecasts])) if forecasts else None,
        "uncertified": len(ends),
        **of("items", items),
        **of("labels", [run.more_labels for run in ends if run.more_labels is not None]),
        "could": sum(each.known == 3 for each in items),
        "reached": sum(each.known == 3 and each.came is not None and each.came <= each.high for each in items),
        "wider": len(wider),
        "wider_same": sum(same for same, _ in wider),
        "wider_others": sum(others for _, others in wider),
    }


def of(name: str, told: list[Told]) -> dict[str, Any]:
    """How many ranges hold what came, how many medians are within a factor 2, and how many plays are."""
    return {
        f"{name}_covered": sum(each.covers() for each in told),
        f"{name}_within_two": sum(each.within_two for each in told),
        f"{name}_near": float(np.mean([each.near for each in told])) if told else None,
    }


def table(found: dict[str, Any]) -> str:
    """One line a group of labs."""
    columns = (
        "labs",
        "forecast labels: in the range",
        "within a factor 2",
        "proofs forecast, came",
        "no proof",
        "more items: in the range",
        "within a factor 2 (plays)",
        "more labels: in the range",
        "a proof at the upper end",
        "with the epsilon named: same items, others",
    )
    return markdown(columns, map(_line, found["rows"]))


def _line(row: dict[str, Any]) -> Iterator[str]:
    n, ends, wider = row["forecasts"], row["uncertified"], row["wider"]
    yield row["labs"]
    yield share(row["forecast_covered"], n)
    yield share(row["forecast_within_two"], n)
    yield "" if row["chance"] is None else f"{100 * row['chance']:.0f}%, {100 * row['certified']:.0f}%"
    yield f"{ends} of {row['runs']}"
    yield share(row["items_covered"], ends) if ends else ""
    yield f"{share(row['items_within_two'], ends)} ({100 * row['items_near']:.0f}%)" if ends else ""
    yield share(row["labels_covered"], ends) if ends else ""
    yield f"{row['reached']} of {row['could']}"
    yield f"{row['wider_same']}, {row['wider_others']} of {wider}" if wider else ""


def part(path: Path, name: str, strings: int, orders: tuple[str, ...], workers: int) -> list[Followed]:
    """All runs of one set, from the file if they are there; a dot is a string."""

    def work() -> dict[str, Any]:
        say(f"{name} ", end="")
        runs: Any = all_runs(Following(models_of(name), orders), strings, workers)
        say("")
        return {"runs": [asdict(run) for run in runs]}

    setting = {**WHERE, "set": name, "strings": strings, "batch": BATCH, "orders": list(orders)}
    return [_read(run) for run in kept(path, setting, work)["runs"]]


def _read(run: dict[str, Any]) -> Followed:
    told = {key: None if run[key] is None else Told(**run[key]) for key in ("labels", "more_items", "more_labels")}
    return Followed(**{**run, **told, "wider": None if run["wider"] is None else tuple(run["wider"])})


def show(words: str) -> None:
    """Put the table on the page, between its marks."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(MARKS[0])
    after = rest.split(MARKS[1], maxsplit=1)[1]
    PAGE.write_text(f"{before}{MARKS[0]}\n{words}\n{MARKS[1]}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two sets, two strings, no order or an active one")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), help="only these sets")
    parser.add_argument("--strings", type=int, default=8, help="strings a set (8)")
    parser.add_argument("--orders", nargs="+", choices=list(WORDS), help="only these orders")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder for what is written")
    parser.add_argument("--record", action="store_true", help="keep the figures and put the table on its page")
    given = parser.parse_args()
    names, runs = given.sets or (QUICK if given.quick else list(SETS)), list[Followed]()
    orders, strings = (("active", "none"), 2) if given.quick else (tuple(given.orders or ORDERS), given.strings)
    for done, name in enumerate(names, 1):
        runs += part(given.out / "advice-parts" / f"{name}.json", name, strings, orders, given.workers)
        found = {**WHERE, "commit": commit(), "sets": list(names[:done]), "strings": strings, **summary(runs)}
        told = json.dumps(found, indent=1) + "\n"
        (given.out / "advice.json").write_text(told, encoding="utf-8")
        (given.out / "advice.md").write_text(table(found), encoding="utf-8")
    shutil.rmtree(given.out / "advice-parts")
    if given.record:
        (HISTORY / f"{'-'.join(['advice', *(given.orders or ())])}.json").write_text(told, encoding="utf-8")
        if not given.orders:
            show(table(found))
    print(table(found), end="")


if __name__ == "__main__":
    main()
