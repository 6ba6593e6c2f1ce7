"""How much work and memory a certificate may ask of whoever checks it: its protocol names a class of any size.

Checking works in blocks, so that memory does not grow with the class; time does, and what is measured on items does.

What the lab's own items show: masses, distances and, where no label decides it, the proof.

What the journal shows: the whole run again, field by field.

Checking a certificate: alone, with its pool, with pool and journal.

*self*: whatever protocol, published text and sizes determine is recomputed, and what no data can have led to is refused.
*pool*: also masses, distances and what follows from them. *journal*: the whole run is replayed, and every field must come
out again. What a level cannot see is listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from replical.core.canonical import fingerprint
from replical.core.files import REMEDY, trusted
from replical.core.randomness import PrivateRandomness
from replical.core.text import count
from replical.errors import BadUsage, ReplicalError
from replical.lab.certificate import checks as course
from replical.lab.certificate import checks as shape
from replical.lab.certificate.beliefs import check_announced, check_signature, unannounced, unseen
from replical.lab.certificate.checks import Checks, Verification, conditions, measured_on, same, split, value_of
from replical.lab.certificate.file import (
    body_of,
    condition_part,
    indices_of,
    plan_of,
    set_of,
    shared_of,
    summary,
)
from replical.lab.certificate.proofs import (
    rounded_proof,
    settled_bounds,
    settled_counts,
    settled_levels,
    settled_reach,
    slack,
)
from replical.lab.journal.binding import commitment
from replical.lab.journal.journal import Journal
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.lab.sessions.session import Session
from replical.learners.base import Proves
from replical.learners.catalogue import find, load
from replical.learners.paper.a2 import A2Plan
from replical.learners.paper.cal import CALPlan
from replical.learners.result import STOP
from replical.learners.rounded.learner import NEAR
from replical.learners.rounded.plan import RoundedPlan
from replical.learners.rounded.proof import Centre
from replical.pools.pool import Pool
from replical.pools.version_space import VersionSpace

_ALONE = 2**27  # hypotheses whose place in the shared order is looked up: a few seconds
_MEASURED = 2**24  # hypotheses that are held, each with its distance: about 2 GiB
_HELD = 2**22  # numbers that a class has to hold: cuts, or the normals of a net


def check_asked(body: Any, *, deeply: bool = False) -> None:
    """Refuse a `body` whose protocol asks for too much; where a pool is given too, distances are counted `deeply`.

    Raises
    ------
    BadUsage
        In one sentence, unless sizes are trusted. Whatever else is wrong is for others to find.
    """
    protocol = body.get("protocol") if isinstance(body, Mapping) else None
    if trusted() or not isinstance(protocol, Mapping) or not isinstance(protocol.get("class"), Mapping):
        return
    if (held := _held(protocol["class"])) > _HELD:
        raise _too_much(f"a class of {held:,} numbers", _HELD)
    try:
        n = len(Protocol(protocol).recipe.C)
    except (ReplicalError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return
    most = _MEASURED if deeply or "yardstick" in protocol else _ALONE
    if n > most:
        raise _too_much(f"{n:,} hypotheses", most)


def _held(section: Mapping[str, Any]) -> int:
    """Numbers that the class holds, at most: bins of every feature, or a net's normals and offsets."""
    features = section.get("features")
    width = len(features) if isinstance(features, list) else 1
    count, bins = (value if isinstance(value := section.get(key), int) else 0 for key in ("count", "bins"))
    listed = section.get("kind") in ("thresholds", "stumps")
    return (width + 1) * count if section.get("kind") == "halfspaces" else width * bins * listed


def _too_much(what: str, most: int) -> BadUsage:
    return BadUsage(f"the certificate asks for {what}, more than the {most:,} that are checked at once: {REMEDY}")


