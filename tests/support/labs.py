"""Small finite labs for the comparison with brute force."""

import numpy as np
from hypothesis import strategies as st

from replical import Intervals, KnownLabels, Pool, PrivateRandomness, Star, Thresholds
from support import reference

CLASSES = [Thresholds(30), Intervals(7), Star(6)]
worlds = st.tuples(st.sampled_from(CLASSES), st.integers(0, 10**6), st.sampled_from(["x", "y", "published"]))


def lab(C, number, size, noise=0.0):
    """A pool, its labels, everyone's predictions, the private order and the truth."""
    generator = np.random.default_rng(number)
    x = generator.integers(len(C.cells()), size=size)
    target = int(generator.integers(len(C)))
    private = PrivateRandomness.simulated("lab", number)
    truth = C.codes(C.items(x), np.array([target]))[0].astype(int)
    truth = np.where(generator.random(size) < noise, 1 - truth, truth).tolist()
    codes = reference.all_codes(C, C.items(x))
    return Pool(C, x, private), KnownLabels(C, truth), codes, private.permutation(size).tolist(), truth
