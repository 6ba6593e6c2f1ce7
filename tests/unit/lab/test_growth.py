"""A pool that grows: its parts, what is refused, and what registrations and certificates say of it."""

from itertools import count

import numpy as np
import pytest

from replical import Protocol, Session, read_pool
from replical.core.canonical import fingerprint
from replical.errors import BadJournal, BadTable
from replical.lab.certificate.compare import compare
from replical.lab.certificate.file import certify
from replical.lab.certificate.verify import verify
from replical.lab.journal.journal import Journal
from replical.lab.pool import Part
from replical.lab.registration import check_against, mismatches, register
from support.lab import ORDER, answered, content, private, world

HARD = {"epsilon": 0.05, "handicap": ORDER}  # 60 items prove nothing


def first(columns, items):
    """The first rows of a table."""
    return {name: column[:items] for name, column in columns.items()}


@pytest.fixture(autouse=True)
def _secrets(monkeypatch):
    """Private seeds that everybody knows: how long a run takes depends on them."""
    seeds = (private(f"growth {number}") for number in count())
    monkeypatch.setattr("replical.lab.journal.journal.secrets.token_hex", lambda size: next(seeds))


@pytest.fixture
def table():
    return world(items=1200, seed=5)


def pool_of(columns, protocol):
    return read_pool(columns, protocol.recipe)


def protocol_of(**changes):
    said = content(**(HARD | changes.pop("learner", {})))
    return Protocol.of(said | changes)


def grow(folder, table, sizes, protocol, name="lab"):
    """Runs to the end of ever longer pools, in one journal; the session and certificate of each."""
    for size in sizes:
        columns = first(table, size)
        with Journal(folder / f"{name}.db") as journal:
            session = answered(Session(protocol, pool_of(columns, protocol), journal), columns)
            yield session, certify(session), columns


def test_parts_are_found_in_any_format_and_scanned_one_after_the_other(table):
    protocol = protocol_of()
    short, long = (pool_of(first(table, size), protocol) for size in (60, 200))
    divided = long.divide([Part(60, short.fingerprint)])
    assert [part.items for part in divided.parts] == [60, 140]
    assert divided.parts[0].fingerprint == short.fingerprint == divided.first
    assert divided.divide(divided.parts).parts == divided.parts
    assert short.divide([Part(60, short.fingerprint)]) is short


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda column: column[:50], "it had 60 items and now has 50: bring back the rows that are missing"),
        (lambda column: column[::-1], "keep old rows as they were, and add new ones at the end"),
        (lambda column: column[1:], "keep old rows as they were, and add new ones at the end"),
        (lambda column: [*column[100:160], *column[:60]], "the fingerprint of rows 1 to 60 was"),
    ],
    ids=["fewer", "another order", "one lost", "new rows before old ones"],
)
def test_a_pool_that_has_lost_or_changed_items_is_refused(table, change, sentence):
    protocol = protocol_of()
    short = pool_of(first(table, 60), protocol)
    changed = {name: change(column[:200]) for name, column in table.items()}
    with pytest.raises(BadTable, match=sentence):
        pool_of(changed, protocol).divide([Part(60, short.fingerprint)])


def test_a_run_goes_on_where_it_had_ended(table, tmp_path):
    """Whoever gets all items at once, in the same parts, is asked the same in the same order."""
    protocol = protocol_of()
    runs, asked = [], []
    for run in grow(tmp_path, table, (60, 90, 600), protocol):
        runs.append(run)
        asked.append([event.item for event in journal_events(run[0]) if event.kind == "ask"])
    assert asked[1][: len(asked[0])] == asked[0]
    assert asked[2][: len(asked[1])] == asked[1]
    assert len(asked[0]) < len(asked[1]) < len(asked[2])
    assert [session.result.proof.certified for session, *_ in runs] == [False, False, True]
    parts = runs[-1][1]["body"]["parts"]
    assert [part["items"] for part in parts] == [60, 30, 510]
    survivors = [set(session.result.survivors.indices.tolist()) for session, *_ in runs]
    assert survivors[0] >= survivors[1] >= survivors[2]


def journal_events(session):
    with Journal(session.journal.where, write=False) as journal:
        return journal.events()


