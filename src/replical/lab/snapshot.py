"""Snapshots: what a run remembered at some event, so that it goes on without hearing every label again.

A snapshot is kept beside the events and is never part of what is known: it says for which protocol, pool, private seed
and version it was made, and at which event and hash of the chain. A damaged or foreign one is ignored. Whoever goes on from
one replays the run from its first label before it ends, so no answer and no certificate ever rests on a snapshot: the
worst that a forged one does is to have people asked about other items.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from replical.core.canonical import canonical
from replical.lab.chain import Link
from replical.learners.memory import Kept

SCHEMA = "replical.snapshot/1"
EVERY = 2000  # labels between two snapshots
_BOUND = "bound"  # the array that says what a snapshot belongs to
_MOST = 2**28  # bytes: a larger one would take longer to write than it saves


class Snapshot(NamedTuple):
    """What a run kept when the journal ended at `link`."""

    link: Link
    kept: Kept


def packed(snapshot: Snapshot, about: Mapping[str, Any]) -> bytes | None:
    """The bytes of a snapshot of the run that `about` describes, after their own digest; None if they are too many."""
    if sum(array.nbytes for array in snapshot.kept.values()) > _MOST:
        return None
    told = canonical(_bound(snapshot.link, about)).encode()
    file = io.BytesIO()
    assert all(not array.dtype.hasobject for array in snapshot.kept.values()), "numbers alone: nothing is pickled"
    arrays: dict[str, Any] = {_BOUND: np.frombuffer(told, dtype=np.uint8), **snapshot.kept}
    np.savez(file, **arrays)
    content = file.getvalue()
    return hashlib.sha256(content).digest() + content


def unpacked(content: bytes, about: Mapping[str, Any]) -> Snapshot:
    """The snapshot in these bytes, if it is one of the run that `about` describes.

    Raises
    ------
    ValueError
        If it is damaged, or belongs to something else; in words.
    """
    if hashlib.sha256(content[32:]).digest() != content[:32]:
        raise ValueError("it is damaged")
    try:
        with np.load(io.BytesIO(content[32:]), allow_pickle=False) as file:
            kept = {name: file[name] for name in file.files}
        told = json.loads(kept.pop(_BOUND).tobytes())
        link = Link(told["event"], bytes.fromhex(told["hash"]))
    except (KeyError, TypeError, ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError("it is damaged") from error
    expected = _bound(link, about)
    if told != expected:
        other = next((key for key in expected if told.get(key) != expected[key]), "schema")
        raise ValueError(f"it belongs to another {other}")
    return Snapshot(link, kept)


def _bound(link: Link, about: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema": SCHEMA, "version": version("replical"), **about, "event": link.seq, "hash": link.hash.hex()}
