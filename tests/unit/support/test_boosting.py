"""Runs of a base learner that tosses coins: counted at once as one by one."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from replical import Population, SharedRandomness, Thresholds, learn, plan
from replical.learners.planning import learner_for
from support.mutants import AtOnce, Tickets, Tosses

C = Thresholds(9)


def test_counted_at_once_or_one_by_one():
    """The answers are those of the library's own runs on the same data sets; nobody is asked."""
    made = plan("boosted-replicable-erm", C, epsilon=0.2, delta=0.1, rho=0.1, nu=0.0, strings=4, runs=300)
    base = Tosses(made.base, ((0.4, 4), (0.2, 5), (0.4, 8)))
    found = []
    for number in range(20):
        pool = Tickets.drawn(Population(C, target=4), 300, np.random.default_rng(number))
        for learner in (AtOnce(base, made), replace(learner_for(made), base=base)):
            result = learn(learner, pool, SimpleNamespace(), SharedRandomness(f"at once {number}"))
            found.append((result.hypothesis, result.boosting))
    assert found[::2] == found[1::2]
    assert len({boosting.strings for _, boosting in found}) > 2
