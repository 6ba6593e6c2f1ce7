"""The private seed of a lab: what it commits to, and how a public value that comes later takes part in it.

A lab draws a secret and commits to it. Without a beacon the secret is the seed of its private randomness. With one the
seed is the hash of the secret and of a public value that does not exist yet when the lab commits: then nobody, the lab
included, can know the seed before, and nobody but the lab can know it afterwards.
"""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Any

from replical.core.canonical import digest_of
from replical.errors import BadUsage

LONGEST = 1000  # characters of a beacon's value; those of public beacons have 64 to 128


def commitment(secret: bytes) -> str:
    """Binds a lab to its `secret` without telling it.

    Examples
    --------
    >>> commitment(bytes(32))[:23]
    'sha256:ae3192a42c1bfe8e'
    """
    return digest_of(b"replical private seed\0" + secret)


def seed_of(secret: bytes, beacon: str | None) -> bytes:
    """The seed of a lab's private randomness: its `secret`, or the hash of it and of the `beacon`'s value.

    Examples
    --------
    >>> seed_of(bytes(32), None) == bytes(32), seed_of(bytes(32), "4f1c").hex()[:16]
    (True, 'f6dc5bd68024a232')
    """
    if beacon is None:
        return secret
    inner = hashlib.sha256(secret).digest()  # of one length, so that nobody can move the border between the two
    return hashlib.sha256(b"replical private seed and beacon\0" + inner + beacon.encode()).digest()


def is_beacon(value: Any) -> bool:
    """Is this the value of a beacon as it is kept: one line of text in Unicode's normal form, without blanks around it?

    Examples
    --------
    >>> is_beacon("4f1c"), is_beacon(" 4f1c"), is_beacon("")
    (True, False, False)
    """
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST or not value.isprintable():
        return False
    return value == unicodedata.normalize("NFC", value.strip())


def beacon_value(text: str) -> str:
    """The value of a beacon that somebody typed: blanks around it do not count.

    Raises
    ------
    BadUsage
        If it is empty, longer than a line, or no text that can be printed.
    """
    value = unicodedata.normalize("NFC", text.strip())
    if not is_beacon(value):
        raise BadUsage(
            f"the value of a beacon is one line of 1 to {LONGEST} characters, as it was published, got {text!r:.60}"
        )
    return value
