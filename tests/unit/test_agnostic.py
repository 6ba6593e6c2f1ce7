import numpy as np
import pytest

from replical import (
    A2,
    BoundaryNoise,
    Boxes,
    HalfSpaces,
    Population,
    PrivateRandomness,
    ReplicA2,
    SharedRandomness,
    Star,
    Stumps,
    Thresholds,
    learn,
    plan,
)
from replical.classes.spec import parse
from replical.errors import BadSpec, BadTable, EmptyVersionSpace, PlanMismatch, ReplicalError
from replical.learners.catalogue import learner_for
from replical.worlds.noise import parse_noise

LAB, SHARED = PrivateRandomness.simulated("lab"), SharedRandomness("published")


def run(learner, world, size="exact"):
    pool = world.pool(size, LAB)
    return learn(learner, pool, world.labels(pool, LAB), SHARED)


# --- sizes ------------------------------------------------------------------------------------------------------------


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
    l, l2 = 1 + log(n), 1 + log(2 * n)
    assert tight.k == pytest.approx(288 * th * log(2 * (n + 1) / (r / 16)), abs=1)
    assert tight.final_size(tight.stop_mass) == pytest.approx(
        18 * (0.8 / e) ** 2 * l**2 * l2 / (0.9 * r) ** 2, rel=1e-6
    )
    assert plan("replica2", n, **(task | {"epsilon": 0.02}), rho=r).k < tight.k  # ε ≤ ν̄/2: 72 in place of 288
    paper, rp = plan("replica2", n, **task, rho=r, name="paper"), r / 4
    m = 8 / rp * (1 + log(n) / log(1 + rp / 30))
    assert paper.integer("m") == pytest.approx(m, rel=1e-4)
    assert paper.k == pytest.approx(2 * (8 * th * m) ** 2 * (1 + log(2000 / rp**2)), rel=1e-3)
    assert plan("replicable-erm", n, epsilon=e, delta=d, rho=r, nu=0).k == pytest.approx(
        17.7 * l**2 * l2 / (e * r**2), rel=1e-6
    )
    assert plan("erm", n, epsilon=e, delta=d, nu=nu).k == pytest.approx(2 * log(2 * n / d) / e**2, abs=1)


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


@pytest.mark.parametrize("learner", ["a2-rounds", "replica2"])
def test_a_loop_that_never_runs_is_said(learner):
    C = Thresholds(50)
    made = plan(learner, C, epsilon=0.1, delta=0.1, rho=0.3, theta=2.0, nu=0.1)
    result = run(learner_for(made), Population(C, target=20, noise=0.1))
    assert len(result.rounds) == 1
    condition = next(c for c in result.conditions if "loop runs" in c.name)
    assert (condition.held, condition.value) == (False, pytest.approx(1.6))


def test_two_equally_good_far_apart_hypotheses_end_honestly():
    C = Star(1)  # two hypotheses that differ everywhere, labels are coin flips
    world = Population(C, law=[[0.5, 0.5]])
    for size, budget in ((400, None), ("exact", 300)):
        made = plan("a2", C, epsilon=0.1, delta=1e-6, max_labels=budget, pool="finite" if size == 400 else "exact")
        result = run(A2(made), world, size)
        assert result.V.size == 2
        assert not result.stopped
        assert not result.sound
        assert result.labels <= (budget or 360)


def test_noise_beyond_what_was_told_names_the_assumption():
    C = Thresholds(50)
    made = plan("replica2", C, epsilon=0.001, delta=0.1, rho=0.3, theta=2.0, nu=0.001, k_loop=20_000, k_final=100)
    with pytest.raises(EmptyVersionSpace, match="larger nu"):
        run(ReplicA2(made), Population(C, target=20, noise=0.4))


def test_replica2_on_a_finite_pool_is_refused_with_the_reason():
    C = Thresholds(50)
    made = plan("replica2", C, epsilon=0.1, delta=0.1, rho=0.3, theta=2.0, nu=0.0, pool="finite")
    with pytest.raises(PlanMismatch, match="relative accuracy"):
        run(ReplicA2(made), Population(C, target=20), 10_000)


