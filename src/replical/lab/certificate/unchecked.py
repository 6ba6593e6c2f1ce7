"""What could not be checked: which fields are believed, why, and what would show whether they are right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replical.lab.certificate.checks import Check, claim_of, decided_by_labels
from replical.lab.protocol import Protocol
from replical.learners.proof import family_of

LEVELS = ("none", "self", "pool", "journal")
NO_OTHER_RUN = "no other run was made and thrown away"
PUBLISHED = "the registration was published before the first label"
MADE_IN_PUBLIC = "the public table makes these handicaps"
OLDER = "the protocol is older than the labels"


def unchecked_fields(body: Mapping[str, Any], protocol: Protocol, level: str) -> Iterator[Check]:
    """What is left to believe after a check at this `level`."""
    depth = LEVELS.index(level)
    for each in (*_file_beliefs(body, protocol), *_IN_NO_FILE):
        if each.needs not in LEVELS or depth < LEVELS.index(each.needs):
            yield each


def unchecked_public(protocol: Protocol) -> Iterator[Check]:
    """Whether the public table that a protocol names made what it prefers."""
    if protocol.public is not None:
        yield not_checkable(
            MADE_IN_PUBLIC, why="the protocol names a public table, and does not hold it", needs="public"
        )


def unchecked_registration(certificate: Mapping[str, Any], protocol: Protocol) -> Iterator[Check]:
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


def not_checkable(name: str, *fields: str, why: str, needs: str = "") -> Check:
    """Something that is believed, in these `fields`, because of this; `needs` would show it."""
    return Check(name=name, status="not checkable", detail=why, needs=needs, fields=fields)


_IN_NO_FILE = (
    not_checkable("the labels are right", why="nobody but people who label again can tell"),
    not_checkable("the items are a fair sample of the population", why="no table shows how it was drawn"),
    not_checkable(NO_OTHER_RUN, why="a journal shows one run, and nobody sees those that were not published"),
    not_checkable(OLDER, why="it has to be published before the first label; no clock is in these files"),
)
_LABELS = "labels are not in the file"


def _file_beliefs(body: Mapping[str, Any], protocol: Protocol) -> Iterator[Check]:
    yield not_checkable(
        "these are the lab's items",
        "pool.fingerprint",
        "pool.items",
        "pool.summary[].predicts[]",
        *([f"parts[].{key}" for key in ("items", "fingerprint")] if "parts" in body else ()),
        why="the file names the pool, and does not hold it",
        needs="pool",
    )
    chosen = ["hypothesis", "shared.winner_rank"] if decided_by_labels(body, protocol) else []
    yield not_checkable("the labels leave these survivors", "survivors", *chosen, why=_LABELS, needs="journal")
    yield not_checkable("the rounds went like this", *_round_fields(body), why=_LABELS, needs="journal")
    yield not_checkable(
        "private seed and labels are those committed to",
        "private_commitment",
        "transcript.digest",
        "labels.corrected",
        "runs_in_journal",
        *(("lab",) if "lab" in body else ()),
        why="the file holds digests of them",
        needs="journal",
    )
    for each in family_of(protocol.record).beliefs(claim_of(body, protocol)):
        yield not_checkable(each.name, *each.fields, why=each.why, needs=each.needs)


def _round_fields(body: Mapping[str, Any]) -> list[str]:
    keys = ("disagreement[]", "survivors", "drawn", "scanned") if body["rounds"] else ()
    rounds = [f"rounds[].{key}" for key in keys]
    return [*rounds, "labels.asked", "labels.answered", "labels.skipped", "transcript.entries", "conditions[].value"]
