"""What no chain shows by itself: a journal that was written anew, or cut, after its certificate was published."""

import pytest

from replical import Session
from replical.errors import BadJournal
from replical.lab.certificate.verify import verify
from replical.lab.journal.journal import Event, Journal
from support.journals import unprotected, write_into
from support.lab import finished

HEAD = "the journal holds the events that it held when the certificate was made"


@pytest.fixture
def run(tmp_path):
    with finished(tmp_path, "handicap uncertified") as made:
        yield made


def failed(run, path):
    """What a check with this journal finds wrong."""
    with Journal(path, write=False) as journal:
        return {check.name: check.detail for check in verify(run.certificate, run.lab, journal).checks if not check.ok}


def test_a_journal_that_goes_on_is_still_the_one(run):
    """The head of the certificate is somewhere in its chain."""
    assert run.certificate["provenance"]["journal_head"] == run.journal.head.digest
    run.journal.append([Event(kind="measure", detail={"labels": 0})])
    assert failed(run, run.path) == {}


def test_a_journal_written_anew_is_found(run, tmp_path):
    """The same labels by somebody else, hashes and all: nothing but the head tells."""
    with Journal(tmp_path / "anew.db") as anew:
        anew.append(
            [
                event._replace(annotator=event.annotator and "Eve", seq=0, at="2001-01-01")
                for event in run.journal.events()
            ]
        )
    assert list(failed(run, tmp_path / "anew.db")) == [HEAD]


def test_an_end_that_was_cut_off_is_found(run):
    """With what SQLite remembers of it: the chain is whole, and too short."""
    last = run.journal.head.seq
    run.journal.close()
    unprotected(run.path)
    write_into(run.path, "DELETE FROM replical_events WHERE seq = ?", last)
    write_into(run.path, "UPDATE sqlite_sequence SET seq = ? WHERE name = 'replical_events'", last - 1)
    found = failed(run, run.path)
    assert "its end was cut off" in found[HEAD]


# ---- a run that had ended ----


def test_an_answer_that_changes_by_itself_is_an_error(run):
    """Another result is on record, and nobody corrected, took back or skipped anything since."""
    h = run.session.result.hypothesis
    run.journal.append([Event(kind="done", detail={"hypothesis": h + 1, "labels": 1})])
    with pytest.raises(BadJournal, match=f"had ended with hypothesis {h + 1} and comes to hypothesis {h} now"):
        Session(run.protocol, run.lab, run.journal)
    assert "although no label was corrected" in str(failed(run, run.path))


def test_an_answer_that_somebody_changed_is_none(run):
    """After a correction the answer may be another."""
    item, code = next(iter(run.session.ledger.labels.items()))
    run.journal.append([Event(kind="done", detail={"hypothesis": 99, "labels": 1})])
    run.journal.append([Event(kind="correction", item=item, label=1 - code)])
    run.journal.append([Event(kind="correction", item=item, label=code)])
    session = Session(run.protocol, run.lab, run.journal)
    session.finish()
    assert session.ledger.results[-1] == run.session.result.hypothesis


def test_a_run_that_had_ended_asks_no_more(run, tmp_path):
    """Labels that are gone from a journal written anew."""
    with Journal(tmp_path / "anew.db") as anew:
        answers = [event.seq for event in run.journal.events() if event.kind == "answer"]
        anew.append([event for event in run.journal.events() if event.seq != answers[-1]])
        with pytest.raises(BadJournal, match="and asks for more labels now"):
            Session(run.protocol, run.lab, anew)