def test_its_certificate_is_valid_at_every_level_and_its_parts_are_checked(table, tmp_path):
    protocol = protocol_of()
    *_, (_, certificate, columns) = grow(tmp_path, table, (60, 400), protocol)
    lab = pool_of(columns, protocol)
    with Journal(tmp_path / "lab.db", write=False, runner=False) as journal:
        verification = verify(certificate, lab, journal)
    assert verification.valid, [check for check in verification.checks if check.status == "failed"]
    whole = dict(certificate["body"])
    del whole["parts"]
    for body in (whole, certificate["body"] | {"parts": certificate["body"]["parts"][:1]}):
        forged = certificate | {"body": body, "digest": fingerprint(body)}
        with Journal(tmp_path / "lab.db", write=False, runner=False) as journal:
            assert not verify(forged, lab, journal).valid


def test_readers_do_not_let_a_pool_grow(table, tmp_path):
    protocol = protocol_of()
    list(grow(tmp_path, table, (60,), protocol))
    with Journal(tmp_path / "lab.db", write=False, runner=False) as journal:
        with pytest.raises(BadJournal, match="has 30 items more than the journal .* go on with replical run first"):
            Session(protocol, pool_of(first(table, 90), protocol), journal)
        assert not journal.growth


def test_other_learners_have_one_pool(table, tmp_path):
    protocol = Protocol.of(content("cal", epsilon=0.1))
    columns = world(items=150, best=0.0)
    list(grow(tmp_path, columns, (100,), protocol))
    with Journal(tmp_path / "lab.db") as journal, pytest.raises(BadJournal, match="under cal a pool cannot grow"):
        Session(protocol, pool_of(columns, protocol), journal)


def test_every_part_is_registered_before_its_first_label(table, tmp_path):
    protocol = protocol_of(register=True)
    short, long = first(table, 60), first(table, 400)
    with Journal(tmp_path / "lab.db") as journal:
        one = register(protocol, pool_of(short, protocol), journal)
        answered(Session(protocol, pool_of(short, protocol), journal), short)
        with pytest.raises(BadJournal, match="has no registration of the items .* which came later"):
            Session(protocol, pool_of(long, protocol), journal)
        two = register(protocol, pool_of(long, protocol), journal)
        assert two["digest"] != one["digest"]
        assert two["pool_fingerprint"] != one["pool_fingerprint"]
        assert two["private_commitment"] == one["private_commitment"]
        certificate = certify(answered(Session(protocol, pool_of(long, protocol), journal), long))
        assert register(protocol, pool_of(long, protocol), journal) == two
    for each in (one, two):
        assert [check for check in check_against(certificate, each) if check.status == "failed"] == []
    assert [part["registration"] for part in certificate["body"]["parts"]] == [one["digest"], two["digest"]]
    assert verify(certificate).valid


def test_a_part_with_labels_is_registered_too_late(table, tmp_path):
    protocol = protocol_of()
    list(grow(tmp_path, table, (60,), protocol))
    with Journal(tmp_path / "lab.db") as journal:
        lab = pool_of(first(table, 400), protocol)
        session = Session(protocol, lab, journal)
        session.skip(session.open[0])
        with pytest.raises(BadJournal, match="has labels"):
            register(protocol, lab, journal)


def test_two_files_of_one_pool_that_has_grown_are_not_two_labs(table, tmp_path):
    """They share items, so nothing is added up, and no replication is claimed."""
    protocol = protocol_of()
    *_, (_, one, _) = grow(tmp_path, table, (60, 400), protocol, "one")
    *_, (_, other, _) = grow(tmp_path, table, (60, 1200), protocol, "other")
    found = compare([one, other])
    assert found.same_items == ((1, 2),)
    assert not found.replicated
    assert found.common is not None
    assert found.common.tolerance is None
    assert np.isclose(found.common.level, 2 * 0.2)


def test_a_comparison_wants_the_registration_of_every_part(table, tmp_path):
    protocol, registered = protocol_of(register=True), {}
    for size in (60, 400):
        columns = first(table, size)
        with Journal(tmp_path / "lab.db") as journal:
            lab = pool_of(columns, protocol)
            registered[f"{size}.json"] = register(protocol, lab, journal, name="north")
            certificate = certify(answered(Session(protocol, lab, journal), columns))
    assert mismatches([certificate], registered) == []
    found = mismatches([certificate], {"60.json": registered["60.json"]})
    assert [each.split(" of the items")[0] for each in found] == ["certificate 1 (north) has no registration here"]
    assert "register two runs" not in " ".join(found)
