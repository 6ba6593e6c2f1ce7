"""Do two labs have items in common? Their tables tell; where these stay at home, keyed hashes of the ids do.

An item is known by its id. Labs that number their rows have ids in common and no items: then models say the same of them
only as often as chance has it, and that is told apart. Whoever gives copied items new ids is not found out.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from replical.core.canonical import digest_of, fingerprint, is_digest
from replical.core.files import read_bytes
from replical.errors import BadTable
from replical.lab.certificate.file import read_as
from replical.lab.pool import LabPool

SCHEMA = "replical.items/1"
PARTS = ("schema", "pool_fingerprint", "key", "hashes", "digest")
SHORTEST = 32  # bytes of a key: fewer can be guessed, and then ids too
_SIGMAS = 5  # beyond chance, once in millions


@dataclass(frozen=True, kw_only=True)
class Shared:
    """Ids that are in two pools, of the files of these numbers, from 1 on; and of how many all models say the same."""

    files: tuple[int, int]
    ids: int
    alike: int
    items: bool  # are these the same items, and not numbers that both labs gave to their own?


def shared_by(pools: Sequence[LabPool]) -> list[Shared]:
    """What every two of these pools share; pairs that share no id are left out."""
    pairs = combinations(enumerate(pools, 1), 2)
    found = (_shared((m, n), one, other) for (m, one), (n, other) in pairs)
    return [each for each in found if each.ids]


def _shared(files: tuple[int, int], one: LabPool, other: LabPool) -> Shared:
    common = set(one.ids) & set(other.ids)
    first, second = (_rows(lab, [n for n, each in enumerate(lab.ids) if each in common]) for lab in (one, other))
    alike = sum(a == b for a, b in zip(first, second, strict=True))
    tally, with_it, ids = Counter(first), Counter(second), len(common)
    chance = sum(many * with_it[row] for row, many in tally.items()) / max(1, ids)  # if ids were given at random
    return Shared(files=files, ids=ids, alike=alike, items=alike == ids or alike > chance + _SIGMAS * sqrt(chance))


def _rows(lab: LabPool, places: list[int]) -> list[Any]:
    """What the class sees of the items at these places, which are in the order of their ids."""
    items = lab.items[np.array(places, dtype=np.int64)]
    outputs = getattr(items, "outputs", None)  # codes number these
    rows = [row if isinstance(row, list) else [row] for row in items.tolist()]
    return [(*row, *(outputs[number] if outputs else ())) for number, row in enumerate(rows)]


def read_key(path: Path) -> bytes:
    """The key that two labs agree on: a file of any content, a newline at its end aside."""
    key = read_bytes(path, what="the key", refuse=BadTable).rstrip(b"\r\n")
    if len(key) < SHORTEST:
        raise BadTable(f"the key {path} has {len(key)} bytes, and at least {SHORTEST} keep ids from being guessed")
    return key


def items_file(lab: LabPool, key: bytes) -> dict[str, Any]:
    """Keyed hashes of the ids in a pool, in order: who has the key can look for an id, nobody else learns any."""
    hashes = sorted(hmac.digest(key, each.encode(), "sha256")[:16].hex() for each in lab.ids)
    mark = digest_of(b"replical key of items\0" + key)
    content = {"schema": SCHEMA, "pool_fingerprint": lab.fingerprint, "key": mark, "hashes": hashes}
    return {**content, "digest": fingerprint(content)}


def read_items(path: Path) -> dict[str, Any]:
    """Read keyed hashes."""
    found = read_as(path, SCHEMA, PARTS, what="file of hashed items", refuse=BadTable)
    hashes = found["hashes"]
    kinds = isinstance(hashes, list) and all(isinstance(each, str) and len(each) == 32 for each in hashes)
    if not kinds or not all(is_digest(found[key]) for key in ("pool_fingerprint", "key")):
        raise BadTable(f"{path} is no file of hashed items: it does not hold what lab overlap writes")
    if fingerprint({key: found[key] for key in PARTS[:-1]}) != found["digest"]:
        raise BadTable(f"{path} was changed: its digest is another")
    return found


def overlap(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    """How many ids two files have in common."""
    if one["key"] != other["key"]:
        raise BadTable("the two files were made with different keys, so their hashes tell nothing: agree on one key")
    return len(set(one["hashes"]) & set(other["hashes"]))
