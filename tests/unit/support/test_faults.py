"""The table of faults: sums, and the page that shows the last full one."""

import random

import pytest

from support.faults import PAGE, SCALE, Counts, read, shown_on, table, total, write
from support.fuzz import fuzz
from support.mutations import BYTES, by_fields, mutated


def test_rows_are_added_up():
    rows = [Counts("a", kills=2, acknowledged=5, seconds=1.5), Counts("b", kills=1, lost=1)]
    assert total(rows) == Counts("all", kills=3, acknowledged=5, lost=1, seconds=1.5)
    assert rows[0].faults == {}
    assert rows[1].faults == {"lost": 1}
    assert len({len(line) for line in table(rows)}) == 1
    assert table(rows)[-1].replace("|", "").split() == ["all", "3", "5", "1", "0", "0", "0", "0", "0", "2"]


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


# ---- the fuzzer ----


CSV = b"id,label\ni1,yes\ni2,no\n"
JSON = b'{"schema": "x", "body": {"count": 3, "share": 0.5, "names": ["a", "b"]}, "digest": ""}'


@pytest.mark.parametrize(("content", "kind"), [(CSV, "bytes"), (JSON, "json"), (JSON, "sealed"), (b"a = 1\n", "toml")])
def test_the_same_generator_makes_the_same_file_and_others_another(content, kind):
    made = [mutated(random.Random(f"seed {number}"), content, kind, [content, CSV]) for number in range(200)]
    assert made == [mutated(random.Random(f"seed {number}"), content, kind, [content, CSV]) for number in range(200)]
    assert len(set(made)) > (100 if len(content) > 10 else 50)
    assert sum(each == content for each in made) < 30


@pytest.mark.parametrize("step", BYTES)
@pytest.mark.parametrize("content", [b"", b"\n", CSV])
def test_every_step_works_on_any_content(step, content):
    for number in range(50):
        assert isinstance(step(random.Random(number), content, [content]), bytes)


def test_fields_that_cannot_be_read_are_left_to_the_bytes():
    assert by_fields(random.Random(1), b"\xff", "json") is None
    assert by_fields(random.Random(1), b"a = = 1", "toml") is None


@pytest.mark.slow
def test_every_flaw_of_a_reader_is_counted(monkeypatch):
    monkeypatch.setattr("support.fuzz.PATIENCE", 12.0)
    outcomes = fuzz(8, 3, ["raises", "crashes", "hangs", "greedy"])
    assert outcomes.all == {"traceback": 2, "crash": 2, "hang": 2, "greedy": 2}
    assert [name for name, *_ in outcomes.found] == ["raises", "crashes", "hangs", "greedy"] * 2
    assert "KeyError: 'order.txt'" in outcomes.found[0][-1]
    assert "Segmentation fault" in outcomes.found[1][-1]
    assert outcomes.table().splitlines()[-1].split() == ["all", "8", "0", "0", "2", "2", "2", "2"]
