"""What a certificate says, checked as far as the file alone shows it, and what all checks come to.

A check returns nothing if all is well, and a sentence if not: is the file written as it must be, do sets, winner and
summary fit the protocol, could any data have made the rounds, does each condition follow from plan and sizes? Some value
of a condition only the lab's items or labels give: the disagreement left, how often a winner won. It is a count over
something known, and everything else follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Literal

from replical.classes.base import size_of
from replical.classes.grading import Scores
from replical.core.text import count
from replical.errors import BadCertificate, ReplicalError
from replical.lab.certificate.file import condition_part, seal, summary_hypotheses
from replical.lab.certificate.schema import Provenance, wrong_shape
from replical.lab.protocol import Protocol
from replical.lab.schema import is_name
from replical.learners.catalogue import Record, find
from replical.learners.handicap.confirm import CONFIRM
from replical.learners.plan import STOP, Plan, Rounds
from replical.learners.proof import Claim, Published, Step, family_of, indices_of, is_count, ranges_of, same

Status = Literal["checked", "not checkable", "failed"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that a certificate says."""

    name: str  # what has to be so
    status: Status
    detail: str = ""  # what is wrong, or why it cannot be checked
    needs: str = ""  # "pool", "journal", .. would show it; empty if it was checked, or no file can show it
    fields: tuple[str, ...] = ()  # of the body, each with all that is inside it, that are believed until then

    @property
    def ok(self) -> bool:
        """Was nothing wrong found?"""
        return self.status != "failed"

    def to_json(self) -> dict[str, Any]:
        """For an answer in JSON."""
        entry = {"name": self.name, "status": self.status, "ok": self.ok, "detail": self.detail}
        return entry if self.status != "not checkable" else entry | {"needs": self.needs, "fields": list(self.fields)}


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What was checked, how deeply, what could not be checked, and whether all that was held.

    The level is "none" where it is not known what there is to check.
    """

    level: str
    checks: tuple[Check, ...]

    @property
    def valid(self) -> bool:
        """Did every check hold, and was it known what to check?"""
        return not self.failed and self.level != "none"

    @property
    def claimed(self) -> bool:
        """Is what the labels prove taken from the file? Only a journal shows it."""
        return self.level != "journal"

    @property
    def checked(self) -> tuple[Check, ...]:
        """What was found to be so."""
        return self._of("checked")

    @property
    def unchecked(self) -> tuple[Check, ...]:
        """What could not be checked with what was given."""
        return self._of("not checkable")

    @property
    def failed(self) -> tuple[Check, ...]:
        """What was found to be wrong."""
        return self._of("failed")

    @property
    def objection(self) -> Check:
        """Why it is not valid: what is wrong, or that it is not known what to check."""
        return (*self.failed, *self.unchecked)[0]

    def refuse_unless_valid(self, what: str, so: str) -> None:
        """Refuse `what` was checked if something is wrong with it; `so` says what is not done then."""
        if not self.valid:
            wrong = self.objection
            raise BadCertificate(f"{what} is not valid ({wrong.name}: {wrong.detail}), so {so}")

    def with_checks(self, *checks: Check) -> Verification:
        """The same with more `checks`; one of a name that could not be checked before stands in its place."""
        names = {check.name for check in checks}
        kept = (check for check in self.checks if check.status != "not checkable" or check.name not in names)
        return replace(self, checks=(*kept, *checks))

    def _of(self, status: Status) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == status)


_DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError)


class Checks:
    """Collects checks; whatever goes wrong inside one is that check's failure, not a crash."""

    def __init__(self) -> None:
        self.done: list[Check] = []

    @property
    def all_hold(self) -> bool:
        """Has every check so far held?"""
        return all(check.ok for check in self.done)

    def __call__(self, name: str, test: Callable[[], str | None]) -> bool:
        """Make one check; the test returns what is wrong, or nothing. Did it hold?"""
        try:
            detail = test()
        except ReplicalError as error:
            detail = str(error)
        except _DAMAGE as error:
            detail = f"damaged ({type(error).__name__}: {error})"
        self.done.append(Check(name=name, status="checked" if detail is None else "failed", detail=detail or ""))
        return detail is None

    def verification(self, level: str) -> Verification:
        """What they come to, at this depth."""
        return Verification(level=level, checks=tuple(self.done))


