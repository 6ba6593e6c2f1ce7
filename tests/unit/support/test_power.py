"""When the exact binomial test rejects, and what it finds."""

import pytest

from replical.core.exact import upper_tail
from support.power import detects, rejects_at
from support.reference import binomial_upper


def test_rejects_at_is_the_smallest_count_within_the_alarm():
    count = rejects_at(200, 0.125, 1e-6)
    assert float(binomial_upper(count, 200, 0.125)) <= 1e-6 < float(binomial_upper(count - 1, 200, 0.125))


def test_an_empty_test_is_recognisable():
    assert rejects_at(3, 0.5, 1e-6) == 4
    assert detects(3, 0.5, 1e-6) == 1.0


def test_detects_has_the_stated_power():
    p = detects(1000, 0.1, 1e-6)
    assert upper_tail(rejects_at(1000, 0.1, 1e-6), 1000, p) == pytest.approx(0.99, rel=1e-9)
