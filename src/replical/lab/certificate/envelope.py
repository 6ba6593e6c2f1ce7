"""A certificate as tools for attestations read it: an in-toto Statement, in a DSSE envelope where its lab signs.

The predicate is the certificate as it is written; the subjects are the protocol and, where the protocol tells the digest of
its file, the model that was chosen. An envelope is signed with the key of the certificate's own signature. Both forms are
written in one way: a reader writes what it found again, and whatever differs has been edited.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from replical.errors import BadUsage
from replical.lab.signatures import Signer, is_signed

IN_TOTO = "in-toto"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:replical:certificate:3"
PAYLOAD = "application/vnd.in-toto+json"


def check_envelope(name: str) -> None:
    """Refuse a form of certificates that is none."""
    if name != IN_TOTO:
        raise BadUsage(f"the envelope of a certificate is {IN_TOTO}, or left out for none, got {name!r:.40}")


def is_enveloped(content: Any) -> bool:
    """Is this a Statement, or an envelope?"""
    return isinstance(content, dict) and ("_type" in content or "payloadType" in content)


def statement_of(written: Mapping[str, Any]) -> dict[str, Any]:
    """The Statement about a certificate, given as it is `written`."""
    body = written["body"]
    subject = [_subject("protocol", body["protocol_fingerprint"])]
    chosen = None if body["hypothesis"] is None else body["hypothesis"]["description"]
    for candidate in body["protocol"]["class"].get("candidates", ()):
        if candidate["name"] == chosen and "digest" in candidate:
            subject.append(_subject(chosen, candidate["digest"]))
    return {"_type": STATEMENT, "subject": subject, "predicateType": PREDICATE, "predicate": written}


def _subject(name: str, digest: str) -> dict[str, Any]:
    algorithm, _, value = digest.partition(":")
    return {"name": name, "digest": {algorithm: value}}


def sign(statement: str, signer: Signer) -> dict[str, Any]:
    """A Statement, as it is written, in a signed envelope."""
    return close_envelope(statement, [{"keyid": signer.public, "sig": signer.value(_message(statement.encode()))}])


def close_envelope(statement: str, signatures: Any) -> dict[str, Any]:
    """An envelope with these signatures."""
    payload = base64.b64encode(statement.encode()).decode()
    return {"payloadType": PAYLOAD, "payload": payload, "signatures": signatures}


def open_envelope(content: Mapping[str, Any]) -> Any:
    """The certificate in a Statement, in an envelope or not; anything may be wrong with it yet."""
    return (json.loads(_payload(content)) if "payloadType" in content else content)["predicate"]


def wrong_envelope(content: Mapping[str, Any], signature: Any) -> str | None:
    """What is wrong with the signature of an envelope, given that of the certificate in it; nothing of a bare Statement."""
    if "payloadType" not in content:
        return None
    key, signed = signature.get("key") if isinstance(signature, Mapping) else None, content["signatures"]
    if not isinstance(signed, list) or len(signed) != 1 or not isinstance(signed[0], Mapping):
        return "an envelope has one signature"
    if set(signed[0]) != {"keyid", "sig"} or signed[0]["keyid"] != key:
        return "it is signed with another key than the certificate in it"
    return None if is_signed(key, signed[0]["sig"], _message(_payload(content))) else "its signature is forged"


def _payload(content: Mapping[str, Any]) -> bytes:
    return base64.b64decode(content["payload"], validate=True)


def _message(payload: bytes) -> bytes:
    """What is signed, by DSSE: kind and content, each after its length."""
    return b" ".join((b"DSSEv1", str(len(PAYLOAD)).encode(), PAYLOAD.encode(), str(len(payload)).encode(), payload))
