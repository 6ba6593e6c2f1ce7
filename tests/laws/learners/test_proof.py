"""What one lab says is proven, against its formula: any pool, any survivors, any prior (docs/claims/certificate.md).

Γ̂ itself has laws of its own (tests/laws/bounds/test_gamma.py). Here everything around it is counted afresh: centre, scores,
slack, which δ the intervals may fail with, the mass of the ideal ball, what is added, and what certified asks for.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, floor, log, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from replical import KnownLabels, Pool, PredictionTable, PrivateRandomness, SharedRandomness, learn, plan
from replical.bounds.gamma import FINE, FINEST, Gamma
from replical.classes.prior import Prior
from replical.learners.planning import learner_for
from replical.learners.rounded.proof import Proof
from support import reference

SHARED = SharedRandomness("proof")
N, EPSILON, DELTA, MILLION = 9, 0.5, 0.05, 10**6
TABLE = PredictionTable([f"m{h}" for h in range(N)], labels=(0, 1))


def lab(number, *, learner, items, weighted, U, distances, survivors, rho, **many):
    """A pool on which hypothesis h differs from the first on so many items, whom the labels left, and the plan."""
    generator = np.random.default_rng(number)
    codes = np.zeros((N, U), dtype=np.int64)
    for h, apart in enumerate(distances):
        codes[h, generator.choice(U, apart, replace=False)] = 1
    weights = 10.0 ** -generator.integers(0, 3, N)
    weights[:2] = 0.01, 0.99
    prior = {"prior": Prior.weights(TABLE, weights)} if weighted else {}
    made = plan(
        learner, TABLE, epsilon=EPSILON, delta=DELTA, rho=rho, pool="finite", items=U if items else None, a=0.1, **prior,
        **many,
    )  # fmt: skip
    pool = Pool(TABLE, codes.T, PrivateRandomness.simulated("proof", number))
    return SimpleNamespace(
        plan=made, pool=pool, codes=codes, alive=survivors, weights=weights if weighted else None, U=U
    )


@cache
def labs():
    return [(one, expected(one)) for one in made_labs()]


def made_labs():
    """Survivors that agree on every item, and survivors that do not; pools too small to tell, and large enough."""
    for number, (learner, items, weighted) in enumerate(
        product(("rounded-cal", "rounded-a2"), (True, False), (True, False))
    ):
        common = {"learner": learner, "items": items, "weighted": weighted}
        yield lab(number, **common, U=70, distances=[0, 0, 9, *[40] * 6], survivors=[0, 1], rho=0.9)
        yield lab(number, **common, U=150, distances=[0, 0, *[75] * 7], survivors=[0, 1], rho=0.9)
        yield lab(number, **common, U=400, distances=[0, 6, 60, *[200] * 6], survivors=[0, 1], rho=0.5)
        yield lab(number, **common, U=8000, distances=[0, *[4000] * 8], survivors=[0], rho=0.3)
        # Slack that reaches far, and nobody near a threshold: ρ is proven, the error bound is not.
        yield lab(number, **common, U=3000, distances=[0, 290, *[3000] * 7], survivors=[0, 1], rho=0.9)
        # Five labs.
        yield lab(number, **common, U=8000, distances=[0, *[4000] * 8], survivors=[0], rho=0.3, labs=5)
        yield lab(number, **common, U=8000, distances=[0, *[1500] * 8], survivors=[0], rho=0.9, labs=5)
        yield lab(number, **common, U=400, distances=[0, 6, 60, *[200] * 6], survivors=[0, 1], rho=0.5)


def expected(one):
    """κ, what may be told as proven on either grid, and the largest slack with which the error bound holds."""
    n, U, made = N, one.U, one.plan
    rho, delta_A, delta_C = (made[name] for name in ("rho", "delta_A", "delta_C"))
    said = {number.name: number.value for number in made.numbers}
    K = int(said.get("labs", 2))
    a, b = 0.1, 0.9 * EPSILON
    centre = 2 * one.codes[one.alive].sum(axis=0) > len(one.alive)
    scores = (one.codes != centre).sum(axis=1)
    kappa = int(scores[one.alive].max())
    together = made.items is not None
    loose = min(0.1, sqrt(2 * rho / (K * (K - 1))) - delta_A) if together and kappa == 0 else float(delta_C)
    masses = one.weights
    least = 1.0 if masses is None else min(masses[h] for h in one.alive)

    def proven(failure, step):
        gamma = Gamma(U=U, a=a, b=b, beta=log(2 * n / failure), masses=masses, alone=not together, labs=K)
        found = gamma.bound(scores, kappa, least, step=step)
        bound = (found if together else K * found) + float(K * (delta_A + delta_C))
        return min(1.0, ceil(bound * MILLION) / MILLION) if found < 1 else 1.0

    told = {proven(loose, step) for step in (FINE, FINEST)}
    if together and kappa == 0:  # two labs may both misjudge it, unless they are as careful as labs with slack
        both = min(float(rho), ceil(K * (K - 1) // 2 * (Fraction(repr(loose)) + delta_A) ** 2 * MILLION) / MILLION)
        told = {min(max(proven(loose, step), both), proven(float(delta_C), step)) for step in (FINE, FINEST)}
    most = int(np.flatnonzero(binom.cdf(np.arange(-1, U), U, EPSILON) <= DELTA / (2 * n)).max()) - 1 - floor(U * b)
    return kappa, told, most


def agrees(one, formulas):
    """Does the library say of these survivors what the formulas say?"""
    whole = one.pool.version_space()
    V = whole.keep(np.isin(whole.indices, one.alive))
    found = learner_for(one.plan).prove(one.pool, V, SHARED).rounding
    kappa, told, most = formulas
    near = any(abs(found.rho_proven - each) < 1.5 / MILLION for each in told)
    sure = found.rho_proven <= one.plan["rho"] and kappa <= most
    return found.kappa == kappa and near and most - 1 <= found.kappa_most <= most and found.certified == sure


@pytest.mark.claim("certificate", "many_labs")
def test_what_is_proven_is_what_the_formulas_say():
    assert all(agrees(*each) for each in labs())


class LargestWeight(Proof):
    """Takes the heaviest survivor for the best hypothesis."""

    def _least(self, V):
        masses = self._own.gamma.masses
        return 1.0 if masses is None else float(masses[V.indices].max())


class Loose(Proof):
    """Without slack, intervals that fail nine times in ten."""

    def __init__(self, plan, pool):
        super().__init__(plan, pool)
        self._own.exact = self._own.exact and replace(self._own.gamma, beta=log(2 * plan.n / 0.9))


class LooseAlone(Proof):
    """Forgets that a lab alone has nobody who would have to fail too."""

    def __init__(self, plan, pool):
        super().__init__(plan, pool)
        self._own.exact = replace(self._own.gamma, beta=log(2 * plan.n / 0.1))
        self._own.misjudged = 0.0


class Certain(Proof):
    """Forgets how often two labs that both misjudge Λ(0) are both certified."""

    def __init__(self, plan, pool):
        super().__init__(plan, pool)
        self._own.misjudged = 0.0


class TwoLabs(Proof):
    """Forgets that more than two labs take part."""

    def __init__(self, plan, pool):
        super().__init__(plan, pool)
        self._own.gamma = replace(self._own.gamma, labs=2)
        self._own.exact = self._own.exact and replace(self._own.exact, labs=2)


class AnySlack(Proof):
    """Certified as soon as ρ is proven, however large the slack."""

    def conclude(self, shrunk):
        rounding = super().conclude(shrunk)
        return replace(rounding, certified=rounding.rho_proven <= self._plan["rho"])


@pytest.mark.claim("certificate", "many_labs")
@pytest.mark.mutant
@pytest.mark.parametrize("mutant", [LargestWeight, Loose, LooseAlone, Certain, TwoLabs, AnySlack])
def test_the_same_law_catches_mutants(mutant, monkeypatch):
    monkeypatch.setattr("replical.learners.rounded.learner.Proof", mutant)
    assert not all(agrees(*each) for each in labs())


def survivors_agree(made, delta_A):
    """Does the base of a plan remove exactly those whom bets at the level `delta_A` remove?"""
    for number in range(6):
        generator = np.random.default_rng(number)
        codes = generator.integers(2, size=(N, 400))
        truth = np.where(generator.random(400) < 0.25, 1 - codes[0], codes[0])
        private = PrivateRandomness.simulated("base", number)
        pool, order = Pool(TABLE, codes.T, private), private.permutation(400).tolist()
        result = learn(learner_for(made), pool, KnownLabels(TABLE, truth), SHARED)
        *_, alive = reference.a2_betting(codes.tolist(), order, truth.tolist(), Fraction(0), delta_A, 1, "proof")
        if result.V.indices.tolist() != alive or result.rounding.certified:
            return False
    return True


@pytest.mark.claim("rounded", "certificate")
@pytest.mark.mutant
def test_the_base_bets_at_the_level_that_is_certified():
    """δ_A = min(δ/2, ρ/8) is added to what is proven; a base that bets at δ would lose the best more often than that."""
    made = plan("rounded-a2", TABLE, epsilon=0.2, delta=0.4, rho=0.02, pool="finite")
    assert made["delta_A"] == Fraction(1, 400)
    assert survivors_agree(made, Fraction(1, 400))
    loose = replace(made, base=plan("a2", TABLE, epsilon=0.2, delta=0.4, pool="finite"))
    assert not survivors_agree(loose, Fraction(1, 400))
