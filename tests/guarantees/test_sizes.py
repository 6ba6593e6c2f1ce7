"""Sample sizes matter: plans with smaller ones break the promise that they keep (docs/claims/ranks.md).

By which factor sizes are safe is measured by benchmarks/safety.py; here the same worlds, at the plan's own sizes and divided.
The division is the first half decade at which the share of pairs that differ was measured above what the test is built to
find (.177). E[J] passes ρ = .1 there or one half decade earlier.
"""

from itertools import count

import pytest

from replical import Thresholds, World, learner_for, plan
from replical.errors import EmptyVersionSpace
from replical.worlds.audit import run_pair
from support.mutants import divided
from support.sequential import Promise

TASK = {"epsilon": 0.05, "delta": 0.05, "rho": 0.1}
REALIZABLE, AGNOSTIC = (10_000, 0.0, {"theta": 2.0}), (1000, 0.05, {"theta": 2.0, "nu": 0.05})
# Learner, hypotheses, noise, what its plan needs, name of the plan, exponent of the division.
CASES = {
    "replical tight": ("replical", *REALIZABLE, "tight", 3),
    "replical paper": ("replical", *REALIZABLE, "paper", 14.5),
    "passive tight": ("replicable-erm", 1000, 0.0, {"nu": 0.0}, "tight", 3.5),
    "passive agnostic tight": ("replicable-erm", 1000, 0.05, {"nu": 0.05}, "tight", 4.5),
    "replica2 tight": ("replica2", *AGNOSTIC, "tight", 2.5),
    "replica2 paper": ("replica2", *AGNOSTIC, "paper", 14.5),
}
FAST = ("replical tight", "replica2 tight")
PAIRS = 1000


def judged(case, power, alarm):
    """The promise, with sizes divided by 10^power; a lab that keeps nobody differs from any other. And mean survivors."""
    learner, n, noise, more, name, _ = CASES[case]
    C, promise, survivors = Thresholds(n), Promise(TASK["rho"], PAIRS, alarm), []
    assert promise.found <= 2 * TASK["rho"]
    runs, world = learner_for(divided(plan(learner, C, **TASK, **more, name=name), 10**power)), World(C=C, noise=noise)
    for number in count():
        try:
            _, labs = run_pair(runs, world, f"sizes {case}", number)
            promise.hear(labs[0].result.hypothesis != labs[1].result.hypothesis)
            survivors.append(sum(lab.result.V.size for lab in labs) / 2)
        except EmptyVersionSpace:
            promise.hear(True)
        if not promise.open:
            return promise, sum(survivors) / len(survivors)
    raise AssertionError("pairs do not end")


@pytest.mark.claim("ranks")
@pytest.mark.mutant
@pytest.mark.parametrize(
    "case", [case if case in FAST else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
def test_smaller_samples_break_the_promise(case, alarm, record_property):
    """Many survive either way, so labs do not agree by having nothing left to differ in."""
    kept, many = judged(case, 0, alarm / 2)
    broken, left = judged(case, CASES[case][-1], alarm / 2)
    record_property("power", f"{kept.told()}; with sizes divided by 10^{CASES[case][-1]:g}: {broken.told()}")
    assert min(many, left) >= 20
    assert kept.broken is False
    assert broken.broken
