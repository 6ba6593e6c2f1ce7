"""What a journal says of the items, whoever reads it: the run itself, or people who label beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from replical.journal import Event


@dataclass
class Known:
    """What a journal says of the items: labels by item, skipped items, and how often each thing happened."""

    labels: dict[str, int] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    votes: dict[str, dict[str, int]] = field(default_factory=dict)
    announced: list[str] = field(default_factory=list)
    corrected: int = 0
    results: list[int | None] = field(default_factory=list)

    def hear(self, event: Event) -> None:
        """The latest answer or correction counts; a label given later lifts a skip."""
        if event.kind == "open" and event.detail is not None:
            self.announced = list(event.detail["items"])
        elif event.kind == "done" and event.detail is not None:
            self.results.append(event.detail.get("hypothesis"))
        elif event.item is not None:
            if event.kind == "ask":
                self.asked.add(event.item)
            elif event.kind == "skip":
                self.skipped.add(event.item)
            elif event.kind == "undo":
                self.labels.pop(event.item, None)
                self.skipped.discard(event.item)
                self.votes.get(event.item, {}).pop(event.annotator or "", None)
            elif event.kind == "vote" and event.label is not None:
                self.votes.setdefault(event.item, {})[event.annotator or ""] = event.label
            elif event.label is not None:
                self.corrected += event.kind == "correction"
                self.labels[event.item] = event.label
                self.skipped.discard(event.item)

    @property
    def waiting(self) -> list[str]:
        """What the run has asked for last and nobody has answered."""
        return [item for item in self.announced if item not in self.labels and item not in self.skipped]

    def decision(self, item: str, annotator: str, code: int, needed: int) -> int | None:
        """The commonest label of an item if this annotator votes so; None while it is tied or too few have voted."""
        tally = Counter((self.votes.get(item, {}) | {annotator: code}).values())
        first, *rest = tally.most_common(2)
        return first[0] if tally.total() >= needed and (not rest or first[1] > rest[0][1]) else None
