"""Checking a certificate: alone, with its pool, with pool and journal.

*self*: plan, shared threshold, ranks and winner are recomputed from the certificate. *pool*: also masses, scores and what
was proven. *journal*: the whole run is replayed, and every field must come out again.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from replical.core.canonical import fingerprint, is_digest
from replical.core.randomness import PrivateRandomness
from replical.lab.certificate.announced import check_announced, check_signature
from replical.lab.certificate.asked import check_asked
from replical.lab.certificate.checks import Checks, Verification, is_number, same
from replical.lab.certificate.file import (
    body_of,
    condition_part,
    indices_of,
    plan_of,
    ranges_of,
    seal,
    set_of,
    shared_of,
    shift_told,
    summarised,
    summary,
)
from replical.lab.certificate.parts import (
    AnswerErrorPart,
    Body,
    ConditionPart,
    HypothesisSet,
    PoolPart,
    Provenance,
    RoundPart,
    SettlingPart,
    SummaryPart,
    TranscriptPart,
    VerdictPart,
    keys,
)
from replical.lab.certificate.proofs import rounded_proof, settled_proof
from replical.lab.journal import Journal
from replical.lab.names import is_name
from replical.lab.protocol import Protocol
from replical.lab.seeds import commitment
from replical.lab.session import LabelCounts, Session
from replical.lab.tables import LabPool
from replical.learners.base import Proves
from replical.learners.rounded import NEAR
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
    check_asked(body.get("protocol"), deeply=lab is not None)
    checks("the digest is that of the body", lambda: same(certificate["digest"], fingerprint(body)))
    checks("the seal is that of digest and provenance", lambda: sealed(certificate))
    checks("the body has the parts it must have", lambda: _parts(body))
    checks("every part is written as it must be", lambda: _shape(body))
    checks("the protocol is valid and has this fingerprint", lambda: _protocol(body))
    if yardstick is not None:
        checks("the yardstick is the published one", lambda: _published(body, yardstick))
    if not all(check.ok for check in checks.done[2:]):
        return Verification(level="self", checks=tuple(checks.done))
    protocol = Protocol.of(body["protocol"], yardstick=yardstick)
    check_signature(checks, certificate, body.get("lab"), protocol)
    _by_itself(checks, body, protocol)
    if lab is None:
        return Verification(level="self", checks=tuple(checks.done))
    _with_pool(checks, body, protocol, lab)
    if journal is None or not all(check.ok for check in checks.done):
        return Verification(level="pool", checks=tuple(checks.done))
    _with_journal(checks, body, protocol, lab, journal)
    return Verification(level="journal", checks=tuple(checks.done))


def _parts(body: Mapping[str, Any]) -> str | None:
    """Every part that all certificates have; those of a settled run if it is one, perhaps the lab, and nothing else."""
    record = find(body["protocol"]["learner"]["name"])
    more = set(_OPTIONAL) if record.certifies and not record.rounds else set()
    if record.rounds and body["certified"] and body["protocol"]["learner"].get("shift"):
        more |= {"shift_most"}
    return same(sorted(body), sorted(keys(Body) | more | ({"lab", "registration", "beacon"} & set(body))))


def sealed(certificate: Mapping[str, Any]) -> str | None:
    """Does the provenance have its parts, and is the seal that of digest and provenance?"""
    provenance = certificate["provenance"]
    if set(provenance) != keys(Provenance) or not all(isinstance(value, str) for value in provenance.values()):
        return f"the provenance has other parts than {', '.join(sorted(keys(Provenance)))}"
    return same(provenance["seal"], seal(certificate["digest"], provenance))


def _protocol(body: Mapping[str, Any]) -> str | None:
    return same(body["protocol_fingerprint"], Protocol.of(body["protocol"]).fingerprint)


def _published(body: Mapping[str, Any], yardstick: Path) -> str | None:
    """Refused in a sentence if it is another."""
    Protocol.of(body["protocol"], yardstick=yardstick)
    return None


def _by_itself(checks: Checks, body: Mapping[str, Any], protocol: Protocol) -> None:
    C = protocol.recipe.C
    checks("the class has this fingerprint", lambda: same(body["class_fingerprint"], C.fingerprint))
    if "lab" in body:
        checks("the lab may have this name", lambda: _named(body["lab"], protocol))
    check_announced(checks, body, protocol)
    checks("the plan follows from the protocol", lambda: same(body["plan"], plan_of(protocol.plan)))
    checks("survivors and kept are sets of hypotheses", lambda: _sets(body, protocol))
    checks("the hypothesis is one of the class", lambda: _hypothesis(body, protocol))
    checks("the shared words follow from the string", lambda: same(body["shared"], shared_of(protocol, index_of(body))))
    checks("the winner is first in the shared order", lambda: _winner(body, protocol))
    checks("the rounds and labels add up", lambda: _counts(body, protocol))
    checks("what is proven is what is certified", lambda: _proven(body, protocol))
    checks("the summary counts every item", lambda: _summed(body, protocol))
    if protocol.yardstick is not None and not (protocol.measures_on_file and protocol.measured_on is None):
        checks("scores and rho_proven follow from yardstick and survivors", lambda: _measured(body, protocol))


def _measured(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Nothing of the lab's own is needed: its items judge the answer's accuracy alone, so any items stand in for them."""
    learner, public = protocol.learner, protocol.yardstick
    assert isinstance(learner, Proves), "whoever has a yardstick, proves"
    assert public is not None, "only asked where there is one"
    ids = tuple(map(str, range(len(public.items))))
    stand_in = LabPool(recipe=protocol.recipe, ids=ids, items=public.items, fingerprint="")
    return _scores(body, protocol, learner, stand_in)


