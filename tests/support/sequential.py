"""A test of "the failure probability is at most ρ" that stops as soon as it knows: the guarantee tests' instrument.

Wald's sequential probability-ratio test of ρ against a larger probability q. After every trial

    L = (q/ρ)^failures · ((1-q)/(1-ρ))^successes,

the likelihood of what was heard under q over that under ρ. The promise is *broken* once L ≥ 1/alarm. It is *kept* once
L ≤ miss, or when `most` trials have decided nothing.

*False alarms.* If every trial fails with probability ρ, given those before it, L is a martingale that begins at 1, so by
Ville's inequality it ever reaches 1/alarm with probability at most `alarm`. If trials fail with smaller probabilities,
couple each with a trial that fails with probability ρ and whenever the first does: L grows with the failures, so it is
never above the L of the coupled trials. No number of trials is fixed in advance, and none has to be paid for.

*Power.* If trials fail with probability q, 1/L is a martingale that begins at 1, so L ever falls to `miss` with
probability at most `miss`; with larger probabilities, by the same coupling, less often. What `most` takes away is
computed exactly: it is the least number with which a failure probability of q is found with probability `power`.

With q = `detects(trials, ρ, alarm)` the test finds what the exact binomial test of so many trials finds, as surely and
at the same alarm; a promise that is kept with room to spare takes a tenth of the trials, a mutant less.
"""

from functools import cache
from itertools import count
from math import log

import numpy as np

from support.power import detects

POWER = 0.99


class Promise:
    """Hear trials until it is known whether they fail with probability at most `rho`.

    Parameters
    ----------
    rho : the failure probability that is promised at most.
    trials : the size of the exact binomial test whose power this one has.
    alarm : the probability at most of finding a promise broken that is kept.
    """

    def __init__(self, rho, trials, alarm):
        self.rho, self.alarm = float(rho), float(alarm)
        self.found = detects(trials, self.rho, self.alarm)
        assert self.rho < self.found < 1, f"{trials} trials find nothing"
        self.most = _most(self.rho, self.found, self.alarm)
        self.failures = self.trials = 0
        self.broken = None

    @property
    def open(self):
        """Is nothing decided yet?"""
        return self.broken is None

    def hear(self, *failed):
        """Trials in their order; those after the decision change nothing."""
        for each in failed:
            if not self.open:
                return
            self.trials += 1
            self.failures += bool(each)
            lower, upper = _ends(self.rho, self.found, self.alarm)
            ratio = _ratio(self.failures, self.trials, self.rho, self.found)
            if ratio >= upper:
                self.broken = True
            elif ratio <= lower or self.trials == self.most:
                self.broken = False

    def told(self, what="pairs differ"):
        """For `record_property("power", ...)`."""
        return f"{self.failures} of {self.trials} {what}; would find a failure probability of {self.found:.3f}"


def dropped(results, ideal, promise):
    """Hear labs until it is known how often the ideal answer has left; the share that is certified."""
    certified = 0
    for result in results:
        if not promise.open:
            return certified / promise.trials
        certified += result.proof.certified
        promise.hear(ideal not in result.survivors.indices)
    raise AssertionError("runs never end")


def _ratio(failures, trials, rho, q):
    return failures * log(q / rho) + (trials - failures) * log((1 - q) / (1 - rho))


def _ends(rho, q, alarm):
    """Logarithms at which a promise is kept and broken; half of what may be missed is left to `most`."""
    return log((1 - POWER) / 2), log(1 / alarm)


def outcomes(p, rho, q, alarm, most=None):
    """Exact probabilities of broken, kept and undecided after 1, 2, .. trials that fail with probability `p`."""
    lower, upper = _ends(rho, q, alarm)
    broken, kept, least, undecided = 0.0, 0.0, 0, np.ones(1)  # undecided[i]: with least + i failures
    for trials in count(1) if most is None else range(1, most + 1):
        after = np.concatenate((undecided * (1 - p), [0.0]))
        after[1:] += undecided * p
        ratios = _ratio(np.arange(least, least + len(after)), trials, rho, q)
        first, last = np.searchsorted(ratios, lower, side="right"), np.searchsorted(ratios, upper, side="left")
        kept, broken = kept + float(after[:first].sum()), broken + float(after[last:].sum())
        least, undecided = least + int(first), after[first:last]
        yield broken, kept, float(undecided.sum())


@cache
def _most(rho, q, alarm):
    for trials, (broken, _, _) in enumerate(outcomes(q, rho, q, alarm), start=1):
        if broken >= POWER:
            return trials
    raise AssertionError("the power is reached sooner or later")
