"""Every border takes what people really pass in: NumPy scalars are numbers, nonsense is one sentence, errors have one root."""

from fractions import Fraction

import numpy as np
import pytest

from replical import (
    ERM,
    HalfSpaces,
    KnownLabels,
    Population,
    PredictionTable,
    PrivateRandomness,
    Star,
    Thresholds,
    World,
    audit,
    plan,
    theta,
)
from replical.errors import BadLabel, BadTable, ReplicalError, ValueOutOfRange

LAB = PrivateRandomness.simulated("lab")


def test_numpy_scalars_are_numbers():
    made = plan(
        "replical", np.int64(50), epsilon=np.float32(0.25), delta=np.float64(0.1), rho=Fraction(1, 10),
        theta=np.int64(2),
    )  # fmt: skip
    assert made == plan("replical", 50, epsilon=0.25, delta=0.1, rho=0.1, theta=2)
    assert plan("erm", 50, epsilon=0.1, delta=0.1, k_final=np.int64(5)).k == 5
    assert len(Population(Thresholds(50), target=np.int64(3)).pool(np.int64(100), LAB)) == 100
    assert Thresholds(5, labels=np.array([0, 1])).labels == (0, 1)
    assert (
        audit(ERM(plan("erm", 9, epsilon=0.5, delta=0.5)), World(C=Thresholds(9)), seed="s", pairs=np.int64(2)).pairs
        == 2
    )
    assert float(Population(Thresholds(5), target=0, noise=Fraction(1, 10)).nu) == 0.1


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: PredictionTable({"a", "b"}), BadTable, "a set has no order"),
        (lambda: Thresholds(3, labels={"no", "yes"}), BadLabel, "a set has no order"),
        (lambda: KnownLabels(Thresholds(3), [[0, 1]]), BadLabel, "shape"),
        (lambda: Population(Thresholds(50), target=3, weights=np.array([2**62] * 4 + [1] + [0] * 44)), ValueOutOfRange, "2\\*\\*53"),
        (lambda: Population(Thresholds(50), target=3.5), ValueOutOfRange, "got 3.5"),
        (lambda: Population(Thresholds(50), target=3).error(99), ValueOutOfRange, "got 99"),
        (lambda: theta(Thresholds(5), Population(Star(4), target=0)), ValueOutOfRange, "another class"),
        (lambda: plan("erm", 10, epsilon="0.1", delta=0.1), ValueOutOfRange, "epsilon must be a number, got '0.1'"),
        (lambda: plan("erm", 10, epsilon=None, delta=0.1), ValueOutOfRange, "got None"),
        (lambda: plan("erm", 0, epsilon=0.1, delta=0.1), ValueOutOfRange, "at least one hypothesis"),
        (lambda: plan("erm", 10, epsilon=1e-60, delta=0.1), ValueOutOfRange, "too extreme"),
        (lambda: plan("replical", 10, epsilon=0.1, delta=0.1, rho=1e-60, theta=2, name="paper"), ValueOutOfRange, "extreme|raise rho"),
        (lambda: plan("replical", 10, epsilon=0.1, delta=0.1, rho=1e-30, theta=2, name="paper"), ValueOutOfRange, "raise rho"),
        (lambda: plan("cal-rounds", 10, epsilon=0.1, delta=0.1, theta=1e50), ValueOutOfRange, "too extreme"),
        (lambda: HalfSpaces(2, 2**41, seed="s"), ValueOutOfRange, "at most 2\\*\\*40"),
        (lambda: audit(None, World(C=Thresholds(5)), seed=7), ValueOutOfRange, "text, got int"),
    ],
)  # fmt: skip
def test_nonsense_is_one_sentence(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_every_error_has_one_root():
    from replical import errors

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BaseException)]
    others = [kind for kind in kinds if not issubclass(kind, ReplicalError | Warning)]
    assert others == [errors.Unwritten]  # which no command shows
