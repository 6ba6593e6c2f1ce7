"""A bad answer is rarely confirmed, a good one rarely refuted, and mutants of the bets are caught (docs/claims/confirm.md)."""

from dataclasses import replace
from importlib import import_module
from itertools import count

import numpy as np
import pytest

from replical import KnownLabels, Pool, PredictionTable, PrivateRandomness, confirm
from replical.learners.handicap.confirm import Wagers
from support.sequential import Promise

learners_confirm = import_module("replical.learners.handicap.confirm")
MARGIN, ALPHA, BEST = 0.05, 0.05, 0.1
RUNS, FULL = 200, 400  # the power of so many runs, in the fast and in the slow suite
ABOVE = MARGIN + 1e-9  # just too bad to be confirmed

# Excess errors, the answer's first; the outcome that would be wrong; items; items open at once. Errors are independent.
WORLDS = {
    "just above the margin": ([ABOVE, 0.0], "confirmed", 1500, 4),
    "at the margin": ([MARGIN, 0.0], "refuted", 1500, 4),
    "at the margin, twenty tied rivals": ([MARGIN] + [0.0] * 20, "refuted", 1500, 8),
    "just above the margin, long": ([ABOVE, 0.0], "confirmed", 8000, 8),
    "just above the margin, bad rivals": ([ABOVE, 0.0] + [0.3] * 10, "confirmed", 3000, 4),
    "at the margin, long": ([MARGIN, 0.0], "refuted", 8000, 8),
    "at the margin, everybody twice": ([MARGIN, MARGIN, 0.0, 0.0, 0.0, 0.0], "refuted", 3000, 4),
}
FAST = tuple(WORLDS)[:3]


def outcomes(world, seed):
    """Labs with items of their own that check one answer."""
    excess, _, U, batch = WORLDS[world]
    n = len(excess)
    C, labels = PredictionTable([f"m{g}" for g in range(n)]), np.zeros(U, dtype=int)
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        wrong = private.generator("errors").random((U, n)) < BEST + np.array(excess)
        if world.endswith("twice"):
            wrong[:, 1::2] = wrong[:, ::2]
        pool = Pool(C, wrong.astype(int), private)
        yield confirm(0, pool, KnownLabels(C, labels), margin=MARGIN, level=ALPHA, batch=batch).outcome


def hear(world, seed, promise):
    """Hear labs until it is known how often they are sure and wrong; how many were undecided."""
    undecided = 0
    for outcome in outcomes(world, seed):
        if not promise.open:
            return undecided
        undecided += outcome == "undecided"
        promise.hear(outcome == WORLDS[world][1])
    raise AssertionError("labs never end")


@pytest.mark.claim("confirm")
@pytest.mark.parametrize(
    "world", [pytest.param(each, marks=() if each in FAST else pytest.mark.slow) for each in WORLDS]
)
def test_an_outcome_is_rarely_wrong(world, alarm, request, record_property):
    promise = Promise(ALPHA, RUNS if world in FAST else FULL, alarm)
    undecided = hear(world, request.node.name, promise)
    record_property("power", f"{promise.told(f'are {WORLDS[world][1]}')}; {undecided} are undecided")
    assert not promise.broken


@pytest.mark.claim("confirm")
def test_any_opponent_from_the_past_keeps_the_promise(alarm, request, record_property, monkeypatch):
    """The opponent is drawn by private coins: the proof needs no more than that no label is seen."""
    coins = PrivateRandomness.simulated(request.node.name).generator("coins")
    monkeypatch.setattr(Wagers, "opponent", lambda wagers, rivals: int(coins.choice(rivals)))
    promise = Promise(ALPHA, RUNS, alarm)
    undecided = hear("at the margin", request.node.name, promise)
    record_property("power", f"{promise.told('are refuted')}; {undecided} are undecided")
    assert not promise.broken


class Seeing(Wagers):
    """The opponent is whoever did best on the items just heard."""

    def settle(self, S, m, o, block):
        rivals = np.flatnonzero(m != S)
        super().settle(S, m, int(S[rivals[block.losses.sum(axis=0)[rivals].argmin()]]), block)


class NoZeros(Wagers):
    """Items that were not asked are forgotten: those asked are the ones on which candidates differ."""

    def settle(self, S, m, o, block):
        super().settle(S, m, o, replace(block, quiet=()))


class ByEstimate(Wagers):
    """A rival is done as soon as the excess of the answer looks like the margin or less."""

    def won(self, rivals):
        zeros, plus, minus = self.accounts.counts[:, rivals]
        return plus - minus <= MARGIN * (zeros + plus + minus)


@pytest.mark.claim("confirm")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("mutant", "world"),
    [(Seeing, "at the margin, twenty tied rivals"), (NoZeros, "at the margin"), (ByEstimate, "just above the margin")],
)
def test_the_same_test_catches_mutants(mutant, world, alarm, request, record_property, monkeypatch):
    monkeypatch.setattr(learners_confirm, "Wagers", mutant)
    promise = Promise(ALPHA, RUNS, alarm)
    hear(world, request.node.name, promise)
    record_property("power", promise.told(f"are {WORLDS[world][1]}"))
    assert promise.broken


@pytest.mark.claim("confirm")
def test_clear_cases_are_decided(request, monkeypatch):
    """Neither side is kept by never deciding: the best is confirmed, a bad one refuted, in every one of ten labs."""
    for excess, outcome in ((0.0, "confirmed"), (4 * MARGIN, "refuted")):
        monkeypatch.setitem(WORLDS, "clear", ([excess, 0.0, 0.02, 0.2], "", 2000, 1))
        found = outcomes("clear", request.node.name)
        assert {next(found) for _ in range(10)} == {outcome}
