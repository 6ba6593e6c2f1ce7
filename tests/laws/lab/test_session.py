"""A run is a function of its labels: order, pauses, skips and corrections leave no other trace in the result."""

import random
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from replical import Session
from replical.errors import EmptyVersionSpace, PoolExhausted
from replical.lab.certificate.file import body_of
from replical.lab.journal.journal import Journal
from replical.lab.journal.ledger import Ledger
from support.sessions import LEARNERS, figures

REALIZABLE = ("cal", "replical")  # a wrong label may leave them without a hypothesis


def errand(world, path, chance, *, skipping=0.0):
    """Run to the end as people do: any open item, one or several at a time, with skips, going home at any moment."""
    while True:
        with Journal(path) as journal:
            session = Session(world.protocol, world.lab, journal)
            while session.open and chance.random() < 0.85:
                some = chance.sample(session.open, chance.randint(1, min(4, len(session.open))))
                if chance.random() < skipping and len(session.ledger.skipped) < 6:
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
    known = Ledger()
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
    """When an item was skipped does not matter either, only that it was.

    Except for labels that the skip made superfluous: they were given, so they are counted, and nothing else follows from them.
    """
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
            needed, given = body_of(straight), body_of(session)
            assert straight.used_labels[0].items() <= session.used_labels[0].items()
            if superfluous := len(session.used_labels[0]) - len(straight.used_labels[0]):
                assert given["labels"]["answered"] == needed["labels"]["answered"] + superfluous
                needed |= {"transcript": given["transcript"], "labels": given["labels"]}
            assert needed == given


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
        item = chance.choice(sorted(session.ledger.labels))
        before = dict(session.ledger.labels)
        other = next(label for label in world.protocol.labels if label != world.truth[item])
        truth = world.truth | {item: other}

        def corrected(label, truth, annotator=None):
            session.correct(item, label, annotator=annotator)
            return figures(world.finish(session, truth).result)

        expected = ending(lambda: figures(world.learned(private, truth)))
        assert ending(lambda: corrected(other, truth, "Ada")) == expected
        assert {each: session.ledger.labels[each] for each in before if each != item} == {
            each: label for each, label in before.items() if each != item
        }
        assert ending(lambda: corrected(world.truth[item], world.truth)) == first
        assert session.ledger.corrected == 2
        told = [(event.item, event.label, event.annotator) for event in journal.events() if event.kind == "correction"]
        codes = [world.protocol.labels.index(label) for label in (other, world.truth[item])]
        assert told == [(item, codes[0], "Ada"), (item, codes[1], None)]
