"""Milliseconds a label of Settled, beside plain versions of it: one record a candidate, and the twin in exact fractions.

Both of a row run on the same pool and string and must find the same. Putting the class in order and the first question are
not counted. Labels are limited where the plain version would take minutes.

    python benchmarks/settled.py [--quick]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

from replical import KnownLabels, Pool, PredictionTable, PrivateRandomness, Settled, SharedRandomness, Thresholds, plan
from replical.learners.settled.candidates import Everyone
from replical.learners.settled.plan import SettledPlan

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support import reference

SHARED, NOISE = SharedRandomness("settled"), 0.05
Lab = tuple[Any, Pool, np.ndarray]


def line(n: int, U: int) -> Lab:
    """Thresholds and items along the line, a twentieth of the labels wrong."""
    private = PrivateRandomness.simulated("settled", n)
    generator, C = private.generator("items"), Thresholds(n)
    x = generator.integers(n - 1, size=U)
    truth = (x >= generator.integers(n)) ^ (generator.random(U) < NOISE)
    return C, Pool(C, x, private), truth.astype(int)


def table(n: int, U: int) -> Lab:
    """Candidates that err on a twentieth to a third of the items."""
    private = PrivateRandomness.simulated("settled", n)
    generator, C = private.generator("items"), PredictionTable([f"m{each}" for each in range(n)])
    rates = generator.uniform(NOISE, 1 / 3, size=n)
    return (
        C,
        Pool(C, (generator.random((U, n), dtype=np.float32) < rates).astype(np.int8), private),
        np.zeros(U, dtype=int),
    )


Found = tuple[int, bool, int]  # the answer, whether it is proven, labels


def settled(C: Any, pool: Pool, truth: np.ndarray, most: int | None) -> tuple[float, Found]:
    """Milliseconds of one core a label, and what was found."""
    labels, made = KnownLabels(C, truth), planned(C, most)
    talk, asked = Settled(made).run(pool, SHARED), 0
    query = next(talk)
    started = time.process_time()
    try:
        while True:
            asked += query.total
            query = talk.send(labels.answer(query))
    except StopIteration as stop:
        milliseconds, result = 1000 * (time.process_time() - started), stop.value
    return milliseconds / asked, (result.hypothesis, result.settling.certified, asked)


def alone(C: Any, pool: Pool, truth: np.ndarray, most: int | None) -> tuple[float, Found]:
    """The same without groups, also where there is a line."""
    with patch("replical.learners.settled.candidates.Line", lambda whole, order, *_: Everyone(whole, order)):
        return settled(C, pool, truth, most)


def twin(C: Any, pool: Pool, truth: np.ndarray, most: int | None) -> tuple[float, Found]:
    """The same by the second implementation."""
    made = planned(C, most)
    codes, order = (
        np.array([pool.predictions.codes(h) for h in range(len(C))]),
        made.prior.order_of(SHARED, "order", n=len(C)),
    )
    levels = {name: made[name] for name in ("delta_A", "delta_I")}
    started = time.process_time()
    answer, certified, asked, _ = reference.settled(
        codes, order, pool.order.tolist(), truth, made.threshold(SHARED), most=most, **levels
    )
    return 1000 * (time.process_time() - started) / asked, (answer, certified, asked)


def planned(C: Any, most: int | None) -> SettledPlan:
    """The plan of all of them."""
    made = plan("settled", C, epsilon=0.05, delta=0.05, rho=0.1, max_labels=most, pool="finite")
    assert isinstance(made, SettledPlan)
    return made


# The class, items, labels (None: until it is proven), and what is plain.
ROWS = (
    (line, 1000, 20_000, None, alone),
    (line, 100_000, 20_000, None, alone),
    (line, 1_000_000, 20_000, 60, alone),
    (table, 20, 3000, 30, twin),
    (table, 2000, 3000, 300, None),
    (table, 20_000, 3000, 300, None),
)
QUICK = ((line, 1000, 1000, 30, alone), (table, 20, 1000, 10, twin))


def main() -> None:
    """Measure, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small classes, few labels")
    shown = Table(title="ms a label; ratio = plain / ours")
    for column in ("class", "labels", "settled", "plain", "", "ratio"):
        shown.add_column(column, justify="left" if column in ("class", "") else "right")
    for make, n, U, most, other in QUICK if parser.parse_args().quick else ROWS:
        lab = make(n, U)
        ours, found = settled(*lab, most)
        plain, same = (None, found) if other is None else other(*lab, most)
        assert found == same, f"{make.__name__}:{n} is not what {other} finds"
        shown.add_row(
            f"{make.__name__}:{n}",
            f"{found[2]}",
            f"{ours:.3f}",
            "" if plain is None else f"{plain:.2f}",
            "" if other is None else other.__name__,
            "" if plain is None else f"{plain / ours:.1f}",
        )
    Console().print(shown)


if __name__ == "__main__":
    main()
