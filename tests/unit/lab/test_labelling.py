"""Several people at one run: nothing charged twice, nobody held up, votes, taking back, and a run driven elsewhere."""

import contextlib
import threading
import time

import numpy as np
import pytest

from replical import Protocol, Session, read_pool
from replical.cli import main
from replical.errors import BadJournal, BadLabel, ValueOutOfRange
from replical.lab.certificate.file import body_of
from replical.lab.journal.journal import Event, Journal
from replical.lab.journal.reservations import Reservations
from replical.lab.sessions.labelling import Desk, RemoteRun
from support.lab import content, world

CUT, ITEMS = 40, 600


def protocol(**learner):
    said = {"name": "handicap", "epsilon": 0.2, "delta": 0.1, "rho": 0.3, "batch": 5} | learner
    return Protocol.of({
        "schema": "replical.protocol/1", "seed": "desk",
        "class": {"kind": "thresholds", "features": ["x"], "count": 100},
        "labels": {"values": ["no", "yes"]}, "learner": said,
    })  # fmt: skip


def lab(made):
    x = np.random.default_rng(5).integers(99, size=ITEMS)
    return read_pool({"id": [f"{n:04d}" for n in range(ITEMS)], "x": x}, made.recipe), x


@pytest.fixture
def desk(tmp_path):
    made = protocol()
    pool, x = lab(made)
    with Journal(tmp_path / "a.db") as journal:
        yield Desk(Session(made, pool, journal)), lambda item: "yes" if x[int(item)] >= CUT else "no"


def alone(made, truth, path):
    """The same run with one person, on the same private order."""
    pool, _ = lab(made)
    with Journal(path, write=False) as old:
        private = old.created["private"]
    with Journal(path.with_name("alone.db")) as journal:
        journal.create({"protocol": dict(made.content), "items": len(pool),
                        "protocol_fingerprint": made.fingerprint, "pool_fingerprint": pool.fingerprint,
                        "private": private})  # fmt: skip
        session = Session(made, pool, journal)
        while session.open:
            session.answer_all({item: truth(item) for item in session.open})
        session.finish()
        return body_of(session)


def test_three_people_and_the_result_of_one(desk, tmp_path):
    """Whoever answers what and when, the result is that of the labels."""
    desk, truth = desk

    def label(name):
        while not desk.ended:
            item = desk.next(name)
            if item is None:
                continue
            with contextlib.suppress(BadLabel):  # somebody else was faster
                desk.answer(name, item, truth(item))

    people = [threading.Thread(target=label, args=(name,)) for name in ("ann", "bob", "cat")]
    for person in people:
        person.start()
    for person in people:
        person.join()
    session = desk.session
    answered = [event.item for event in session.journal.events() if event.kind == "answer"]
    assert len(answered) == len(set(answered))
    session.finish()
    assert body_of(session) == alone(session.protocol, truth, tmp_path / "a.db")


def test_people_get_different_items_and_a_slow_one_holds_up_nobody(tmp_path):
    now = [0.0]
    made = protocol()
    pool, x = lab(made)
    with Journal(tmp_path / "a.db") as journal:
        journal.reservations = Reservations(journal._database, lambda: now[0])
        desk = Desk(Session(made, pool, journal), clock=lambda: now[0])
        taken = [desk.next(name) for name in "abcde"]
        assert len(set(taken)) == 5
        assert desk.next("a") == taken[0]  # what one was shown stays theirs
        for name, item in zip("bcde", taken[1:], strict=True):
            desk.answer(name, item, "yes" if x[int(item)] >= CUT else "no")
        assert desk.next("b") is None  # labelling the slow one's item too would be work for nothing
        now[0] = 11.0
        assert desk.next("b") == taken[0]  # but it is not reserved for long
        desk.answer("b", taken[0], "yes" if x[int(taken[0])] >= CUT else "no")
        with pytest.raises(BadLabel, match="has its label already"):
            desk.answer("a", taken[0], "no")


def test_votes_decide_and_are_counted(tmp_path):
    made = protocol()
    pool, _ = lab(made)
    with Journal(tmp_path / "a.db") as journal:
        desk = Desk(Session(made, pool, journal), votes=3)
        item = desk.next("ann")
        desk.answer("ann", item, "yes")
        assert item in desk.session.open
        with pytest.raises(BadLabel, match="ann has voted"):
            desk.answer("ann", item, "no")
        assert desk.next("ann") != item
        desk.answer("bob", item, "no")
        desk.answer("cat", item, "yes")
        assert desk.session.ledger.labels[item] == 1
        assert desk.agreement() == {"pairs": 3, "same": pytest.approx(1 / 3), "beyond_chance": pytest.approx(-0.5)}
        again = Desk(Session(made, pool, journal), votes=3)
        assert again.session.ledger.votes[item] == {"ann": 1, "bob": 0, "cat": 1}
    for wrong in (0, 2, True, 1.0):
        with pytest.raises(ValueOutOfRange, match="votes must be an odd number"):
            Desk(desk.session, votes=wrong)


