"""All labs whose directions lie in one cell have the best one's cell; otherwise walls cross as seldom as they say.

docs/claims/lattice.md
"""

import numpy as np
import pytest

from replical import AskTell, KnownLabels, Pool, PrivateRandomness, SharedRandomness, learn
from replical.lattice import cones as cone
from replical.lattice import learner as lattice
from replical.lattice.cones import Extent
from replical.lattice.learner import Lattice
from replical.lattice.linear import Linear
from replical.lattice.plan import lattice_plan
from support.sequential import Promise

ALARM = 1e-6


def round_law(generator, d):
    return generator.normal(size=(2000, d))


def skewed_law(generator, d):
    """Most items on one side, features of very different size, some of them equal."""
    return np.round(generator.exponential(size=(2000, d)) - 0.5, 2) * 2.0 ** -np.arange(d)


LAWS = {"round": round_law, "skewed": skewed_law}


def lab(law, d, step, number, *, who=0, shift=None, budget=None, checks=5):
    """The result of lab `who`, with items of its own, and the cell of the best direction, in world number `number`."""
    best = np.random.default_rng([number, d]).normal(size=d)
    best /= np.linalg.norm(best)
    C = Linear(d, step=step, seed=f"string {number}")
    C.shift = C.shift if shift is None else shift
    X = law(np.random.default_rng([number, d, who]), d)
    plan = lattice_plan(C, epsilon=0.3, delta=0.05, rho=0.2, checks=checks, max_labels=budget)
    y = KnownLabels(C, (X @ best >= 0).astype(int))
    pool = Pool(C, X, PrivateRandomness.simulated("test_lattice", number, who))
    return learn(Lattice(plan), pool, y, SharedRandomness(C.seed)), C.number(C.cell(best))


def wrong_though_enclosed(law, d, runs, **more):
    """Labs that are enclosed, and those of them whose cell is not the best one's."""
    found = [lab(law, d, 0.3, number, **more) for number in range(runs)]
    enclosed = [(result, best) for result, best in found if result.proof.enclosed]
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


def differ_though_enclosed(law, d, runs, shift_of):
    """Pairs of labs that are both enclosed, and those of them with two half-spaces."""
    pairs = [[lab(law, d, 0.3, number, who=who, shift=shift_of(who, d))[0] for who in (1, 2)] for number in range(runs)]
    both = [pair for pair in pairs if all(each.proof.enclosed for each in pair)]
    return len(both), sum(one.hypothesis != two.hypothesis for one, two in both)


def the_strings(who, d):
    """The shift that all labs read off the string."""
    return


def ones_own(who, d):
    """The mutant: every lab draws a shift."""
    return np.random.default_rng(who).random(d)


@pytest.mark.claim("lattice")
def test_two_enclosed_labs_return_one_half_space(record_property):
    both, differ = differ_though_enclosed(round_law, 3, 10, the_strings)
    record_property("power", f"{differ} of {both} pairs differ")
    assert differ == 0
    assert both >= 4


def asked(shift):
    """The items that a lab with this shift asks about, in turn."""
    best, C = np.array([0.6, 0.0, 0.8, 0.0]), Linear(4, step=0.05, seed="string")
    C.shift = shift
    X = round_law(np.random.default_rng(0), 4)
    plan = lattice_plan(C, epsilon=0.3, delta=0.05, rho=0.2, checks=0)
    pool = Pool(C, X, PrivateRandomness.simulated("test_lattice"))
    run, said = AskTell(Lattice(plan), pool, SharedRandomness("string")), []
    while run.open:
        said += run.open
        run.tell({row: int(X[row] @ best >= 0) for row in run.open})
    return said


def shifts_that_change_questions(shifts=8):
    """How many of several shifts lead to other questions than the one with most; whoever is enclosed asks fewer."""
    found = sorted(map(asked, np.random.default_rng(0).random((shifts, 4))), key=len)
    assert len(found[-1]) > len(found[0]) > 10
    return sum(each != found[-1][: len(each)] for each in found)


@pytest.mark.claim("lattice")
def test_questions_do_not_depend_on_the_shift():
    """What the probability of a crossing rests on: directions that are left, and where walls are, know nothing of another."""
    assert shifts_that_change_questions() == 0


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
            crossed = not cone.is_enclosed(C, reach)
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


def errors_beyond_the_bound():
    """How often the bound fails for a law whose error can be computed."""
    promise = Promise(0.05, 200, ALARM)
    for number in range(promise.most):
        result, _ = lab(round_law, 2, 0.3, number)
        best = np.random.default_rng([number, 2]).normal(size=2)
        w = Linear(2, step=0.3, seed=f"string {number}").normal(result.hypothesis)
        angle = np.arccos(np.clip(w @ best / np.linalg.norm(w) / np.linalg.norm(best), -1, 1))
        promise.hear(result.proof.enclosed and angle / np.pi > result.answer_error.high)
        if not promise.open:
            break
    return promise


@pytest.mark.claim("lattice")
def test_the_error_is_proven(record_property):
    """At most as often as δ says."""
    promise = errors_beyond_the_bound()
    record_property("power", promise.told("bounds fail"))
    assert promise.broken is False


@pytest.mark.claim("lattice")
@pytest.mark.mutant
@pytest.mark.parametrize(
    "mutant",
    ["the ellipsoid alone", "a shift of one's own", "one wall", "questions near walls", "right where in doubt"],
)
def test_the_same_tests_catch_mutants(mutant, monkeypatch):
    if mutant == "the ellipsoid alone":  # what surely lies in V, in place of all that may

        def inner(V):
            if V.empty:
                return False
            place, radii = V.C.place(V.direction), V.centre.radii(V.C.rotation) / V.C.step
            low, high = (place - radii + V.C.shift) * V.C.step, (place + radii + V.C.shift) * V.C.step
            V.extent = Extent(low=low, high=high, slice_low=low, slice_high=high)
            return len(V.centre.A) >= V.C.d and cone.is_enclosed(V.C, V.extent)

        monkeypatch.setattr(cone.Cone, "look", inner)
        assert wrong_though_enclosed(round_law, 4, 15)[1] > 0
    elif mutant == "a shift of one's own":
        assert differ_though_enclosed(round_law, 3, 10, ones_own)[1] > 0
    elif mutant == "questions near walls":
        look_for = cone.Cone.next

        def near_a_wall(V):
            V._askable &= V.rows[:, 0] < V.C.shift[0]
            return look_for(V)

        monkeypatch.setattr(cone.Cone, "next", near_a_wall)
        assert shifts_that_change_questions() > 0
    elif mutant == "right where in doubt":  # items of which nothing is known are no errors
        errors = lattice._errors
        monkeypatch.setattr(lattice, "_errors", lambda V, pool: (errors(V, pool)[0], 0))
        assert errors_beyond_the_bound().broken
    else:  # walls of one axis counted in place of those of all
        assert broken(one_wall)[0]
