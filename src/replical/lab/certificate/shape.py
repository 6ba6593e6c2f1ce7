"""Is a certificate written as it must be? What is not recomputed is at least of the right kind.

A check returns nothing if all is well, and a sentence if not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replical.classes.base import size_of
from replical.core.canonical import is_digest
from replical.lab.certificate.checks import is_count, is_number, same
from replical.lab.certificate.file import ranges_of, seal, summarised
from replical.lab.certificate.parts import (
    AnswerErrorPart,
    Body,
    ConditionPart,
    EnclosingPart,
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
from replical.lab.names import is_name
from replical.lab.protocol import Protocol
from replical.lab.session import LabelCounts
from replical.plans.catalogue import find

_PARTS = {
    "survivors": HypothesisSet, "kept": HypothesisSet, "labels": LabelCounts, "pool": PoolPart, "transcript": TranscriptPart,
}  # fmt: skip
_OPTIONAL = {
    "settling": SettlingPart,
    "enclosing": EnclosingPart,
    "verdict": VerdictPart,
    "answer_error": AnswerErrorPart,
}
_TOLD = {"lab", "registration", "beacon"}  # where there is something to tell
_MEMBERS = {"rounds": RoundPart, "conditions": ConditionPart}
_MOST_ITEMS = 2**53  # masses of more items are not exact in doubles, and no lab has them


def sealed(certificate: Mapping[str, Any]) -> str | None:
    """Does the provenance have its parts, and is the seal that of digest and provenance?"""
    provenance = certificate["provenance"]
    told = keys(Provenance), keys(Provenance) | {"journal_events", "journal_head"}
    if set(provenance) not in told or not all(isinstance(value, str) for value in provenance.values()):
        return f"the provenance has other parts than {', '.join(sorted(keys(Provenance)))}"
    return same(provenance["seal"], seal(certificate["digest"], provenance))


def parts(body: Mapping[str, Any]) -> str | None:
    """Every part that all certificates have; those of a settled run if it is one, perhaps the lab, and nothing else."""
    record = find(body["protocol"]["learner"]["name"])
    more = {"verdict", "answer_error"} if record.certifies and not record.rounds else set()
    more |= {"settling" if record.lists else "enclosing"} if more else set()
    if record.rounds and body["certified"] and body["protocol"]["learner"].get("shift"):
        more |= {"shift_most"}
    return same(sorted(body), sorted(keys(Body) | more | (_TOLD & set(body))))


def shape(body: Mapping[str, Any]) -> str | None:
    """Keys, digests and kinds of numbers, so that whoever reads on need not ask again."""
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
        if not isinstance(each["held"], bool):
            return "a condition held or did not"
    return None if all(is_count(count) for count in _counts(body)) else "counts are whole numbers of at least 0"


def _counts(body: Mapping[str, Any]) -> list[Any]:
    counts = [*body["labels"].values(), body["runs_in_journal"], body["transcript"]["entries"]]
    counts += [each[key] for each in body["rounds"] for key in ("round", "survivors", "drawn", "scanned")]
    counts += [count for each in body["rounds"] for count in each["disagreement"]]
    counts += [count for each in body["pool"]["summary"] for count in (each["hypothesis"], *each["predicts"])]
    if "settling" in body:
        counts += [body["settling"][key] for key in ("asked", "scanned", "place")]
    if body.get("answer_error") is not None:
        counts += [body["answer_error"][key] for key in ("labels", "skipped")]
    return counts


def protocol_of(body: Mapping[str, Any]) -> str | None:
    """Is the protocol one, with the fingerprint that is told?"""
    return same(body["protocol_fingerprint"], Protocol.of(body["protocol"]).fingerprint)


def named(lab: Any, protocol: Protocol) -> str | None:
    """May the lab have this name?"""
    if not is_name(lab):
        return "it is no short line of text"
    return None if not protocol.lab_names or lab in protocol.lab_names else "the protocol lists no such lab"


def items(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Is that a number of items on which the protocol can be run?"""
    count = body["pool"]["items"]
    if not is_count(count) or not 1 <= count <= _MOST_ITEMS:
        return f"no pool has {count!r} items"
    least = getattr(protocol.plan, "items", None)
    return None if least is None or count >= least else f"the protocol needs {least} items, the pool has {count}"


def index_of(body: Mapping[str, Any]) -> int | None:
    """The chosen hypothesis."""
    return None if body["hypothesis"] is None else body["hypothesis"]["index"]


def sets(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Are survivors, and whom the shared order chose from, sets of hypotheses?"""
    n = len(protocol.recipe.C)
    if not ranges_of(body["survivors"], n) or not ranges_of(body["kept"], n):
        return "nobody survived"
    return None if protocol.plan.choice == "ball" else same(body["kept"], body["survivors"])


def hypothesis(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Is the answer one of the class, by its name?"""
    h = index_of(body)
    if h is None:
        return None
    if not isinstance(h, int) or isinstance(h, bool) or not 0 <= h < size_of(protocol.recipe.C):
        return f"there is no hypothesis {h!r}"
    return same(body["hypothesis"], {"index": h, "description": protocol.recipe.describe(h)})


def winner(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Is the answer the first in the shared order among those it was chosen from?"""
    plan, choices, h = protocol.plan, ranges_of(body["kept"], len(protocol.recipe.C)), index_of(body)
    if decided_by_labels(body, protocol):
        among = h is not None and any(low <= h <= high for low, high in choices)
        return None if among else f"hypothesis {h} is not among the survivors"
    if h is None:
        return None if plan.abstains else f"{plan.learner} always has an answer"
    return same(h, protocol.prior.first_in(protocol.shared, "order", ranges=choices))


def decided_by_labels(body: Mapping[str, Any], protocol: Protocol) -> bool:
    """Did labels that nobody publishes choose among the survivors, and not the shared order?"""
    return protocol.plan.choice == "labels" and not (body["certified"] and find(protocol.plan.learner).certifies)


def summed(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Do the predictions of the summarised hypotheses add up to the items?"""
    claims, count = body["pool"]["summary"], body["pool"]["items"]
    for each in claims:
        if len(each["predicts"]) != len(protocol.recipe.C.labels) or sum(each["predicts"]) != count:
            return f"the predictions of hypothesis {each['hypothesis']} do not add up to {count}"
    return same([each["hypothesis"] for each in claims], summarised(protocol).tolist())
