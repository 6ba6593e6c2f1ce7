"""A tree of hashes: its root binds whoever publishes it to all entries, and single ones can be shown to be in it.

An entry's leaf is the hash of a zero byte, a salt of its own and its canonical JSON; a node is that of a one byte and its
two children; an odd one moves up as it is. This is the tree of RFC 6962. With salts that are drawn from a key, an entry that
is shown tells nothing of the others.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256

from replical.core.canonical import Json, canonical

SALT = 32  # bytes


def salt_of(key: bytes, name: str) -> bytes:
    """What keeps the entry of this `name` from being guessed."""
    return hmac.digest(key, b"replical entry\0" + name.encode(), "sha256")


def leaf(salt: bytes, entry: Json) -> bytes:
    """The hash of an entry."""
    return sha256(b"\0" + salt + canonical(entry).encode()).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def rows_of(leaves: Sequence[bytes]) -> list[list[bytes]]:
    """The tree, row by row from its leaves to its root.

    >>> [len(row) for row in rows_of([b"a", b"b", b"c"])]
    [3, 2, 1]
    """
    rows = [list(leaves) or [sha256(b"").digest()]]
    while len(row := rows[-1]) > 1:
        pairs = [_node(*row[n : n + 2]) for n in range(0, len(row) - 1, 2)]
        rows.append(pairs + (row[-1:] if len(row) % 2 else []))
    return rows


def root_of(leaves: Sequence[bytes]) -> str:
    """The root, as published files spell it."""
    return f"sha256:{rows_of(leaves)[-1][0].hex()}"


def path_of(rows: Sequence[Sequence[bytes]], place: int) -> list[bytes]:
    """The hashes beside the way from a leaf to the root."""
    steps = ((row, place >> depth ^ 1) for depth, row in enumerate(rows))
    return [row[beside] for row, beside in steps if beside < len(row)]


def climb(leaf: bytes, place: int, leaves: int, path: Sequence[bytes]) -> str | None:
    """The root that a leaf at this place, among so many, leads to; None if the path has another length."""
    now, left = leaf, list(path)
    while leaves > 1:
        if place ^ 1 < leaves:
            if not left:
                return None
            beside = left.pop(0)
            now = _node(beside, now) if place % 2 else _node(now, beside)
        place, leaves = place // 2, (leaves + 1) // 2
    return None if left else f"sha256:{now.hex()}"
