"""Who a protocol prefers: the sections [handicap], of a learner that takes handicaps, and [prior], of all others.

    [handicap]
    from = "order"              # or "exponentials", "weights", "cover", "zero", "values"
    order = ["svm", "forest"]   # every candidate, the most preferred first
    shortlist = 20              # only the first so many may be the answer; left out: all of them
    public = "sha256:.."        # of the public table that the order was made from, if there was one,
    public_items = 100          # its number of items
    public_column = "label"     # and the column of their labels; or, where the table had none,
    made = "active"             # how the order was made: by labels that were asked for ("active") or by the "vote",
    asked = ["p17", "p3"]       # which items were asked, in this order,
    answers = ["no", "?"]       # and what was answered, "?" by who could not say

From the string, the order or the numbers that stand there every handicap is computed again by whoever checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from replical.classes.base import Label
from replical.classes.recipe import Recipe
from replical.core.canonical import is_digest
from replical.errors import BadProtocol, ReplicalError, ValueOutOfRange
from replical.learners.catalogue import takes_handicaps
from replical.learners.handicap.handicaps import Handicaps

PUBLIC = ("public", "public_items", "public_column")
TRANSCRIPT = ("made", "asked", "answers")  # of an order that was made without a column of labels
SKIPPED = "?"  # no label is called so
# Keys of [handicap] beside where handicaps come from.
_SOURCES: dict[str, tuple[str, ...]] = {
    "order": ("order", *PUBLIC, *TRANSCRIPT),
    "exponentials": (),
    "weights": ("weights",),
    "cover": ("members", "radius", "public", "public_items"),
    "zero": (),
    "values": ("values",),
}
_NUMBERS = int | float


def check_preference(content: Mapping[str, Any]) -> None:
    """Refuse a section of the wrong learner, or with a source or a key that it may not have."""
    own = takes_handicaps(content["learner"])
    if own and "prior" in content:
        raise BadProtocol(
            "[prior] is not for the learner handicap: say who is preferred in [handicap], e.g. from = 'order'"
        )
    if "handicap" not in content:
        return
    if not own:
        raise BadProtocol(f"[handicap] is for the learner of this name, not for {content['learner'].get('name')!r:.40}")
    section = content["handicap"]
    source = section.get("from")
    if not isinstance(source, str) or source not in _SOURCES:
        raise BadProtocol(
            f"[handicap] says where handicaps come from, one of {', '.join(_SOURCES)}; got {source!r:.40}"
        )
    for key in section:
        if key not in ("from", "shortlist", *_SOURCES[source]):  # the plan refuses a shortlist of no order
            raise BadProtocol(f"handicaps from {source!r} have no key {key!r:.40}")


def prior_section(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """What [prior] says or, of a learner that takes handicaps, what [handicap] says in its place."""
    section: Mapping[str, Any] = content.get("handicap", {})
    if section.get("from") in ("order", "weights"):
        return {"kind": section["from"]} | {key: value for key, value in section.items() if key != "from"}
    found: Mapping[str, Any] = content.get("prior", {"kind": "uniform"})
    return found


def handicaps_of(section: Mapping[str, Any], recipe: Recipe) -> Handicaps | None:
    """The cover, the zeros or the numbers that [handicap] names; None where they come from elsewhere."""
    source, C = section.get("from"), recipe.C
    if source not in ("cover", "zero", "values"):
        return None
    if source == "zero":
        return Handicaps.zero()
    try:
        if source == "values":
            values = section.get("values")
            listed = list(values.values()) if isinstance(values, Mapping) else values
            if not isinstance(listed, list) or any(isinstance(c, bool) or not isinstance(c, _NUMBERS) for c in listed):
                raise BadProtocol(f"handicaps are numbers, one a hypothesis: values = [..], got {values!r:.60}")
            return Handicaps.of(C, values if isinstance(values, Mapping) else np.array(listed, dtype=np.float64))
        return Handicaps.cover_of(C, _members(section))
    except ValueOutOfRange as error:
        raise BadProtocol(str(error)) from error


def _members(section: Mapping[str, Any]) -> list[int]:
    """Those of a cover, with how it was found where that is said."""
    members, radius = section.get("members"), section.get("radius", 0.5)
    if not isinstance(members, list) or any(isinstance(h, bool) or not isinstance(h, int) for h in members):
        raise BadProtocol(f"a cover lists the numbers of its members: members = [..], got {members!r:.60}")
    if isinstance(radius, bool) or not isinstance(radius, _NUMBERS) or not 0 < radius < 1:
        raise BadProtocol(f"the radius of a cover is a number between 0 and 1, got {radius!r:.40}")
    if len({"radius", "public", "public_items"} & set(section)) not in (0, 3):
        raise BadProtocol(
            "a cover of public items says radius, public, their fingerprint, and public_items, how many: all three, or none"
        )
    _check_table(section)
    return members


def check_public(section: Mapping[str, Any]) -> None:
    """The public table an order was made from, and how: from a column of labels, or from what was asked; or nothing."""
    if "made" in section or "asked" in section or "answers" in section:
        _check_made(section)
    elif len(set(PUBLIC) & set(section)) not in (0, 3):
        raise BadProtocol(
            "an order from a public table says public, its fingerprint, public_items, its number of items, and "
            "public_column, where the labels stand: all three, or none"
        )
    if not isinstance(section.get("public_column", ""), str):
        raise BadProtocol(f"public_column must be the name of a column, got {section['public_column']!r:.40}")
    _check_table(section)


# What an order says that was made in one of these ways.
_MADE = {"active": {"public", "public_items", "made", "asked", "answers"}, "vote": {"public", "public_items", "made"}}


def _check_made(section: Mapping[str, Any]) -> None:
    made = section.get("made")
    if not isinstance(made, str) or made not in _MADE:
        raise BadProtocol(f"made says how an order was made, {' or '.join(_MADE)}; got {made!r:.40}")
    if (said := {*PUBLIC, *TRANSCRIPT} & set(section)) != _MADE[made]:
        raise BadProtocol(
            f"an order that is made = {made!r} says {', '.join(sorted(_MADE[made]))}, and this one "
            f"{', '.join(sorted(said))}"
        )
    asked, answers = section.get("asked", []), section.get("answers", [])
    check_transcript(asked, answers, BadProtocol)


def check_transcript(asked: Any, answers: Any, refuse: type[ReplicalError]) -> None:
    """Items, each once, and as many answers."""
    if not isinstance(asked, list) or not all(isinstance(each, str) for each in asked):
        raise refuse(f"asked lists the ids of items, as texts, got {asked!r:.60}")
    if len(set(asked)) < len(asked):
        raise refuse("asked lists an item twice: each is asked once")
    plain = isinstance(answers, list) and all(type(each) in (str, int) for each in answers)
    if not plain or len(answers) != len(asked):
        raise refuse(f"answers gives each of the {len(asked)} items asked its label, or '?', got {answers!r:.60}")


def check_answers(section: Mapping[str, Any], labels: Sequence[Label]) -> None:
    """Refuse an answer in the transcript of an order that is no label, nor '?', from who could not say."""
    for item, answer in zip(section.get("asked", ()), section.get("answers", ()), strict=True):
        if answer != SKIPPED and answer not in labels:
            raise BadProtocol(f"the answer for the item {item!r:.60} is {answer!r:.40}, none of {list(labels)!r:.90}")


def _check_table(section: Mapping[str, Any]) -> None:
    public, items = section.get("public", f"sha256:{'0' * 64}"), section.get("public_items", 1)
    if not is_digest(public):
        raise BadProtocol(f"public must be written sha256:<64 hex digits>, got {public!r:.80}")
    if isinstance(items, bool) or not isinstance(items, int) or items < 1:
        raise BadProtocol(f"public_items must be a whole number of at least 1, got {items!r:.40}")
