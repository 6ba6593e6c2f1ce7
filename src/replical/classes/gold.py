"""Losses of outputs against a gold answer: numbers, texts, sets of labels, boxes, each by a public name.

An output is brought into a public *normal form*, on which alone the loss depends: outputs with one normal form are the same
output. Losses lie in [0, 1] and are whole parts of 1/q, computed in fractions, so that two machines agree; rounding and
clipping belong to the loss. Claim: docs/claims/handicap.md, losses other than errors.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property, lru_cache
from math import floor
from typing import Any

from replical.classes.base import Label, label_set
from replical.core.canonical import canonical
from replical.core.exact import fraction
from replical.errors import BadLabel, BadProtocol, BadTable

GRID = 1000  # losses are whole parts of 1/1000 where nothing coarser does
_FINEST = 10_000  # parts that a protocol may ask for: accounts have a row for each
_LONGEST = 400  # digits before or after the point of a number
_KEPT = 2**16  # outputs whose parts are remembered


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A way to compare an output with a gold answer.

    Attributes
    ----------
    normal
        The normal form of an output or an answer, a text; `ValueError` says what it is not.
    cost
        The loss, from 0 to 1, of a normal output at a normal answer, with the numbers that the protocol gives.
    words
        What it is called in a sentence.
    needs, may
        Names of those numbers, with a value if left out.
    unit
        q, where it is not a thousand.
    """

    normal: Callable[[Any], str]
    cost: Callable[[str, str, Mapping[str, Fraction]], Fraction]
    words: str
    needs: tuple[str, ...] = ()
    unit: int = GRID


