"""A study file: which cells it has, what they are called, and what it may not say."""

import contextlib
import hashlib
import json
import time
from datetime import date
from pathlib import Path

import hypothesis.strategies as st
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings

from replical.cli import main
from replical.core.binomial import clopper_pearson
from replical.errors import BadStudy
from replical.plans.catalogue import LEARNERS, find
from replical.study.enough import Stop
from replical.study.parameters import PARAMETERS
from replical.study.spec import Study
from replical.worlds.experiment import OPTIONS

GRID = {"class": "thresholds:50", "learner": "cal", "epsilon": 0.1, "pool_size": 300}
BASE = {"schema": "replical.study/1", "name": "small", "seed": "s", "grid": [GRID]}


def study(*grids, **more):
    return Study.of({**BASE, "grid": [{**GRID, **grid} for grid in grids or [{}]], **more})


def chosen(cells, *names):
    return [tuple(cell.parameters.get(name) for name in names) for cell in cells]


# Cells


def test_a_grid_is_a_product_in_the_order_of_the_file():
    cells = study({"class": ["thresholds:50", "star:9"], "learner": ["erm", "cal"], "epsilon": [0.2, 0.1]}).cells()
    assert chosen(cells, "class", "learner", "epsilon") == [
        (where, who, epsilon)
        for where in ("thresholds:50", "star:9")
        for who in ("erm", "cal")
        for epsilon in (0.2, 0.1)
    ]


def test_grids_are_united_and_a_cell_that_both_name_is_run_once_as_the_first_says():
    first = {"name": "one", "epsilon": [0.1, 0.2], "stop": {"pairs": 5}}
    cells = study(first, {"name": "two", "epsilon": [0.2, 0.3]}, stop={"pairs": 7}).cells()
    assert chosen(cells, "epsilon") == [(0.1,), (0.2,), (0.3,)]
    assert [cell.grids for cell in cells] == [("one",), ("one", "two"), ("two",)]
    assert [cell.stop.pairs for cell in cells] == [5, 5, 7]


def test_standard_values_defaults_and_the_grid_s_own_word():
    assert dict(study().cells()[0].parameters) == {
        **GRID, "delta": 0.05, "noise": 0.0, "plan": "tight",
    }  # fmt: skip
    changed = study({"delta": 0.2}, {}, defaults={"delta": 0.1, "noise": 0.01}).cells()
    assert chosen(changed, "delta", "noise") == [(0.2, 0.01), (0.1, 0.01)]


@pytest.mark.parametrize("learner", LEARNERS)
def test_parameters_a_learner_does_not_know_are_left_out(learner):
    values = {
        "rho": 0.2, "theta": 3, "nu": 0.01, "k_loop": 9, "k_final": 9, "kappa": 0.1, "batch": 2, "query": "scan",
        "finish": "excess", "a": 0.01, "b": 0.02, "strings": 3, "runs": 3, "max_labels": 10**6, "T": 0.1,
    }  # fmt: skip
    for plan in ("tight", "paper"):
        found = study({"learner": learner, "plan": plan, **values}, defaults={"stop": "mass"}).cells()[0].parameters
        told = {name for name in (*values, "stop") if find(learner).uses(name)} | {"max_labels"}
        told |= {"T"} if (learner, plan) == ("replical", "paper") else set()
        assert set(found) == told | {"class", "learner", "epsilon", "pool_size", "delta", "noise", "plan"}


def test_the_tolerance_of_an_estimate_belongs_to_the_estimate():
    cells = study({"learner": "replical", "stop": ["mass", "rstat"], "stop_delta": 0.01}).cells()
    assert chosen(cells, "stop", "stop_delta") == [("mass", None), ("rstat", 0.01)]


