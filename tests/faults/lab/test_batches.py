"""Batches whose writing is interrupted."""

import json
from itertools import count
from pathlib import Path

import pytest

from support.batches import items_of, written

LABELS = ("no", "yes")


@pytest.mark.parametrize("stop", range(1, 5))
def test_a_batch_is_there_with_all_its_files_or_not_at_all(tmp_path, monkeypatch, stop):
    """Interrupted while one of the files is written: whatever batch is found afterwards is whole, and so are its tasks."""
    calls, write_text = count(1), Path.write_text

    def interrupted(path, text, *more, **how):
        if next(calls) == stop:
            write_text(path, text[: len(text) // 2], *more, **how)
            raise KeyboardInterrupt
        return write_text(path, text, *more, **how)

    monkeypatch.setattr(Path, "write_text", interrupted)
    try:
        written(tmp_path / "batches", 1, ["u1", "u2"], {}, LABELS)
    except KeyboardInterrupt:
        assert stop < 4
    else:
        assert stop == 4
    for path in (tmp_path / "batches").glob("batch-*.csv"):
        assert items_of(path) == {"u1", "u2"}
        assert len(json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))) == 2
        assert (tmp_path / "batches" / "label-studio.xml").read_text(encoding="utf-8").endswith("</View>\n")
