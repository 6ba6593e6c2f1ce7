"""Rounded: what it proves and says when it proves nothing, its priors and budgets (docs/claims/rounded.md)."""

from fractions import Fraction
from math import log

import numpy as np
import pytest
from scipy.stats import binom

from replical import A2, CAL, Pool, Population, PrivateRandomness, Rounded, SharedRandomness, Thresholds, learn, plan
from replical.bounds.gamma import Gamma
from replical.classes.prior import Prior
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.learners.planning import learner_for
from replical.learners.rounded.proof import Centre
from replical.worlds.audit import run_pair
from replical.worlds.datasets import real_world
from support.worlds import random_table

# --- one lab ----------------------------------------------------------------------------------------------------------
SMALL = Thresholds(4000)
TASK = {"epsilon": 0.2, "delta": 0.05, "rho": 0.2, "pool": "finite"}


def one_lab(learner, size, name="lab", noise=0.0, target=1234, shared="published"):
    private, world = PrivateRandomness.simulated(name), Population(SMALL, target=target, noise=noise)
    pool = world.pool(size, private)
    return pool, learn(learner, pool, world.labels(pool, private), SharedRandomness(shared))


@pytest.mark.parametrize(("case", "noise"), [("rounded-cal", 0.0), ("rounded-a2", 0.05)])
@pytest.mark.parametrize("items", [None, 100])
def test_a_tiny_pool_is_uncertified_and_says_what_it_needs(case, noise, items):
    _, result = one_lab(learner_for(plan(case, SMALL, **TASK, items=items)), 100, noise=noise)
    rounding = result.rounding
    assert not rounding.certified
    assert not result.stopped
    assert not result.sound
    assert rounding.rho_proven > 0.2
    assert rounding.supports > 0.2
    assert rounding.pool_needed > 1000
    assert rounding.items == 100
    assert 0 <= result.hypothesis < len(SMALL)


@pytest.mark.parametrize(("case", "noise"), [("rounded-cal", 0.0), ("rounded-a2", 0.05)])
def test_the_pool_it_asks_for_is_enough(case, noise):
    _, poor = one_lab(learner_for(plan(case, SMALL, **TASK)), 2000, noise=noise)
    assert not poor.rounding.certified
    _, rich = one_lab(learner_for(plan(case, SMALL, **TASK)), poor.rounding.pool_needed, noise=noise)
    assert rich.rounding.certified
    assert rich.stopped
    assert rich.sound
    assert (rich.rounding.supports, rich.rounding.pool_needed) == (None, None)
    assert rich.rounding.rho_proven <= 0.2


@pytest.mark.parametrize(("case", "noise"), [("rounded-cal", 0.0), ("rounded-a2", 0.05)])
def test_scores_slack_and_answer_by_their_definitions(case, noise):
    """The centre is the majority of V on every item; κ its distance to the farthest survivor; the answer is within v."""
    learner = learner_for(plan(case, SMALL, **TASK, items=12_000))
    pool, result = one_lab(learner, 12_000, noise=noise)
    rounding, codes = result.rounding, SMALL.codes(pool.items, np.arange(len(SMALL)))
    counted = pool.weights
    ones = codes[result.V.indices].astype(np.int64).sum(axis=0)
    centre = (2 * ones > result.V.size).astype(codes.dtype)
    distances = ((codes != centre) * counted).sum(axis=1)
    assert rounding.scores.tolist() == distances.tolist()
    assert rounding.kappa == distances[result.V.indices].max()
    v = learner.plan.threshold(SharedRandomness("published"), 12_000)
    assert 0.09 * 12_000 - 1 <= v <= 0.18 * 12_000
    assert result.hypothesis == SharedRandomness("published").first("order", indices=np.flatnonzero(distances <= v))


