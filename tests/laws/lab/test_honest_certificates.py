"""Whatever protocol, pool, skips and corrections: the certificate of an honest run is valid at every depth."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")

from replical.errors import ReplicalError
from replical.lab.certificate.verify import verify
from replical.lab.protocol import Protocol
from replical.learners.catalogue import find
from support.lab import Run, content, world

BATCH = {"batch": st.sampled_from([1, 2, 5, 24])}
SIZES = {"k_loop": st.sampled_from([1, 3, 8]), "k_final": st.sampled_from([1, 5, 15])}
NOISE = {"nu": st.sampled_from([0.01, 0.05])}
THETA = {"theta": st.sampled_from([1.0, 2.0])}
PLAN = {"plan": st.sampled_from(["paper", "tight"])}
BUDGET = {"max_labels": st.sampled_from([None, None, 24, 60])}
LABS = {"labs": st.sampled_from([None, 3])}
# What the protocols of each learner say besides ε, δ and ρ; None is left out.
SAID = {
    "erm": {"k_final": st.sampled_from([1, 5, 20])}, "cal": BUDGET,
    "cal-rounds": {"k_loop": st.sampled_from([1, 3, 8]), **THETA}, "a2": BATCH | BUDGET,
    "a2-rounds": THETA | NOISE | SIZES, "replicable-erm": {"k_final": st.sampled_from([1, 5, 20]), **NOISE},
    "replica2": THETA | NOISE | SIZES | PLAN, "replical": THETA | SIZES | PLAN,
    "handicap": {"nu": st.sampled_from([None, None, 0.0]), **BATCH, **LABS, **BUDGET},
}  # fmt: skip


@st.composite
def honest(draw, learners):
    """A protocol, a lab's table, and how many items are skipped, corrected and measured on."""
    learner = draw(st.sampled_from(learners))
    said = {key: draw(values) for key, values in SAID[learner].items()}
    said |= {"epsilon": draw(st.sampled_from([0.1, 0.2, 0.4])), "rho": draw(st.sampled_from([0.1, 0.6]))}
    n, items = draw(st.sampled_from([1, 2, 6])), draw(st.sampled_from([20, 60, 150, 400, 1200]))
    section, kind = ("handicap", "from") if learner == "handicap" else ("prior", "kind")
    said[section] = draw(st.none() | st.permutations(range(n)).map(lambda order: {kind: "order", "order": [*order]}))
    perfect = find(learner).setting == "realizable" or said.get("nu") == 0
    best = 0.0 if perfect else draw(st.sampled_from([0.0, 0.005, 0.02, 0.2]))
    columns = world(
        candidates=n,
        items=items,
        seed=draw(st.integers(0, 2**20)),
        best=best,
        worst=draw(st.sampled_from([best, 0.35])),
    )
    events = {"skips": draw(st.sampled_from([0, 0, 1, 5])), "corrects": draw(st.sampled_from([0, 1]))}
    if learner == "handicap":
        events["measure"] = draw(st.sampled_from([0, 7]))
    told = {key: value for key, value in said.items() if value is not None}
    return content(learner, candidates=n, seed=f"text {draw(st.integers(0, 2**20))}", **told), columns, events


def valid_at_every_depth(folder, protocol, columns, events):
    try:
        run = Run(folder, protocol, columns, **events)
    except (ReplicalError, IndexError):  # refused, used up, or nothing is open to skip or correct
        assume(False)
    with run:
        for given_too in ((), (run.lab,), (run.lab, run.journal)):
            found = verify(run.certificate, *given_too)
            assert found.failed == ()


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(drawn=honest(("handicap", "a2", "cal")))
def test_an_honest_certificate_is_never_refused(tmp_path_factory, drawn):
    valid_at_every_depth(tmp_path_factory.mktemp("honest"), *drawn)


FIRST_BEHIND = {"from": "order", "order": [0, 1, 2]}
LAST_FAR = {"from": "values", "values": [0.0, 0.0125, 0.2]}


@pytest.mark.parametrize(
    ("epsilon", "handicap", "errors"),
    [
        (0.05, FIRST_BEHIND, (("m0", 5, 0), ("m1", 300, 0), ("m2", 300, 150))),
        (0.2, LAST_FAR, (("m1", 60, 0),)),
    ],
    ids=["the favourite left long before the end", "somebody left before the first label"],
)
def test_nor_is_one_of_a_pool_where_most_items_say_nothing(tmp_path, epsilon, handicap, errors):
    """Bets of whoever left are over, so what is scanned later costs them nothing; and items that nobody is asked about count."""
    columns, other = world(candidates=3, items=3000, best=0.0, worst=0.0), {"yes": "no", "no": "yes"}
    for name, every, first in errors:
        for row in range(first, 3000, every):
            columns[name][row] = other[columns["truth"][row]]
    said = content(candidates=3, epsilon=epsilon, rho=0.1, delta=0.05, handicap=handicap)
    with Run(tmp_path, said, columns) as run:
        left, rounds = run.session.result.survivors.indices, run.certificate["body"]["rounds"]
        assert 0 not in left if handicap == FIRST_BEHIND else rounds[0]["survivors"] == 2
        for given_too in ((), (run.lab,), (run.lab, run.journal)):
            assert verify(run.certificate, *given_too).failed == ()


@pytest.mark.slow
@pytest.mark.parametrize("learner", SAID)
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_an_honest_certificate_of_any_learner_is_never_refused(tmp_path_factory, learner, data):
    valid_at_every_depth(tmp_path_factory.mktemp("honest"), *data.draw(honest((learner,))))


LINE = {"kind": "thresholds", "features": ["x"], "cuts": [[0.2, 0.2001, 0.5, 0.7, 0.9]]}
SOURCE = {"certificate": f"sha256:{'1' * 64}", "pool_fingerprint": f"sha256:{'2' * 64}"}
LOSSES = {"weights": {"no": 1.0, "yes": 4.0}}


@st.composite
def confirmed(draw):
    """A protocol with an answer to confirm, good or bad, among candidates or rules on a line; and a lab's table."""
    items, seed = draw(st.sampled_from([20, 150, 400])), draw(st.integers(0, 2**20))
    best, worst = draw(st.sampled_from([(0.0, 0.3), (0.02, 0.35), (0.5, 0.02), (0.2, 0.2)]))
    columns = world(candidates=6, items=items, seed=seed, best=best, worst=worst)
    said = content(candidates=6, **({"losses": LOSSES} if draw(st.booleans()) else {}))
    if draw(st.booleans()):
        x = np.random.default_rng(seed).random(items)
        columns = {"id": columns["id"], "x": x, "truth": np.where(x > worst + 0.3, "yes", "no").tolist()}
        said["class"] = LINE
    batch = draw(st.sampled_from([1, 2, 5]))
    numbers = {"margin": draw(st.sampled_from([0.01, 0.1, 0.3, 0.8])), "level": draw(st.sampled_from([0.05, 0.4]))}
    numbers |= {"batch": batch, "max_labels": draw(st.sampled_from([None, batch, 60]))}
    protocol = Protocol.of(said).confirming(draw(st.integers(0, 4)), SOURCE | numbers)
    return protocol, columns, {"skips": draw(st.sampled_from([0, 1, 5])), "corrects": draw(st.sampled_from([0, 1]))}


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(drawn=confirmed())
def test_an_honest_confirmation_is_never_refused(tmp_path_factory, drawn):
    valid_at_every_depth(tmp_path_factory.mktemp("honest"), *drawn)
