"""The questions of ``replical init`` at a terminal: those that no flag answers, each with a proposal and what it costs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from replical.cli.inputs import file_and_column
from replical.cli.output import number, prose, whole
from replical.errors import ReplicalError
from replical.lab.columns import names_of
from replical.lab.model_columns import TRUTH, ModelColumns
from replical.learners.parameters import PARAMETERS

EPSILON = 0.05  # the usual tolerance
MANY = 20  # models from which on a shortlist is offered
# Measured: docs/how-to/choose-among-my-models.md, at 2,000 items a lab.
SHORTLIST = (
    "With a shortlist of 20 labs asked for half as many labels on five sets of 60 to 240 models, with one of 8 for a "
    "quarter; but then epsilon is about the best of the shortlist, which there erred .0004 and .0016 more than the best "
    "of all"
)
_PUBLIC = """Public data, which belong to no lab, put good models first, so that labs need fewer labels:
  1  a table with labels: on five sets of models a random hundred led to about 250 labels a lab
  2  a table without labels, best of 1,500 items: label up to 100 now, where models differ; there about 150 labels a lab
  3  a number for each model, e.g. its price: no labels; "the cheapest within epsilon of the best"
  4  none: handicaps are drawn; on one of these sets a lab needed 2.8 times as many labels as with 1"""


@dataclass
class Given:
    """What flags say of a protocol, or answers in their place."""

    pool: Path | None = None
    leave_out: list[str] = field(default_factory=list)
    abstain: str | None = None
    price: float | None = None
    public: str | None = None
    by: str | None = None
    descending: bool = False
    prefer: Path | None = None
    handicap: str | None = None
    data: str = ""  # which of the four kinds of public data there are
    labs: int | None = None
    epsilon: float | None = None
    shortlist: int | None = None

    @property
    def ordered(self) -> bool:
        """Is there a public order, or will there be one?"""
        return bool(self.public or self.by or (self.prefer and self.prefer.suffix != ".csv"))


@dataclass(frozen=True)
class Question:
    """What is asked; its answer is kept in a field of `Given`, as `take` reads it."""

    key: str
    words: str
    take: Callable[[str], Any]
    proposal: str | None = None


def may_ask(*, yes: bool, as_json: bool) -> bool:
    """Is there a person who wants to be asked?"""
    return sys.stdin.isatty() and sys.stdout.isatty() and not (yes or as_json)


def ask(questions: Iterator[Question], given: Given) -> None:
    """Ask one question after the other, each again until its answer can be taken."""
    for question in questions:

        def take(text: str, question: Question = question) -> Any:
            try:
                return question.take(text.strip())
            except (ReplicalError, ValueError) as error:
                raise typer.BadParameter(str(error)) from error

        setattr(given, question.key, typer.prompt(question.words, default=question.proposal, value_proc=take))


def about_the_table() -> Iterator[Question]:
    """The first question, without which there are no others."""
    yield Question("pool", "Your table, one row per item and one column per model", _file)


def about_the_rest(given: Given, found: ModelColumns, *, lists_labs: bool) -> Iterator[Question]:
    """All others, about a table in which these models were `found`; some follow from the answers before."""
    if not given.leave_out:
        words = "Which of these are no models? Names with commas"
        yield Question("leave_out", words, lambda text: _names(text, found), "none")
    if given.abstain is None and len(found.never) == 1:
        prose.print(f"{found.never[0]} is no right answer: do models abstain that way?", markup=False, soft_wrap=True)
        yield Question("price", "Its price, as a share of an error, e.g. 0.1; no if not", _price, "no")
        given.abstain = None if given.price is None else str(found.never[0])
    if not given.ordered and given.prefer is None and given.handicap is None:
        yield from _about_public_data(given)
    if given.labs is None and not lists_labs:
        yield Question("labs", "How many labs", lambda text: PARAMETERS["labs"].check(whole(text)), "2")
    if given.epsilon is None:
        words = "Tolerance: how much more often than the best the chosen model may err; a smaller one takes more labels"
        yield Question("epsilon", words, lambda text: PARAMETERS["epsilon"].check(number(text)), str(EPSILON))
    models = len(found.models) - len(given.leave_out)
    if given.ordered and given.shortlist is None and models > MANY:
        prose.print(f"{SHORTLIST}.", soft_wrap=True)
        words = f"How many are candidates: 20, 8, .. or all {models}"
        yield Question("shortlist", words, lambda text: _shortlist(text, models), "all")


def _about_public_data(given: Given) -> Iterator[Question]:
    prose.print(_PUBLIC, markup=False, soft_wrap=True)
    yield Question("data", "Public data: 1, 2, 3 or 4", _one_of("1", "2", "3", "4"), "4")
    if given.data == "1":
        yield Question("public", "The table and its column of labels, FILE:COLUMN", lambda text: _labelled(text, given))
    elif given.data == "2":
        yield Question("public", "The table without labels", lambda text: str(_other(_file(text), given)))
    elif given.data == "3":
        yield Question("by", "The numbers, FILE:COLUMN of a CSV with a column candidate", _column)
        words = "Which come first, the smallest or the largest"
        yield Question("descending", words, lambda text: _one_of("smallest", "largest")(text) == "largest", "smallest")


# ---- answers ----


def _file(text: str) -> Path:
    if not Path(text).is_file():
        raise ValueError(f"there is no file {text}")
    return Path(text)


def _other(file: Path, given: Given) -> Path:
    if given.pool is not None and file.samefile(given.pool):
        raise ValueError(f"public items belong to no lab, and {file} is your table: name a table of its own")
    return file


def _column(text: str) -> str:
    file, column = file_and_column("the answer", text)
    if column not in (names := names_of(_file(str(file)))):
        raise ValueError(f"{file} has no column {column!r}; the first are {', '.join(names[:8])}")
    return text


def _labelled(text: str, given: Given) -> str:
    """A table with its column, which need not be said where it has a usual name."""
    if Path(text).is_file() and (column := label_column(Path(text))):
        text = f"{text}:{column}"
    _other(Path(_column(text).rpartition(":")[0]), given)
    return text


def label_column(file: Path) -> str | None:
    """The column of a table that by its name holds labels, if there is one."""
    return next((name for name in names_of(file) if name.lower() in TRUTH), None)


def _names(text: str, found: ModelColumns) -> list[str]:
    names = [] if text == "none" else [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in found.models]:
        raise ValueError(f"{unknown[0]!r} is none of the models; none if all are models")
    if len(found.models) - len(set(names)) < 2:
        raise ValueError("that leaves fewer than two models, and nothing to choose")
    return names


def _price(text: str) -> float | None:
    if text != "no" and not 0 <= float(text) <= 1:
        raise ValueError(f"a price is a number from 0 to 1, got {text}")
    return None if text == "no" else float(text)


def _shortlist(text: str, models: int) -> int | None:
    if text == "all":
        return None
    if (size := PARAMETERS["shortlist"].check(whole(text))) > models:
        raise ValueError(f"a shortlist of {size} is longer than the list of {models} models")
    return int(size)


def _one_of(*words: str) -> Callable[[str], str]:
    def take(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is none of {', '.join(words)}")
        return text

    return take
