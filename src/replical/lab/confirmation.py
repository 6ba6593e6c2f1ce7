"""Is a published answer confirmed on another lab's items? What may be asked, the file that is published, and checking it.

The file is a publishable outcome that anyone can check, as a certificate is. No ids, no texts, no annotators; labels only
as a salted digest, the private seed only as a commitment. Nothing but `provenance` depends on the clock: the same journal
gives the same bytes.

It is checked alone, with its pool, with pool and journal. *self*: digests, protocol, answer, and whether so many items and
labels can have decided. *pool*: these are the items, and others than those the answer was computed on. *journal*: the whole
confirmation is replayed, and every field must come out again.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from replical.core.canonical import Json, fingerprint
from replical.core.exact import fraction
from replical.core.text import count, plural
from replical.errors import BadCertificate, BadJournal, BadTable
from replical.lab.certificate import file as certificates
from replical.lab.certificate.checks import Checks, Verification, check_seal, index_of
from replical.lab.certificate.file import provenance, read_as, transcript_digest
from replical.lab.certificate.schema import Count, Digest, Labels, Transcript, wrong_shape
from replical.lab.certificate.unchecked import not_checkable, unchecked_at
from replical.lab.certificate.verify import check_limits, verify
from replical.lab.journal.journal import Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.journal.owner import commitment
from replical.lab.pool import LabPool
from replical.lab.protocol import Claim, Protocol
from replical.lab.sessions.session import Session
from replical.learners.handicap.confirm import Confirmation, ConfirmPlan, Outcome, confirm_plan
from replical.learners.proof import same

SCHEMA = "replical.confirm/1"


class ConfirmationBody(Struct, forbid_unknown_fields=True):
    """Everything that is digested."""

    schema: str
    answer: CandidatePart
    outcome: Outcome
    margin: float
    level: float
    against: CandidatePart | None
    labels: Labels
    batch: Count
    max_labels: Count | None
    pool: ItemsPart
    certificate: CertificatePart
    protocol: dict[str, Any]
    protocol_fingerprint: Digest
    class_fingerprint: Digest
    private_commitment: Digest
    transcript: Transcript
    runs_in_journal: Count


class CandidatePart(Struct, forbid_unknown_fields=True):
    """A hypothesis, by index and in words."""

    index: Count
    name: str


class ItemsPart(Struct, forbid_unknown_fields=True):
    """The lab's items, without saying what they are: how many, their fingerprint, and how many were looked at.

    ``unlabelled`` of those looked at would have been asked if anybody could label them.
    """

    items: Count
    fingerprint: Digest
    scanned: Count
    unlabelled: Count


class CertificatePart(Struct, forbid_unknown_fields=True):
    """The certificate whose answer it is, and the pool that was computed on."""

    digest: Digest
    pool_fingerprint: Digest


PARTS = (*ConfirmationBody.__struct_fields__, "digest", "provenance")


def claim_of(
    certificate: Mapping[str, Any],
    *,
    margin: float | None = None,
    level: float | None = None,
    batch: int | None = None,
    max_labels: int | None = None,
) -> tuple[Protocol, Claim]:
    """The answer of a certificate as a claim, with its protocol."""
    verdict = verify(certificate)
    if not verdict.valid:
        wrong = verdict.objection
        raise BadCertificate(f"the certificate is not valid ({wrong.name}: {wrong.detail}), so it is not confirmed")
    body = certificate["body"]
    protocol, h = Protocol.of(body["protocol"]), index_of(body)
    if h is None:
        raise BadCertificate("the certificate has no answer, no heavy hitter was found, so there is nothing to confirm")
    plan = confirm_plan(
        len(protocol.recipe.C),
        margin=protocol.parameter("epsilon") if margin is None else margin,
        level=usual_level(protocol) if level is None else level,
        batch=(protocol.parameter("batch") or 1) if batch is None else batch,
        max_labels=max_labels,
        losses=protocol.recipe.losses,
    )
    return protocol, Claim(
        certificate=certificate["digest"], computed_on=body["pool"]["fingerprint"], hypothesis=h, plan=plan
    )


def usual_level(protocol: Protocol) -> Fraction:
    """β where the protocol has one, as those of handicap do, otherwise δ."""
    numbers = {number.name: Fraction(number.value) for number in protocol.plan.numbers}
    return numbers.get("beta", fraction(protocol.parameter("delta")))


def check_fresh(certificate: Mapping[str, Any], claim: Claim, lab: LabPool, against: Journal | None = None) -> None:
    """Refuse items that the answer may depend on."""
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


def publish(session: Session) -> dict[str, Any]:
    """The file of a confirmation that has ended."""
    content = {"schema": SCHEMA, **body_of(session)}
    digest = fingerprint(cast(Json, content))
    return {**content, "digest": digest, "provenance": provenance(digest, session.journal.head)}


def body_of(session: Session) -> dict[str, Any]:
    """Everything that is digested, beside the schema."""
    protocol, lab, ledger, claim = session.protocol, session.lab, session.ledger, session.claim
    found = session.result.proof
    assert isinstance(found, Confirmation), "the session of a confirmation"
    assert isinstance(claim, Claim), "the session of a confirmation"
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
        "transcript": {"entries": sum(map(len, session.used_labels)), "digest": transcript_digest(session)},
        "runs_in_journal": len(ledger.results),
    }


def candidate(session: Session, h: int) -> dict[str, Any]:
    """A hypothesis of the session's class."""
    return {"index": h, "name": session.protocol.recipe.describe(h)}


