"""From a certificate to a claim: which answers may be confirmed on which items."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from replical.core.exact import fraction
from replical.core.words import plural
from replical.errors import BadCertificate, BadJournal, BadTable
from replical.lab.certificate.shape import index_of
from replical.lab.certificate.verify import verify
from replical.lab.claim import Claim
from replical.lab.journal import Journal
from replical.lab.ledger import Ledger
from replical.lab.protocol import Protocol
from replical.lab.seeds import commitment
from replical.lab.tables import LabPool
from replical.plans.confirm import confirm_plan


def claim_of(
    certificate: Mapping[str, Any],
    *,
    margin: float | None = None,
    level: float | None = None,
    batch: int | None = None,
    max_labels: int | None = None,
) -> tuple[Protocol, Claim]:
    """The answer of a certificate as a claim, with its protocol.

    Parameters
    ----------
    certificate
        From `replical.lab.certificate.file.read`; it must be valid by itself.
    margin
        By how much the answer may err more than the best; ε of the protocol if left out.
    level
        How often either outcome may be wrong; β of a settled protocol, δ of any other, if left out.
    batch
        Items open at once; the protocol's if left out.
    max_labels
        Budget; only the pool limits it if left out.

    Returns
    -------
    protocol, claim
        What a `Session` is made with.

    Raises
    ------
    BadCertificate
        If the certificate is not valid, or has no answer.
    ValueOutOfRange
        For a number out of its range, and a budget below one batch.
    """
    verdict = verify(certificate)
    if not verdict.valid:
        wrong = verdict.failed[0]
        raise BadCertificate(f"the certificate is not valid ({wrong.name}: {wrong.detail}), so it is not confirmed")
    body = certificate["body"]
    protocol, h = Protocol.of(body["protocol"]), index_of(body)
    if h is None:
        raise BadCertificate("the certificate has no answer, no heavy hitter was found, so there is nothing to confirm")
    plan = confirm_plan(
        len(protocol.recipe.C),
        margin=protocol.given("epsilon") if margin is None else margin,
        level=usual_level(protocol) if level is None else level,
        batch=(protocol.given("batch") or 1) if batch is None else batch,
        max_labels=max_labels,
        losses=protocol.recipe.losses,
    )
    return protocol, Claim(
        certificate=certificate["digest"], computed_on=body["pool"]["fingerprint"], hypothesis=h, plan=plan
    )


def usual_level(protocol: Protocol) -> Fraction:
    """β where the protocol has one, as those of settled runs do, otherwise δ."""
    numbers = {number.name: Fraction(number.value) for number in protocol.plan.numbers}
    return numbers.get("beta", fraction(protocol.given("delta")))


def check_fresh(certificate: Mapping[str, Any], claim: Claim, lab: LabPool, against: Journal | None = None) -> None:
    """Refuse items that the answer may depend on.

    Parameters
    ----------
    certificate, claim
        The answer.
    lab
        The items it is to be confirmed on.
    against
        The journal of the run that found the answer, if it is at hand.

    Raises
    ------
    BadTable
        If the answer was computed on this pool, or on items of it.
    BadJournal
        If the journal is that of another run.
    """
    if lab.fingerprint == claim.computed_on:
        raise BadTable(
            "the answer was computed on these items, so they cannot confirm it: bring a pool of items that it has not seen"
        )
    if against is None:
        return
    private = (against.created or {}).get("private", "")
    if commitment(bytes.fromhex(private)) != certificate["body"]["private_commitment"]:
        raise BadJournal(f"{against.where} is not the journal of the run that wrote the certificate: give that one")
    ledger = Ledger.of(against.events())
    both = (ledger.asked | set(ledger.labels) | ledger.skipped) & set(lab.ids)
    if both:
        raise BadTable(
            f"{len(both)} of {len(lab)} items of the pool {plural(len(both), 'was', 'were')} asked in the run that found "
            f"the answer, e.g. {min(both)!r}: take those rows out of the pool"
        )
