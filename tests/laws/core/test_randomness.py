"""Shared words equal their reference, whatever is asked and in whatever order (docs/claims/randomness.md)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical import SharedRandomness
from support.reference import shared_word

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
names = st.lists(st.one_of(texts, st.integers(-(10**6), 10**20)), min_size=1, max_size=3).map(tuple)
indices = st.integers(0, 2**40)


@pytest.mark.claim("randomness")
@given(texts, names, st.one_of(indices, st.integers(0, 2**200)))
def test_words_equal_the_reference(seed, name, index):
    assert SharedRandomness(seed).word(*name, index=index) == shared_word(seed, name, index)


@pytest.mark.claim("randomness")
@given(texts, names, st.integers(0, 2**30), st.integers(0, 50))
def test_a_stretch_of_words_is_its_words(seed, name, start, count):
    shared = SharedRandomness(seed)
    assert shared.words(*name, start=start, count=count).tolist() == [
        shared.word(*name, index=start + i) for i in range(count)
    ]


@given(texts, st.lists(st.one_of(st.integers(0, 300), indices), max_size=30))
def test_ranks_are_words_in_any_order_with_repeats(seed, wanted):
    shared = SharedRandomness(seed)
    ranks = shared.ranks("order", indices=np.array(wanted, dtype=np.int64))
    assert ranks.tolist() == [shared.word("order", index=i) for i in wanted]


@pytest.mark.claim("randomness")
@given(texts, st.lists(names, min_size=2, max_size=4, unique=True), st.randoms())
def test_the_order_of_calls_is_irrelevant(seed, asked, random):
    shared = SharedRandomness(seed)
    before = {name: (shared.uniform(*name), shared.integer(*name, high=1000)) for name in asked}
    random.shuffle(asked)
    assert {name: (shared.uniform(*name), shared.integer(*name, high=1000)) for name in asked} == before


@given(texts, names, st.floats(-1e6, 1e6), st.floats(1e-9, 1e6))
def test_uniforms_stay_in_their_range(seed, name, low, width):
    high = low + width
    if low < high:
        assert low <= SharedRandomness(seed).uniform(*name, low=low, high=high) < high


@given(texts, names, st.integers(-(10**9), 10**9), st.integers(1, 2**64))
def test_integers_stay_in_their_range(seed, name, low, size):
    assert low <= SharedRandomness(seed).integer(*name, low=low, high=low + size) < low + size


@pytest.mark.claim("randomness")
@given(texts, st.sets(st.integers(0, 1000), min_size=1, max_size=20))
def test_first_is_the_lowest_rank(seed, members):
    shared = SharedRandomness(seed)
    assert shared.first("order", indices=np.array(sorted(members))) == min(
        members, key=lambda h: (shared.word("order", index=h), h)
    )
