"""Bounds by a yardstick are what they are defined to be, and certified labs agree as often as proven, exactly.

No chance is left: worlds are so small that every threshold and every order can be gone through.
"""

from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.bounds.yardstick import YardstickBound
from support import reference

CLOSE = 1e-9  # two values that near may be told apart by rounding alone


@st.composite
def worlds(draw, hypotheses=12, most=20):
    """Public items with weights, a class of labellings in clusters, a range, an order."""
    size, items = draw(st.integers(2, hypotheses)), draw(st.integers(1, most))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    labels, clusters = draw(st.integers(2, 3)), draw(st.integers(1, 4))
    centres = generator.integers(0, labels, (clusters, items))
    codes = centres[generator.integers(0, clusters, size)]
    flips = generator.random(codes.shape) < draw(st.sampled_from([0.05, 0.2, 0.5]))
    codes = np.where(flips, generator.integers(0, labels, codes.shape), codes)
    weights = generator.integers(1, 4, items)
    ends = sorted(draw(st.lists(st.integers(1, 99), min_size=2, max_size=2, unique=True)))
    kind = draw(st.sampled_from(["uniform", "weights", "order"]))
    return SimpleNamespace(
        n=size,
        codes=codes,
        weights=weights,
        M=int(weights.sum()),
        a=Fraction(ends[0], 100),
        b=Fraction(ends[1], 100),
        masses=[int(mass) for mass in generator.integers(1, 6, size)] if kind == "weights" else None,
        places=[int(place) for place in generator.permutation(size)] if kind == "order" else None,
        generator=generator,
        labels=labels,
    )


def public(world):
    masses = None if world.masses is None else np.array(world.masses, dtype=np.float64)
    places = None if world.places is None else np.array(world.places)
    return YardstickBound(M=world.M, a=world.a, b=world.b, n=world.n, masses=masses, places=places)


def from_(world, labelling):
    return np.array([reference.apart(row, labelling, world.weights) for row in world.codes])


def lost(world, distances, k):
    return reference.lost(distances.tolist(), k, world.M, world.a, world.b, world.masses, world.places)


def some_lab(world, truth=None):
    """Survivors with the truth among them, and any labelling for a centre: a near one, a vote, or nonsense."""
    generator = world.generator
    alive = generator.random(world.n) < generator.choice([0.1, 0.4, 0.8])
    alive[truth if truth is not None else generator.integers(world.n)] = True
    V = np.flatnonzero(alive)
    near = world.codes[truth if truth is not None else V[0]].copy()
    moved = generator.random(len(near)) < generator.choice([0.0, 0.1, 0.3])
    centre = np.where(moved, generator.integers(0, world.labels, len(near)), near)
    return SimpleNamespace(V=V, scores=from_(world, centre))


def exact(world, lab):
    """Y: every survivor looked at in turn."""
    return max(lost(world, from_(world, world.codes[t]), int(lab.scores[t])) for t in lab.V)


@settings(max_examples=80, deadline=None)
@given(worlds(), st.integers(0, 15))
def test_lost_is_its_definition_and_never_falls(world, k):
    distances = from_(world, world.codes[0])
    balls = public(world).around(distances)
    assert abs(balls.lost(k) - lost(world, distances, k)) < CLOSE
    assert balls.lost(k) <= balls.lost(k + 1) + CLOSE
    assert balls.lost(0) == 0
    limit = float(world.generator.random())
    values = [balls.lost(each) for each in range(12)]
    assert balls.most(limit, 11) == max((each for each in range(12) if values[each] <= limit), default=-1)
    assert abs(public(world).chances.sum() - 1) < CLOSE


@settings(max_examples=120, deadline=None)
@given(worlds())
def test_a_cover_passes_exactly_where_every_survivor_does(world):
    lab, bound = some_lab(world), public(world)
    Y, limit = exact(world, lab), float(world.generator.random())
    found = bound.cover(lab.V, lab.scores, lambda t: from_(world, world.codes[t]), limit)
    if abs(Y - limit) > CLOSE:
        assert (found <= limit) == (limit >= Y)
    if found <= limit:
        assert found >= Y - CLOSE
    assert bound.cheap(lab.V, lab.scores) >= Y - CLOSE
    if int(lab.scores[lab.V].max()) > bound.slack_most(limit):
        assert limit < Y


