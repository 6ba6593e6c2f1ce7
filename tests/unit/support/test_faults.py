"""The table of faults: sums, and the page that shows the last full one."""

import pytest

from support.faults import PAGE, read, shown_on, table, total
from support.fuzz import fuzz


def test_the_page_shows_what_was_measured():
    """The table is the one of the file beside it, and nothing in it is lost or changed."""
    rows, text = read(PAGE.with_suffix(".json")), PAGE.read_text(encoding="utf-8")
    assert shown_on(text, rows) == text
    assert all(line in text for line in table(rows))
    assert total(rows).faults == {}


# ---- the fuzzer ----


@pytest.mark.slow
def test_every_flaw_of_a_reader_is_counted(monkeypatch):
    monkeypatch.setattr("support.fuzz.PATIENCE", 12.0)
    outcomes = fuzz(8, 3, ["raises", "crashes", "hangs", "greedy"])
    assert outcomes.all == {"traceback": 2, "crash": 2, "hang": 2, "greedy": 2}
    assert [name for name, *_ in outcomes.found] == ["raises", "crashes", "hangs", "greedy"] * 2
    assert "KeyError: 'order.txt'" in outcomes.found[0][-1]
    assert "Segmentation fault" in outcomes.found[1][-1]
    assert outcomes.table().splitlines()[-1].split() == ["all", "8", "0", "0", "2", "2", "2", "2"]
