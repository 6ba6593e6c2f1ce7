"""The file of a confirmation: a publishable outcome that anyone can check, as a certificate is.

No ids, no texts, no annotators; labels only as a salted digest, the private seed only as a commitment. Nothing but
`provenance` depends on the clock: the same journal gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict, cast

from replical.core.canonical import Json, fingerprint
from replical.lab.certificate import file as certificates
from replical.lab.certificate.file import provenance, read_as, transcript_digest
from replical.lab.certificate.parts import TranscriptPart
from replical.lab.seeds import commitment
from replical.lab.session import LabelCounts, Session

SCHEMA = "replical.confirm/1"


class CandidatePart(TypedDict):
    """A hypothesis, by index and in words."""

    index: int
    name: str


class ItemsPart(TypedDict):
    """The lab's items, without saying what they are: how many, their fingerprint, and how many were looked at.

    ``unlabelled`` of those looked at would have been asked if anybody could label them.
    """

    items: int
    fingerprint: str
    scanned: int
    unlabelled: int


class CertificatePart(TypedDict):
    """The certificate whose answer it is, and the pool that was computed on."""

    digest: str
    pool_fingerprint: str


class Body(TypedDict):
    """Everything that is digested, beside the schema."""

    answer: CandidatePart
    outcome: str
    margin: float
    level: float
    against: CandidatePart | None
    labels: LabelCounts
    batch: int
    max_labels: int | None
    pool: ItemsPart
    certificate: CertificatePart
    protocol: dict[str, Any]
    protocol_fingerprint: str
    class_fingerprint: str
    private_commitment: str
    transcript: TranscriptPart
    runs_in_journal: int


PARTS = ("schema", *Body.__annotations__, "digest", "provenance")


def publish(session: Session) -> dict[str, Any]:
    """The file of a confirmation that has ended."""
    content = {"schema": SCHEMA, **body_of(session)}
    digest = fingerprint(cast(Json, content))
    return {**content, "digest": digest, "provenance": provenance(digest, session.journal.head)}


def digested(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the digest is of."""
    return {key: value for key, value in content.items() if key not in ("digest", "provenance")}


def body_of(session: Session) -> Body:
    """Everything that is digested, beside the schema."""
    protocol, lab, ledger, claim = session.protocol, session.lab, session.ledger, session.claim
    found = session.result.confirmation
    assert found is not None, "the session of a confirmation"
    assert claim is not None, "the session of a confirmation"
    return {
        "answer": candidate(session, found.hypothesis),
        "outcome": found.outcome,
        "margin": found.margin,
        "level": found.level,
        "against": None if found.against is None else candidate(session, found.against),
        "labels": session.counts,
        "batch": claim.plan.batch,
        "max_labels": claim.plan.max_labels,
        "pool": {
            "items": len(lab),
            "fingerprint": lab.fingerprint,
            "scanned": found.scanned,
            "unlabelled": found.unlabelled,
        },
        "certificate": {"digest": claim.certificate, "pool_fingerprint": claim.computed_on},
        "protocol": protocol.body,
        "protocol_fingerprint": protocol.fingerprint,
        "class_fingerprint": protocol.recipe.C.fingerprint,
        "private_commitment": commitment(session.secret),
        "transcript": {"entries": len(ledger.labels) + len(ledger.skipped), "digest": transcript_digest(session)},
        "runs_in_journal": len(ledger.results),
    }


def candidate(session: Session, h: int) -> CandidatePart:
    """A hypothesis of the session's class."""
    return {"index": h, "name": session.protocol.recipe.describe(h)}


def write(content: Mapping[str, Any], path: Path) -> None:
    """Write whole: a confirmation is there or it is not."""
    certificates.write(content, path, what="the confirmation")


def read_either(path: Path) -> dict[str, Any]:
    """Read a certificate or a confirmation."""
    return read_as(path, {certificates.SCHEMA: certificates.PARTS, SCHEMA: PARTS}, optional=("signature",))