def test_a_run_driven_elsewhere(tmp_path):
    """The runner holds the lock and waits; people answer through the journal; the result is that of the labels."""
    made = protocol()
    pool, x = lab(made)
    path = tmp_path / "a.db"
    with Journal(path) as journal:
        session = Session(made, pool, journal)
        with Journal(path, runner=False) as beside:
            desk = Desk(RemoteRun(beside))
            while not session.ended:
                item = desk.next("ann")
                if item is not None:
                    desk.answer("ann", item, "yes" if x[int(item)] >= CUT else "no")
                session.refresh()
            session.finish()
            desk.next("ann")
            assert desk.ended
        assert body_of(session) == alone(made, lambda item: "yes" if x[int(item)] >= CUT else "no", path)
    with pytest.raises(BadJournal, match="there is no journal"):
        Journal(tmp_path / "none.db", runner=False)


# ---- several opinions, several writers ----


@pytest.fixture
def three_labels(tmp_path):
    """A desk of three votes on three labels, with a clock."""
    made = Protocol.of({
        "schema": "replical.protocol/1", "seed": "three", "labels": {"values": ["a", "b", "c"]},
        "class": {"kind": "table", "candidates": [{"name": name} for name in ("one", "two", "three")]},
        "learner": {"name": "handicap", "epsilon": 0.2, "delta": 0.1, "rho": 0.3, "batch": 3},
    })  # fmt: skip
    said = np.random.default_rng(0).choice(["a", "b", "c"], size=(300, 3))
    columns = {"id": [f"i{n}" for n in range(300)]} | {
        name: said[:, k] for k, name in enumerate(("one", "two", "three"))
    }
    now = [0.0]
    with Journal(tmp_path / "three.db") as journal:
        journal.reservations = Reservations(journal._database, lambda: now[0])
        yield Desk(Session(made, read_pool(columns, made.recipe), journal), votes=3, clock=lambda: now[0]), now


def test_a_tie_goes_to_one_more_person(three_labels):
    desk, _ = three_labels
    item = desk.next("ann")
    for name, label in zip(("ann", "bob", "cat"), "abc", strict=True):
        desk.answer(name, item, label)
    assert item in desk.session.open  # three people, three labels
    assert item in [desk.next(name) for name in ("dan", "eve", "fay")]
    assert desk.session.open.count(item) == 1
    desk.answer("dan", item, "b")
    assert desk.session.ledger.labels[item] == 1


def test_who_cannot_say_votes_so(three_labels):
    desk, _ = three_labels
    item = desk.next("ann")
    desk.answer("ann", item, "a")
    desk.skip("bob", item)
    assert item in desk.session.open  # one person's doubt removes nothing
    desk.skip("cat", item)
    assert item in desk.session.ledger.skipped
    assert item not in desk.session.open
    assert desk.session.ledger.agreement()["pairs"] == 3
    desk.undo("cat")
    assert item in desk.session.open
    desk.answer("dan", item, "a")
    assert desk.session.ledger.labels[item] == 0
    assert item not in desk.session.ledger.skipped


def test_people_take_back_their_own(desk):
    desk, _ = desk
    item = desk.next("ann")
    desk.answer("ann", item, "yes")
    desk.session.correct(item, "no", annotator="the chief")
    with pytest.raises(BadLabel, match="nothing to take back"):
        desk.undo("ann")
    assert desk.session.ledger.labels[item] == 0
    desk.session.undo(item)  # whoever runs may do anything
    assert item not in desk.session.ledger.labels


