"""A leaderboard that says what it knows: who may be the best, how far behind everybody is, who would be first again.

Every item is scored for every model, and items are independent draws of a population. Bets are those of Handicap, and
settled from sums: 1 + λz is at least exp(λz - ψ(λ)z²), so that a thousand models and a hundred thousand items take less
than a minute.

    for every model h: bet that it is as good as the best; the favourite so far stands for the best
    whoever's bet has come to 1/β is not the best; the others are proven to contain the best
    low(h) <- the largest y such that the bet "h is at most y behind the best" has come to 1/β
    high(h) <- the least x such that all bets "h is at least x behind g", one for every g, have come to 1/β

Claim: docs/claims/board.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import cast

import numpy as np
from numpy.typing import NDArray

from replical.classes.prior import UNIFORM, Prior
from replical.classes.table import PredictionTable
from replical.core.randomness import SharedRandomness
from replical.errors import BadTable, ValueOutOfRange
from replical.learners.handicap.handicaps import UNIT
from replical.learners.handicap.plan import HandicapPlan
from replical.learners.planning import plan

Floats = NDArray[np.floating]
Mask = NDArray[np.bool_]

STAKES = tuple(0.3 / 2**halved for halved in range(7))  # the largest for which bounds move one way (claim, "Bounds")
DRAWS = 200  # from the table, with replacement
_PARTS = 100  # of the items; the favourite is chosen between them
_AT_ONCE = 4096  # items multiplied at a time
_HALVINGS = 30  # of [0, 1]: to 10⁻⁹
_ROOM = 1e-6  # by which bounds are moved outwards, and wealth in logarithms has to be larger, for floating point


@dataclass(frozen=True, kw_only=True, eq=False)
class Board:
    """What a table of losses shows.

    Attributes
    ----------
    models
        Names, in the order of the table.
    items
        How many.
    level
        β: each statement is wrong with this probability at most.
    losses
        The mean loss of each model on these items.
    low, high
        Each model's mean loss in the population is at least, and at most, so much more than that of the best.
    survivors
        Who may be the best, by number.
    better
        Is the first (row) proven to have a smaller mean loss than the second (column)?
    again
        Estimated: how often two draws of half as many items would have the same first place.
    """

    models: tuple[str, ...]
    items: int
    level: float
    losses: Floats
    low: Floats
    high: Floats
    survivors: NDArray[np.int64]
    better: Mask
    again: float

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The models, the best on these items first; ties by place in the table."""
        return np.argsort(self.losses, kind="stable")

    @property
    def first(self) -> str:
        """Who is first on these items."""
        return self.models[int(self.order[0])]

    @property
    def proven(self) -> bool:
        """Is the first proven to be the best?"""
        return len(self.survivors) == 1

    @property
    def better_than_next(self) -> Mask:
        """Which models are proven to be better than the next in the order; nobody comes after the last."""
        return np.append(self.better[self.order[:-1], self.order[1:]], False)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The answer that a published text gives: the smallest loss plus public handicap.

    Attributes
    ----------
    answer
        Its name.
    proven
        Is it proven to be the ideal answer of the population, which everybody with this text looks for?
    survivors
        Who may be that, by name.
    again
        Estimated: how often two draws of half as many items would give the same answer.
    """

    answer: str
    proven: bool
    survivors: tuple[str, ...]
    again: float


def board(
    models: Sequence[str],
    losses: Floats,
    *,
    level: float = 0.05,
    seed: str = "board",
    progress: Callable[[int, int], None] | None = None,
) -> Board:
    """The leaderboard of a table of losses.

    Parameters
    ----------
    models
        Their names.
    losses
        One row an item, one column a model, each from 0 to 1; items are independent draws.
    level
        β.
    seed
        The order in which items are looked at, and what is drawn again, follow from it.
    progress
        Called with (parts of the work done, parts in all).

    Returns
    -------
    board
        Bounds are rounded outwards.

    Raises
    ------
    BadTable
        If there are fewer than two models or items, or a loss is not from 0 to 1.
    ValueOutOfRange
        If the level is not between 0 and 1.

    Examples
    --------
    >>> generator = np.random.default_rng(1)
    >>> wrong = generator.random((2000, 3)) < [.1, .11, .4]
    >>> found = board(["one", "two", "three"], wrong)
    >>> found.first, found.proven, [found.models[h] for h in found.survivors]
    ('one', False, ['one', 'two'])
    >>> [f"{low:.2f} to {high:.2f}" for low, high in zip(found.low, found.high)]
    ['0.00 to 0.02', '0.00 to 0.04', '0.25 to 0.33']
    """
    table = check(models, losses, level)
    update = progress or (lambda done, total: None)
    order = np.random.default_rng(_number(seed)).permutation(len(table))
    low = _behind(table, order, np.zeros(len(models)), level)
    update(1, 4)
    sums, squares = _sums(table)
    update(2, 4)
    high = _at_most(sums, squares, len(table), level)
    update(3, 4)
    mean = sums / len(table)
    again = _again(table, np.zeros(len(models)), seed)
    update(4, 4)
    return Board(
        models=tuple(models),
        items=len(table),
        level=level,
        losses=mean,
        low=np.maximum(low, 0.0),
        high=high,
        survivors=_survivors(low, mean),
        better=_better(sums, squares, level),
        again=again,
    )


def choose(
    models: Sequence[str],
    losses: Floats,
    *,
    tolerance: float,
    string: str,
    prior: Prior = UNIFORM,
    level: float = 0.05,
    seed: str = "board",
) -> Choice:
    """The answer within a `tolerance` of the best that a published `string` gives, with a public order or without.

    Raises
    ------
    BadTable, ValueOutOfRange
        As `board` does.

    Examples
    --------
    >>> wrong, names = np.random.default_rng(1).random((2000, 3)) < [.1, .11, .4], ["one", "two", "three"]
    >>> prior = Prior.order(PredictionTable(names), ["two", "one", "three"])
    >>> found = choose(names, wrong, tolerance=.05, string="drawn in public", prior=prior)
    >>> found.answer, found.proven, found.again > .9
    ('two', True, True)
    """
    table = check(models, losses, level)
    c = _handicaps(models, tolerance, string, prior)
    scores = table.mean(axis=0, dtype=np.float64) + c
    places = np.random.default_rng(_number(seed)).permutation(len(table))
    left = _survivors(_behind(table, places, c, level), scores)
    answer = int(scores.argmin())
    return Choice(
        answer=models[answer],
        proven=left.tolist() == [answer],
        survivors=tuple(models[h] for h in left),
        again=_again(table, c, seed),
    )


def check(models: Sequence[str], losses: Floats, level: float) -> Floats:
    """Refuse what is no table of losses; single precision holds whole errors exactly, in half the memory."""
    table = np.asarray(losses, dtype=np.float32)
    if table.ndim != 2 or table.shape[1] != len(models) or len(models) < 2 or len(table) < 2:
        raise BadTable(f"a board takes two items and two models at least, got {table.shape[0]:,} and {len(models):,}")
    if not ((table >= 0) & (table <= 1)).all():
        row, column = np.argwhere(~((table >= 0) & (table <= 1)))[0]
        raise BadTable(
            f"a loss is a number from 0 to 1, got {table[row, column]:g} for {models[column]!r} in row {row + 1}"
        )
    if not 0 < level < 1:
        raise ValueOutOfRange(f"a level lies between 0 and 1, got {level:g}")
    return table


def _number(seed: str) -> int:
    return SharedRandomness(seed).integer("board", high=2**62)


def _handicaps(models: Sequence[str], tolerance: float, string: str, prior: Prior) -> Floats:
    """Those of a protocol for these models with this string: from the text alone, or by what is public."""
    C = PredictionTable(models)
    made = cast(HandicapPlan, plan("handicap", C, epsilon=tolerance, delta=0.05, rho=0.1, pool="finite", prior=prior))
    _, units, _ = made.terms(SharedRandomness(string))
    return units / UNIT


# ---- bets ----


def _behind(table: Floats, order: NDArray[np.int64], c: Floats, level: float) -> Floats:
    """How far everybody's loss plus `c` is behind the least, at least; below 0 for whoever may have the least.

    The favourite of a part has the least so far, so it is chosen before its items are seen; on the first part nobody bets.
    """
    lost, sums, squares, items = c * 0.0, c * 0.0, c * 0.0, 0
    seen = 0
    for part in np.array_split(order, min(_PARTS, len(order))):
        some = table[part].astype(np.float64)
        if seen:
            m = int((lost / seen + c).argmin())
            Z = some - some[:, [m]] + (c - c[m])
            sums += Z.sum(axis=0)
            squares += np.einsum("ih,ih->h", Z, Z)
            items += len(part)
        lost += some.sum(axis=0)
        seen += len(part)
    wide = [(-log(1 - 2 * stake) - 2 * stake) / 4 for stake in STAKES]  # ψ where z may be as small as -2

    def holds(y: Floats) -> Mask:
        return _wealth(sums - items * y, squares - 2 * y * sums + items * y * y, wide) >= log(1 / level) + _ROOM

    largest = _bisect(holds, np.zeros(len(c)), np.ones(len(c)))
    return np.where(holds(np.zeros(len(c))), np.maximum(largest - _ROOM, 0.0), -1.0)


def _wealth(sums: Floats, squares: Floats, costs: Sequence[float]) -> Floats:
    """The logarithm of mean_λ exp(λ Σz - ψ(λ) Σz²), which is at most that of the bet."""
    logs = np.stack([stake * sums - cost * squares for stake, cost in zip(STAKES, costs, strict=True)])
    top = logs.max(axis=0)
    found: Floats = top + np.log(np.exp(logs - top).mean(axis=0))
    return found


_NARROW = [-log(1 - stake) - stake for stake in STAKES]  # ψ where z is at least -1


def _at_most(sums: Floats, squares: Floats, items: int, level: float) -> Floats:
    """For every model the largest over all others of the least x that is proven, at least 0."""
    return np.array([_farthest(h, sums, squares, items, level) for h in range(len(sums))])


def _farthest(h: int, sums: Floats, squares: Floats, items: int, level: float) -> float:
    Z, ZZ = sums[h] - sums, np.maximum(squares[h, h] + np.diag(squares) - 2 * squares[h], 0.0)

    def short(x: Floats) -> Mask:
        return _wealth(items * x - Z, items * x * x - 2 * x * Z + ZZ, _NARROW) < log(1 / level) + _ROOM

    bounds = _bisect(short, np.zeros(len(sums)), np.ones(len(sums)), up=True)
    return min(1.0, float(np.delete(bounds, h).max()) + _ROOM)


def _bisect(holds: Callable[[Floats], Mask], low: Floats, high: Floats, *, up: bool = False) -> Floats:
    """The end of where something `holds` that holds from `low` on: from below, or from above (`up`)."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        held = holds(middle)
        low, high = np.where(held, middle, low), np.where(held, high, middle)
    return high if up else low


