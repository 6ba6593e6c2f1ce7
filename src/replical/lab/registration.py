"""The registration of a run: a file that a lab publishes before its first label, and certificates checked against it.

It says which protocol, which items and, as a commitment, which private seed, so that a run begun again with another seed
shows: it would need another registration. The journal keeps it too. That it was published in time is for those to say who
received it: its own date is what the lab's clock said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from replical.core.canonical import is_digest
from replical.errors import BadJournal, BadRegistration, BadUsage
from replical.lab.certificate import file as certificates
from replical.lab.certificate.checks import Check, Checks, check_seal, protocol_of
from replical.lab.certificate.unchecked import PUBLISHED, not_checkable
from replical.lab.certificate.verify import check_signature
from replical.lab.journal import binding
from replical.lab.journal.journal import Event, Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.lab.schema import is_name
from replical.learners.proof import same

File = Mapping[str, Any]  # what it says
PARTS = (*binding.BODY, "digest", "provenance")
REGISTERED = "registered: "  # how the checks are named


def register(protocol: Protocol, lab: LabPool, journal: Journal, *, name: str | None = None) -> dict[str, Any]:
    """The registration of the run in this `journal`, of the lab with this `name`; written there, or found as it was.

    Where items were added since, theirs.
    """
    secret, lab = binding.bind(protocol, lab, journal, protocol.learner)
    ledger = Ledger.of(journal.events())
    if ledger.registration is None and ledger.begun:
        raise BadJournal(f"{journal.where} has labels already: a run is registered before its first label")
    events = [] if name is None else binding.name_events(protocol, journal, ledger, name)
    all_parts = {lab.first: ledger.registration, **ledger.parts}
    items = next((each for each, found in all_parts.items() if found is None), None)
    if items in ledger.started:
        raise BadJournal(
            f"{journal.where} has labels since the items {items[:23]} came: what is added is registered before that"
        )
    if items is not None:
        made = make_registration(binding.registration_body(protocol, items, secret, name or ledger.lab))
        journal.append([*events, Event(kind="registration", detail=made)])
        return made
    binding.check_registered(protocol, lab, journal, ledger, secret, waits=True)
    return dict(list(all_parts.values())[-1] or {})


def make_registration(body: Mapping[str, Any]) -> dict[str, Any]:
    """A registration that says this now."""
    digest = binding.registration_digest(body)
    return {**body, "digest": digest, "provenance": certificates.provenance(digest)}


def tell_beacon(protocol: Protocol, journal: Journal, text: str) -> None:
    """The value of the protocol's beacon, as it was published: from now on the run has its private seed.

    A slip can be mended until the first label.
    """
    value = binding.beacon_value(text)
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
        path, binding.SCHEMA, PARTS, what="registration", refuse=BadRegistration, optional=("signature",)
    )
    if not all(is_digest(found[key]) for key in _DIGEST_KEYS):
        raise BadRegistration(f"{path} is no registration: its digests are not written sha256:<64 hex digits>")
    if found["lab"] is not None and not is_name(found["lab"]):
        raise BadRegistration(f"{path} is no registration: {found['lab']!r:.90} is no name of a lab")
    if not (found["confirms"] is None or is_digest(found["confirms"])):
        raise BadRegistration(f"{path} is no registration: {found['confirms']!r:.90} is no digest of a question")
    if not isinstance(found["provenance"], dict):
        raise BadRegistration(f"{path} is no registration: it does not say when it was made")
    return found


_DIGEST_KEYS = ("protocol_fingerprint", "pool_fingerprint", "private_commitment", "digest")


def check_against(certificate: Mapping[str, Any], registration: Mapping[str, Any]) -> tuple[Check, ...]:
    """Is this the certificate of the run that was registered?"""
    checks, body = Checks(), certificate["body"]
    protocol = protocol_of(body)
    check_file(checks, registration, protocol)
    items, refers = _registered(body, registration["pool_fingerprint"])
    for name, key, certified in (
        ("the protocol", "protocol_fingerprint", body["protocol_fingerprint"]),
        ("the items", "pool_fingerprint", items),
        ("the private seed", "private_commitment", body["private_commitment"]),
        ("what is asked", "confirms", binding.question_digest(protocol)),
        ("the lab", "lab", body.get("lab")),
        ("the certificate refers to it", "digest", refers),
    ):
        checks(f"{REGISTERED}{name}", partial(_check_same, registration, key, certified))
    checks(f"{REGISTERED}before the certificate was made", lambda: _check_dates(registration, certificate))
    why = "its date is what the lab's clock said: when it was published is known to those who received it"
    return (*checks.done, not_checkable(PUBLISHED, why=why))


def _registered(body: Mapping[str, Any], items: str) -> tuple[str, str | None]:
    """The fingerprint of these `items`, or else of those it began with, and their registration as the `body` tells it."""
    digests = {each["fingerprint"]: each["registration"] for each in body.get("parts", ())}
    if items in digests:
        return items, digests[items]
    return next(iter(digests), body["pool"]["fingerprint"]), body.get("registration")


def check_file(checks: Checks, registration: Mapping[str, Any], protocol: Protocol) -> None:
    """Is the registration as it was made, and signed by its lab where the protocol lists keys?"""
    digest = registration["digest"]
    checks(
        f"{REGISTERED}the digest is that of what it says",
        lambda: same(digest, binding.registration_digest(registration)),
    )
    checks(f"{REGISTERED}the seal is that of digest and provenance", lambda: check_seal(registration))
    check_signature(checks, registration, registration["lab"], protocol, what=REGISTERED)


def _check_same(registration: Mapping[str, Any], key: str, certified: Any) -> str | None:
    if registration[key] == certified:
        return None
    return f"{_short(registration[key])} was registered, the certificate says {_short(certified)}"


def _short(value: Any) -> str:
    return "nothing" if value is None else f"{value:.23}" if is_digest(value) else repr(value)


def _check_dates(registration: Mapping[str, Any], certificate: Mapping[str, Any]) -> str | None:
    first, then = (datetime.fromisoformat(each["provenance"]["created"]) for each in (registration, certificate))
    return None if first <= then else f"it is dated {first.isoformat()}, the certificate {then.isoformat()}"


def mismatches(certificates: Sequence[File], registrations: Mapping[str, File]) -> list[str]:
    """What does not fit between the `certificates` of one protocol and the `registrations`, by file, of its labs.

    Every certificate needs its registration; every registration its certificate, or a run was thrown away or is not shown;
    and no lab registers twice.
    """
    return [
        *_damaged_files(certificates, registrations),
        *_missing_registrations(certificates, registrations),
        *_missing_certificates(certificates, registrations),
    ]


def _damaged_files(certificates: Sequence[File], registrations: Mapping[str, File]) -> Iterator[str]:
    protocols = {each["body"]["protocol_fingerprint"]: each["body"]["protocol"] for each in certificates}
    for file, registration in registrations.items():
        if registration["protocol_fingerprint"] not in protocols:
            yield f"{file} registers a run of another protocol"
            continue
        checks = Checks()
        check_file(checks, registration, Protocol.of(protocols[registration["protocol_fingerprint"]]))
        for check in checks.done:
            if not check.ok:
                yield f"{file} is not valid ({check.name.removeprefix(REGISTERED)}: {check.detail})"


def _missing_registrations(certificates: Sequence[File], registrations: Mapping[str, File]) -> Iterator[str]:
    """Certificates without their registration, and what their labs registered in its place."""
    for number, certificate in enumerate(certificates, 1):
        body, who = certificate["body"], _who(number, certificate)
        own = [each for each in registrations.values() if each["private_commitment"] == body["private_commitment"]]
        if not own:
            name = body.get("lab")
            other = [file for file, each in registrations.items() if name is not None and each["lab"] == name]
            instead = f": {other[0]} registers another private seed of {name!r}" if other else ""
            yield f"{who} has no registration here{instead}"
        given = {each["digest"] for each in own}
        for part in body.get("parts", ()) if own else ():
            if part["registration"] not in given:
                yield f"{who} has no registration here of the items {part['fingerprint'][:23]}, which came later"
        for each in own:
            for check in check_against(certificate, each):
                if not check.ok and check.name.startswith(REGISTERED):
                    yield f"{who}, {check.name}: {check.detail}"


def _missing_certificates(certificates: Sequence[File], registrations: Mapping[str, File]) -> Iterator[str]:
    """Runs that were registered and are not here, and labs that registered twice."""
    runs: dict[str, str] = {}  # of which certificate each registration is
    for each in certificates:
        body = each["body"]
        digests = (body.get("registration"), *(part["registration"] for part in body.get("parts", ())))
        runs |= {digest: each["digest"] for digest in digests if digest is not None}
    labs: dict[str, tuple[str, str]] = {}
    pools: dict[str, tuple[str, str]] = {}
    seen: set[str] = set()
    for file, each in registrations.items():
        if (digest := binding.registration_digest(each)) in seen:
            continue  # the same one, given twice
        seen.add(digest)
        run = runs.get(digest, digest)  # a run whose pool has grown has several
        whose = f" of {each['lab']!r}" if each["lab"] is not None else ""
        if digest not in runs:
            yield f"{file} registers a run{whose} that has no certificate here"
        if each["lab"] is not None and (first := labs.setdefault(each["lab"], (file, run)))[1] != run:
            yield f"{first[0]} and {file} register two runs of {each['lab']!r}"
        elif (first := pools.setdefault(each["pool_fingerprint"], (file, run)))[1] != run:
            yield f"{first[0]} and {file} register two runs on the same items"


def other_beacons(certificates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Labs of one protocol that waited for one public value, and have another."""
    first: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for number, each in enumerate(certificates, 1):
        body = each["body"]
        if "confirms" in body:
            continue  # it waits for none
        before, with_it = first.setdefault(body["protocol_fingerprint"], (number, each))
        value, other = body.get("beacon"), with_it["body"].get("beacon")
        if value != other:
            one, two = _who(before, with_it), _who(number, each)
            yield f"{two} has the beacon's value {value!r:.80}, {one} has {other!r:.80}"


def _who(number: int, certificate: Mapping[str, Any]) -> str:
    name = certificate["body"].get("lab")
    return f"certificate {number}" + (f" ({name})" if name is not None else "")