def check_seal(certificate: Mapping[str, Any]) -> str | None:
    """Does the provenance have its parts, and is the seal that of digest and provenance?"""
    provenance = certificate["provenance"]
    if wrong := wrong_shape(provenance, Provenance):
        return wrong
    if ("journal_events" in provenance) is not ("journal_head" in provenance):
        return "the provenance tells how many events there were, and not the last, or the other way round"
    return same(provenance["seal"], seal(certificate["digest"], provenance))


def record_of(body: Mapping[str, Any]) -> Record:
    """What is known of whoever ran: the protocol's learner, or what confirms an answer."""
    return CONFIRM if "confirms" in body else find(body["protocol"]["learner"]["name"])


def protocol_of(body: Mapping[str, Any]) -> Protocol:
    """The protocol, as it was run."""
    protocol = Protocol.of(body["protocol"])
    return protocol.confirming(body["hypothesis"]["index"], body["confirms"]) if "confirms" in body else protocol


def check_protocol(body: Mapping[str, Any]) -> str | None:
    """Is the protocol one, with the fingerprint that is told, and with a plan?"""
    protocol = protocol_of(body)
    _ = protocol.plan
    return same(body["protocol_fingerprint"], protocol.fingerprint)


def check_lab_name(lab: Any, protocol: Protocol) -> str | None:
    """May the lab have this name?"""
    if not is_name(lab):
        return "it is no short line of text"
    return None if not protocol.lab_names or lab in protocol.lab_names else "the protocol lists no such lab"


