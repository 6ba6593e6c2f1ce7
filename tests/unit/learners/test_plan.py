"""Plans: sizes by formula, sources, and what is refused."""

from fractions import Fraction
from math import log

import numpy as np
import pytest

from replical import (
    KnownLabels,
    Pool,
    Population,
    PredictionTable,
    Prior,
    PrivateRandomness,
    RepliCAL,
    SharedRandomness,
    Thresholds,
    learn,
    learner_for,
    plan,
)
from replical.core.exact import upper_tail
from replical.errors import BadSpec, PlanMismatch, ReplicalError, ValueOutOfRange
from replical.lab.protocol import Protocol
from replical.learners.catalogue import of_lists
from support.lab import content

REFERENCE = {"epsilon": 0.01, "delta": 0.05, "rho": 0.1, "theta": 2.0}


def test_paper_sizes_at_the_reference_point():
    replical = plan("replical", 1000, **REFERENCE, name="paper")
    assert replical.integer("N") == 7
    assert replical.integer("m") == pytest.approx(8.1e6, rel=0.01)
    assert replical.integer("k_loop") == pytest.approx(1.5e17, rel=0.03)
    assert replical.labels_most == pytest.approx(1.2e18, rel=0.03)
    assert plan("erm", 1000, **REFERENCE, name="paper").labels_most == 991
    assert plan("cal-rounds", 1000, **REFERENCE, name="paper").labels_most == 336


def test_paper_sizes_by_formula():
    """The formulas once more, in floating point."""
    n, e, d, r, th = 500, 0.05, 0.02, 0.3, 3.5
    N = 5
    rp = r / N
    m = 8 / rp * (1 + log(n) / log(1 + rp / 30))
    for T in (0.125, 0.3):
        k = max(
            4 * th * log(n * N / d) / (1 - 2 * T) ** 2,
            8 * th * m**2 / T * max(1 + log(2000 / rp**2), log(1920 * (N + 1) / rp**2)),
        )
        made = plan("replical", n, epsilon=e, delta=d, rho=r, theta=th, name="paper", T=T)
        assert made.integer("m") == pytest.approx(m, rel=1e-4)
        assert made.integer("k_loop") == pytest.approx(k, rel=1e-3)
        assert made["v_max"] == pytest.approx(T / th)


def test_tight_sizes_by_formula():
    n, e, d, r, th = 100_000, 0.01, 0.05, 0.1, 2.0
    made = plan("replical", n, epsilon=e, delta=d, rho=r, theta=th)
    assert made.integer("k_loop") == pytest.approx(64 * th * log(2 * 7 * n / (r / 16)), abs=1)
    G = e / (4 * th)
    assert made.integer("k_final") == pytest.approx((5.52 * log(n) / (0.9 * r)) ** 2 / G, rel=1e-9, abs=1)
    few = plan("replical", 2, epsilon=e, delta=d, rho=0.9, theta=th)
    assert few.integer("k_final") == pytest.approx(4 * log(400 / 0.9) / G, rel=1e-9, abs=1)
    weighted = plan("replical", 2, epsilon=e, delta=d, rho=r, theta=th, prior=Prior.weights(Thresholds(2), [1, 999]))
    assert weighted.integer("k_final") == pytest.approx((5.52 * log(1000) / (0.9 * r)) ** 2 / G, rel=1e-9, abs=1)
    finite = plan("replical", n, epsilon=e, delta=d, rho=r, theta=th, pool="finite")
    assert finite["G"] == made["G"] * Fraction(8, 9)
    assert finite.integer("measuring") == pytest.approx(162 * log(16 * 7 / (r / 16)) / e, abs=1)


@pytest.mark.parametrize(("epsilon", "rounds"), [(0.9, 1), (0.5, 2), (0.25, 3), (0.3, 2), (0.01, 7), (2.0**-20, 21)])
def test_rounds_halve_below_epsilon(epsilon, rounds):
    assert plan("cal-rounds", 10, epsilon=epsilon, delta=0.1, theta=2).rounds_most == rounds


def test_every_number_has_a_source():
    for record in of_lists():
        learner = record.id
        for name in record.plans:
            nu = 0 if learner == "handicap" else 0.02  # it takes no other
            made = plan(learner, 100, **REFERENCE, nu=nu, name=name)
            assert made.numbers
            assert all(number.source for number in made.numbers)


