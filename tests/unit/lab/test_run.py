"""A run from Python: who may label, what is kept when something breaks, what is written, and what is refused."""

import json
import re

import pytest

from replical import KnownLabels, Protocol, Session, read_pool, run
from replical.cli import main
from replical.errors import BadKey, BadLabel, BadProtocol, BadTable, BadUsage, PlanMismatch
from replical.lab.certificate.file import body_of, certify, read
from replical.lab.certificate.verify import verify
from replical.lab.journal.journal import Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.release import vote_of
from replical.lab.run import Run
from support.lab import answered, content, world, write_csv
from support.registering import said as registering

TABLE = world(seed=5, items=150)
TRUTH = dict(zip(TABLE["id"], TABLE["truth"], strict=True))
SAID = content(batch=4, max_labels=24)


@pytest.fixture(autouse=True)
def seed(monkeypatch):
    """The private seed is the same every time, so that a test fails always or never."""
    monkeypatch.setattr("replical.lab.journal.journal.secrets.token_hex", lambda size: "5e" * size)


@pytest.fixture
def straight(tmp_path):
    """The body of the certificate of a run that a session was told everything of."""
    protocol = Protocol.of(SAID)
    with Journal(tmp_path / "straight.db") as journal:
        return certify(answered(Session(protocol, read_pool(TABLE, protocol.recipe), journal), TABLE))["body"]


def labels_in(path):
    with Journal(path, write=False) as journal:
        return Ledger.of(journal.events()).labels


class Batches:
    """Somebody who is shown what is open."""

    def answer_open(self, session):
        while session.open:
            session.answer_all({item: TRUTH[item] for item in session.open})


# ---- who labels ----


@pytest.mark.parametrize("labels", [TRUTH, TRUTH.__getitem__, Batches()], ids=["dict", "function", "source"])
@pytest.mark.parametrize("as_files", [False, True])
def test_whoever_labels_the_run_is_the_same(tmp_path, straight, labels, as_files):
    protocol, pool = SAID, TABLE
    if as_files:
        protocol, pool = tmp_path / "p.toml", tmp_path / "pool.csv"
        protocol.write_text(Protocol.of(SAID).toml())
        write_csv(pool, TABLE)
    ended = run(protocol, pool, labels, tmp_path / "a.db", out=tmp_path / "a.json")
    assert ended.open == []
    assert ended.certificate["body"] == straight
    assert read(tmp_path / "a.json") == ended.certificate
    assert verify(ended.certificate).valid
    assert ended.result.labels == len(labels_in(tmp_path / "a.db")) == straight["labels"]["asked"]


def test_a_series_of_labels(tmp_path, straight):
    """Rows without a label are labels that are missing."""
    pandas = pytest.importorskip("pandas")
    known = pandas.Series(TRUTH)
    first = run(SAID, TABLE, {}, tmp_path / "a.db").open
    assert run(SAID, TABLE, known.drop(first[1:]), tmp_path / "a.db").open == first[1:]
    known[first[1]] = None
    assert run(SAID, TABLE, known, tmp_path / "a.db").open == [first[1]]
    assert run(SAID, TABLE, pandas.Series(TRUTH), tmp_path / "a.db").certificate["body"] == straight
    with pytest.raises(BadUsage, match="^labels come from one column of a table, with the ids as its index"):
        run(SAID, TABLE, pandas.DataFrame(TABLE), tmp_path / "a.db")


def test_ids_are_texts(tmp_path):
    """Numbers as ids of the table are the same items as numbers as keys of the labels."""
    numbered = TABLE | {"id": list(range(len(TRUTH)))}
    known = dict(zip(numbered["id"], TABLE["truth"], strict=True))
    ended = run(SAID, numbered, known, tmp_path / "a.db")
    assert set(labels_in(tmp_path / "a.db")) <= {str(each) for each in known}
    assert ended.open == []


@pytest.mark.parametrize("as_function", [False, True])
def test_none_is_for_an_item_that_nobody_can_label(tmp_path, as_function):
    hard = run(SAID, TABLE, {}, tmp_path / "a.db").open[1]
    known = TRUTH | {hard: None}
    ended = run(SAID, TABLE, known.__getitem__ if as_function else known, tmp_path / "a.db")
    assert ended.session.ledger.skipped == {hard}
    assert ended.certificate["body"]["labels"]["skipped"] == 1
    assert hard not in labels_in(tmp_path / "a.db")