def test_what_a_cell_tries_is_what_was_written():
    wanted = {
        "learner": "replical",
        "rho": 0.3,
        "theta": 2.5,
        "noise": "boundary:.1,.2",
        "pool_size": "exact",
        "k_loop": 10**20 + 1,
    }
    tried = study(wanted).cells()[0].experiment
    assert (tried.learner, tried.rho, tried.theta, tried.noise) == ("replical", 0.3, 2.5, "boundary:.1,.2")
    assert (tried.class_spec, tried.pool_size, tried.options) == ("thresholds:50", "exact", {"k_loop": 10**20 + 1})


# Names


def test_an_id_is_the_hash_of_what_the_cell_tries():
    found = study({"learner": "rounded-cal", "epsilon": 1e-7, "rho": 0.25}, seed="any").cells()[0]
    text = '{"class":"thresholds:50","delta":0.05,"epsilon":1e-7,"learner":"rounded-cal","noise":0,"plan":"tight","pool_size":300,"rho":0.25}'
    assert found.id == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert found.seed == f"any / cell {found.id}"


def test_ids_are_frozen():
    assert [cell.id for cell in study({"learner": ["cal", "rounded-cal"]}).cells()] == [
        "0b66c95fcf966a1f", "a6f3b71147050e61",
    ]  # fmt: skip


def test_the_published_study_keeps_its_ids():
    root = Path(__file__).parents[2]
    cells = Study.read(root / "studies" / "cost-of-replicability.toml").cells()
    published = pq.read_table(root / "docs" / "explanation" / "study" / "results.parquet", columns=["cell"])
    assert sorted(cell.id for cell in cells) == published["cell"].to_pylist()


LISTS = {
    "class": st.sampled_from(["thresholds:50", "thresholds:60", "star:9", "intervals:8"]),
    "learner": st.sampled_from(LEARNERS),
    "epsilon": st.sampled_from([0.1, 0.2, 0.25]),
    "pool_size": st.sampled_from([100, 1000, "exact"]),
    "rho": st.sampled_from([0.1, 0.3]),
    "delta": st.sampled_from([0.05, 0.5]),
    "theta": st.sampled_from([2, 2.5, 4]),
    "noise": st.sampled_from([0, 0.1, "boundary:.1,.1"]),
    "k_loop": st.sampled_from([5, 10**18]),
}
GRIDS = st.fixed_dictionaries(
    {name: st.lists(LISTS[name], min_size=1, max_size=2) for name in ("class", "learner", "epsilon", "pool_size")},
    optional={
        name: st.lists(LISTS[name], min_size=1, max_size=2) for name in ("rho", "delta", "theta", "noise", "k_loop")
    },
)


@given(GRIDS, st.data())
def test_an_id_depends_on_nothing_but_its_cell(grid, data):
    """Neither the order of keys and values, nor how numbers are spelled, nor the other cells, nor the seed."""

    def respelled(value):
        if isinstance(value, str):
            return value
        spellings = [value, str(value)] + ([float(value)] if float(value) == value and value not in (100, 1000) else [])
        return data.draw(st.sampled_from(spellings))

    cells = study(grid).cells()
    ids = {cell.id for cell in cells}
    assert len(ids) == len(cells)
    names = data.draw(st.permutations(list(grid)))
    other = {name: [respelled(value) for value in data.draw(st.permutations(grid[name]))] for name in names}
    assert {cell.id for cell in Study.of({**BASE, "grid": [other], "seed": "other"}).cells()} == ids
    more = data.draw(st.sampled_from(names))
    extended = {**grid, more: [*grid[more], data.draw(LISTS[more])]}
    assert ids <= {cell.id for cell in study(extended).cells()}
    for cell in cells:
        (alone,) = study({"rho": 0.1, **cell.parameters}).cells()
        assert (alone.id, alone.seed, alone.parameters) == (cell.id, cell.seed, cell.parameters)