def test_given_sizes_are_used_and_the_broken_condition_is_named():
    made = plan("replical", 1000, **REFERENCE, k_loop=10, k_final=10**12)
    assert (made.integer("k_loop"), made.integer("k_final")) == (10, 10**12)
    assert [(c.name.split()[0], c.held) for c in made.conditions] == [("k_loop", False), ("k_final", True)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 1.5}, r"epsilon must be in \(0, 1\), got 1.5"),
        ({"epsilon": 0}, r"epsilon must be in \(0, 1\), got 0"),
        ({"epsilon": float("nan")}, "got nan"),
        ({"delta": 1}, r"delta must be in \(0, 1\), got 1"),
        ({"rho": -0.1}, r"rho must be in \(0, 1\), got -0.1"),
        ({"theta": 0.5}, "theta must be a finite number of at least 1, got 0.5"),
        ({"theta": float("inf")}, "got inf"),
        ({"theta": None}, "replical needs theta"),
        ({"rho": None}, "replical needs rho"),
        ({"T": 0.5, "name": "paper"}, r"T must be in \(0, 0.5\), got 0.5"),
        ({"T": float("nan"), "name": "paper"}, "got nan"),
        ({"T": 0.1}, "T belongs to the plan 'paper'"),
        ({"k_loop": 0}, "k_loop must be a whole number of at least 1, got 0"),
        ({"name": "loose"}, "unknown plan 'loose'"),
        ({"pool": "big"}, "got 'big'"),
        ({"max_labels": 100}, "more than max_labels = 100"),
    ],
)
def test_bad_input_is_one_sentence_with_the_value(change, message):
    with pytest.raises((ValueOutOfRange, BadSpec), match=message):
        plan("replical", 1000, **(REFERENCE | change))


def test_sizes_a_learner_does_not_have_are_refused():
    with pytest.raises(BadSpec, match="cal has no k_loop"):
        plan("cal", 10, epsilon=0.1, delta=0.1, k_loop=5)
    with pytest.raises(BadSpec, match="unknown learner 'foo'"):
        plan("foo", 10, epsilon=0.1, delta=0.1)


def test_the_caller_s_decimal_context_changes_nothing():
    from decimal import localcontext

    before = plan("replical", 1000, **REFERENCE, name="paper")
    with localcontext(prec=3):
        assert plan("replical", 1000, **REFERENCE, name="paper") == before


def test_plans_refuse_pools_they_were_not_made_for():
    C = Thresholds(50)
    world, lab = Population(C, target=3), PrivateRandomness.simulated("lab")
    pool = world.pool(1000, lab)
    for made, reason in (
        (plan("replical", C, **REFERENCE, name="paper"), "relative accuracy"),
        (plan("replical", C, **REFERENCE), "pool='finite'"),
        (plan("replical", 51, **REFERENCE, pool="finite"), "51 hypotheses"),
    ):
        with pytest.raises(PlanMismatch, match=reason):
            learn(RepliCAL(made), pool, world.labels(pool, lab), SharedRandomness("s"))


# --- sizes ------------------------------------------------------------------------------------------------------------


def noisy_items(n, e, d, r, nu):
    """M of Lemma N."""
    G = 2 * e / 3
    replicable = ((7.05 * log(n) + 1.47 * log(2 * n) ** 0.5) / (0.9 * r)) ** 2
    return (2 * max(nu, e) + 2 * G) / G**2 * max(replicable, 2.27 * log(400 * n / r), 8 * log(4 * n / d))


