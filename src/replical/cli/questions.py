"""The questions of ``replical init`` at a terminal: those that no flag answers, each with a proposal and what it costs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import typer

from replical.cli.inputs import number, whole
from replical.cli.output import prose
from replical.errors import ReplicalError
from replical.lab.columns import names_of
from replical.lab.model_columns import TRUTH, ModelColumns
from replical.learners.parameters import PARAMETERS

EPSILON = 0.05  # the usual tolerance
MANY = 20  # models from which on a shortlist is offered
# Measured: docs/how-to/choose-among-my-models.md, at 2,000 items a lab.
SHORTLIST = (
    "With a shortlist of 20 labs asked for .6 as many labels on twelve sets of 10 to 240 models, with one of 8 for a "
    "third; but then epsilon is about the best of the shortlist, which there erred .0005 and .0007 more than the best "
    "of all"
)
_PUBLIC = """Public data, which belong to no lab, put good models first, so that labs need fewer labels:
  1  a table with labels: on twelve sets of models a random hundred led to about 100 labels a lab
  2  a table without labels, best of 1,500 items: label up to 100 now, where models differ; there about 70 labels a lab
  3  a number for each model, e.g. its price: no labels; "the cheapest within epsilon of the best"
  4  none: handicaps are drawn; on one of these sets a lab needed 2.8 times as many labels as with 1"""


@dataclass(kw_only=True)
class Choices:
    """What flags say of a protocol, or answers in their place."""

    pool: Path | None
    leave_out: list[str]
    abstain: str | None
    price: float | None
    public: str | None
    prefer: Path | None
    handicap: str | None
    labs: int | None
    epsilon: float | None
    shortlist: int | None
    data: str = field(default="4", init=False)  # which of the four kinds of public data there are
    by: str | None = field(default=None, init=False)  # where public numbers stand
    descending: bool = field(default=False, init=False)
    group: str | None = field(default=None, init=False)  # the column that says which items belong together
    group_size: int | None = field(default=None, init=False)


class Question(NamedTuple):
    """What is asked; the answer is kept in a field of `Choices`, as `take` reads it. The proposal leaves that as it is."""

    key: str
    words: str
    take: Callable[[str], Any]
    proposal: str | None = None


def may_ask(*, yes: bool, as_json: bool) -> bool:
    """Is there a person who wants to be asked?"""
    watched = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    return watched and not (yes or as_json)


def ask(questions: Iterator[Question], given: Choices) -> None:
    """Ask one question after the other, each again until its answer can be taken."""
    for question in questions:

        def take(text: str, question: Question = question) -> Any:
            try:
                return getattr(given, question.key) if text == question.proposal else question.take(text.strip())
            except (ReplicalError, ValueError) as error:
                raise typer.BadParameter(str(error)) from error

        setattr(given, question.key, typer.prompt(question.words, default=question.proposal, value_proc=take))


def about_the_table() -> Iterator[Question]:
    """The first question, without which there are no others."""
    yield Question("pool", "Your table, one row per item and one column per model", _file)


def about_the_rest(
    given: Choices, found: ModelColumns, grouped: Sequence[str], *, labs: bool, shortlist: bool
) -> Iterator[Question]:
    """All others, about a table in which these models were `found`; some follow from the answers before.

    Columns that are `grouped` look as if they said which items belong together. Whether `labs` and a `shortlist` may be
    asked about depends on the learner, and on labs that are named.
    """
    if not given.leave_out:
        words = "Which of these are no models? Names with commas"
        yield Question("leave_out", words, lambda text: _names(text, found), "none")
    for column in grouped:
        if given.group is None:
            words = f"Do items with one {column} belong together? If so, the most that any lab has of one"
            yield Question("group_size", words, _group_size, "no")
            given.group = None if given.group_size is None else column
    if given.abstain is None and len(found.never) == 1:
        prose.say(f"No right answer is {found.never[0]!r}.")
        yield Question("price", "If models abstain that way, what that costs, as a share of an error", _price, "no")
        given.abstain = None if given.price is None else str(found.never[0])
    if (given.public, given.prefer, given.handicap) == (None, None, None):
        prose.say(_PUBLIC)
        yield Question("data", "Public data: 1, 2, 3 or 4", lambda text: _one_of(text, "1", "2", "3"), "4")
        words = "The table" if given.data == "2" else "The file and its column, FILE:COLUMN"
        if given.data != "4":
            yield Question("by" if given.data == "3" else "public", words, lambda text: _source(text, given))
        if given.data == "3":
            words = "Which come first, the smallest or the largest"
            yield Question("descending", words, lambda text: bool(_one_of(text, "largest")), "smallest")
    if given.labs is None and labs:
        yield Question("labs", "How many labs", lambda text: PARAMETERS["labs"].check(whole(text)), "2")
    if given.epsilon is None:
        words = "Tolerance: how much more often than the best the chosen model may err; a smaller one takes more labels"
        yield Question("epsilon", words, lambda text: PARAMETERS["epsilon"].check(number(text)), str(EPSILON))
    models = len(found.models) - len(given.leave_out)
    ordered = given.public or given.by or (given.prefer and given.prefer.suffix != ".csv")
    if ordered and shortlist and given.shortlist is None and models > MANY:
        prose.say(f"{SHORTLIST}.")
        words = f"How many of {models} are candidates: 20, 8, .. or all"
        yield Question("shortlist", words, lambda text: _shortlist(text, models), "all")


def usual_column(file: Path) -> str | None:
    """The column of a table that by its name holds labels, if there is one."""
    return next((name for name in names_of(file) if name.lower() in TRUTH), None)


# ---- answers ----


def _file(text: str) -> Path:
    if not Path(text).is_file():
        raise ValueError(f"there is no file {text}")
    return Path(text)


def _source(text: str, given: Choices) -> str:
    """A public table, with its column where one is wanted; that need not be said where it has a usual name."""
    name, _, column = (text, "", "") if Path(text).is_file() or ":" not in text else text.rpartition(":")
    file = _file(name)
    if given.pool is not None and file.samefile(given.pool):
        raise ValueError(f"public data belong to no lab, and {file} is your table: name a file of its own")
    if given.data == "2":
        return name
    column = column or usual_column(file) or ""
    if column not in (names := names_of(file)):
        raise ValueError(f"{file} has no column {column!r}, it has {', '.join(names[:8])}: write FILE:COLUMN")
    return f"{name}:{column}"


def _names(text: str, found: ModelColumns) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    if unknown := [name for name in names if name not in found.models]:
        raise ValueError(f"{unknown[0]!r} is none of the models")
    if len(found.models) - len(names) < 2:
        raise ValueError("that leaves fewer than two models, and nothing to choose")
    return names


def _price(text: str) -> float:
    if not 0 <= (price := number(text)) <= 1:
        raise ValueError(f"a price is a number from 0 to 1, got {price:g}")
    return price


def _group_size(text: str) -> int:
    if (size := whole(text)) < 2:
        raise ValueError(f"a group has at least 2 items, got {size}")
    return size


def _shortlist(text: str, models: int) -> int:
    if (size := PARAMETERS["shortlist"].check(whole(text))) > models:
        raise ValueError(f"a shortlist of {size} is longer than the list of {models} models")
    return int(size)


def _one_of(text: str, *words: str) -> str:
    if text not in words:
        raise ValueError(f"{text!r} is none of these")
    return text
