"""What a journal says of the items, whoever reads it: the run itself, or people who label beside it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TextIO, cast

from replical.classes.grading import Said
from replical.core.text import exported
from replical.errors import BadJournal, BadLabel
from replical.lab.journal.journal import Event, Journal, saying

CANNOT_SAY = -1  # the vote of somebody who cannot label an item
CHANGES = frozenset(("skip", "undo", "correction", "measure", "budget"))  # events that change what was said before
VOTE = "vote"  # who gave a label that several people decided on


@dataclass
class Ledger:
    """What a journal says of the items: labels by item, skipped items, and how often each thing happened."""

    labels: dict[str, Said] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    sources: dict[str, Event] = field(default_factory=dict)  # the event whose label, or skip, counts
    judges: dict[str, dict[str, str | None]] = field(default_factory=dict)  # who scored each output, in their order
    asked: set[str] = field(default_factory=set)
    votes: dict[str, dict[str, Said]] = field(default_factory=dict)
    announced: list[str] = field(default_factory=list)
    outputs: dict[str, list[str]] = field(default_factory=dict)  # of what is announced, those to be judged
    shown: set[str] = field(default_factory=set)  # items of which somebody has seen outputs
    corrected: int = 0
    changed: bool = False  # has anything been corrected, taken back or skipped since the last result?
    error_labels: int = 0  # labels to measure the answer's error with
    budget: int | None = None  # labels that the lab wants to spend, neither fewer nor more
    lab: str | None = None  # its name
    people: dict[str, str] = field(default_factory=dict)  # names at the page, and the hash of whoever has one
    registration: Mapping[str, Any] | None = None  # as it was published before the first label
    beacon: str | None = None  # the public value that came between the two
    begun: bool = False  # has anybody said anything of an item?
    parts: dict[str, Mapping[str, Any] | None] = field(
        default_factory=dict
    )  # added to the pool: how they were registered
    grown: bool = False  # has the pool grown since the last result?
    started: set[str] = field(default_factory=set)  # those of which something was said since they came
    results: list[int | str | None] = field(default_factory=list)  # answers, or outcomes of a confirmation

    @classmethod
    def of(cls, events: Iterable[Event]) -> Ledger:
        """What these events say together."""
        ledger = cls()
        for event in events:
            ledger.hear(event)
        return ledger

    def hear(self, event: Event) -> None:
        """The first answer counts until it is taken back or corrected: a second one came at the same time from elsewhere.

        A label given later lifts a skip. People take back what they did themselves; who runs (no name) anything. A
        registration counts if it comes before all of that, and a beacon's value if it comes between the two. What is
        added to the pool later has a registration of its own, which counts if nothing was said since.
        """
        try:
            self._hear(event)
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
            raise BadJournal(f"event {event.seq}, {event.kind!r:.20}, does not say what such an event says") from error

    def _hear(self, event: Event) -> None:
        self.changed |= event.kind in CHANGES or event.item in self.skipped
        if event.kind == "open":
            self.announced = self.announced if event.detail is None else list(event.detail["items"])
            self.outputs = self.outputs if event.detail is None else dict(event.detail.get("outputs", {}))
        elif event.kind == "part" and event.detail is not None:
            self.parts[str(event.detail["fingerprint"])] = None
            self.grown = True
        elif event.kind == "measure" and event.detail is not None:
            self.error_labels = max(self.error_labels, int(event.detail["labels"]))
        elif event.kind == "budget" and event.detail is not None:
            self.budget = int(event.detail["labels"])
        elif event.kind == "lab" and event.detail is not None:
            self.lab = str(event.detail["name"])
        elif event.kind == "join" and event.annotator is not None and event.detail is not None:
            self.people.setdefault(event.annotator, str(event.detail.get("browser")))
        elif event.kind == "done" and event.detail is not None:
            self.results.append(event.detail.get("outcome", event.detail.get("hypothesis")))
            self.changed = self.grown = False
        elif event.kind in ("registration", "beacon") and event.detail is not None:
            self._hear_before(event.kind, event.detail)
        elif event.item is not None:
            self._hear_item(event, event.item)

    def _hear_item(self, event: Event, item: str) -> None:
        """Something about an item."""
        if event.kind in ("ask", "show"):
            (self.asked if event.kind == "ask" else self.shown).add(item)
            return
        self.begun = True
        self.started.update(self.parts)
        if event.kind == "skip" and item not in self.labels:
            self.skipped.add(item)
            self.sources[item] = event
        elif event.kind == "undo":
            self._take_back(item, event.annotator)
        elif event.kind == "vote":
            code = CANNOT_SAY if event.answer is None else event.answer
            self.votes.setdefault(item, {})[event.annotator or ""] = code
        elif event.answer is not None:
            before, corrects = self.labels.get(item), event.kind == "correction"
            if isinstance(event.answer, Mapping):  # of each output the first score counts
                scored = before if isinstance(before, Mapping) else {}
                self.labels[item] = {**scored, **event.answer} if corrects else {**event.answer, **scored}
                judges = self.judges.setdefault(item, {})
                judges |= {output: event.annotator for output in event.answer if corrects or output not in judges}
            elif before is None or corrects:
                self.labels[item] = event.answer
            else:
                return
            self.corrected += corrects
            self.skipped.discard(item)
            self.sources[item] = event

    @property
    def label_count(self) -> int:
        """How many labels there are; where outputs are scored, how many scores."""
        return sum(len(said) if isinstance(said, Mapping) else 1 for said in self.labels.values())

    def _hear_before(self, kind: str, detail: Mapping[str, Any]) -> None:
        """Something that comes before the first label: the first registration counts, then the last value of the beacon."""
        part = str(detail.get("pool_fingerprint"))
        if kind == "registration" and part in self.parts:
            if self.parts[part] is None and part not in self.started:
                self.parts[part] = detail
        elif kind == "registration" and self.registration is None and not self.begun:
            self.registration = detail
        elif kind == "beacon" and self.registration is not None and not self.begun:
            self.beacon = str(detail["value"])

    def by(self, item: str) -> str | None:
        """Who gave the label, or the skip, that counts."""
        event = self.sources.get(item)
        return None if event is None else event.annotator

    def may_take_back(self, item: str, annotator: str | None) -> bool:
        """Is there something about this item that this person may take back?"""
        if item in self.judges and item in self.labels:
            return annotator is None or annotator in self.judges[item].values()
        if item in self.labels or item in self.skipped:
            own = {None, self.by(item)} | (set(self.votes.get(item, {})) if self.by(item) == VOTE else set())
            if annotator in own:
                return True
        return bool(self.votes.get(item)) if annotator is None else annotator in self.votes.get(item, {})

    def _take_back(self, item: str, annotator: str | None) -> None:
        if isinstance(self.labels.get(item), Mapping):
            self._take_score_back(item, annotator)
            return
        voted = self.votes.get(item, {}).pop(annotator or "", None) is not None
        if annotator in (None, self.by(item)) or (voted and self.by(item) == VOTE):
            self.labels.pop(item, None)
            self.skipped.discard(item)
            self.sources.pop(item, None)

    def _take_score_back(self, item: str, annotator: str | None) -> None:
        """The last one that this person gave an output of the item."""
        scores, judges = dict(cast(Mapping[str, str], self.labels[item])), self.judges[item]
        for output in [output for output, judge in judges.items() if annotator in (None, judge)][-1:]:
            del scores[output], judges[output]
        self.labels[item] = scores
        if not scores:
            del self.labels[item], self.sources[item]

    @property
    def open_items(self) -> list[str]:
        """What the run has asked for last and nobody has answered, or has not scored all of."""
        return [item for item in self.announced if item not in self.skipped and self._is_open(item)]

    def _is_open(self, item: str) -> bool:
        said = self.labels.get(item)
        return said is None or (isinstance(said, Mapping) and bool(self.to_judge(item)))

    def to_judge(self, item: str) -> list[str]:
        """Outputs of an open item to be judged next: one that has no score, two that duel; none where answers are free."""
        said, outputs = self.labels.get(item), self.outputs.get(item, [])
        return [output for output in outputs if not isinstance(said, Mapping) or output not in said]

    def check_skip(self, item: str) -> None:
        """Refuse to skip an `item` of which somebody has seen what is to be judged."""
        if item in self.shown or isinstance(self.labels.get(item), Mapping):
            raise BadLabel(
                f"outputs of the item {item!r} have been shown, and an item is skipped before they are: judge them"
            )

    def decision(self, item: str, annotator: str, code: Said, needed: int) -> Said | None:
        """The commonest vote on an item if this annotator votes so; None while it is tied or too few have voted."""
        tally = Counter((self.votes.get(item, {}) | {annotator: code}).values())
        first, *rest = tally.most_common(2)
        return first[0] if tally.total() >= needed and (not rest or first[1] > rest[0][1]) else None

    def ballot(self, item: str, code: Said | None, annotator: str, needed: int) -> list[Event]:
        """What is written when somebody votes, None for who cannot say: the vote, together with what it decides."""
        events = [saying("vote", item, code, annotator)]
        decided = self.decision(item, annotator, CANNOT_SAY if code is None else code, needed)
        if decided == CANNOT_SAY:
            events.append(Event(kind="skip", item=item, annotator=VOTE))
        elif decided is not None:
            events.append(saying("answer", item, decided, VOTE))
        return events

    def agreement(self) -> dict[str, float | int | None]:
        """How often two people who voted on one item said the same, and beyond what chance would give (Scott's pi)."""
        pairs: Counter[bool] = Counter()
        codes: Counter[Said] = Counter()
        for votes in self.votes.values():
            for one, two in combinations(votes.values(), 2):
                pairs[one == two] += 1
                codes.update((one, two))
        total = pairs.total()
        if not total:
            return {"pairs": 0, "same": None, "beyond_chance": None}
        same, chance = pairs[True] / total, sum((count / codes.total()) ** 2 for count in codes.values())
        return {"pairs": total, "same": same, "beyond_chance": (same - chance) / (1 - chance) if chance < 1 else None}


def export_labels(journal: Journal, file: TextIO) -> None:
    """Write the labels in a `journal` to a `file` as CSV, one row an item: what counts now, who gave it and when."""
    ledger = Ledger.of(journal.events())
    writer = csv.writer(file)
    writer.writerow(["item", "label", "annotator", "at"])
    for item, code in ledger.labels.items():
        writer.writerow(exported([item, journal.label(code), ledger.by(item), ledger.sources[item].at]))
