"""Any value anywhere in a study, any bytes, far too many cells: understood or refused in one sentence."""

import json
import time

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from replical.errors import BadStudy
from replical.learners.parameters import OPTIONS
from replical.study.spec import PARAMETERS, Study
from support.studies import TINY, TINY_GRID, tiny


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"schema = '\xe9'", "schema = 'é'".encode("utf-16"), bytes(range(256))]
)
def test_other_encodings_are_refused(content, tmp_path):
    (tmp_path / "bad.toml").write_bytes(content)
    with pytest.raises(BadStudy, match="not a TOML file"):
        Study.read(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    "lists", [{"max_labels": 20, "k_loop": 20, "theta": 20, "rho": 20}, {"rho": 200_000}, {"class": 99}]
)
def test_too_many_cells_are_refused_at_once(lists):
    """Even those that the learner would not tell apart."""
    many = {name: [(i + 2) / 10**6 if name == "rho" else i + 1 for i in range(count)] for name, count in lists.items()}
    if "class" in many:
        many = {"class": [f"thresholds:{i + 5}" for i in range(99)], "max_labels": [i + 1 for i in range(1200)]}
    grids = [{**many, "epsilon": [(i + 1) / 100 for i in range(90)], "name": "wide"}]
    started = time.process_time()
    for parts in (grids, [{}, *grids]):
        with pytest.raises(BadStudy, match="at most 100000 cells; shorten the lists of 'wide'"):
            tiny(*parts)
    assert time.process_time() - started < 5


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([10**400, -(10**400), 10**12]) | st.floats()
    | st.text(max_size=8) | st.dates() | st.sampled_from(["exact", "boundary:1", "thresholds:5", "cal", "boundary:nan,nan"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*PARAMETERS, "pairs", "?"]), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
PLACES = [(name,) for name in ("schema", "name", "title", "notes", "seed", "defaults", "grid", "stop", "quick", "?")]
PLACES += [("grid", 0, name) for name in (*PARAMETERS, "name", "stop", "quick", "?")]
PLACES += [(part, name) for part in ("defaults", "quick", "stop") for name in (*PARAMETERS, "pairs")]


@settings(max_examples=300)
@given(st.sampled_from(PLACES), ANYTHING)
def test_anything_anywhere_is_understood_or_refused(place, value):
    content = {**TINY, "grid": [dict(TINY_GRID)], "defaults": {}, "quick": {}, "stop": {"pairs": 4}}
    inner = content
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    try:
        found = Study.of(content)
    except BadStudy as error:
        assert "\n" not in str(error)
        return
    for cell in [*found.cells(), *found.cells(quick=True)]:
        assert len(cell.id) == 16
        assert cell.words
        assert cell.experiment.options.keys() <= set(OPTIONS)
    json.dumps(dict(found.content), allow_nan=False)  # what is understood can be written down
