"""Predictions before the first label."""

from dataclasses import replace

import numpy as np
import pytest

from replical import (
    Gold,
    OutputTable,
    Pool,
    Population,
    PredictionTable,
    PrivateRandomness,
    Scores,
    SharedRandomness,
    Star,
    Thresholds,
    World,
    audit,
    learn,
    plan,
    predict_agreement,
)
from replical.errors import BadSpec, PlanMismatch, PoolExhausted, ValueOutOfRange
from replical.learners.planning import learner_for
from replical.pools.query import Query
from replical.worlds import vote_worlds as votes
from replical.worlds.datasets import real_world
from replical.worlds.forecast import forecast, simulate_lab
from replical.worlds.labs import run_lab
from replical.worlds.vote_worlds import central_hypothesis, votes_on

PRIVATE = PrivateRandomness.simulated("prediction")


def line(n, size):
    C = Thresholds(n)
    return C, Pool(C, np.random.default_rng(n).integers(n - 1, size=size), PRIVATE)


def test_the_prediction_covers_what_an_audit_finds():
    """Labels and disagreement predicted from a lab's own pool, against fresh pools from the population."""
    C, pool = line(1000, 5000)
    options = {"epsilon": 0.2, "delta": 0.05, "rho": 0.2, "nu": 0}
    found = forecast(pool, "handicap", options, draws=40)
    learner = learner_for(plan("handicap", C, pool="finite", **options))
    measured = audit(learner, World(C=C, pool_size=5000), seed="prediction", pairs=40)
    assert found.items == 5000
    assert found.labels_median == pytest.approx(measured.labels_mean, rel=0.25)
    assert found.labels_low <= measured.labels_mean <= found.labels_high
    assert found.certified_fraction == pytest.approx(measured.certified_fraction, abs=0.15)


def table(columns, names=None):
    C = PredictionTable(names or [f"m{i}" for i in range(np.shape(columns)[1])])
    return Pool(C, columns, PRIVATE)


def tumours(size, step=1):
    """A pool of the packaged tumours, with the labels; every `step`-th candidate."""
    world = real_world("breast_cancer", size)
    cells = np.random.default_rng(3).integers(len(world.cells), size=size)
    names = world.C.candidates[::step]
    return table(world.cells[cells][:, ::step], list(names)), world


OPTIONS = [
    ("handicap", {"rho": 0.1}), ("handicap", {"rho": 0.1, "nu": 0}),
    ("handicap", {"rho": 0.3, "batch": 8, "max_labels": 60}), ("a2", {"epsilon": 0.08}), ("cal", {}),
    ("erm", {"k_final": 30}), ("replicable-erm", {"rho": 0.3, "nu": 0.1, "k_final": 200}),
]  # fmt: skip


@pytest.mark.parametrize(("learner", "options"), OPTIONS)
def test_every_learner_of_tables_has_a_forecast(learner, options):
    pool, _ = tumours(400, step=10)
    found = forecast(pool, learner, {"epsilon": 0.1, "delta": 0.05, **options}, draws=2)
    assert found.method == "votes"
    assert found.draws == 2
    assert 0 < found.labels_low <= found.labels_median <= found.labels_high <= 400
    assert (found.certified_fraction is None) == (learner != "handicap") == (found.disagreement_mean is not None)
    assert (found.wider is None) == (learner != "handicap")


def test_more_items_more_labels_and_a_larger_epsilon_make_a_proof_likelier():
    pool, _ = tumours(400, step=10)
    found = forecast(pool, "handicap", {"epsilon": 0.1, "delta": 0.05, "rho": 0.1}, draws=12)
    labs = found.labs
    assert labs.items.max() <= 1600
    for better, worse in ((800, 400), (1600, 800)):
        assert labs.chance(items=better) >= labs.chance(items=worse)
        assert labs.chance(items=800, labels=better / 8) >= labs.chance(items=800, labels=worse / 8)
    assert labs.chance(items=400) == found.certified_fraction < found.wider.chance(items=400)
    p = found.certified_fraction
    assert found.same == pytest.approx(max(0.0, p * p - 0.1))
    near = forecast(pool, "handicap", {"epsilon": 0.1, "delta": 0.05, "rho": 0.1}, draws=4, far=False)
    assert near.labs.items.max() <= 400
    assert near.wider is None