def test_whoever_asks_hears_how_far_it_is(tmp_path):
    seen = {"dict": [], "function": []}
    for name, labels in {"dict": TRUTH, "function": TRUTH.__getitem__}.items():
        run(SAID, TABLE, labels, tmp_path / f"{name}.db",
            progress=lambda session, name=name: seen[name].append(len(session.ledger.labels)))  # fmt: skip
    asked = len(labels_in(tmp_path / "dict.db"))
    assert seen["function"] == list(range(1, asked + 1))
    assert seen["dict"] == list(range(4, asked + 1, 4))


# ---- labels that are missing, and interruptions ----


def test_a_run_waits_for_labels(tmp_path, straight):
    begun = run(SAID, TABLE, {}, tmp_path / "a.db", out=tmp_path / "a.json")
    assert isinstance(begun, Run)
    assert (len(begun.open), begun.certificate) == (4, None)
    with pytest.raises(BadLabel, match="^the run has not ended: labels are missing$"):
        _ = begun.result
    assert not (tmp_path / "a.json").exists()
    known = {}
    while begun.open:  # as somebody does who labels what is open, and comes back
        known |= {item: TRUTH[item] for item in begun.open}
        begun = run(SAID, TABLE, known, tmp_path / "a.db")
    assert begun.certificate["body"] == straight
    assert set(known) == set(labels_in(tmp_path / "a.db"))


@pytest.mark.parametrize("error", [KeyboardInterrupt, ConnectionError])
def test_an_interruption_loses_nothing(tmp_path, straight, error):
    """Every label that was given is on the disk, none is asked for twice, and the journal is free for the next call."""
    given = []

    def tired(item):
        if len(given) in stops:
            stops.remove(len(given))
            raise error
        given.append(item)
        return TRUTH[item]

    stops = {0, 3, 4, 11}
    for expected in sorted(stops):
        with pytest.raises(error):
            run(SAID, TABLE, tired, tmp_path / "a.db")
        assert len(given) == len(labels_in(tmp_path / "a.db")) == expected
    ended = run(SAID, TABLE, tired, tmp_path / "a.db")
    assert ended.certificate["body"] == straight
    assert len(given) == len(set(given)) == straight["labels"]["asked"]


def test_a_run_that_ended_is_found_again(tmp_path, straight):
    run(SAID, TABLE, TRUTH, tmp_path / "a.db")
    asked = []
    again = run(SAID, TABLE, lambda item: asked.append(item), tmp_path / "a.db")
    assert (asked, again.certificate["body"]) == ([], straight)


def test_an_open_journal_stays_open(tmp_path, straight):
    with Journal(tmp_path / "a.db") as journal:
        ended = run(SAID, read_pool(TABLE, Protocol.of(SAID).recipe), TRUTH, journal)
        assert body_of(ended.session) == straight
        assert journal.head.seq == int(ended.certificate["provenance"]["journal_events"])