def _better(sums: Floats, squares: Floats, level: float) -> Mask:
    Z = sums[:, None] - sums[None, :]
    ZZ = np.maximum(np.diag(squares)[:, None] + np.diag(squares)[None, :] - 2 * squares, 0.0)
    return _wealth(-Z, ZZ, _NARROW) >= log(1 / level) + _ROOM


def _survivors(low: Floats, scores: Floats) -> NDArray[np.int64]:
    """Who may be the best: everybody whose bet has not been won, and the first on these items, which adds nothing false."""
    alive = low < 0
    alive[int(scores.argmin())] = True
    return np.flatnonzero(alive)


def _sums(table: Floats) -> tuple[Floats, Floats]:
    """Losses of each model, and products of the losses of two."""
    models = table.shape[1]
    sums, squares = np.zeros(models), np.zeros((models, models))
    for start in range(0, len(table), _AT_ONCE):
        some = table[start : start + _AT_ONCE].astype(np.float64)
        sums += some.sum(axis=0)
        squares += some.T @ some
    return sums, squares


def _again(table: Floats, c: Floats, seed: str) -> float:
    """How often two of `DRAWS` draws of half as many items, with replacement, agree on the least loss plus `c`.

    Half as many, because a table spreads models further than their population does, and more items would hide it.
    """
    generator, items = np.random.default_rng([_number(seed), 1]), len(table)
    half = items // 2
    lost, left = np.zeros((DRAWS, table.shape[1])), np.full(DRAWS, half)
    for start in range(0, items, _AT_ONCE):
        some = table[start : start + _AT_ONCE]
        drawn = generator.binomial(left, min(1.0, len(some) / (items - start)))
        counts = generator.multinomial(drawn, np.full(len(some), 1 / len(some))).astype(np.float32)
        lost += counts @ some
        left -= drawn
    firsts = np.bincount((lost / half + c).argmin(axis=1), minlength=len(c))
    return float((firsts * (firsts - 1)).sum() / (DRAWS * (DRAWS - 1)))
