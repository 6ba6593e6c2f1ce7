"""Where a protocol says that handicaps come from: every source reaches the plan, and what is wrong is one sentence."""

import numpy as np
import pytest

from replical import Protocol
from replical.errors import ReplicalError
from replical.learners.handicap.handicaps import UNIT
from support.lab import content

SIX = [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("section", "source"),
    [
        ({"from": "order", "order": SIX}, "order"),
        ({"from": "order", "order": [4, 1, 0, 2, 3, 5], "shortlist": 2}, "order"),
        ({"from": "exponentials"}, "exponentials"),
        ({"from": "weights", "weights": [1, 2, 3, 4, 5, 6]}, "weights"),
        ({"from": "cover", "members": [1, 4]}, "cover"),
        ({"from": "zero"}, "zero"),
        ({"from": "values", "values": [0.0, 0.1, 0.2, 0.3, 0.4, 0.05]}, "values"),
    ],
)
def test_every_source_reaches_the_plan_and_the_file(section, source):
    protocol = Protocol.of(content("handicap", handicap=section))
    assert protocol.plan.source == source
    members, c, _ = protocol.plan.terms(protocol.shared)
    assert np.array_equal(members, [1, 4] if source == "cover" or "shortlist" in section else SIX)
    assert ((c >= 0) & (c <= protocol.plan.epsilon * UNIT)).all()
    assert "[handicap]" in protocol.toml()
    assert protocol.fingerprint != Protocol.of(content("handicap")).fingerprint


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"handicap": {"from": "elsewhere"}}, "one of order, exponentials, weights, cover, zero, values; got 'elsewhere'"),
        ({"handicap": {}}, "got None"),
        ({"handicap": {"from": "zero", "order": SIX}}, "handicaps from 'zero' have no key 'order'"),
        ({"handicap": {"from": "order", "order": [0, 1, 2]}}, "'m3' is missing"),
        ({"handicap": {"from": "order", "order": SIX, "shortlist": 7}}, "a shortlist of 7 is longer than the class of 6"),
        ({"handicap": {"from": "order", "order": SIX, "shortlist": 1}}, "shortlist must be a whole number of at least 2, got 1"),
        ({"handicap": {"from": "order", "order": SIX, "shortlist": 2.5}}, "shortlist must be a whole number of at least 2"),
        ({"handicap": {"from": "exponentials", "shortlist": 3}}, "a shortlist is the beginning of a public order"),
        ({"handicap": {"from": "cover", "members": [1, 2], "shortlist": 2}}, "and handicaps come from cover: publish an order"),
        ({"handicap": {"from": "order"}}, "lists every hypothesis once"),
        ({"handicap": {"from": "values", "values": [0.0] * 5}}, "6 handicaps are needed, one a hypothesis, got 5"),
        ({"handicap": {"from": "values", "values": [0.0, 0.1, 0.2, 0.3, 0.4, float("nan")]}}, "of 'm5' must be a number"),
        ({"handicap": {"from": "values", "values": [0.0, 0.1, 0.2, 0.3, 0.4, -0.1]}}, "of 'm5' must be a number"),
        ({"handicap": {"from": "values", "values": [0.0, 0.1, 0.2, 0.3, 0.4, "x"]}}, "handicaps are numbers"),
        ({"handicap": {"from": "cover"}}, "a cover lists the numbers of its members"),
        ({"handicap": {"from": "cover", "members": [1, 1]}}, "each once"),
        ({"handicap": {"from": "cover", "members": [6]}}, "hypotheses from 0 to 5"),
        ({"handicap": {"from": "cover", "members": [1], "radius": 0.1}}, "all three, or none"),
        ({"prior": {"kind": "order", "order": SIX}}, "[prior] is not for the learner handicap"),
        ({"learner": "a2", "handicap": {"from": "zero"}}, "[handicap] is for the learner of this name, not for 'a2'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(changes, message):
    changes = dict(changes)
    with pytest.raises(ReplicalError) as refused:
        Protocol.of(content(changes.pop("learner", "handicap"), **changes))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_handicap_above_epsilon_is_refused():
    values = [0.0, 0.1, 0.2, 0.3, 0.4, 0.45]
    with pytest.raises(ReplicalError, match="a handicap is 0.45, above epsilon = 0.4"):
        Protocol.of(content("handicap", handicap={"from": "values", "values": values}))
