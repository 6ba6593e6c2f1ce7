"""What people really pass in: NumPy scalars, sets, wrong lengths, numbers without measure."""

from fractions import Fraction

import numpy as np
import pytest

from replical import (
    A2,
    CAL,
    ERM,
    HalfSpaces,
    KnownLabels,
    Pool,
    Population,
    PredictionTable,
    PrivateRandomness,
    RepliCAL,
    SharedRandomness,
    Star,
    Thresholds,
    World,
    audit,
    learn,
    plan,
    theta,
)
from replical.errors import BadLabel, BadTable, PlanMismatch, ReplicalError, ValueOutOfRange

LAB = PrivateRandomness.simulated("lab")


def test_numpy_scalars_are_numbers():
    made = plan(
        "replical",
        np.int64(50),
        epsilon=np.float32(0.25),
        delta=np.float64(0.1),
        rho=Fraction(1, 10),
        theta=np.int64(2),
    )
    assert made == plan("replical", 50, epsilon=0.25, delta=0.1, rho=0.1, theta=2)
    assert plan("erm", 50, epsilon=0.1, delta=0.1, k_final=np.int64(5)).k == 5
    assert len(Population(Thresholds(50), target=np.int64(3)).pool(np.int64(100), LAB)) == 100
    assert Thresholds(5, labels=np.array([0, 1])).labels == (0, 1)
    assert (
        audit(ERM(plan("erm", 9, epsilon=0.5, delta=0.5)), World(C=Thresholds(9)), seed="s", pairs=np.int64(2)).pairs
        == 2
    )
    assert float(Population(Thresholds(5), target=0, noise=Fraction(1, 10)).nu) == 0.1


@pytest.mark.parametrize(("kind", "learner"), [(ERM, "cal"), (CAL, "erm"), (RepliCAL, "erm"), (A2, "cal"), (CAL, "a2")])
def test_a_plan_for_another_learner_is_refused(kind, learner):
    with pytest.raises(PlanMismatch, match=learner):
        kind(plan(learner, 10, epsilon=0.1, delta=0.1))


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


def test_small_float_types_do_not_lose_the_cut():
    assert Pool(Thresholds(2050), np.array([60000], np.float16), LAB).version_space().mass == 0
    assert Pool(Thresholds(2**24 + 2), np.array([1e9], np.float32), LAB).version_space().mass == 0


def test_two_spellings_of_a_seed_are_one_world():
    assert (
        PrivateRandomness.simulated("Zu\u0308rich", 1).permutation(9).tolist()
        == PrivateRandomness.simulated("Z\u00fcrich", 1).permutation(9).tolist()
    )


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: PredictionTable({"a", "b"}), BadTable, "a set has no order"),
        (lambda: Thresholds(3, labels={"no", "yes"}), BadLabel, "a set has no order"),
        (lambda: KnownLabels(Thresholds(3), [[0, 1]]), BadLabel, "shape"),
        (
            lambda: Population(Thresholds(50), target=3, weights=np.array([2**62] * 4 + [1] + [0] * 44)),
            ValueOutOfRange,
            "2\\*\\*53",
        ),
        (lambda: Population(Thresholds(50), target=3.5), ValueOutOfRange, "got 3.5"),
        (lambda: Population(Thresholds(50), target=3).error(99), ValueOutOfRange, "got 99"),
        (lambda: theta(Thresholds(5), Population(Star(4), target=0)), ValueOutOfRange, "another class"),
        (lambda: plan("erm", 10, epsilon="0.1", delta=0.1), ValueOutOfRange, "epsilon must be a number, got '0.1'"),
        (lambda: plan("erm", 10, epsilon=None, delta=0.1), ValueOutOfRange, "got None"),
        (lambda: plan("erm", 0, epsilon=0.1, delta=0.1), ValueOutOfRange, "at least one hypothesis"),
        (lambda: plan("erm", 10, epsilon=1e-60, delta=0.1), ValueOutOfRange, "too extreme"),
        (
            lambda: plan("replical", 10, epsilon=0.1, delta=0.1, rho=1e-60, theta=2, name="paper"),
            ValueOutOfRange,
            "extreme|raise rho",
        ),
        (
            lambda: plan("replical", 10, epsilon=0.1, delta=0.1, rho=1e-30, theta=2, name="paper"),
            ValueOutOfRange,
            "raise rho",
        ),
        (lambda: plan("cal-rounds", 10, epsilon=0.1, delta=0.1, theta=1e50), ValueOutOfRange, "too extreme"),
        (lambda: HalfSpaces(2, 2**41, seed="s"), ValueOutOfRange, "at most 2\\*\\*40"),
        (lambda: audit(None, World(C=Thresholds(5)), seed=7), ValueOutOfRange, "text, got int"),
    ],
)
def test_nonsense_is_one_sentence(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_an_unknown_number_of_a_plan_is_a_key_error():
    with pytest.raises(KeyError, match="nope"):
        plan("erm", 10, epsilon=0.1, delta=0.1)["nope"]


def test_every_error_has_one_root():
    from replical import errors

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert all(issubclass(kind, ReplicalError) for kind in kinds)
