"""The paper's bounds against hand computations and the explicit plans (docs/claims/complexity.md)."""

import inspect
import itertools
from math import inf, log, nan

import numpy as np
import pytest

from replical import plan
from replical.bounds import complexity
from replical.bounds.complexity import BOUNDS, needs
from replical.errors import ValueOutOfRange

REFERENCE = {"n": 1000, "epsilon": 0.01, "delta": 0.05, "rho": 0.1, "theta": 2.0, "nu": 0.02}
BINARY = {"n": 2**20, "epsilon": 2**-10, "delta": 2**-3, "rho": 2**-6, "theta": 5, "nu": 2**-7}
ACCURATE = {"n": 2**4, "epsilon": 2**-3, "delta": 2.0**-900, "rho": 2**-1, "theta": 2, "nu": 2**-4}
BOOSTED = [name for name in BOUNDS if name.endswith("boosted")]
AGNOSTIC = [name for name in BOUNDS if name.startswith(("a2", "replica2")) or "agnostic" in name]


def bound(name, **task):
    """A bound at a task that may hold more than it needs."""
    return BOUNDS[name](**{need: task[need] for need in needs(name)})


# In units of b = ln 2: log n = 20b, log 1/ε = 10b, log 1/δ = 3b, log 1/ρ = 6b, log 1/(Θν) = 7b - ln 5, ν²/ε² = 64.
b = 0.6931471805599453
B, R = 7 * b - log(5), log(10 * b)
AT_BINARY = {
    "passive": 23 * b * 2**10,
    "cal": 50 * b * (23 * b + R),
    "passive_agnostic": 23 * b * 2**20,
    "a2": 37375 * b * B,
    "replicable_passive": 2400 * b**3 * 2**34 + 3 * b * 2**10,
    "replicable_passive_boosted": 216 * b**3 * (400 * b**2 + 9 * b) * 2**22,
    "replical": 2e8 * b**7 * (R + 6 * b) * 2**24 + 50 * b * (23 * b + R),
    "replical_boosted": 10800 * b**4 * 2**12 * (4e6 * b**6 * R + 29 * b + R),
    "replicable_passive_agnostic": 10400 * b**3 * 2**44 + 23 * b * 2**20,
    "replica2": 1e4 * b**2 * (B**5 + 64 * B**4) * (log(B) + 6 * b) * 2**24 + 25 * B * (23 * b + log(B)) + 36800 * b,
    "replica2_boosted": 5400
    * b**3
    * 2**12
    * (400 * b**2 * (B**5 + 64 * B**4) * log(B) + B * (29 * b + log(B)) + 1856 * b),
    "replicable_passive_tight": 400 * b**2 * 2**22 + 23 * b * 2**10,
    "replical_tight": 50 * b * (26 * b + R) + 2000 * b**2 * 2**12,
    "replicable_passive_agnostic_tight": 400 * b**2 * 2**25 + 23 * b * 2**13,
    "replica2_tight": 5 * B * (26 * b + log(B)) + 2560 * (400 * b**2 * 2**12 + 23 * b),
}

# Where accuracy costs as much as replicability, some logarithms are below 1 and ν is below ε: log n = 4b, log 1/ε = 3b,
# log 1/δ = 900b, log 1/(Θν̄) = 2b, ν²/ε² = 1/4; log 1/ρ, loglog 1/ε and loglog 1/(Θν̄) count as 1.
R3, R2 = log(3 * b), log(2 * b)
AT_ACCURATE = {
    "passive": 7232 * b, "cal": 6 * b * (904 * b + R3), "passive_agnostic": 64 * 904 * b, "a2": 9040 * b**2,
    "replicable_passive": 2048 * b**2 + 7200 * b, "replicable_passive_boosted": 512 * b**2 + 32 * 901 * b,
    "replical": 6 * 256 * 81 * b**7 * (b + R3) + 6 * b * (904 * b + R3),
    "replical_boosted": 24 * 16 * 81 * b**7 + 24 * b * (905 * b + R3),
    "replicable_passive_agnostic": 64 * 1280 * b**3 + 64 * 904 * b,
    "replica2": 16384 * b**6 * (2 * b + 0.25) * (2 * b + log(b)) + 8 * b * (904 * b + R2) + 904 * b,
    "replica2_boosted": 4096 * b**6 * (2 * b + 0.25) + 32 * b * (905 * b + R2) + 4 * 905 * b,
    "replicable_passive_tight": 512 * b**2 + 7232 * b, "replical_tight": 6 * b * (904 * b + R3) + 128 * b**2,
    "replicable_passive_agnostic_tight": 512 * b**2 + 8 * 904 * b,
    "replica2_tight": 4 * b * (904 * b + R2) + 512 * b**2 + 8 * 904 * b,
}  # fmt: skip


