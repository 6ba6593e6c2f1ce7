"""Checking a certificate: alone, with its pool, with pool and journal.

*self*: whatever protocol, published text and sizes determine is recomputed, and what no data can have led to is refused.
*pool*: also masses, distances and what follows from them. *journal*: the whole run is replayed, and every field must come
out again. What a level cannot see is listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replical.core.canonical import fingerprint
from replical.lab.certificate import course, lattice, shape
from replical.lab.certificate.announced import check_announced, check_signature, unannounced
from replical.lab.certificate.asked import check_asked
from replical.lab.certificate.checks import Checks, Verification, same
from replical.lab.certificate.conditions import conditions
from replical.lab.certificate.file import plan_of, shared_of
from replical.lab.certificate.onpool import OnPool
from replical.lab.certificate.replay import replay
from replical.lab.certificate.rounded import rounded_proof
from replical.lab.certificate.settled import settled_bounds, settled_counts, settled_levels, settled_reach
from replical.lab.certificate.unseen import unseen
from replical.lab.journal import Journal
from replical.lab.protocol import Protocol
from replical.lab.tables import LabPool
from replical.learners.base import Proves
from replical.plans.catalogue import find


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
    if not protocol.record.lists:
        return lattice.by_itself(checks, body, protocol) and readable
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