def test_the_command_goes_on_where_python_stopped(tmp_path, monkeypatch, capsys):
    """And the other way round: one journal, one certificate."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(Protocol.of(SAID).toml())
    write_csv(tmp_path / "pool.csv", TABLE)
    begun = run("p.toml", "pool.csv", {}, "a.db")
    words = ["run", "p.toml", "--pool", "pool.csv", "--journal", "a.db", "--out", "a.json", "--truths", "0", "--json"]
    assert main([*words, "--labels", "pool.csv:truth"]) == 0
    told = json.loads(capsys.readouterr().out)
    ended = run("p.toml", "pool.csv", {}, "a.db")
    assert ended.certificate["body"] == read(tmp_path / "a.json")["body"]
    assert set(begun.open) <= set(labels_in("a.db"))
    assert told["labels"] == ended.session.counts


# ---- names, measuring, votes, registration, keys ----


def test_what_else_a_run_may_be_told(tmp_path):
    ended = run(SAID, TABLE, TRUTH, tmp_path / "a.db", lab="oslo", annotator="Ada", measure=10)
    assert ended.certificate["body"]["lab"] == "oslo"
    assert ended.certificate["body"]["answer_error"]["labels"] == 10
    with Journal(tmp_path / "a.db", write=False) as journal:
        assert {event.annotator for event in journal.events() if event.kind == "answer"} == {"Ada"}


def test_a_private_run_makes_no_certificate(tmp_path):
    ended = run(SAID, TABLE, TRUTH, tmp_path / "a.db", lab="oslo", out=tmp_path / "a.json", private=True)
    assert (ended.open, ended.certificate) == ([], None)
    assert vote_of(ended.session)["votes"] == [ended.result.hypothesis]
    assert not (tmp_path / "a.json").exists()


# ---- what is refused ----


REFUSED = [
    ({"protocol": 7}, BadUsage, "a protocol is a Protocol, its file, or a dict of what the file says, got 7"),
    ({"protocol": {"schema": "replical.protocol/1"}}, BadProtocol, ""),
    ({"pool": {"id": ["a"]}}, BadTable, "m0"),
    ({"labels": ["no", "yes"]}, BadUsage, "labels come from a dict of ids and labels, or from a function of an id, got "
     "['no', 'yes']"),
    ({"labels": None}, BadUsage, "labels come from a dict of ids and labels, or from a function of an id, got None"),
    ({"labels": {"x1": "no"}}, BadLabel, "no label is of an item of the pool: labels are found by ids such as 'i0000', and "
     "there are labels of 'x1'"),
    ({"labels": dict.fromkeys(TRUTH, "perhaps")}, BadLabel, "'perhaps' for the item 'i"),
    ({"labels": lambda item: True}, BadLabel, "True for the item 'i"),
    ({"lab": "an\nother"}, BadUsage, ""),
    ({"measure": -3}, ValueError, "the error is measured with at least 1 label, got -3"),
    ({"beacon": "4f1c"}, BadUsage, "the protocol names no beacon: leave out --beacon 4f1c"),
    ({"key": "none.pem"}, BadKey, "none.pem"),
    ({"protocol": content("erm", k_final=15), "measure": 5}, PlanMismatch, "no item is left to measure the error on"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "error", "why"), REFUSED, ids=[str(number) for number in range(len(REFUSED))])
def test_bad_input_is_refused_in_a_sentence(tmp_path, changes, error, why):
    call = {"protocol": SAID, "pool": TABLE, "labels": TRUTH, "journal": tmp_path / "a.db"} | changes
    with pytest.raises(error) as refused:
        run(**call)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
    if "labels" not in changes or not isinstance(changes["labels"], dict | type(lambda: 0)):
        assert not (tmp_path / "a.db").exists(), "refused before anything was written"
    else:
        assert labels_in(tmp_path / "a.db") == {}


def test_known_labels_have_no_ids(tmp_path):
    protocol = Protocol.of(SAID)
    with pytest.raises(BadUsage, match="or from a function of an id, got <replical"):
        run(protocol, TABLE, KnownLabels(protocol.recipe.C, TABLE["truth"]), tmp_path / "a.db")


def test_public_items_are_compared_with_a_table(tmp_path):
    pool = read_pool(TABLE, Protocol.of(SAID).recipe)
    with pytest.raises(BadUsage, match="give the table itself"):
        run(SAID, pool, TRUTH, tmp_path / "a.db", public=TABLE)


@pytest.mark.parametrize("name", ["certificate", "registration"])
def test_the_file_of_another_run_is_not_replaced(tmp_path, name, monkeypatch):
    said = SAID if name == "certificate" else registering()
    option = {"certificate": "out", "registration": "register"}[name]
    run(said, TABLE, TRUTH, tmp_path / "a.db", lab="north", **{option: tmp_path / "file.json"})
    before = (tmp_path / "file.json").read_bytes()
    monkeypatch.setattr("replical.lab.journal.journal.secrets.token_hex", lambda size: "6f" * size)
    why = f"file.json is the {name} of another run: give another --{option}, or move it away"
    with pytest.raises(BadUsage, match=re.escape(why)):
        run(said, TABLE, TRUTH, tmp_path / "b.db", lab="north", **{option: tmp_path / "file.json"})
    assert (tmp_path / "file.json").read_bytes() == before
    assert labels_in(tmp_path / "b.db") == {}
