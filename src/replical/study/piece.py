"""What a worker does: some pairs of one cell, as rows of plain numbers.

A worker keeps the world of the last cells it saw, because the pieces of one cell follow each other.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import log10

from replical.errors import BadStudy, BadTable, ReplicalError, ValueOutOfRange
from replical.worlds.audit import run_pair, summarise
from replical.worlds.experiment import Experiment, Ready, prepare
from replical.worlds.figures import Columns, Pair, columns


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Some pairs of one cell: all a worker needs to know.

    Attributes
    ----------
    experiment
        What the cell tries; a worker remembers what it prepared for it.
    class_seed
        What a net of half-spaces is drawn from: the study's own text, one net for all its cells.
    """

    cell: str
    experiment: Experiment
    class_seed: str
    seed: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a worker answers: rows, or the sentence that says why there are none."""

    piece: Piece
    rows: Columns
    theta: float | None = None
    nu: float | None = None
    hypotheses: int | None = None
    labels_most: int | None = None
    refused: str | None = None
    seconds: float = 0.0


def work(piece: Piece) -> Outcome:
    """Run the pairs of a piece; the same rows wherever and whenever it runs."""
    started = time.perf_counter()
    try:
        ready = _ready(_Key(piece.experiment), piece.class_seed)
        plan = ready.learner.plan
        _double(plan.labels_most or 0)  # before any pair is run
        rows = rows_of([_pair(ready, piece.seed, number) for number in range(piece.start, piece.end)], plan.epsilon)
    except BadTable as error:  # the fault of this machine, not of the cell: elsewhere its pairs are good
        raise BadStudy(
            f"{error} (on {socket.gethostname()}): put the study's own file there, or run the study again with the new one"
        ) from error
    except ReplicalError as error:
        return Outcome(piece=piece, rows=rows_of([], Fraction(1)), refused=str(error))
    return Outcome(
        piece=piece,
        rows=rows,
        theta=ready.theta,
        nu=ready.nu,
        hypotheses=len(ready.world.C),
        labels_most=plan.labels_most,
        seconds=time.perf_counter() - started,
    )


class _Key:
    """An experiment that can be looked up: equal parameters, equal key."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self._text = experiment, repr(experiment)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


@lru_cache(maxsize=2)
def _ready(key: _Key, class_seed: str) -> Ready:
    return prepare(key.experiment, seed=class_seed)


def _pair(ready: Ready, seed: str, number: int) -> Pair:
    population, labs = run_pair(ready.learner, ready.world, seed, number)
    return summarise(number, population, labs, ready.learner.plan.prior)


def _double(labels: int) -> float:
    if labels > sys.float_info.max:
        raise ValueOutOfRange(
            f"the plan asks for about 10**{log10(labels):.0f} labels, and the tables of a study hold up to 10**308: "
            "choose a larger epsilon, delta or rho"
        )
    return float(labels)


def rows_of(pairs: Sequence[Pair], epsilon: Fraction) -> Columns:
    """Pairs as columns. Counts of labels beyond 2**53 are rounded to doubles; nothing is compared after rounding."""
    rows = columns(pairs, epsilon)
    return rows | {name: [_double(count) for count in rows[name]] for name in ("labels_a", "labels_b")}