def test_what_could_not_be_written_can_still_be_taken_back(desk, monkeypatch):
    desk, _ = desk
    item = desk.next("ann")
    desk.answer("ann", item, "yes")

    def full(*_):
        raise BadJournal("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "append", full)
        with pytest.raises(BadJournal, match="full"):
            desk.undo("ann")
    assert desk.undo("ann") == item


def test_earlier_votes_keep_nobody_from_labelling_alone(tmp_path):
    made = protocol(batch=1)
    pool, _ = lab(made)
    with Journal(tmp_path / "a.db") as journal:
        several = Desk(Session(made, pool, journal), votes=3)
        item = several.next("ann")
        several.answer("ann", item, "yes")
        one = Desk(Session(made, pool, journal))
        assert one.next("ann") == item
        one.answer("ann", item, "no")
        assert one.session.ledger.labels[item] == 0


def test_the_first_of_two_answers_counts(desk, tmp_path):
    """Two servers beside one run may write at the same moment; the live run and its replay agree on what counts."""
    desk, truth = desk
    session = desk.session
    item = session.open[0]
    session.answer(item, truth(item), annotator="ann")
    other = "no" if truth(item) == "yes" else "yes"
    session.journal.append(
        [Event(kind="answer", item=item, label=session.protocol.labels.index(other), annotator="bob")]
    )
    session.journal.append([Event(kind="skip", item=item, annotator="bob")])
    session.refresh()
    assert (session.ledger.labels[item], session.ledger.skipped) == (session.protocol.labels.index(truth(item)), set())
    while session.open:
        session.answer_all({each: truth(each) for each in session.open})
    session.finish()
    again = Session(session.protocol, session.lab, session.journal)
    assert again.ended
    assert body_of(again) == body_of(session) == alone(session.protocol, truth, tmp_path / "a.db")


def test_a_label_that_lifts_a_skip_is_heard_live(desk):
    desk, truth = desk
    session = desk.session
    item = session.open[0]
    session.skip(item)
    session.journal.append([Event(kind="answer", item=item, label=session.protocol.labels.index(truth(item)))])
    session.refresh()
    assert Session(session.protocol, session.lab, session.journal).open == session.open


def test_the_second_of_two_servers_is_told(tmp_path):
    made = protocol()
    pool, _ = lab(made)
    path = tmp_path / "a.db"
    with Journal(path) as journal, Journal(path, runner=False) as beside, Journal(path, runner=False) as third:
        session = Session(made, pool, journal)
        one, two = RemoteRun(beside), RemoteRun(third)
        item = session.open[0]
        append = third.append

        def late(events, **known):
            third.append = append
            one.answer(item, "yes", annotator="ann")  # between the other's look and its writing
            return append(events, **known)

        third.append = late
        with pytest.raises(BadLabel, match="has its label already"):
            two.answer(item, "no", annotator="bob")
        assert [event.label for event in journal.events() if event.kind == "answer"] == [1]
        assert session.protocol.labels[Session(made, pool, journal).ledger.labels[item]] == "yes"
        with pytest.raises(BadLabel, match="has its label already"):
            two.skip(item, annotator="bob")
        with pytest.raises(BadLabel, match="nothing of yours"):
            two.undo(item, annotator="bob")


def test_votes_of_two_servers_at_the_same_moment_decide(tmp_path):
    """Two votes are written at once after a first one: three people have voted, and nobody else is needed."""
    made = protocol()
    pool, _ = lab(made)
    path = tmp_path / "a.db"
    with Journal(path) as journal, Journal(path, runner=False) as beside, Journal(path, runner=False) as third:
        item = Session(made, pool, journal).open[0]
        one, two = RemoteRun(beside), RemoteRun(third)
        one.vote(item, "yes", annotator="ann", needed=3)
        append = third.append

        def late(events, **known):
            third.append = append
            one.vote(item, "no", annotator="bob", needed=3)  # between the other's look and its writing
            return append(events, **known)

        third.append = late
        two.vote(item, "yes", annotator="cat", needed=3)
        assert two.ledger.votes[item] == {"ann": 1, "bob": 0, "cat": 1}
        assert two.ledger.labels[item] == 1
        assert item not in two.open


def test_a_run_that_has_ended_is_not_reopened_from_beside(tmp_path):
    made = protocol()
    pool, x = lab(made)
    path = tmp_path / "a.db"
    with Journal(path) as journal, Journal(path, runner=False) as beside:
        session = Session(made, pool, journal)
        elsewhere = RemoteRun(beside)
        while session.open:
            item = session.open[0]
            elsewhere.answer(item, "yes" if x[int(item)] >= CUT else "no", annotator="ann")
            session.refresh()
            elsewhere.refresh()
        session.finish()
        elsewhere.refresh()
        assert elsewhere.ended
        with pytest.raises(BadLabel, match="has ended.*replical journal correct"):
            elsewhere.undo(item, annotator="ann")
        journal.append([Event(kind="answer", item=item, label=0, annotator="late")])
        elsewhere.refresh()
        assert elsewhere.ended


# ---- a run that somebody else drives ----


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = world(seed=5, items=150)
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(row) for row in rows)]
    (tmp_path / "pool.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "p.toml").write_text(Protocol.of(content(batch=8)).toml())
    return tmp_path


RUN = ["run", "p.toml", "--pool", "pool.csv", "--journal", "a.db", "--out", "a.json", "--truths", "0"]


@pytest.mark.slow
def test_the_last_label_may_be_taken_back_beside_the_run(folder):
    """The run gives people a moment before it writes its certificate."""
    codes = []
    runner = threading.Thread(target=lambda: codes.append(main([*RUN, "--ask", "journal"])))
    runner.start()
    truth = dict(line.split(",")[:3:2] for line in (folder / "pool.csv").read_text().splitlines()[1:])
    while not (folder / "a.db").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    taken_back, last = False, None
    with Journal("a.db", runner=False) as beside:
        run = RemoteRun(beside)
        while not run.ended and runner.is_alive():
            run.refresh()
            for item in run.open:
                run.answer(item, truth[item], annotator="ann")
                last = item
            time.sleep(0.3)
            run.refresh()
            if last is not None and not run.open and not taken_back:
                time.sleep(0.4)  # nothing more was asked for: it may have been the last one
                run.refresh()
                if not run.open:
                    run.undo(last, annotator="ann")
                    taken_back = True
    runner.join(60)
    assert codes == [0]
    assert taken_back
    assert main(["verify", "a.json", "--pool", "pool.csv", "--journal", "a.db"]) == 0
