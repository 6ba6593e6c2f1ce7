"""A run is a function of its labels: order, pauses, skips and corrections leave no other trace in the result."""

import random
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import Session
from replical.errors import BadJournal, BadLabel, EmptyVersionSpace, PoolExhausted, ReplicalError
from replical.lab.certificate.file import body_of
from replical.lab.journal import Event, Journal
from replical.lab.ledger import Known
from replical.learners.result import STOP

# Every learner that a protocol can name, with sizes small enough for a pool of 120 items.
LEARNERS = {
    "erm": {"name": "erm", "k_final": 20},
    "cal": {"name": "cal"},
    "cal-halving": {"name": "cal", "query": "halving"},
    "cal-rounds": {"name": "cal-rounds", "theta": 2.0, "k_loop": 4},
    "a2": {"name": "a2"},
    "a2-batch": {"name": "a2", "batch": 5},
    "a2-paired": {"name": "a2-paired", "batch": 10},
    "a2-rounds": {"name": "a2-rounds", "theta": 1.0, "nu": 0.01, "k_loop": 6, "k_final": 8},
    "replicable-erm": {"name": "replicable-erm", "nu": 0.0, "k_final": 25},
    "replical": {"name": "replical", "plan": "paper", "theta": 2.0, "k_loop": 4, "k_final": 4},
    "replica2": {"name": "replica2", "theta": 1.0, "nu": 0.01, "k_loop": 6, "k_final": 8},
    "rounded-cal": {"name": "rounded-cal"},
    "rounded-cal-halving": {"name": "rounded-cal", "query": "halving"},
    "rounded-cal-items": {"name": "rounded-cal", "items": 25},
    "rounded-a2": {"name": "rounded-a2", "batch": 4},
    "rounded-a2-excess": {"name": "rounded-a2", "finish": "excess", "batch": 3},
    "boosted": {"name": "boosted-replicable-erm", "nu": 0.0, "k_final": 4, "strings": 2, "runs": 3},
}
HALVING = ("cal-halving", "rounded-cal-halving")  # choose items instead of scanning them
REALIZABLE = ("cal", "replical", "rounded-cal")  # a wrong label may leave them without a hypothesis


def figures(result):
    """All of a result that a certificate tells."""
    told = (result.hypothesis, result.unrounded, result.V.indices.tolist(), result.conditions, result.labels)
    return (*told, result.rounds, None if result.rounding is None else result.rounding.rho_proven)


@pytest.fixture
def journal(tmp_path, monkeypatch):
    """An empty journal, open; its private seed will be the same every time, so that a test fails always or never."""
    monkeypatch.setattr("replical.lab.journal.secrets.token_hex", lambda size: "5e" * size)
    with Journal(tmp_path / "a.db") as made:
        yield made


def errand(world, path, chance, *, skipping=0.0):
    """Run to the end as people do: any open item, one or several at a time, with skips, going home at any moment."""
    while True:
        with Journal(path) as journal:
            session = Session(world.protocol, world.lab, journal)
            while session.open and chance.random() < 0.85:
                some = chance.sample(session.open, chance.randint(1, min(4, len(session.open))))
                if chance.random() < skipping and len(session.known.skipped) < 6:
                    session.skip(some[0])
                else:
                    session.answer_all({item: world.truth[item] for item in some})
            if not session.open:
                session.finish()
                return session


@st.composite
def tasks(draw):
    """A world with any learner, thresholds or a table, for agnostic learners with wrong labels too; and a private seed."""
    name = draw(st.sampled_from(sorted(LEARNERS)))
    learner, told = dict(LEARNERS[name]), {"kind": draw(st.sampled_from(["thresholds", "table"]))}
    if "batch" in learner:
        learner["batch"] = draw(st.integers(1, 12))
    if not name.startswith(REALIZABLE):
        told["noise"] = draw(st.sampled_from([0.0, 0.1]))
    return (learner, told | {"number": draw(st.integers(0, 99))}, random.Random(draw(st.integers(0, 2**32))))


def ending(run):
    """What a run comes to: a result, or the sentence that says why there is none."""
    try:
        return run()
    except (EmptyVersionSpace, PoolExhausted) as error:
        return f"{type(error).__name__}: {error}"


