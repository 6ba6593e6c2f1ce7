"""Runs that are announced before their first label: the file that says so, and certificates checked against it.

The registration of a run: a file that a lab publishes before its first label.

It says which protocol, which items and, as a commitment, which private seed, so that a run begun again with another seed
shows: it would need another registration. The journal keeps it too.

Checking certificates against the registrations that were published before their first labels.

A registration shows that a run was begun with this private seed on these items. That it was published in time is for those
to say who received it: its own date is what the lab's clock said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from replical.core.canonical import is_digest
from replical.errors import BadJournal, BadRegistration, BadUsage
from replical.lab.certificate import file as certificates
from replical.lab.certificate.beliefs import PUBLISHED, check_signature, not_checkable
from replical.lab.certificate.checks import Check, Checks, same, sealed
from replical.lab.journal.binding import BODY, SCHEMA, beacon_value, bind, check_registered, named, registered
from replical.lab.journal.binding import digest_of_registered as digest_of
from replical.lab.journal.journal import Event, Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.lab.schema import is_name

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


REGISTERED = "registered: "  # how the checks are named


def check_against(certificate: Mapping[str, Any], registration: Mapping[str, Any]) -> tuple[Check, ...]:
    """Is this the certificate of the run that was registered?"""
    checks, body = Checks(), certificate["body"]
    protocol = Protocol.of(body["protocol"])
    check_whole(checks, registration, protocol)
    checks(
        f"{REGISTERED}the protocol", lambda: _same(registration, "protocol_fingerprint", body["protocol_fingerprint"])
    )
    checks(f"{REGISTERED}the items", lambda: _same(registration, "pool_fingerprint", body["pool"]["fingerprint"]))
    checks(
        f"{REGISTERED}the private seed", lambda: _same(registration, "private_commitment", body["private_commitment"])
    )
    checks(f"{REGISTERED}the lab", lambda: _same(registration, "lab", body.get("lab")))
    checks(f"{REGISTERED}the certificate refers to it", lambda: _same(registration, "digest", body.get("registration")))
    checks(f"{REGISTERED}before the certificate was made", lambda: _before(registration, certificate))
    why = "its date is what the lab's clock said: when it was published is known to those who received it"
    return (*checks.done, not_checkable(PUBLISHED, why=why))


def check_whole(checks: Checks, registration: Mapping[str, Any], protocol: Protocol) -> None:
    """Is the registration as it was made, and signed by its lab where the protocol lists keys?"""
    checks(f"{REGISTERED}the digest is that of what it says", lambda: _digest(registration))
    checks(f"{REGISTERED}the seal is that of digest and provenance", lambda: sealed(registration))
    check_signature(checks, registration, registration["lab"], protocol, what=REGISTERED)


def _digest(registration: Mapping[str, Any]) -> str | None:
    return same(registration["digest"], digest_of(registration))


def _same(registration: Mapping[str, Any], key: str, certified: Any) -> str | None:
    if registration[key] == certified:
        return None
    return f"{_short(registration[key])} was registered, the certificate says {_short(certified)}"


def _short(value: Any) -> str:
    return "nothing" if value is None else f"{value:.23}" if is_digest(value) else repr(value)


def _before(registration: Mapping[str, Any], certificate: Mapping[str, Any]) -> str | None:
    first, then = (datetime.fromisoformat(each["provenance"]["created"]) for each in (registration, certificate))
    return None if first <= then else f"it is dated {first.isoformat()}, the certificate {then.isoformat()}"


def wrong_among(certificates: Sequence[Mapping[str, Any]], registrations: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What does not fit between the `certificates` of one protocol and the `registrations`, by file, of its labs.

    Every certificate needs its registration; every registration its certificate, or a run was thrown away or is not shown;
    and no lab registers twice.
    """
    return [
        *_damaged(certificates, registrations),
        *_unregistered(certificates, registrations),
        *_lost(certificates, registrations),
    ]


def other_beacons(certificates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Labs of one protocol that waited for one public value, and have another."""
    first: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for number, each in enumerate(certificates, 1):
        body = each["body"]
        before, with_it = first.setdefault(body["protocol_fingerprint"], (number, each))
        value, other = body.get("beacon"), with_it["body"].get("beacon")
        if value != other:
            one, two = _who(before, with_it), _who(number, each)
            yield f"{two} has the beacon's value {value!r:.80}, {one} has {other!r:.80}"


def _damaged(
    certificates: Sequence[Mapping[str, Any]], registrations: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    protocols = {each["body"]["protocol_fingerprint"]: each["body"]["protocol"] for each in certificates}
    for file, registration in registrations.items():
        if registration["protocol_fingerprint"] not in protocols:
            yield f"{file} registers a run of another protocol"
            continue
        checks = Checks()
        check_whole(checks, registration, Protocol.of(protocols[registration["protocol_fingerprint"]]))
        for check in checks.done:
            if not check.ok:
                yield f"{file} is not valid ({check.name.removeprefix(REGISTERED)}: {check.detail})"


def _unregistered(
    certificates: Sequence[Mapping[str, Any]], registrations: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Certificates without their registration, and what their labs registered in its place."""
    for number, certificate in enumerate(certificates, 1):
        body, who = certificate["body"], _who(number, certificate)
        own = [each for each in registrations.values() if each["private_commitment"] == body["private_commitment"]]
        if not own:
            name = body.get("lab")
            other = [file for file, each in registrations.items() if name is not None and each["lab"] == name]
            instead = f": {other[0]} registers another private seed of {name!r}" if other else ""
            yield f"{who} has no registration here{instead}"
        for each in own:
            for check in check_against(certificate, each):
                if not check.ok and check.name.startswith(REGISTERED):
                    yield f"{who}, {check.name}: {check.detail}"


def _lost(certificates: Sequence[Mapping[str, Any]], registrations: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Runs that were registered and are not here, and labs that registered twice."""
    shown = {certificate["body"].get("registration") for certificate in certificates}
    labs: dict[str, str] = {}
    pools: dict[str, str] = {}
    seen: set[str] = set()
    for file, each in registrations.items():
        if (digest := digest_of(each)) in seen:
            continue  # the same one, given twice
        seen.add(digest)
        whose = f" of {each['lab']!r}" if each["lab"] is not None else ""
        if digest not in shown:
            yield f"{file} registers a run{whose} that has no certificate here"
        if each["lab"] is not None and (first := labs.setdefault(each["lab"], file)) != file:
            yield f"{first} and {file} register two runs of {each['lab']!r}"
        elif (first := pools.setdefault(each["pool_fingerprint"], file)) != file:
            yield f"{first} and {file} register two runs on the same items"


def _who(number: int, certificate: Mapping[str, Any]) -> str:
    name = certificate["body"].get("lab")
    return f"certificate {number}" + (f" ({name})" if name is not None else "")
