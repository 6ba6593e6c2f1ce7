"""A conversation that goes on from what it kept asks the same, and comes to the same, as one that was never interrupted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.core.randomness import PrivateRandomness
from replical.learners.base import Course
from replical.learners.measured import Measured
from replical.pools.query import Answers
from support.sessions import figures

LEARNERS = ({"name": "handicap", "epsilon": 0.1}, {"name": "handicap", "epsilon": 0.1, "batch": 4, "max_labels": 60})


def heard(world, course, truth):
    """Answer the present query."""
    query = course.query
    codes = np.array([truth[world.lab.ids[item]] for item in query.items.tolist()], dtype=np.uint16)
    course.tell(Answers.unanimous(query, codes, len(world.protocol.labels)))


def asked(course):
    query = course.query
    return (query.items.tolist(), query.scanned, query.disagreement, query.survivors, query.known.tolist())


def gone_on(make_world, data, learner, told, *, every):
    """Every state that is kept of a run, or some: put back, each must go the same way to the same end."""
    world = make_world(learner, **told)
    labels = world.protocol.labels
    truth = {item: labels.index(label) for item, label in world.truth.items()}
    pool = world.lab.pool(PrivateRandomness(b"p" * 32))
    who, shared = world.protocol.learner, world.protocol.shared
    if data.draw(st.booleans()):
        who = Measured(who, 5)
    course, exchanges, kept = Course(who, pool, shared), [], []
    while course.query is not None:
        exchanges.append((asked(course), course.asked))
        kept.append(course.state)
        heard(world, course, truth)
    states = [number for number, state in enumerate(kept) if state is not None]
    assert states == list(range(len(states)))  # nothing is kept of measuring the error, which comes last
    for number in states if every else data.draw(st.lists(st.sampled_from(states), min_size=1, max_size=2)):
        again = Course(who, pool, shared, state=kept[number])
        for each in exchanges[number:]:
            assert (asked(again), again.asked) == each
            heard(world, again, truth)
        assert figures(again.result())[:5] == figures(course.result())[:5]
        assert (again.result().proof, again.result().verdict) == (course.result().proof, course.result().verdict)
    return kept


TOLD = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["thresholds", "table"]),
        "noise": st.sampled_from([0.0, 0.1]),
        "number": st.integers(0, 99),
    }
)


@settings(max_examples=4)
@given(data=st.data(), learner=st.sampled_from(LEARNERS), told=TOLD)
def test_a_run_goes_on_from_what_it_kept(make_world, data, learner, told):
    gone_on(make_world, data, learner, told, every=False)


@pytest.mark.slow
@settings(max_examples=10)
@given(data=st.data(), learner=st.sampled_from(LEARNERS), told=TOLD)
def test_every_state_will_do(make_world, data, learner, told):
    gone_on(make_world, data, learner, told, every=True)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
@settings(max_examples=2)
@given(data=st.data(), batch=st.sampled_from([1, 3]), told=TOLD)
def test_inferred_labels_are_kept_too(make_world, data, batch, told, every):
    """Where nobody errs: who never contradicted an answer."""
    gone_on(
        make_world, data, {"name": "handicap", "nu": 0.0, "epsilon": 0.1, "batch": batch}, told | {"noise": 0.0}, every=every
    )


@settings(max_examples=3)
@given(data=st.data(), kind=st.sampled_from(["thresholds", "table"]))
def test_what_nobody_can_have_kept_is_refused(make_world, data, kind):
    """An entry that is missing, of another shape or type, or beyond its range: a `ValueError`, and nothing else."""
    world = make_world(LEARNERS[0], kind=kind)
    pool = world.lab.pool(PrivateRandomness(b"p" * 32))
    kept = dict(Course(world.protocol.learner, pool, world.protocol.shared).state)
    for name, right in kept.items():
        for wrong in (None, np.zeros((7, 7)), np.array(["x"]), right.astype(np.int32), right + 10**9):
            if wrong is not None and wrong.dtype == right.dtype and name not in ("m", "at", "S"):
                continue
            broken = {key: array for key, array in kept.items() if key != name}
            if wrong is not None:
                broken[name] = wrong
            with pytest.raises(ValueError, match=r".+"):
                Course(world.protocol.learner, pool, world.protocol.shared, state=broken)
