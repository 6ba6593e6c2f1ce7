"""How far off are forecasts of the labels a lab will ask for? The votes of the candidates against the method before.

Five sets of fitted models: the two that come with the library, and three on data that scikit-learn generates. For each set
and learner 10 labs run with true labels on pools of 2,000 items; their median is what a forecast should say. The old method
lets candidates take turns as the truth and flips labels evenly; both are told nothing of the noise, or the error of the
best candidate. After 64 and 128 labels each lab's own estimate of how many are left is compared with what was left.

    python benchmarks/forecast.py [--quick] [--out FILE]

prints a table, and writes it as JSON.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from candidates import recipes
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import make_classification, make_moons
from threadpoolctl import threadpool_limits

from replical import Pool, PredictionTable, PrivateRandomness, SharedRandomness, World, learner_for, plan
from replical.learners.base import Course
from replical.pools.query import Answers
from replical.worlds.audit import run_pair
from replical.worlds.datasets import real_world
from replical.worlds.forecast import forecast, remaining
from replical.worlds.vote_worlds import votes_on

ITEMS, LABS, DRAWS = 2_000, 10, 24
PLANS: dict[str, dict[str, float]] = {"handicap": {"rho": 0.1}}
COMMON = {"epsilon": 0.05, "delta": 0.05}
AT = (64, 128)
SEED = 2026


@dataclass(frozen=True)
class Found:
    """What one method said about one set and learner; `at` labels were known."""

    set: str
    learner: str
    method: str
    nu: bool
    at: int
    truth: float
    low: float
    median: float
    high: float
    seconds: float

    @property
    def off(self) -> float:
        return abs(float(np.log(max(self.median, 1.0) / max(self.truth, 1.0))))


def fitted(X: NDArray[np.float64], y: NDArray[np.int64], fit: int, models: int) -> World:
    """Every model twice, on all rows to fit on and on a third of them; the other rows are the population."""
    rng, columns, names = np.random.default_rng(SEED), [], []
    for name, model in recipes()[:: max(1, len(recipes()) // models)]:
        for diet, rows in (("all", np.arange(fit)), ("third", rng.choice(fit, fit // 3, replace=False))):
            columns.append(clone(model).fit(X[rows], y[rows]).predict(X[fit:]))
            names.append(f"{name}-{diet}")
    labels = int(y.max()) + 1
    C = PredictionTable(names, labels=range(labels))
    return World(C=C, cells=C.items(np.stack(columns, axis=1)), law=np.eye(labels)[y[fit:]])


def sets() -> dict[str, Any]:
    def moons() -> World:
        return fitted(*make_moons(5400, noise=0.3, random_state=SEED), fit=400, models=20)

    def noisy() -> World:
        return fitted(*make_classification(5500, flip_y=0.1, random_state=SEED), fit=500, models=20)

    def four() -> World:
        shape = {"n_informative": 10, "n_classes": 4, "class_sep": 1.5}
        return fitted(*make_classification(5800, random_state=SEED, **shape), fit=800, models=20)

    packaged = {name: lambda name=name: real_world(name, ITEMS) for name in ("digits", "breast_cancer")}
    return {**packaged, "moons-40": moons, "two-classes-40": noisy, "four-classes-40": four}


def a_lab(world: World, learner: Any, number: int) -> tuple[Pool, SharedRandomness, dict[int, int]]:
    """A pool and the labels that a run on it asks for, in their order."""
    private, shared = PrivateRandomness.simulated("forecast benchmark", number), SharedRandomness(f"benchmark {number}")
    population = world.population()
    drawn = population.pool(ITEMS, private)
    cells = drawn.ids[drawn.order]
    pool, truth = Pool(world.C, world.cells[cells], private), world.law.argmax(axis=1)[cells].astype(np.uint16)
    course, heard = Course(learner, pool, shared), {}
    while (query := course.query) is not None:
        heard |= {item: int(truth[item]) for item in query.items.tolist()}
        course.tell(Answers.unanimous(query, truth[query.items], len(world.C.labels)))
    return pool, shared, heard


def measured(name: str, world: World, labs: int) -> Iterator[Found]:
    nu = float(world.population().nu)
    for learner, options in PLANS.items():
        active = learner_for(plan(learner, world.C, pool="finite", **COMMON, **options))
        runs = [a_lab(world, active, number) for number in range(labs)]
        truth = float(np.median([len(heard) for _, _, heard in runs]))
        pool = runs[0][0]
        for known in (None, nu):
            start = time.perf_counter()
            found = forecast(pool, learner, {**COMMON, **options}, noise=known, draws=DRAWS)
            seconds = time.perf_counter() - start
            figures = (found.labels_low, found.labels_median, found.labels_high, seconds)
            yield Found(name, learner, "votes", known is not None, 0, truth, *figures)
            yield Found(name, learner, "old", known is not None, 0, truth, *old(pool, active, known or 0.0))
        for lab, shared, heard in runs[: max(1, labs // 3)]:
            votes = votes_on(lab)
            assert votes is not None
            for at in AT:
                if len(heard) > at:
                    start = time.perf_counter()
                    left = remaining(active, lab, shared, votes, dict(list(heard.items())[:at]))
                    seconds = time.perf_counter() - start
                    ends = (at + left.low, at + left.median, at + left.high)
                    yield Found(name, learner, "votes", False, at, len(heard), *ends, seconds)


def old(pool: Pool, active: Any, noise: float) -> tuple[float, float, float, float]:
    """Candidates take turns as the truth, noise is even; 5% to 95%, and the mean."""
    start = time.perf_counter()
    world = World(C=pool.C, cells=pool.items, weights=pool.weights, noise=noise, pool_size=len(pool))
    pairs = [run_pair(active, world, "prediction", number)[1] for number in range(16)]
    labels = [lab.result.labels for pair in pairs for lab in pair]
    low, high = np.quantile(labels, [0.05, 0.95])
    return float(low), float(np.mean(labels)), float(high), time.perf_counter() - start


def told(found: list[Found]) -> Iterator[str]:
    yield "method  nu     at  learner     typical factor off  within 2  range covers  seconds"
    groups = sorted({(each.method, each.nu, each.at, each.learner) for each in found})
    for group in groups:
        chosen = [each for each in found if (each.method, each.nu, each.at, each.learner) == group]
        off, count = np.array([each.off for each in chosen]), len(chosen)
        within, covers = int((off <= np.log(2)).sum()), sum(each.low <= each.truth <= each.high for each in chosen)
        method, nu, at, learner = group
        yield (
            f"{method:<7} {'known' if nu else '-':<5} {at:>3}  {learner:<10} {np.exp(np.median(off)):>19.2f}"
            f"  {within:>3} of {count:<2}  {covers:>6} of {count:<3}  {np.median([each.seconds for each in chosen]):>7.1f}"
        )


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one set, two labs")
    parser.add_argument("--out", type=Path, help="where to write the figures as JSON")
    asked = parser.parse_args(words)
    found: list[Found] = []
    warnings.simplefilter("ignore")  # some fits are poor on purpose, and scikit-learn says so
    with threadpool_limits(limits=1):
        for name, make in sets().items():
            if asked.quick and name != "breast_cancer":
                continue
            for each in measured(name, make(), 2 if asked.quick else LABS):
                found.append(each)
                said = f"{each.median:.0f} ({each.low:.0f} to {each.high:.0f}) for {each.truth:.0f}"
                print(f"{name:<16} {each.learner:<10} {each.method:<5} nu {each.nu!s:<5} at {each.at:<4} {said}")
    print(*told(found), sep="\n")
    if asked.out is not None:
        asked.out.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