@given(GRIDS, GRIDS)
def test_cells_are_the_union_of_the_grids(one, two):
    assert {cell.id for cell in study(one, two).cells()} == {
        cell.id for grid in (one, two) for cell in study(grid).cells()
    }


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"epsilon": 0.5}, {"epsilon": "0.5"}),
        ({"noise": 0}, {"noise": "0"}),
        ({"noise": 0}, {"noise": -0.0}),
        ({"pool_size": 300}, {"pool_size": "300"}),
        ({"learner": "replical", "theta": 2}, {"learner": "replical", "theta": 2.0}),
        ({"max_labels": 10**6}, {"max_labels": 1e6}),
    ],
)
def test_one_value_has_one_spelling(one, two):
    (first,), (second,) = study(one).cells(), study(two).cells()
    assert (first.id, repr(first.experiment)) == (second.id, repr(second.experiment))
    assert len(study(one, two).cells()) == 1


def test_neighbours_have_names_of_their_own():
    counts = [10**17, 10**17 + 1, 2**64, 2**64 + 1]  # doubles would confuse them
    assert len({cell.id for cell in study({"max_labels": counts}).cells()}) == 4


# Quick


QUICK = {"stop": {"pairs": 3}, "epsilon": [0.2]}


def quick(*grids, **more):
    return study(*grids, **{"quick": QUICK, "stop": {"pairs": 50}, **more}).cells(quick=True)


def test_quick_replaces_lists_and_the_stop():
    (cell,) = quick({"epsilon": [0.1, 0.2, 0.3]})
    assert (cell.parameters["epsilon"], cell.stop.pairs) == (0.2, 3)
    assert len(study({"epsilon": [0.1, 0.2, 0.3]}, quick=QUICK).cells()) == 3


def test_quick_replaces_what_comes_from_the_defaults_too():
    grid = {name: value for name, value in GRID.items() if name != "epsilon"}
    found = Study.of({**BASE, "grid": [grid], "defaults": {"epsilon": [0.1, 0.2]}, "quick": QUICK}).cells(quick=True)
    assert chosen(found, "epsilon") == [(0.2,)]


def test_a_grid_may_be_left_out_of_quick_or_have_its_own():
    grids = [
        {"quick": False},
        {"quick": {"epsilon": [0.3, 0.4], "stop": {"pairs": 2}}},
        {"quick": True, "epsilon": 0.6},
    ]
    cells = quick(*grids)
    assert [(cell.grids, cell.parameters["epsilon"], cell.stop.pairs) for cell in cells] == [
        (("grid 2",), 0.3, 2), (("grid 2",), 0.4, 2), (("grid 3",), 0.2, 3),
    ]  # fmt: skip


def test_quick_cells_are_cells_of_the_study():
    whole = study({"epsilon": [0.1, 0.2], "learner": ["cal", "erm"]}, quick=QUICK)
    assert {cell.id: cell.seed for cell in whole.cells(quick=True)}.items() <= {
        cell.id: cell.seed for cell in whole.cells()
    }.items()


def test_without_a_word_on_quick_it_is_the_study_itself():
    whole = study({"epsilon": [0.1, 0.2], "stop": {"pairs": 4}}, {"class": "star:9"}, stop={"pairs": 6})
    assert whole.cells(quick=True) == whole.cells()


def test_whose_stop_counts():
    def pairs(grid, **more):
        whole = study(grid, **more)
        return whole.cells()[0].stop.pairs, whole.cells(quick=True)[0].stop.pairs

    own, late = {"stop": {"pairs": 4}}, {"stop": {"pairs": 5}, "quick": {"stop": {"pairs": 2}}}
    assert pairs({}) == (200, 200)
    assert pairs({}, stop={"pairs": 9}, quick=QUICK) == (9, 3)
    assert pairs(own, stop={"pairs": 9}) == (4, 4)
    assert pairs(own, quick=QUICK) == (4, 3)
    assert pairs(late, quick=QUICK) == (5, 2)


