"""How many pairs a cell is expected to need."""

from replical.study.spec import Enough


def test_what_is_expected_is_what_happens_if_nothing_changes():
    stop = Enough(half_width=0.05, batch=50, max_pairs=4000)
    agreements, pairs = 45, 50
    expected = stop.expected(agreements, pairs)
    while (wanted := stop.wanted(round(0.9 * pairs), pairs)) > pairs:
        pairs = wanted
    assert expected == pairs
    assert stop.expected(0, 0) == 450  # the worst: half of them agree
