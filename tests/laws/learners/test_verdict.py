"""The verdict of a rounded run: it says why exactly if nothing is certified, and what helps would help."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import plan
from replical.learners.result import Rounding
from replical.learners.rounded.learner import verdict

PLANS = [
    plan("rounded-a2", n, epsilon=epsilon, delta=0.05, rho=0.1, pool="finite", **more)
    for n, epsilon in ((8, 0.2), (5000, 0.05))
    for more in ({}, {"kappa": 0.02}, {"max_labels": 80})
]


@st.composite
def rounded(draw):
    """A plan, and what a lab may end with: the two conditions decide what is certified."""
    made, U = draw(st.sampled_from(PLANS)), draw(st.integers(20, 50_000))
    kappa, most = draw(st.integers(0, U // 2)), made.kappa_most(U)
    proven = draw(st.floats(0, 1))
    certified = proven <= 0.1 and kappa <= most
    rounding = Rounding(
        rho_proven=proven,
        labels_sufficient=certified or draw(st.booleans()),
        rho_predicted=None,
        certified=certified,
        kappa=kappa,
        kappa_most=most,
        accurate=kappa <= most,
        accuracy=(kappa / U, most / U),
        supports=None if certified else proven,
        pool_needed=None if certified else draw(st.none() | st.integers(100, 10**7)),
        scores=np.zeros(made.n, dtype=np.int64),
        range=(0.0, 1.0),
        items=U,
        spent=made.max_labels is not None and draw(st.booleans()),
    )
    return made, rounding


@settings(max_examples=150, deadline=None)
@given(rounded())
def test_certified_exactly_if_there_is_nothing_to_say(case):
    made, rounding = case
    found = verdict(made, rounding)
    assert found.certified == rounding.certified == (found.why == "") == (found.helps == "")
    if not found.certified:
        assert ("error bound" in found.why) == (rounding.kappa > rounding.kappa_most)
        assert ("is proven, but" in found.why) == (rounding.rho_proven <= 0.1)
        assert "--learner settled" in found.helps
        assert ("larger budget" in found.helps) <= rounding.spent


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(PLANS), st.fractions(0, Fraction(1, 4)))
def test_the_pool_for_the_error_bound_is_about_the_smallest(made, slack):
    enough = made.pool_accurate(slack)
    if enough is None:
        assert made.kappa_most(10**7) < slack * 10**7
    else:
        assert made.kappa_most(enough) >= slack * enough
        fewer = int(enough / 1.2)
        assert fewer < 100 or made.kappa_most(fewer) < slack * fewer + 1  # whole items: one to spare
