"""What the journal shows: the whole run again, field by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replical.core.words import count
from replical.lab.certificate.checks import Checks, same
from replical.lab.certificate.file import body_of
from replical.lab.journal import Journal
from replical.lab.protocol import Protocol
from replical.lab.seeds import commitment
from replical.lab.session import Session
from replical.lab.tables import LabPool


def replay(checks: Checks, certificate: Mapping[str, Any], protocol: Protocol, lab: LabPool, journal: Journal) -> None:
    """Run it again on the labels that the journal holds; every field must come out again."""
    body, provenance = certificate["body"], certificate["provenance"]
    sessions: list[Session] = []

    def replays() -> str | None:
        if journal.created is None:
            return "the journal is empty"
        if body["private_commitment"] != commitment(bytes.fromhex(str(journal.created.get("private", "")))):
            return "this is the journal of another run: the certificate commits to another private seed"
        error = body.get("answer_error") or {"labels": 0}
        sessions.append(Session(protocol, lab, journal, measure=error["labels"]))
        return (
            None if not sessions[0].open else f"{count(len(sessions[0].open), 'label is', 'labels are')} still missing"
        )

    if not checks("the journal belongs to protocol and pool and holds a whole run", replays):
        return
    if "journal_head" in provenance:
        told = provenance["journal_events"], provenance["journal_head"]
        checks("the journal holds the events that it held when the certificate was made", lambda: _head(*told, journal))
    again = dict(body_of(sessions[0]))
    before = {"registration", "beacon"} & set(again)  # they come before the first label, so nobody may leave them out
    for part in sorted({*body, *before}):
        checks(f"replayed: {part.replace('_', ' ')}", lambda part=part: same(body.get(part), again.get(part)))  # type: ignore[misc]


def _head(events: str, head: str, journal: Journal) -> str | None:
    """The chain of a journal that goes on has the same hash there; one that was cut or written anew has not."""
    found = journal.hash_of(int(events))
    if found is None:
        return f"the certificate tells of {events} events, and the journal has fewer: its end was cut off"
    return same(head, found)
