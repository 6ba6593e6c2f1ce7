"""A run that is announced before its first label: the file, the journal that keeps it, the beacon that comes between."""

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")

from replical.errors import BadJournal, BadProtocol, BadRegistration, BadUsage
from replical.lab.certificate.file import certify
from replical.lab.certificate.verify import verify
from replical.lab.confirmation import confirming
from replical.lab.journal.binding import commitment, question_digest, seed_of
from replical.lab.journal.binding import registration_digest as digest_of
from replical.lab.journal.journal import Event, Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.protocol import Protocol
from replical.lab.registration import check_against, mismatches, read, register, tell_beacon, write
from replical.lab.sessions.session import Session
from replical.lab.tables import read_pool
from support.certificates import resealed as resealed_certificate
from support.lab import answered
from support.registering import BEACON, RegisteredRun, columns, resealed, said


@pytest.fixture
def opened(tmp_path):
    """A journal, and a protocol and a pool for it."""

    def make(protocol, name="lab", seed=1):
        found = Protocol.of(protocol)
        return found, read_pool(columns(seed), found.recipe), Journal(tmp_path / f"{name}.db")

    return make


def wrong(checks):
    return {check.name: check.detail for check in checks if not check.ok}


# ---- protocols ----


def test_a_protocol_says_what_it_asks_for_and_keeps_its_fingerprint_in_a_file(tmp_path):
    plain, asks, waits = (Protocol.of(said(**each)) for each in ({"register": False}, {}, {"beacon": BEACON}))
    assert [each.registers for each in (plain, asks, waits)] == [False, True, True]
    assert [each.beacon for each in (plain, asks, waits)] == [None, None, BEACON]
    assert Protocol.of({**said(register=False), "beacon": BEACON}).registers
    key = "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
    full = Protocol.of(said(beacon=BEACON, keys={"south": key}))
    assert full.lab_keys == {"south": key}
    (tmp_path / "p.toml").write_text(full.toml())
    assert Protocol.read(tmp_path / "p.toml").fingerprint == full.fingerprint
    assert len({each.fingerprint for each in (plain, asks, waits, full)}) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"register": 1}, "register must be true or false, got 1"),
        ({"beacon": "  "}, "beacon is empty: name a public value"),
        ({"beacon": 5}, "beacon must be a text, got 5"),
        ({"beacon": "b", "register": False}, "with a beacon every lab registers"),
        ({"labs": {"names": ["a", "b"], "keys": {}}}, "keys of labs are written keys = "),
        ({"labs": {"names": ["a", "b"], "keys": {"c": "x"}}}, "a key of 'c', which is no lab"),
        ({"labs": {"names": ["a", "b"], "keys": {"a": "x"}}}, "the key of the lab 'a' must be an Ed25519 public key"),
        ({"labs": {"names": ["a", "b"], "keys": {"a": 5}}}, "the key of the lab 'a' must be an Ed25519 public key"),
        ({"labs": {"names": ["a", "b"], "keys": dict.fromkeys("ab", f"MCowBQYDK2VwAyEA{'A' * 43}=")}}, "the labs 'a' and 'b' have one key"),
    ],
)  # fmt: skip
def test_what_a_protocol_may_not_say_is_named(change, message):
    with pytest.raises(BadProtocol, match=message):
        Protocol.of(said() | change)


# ---- the run ----


def test_a_registration_says_what_is_fixed_and_is_written_once(opened, tmp_path):
    protocol, lab, journal = opened(said())
    with journal:
        made = register(protocol, lab, journal, name="north")
        assert made["private_commitment"] == commitment(bytes.fromhex(journal.created["private"]))
        assert (made["protocol_fingerprint"], made["pool_fingerprint"]) == (protocol.fingerprint, lab.fingerprint)
        assert (made["lab"], made["digest"]) == ("north", digest_of(made))
        assert journal.created["private"] not in str(made)
        assert register(protocol, lab, journal) == register(protocol, lab, journal, name="north") == made
        assert [event.kind for event in journal.events()] == ["created", "lab", "registration"]  # and nothing was asked
        with pytest.raises(BadJournal, match="is that of the lab 'north', not of 'south'"):
            register(protocol, lab, journal, name="south")
    write(made, tmp_path / "r.json")
    assert read(tmp_path / "r.json") == made


@pytest.mark.parametrize("damage", [b"{}", b"[]", b"\xff", b'{"schema": "replical.registration/2"}'])
def test_what_is_no_registration_is_refused(tmp_path, damage):
    (tmp_path / "r.json").write_bytes(damage)
    with pytest.raises(BadRegistration, match=r"r.json"):
        read(tmp_path / "r.json")


def test_a_registration_comes_before_the_first_label(opened):
    protocol, lab, journal = opened(said(register=False))
    with journal:
        session = Session(protocol, lab, journal)
        item = session.open[0]
        session.answer(item, "no")
        session.undo(item)
        with pytest.raises(BadJournal, match="has labels already: a run is registered before its first label"):
            register(protocol, lab, journal)
        made = {"digest": "x"}
        journal.append([Event(kind="registration", detail=made)])
        assert Ledger.of(journal.events()).registration is None  # too late to count


