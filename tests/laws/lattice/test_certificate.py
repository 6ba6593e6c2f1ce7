"""A linear rule in a lab: what was interrupted goes on as if it had not been, and what is told follows from what is known."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")

from replical import AskTell, Journal, Linear, PrivateRandomness, Protocol, Rule, Session, learner_for, read_pool
from replical.errors import ReplicalError
from replical.lab.certificate.file import body_of
from replical.lattice.cones import axes_of, cells_of, crossings_of
from replical.lattice.linear import dependent_columns
from support.lab import LABELS, answered, begin
from support.lab import private as private_seed
from support.linear import FEATURES, OFFSET, RANGES, WEIGHTS, columns, content

TABLE = columns(120)
LEARNERS = {"trusting": {}, "noisy": {"nu": 0.05, "max_labels": 30}}
TRUTH = dict(zip(TABLE["id"], TABLE["truth"], strict=True))


def finished(folder, said, stops=()):
    """A run that is killed after so many labels, each time, and then finished; items that nobody can label are skipped."""
    protocol, path = Protocol.of(said), folder / "a.db"
    lab = read_pool(TABLE, protocol.recipe)
    with Journal(path) as journal:
        begin(journal, protocol, lab, "lab")
    for labels in stops:
        with Journal(path) as journal:
            session = Session(protocol, lab, journal)
            while session.open and len(session.ledger.labels) < labels:
                item = session.open[0]
                session.answer(item, TRUTH[item])
    with Journal(path) as journal:
        return body_of(answered(Session(protocol, lab, journal), TABLE))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Runs that nobody interrupted: of a lab that trusts labels, and of one that does not."""

    class Whole(dict):
        def __missing__(self, learner):
            said = content(**LEARNERS[learner])
            self[learner] = said, finished(tmp_path_factory.mktemp("a"), said)
            return self[learner]

    return Whole()


def test_a_run_that_was_killed_twice_ends_as_if_it_had_not_been(whole, tmp_path):
    said, body = whole["trusting"]
    assert finished(tmp_path, said, (4, 19)) == body


@pytest.mark.slow
@settings(max_examples=20)
@given(stops=st.lists(st.integers(1, 45), max_size=3), learner=st.sampled_from(["trusting", "noisy"]))
def test_a_run_that_was_killed_anywhere_ends_as_if_it_had_not_been(whole, tmp_path_factory, stops, learner):
    said, body = whole[learner]
    assert finished(tmp_path_factory.mktemp("b"), said, sorted(stops)) == body


def test_asking_and_telling_comes_to_the_same(whole):
    said, body = whole["trusting"]
    protocol = Protocol.of(said)
    lab = read_pool(TABLE, protocol.recipe)
    private = PrivateRandomness(bytes.fromhex(private_seed("lab")))
    run = AskTell(learner_for(protocol.plan), lab.pool(private), protocol.shared)
    while run.open:
        run.tell({row: TRUTH[lab.ids[row]] for row in run.open})
    assert list(run.result.proof.cell) == body["proof"]["cell"]
    assert run.result.labels == body["labels"]["asked"]