def test_a2_stops_at_kappa_and_asks_in_batches():
    C = Thresholds(400)
    world = Population(C, target=100, noise=0.05)
    fine = run(A2(plan("a2", C, epsilon=0.1, delta=0.1, kappa=0.02, pool="finite")), world, 20_000)
    coarse = run(A2(plan("a2", C, epsilon=0.1, delta=0.1, pool="finite")), world, 20_000)
    assert fine.V.mass <= 0.02
    assert fine.labels > coarse.labels
    many = run(A2(plan("a2", C, epsilon=0.1, delta=0.1, batch=7, pool="finite")), world, 20_000)
    assert all(each.drawn == 7 for each in many.rounds)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nu": 0.5}, r"nu must be in \[0, 0.5\), got 0.5"),
        ({"nu": -0.1}, "got -0.1"),
        ({"nu": float("nan")}, "got nan"),
        ({"nu": None}, "replica2 needs nu"),
        ({"kappa": 0.1}, "replica2 has no kappa"),
        ({"batch": 3}, "replica2 has no batch"),
    ],
)
def test_bad_agnostic_input(arguments, message):
    task = {"epsilon": 0.1, "delta": 0.1, "rho": 0.3, "theta": 2.0, "nu": 0.1}
    with pytest.raises(ReplicalError, match=message):
        plan("replica2", 10, **(task | arguments))


@pytest.mark.parametrize(
    ("option", "message"), [({"kappa": 0.0}, "kappa"), ({"kappa": 1.0}, "kappa"), ({"batch": 0}, "batch")]
)
def test_bad_a2_input(option, message):
    with pytest.raises(ReplicalError, match=message):
        plan("a2", 10, epsilon=0.1, delta=0.1, **option)


# --- noise ------------------------------------------------------------------------------------------------------------


def test_boundary_noise_flips_only_near_the_boundary():
    C = Thresholds(101)
    world = Population(C, target=50, noise=BoundaryNoise(rate=0.3, radius=0.1))
    assert world.nu == world.error(50)
    assert float(world.nu) == pytest.approx(0.3 * 20 / 100)
    pool = world.pool("exact", LAB)
    query = pool.scan().anywhere(pool.version_space(), 10**6)
    answers = world.labels(pool, LAB).answer(query)
    truth = world.codes(50)[query.items]
    wrong = answers.counts[np.arange(len(truth)), 1 - truth]
    far = np.abs(query.items + 0.5 - 50) > 10
    assert wrong[far].sum() == 0
    assert wrong[~far].sum() / query.counts[~far].sum() == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("C", [Stumps(2, 5), Boxes(2, 4), HalfSpaces(2, 10, seed="x")])
def test_margins_change_sides_where_predictions_do(C):
    """Walking along a line, the margin falls to (nearly) zero exactly where the prediction changes."""
    X = np.stack([np.linspace(0.001, 0.999, 4001), np.full(4001, 0.43)], axis=1)
    for h in range(len(C)):
        codes, margin = C.codes(X, np.array([h]))[0], C.margin(X, h)
        for change in np.flatnonzero(np.diff(codes)):
            assert margin[change] < 0.001


def test_a_law_can_write_down_any_world():
    """Two hypotheses that differ on one cell whose label is biased by γ: the better one is known exactly."""
    C = Star(1)
    for gamma, best in ((0.01, 0), (-0.01, 1)):
        world = Population(C, law=[[0.5 + gamma, 0.5 - gamma]])
        assert world.target == best
        assert float(world.nu) == pytest.approx(0.49)
        assert float(world.error(1 - best)) == pytest.approx(0.51)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Population(Star(2), target=0, noise=BoundaryNoise(rate=0.1, radius=0.1)),
            "Star has no decision boundary",
        ),
        (lambda: Population(Thresholds(3), target=0, noise=BoundaryNoise(rate=0.6, radius=0.1)), "noise must be in"),
        (lambda: Population(Thresholds(3), target=0, noise=BoundaryNoise(rate=0.1, radius=0)), "radius"),
        (lambda: Population(Thresholds(3), law=[[0.5, 0.5]]), "2 rows of 2"),
        (lambda: Population(Thresholds(3), law=[[0.5, 0.6]] * 2), "add up to 1"),
        (lambda: Population(Thresholds(3), law=[[1.5, -0.5]] * 2), "probabilities"),
        (lambda: Population(Thresholds(3)), "either a target or a law"),
        (lambda: parse_noise("boundary:1"), "malformed noise 'boundary:1'"),
        (lambda: parse_noise("lots"), "malformed noise 'lots'"),
        (lambda: parse_noise("foo:1,2"), "malformed noise"),
    ],
)
def test_bad_noise(make, message):
    with pytest.raises(ReplicalError, match=message):
        make()


