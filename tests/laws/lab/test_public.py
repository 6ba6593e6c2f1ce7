"""The order from a public sample: a permutation, by errors and then by name, and of the rows as a set."""

from hypothesis import given, settings
from hypothesis import strategies as st

from replical.classes.catalogue import recipe
from replical.lab.public import read_public

LABELS = ("no", "yes", "perhaps")


@st.composite
def samples(draw):
    """A recipe and a table of its candidates, with labels."""
    names = draw(st.lists(st.text("abAB é1", min_size=1, max_size=3), min_size=1, max_size=6, unique=True))
    names = [name for name in names if name not in ("id", "label")] or ["a"]
    rows = draw(st.integers(1, 8))
    column = st.lists(st.sampled_from(LABELS), min_size=rows, max_size=rows)
    table = {"id": [f"p{n}" for n in range(rows)], "label": draw(column)} | {name: draw(column) for name in names}
    return recipe({"kind": "table", "candidates": [{"name": name} for name in names]}, LABELS, "s"), table


def order(made, table):
    return read_public(table, "label", made).section["order"]


@settings(max_examples=60, deadline=None)
@given(samples())
def test_the_order_is_by_errors_then_by_name(drawn):
    """A twin that counts one label at a time; so it is a permutation, and nothing else decides."""
    made, table = drawn
    names = made.columns
    wrong = {name: sum(one != two for one, two in zip(table[name], table["label"], strict=True)) for name in names}
    found = order(made, table)
    assert sorted(found) == list(range(len(names)))
    assert [names[h] for h in found] == sorted(names, key=lambda name: (wrong[name], name))


@settings(max_examples=40, deadline=None)
@given(samples(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_does_not_count(drawn, random):
    made, table = drawn
    rows, columns = list(range(len(table["id"]))), list(table)
    random.shuffle(rows)
    random.shuffle(columns)
    turned = {name: [table[name][row] for row in rows] for name in columns}
    assert read_public(turned, "label", made).section == read_public(table, "label", made).section
