"""The section [yardstick] of a protocol: which public items labs measure distances on, and what is promised then."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replical.classes.base import Items
from replical.classes.recipe import Recipe
from replical.core.randomness import SharedRandomness
from replical.errors import BadLabel, BadProtocol, BadTable
from replical.lab.tables import read_pool
from replical.pools.yardstick import Yardstick

# Keys of a yardstick beside its source.
_KEYS: dict[str, tuple[str, ...]] = {"cells": (), "string": ("items",), "file": ("file", "items", "digest")}
_TYPES = {"items": int, "file": str, "digest": str}

# Which definition of replicability is met (docs/claims/yardstick.md).
MEANING = {
    "cells": "labs share nothing but the string, as the paper's definition asks",
    "string": "labs share nothing but the string, of which the items are a part, as the paper's definition asks",
    "file": "labs share the string and these items, which is more than the paper's definition allows; the promise holds "
    "whatever they are, if they were published before the string was known",
}


def check_section(section: Mapping[str, Any]) -> None:
    """Refuse a section that says something it may not say, or lacks something.

    Raises
    ------
    BadProtocol
        In one sentence.
    """
    source = section.get("source")
    if not isinstance(source, str) or source not in _KEYS:
        raise BadProtocol(f"[yardstick] needs a source, one of {', '.join(_KEYS)}; got {source!r:.40}")
    for key, value in section.items():
        if key != "source" and key not in _KEYS[source]:
            raise BadProtocol(f"a yardstick of source {source!r} has no key {key!r:.40}")
        if isinstance(value, bool) or not isinstance(value, _TYPES.get(key, str)):
            raise BadProtocol(
                f"{key} of the yardstick must be a {'whole number' if key == 'items' else 'text'}, got {value!r}"
            )
    for key in _KEYS[source]:
        if key not in section:
            raise BadProtocol(f"a yardstick of source {source!r} needs the key {key!r}")
    if section.get("items", 1) < 1:
        raise BadProtocol(f"a yardstick has at least 1 item, got items = {section['items']}")


def yardstick_of(
    section: Mapping[str, Any], recipe: Recipe, shared: SharedRandomness, items: Items | None
) -> Yardstick:
    """The yardstick that a section names; `items` are those of its file, where that has been read."""
    if section["source"] == "cells":
        return Yardstick.cells(recipe.C)
    if section["source"] == "string":
        return Yardstick.drawn(recipe.C, section["items"], shared)
    if items is not None:
        return Yardstick.cells(recipe.C, items)

    def missing() -> Items:
        raise BadProtocol(
            f"distances are measured on {section['file']}, which was published with the protocol: give that file with "
            "--yardstick"
        )

    return Yardstick.later(recipe.C, section["items"], missing)


def file_section(file: Path, name: str, recipe: Recipe) -> dict[str, Any]:
    """What a protocol says of a `file` of public items that it calls by this `name`."""
    table = read_pool(file, recipe)
    return {"source": "file", "file": name, "items": len(table), "digest": table.fingerprint}


def read_items(file: Path, section: Mapping[str, Any], recipe: Recipe) -> Items:
    """The items of the file that a protocol was published with.

    Raises
    ------
    BadProtocol
        If it is another file, or has been changed since.
    """
    try:
        table = read_pool(file, recipe)
    except (BadTable, BadLabel) as error:
        raise BadProtocol(f"the yardstick {file} cannot be used: {error}") from error
    if table.fingerprint != section["digest"] or len(table) != section["items"]:
        raise BadProtocol(
            f"{file} is not the yardstick that was published (its fingerprint is {table.fingerprint[:23]}, the protocol "
            f"says {section['digest'][:23]}): give the file as it was, because one chosen after the string proves nothing"
        )
    return table.items