# --- classes ----------------------------------------------------------------------------------------------------------


def test_sizes_of_the_feature_classes():
    assert len(Stumps(5, 40)) == 400
    assert len(Boxes(2, 8)) == 1296
    assert len(HalfSpaces(2, 2000, seed="s")) == 2000


def test_stumps_by_definition():
    C = Stumps(cuts=[[0.2, 0.7], [5.0]], labels=("no", "yes"))
    X = [[0.1, 9.0], [0.5, 1.0]]
    assert C.predict(X).tolist() == [
        ["no", "yes"],
        ["yes", "no"],
        ["no", "no"],
        ["yes", "yes"],
        ["yes", "no"],
        ["no", "yes"],
    ]


def test_boxes_by_definition():
    C = Boxes(2, 3)
    X = np.random.default_rng(0).random((200, 2)) * 1.2 - 0.1
    said = C.codes(C.items(X), np.arange(len(C)))
    sides = [(a / 3, (b + 1) / 3) for a in range(3) for b in range(a, 3)]
    for h, (one, two) in enumerate((one, two) for one in sides for two in sides):
        inside = (one[0] <= X[:, 0]) & (X[:, 0] < one[1]) & (two[0] <= X[:, 1]) & (X[:, 1] < two[1])
        assert said[h].tolist() == inside.astype(int).tolist()


def test_halfspaces_by_definition_and_from_their_string_alone():
    C, same, other = (HalfSpaces(3, 40, seed=seed) for seed in ("net", "net", "another"))
    X = np.random.default_rng(0).normal(size=(100, 3))
    assert (C.codes(X, np.arange(40)) == (C.offsets <= X @ C.normals.T).T).all()
    assert (C.normals == same.normals).all()
    assert C.fingerprint == same.fingerprint != other.fingerprint
    assert np.allclose((C.normals**2).sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Stumps(2, 0), ReplicalError, "cuts"),
        (lambda: Stumps(cuts=[[1.0, 0.5]]), ReplicalError, "strictly ascending"),
        (lambda: Stumps(cuts=[[]]), ReplicalError, "strictly ascending"),
        (lambda: Boxes(0, 3), ReplicalError, "features"),
        (lambda: Boxes(9, 300), ReplicalError, "boxes"),
        (lambda: HalfSpaces(2, 3, seed=7), ReplicalError, "published text, got int"),
        (lambda: Stumps(2, 3).items([[1.0]]), BadTable, "2 columns"),
        (lambda: Boxes(2, 3).items([[1.0, float("nan")]]), BadTable, "row 0, column 1"),
        (lambda: parse("halfspaces:2,10"), BadSpec, "published text"),
        (lambda: parse("stumps:2"), BadSpec, "stumps:5,40"),
        (lambda: parse("boxes:2,x"), BadSpec, "boxes:2,8"),
        (lambda: parse("boxes:2,3,4"), BadSpec, "boxes:2,8"),
    ],
)
def test_bad_feature_classes(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.parametrize(
    ("learner", "more", "bound"),
    [("a2", {"kappa": 0.02}, 0.02), ("a2-rounds", {"theta": 1.0, "nu": 0.1}, 0.8), ("cal", {}, 0.1)],
)
def test_the_stop_condition_states_the_bound_it_was_held_to(learner, more, bound):
    C = Thresholds(200)
    result = run(learner_for(plan(learner, C, epsilon=0.1, delta=0.1, **more)), Population(C, target=50))
    condition = next(c for c in result.conditions if "at the stop" in c.name)
    assert condition.bound == pytest.approx(bound)
    assert condition.held == (condition.value <= condition.bound)