@pytest.mark.parametrize(("case", "noise", "delta_A"), [("rounded-cal", 0.0, 0.0), ("rounded-a2", 0.05, 0.025)])
@pytest.mark.parametrize("items", [None, 16_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_proven_is_the_certificate_of_the_scores_and_every_failure(case, noise, delta_A, items, weighted):
    """Γ̂ + 2δ_A + 2δ_C where all labs round on as many items, 2Γ̂ alone; the error bound by its own binomial tail."""
    n, U, rho, delta_C, weights = len(SMALL), 16_000, 0.2, 0.001, np.linspace(1, 2, len(SMALL))
    prior = {"prior": Prior.weights(SMALL, weights)} if weighted else {}
    _, result = one_lab(learner_for(plan(case, SMALL, **TASK, items=items, **prior)), U, noise=noise)
    rounding = result.rounding
    proof = Gamma(
        U=U, a=0.09, b=0.18, beta=log(2 * n / delta_C), masses=weights if weighted else None, alone=items is None
    )
    gamma = proof.bound(rounding.scores, rounding.kappa, weights[result.V.indices].min() if weighted else 1.0)
    expected = gamma * (2 if items is None else 1) + 2 * delta_A + 2 * delta_C
    assert rounding.rho_proven == pytest.approx(expected, abs=1.1e-6)
    assert rounding.rho_proven >= expected - 1e-12  # rounded up
    assert rounding.certified == (rounding.rho_proven <= rho and rounding.kappa <= rounding.kappa_most)
    assert rounding.certified
    most = rounding.kappa_most + int(U * 0.18)
    assert binom.cdf(most, U, 0.2) <= 0.05 / (2 * n) < binom.cdf(most + 2, U, 0.2)


def test_the_threshold_itself_is_within_the_threshold():
    made = plan("rounded-cal", SMALL, **TASK)
    shared = SharedRandomness("published")
    v = made.threshold(shared, 5000)
    for scores, answer in (([v, v + 1, v + 1], 0), ([v + 1, v + 1, v], 2)):
        ball = made.ball(shared, np.array(scores), 5000, np.array([1]))
        assert ball.tolist() == [answer]
        assert made.prior.first(shared, "order", indices=ball) == answer
    assert made.ball(shared, np.array([v + 1, v + 2]), 5000, np.array([1])).tolist() == [1]  # nobody is: the survivors


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("labels", [(0, 1), (0, 1, 2)])
def test_a_centre_follows_its_version_space(seed, labels):
    """Distances kept up to date while V shrinks equal those counted afresh; items have weights, some of them none."""
    C, items = random_table(60, 80, labels=labels, seed=seed)
    generator = np.random.default_rng(seed)
    pool = Pool(C, items, PrivateRandomness.simulated("p"), weights=generator.integers(0, 4, 80))
    V, codes = pool.version_space(), C.codes(items, np.arange(60))
    following = Centre(V)
    while V.size > 1:
        V = V.keep(generator.random(V.size) < 0.8) if V.size > 4 else V.keep(np.arange(V.size) == 0)
        if V.size == 0:
            break
        votes = (codes[V.indices][:, :, None] == np.arange(len(labels))).sum(axis=0)
        distances = ((codes != votes.argmax(axis=1)) * pool.weights).sum(axis=1)
        assert (
            following.distances(V).tolist() == distances.tolist() == Centre(pool.version_space()).distances(V).tolist()
        )
        assert following.radius(V) == distances[V.indices].max()
        assert following.at_least(V) <= following.radius(V)


def test_more_items_than_the_protocol_rounds_on_change_nothing():
    """The first items of the private order are the pool; the others are not looked at."""
    learner = learner_for(plan("rounded-cal", SMALL, **TASK, items=12_000))
    private, world = PrivateRandomness.simulated("many"), Population(SMALL, target=999)
    pool, shared = world.pool(30_000, private), SharedRandomness("published")
    first = pool.first(12_000)
    assert first.size == 12_000
    whole, part = (learn(learner, each, world.labels(each, private), shared) for each in (pool, first))
    assert whole.rounding.items == 12_000
    assert whole.rounding.figures() == part.rounding.figures()
    assert whole.rounding.scores.tolist() == part.rounding.scores.tolist()
    assert (whole.hypothesis, whole.labels) == (part.hypothesis, part.labels)
    assert whole.rounding.certified


def test_halving_asks_less_and_keeps_the_truth():
    labels = dict.fromkeys(("scan", "halving"), 0)
    for query in labels:
        learner = learner_for(plan("rounded-cal", SMALL, **TASK, items=12_000, query=query))
        for number in range(12):
            target = 300 * number + 50
            _, result = one_lab(learner, 12_000, name=f"halving {number}", target=target)
            assert target in result.V.indices
            assert result.rounding.certified
            labels[query] += result.labels
    assert labels["halving"] < 0.9 * labels["scan"]


@pytest.mark.parametrize(("case", "noise"), [("rounded-cal", 0.0), ("rounded-a2", 0.05)])
def test_a_spent_budget_keeps_its_labels_and_proves_nothing(case, noise):
    learner = learner_for(plan(case, SMALL, **TASK, items=12_000, max_labels=4))
    _, result = one_lab(learner, 12_000, noise=noise)
    assert result.labels == 4
    assert not result.rounding.certified
    assert not result.sound
    assert not result.rounding.labels_sufficient
    assert 1234 in result.V.indices


def test_a_slack_given_in_advance_stops_a_run_uncertified():
    learner = learner_for(plan("rounded-cal", SMALL, **TASK, items=12_000, kappa=0.1))
    _, result = one_lab(learner, 12_000)
    assert not result.rounding.certified
    assert result.rounding.kappa <= 1200
    _, further = one_lab(learner_for(plan("rounded-cal", SMALL, **TASK, items=12_000)), 12_000)
    assert further.labels > result.labels


@pytest.mark.parametrize("learner", ["rounded-cal", "rounded-a2", "a2"])
def test_a_slack_above_epsilon_is_refused(learner):
    rho = {"rho": 0.2} if learner.startswith("rounded") else {}
    task = {"epsilon": 0.2, "delta": 0.05, "pool": "finite", **rho}
    assert plan(learner, SMALL, **task, kappa=0.2)["kappa"] == Fraction(1, 5)
    with pytest.raises(ValueOutOfRange) as error:
        plan(learner, SMALL, **task, kappa=0.2000001)
    assert str(error.value) == (
        "kappa must be at most epsilon = 0.2, got 0.2000001: a run that stops there leaves hypotheses that err more than "
        "epsilon; give a smaller kappa or a larger epsilon"
    )


@pytest.mark.parametrize("most", [20, 60, 300])
def test_how_often_labs_differ_is_not_predicted_while_survivors_are_far_apart(most):
    """From slack a on the ball around a centre need not hold the truth: of 16 such labs that foretold .002, 31% differed."""
    world, told = real_world("digits", 2000), []
    learner = learner_for(
        plan("rounded-a2", world.C, epsilon=0.05, delta=0.05, rho=0.1, pool="finite", max_labels=most, batch=8)
    )
    for number in range(3):
        _, labs = run_pair(learner, world, "withheld", number)
        for lab in labs:
            rounding = lab.result.rounding
            told.append(rounding.rho_predicted)
            assert (rounding.rho_predicted is None) == (rounding.kappa >= 0.0225 * 2000)
            assert rounding.spent == (lab.result.labels == most)
    assert (most < 300) == (told == [None] * 6)


@pytest.mark.parametrize("prior", ["weights", "order"])
@pytest.mark.parametrize("items", [None, 12_000])
def test_priors_run_end_to_end(prior, items):
    """A prior that prefers hypotheses near the truth certifies, and its answer is the one it prefers."""
    near = -np.abs(np.arange(len(SMALL)) - 1300)
    made = {
        "weights": lambda: Prior.weights(SMALL, np.exp(near / 400)),
        "order": lambda: Prior.order(SMALL, np.argsort(-near, kind="stable").tolist()),
    }[prior]()
    learner = learner_for(plan("rounded-cal", SMALL, **TASK, items=items, prior=made))
    _, result = one_lab(learner, 12_000)
    v = learner.plan.threshold(SharedRandomness("published"), 12_000)
    within = np.flatnonzero(result.rounding.scores <= v)
    assert result.rounding.certified
    assert result.hypothesis == made.first(SharedRandomness("published"), "order", indices=within)
    assert prior == "weights" or result.hypothesis == 1300


# --- what a plan refuses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["rounded-cal", "rounded-a2"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": 0.1, "b": 0.1}, "a must be above 0 and below b = 0.1, got 0.1"),
        ({"a": 0.15, "b": 0.1}, "a must be above 0 and below b = 0.1, got 0.15"),
        ({"b": 0.2}, "b must be below epsilon = 0.2, got 0.2"),
        ({"b": 0.3}, "b must be below epsilon = 0.2, got 0.3"),
        ({"a": 0.19}, "a must be above 0 and below b = 0.18, got 0.19"),
        ({"a": 0}, r"a must be in \(0, 1\), got 0"),
        ({"items": 0}, "items must be a whole number of at least 1, got 0"),
        ({"rho": None}, "needs rho"),
    ],
)
def test_plans_that_cannot_be(case, change, message):
    with pytest.raises(ValueOutOfRange, match=message):
        plan(case, SMALL, **(TASK | change))