@dataclass(frozen=True)
class OnPool:
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
        """The class on these items."""
        return self.pool.version_space()

    @cached_property
    def survivors(self) -> VersionSpace:
        """Those the certificate names."""
        told = indices_of(self.body["survivors"], len(self.protocol.recipe.C))
        return self.whole.keep(np.isin(self.whole.indices, told))

    @property
    def unused(self) -> int:
        """Items of the pool that masses were not measured on; which ones is private."""
        return len(self.lab) - measured_on(self.protocol.plan, len(self.lab))

    def check(self, checks: Checks) -> None:
        """Everything that these items show."""
        body, protocol, lab, learner = self.body, self.protocol, self.lab, self.protocol.learner
        checks("the pool has this fingerprint", lambda: same(body["pool"]["fingerprint"], lab.fingerprint))
        checks("the pool is not the public table of the order", self._own)
        checks("the pool has so many items", lambda: same(body["pool"]["items"], len(lab)))
        checks("the summary is that of the pool", lambda: same(body["pool"]["summary"], summary(protocol, lab)))
        if not protocol.record.lists:
            return
        checks("disagreement in the rounds is possible on the pool", self._disagreement)
        if isinstance(protocol.plan, CALPlan | A2Plan):
            checks("disagreement at the stop is that of the survivors on the pool", self._stop)
        if isinstance(learner, Proves) and learner.repeatable(len(lab)):
            checks("scores and rho_proven follow from pool and survivors", lambda: self.scores(learner))
        elif isinstance(plan := protocol.plan, RoundedPlan) and plan.yardstick is None:
            checks("kept and slack are possible on some of the pool's items", lambda: self._some_items(plan))

    def _own(self) -> str | None:
        return "the order was made from these very items" if self.lab.fingerprint == self.protocol.public else None

    def _disagreement(self) -> str | None:
        """The first round begins with the whole class; no later one has less to disagree on than those who survive."""
        rounds, shrinks, most = split(self.body)[0], self.protocol.plan.shrinks, self.whole.disagreement_weight
        last = self.survivors.disagreement_weight if shrinks else 0
        for each in rounds:
            count, everyone = each["disagreement"][0], each["survivors"] == self.whole.size
            least = max(0, (most if everyone and (shrinks or each["round"] == 1) else last) - self.unused)
            if not least <= count <= most:
                return (
                    f"round {each['round']}: {count} items are said to be disputed, on the pool it is {least} to {most}"
                )
        return None

    def _stop(self) -> str | None:
        return same(value_of(self.body, STOP), float(self.survivors.mass))

    def scores(self, learner: Proves) -> str | None:
        """What these survivors prove on these items, without labels."""
        body, again = self.body, learner.again(self.pool, self.survivors, self.protocol.shared)
        claim = [body["rho_proven"], body["certified"], body["labels_sufficient"], body["kept"]]
        proven = again.rounding
        assert proven is not None, "whoever proves, rounds"
        told = [proven.rho_proven, proven.certified, proven.labels_sufficient, set_of(again.chosen_from)]
        if wrong := same(claim, told):
            return wrong
        found = [condition_part(each) for each in again.conditions if each.name != NEAR or self._is_lab]
        return same([each for each in body["conditions"] if each["name"] != NEAR or self._is_lab], found)

    @property
    def _is_lab(self) -> bool:
        """Are these the lab's items, and not others that stand in for them?"""
        return bool(self.lab.fingerprint == self.body["pool"]["fingerprint"])

    def _some_items(self, plan: RoundedPlan) -> str | None:
        """Whatever items were used: nobody is farther from the centre on some of them than on all, nor much nearer."""
        body, unused, V = self.body, self.unused, self.survivors
        centre = Centre(self.whole)
        kappa, radius = slack(body, plan), centre.radius(V)
        if not radius - unused <= kappa <= radius:
            return f"the slack is said to be {kappa} items, on these it is {max(0, radius - unused)} to {radius}"
        if plan.choice != "ball":
            return None
        scores, v = centre.distances(V), plan.threshold(self.protocol.shared, measured_on(plan, len(self.lab)))
        kept = np.zeros(plan.n, dtype=np.bool_)
        kept[indices_of(body["kept"], plan.n)] = True
        if not (scores - unused <= v).any():  # then survivors are kept, and that is checked without the pool
            return None
        missing, strange = (scores <= v) & ~kept, kept & (scores - unused > v)
        if missing.any():
            return f"hypothesis {int(np.argmax(missing))} is within the shared distance on any of these items, and not kept"
        if strange.any() and (scores <= v).any():
            return f"hypothesis {int(np.argmax(strange))} is beyond the shared distance on any of these items, and kept"
        return None


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


