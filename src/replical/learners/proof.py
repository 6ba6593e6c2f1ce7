"""What a run proves, and how others check and read it: the one interface between learners and certificates.

A learner's record names its `Family`: what it publishes beside what everybody does, how that is checked, and in which words
it is told. The class itself is the family of learners that prove nothing of their own runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np

from replical.classes.base import Indices, Items
from replical.classes.recipe import Recipe
from replical.core.exact import fraction
from replical.core.randomness import SharedRandomness
from replical.core.text import about, at_least, at_most, confidence, count, two_of
from replical.errors import BadCertificate
from replical.learners.catalogue import Record, load
from replical.learners.plan import Condition, Cost, Plan, RunReport
from replical.learners.result import AnswerError, Result

Test = Callable[[], str | None]  # what is wrong, in a sentence, or nothing


class Step(NamedTuple):
    """One check of a certificate; where it is `needed` and fails, nothing more can be read."""

    name: str
    test: Test
    needed: bool = False


class Belief:
    """Something that the file alone does not show: its name, and the fields of the body that are believed.

    Until then: until the labels are there, or what it `needs` instead; nothing does if that is empty.
    """

    def __init__(
        self, name: str, *fields: str, why: str = "labels are not in the file", needs: str = "journal"
    ) -> None:
        self.name, self.fields, self.why, self.needs = name, fields, why, needs


class Published(Protocol):
    """What is needed of a protocol."""

    @property
    def plan(self) -> Plan:
        """Its plan."""
        ...

    @property
    def recipe(self) -> Recipe:
        """Its class."""
        ...

    @property
    def record(self) -> Record:
        """Its learner."""
        ...

    @property
    def shared(self) -> SharedRandomness:
        """Its string."""
        ...

    def parameter(self, name: str) -> Any:
        """What it says of a parameter."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Claim:
    """What a certificate says, with what everybody knows.

    Attributes
    ----------
    body
        Everything that is digested.
    protocol
        What its protocol stands for.
    read_survivors
        Reads numbers of the hypotheses that are left, ascending; may raise where a file does not name them.
    rounds
        The rounds that chose the answer, without those that measured its error.
    """

    body: Mapping[str, Any]
    protocol: Published
    read_survivors: Callable[[], Indices]
    rounds: Sequence[Mapping[str, Any]]

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.protocol.plan

    @property
    def shared(self) -> SharedRandomness:
        """The string."""
        return self.protocol.shared

    @cached_property
    def survivors(self) -> Indices:
        """Numbers of the hypotheses that are left, ascending."""
        return self.read_survivors()

    @property
    def part(self) -> Mapping[str, Any]:
        """The part that is the family's own."""
        found: Mapping[str, Any] = self.body["proof"]
        return found

    @property
    def report(self) -> RunReport:
        """What it says about the run."""
        conditions = {each["name"]: each for each in self.body["conditions"]}
        return RunReport(items=self.body["pool"]["items"], conditions=conditions, shared=self.shared)