def test_a_plan_in_haste_costs_hardly_more_labels():
    """A sixteenth of the labels so far is asked at once; the budget stays."""
    C = line(200, 3000)[0]
    made = plan("handicap", C, epsilon=0.1, delta=0.05, rho=0.2, pool="finite", max_labels=100)
    assert [made.opens(asked) for asked in (0, 64, 99)] == [1, 1, 1]
    assert [made.in_haste().opens(asked) for asked in (0, 15, 64, 98)] == [1, 1, 4, 2]
    population = Population(C, target=90, noise=0.1)
    own = population.pool(3000, PRIVATE)
    labels = [
        learn(learner_for(each), own, population.labels(own, PRIVATE), SharedRandomness("haste")).labels
        for each in (made, made.in_haste())
    ]
    assert labels[0] <= labels[1] <= 1.2 * labels[0] + 2


def test_worlds_of_handicap_have_no_noise_where_the_plan_says_so():
    """With labels inferred a run takes far fewer; in noisy worlds nobody would be consistent and the run would fail."""
    pool, _ = tumours(400, step=10)
    options = {"epsilon": 0.1, "delta": 0.05, "rho": 0.1}
    noisy = forecast(pool, "handicap", options, draws=4)
    noiseless = forecast(pool, "handicap", {**options, "nu": 0}, draws=4)
    assert noiseless.labels_median < noisy.labels_median
    assert noiseless.certified_fraction is not None


def test_a_learner_that_needs_a_larger_pool_says_so():
    pool, _ = tumours(400, step=10)
    with pytest.raises(PoolExhausted, match="bring a larger pool"):
        forecast(
            pool, "replicable-erm", {"epsilon": 0.1, "delta": 0.05, "rho": 0.1, "nu": 0.1, "k_final": 4000}, draws=1
        )


def test_the_same_pool_and_protocol_have_the_same_forecast():
    """And nobody else's random numbers are touched."""
    pool, _ = tumours(400, step=10)
    options = {"epsilon": 0.1, "delta": 0.05, "rho": 0.1}
    before = np.random.get_state()[1].tolist()  # noqa: NPY002 - the global state is what must stay as it is
    one = forecast(pool, "handicap", options, draws=2)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002 - the global state is what must stay as it is
    np.random.seed(4)  # noqa: NPY002 - the point is to disturb the global state
    assert forecast(pool, "handicap", options, draws=2) == one
    np.random.seed(0)  # noqa: NPY002 - the point is to disturb the global state
    assert forecast(pool, "handicap", options, draws=3) != one
    assert len(before) == 624


def test_a_pool_of_ten_items_foretells_nothing():
    C = PredictionTable(["a", "b"])
    pool = Pool(C, np.random.default_rng(1).integers(2, size=(10, 2)), PRIVATE)
    with pytest.raises(PoolExhausted, match="at least 50 unlabelled items .* and the pool holds 10: bring more items"):
        predict_agreement(C, pool, 0.2, "handicap")


def test_a_range_is_capped_at_what_can_be_asked():
    pool, _ = tumours(400, step=10)
    budget = forecast(pool, "handicap", {"epsilon": 0.02, "delta": 0.05, "rho": 0.1, "max_labels": 40}, draws=2)
    assert budget.labels_high == 40
    free = forecast(pool, "handicap", {"epsilon": 0.02, "delta": 0.05, "rho": 0.1}, draws=2)
    assert free.labels_high <= float(pool.version_space().mass) * 400 * 1.2


def test_weights_of_items_are_items():
    """A row that stands for five items is five items."""
    columns = np.random.default_rng(2).integers(2, size=(60, 4))
    C, weights = PredictionTable(list("abcd")), np.where(np.arange(60) < 20, 5, 1)
    heavy = Pool(C, columns, PRIVATE, weights=weights)
    assert forecast(heavy, "a2", {"epsilon": 0.2, "delta": 0.1}, draws=1).items == 140


def test_the_most_central_hypothesis_is_always_a_truth():
    """A star, whose centre takes the most labels to find: a few truths drawn from the class miss it."""
    C = Star(21)
    pool = Pool(C, np.random.default_rng(1).integers(21, size=10_000), PRIVATE)
    truths = [votes.PossibleWorlds(pool)(number).best for number in range(4)]
    assert central_hypothesis(pool) == truths[0] == 0
    assert 0 not in truths[1:]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "nu"), [("digits", 0.01), ("breast_cancer", 0.02)])
@pytest.mark.parametrize("learner", ["handicap", "a2"])
def test_real_labels_are_within_a_factor_of_two(name, nu, learner):
    """On both packaged worlds, if the error of the best candidate is known."""
    world = real_world(name, 2000)
    cells = np.random.default_rng(3).integers(len(world.cells), size=2000)
    pool = table(world.cells[cells], list(world.C.candidates))
    options = {"epsilon": 0.05, "delta": 0.05, **({"rho": 0.1} if learner == "handicap" else {})}
    found = forecast(pool, learner, options, noise=nu)
    population, active = world.population(), learner_for(plan(learner, world.C, pool="finite", **options))
    asked = [run_lab(active, population, 2000, SharedRandomness(f"f{i}"), ("f", i)).result.labels for i in range(20)]
    assert 1 / 2 <= found.labels_median / np.median(asked) <= 2
    assert found.labels_low <= np.median(asked) <= found.labels_high


