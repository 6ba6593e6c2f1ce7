"""Two certified labs differ at most as often as they prove, whoever chooses their centres (docs/claims/certificate.md).

The adversary sees both pools, the threshold and the order. It gives each lab any labelling of its pool within κ of the
best hypothesis as its centre, so as to make the answers differ; only pairs in which both labs are certified count.
"""

from functools import cache
from math import log

import numpy as np
import pytest

from replical.bounds.gamma import COARSE, Gamma
from support.power import detects, rejects_at

N, RHO, A, B = 1000, 0.1, 0.09, 0.18  # hypotheses on a line, seen from the middle
DELTA_C = RHO / 200
PAIRS = 1500
SIZES = {False: (100_000, 100_000), True: (120_000, 60_000)}  # alone, labs need not have pools of one size


class LabProof:
    """One lab's certificate, computed with κ·trusted in place of κ."""

    def __init__(self, U, *, alone, trusted=1.0):
        self.U, self.alone, self.trusted = U, alone, trusted
        self._certificate = Gamma(U=U, a=A, b=B, beta=log(2 * N / DELTA_C), alone=alone)

    def certifies(self, scores, kappa):
        gamma = self._certificate.bound(scores, int(kappa * self.trusted), step=COARSE)
        return (2 if self.alone else 1) * gamma + 2 * DELTA_C <= RHO

    def most(self):
        """The slack the certificate allows where every distance is measured as expected, less a little."""
        scores = np.rint(np.abs(np.arange(N) - N // 2) / N * self.U).astype(np.int64)
        low, high = 0, self.U
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.certifies(scores, middle) else (low, middle)
        return int(0.98 * low)


def centred_scores(D, kappa):
    """Scores of all hypotheses for four centres: h* moved right, moved left, wrong on far items, and h* itself.

    A centre that is wrong on κ items turns D into D + κ - 2f, f of them being items on which h differs from h*.
    """
    right = np.arange(N) >= N // 2
    near, ends = np.minimum(D, kappa), D[:, -1:]
    far = np.clip(D - (ends - kappa), 0, kappa)
    return [D + kappa - 2 * np.where(right, near, 0), D + kappa - 2 * np.where(right, 0, near),
            D + kappa - 2 * np.where(right, far, 0), D]  # fmt: skip


@cache
def certified_and_different(trusted, alone, enough=PAIRS):
    """Pairs in which the adversary makes two certified labs differ, counted up to `enough`, and the slack it was given."""
    generator = np.random.default_rng([11, alone])
    labs = [LabProof(U, alone=alone, trusted=trusted) for U in SIZES[alone]]
    kappas = [lab.most() for lab in labs]
    v, ranks = generator.uniform(A, B, PAIRS), generator.random((PAIRS, N))
    scores, answers = [], []
    for lab, kappa in zip(labs, kappas, strict=True):
        pools = generator.multinomial(lab.U, np.full(N - 1, 1 / (N - 1)), PAIRS)
        reached = np.concatenate((np.zeros((PAIRS, 1), dtype=np.int64), np.cumsum(pools, axis=1)), axis=1)
        scores.append(centred_scores(np.abs(reached - reached[:, [N // 2]]), kappa))
        m = np.floor(lab.U * v)[:, None]
        answers.append([np.where(each <= m, ranks, np.inf).argmin(axis=1) for each in scores[-1]])
    counted = 0
    for pair in range(PAIRS):
        passes = cache(lambda lab, i, pair=pair: labs[lab].certifies(scores[lab][i][pair], kappas[lab]))
        counted += any(
            answers[0][i][pair] != answers[1][j][pair] and passes(0, i) and passes(1, j)
            for i in range(4)
            for j in range(4)
        )
        if counted == enough:
            break
    return counted, kappas


@pytest.mark.claim("certificate")
@pytest.mark.parametrize("alone", [False, True])
def test_certified_labs_agree_whoever_chooses_their_centres(alone, alarm, record_property):
    counted, kappas = certified_and_different(1.0, alone)
    power = detects(PAIRS, RHO, alarm)
    record_property("power", f"{counted} of {PAIRS} pairs made to differ; would find a probability of {power:.3f}")
    assert power <= 2 * RHO
    assert min(kappas) >= 100  # items the adversary may mislabel
    assert counted >= 0.2 * RHO * PAIRS  # it does harm
    assert counted < rejects_at(PAIRS, RHO, alarm)


@pytest.mark.claim("certificate")
@pytest.mark.mutant
@pytest.mark.parametrize(("alone", "trusted"), [(False, 0.25), (True, 0.125)])
def test_a_certificate_that_trusts_its_centre_too_much_fails(alone, trusted, alarm):
    """κ/4 in place of κ; a lab alone is further from what the adversary reaches and fails at κ/8."""
    enough = rejects_at(PAIRS, RHO, alarm)
    counted, kappas = certified_and_different(trusted, alone, enough)
    assert min(kappas) >= 300
    assert counted == enough
