"""What a stop test leaves of a plan's δ, whatever it asks (docs/claims/subroutines.md)."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from replical import plan
from replical.errors import ReplicalError


def exact(x):
    return Fraction(repr(x))


@given(st.integers(1, 400).map(lambda i: i / 10_000))
def test_a_plan_s_stop_delta_leaves_something_or_is_refused(stop_delta):
    task = {"epsilon": 0.2, "delta": 0.1, "rho": 0.1, "theta": 1.0, "stop": "rstat", "stop_delta": stop_delta}
    try:
        made = plan("replical", 100, **task)
    except ReplicalError:
        # rSTAT's own ρ is ρ/(2N), and it needs 2δ below that
        assert stop_delta >= 0.1 / (4 * plan("replical", 100, **(task | {"stop_delta": None})).rounds_most)
    else:
        assert 2 * made.rounds_most * stop_delta < 0.1
        assert made["stop_delta"] == exact(stop_delta)
