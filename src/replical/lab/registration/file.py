"""The registration of a run: a file that a lab publishes before its first label.

It says which protocol, which items and, as a commitment, which private seed, so that a run begun again with another seed
shows: it would need another registration. The journal keeps it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replical.core.canonical import is_digest
from replical.errors import BadJournal, BadRegistration, BadUsage
from replical.lab.binding import bind, named
from replical.lab.certificate import file as certificates
from replical.lab.journal import Event, Journal
from replical.lab.ledger import Ledger
from replical.lab.names import is_name
from replical.lab.protocol import Protocol
from replical.lab.registered import BODY, SCHEMA, check_registered, digest_of, registered
from replical.lab.seeds import beacon_value
from replical.lab.tables import LabPool

_DIGESTS = ("protocol_fingerprint", "pool_fingerprint", "private_commitment")
PARTS = (*BODY, "digest", "provenance")


def register(protocol: Protocol, lab: LabPool, journal: Journal, *, name: str | None = None) -> dict[str, Any]:
    """The registration of the run in this `journal`, of the lab with this `name`; written there, or found as it was.

    Raises
    ------
    BadJournal
        If the run has labels already, belongs to something else, or was registered otherwise.
    BadUsage
        If the name is none, or the protocol lists others.
    """
    secret = bind(protocol, lab, journal, protocol.learner)
    ledger = Ledger.of(journal.events())
    if ledger.registration is None and ledger.begun:
        raise BadJournal(f"{journal.where} has labels already: a run is registered before its first label")
    events = [] if name is None else named(protocol, journal, ledger, name)
    if ledger.registration is None:
        made = published(registered(protocol, lab, secret, name or ledger.lab))
        journal.append([*events, Event(kind="registration", detail=made)])
        return made
    check_registered(protocol, lab, journal, ledger, secret, waits=True)
    return dict(ledger.registration)


def published(body: Mapping[str, Any]) -> dict[str, Any]:
    """A registration that says this now."""
    digest = digest_of(body)
    return {**body, "digest": digest, "provenance": certificates.provenance(digest)}


def tell_beacon(protocol: Protocol, journal: Journal, text: str) -> None:
    """The value of the protocol's beacon, as it was published: from now on the run has its private seed.

    A slip can be mended until the first label.

    Raises
    ------
    BadUsage
        If the protocol names no beacon, or the text is no value.
    BadJournal
        If the run is not registered, or has labels that were asked with another value.
    """
    value = beacon_value(text)
    if protocol.beacon is None:
        raise BadUsage(f"the protocol names no beacon: leave out --beacon {value[:40]}")
    ledger = Ledger.of(journal.events())
    if ledger.registration is None:
        raise BadJournal(f"{journal.where} has no registration, and that comes before the beacon: give --register FILE")
    if ledger.begun and ledger.beacon != value:
        raise BadJournal(
            f"{journal.where} has labels that were asked with the beacon's value {ledger.beacon!r:.80}, which cannot change "
            "any more: leave out --beacon"
        )
    if ledger.beacon != value:
        journal.append([Event(kind="beacon", detail={"value": value})])


def write(registration: Mapping[str, Any], path: Path) -> None:
    """Write whole: a registration is there or it is not."""
    certificates.write(registration, path, what="the registration")


def read(path: Path) -> dict[str, Any]:
    """Read a registration that is written as we write it."""
    found = certificates.read_as(
        path, {SCHEMA: PARTS}, what="registration", refuse=BadRegistration, optional=("signature",)
    )
    if not all(
        is_digest(found[key]) for key in ("protocol_fingerprint", "pool_fingerprint", "private_commitment", "digest")
    ):
        raise BadRegistration(f"{path} is no registration: its digests are not written sha256:<64 hex digits>")
    if found["lab"] is not None and not is_name(found["lab"]):
        raise BadRegistration(f"{path} is no registration: {found['lab']!r:.90} is no name of a lab")
    if not isinstance(found["provenance"], dict):
        raise BadRegistration(f"{path} is no registration: it does not say when it was made")
    return found
