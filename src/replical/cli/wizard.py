"""Questions at a terminal: what a flag did not say is asked for, one sentence why, until the reply can be used."""

from __future__ import annotations

import csv
import re
import secrets
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import typer

from replical.classes.base import Label
from replical.cli.output import notes, number, whole
from replical.errors import BadProtocol, BadSpec, ReplicalError, remedy
from replical.learners.catalogue import LEARNERS, UNLISTED, find
from replical.learners.parameters import PARAMETERS

Value = TypeVar("Value")
# One sentence each: what the number decides, and why one takes the usual one.
WHY = {
    "--pool": "Your table: one row per item, with its id and what every model says about it.",
    "--label-values": "The labels in their public order, separated by commas; quote one that has a comma: '\"a,b\",c'.",
    "--nu": (
        "How often the best model errs, at most: 0 if one of them is never wrong, which saves labels; unknown is always "
        "safe."
    ),
    "--learner": "Who decides what is asked and when it is proven; the default is the standard here.",
    "--epsilon": (
        "How much more often than the best model the chosen one may err: .05 is five more errors in 100 items; a smaller "
        "one takes more labels."
    ),
    "--delta": "How often that may be missed: .05 is one lab in twenty.",
    "--rho": (
        "How often two labs that both prove their answer may have different models: .1 is one pair in ten; a smaller one "
        "takes a few more labels."
    ),
    "--seed": "The published random text that all labs share; best drawn in public, otherwise drawn now.",
    "--public": (
        "FILE:COLUMN of 50 to 200 labelled items that belong to no lab: they put good models first, which saves labels; "
        "none is allowed."
    ),
}
LEARNER_WORDS = {"handicap": "proves its answer whatever the models' errors are"}
DRAWN, UNKNOWN, NONE = "drawn now", "unknown", "none"  # replies that stand for no value of one's own


def ask(
    flag: str, given: Any, read: Callable[[str], Value], *, default: str | None = None, needed: bool = True
) -> Value:
    """What the flag says, or what a person at a terminal replies; what `read` refuses there is asked again.

    An empty reply means the default. Where nobody can be asked, a flag that is `needed` and was left out is an error.
    """
    if given is not None:
        return read(str(given))
    if not at_a_terminal():
        if needed or default is None:
            raise BadProtocol(f"the flag {flag} is missing")
        return read(default)
    if why := WHY.get(flag):
        notes.print(why, markup=False, style="dim")
    for name in choices() if flag == "--learner" else ():
        notes.print(f"  {name}: {LEARNER_WORDS[name]}", markup=False, style="dim")
    while True:
        reply = typer.prompt(flag.removeprefix("--").replace("-", " "), default=default, err=True)
        try:
            return read(str(reply))
        except (ReplicalError, typer.BadParameter) as error:
            notes.print(f"{error}", markup=False, style="red")


def at_a_terminal() -> bool:
    """Can somebody be asked?"""
    return sys.stdin.isatty() and sys.stderr.isatty()


def choices() -> list[str]:
    """Learners that a list of choices shows: those that promise something and are not kept for comparison."""
    return [name for name in LEARNER_WORDS if name in LEARNERS]


def learner_id(text: str) -> str:
    """The name of a learner that exists."""
    if text not in LEARNERS and text not in UNLISTED and not text.startswith("boosted-") and not remedy(text):
        raise BadSpec(
            f"unknown learner {text!r}; take handicap, or lattice for --class linear (replical paper audit --help lists "
            "those of the paper)"
        )
    return find(text).id


def share(name: str) -> Callable[[str], float]:
    """A reader of the parameter of this `name`."""
    return lambda text: float(PARAMETERS[name].check(number(text)))


def amount(name: str) -> Callable[[str], int]:
    """A reader of a parameter that is a whole number."""
    return lambda text: int(PARAMETERS[name].check(whole(text)))


def optional(word: str, read: Callable[[str], Value]) -> Callable[[str], Value | None]:
    """A reader for which one `word` means: nothing."""
    return lambda text: None if text.strip() in ("", word) else read(text)


def label_values(text: str) -> tuple[Label, ...]:
    """Labels in their public order: a line of CSV, so that a label with a comma stands in quotes.

    Examples
    --------
    >>> label_values("no,yes"), label_values('"benign, sure",malignant'), label_values("0,1")
    (('no', 'yes'), ('benign, sure', 'malignant'), (0, 1))
    """
    try:
        lines = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise BadProtocol(f"--label-values has a quote that does not end, or ends too early: {text!r}") from error
    words = [word.strip() for word in lines[0]] if lines else []
    if len(words) < 2 or not all(words):
        raise BadProtocol(f"--label-values lists the labels, separated by commas, e.g. no,yes; got {text!r}")
    whole_numbers = all(re.fullmatch("-?[0-9]{1,18}", word) for word in words)
    return tuple(int(word) for word in words) if whole_numbers else tuple(words)


def labels_with(known: str | None) -> Callable[[str], tuple[Label, ...]]:
    """A reader of labels that names all of those that are `known`, written as labels are."""

    def read(text: str) -> tuple[Label, ...]:
        values = label_values(text)
        said = set(map(str, values))
        for label in () if known is None else label_values(known):
            if str(label) not in said:
                raise BadProtocol(f"the models say {label!r}, which is none of the labels {text}: name every label")
        return values

    return read


def label_text(values: tuple[Label, ...]) -> str:
    """Labels as `label_values` reads them.

    Examples
    --------
    >>> label_text(("a,b", "c"))
    '"a,b",c'
    """
    return ",".join(
        f'"{text.replace(chr(34), chr(34) * 2)}"' if set(text) & {",", '"'} else text for text in map(str, values)
    )


def without_abstention(known: str, abstain: str | None) -> str | None:
    """Labels as they are written, without what somebody says who abstains; None where that leaves too few.

    Examples
    --------
    >>> without_abstention("0,1,unsure", "unsure")
    '0,1'
    """
    left = tuple(label for label in label_values(known) if str(label) != abstain)
    return label_text(left) if len(left) > 1 else None


def seed_text(text: str) -> str:
    """What somebody replies who is asked for a published text; drawn at random if they have none."""
    return secrets.token_hex(16) if text.strip() in ("", DRAWN) else text
