"""Small tables of predictions, for properties that must hold on every one of them."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def tables(draw):
    """Label set, codes of candidates (one of them perhaps a copy of another), truth, and the seed they follow from."""
    n, labels = draw(st.integers(1, 6)), draw(st.sampled_from([(0, 1), (0, 1, 2)]))
    seed, U = draw(st.integers(0, 2**32)), draw(st.integers(1, 400))
    generator = np.random.default_rng(seed)
    truth = generator.integers(len(labels), size=U)
    rates = draw(st.lists(st.sampled_from([0.0, 0.02, 0.1, 0.3, 0.6]), min_size=n, max_size=n))
    wrong = generator.random((n, U)) < np.array(rates)[:, None]
    codes = np.where(wrong, (truth + 1) % len(labels), truth)
    if n > 2:
        codes[2] = codes[0]
    return labels, codes, truth, seed
