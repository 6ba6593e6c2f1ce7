"""rSTAT, rHeavyHitters and the stop test: sizes, rounding and bad input (docs/claims/subroutines.md)."""

from collections import Counter
from fractions import Fraction
from math import ceil, floor, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import KnownLabels, Pool, PrivateRandomness, ReplicA2, RepliCAL, SharedRandomness, Thresholds, learn, plan
from replical.errors import BadSpec, PoolExhausted, ReplicalError, ValueOutOfRange
from replical.subroutines import HeavyHitters, Statistic, rheavyhitters, rstat
from support import reference

SHARED = SharedRandomness("published")
hundredths = st.integers(1, 99).map(lambda i: i / 100)


def exact(x):
    return Fraction(repr(x))


def uniform(seed, *name):
    """The shared number in [0, 1) of a name, from the frozen definition."""
    return Fraction(reference.shared_word(seed, name, 0) >> 11, 2**53)


def is_least(size, wanted):
    """`size` is the least integer from `wanted` on; `wanted` was computed in doubles."""
    return wanted * (1 - 1e-12) <= size < wanted * (1 + 1e-12) + 1


# --- sizes: not the formulas once more, but what the proofs ask of them -----------------------------------------------


rho_above_twice_delta = st.integers(1, 99).flatmap(
    lambda i: st.tuples(st.just(i / 100), st.integers(1, 5 * i - 1).map(lambda j: j / 1000))
)
v_and_epsilon = st.integers(1, 49).flatmap(
    lambda j: st.tuples(st.integers(j + 1, 100 - j).map(lambda i: i / 100), st.just(j / 100))
)


@given(hundredths, rho_above_twice_delta)
def test_rstat_s_cells_and_sample_split_tolerance_and_replicability(tau, rest):
    rho, delta = rest
    made = Statistic.of(tau=tau, rho=rho, delta=delta)
    sampling = exact(tau) - made.alpha / 2  # what rounding leaves of the tolerance
    assert 2 * sampling / made.alpha == exact(rho) - 2 * exact(delta)  # a shared border between two means
    assert is_least(made.samples, log(2 / delta) / (2 * float(sampling) ** 2))  # Hoeffding: 2exp(-2sτ'²) ≤ δ


@given(hundredths, v_and_epsilon)
def test_heavy_hitters_miss_nobody_and_count_well(rho, ends):
    v, epsilon = ends
    low = exact(v) - exact(epsilon)
    made = HeavyHitters.of(rho=rho, v=v, epsilon=epsilon)
    # At most 1/(v-ε) values are that frequent; each is missed with probability exp(-Q1(v-ε)): ρ/6 together.
    assert is_least(made.candidates, log(6 / (rho * float(low))) / float(low))
    # Deviations of η = ρε/(4Q1) have probability 2(ρ/Q1)⁸ a candidate.
    eta = rho * epsilon / (4 * made.candidates)
    assert is_least(made.counted, 8 * log(made.candidates / rho) / (2 * eta**2))
    # The three failures of docs/claims/subroutines.md, in units of ρ: missed, near the threshold, miscounted.
    miscounted = 4 * made.candidates / rho * (rho / made.candidates) ** 8
    assert 2 / 6 + 2 * made.candidates * eta / (rho * epsilon) + miscounted < 0.87


# --- rounding ---------------------------------------------------------------------------------------------------------

fractions = st.fractions(0, 1, max_denominator=10**6)
texts = st.text(max_size=5)