class Family:
    """What certificates, pages and sentences say of a learner's runs.

    Attributes
    ----------
    Part
        The schema of the part that is its own, with a key ``family``; None where there is none.
    lists
        Are survivors numbers of a list?
    contains_answer
        Are they proven to contain the answer? Then labs intersect them.
    confirms
        Was the answer there before the run, which tells what it found of it?
    verdict_names
        Names of the conditions that its own sentences are about.
    title
        What a page of such a certificate shows.
    """

    Part: type[msgspec.Struct] | None = None
    lists = True
    contains_answer = False
    confirms = False
    verdict_names: tuple[str, ...] = ()
    title = "Certificate of a replicable run"

    def part_of(self, result: Result, recipe: Recipe) -> Mapping[str, Any] | None:
        """What a run knows, as it is written."""
        return None

    def survivors_of(self, result: Result, recipe: Recipe) -> Mapping[str, Any]:
        """Who is left, as it is written."""
        return set_of(result.survivors.indices)

    def steps(self, claim: Claim, usual: Iterator[Step]) -> Iterator[Step]:
        """What the file alone shows: the `usual` steps of every run on a list, and those of its own."""
        yield from usual

    def conditions(self, claim: Claim) -> tuple[Condition, ...]:
        """The learner's own conditions, computed again."""
        return claim.plan.own_conditions(claim.report)

    def beliefs(self, claim: Claim) -> Iterator[Belief]:
        """What only labels show."""
        if claim.protocol.record.boosts:
            yield Belief("the winner won so often", "conditions[].value", "hypothesis")

    def joint_tolerance(self, plan: Plan, parts: Sequence[Mapping[str, Any]]) -> tuple[float, int] | None:
        """What independent labs prove together: how much a public hypothesis errs more than the best, and which it is."""
        return None

    def items_alike(self, plan: Plan, parts: Sequence[Mapping[str, Any]], members: Sequence[int]) -> int | None:
        """Items on which two that are left in all labs never differed; None where that is unknown."""
        return None

    def facts(self, claim: Claim) -> dict[str, str]:
        """Rows of the certificate's page."""
        survivors = claim.protocol.recipe.count(claim.body["survivors"]["count"])
        return {"survivors": f"{survivors}; the shared order chose among them"}

    def promise(self, claim: Claim) -> str:
        """What certified means, for the page."""
        labs = next((int(each.value) for each in claim.plan.numbers if each.name == "labs"), 2)
        bound = at_most(claim.body["rho_proven"])
        return f"the chance that {two_of(labs)} both prove this much and differ is at most {bound}"

    def heading(self, claim: Claim) -> str:
        """How the page begins."""
        return "Certified" if claim.body["certified"] else "Not certified"

    def verdict(self, claim: Claim) -> str:
        """Proven or not, for the page; if not, why not and what would help, where the certificate says so."""
        if claim.body["certified"]:
            return f"Certified: {self.promise(claim)}."
        verdict = claim.body.get("verdict")
        if verdict is None:
            return "Not certified: agreement with other labs is not proven by this run."
        return f"Not certified: {verdict['why']}. What helps: {verdict['helps']}."

    def error_words(self, result: Result, protocol: Published) -> str:
        """How often the answer errs, as far as this run knows: an estimate with its interval, or a bound."""
        if result.measured is not None:
            what = "Error" if result.measured.of == "error" else "Loss (1 is the costliest error)"
            return f"{what}: {measured_words(result.measured)}."
        if not result.sound or result.hypothesis is None:
            return f"Error: no bound is proven{' (-v says why)' if broken_conditions(result) else ''}."
        sure = confidence(protocol.parameter("delta"))
        return (
            f"Error: at most {at_most(protocol.plan.epsilon, 4)} {reference_words(protocol)}, with confidence {sure}."
        )

    def proof_words(self, result: Result, protocol: Published) -> str:
        """Certified or not: what that means, or why not and what would help."""
        record, broken = protocol.record, broken_conditions(result)
        helps = "What helps: --learner handicap, which proves it."
        if not record.replicable:
            return f"Not certified: {record.id} does not promise that labs agree. {helps}"
        if broken:
            return f"Not certified: the theorem of {record.id} does not cover this run: {'; '.join(broken)}. {helps}"
        agree = at_least(1 - fraction(protocol.parameter("rho")))
        return (
            f"Not certified: the theorem of {record.id} promises that two labs agree with probability {agree}, and no run "
            f"proves it of itself. {helps}"
        )

    def detail_words(self, result: Result, protocol: Published) -> Iterator[str]:
        """What else a run can tell."""
        yield f"{protocol.recipe.count(result.V.size)} left in {count(len(result.rounds), 'round')}."

    def class_words(self, recipe: Recipe) -> str:
        """How many hypotheses a class has."""
        return recipe.count(len(recipe.C))

    def answer_words(self, h: int, recipe: Recipe) -> str:
        """A hypothesis, as a run ends with it."""
        return recipe.name(h)

    def left_words(self, survivors: int, recipe: Recipe) -> str:
        """Who is left while a run goes on, for the end of a line."""
        return f"; {recipe.count(survivors)} still in question"

    def cost(self, protocol: Published) -> Cost | None:
        """About what a run costs, where no other learner is for the class; None where bills and forecasts say it."""
        return None

    def remarks(self, protocol: Published) -> Iterator[str]:
        """What somebody who publishes a protocol, or runs it, should know."""
        yield from ()

    def warnings(self, protocol: Published, items: Items) -> Iterator[str]:
        """What is wrong with items on which no proof is possible."""
        yield from ()


PLAIN = Family()


def family_of(record: Record) -> Family:
    """The family of a learner."""
    found: Family = load(record.family)
    return found


def measured_words(error: AnswerError) -> str:
    """An error that was measured on fresh items."""
    wrong, items = round(error.estimate * error.labels), count(error.labels, "fresh item")
    counted = f"{about(error.estimate)}, wrong on {wrong} of {items}" if wrong else f"none seen on {items}"
    counted = f"{about(error.estimate)} on {items}" if error.of == "loss" else counted
    skipped = f" ({error.skipped} more could not be labelled and are left out)" if error.skipped else ""
    return f"{counted}{skipped}; {confidence(error.level)} interval {at_least(error.low)} to {at_most(error.high)}"


def reference_words(protocol: Published) -> str:
    """Errors are shown beside those of the best; where the best makes none, as they are."""
    record, nu, noiseless = protocol.record, protocol.parameter("nu"), "if some hypothesis makes no error"
    if record.setting == "realizable" or (record.setting == "either" and (nu == 0 if record.infers else not nu)):
        return f"more than the best{protocol.plan.among}, {noiseless}" if protocol.plan.among else noiseless
    return f"more than the best{protocol.plan.among}"


