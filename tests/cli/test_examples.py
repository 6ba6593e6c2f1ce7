"""The examples run as they are, and observe what they predict."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from replical.certificate import read
from replical.journal import Journal
from replical.protocol import Protocol
from replical.tables import read_pool
from replical.verification import verify

EXAMPLES = Path(__file__).parents[2] / "examples"
PAIRS = 6


@pytest.mark.parametrize(("name", "pool"), [("choose_among_models", ".parquet"), ("feature_class", ".csv")])
def test_an_example_runs_and_observes_what_it_predicts(name, pool, tmp_path):
    """Certificates are valid at every level, and the agreements observed lie in the range printed before.

    The pairs draw from randomness made of the example's title, so their number of agreements is the same in every run: there
    is no false alarm. Where NumPy changed its generators the pairs would be drawn afresh, and the range would be missed with
    probability below 0.01 (six pairs that differ in 8% and 2% of cases, ranges of 3 to 6 and 5 to 6).
    """
    for package in ("pyarrow", "sqlalchemy", "sklearn"):
        pytest.importorskip(package)
    folder = tmp_path / "labs"
    words = [sys.executable, EXAMPLES / f"{name}.py", "--pairs", str(PAIRS), "--out", folder]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Valid, checked with its pool and its journal.") == 2
    for lab in "ab":
        certificate = read(folder / f"{lab}.json")
        items = read_pool(folder / f"{lab}{pool}", Protocol.read(folder / "protocol.toml").recipe)
        with Journal(folder / f"{lab}.db", write=False) as journal:
            verdict = verify(certificate, items, journal)
        assert (verdict.valid, verdict.level) == (True, "journal")
    told = re.search(rf"predicted: (\d+) to (\d+) of {PAIRS} pairs agree", done.stdout)
    assert told, done.stdout
    observed = re.search(rf"observed: (\d+) of {PAIRS}\n", done.stdout)
    assert observed, done.stdout
    assert 1 <= int(told[1]) <= int(observed[1]) <= int(told[2]) <= PAIRS


def test_an_example_does_not_touch_a_folder_in_use(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.db").write_text("somebody's journal")
    words = [sys.executable, str(EXAMPLES / "choose_among_models.py"), "--out", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]
