"""The table of faults: sums, and the page that shows the last full one."""

from support.faults import PAGE, SCALE, Counts, read, shown_on, table, total, write


def test_rows_are_added_up():
    rows = [Counts("a", kills=2, acknowledged=5, seconds=1.5), Counts("b", kills=1, lost=1)]
    assert total(rows) == Counts("all", kills=3, acknowledged=5, lost=1, seconds=1.5)
    assert rows[0].faults == {}
    assert rows[1].faults == {"lost": 1}
    assert len({len(line) for line in table(rows)}) == 1
    assert table(rows)[-1].split() == [
        "|",
        "all",
        "|",
        "3",
        "|",
        "5",
        "|",
        "1",
        "|",
        "0",
        "|",
        "0",
        "|",
        "0",
        "|",
        "0",
        "|",
        "0",
        "|",
        "2",
        "|",
    ]


def test_parts_may_be_run_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setenv(SCALE, "1")
    write([Counts("a", kills=1), Counts("b", kills=2)], tmp_path / "build" / "f.json")
    write([Counts("b", kills=3)], tmp_path / "build" / "f.json")
    assert read(tmp_path / "build" / "f.json") == [Counts("a", kills=1), Counts("b", kills=3)]
    monkeypatch.setenv(SCALE, "0.5")
    write([Counts("b", kills=4)], tmp_path / "build" / "f.json")
    assert read(tmp_path / "build" / "f.json") == [Counts("b", kills=4)]


def test_the_page_shows_what_was_measured():
    """The table is the one of the file beside it, and nothing in it is lost or changed."""
    rows, text = read(PAGE.with_suffix(".json")), PAGE.read_text(encoding="utf-8")
    assert shown_on(text, rows) == text
    assert all(line in text for line in table(rows))
    assert total(rows).faults == {}