def broken_conditions(result: Result, *, besides: Sequence[str] = ()) -> list[str]:
    """Conditions that did not hold, but for `besides`."""
    return [
        f"{each.name} ({each.value:g}, bound {each.bound:g})"
        for each in result.conditions
        if not each.held and each.name not in besides
    ]


def error_facts(error: Mapping[str, Any] | None) -> dict[str, str]:
    """The answer's own error as a row of a page, where it was measured."""
    if error is None or error["of"] == "excess":
        return {}
    return {
        error[
            "of"
        ]: f"{about(error['estimate'])} on {count(error['labels'], 'fresh item')}; between {at_least(error['low'])} "
        f"and {at_most(error['high'])} at level {error['level']:g}"
    }


def same(claim: Any, result: Any) -> str | None:
    """Nothing if both are written alike, else how they differ."""
    if json.dumps(claim, sort_keys=True) == json.dumps(result, sort_keys=True):  # 1 is neither 1.0 nor true here
        return None
    apart = [*_differences("", claim, result)] or [_difference(claim, result)]
    more = f"; and {len(apart) - _LISTED} more" if len(apart) > _LISTED else ""
    return "; ".join(apart[:_LISTED]) + more


_LISTED = 3  # differences that are named


def _differences(where: str, claim: Any, result: Any) -> Iterator[str]:
    """What differs, each with its place; of what has parts the parts that differ, where they are the same parts."""
    if json.dumps(claim, sort_keys=True) == json.dumps(result, sort_keys=True):
        return
    if isinstance(claim, Mapping) and isinstance(result, Mapping):
        for key in [*claim, *(key for key in result if key not in claim)]:
            yield from _differences(_path(where, str(key)), claim.get(key), result.get(key))
    elif isinstance(claim, list | tuple) and isinstance(result, list | tuple) and len(claim) == len(result) > 1:
        for number, (mine, theirs) in enumerate(zip(claim, result, strict=True), 1):
            name = mine.get("name", "") if isinstance(mine, Mapping) else ""
            yield from _differences(_path(where, repr(name) if name else f"number {number}"), mine, theirs)
    else:
        yield f"{where}{': ' if where else ''}{_difference(claim, result)}"


def _difference(claim: Any, result: Any) -> str:
    return f"the certificate says {_short(claim)}, recomputed {_short(result)}"


def _path(where: str, part: str) -> str:
    return f"{where}, {part}" if where else part


_WORDS = {None: "nothing", True: "yes", False: "no"}


def _short(value: Any) -> str:
    text = _WORDS[value] if value is None or isinstance(value, bool) else str(value)
    most = 19 if text.startswith("sha256:") else 60
    return text if len(text) <= most else f"{text[:most]}.."


def set_of(indices: Indices) -> dict[str, Any]:
    """A set of hypotheses as ranges.

    Examples
    --------
    >>> set_of(np.array([1, 2, 3, 7]))
    {'count': 4, 'ranges': [[1, 3], [7, 7]]}
    """
    breaks = np.flatnonzero(np.diff(indices) > 1)
    starts = indices[np.concatenate(([0], breaks + 1))] if len(indices) else indices
    ends = indices[np.concatenate((breaks, [len(indices) - 1]))] if len(indices) else indices
    ranges = [[int(low), int(high)] for low, high in zip(starts, ends, strict=True)]
    return {"count": len(indices), "ranges": ranges}


def indices_of(entry: Mapping[str, Any], n: int) -> Indices:
    """The set that `set_of` wrote; anything else is refused."""
    ranges = ranges_of(entry, n)
    return np.concatenate([np.arange(low, high + 1, dtype=np.int64) for low, high in ranges] or [np.zeros(0, np.int64)])


def ranges_of(entry: Mapping[str, Any], n: int) -> list[tuple[int, int]]:
    """The set that `set_of` wrote, as ascending ranges of indices below `n`, both ends included."""
    try:
        ranges = [(int(low), int(high)) for low, high in entry["ranges"]]
        size = entry["count"]
    except (KeyError, TypeError, ValueError) as error:
        raise BadCertificate("a set of hypotheses is written as ranges [low, high] with their count") from error
    before = -2
    for low, high in ranges:
        if not before + 1 < low <= high < n:
            raise BadCertificate(f"the range [{low}, {high}] is not ascending, apart from the last, and below {n}")
        before = high
    if sum(high - low + 1 for low, high in ranges) != size:
        raise BadCertificate(f"the ranges do not hold {size} hypotheses")
    return ranges


def is_number(value: Any) -> bool:
    """A number, and not true or false."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """A whole number of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_share(value: Any) -> bool:
    """A number from 0 to 1 as it is written, with at most six digits."""
    return is_number(value) and 0 <= value <= 1 and round(value, 6) == value
