"""A pool is what it holds, in whatever order its rows come."""

from hypothesis import given, settings
from hypothesis import strategies as st

from replical.classes.catalogue import recipe
from replical.lab.tables import read_pool

TEXTS = ("no", "yes")
TABLE = {"kind": "table", "candidates": [{"name": "a"}, {"name": "b c"}]}
PREDICTS = recipe(TABLE, TEXTS, "s")


@settings(max_examples=60)
@given(st.permutations(range(6)), st.lists(st.sampled_from(TEXTS), min_size=12, max_size=12))
def test_the_order_of_rows_does_not_count_and_everything_else_does(order, said):
    pool = {"id": [f"i{n}" for n in range(6)], "a": said[:6], "b c": said[6:]}
    turned = {name: [column[place] for place in order] for name, column in pool.items()}
    plain = read_pool(pool, PREDICTS)
    assert read_pool(turned, PREDICTS).fingerprint == plain.fingerprint
    assert read_pool(turned, PREDICTS).items.tolist() == plain.items.tolist()
    flipped = pool | {"a": [TEXTS[1 - TEXTS.index(said[0])], *said[1:6]]}
    renamed = pool | {"id": ["j", *pool["id"][1:]]}
    fewer = {name: column[1:] for name, column in pool.items()}
    prints = {read_pool(other, PREDICTS).fingerprint for other in (pool, flipped, renamed, fewer)}
    assert len(prints) == 4
