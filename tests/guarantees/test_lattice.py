"""All labs whose directions lie in one cell have the best one's cell; otherwise walls cross as seldom as they say.

docs/claims/lattice.md
"""

from functools import partial

import numpy as np
import pytest

from replical import KnownLabels, Pool, PrivateRandomness, SharedRandomness, learn
from replical.classes.linear import Linear
from replical.core.cones import Extent
from replical.learners.lattice import Lattice
from replical.plans.lattice import lattice_plan
from replical.pools import cone
from support.sequential import Promise

ALARM = 1e-6


def round_law(generator, d):
    return generator.normal(size=(2000, d))


def skewed_law(generator, d):
    """Most items on one side, features of very different size, some of them equal."""
    return np.round(generator.exponential(size=(2000, d)) - 0.5, 2) * 2.0 ** -np.arange(d)


LAWS = {"round": round_law, "skewed": skewed_law}


def lab(law, d, step, number, *, seed=None, budget=None, checks=5):
    """The result of one lab, and the cell of the best direction, in world number `number`."""
    world = np.random.default_rng([number, d])
    best = world.normal(size=d)
    best /= np.linalg.norm(best)
    C = Linear(d, step=step, seed=f"string {number}" if seed is None else seed)
    X = law(world, d)
    plan = lattice_plan(C, epsilon=0.3, delta=0.05, rho=0.2, checks=checks, max_labels=budget)
    y = KnownLabels(C, (X @ best >= 0).astype(int))
    pool = Pool(C, X, PrivateRandomness.simulated("test_lattice", number))
    return learn(Lattice(plan), pool, y, SharedRandomness(C.seed)), C.number(C.cell(best))


def wrong_though_enclosed(law, d, runs, **more):
    """Labs that are enclosed, and those of them whose cell is not the best one's."""
    found = [lab(law, d, 0.3, number, **more) for number in range(runs)]
    enclosed = [(result, best) for result, best in found if result.enclosing.enclosed]
    return len(enclosed), sum(result.hypothesis != best for result, best in enclosed)


@pytest.mark.claim("lattice")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("d", [2, 4])
def test_enclosed_labs_return_the_best_cell(law, d, record_property):
    """Surely: a single exception would refute it; and it is not vacuous."""
    enclosed, wrong = wrong_though_enclosed(LAWS[law], d, 15)
    record_property("power", f"{wrong} of {enclosed} enclosed labs off")
    assert wrong == 0
    assert enclosed >= 5


def all_walls(C, reach):
    """With what probability walls cross, as a lab computes it."""
    return cone.crossings(C, reach)


def one_wall(C, reach):
    """The mutant: walls of the widest axis in place of all."""
    return float(((reach.high - reach.low) / C.step).max())


def broken(chance_of, labs=40, shifts=100):
    """Do walls cross more often, over shifts, than labs with a fixed number of labels say? And is nobody else off?"""
    failures, off, allowed = 0, 0, 0.0
    for number in range(labs):
        world = np.random.default_rng([number, 4])
        best = world.normal(size=4)
        best /= np.linalg.norm(best)
        X, C = world.normal(size=(2000, 4)), Linear(4, step=0.3, seed=f"string {number}")
        V = cone.Cone(C, X, np.arange(len(X)))
        for _ in range(25):
            item = V.next()
            V.tell(item, bool(X[item] @ best >= 0))
        reach = V.measure()
        chance = chance_of(C, reach)
        if chance >= 0.5:
            continue
        for C.shift in world.random((shifts, 4)):  # given V each is a trial of its own
            crossed = not cone.enclosed(C, reach)
            off += C.cell(V.direction) != C.cell(best)
            assert crossed or C.cell(V.direction) == C.cell(best)
            failures += crossed
            allowed += chance
    # Chernoff: Pr[failures >= f] <= exp(f - allowed - f ln(f/allowed)) where f > allowed
    beyond = failures > allowed and failures - allowed - failures * np.log(failures / allowed) <= np.log(ALARM)
    return beyond, off, failures, allowed


@pytest.mark.claim("lattice")
def test_a_wall_crosses_as_often_as_is_said(record_property):
    beyond, off, failures, allowed = broken(all_walls)
    record_property("power", f"{off} labs off, {failures} crossed by a wall, {allowed:.0f} allowed")
    assert not beyond
    assert off > 50


@pytest.mark.claim("lattice")
def test_the_error_is_proven(record_property):
    """The bound fails for a law whose error can be computed, at most as often as δ says."""
    promise = Promise(0.05, 200, ALARM)
    for number in range(promise.most):
        result, _ = lab(round_law, 2, 0.3, number)
        best = np.random.default_rng([number, 2]).normal(size=2)
        w = Linear(2, step=0.3, seed=f"string {number}").normal(result.hypothesis)
        angle = np.arccos(np.clip(w @ best / np.linalg.norm(w) / np.linalg.norm(best), -1, 1))
        promise.hear(result.enclosing.enclosed and angle / np.pi > result.answer_error.high)
        if not promise.open:
            break
    record_property("power", promise.told("bounds fail"))
    assert promise.broken is False


@pytest.mark.claim("lattice")
@pytest.mark.mutant
@pytest.mark.parametrize("mutant", ["the ellipsoid alone", "a shift of one's own", "one wall"])
def test_the_same_tests_catch_mutants(mutant, monkeypatch):
    if mutant == "the ellipsoid alone":  # what surely lies in V, in place of all that may

        def inner(V):
            if V.empty:
                return False
            place, radii = V.C.place(V.direction), V.centre.radii(V.C.rotation) / V.C.step
            low, high = (place - radii + V.C.shift) * V.C.step, (place + radii + V.C.shift) * V.C.step
            V.extent = Extent(low=low, high=high, slice_low=low, slice_high=high)
            return len(V.centre.A) >= V.C.d and cone.enclosed(V.C, V.extent)

        monkeypatch.setattr(cone.Cone, "look", inner)
        assert wrong_though_enclosed(round_law, 4, 15)[1] > 0
    elif mutant == "a shift of one's own":
        one, two = (partial(lab, round_law, 3, 0.3, seed=seed) for seed in ("mine", "yours"))
        pairs = [(one(number)[0], two(number)[0]) for number in range(6)]
        both = [pair for pair in pairs if all(each.enclosing.enclosed for each in pair)]
        assert sum(a.hypothesis != b.hypothesis for a, b in both) > 0
    else:  # walls of one axis counted in place of those of all
        assert broken(one_wall)[0]
