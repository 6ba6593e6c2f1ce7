"""What confirming a published answer will take, before the first label."""

import numpy as np
import pytest

from replical import Pool, PredictionTable, PrivateRandomness
from replical.errors import PoolExhausted, ValueOutOfRange
from replical.learners.confirm import Confirm, confirm_plan
from replical.worlds import vote_worlds as supposed
from replical.worlds import vote_worlds as votes
from replical.worlds.datasets import real_world
from replical.worlds.remaining import Foretold, foretell


def a_pool(size=400, step=10):
    """The packaged tumours; every `step`-th candidate."""
    world = real_world("breast_cancer", size)
    cells = np.random.default_rng(3).integers(len(world.cells), size=size)
    C = PredictionTable(list(world.C.candidates[::step]))
    return Pool(C, world.cells[cells][:, ::step], PrivateRandomness.simulated("foretold"))


def asking(pool, h=3, **options):
    return Confirm(plan=confirm_plan(len(pool.C), **{"margin": 0.1, "level": 0.05, **options}), h=h)


@pytest.mark.parametrize("options", [{}, {"max_labels": 30}, {"margin": 0.01}, {"batch": 7}])
def test_bounds_are_in_order_and_nothing_exceeds_what_can_be_asked(options):
    pool = a_pool()
    found = foretell(asking(pool, **options), pool, draws=5)
    assert 0 < found.labels_low <= found.labels_median <= found.labels_high <= options.get("max_labels", 400)
    assert found.confirmed + found.refuted + found.undecided == pytest.approx(1)
    assert found.draws == 5


def test_the_same_question_has_the_same_forecast():
    pool = a_pool()
    assert foretell(asking(pool), pool, draws=4) == foretell(asking(pool), pool, draws=4)


def test_an_answer_among_reliable_candidates_is_more_often_confirmed_than_a_coin():
    pool = a_pool()
    coin = np.random.default_rng(1).integers(2, size=(len(pool.items), 1))
    C = PredictionTable([f"m{h}" for h in range(len(pool.C) + 1)])
    both = Pool(C, np.hstack([pool.items, coin]), PrivateRandomness.simulated("foretold"))
    good, bad = (foretell(asking(both, h), both, draws=8) for h in (3, len(pool.C)))
    assert good.confirmed > 0.5
    assert bad.refuted == 1
    assert not bad.close
    assert not bad.open_end


def test_a_small_margin_or_budget_ends_undecided():
    pool = a_pool()
    assert foretell(asking(pool, margin=0.002), pool, draws=4).open_end
    assert foretell(asking(pool, max_labels=2), pool, draws=4).open_end


def test_thousands_of_labels_are_close_to_the_margin():
    made = {"confirmed": 0.5, "refuted": 0.5, "undecided": 0.0, "draws": 24}
    assert Foretold(labels_low=300, labels_median=1000, labels_high=9000, **made).close
    assert not Foretold(labels_low=300, labels_median=999, labels_high=9000, **made).close


@pytest.mark.slow
def test_chances_hold_in_worlds_like_those_they_are_made_from(monkeypatch):
    """Other worlds of the same prior end alike; not those in which one candidate is always the truth."""
    pool = a_pool()
    learner = asking(pool, margin=0.04)

    def ends(first):
        """Confirmed and refuted in 60 worlds from `first` on."""
        simulated = PrivateRandomness.simulated
        monkeypatch.setattr(
            supposed, "PrivateRandomness", type("", (), {"simulated": lambda name, n: simulated(name, first + n)})
        )
        found = foretell(learner, pool, draws=60)
        return np.array([found.confirmed, found.refuted])

    spread = 3.3 * np.sqrt(2 * 0.25 / 60)
    told = ends(0)
    assert np.abs(told - ends(1000)).max() < spread
    monkeypatch.setattr(votes, "SIGMA", (8.0, 8.0))
    monkeypatch.setattr(votes, "LED", 1.0)
    assert np.abs(told - ends(1000)).max() > spread


def test_bad_input_is_one_sentence():
    pool = a_pool()
    with pytest.raises(ValueOutOfRange, match="1 world or more, got 0"):
        foretell(asking(pool), pool, draws=0)
    ten = Pool(pool.C, pool.items[:10], PrivateRandomness.simulated("ten"))
    with pytest.raises(PoolExhausted, match="at least 50 unlabelled items .* and the pool holds 10: bring more items"):
        foretell(asking(ten), ten)
