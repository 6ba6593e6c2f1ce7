"""Whose journal is it? The first event binds it to a protocol, a pool and perhaps a claim, and holds the lab's secret."""

from __future__ import annotations

from typing import Any

from replical.core.randomness import PrivateRandomness
from replical.errors import BadJournal
from replical.lab.claim import Claim
from replical.lab.journal import Event, Journal
from replical.lab.ledger import Ledger
from replical.lab.names import check_name
from replical.lab.protocol import Protocol
from replical.lab.tables import LabPool
from replical.learners.base import Learner


def bind(protocol: Protocol, lab: LabPool, journal: Journal, learner: Learner, claim: Claim | None = None) -> bytes:
    """Write protocol, pool and claim into a new journal, or find them there as they were; the lab's secret.

    Raises
    ------
    BadJournal
        If the journal belongs to another protocol, pool or claim, or is damaged.
    PlanMismatch
        If the `learner`'s plan was not made for such a pool.
    """
    created = journal.created
    now = {"protocol_fingerprint": protocol.fingerprint, "pool_fingerprint": lab.fingerprint}
    if created is None:
        learner.plan.check(lab.pool(PrivateRandomness.fresh()))
        claimed = {} if claim is None else {"claim": claim.bound}
        journal.create({"protocol": dict(protocol.content), "items": len(lab), **now, **claimed})
        created = journal.created or {}
    for key in (*now, "private", "items"):
        if key not in created:
            raise BadJournal(f"the first event of {journal.where} is damaged: it does not say {key!r}")
    _check_claim(journal, claim, created.get("claim"))
    if created["protocol_fingerprint"] != protocol.fingerprint:
        raise BadJournal(
            f"the journal {journal.where} belongs to the protocol {created['protocol_fingerprint'][:23]}, this one "
            f"is {protocol.fingerprint[:23]}: a changed protocol needs a journal of its own"
        )
    if created["pool_fingerprint"] != lab.fingerprint:
        raise BadJournal(
            f"the pool has changed since the journal {journal.where} began: it had {created['items']} items and "
            f"the fingerprint {created['pool_fingerprint'][:23]}, now {len(lab)} and {lab.fingerprint[:23]}"
        )
    return bytes.fromhex(created["private"])


def _check_claim(journal: Journal, claim: Claim | None, created: Any) -> None:
    """The journal of a run is no journal of a confirmation, nor one of another confirmation."""
    now = None if claim is None else claim.bound
    if now == created:
        return
    own = "give this one a journal of its own"
    if now is None or not isinstance(created, dict):
        kinds = ("a run", "a confirmation") if created is None else ("a confirmation", "a run")
        raise BadJournal(f"the journal {journal.where} belongs to {kinds[0]}, not to {kinds[1]}: {own}")
    key = next((each for each in now if created.get(each) != now[each]), "claim")
    raise BadJournal(
        f"the journal {journal.where} belongs to a confirmation with {key} {created.get(key)}, here it is "
        f"{now.get(key)}: {own}"
    )


def named(protocol: Protocol, journal: Journal, ledger: Ledger, name: str) -> list[Event]:
    """The event that gives a lab its `name`, once and for all; none where it has this one.

    Raises
    ------
    BadUsage
        If it is no name, or none that the protocol lists.
    BadJournal
        If the journal has another one, or was registered without a name.
    """
    check_name(name, protocol.lab_names)
    if ledger.lab not in (None, name):
        raise BadJournal(
            f"the journal {journal.where} is that of the lab {ledger.lab!r}, not of {name!r}: give every lab "
            "a journal of its own"
        )
    if ledger.lab is None and ledger.registration is not None:
        raise BadJournal(f"the journal {journal.where} was registered without a name: leave out --lab {name}")
    return [Event(kind="lab", detail={"name": name})] if ledger.lab is None else []
