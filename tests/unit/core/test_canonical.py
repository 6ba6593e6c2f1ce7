"""Canonical JSON as the RFC writes it."""

import math

import pytest

from replical.core.canonical import canonical, fingerprint
from replical.errors import ValueOutOfRange


@pytest.mark.parametrize(
    ("value", "text"),  # the number samples of RFC 8785, appendix B
    [
        (0.0, "0"), (-0.0, "0"), (5e-324, "5e-324"), (-5e-324, "-5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308"),
        (9007199254740992.0, "9007199254740992"), (295147905179352830000.0, "295147905179352830000"),
        (9.999999999999997e22, "9.999999999999997e+22"), (1e23, "1e+23"), (1.0000000000000001e23, "1.0000000000000001e+23"),
        (999999999999999700000.0, "999999999999999700000"), (1e21, "1e+21"), (9.999999999999997e-7, "9.999999999999997e-7"),
        (0.000001, "0.000001"), (333333333.3333332, "333333333.3333332"), (-0.0000033333333333333333, "-0.0000033333333333333333"),
        (1424953923781206.2, "1424953923781206.2"), (100.0, "100"), (0.5, "0.5"),
    ],
)  # fmt: skip
def test_numbers_as_the_rfc_writes_them(value, text):
    assert canonical(value) == text


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_without_a_spelling_are_refused(value):
    with pytest.raises(ValueOutOfRange):
        canonical([value])


def test_fingerprints_differ_where_values_do():
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})
    assert fingerprint(1) == fingerprint(1.0)  # one number, one spelling
