"""``replical journal export`` and ``replical journal correct``: what a journal tells and what it never tells."""

import csv
import io
import json

import pytest

from replical import Session
from replical.lab.journal.journal import Event, Journal
from support.journals import begun, refused, unprotected, write_into


def test_export_writes_to_the_screen_or_a_file(make_world, tmp_path, command):
    """The same bytes either way, for a run with an answer, a skip and a correction, each with its annotator."""
    world = make_world({"name": "a2", "batch": 3})
    with Journal(tmp_path / "a.db") as journal:
        session = Session(world.protocol, world.lab, journal, annotator="Ada")
        answered, skipped = session.open[:2]
        session.answer(answered, "yes")
        session.skip(skipped, annotator="Grace")
        session.correct(answered, "no", annotator="Zoë, MD")
    code, out, _ = command("journal", "export", tmp_path / "a.db")
    assert code == 0
    assert command("journal", "export", tmp_path / "a.db", "--out", tmp_path / "a.csv")[0] == 0
    assert (tmp_path / "a.csv").read_bytes().decode() == out
    rows = [
        tuple(row[key] for key in ("kind", "item", "label", "annotator")) for row in csv.DictReader(io.StringIO(out))
    ]
    assert [row for row in rows if row[0] in ("answer", "skip", "correction")] == [
        ("answer", answered, "yes", "Ada"),
        ("skip", skipped, "", "Grace"),
        ("correction", answered, "no", "Zoë, MD"),
    ]
    asked = [row[1] for row in rows if row[0] == "ask"]
    assert asked[:2] == [answered, skipped]
    assert len(asked) == 4  # three, and one in place of the skipped one
    assert command("journal", "export", tmp_path / "a.db", "--out", tmp_path / "no" / "a.csv")[0] == 2


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ada:{}@127.0.0.1:1/lab",  # nobody listens there, or the driver is missing
        "nosuchdatabase://ada:{}@127.0.0.1/lab",
        "postgresql+nosuchdriver://ada:{}@127.0.0.1/lab",
        "://ada:{}@127.0.0.1/lab",
    ],
)
@pytest.mark.parametrize("password", ["hunter2", "a%40hunter2", "%hunter2%"])
def test_a_password_is_never_shown(url, password, command):
    """Not by the library, not by any command, not as JSON."""
    url = url.format(password)
    told = [refused(url, write=write) for write in (True, False)]
    for words in (["journal", "export", url], ["journal", "correct", url, "--item", "a", "--label", "yes"]):
        code, out, err = command(*words)
        assert (code, out) == (2, "")
        told.append(err)
    assert all("127.0.0.1" in text for text in told)
    assert not any("hunter2" in text for text in told)


def test_a_label_that_is_none_can_be_exported(tmp_path, command):
    """Whoever looks for a damaged event needs the export most."""
    with Journal(path := begun(tmp_path)) as journal:
        journal.append([Event(kind="answer", item="one", label=7)])
    code, out, _ = command("journal", "export", path)
    assert code == 0
    assert ",label 7," in out


def test_a_correction_of_nothing_leaves_nothing_behind(tmp_path, command):
    code, _, err = command("journal", "correct", tmp_path / "typo.db", "--item", "u", "--label", "no")
    assert (code, "there is no journal" in err, list(tmp_path.iterdir())) == (2, True, [])


def test_a_journal_that_is_whole_tells_its_head(tmp_path, command):
    """What to note down; one that is not whole is refused, and the event named."""
    with Journal(tmp_path / "a.db") as journal:
        journal.create({"protocol": {"labels": {"values": ["no", "yes"]}}})
        journal.append([Event(kind="answer", item="one", label=1), Event(kind="skip", item="two")])
        head = journal.head
    code, out, _ = command("journal", "show", tmp_path / "a.db")
    assert code == 0
    assert "is whole: 3 events, 1 label, 1 skipped, 0 corrected." in out
    assert head.digest in out
    told = json.loads(command("journal", "show", tmp_path / "a.db", "--json")[1])
    assert (told["events"], told["head"], told["labels"]) == (3, head.digest, 1)
    unprotected(tmp_path / "a.db")
    write_into(tmp_path / "a.db", "UPDATE replical_events SET label = 0 WHERE seq = 2")
    code, out, err = command("journal", "show", tmp_path / "a.db")
    assert (code, out) == (2, "")
    assert "event 2 is not what was written there" in err