def test_bad_input():
    C, pool = line(50, 1000)
    with pytest.raises(BadSpec, match="unknown learner 'guess'"):
        predict_agreement(C, pool, 0.2, "guess", truths=1)
    for draws in (0, -3, 1.5):
        with pytest.raises(ValueOutOfRange, match=f"1 world or more, got {draws}"):
            predict_agreement(C, pool, 0.2, truths=draws)
    with pytest.raises(ValueOutOfRange, match="the pool is for another class"):
        predict_agreement(Thresholds(51), pool, 0.2, truths=1)
    with pytest.raises(BadSpec, match="unknown data 'cats'"):
        real_world("cats", 10)


def outputs(loss, items=300):
    """Three candidates, of which the first is nearly always near to a number."""
    generator = np.random.default_rng(2)
    said = generator.integers(50, size=(items, 1)) + generator.normal(size=(items, 3)).round(1) * [0.5, 3, 9]
    return Pool(OutputTable(["near", "far", "farther"], loss=loss), said.round(1).astype(str).tolist(), PRIVATE)


@pytest.mark.parametrize("loss", [Gold.of("absolute", clip=10), Scores.on("1-5")])
def test_losses_of_outputs_are_foretold_always_alike_and_to_a_budget(loss):
    options = {"epsilon": 0.2, "delta": 0.05, "rho": 0.1, "losses": loss}
    pool = outputs(loss)
    found = forecast(pool, "handicap", options, draws=3, far=False)
    assert found == forecast(pool, "handicap", options, draws=3, far=False)
    assert found.counted == ("judgements" if isinstance(loss, Scores) else "labels")
    assert 0 < found.labels_low <= found.labels_median <= found.labels_high <= 900
    few = forecast(pool, "handicap", {**options, "max_labels": 25, "batch": 4}, draws=3)
    assert 20 < few.labs.labels.max() <= 25
    assert few.labels_high <= 25


@pytest.mark.parametrize("loss", [Gold.of("exact"), Scores.on("pass-fail")])
def test_a_simulated_lab_counts_what_it_is_told(loss, monkeypatch):
    """A score for every output, a label for every item."""
    heard = []
    answer = votes.VoteLosses.answer

    def listen(self, query):
        heard.append(sum(map(len, query.outputs)) if isinstance(loss, Scores) else len(query.items))
        return answer(self, query)

    monkeypatch.setattr(votes.VoteLosses, "answer", listen)
    pool = outputs(loss)
    made = plan("handicap", pool.C, pool="finite", epsilon=0.2, delta=0.05, rho=0.1, losses=loss)
    world = votes.PossibleWorlds(pool)(0)
    lab = simulate_lab(made, world, SharedRandomness("judged"), 300, 300, "A")
    assert (lab.labels, lab.labels_own) == (sum(heard), sum(heard))
    assert sum(heard) > 0


@pytest.mark.parametrize(("loss", "right", "wrong"), [
    (Scores.on("pass-fail"), 0.1, 0.9), (Scores.on("1-5"), 0.1, 0.9), (Scores.on({"a": 0.5, "b": 1}), 0.55, 0.95),
    (Gold.of("exact"), 0.0, 1.0),
])  # fmt: skip
def test_judges_find_the_right_output_good_in_the_mean(loss, right, wrong):
    C, items = OutputTable(["one", "two"], loss=loss), 4000
    pool = Pool(C, [["7", "8"]] * items, PRIVATE)
    model = votes_on(pool)
    each = replace(model.draw(np.random.default_rng(0)), lead=1.0, leader=0, flips=0.0, lapse=0.1)
    query = Query(
        items=np.arange(items), counts=np.ones(items, dtype=np.int64), scanned=items, disagreement=(1, 1), survivors=2
    )
    found = model.world(each).answers(pool, PRIVATE).answer(query).losses.mean(axis=0) / loss.unit
    assert found == pytest.approx([right, wrong], abs=0.02)


def test_a_loss_of_somebodys_own_has_no_forecast():
    loss = replace(Gold.of("exact"), source="sha256:" + 64 * "0")
    pool = outputs(Gold.of("exact"))
    pool.C.loss = loss
    with pytest.raises(PlanMismatch, match="a loss of your own may need right answers"):
        forecast(pool, "handicap", {"epsilon": 0.2, "delta": 0.05, "rho": 0.1, "losses": loss}, draws=1)