def test_a_protocol_is_read_as_it_was_written(tmp_path):
    protocol = Protocol.of(content(nu=0.05))
    (tmp_path / "p.toml").write_text(protocol.toml())
    assert Protocol.read(tmp_path / "p.toml").fingerprint == protocol.fingerprint


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("class", "features", ["age", "marker", "weight"]),
        ("class", "range", [[20.0, 81.0], *RANGES[1:]]),
        ("class", "step", 0.31),
        ("class", "intercept", 2.0),
        ("labels", "values", ["yes", "no"]),
    ],
)
def test_a_fingerprint_covers_all_of_it(part, key, value):
    said = content()
    changed = said | {part: said[part] | {key: value}}
    assert Protocol.of(changed).fingerprint != Protocol.of(said).fingerprint
    assert Protocol.of(said | {"seed": "other"}).recipe.C.fingerprint != Protocol.of(said).recipe.C.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"class": {"step": "wide"}}, {"class": {"step": 0}}, {"class": {"step": math.nan}}, {"class": {"intercept": True}},
        {"class": {"range": [[-1.7e308, 1.7e308], *RANGES[1:]]}}, {"class": {"range": [[0, 5e-324], *RANGES[1:]]}},
        {"class": {"intercept": 0}}, {"class": {"count": 5}}, {"class": {"features": ["x"] * 3}},
        {"class": {"features": [f"x{j}" for j in range(1001)], "range": [[0, 1]] * 1001}},
        {"class": {"features": [f"x{j}" for j in range(900)], "range": [[0, 1]] * 900, "step": 1e-6}},
        {"prior": {"kind": "order", "order": [0, 1]}}, {"prior": {"kind": "weights", "weights": [1.0]}},
        {"handicap": {"from": "zero"}}, {"learner": {"name": "cal"}}, {"learner": {"theta": 2.0, "batch": 2}},
        {"learner": {"delta": 0.6}}, {"learner": {"max_labels": 5}}, {"labels": {"values": ["a", "b", "c"]}},
    ],
    ids=lambda change: str(change)[:40],
)  # fmt: skip
def test_what_no_protocol_may_say_is_refused_in_a_sentence(change):
    said = content()
    for part, more in change.items():
        said = said | {part: said.get(part, {}) | more}
    with pytest.raises(ReplicalError) as refused:
        Protocol.of(said)
    assert "\n" not in str(refused.value)


def test_a_rule_says_what_its_words_say():
    protocol = Protocol.of(content())
    C = protocol.recipe.C
    scaled = WEIGHTS * np.diff(RANGES, axis=1)[:, 0] / np.sqrt(12)
    w = np.append(scaled, WEIGHTS @ np.mean(RANGES, axis=1) - OFFSET)
    rule = Rule(recipe=protocol.recipe, hypothesis=C.number(C.cell(w)), certified=True)
    assert all(name in rule.words for name in FEATURES)
    said = rule.predict(TABLE)
    normal = C.normal(rule.hypothesis)
    X = np.column_stack([TABLE[name] for name in FEATURES])
    middle, width = np.mean(RANGES, axis=1), np.diff(RANGES, axis=1)[:, 0]
    by_hand = ((X - middle) / width * np.sqrt(12)) @ normal[:3] + normal[3] >= 0
    assert [said[each] for each in TABLE["id"]] == [LABELS[int(one)] for one in by_hand]


@settings(max_examples=15)
@given(steps=st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 0.9)), min_size=2, max_size=5), step=st.floats(0.01, 1))
def test_bounds_are_rounded_outwards_and_count_cells(steps, step):
    C = Linear(len(steps), step=step, seed="axes")
    low = np.array([start for start, _ in steps])
    high = low + np.array([length for _, length in steps])
    axes = axes_of(C, SimpleNamespace(low=low, high=high))
    places = [(low / step - C.shift)[j] for j in range(C.d)], [(high / step - C.shift)[j] for j in range(C.d)]
    assert all(told[0] < a and b < told[1] for told, a, b in zip(axes, *places, strict=True))
    assert all(a - told[0] < 3e-6 and told[1] - b < 3e-6 for told, a, b in zip(axes, *places, strict=True))
    assert crossings_of(axes) >= min(1.0, ((high - low) / step).sum())
    between = [len({math.floor(x) for x in np.linspace(a, b, 400)}) for a, b in zip(*places, strict=True)]
    assert cells_of(axes) >= math.prod(between)


@settings(max_examples=15)
@given(data=st.data())
def test_features_that_follow_from_others_are_found(data):
    d = data.draw(st.integers(2, 6))
    X = np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=(30, d))
    for j in data.draw(st.sets(st.integers(0, d - 2), max_size=d - 2)):
        X[:, j] = X @ data.draw(st.sampled_from([np.eye(d)[d - 1], np.zeros(d), np.ones(d) - np.eye(d)[j]]))
    found = dependent_columns(X)
    kept = [j for j in range(d) if j not in found]
    assert np.linalg.matrix_rank(X) == len(kept) == np.linalg.matrix_rank(X[:, kept])
