"""What several commands are tried on."""

import csv

import pytest

from support.worlds import random_table


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """200 random columns with duplicates."""
    C, items = random_table(200, 300)
    file = tmp_path_factory.mktemp("table") / "table.csv"
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([C.candidates, *items.tolist()])
    return file
