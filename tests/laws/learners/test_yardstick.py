"""What one lab says is proven with a yardstick, against the claim: any survivors, any pool, any prior, any K."""

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from replical import Pool, PredictionTable, Prior, PrivateRandomness, SharedRandomness, Thresholds, Yardstick, plan
from replical.learners.planning import learner_for
from support import reference

N = 7
TABLE = PredictionTable([f"m{h}" for h in range(N)], labels=(0, 1, 2))
MILLION = 10**6


@st.composite
def cases(draw):
    """A table of candidates on public and on own items, a plan, and whom the labels left."""
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    near = draw(st.sampled_from([0.02, 0.1, 0.4]))

    def says(items):
        truth = generator.integers(0, 3, items)
        moved = generator.random((N, items)) < near * np.arange(1, N + 1)[:, None]
        return np.where(moved, generator.integers(0, 3, (N, items)), truth)

    public, own = says(draw(st.integers(1, 60))), says(draw(st.sampled_from([40, 400, 4000])))
    weights = generator.integers(1, 3, public.shape[1])
    kind = draw(st.sampled_from(["uniform", "weights", "order"]))
    values = generator.integers(1, 9, N) if kind == "weights" else generator.permutation(N)
    prior = {"uniform": Prior, "weights": lambda: Prior.weights(TABLE, values.astype(float)),
             "order": lambda: Prior.order(TABLE, values.tolist())}[kind]()  # fmt: skip
    learner, labs = draw(st.sampled_from([("rounded-cal", None), ("rounded-a2", 2), ("rounded-a2", 9)]))
    ends = sorted(draw(st.lists(st.integers(1, 60), min_size=2, max_size=2, unique=True)))
    made = plan(
        learner, TABLE, epsilon=0.3, delta=0.1, rho=draw(st.sampled_from([0.1, 0.5, 0.8])), pool="finite", prior=prior,
        a=ends[0] / 100, b=ends[1] / 100, labs=labs, yardstick=Yardstick(TABLE, public.T, weights=weights),
    )  # fmt: skip
    alive = sorted(draw(st.sets(st.integers(0, N - 1), min_size=1, max_size=4)))
    string = SharedRandomness(f"law {draw(st.integers(0, 10**6))}")
    return made, public, weights, own, alive, string


def counted(made, public, weights, alive):
    """Scores, what is proven at least, and what it is exactly: from the claim alone."""
    votes = [[sum(int(public[h][x]) == label for h in alive) for label in range(3)] for x in range(len(weights))]
    centre = [row.index(max(row)) for row in votes]
    scores = [reference.apart(row, centre, weights) for row in public]
    prior, M = made.prior, int(weights.sum())
    masses = None if prior.kind != "weights" else [int(value) for value in prior.values]
    places = None if prior.kind != "order" else prior.places.tolist()
    ends = (M, made["a"], made["b"], masses, places)
    Y = max(
        reference.lost([reference.apart(row, public[t], weights) for row in public], scores[t], *ends) for t in alive
    )
    return scores, Y, reference.lost(scores, 2 * max(scores[t] for t in alive), *ends)


def again(made, own, alive, string):
    pool = Pool(TABLE, own.T, PrivateRandomness.simulated("law"))
    whole = pool.version_space()
    return learner_for(made).prove(pool, whole.keep(np.isin(whole.indices, alive)), string)


@pytest.mark.claim("yardstick")
@settings(max_examples=100, deadline=None)
@given(cases())
def test_what_is_proven_is_what_the_claim_says(case):
    made, public, weights, own, alive, string = case
    scores, Y, cheap = counted(made, public, weights, alive)
    labs = int(made["labs"]) if made.learner == "rounded-a2" else 0
    failures, rho = labs * made["delta_A"], made["rho"]
    result = again(made, own, alive, string)
    rounding = result.rounding
    assert rounding.scores.tolist() == scores
    assert rounding.kappa == max(scores[t] for t in alive)
    assert rounding.items == weights.sum()
    assert rounding.rho_proven >= float(min(Fraction(1), Y + failures))
    assert rounding.rho_proven <= float(min(Fraction(1), cheap + failures)) + 2 / MILLION
    assert rounding.certified == rounding.labels_sufficient == (rounding.rho_proven <= float(rho))
    if abs(Y + failures - rho) > Fraction(5, MILLION):
        assert rounding.certified == (Y + failures < rho)
    word = Fraction(string.word("threshold") >> 11, 2**53)
    x = floor(weights.sum() * (made["a"] + (made["b"] - made["a"]) * word))
    ball = [h for h in range(N) if scores[h] <= x] or alive
    assert result.hypothesis == made.prior.first(string, "order", indices=np.array(ball))


@pytest.mark.claim("yardstick")
@settings(max_examples=40, deadline=None)
@given(cases())
def test_an_answer_is_accurate_if_it_is_near_every_survivor_on_own_items(case):
    made, _, _, own, alive, string = case
    result, U = again(made, own, alive, string), own.shape[1]
    apart = max(int((own[result.hypothesis] != own[t]).sum()) for t in alive)
    chance = binom.cdf(apart, U, 0.3)
    assume(abs(chance - 0.1 / (2 * N)) > 0.5 * chance)  # the bound on the tail is not exact
    assert result.rounding.accurate == (chance <= 0.1 / (2 * N))
    assert result.rounding.accuracy[0] == apart / U


@pytest.mark.claim("yardstick")
@settings(max_examples=20, deadline=None)
@given(cases(), st.integers(1, 1000))
def test_what_is_proven_does_not_depend_on_the_pool(case, items):
    """Public items, the survivors and the string decide: anyone can check it without the lab's own items."""
    made, _, _, own, alive, string = case
    other = np.random.default_rng(items).integers(0, 3, (N, items))
    one, two = again(made, own, alive, string), again(made, other, alive, string)
    assert (one.hypothesis, one.rounding.rho_proven) == (two.hypothesis, two.rounding.rho_proven)


def test_k_labs_share_what_a2_may_lose():
    C = Thresholds(100)
    for labs, share in ((2, 8), (10, 40)):
        made = plan(
            "rounded-a2", C, epsilon=0.1, delta=0.5, rho=0.1, pool="finite", labs=labs, yardstick=Yardstick.cells(C)
        )
        assert made["delta_A"] == Fraction(1, 10 * share)
        assert ceil(labs * made["delta_A"] * 40) == 1  # a quarter of rho is for them


@pytest.mark.claim("yardstick")
@settings(max_examples=60, deadline=None)
@given(cases(), st.integers(0, 10**6))
def test_what_a_lab_calls_fixed_is_what_certified_labs_return(case, seed):
    """Other labs with the same candidate among their survivors, on other items, with the same string."""
    made, _, _, own, alive, string = case
    result, generator = again(made, own, alive, string), np.random.default_rng(seed)
    if not result.rounding.fixed:
        return
    for _ in range(4):
        others = np.flatnonzero(generator.random(N) < generator.choice([0.2, 0.6]))
        theirs = again(made, own, sorted({alive[0], *others.tolist()}), string)
        assert theirs.hypothesis == result.hypothesis or not theirs.rounding.certified