def test_agnostic_sizes_by_formula():
    from math import log

    n, e, d, r, th, nu = 1000, 0.05, 0.05, 0.1, 2.0, 0.05
    task = {"epsilon": e, "delta": d, "theta": th, "nu": nu}
    rounds = plan("a2-rounds", n, **task)
    assert rounds.stop_mass == pytest.approx(0.8)
    assert rounds.integer("N") == 1
    assert rounds.k == pytest.approx(128 * th**2 * log(4 * n / d), abs=1)
    assert rounds.final_size(rounds.stop_mass) == pytest.approx(18 * (0.8 / e) ** 2 * log(4 * n / d), rel=1e-6, abs=1)
    tight = plan("replica2", n, **task, rho=r)
    last = noisy_items(n, e, d, r, nu)
    assert tight.k == pytest.approx(288 * th * log(2 * (n + 1) / (r / 16)), abs=1)
    assert tight.integer("k_final") == tight.final_size(Fraction(1, 100)) == pytest.approx(last, rel=1e-9, abs=1)
    assert plan("replicable-erm", n, epsilon=e, delta=d, rho=r, nu=nu).k == tight.integer("k_final")
    for few, many in ((0.1, 1e-300), (1e-4, 0.1)):  # accuracy; far intruders
        made = plan("replica2", 2, **(task | {"delta": many}), rho=1 - few)
        assert made.integer("k_final") == pytest.approx(noisy_items(2, e, many, 1 - few, nu), rel=1e-9, abs=1)
    assert plan("replica2", n, **(task | {"epsilon": 0.02}), rho=r).k < tight.k  # ε ≤ ν̄/2: 72 in place of 288
    paper, rp = plan("replica2", n, **task, rho=r, name="paper"), r / 4
    m = 8 / rp * (1 + log(n) / log(1 + rp / 30))
    assert paper.integer("m") == pytest.approx(m, rel=1e-4)
    assert paper.k == pytest.approx(2 * (8 * th * m) ** 2 * (1 + log(2000 / rp**2)), rel=1e-3)
    assert plan("replicable-erm", n, epsilon=e, delta=d, rho=r, nu=0).k == pytest.approx(
        2 * (5.52 * log(n) / (0.99 * r)) ** 2 / e, abs=1
    )
    assert plan("erm", n, epsilon=e, delta=d, nu=nu).k == pytest.approx(2 * log(2 * n / d) / e**2, abs=1)


@pytest.mark.parametrize(("nu", "factor", "N"), [(0.0, 583, 3), (0.01, 583, 3), (0.02, 128, 2), (0.07, 128, 0)])
def test_replica2_on_pools_by_formula(nu, factor, N):
    """N = 3: 2^-2 is not below .16/1.05; with 8Θν̄ = 1.12 the loop never runs."""
    from math import ceil, log

    n, e, d, r, th = 1000, 0.01, 0.05, 0.1, 2.0
    made = plan("replica2", n, epsilon=e, delta=d, rho=r, theta=th, nu=nu, pool="finite")
    s, f, halvings = min(1, 8 * th * max(nu, e)), r / 16, max(N, 1)
    assert (made.rounds_most, made.integer("N")) == (N, halvings)
    assert made.k == ceil(factor * th * log(2 * halvings * (n + 1) / f))
    assert made.measuring == ceil(882 / s * log(16 * (halvings + 1) / f))
    assert made.integer("k_final") == pytest.approx(noisy_items(n, e, d, r, nu), rel=1e-9, abs=1)
    assert made.loop_most(Fraction(1), 12_345, Fraction(1, 2)) == int(max(nu, e) * 12_345 + made.k / (8 * th))
    assert made.final_most(Fraction(1, 5), Fraction(1, 2), 7) == 7 + made.integer("k_final") * Fraction(1, 300) // 1
    rounds = 1.2 * made.k / s * sum(2.0**-r for r in range(N))
    assert made.pool_least == made.measuring + made.integer("k_final")
    assert made.pool_enough == pytest.approx(made.pool_least + rounds, rel=1e-9, abs=2)


def test_betting_table_is_the_wealth_rule():
    made = plan("a2", 100, epsilon=0.1, delta=0.05)
    stakes = ((0.95, 3), (0.7, 2), (0.45, 2), (0.2, 1))
    table = made.losses_allowed(30)
    assert table[0] == 6  # six losses in a row; five is the fewest that any fair bet allows, 2^5 is 32
    for won in range(30):
        wealth = [
            sum(share / 8 * (1 + s) ** lost * (1 - s) ** won for s, share in stakes)
            for lost in (table[won] - 1, table[won])
        ]
        assert wealth[0] < 20 <= wealth[1]


# --- settings a user may get into -------------------------------------------------------------------------------------


def test_nu_zero_and_nu_below_epsilon_use_epsilon():
    for nu in (0.0, 0.01, 0.05):
        made = plan("replica2", 100, epsilon=0.05, delta=0.1, rho=0.2, theta=2.0, nu=nu)
        assert float(made["nu_bar"]) == 0.05
        assert next(c for c in made.conditions if "1.5 nu_bar" in c.name).held


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nu": 0.5}, r"nu must be in \[0, 0.5\), got 0.5"),
        ({"nu": -0.1}, "got -0.1"),
        ({"nu": float("nan")}, "got nan"),
        ({"nu": None}, "replica2 needs nu"),
        ({"batch": 3}, "replica2 has no batch"),
    ],
)
def test_bad_agnostic_input(arguments, message):
    task = {"epsilon": 0.1, "delta": 0.1, "rho": 0.3, "theta": 2.0, "nu": 0.1}
    with pytest.raises(ReplicalError, match=message):
        plan("replica2", 10, **(task | arguments))


