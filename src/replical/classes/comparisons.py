"""Ways to compare an output with a gold answer: numbers, texts, sets of labels, boxes, each by a public name.

Everything is computed in fractions from texts, so that two machines agree. Claim: docs/claims/handicap.md.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from replical.core.canonical import canonical

GRID = 1000  # losses are whole parts of 1/1000 where nothing coarser does
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
    needs
        Names of those numbers.
    unit
        q, where it is not a thousand.
    """

    normal: Callable[[Any], str]
    cost: Callable[[str, str, Mapping[str, Fraction]], Fraction]
    words: str
    needs: tuple[str, ...] = ()
    unit: int = GRID


# ---- normal forms ----


def native(value: Any) -> Any:
    """A value of NumPy's as one of Python's, which is what the functions below read."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


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


def from_json(value: Any) -> Any:
    """What a cell holds that is a list, or JSON; numbers in it stay as they are written."""
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
    members = from_json(value)
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
    corners = from_json(value)
    if not isinstance(corners, list) or len(corners) != 4:
        raise ValueError("no box [x0, y0, x1, y1]")
    numbers = [_decimal(each) for each in corners]
    if numbers[0] > numbers[2] or numbers[1] > numbers[3]:
        raise ValueError("no box [x0, y0, x1, y1] with x0 <= x1 and y0 <= y1")
    return f"[{','.join(map(_spell, numbers))}]"


def plain(value: Any) -> str:
    r"""What a cell holds, whatever that is: a number, a text with its lines, or JSON.

    >>> plain(1.50), plain(" a:  \r\n  b "), plain([1, "a"])
    ('1.5', 'a:\n  b', '[1,"a"]')
    """
    if not isinstance(value, str | list | dict):
        return _number(value)
    text = unicodedata.normalize("NFC", value if isinstance(value, str) else canonical(value))
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


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


def _duel(output: str, answer: str, numbers: Mapping[str, Fraction]) -> Fraction:
    return Fraction(1, 2) if answer == TIE else Fraction(output != answer)


PLAIN = Kind(normal=plain, cost=_exact, words="")
TIE = "tie"
KINDS: dict[str, Kind] = {
    "duel": Kind(
        normal=plain, cost=_duel, words="0 for the output that is preferred, 1 for the other, 0.5 for ties", unit=2
    ),
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
