"""Handicap with a loss of outputs against its twin, and every built-in loss against its definition."""

from decimal import Decimal
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import (
    AskTell,
    Gold,
    KnownGold,
    OutputTable,
    Pool,
    PrivateRandomness,
    Scores,
    SharedRandomness,
    confirm,
    learn,
    learner_for,
    plan,
)
from replical.classes.comparisons import edits
from support import reference
from support.predictions import preferring, run_beside_twin

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-50, max_value=50, places=2)
TEXTS = st.text("ab é", max_size=8)
SETS = st.lists(st.sampled_from(["cat", "dog", "1", "a b"]), max_size=4)
BOXES = st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS).map(
    lambda box: [*map(min, box[:2], box[2:]), *map(max, box[:2], box[2:])]
)


@st.composite
def worlds(draw):
    """Outputs of a few candidates, gold answers, clip and grid, and the seed they follow from."""
    n, items, seed = draw(st.integers(1, 5)), draw(st.integers(1, 200)), draw(st.integers(0, 2**32))
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 9, items)
    spread = draw(st.lists(st.sampled_from([0, 1, 2, 5]), min_size=n, max_size=n))
    off = [generator.integers(-s, s + 1, items) for s in spread]
    return (
        np.array([truth + each for each in off]),
        truth,
        draw(st.sampled_from([3, 7])),
        draw(st.sampled_from([4, 1000])),
        seed,
    )


def rounded(loss, grid):
    return Fraction(floor(loss * grid + Fraction(1, 2)), grid)


def setting(world, **options):
    outputs, truth, clip, grid, seed = world
    C = OutputTable([f"m{i}" for i in range(len(outputs))], loss=Gold.of("absolute", clip=clip, grid=grid))
    pool = Pool(C, outputs.T, PrivateRandomness.simulated("twin", seed))
    return (
        C,
        pool,
        KnownGold(pool, truth),
        lambda said, gold: rounded(Fraction(min(abs(said - gold), clip), clip), grid),
    )


@pytest.mark.claim("handicap")
@given(worlds(), st.sampled_from([0.3, 0.1]), st.sampled_from([1, 3]), st.booleans(), st.sampled_from([None, 60]))
@settings(max_examples=30)
def test_with_a_gold_loss_it_is_its_twin(world, epsilon, batch, ordered, until):
    C, pool, gold, cost = setting(world)
    prior = preferring(C, ordered)
    made = plan("handicap", C, epsilon=epsilon, delta=0.1, rho=0.4, batch=batch, pool="finite", prior=prior)
    run_beside_twin(made, pool, gold, *world[:2], world[-1], until=until, cost=cost)


@st.composite
def judged(draw):
    """Outputs of a few candidates, scores of all outputs of every item, and the seed they follow from."""
    n, items, seed = draw(st.integers(1, 5)), draw(st.integers(1, 200)), draw(st.integers(0, 2**32))
    generator = np.random.default_rng(seed)
    rates = draw(st.lists(st.sampled_from([0.0, 0.1, 0.5]), min_size=n, max_size=n))
    outputs = np.array([(generator.random(items) < rate) * (1 + h % 3) for h, rate in enumerate(rates)])
    chances = np.array([[0.8, 0.1, 0.1], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7], [0.5, 0, 0.5]])
    scores = np.array([[generator.choice(3, p=chances[each]) for each in range(4)] for _ in range(items)])
    return outputs, scores, seed


@pytest.mark.claim("handicap")
@given(judged(), st.sampled_from([0.3, 0.1]), st.sampled_from([1, 3]), st.booleans())
@settings(max_examples=30)
def test_with_scores_it_is_its_twin(run, epsilon, batch, ordered):
    outputs, scores, seed = run
    C = OutputTable([f"m{i}" for i in range(len(outputs))], loss=Scores.on({"good": 0, "fair": 0.25, "bad": 1}))
    pool, words = Pool(C, outputs.T, PrivateRandomness.simulated("twin", seed)), ("good", "fair", "bad")
    said = [
        {str(each): words[score] for each, score in enumerate(row) if each in outputs[:, x]}
        for x, row in enumerate(scores)
    ]
    prior = preferring(C, ordered)
    made = plan("handicap", C, epsilon=epsilon, delta=0.1, rho=0.4, batch=batch, pool="finite", prior=prior)
    costs = Fraction(0), Fraction(1, 4), Fraction(1)
    run_beside_twin(
        made,
        pool,
        KnownGold(pool, said),
        outputs,
        range(len(scores)),
        seed,
        cost=lambda said, x: costs[scores[x][said]],
    )


