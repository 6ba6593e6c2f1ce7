"""Survivors with one handicap that say the same on every item are named: no label tells them apart."""

import numpy as np
import pytest

from replical import (
    Handicap,
    Handicaps,
    KnownLabels,
    Pool,
    PredictionTable,
    Prior,
    PrivateRandomness,
    SharedRandomness,
    learn,
    plan,
)

ITEMS = 1900
GOOD = (np.random.default_rng(5).random(ITEMS) < 0.03).astype(int)
BAD = (np.random.default_rng(6).random(ITEMS) < 0.4).astype(int)
NEAR = np.where(np.arange(ITEMS) < 3, 1 - GOOD, GOOD)


def verdict(said, **options):
    C = PredictionTable([f"m{column}" for column in range(len(said))])
    made = plan("handicap", C, epsilon=0.1, delta=0.05, rho=0.1, pool="finite", **options)
    pool = Pool(C, np.column_stack(said), PrivateRandomness.simulated("copies"))
    result = learn(Handicap(made), pool, KnownLabels(C, np.zeros(ITEMS, dtype=int)), SharedRandomness("published"))
    return result.verdict


def test_two_copies_that_are_left_alone():
    told = verdict([GOOD, BAD, GOOD], handicaps=Handicaps.zero())
    assert told.why == (
        "the pool was used up before one alone was left: it is one of these two, m0, m2, which never differed on "
        "1,900 items and have one handicap, so no label tells them apart"
    )
    assert told.helps == (
        "items on which they differ, a protocol with one of them alone if they are the same, or a public order of preference"
    )


def test_copies_in_a_cover():
    C = PredictionTable([f"m{column}" for column in range(5)])
    told = verdict([GOOD, BAD, GOOD, GOOD, GOOD], handicaps=Handicaps.cover_of(C, [0, 1, 2, 3, 4]))
    assert "it is one of these 4, m0, m2, m3 and 1 more, which never differed on 1,900 items" in told.why


def test_copies_beside_others():
    told = verdict([GOOD, NEAR, GOOD, BAD], handicaps=Handicaps.zero())
    assert "it is one of 3; of these " in told.why
    assert "m0, m2 never differed on 1,900 items and have one handicap, so no label tells them apart" in told.why


@pytest.mark.parametrize("said", [[GOOD, NEAR, BAD], [GOOD, BAD, NEAR]])
def test_who_differs_on_some_item_is_no_copy(said):
    assert "tells them apart" not in verdict(said, handicaps=Handicaps.zero()).why


def test_an_order_parts_copies():
    C = PredictionTable(["m0", "m1", "m2"])
    assert verdict([GOOD, BAD, GOOD], prior=Prior.order(C, ["m0", "m1", "m2"])).certified