@dataclass(frozen=True)
class Gold:
    """A public loss of outputs, for items with one gold answer each.

    Attributes
    ----------
    name
        Which of `KINDS` it is.
    numbers
        What a protocol says of it beside, by name.
    unit
        q: losses are whole parts of 1/q.

    Examples
    --------
    >>> loss = Gold.of("absolute", clip=10)
    >>> loss.row(loss.read("20"), [loss.normal(output) for output in ("20.0", "21", 15, "400")])
    [0, 100, 500, 1000]
    """

    name: str
    numbers: tuple[tuple[str, Fraction], ...] = ()
    unit: int = GRID

    @classmethod
    def of(cls, name: Any, *, grid: Any = None, **numbers: Any) -> Gold:
        """The loss of this `name`, with the `numbers` it needs; its parts are 1/`grid`, if that is given.

        Raises
        ------
        BadProtocol
            For a name that no loss has, and for numbers that it lacks, does not know or cannot take.
        """
        if not isinstance(name, str) or name not in KINDS:
            near = get_close_matches(str(name), KINDS, 1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise BadProtocol(f"unknown loss {name!r:.40}: {meant}the losses are {', '.join(KINDS)}")
        kind = KINDS[name]
        for key in kind.needs:
            if key not in numbers:
                raise BadProtocol(f"the loss {name!r} needs {key}, a number above 0: write {key} = 10.0, say")
        for key, value in numbers.items():
            if key not in kind.needs:
                raise BadProtocol(f"the loss {name!r} has no {key}: leave it out")
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise BadProtocol(f"{key} of the loss {name!r} must be a finite number above 0, got {value!r:.40}")
        unit = kind.unit if grid is None else grid
        if isinstance(unit, bool) or not isinstance(unit, int) or not 1 <= unit <= _FINEST:
            raise BadProtocol(f"grid must be a whole number from 1 to {_FINEST:,}, got {grid!r:.40}")
        return cls(name, tuple(sorted((key, fraction(value)) for key, value in numbers.items())), unit)

    @property
    def keys(self) -> tuple[str, ...]:
        """What a protocol may say of it."""
        return ("loss", "grid", *self._kind.needs)

    @property
    def section(self) -> dict[str, Any]:
        """What it is, for a fingerprint."""
        return {"loss": self.name, "grid": self.unit, **{key: str(value) for key, value in self.numbers}}

    @cached_property
    def differences(self) -> tuple[int, ...]:
        """By how much two outputs may differ in loss, in parts of 1/q: 0, q and -q, then others in pairs."""
        pairs = (sign * each for each in range(1, self.unit) for sign in (1, -1))
        return (0, self.unit, -self.unit, *pairs)

    @property
    def _kind(self) -> Kind:
        return KINDS[self.name]

    def normal(self, output: Any, what: str = "the output") -> str:
        """The normal form of an `output`; `BadTable` says of `what` that it is none."""
        try:
            return self._kind.normal(output)
        except ValueError as error:
            raise BadTable(f"{what} is {output!r:.80}, which is {error}, as the loss {self.name!r} needs it") from error

    def read(self, answer: Any, what: str = "the answer") -> str:
        """The gold `answer` in its normal form, as a journal keeps it; `BadLabel` says of `what` that it is none."""
        try:
            return self._kind.normal(answer)
        except ValueError as error:
            raise BadLabel(f"{what} is {answer!r:.80}, which is {error}, as the loss {self.name!r} needs it") from error

    def reads(self, text: str) -> bool:
        """Is this an answer in its normal form?"""
        try:
            return self.read(text) == text
        except BadLabel:
            return False

    def row(self, answer: str, outputs: Sequence[str]) -> list[int]:
        """What each of these normal `outputs` loses at a normal `answer`, in parts of 1/q, rounded to the nearest."""
        numbers = dict(self.numbers)
        return [floor(self._kind.cost(each, answer, numbers) * self.unit + Fraction(1, 2)) for each in outputs]

    def words(self, labels: Sequence[Any] = ()) -> str:
        """What is counted instead of errors, for people.

        Examples
        --------
        >>> print(Gold.of("absolute", clip=10).words())
        Losses from 0 to 1 instead of errors: how far a number is off, 10 or more costs 1; in steps of 1/1000.
        """
        return f"Losses from 0 to 1 instead of errors: {self._words}; in steps of 1/{self.unit}."

    @property
    def _words(self) -> str:
        return self._kind.words.format(**{key: f"{float(value):g}" for key, value in self.numbers})


Answering = tuple[Label, ...] | Gold  # what may be said of an item: one of these labels, or a gold answer
Said = int | str  # what a journal keeps of it: the code of a label, or the normal form of an answer


def answering(section: Mapping[str, Any]) -> Answering:
    """What the section [labels] of a protocol lets one say of an item."""
    if "loss" not in section:
        return label_set(section["values"])
    return Gold.of(section["loss"], **{key: value for key, value in section.items() if key != "loss"})


def word_of(said: Said, answers: Answering) -> Label:
    """What was said, in words."""
    return answers[said] if isinstance(answers, tuple) and isinstance(said, int) else said


def loss_of(C: Any) -> Gold | None:
    """The loss by which a class compares outputs; None where it says labels."""
    loss: Gold | None = getattr(C, "loss", None)
    return loss


# ---- normal forms ----


def _text(value: Any) -> str:
    """A text in Unicode's form NFC, white space reduced to single blanks."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("no text")
    return " ".join(unicodedata.normalize("NFC", str(value)).split())


def _number(value: Any) -> str:
    """A number as the shortest decimal.

    >>> _number("1.50"), _number(2.0), _number("-0"), _number("12e2")
    ('1.5', '2', '0', '1200')
    """
    return _spell(_decimal(value))


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise ValueError("no number")
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except (InvalidOperation, ValueError):
        raise ValueError("no number") from None
    if not number.is_finite():
        raise ValueError("no finite number")
    _, digits, exponent = number.as_tuple()
    if len(digits) + abs(int(exponent)) > _LONGEST:
        raise ValueError(f"no number of at most {_LONGEST} digits")
    return number


def _spell(number: Decimal) -> str:
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _json(value: Any) -> Any:
    """What a cell holds that is a list, or the JSON of one; numbers in it stay as they are written."""
    if not isinstance(value, str):
        return list(value) if isinstance(value, list | tuple) else value
    try:
        return json.loads(value, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None


def _set(value: Any) -> str:
    """A set of labels as a sorted JSON list, each once.

    >>> _set('["b", "a", "b"]'), _set([])
    ('["a","b"]', '[]')
    """
    members = _json(value)
    if not isinstance(members, list) or any(
        isinstance(each, bool) or not isinstance(each, str | int) for each in members
    ):
        raise ValueError('no JSON list of labels, e.g. ["cat", "dog"]')
    return canonical(sorted({_text(each) for each in members}))


def _box(value: Any) -> str:
    """A box as the JSON list of its corners.

    >>> _box("[0, 0, 2.50, 1]")
    '[0,0,2.5,1]'
    """
    corners = _json(value)
    if not isinstance(corners, list) or len(corners) != 4:
        raise ValueError("no box [x0, y0, x1, y1]")
    numbers = [_decimal(each) for each in corners]
    if numbers[0] > numbers[2] or numbers[1] > numbers[3]:
        raise ValueError("no box [x0, y0, x1, y1] with x0 <= x1 and y0 <= y1")
    return f"[{','.join(map(_spell, numbers))}]"


# ---- losses ----


@lru_cache(_KEPT)
def _fraction(number: str) -> Fraction:
    return Fraction(number)


def _exact(output: str, answer: str, numbers: Mapping[str, Fraction]) -> Fraction:
    return Fraction(output != answer)


def _absolute(output: str, answer: str, numbers: Mapping[str, Fraction]) -> Fraction:
    return min(abs(_fraction(output) - _fraction(answer)) / numbers["clip"], Fraction(1))


def _squared(output: str, answer: str, numbers: Mapping[str, Fraction]) -> Fraction:
    return _absolute(output, answer, numbers) ** 2


@lru_cache(_KEPT)
def _members(text: str) -> frozenset[str]:
    return frozenset(json.loads(text))


def _f1(output: str, answer: str, numbers: Mapping[str, Fraction]) -> Fraction:
    """1 less twice what is common over all that is in them; 0 for two empty sets."""
    one, two = _members(output), _members(answer)
    return 1 - Fraction(2 * len(one & two), len(one) + len(two)) if one or two else Fraction(0)


@lru_cache(_KEPT)
def _corners(text: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(each) for each in text[1:-1].split(","))


def _iou(output: str, answer: str, numbers: Mapping[str, Fraction]) -> Fraction:
    """1 less the area of the intersection over that of the union; boxes without area are right if they are the same."""
    (a, b, c, d), (e, f, g, h) = _corners(output), _corners(answer)
    common = max(min(c, g) - max(a, e), Fraction(0)) * max(min(d, h) - max(b, f), Fraction(0))
    union = (c - a) * (d - b) + (g - e) * (h - f) - common
    return 1 - common / union if union else Fraction(output != answer)


def _edit(output: str, answer: str, numbers: Mapping[str, Fraction]) -> Fraction:
    """Characters to insert, delete or replace, over the length of the longer text."""
    longest = max(len(output), len(answer))
    return Fraction(edits(output, answer), longest) if longest else Fraction(0)


def edits(one: str, two: str) -> int:
    """Characters to insert, delete or replace to make one text of another.

    By columns of bits, one for each character of the first: H. Hyyrö, "Explaining and extending the bit-parallel
    approximate string matching algorithm of Myers", Report A-2001-10, University of Tampere.

    >>> edits("kitten", "sitting"), edits("", "ab")
    (3, 2)
    """
    if not one:
        return len(two)
    where: dict[str, int] = {}
    for place, character in enumerate(one):
        where[character] = where.get(character, 0) | 1 << place
    every, last, distance = (1 << len(one)) - 1, 1 << (len(one) - 1), len(one)
    up, down = every, 0
    for character in two:
        same = where.get(character, 0)
        diagonal = (((same & up) + up) ^ up) | same | down
        more, fewer = down | ~(diagonal | up) & every, up & diagonal
        distance += bool(more & last) - bool(fewer & last)
        more, fewer = (more << 1 | 1) & every, fewer << 1 & every
        up, down = fewer | ~(diagonal | more) & every, more & diagonal
    return distance


KINDS: dict[str, Kind] = {
    "exact": Kind(normal=_text, cost=_exact, words="1 where the text is another one", unit=1),
    "absolute": Kind(
        normal=_number, cost=_absolute, needs=("clip",), words="how far a number is off, {clip} or more costs 1"
    ),
    "squared": Kind(
        normal=_number,
        cost=_squared,
        needs=("clip",),
        words="the square of how far a number is off, {clip} or more costs 1",
    ),
    "f1": Kind(normal=_set, cost=_f1, words="1 less the F1 of two sets of labels"),
    "iou": Kind(normal=_box, cost=_iou, words="1 less the overlap of two boxes over what both cover"),
    "edit": Kind(normal=_text, cost=_edit, words="edits of a text, over the length of the longer one"),
}