@given(fractions, fractions, texts, hundredths, hundredths)
def test_rounding(one, two, seed, tau, rho):
    made = Statistic.of(tau=tau, rho=rho, delta=rho / 4)
    offset = made.alpha * uniform(seed, "q", 3)
    rounded = [made.round(mean, SharedRandomness(seed), "q", 3) for mean in (one, two)]
    cells = [floor((mean - offset) / made.alpha) for mean in (one, two)]
    for mean, answer, cell in zip((one, two), rounded, cells, strict=True):
        assert 0 <= answer <= 1
        middle = offset + (2 * cell + 1) * made.alpha / 2
        assert abs(middle - mean) <= made.alpha / 2
        assert answer == sorted((Fraction(0), middle, Fraction(1)))[1]
        assert abs(answer - mean) <= made.alpha / 2  # clipping moves towards every mean in [0, 1]
        assert answer == made.round(mean, SharedRandomness(seed), "q", 3)
    if cells[0] == cells[1]:
        assert rounded[0] == rounded[1]
    elif all(0 < answer < 1 for answer in rounded):
        assert rounded[0] != rounded[1]


@given(st.integers(0, 10**6), texts)
def test_rstat_is_the_rounded_mean_of_fresh_values(number, seed):
    """Values in 64ths, so that their sum is exact; drawn in two pieces, so that a piece lost would show."""
    task = {"tau": 0.3, "rho": 0.8, "delta": 0.3}
    generator, drawn = np.random.default_rng(number), []

    def sampler(count):
        drawn.append(generator.integers(65, size=count))
        return drawn[-1] / 64

    answer = rstat(sampler, SharedRandomness(seed), **task, name=("mine", 1))
    made = Statistic.of(**task)
    assert sum(map(len, drawn)) == made.samples
    mean = Fraction(int(np.concatenate(drawn).sum()), 64 * made.samples)
    assert answer == float(made.round(mean, SharedRandomness(seed), "mine", 1))


def test_large_samples_are_drawn_in_pieces():
    sizes = []

    def sampler(count):
        sizes.append(count)
        return np.full(count, 0.25)

    task = {"tau": 0.005, "rho": 0.3, "delta": 0.05}
    answer = rstat(sampler, SHARED, **task)
    made = Statistic.of(**task)
    assert sum(sizes) == made.samples > max(sizes)
    assert answer == float(made.round(Fraction(1, 4), SHARED, "rstat"))


def test_questions_have_words_of_their_own():
    answers = {
        rstat(lambda count: np.full(count, 0.4), SHARED, tau=0.1, rho=0.5, delta=0.1, name=("q", i)) for i in range(20)
    }
    assert len(answers) == 20


@settings(max_examples=20)
@given(st.integers(0, 10**6), texts, st.sampled_from([(0.7, 0.3), (0.5, 0.1), (0.6, 0.35)]))
def test_heavy_hitters_against_brute_force(number, seed, ends):
    v, epsilon = ends
    rho, generator, drawn = 0.9, np.random.default_rng(number), []
    p = generator.dirichlet([2, 1, 1, 0.2])

    def sampler(count):  # the counts decide, not the order within a piece
        drawn.extend([generator.multinomial(count, p)])
        return np.repeat(np.arange(-1, 3), drawn[-1])

    found = rheavyhitters(sampler, SharedRandomness(seed), rho=rho, v=v, epsilon=epsilon)
    made = HeavyHitters.of(rho=rho, v=v, epsilon=epsilon)
    first, counted = drawn[0], sum(drawn[1:])
    assert (first.sum(), counted.sum()) == (made.candidates, made.counted)
    threshold = exact(v) - exact(epsilon) + 2 * exact(epsilon) * uniform(seed, "heavy hitters")
    frequencies = {value - 1: Fraction(int(counted[value]), made.counted) for value in range(4) if first[value]}
    assert found == sorted(value for value, frequency in frequencies.items() if frequency >= threshold)


# --- bad input --------------------------------------------------------------------------------------------------------


def constant(value):
    return lambda count: np.full(count, value)


