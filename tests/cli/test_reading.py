"""A table that takes long to read says how far it is; a short one says nothing."""

from pathlib import Path

import pytest

from replical.cli import output


@pytest.mark.parametrize(("patience", "words"), [(60.0, ""), (-1.0, "reading pool.parquet, percent: 50 of 100\n")])
def test_only_what_takes_long_shows_progress(monkeypatch, capsys, patience, words):
    monkeypatch.setattr(output, "_PATIENCE", patience)
    with output.reading(Path("folder/pool.parquet")) as update:
        update(0, 10)
        update(5, 10)
    assert capsys.readouterr().err == words