@pytest.mark.parametrize("learner", ["replical", "replica2"])
def test_the_stop_of_a_grid_is_not_the_learner_s_stop(learner):
    grid = {"learner": learner, "quick": {"stop": {"pairs": 2}}}
    plain, table, word = (
        study({**grid}),
        study({**grid, "stop": {"pairs": 4}}),
        study({**grid, "stop": ["mass", "rstat"]}),
    )
    assert [cell.id for cell in plain.cells()] == [cell.id for cell in table.cells()]
    assert table.cells()[0].stop == Stop(pairs=4)
    for part in (False, True):
        assert chosen(word.cells(quick=part), "stop") == [("mass",), ("rstat",)]
        assert "stop" not in plain.cells(quick=part)[0].parameters
    assert {cell.stop.pairs for cell in word.cells(quick=True)} == {2}


# Stops


STOPS = st.builds(
    lambda half_width, batch, batches, odd: Stop(half_width=half_width, batch=batch, max_pairs=batch * batches + odd % batch),
    st.floats(0.01, 0.4), st.integers(1, 60), st.integers(1, 20), st.integers(0, 59),
)  # fmt: skip


@given(STOPS, st.data())
def test_width_is_looked_at_after_whole_batches_and_nothing_else_is(stop, data):
    pairs = data.draw(st.integers(1, stop.max_pairs // stop.batch)) * stop.batch
    agreements = data.draw(st.integers(0, pairs))
    low, high = clopper_pearson(agreements, pairs)
    assume(abs((high - low) / 2 - stop.half_width) > 1e-9)
    wanted = stop.wanted(agreements, pairs)
    if (high - low) / 2 < stop.half_width:
        assert wanted == pairs
    else:
        assert wanted == min(pairs + stop.batch, stop.max_pairs)
    assert wanted == stop.wanted(pairs - agreements, pairs)  # the same, wherever the interval lies


@given(STOPS)
def test_the_first_batch_is_always_run_and_no_cell_exceeds_its_most(stop):
    assert stop.wanted(0, 0) == stop.batch
    assert stop.wanted(stop.max_pairs // 2, stop.max_pairs) == stop.max_pairs


@given(STOPS, st.data())
def test_what_is_expected_lies_between_what_is_wanted_and_the_most(stop, data):
    pairs = data.draw(st.integers(0, stop.max_pairs // stop.batch)) * stop.batch
    agreements = data.draw(st.integers(0, pairs))
    assert stop.wanted(agreements, pairs) <= stop.expected(agreements, pairs) <= stop.max_pairs
    assert Stop(pairs=7).expected(agreements, pairs) == 7


def test_what_is_expected_is_what_happens_if_nothing_changes():
    stop = Stop(half_width=0.05, batch=50, max_pairs=4000)
    agreements, pairs = 45, 50
    expected = stop.expected(agreements, pairs)
    while (wanted := stop.wanted(round(0.9 * pairs), pairs)) > pairs:
        pairs = wanted
    assert expected == pairs
    assert stop.expected(0, 0) == 450  # the worst: half of them agree


# What it may not say


def toml(**changes):
    """The base as text, with some lines changed or left out."""
    lines = {"schema": '"replical.study/1"', "name": '"small"', "seed": '"s"', "stop": "{ pairs = 5 }"}
    grid = {"class": '"thresholds:50"', "learner": '"cal"', "epsilon": "0.1", "pool_size": "300"}
    for name, value in changes.items():
        (grid if name.startswith("grid_") else lines)[name.removeprefix("grid_")] = value
    told = [f"{name} = {value}" for name, value in lines.items() if value is not None]
    return "\n".join([*told, "[[grid]]", *(f"{name} = {value}" for name, value in grid.items() if value is not None)])


DEEP = "[" * 3000 + "]" * 3000
HUGE = "0x" + "f" * 6000  # more digits than Python writes out
BAD = [
    (toml(colour='"red"'), "no key 'colour'"),
    (toml(grid_rhoo="0.1"), "no key 'rhoo'"),
    (toml(defaults="{ epsilom = 0.1 }"), "no key 'epsilom'"),
    (toml(quick="{ name = 'q' }"), "no key 'name'"),
    (toml(grid_quick="{ quick = true }"), "no key 'quick'"),
    (toml(schema='"replical.study/2"'), "'replical.study/2'"),
    (toml(schema=None), "got None"),
    (toml(seed=None), "'seed', got None"),
    (toml(seed="7"), "'seed', got 7"),
    (toml(seed='""'), "'seed', got ''"),
    (toml(name="['a']"), "'name', got"),
    (toml(name=None), "'name', got None"),
    (toml(title="7"), "title must be a text, got 7"),
    (toml(notes="1979-05-27"), "notes must be a text"),
    (toml(grid_name="7"), "name must be a text, got 7"),
    (toml(defaults="7"), "defaults must be a table, got 7"),
    (toml(quick="true"), "quick must be a table, got True"),
    (toml(grid_quick="7"), "quick of grid 1 must be a table, got 7"),
    (toml(stop="7"), "stop must be a table"),
    (toml(stop="'rstat'"), "stop must be a table"),
    (toml(quick="{ stop = 7 }"), "stop must be a"),
    (toml(grid_stop="7"), "7"),
    (toml(grid_stop="[{ pairs = 5 }]"), "stop must be a text"),
    (toml(defaults="{ stop = { pairs = 5 } }"), "stop"),
    (toml(stop="{}"), "either pairs, or half_width"),
    (toml(stop="{ pairs = 5, half_width = 0.1 }"), "either pairs, or half_width"),
    (toml(stop="{ pairs = 5, batch = 5 }"), "either pairs, or half_width"),
    (toml(stop="{ batch = 5 }"), "either pairs, or half_width"),
    (toml(stop="{ pairs = 0 }"), "pairs of stop must be a whole number"),
    (toml(stop="{ pairs = -3 }"), "-3"),
    (toml(stop="{ pairs = 5.5 }"), "5.5"),
    (toml(stop="{ pairs = true }"), "True"),
    (toml(stop="{ pairs = '5' }"), "'5'"),
    (toml(stop="{ pairs = 10_000_000_000_000_000_000_000 }"), "pairs of stop must be a whole number"),
    (toml(stop=f"{{ pairs = {HUGE} }}"), "pairs of stop must be a whole number"),
    (toml(stop="{ pears = 5 }"), "no key 'pears'"),
    (toml(stop="{ half_width = 0 }"), "half_width must be between 0 and 0.5, got 0"),
    (toml(stop="{ half_width = 0.5 }"), "got 0.5"),
    (toml(stop="{ half_width = nan }"), "got nan"),
    (toml(stop="{ half_width = true }"), "got True"),
    (toml(stop="{ half_width = 0.1, batch = 0 }"), "batch of stop"),
    (toml(stop="{ half_width = 0.1, batch = 20, max_pairs = 10 }"), "batch of stop must be at most max_pairs"),
    (toml(stop="{ half_width = 0.1, max_pairs = 10 }"), "at most max_pairs = 10, got 100"),
    (toml(grid_epsilon="nan"), "epsilon"),
    (toml(grid_epsilon="inf"), "epsilon"),
    (toml(grid_epsilon="'nan'"), "epsilon"),
    (toml(grid_epsilon="true"), "epsilon must be a number, got True"),
    (toml(grid_epsilon="'small'"), "epsilon must be a number, got 'small'"),
    (toml(grid_epsilon="[]"), "the list of epsilon is empty"),
    (toml(grid_epsilon="[[0.1]]"), "epsilon must be a number, got [0.1]"),
    (toml(grid_epsilon="{ low = 0.1 }"), "epsilon must be a number, got {'low': 0.1}"),
    (toml(grid_epsilon="1979-05-27"), "epsilon must be a number"),
    (toml(grid_epsilon="[0.1, 1.5]"), "epsilon must be in (0, 1), got 1.5"),
    (toml(grid_epsilon="0"), "epsilon must be in (0, 1), got 0"),
    (toml(grid_epsilon=HUGE), "epsilon must be"),
    (toml(grid_epsilon="1" * 400), "epsilon must be"),
    (toml(grid_epsilon="1e999"), "epsilon must be in (0, 1), got inf"),
    (toml(grid_epsilon=None), "grid 1 needs 'epsilon'"),
    (toml(grid_pool_size=None), "grid 1 needs 'pool_size'"),
    (toml(grid_class=None), "grid 1 needs 'class'"),
    (toml(grid_learner=None), "grid 1 needs 'learner'"),
    (toml(defaults="{ delta = 1 }"), "delta must be in (0, 1), got 1"),
    (toml(defaults="{ rho = nan }"), "rho"),  # although CAL does not know it
    (toml(defaults="{ theta = inf }"), "theta"),
    (toml(defaults="{ theta = 1e400 }"), "theta"),
    (toml(defaults="{ theta = 0.5 }"), "theta must be"),
    (toml(defaults="{ nu = 0.5 }"), "nu must be in [0, 0.5), got 0.5"),
    (toml(defaults="{ plan = 'loose' }"), "plan"),
    (toml(defaults="{ max_labels = 1.5 }"), "max_labels must be a whole number of at least 1, got 1.5"),
    (toml(defaults="{ k_loop = 0 }"), "k_loop must be a whole number of at least 1, got 0"),
    (toml(defaults=f"{{ max_labels = {HUGE} }}"), "max_labels must be"),
    (toml(quick="{ kappa = 2 }"), "kappa must be in (0, 1), got 2"),
    (toml(quick="{ epsilon = [] }"), "the list of epsilon is empty"),
    (toml(grid_noise="-0.1"), "noise must be"),
    (toml(grid_noise="'nan'"), "noise"),
    (toml(grid_noise="'edge:1'"), "malformed noise 'edge:1'"),
    (toml(grid_learner="'perceptron'"), "unknown learner 'perceptron'"),
    (toml(grid_learner="7"), "learner must be a text, got 7"),
    (toml(grid_learner="[true]"), "learner must be a text, got True"),
    (toml(grid_learner="[]"), "the list of learner is empty"),
    (toml(grid_class="'circles:5'"), "unknown class 'circles:5'"),
    (toml(grid_class="['thresholds:50', 'thresholds']"), "malformed class 'thresholds'"),
    (toml(grid_class="'thresholds:0'"), "at least one hypothesis"),
    (toml(grid_class="'table:nowhere.csv'"), "nowhere.csv"),
    (toml(grid_class="'table:'"), "unknown class 'table:'"),
    (toml(grid_class='"table:a\\u0000b.csv"'), "cannot read the table"),
    (toml(grid_class="5"), "class must be a text, got 5"),
    (toml(grid_pool_size="0"), "got 0"),
    (toml(grid_pool_size="-5"), "got -5"),
    (toml(grid_pool_size="1e5"), "got 100000.0"),
    (toml(grid_pool_size="true"), "got True"),
    (toml(grid_pool_size="'all'"), "'exact', got 'all'"),
    (toml(grid_pool_size="1000000000000"), "10**12"),
    (toml(grid_pool_size=HUGE), "pool size"),
    (toml(grid_pool_size="[[5]]"), "pool size"),
    (toml(grid_query="'fast'"), "query"),
    (toml().split("[[grid]]", maxsplit=1)[0], "at least one [[grid]]"),
    (toml().split("[[grid]]", maxsplit=1)[0] + "grid = []", "at least one [[grid]]"),
    (toml().split("[[grid]]", maxsplit=1)[0] + "grid = [5]", "at least one [[grid]]"),
    (toml().split("[[grid]]", maxsplit=1)[0] + "[grid]\nclass = 5", "at least one [[grid]]"),
    (toml(grid_quick="false"), "no grid is left for --quick"),
    (toml() + "\nepsilon = 0.2", "not a TOML file"),
    (toml(grid_epsilon="0.1.2"), "not a TOML file"),
    (toml(grid_epsilon="1" * 6000), "not a TOML file"),
    (toml(grid_epsilon=DEEP), "is not a TOML file"),
    (toml(notes=DEEP), "not a TOML file"),
    (toml(**{"grid_epsilon" + ".a" * 3000: "1", "grid_epsilon": None}), "epsilon must be a number"),
    (toml(**{"notes" + ".a" * 3000: "1"}), "notes must be a text"),
    (toml(**{"stop" + ".a" * 3000: "1", "stop": None}), "no key 'a'"),
    ("", "the schema of a study"),
    ("\0", "not a TOML file"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_is_one_sentence_and_exit_code_2(text, message, tmp_path, capsys):
    file = tmp_path / "bad.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadStudy) as caught:
        Study.read(file)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert str(file) in str(caught.value)
    out = tmp_path / "out"
    assert main(["study", str(file), "--out", str(out), "--workers", "1", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["error"], told["exit"]) == ("replical.error/1", "BadStudy", 2)
    assert told["message"] == str(caught.value)
    assert not out.exists()


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"schema = '\xe9'", "schema = 'é'".encode("utf-16"), bytes(range(256))]
)
def test_other_encodings_are_refused(content, tmp_path):
    (tmp_path / "bad.toml").write_bytes(content)
    with pytest.raises(BadStudy, match="not a TOML file"):
        Study.read(tmp_path / "bad.toml")


def test_a_byte_order_mark_does_no_harm(tmp_path):
    (tmp_path / "study.toml").write_bytes(b"\xef\xbb\xbf" + toml(seed="'Zürich 😀'").encode())
    assert Study.read(tmp_path / "study.toml").seed == "Zürich 😀"


def test_what_is_no_file_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.toml", tmp_path / ("n" * 300)):
        with pytest.raises(BadStudy, match="cannot read the study"):
            Study.read(path)


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
            study(*parts)
    assert time.process_time() - started < 5


def test_too_many_in_several_grids():
    grids = [
        {"max_labels": [i + 1 for i in range(start, start + 30_000)], "name": f"from {start}"}
        for start in range(0, 120_000, 30_000)
    ]
    with pytest.raises(BadStudy, match="at most 100000 cells; shorten the lists of 'from 90000'"):
        study(*grids)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([10**400, -(10**400), 10**12]) | st.floats()
    | st.text(max_size=8) | st.dates() | st.sampled_from(["exact", "boundary:1", "thresholds:5", "cal", "boundary:nan,nan"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*PARAMETERS, "pairs", "half_width", "?"]), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
PLACES = [(name,) for name in ("schema", "name", "title", "notes", "seed", "defaults", "grid", "stop", "quick", "?")]
PLACES += [("grid", 0, name) for name in (*PARAMETERS, "name", "stop", "quick", "?")]
PLACES += [
    (part, name)
    for part in ("defaults", "quick", "stop")
    for name in (*PARAMETERS, "pairs", "half_width", "batch", "max_pairs")
]


@settings(max_examples=300)
@given(st.sampled_from(PLACES), ANYTHING)
def test_anything_anywhere_is_understood_or_refused(place, value):
    content = {**BASE, "grid": [dict(GRID)], "defaults": {}, "quick": {}, "stop": {"pairs": 4}}
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
        assert cell.told
        assert cell.experiment.options.keys() <= set(OPTIONS)
    json.dumps(dict(found.content), allow_nan=False)  # what is understood can be written down


@settings(max_examples=100)
@given(st.binary(max_size=60), st.integers(0, 200))
def test_any_bytes_are_understood_or_refused(tmp_path_factory, extra, where):
    text = toml().encode()
    file = tmp_path_factory.mktemp("bytes") / "study.toml"
    file.write_bytes(text[:where] + extra + text[where:])
    with contextlib.suppress(BadStudy):
        Study.read(file)


def test_a_date_is_no_seed():
    with pytest.raises(BadStudy, match="'seed'"):
        study(seed=date(2020, 1, 1))