def heard(path):
    """What a journal says of the items, whether or not its run can go on."""
    known = Known()
    with Journal(path, write=False) as journal:
        for event in journal.events():
            known.hear(event)
    return known


@settings(max_examples=10)
@given(task=tasks())
def test_only_labels_decide(make_world, task):
    """Answers in any order within a batch, and a pause at any moment, give the result of the learner itself."""
    learner, told, chance = task
    world, private = make_world(learner, **told), chance.randbytes(32)
    expected = ending(lambda: figures(world.learned(private)))
    with tempfile.TemporaryDirectory() as folder:
        begun = world.begin(Path(folder) / "begun.db", private=private.hex())
        path = world.copy(begun, Path(folder) / "a.db")
        body = ending(lambda: body_of(errand(world, path, chance)))
        with Journal(begun) as journal:
            straight = Session(world.protocol, world.lab, journal)
            assert ending(lambda: body_of(world.finish(straight))) == body
        with Journal(path, write=False) as journal:  # and again, from the journal alone
            again = ending(lambda: Session(world.protocol, world.lab, journal))
            assert (again if isinstance(again, str) else body_of(again)) == body
    assert (again if isinstance(again, str) else figures(again.result)) == expected
    assert straight.private == private


@settings(max_examples=10)
@given(task=tasks())
def test_only_labels_and_skips_decide(make_world, task):
    """When an item was skipped does not matter either, only that it was."""
    learner, told, chance = task
    world, private = make_world(learner, **told), chance.randbytes(32)
    with tempfile.TemporaryDirectory() as folder:
        begun = world.begin(Path(folder) / "begun.db", private=private.hex())
        path = world.copy(begun, Path(folder) / "a.db")
        session = ending(lambda: errand(world, path, chance, skipping=0.4))
        skipped = heard(path).skipped
        found = session if isinstance(session, str) else figures(session.result)
        assert found == ending(lambda: figures(world.learned(private, skipped=skipped)))
        if isinstance(session, str):
            return
        with Journal(begun) as journal:
            straight = Session(world.protocol, world.lab, journal)
            while straight.open:
                now = [item for item in straight.open if item in skipped]
                if now:
                    straight.skip(now[-1])
                else:
                    straight.answer_all({item: world.truth[item] for item in straight.open})
            straight.finish()
            assert body_of(straight) == body_of(session)


# ---- skips ----


@pytest.mark.parametrize("name", LEARNERS)
def test_the_next_draw_takes_the_place_of_a_skipped_item(make_world, journal, name):
    """For every learner: one goes, one comes, what was answered stays answered, and nobody is asked twice."""
    world = make_world(LEARNERS[name])
    session = Session(world.protocol, world.lab, journal)
    session.answer(session.open[0], world.truth[session.open[0]])
    if session.open[1:]:
        session.answer(session.open[1], world.truth[session.open[1]])
    labels, before, asked = (dict(session.known.labels), session.open, set(session.known.asked))
    session.skip(before[-1], annotator="Ada")
    assert session.known.labels == labels
    assert before[-1] not in session.open
    assert session.open[: len(before) - 1] == before[:-1]
    (fresh,) = session.open[len(before) - 1 :]
    assert fresh not in asked
    if name not in HALVING:
        order = world.scan_order(session.private)
        assert order.index(fresh) > max(map(order.index, asked))
    world.finish(session)
    assert session.result.labels == len(session.known.labels)
    assert body_of(session)["labels"]["skipped"] == 1
    events = journal.events()
    asks = [event.item for event in events if event.kind == "ask"]
    assert len(asks) == len(set(asks)) == session.result.labels + 1
    assert [(event.item, event.annotator) for event in events if event.kind == "skip"] == [(before[-1], "Ada")]