@pytest.mark.claim("handicap")
@given(worlds())
@settings(max_examples=10)
def test_told_row_by_row_it_comes_to_the_same(world):
    C, pool, gold, _ = setting(world)
    learner = learner_for(plan("handicap", C, epsilon=0.1, delta=0.1, rho=0.4, pool="finite"))
    result = learn(learner, pool, gold, SharedRandomness("twin"))
    run = AskTell(learner, pool, SharedRandomness("twin"))
    while run.open:
        run.tell({row: str(world[1][row]) for row in run.open})
    assert (run.result.hypothesis, run.result.labels) == (result.hypothesis, result.labels)


@pytest.mark.claim("handicap")
@given(worlds(), st.integers(0, 99), st.sampled_from([0.05, 0.2]), st.sampled_from([1, 3]))
@settings(max_examples=10)
def test_with_a_gold_loss_confirm_is_its_twin(world, answer, margin, batch):
    C, pool, gold, cost = setting(world)
    h = answer % len(C)
    found = confirm(h, pool, gold, margin=margin, level=0.1, batch=batch)
    twin = reference.confirm(
        world[0], h, pool.order.tolist(), world[1], Fraction(str(margin)), Fraction(1, 10), batch=batch, cost=cost
    )
    assert (found.outcome, found.against, found.asked, found.scanned, found.unlabelled) == twin


def row(name, output, answer, **numbers):
    loss = Gold.of(name, **numbers)
    return Fraction(loss.row(loss.read(answer), [loss.normal(output)])[0], loss.unit)


@given(NUMBERS, NUMBERS)
def test_numbers_lose_what_they_are_off_up_to_the_clip(one, two):
    off = min(abs(Fraction(one) - Fraction(two)) / 10, Fraction(1))
    assert row("absolute", one, str(two), clip=10) == rounded(off, 1000)
    assert row("squared", str(one), two, clip=10) == rounded(off**2, 1000)


@pytest.mark.parametrize(("preferred", "lost"), [("a", [0, 2]), ("b", [2, 0]), ("tie", [1, 1])])
def test_the_loser_of_a_duel_loses_all_and_a_tie_costs_half(preferred, lost):
    assert Gold.of("duel").row(preferred, ["a", "b"]) == lost


@pytest.mark.parametrize("answer", [np.int64(7), np.float64(7.0), np.str_("7"), np.array(7)])
def test_what_numpy_says_is_read_as_what_it_is(answer):
    assert Gold.of("absolute", clip=10).read(answer) == "7"
    assert Gold.of("iou").normal(np.array([0, 0, 1, 2])) == "[0,0,1,2]"


@given(SETS, SETS)
def test_sets_lose_what_f1_lacks(one, two):
    a, b = set(one), set(two)
    precision, recall = Fraction(len(a & b), len(a) or 1), Fraction(len(a & b), len(b) or 1)
    f1 = 2 * precision * recall / (precision + recall) if a & b else Fraction(a == b)
    assert row("f1", one, two) == rounded(1 - f1, 1000)


@given(BOXES, BOXES)
def test_boxes_lose_what_their_overlap_lacks(one, two):
    def area(box):
        return Fraction(max(box[2] - box[0], Decimal(0))) * Fraction(max(box[3] - box[1], Decimal(0)))

    both = [max(one[0], two[0]), max(one[1], two[1]), min(one[2], two[2]), min(one[3], two[3])]
    common = area(both)
    union = area(one) + area(two) - common
    expected = 1 - common / union if union else Fraction(one != two)
    assert row("iou", list(map(str, one)), f"[{','.join(map(str, two))}]") == rounded(expected, 1000)


@given(TEXTS, TEXTS)
def test_texts_lose_the_share_of_edits(one, two):
    a, b = " ".join(one.split()), " ".join(two.split())
    assert edits(a, b) == reference.edits(a, b)
    longest = max(len(a), len(b))
    assert row("edit", one, two) == rounded(Fraction(reference.edits(a, b), longest) if longest else Fraction(0), 1000)
    assert row("exact", one, two) == (a != b)


@given(st.sampled_from(["exact", "absolute", "squared", "f1", "iou", "edit"]), st.data())
def test_normal_forms_stay_and_losses_lie_between_0_and_1(name, data):
    values = {"exact": TEXTS, "edit": TEXTS, "f1": SETS, "iou": BOXES}.get(name, NUMBERS)
    loss = Gold.of(name, **({"clip": 10} if name in ("absolute", "squared") else {}))
    one, two = loss.normal(data.draw(values)), loss.normal(data.draw(values))
    assert loss.normal(one) == one == loss.read(one)
    costs = loss.row(two, [one, two])
    assert 0 <= costs[0] <= loss.unit
    assert costs[1] == 0
