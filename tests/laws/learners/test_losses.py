"""Handicap with weights and abstaining candidates against its twin, and losses against their definition."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import (
    AskTell,
    KnownLabels,
    Losses,
    Pool,
    PredictionTable,
    PrivateRandomness,
    SharedRandomness,
    confirm,
    learn,
    learner_for,
    plan,
)
from replical.errors import BadLabel, BadProtocol, BadSpec
from support import reference
from support.predictions import preferring, run_beside_twin, tables

WEIGHTS = st.sampled_from([1, 2, 5, 0.1, 0.25, 3])
PRICES = st.sampled_from([None, 0.0, 0.05, 0.2, 1.0])


@st.composite
def priced(draw):
    """A small table in which candidates may abstain, and what it costs."""
    labels, codes, truth, seed = draw(tables())
    weights, price = {label: draw(WEIGHTS) for label in labels}, draw(PRICES)
    if price is not None:
        away = np.random.default_rng(seed + 1).random(codes.shape) < np.linspace(0, 0.3, len(codes))[:, None]
        codes = np.where(away, len(labels), codes)
    return labels, codes, truth, seed, weights, price


def cost_of(labels, weights, price):
    """What a prediction loses at a label, from the definition."""
    scaled = [Fraction(str(weights[label])) / Fraction(str(max(weights.values()))) for label in labels]
    return lambda said, label: Fraction(str(price)) if said == len(labels) else (said != label) * scaled[label]


@pytest.mark.claim("handicap")
@given(priced(), st.sampled_from([0.3, 0.1]), st.sampled_from([1, 3]), st.booleans())
@settings(max_examples=30)
def test_with_losses_it_is_its_twin(run, epsilon, batch, ordered):
    labels, codes, truth, seed, weights, price = run
    says = (*labels, 9) if price is not None else labels
    C = PredictionTable([f"m{i}" for i in range(len(codes))], labels=says)
    losses = Losses.of(labels, weights=weights, abstain=None if price is None else 9, price=price)
    made = plan(
        "handicap", C, epsilon=epsilon, delta=0.1, rho=0.4, batch=batch, pool="finite", losses=losses,
        prior=preferring(C, ordered),
    )  # fmt: skip
    pool = Pool(C, np.array(says)[codes].T, PrivateRandomness.simulated("twin", seed))
    known = KnownLabels(C, np.array(labels)[truth])
    run_beside_twin(made, pool, known, codes, truth, seed, cost=cost_of(labels, weights, price))


@pytest.mark.claim("confirm")
@given(priced(), st.integers(0, 99), st.sampled_from([0.05, 0.2]), st.sampled_from([1, 3]))
@settings(max_examples=10)
def test_with_losses_confirm_is_its_twin(run, answer, margin, batch):
    labels, codes, truth, seed, weights, price = run
    says, h = (*labels, 9) if price is not None else labels, answer % len(codes)
    C = PredictionTable([f"m{i}" for i in range(len(codes))], labels=says)
    losses = Losses.of(labels, weights=weights, abstain=None if price is None else 9, price=price)
    pool = Pool(C, np.array(says)[codes].T, PrivateRandomness.simulated("twin", seed))
    known = KnownLabels(C, np.array(labels)[truth])
    found = confirm(h, pool, known, margin=margin, level=0.1, batch=batch, losses=losses)
    twin = reference.confirm(
        codes, h, pool.order.tolist(), truth, Fraction(str(margin)), Fraction(1, 10), batch=batch,
        cost=cost_of(labels, weights, price),
    )  # fmt: skip
    assert (found.outcome, found.against, found.asked, found.scanned, found.unlabelled) == twin


@given(st.lists(WEIGHTS, min_size=2, max_size=4), PRICES)
def test_losses_are_what_they_are_said_to_be(weights, price):
    labels = tuple("abcd"[: len(weights)])
    abstain = None if price is None else "?!"
    losses = Losses.of(labels, weights=dict(zip(labels, weights, strict=True)), abstain=abstain, price=price)
    if losses is None:
        assert price is None
        assert len(set(weights)) == 1
        return
    table = losses.table / losses.unit
    for true, weight in enumerate(weights):
        for said in range(len(labels)):
            assert table[true, said] == pytest.approx((said != true) * weight / max(weights))
        assert price is None or table[true, -1] == pytest.approx(price)
    assert table.min() >= 0
    assert table.max() == 1
    values = losses.differences
    assert values[:3] == (0, losses.unit, -losses.unit)
    assert set(values) == {-each for each in values}
    for row in losses.table:
        assert set(np.subtract.outer(row, row).ravel().tolist()) <= set(values)


def test_equal_weights_are_plain_errors():
    assert Losses.of(("no", "yes"), weights={"no": 3, "yes": 3.0}) is None
    assert Losses.of((0, 1), weights={"0": 1, "1": 1}) is None


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"weights": {"no": 1}}, "the label 'yes' has no weight: give every label one"),
        ({"weights": {"no": 1, "yes": 0}}, "the weight of 'yes' must be a finite number above 0, got 0"),
        ({"weights": {"no": 1, "yes": -2}}, "finite number above 0, got -2"),
        ({"weights": {"no": 1, "yes": float("nan")}}, "finite number above 0, got nan"),
        ({"weights": {"no": 1, "yes": float("inf")}}, "finite number above 0, got inf"),
        ({"weights": {"no": 1, "yes": "much"}}, "finite number above 0, got 'much'"),
        ({"weights": {"no": True, "yes": 1}}, "finite number above 0, got True"),
        ({"weights": {"no": 1, "yes": 2, "perhaps": 3}}, "a weight of 'perhaps', which is none of the labels"),
        ({"weights": {"no": 1, "yes": 10**400}}, "finite number above 0, got 1000"),
        ({"weights": {"no": 1e308, "yes": 1e-300}}, "in parts finer than 1/1,000,000"),
        ({"weights": [1, 2]}, "weights of labels are written weights ="),
        ({"weights": {"no": 1, "yes": 1.0000001}}, "round them"),
        ({"abstain": "unsure"}, "give abstain and price, or neither"),
        ({"price": 0.2}, "give abstain and price, or neither"),
        ({"abstain": "unsure", "price": 1.5}, "a number from 0 to 1, got 1.5"),
        ({"abstain": "unsure", "price": -0.1}, "a number from 0 to 1, got -0.1"),
        ({"abstain": "unsure", "price": float("nan")}, "a number from 0 to 1, got nan"),
        ({"abstain": "unsure", "price": "low"}, "a number from 0 to 1, got 'low'"),
        ({"abstain": "yes", "price": 0.2}, "'yes' is a label, so it cannot be what candidates say that abstain"),
        ({"abstain": "?", "price": 0.2}, "neither '' nor"),
        ({"abstain": 0.5, "price": 0.2}, "abstain must be a text or a whole number"),
    ],
)
def test_bad_losses_are_one_sentence(given_, message):
    with pytest.raises(BadProtocol, match=message.replace("?", r"\?")):
        Losses.of(("no", "yes"), **given_)


def test_labels_that_are_written_alike_are_refused():
    for labels, given_, message in (
        ((0, 1), {"abstain": "1", "price": 0.2}, "'1' is a label"),
        (("0", "1"), {"abstain": 1, "price": 0.2}, "1 is a label"),
        ((0, 1), {"weights": {0: 1, "0": 2, 1: 1}}, "a label has two weights"),
        ((1, "1"), {"weights": {1: 1, "1": 2}}, "are written alike"),
    ):
        with pytest.raises(BadProtocol, match=message):
            Losses.of(labels, **given_)


def test_whoever_is_asked_cannot_abstain():
    """Told with one of two open rows the word was once kept, and the run could not go on."""
    C, losses = PredictionTable(["a", "b"], labels=(0, 1, 9)), Losses.of((0, 1), abstain=9, price=0.1)
    made = plan("handicap", C, epsilon=0.1, delta=0.1, rho=0.2, batch=2, pool="finite", losses=losses)
    pool = Pool(C, np.array([[0, 1], [9, 1]] * 50), PrivateRandomness.simulated("asked"))
    run = AskTell(learner_for(made), pool, SharedRandomness("asked"))
    first, second = run.open
    with pytest.raises(BadLabel, match=rf"9 for row {first} is none of \[0, 1\]"):
        run.tell({first: 9})
    run.tell({first: 0})
    run.tell({second: 1})
    assert len(run.open) == 2


def test_whoever_counts_errors_refuses_losses():
    C, losses = PredictionTable(["a", "b"], labels=(0, 1, 9)), Losses.of((0, 1), abstain=9, price=0.1)
    for learner in ("cal", "a2", "erm"):
        with pytest.raises(BadSpec, match=f"{learner} counts errors, all alike"):
            plan(learner, C, epsilon=0.1, delta=0.1, pool="finite", losses=losses)
    with pytest.raises(BadSpec, match="nu = 0 is about errors, all alike"):
        plan("handicap", C, epsilon=0.1, delta=0.1, rho=0.2, nu=0, pool="finite", losses=losses)
    with pytest.raises(BadSpec, match="the losses are for 3 predictions, and hypotheses of the class say 2 labels"):
        plan("handicap", PredictionTable(["a"]), epsilon=0.1, delta=0.1, rho=0.2, pool="finite", losses=losses)
    made = plan("handicap", C, epsilon=0.1, delta=0.1, rho=0.2, pool="finite", losses=losses)
    pool = Pool(C, np.array([[0, 1]] * 50), PrivateRandomness.simulated("abstain"))
    with pytest.raises(BadLabel, match="nobody's label ever is that"):
        learn(learner_for(made), pool, KnownLabels(C, np.full(50, 9)), SharedRandomness("abstain"))
