"""What a journal belongs to: protocol, pool and perhaps an answer to confirm, the lab's name, secret and registrations.

A pool may grow: `bind` finds the rows that were added, and writes into the journal that they came. The first event binds a
journal to a protocol and a pool, and holds the lab's secret, to which the lab commits. Without a beacon the secret is the
seed of its private randomness. With one the seed is the hash of the secret and of a public value that does not exist yet
when the lab commits: then nobody, the lab included, can know the seed before, and nobody but the lab can know it
afterwards.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from replical.core.canonical import Json, digest_of, fingerprint
from replical.core.randomness import PrivateRandomness
from replical.core.text import count
from replical.errors import BadJournal, BadTable, BadUsage, ReplicalError
from replical.lab.journal.journal import Event, Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.pool import LabPool, Part
from replical.lab.protocol import Protocol
from replical.lab.schema import check_name
from replical.learners.base import Learner

SCHEMA = "replical.registration/1"
BODY = ("schema", "protocol_fingerprint", "pool_fingerprint", "private_commitment", "lab", "confirms")
LONGEST = 1000  # characters of a beacon's value; those of public beacons have 64 to 128


def check_own(protocol: Protocol, lab: LabPool) -> None:
    """Refuse a pool with items that are known to be public; which others are, only the public table shows."""
    if lab.fingerprint == protocol.public:
        raise BadTable(
            "the pool is the public table that the protocol's order was made from: bring items of this lab's own"
        )
    if asked := sorted(set(protocol.preference.get("asked", ())) & set(lab.ids)):
        raise BadTable(
            f"the pool has the item {asked[0]!r:.60}, which was asked for the protocol's order: leave out every row of the "
            "public table, asked or not"
        )


def bind(
    protocol: Protocol,
    lab: LabPool,
    journal: Journal,
    learner: Learner,
    note: Callable[[str], None] = lambda sentence: None,
) -> tuple[bytes, LabPool]:
    """Write protocol and pool into a new journal, or find them there; the lab's secret, and its pool in parts."""
    if protocol.population not in (None, lab.fingerprint):
        raise BadTable(
            f"the pool has the fingerprint {lab.fingerprint[:23]}, and the protocol is about the table "
            f"{str(protocol.population)[:23]}: bring that table, with all its rows"
        )
    check_own(protocol, lab)
    created = journal.created
    now = {"protocol_fingerprint": protocol.fingerprint, "pool_fingerprint": lab.fingerprint}
    if created is None:
        learner.plan.check(lab.pool(PrivateRandomness.fresh()))
        journal.create({"protocol": dict(protocol.content), "items": len(lab), **now, **protocol.binding})
        created = journal.created or {}
    for key in (*now, "private", "items"):
        if key not in created:
            raise BadJournal(f"the first event of {journal.where} is damaged: it does not say {key!r}")
    _check_binding(journal, protocol.binding, {key: created[key] for key in _KINDS if key in created})
    if created["protocol_fingerprint"] != protocol.fingerprint:
        raise BadJournal(
            f"the journal {journal.where} belongs to the protocol {created['protocol_fingerprint'][:23]}, this one "
            f"is {protocol.fingerprint[:23]}: a changed protocol needs a journal of its own"
        )
    known = [
        Part(created["items"], created["pool_fingerprint"]),
        *(Part(each.items, each.fingerprint) for each in journal.growth),
    ]
    grown = _grow(protocol, lab, journal, known)
    if len(grown.parts) > len(known):
        note(f"The pool has grown by {count(grown.parts[-1].items, 'item')}: the run goes on with them.")
    return bytes.fromhex(created["private"]), grown


def _grow(protocol: Protocol, lab: LabPool, journal: Journal, known: Sequence[Part]) -> LabPool:
    """The pool in the parts that the journal knows; what was added since is written there as one more."""
    try:
        divided = lab.divide(known)
    except BadTable as error:
        raise BadJournal(f"the pool has changed since the journal {journal.where} began: {error}") from error
    if len(divided.parts) <= len(known):
        return divided
    new = divided.parts[-1]
    more = f"the pool has {count(new.items, 'item')} more than"
    if not protocol.record.extends:
        raise BadJournal(
            f"{more} when the journal {journal.where} began, and under {protocol.record.id} a pool cannot grow: leave "
            "them out, or give the larger pool a journal of its own, which is another lab's"
        )
    if not journal.drives:
        raise BadJournal(f"{more} the journal {journal.where} knows: go on with replical run first")
    protocol.learner.plan.check(divided.pool(PrivateRandomness.fresh()))
    journal.append([Event(kind="part", detail=new._asdict())])
    return divided


_KINDS = {"confirms": "a confirmation", "order": "a public order"}  # what a journal may be for, beside runs


def _check_binding(journal: Journal, now: Mapping[str, Any], created: Mapping[str, Any]) -> None:
    """The journal of a run is no journal of a confirmation or a public order, nor one of another confirmation."""
    if now == created:
        return
    own = "give this one a journal of its own"
    was, wanted = (next((_KINDS[key] for key in _KINDS if key in each), "a run") for each in (created, now))
    if was != wanted:
        raise BadJournal(f"the journal {journal.where} belongs to {was}, not to {wanted}: {own}")
    (before,), (said,) = created.values(), now.values()
    key = next((each for each in said if before.get(each) != said[each]), "more")
    raise BadJournal(
        f"the journal {journal.where} belongs to {was} with {key} {before.get(key)}, here it is {said.get(key)}: {own}"
    )