@pytest.mark.parametrize("name", HALVING)
def test_halving_without_the_best_item(make_world, journal, name):
    """Only one item splits the class most evenly, and nobody can label it: the next best one is asked, and so on."""
    world = make_world(LEARNERS[name])
    x = list(range(41))
    world = type(world)(world.protocol, {"id": [f"i{each}" for each in x], "x": x}, {f"i{each}": "yes" for each in x})
    session = Session(world.protocol, world.lab, journal)
    asked = []
    for _ in range(5):
        asked += session.open
        session.skip(session.open[0])
    assert len(set(asked)) == 5
    assert max(abs(int(item[1:]) - 19.5) for item in asked) <= 3  # the five in the middle
    world.finish(session)
    assert not set(asked) & set(session.known.labels)


def test_replical_measures_on_items_that_it_never_asks(make_world, journal):
    """The tight plan sets items aside; a skip is replaced from the others, and the measuring stays as it was."""
    learner = {"name": "replical", "theta": 2.0, "k_loop": 8, "k_final": 15}
    world = make_world(learner, items=12_000)
    session = Session(world.protocol, world.lab, journal)
    order, aside = world.scan_order(session.private), world.protocol.plan.measuring
    assert 0 < aside < 12_000
    skipped = {session.open[0], session.open[3]}
    for item in skipped:
        session.skip(item)
    world.finish(session)
    assert not session.known.asked & set(order[-aside:])
    assert not set(session.known.labels) & skipped
    assert figures(session.result) == figures(world.learned(session.private, skipped=skipped))


@pytest.mark.parametrize("name", LEARNERS)
def test_nobody_can_label_anything(make_world, journal, name):
    """Every item is skipped: the run ends, and says that it proves nothing or that the pool is too small."""
    world = make_world(LEARNERS[name], items=30)
    session = Session(world.protocol, world.lab, journal)
    told = None
    for _ in range(31):
        if not session.open:
            break
        try:
            session.skip(session.open[0])
        except PoolExhausted as error:
            told = str(error)
            break
    else:
        pytest.fail("a run on 30 items asked for more than 30")
    assert session.known.labels == {}
    if told is None:
        result = session.result
        assert result.labels == 0
        assert not result.sound
        assert not body_of(session)["certified"]
        assert all(not condition.held for condition in result.conditions if condition.name == STOP)
    else:
        assert "bring a larger pool or give smaller sizes" in told
        with pytest.raises(PoolExhausted, match=re.escape(told)):  # and again whenever the journal is opened
            Session(world.protocol, world.lab, journal)


