"""Of K certified labs two differ at most as often as they prove (docs/claims/many_labs.md).

Hypotheses on a line, seen from the middle. Every lab has a pool of its own; all share a threshold and an order.
"""

from dataclasses import replace

import numpy as np
import pytest

from replical import Thresholds, World, learner_for, plan
from replical.bounds.gamma import COARSE
from replical.learners.rounded.proof import OwnBound
from replical.worlds.audit import run_group
from support.sequential import Promise

N, U, EPSILON = 200, 100_000, 0.2
A, B = 0.09, 0.18
MIDDLE = N // 2
CHUNK = 50


def own_bound(rho, labs, *, counted=None):
    """What a lab proves that exhausted its labels; a mutant counts another number of labs."""
    made = plan("rounded-cal", N, epsilon=EPSILON, delta=0.05, rho=rho, pool="finite", items=U, labs=labs)
    own = OwnBound(made, U)
    changes = {} if counted is None else {"labs": counted}
    own.gamma, own.exact = replace(own.gamma, **changes), replace(own.exact, **changes)
    return own


def distances(generator, labs, groups):
    """Items on which each hypothesis differs from the one in the middle: groups × labs × hypotheses."""
    cells = np.full(N - 1, 1 / (N - 1))
    pools = np.stack([generator.multinomial(U, cells / cells.sum(), groups) for _ in range(labs)], axis=1)
    reached = np.concatenate((np.zeros((groups, labs, 1), dtype=np.int64), np.cumsum(pools, axis=2)), axis=2)
    return np.abs(reached - reached[..., [MIDDLE]])


def exhausted_labs_differ(seed, own, rho, labs):
    """For each group: do two labs without slack differ that are both certified?"""
    generator = np.random.default_rng(seed)
    while True:
        D = distances(generator, labs, CHUNK)
        v, ranks = generator.uniform(A, B, CHUNK), generator.random((CHUNK, 1, N))
        answers = np.where(np.floor(U * v)[:, None, None] >= D, ranks, np.inf).argmin(axis=2)
        for scores, chosen in zip(D, answers, strict=True):
            # Labs with one answer need not be asked whether they are certified.
            suspects = range(labs) if len(set(chosen)) > 1 else ()
            certified = {chosen[lab] for lab in suspects if own.rho(scores[lab], 0, 1.0) <= rho}
            yield len(certified) > 1


def decided(promise, trials):
    for failed in trials:
        promise.hear(failed)
        if not promise.open:
            return promise
    raise AssertionError("trials never end")


@pytest.mark.claim("many_labs")
@pytest.mark.parametrize(("labs", "rho"), [(30, 0.047), (10, 0.036)])
def test_many_certified_labs_agree(labs, rho, alarm, record_property):
    """ρ is little more than these labs prove, so most of them are certified."""
    own = own_bound(rho, labs)
    assert 0.85 * rho <= own.rho(expected_scores(), 0, 1.0) <= rho
    promise = decided(Promise(rho, 1200, alarm), exhausted_labs_differ([labs], own, rho, labs))
    record_property("power", promise.told("groups differ"))
    assert not promise.broken
    assert promise.failures >= 0.3 * rho * promise.trials  # not vacuous


@pytest.mark.claim("many_labs")
@pytest.mark.mutant
def test_counting_two_labs_fails(alarm):
    """Thirty labs that compute as if they were two."""
    labs, rho = 30, 0.0165
    own = own_bound(rho, labs, counted=2)
    assert own.rho(expected_scores(), 0, 1.0) <= rho
    assert decided(Promise(rho, 1200, alarm), exhausted_labs_differ([labs, 1], own, rho, labs)).broken


def expected_scores():
    return np.rint(np.abs(np.arange(N) - MIDDLE) / (N - 1) * U).astype(np.int64)


def slack_most(own, rho):
    """The slack that the certificate allows where every distance is measured as expected, less a little."""
    low, high = 0, int(A * U)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if own.rho(expected_scores(), middle, 1.0, COARSE) <= rho else (low, middle)
    return int(0.98 * low)


def moved(D, kappa):
    """Scores for three centres within κ of the best: moved to one side, to the other, or not at all."""
    right, near = np.arange(N) >= MIDDLE, np.minimum(D, kappa)
    return np.stack([D + kappa - 2 * np.where(right, near, 0), D + kappa - 2 * np.where(right, 0, near), D])


@pytest.mark.claim("many_labs")
@pytest.mark.parametrize(("labs", "rho"), [(10, 0.1), (4, 0.2)])
def test_certified_labs_agree_whoever_chooses_their_centres(labs, rho, alarm, record_property):
    """The adversary sees pools, threshold and order, and gives every lab the centre that makes its answer differ."""
    own, generator = own_bound(rho, labs), np.random.default_rng([labs, 2])
    kappa = slack_most(own, rho)
    assert kappa >= 100

    def groups():
        while True:
            D = distances(generator, labs, CHUNK)
            for scores, v in zip(D, generator.uniform(A, B, CHUNK), strict=True):
                ranks, m = generator.random(N), np.floor(U * v)
                choices = [moved(each, kappa) for each in scores]
                answers = [np.where(each <= m, ranks, np.inf).argmin(axis=1) for each in choices]
                if len({int(each) for lab in answers for each in lab}) == 1:
                    yield False
                    continue
                sure = [
                    {int(h) for h, each in zip(*lab, strict=True) if own.rho(each, kappa, 1.0, COARSE) <= rho}
                    for lab in zip(answers, choices, strict=True)
                ]
                yield any(len(one | other) > 1 for i, one in enumerate(sure) if one for other in sure[:i] if other)

    promise = decided(Promise(rho, 1200, alarm), groups())
    record_property("power", promise.told("groups made to differ"))
    assert not promise.broken
    assert promise.failures >= 0.2 * rho * promise.trials


def groups_of_labs(made, world, labs, seed):
    """Whole runs: do two certified labs of a group differ?"""
    number = 0
    while True:
        results = [each.result for each in run_group(made, world, seed, number, labs)[1]]
        yield len({each.hypothesis for each in results if each.rounding.certified}) > 1
        number += 1


@pytest.mark.slow
@pytest.mark.claim("many_labs")
def test_whole_runs_keep_the_promise(alarm, record_property):
    made = plan("rounded-cal", 1000, epsilon=EPSILON, delta=0.05, rho=0.1, pool="finite", items=U, labs=4)
    kept = Promise(0.1, 600, alarm)
    decided(kept, groups_of_labs(learner_for(made), World(C=Thresholds(1000), pool_size=U), 4, "many"))
    record_property("power", kept.told("groups differ"))
    assert not kept.broken