def kept_protocol(journal: Journal) -> Protocol:
    """The protocol that the first event of a `journal` tells."""
    created = journal.created
    if created is None:
        raise BadJournal(f"the journal {journal.where} is empty: start the run first")
    try:
        return Protocol.of(created["protocol"])
    except (KeyError, ReplicalError) as error:
        raise BadJournal(f"the first event of {journal.where} is damaged: it holds no protocol ({error})") from error


def name_events(protocol: Protocol, journal: Journal, ledger: Ledger, name: str) -> list[Event]:
    """The event that gives a lab its `name`, once and for all; none where it has this one."""
    check_name(name, protocol.lab_names)
    if ledger.lab not in (None, name):
        raise BadJournal(
            f"the journal {journal.where} is that of the lab {ledger.lab!r}, not of {name!r}: give every lab "
            "a journal of its own"
        )
    if ledger.lab is None and ledger.registration is not None:
        raise BadJournal(f"the journal {journal.where} was registered without a name: leave out --lab {name}")
    return [Event(kind="lab", detail={"name": name})] if ledger.lab is None else []


def commitment(secret: bytes) -> str:
    """Binds a lab to its `secret` without telling it.

    Examples
    --------
    >>> commitment(bytes(32))[:23]
    'sha256:ae3192a42c1bfe8e'
    """
    return digest_of(b"replical private seed\0" + secret)


def seed_of(secret: bytes, beacon: str | None) -> bytes:
    """The seed of a lab's private randomness: its `secret`, or the hash of it and of the `beacon`'s value.

    Examples
    --------
    >>> seed_of(bytes(32), None) == bytes(32), seed_of(bytes(32), "4f1c").hex()[:16]
    (True, 'f6dc5bd68024a232')
    """
    if beacon is None:
        return secret
    inner = hashlib.sha256(secret).digest()  # of one length, so that nobody can move the border between the two
    return hashlib.sha256(b"replical private seed and beacon\0" + inner + beacon.encode()).digest()


def is_beacon(value: Any) -> bool:
    """Is this the value of a beacon as it is kept: one line of text in Unicode's normal form, without blanks around it?

    Examples
    --------
    >>> is_beacon("4f1c"), is_beacon(" 4f1c"), is_beacon("")
    (True, False, False)
    """
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST or not value.isprintable():
        return False
    return value == unicodedata.normalize("NFC", value.strip())


def beacon_value(text: str) -> str:
    """The value of a beacon that somebody typed: blanks around it do not count."""
    value = unicodedata.normalize("NFC", text.strip())
    if not is_beacon(value):
        raise BadUsage(
            f"the value of a beacon is one line of 1 to {LONGEST} characters, as it was published, got {text!r:.60}"
        )
    return value


def registration_body(protocol: Protocol, items: str, secret: bytes, name: str | None) -> dict[str, Any]:
    """What a registration says of a run: which protocol, which `items`, by fingerprint, which private seed, and whose.

    Of a confirmation also what is asked: which answer, and how closely.
    """
    return {
        "schema": SCHEMA,
        "protocol_fingerprint": protocol.fingerprint,
        "pool_fingerprint": items,
        "private_commitment": commitment(secret),
        "lab": name,
        "confirms": question_digest(protocol),
    }


def question_digest(protocol: Protocol) -> str | None:
    """What stays fixed of the answer that is confirmed and of how closely; None for a run."""
    return fingerprint(cast(Json, protocol.binding)) if protocol.binding else None


def registration_digest(content: Mapping[str, Any]) -> str:
    """The digest of what a registration says, without when it was made and who signed it."""
    return fingerprint(cast(Json, {key: content[key] for key in BODY}))


def check_registered(
    protocol: Protocol, lab: LabPool, journal: Journal, ledger: Ledger, secret: bytes, *, waits: bool = False
) -> None:
    """Is the run registered as it is, and does it have all that the protocol asks for, unless it `waits` for a beacon?"""
    for items, found in {lab.first: ledger.registration, **ledger.parts}.items():
        now = registration_body(protocol, items, secret, ledger.lab)
        if found is None and protocol.registers:
            what = "" if items == lab.first else f" of the items {items[:23]}, which came later"
            raise BadJournal(
                f"the protocol asks every lab to register before its first label, and {journal.where} has no "
                f"registration{what}: write one with --register FILE and publish it"
            )
        for key, value in () if found is None else {**now, "digest": registration_digest(now)}.items():
            if (said := (found or {}).get(key)) != value:
                raise BadJournal(
                    f"the journal {journal.where} was registered with another {key.replace('_', ' ')}: {said!r:.40}, now "
                    f"{value!r:.40}"
                )
    if protocol.beacon is not None and ledger.beacon is None and not waits:
        raise BadJournal(
            f"the private seed of {journal.where} waits for a public value, {protocol.beacon!r}: give --beacon VALUE once "
            "it is known"
        )
    if protocol.beacon is None and ledger.beacon is not None:
        raise BadJournal(f"the journal {journal.where} has the value of a beacon, and the protocol names none")
