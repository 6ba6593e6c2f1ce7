"""Private releases, exactly: every way in which the coins can fall, with its probability; and releases that leak."""

from fractions import Fraction
from itertools import product

import numpy as np

from replical.core.randomness import SharedRandomness
from replical.lab.release import permute_and_flip, threshold

WORD = 2**64


class Script:
    """Coins that fall as it is written; where the writing ends, they fall well and what else could be is kept for later.

    Every step is (choice, weights): a coin with chances (q, 1-q), or a draw among several.
    """

    def __init__(self, t, steps):
        self.t, self.steps, self.taken, self.weight = t, steps, [], Fraction(1)
        self.others = []

    def _take(self, weights):
        place = len(self.taken)
        choice = self.steps[place] if place < len(self.steps) else 0
        if place >= len(self.steps):
            self.others += [[*self.taken, other] for other in range(1, len(weights)) if weights[other]]
        self.taken.append(choice)
        self.weight *= weights[choice]
        return choice

    def words(self, count):
        q = Fraction(self.t, WORD)
        fell_well = [self._take((q, 1 - q)) == 0 for _ in range(count)]
        return np.array([0 if well else WORD - 1 for well in fell_well], dtype=np.uint64)

    def below(self, count):
        return self._take((Fraction(1, count),) * count)


def law(release, counts, t):
    """The exact distribution of what `release(counts, t, coins)` returns: the code itself, run for all coins."""
    found, open_ones = {}, [[]]
    while open_ones:
        coins = Script(t, open_ones.pop())
        answer = release(np.array(counts, dtype=np.int64), t, coins)
        found[answer] = found.get(answer, Fraction(0)) + coins.weight
        open_ones += coins.others
    assert sum(found.values()) == 1
    return found


def formula(counts, q):
    """Pr[h] = p_h ∫ Π (1 - p_j + p_j x) dx over 0..1, j ≠ h: nothing of the code is in it."""
    short = [max(counts) - each for each in counts]
    p, found = [q**each for each in short], {}
    for h in range(len(counts)):
        series = [Fraction(1)]
        for j in range(len(counts)):
            if j != h:
                series = [(1 - p[j]) * low + p[j] * high for low, high in zip([*series, 0], [0, *series], strict=True)]
        found[h] = p[h] * sum(each / (power + 1) for power, each in enumerate(series))
    return found


def neighbours(n, most):
    """All pairs of counts for n candidates that one lab more makes, whichever of them it votes for."""
    for counts in product(range(most + 1), repeat=n):
        for vote in product((0, 1), repeat=n):
            yield counts, tuple(map(sum, zip(counts, vote, strict=True)))


def worst_ratio(release, epsilon, *, n=3, most=2, replaced=False):
    """The largest ratio of chances, either way, over all answers and neighbouring inputs; None where one is impossible."""
    t, laws, worst = threshold(epsilon), {}, Fraction(1)

    def of(counts):
        if counts not in laws:
            laws[counts] = law(release, counts, t)
        return laws[counts]

    pairs = list(neighbours(n, most))
    if replaced:
        by_less = {}
        for less, more in pairs:
            by_less.setdefault(less, []).append(more)
        pairs = [(one, two) for mores in by_less.values() for one in mores for two in mores]
    for one, two in pairs:
        p, q = of(one), of(two)
        if p.keys() != q.keys():
            return None
        worst = max(worst, *(max(p[h] / q[h], q[h] / p[h]) for h in p))
    return worst


# ---- releases that leak ----


def half_scale(counts, t, coins):
    """Noise of half the scale: coins of probability q² for q."""
    return permute_and_flip(2 * counts, t, coins)


def no_noise(counts, t, coins):
    """Whoever has most votes."""
    return int(counts.argmax())


def noise_of_the_string(counts, t, coins):
    """Noise that everybody knows who knows the published string."""
    shared = SharedRandomness("published")

    class Known:
        def words(self, count):
            return shared.words("noise", count=count)

        def below(self, count):
            return shared.integer("choice", high=count)

    return permute_and_flip(counts, t, Known())


def refuses_few(counts, t, coins, least=5):
    """No release from fewer votes than five: the refusal tells how many there were."""
    return permute_and_flip(counts, t, coins) if counts.sum() >= least else "too few votes"


def double_votes(counts, t, coins):
    """As if a lab could put its weight of three on one candidate."""
    return permute_and_flip(3 * counts, t, coins)


MUTANTS = {
    "half the scale": half_scale,
    "no noise": no_noise,
    "noise from the string": noise_of_the_string,
    "refusal below five votes": refuses_few,
    "votes that count more than once": double_votes,
}