RSTAT = {"tau": 0.3, "rho": 0.5, "delta": 0.1}
HEAVY = {"rho": 0.9, "v": 0.7, "epsilon": 0.3}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"rho": 0.2}, r"rSTAT needs rho above 2 delta, got rho 0.2 and delta 0.1: lower delta below 0.1"),
        ({"tau": 0}, r"tau must be in \(0, 1\), got 0"),
        ({"tau": 1.0}, r"tau must be in \(0, 1\), got 1"),
        ({"rho": float("nan")}, r"rho must be in \(0, 1\), got nan"),
        ({"delta": "0.1"}, r"delta must be a number, got '0.1'"),
    ],
)
def test_rstat_refuses_bad_numbers(changed, sentence):
    with pytest.raises(ValueOutOfRange, match=sentence):
        rstat(constant(0.5), SHARED, **(RSTAT | changed))


@pytest.mark.parametrize(
    ("sampler", "sentence"),
    [
        (constant(1.5), r"values in \[0, 1\], got 1.5"),
        (constant(-1), r"values in \[0, 1\], got -1"),
        (constant(np.nan), r"values in \[0, 1\], got nan"),
        (lambda count: np.zeros(count + 1), r"asked for (\d+) values and gave an array of shape"),
        (lambda count: np.zeros((count, 1)), r"asked for (\d+) values and gave an array of shape \(\d+, 1\)"),
        (lambda _: 0.5, r"gave an array of shape \(\)"),
    ],
)
def test_rstat_refuses_bad_values(sampler, sentence):
    with pytest.raises(ValueOutOfRange, match=sentence):
        rstat(sampler, SHARED, **RSTAT)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"epsilon": 0.7}, r"0 < v - epsilon and v \+ epsilon at most 1, got v 0.7 and epsilon 0.7"),
        ({"v": 0.2}, r"0 < v - epsilon .* got v 0.2 and epsilon 0.3"),
        ({"v": 0.71}, r"v \+ epsilon at most 1, got v 0.71 and epsilon 0.3"),
        ({"rho": 1}, r"rho must be in \(0, 1\), got 1"),
        ({"epsilon": True}, r"epsilon must be a number, got True"),
    ],
)
def test_heavy_hitters_refuse_bad_numbers(changed, sentence):
    with pytest.raises(ValueOutOfRange, match=sentence):
        rheavyhitters(constant(1), SHARED, **(HEAVY | changed))


@pytest.mark.parametrize(
    ("sampler", "sentence"),
    [
        (constant(1.0), "counted among whole numbers, got values of float64"),
        (constant("a"), "counted among whole numbers, got values of <U1"),
        (lambda count: [1] * (count - 1), r"asked for 8 values and gave an array of shape \(7,\)"),
    ],
)
def test_heavy_hitters_refuse_bad_values(sampler, sentence):
    with pytest.raises(ValueOutOfRange, match=sentence):
        rheavyhitters(sampler, SHARED, **HEAVY)