def check_items(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Is that a number of items on which the protocol can be run?"""
    count = body["pool"]["items"]
    if not is_count(count) or not 1 <= count <= _MOST_ITEMS:
        return f"no pool has {count!r} items"
    parts = body.get("parts")
    if parts is None:
        return None
    if not protocol.record.extends:
        return f"a pool of {protocol.record.id} cannot grow"
    sizes = [each["items"] for each in parts]
    if len(parts) < 2 or not all(is_count(size) and size for size in sizes) or sum(sizes) != count:
        return f"the parts of a pool that has grown are two or more, and add up to its {count:,} items"
    return None


_MOST_ITEMS = 2**53  # masses of more items are not exact in doubles, and no lab has them


def check_sets(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Are survivors a set of hypotheses?"""
    return None if ranges_of(body["survivors"], len(protocol.recipe.C)) else "nobody survived"


def check_hypothesis(body: Mapping[str, Any], protocol: Published) -> str | None:
    """Is the answer one of the class, by its name?"""
    h = index_of(body)
    if h is None:
        return None
    if not isinstance(h, int) or isinstance(h, bool) or not 0 <= h < size_of(protocol.recipe.C):
        return f"there is no hypothesis {h!r}"
    return same(body["hypothesis"], {"index": h, "description": protocol.recipe.describe(h)})


def check_winner(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Is the answer the first in the shared order among those it was chosen from?"""
    plan, choices, h = protocol.plan, ranges_of(body["survivors"], len(protocol.recipe.C)), index_of(body)
    if decided_by_labels(body, protocol):
        among = h is not None and any(low <= h <= high for low, high in choices)
        return None if among else f"hypothesis {h} is not among the survivors"
    if h is None:
        return None if protocol.record.abstains else f"{plan.learner} always has an answer"
    return same(h, protocol.prior.first_in(protocol.shared, "order", ranges=choices))


def decided_by_labels(body: Mapping[str, Any], protocol: Protocol) -> bool:
    """Did labels that nobody publishes choose among the survivors, and not the shared order?"""
    return protocol.plan.choice == "labels" and not (body["certified"] and protocol.record.certifies)


def index_of(body: Mapping[str, Any]) -> int | None:
    """The chosen hypothesis."""
    return None if body["hypothesis"] is None else body["hypothesis"]["index"]


def check_summary(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Do the predictions of the summarised hypotheses add up to the items?"""
    claims, count = body["pool"]["summary"], body["pool"]["items"]
    for each in claims:
        if len(each["predicts"]) != len(protocol.recipe.C.labels) or sum(each["predicts"]) != count:
            return f"the predictions of hypothesis {each['hypothesis']} do not add up to {count}"
    return same([each["hypothesis"] for each in claims], summary_hypotheses(protocol).tolist())


def check_counts(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Do labels, skips and rounds add up, within pool and budget?"""
    labels, rounds, items, C = body["labels"], body["rounds"], body["pool"]["items"], protocol.recipe.C
    asked = sum(each["drawn"] for each in rounds)
    if labels["asked"] != asked:
        return f"{count(labels['asked'], 'label was', 'labels were')} asked, the rounds ask for {asked}"
    if labels["asked"] > labels["answered"]:
        return f"{count(labels['asked'], 'label was', 'labels were')} asked, and only {labels['answered']} answered"
    if ("judgements" in labels) != isinstance(protocol.answers, Scores):
        return "judgements are told where outputs are scored, and nowhere else"
    error = body.get("answer_error")
    alone = 0 if error is None else error["labels"]  # of those the answer's own output alone was scored
    if "judgements" in labels and not 2 * (asked - alone) <= labels["judgements"] - alone <= (asked - alone) * size_of(
        C
    ):
        return "every item that was asked has at least two scores, and at most one for each candidate"
    if labels["answered"] + labels["skipped"] > items:
        answered = count(labels["answered"], "item was", "items were")
        return f"{answered} answered and {labels['skipped']} skipped, and there are {items}"
    if body["transcript"]["entries"] != labels["answered"] + labels["skipped"]:
        return "the transcript does not hold every answer and skip"
    if body["runs_in_journal"] < 1:
        return "the journal of a finished run holds at least one answer"
    if [each["round"] for each in rounds] != list(range(1, len(rounds) + 1)):
        return "the rounds are not numbered from 1"
    if "budget" in labels and not protocol.plan.may_spend:
        return f"{protocol.plan.learner} asks for as many labels as its plan says, and a budget of the lab's is told"
    spent = labels.get("judgements", asked)
    spent -= alone  # measuring the error is no part of the budget
    for most in (protocol.plan.max_labels, labels.get("budget")):
        if most is not None and spent > most:
            return f"more labels than the budget of {most}"
    return None


def check_rounds(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Could any items and labels have made these rounds?"""
    plan, n, items = protocol.plan, len(protocol.recipe.C), body["pool"]["items"]
    chosen, measuring = split_rounds(body)
    choosing = [each for each in chosen if each["survivors"] > 1 or body["labels"].get("budget") is None]
    total = plan.measured(items)
    for number, each in enumerate(chosen):
        if wrong := _check_round(each, plan, n, total, alone=number >= len(choosing)):
            return f"round {each['round']}: {wrong}"
    members = None if plan.infers else plan.members
    first = n if members is None else len(members)
    begins = choosing[0]["survivors"] if choosing else first
    quiet = (body.get("proof") or {}).get("scanned", 0) - sum(each["scanned"] for each in chosen)
    if begins != first and (begins > first or not plan.drops_unasked(quiet)):
        return f"the first round begins with {begins} hypotheses, and there are {first}"
    least = _least_disputed(body) if members is None and begins == first else 0
    if choosing and choosing[0]["disagreement"][0] < least and total == items:
        return "hypotheses of the summary differ on more items than are disputed in the first round"
    if protocol.record.shrinks and (wrong := _check_shrinking(body, choosing, infers=plan.infers)):
        return wrong
    scanned = sum(each["scanned"] for each in body["rounds"])
    if scanned > plan.askable(items):
        return f"the rounds look at {scanned} items, of {items} only {plan.askable(items)} may be looked at"
    return plan.check_rounds(chosen) or _check_measuring(plan, measuring, total)


def split_rounds(body: Mapping[str, Any]) -> tuple[Rounds, Rounds]:
    """The rounds that chose the answer or sharpened its tolerance, and those after it that measured its error."""
    error, rounds = body.get("answer_error"), body["rounds"]
    if error is None or error["labels"] == 0:
        return rounds, ()
    chosen = sum(each["drawn"] for each in rounds) - error["labels"]
    totals = accumulate((each["drawn"] for each in rounds), initial=0)
    last = next((number for number, count in enumerate(totals) if count == chosen), len(rounds))
    return rounds[:last], rounds[last:]


def _check_round(each: Mapping[str, Any], plan: Plan, n: int, total: int, *, alone: bool) -> str | None:
    """One round by itself; the answer may be `alone` where others are compared with it once more."""
    if len(each["disagreement"]) != 2 or each["disagreement"][1] != total:
        return f"disagreement is measured on {total} items"
    count = each["disagreement"][0]
    if count > total:
        return "a disagreement mass is above its total"
    if each["survivors"] > n:
        return f"the class has {n} hypotheses"
    if each["drawn"] > each["scanned"]:
        return "more items are asked than looked at"
    if plan.asks_anywhere:
        return None
    if (each["survivors"] != 1 if alone else each["survivors"] < 2) or count == 0:
        return "items are asked where nobody disagrees"
    return "more items are asked than are disputed" if each["drawn"] > count and not plan.measuring else None


def _least_disputed(body: Mapping[str, Any]) -> int:
    """On so many items at least two of the summarised hypotheses differ."""
    columns = zip(*(each["predicts"] for each in body["pool"]["summary"]), strict=True)
    return max((max(column) - min(column) for column in columns), default=0)


def _check_shrinking(body: Mapping[str, Any], rounds: Rounds, *, infers: bool) -> str | None:
    """Survivors become fewer, and what they dispute with them; the same survivors dispute the same."""
    seen = [(each["survivors"], each["disagreement"][0]) for each in rounds]
    for (before, disputed), (after, left) in pairwise(seen):
        if after > before:
            return "the number of survivors grows"
        if left > disputed:
            return "the disagreement of survivors grows"
        if after == before and left != disputed:
            return "the same survivors disagree on another number of items"
    if seen and body["survivors"]["count"] > seen[-1][0] and not infers:
        return "the number of survivors grows"
    stop = next((each for each in body["conditions"] if each["name"] == STOP), None)
    if seen and stop is not None and stop["value"] > seen[-1][1] / rounds[-1]["disagreement"][1]:
        return "the disagreement at the stop is above that of the last round"
    return None


def _check_measuring(plan: Plan, rounds: Rounds, total: int) -> str | None:
    """Fresh items, a batch at a time, wherever they lie."""
    if rounds and not plan.measurable:
        return f"{plan.learner} measures no error here"
    for number, (claim, drawn) in enumerate(
        zip(rounds, _batches(plan, rounds), strict=True), rounds[0]["round"] if rounds else 1
    ):
        wanted = {"round": number, "disagreement": [0, total], "survivors": 1, "drawn": drawn, "scanned": drawn}
        if wrong := same(claim, wanted):
            return f"round {number} measures the error: {wrong}"
    return None


def _batches(plan: Plan, rounds: Rounds) -> Iterator[int]:
    left = sum(each["drawn"] for each in rounds)
    for _ in rounds:
        yield min(left, getattr(plan, "batch", left))
        left -= min(left, getattr(plan, "batch", left))


def check_conditions(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Are they those of plan and learner, in their order, and does each say what follows from it?"""
    plan, stated = protocol.plan, body["conditions"]
    fixed = [condition_part(each) for each in plan.conditions]
    if wrong := same(stated[: len(fixed)], fixed):
        return f"the plan's conditions are not told as they are: {wrong}"
    own = family_of(protocol.record).conditions(claim_of(body, protocol))
    for claim, condition in zip(stated[len(fixed) :], own, strict=False):
        if wrong := same(claim, condition_part(condition)):
            return f"{condition.name!r}: {wrong}"
    return same([each["name"] for each in stated[len(fixed) :]], [each.name for each in own])


def claim_of(body: Mapping[str, Any], protocol: Protocol) -> Claim:
    """What a certificate says, for whoever knows how its learner proves."""
    return Claim(
        body=body,
        protocol=protocol,
        read_survivors=lambda: indices_of(body["survivors"], len(protocol.recipe.C)),
        rounds=split_rounds(body)[0],
    )


def list_steps(body: Mapping[str, Any], protocol: Protocol) -> Iterator[Step]:
    """What the file alone shows of a run on a list, whatever its learner."""
    yield Step("survivors are a set of hypotheses", lambda: check_sets(body, protocol), needed=True)
    yield Step("the hypothesis is one of the class", lambda: check_hypothesis(body, protocol), needed=True)
    by_labels = decided_by_labels(body, protocol)
    name = "the answer is among the survivors" if by_labels else "the winner is first in the shared order"
    yield Step(name, lambda: check_winner(body, protocol))
    yield Step("the rounds follow the plan and are possible", lambda: check_rounds(body, protocol))
    yield Step("every condition is recomputed", lambda: check_conditions(body, protocol), needed=True)
