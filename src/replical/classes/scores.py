"""Scores where there is no gold answer: whoever judges gives each different output of an item one word of a public scale.

A scale says what each word loses, from 0 to 1: ``{"pass": 0, "fail": 1, "cannot tell": 0.5}``. An output is scored once,
whoever said it, by itself and without names. Claim: docs/claims/losses.md, scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import Any

from replical.classes.base import label_set
from replical.classes.comparisons import from_json
from replical.classes.gold import FINEST, Answering, Gold, Said
from replical.core.exact import fraction
from replical.errors import BadLabel, BadProtocol

SCALES: dict[str, dict[str, float]] = {
    "pass-fail": {"pass": 0, "fail": 1},
    "1-5": {"1": 1, "2": 0.75, "3": 0.5, "4": 0.25, "5": 0},
    "win-tie-loss": {"win": 0, "tie": 0.5, "loss": 1},
}


@dataclass(frozen=True)
class Scores(Gold):
    """A public scale for outputs, of which whoever judges gives each one word; `numbers` says what each word loses.

    Examples
    --------
    >>> scale = Scores.on({"good": 0, "bad": 1, "cannot tell": .5})
    >>> said = scale.read({"A b": "good", "c": "cannot tell"})
    >>> scale.row(said, ["c", "A b"]), scale.unit
    ([1, 0], 2)
    """

    @classmethod
    def on(cls, scale: Any) -> Scores:
        """The scale of a name, or one that lists words and their losses; `BadProtocol` is raised if it is none."""
        listed = SCALES.get(scale) if isinstance(scale, str) else scale
        if not isinstance(listed, Mapping) or len(listed) < 2:
            raise BadProtocol(
                f"scores are {', '.join(SCALES)}, or words and their losses, e.g. scores = {{ good = 0, bad = 1 }}, got "
                f"{scale!r:.60}"
            )
        for word, loss in listed.items():
            if isinstance(loss, bool) or not isinstance(loss, int | float) or not 0 <= loss <= 1:
                raise BadProtocol(f"the score {word!r:.40} must lose a number from 0 to 1, got {loss!r:.40}")
            if not isinstance(word, str) or not word.strip() or word == "?":
                raise BadProtocol(f"a score is a word, and neither '' nor '?', got {word!r:.40}")
        exact = {word: fraction(loss) for word, loss in listed.items()}
        if (unit := lcm(*(loss.denominator for loss in exact.values()))) > FINEST:
            raise BadProtocol(f"the losses of scores come in parts finer than 1/{FINEST:,}: round them")
        return cls("plain", tuple(exact.items()), unit)

    @property
    def section(self) -> dict[str, Any]:
        """What it is, for a fingerprint."""
        return {"scores": {word: str(loss) for word, loss in self.numbers}}

    @cached_property
    def scale(self) -> dict[str, int]:
        """What each word loses, in parts of 1/q."""
        return {word: int(loss * self.unit) for word, loss in self.numbers}

    def read(self, answer: Any, what: str = "the answer") -> dict[str, str]:
        """A score for each of some outputs, in their normal form, as a journal keeps it; `BadLabel` if it is none."""
        given, answer = answer, from_json(answer)
        if not isinstance(answer, Mapping) or not answer:
            raise BadLabel(f"{what} is {given!r:.80}, and not a score for each different output")
        said = {self.normal(output, f"an output in {what}"): str(score) for output, score in answer.items()}
        for output, score in said.items():
            if score not in self.scale:
                raise BadLabel(
                    f"{what} scores {output!r:.60} as {score!r:.40}, which is none of {', '.join(self.scale)}"
                )
        return said

    def row(self, answer: Said, outputs: Sequence[str]) -> list[int]:
        """What each of these normal `outputs` loses, in parts of 1/q; whatever was not scored loses all there is."""
        assert isinstance(answer, Mapping), "as it was read"
        return [self.scale[answer[each]] if each in answer else self.unit for each in outputs]

    @property
    def _words(self) -> str:
        words = ", ".join(f"{word} {float(loss):g}" for word, loss in self.numbers)
        return f"what people or programs score each output, {words}"


def answering(section: Mapping[str, Any]) -> Answering:
    """What the section [labels] of a protocol lets one say of an item."""
    if "scores" in section:
        return Scores.on(section["scores"])
    if "loss" in section:
        return Gold.of(section["loss"], **{key: value for key, value in section.items() if key != "loss"})
    return label_set(section["values"])