def verify(
    certificate: Mapping[str, Any],
    lab: LabPool | None = None,
    journal: Journal | None = None,
    *,
    yardstick: Path | None = None,
) -> Verification:
    """Check a certificate as deeply as what is given allows; a `yardstick` that is a file is given too."""
    checks, body = Checks(), certificate["body"]
    check_asked(body, deeply=lab is not None)
    checks("the digest is that of the body", lambda: same(certificate["digest"], fingerprint(body)))
    checks("the seal is that of digest and provenance", lambda: shape.sealed(certificate))
    readable = checks("the body has the parts it must have", lambda: shape.parts(body))
    readable &= checks("every part is written as it must be", lambda: shape.shape(body))
    readable &= checks("the protocol is valid and has this fingerprint", lambda: shape.protocol_of(body))
    if yardstick is not None:
        readable &= checks("the yardstick is the published one", lambda: _published(body, yardstick))
    if not readable:
        return checks.found("self")
    protocol, level = Protocol.of(body["protocol"], yardstick=yardstick), "self"
    check_signature(checks, certificate, body.get("lab"), protocol)
    readable = _by_itself(checks, body, protocol)
    if lab is not None and readable:
        OnPool(body, protocol, lab).check(checks)
        level = "pool"
        if journal is not None and checks.all_hold:
            replay(checks, certificate, protocol, lab, journal)
            level = "journal"
    if not readable:
        return checks.found(level)
    return checks.found(level).adding(*unseen(body, protocol, level)).adding(*unannounced(certificate, protocol))


def _published(body: Mapping[str, Any], yardstick: Path) -> str | None:
    """Refused in a sentence if it is another."""
    Protocol.of(body["protocol"], yardstick=yardstick)
    return None


def _by_itself(checks: Checks, body: Mapping[str, Any], protocol: Protocol) -> bool:
    """What the file alone shows; was it fit to be read on?"""
    C, plan = protocol.recipe.C, protocol.plan
    checks("the class has this fingerprint", lambda: same(body["class_fingerprint"], C.fingerprint))
    if "lab" in body:
        checks("the lab may have this name", lambda: shape.named(body["lab"], protocol))
    check_announced(checks, body, protocol)
    checks("the plan follows from the protocol", lambda: same(body["plan"], plan_of(plan)))
    readable = checks("the protocol can be run on so many items", lambda: shape.items(body, protocol))
    if protocol.record.family:
        by_itself: Callable[[Checks, Mapping[str, Any], Protocol], bool] = load(f"{protocol.record.family}:by_itself")
        return by_itself(checks, body, protocol) and readable
    readable &= checks("survivors and kept are sets of hypotheses", lambda: shape.sets(body, protocol))
    readable &= checks("the hypothesis is one of the class", lambda: shape.hypothesis(body, protocol))
    if not readable:
        return False
    told = body["shared"]
    checks("the shared words follow from the string", lambda: same(told, shared_of(protocol, shape.index_of(body))))
    checks("the winner is first in the shared order", lambda: shape.winner(body, protocol))
    checks("the summary counts every item", lambda: shape.summed(body, protocol))
    checks("labels, skips and rounds add up", lambda: course.counts(body, protocol))
    checks("the rounds follow the plan and are possible", lambda: course.rounds(body, protocol))
    if not checks("every condition is recomputed", lambda: conditions(body, protocol)):
        return True
    if not find(plan.learner).certifies:
        claim = (body["certified"], body["labels_sufficient"], body["rho_proven"], body["rho_predicted"])
        checks("nothing is certified", lambda: same(claim, (False, False, None, None)))
    elif find(plan.learner).rounds:
        checks("what is proven is what is certified", lambda: rounded_proof(body, protocol))
    else:
        checks("what is proven is what is certified", lambda: settled_levels(body, protocol))
        checks("labels and items looked at add up", lambda: settled_counts(body, protocol))
        checks("so many items and labels can have proven it", lambda: settled_reach(body, protocol))
        checks("error and excess are possible", lambda: settled_bounds(body, protocol))
    if protocol.yardstick is not None and not (protocol.measures_on_file and protocol.measured_on is None):
        checks("scores and rho_proven follow from yardstick and survivors", lambda: _measured(body, protocol))
    return True


def _measured(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Nothing of the lab's own is needed: its items judge the answer's accuracy alone, so any items stand in for them."""
    learner, public = protocol.learner, protocol.yardstick
    assert isinstance(learner, Proves), "whoever has a yardstick, proves"
    assert public is not None, "only asked where there is one"
    ids = tuple(map(str, range(len(public.items))))
    stand_in = LabPool(recipe=protocol.recipe, ids=ids, items=public.items, fingerprint="")
    return OnPool(body, protocol, stand_in).scores(learner)
