"""One spelling for every value: canonical JSON (RFC 8785) and its SHA-256 fingerprint.

Fingerprints are published, so the bytes below are frozen. One deliberate widening of the RFC: integers beyond
2**53 are written out in full instead of being rounded to a double.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from json.encoder import encode_basestring

from replical.errors import ValueOutOfRange

# Covariant containers, so that lists of one kind of value are values too.
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def canonical(value: Json) -> str:
    """Write `value` as canonical JSON.

    >>> canonical({"b": [1.0, 1e-7, 10**20], "a": "é"})
    '{"a":"é","b":[1,1e-7,100000000000000000000]}'
    """
    if type(value) is str:  # most values by far; the same bytes as `json.dumps` writes, five times as fast
        return encode_basestring(value)
    if type(value) is int:
        return int.__repr__(value)
    if isinstance(value, CanonicalText):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list | tuple):
        if all(type(element) is str for element in value):  # a million ids, say: ten times as fast, to the same bytes
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return "[" + ",".join(canonical(element) for element in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def fingerprint(value: Json) -> str:
    """Hash the canonical form of `value`: ``sha256:`` and 64 hexadecimal digits.

    >>> fingerprint({"a": 1})[:23]
    'sha256:015abd7f5cc57a2d'
    """
    return digest_of(canonical(value).encode())


def digest_of(content: bytes) -> str:
    """The SHA-256 digest of bytes, as every published file spells it.

    >>> digest_of(b"")[:19]
    'sha256:e3b0c44298fc'
    """
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def is_digest(value: object) -> bool:
    """Is it a digest as `digest_of` spells them?

    >>> is_digest(digest_of(b"")), is_digest("sha256:0")
    (True, False)
    """
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


class CanonicalText(str):
    """A value that is canonical JSON already, e.g. a long list that occurs many times."""


def _number(value: float) -> str:
    """Shortest round-trip digits in ECMAScript's layout, as the RFC demands."""
    if not math.isfinite(value):
        raise ValueOutOfRange(f"a published number must be finite, got {value}")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent_text = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent_text or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        if len(digits) <= point:
            return sign + digits + "0" * (point - len(digits))
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    tail = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"


# ---- trees of digests ----
# A tree's root binds whoever publishes it to all entries, and single ones can be shown to be in it. An entry's leaf is the
# hash of a zero byte, a salt of its own and its canonical JSON; a node is that of a one byte and its two children; an odd
# one moves up as it is. This is the tree of RFC 6962. With salts that are drawn from a key, an entry that is shown tells
# nothing of the others.


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
