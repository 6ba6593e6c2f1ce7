"""Names of labs: one text each, as a protocol lists them and `replical run --lab` says them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replical.errors import BadUsage

LONGEST = 80  # characters; a name stands in a line of a comparison


def is_name(value: Any) -> bool:
    """Is this a lab's name: a short line of text, without blanks around it?

    Examples
    --------
    >>> is_name("St. Mary, Oslo"), is_name(" Oslo"), is_name("")
    (True, False, False)
    """
    return isinstance(value, str) and value.isprintable() and value == value.strip() and 0 < len(value) <= LONGEST


def check_name(name: str, listed: Sequence[str]) -> None:
    """Refuse a `name` that is none, or that is not among those `listed`, where any are."""
    if not is_name(name):
        raise BadUsage(
            f"a lab's name is one line of 1 to {LONGEST} characters without blanks around it, got {name!r:.90}"
        )
    if listed and name not in listed:
        raise BadUsage(
            f"the protocol lists no lab {name!r}, it lists {', '.join(listed)}: give one of these, or leave out --lab"
        )
