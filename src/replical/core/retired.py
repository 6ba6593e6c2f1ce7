"""What earlier versions had and this one has not, and what to use in its place: one table for every message."""

from __future__ import annotations

RETIRED: dict[str, str] = {}


def remedy(word: str) -> str:
    """What to say of a learner, option, key or file kind that is gone, to follow a sentence; empty for any other word.

    Examples
    --------
    >>> remedy("cal")
    ''
    """
    return f": {RETIRED[word]}" if word in RETIRED else ""