def answers(world, labs, x, order):
    return {next((h for h in order if lab.scores[h] <= x), None) for lab in labs}


def differ(world, labs):
    """How often the answers of all these labs are not one and the same, over every threshold and order."""
    if len(labs) < 2:
        return Fraction(0)
    chances = reference.levels(world.M, world.a, world.b)
    ranked = reference.orders(world.n, world.masses, world.places)
    return sum(p * q for x, p in chances for order, q in ranked if len(answers(world, labs, x, order)) > 1)


def everybody(world, rho, proves, count=12):
    """The labs that prove ρ, of many with all kinds of survivors and centres, whatever these depend on."""
    truth = int(world.generator.integers(world.n))
    labs = [some_lab(world, truth) for _ in range(count)]
    return [lab for lab in labs if proves(world, lab) <= rho]


def by_centre(world, lab):
    """Λ around the centre with the slack once: it says how often one lab misses the ideal answer, and no more."""
    return lost(world, lab.scores, int(lab.scores[lab.V].max()))


def by_half(world, lab):
    return max(lost(world, from_(world, world.codes[t]), int(lab.scores[t]) // 2) for t in lab.V)


@pytest.mark.claim("yardstick")
@settings(max_examples=60, deadline=None)
@given(worlds(hypotheses=5, most=14), st.integers(1, 19))
def test_all_who_prove_rho_agree_except_as_often(world, twentieths):
    """Theorem Y, exactly: any number of labs, any survivors, any centres."""
    rho = Fraction(twentieths, 20)
    assert differ(world, everybody(world, rho, exact)) <= rho


@pytest.mark.claim("yardstick")
@settings(max_examples=60, deadline=None)
@given(worlds(hypotheses=5, most=14))
def test_the_centre_says_how_often_the_ideal_answer_is_missed(world):
    """Λ around the centre with the slack once bounds how often one lab alone misses the ideal answer."""
    truth = int(world.generator.integers(world.n))
    lab = some_lab(world, truth)
    ideal = SimpleNamespace(scores=from_(world, world.codes[truth]))
    assert differ(world, [lab, ideal]) <= by_centre(world, lab)


@cache
def two_centres():
    """Sixty items from the truth there is a crowd; two centres, twenty items from the truth, see it on either side."""
    M, crowd, slack = 100, 40, 20
    codes = np.zeros((crowd + 1, M), dtype=np.int64)
    codes[1:, :60] = 1
    one, two = np.zeros(M, dtype=np.int64), np.zeros(M, dtype=np.int64)
    one[:slack], two[60 : 60 + slack] = 1, 1  # nearer to the crowd, and farther from it
    world = SimpleNamespace(
        n=crowd + 1, codes=codes, weights=np.ones(M, dtype=np.int64), M=M, a=Fraction(40, M), b=Fraction(80, M),
        masses=None, places=None,
    )  # fmt: skip
    labs = [SimpleNamespace(V=np.array([0]), scores=from_(world, centre)) for centre in (one, two)]
    return world, labs


def crowd_differs(world, labs):
    """As `differ`, where too many orders are possible: given x, the first of the union is in both balls or it is not."""
    total = Fraction(0)
    for x, chance in reference.levels(world.M, world.a, world.b):
        balls = [set(np.flatnonzero(lab.scores <= x).tolist()) for lab in labs]
        total += chance * (1 - Fraction(len(balls[0] & balls[1]), len(balls[0] | balls[1])))
    return total


@pytest.mark.claim("yardstick")
@pytest.mark.mutant
def test_the_centre_alone_proves_nothing_about_two_labs():
    world, labs = two_centres()
    apart = crowd_differs(world, labs)
    assert apart > Fraction(9, 10)
    assert all(by_centre(world, lab) <= Fraction(1, 2) for lab in labs)  # the mutant
    assert all(exact(world, lab) >= apart for lab in labs)
    assert all(public(world).cheap(lab.V, lab.scores) >= float(apart) for lab in labs)


@pytest.mark.claim("yardstick")
@pytest.mark.mutant
def test_half_the_slack_proves_too_much():
    """On a line, centres on both sides of the truth: what is claimed by half the slack is exceeded, what is proven is not."""
    M, slack = 200, 6
    codes = np.array([[int(x < cut) for x in range(M)] for cut in range(40, 161)])
    world = SimpleNamespace(
        n=len(codes), codes=codes, weights=np.ones(M, dtype=np.int64), M=M, a=Fraction(1, 10), b=Fraction(1, 4),
        masses=None, places=None,
    )  # fmt: skip
    middle = len(codes) // 2
    labs = [
        SimpleNamespace(V=np.array([middle]), scores=from_(world, codes[middle + side])) for side in (-slack, slack)
    ]
    apart = crowd_differs(world, labs)
    assert all(by_half(world, lab) < Fraction(3, 5) * apart for lab in labs)  # the mutant
    assert all(apart <= exact(world, lab) < Fraction(11, 10) * apart for lab in labs)  # and hardly more


# --- fixed for this string -------------------------------------------------------------------------------------------


def fixed(lab, reach, x, order):
    """The answer that every certified lab has, as far as this one can tell; None where it cannot."""
    first = next((h for h in order if lab.scores[h] <= x + reach), None)
    return first if first is not None and lab.scores[first] <= x - reach else None


def broken_promises(world, rho, reach):
    """How often a lab says what all certified ones return, over strings and labs, and how often one of them does not."""
    truth, said, broken = int(world.generator.integers(world.n)), 0, 0
    labs = [some_lab(world, truth) for _ in range(10)]
    certified = [lab for lab in labs if exact(world, lab) <= rho]
    for lab in labs:
        radius = reach(world, lab, float(rho))
        for x, _ in reference.levels(world.M, world.a, world.b):
            for order, _ in reference.orders(world.n, world.masses, world.places):
                if (answer := fixed(lab, radius, x, order)) is not None:
                    said += 1
                    broken += any(answers(world, [other], x, order) != {answer} for other in certified)
    return said, broken


def by_reach(world, lab, rho):
    return public(world).reach(lab.V, lab.scores, rho + CLOSE)


@pytest.mark.claim("yardstick")
@settings(max_examples=40, deadline=None)
@given(worlds(hypotheses=4, most=40), st.integers(1, 10))
def test_what_is_fixed_for_this_string_every_certified_lab_returns(world, twentieths):
    """With every threshold and order, whatever survivors and centres the others have: no exception."""
    assert broken_promises(world, Fraction(twentieths, 20), by_reach)[1] == 0


@pytest.mark.claim("yardstick")
@pytest.mark.mutant
def test_a_reach_by_own_slack_alone_is_broken():
    """Others may have more slack than this lab; the sum over many worlds says something and keeps it, the mutant does not."""
    said = broken = mutant = 0
    for seed in range(4):
        generator = np.random.default_rng(seed)
        codes = (generator.random((4, 40)) < generator.choice([0.05, 0.1, 0.3])).astype(np.int64)
        world = SimpleNamespace(
            n=4, codes=codes, weights=np.ones(40, dtype=np.int64), M=40, a=Fraction(1, 5), b=Fraction(3, 5), masses=None,
            places=None, generator=generator, labels=2,
        )  # fmt: skip
        state = generator.bit_generator.state
        told = broken_promises(world, Fraction(3, 10), by_reach)
        generator.bit_generator.state = state
        said, broken = said + told[0], broken + told[1]
        mutant += broken_promises(world, Fraction(3, 10), lambda _, lab, rho: int(lab.scores[lab.V].max()))[1]
    assert said > 100
    assert broken == 0
    assert mutant > 10