def test_a_skip_costs_no_label_that_was_given(make_world, journal):
    """Skips in the middle of a batch: the journal has every answer once, and each counts."""
    world = make_world({"name": "erm", "k_final": 15}, noise=0.2)
    session = Session(world.protocol, world.lab, journal)
    while session.open:
        if len(session.open) % 4 == 1 and len(session.known.skipped) < 20:
            session.skip(session.open[len(session.open) // 2])
            continue
        session.answer(session.open[-1], world.truth[session.open[-1]])
        if not session.known.skipped:
            session.skip(session.open[0])
    answered = [event.item for event in journal.events() if event.kind == "answer"]
    assert sorted(answered) == sorted(session.known.labels)
    assert session.result.labels == 15 == len(answered)
    assert len(session.known.skipped) > 1


# ---- corrections ----


@settings(max_examples=10)
@given(task=tasks())
def test_a_correction_replays_the_run(make_world, task):
    """As if the right label had been there from the start; taken back, the first result is back as well."""
    learner, told, chance = task
    world, private = make_world(learner, **told), chance.randbytes(32)
    with (
        tempfile.TemporaryDirectory() as folder,
        Journal(world.begin(Path(folder) / "a.db", private=private.hex())) as journal,
    ):
        session = Session(world.protocol, world.lab, journal)
        first = ending(lambda: figures(world.finish(session).result))
        item = chance.choice(sorted(session.known.labels))
        before = dict(session.known.labels)
        other = next(label for label in world.protocol.labels if label != world.truth[item])
        truth = world.truth | {item: other}

        def corrected(label, truth, annotator=None):
            session.correct(item, label, annotator=annotator)
            return figures(world.finish(session, truth).result)

        expected = ending(lambda: figures(world.learned(private, truth)))
        assert ending(lambda: corrected(other, truth, "Ada")) == expected
        assert {each: session.known.labels[each] for each in before if each != item} == {
            each: label for each, label in before.items() if each != item
        }
        assert ending(lambda: corrected(world.truth[item], world.truth)) == first
        assert session.known.corrected == 2
        told = [(event.item, event.label, event.annotator) for event in journal.events() if event.kind == "correction"]
        codes = [world.protocol.labels.index(label) for label in (other, world.truth[item])]
        assert told == [(item, codes[0], "Ada"), (item, codes[1], None)]


def flips(world, private, asked):
    """What the run returns if one of its labels is the other one, for each of them."""
    other = {"no": "yes", "yes": "no"}
    return {item: world.learned(private, world.truth | {item: other[world.truth[item]]}) for item in sorted(asked)}


@pytest.fixture
def corrected(make_world, tmp_path, command):
    """A finished run by the command line, with a private seed that everybody knows."""
    private = bytes(range(32))
    world = make_world({"name": "a2", "epsilon": 0.3, "batch": 2})
    files = world.write(tmp_path)
    world.begin(tmp_path / "a.db", private=private.hex())
    assert command(*files.run(tmp_path / "a.db", tmp_path / "a.json"))[0] == 0
    return world, files, private, world.learned(private)


@pytest.mark.parametrize("changes", [True, False])
def test_the_next_run_says_what_a_correction_changed(corrected, tmp_path, command, changes, lasting):
    """Labels that the corrected run needs beyond the old ones are asked; a changed answer is said, an unchanged one not."""
    world, files, private, first = corrected
    with Journal(tmp_path / "a.db", write=False) as journal:
        found = flips(world, private, Session(world.protocol, world.lab, journal).known.labels)
    item = next(
        item
        for item, result in found.items()
        if (result.hypothesis != first.hypothesis) == changes and (not changes or result.labels > first.labels)
    )
    other = "no" if world.truth[item] == "yes" else "yes"
    code, out, _ = command("correct", tmp_path / "a.db", "--item", item, "--label", other, "--annotator", "Ada")
    assert code == 0
    assert "Run the protocol again" in out
    before = lasting(tmp_path / "a.json")
    code, _, err = command(*files.run(tmp_path / "a.db", tmp_path / "a.json"))
    assert code == 0
    assert (f"The answer has changed: it was hypothesis {first.hypothesis}." in err) == changes
    assert lasting(tmp_path / "a.json") != before  # the count of corrections, at least
    with Journal(tmp_path / "a.db", write=False) as journal:
        session = Session(world.protocol, world.lab, journal)
        assert figures(session.result) == figures(found[item])
        assert session.known.results == [first.hypothesis, found[item].hypothesis][: 1 + changes]
        kinds = [event.kind for event in journal.events()]
    after = kinds[kinds.index("correction") :]
    assert after.count("answer") >= found[item].labels - first.labels
    assert ("answer" in after) or not changes
    code, _, err = command(*files.run(tmp_path / "a.db", tmp_path / "a.json"))  # once more: nothing has changed since
    assert code == 0
    assert "has changed" not in err


@pytest.mark.parametrize(
    ("item", "label", "told"),
    [
        ("nobody", "yes", "the item 'nobody' has no label to correct"),
        (None, "maybe", "'maybe', which is none of ['no', 'yes']"),
    ],
)
def test_a_correction_that_cannot_be(corrected, tmp_path, command, item, label, told):
    """One sentence, exit code 2, and nothing is recorded."""
    with Journal(tmp_path / "a.db", write=False) as journal:
        before = journal.events()
    answered = next(event.item for event in before if event.kind == "answer")
    code, _, err = command("correct", tmp_path / "a.db", "--item", item or answered, "--label", label)
    assert code == 2
    assert told in err
    with Journal(tmp_path / "a.db", write=False) as journal:
        assert journal.events() == before


def test_labels_that_contradict_each_other_are_kept_and_can_be_corrected(make_world, tmp_path, command):
    """No threshold has these labels: the run says so, loses nothing, and goes on once the wrong one is corrected."""
    world = make_world({"name": "cal-rounds", "theta": 2.0, "k_loop": 8})
    files, path = world.write(tmp_path), tmp_path / "a.db"
    x = dict(zip(world.columns["id"], world.columns["x"], strict=True))
    world.begin(path, private="ab" * 32)
    with Journal(path) as journal:
        session = Session(world.protocol, world.lab, journal)
        lowest, highest = min(session.open, key=x.get), max(session.open, key=x.get)
        kept = {item: world.truth[item] for item in session.open} | {lowest: "yes", highest: "no"}
        with pytest.raises(EmptyVersionSpace):
            session.answer_all(kept)
        wrong = [item for item in kept if kept[item] != world.truth[item]]
    with Journal(path, write=False) as journal:
        answers = {e.item: world.protocol.labels[e.label] for e in journal.events() if e.kind == "answer"}
    assert answers == kept
    assert wrong
    for _ in range(2):
        code, _, err = command(*files.run(path, tmp_path / "a.json"))
        assert code == 2
        assert "Traceback" not in err
    for item in wrong:
        assert command("correct", path, "--item", item, "--label", world.truth[item])[0] == 0
    assert command(*files.run(path, tmp_path / "a.json"))[0] == 0
    with Journal(path, write=False) as journal:
        session = Session(world.protocol, world.lab, journal)
        assert figures(session.result) == figures(world.learned(session.private))


# ---- what is refused, and how ----


def test_a_label_that_is_none(make_world, journal):
    """Named with the item and the labels there are; nothing of the batch is recorded."""
    world = make_world({"name": "a2", "batch": 3})
    session = Session(world.protocol, world.lab, journal)
    one, two, _ = session.open
    before = journal.events()
    for wrong in ("maybe", "", "YES", 1, 0, True, None):
        with pytest.raises(BadLabel, match=re.escape(f"{wrong!r} for the item {two!r} is none of ['no', 'yes']")):
            session.answer_all({one: "yes", two: wrong})
    assert journal.events() == before
    assert session.open[0] == one
    session.answer(one, "yes")
    with pytest.raises(BadLabel, match="'maybe' for the item"):
        session.correct(one, "maybe")
    assert session.known.labels == {one: 1}


def test_whole_numbers_as_labels(make_world, journal):
    """1 is a label where the protocol says so; True and the text "1" are not."""
    world = make_world({"name": "erm", "k_final": 4}, kind="table", labels=(1, 0))
    session = Session(world.protocol, world.lab, journal)
    for wrong in (True, False, "1", 2, -1):
        with pytest.raises(BadLabel, match="is none of"):
            session.answer(session.open[0], wrong)
    session.answer(session.open[0], 1)
    assert list(session.known.labels.values()) == [0]  # its position
    world.finish(session)


def test_an_item_that_is_not_asked_for(make_world, journal):
    """Unknown, not asked yet, answered before, skipped: each is refused, and the open ones are named."""
    world = make_world({"name": "a2", "batch": 3})
    session = Session(world.protocol, world.lab, journal)
    answered, skipped, _ = session.open
    session.answer(answered, "yes")
    session.skip(skipped)
    later = next(item for item in world.lab.ids if item not in session.known.asked)
    for item in ("nobody", later, answered, skipped):
        with pytest.raises(BadLabel) as caught:
            session.answer_all({session.open[0]: "yes", item: "yes"})
        assert str(caught.value) == (f"the item {item!r} is not asked for now; open are {', '.join(session.open)}")
        with pytest.raises(BadLabel, match=re.escape(f"{item!r} is not asked for now, so it cannot be skipped")):
            session.skip(item)
    for item in ("nobody", later, skipped, session.open[0]):
        with pytest.raises(BadLabel, match=re.escape(f"{item!r} has no label to correct")):
            session.correct(item, "yes")
    with pytest.raises(BadLabel, match=re.escape(f"{answered!r} already has the label 'yes': nothing recorded")):
        session.correct(answered, "yes")
    assert [event.kind for event in journal.events()].count("answer") == 1
    assert session.known.corrected == 0
    with pytest.raises(BadLabel, match="labels are missing"):
        session.finish()


def test_nothing_is_open_when_the_run_has_ended(make_world, journal):
    """And the end is recorded once, however often it is said."""
    world = make_world({"name": "cal"})
    session = world.finish(Session(world.protocol, world.lab, journal))
    with pytest.raises(BadLabel, match="open are none"):
        session.answer("i0", "yes")
    session.finish()
    with pytest.raises(BadLabel, match="cannot be skipped"):
        session.skip("i0")
    done = [event.detail for event in journal.events() if event.kind == "done"]
    assert done == [{"hypothesis": session.result.hypothesis, "labels": session.result.labels}]
    assert body_of(session)["runs_in_journal"] == 1


def test_who_and_when(make_world, journal):
    """The annotator of the session, unless another one is named; every event has its time."""
    world = make_world({"name": "a2", "batch": 4})
    session = Session(world.protocol, world.lab, journal, annotator="Ada")
    one, two, three, four = session.open
    session.answer(one, "yes")
    session.answer(two, "no", annotator="Grace")
    session.skip(three)
    session.correct(one, "no", annotator="Zoë")
    session.answer_all({four: "yes"}, annotator="Grace")
    told = [
        (event.kind, event.item, event.annotator)
        for event in journal.events()
        if event.kind in ("answer", "skip", "correction")
    ]
    assert told == [
        ("answer", one, "Ada"),
        ("answer", two, "Grace"),
        ("skip", three, "Ada"),
        ("correction", one, "Zoë"),
        ("answer", four, "Grace"),
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", event.at) for event in journal.events())


CHANGES = {
    "one value": lambda columns: columns | {"x": [(columns["x"][0] + 1) % 41, *columns["x"][1:]]},
    "one id": lambda columns: columns | {"id": ["other", *columns["id"][1:]]},
    "one item fewer": lambda columns: {name: column[1:] for name, column in columns.items()},
    "one item more": lambda columns: {"id": [*columns["id"], "more"], "x": [*columns["x"], 3]},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_pool_that_has_changed(make_world, tmp_path, command, change):
    """Labels drawn on one pool say nothing about another; both sizes are told, and the journal stays as it was."""
    world, path = make_world({"name": "cal"}), tmp_path / "a.db"
    world.begin(path)
    other = type(world)(world.protocol, CHANGES[change](world.columns), world.truth)
    with Journal(path) as journal:
        before = journal.events()
        with pytest.raises(BadJournal) as caught:
            Session(other.protocol, other.lab, journal)
        assert journal.events() == before
    assert f"the pool has changed since the journal {path} began: it had 120 items" in str(caught.value)
    assert f"now {len(other.lab)} and {other.lab.fingerprint[:23]}" in str(caught.value)
    code, _, err = command(*other.write(tmp_path).run(path, tmp_path / "a.json"))
    assert (code, "the pool has changed" in err) == (2, True)
    assert not (tmp_path / "a.json").exists()


def test_the_same_pool_in_another_file(make_world, tmp_path, command, lasting):
    """Parquet or CSV, rows in any order, other columns beside: the run goes on."""
    world = make_world({"name": "a2", "batch": 4})
    begun = world.begin(tmp_path / "begun.db")
    shuffled = {name: column[::-1] for name, column in world.columns.items()} | {"text": ["shown"] * 120}
    for name, columns, suffix in (("a", world.columns, ".csv"), ("b", shuffled, ".parquet")):
        (tmp_path / name).mkdir()
        files = type(world)(world.protocol, columns, world.truth).write(tmp_path / name, suffix=suffix)
        world.copy(begun, tmp_path / f"{name}.db")
        assert command(*files.run(tmp_path / f"{name}.db", tmp_path / f"{name}.json"))[0] == 0
    assert lasting(tmp_path / "a.json") == lasting(tmp_path / "b.json")


@pytest.mark.parametrize(
    "change", [{"seed": "another text"}, {"learner": {"name": "cal", "epsilon": 0.16, "delta": 0.1, "rho": 0.3}}]
)
def test_a_protocol_that_has_changed(make_world, tmp_path, command, change):
    """Its journal belongs to what was published before the first label; title and notes are no part of that."""
    world, path = make_world({"name": "cal"}), tmp_path / "a.db"
    world.begin(path)
    other = make_world({"name": "cal"}, **change)
    with Journal(path) as journal, pytest.raises(BadJournal) as caught:
        Session(other.protocol, other.lab, journal)
    for fingerprint in (world.protocol.fingerprint, other.protocol.fingerprint):
        assert fingerprint[:23] in str(caught.value)
    assert "a changed protocol needs a journal of its own" in str(caught.value)
    assert command(*other.write(tmp_path).run(path, tmp_path / "a.json"))[0] == 2
    titled = make_world({"name": "cal"}, title="A better title", notes="and notes")
    assert command(*titled.write(tmp_path).run(path, tmp_path / "a.json"))[0] == 0


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (Event(kind="answer", item="nobody", label=1), "is about 'nobody', which is not in the pool"),
        (Event(kind="answer", item="i3", label=2), "has a label that the protocol does not have"),
        (Event(kind="answer", item="i3", label=-1), "has a label that the protocol does not have"),
    ],
)
def test_a_journal_that_speaks_of_something_else(make_world, journal, event, told):
    """An event that cannot have come from this run is named by its number, not used."""
    world = make_world({"name": "cal"})
    Session(world.protocol, world.lab, journal)
    journal.append([event])
    with pytest.raises(BadJournal, match=re.escape(f"event {journal.events()[-1].seq} of {journal.where} {told}")):
        Session(world.protocol, world.lab, journal)


def test_a_pool_that_is_too_small_for_the_plan_makes_no_journal(make_world, tmp_path):
    """Refused before a private seed is drawn: the lab may bring a larger pool to the same journal."""
    world = make_world({"name": "rounded-cal", "items": 200})
    with Journal(tmp_path / "a.db") as journal:
        with pytest.raises(ReplicalError, match="bring 80 more"):
            Session(world.protocol, world.lab, journal)
        assert journal.created is None


# ---- what is on the disk ----


def test_a_session_on_a_journal_opened_for_reading_takes_no_answers(make_world, tmp_path):
    """'When this returns it is on the disk' must not be a lie."""
    world = make_world({"name": "a2", "batch": 3})
    world.begin(tmp_path / "a.db")
    with Journal(tmp_path / "a.db", write=False) as journal:
        session = Session(world.protocol, world.lab, journal)
        for act in (lambda: session.answer(session.open[0], "yes"), lambda: session.skip(session.open[0])):
            with pytest.raises(BadJournal, match="was opened for reading"):
                act()
        assert len(session.open) == 3


def test_contradicting_labels_are_no_end(make_world, tmp_path):
    """Said again at every look; a run that has no answer has not ended."""
    world = make_world({"name": "cal-rounds", "theta": 2.0, "k_loop": 8})
    x = dict(zip(world.columns["id"], world.columns["x"], strict=True))
    with Journal(world.begin(tmp_path / "a.db", private="ab" * 32)) as journal:
        session = Session(world.protocol, world.lab, journal)
        lowest, highest = min(session.open, key=x.get), max(session.open, key=x.get)
        told = {item: world.truth[item] for item in session.open} | {lowest: "yes", highest: "no"}
        with pytest.raises(EmptyVersionSpace):
            session.answer_all(told)
        for _ in range(2):
            with pytest.raises(EmptyVersionSpace):
                session.refresh()
            assert not session.ended


def test_a_deciding_vote_is_written_with_what_it_decides(make_world, tmp_path, monkeypatch):
    """Killed between the two, nobody would be left who may vote, and nothing would be decided."""
    world = make_world({"name": "cal"})
    with Journal(world.begin(tmp_path / "a.db")) as journal:
        session = Session(world.protocol, world.lab, journal)
        item, real, calls = session.open[0], Journal.append, []

        def append(self, events):
            events = list(events)
            calls.append([event.kind for event in events])
            real(self, events)

        monkeypatch.setattr(Journal, "append", append)
        for who in ("Ada", "Grace", "Zoë"):
            session.vote(item, "yes", annotator=who, needed=3)
        assert calls[:3] == [["vote"], ["vote"], ["vote", "answer"]]
        assert session.known.labels == {item: 1}
