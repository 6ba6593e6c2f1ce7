"""Reservations in a database behave like a dictionary, whoever of several servers is asked; and the choice by brute force."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.lab.journal.journal import Journal
from replical.lab.journal.reservations import Reservations, choose_item

PEOPLE, ITEMS = ("ann", "bob", "cat", "dan"), ("a", "b", "c")
places = st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 3))
moves = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.sampled_from(PEOPLE), places, st.sampled_from((10.0, 30.0))),
        st.tuples(st.just("hold"), st.sampled_from(PEOPLE), st.sampled_from(ITEMS)),
        st.tuples(st.just("release"), st.sampled_from(PEOPLE), st.sampled_from(ITEMS), st.booleans()),
        st.tuples(st.just("wait"), st.sampled_from((1.0, 9.0, 12.0, 31.0))),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Reservations of two servers in one file, and the clock they look at."""
    path, now = tmp_path_factory.mktemp("reservations") / "a.db", [1e9]
    with Journal(path) as journal, Journal(path, runner=False) as beside:
        shared = [Reservations(each._database, lambda: now[0]) for each in (journal, beside)]
        yield shared, now
        for each in shared:
            each.close()


@given(done=moves, chance=st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_two_servers_and_one_memory(servers, done, chance):
    """Whatever is done, at whichever of two servers: the same items are given, and the same times are told."""
    shared, now = servers
    for item in ITEMS:
        shared[0].release("", item, labelled=True)
    holds = {item: {} for item in ITEMS}
    for verb, *words in done:
        book = chance.choice(shared)
        if verb == "wait":
            now[0] += words[0]
        elif verb == "release":
            who, item, labelled = words
            since = holds[item].pop(who, None)
            assert book.release(who, item, labelled=labelled) == (None if since is None else now[0] - since)
            holds[item] = {} if labelled else holds[item]
        elif verb == "hold":
            book.hold(*words)
            holds[words[1]][words[0]] = now[0]
        else:
            item = book.take(*words)
            assert item == choose_item(holds, words[0], words[1], now[0], words[2])
            if item is not None:
                holds[item].setdefault(words[0], now[0])


@given(
    st.dictionaries(st.sampled_from(ITEMS), st.dictionaries(st.sampled_from(PEOPLE), st.floats(0, 100))),
    st.sampled_from(PEOPLE),
    places,
)
def test_the_choice_is_what_it_says(holds, who, places):
    """What one has; else the first of the least busy items that have a place left; else nothing."""
    now, patience = 100.0, 30.0
    found = choose_item(holds, who, places, now, patience)
    own = [item for item in places if who in holds.get(item, {})]
    busy = {item: len([s for s in holds.get(item, {}).values() if s > now - patience]) for item in places}
    free = sorted((busy[item], number, item) for number, item in enumerate(places) if busy[item] < places[item])
    assert found == (own[0] if own else free[0][2] if free else None)
