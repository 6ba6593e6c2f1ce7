"""Broken twins of the shared randomness: each lab secretly uses a string of its own for one purpose."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from types import SimpleNamespace

import numpy as np

from replical import Boosted, Pool, Result, SharedRandomness
from replical.learners.handicap.bets import Bets


class PrivateFor(SharedRandomness):
    """Shared, except that the words of one name come from a private string."""

    def __init__(self, seed, own_seed, name):
        super().__init__(seed)
        self._own, self._name = SharedRandomness(own_seed), name

    def words(self, *name, start=0, count):
        return (
            self._own.words(*name, start=start, count=count)
            if self._private(name)
            else super().words(*name, start=start, count=count)
        )

    def word(self, *name, index=0):
        return self._own.word(*name, index=index) if self._private(name) else super().word(*name, index=index)

    def ranks(self, *name, indices):
        return self._own.ranks(*name, indices=indices) if self._private(name) else super().ranks(*name, indices=indices)

    def _private(self, name):
        return name[0] == self._name


# --- plans and learners that break one thing ---------------------------------------------------------------------------


def scaled(plan, name, factor):
    """A plan with one of its numbers multiplied: another threshold, or another size."""
    assert name in {number.name for number in plan.numbers}, f"{plan.learner} has no {name}"
    numbers = tuple(
        replace(number, value=type(number.value)(number.value * factor)) if number.name == name else number
        for number in plan.numbers
    )
    return replace(plan, numbers=numbers)


def without_threshold(plan):
    """Boosting that takes the first string's mode, however rare it is."""
    return scaled(scaled(plan, "low", 0), "high", 0)


class Tickets(Pool):
    """A pool of cells whose parts are single cells, given as numbers: all that `Tosses` looks at, and four times faster."""

    @classmethod
    def drawn(cls, world, count, generator):
        cells = generator.integers(len(world.cells), size=count)
        pool = cls.in_order(world.C, world.cells, np.arange(len(world.cells)), cells, world.predictions)
        pool.at_once = cells
        return pool

    @cached_property
    def cells(self):
        return self.at_once.tolist()

    def part(self, number, *, of):
        assert of <= len(self.cells)
        return self.cells[number]


class Tosses:
    """A weak base learner that asks nothing: which of two hypotheses it returns is decided by the one item of its pool.

    `kinds` lists (share of the strings, eighths): with a string of that kind the mode is returned if the item lies in
    one of so many of eight equally heavy cells, and its neighbour otherwise.
    """

    def __init__(self, plan, kinds):
        self.plan, self.kinds, self._read = plan, kinds, (None, None, None)
        self._results = [Result(hypothesis=h, unrounded=h, V=None, conditions=()) for h in range(plan.n)]

    def run(self, pool, shared):
        if self._read[0] is not shared:  # all runs with one string: its words are read once
            self._read = shared, *self.kind(shared)
        _, eighths, mode = self._read
        return self._results[mode if self._cell(pool) < eighths else (mode + 1) % self.plan.n]
        yield  # a conversation without a question

    def kind(self, shared):
        """What a string does: in how many eighths of the runs it returns which mode."""
        return self._eighths(shared.uniform("kind")), shared.integer("mode", high=self.plan.n)

    @staticmethod
    def _cell(pool):
        return pool if isinstance(pool, int) else pool.ids[pool.weights.argmax()]

    def _eighths(self, u):
        for share, eighths in self.kinds:
            if u < share:
                return eighths
            u -= share
        raise AssertionError("the shares add up to one")


class AtOnce(Boosted):
    """Boosted tosses on `Tickets`, all runs with a string counted in one go."""

    def _runs(self, pool, r, sets, cache):
        eighths, mode = self.base.kind(r)
        wins = int((pool.at_once[sets.start : sets.stop] < eighths).sum())
        return +Counter({mode: wins, (mode + 1) % self.base.plan.n: len(sets) - wins})
        yield


class OwnSets(AtOnce):
    """Every string has data sets of its own; nothing that is promised may depend on it."""

    def _heavy_hitter(self, pool, shared, string, cache):
        own = SimpleNamespace(at_once=pool.at_once[string * self.plan.runs :])
        return super()._heavy_hitter(own, shared, string, cache)


class Scattered(Tosses):
    """A base learner that no string makes replicable: each of eight hypotheses is as likely as the others."""

    def __init__(self, plan):
        super().__init__(plan, ())

    def run(self, pool, shared):
        return self._results[self._cell(pool)]
        yield


def divided(plan, by):
    """A plan whose every sample is smaller by a factor of about `by`, and at least one label."""
    sizes = {"k_loop", "k_final", "final_scale"}
    numbers = tuple(
        replace(number, value=_part(number.value, by)) if number.name in sizes else number for number in plan.numbers
    )
    return replace(plan, numbers=numbers)


def _part(size, by):
    return max(1, int(Fraction(size) / Fraction(by))) if isinstance(size, int) else size / Fraction(by)


SETTLE = Bets.settle


def generous(self, m, block):
    """Bets about half as much again as the handicaps allow, in place of `Bets.settle`."""
    c = self.c
    self.c = c[m] + (3 * (c - c[m])) // 2
    try:
        SETTLE(self, m, block)
    finally:
        self.c = c
