"""What a certificate says of the time before its first label, and who signed it: its registration, beacon and signature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replical.lab.certificate.checks import Check, Checks, same
from replical.lab.certificate.unseen import NO_OTHER_RUN, not_checkable
from replical.lab.protocol import Protocol
from replical.lab.registered import SCHEMA, digest_of
from replical.lab.seeds import is_beacon
from replical.lab.signatures import needs_cryptography, wrong_signature, wrong_signer

REFERS = "it refers to a registration of this run"
PUBLISHED = "the registration was published before the first label"


def check_announced(checks: Checks, body: Mapping[str, Any], protocol: Protocol) -> None:
    """Does a run that had to be registered, and to wait for a beacon, say so?"""
    if protocol.registers or "registration" in body:
        checks(REFERS, lambda: _registered(body))
    if protocol.beacon is not None or "beacon" in body:
        checks("the value of the beacon is told", lambda: _beacon(body, protocol))


def _registered(body: Mapping[str, Any]) -> str | None:
    if "registration" not in body:
        return "the protocol asks every lab to register, and this run did not"
    says = {key: body[key] for key in ("protocol_fingerprint", "private_commitment")}
    says |= {"schema": SCHEMA, "pool_fingerprint": body["pool"]["fingerprint"], "lab": body.get("lab")}
    return same(body["registration"], digest_of(says))


def _beacon(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    if protocol.beacon is None:
        return "the protocol names no beacon"
    return None if is_beacon(body.get("beacon")) else f"{protocol.beacon!r} has no value here"


def unannounced(certificate: Mapping[str, Any], protocol: Protocol) -> Iterator[Check]:
    """What the file, its pool and its journal do not show of all this."""
    body = certificate["body"]
    if "registration" in body:
        yield not_checkable(PUBLISHED, why="the file refers to it, and does not hold it", needs="registration")
        yield not_checkable(
            NO_OTHER_RUN, why="it would have a registration of its own: compare counts all that were published"
        )
    if "beacon" in body:
        why = f"it has to be looked up: {body['beacon']} as {protocol.beacon}"
        yield not_checkable("the value of the beacon is the public one", "beacon", why=why)
    if "signature" in certificate and body.get("lab") not in protocol.lab_keys:
        yield not_checkable("whose signature it is", why="the protocol lists no key of this lab")


def check_signature(
    checks: Checks, content: Mapping[str, Any], lab: str | None, protocol: Protocol, *, what: str = ""
) -> None:
    """Did the lab sign, where the protocol lists keys? A signature that nobody asked for must be right all the same.

    Raises
    ------
    MissingExtra
        If there is a signature to check and cryptography is not installed: whether it is right is not guessed.
    """
    if protocol.lab_keys.get(str(lab)) is None and not (protocol.lab_keys and lab is None):
        if "signature" in content:
            needs_cryptography()
            checks(f"{what}the signature is right", lambda: wrong_signature(content))
        return
    if "signature" in content:
        needs_cryptography()
    checks(f"{what}signed by {lab or 'its lab'}", lambda: wrong_signer(content, lab, protocol.lab_keys))
