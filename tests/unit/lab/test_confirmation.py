"""A confirmation on a journal: skips, undo, corrections and people beside it, as in a run."""

import pytest

from replical import Session
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.lab.certificate.file import body_of, certify
from replical.lab.certificate.verify import verify
from replical.lab.confirmation import confirming, usual_level
from replical.lab.journal.journal import Journal
from replical.lab.protocol import Protocol
from replical.lab.sessions.labelling import RemoteRun
from replical.lab.tables import read_pool
from replical.learners.handicap.confirm import Confirm, confirm_plan
from replical.learners.planning import plan
from support.lab import Run, content, world


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A certificate of a run of handicap."""
    with Run(tmp_path_factory.mktemp("published"), content(batch=2), world(seed=31), "a") as run:
        return certify(run.session)


@pytest.fixture
def begin(published, tmp_path, monkeypatch):
    """Sessions that confirm it on one pool, each with a journal of its own and the same private seed."""
    monkeypatch.setattr("replical.lab.journal.journal.secrets.token_hex", lambda size: "5e" * size)
    columns = world(seed=32, items=300)
    truth = dict(zip(columns["id"], columns["truth"], strict=True))
    protocol = confirming(published, margin=0.35, level=0.05)
    lab, journals = read_pool(columns, protocol.recipe), []

    def session(name, journal=None):
        if journal is None:
            journal = Journal(tmp_path / f"{name}.db")
            journals.append(journal)
        return Session(protocol, lab, journal), truth

    yield session
    for journal in journals:
        journal.close()


def finish(session, truth):
    while session.open:
        session.answer_all({item: truth[item] for item in session.open})
    session.finish()
    return body_of(session)


def test_whatever_happened_between_the_same_labels_give_the_same_bytes(begin):
    """Undo, a wrong label that is corrected, a skip that is lifted, a session that starts again: only counts remember it."""
    plain = finish(*begin("plain"))
    session, truth = begin("restless")
    other = {"no": "yes", "yes": "no"}
    first = session.open[0]
    session.answer(first, other[truth[first]])
    session.undo(first)
    assert first in session.open
    session.answer(first, other[truth[first]])
    session.correct(first, truth[first])
    second = session.open[0]
    session.skip(second)
    session.undo(second)
    session, _ = begin("restless", session.journal)
    told = finish(session, truth)
    assert told["labels"].pop("corrected") == 1
    assert plain["labels"].pop("corrected") == 0
    assert told == plain
    again, _ = begin("restless", session.journal)
    assert certify(again)["digest"] == certify(session)["digest"]
    with Journal(session.journal.where, write=False) as journal:
        assert verify(certify(again), again.lab, journal).valid


def test_people_label_beside_it(begin):
    session, truth = begin("beside")
    with Journal(session.journal.where, runner=False) as journal:
        people = RemoteRun(journal)
        assert (people.open, people.budget) == (session.open, None)
        for item in people.open:
            people.answer(item, truth[item], annotator="Ada")
        session.refresh()
        people.refresh()
        assert people.open == session.open
        assert set(session.ledger.labels) == {event.item for event in journal.events() if event.kind == "answer"}
        finish(session, truth)
        people.refresh()
        assert people.ended


def test_levels_are_the_protocols_own():
    """β of a protocol of handicap, δ of any other; the margin is ε, the batch the protocol's."""
    for learner, level in (("handicap", 0.2), ("a2", 0.2), ("handicap-strict", 0.05)):
        changes = {"rho": 0.1} if learner == "handicap-strict" else {}
        said = content(learner.removesuffix("-strict"), batch=3, **changes)
        assert float(usual_level(Protocol.of(said))) == level


def test_only_hypotheses_of_the_class_with_a_plan_of_their_own():
    made = confirm_plan(6, margin=0.1, level=0.05)
    for h in (-1, 6, True, 1.0, "m1"):
        with pytest.raises(ValueOutOfRange, match="the answer must be one of the 6 hypotheses from 0 on, got"):
            Confirm(plan=made, h=h)
    with pytest.raises(PlanMismatch, match="Confirm was given a plan for 'handicap'"):
        Confirm(plan=plan("handicap", 6, epsilon=0.1, delta=0.1, rho=0.1), h=0)
