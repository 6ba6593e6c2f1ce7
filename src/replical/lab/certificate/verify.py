"""Checking a certificate: alone, with its pool, with pool and journal.

*self*: whatever protocol, published text and sizes determine is recomputed, and what no data can have led to is refused.
*pool*: also masses and what follows from them. *journal*: the whole run is replayed, and every field must come
out again. What a level cannot see is listed.

A certificate names a class of any size, so how much work it may ask for is limited. Checking works in blocks: memory does
not grow with the class, time does, and so does what is measured on items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from replical.core.canonical import fingerprint
from replical.core.files import REMEDY, trusts_sizes
from replical.core.randomness import PrivateRandomness
from replical.core.text import count
from replical.errors import BadTable, BadUsage, ReplicalError
from replical.lab.certificate import checks as rules
from replical.lab.certificate import unchecked
from replical.lab.certificate.file import body_of, plan_of, shared_of, summary
from replical.lab.certificate.schema import wrong_body
from replical.lab.journal.binding import SCHEMA, check_own, commitment, is_beacon, question_digest, registration_digest
from replical.lab.journal.journal import Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.pool import LabPool, Part
from replical.lab.protocol import Protocol
from replical.lab.public import check_apart, check_made
from replical.lab.sessions.session import Budgets, Session
from replical.lab.signatures import needs_cryptography, wrong_signature, wrong_signer
from replical.learners.catalogue import find, takes_handicaps
from replical.learners.plan import STOP
from replical.learners.proof import family_of, indices_of, same
from replical.pools.pool import Pool
from replical.pools.version_space import VersionSpace


def verify(
    certificate: Mapping[str, Any],
    lab: LabPool | None = None,
    journal: Journal | None = None,
    *,
    public: Path | None = None,
) -> rules.Verification:
    """Check a certificate as deeply as what is given allows; a `public` table shows whether it made the handicaps."""
    checks, body = rules.Checks(), certificate["body"]
    check_limits(body, deeply=lab is not None)
    checks("the digest is that of the body", lambda: same(certificate["digest"], fingerprint(body)))
    checks("the seal is that of digest and provenance", lambda: rules.check_seal(certificate))
    if unknown := unknown_learner(body):
        return checks.verification("none").with_checks(unchecked.not_checkable(KNOWN, why=unknown))
    readable = checks("every part is written as it must be", lambda: wrong_body(body, family_of(rules.record_of(body))))
    readable = readable and checks("the protocol is valid and has this fingerprint", lambda: rules.check_protocol(body))
    if not readable:
        return checks.verification("self")
    protocol, level = rules.protocol_of(body), "self"
    check_signature(checks, certificate, body.get("lab"), protocol)
    readable = _check_alone(checks, body, protocol)
    if public is not None and readable:
        checks(unchecked.MADE_IN_PUBLIC, lambda: (check_made(protocol, public), None)[1])
    if public is not None and lab is not None and readable and checks.all_hold:
        checks("no item of the pool is in the public table", lambda: check_apart(protocol, public, lab))
    if lab is not None and readable:
        PoolChecks(body, protocol, lab).check(checks)
        level = "pool"
        if journal is not None and checks.all_hold:
            check_replay(checks, certificate, protocol, lab, journal)
            level = "journal"
    if not readable:
        return checks.verification(level)
    return (
        checks.verification(level)
        .with_checks(*(unchecked.unchecked_public(protocol) if public is None else ()))
        .with_checks(*unchecked.unchecked_fields(body, protocol, level))
        .with_checks(*unchecked.unchecked_registration(certificate, protocol))
    )


def _check_alone(checks: rules.Checks, body: Mapping[str, Any], protocol: Protocol) -> bool:
    """What the file alone shows; was it fit to be read on?"""
    C, plan = protocol.recipe.C, protocol.plan
    checks("the class has this fingerprint", lambda: same(body["class_fingerprint"], C.fingerprint))
    if "lab" in body:
        checks("the lab may have this name", lambda: rules.check_lab_name(body["lab"], protocol))
    check_registration(checks, body, protocol)
    checks("the plan follows from the protocol", lambda: same(body["plan"], plan_of(plan)))
    if not checks("the protocol can be run on so many items", lambda: rules.check_items(body, protocol)):
        return False
    if protocol.population is not None:
        table = body["pool"]["fingerprint"]
        checks("the pool is the table that the protocol names", lambda: same(table, protocol.population))
    words = body["shared"]
    checks("the shared words follow from the string", lambda: same(words, shared_of(protocol, rules.index_of(body))))
    checks("the summary counts every item", lambda: rules.check_summary(body, protocol))
    checks("labels, skips and rounds add up", lambda: rules.check_counts(body, protocol))
    family, claim = family_of(protocol.record), rules.claim_of(body, protocol)
    for step in family.steps(claim, rules.list_steps(body, protocol)):
        if not checks(step.name, step.test) and step.needed:
            return False
    if family.Part is None:
        checks("nothing is certified", lambda: same((body["certified"], body["rho_proven"]), (False, None)))
    return True


KNOWN = "the learner is one that this version knows"


def unknown_learner(body: Any) -> str | None:
    """Why nobody here can say what the proof should be; None where its learner is known."""
    try:
        learner = body["protocol"]["learner"]["name"]
    except (LookupError, TypeError):
        return None  # damaged: what is written where, is another check
    try:
        find(str(learner))
    except ReplicalError as error:
        return str(error)
    return None


REFERS = "it refers to a registration of this run"


def check_registration(checks: rules.Checks, body: Mapping[str, Any], protocol: Protocol) -> None:
    """Does a run that had to be registered, and to wait for a beacon, say so?"""
    registered = "registration" in body or any(part["registration"] for part in body.get("parts", ()))
    if protocol.registers or registered:
        checks(REFERS, lambda: _check_reference(body, protocol))
    if protocol.beacon is not None or "beacon" in body:
        checks("the value of the beacon is told", lambda: _check_beacon(body, protocol))


def _check_reference(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    whole = {"fingerprint": body["pool"]["fingerprint"], "registration": body.get("registration")}
    for part in body.get("parts", [whole]):
        if part["registration"] is None and (protocol.registers or part is whole):
            return "the protocol asks every lab to register, and this run did not"
        says = {key: body[key] for key in ("protocol_fingerprint", "private_commitment")}
        says |= {"schema": SCHEMA, "pool_fingerprint": part["fingerprint"], "lab": body.get("lab")}
        says |= {"confirms": question_digest(protocol)}
        if part["registration"] not in (None, registration_digest(says)):
            return same(part["registration"], registration_digest(says))
    return None if "parts" not in body else same(body["parts"][0]["registration"], body.get("registration"))


def _check_beacon(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    if protocol.beacon is None:
        return "the protocol names no beacon"
    return None if is_beacon(body.get("beacon")) else f"{protocol.beacon!r} has no value here"


def check_signature(
    checks: rules.Checks, content: Mapping[str, Any], lab: str | None, protocol: Protocol, *, what: str = ""
) -> None:
    """Did the lab sign, where the protocol lists keys? A signature that nobody asked for must be right all the same.

    Who confirms need not be listed, and signs all the same, with a key of its own.
    """
    confirms = content.get("body", content).get("confirms") is not None
    if protocol.lab_keys.get(str(lab)) is None and not (protocol.lab_keys and lab is None):
        if "signature" in content:
            needs_cryptography()
            checks(f"{what}the signature is right", lambda: wrong_signature(content))
        elif confirms and protocol.lab_keys:
            checks(f"{what}signed by {lab}", lambda: "it is not signed, and the protocol lists the keys of labs")
        return
    if "signature" in content:
        needs_cryptography()
    checks(f"{what}signed by {lab or 'its lab'}", lambda: wrong_signer(content, lab, protocol.lab_keys))


_ALONE = 2**27  # hypotheses whose place in the shared order is looked up: a few seconds
_MEASURED = 2**24  # hypotheses that are held, each with its handicap: about 2 GiB
_HELD = 2**22  # numbers that a class has to hold: cuts, or the normals of a net


def check_limits(body: Any, *, deeply: bool = False) -> None:
    """Refuse a `body` whose protocol asks for too much; where a pool is given too, all are held `deeply`."""
    protocol = body.get("protocol") if isinstance(body, Mapping) else None
    if trusts_sizes() or not isinstance(protocol, Mapping) or not isinstance(protocol.get("class"), Mapping):
        return
    if (held := _class_numbers(protocol["class"])) > _HELD:
        raise _too_much(f"a class of {held:,} numbers", _HELD)
    try:
        n = len(Protocol(protocol).recipe.C)
    except (ReplicalError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return
    most = _MEASURED if deeply or takes_handicaps(protocol.get("learner")) else _ALONE
    if n > most:
        raise _too_much(f"{n:,} hypotheses", most)


def _class_numbers(section: Mapping[str, Any]) -> int:
    """Numbers that the class holds, at most: bins of every feature, or a net's normals and offsets."""
    features = section.get("features")
    width = len(features) if isinstance(features, list) else 1
    count, bins = (value if isinstance(value := section.get(key), int) else 0 for key in ("count", "bins"))
    listed = section.get("kind") in ("thresholds", "stumps")
    return (width + 1) * count if section.get("kind") == "halfspaces" else width * bins * listed