@pytest.mark.parametrize("case", ["rounded-cal", "rounded-a2"])
def test_pools_that_will_not_do(case):
    private, world = PrivateRandomness.simulated("lab"), Population(SMALL, target=5)
    for size, items, message in (
        ("exact", None, "finite pool"),
        (500, 600, "600 items and the pool holds 500: bring 100"),
    ):
        pool = world.pool(size, private)
        with pytest.raises(PlanMismatch, match=message):
            learn(
                learner_for(plan(case, SMALL, **TASK, items=items)),
                pool,
                world.labels(pool, private),
                SharedRandomness("s"),
            )


@pytest.mark.parametrize(("case", "kind", "other"), [("rounded-cal", CAL, "cal"), ("rounded-a2", A2, "a2")])
def test_the_base_is_the_one_the_proof_is_about(case, kind, other):
    """A base that loses the best more often than δ_A, or under noise at all, would certify labs that differ."""
    made, same = (plan(case, SMALL, **TASK) for _ in range(2))
    wrong = {
        "rounded-cal": A2(plan("rounded-a2", SMALL, **TASK).base),
        "rounded-a2": CAL(plan("rounded-cal", SMALL, **TASK).base),
    }
    looser = kind(plan(other, SMALL, epsilon=0.3, delta=0.4, pool="finite"))
    for base in (wrong[case], looser):
        with pytest.raises(PlanMismatch, match=rf"Rounded proves .* plan for '{made.base.learner}'.*: learner_for"):
            Rounded(base, made)
    assert Rounded(kind(made.base), made) == Rounded(kind(same.base), made) == learner_for(made)