@pytest.mark.claim("complexity")
@pytest.mark.parametrize("name", BOUNDS)
def test_formulas_by_hand(name):
    assert bound(name, **BINARY) == pytest.approx(AT_BINARY[name], rel=1e-12)
    assert bound(name, **ACCURATE) == pytest.approx(AT_ACCURATE[name], rel=1e-12)


def test_every_bound_is_listed_and_says_what_it_is():
    public = [f for f in vars(complexity).values() if inspect.isfunction(f) and f.__module__ == complexity.__name__]
    assert {f.__name__: f for f in public if not f.__name__.startswith("_")} == {**BOUNDS, "needs": needs}
    assert (len(BOUNDS), sum(name.endswith("tight") for name in BOUNDS)) == (15, 4)
    for name, labels in BOUNDS.items():
        ours = name.endswith("tight")  # the passive learner's excess errors vary with ν too, and only ours count on it
        assert ("nu" in needs(name)) == (("theta" in needs(name) or ours) and name in AGNOSTIC)
        text = " ".join(inspect.getdoc(labels).split())
        assert "Shape only" in text
        assert ("Not in the paper" in text) == ours
        assert ("the paper does not state the constant" in text) != ours


# Domain
WRONG = {
    "n": (0, -1, 2.5, 1000.0, nan, inf, "10", True),
    **dict.fromkeys(("epsilon", "delta", "rho"), (0, 1, -0.1, 1.5, nan, inf, "0.1", True)),
    "theta": (0.99, 0, nan, inf, "2"),
    "nu": (-0.01, 0.5, 0.7, nan, inf, "0"),
    "constant": (0, -1, nan, inf, "1"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_arguments_outside_their_domain_are_named(name):
    task = {need: REFERENCE[need] for need in needs(name)}
    for argument in (*task, "constant"):
        for wrong in WRONG[argument]:
            with pytest.raises(ValueOutOfRange, match=rf"^{argument} must be .*got '?{wrong}'?$"):
                BOUNDS[name](**{**task, argument: wrong})


@pytest.mark.parametrize("name", BOUNDS)
def test_sane_numbers_give_finite_floats_and_insane_ones_a_sentence(name):
    sane = {"n": 10**30, "epsilon": 1e-9, "delta": 1e-30, "rho": 1e-9, "theta": 1e9, "nu": 0.499}
    assert type(bound(name, **sane)) is float
    assert bound(name, **sane) < 1e150
    assert bound(name, **{**sane, "n": np.int64(7), "epsilon": np.float64(0.1)}) > 0
    with pytest.raises(ValueOutOfRange, match=f"too extreme for the bound of {name}: epsilon 1e-09, delta 1e-30"):
        BOUNDS[name](**{need: sane[need] for need in needs(name)}, constant=1e308)
    if "rho" in needs(name):
        with pytest.raises(ValueOutOfRange, match="too extreme .* rho 1e-200"):
            bound(name, **{**sane, "rho": 1e-200})


def test_where_active_beats_passive():
    """CAL at once; RepliCAL's fifth power of log(1/ε) only from ε of about 3·10⁻⁷ on; its tight form at once."""
    ratio = {
        (active, epsilon): bound(active, **{**REFERENCE, "epsilon": epsilon})
        / bound(passive, **{**REFERENCE, "epsilon": epsilon})
        for epsilon in (1e-2, 1e-6, 2e-7, 1e-9)
        for active, passive in (
            ("cal", "passive"),
            ("replical", "replicable_passive"),
            ("replical_tight", "replicable_passive_tight"),
        )
    }
    assert ratio["cal", 1e-2] < 0.2
    assert ratio["replical", 1e-2] > 50
    assert ratio["replical", 1e-6] > 1 > ratio["replical", 2e-7] > 10 * ratio["replical", 1e-9]
    assert ratio["replical_tight", 1e-2] < 0.05


def test_at_equal_constants_replica2_is_ahead_of_passive_replicable_learning():
    """Explicit sizes say otherwise (docs/explanation/bills.md)."""
    for epsilon in (0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8):
        task = {**REFERENCE, "epsilon": epsilon, "nu": epsilon}
        assert bound("replica2", **task) < 0.4 * bound("replicable_passive_agnostic", **task)
    task = {**REFERENCE, "epsilon": 0.01, "nu": 0.01}
    assert round(bound("replica2", **task) / bound("replicable_passive_agnostic", **task), 2) == 0.18


def test_eq_a2_default_multiplies_what_the_sizes_of_a2_add():
    """Rounds times ν²/ε² instead of rounds plus ν²/ε²: the bound of A² can exceed that of ReplicA², which includes it."""
    task = {**REFERENCE, "n": 2, "rho": 0.9, "delta": 1e-300, "nu": 2**-8, "epsilon": 2**-14}
    assert bound("a2", **task) > bound("replica2", **task)


def test_boosting_pays_for_small_rho_only():
    few, many = {**REFERENCE, "n": 2, "delta": 1e-9, "epsilon": 0.4}, REFERENCE
    for plain in ("replicable_passive", "replical"):
        assert bound(f"{plain}_boosted", **{**few, "rho": 0.5}) > bound(plain, **{**few, "rho": 0.5})
        for task in (few, many):
            gains = [
                bound(plain, **{**task, "rho": rho}) / bound(f"{plain}_boosted", **{**task, "rho": rho})
                for rho in (1e-2, 1e-4, 1e-8)
            ]
            assert 1 < gains[0] < gains[1] < gains[2]
    passive, active = ("replicable-erm", {"nu": 0}), ("replical", {"theta": 2})
    for (learner, more), n, epsilon, rho, times in (
        (passive, 10, 0.6, 1e-7, 3.39), (passive, 1000, 0.01, 1e-7, 3.39), (passive, 1000, 0.01, 5e-8, 0.84),
        (active, 10, 0.6, 1e-7, 3.39), (active, 1000, 0.01, 1e-7, 3.86),
    ):  # fmt: skip
        plain, boosted = (
            plan(name, n, epsilon=epsilon, delta=0.05, rho=rho, name="paper", **more).labels_most
            for name in (learner, f"boosted-{learner}")
        )
        assert boosted / plain == pytest.approx(times, abs=0.005)
    with pytest.raises(ValueOutOfRange, match="more than 2\\*\\*64"):
        plan("replical", 1000, epsilon=0.01, delta=0.05, rho=5e-8, theta=2, name="paper")


@pytest.mark.parametrize(("learner", "more"), [("replicable-erm", {"nu": 0}), ("replical", {"theta": 2})])
def test_with_its_constants_the_rank_lemma_asks_for_fewer_labels_everywhere(learner, more):
    for n, rho in itertools.product((2, 1000, 2**40), (0.9, 0.5, 0.1, 1e-3)):
        tight, paper = (
            plan(learner, n, epsilon=0.01, delta=0.05, rho=rho, name=name, **more).labels_most
            for name in ("tight", "paper")
        )
        assert tight < paper


# The explicit sizes have these shapes
BASE = {"n": 1024, "delta": 0.05, "rho": 1e-3, "theta": 4.0, "rounds": 12.5, "ratio": 8.0}
AXES = {
    "n": [2**7, 2**10, 2**20, 2**40],
    "rho": [1e-2, 1e-3, 1e-4, 1e-5],
    "theta": [1.0, 4.0, 16.0, 64.0],
    "rounds": [12.5, 20.5, 35.5, 60.5],  # log2(1/ε), agnostic log2(1/(Θν))
    "ratio": [4.0, 32.0, 256.0, 2048.0],  # ν/ε
}
STRINGS = [4 * 25.0**-K * (1 + 1e-9) for K in (5, 6, 8, 10)]  # the ρ for which K strings just suffice
MOVES = {"n": log, "rho": float, "theta": float, "rounds": float, "ratio": float}
EXPLICIT = {
    "passive": "erm", "cal": "cal-rounds", "passive_agnostic": "erm", "a2": "a2-rounds",
    "replicable_passive": "replicable-erm", "replicable_passive_boosted": "boosted-replicable-erm",
    "replical": "replical", "replical_boosted": "boosted-replical", "replicable_passive_agnostic": "replicable-erm",
    "replica2": "replica2", "replica2_boosted": "boosted-replica2", "replicable_passive_tight": "replicable-erm",
    "replical_tight": "replical", "replicable_passive_agnostic_tight": "replicable-erm", "replica2_tight": "replica2",
}  # fmt: skip


def sizes(name, **change):
    """Labels of the explicit plan, and the shape. Boosted: a sample serves all strings, as the paper counts."""
    at = {**BASE, **change}
    agnostic = name in AGNOSTIC
    width = 2.0 ** -at.pop("rounds")
    nu = width / at["theta"] if agnostic else 0.0
    task = {**at, "epsilon": nu / at["ratio"] if agnostic else width, "nu": nu}
    wanted = {"epsilon", "delta", *needs(name), *(("nu",) if "erm" in EXPLICIT[name] else ())} - {"n"}
    made = plan(
        EXPLICIT[name],
        task["n"],
        **{argument: task[argument] for argument in wanted},
        name="tight" if name.endswith("tight") else "paper",
    )
    return made.labels_most / (made.strings if name in BOOSTED else 1), bound(name, **task)


def over_shape(name, **change):
    labels, shape = sizes(name, **change)
    return labels / shape


def spread(ratios):
    return max(ratios) / min(ratios)


def axes(name):
    grid = {axis: values for axis, values in AXES.items() if axis in (*needs(name), "rounds", "ratio")}
    if name not in AGNOSTIC:
        del grid["ratio"]
    return grid | ({"rho": STRINGS} if name in BOOSTED else {})


@pytest.mark.claim("complexity")
@pytest.mark.mutant
@pytest.mark.parametrize(("name", "axis"), [(name, axis) for name in BOUNDS for axis in axes(name)])
def test_explicit_sizes_follow_the_bound_along_every_parameter(name, axis):
    """Within a factor of 2 while the parameter moves by 5 at least: no exponent can be wrong by one."""
    values = axes(name)[axis]
    near = (
        {"ratio": 1.0} if (name, axis) == ("a2", "rounds") else {}
    )  # P27: rounds times ν²/ε² there, plus in the sizes
    ratios = [over_shape(name, **{axis: value, **near}) for value in values]
    assert spread(ratios) < 2
    for wrong in (1, -1):
        assert spread([r * MOVES[axis](value) ** wrong for r, value in zip(ratios, values, strict=True)]) > 2.4


@pytest.mark.claim("complexity")
@pytest.mark.parametrize("name", BOUNDS)
def test_explicit_sizes_stay_in_a_band_over_the_whole_grid(name):
    ends = {axis: (values[0], values[-1]) for axis, values in axes(name).items()}
    if "rho" in ends:
        ends["rho"] = (1e-2, 1e-4) if name not in BOOSTED else (STRINGS[0], STRINGS[-1])
    ratios = [over_shape(name, **dict(zip(ends, corner, strict=True))) for corner in itertools.product(*ends.values())]
    print(f"{name}: {min(ratios):.3g} to {max(ratios):.3g}")
    assert spread(ratios) < 8


def test_boosting_without_sharing_samples_has_one_logarithm_more():
    """The data sets are the paper's log³(1/ρ)/ρ²; K strings that ask each for their own labels pay K times that."""
    shared, own = [], []
    for K in (5, 10, 30, 100):
        rho = 4 * 25.0**-K * (1 + 1e-9)
        made = plan("boosted-replicable-erm", 1000, epsilon=0.1, delta=0.05, rho=rho, nu=0)
        assert made.strings == K
        shared.append(made.runs * rho**2 / log(1 / rho) ** 3)
        own.append(made.strings * shared[-1])
    assert spread(shared) < 2
    assert spread(own) > 10


def test_the_smallest_error_costs_replica2_a_logarithm_of_n():
    """ν̂ is a minimum over the class: its union bound, ln(64n/ρ'), overtakes ln(1/ρ'²), and log²|C| becomes log³|C|."""
    few, many = (over_shape("replica2", n=n, rho=0.3, rounds=8.5) for n in (2**7, 2**40))
    assert many / few > 1.7
    few, many = (over_shape("replical", n=n, rho=0.3, rounds=8.5) for n in (2**7, 2**40))
    assert many / few < 1.01
