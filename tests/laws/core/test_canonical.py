"""Canonical JSON keeps every value, in any order of keys."""

import json

from hypothesis import given
from hypothesis import strategies as st

from replical.core.canonical import canonical
from replical.core.exact import fraction

texts = st.text(st.characters(exclude_categories=("Cs",)))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


@given(values)
def test_canonical_json_reads_back(value):
    text = canonical(value)
    assert canonical(json.loads(text)) == text


@given(st.dictionaries(texts, st.integers()))
def test_key_order_is_irrelevant(value):
    assert canonical(dict(reversed(value.items()))) == canonical(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_read_as_they_print(x):
    assert float(fraction(x)) == x
