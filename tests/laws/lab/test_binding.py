"""Commitments, seeds and beacons: what a lab is bound to, and what it cannot know before."""

import hashlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical.core.randomness import PrivateRandomness
from replical.errors import BadUsage
from replical.lab.journal.binding import LONGEST, beacon_value, commitment, is_beacon, seed_of
from support.power import rejects_at

secrets = st.binary(min_size=16, max_size=40)
values = st.text("019afé-", min_size=1, max_size=12)


@given(secrets)
def test_without_a_beacon_the_secret_is_the_seed(secret):
    assert seed_of(secret, None) == secret


@given(secrets, secrets, values, values)
def test_seeds_differ_where_secret_or_value_differ(one, other, value, later):
    same = seed_of(one, value) == seed_of(other, later)
    assert same == ((one, value) == (other, later))
    assert seed_of(one, value) not in (one, hashlib.sha256(one).digest())
    assert (commitment(one) == commitment(other)) == (one == other)  # whatever the beacon says


@given(secrets, values)
def test_a_border_between_secret_and_value_cannot_be_moved(secret, value):
    assert seed_of(secret + value.encode(), "x") != seed_of(secret, value + "x")


@given(st.text("a1é \n\u0301\x00", max_size=12))
def test_a_value_is_kept_as_one_line_or_refused(text):
    try:
        value = beacon_value(text)
    except BadUsage as error:
        assert "one line of 1 to 1000 characters" in str(error)
        return
    assert is_beacon(value)
    assert beacon_value(f"  {value}\n") == value


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a\tb", "x" * (LONGEST + 1), "\x00", "\ud800"])
def test_what_is_no_value_is_refused(text):
    assert not is_beacon(text)
    with pytest.raises(BadUsage, match="the value of a beacon is one line"):
        beacon_value(text)


def test_trying_four_secrets_gains_nothing_with_a_beacon():
    """A lab that knows its labels may compute the answer of any seed before it registers, and keep the best of four.

    Here the answer is who comes first in its private order, one of ten, and the lab wants the first. Without a beacon it
    gets it in 34% of cases; with one, whose value it can only guess, in 10%, as if it had not tried.
    """
    labs, ways = 600, {"alone": 0, "beacon": 0}
    for lab in range(labs):
        tried = [hashlib.sha256(f"{lab} {number}".encode()).digest() for number in range(4)]

        def answer(secret, beacon):
            return PrivateRandomness(seed_of(secret, beacon)).permutation(10)[0]

        ways["alone"] += answer(min(tried, key=lambda secret: answer(secret, None)), None) == 0
        guessed = min(tried, key=lambda secret: answer(secret, "a guess"))
        ways["beacon"] += answer(guessed, f"drawn later, for lab {lab}") == 0
    most = rejects_at(labs, 0.1, 1e-6)  # so many contradict 10%
    assert ways["beacon"] < most <= ways["alone"]


def test_a_draw_of_few_values_leaves_a_gain_and_no_more_than_is_said():
    """Whoever tries K secrets against all N values that a beacon can have gains sqrt(ln K / (2N)) on average, at most."""
    labs, K, N, gains = 24, 8, 32, []
    for lab in range(labs):
        shares = []
        for number in range(K):
            secret = hashlib.sha256(f"{lab} {number}".encode()).digest()
            wanted = [PrivateRandomness(seed_of(secret, str(value))).permutation(2)[0] == 0 for value in range(N)]
            shares.append(sum(wanted) / N)
        gains.append(max(shares) - 0.5)
    # 1.42 standard deviations of a share, 0.088, is what the largest of eight is above the mean; half of that is a gain
    assert 0.0625 < sum(gains) / labs <= math.sqrt(math.log(K) / (2 * N))