def _too_much(what: str, most: int) -> BadUsage:
    return BadUsage(f"the certificate asks for {what}, more than the {most:,} that are checked at once: {REMEDY}")


@dataclass(frozen=True)
class PoolChecks:
    """A certificate's `body`, read with the lab's items."""

    body: Mapping[str, Any]
    protocol: Protocol
    lab: LabPool

    @cached_property
    def pool(self) -> Pool:
        """The items; masses do not depend on the private order, so any order will do."""
        return self.lab.pool(PrivateRandomness.simulated("verification"))

    @cached_property
    def whole(self) -> VersionSpace:
        """Who may be the answer, on these items."""
        members, everybody = self.protocol.plan.members, self.pool.version_space()
        return everybody if members is None or self.protocol.plan.infers else everybody.restrict(members)

    @cached_property
    def survivors(self) -> VersionSpace:
        """Those the certificate names."""
        left = indices_of(self.body["survivors"], len(self.protocol.recipe.C))
        return self.whole.keep(np.isin(self.whole.indices, left))

    @property
    def unused(self) -> int:
        """Items of the pool that masses were not measured on; which ones is private."""
        return len(self.lab) - self.protocol.plan.measured(len(self.lab))

    def check(self, checks: rules.Checks) -> None:
        """Everything that these items show."""
        body, protocol, lab = self.body, self.protocol, self.lab
        checks("the pool has this fingerprint", lambda: same(body["pool"]["fingerprint"], lab.fingerprint))
        checks("the pool has no item that is known to be public", lambda: check_own(protocol, lab))
        if "parts" in body:
            checks("the pool consists of these parts", self._check_parts)
        checks("the pool has so many items", lambda: same(body["pool"]["items"], len(lab)))
        checks("the summary is that of the pool", lambda: same(body["pool"]["summary"], summary(protocol, lab)))
        if not family_of(protocol.record).lists:
            return
        checks("disagreement in the rounds is possible on the pool", self._check_disagreement)
        if protocol.plan.keeps_all_left:
            found = {each["name"]: each["value"] for each in body["conditions"]}
            checks(
                "disagreement at the stop is that of the survivors on the pool",
                lambda: same(float(found[STOP]), float(self.survivors.mass)),
            )

    def _check_parts(self) -> str | None:
        known = [Part(each["items"], each["fingerprint"]) for each in self.body["parts"]]
        try:
            divided = self.lab.divide(known)
        except BadTable as error:
            return str(error)
        return same(len(divided.parts), len(known))

    def _check_disagreement(self) -> str | None:
        """The first round begins with the whole class; no later one has less to disagree on than those who survive."""
        rounds, most = rules.split_rounds(self.body)[0], self.whole.disagreement_weight
        shrinks = self.protocol.record.shrinks and not self.protocol.plan.infers
        last = self.survivors.disagreement_weight if shrinks else 0
        for each in rounds:
            count, everyone = each["disagreement"][0], each["survivors"] == self.whole.size
            least = max(0, (most if everyone and (shrinks or each["round"] == 1) else last) - self.unused)
            if not least <= count <= most:
                return (
                    f"round {each['round']}: {count} items are said to be disputed, on the pool it is {least} to {most}"
                )
        return None


