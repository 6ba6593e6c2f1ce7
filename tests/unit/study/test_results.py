"""How labels grow: exponents of known laws, beside bounds computed here."""

from math import log

import numpy as np
import pytest

from replical.bounds import complexity
from replical.learners.catalogue import find
from replical.study.results import class_thetas, fit, growths
from support.studies import study_row


def cell(learner, labels, **given):
    """A cell with these labels, exactly, in a known distribution."""
    theta = 2.0 if find(learner).uses("theta") else None
    usual = {"epsilon": 0.05, "pool_size": "exact", "theta": theta, "nu": 0.0 if find(learner).uses("nu") else None}
    return study_row(learner, labels_mean=labels, **{"labels_error": 0.0, **usual, **given})


def only(rows):
    (found,) = growths(rows)
    return found


def slope(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def test_the_exponent_of_rho_stands_beside_both_bounds():
    rhos = (0.05, 0.1, 0.2, 0.4)
    found = only([cell("replical", 7 * rho**-3, rho=rho) for rho in rhos])
    assert (found.learner, found.plan, found.axis, len(found.points)) == ("replical", "tight", "rho", 4)
    assert found.power.fitted == pytest.approx(3)
    assert found.power.error == pytest.approx(0, abs=1e-9)
    paper = [complexity.replical(1000, 0.05, 0.05, rho, 2) for rho in rhos]
    ours = [complexity.replical_tight(1000, 0.05, 0.05, rho, 2) for rho in rhos]
    assert found.power.paper == pytest.approx(-slope(rhos, paper))
    assert found.power.ours == pytest.approx(-slope(rhos, ours))
    assert found.power.paper > 4 > 2.1 > found.power.ours > 1.9


def test_epsilon_has_a_power_and_a_power_of_its_logarithm():
    epsilons = (0.2, 0.1, 0.05, 0.01, 0.001)
    found = only([cell("cal", 3 * log(1 / each) ** 1.5, epsilon=each) for each in epsilons])
    assert found.logged.fitted == pytest.approx(1.5)
    assert found.power.fitted < 1
    assert found.power.error > 0.01  # a power of 1/ε is the wrong shape
    passive = only([cell("erm", 50 / each, epsilon=each) for each in epsilons])
    assert (passive.power.fitted, passive.power.paper) == pytest.approx((1, 1))


def test_the_scale_of_the_class_is_the_logarithm_of_its_size():
    sizes = (100, 1000, 10**5, 10**6)
    rows = [cell("replicable-erm", 5 * log(n) ** 2.5, hypotheses=n, **{"class": f"thresholds:{n}"}) for n in sizes]
    found = only(rows)
    assert (found.axis, found.settings["class"]) == ("hypotheses", "thresholds")
    assert (found.power.fitted, found.power.paper) == (pytest.approx(2.5), pytest.approx(2, abs=0.01))


@pytest.mark.parametrize("learner", ["cal-rounds", "handicap"])
def test_stars_are_drawn_against_theta_whether_the_plan_knows_it_or_not(learner):
    leaves, pool = (4, 8, 16, 32), {"pool_size": "5000", "theta": None}
    found = only([cell(learner, 3.0 * n, hypotheses=n + 1.0, **pool, **{"class": f"star:{n}"}) for n in leaves])
    assert (found.axis, found.power.fitted) == ("theta", pytest.approx(1))
    assert [point.x for point in found.points] == list(leaves)


def test_a_family_whose_theta_moves_little_is_drawn_against_its_size():
    worlds = ((100.0, 4.0), (1000.0, 5.0), (10000.0, 6.0))
    family = [{"hypotheses": n, "theta": theta, "class": f"intervals:{n:.0f}"} for n, theta in worlds]
    found = only([cell("replical", log(each["hypotheses"]) ** 2, **each) for each in family])
    assert (found.axis, found.power.fitted) == ("hypotheses", pytest.approx(2))
    paper = [complexity.replical(int(n), 0.05, 0.05, 0.1, theta) for n, theta in worlds]
    assert found.power.paper == pytest.approx(slope([log(n) for n, _ in worlds], paper))


def test_theta_of_a_plan_in_one_class():
    found = only([cell("replical", theta**2, theta=float(theta)) for theta in (2, 4, 8)])
    assert (found.axis, found.settings["class"], found.power.fitted) == ("theta", "thresholds:1000", pytest.approx(2))


def test_nu_is_the_rate_of_the_noise_and_0_is_left_out():
    found = only([cell("a2", 100 * max(rate, 1e-3) ** 0.5, noise=str(rate)) for rate in (0.0, 0.01, 0.04, 0.16)])
    assert (found.axis, found.power.fitted) == ("nu", pytest.approx(0.5))
    assert [point.x for point in found.points] == [0.01, 0.04, 0.16]
    assert found.power.paper is not None


def test_handicap_stands_beside_the_bound_of_the_paper_for_noisy_labels():
    rhos = (0.05, 0.1, 0.2)
    found = only([cell("handicap", 18.0, rho=rho, pool_size="20000", noise="0.05") for rho in rhos])
    paper = [complexity.replica2(1000, 0.05, 0.05, rho, 2, 0.05) for rho in rhos]
    assert found.power.fitted == pytest.approx(0, abs=1e-9)
    assert found.power.paper == pytest.approx(-slope(rhos, paper))
    assert found.power.ours is None


def test_the_error_is_that_of_the_points_or_of_the_scatter():
    x = [0.0, 1.0, 2.0, 3.0]
    assert fit(x, [0, 2, 4, 6], [0.3] * 4) == pytest.approx((2, 0.3 / 5**0.5))
    found, covered = np.polyfit(x, [0, 2.5, 3.5, 6], 1, cov="unscaled")
    rest = np.array([0, 2.5, 3.5, 6]) - np.polyval(found, x)
    assert fit(x, [0, 2.5, 3.5, 6]) == pytest.approx((found[0], (covered[0, 0] * (rest @ rest) / 2) ** 0.5))


def test_groups_hold_all_else_equal():
    rows = [cell("handicap", 10.0, rho=rho, epsilon=e) for rho in (0.1, 0.2) for e in (0.1, 0.05, 0.02)]
    assert [(each.axis, each.settings["rho"]) for each in growths(rows)] == [("epsilon", 0.1), ("epsilon", 0.2)]
    assert growths(rows[:2]) == []
    assert growths([row | {"status": "refused", "labels_mean": None} for row in rows]) == []
    options = [cell("handicap", 10.0, epsilon=e, batch=k) for e, k in ((0.1, 4), (0.05, None), (0.02, None))]
    assert growths(options) == []


def test_theta_of_a_class_is_known_or_agreed_upon():
    rows = [cell("replical", 1.0, theta=7.0, **{"class": "intervals:9"}), cell("cal", 1.0, **{"class": "star:5"})]
    rows += [cell("replical", 1.0, theta=theta, **{"class": "boxes:2,3"}) for theta in (3.0, 4.0)]
    assert class_thetas(rows) == {"intervals:9": 7.0, "star:5": 5.0}
