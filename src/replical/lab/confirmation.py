"""Is a published answer confirmed on another lab's items? What may be asked, and on which items."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from replical.core.exact import fraction
from replical.core.text import plural
from replical.errors import BadCertificate, BadJournal, BadTable
from replical.lab.certificate.checks import index_of, record_of
from replical.lab.certificate.verify import verify
from replical.lab.journal.binding import commitment
from replical.lab.journal.journal import Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.pool import LabPool
from replical.lab.protocol import Confirming, Protocol
from replical.learners.handicap.confirm import confirm_plan
from replical.learners.proof import family_of


def confirming(
    certificate: Mapping[str, Any],
    *,
    margin: float | None = None,
    level: float | None = None,
    batch: int | None = None,
    max_labels: int | None = None,
) -> Confirming:
    """The protocol of a certificate, to confirm its answer; what is left out is the protocol's own."""
    verify(certificate).refuse_unless_valid("the certificate", "it is not confirmed")
    body = certificate["body"]
    if family_of(record_of(body)).confirms:
        raise BadCertificate("the certificate is itself a confirmation: give the certificate that it is about")
    protocol, h = Protocol.of(body["protocol"]), index_of(body)
    if h is None:
        raise BadCertificate("the certificate has no answer, no heavy hitter was found, so there is nothing to confirm")
    plan = confirm_plan(
        len(protocol.recipe.C),
        margin=protocol.parameter("epsilon") if margin is None else margin,
        level=usual_level(protocol) if level is None else level,
        batch=(protocol.parameter("batch") or 1) if batch is None else batch,
        max_labels=max_labels,
    )
    numbers = {"margin": float(plan.margin), "level": float(plan.level), "batch": plan.batch}
    source = {"certificate": certificate["digest"], "pool_fingerprint": body["pool"]["fingerprint"]}
    return protocol.confirming(h, {**source, **numbers, "max_labels": plan.max_labels})


def usual_level(protocol: Protocol) -> Fraction:
    """β where the protocol has one, as those of handicap do, otherwise δ."""
    numbers = {number.name: Fraction(number.value) for number in protocol.plan.numbers}
    return numbers.get("beta", fraction(protocol.parameter("delta")))


def check_fresh(certificate: Mapping[str, Any], lab: LabPool, against: Journal | None = None) -> None:
    """Refuse items that the answer of this certificate may depend on."""
    body = certificate["body"]
    if lab.fingerprint == body["pool"]["fingerprint"]:
        raise BadTable(
            "the answer was computed on these items, so they cannot confirm it: bring a pool of items that it has not seen"
        )
    if against is None:
        return
    private = (against.created or {}).get("private", "")
    if commitment(bytes.fromhex(private)) != body["private_commitment"]:
        raise BadJournal(f"{against.where} is not the journal of the run that wrote the certificate: give that one")
    ledger = Ledger.of(against.events())
    both = (ledger.asked | set(ledger.labels) | ledger.skipped) & set(lab.ids)
    if both:
        raise BadTable(
            f"{len(both)} of {len(lab)} items of the pool {plural(len(both), 'was', 'were')} asked in the run that found "
            f"the answer, e.g. {min(both)!r}: take those rows out of the pool"
        )