def check_replay(
    checks: rules.Checks, certificate: Mapping[str, Any], protocol: Protocol, lab: LabPool, journal: Journal
) -> None:
    """Run it again on the labels that the journal holds; every field must come out again."""
    body, provenance = certificate["body"], certificate["provenance"]
    sessions: list[Session] = []

    def replays() -> str | None:
        if journal.created is None:
            return "the journal is empty"
        if body["private_commitment"] != commitment(bytes.fromhex(str(journal.created.get("private", "")))):
            return "this is the journal of another run: the certificate commits to another private seed"
        sessions.append(session_of(certificate, protocol, lab, journal))
        return (
            None if not sessions[0].open else f"{count(len(sessions[0].open), 'label is', 'labels are')} still missing"
        )

    if not checks("the journal belongs to protocol and pool and holds a whole run", replays):
        return
    if "journal_head" in provenance:
        head = provenance["journal_events"], provenance["journal_head"]
        checks(
            "the journal holds the events that it held when the certificate was made",
            lambda: _check_head(*head, journal),
        )
    again = dict(body_of(sessions[0]))
    before = {"registration", "parts", "beacon"} & set(again)  # nobody may leave them out
    for part in sorted({*body, *before}):
        checks(f"replayed: {part.replace('_', ' ')}", lambda part=part: same(body.get(part), again.get(part)))  # type: ignore[misc]


def session_of(certificate: Mapping[str, Any], protocol: Protocol, lab: LabPool, journal: Journal) -> Session:
    """The run of a certificate, rebuilt from its journal.

    What the lab wanted to spend then, the journal says too: who measures an error until it looks good is found out.
    """
    last = int(certificate["provenance"].get("journal_events", 0))
    wanted = (event for event, _ in journal.news(0) if event.kind in ("measure", "budget"))
    ledger = Ledger.of(event for event in wanted if event.seq <= (last or event.seq))
    return Session(protocol, lab, journal, budgets=Budgets(ledger.budget, ledger.error_labels))


def _check_head(events: str, head: str, journal: Journal) -> str | None:
    """The chain of a journal that goes on has the same hash there; one that was cut or written anew has not."""
    found = journal.hash_of(int(events))
    if found is None:
        return (
            f"the certificate tells of {events} events, and the journal has fewer: its end was cut "
            "off, or the log beside it (-wal) was not copied"
        )
    return same(head, found)
