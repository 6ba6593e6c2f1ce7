"""Labels that are known in advance."""

import pytest

from replical import (
    CAL,
    KnownLabels,
    Pool,
    PrivateRandomness,
    SharedRandomness,
    Thresholds,
    learn,
    plan,
)
from replical.errors import BadLabel

LAB = PrivateRandomness.simulated("lab")


@pytest.mark.parametrize("column", [[0, 1], [0, 1, 1, 0, 0], []])
def test_a_label_column_of_the_wrong_length_is_refused(column):
    C = Thresholds(4)
    with pytest.raises(BadLabel, match=f"{len(column)} labels were given for 3 items"):
        learn(
            CAL(plan("cal", C, epsilon=0.1, delta=0.1)),
            Pool(C, [0, 1, 2], LAB),
            KnownLabels(C, column),
            SharedRandomness("s"),
        )