def digest_content(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the digest is of."""
    return {key: value for key, value in content.items() if key not in ("digest", "provenance")}


def write(content: Mapping[str, Any], path: Path) -> None:
    """Write whole: a confirmation is there or it is not."""
    certificates.write(content, path, what="the confirmation")


def read_either(path: Path) -> dict[str, Any]:
    """Read a certificate or a confirmation."""
    return read_as(path, {certificates.SCHEMA: certificates.PARTS, SCHEMA: PARTS}, optional=("signature",))


def verify_confirmation(
    content: Mapping[str, Any], lab: LabPool | None = None, journal: Journal | None = None
) -> Verification:
    """Check a confirmation as deeply as what is given allows."""
    checks = Checks()
    check_limits(content, deeply=lab is not None)
    checks("the digest is that of the body", lambda: same(content["digest"], fingerprint(digest_content(content))))
    checks("the seal is that of digest and provenance", lambda: check_seal(content))
    checks("every part is written as it must be", lambda: _check_shape(content))
    checks("the protocol is valid and has this fingerprint", lambda: _check_protocol(content))
    if not all(check.ok for check in checks.done[2:]):
        return checks.verification("self")
    level = _check_levels(checks, content, lab, journal)
    return checks.verification(level).with_checks(*unchecked_at(level, *_UNCHECKED))


_UNCHECKED = (
    not_checkable(
        "these are the lab's items", "pool.fingerprint", "pool.items", needs="pool",
        why="the file names the pool, and does not hold it",
    ),
    not_checkable(
        "the labels decide it", "outcome", "against", "labels", "pool.scanned", "pool.unlabelled", "transcript.entries",
        needs="journal", why="labels are not in the file",
    ),
    not_checkable(
        "private seed and labels are those committed to", "private_commitment", "transcript.digest", "runs_in_journal",
        needs="journal", why="the file holds digests of them",
    ),
    not_checkable(
        "the answer is that of the certificate named", "answer", "certificate",
        why="the file names the certificate, and does not hold it",
    ),
)  # fmt: skip


def _check_levels(checks: Checks, content: Mapping[str, Any], lab: LabPool | None, journal: Journal | None) -> str:
    """Check as deeply as what is given allows; how deep that was."""
    protocol = Protocol.of(content["protocol"])
    class_fingerprint = protocol.recipe.C.fingerprint
    checks("the class has this fingerprint", lambda: same(content["class_fingerprint"], class_fingerprint))
    checks("margin, level, batch and budget are such numbers", lambda: _check_numbers(content, protocol))
    if not checks.done[-1].ok:
        return "self"
    checks("answer and opponent are of the class", lambda: _check_candidates(content, protocol))
    checks("labels and items add up", lambda: _check_counts(content))
    checks("so many items and labels can decide this", lambda: _check_possible(content, _plan(content, protocol)))
    if lab is None:
        return "self"
    checks("the pool has this fingerprint", lambda: same(content["pool"]["fingerprint"], lab.fingerprint))
    checks("the pool has so many items", lambda: same(content["pool"]["items"], len(lab)))
    if journal is None or not checks.all_hold:
        return "pool"
    _check_replay(checks, content, protocol, lab, journal)
    return "journal"


def _check_shape(content: Mapping[str, Any]) -> str | None:
    if wrong := wrong_shape(digest_content(content), ConfirmationBody):
        return wrong
    if content["pool"]["fingerprint"] == content["certificate"]["pool_fingerprint"]:
        return "the answer was computed on these items, so they cannot confirm it"
    return None


def _check_protocol(content: Mapping[str, Any]) -> str | None:
    return same(content["protocol_fingerprint"], Protocol.of(content["protocol"]).fingerprint)


def _check_numbers(content: Mapping[str, Any], protocol: Protocol) -> str | None:
    plan = _plan(content, protocol)  # refuses what is none
    return same([content["margin"], content["level"]], [float(plan.margin), float(plan.level)])


def _plan(content: Mapping[str, Any], protocol: Protocol) -> ConfirmPlan:
    n, named = len(protocol.recipe.C), ("margin", "level", "batch", "max_labels")
    return confirm_plan(n, losses=protocol.recipe.losses, **{name: content[name] for name in named})


def _check_candidates(content: Mapping[str, Any], protocol: Protocol) -> str | None:
    h, against = content["answer"]["index"], content["against"]
    for each in (content["answer"], *(() if against is None else (against,))):
        index = each["index"]
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(protocol.recipe.C):
            return f"there is no hypothesis {index!r}"
        if wrong := same(each, {"index": index, "name": protocol.recipe.describe(index)}):
            return wrong
    if against is not None and against["index"] == h:
        return "the answer is no rival of itself"
    if content["outcome"] == "confirmed":
        return None if against is None else "the answer is confirmed, and yet a rival is named"
    few = content["pool"]["unlabelled"] > content["labels"]["asked"]
    if against is None and (content["outcome"] == "refuted" or not few):
        return "the answer is not confirmed, and no rival is named"
    return None


def _check_counts(content: Mapping[str, Any]) -> str | None:
    labels, pool = content["labels"], content["pool"]
    if not labels["asked"] <= labels["answered"] <= pool["items"]:
        return f"{count(labels['asked'], 'label')} asked, {labels['answered']} of {pool['items']} items answered"
    if not labels["asked"] + pool["unlabelled"] <= pool["scanned"] <= pool["items"]:
        return "more items were asked than looked at, or more looked at than there are"
    if pool["unlabelled"] > labels["skipped"]:
        return "more items could not be labelled than were skipped"
    if content["transcript"]["entries"] != labels["answered"] + labels["skipped"]:
        return "the transcript does not hold every answer and skip"
    most = content["max_labels"]
    return None if most is None or labels["asked"] <= most else f"more labels than the budget of {most}"


def _check_possible(content: Mapping[str, Any], plan: ConfirmPlan) -> str | None:
    """Were every label as the outcome would have it, would the bets be won?"""
    asked, scanned = content["labels"]["asked"], content["pool"]["scanned"]
    if content["outcome"] == "confirmed":
        if content["pool"]["unlabelled"] > asked:
            return "more items could not be labelled than were, so nothing is confirmed"
        most = plan.bets_for.wealth(scanned - asked, 0, asked)
        return (
            None if plan.n == 1 or most >= plan.winning_wealth else f"{scanned} items are too few to confirm anything"
        )
    if content["outcome"] == "refuted":
        most = plan.bets_against.wealth(scanned - asked, asked, 0)
        return None if most >= plan.winning_wealth else f"{asked} labels are too few to refute anything"
    spent = plan.max_labels is not None and asked >= plan.max_labels
    ended = spent or scanned == content["pool"]["items"] or content["against"] is None
    return None if ended else "neither pool nor budget were used up, and yet nothing is decided"


def _check_replay(
    checks: Checks, content: Mapping[str, Any], protocol: Protocol, lab: LabPool, journal: Journal
) -> None:
    sessions: list[Session] = []
    claim = Claim(
        certificate=content["certificate"]["digest"],
        computed_on=content["certificate"]["pool_fingerprint"],
        hypothesis=content["answer"]["index"],
        plan=_plan(content, protocol),
    )

    def replays() -> str | None:
        if journal.created is None:
            return "the journal is empty"
        sessions.append(Session(protocol, lab, journal, claim=claim))
        return (
            None if not sessions[0].open else f"{count(len(sessions[0].open), 'label is', 'labels are')} still missing"
        )

    checks("the journal belongs to certificate, pool, margin and level and holds a whole confirmation", replays)
    if not checks.done[-1].ok:
        return
    session = sessions[0]
    private = content["private_commitment"]
    checks("the commitment is to the journal's private seed", lambda: same(private, commitment(session.secret)))
    for part, again in body_of(session).items():
        checks(
            f"replayed: {part.replace('_', ' ')}",
            lambda part=part, again=again: same(content[part], again),  # type: ignore[misc]
        )