def test_a_run_cannot_change_what_it_has_registered(opened, tmp_path):
    protocol, lab, journal = opened(said(names=None))
    with journal:
        made = register(protocol, lab, journal)
        with pytest.raises(BadJournal, match="was registered without a name"):
            Session(protocol, lab, journal).sign("north")
        for key in ("protocol_fingerprint", "pool_fingerprint", "private_commitment", "lab", "digest"):
            with Journal(tmp_path / f"other-{key}.db") as other:
                other.append([journal.events(limit=1)[0]])
                other.append([Event(kind="registration", detail=made | {key: "another"})])
                with pytest.raises(BadJournal, match=f"was registered with another {key.replace('_', ' ')}: 'another'"):
                    Session(protocol, lab, other)


def test_the_beacon_comes_between_registration_and_first_label(opened):
    protocol, lab, journal = opened(said(beacon=BEACON))
    with journal:
        with pytest.raises(BadJournal, match="has no registration, and that comes before the beacon"):
            tell_beacon(protocol, journal, "4f1c")
        register(protocol, lab, journal, name="north")
        with pytest.raises(BadJournal, match=f"waits for a public value, '{BEACON}': give --beacon VALUE"):
            Session(protocol, lab, journal)
        assert register(protocol, lab, journal)["lab"] == "north"  # it may be written again while it waits
        tell_beacon(protocol, journal, "4f1d")
        tell_beacon(protocol, journal, " 4f1c\n")  # a slip can be mended
        tell_beacon(protocol, journal, "4f1c")
        assert [event.kind for event in journal.events()][-2:] == ["beacon", "beacon"]
        session = Session(protocol, lab, journal)
        secret = bytes.fromhex(journal.created["private"])
        assert (session.secret, session.private) == (secret, seed_of(secret, "4f1c"))
        session.answer(session.open[0], "no")
        with pytest.raises(BadJournal, match="asked with the beacon's value '4f1c', which cannot change any more"):
            tell_beacon(protocol, journal, "4f1d")
        tell_beacon(protocol, journal, "4f1c")
        journal.append([Event(kind="beacon", detail={"value": "4f1d"})])
        assert Ledger.of(journal.events()).beacon == "4f1c"


def test_a_protocol_without_a_beacon_takes_none(opened):
    protocol, lab, journal = opened(said())
    with journal:
        register(protocol, lab, journal, name="north")
        with pytest.raises(BadUsage, match="the protocol names no beacon: leave out --beacon 4f1c"):
            tell_beacon(protocol, journal, "4f1c")
        journal.append([Event(kind="beacon", detail={"value": "4f1c"})])
        with pytest.raises(BadJournal, match="has the value of a beacon, and the protocol names none"):
            Session(protocol, lab, journal)


# ---- what a certificate says of it ----


def test_another_beacon_than_the_journal_s_is_found(tmp_path):
    run = RegisteredRun(tmp_path, said(beacon=BEACON), columns(), "north", beacon="4f1c")
    forged = {**run.certificate, "body": run.certificate["body"] | {"beacon": "4f1d"}}
    with Journal(run.path, write=False) as journal:
        found = wrong(verify(resealed_certificate(forged), run.lab, journal).checks)
    assert list(found) == ["replayed: beacon"]
    for body in ({k: v for k, v in forged["body"].items() if k != "beacon"}, forged["body"] | {"beacon": " x"}):
        found = wrong(verify(resealed_certificate({**forged, "body": body})).checks)
        assert found == {"the value of the beacon is told": f"{BEACON!r} has no value here"}


def test_a_certificate_without_the_registration_that_its_protocol_asks_for_is_marked(tmp_path):
    run = RegisteredRun(tmp_path, said(), columns(), "north")
    name = "it refers to a registration of this run"
    body = {key: value for key, value in run.certificate["body"].items() if key != "registration"}
    found = wrong(verify(resealed_certificate({**run.certificate, "body": body})).checks)
    assert found == {name: "the protocol asks every lab to register, and this run did not"}
    body = run.certificate["body"] | {"registration": "sha256:" + "0" * 64}
    assert list(wrong(verify(resealed_certificate({**run.certificate, "body": body})).checks)) == [name]


