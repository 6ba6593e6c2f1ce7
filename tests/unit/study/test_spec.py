"""A study file: which cells it has, what they are called, and what it may not say."""

import hashlib

import pyarrow.parquet as pq
import pytest

from replical.errors import BadStudy
from replical.learners.catalogue import find, of_lists
from replical.study.spec import Study
from support.paths import ROOT
from support.studies import TINY, TINY_GRID, tiny, tiny_toml

LEARNERS = [record.id for record in of_lists()]  # of those that choose from a list


def chosen(cells, *names):
    return [tuple(cell.parameters.get(name) for name in names) for cell in cells]


# Cells
def test_a_grid_is_a_product_in_the_order_of_the_file():
    cells = tiny({"class": ["thresholds:50", "star:9"], "learner": ["erm", "cal"], "epsilon": [0.2, 0.1]}).cells()
    assert chosen(cells, "class", "learner", "epsilon") == [
        (where, who, epsilon)
        for where in ("thresholds:50", "star:9")
        for who in ("erm", "cal")
        for epsilon in (0.2, 0.1)
    ]


def test_grids_are_united_and_a_cell_that_both_name_is_run_once_as_the_first_says():
    first = {"name": "one", "epsilon": [0.1, 0.2], "stop": {"pairs": 5}}
    cells = tiny(first, {"name": "two", "epsilon": [0.2, 0.3]}, stop={"pairs": 7}).cells()
    assert chosen(cells, "epsilon") == [(0.1,), (0.2,), (0.3,)]
    assert [cell.grids for cell in cells] == [("one",), ("one", "two"), ("two",)]
    assert [cell.pairs for cell in cells] == [5, 5, 7]


def test_standard_values_defaults_and_the_grid_s_own_word():
    assert dict(tiny().cells()[0].parameters) == {
        **TINY_GRID, "delta": 0.05, "noise": 0.0, "plan": "tight",
    }  # fmt: skip
    changed = tiny({"delta": 0.2}, {}, defaults={"delta": 0.1, "noise": 0.01}).cells()
    assert chosen(changed, "delta", "noise") == [(0.2, 0.01), (0.1, 0.01)]


@pytest.mark.parametrize("learner", LEARNERS)
def test_parameters_a_learner_does_not_know_are_left_out(learner):
    values = {
        "rho": 0.2, "theta": 3, "nu": 0.01, "k_loop": 9, "k_final": 9, "batch": 2,
        "a": 0.01, "b": 0.02, "strings": 3, "runs": 3, "max_labels": 10**6, "T": 0.1,
    }  # fmt: skip
    for plan in ("tight", "paper"):
        found = tiny({"learner": learner, "plan": plan, **values}).cells()[0].parameters
        told = {name for name in values if find(learner).uses(name)} | {"max_labels"}
        told -= {"nu"} if find(learner).infers else set()  # which knows 0 alone
        told |= {"T"} if (learner, plan) == ("replical", "paper") else set()
        assert set(found) == told | {"class", "learner", "epsilon", "pool_size", "delta", "noise", "plan"}


def test_that_there_is_no_noise_is_told_to_a_learner_that_infers_labels():
    cells = tiny({"learner": ["handicap", "replica2"], "nu": [0, 0.01], "rho": 0.2, "theta": 3}).cells()
    assert chosen(cells, "learner", "nu") == [("handicap", 0), ("handicap", None), ("replica2", 0), ("replica2", 0.01)]


def test_what_a_cell_tries_is_what_was_written():
    wanted = {
        "learner": "replical", "rho": 0.3, "theta": 2.5, "noise": ".1", "pool_size": "exact",
        "k_loop": 10**20 + 1,
    }  # fmt: skip
    tried = tiny(wanted).cells()[0].experiment
    assert (tried.learner, tried.rho, tried.theta, tried.noise) == ("replical", 0.3, 2.5, "0.1")
    assert (tried.class_spec, tried.pool_size, tried.options) == ("thresholds:50", "exact", {"k_loop": 10**20 + 1})


# Names
def test_an_id_is_the_hash_of_what_the_cell_tries():
    found = tiny({"learner": "handicap", "epsilon": 1e-7, "rho": 0.25}, seed="any").cells()[0]
    text = '{"class":"thresholds:50","delta":0.05,"epsilon":1e-7,"learner":"handicap","noise":0,"plan":"tight","pool_size":300,"rho":0.25}'
    assert found.id == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert found.seed == f"any / cell {found.id}"


def test_ids_are_frozen():
    assert [cell.id for cell in tiny({"learner": ["cal", "handicap"]}).cells()] == [
        "0b66c95fcf966a1f", "92bb50ad09a5dd9f",
    ]  # fmt: skip


