"""Two servers beside one run, and many people: how much of their work is thrown away."""

import heapq
import random
from contextlib import ExitStack

import pytest

from replical import Session
from replical.errors import BadJournal, BadLabel
from replical.lab.journal.journal import Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.journal.reservations import Reservations
from replical.lab.sessions.labelling import Desk, RemoteRun

BATCH, PEOPLE = 12, 10


@pytest.fixture(scope="module")
def world(make_world):
    return make_world({"name": "a2", "batch": BATCH, "epsilon": 0.1}, items=400, noise=0.05)


def simulated(world, where, *, shared, votes=1, seed=1):
    """A run to its end in simulated time: what was answered, how many answers were thrown away, how long it took."""
    chance, now = random.Random(seed), [0.0]
    thrown = given = 0
    with ExitStack() as stack:
        session = Session(world.protocol, world.lab, stack.enter_context(Journal(where)))
        journals = [stack.enter_context(Journal(where, runner=False)) for _ in range(2)]
        for number, journal in enumerate(journals):
            kept = journal if shared else stack.enter_context(Journal(where.with_name(f"{number}.db")))
            journal.reservations = Reservations(kept._database, lambda: now[0])
        desks = [Desk(RemoteRun(journal), votes=votes) for journal in journals]
        waiting = [(chance.uniform(0, 3), f"p{number}", number % 2, None) for number in range(PEOPLE)]
        heapq.heapify(waiting)
        while not session.ended:
            now[0], name, which, item = heapq.heappop(waiting)
            if item is not None:
                try:
                    desks[which].answer(name, item, world.truth[item])
                except BadLabel:
                    thrown += 1
                given += 1
                session.refresh()
            item = desks[which].next(name)
            later = 1.0 if item is None else chance.uniform(2, 9)  # seconds until they look again, or answer
            heapq.heappush(waiting, (now[0] + later, name, which, item))
        session.finish()
        answers = Ledger.of(session.journal.events()).labels
        assert answers == {item: world.protocol.labels.index(world.truth[item]) for item in answers}
        return len(answers), given, thrown


def test_the_work_of_two_servers_is_not_done_twice(world, tmp_path):
    """Nobody is slower than the patience here, so that nothing is thrown away; unless each server has its own book."""
    labels, given, thrown = simulated(world, tmp_path / "apart.db", shared=False)
    assert thrown > given / 4
    print(f"{thrown} of {given} answers thrown away for {labels} labels")
    labels, given, thrown = simulated(world, tmp_path / "shared.db", shared=True)
    assert (given, thrown) == (labels, 0)


@pytest.mark.slow
def test_votes_of_two_servers(world, tmp_path):
    """Three people an item, from two servers: three votes each, and none for nothing."""
    labels, given, thrown = simulated(world, tmp_path / "votes.db", shared=True, votes=3)
    assert thrown == 0
    assert given == pytest.approx(3 * labels, abs=2 * BATCH)


def test_an_item_that_was_labelled_between_two_looks(world, tmp_path):
    """Heard and freed by the other server after this one looked at the journal: it is not given out again."""
    with Journal(tmp_path / "a.db") as journal, Journal(tmp_path / "a.db", runner=False) as beside:
        session = Session(world.protocol, world.lab, journal)
        one, two = (Desk(RemoteRun(beside)) for _ in range(2))
        item = one.next("ann")
        take = beside.reservations.take

        def late(*words):
            beside.reservations.take = take
            one.answer("ann", item, world.truth[item])
            return take(*words)

        beside.reservations.take = late
        assert two.next("bob") not in (None, item)
        session.refresh()
        assert item not in session.open


def test_reservations_that_fail_cost_no_label(world, tmp_path, monkeypatch):
    """The label is on the disk and acknowledged; only `take` says that something is wrong."""
    with Journal(tmp_path / "a.db") as journal:
        session = Session(world.protocol, world.lab, journal)
        desk = Desk(session)
        item = desk.next("ann")

        def full(*_):
            raise BadJournal("the disk is full")

        monkeypatch.setattr(journal.reservations._database, "writing", full)
        desk.answer("ann", item, world.truth[item])
        assert item in session.ledger.labels
        assert desk.undo("ann") == item
        assert item in session.open
        with pytest.raises(BadJournal, match="full"):
            desk.next("bob")


def test_reading_needs_no_reservations(tmp_path):
    with Journal(tmp_path / "a.db") as journal, journal._writing() as connection:
        connection.exec_driver_sql("DROP TABLE replical_reservations")
    with Journal(tmp_path / "a.db", write=False) as journal:
        assert journal.events() == []
