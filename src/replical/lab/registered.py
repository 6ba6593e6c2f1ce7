"""What a run has registered before its first label, as its journal keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from replical.core.canonical import Json, fingerprint
from replical.errors import BadJournal
from replical.lab.journal import Journal
from replical.lab.ledger import Ledger
from replical.lab.protocol import Protocol
from replical.lab.seeds import commitment
from replical.lab.tables import LabPool

SCHEMA = "replical.registration/1"
BODY = ("schema", "protocol_fingerprint", "pool_fingerprint", "private_commitment", "lab")


def registered(protocol: Protocol, lab: LabPool, secret: bytes, name: str | None) -> dict[str, Any]:
    """What a registration says of a run: which protocol, which items, which private seed, and whose."""
    return {
        "schema": SCHEMA,
        "protocol_fingerprint": protocol.fingerprint,
        "pool_fingerprint": lab.fingerprint,
        "private_commitment": commitment(secret),
        "lab": name,
    }


def digest_of(content: Mapping[str, Any]) -> str:
    """The digest of what a registration says, without when it was made and who signed it."""
    return fingerprint(cast(Json, {key: content[key] for key in BODY}))


def check_registered(
    protocol: Protocol, lab: LabPool, journal: Journal, ledger: Ledger, secret: bytes, *, waits: bool = False
) -> None:
    """Is the run registered as it is, and does it have all that the protocol asks for, unless it `waits` for a beacon?

    Raises
    ------
    BadJournal
        If it was registered otherwise, or the registration or the beacon's value is missing.
    """
    found, now = ledger.registration, registered(protocol, lab, secret, ledger.lab)
    if found is None and protocol.registers:
        raise BadJournal(
            f"the protocol asks every lab to register before its first label, and {journal.where} has no registration: "
            "write one with --register FILE and publish it"
        )
    for key, value in () if found is None else {**now, "digest": digest_of(now)}.items():
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