def test_an_unknown_number_of_a_plan_is_a_key_error():
    with pytest.raises(KeyError, match="nope"):
        plan("erm", 10, epsilon=0.1, delta=0.1)["nope"]


@pytest.mark.parametrize("i", [1, 4, 9])
def test_the_last_round_is_the_least_likely_to_reject_a_good_hypothesis(i):
    """P32 of docs/paper.md: the loop cuts at v = (i+½)τ, the last filter at v' = εv/Δ, and there Δ is below ε."""
    made = plan("replical", 100, epsilon=0.1, delta=0.1, rho=0.1, theta=1, name="paper", k_loop=4000, k_final=4000)
    v = made["v_max"] * Fraction(2 * i + 1, 20)  # of ten intervals
    error = made.epsilon * made["v_max"] * Fraction(i, 10)  # at the end of the interval below
    loop = upper_tail(made.loop_most(v) + 1, 4000, float(error / made.epsilon))  # in a round at Δ = ε
    for mass in (made.epsilon * Fraction(9, 10), made.epsilon / 2, made.epsilon / 4):
        assert upper_tail(made.final_most(mass, v) + 1, 4000, float(error / mass)) < loop


# ---- handicap ----


TASK = {"epsilon": 0.1, "delta": 0.05, "rho": 0.1}
BAD = [
    ({"labs": 1}, "labs must be a whole number of at least 2, got 1"),
    ({"labs": 0}, "labs must be a whole number of at least 2, got 0"),
    ({"b": 0.2}, "b must be at most epsilon = 0.1, got 0.2: the answer may err b more than the best"),
    ({"a": 0.09, "b": 0.08}, "a must be above 0 and at most b = 0.08, got 0.09"),
    ({"a": 0.2}, "a must be above 0 and at most b = 0.1, got 0.2"),
    ({"a": 0.0}, "a must be in (0, 1), got 0"),
    ({"a": -0.1}, "a must be in (0, 1), got -0.1"),
    ({"batch": 16, "max_labels": 15}, "max_labels = 15 is below batch = 16"),
    ({"max_labels": 0}, "max_labels must be a whole number of at least 1, got 0"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_numbers_are_one_sentence(changes, message):
    """In Python and in a protocol."""
    with pytest.raises(ValueOutOfRange) as caught:
        plan("handicap", 6, **TASK, **changes)
    assert str(caught.value).startswith(message)
    with pytest.raises(ReplicalError) as caught:
        Protocol.of(content("handicap", **TASK | changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("labs", "beta"), [(None, (1, 20)), (2, (1, 20)), (10, (1, 100))])
def test_labs_share_what_may_fail(labs, beta):
    made = plan("handicap", 50, epsilon=0.1, delta=0.5, rho=0.1, pool="finite", labs=labs)
    assert (made["beta"], made["labs"]) == (Fraction(*beta), labs or 2)
    small = plan("handicap", 50, epsilon=0.1, delta=0.001, rho=0.1, pool="finite", labs=labs)
    assert small["beta"] == Fraction(1, 1000)


def test_a_budget_of_one_batch_is_enough():
    assert plan("handicap", 6, **TASK, batch=16, max_labels=16).opens(0) == 16


@pytest.mark.parametrize(("said", "right"), [([[1, 0, 0]], 1), ([[0, 0, 0]], 0), ([[1, 1, 0]], 1)])
def test_a_pool_of_one_item_has_an_uncertified_answer(said, right):
    C = PredictionTable(["a", "b", "c"])
    pool = Pool(C, np.array(said), PrivateRandomness.simulated("one"))
    made = learner_for(plan("handicap", C, **TASK, pool="finite"))
    result = learn(made, pool, KnownLabels(C, [right]), SharedRandomness("s"))
    assert (result.hypothesis in range(3), result.proof.certified) == (True, False)
    assert result.labels == (1 if len(set(said[0])) > 1 else 0)
