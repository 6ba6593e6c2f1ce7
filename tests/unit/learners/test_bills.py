"""Bills: their figures against formulas written out here, who is left out and why, and that estimates bound what is measured."""

from dataclasses import replace
from math import ceil, log

import pytest

from replical import Thresholds, World, audit, plan
from replical.errors import BadSpec, ValueOutOfRange
from replical.learners.bills import ABSURD, all_agree, bills, cheapest
from replical.learners.catalogue import of_lists
from replical.learners.plan import Setting
from replical.learners.planning import learner_for

LEARNERS = [record.id for record in of_lists()]  # of those that choose from a list

REFERENCE = Setting(n=1000, epsilon=0.01, delta=0.05, rho=0.1, theta=2)


def by_name(setting, **kwargs):
    return {(bill.learner, bill.plan): bill for bill in bills(setting, **kwargs)}


@pytest.mark.claim("bills")
def test_the_reference_point():
    """The paper's own comparison at n = 1000, Θ = 2, ε = .01, δ = .05, ρ = .1."""
    found = by_name(REFERENCE)
    assert found["erm", "paper"].labels == ceil(log(1000 / 0.05) / 0.01) == 991
    assert found["cal-rounds", "paper"].labels == 7 * ceil(4 * log(1000 * 7 / 0.05)) == 336
    theorem = found["replical", "paper"]
    assert (theorem.rounds, theorem.absurd) == (7, True)
    assert theorem.labels_per_round == pytest.approx(1.5e17, rel=0.05)
    assert theorem.labels == 8 * theorem.labels_per_round
    assert found["replical", "tight"].labels == pytest.approx(1.449e6, rel=0.001)
    A = 2 * (1 + log(1000))
    U = found["handicap", "tight"].unlabelled
    assert ceil(8 * (0.02 + 0.0025**2) / 0.0025**2) == U  # a gap of ε/4 in a spread of 2ε
    assert found["handicap", "tight"].labels == ceil(2 + A * (1 + log(U / A)))


def test_every_learner_has_a_line_and_applies_where_its_assumption_holds():
    for nu in (None, 0.02):
        found = bills(replace(REFERENCE, nu=nu))
        assert {bill.learner for bill in found} == set(LEARNERS)
        for bill in found:
            assert bill.applies == (bill.labels is not None)
            assert bill.applies or bill.note
            assert bill.absurd == ((bill.labels or 0) > ABSURD)
            assert not bill.absurd or bill.note.startswith("nobody can pay this")
    realizable, agnostic = by_name(REFERENCE), by_name(replace(REFERENCE, nu=0.02))
    assert not realizable["a2", "tight"].applies
    assert agnostic["a2", "tight"].applies
    assert not agnostic["cal", "tight"].applies
    assert agnostic["replicable-erm", "tight"].labels > realizable["replicable-erm", "tight"].labels


def test_handicap_infers_labels_only_where_nobody_errs():
    """A bill for noisy labels is that of the plan without nu, whatever nu is; it was none at all."""
    noiseless, noisy = (
        by_name(REFERENCE)["handicap", "tight"],
        by_name(replace(REFERENCE, nu=0.02))["handicap", "tight"],
    )
    assert noiseless.applies
    assert noisy.applies
    assert noiseless.labels < noisy.labels
    unknown = by_name(replace(REFERENCE, nu=0.0), noisy=True)["handicap", "tight"]
    assert noiseless.labels < unknown.labels < noisy.labels


def test_the_winner():
    found = bills(REFERENCE)
    assert cheapest(found, replicable=True).learner == "handicap"
    assert cheapest(found, replicable=False).learner == "cal"
    agnostic = bills(replace(REFERENCE, nu=0.02))
    assert cheapest(agnostic, replicable=True).learner == "handicap"
    assert cheapest([bill for bill in found if not bill.applies], replicable=False) is None


def test_without_theta_only_what_does_not_need_it():
    found = by_name(replace(REFERENCE, theta=None))
    assert found["erm", "paper"].applies
    assert not found["replical", "tight"].applies
    assert "give theta" in found["replical", "tight"].note


def test_a_plan_that_does_not_reach_so_far_says_so():
    found = by_name(replace(REFERENCE, rho=1e-12))
    assert not found["replical", "paper"].applies
    assert "raise rho" in found["replical", "paper"].note
    assert found["replical", "tight"].applies


def measured(learner, noise):
    made = plan(learner, Thresholds(1000), epsilon=0.05, delta=0.05, pool="finite")
    world = World(C=Thresholds(1000), pool_size=20_000, noise=noise)
    return audit(learner_for(made), world, seed="bills", pairs=10).labels_mean


@pytest.mark.claim("bills")
@pytest.mark.parametrize(("noise", "learner"), [(0.0, "a2"), (0.05, "a2"), (0.2, "a2")])
def test_estimates_are_near_what_is_measured(noise, learner):
    """Not promised for every class: on thresholds with random flips they are above the mean, by less than a factor of 4."""
    (bill,) = bills(Setting(n=1000, epsilon=0.05, delta=0.05, rho=0.1, theta=2, nu=noise), learner)
    assert bill.kind == "estimate"
    assert measured(learner, noise) <= bill.labels <= 4 * measured(learner, noise)


@pytest.mark.claim("bills")
def test_expected_labels_are_above_the_mean():
    (bill,) = bills(Setting(n=1000, epsilon=0.05, delta=0.05, rho=0.1, theta=2), "cal")
    assert bill.kind == "expected"
    assert measured("cal", 0.0) <= bill.labels < bill.unlabelled


@pytest.mark.claim("bills")
def test_several_labs():
    assert all_agree(2, 0.1) == 0.9
    assert all_agree(11, 0.1) == 0.0
    assert all_agree(100, 0.1) == 0.0
    with pytest.raises(ValueOutOfRange, match="at least 2 labs, got 1"):
        all_agree(1, 0.1)


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", 0), ("delta", 1), ("rho", float("nan")), ("theta", 0.5), ("nu", 0.5), ("n", 0)]
)
def test_numbers_that_make_no_sense(name, value):
    with pytest.raises(ValueOutOfRange):
        replace(REFERENCE, **{name: value})


def test_an_unknown_learner():
    with pytest.raises(BadSpec, match="the learners are erm"):
        bills(REFERENCE, "cals")