def test_a_registration_that_nobody_asked_for_is_not_left_out(tmp_path):
    """The lab registered of its own accord, and would rather not be reminded."""
    run = RegisteredRun(tmp_path, said(register=False), columns(), "north")
    body = {key: value for key, value in run.certificate["body"].items() if key != "registration"}
    forged = resealed_certificate({**run.certificate, "body": body})
    assert verify(forged).valid  # the file alone cannot show it
    with Journal(run.path, write=False) as journal:
        assert list(wrong(verify(forged, run.lab, journal).checks)) == ["replayed: registration"]
    assert mismatches([forged], {"r.json": run.registration})


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"protocol_fingerprint": "sha256:" + "1" * 64}, "registered: the protocol"),
        ({"pool_fingerprint": "sha256:" + "1" * 64}, "registered: the items"),
        ({"private_commitment": "sha256:" + "1" * 64}, "registered: the private seed"),
        ({"lab": "south"}, "registered: the lab"),
        ({"lab": None}, "registered: the lab"),
    ],
)
def test_a_registration_of_something_else_is_named(tmp_path, change, name):
    run = RegisteredRun(tmp_path, said(), columns(), "north")
    found = wrong(check_against(run.certificate, resealed(run.registration | change)))
    assert list(found) == [name, "registered: the certificate refers to it"]
    assert mismatches([run.certificate], {"r.json": resealed(run.registration | change)})
    edited = wrong(check_against(run.certificate, run.registration | change))
    assert "registered: the digest is that of what it says" in edited


def test_a_registration_dated_after_its_certificate_is_named(tmp_path):
    run = RegisteredRun(tmp_path, said(), columns(), "north")
    late = run.registration["provenance"] | {"created": "2999-01-01T00:00:00+00:00"}
    found = wrong(check_against(run.certificate, resealed(run.registration | {"provenance": late})))
    assert list(found) == ["registered: before the certificate was made"]
    edited = wrong(check_against(run.certificate, run.registration | {"provenance": late}))
    assert "registered: the seal is that of digest and provenance" in edited
    for created in ("yesterday", "2026-01-01T00:00:00"):  # no date, and one of no zone
        strange = resealed(run.registration | {"provenance": late | {"created": created}})
        assert list(wrong(check_against(run.certificate, strange))) == ["registered: before the certificate was made"]


def test_runs_without_their_registration_and_registrations_without_a_run_are_named(tmp_path):
    north = RegisteredRun(tmp_path, said(), columns(1), "north", secret="north")
    south = RegisteredRun(tmp_path, said(), columns(2), "south", secret="south")
    again = RegisteredRun(tmp_path, said(), columns(1), "north", secret="again")
    both, files = [north.certificate, south.certificate], {"n.json": north.registration, "s.json": south.registration}
    assert mismatches(both, files) == []
    assert mismatches(both, {**files, "copy.json": north.registration}) == []
    assert mismatches(both, {"n.json": north.registration}) == ["certificate 2 (south) has no registration here"]
    assert mismatches(both[:1], files) == ["s.json registers a run of 'south' that has no certificate here"]
    assert mismatches(both, {**files, "x.json": again.registration}) == [
        "x.json registers a run of 'north' that has no certificate here",
        "n.json and x.json register two runs of 'north'",
    ]
    assert mismatches([again.certificate, south.certificate], files) == [
        "certificate 1 (north) has no registration here: n.json registers another private seed of 'north'",
        "n.json registers a run of 'north' that has no certificate here",
    ]
    moved = resealed(north.registration | {"pool_fingerprint": "sha256:" + "1" * 64})  # the same secret, other items
    assert mismatches(both, {**files, "m.json": moved})[-2:] == [
        "m.json registers a run of 'north' that has no certificate here",
        "n.json and m.json register two runs of 'north'",
    ]
    other = RegisteredRun(tmp_path, said(seed="another text"), columns(3), "south", secret="other")
    assert "o.json registers a run of another protocol" in mismatches(both, {**files, "o.json": other.registration})
    assert mismatches(both, {**files, "s.json": south.registration | {"digest": "x"}})[0].startswith(
        "s.json is not valid (the digest is that of what it says: "
    )


def test_a_confirmation_is_registered_with_its_question_and_waits_for_no_beacon(opened):
    """It has a journal of its own. Who could choose the margin after the labels would confirm anything."""
    protocol, lab, journal = opened(said(beacon=BEACON), seed=2)
    with journal:
        register(protocol, lab, journal, name="north")
        tell_beacon(protocol, journal, "4f1c")
        certificate = certify(answered(Session(protocol, lab, journal), columns(2)))
    claimed = confirming(certificate, margin=0.2)
    _, theirs, fresh = opened(claimed.content, "other", seed=3)
    with fresh:
        with pytest.raises(BadJournal, match="the protocol asks every lab to register before its first label"):
            Session(claimed, theirs, fresh)
        made = register(claimed, theirs, fresh, name="a reader")
        session = answered(Session(claimed, theirs, fresh), columns(3))
        assert session.private == session.secret
        found = certify(session)
    assert all(check.ok for check in check_against(found, made))
    assert verify(found).valid
    wider = resealed(made | {"confirms": question_digest(confirming(certificate, margin=0.3))})
    assert [check.name for check in check_against(found, wider) if not check.ok] == [
        "registered: what is asked",
        "registered: the certificate refers to it",
    ]
    assert mismatches([certificate, found], {"r.json": made})[0].startswith("certificate 1 (north) has no registration")
    del found["body"]["registration"]
    assert not verify(resealed_certificate(found)).valid
