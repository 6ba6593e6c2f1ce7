"""A toy learner and a toy class, each as its own file and record: what "add a learner" and "add a class" ask for."""

from dataclasses import dataclass

import numpy as np

from replical.classes.base import Listed, cell_numbers, two_labels
from replical.classes.catalogue import Kind
from replical.classes.recipe import Recipe
from replical.core.canonical import fingerprint
from replical.core.exact import ceil, fraction, ln
from replical.learners.base import check_plan
from replical.learners.catalogue import Record
from replical.learners.plan import SamplePlan
from replical.learners.result import Result

# --- a learner: the first of those with fewest errors on a sample, rounded to nothing at all ----------------------------


@dataclass(frozen=True, kw_only=True)
class ToyPlan(SamplePlan):
    """One sample."""


def toy_plan(task):
    k, conditions = task.size("k_final", ceil(ln(task.n / task.delta) / task.epsilon), "ln(n/δ)/ε")
    return ToyPlan(
        learner="toy", name="tight", n=task.n, epsilon=fraction(task.epsilon), numbers=(k,), conditions=conditions
    )


@dataclass(frozen=True)
class Toy:
    """Passive."""

    plan: ToyPlan

    def __post_init__(self):
        check_plan(self.plan, ToyPlan, "Toy")

    def run(self, pool, shared):
        V = pool.version_space()
        S = yield pool.scan().anywhere(V, self.plan.k)
        errors = V.errors(S)
        V = V.keep(errors == errors.min())
        h = V.first(shared, self.plan.prior)
        return Result(hypothesis=h, unrounded=h, V=V, conditions=self.plan.conditions)


LEARNER = Record(
    id="toy", learner="support.toys:Toy", setting="realizable", replicable=True, active=False, paper=None,
    tight="support.toys:toy_plan", needs=frozenset({"rho"}), options=frozenset({"k_final"}), colour="#123456",
    marker="1",
)  # fmt: skip


# --- a class: every cell but one is low ---------------------------------------------------------------------------------


class Odd(Listed):
    """h_i is high on cell i and low elsewhere."""

    def __init__(self, n, *, labels=(0, 1)):
        self._n, self.labels = n, two_labels(labels)

    def __len__(self):
        return self._n

    @property
    def fingerprint(self):
        return fingerprint({"kind": "odd", "n": self._n, "labels": list(self.labels)})

    def describe(self, h):
        return f"{self.labels[1]} on cell {h}"

    def items(self, X):
        return cell_numbers(X, self._n)

    def codes(self, items, hypotheses):
        return (np.asarray(hypotheses)[:, None] == items[None, :]).astype(np.uint16)

    def cells(self):
        return np.arange(self._n, dtype=np.int64)


def odd_recipe(section):
    return Recipe(
        C=Odd(section.whole("count"), labels=section.labels),
        columns=(section.feature,),
        to_items=lambda columns: columns[0],
    )


CLASS = Kind(
    kind="odd", sizes=("N",), example="odd:8", make=lambda sizes, _: Odd(sizes[0]),
    section=lambda sizes: {"kind": "odd", "features": ["x"], "count": sizes[0]},
    needs=frozenset({"features", "count"}), recipe=odd_recipe,
)  # fmt: skip
