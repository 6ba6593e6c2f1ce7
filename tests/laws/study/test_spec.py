"""Whatever a grid holds, its cells are the union of its parts and are named by nothing but what they try."""

import hypothesis.strategies as st
from hypothesis import given

from replical.learners.catalogue import of_lists
from replical.study.spec import Study
from support.studies import TINY, tiny

LEARNERS = [record.id for record in of_lists()]  # of those that choose from a list

LISTS = {
    "class": st.sampled_from(["thresholds:50", "thresholds:60", "star:9", "intervals:8"]),
    "learner": st.sampled_from(list(LEARNERS)), "epsilon": st.sampled_from([0.1, 0.2, 0.25]),
    "pool_size": st.sampled_from([100, 1000, "exact"]), "rho": st.sampled_from([0.1, 0.3]),
    "delta": st.sampled_from([0.05, 0.5]), "theta": st.sampled_from([2, 2.5, 4]),
    "noise": st.sampled_from([0, 0.1, ".2"]), "k_loop": st.sampled_from([5, 10**18]),
}  # fmt: skip
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

    cells = tiny(grid).cells()
    ids = {cell.id for cell in cells}
    assert len(ids) == len(cells)
    names = data.draw(st.permutations(list(grid)))
    other = {name: [respelled(value) for value in data.draw(st.permutations(grid[name]))] for name in names}
    assert {cell.id for cell in Study.of({**TINY, "grid": [other], "seed": "other"}).cells()} == ids
    more = data.draw(st.sampled_from(names))
    extended = {**grid, more: [*grid[more], data.draw(LISTS[more])]}
    assert ids <= {cell.id for cell in tiny(extended).cells()}
    for cell in cells:
        (alone,) = tiny({"rho": 0.1, **cell.parameters}).cells()
        assert (alone.id, alone.seed, alone.parameters) == (cell.id, cell.seed, cell.parameters)


@given(GRIDS, GRIDS)
def test_cells_are_the_union_of_the_grids(one, two):
    assert {cell.id for cell in tiny(one, two).cells()} == {
        cell.id for grid in (one, two) for cell in tiny(grid).cells()
    }
