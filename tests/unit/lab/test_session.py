"""Runs on a journal: skips, labels that are none, items nobody asked for, and what a session refuses."""

import re

import pytest

from replical import Session
from replical.errors import BadJournal, BadLabel, PoolExhausted, ReplicalError
from replical.lab.certificate.file import body_of
from replical.lab.journal.journal import Event, Journal
from replical.learners.plan import STOP
from support.sessions import LEARNERS, figures


@pytest.fixture
def journal(tmp_path, monkeypatch):
    """An empty journal, open; its private seed will be the same every time, so that a test fails always or never."""
    monkeypatch.setattr("replical.lab.journal.journal.secrets.token_hex", lambda size: "5e" * size)
    with Journal(tmp_path / "a.db") as made:
        yield made


# ---- skips ----


@pytest.mark.parametrize("name", LEARNERS)
def test_the_next_draw_takes_the_place_of_a_skipped_item(make_world, journal, name):
    """For every learner: one goes, one comes, what was answered stays answered, and nobody is asked twice."""
    world = make_world(LEARNERS[name])
    session = Session(world.protocol, world.lab, journal)
    session.answer(session.open[0], world.truth[session.open[0]])
    if session.open[1:]:
        session.answer(session.open[1], world.truth[session.open[1]])
    labels, before, asked = (dict(session.ledger.labels), session.open, set(session.ledger.asked))
    session.skip(before[-1], annotator="Ada")
    assert session.ledger.labels == labels
    assert before[-1] not in session.open
    assert session.open[: len(before) - 1] == before[:-1]
    (fresh,) = session.open[len(before) - 1 :]
    assert fresh not in asked
    order = world.scan_order(session.private)
    assert order.index(fresh) > max(map(order.index, asked))
    world.finish(session)
    assert session.result.labels == len(session.ledger.labels)
    assert body_of(session)["labels"]["skipped"] == 1
    events = journal.events()
    asks = [event.item for event in events if event.kind == "ask"]
    assert len(asks) == len(set(asks)) == session.result.labels + 1
    assert [(event.item, event.annotator) for event in events if event.kind == "skip"] == [(before[-1], "Ada")]


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
    assert not session.ledger.asked & set(order[-aside:])
    assert not set(session.ledger.labels) & skipped
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
    assert session.ledger.labels == {}
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
    assert session.ledger.labels == {one: 1}


def test_whole_numbers_as_labels(make_world, journal):
    """1 is a label where the protocol says so; True and the text "1" are not."""
    world = make_world({"name": "erm", "k_final": 4}, kind="table", labels=(1, 0))
    session = Session(world.protocol, world.lab, journal)
    for wrong in (True, False, "1", 2, -1):
        with pytest.raises(BadLabel, match="is none of"):
            session.answer(session.open[0], wrong)
    session.answer(session.open[0], 1)
    assert list(session.ledger.labels.values()) == [0]  # its position
    world.finish(session)


def test_an_item_that_is_not_asked_for(make_world, journal):
    """Unknown, not asked yet, answered before, skipped: each is refused, and the open ones are named."""
    world = make_world({"name": "a2", "batch": 3})
    session = Session(world.protocol, world.lab, journal)
    answered, skipped, _ = session.open
    session.answer(answered, "yes")
    session.skip(skipped)
    later = next(item for item in world.lab.ids if item not in session.ledger.asked)
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
    assert session.ledger.corrected == 0
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
    world = make_world({"name": "replica2", "theta": 1.0, "nu": 0.01})
    with Journal(tmp_path / "a.db") as journal:
        with pytest.raises(ReplicalError, match="times the pool of 120: bring more items"):
            Session(world.protocol, world.lab, journal)
        assert journal.created is None


# ---- what is on the disk ----


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
        assert session.ledger.labels == {item: 1}