def test_the_published_study_keeps_its_ids():
    root = ROOT
    cells = Study.read(root / "studies" / "cost-of-replicability.toml").cells()
    published = pq.read_table(root / "docs" / "explanation" / "study" / "results.parquet", columns=["cell"])
    assert sorted(cell.id for cell in cells) == published["cell"].to_pylist()


def test_the_study_of_many_labs_has_cells_for_labs():
    """It is run by whoever wants to; here it is read."""
    found = Study.read(ROOT / "studies" / "many-labs.toml")
    assert {cell.parameters["labs"] for cell in found.cells()} == {2, 5, 10, 30}
    assert all(cell.experiment.options["labs"] == cell.parameters["labs"] for cell in found.cells())
    assert len(found.cells(quick=True)) <= 10


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
    (first,), (second,) = tiny(one).cells(), tiny(two).cells()
    assert (first.id, repr(first.experiment)) == (second.id, repr(second.experiment))
    assert len(tiny(one, two).cells()) == 1


def test_neighbours_have_names_of_their_own():
    counts = [10**17, 10**17 + 1, 2**64, 2**64 + 1]  # doubles would confuse them
    assert len({cell.id for cell in tiny({"max_labels": counts}).cells()}) == 4


# Quick
QUICK = {"stop": {"pairs": 3}, "epsilon": [0.2]}


def quick(*grids, **more):
    return tiny(*grids, **{"quick": QUICK, "stop": {"pairs": 50}, **more}).cells(quick=True)


def test_quick_replaces_lists_and_the_stop():
    (cell,) = quick({"epsilon": [0.1, 0.2, 0.3]})
    assert (cell.parameters["epsilon"], cell.pairs) == (0.2, 3)
    assert len(tiny({"epsilon": [0.1, 0.2, 0.3]}, quick=QUICK).cells()) == 3


def test_quick_replaces_what_comes_from_the_defaults_too():
    grid = {name: value for name, value in TINY_GRID.items() if name != "epsilon"}
    found = Study.of({**TINY, "grid": [grid], "defaults": {"epsilon": [0.1, 0.2]}, "quick": QUICK}).cells(quick=True)
    assert chosen(found, "epsilon") == [(0.2,)]


def test_a_grid_may_be_left_out_of_quick_or_have_its_own():
    grids = [
        {"quick": False},
        {"quick": {"epsilon": [0.3, 0.4], "stop": {"pairs": 2}}},
        {"quick": True, "epsilon": 0.6},
    ]
    cells = quick(*grids)
    assert [(cell.grids, cell.parameters["epsilon"], cell.pairs) for cell in cells] == [
        (("grid 2",), 0.3, 2), (("grid 2",), 0.4, 2), (("grid 3",), 0.2, 3),
    ]  # fmt: skip


def test_quick_cells_are_cells_of_the_study():
    whole = tiny({"epsilon": [0.1, 0.2], "learner": ["cal", "erm"]}, quick=QUICK)
    assert {cell.id: cell.seed for cell in whole.cells(quick=True)}.items() <= {
        cell.id: cell.seed for cell in whole.cells()
    }.items()


def test_without_a_word_on_quick_it_is_the_study_itself():
    whole = tiny({"epsilon": [0.1, 0.2], "stop": {"pairs": 4}}, {"class": "star:9"}, stop={"pairs": 6})
    assert whole.cells(quick=True) == whole.cells()


def test_whose_stop_counts():
    def pairs(grid, **more):
        whole = tiny(grid, **more)
        return whole.cells()[0].pairs, whole.cells(quick=True)[0].pairs

    own, late = {"stop": {"pairs": 4}}, {"stop": {"pairs": 5}, "quick": {"stop": {"pairs": 2}}}
    assert pairs({}) == (200, 200)
    assert pairs({}, stop={"pairs": 9}, quick=QUICK) == (9, 3)
    assert pairs(own, stop={"pairs": 9}) == (4, 4)
    assert pairs(own, quick=QUICK) == (4, 3)
    assert pairs(late, quick=QUICK) == (5, 2)


def test_the_stop_of_a_grid_does_not_change_what_its_cells_try():
    plain, own = (tiny({"learner": "replical", **stop}) for stop in ({}, {"stop": {"pairs": 4}}))
    assert [cell.id for cell in plain.cells()] == [cell.id for cell in own.cells()]
    assert own.cells()[0].pairs == 4


# What it may not say


def test_a_byte_order_mark_does_no_harm(tmp_path):
    (tmp_path / "study.toml").write_bytes(b"\xef\xbb\xbf" + tiny_toml(seed="'Zürich 😀'").encode())
    assert Study.read(tmp_path / "study.toml").seed == "Zürich 😀"


def test_what_is_no_file_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.toml", tmp_path / ("n" * 300)):
        with pytest.raises(BadStudy, match="cannot read the study"):
            Study.read(path)