@pytest.mark.parametrize(
    ("learner", "options", "kind", "sentence"),
    [
        ("replical", {"stop": "rstat", "stop_delta": 0.05}, ValueOutOfRange, "stop_delta is spent up to .* got 0.05"),
        ("replica2", {"stop": "rstat", "stop_delta": 0.05}, ValueOutOfRange, "stop_delta is spent up to .* got 0.05"),
        ("replical", {"stop": "rstat", "stop_delta": 0}, ValueOutOfRange, r"stop_delta must be in \(0, 1\), got 0"),
        ("replical", {"stop": "never"}, BadSpec, "unknown stop 'never'; it is one of mass, rstat"),
        ("cal", {"stop": "rstat"}, BadSpec, "cal has no stop"),
        ("replicable-erm", {"stop": "rstat"}, BadSpec, "replicable-erm has no stop"),
        ("boosted-replical", {"stop": "rstat"}, BadSpec, "boosted-replical has no stop"),
        ("a2-rounds", {"stop_delta": 0.01}, BadSpec, "a2-rounds has no stop_delta"),
    ],
)
def test_stop_tests_that_cannot_be(learner, options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        plan(learner, 100, epsilon=0.2, delta=0.1, rho=0.1, theta=1.0, nu=0.01, **options)


@given(st.integers(1, 400).map(lambda i: i / 10_000))
def test_a_plan_s_stop_delta_leaves_something_or_is_refused(stop_delta):
    task = {"epsilon": 0.2, "delta": 0.1, "rho": 0.1, "theta": 1.0, "stop": "rstat", "stop_delta": stop_delta}
    try:
        made = plan("replical", 100, **task)
    except ReplicalError:
        # rSTAT's own ρ is ρ/(2N), and it needs 2δ below that
        assert stop_delta >= 0.1 / (4 * plan("replical", 100, **(task | {"stop_delta": None})).rounds_most)
    else:
        assert 2 * made.rounds_most * stop_delta < 0.1
        assert made["stop_delta"] == exact(stop_delta)


# --- the stop test in a plan ------------------------------------------------------------------------------------------

TASK = {"epsilon": 0.05, "delta": 0.1, "rho": 0.1, "theta": 2.0, "stop": "rstat"}


def test_the_stop_test_is_paid_from_delta_and_rho():
    """N tests a lab: what they may fail is taken from δ once and from ρ twice, and every size follows from the rest."""
    n, made = 1000, plan("replical", 1000, **TASK)
    N, stop_delta = made.rounds_most, made["stop_delta"]
    assert abs(stop_delta - Fraction(1, 10) / (8 * N)) < Fraction(1, 10**40)  # it is a decimal
    left_delta, left_rho = 0.1 - N * float(stop_delta), 0.1 - 2 * N * float(stop_delta)
    assert is_least(made.k, 64 * 2 * log(2 * N * n / min(left_delta, left_rho / 16)))
    l, l2 = 1 + log(n), 1 + log(2 * n)
    assert is_least(made.integer("k_final"), 8.67 * l**2 * l2 / (float(made["G"]) * (0.9 * left_rho) ** 2))
    assert abs(made["stop_rho"] - Fraction(1, 10) / (2 * N)) < Fraction(1, 10**40)
    statistic = Statistic.of(tau=float(made["stop_tau"]), rho=float(made["stop_rho"]), delta=float(stop_delta))
    assert made.stop_test.statistic == statistic
    assert made.integer("stop_items") == statistic.samples


@pytest.mark.parametrize("name", ["paper", "tight"])
def test_replica2_with_a_stop_test_is_replica2_with_what_is_left(name):
    """Every other number is that of the plan for δ - Nδ' and ρ - 2Nδ'; only the largest last sample grows."""
    task = {"epsilon": 0.01, "theta": 1.0, "nu": 0.01, "name": name}
    stopped = plan("replica2", 1000, **task, delta=0.1, rho=0.2, stop="rstat", stop_delta=0.001)
    N = stopped.rounds_most
    plain = plan("replica2", 1000, **task, delta=round(0.1 - N * 0.001, 6), rho=round(0.2 - 2 * N * 0.001, 6))
    mine = {number.name: number.value for number in stopped.numbers if not number.name.startswith("stop_")}
    assert mine == {number.name: number.value for number in plain.numbers}
    assert stopped.labels_most - plain.labels_most == plain.final_size(2 * plain.stop_mass) - plain.final_size(
        plain.stop_mass
    )


@pytest.mark.parametrize("learner", ["replical", "replica2"])
@pytest.mark.parametrize("name", ["paper", "tight"])
def test_no_round_is_run_below_the_mass_the_loop_is_made_for(learner, name):
    """An estimate within its tolerance goes on only from `stop` on, and ends the loop for certain below it."""
    made = plan(learner, 1000, **(TASK | {"theta": 1.0}), nu=0.05 if learner == "replica2" else None, name=name)
    test = made.stop_test
    assert made.stop_mass == (made.epsilon if learner == "replical" else Fraction(2, 5))
    assert test.bound - test.tolerance >= made.stop_mass
    assert made.stop_mass <= made.reach == test.bound + test.tolerance <= 2 * made.stop_mass
    assert test.tolerance == made["stop_tau"]


class Overheard(KnownLabels):
    """Labels that remember what was asked."""

    def __init__(self, C, column):
        super().__init__(C, column)
        self.asked = []

    def answer(self, query):
        self.asked.append(query.items)
        return super().answer(query)


def small(learner, more=0):
    """A finite pool just large enough for a first stop test and `more` items."""
    C = Thresholds(40)
    made = plan(
        learner,
        C,
        epsilon=0.4 if learner == "replical" else 0.05,  # the loops run from mass .4 on
        delta=0.9,
        rho=0.9,
        theta=1.0,
        nu=0.0 if learner == "replica2" else None,
        stop="rstat",
        pool="finite",
        k_loop=30,
        k_final=200,
    )
    size = made.integer("stop_items") + (made.measuring if learner == "replical" else 0) + more
    x = np.random.default_rng(3).integers(39, size=size)
    private = PrivateRandomness.simulated("stop test")
    kind = RepliCAL if learner == "replical" else ReplicA2
    order = private.permutation(size)
    return kind(made), Pool(C, x, private), Overheard(C, (x >= 20).astype(int)), order


@pytest.mark.parametrize("learner", ["replical", "replica2"])
def test_the_stop_test_looks_at_fresh_items_and_asks_for_none(learner):
    """Everything is disputed at first, so the test says yes; the first labels come from the items behind it."""
    chosen, pool, labels, order = small(learner, more=400_000)
    learn(chosen, pool, labels, SHARED)
    behind = order[chosen.plan.integer("stop_items") :]
    assert labels.asked[0].tolist() == behind[:30].tolist()
    asked = np.concatenate(labels.asked)
    assert len(np.unique(asked)) == len(asked)


@pytest.mark.parametrize("learner", ["replical", "replica2"])
def test_a_pool_too_small_for_the_stop_test_says_so(learner):
    chosen, pool, labels, _ = small(learner, more=-1)
    with pytest.raises(PoolExhausted, match=f"{chosen.plan.integer('stop_items')} fresh items are needed"):
        learn(chosen, pool, labels, SHARED)


@given(st.integers(0, 10**6), st.integers(1, 25), texts)
def test_the_stop_test_against_brute_force(number, width, seed):
    """Count the next items of the private order that lie in DIS(V), round the fraction, compare with the bound."""
    C, samples = Thresholds(40), 500
    x = np.random.default_rng(number).integers(39, size=2 * samples)
    private = PrivateRandomness.simulated("brute", number)
    pool, order = Pool(C, x, private), private.permutation(2 * samples)
    V = pool.version_space()
    V = V.keep((V.indices >= 5) & (V.indices <= 5 + width))
    made = plan("replical", C, epsilon=0.4, delta=0.5, rho=0.5, theta=1.0, stop="rstat")
    test = type(made.stop_test)(
        statistic=Statistic(alpha=made.stop_test.statistic.alpha, samples=samples),
        bound=made.stop_test.bound,
        tolerance=made.stop_test.tolerance,
    )
    scan = pool.scan()
    for round_number, items in enumerate((order[:samples], order[samples:])):
        tally = Counter((5 <= value < 5 + width) for value in x[items].tolist())  # thresholds 5..5+width differ here
        offset = test.statistic.alpha * uniform(seed, "stop", round_number)
        cell = floor((Fraction(tally[True], samples) - offset) / test.statistic.alpha)
        middle = offset + (2 * cell + 1) * test.statistic.alpha / 2
        assert test.large(V, scan, SharedRandomness(seed), round_number) == (min(middle, Fraction(1)) >= test.bound)


def test_sizes_are_whole_and_grow_as_more_is_asked():
    looser, tighter = ({"tau": tau, "rho": 0.2, "delta": 0.05} for tau in (0.1, 0.05))
    assert Statistic.of(**tighter).samples == ceil(4 * log(40) * 1.1**2 / (2 * 0.1**2 * 0.1**2))
    assert Statistic.of(**tighter).alpha == Statistic.of(**looser).alpha / 2
