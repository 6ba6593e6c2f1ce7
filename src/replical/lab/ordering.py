"""Orders from a public table that is not labelled, and the file that one is written to.

They are made from labels that are asked for where candidates in play differ (`replical.learners.handicap.order`), or from
the vote of all candidates. What was asked is published with the order, so that anyone can compute it again. Every row of
the table was looked at, whether it was asked or not, so none of them may be in a lab's pool.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from replical.classes.base import Label
from replical.classes.grading import Gold
from replical.classes.losses import Losses
from replical.classes.predictions.base import predictions_of
from replical.classes.prior import Prior
from replical.classes.recipe import Recipe
from replical.core.files import read_text
from replical.errors import BadTable, BadUsage, ReplicalError
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.lab.schema import SKIPPED, check_answers, check_transcript
from replical.learners.catalogue import Record
from replical.learners.handicap.order import ORDER, Inquiry, PublicOrder, against_the_vote, walk
from replical.learners.plan import Plan

SCHEMA = "replical.order/1"
_KEYS = ("schema", "made", "order", "asked", "answers")
_SAME = "give the table that it was made from, with the same labels and losses"


def _costs(recipe: Recipe) -> Losses | None:
    """What predictions cost."""
    if isinstance(recipe.losses, Gold):
        raise BadUsage(
            "a public order is asked for in labels, and this protocol compares outputs: take a public table of gold answers"
        )
    return recipe.losses


def asked_of(items: LabPool, known: Mapping[str, Any], name: str) -> Inquiry:
    """The inquiry in which every item that was asked has its label `known`, by id; None where nobody could say."""
    inquiry = Inquiry(C=items.recipe.C, items=items.items, walk=walk(items.ids), losses=_costs(items.recipe))
    for item in inquiry.rows():
        if (found := items.ids[item]) not in known:
            raise BadTable(f"{name} has no label for the item {found!r}, which is asked")
        inquiry.hear(item, known[found])
    return inquiry


def active_section(items: LabPool, inquiry: Inquiry) -> dict[str, Any]:
    """What a protocol says of an order from labels that were asked for."""
    answers = [SKIPPED if each.code is None else items.recipe.answers[each.code] for each in inquiry.asked]
    asked = [items.ids[each.item] for each in inquiry.asked]
    return _section("active", items, inquiry.prior) | {"asked": asked, "answers": answers}


def vote_section(items: LabPool) -> dict[str, Any]:
    """What a protocol says of an order by agreement with the vote of all candidates."""
    C = items.recipe.C
    away = against_the_vote(C, predictions_of(C, items.items), len(items))
    return _section("vote", items, Prior.by_errors(C, away))


def _section(made: str, items: LabPool, prior: Prior) -> dict[str, Any]:
    assert prior.places is not None, "an order by numbers is strict"
    about = {"public": items.fingerprint, "public_items": len(items), "made": made}
    return {"order": prior.places.argsort().tolist()} | about


def section_again(section: Mapping[str, Any], items: LabPool, name: str) -> dict[str, Any]:
    """What the protocol or file that says this `section` should say, by the public table and its own transcript."""
    if section["made"] == "vote":
        return vote_section(items)
    check_answers(section, items.recipe.answers)
    codes = {label: code for code, label in enumerate(items.recipe.answers)}
    known = {item: codes.get(answer) for item, answer in zip(section["asked"], section["answers"], strict=True)}
    return active_section(items, asked_of(items, known, "the transcript"))


# ---- asking people ----


@dataclass(frozen=True)
class Ordering(Protocol):
    """A draft of a protocol for which a session with people makes a public order.

    Parameters
    ----------
    content
        What the draft says.
    ids
        Of the public items.
    """

    ids: tuple[str, ...]

    @property
    def binding(self) -> dict[str, Any]:
        """What its journal is for."""
        return {"order": {"made": "active"}}

    @property
    def learner(self) -> PublicOrder:
        """Who asks."""
        return PublicOrder.of(len(self.recipe.C), walk(self.ids), _costs(self.recipe))

    @cached_property
    def plan(self) -> Plan:
        """How many labels, and who is in play."""
        return self.learner.plan

    @property
    def record(self) -> Record:
        """What is known of it."""
        return ORDER


# ---- files ----


@dataclass(frozen=True, kw_only=True)
class OrderFile:
    """An order by names, how it was made, and what was asked for it.

    Attributes
    ----------
    made
        ``"active"``, ``"vote"``, or which public number it is by.
    order
        The most preferred first.
    asked, answers
        Of an active order: ids, and labels or ``"?"``.
    """

    made: str
    order: tuple[str, ...]
    asked: tuple[str, ...] = ()
    answers: tuple[Label, ...] = ()

    @classmethod
    def of(cls, section: Mapping[str, Any], recipe: Recipe) -> OrderFile:
        """The file of an order from a public table."""
        names = tuple(recipe.C.describe(h) for h in section["order"])
        return cls(
            made=section["made"],
            order=names,
            asked=tuple(section.get("asked", ())),
            answers=tuple(section.get("answers", ())),
        )

    @classmethod
    def read(cls, path: Path) -> OrderFile:
        """Read one that `replical data order` wrote."""
        what = "the order"
        text = read_text(path, what=what, refuse=BadTable)
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadTable(f"{path} is no order that replical data order wrote: it is no JSON ({error})") from error
        if not isinstance(content, dict) or content.get("schema") != SCHEMA or not set(content) <= set(_KEYS):
            raise BadTable(f"{path} is no order that replical data order wrote: its schema is not {SCHEMA}")
        order, made = content.get("order"), content.get("made")
        if not isinstance(made, str) or not isinstance(order, list) or not all(isinstance(each, str) for each in order):
            raise BadTable(f"{path} needs made, how the order was made, and order, the names of candidates")
        asked, answers = content.get("asked", []), content.get("answers", [])
        try:
            check_transcript(asked, answers, BadTable)
        except BadTable as error:
            raise BadTable(f"{path}: {error}") from error
        return cls(made=made, order=tuple(order), asked=tuple(asked), answers=tuple(answers))

    @property
    def from_table(self) -> bool:
        """Was it made from a public table?"""
        return self.made in ("active", "vote")

    @property
    def json(self) -> str:
        """The file."""
        content: dict[str, Any] = {"schema": SCHEMA, "made": self.made, "order": self.order}
        if self.made == "active":
            content |= {"asked": self.asked, "answers": self.answers}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    def places(self, recipe: Recipe, name: str) -> list[int]:
        """The order by number; refused where it is of other candidates."""
        numbers = {recipe.C.describe(h): h for h in range(len(recipe.C))}
        if unknown := [each for each in self.order if each not in numbers]:
            raise BadTable(
                f"{name} orders {unknown[0]!r}, which is none of the candidates: make the order for these candidates"
            )
        if twice := [each for each, often in Counter(self.order).items() if often > 1]:
            raise BadTable(f"{name} lists {twice[0]!r} twice: every candidate has one place")
        if missing := sorted(set(numbers) - set(self.order)):
            raise BadTable(f"{name} has no place for the candidate {missing[0]!r}: make the order for these candidates")
        return [numbers[each] for each in self.order]

    def section(self, recipe: Recipe, items: LabPool | None, name: str, table: str) -> dict[str, Any]:
        """What a protocol says of it, checked on the public `items` of a `table` where it was made from one."""
        order = self.places(recipe, name)
        if items is None:
            return {"order": order}
        said = {"made": self.made, "asked": list(self.asked), "answers": list(self.answers)}
        try:
            found = section_again(said, items, table)
        except ReplicalError as error:
            raise BadTable(f"{name} is not an order of {table}: {error}; {_SAME}") from error
        if (found["order"], found.get("asked", [])) != (order, said["asked"]):
            raise BadTable(f"{name} is not the order that {table} makes: {_SAME}")
        return found


def order_by(
    recipe: Recipe, columns: Sequence[tuple[str, Mapping[str, float]]], *, descending: bool, name: str
) -> OrderFile:
    """The order by public numbers, the smallest first; the second column parts those with the same first, and so on."""
    names = [recipe.C.describe(h) for h in range(len(recipe.C))]
    for column, numbers in columns:
        if missing := next((each for each in names if each not in numbers), None):
            raise BadTable(f"{name} has no {column} for the candidate {missing!r}: add a row for it")
        if unknown := next((each for each in numbers if each not in names), None):
            raise BadTable(
                f"{name} has a {column} for {unknown!r}, which is none of the candidates: leave its row out, or write its "
                "name as the table does"
            )
        if wrong := next((each for each, number in numbers.items() if not np.isfinite(number)), None):
            raise BadTable(f"{name}: the {column} of {wrong!r} is {numbers[wrong]:g}: every candidate needs a number")
    sign = -1.0 if descending else 1.0
    keys = {each: tuple(sign * numbers[each] for _, numbers in columns) for each in names}
    order, said = sorted(keys, key=keys.__getitem__), ",".join(column for column, _ in columns)
    for one, two in pairwise(order):
        if keys[one] == keys[two]:
            raise BadTable(
                f"{name}: {one!r} and {two!r} have the same {said}, and an order is strict: name a column more that parts "
                f"them, {said},COLUMN"
            )
    made = f"{name}:{said}"
    return OrderFile(made=f"{made}, the largest first" if descending else made, order=tuple(order))
