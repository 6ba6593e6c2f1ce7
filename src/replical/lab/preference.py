"""Who a protocol prefers: the sections [handicap], of the learner of this name, and [prior], of all others.

    [handicap]
    from = "order"              # or "exponentials", "weights", "cover", "zero", "values"
    order = ["svm", "forest"]   # every candidate, the most preferred first
    public = "sha256:.."        # of the public table that the order was made from, if there was one,
    public_items = 100          # its number of items
    public_column = "label"     # and the column of their labels

From the string, the order or the numbers that stand there every handicap is computed again by whoever checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from replical.classes.recipe import Recipe
from replical.core.canonical import is_digest
from replical.errors import BadProtocol, ValueOutOfRange
from replical.learners.handicap.handicaps import Handicaps

PUBLIC = ("public", "public_items", "public_column")
# Keys of [handicap] beside where handicaps come from.
_SOURCES: dict[str, tuple[str, ...]] = {
    "order": ("order", *PUBLIC),
    "exponentials": (),
    "weights": ("weights",),
    "cover": ("members", "radius", "public", "public_items"),
    "zero": (),
    "values": ("values",),
}
_NUMBERS = int | float


def check_preference(content: Mapping[str, Any]) -> None:
    """Refuse a section of the wrong learner, or with a source or a key that it may not have."""
    own = content["learner"].get("name") == "handicap"
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
        if key not in ("from", *_SOURCES[source]):
            raise BadProtocol(f"handicaps from {source!r} have no key {key!r:.40}")


def prior_section(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """What [prior] says or, of the learner handicap, what [handicap] says in its place."""
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
            return Handicaps.given(C, values if isinstance(values, Mapping) else np.array(listed, dtype=np.float64))
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
    """The public table an order was made from: its fingerprint, its number of items and the column of labels, or nothing."""
    if len(set(PUBLIC) & set(section)) not in (0, 3):
        raise BadProtocol(
            "an order from a public table says public, its fingerprint, public_items, its number of items, and "
            "public_column, where the labels stand: all three, or none"
        )
    if not isinstance(section.get("public_column", ""), str):
        raise BadProtocol(f"public_column must be the name of a column, got {section['public_column']!r:.40}")
    _check_table(section)


def _check_table(section: Mapping[str, Any]) -> None:
    public, items = section.get("public", f"sha256:{'0' * 64}"), section.get("public_items", 1)
    if not is_digest(public):
        raise BadProtocol(f"public must be written sha256:<64 hex digits>, got {public!r:.80}")
    if isinstance(items, bool) or not isinstance(items, int) or items < 1:
        raise BadProtocol(f"public_items must be a whole number of at least 1, got {items!r:.40}")
