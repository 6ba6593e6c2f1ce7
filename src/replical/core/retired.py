"""What earlier versions had and this one has not, and what to use in its place: one table for every message.

Learners, commands and values stand here as they were typed, options with their dashes (a protocol's key has the row of its
option), kinds of files with their dot.
"""

from __future__ import annotations

RETIRED: dict[str, str] = {
    "--shift": "leave it out: every promise is about labs that sample one population",
    "--profile": "compare takes the certificates alone",
    ".arrow": "write it as Parquet or CSV",
    ".feather": "write it as Parquet or CSV",
    "--boosting": "leave it out, a frequent winner is found as the paper does, by rHeavyHitters",
    "--stop": "leave it out, loops end by the mass of DIS(V)",
    "--stop-delta": "leave it out, loops end by the mass of DIS(V)",
    "a2-paired": "take a2",
}


def remedy(word: str) -> str:
    """What to say of a word that is gone, to end a sentence with; empty for any other word.

    >>> remedy("cal")
    ''
    """
    option = f"--{word.replace('_', '-')}"
    return next((f": {RETIRED[each]}" for each in (word, option) if each in RETIRED), "")
