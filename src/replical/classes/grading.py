"""How outputs are graded: by a public loss against a gold answer, or by scores on a public scale where there is none.

An output is brought into a public *normal form*, on which alone its loss depends: outputs with one normal form are the same
output. Losses lie in [0, 1] and are whole parts of 1/q, computed in fractions, so that two machines agree; rounding and
clipping belong to the loss. Claim: docs/claims/handicap.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from math import floor, lcm
from typing import Any

from replical.classes.base import Label, label_set
from replical.classes.comparisons import GRID, KINDS, PLAIN, TIE, Kind, from_json, native
from replical.classes.own_losses import own_kind, source_of
from replical.core.canonical import is_digest
from replical.core.exact import fraction
from replical.errors import BadLabel, BadProtocol, BadTable

FINEST = 10_000  # parts that a protocol may ask for: accounts have a row for each


# What a journal keeps of an item: the code of a label, the normal form of a gold answer, or a score for each output.
Said = int | str | Mapping[str, str]


@dataclass(frozen=True)
class Gold:
    """A public loss of outputs, for items with one gold answer each.

    Attributes
    ----------
    name
        Which of `KINDS` it is, or a user's own.
    numbers
        What a protocol says of it beside, by name.
    unit
        q: losses are whole parts of 1/q.
    source
        The hash of the source of a user's own.

    Examples
    --------
    >>> loss = Gold.of("absolute", clip=10)
    >>> loss.row(loss.read("20"), [loss.normal(output) for output in ("20.0", "21", 15, "400")])
    [0, 100, 500, 1000]
    """

    name: str
    numbers: tuple[tuple[str, Fraction], ...] = ()
    unit: int = GRID
    source: str | None = None

    @classmethod
    def of(cls, name: Any, *, grid: Any = None, source: Any = None, **numbers: Any) -> Gold:
        """The loss of this `name`, with the `numbers` it needs; its parts are 1/`grid`, if that is given.

        A user's own is known by an entry point of the group ``replical.losses``, and by the hash of its `source`; its code
        is not run before it is needed.

        Raises
        ------
        BadProtocol
            For a name that no loss has, and for numbers that it lacks, does not know or cannot take.
        """
        if not isinstance(name, str) or (name not in KINDS and source is None):
            raise BadProtocol(_unknown(name))
        if name in KINDS and source is not None:
            raise BadProtocol(f"the loss {name!r} is built in: leave out source")
        if source is not None and not is_digest(source):
            raise BadProtocol(f"source of the loss {name!r} must be written sha256:<64 hex digits>, got {source!r:.80}")
        kind = KINDS.get(name, _OWN)
        for key in kind.needs:
            if key not in numbers:
                raise BadProtocol(f"the loss {name!r} needs {key}, a number above 0: write {key} = 10.0, say")
        for key, value in numbers.items():
            if key not in kind.needs:
                raise BadProtocol(f"the loss {name!r} has no {key}: leave it out")
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise BadProtocol(f"{key} of the loss {name!r} must be a finite number above 0, got {value!r:.40}")
        unit = kind.unit if grid is None else grid
        if isinstance(unit, bool) or not isinstance(unit, int) or not 1 <= unit <= FINEST:
            raise BadProtocol(f"grid must be a whole number from 1 to {FINEST:,}, got {grid!r:.40}")
        return cls(name, tuple(sorted((key, fraction(value)) for key, value in numbers.items())), unit, source)

    @property
    def section(self) -> dict[str, Any]:
        """What it is, for a fingerprint."""
        own = {} if self.source is None else {"source": self.source}
        return {"loss": self.name, "grid": self.unit, **own, **{key: str(value) for key, value in self.numbers}}

    @cached_property
    def differences(self) -> tuple[int, ...]:
        """By how much two outputs may differ in loss, in parts of 1/q: 0, q and -q, then others in pairs."""
        pairs = (sign * each for each in range(1, self.unit) for sign in (1, -1))
        return (0, self.unit, -self.unit, *pairs)

    @property
    def _kind(self) -> Kind:
        return KINDS.get(self.name, PLAIN) if self.source is None else own_kind(self.name, self.source, self.unit)

    def normal(self, output: Any, what: str = "the output") -> str:
        """The normal form of an `output`, called `what` in the error.

        Raises
        ------
        BadTable
            If it is nothing that the loss compares.
        """
        try:
            found = self._kind.normal(native(output))
        except BadProtocol:
            raise
        except ValueError as error:
            raise BadTable(f"{what} is {output!r:.80}, which is {error}, as the loss {self.name!r} needs it") from error
        if self.name == "duel" and found == TIE:
            raise BadTable(f"{what} is {output!r:.80}, which is the word for a draw: write it in another way")
        return found

    def read(self, answer: Any, what: str = "the answer") -> Said:
        """The gold `answer`, called `what` in the error, in its normal form, as a journal keeps it.

        Raises
        ------
        BadLabel
            If it is nothing that the loss compares.
        """
        try:
            return self._kind.normal(native(answer))
        except BadProtocol:
            raise
        except ValueError as error:
            raise BadLabel(f"{what} is {answer!r:.80}, which is {error}, as the loss {self.name!r} needs it") from error

    @property
    def choices(self) -> tuple[str, ...]:
        """What whoever judges may say of outputs that are shown; none where answers are free."""
        return ("1", "2", TIE) if self.name == "duel" else ()

    @property
    def heads(self) -> tuple[str, ...]:
        """What stands above the outputs that are shown to whoever judges."""
        return self.choices[:2]

    def judged(self, choice: str, outputs: Sequence[str]) -> Said:
        """What a `choice` says of the `outputs` that were shown, two that duel or one that is scored, as a journal keeps it.

        Raises
        ------
        BadLabel
            If it is none of the choices.
        """
        if choice not in self.choices:
            raise BadLabel(f"{choice!r:.40} is none of {', '.join(self.choices)}")
        return {outputs[0]: choice} if len(outputs) == 1 else {"1": outputs[0], "2": outputs[1]}.get(choice, TIE)

    def stray(self, said: Said, outputs: Collection[str]) -> str | None:
        """What was `said` to be preferred, or scored, and is none of the `outputs` of its item."""
        return said if self.name == "duel" and isinstance(said, str) and said not in {*outputs, TIE} else None

    def reads(self, said: Said) -> bool:
        """Is what was `said` an answer in its normal form?"""
        try:
            return self.read(said) == said
        except BadLabel:
            return False

    def row(self, answer: Said, outputs: Sequence[str]) -> list[int]:
        """What each of these normal `outputs` loses at a normal `answer`, in parts of 1/q, rounded to the nearest.

        Raises
        ------
        BadLabel
            If an output is preferred that was not shown.
        """
        assert isinstance(answer, str), "as it was read"
        if (stray := self.stray(answer, outputs)) is not None:
            raise BadLabel(f"{stray!r:.60} is preferred, and is neither {TIE} nor one of the two outputs")
        numbers = dict(self.numbers)
        return [floor(self._kind.cost(each, answer, numbers) * self.unit + Fraction(1, 2)) for each in outputs]

    def words(self, labels: Sequence[Any] = ()) -> str:
        """What is counted instead of errors, for people; there are no `labels`.

        Examples
        --------
        >>> print(Gold.of("absolute", clip=10).words())
        Losses from 0 to 1 instead of errors: how far a number is off, 10 or more costs 1; in steps of 1/1000.
        """
        return f"Losses from 0 to 1 instead of errors: {self._words}; in steps of 1/{self.unit}."

    @property
    def _words(self) -> str:
        if self.source is not None:
            return f"the loss {self.name!r} of somebody's own, source {self.source[:23]}"
        return KINDS[self.name].words.format(**{key: f"{float(value):g}" for key, value in self.numbers})


_OWN = Kind(normal=str, cost=lambda output, answer, numbers: Fraction(0), words="")  # a user's own takes no numbers


def _unknown(name: Any) -> str:
    """A sentence about a name that no loss has."""
    if (found := source_of(str(name))) is not None:
        return f"the loss {name!r:.40} is an entry point, so the protocol says its source: write source = {found!r}"
    near = get_close_matches(str(name), KINDS, 1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown loss {name!r:.40}: {meant}the losses are {', '.join(KINDS)}"


# ---- scores ----


SCALES: dict[str, dict[str, float]] = {
    "pass-fail": {"pass": 0, "fail": 1},
    "1-5": {"1": 1, "2": 0.75, "3": 0.5, "4": 0.25, "5": 0},
    "win-tie-loss": {"win": 0, "tie": 0.5, "loss": 1},
}


@dataclass(frozen=True)
class Scores(Gold):
    """A public scale on which each output of an item gets one word; made by `Scores.on`.

    Attributes
    ----------
    name
        The same for all.
    numbers
        What each word loses.
    unit
        q: losses are whole parts of 1/q.
    source
        None.

    Examples
    --------
    >>> scale = Scores.on({"good": 0, "bad": 1, "cannot tell": .5})
    >>> said = scale.read({"A b": "good", "c": "cannot tell"})
    >>> scale.row(said, ["c", "A b"]), scale.unit
    ([1, 0], 2)
    """

    @classmethod
    def on(cls, scale: Any) -> Scores:
        """The `scale` of a name, or one that lists words and their losses.

        Raises
        ------
        BadProtocol
            If it is none.
        """
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

    @property
    def choices(self) -> tuple[str, ...]:
        """The words of the scale."""
        return tuple(self.scale)

    @property
    def heads(self) -> tuple[str, ...]:
        """One is scored at a time; of numbers nobody could know which is best.

        >>> Scores.on("1-5").heads, Scores.on("pass-fail").heads
        (('To be scored, 5 is best',), ('To be scored',))
        """
        best = min(self.scale, key=self.scale.__getitem__)
        return (f"To be scored, {best} is best" if best.isdigit() else "To be scored",)

    def stray(self, said: Said, outputs: Collection[str]) -> str | None:
        """Something that was `said` to have a score, and is none of the `outputs` of its item."""
        assert isinstance(said, Mapping), "as it was read"
        return next((each for each in said if each not in outputs), None)

    def read(self, answer: Any, what: str = "the answer") -> dict[str, str]:
        """From an `answer`, called `what` in the error, a score for each of some outputs, as a journal keeps it.

        Raises
        ------
        BadLabel
            If it is no mapping from outputs to words of the scale, nor the JSON of one.
        """
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
        """What each of these normal `outputs` loses by the `answer`, in parts of 1/q; what was not scored loses all."""
        assert isinstance(answer, Mapping), "as it was read"
        return [self.scale[answer[each]] if each in answer else self.unit for each in outputs]

    @property
    def _words(self) -> str:
        words = ", ".join(f"{word} {float(loss):g}" for word, loss in self.numbers)
        return f"what people or programs score each output, {words}"


# ---- what may be said of an item ----


Answering = tuple[Label, ...] | Gold  # what may be said of an item: one of these labels, or a gold answer


def answering(section: Mapping[str, Any]) -> Answering:
    """What the section [labels] of a protocol lets one say of an item."""
    if "scores" in section:
        return Scores.on(section["scores"])
    if "loss" in section:
        return Gold.of(section["loss"], **{key: value for key, value in section.items() if key != "loss"})
    return label_set(section["values"])


def word_of(said: Said, answers: Answering) -> Said:
    """What was said, in words."""
    return answers[said] if isinstance(answers, tuple) and isinstance(said, int) else said


def loss_of(C: Any) -> Gold | None:
    """The loss by which a class compares outputs; None where it says labels."""
    loss: Gold | None = getattr(C, "loss", None)
    return loss
