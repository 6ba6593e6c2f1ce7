"""The rank lemma at its edges: nobody kept, equal scores, bad input (docs/claims/ranks.md)."""

from math import inf

import numpy as np
import pytest

from replical import Thresholds
from replical.bounds.ranks import agreement_bound
from replical.classes.prior import UNIFORM, Prior
from replical.errors import ValueOutOfRange


def test_whole_numbers_and_lists_are_scores_too():
    one, two = [0, 3, 5, 9], [1, 2, 5, 7]
    counts = agreement_bound(np.array(one), np.array(two), (1, 8))
    assert counts == agreement_bound(one, two, (1.0, 8.0)) == agreement_bound(tuple(map(float, one)), two, (1, 8))
    shares = agreement_bound(np.array(one) / 16, np.array(two) / 16, (1 / 16, 8 / 16))
    assert counts.exact == pytest.approx(shares.exact, abs=1e-12)


@pytest.mark.parametrize(
    ("one", "two", "ends", "prior", "message"),
    [
        ([0, 1], [0], (0, 1), UNIFORM, "one score a hypothesis each"),
        ([], [], (0, 1), UNIFORM, "one score a hypothesis each"),
        ([[0.0]], [[0.0]], (0, 1), UNIFORM, "one score a hypothesis each"),
        ([0, np.nan], [0, 1], (0, 1), UNIFORM, "scores must be numbers, got nan"),
        ([0], [0], (0.5, 0.5), UNIFORM, r"needs a < b, got \[0.5, 0.5\]"),
        ([0], [0], (0.7, 0.5), UNIFORM, r"needs a < b, got \[0.7, 0.5\]"),
        ([0], [0], (0, inf), UNIFORM, r"needs a < b, got \[0, inf\]"),
        ([0], [0], (np.nan, 1), UNIFORM, "needs a < b, got"),
        ([0, 1], [0, 1], (0, 1), Prior.weights(Thresholds(3), [1, 2, 3]), "the prior is for 3 hypotheses, but there are 2"),
        ([0, 1], [0, 1], (0, 1), Prior.order(Thresholds(3), [1, 2, 0]), "the prior is for 3 hypotheses, but there are 2"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_with_the_value(one, two, ends, prior, message):
    with pytest.raises(ValueOutOfRange, match=message):
        agreement_bound(one, two, ends, prior)