def _named(lab: Any, protocol: Protocol) -> str | None:
    if not is_name(lab):
        return "it is no short line of text"
    return None if not protocol.lab_names or lab in protocol.lab_names else "the protocol lists no such lab"


def index_of(body: Mapping[str, Any]) -> int | None:
    """The chosen hypothesis."""
    return None if body["hypothesis"] is None else body["hypothesis"]["index"]


def _sets(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    n = len(protocol.recipe.C)
    if not ranges_of(body["survivors"], n) or not ranges_of(body["kept"], n):
        return "nobody survived"
    return None if protocol.plan.choice == "ball" else same(body["kept"], body["survivors"])


def _hypothesis(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    h = index_of(body)
    if h is None:
        return None
    if not isinstance(h, int) or isinstance(h, bool) or not 0 <= h < len(protocol.recipe.C):
        return f"there is no hypothesis {h!r}"
    return same(body["hypothesis"], {"index": h, "description": protocol.recipe.describe(h)})


def _winner(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    choices, h = ranges_of(body["kept"], len(protocol.recipe.C)), index_of(body)
    if protocol.plan.choice == "labels" and not (body["certified"] and find(protocol.plan.learner).certifies):
        # decided by labels that it does not tell
        among = h is not None and any(low <= h <= high for low, high in choices)
        return None if among else f"hypothesis {h} is not among the survivors"
    if h is None:
        return None if protocol.plan.abstains else f"{protocol.plan.learner} always has an answer"
    return same(h, protocol.prior.first_in(protocol.shared, "order", ranges=choices))


def _counts(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    labels, rounds, items = body["labels"], body["rounds"], body["pool"]["items"]
    numbers = [*labels.values(), items, body["runs_in_journal"], body["transcript"]["entries"]]
    numbers += [each[key] for each in rounds for key in ("round", "survivors", "drawn", "scanned")]
    if any(isinstance(number, bool) or not isinstance(number, int) or number < 0 for number in numbers):
        return "counts are whole numbers of at least 0"
    if set(labels) != keys(LabelCounts):
        return "labels are asked, answered, skipped and corrected"
    if labels["asked"] != sum(each["drawn"] for each in rounds):
        return f"{labels['asked']} labels were asked, the rounds ask for {sum(each['drawn'] for each in rounds)}"
    if not labels["asked"] <= labels["answered"] <= items:
        return f"{labels['asked']} labels were asked and {labels['answered']} of {items} items answered"
    if body["transcript"]["entries"] != labels["answered"] + labels["skipped"]:
        return "the transcript does not hold every answer and skip"
    if [each["round"] for each in rounds] != list(range(1, len(rounds) + 1)):
        return "the rounds are not numbered from 1"
    sizes = [each["survivors"] for each in rounds] + [body["survivors"]["count"]]
    grows = any(after > before for before, after in pairwise(sizes)) and protocol.plan.shrinks
    if grows or max(sizes) > len(protocol.recipe.C):
        return "the number of survivors grows"
    if any(not 0 <= mass <= total for mass, total in (each["disagreement"] for each in rounds)):
        return "a disagreement mass is above its total"
    most, error = protocol.plan.max_labels, body.get("answer_error")
    spent = labels["asked"] - (0 if error is None else error["labels"])  # measuring the error is no part of the budget
    return None if most is None or spent <= most else f"more labels than the budget of {most}"


def _proven(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    plan, proven = protocol.plan, body["rho_proven"]
    for each in body["conditions"]:
        if set(each) != keys(ConditionPart) or not isinstance(each["held"], bool):
            return "a condition has a name, a value, a bound and whether it held"
    named = {each["name"]: each for each in body["conditions"]}
    for condition in plan.conditions:
        entry = condition_part(condition)
        if same(named.get(condition.name), entry):
            return f"the plan's condition {condition.name!r} is not told as it is"
    if not find(plan.learner).certifies:
        claim = (body["certified"], body["labels_sufficient"], proven, body["rho_predicted"])
        return same(claim, (False, False, None, None))
    return rounded_proof(body, plan, named) if find(plan.learner).rounds else settled_proof(body, protocol, named)


def _summed(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    claims, items = body["pool"]["summary"], body["pool"]["items"]
    for each in claims:
        if len(each["predicts"]) != len(protocol.labels) or sum(each["predicts"]) != items:
            return f"the predictions of hypothesis {each['hypothesis']} do not add up to {items}"
    return same([each["hypothesis"] for each in claims], summarised(protocol).tolist())


_PARTS = {
    "survivors": HypothesisSet, "kept": HypothesisSet, "labels": LabelCounts, "pool": PoolPart, "transcript": TranscriptPart,
}  # fmt: skip
_OPTIONAL = {"settling": SettlingPart, "verdict": VerdictPart, "answer_error": AnswerErrorPart}
_MEMBERS = {"rounds": RoundPart, "conditions": ConditionPart}


def _shape(body: Mapping[str, Any]) -> str | None:
    """What is not recomputed here is at least of the right kind, so that whoever reads on need not ask again."""
    wrong = [name for name, part in _PARTS.items() if set(body[name]) != keys(part)]
    wrong += [name for name, part in _MEMBERS.items() if any(set(each) != keys(part) for each in body[name])]
    wrong += [name for name, part in _OPTIONAL.items() if body.get(name) is not None and set(body[name]) != keys(part)]
    wrong += ["summary" for each in body["pool"]["summary"] if set(each) != keys(SummaryPart)]
    if wrong:
        return f"{wrong[0]} has other parts than it must have"
    digests = (body["pool"]["fingerprint"], body["private_commitment"], body["transcript"]["digest"])
    if not all(is_digest(each) for each in digests):
        return "a digest is written sha256:<64 hex digits>"
    if not all(isinstance(each, bool) for each in (body["certified"], body["labels_sufficient"])):
        return "certified and labels_sufficient are true or false"
    if not all(
        each is None or (is_number(each) and 0 <= each <= 1) for each in (body["rho_proven"], body["rho_predicted"])
    ):
        return "rho is a number from 0 to 1, or null"
    if "shift_most" in body and not (is_number(body["shift_most"]) and 0 <= body["shift_most"] < 1):
        return "shift_most is a number from 0 to 1"
    for each in body["conditions"]:
        if not (isinstance(each["name"], str) and is_number(each["value"]) and is_number(each["bound"])):
            return "a condition has a name, a value and a bound"
    counts = [count for each in body["rounds"] for count in each["disagreement"]]
    counts += [count for each in body["pool"]["summary"] for count in (each["hypothesis"], *each["predicts"])]
    if not all(is_number(count) and isinstance(count, int) and count >= 0 for count in counts):
        return "counts are whole numbers of at least 0"
    return None


def _with_pool(checks: Checks, body: Mapping[str, Any], protocol: Protocol, lab: LabPool) -> None:
    checks("the pool has this fingerprint", lambda: same(body["pool"]["fingerprint"], lab.fingerprint))
    checks("the pool is not the public table of the order", lambda: _own(protocol, lab))
    checks("the pool has so many items", lambda: same(body["pool"]["items"], len(lab)))
    checks("the summary is that of the pool", lambda: same(body["pool"]["summary"], summary(protocol, lab)))
    learner = protocol.learner
    if isinstance(learner, Proves) and learner.repeatable(len(lab)):
        checks("scores and rho_proven follow from pool and survivors", lambda: _scores(body, protocol, learner, lab))


def _own(protocol: Protocol, lab: LabPool) -> str | None:
    return "the order was made from these very items" if lab.fingerprint == protocol.public else None


def _scores(body: Mapping[str, Any], protocol: Protocol, learner: Proves, lab: LabPool) -> str | None:
    """Masses do not depend on the private order, so any order will do."""
    pool = lab.pool(PrivateRandomness.simulated("verification"))
    whole = pool.version_space()
    V = whole.keep(np.isin(whole.indices, indices_of(body["survivors"], len(protocol.recipe.C))))
    again = learner.again(pool, V, protocol.shared)
    claim = [body["rho_proven"], body["certified"], body["labels_sufficient"], body["kept"], body.get("shift_most")]
    proven, most = again.rounding, shift_told(protocol.plan, again)
    assert proven is not None, "whoever proves, rounds"
    if lab.fingerprint == body["pool"]["fingerprint"]:
        near = [condition_part(each) for each in again.conditions if each.name == NEAR]
        if wrong := same([each for each in body["conditions"] if each["name"] == NEAR], near):
            return wrong
    return same(claim, [proven.rho_proven, proven.certified, proven.labels_sufficient, set_of(again.chosen_from), most])


def _with_journal(checks: Checks, body: Mapping[str, Any], protocol: Protocol, lab: LabPool, journal: Journal) -> None:
    sessions: list[Session] = []

    def replays() -> str | None:
        if journal.created is None:
            return "the journal is empty"
        if body["private_commitment"] != commitment(bytes.fromhex(str(journal.created.get("private", "")))):
            return "this is the journal of another run: the certificate commits to another private seed"
        error = body.get("answer_error") or {"labels": 0}
        sessions.append(Session(protocol, lab, journal, measure=error["labels"]))
        return None if not sessions[0].open else f"{len(sessions[0].open)} labels are still missing"

    checks("the journal belongs to protocol and pool and holds a whole run", replays)
    if not checks.done[-1].ok:
        return
    again = dict(body_of(sessions[0]))
    for part in sorted(body):
        checks(f"replayed: {part.replace('_', ' ')}", lambda part=part: same(body[part], again.get(part)))  # type: ignore[misc]
