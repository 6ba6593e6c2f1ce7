"""Public orders, for benchmarks/choosing.py --orders: a hundred labels at random, a hundred asked actively, none at all.

Besides, the first 20 and the first 8 of the active order as a shortlist; excess is always measured against the best of all
candidates and, beside it, against the best of the list.

Public and lab rows are from disjoint halves of a set's rows. Public are up to 1,500 rows of their half, drawn anew for each
string; a lab's items are draws from the other half. Orders are from the errors on the first hundred public rows, from a
hundred labels asked where candidates in play differ, and from agreement with the vote of all candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import groupby
from statistics import geometric_mean
from typing import Any

import numpy as np
from choosing import OFTEN, PUBLIC, RHO, Labs, ModelSet, Run, Way, figures
from choosing_tables import markdown, share
from numpy.typing import NDArray

from replical import Prior, PrivateRandomness
from replical.learners.handicap.order import Inquiry, against_the_vote

FRESH = "public orders"  # string number s of a set is FRESH/SET/s; nothing was chosen on these
LOOKED_AT = 1_500
SIZES = (500, 2_000, 20_000)
ORDERS = {
    "random": "public order, a random hundred",
    "active": "public order, a hundred asked actively",
    "active, shortlist 20": "the first 20 of that order",
    "active, shortlist 8": "the first 8 of it",
    "vote": "the vote of all, no labels",
}
_OWN = ("set", "public_labels", "excess_list")  # of a run here, and of no other


@dataclass(frozen=True)
class Ordering:
    """Two labs that choose from one set with each order; called with a string's number."""

    models: ModelSet
    items: int

    @cached_property
    def _halves(self) -> list[NDArray[np.int64]]:
        rows = PrivateRandomness.simulated(FRESH, self.models.name, "halves").permutation(len(self.models.truth))
        return [np.sort(half) for half in np.array_split(rows, 2)]

    @cached_property
    def labs(self) -> Labs:
        mine, rows = self.models, self._halves[1]
        return Labs(replace(mine, predictions=mine.predictions[rows], truth=mine.truth[rows]), self.items, seed=FRESH)

    def __call__(self, string: int) -> list[dict[str, Any]]:
        return list(self.runs(string))

    def runs(self, string: int) -> Iterator[dict[str, Any]]:
        for order in ORDERS:
            name, _, size = order.partition(", shortlist ")
            prior, labels = self.prior(name, string)
            most = min(int(size or len(self.models.candidates)), len(self.models.candidates))
            assert prior.places is not None, "an order by numbers is strict"
            above = min(map(self.labs.excess, np.flatnonzero(prior.places < most).tolist()))
            options = (("rho", RHO), *([("shortlist", most)] if size else []))
            for run in self.labs.learnt(Way("handicap", order, options=options), prior, string):
                if run.lab != "C":
                    own = {"set": self.models.name, "public_labels": labels, "excess_list": run.excess - above}
                    yield asdict(run) | own

    def prior(self, order: str, string: int) -> tuple[Prior, int]:
        """The order, and how many public labels it took."""
        walked = PrivateRandomness.simulated(FRESH, self.models.name, string, "walk").permutation(len(self._halves[0]))
        rows, C = self._halves[0][walked[:LOOKED_AT]], self.labs.population.C
        if order == "elsewhere":  # of the same rows those with one of the first half of the labels are frequent
            often = np.where(2 * self.models.truth[rows] < self.models.labels, float(OFTEN), 1.0)
            drawn = PrivateRandomness.simulated(FRESH, self.models.name, string, "elsewhere").generator()
            rows, order = drawn.choice(rows, size=PUBLIC, p=often / often.sum()), "random"
        said, truth = C.items(self.models.predictions[rows]), self.models.truth[rows]
        if order == "random":
            wrong = self.models.predictions[rows[:PUBLIC]] != truth[:PUBLIC, None]
            return Prior.by_errors(C, wrong.sum(axis=0)), PUBLIC
        inquiry = Inquiry(C=C, items=said, walk=np.arange(len(rows)))
        if order == "vote":
            return Prior.by_errors(C, against_the_vote(C, inquiry.predictions, len(rows))), 0
        for row in inquiry.rows():
            inquiry.hear(row, int(truth[row]))
        return inquiry.prior, len(inquiry.asked)


def summary(runs: list[dict[str, Any]], items: int) -> list[dict[str, Any]]:
    """One row an order, of all sets."""
    rows = []
    for order in ORDERS:
        some = [run for run in runs if run["order"] == order]
        known = [Run(**{key: value for key, value in run.items() if key not in _OWN}) for run in some]
        means = [np.mean([run["labels"] for run in each]) for _, each in groupby(some, key=lambda run: run["set"])]
        told = figures(known)
        told |= {
            "items": items,
            "order": order,
            "public_labels": float(np.mean([run["public_labels"] for run in some])),
            "excess_median": float(np.median([run["excess"] for run in some])),
            "excess_list_mean": float(np.mean([run["excess_list"] for run in some])),
        }
        rows.append(told | {"labels_geometric": geometric_mean(means), "sets": len(means)})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """One line an order and size."""
    columns = (
        "items",
        "order",
        "labels, geometric mean",
        "of random's",
        "certified",
        "pairs agree",
        "excess, mean",
        "of random's",
        "median",
        "of the list",
        "wrong certificates",
    )
    first = {row["items"]: row for row in rows if row["order"] == "random"}
    return markdown(
        columns,
        (
            [
                f"{row['items']:,}",
                ORDERS[row["order"]],
                *beside_random(row, first[row["items"]], "labels_geometric", ".0f"),
                share(row["certified"], row["labs"]),
                share(row["agreements"], row["pairs"]),
                *beside_random(row, first[row["items"]], "excess_mean", ".4f"),
                f"{row['excess_median']:.4f}",
                f"{row['excess_list_mean']:.4f}",
                f"{row['wrong_certificates']}",
            ]
            for row in rows
        ),
    )


def beside_random(row: dict[str, Any], random: dict[str, Any], what: str, form: str) -> tuple[str, str]:
    """A figure, and what part it is of the one with a random hundred."""
    return f"{row[what]:{form}}", f"{row[what] / random[what]:.2f}" if random[what] else ""
