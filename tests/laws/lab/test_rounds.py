"""Rounds, however many, and sets of hypotheses: written in few bytes, and what is read is what was written."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.errors import BadCertificate
from replical.lab.certificate.file import MANY, SCHEMA, fold_rounds, read, text_of, unfold_rounds, write
from replical.learners.proof import indices_of, set_of

COUNTS = st.integers(0, 3) | st.integers(0, 10**30)
ROUNDS = st.lists(st.tuples(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, st.integers(1, 5)), max_size=8)


def numbered(told):
    """Rounds as a certificate has them; the last number says how often each comes."""
    flat = [figures for *figures, times in told for _ in range(times)]
    return [
        {"round": number, "disagreement": [a, b], "survivors": c, "drawn": d, "scanned": e}
        for number, (a, b, c, d, e) in enumerate(flat, 1)
    ]


@settings(max_examples=50)
@given(told=ROUNDS.filter(bool))
def test_rounds_come_back(told):
    rounds = numbered(told)
    assert unfold_rounds(fold_rounds(rounds)) == rounds


def certificate(rounds):
    return {"schema": SCHEMA, "body": {"rounds": rounds}, "digest": "", "provenance": {}}


@pytest.mark.parametrize("count", [0, MANY, MANY + 1, 1000])
def test_files_of_many_and_few(tmp_path, count):
    """Few are written one by one, as ever; whoever reads sees no difference."""
    told = certificate(numbered([(3, 9, 2, 1, number % 3, 1) for number in range(count)]))
    write(told, tmp_path / "a.json")
    assert read(tmp_path / "a.json") == told
    kept = json.loads((tmp_path / "a.json").read_text())
    assert isinstance(kept["body"]["rounds"], dict) == (count > MANY)
    if count > MANY:
        assert len(text_of(told)) < 3 * count + 400


def test_many_rounds_one_by_one_are_not_what_is_written(tmp_path):
    told = certificate(numbered([(3, 9, 2, 1, 1, 1)] * 150))
    (tmp_path / "a.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
    with pytest.raises(BadCertificate, match="is not written as replical writes it"):
        read(tmp_path / "a.json")


@pytest.mark.parametrize(
    "change",
    [
        {"scanned": "1*1000000000000"},
        {"scanned": "1*151"},
        {"scanned": "1 1*149"},
        {"scanned": "-1*150"},
        {"scanned": "1*150 "},
        {"scanned": "01*150"},
        {"scanned": "²*150"},
        {"scanned": ""},
        {"scanned": None},
        {"scanned": 7},
        {"scanned": "1*" + "9" * 5000},
        {"more": "1*150"},
    ],
)
def test_what_nobody_wrote_is_refused(tmp_path, change):
    """Also texts that claim more rounds than memory holds."""
    told = certificate(fold_rounds(numbered([(3, 9, 2, 1, 1, 1)] * 150)) | change)
    (tmp_path / "a.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
    with pytest.raises(BadCertificate, match=r"damaged|edited"):
        read(tmp_path / "a.json")


@settings(max_examples=60)
@given(st.sets(st.integers(0, 40)))
def test_sets_are_written_as_ranges_and_read_back(members):
    indices = np.array(sorted(members), dtype=np.int64)
    told = set_of(indices)
    assert told["count"] == len(members)
    assert len(told["ranges"]) == sum(h - 1 not in members for h in members)
    assert indices_of(told, 41).tolist() == indices.tolist()
