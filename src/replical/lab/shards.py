"""A folder of shards: a lab's prediction table on the disk, ready for runs that do not fit into memory.

The folder holds shards of packed predictions, the ids, and a table of contents with the checksum of each of them. The
table of contents is written last and appears whole: without it nothing in the folder counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import lt
from pathlib import Path
from typing import Any, cast

from replical.classes.base import Items
from replical.classes.predictions.sharded import Shard, ShardedRows, ShardedTable
from replical.classes.recipe import Recipe
from replical.core import bits
from replical.core.canonical import Json, digest_of, fingerprint, is_digest
from replical.core.files import decode, read_bytes, write_whole
from replical.errors import BadTable, BadUsage

SCHEMA = "replical.shards/1"
CONTENTS, IDS = "contents.json", "ids.json"
_AGAIN = "make the shards again with replical shard"


@dataclass(frozen=True, kw_only=True, eq=False)
class Sharded:
    """What a folder of shards holds: ids in their order, items, and the fingerprint of the pool."""

    ids: tuple[str, ...]
    items: Items
    fingerprint: str


def is_sharded(source: Any) -> bool:
    """Is this a folder, which can only be one of shards?"""
    return isinstance(source, str | Path) and Path(source).is_dir()


def read_shards(folder: Path, recipe: Recipe) -> Sharded:
    """A pool in shards, of which nothing is read yet but its table of contents and its ids.

    Parameters
    ----------
    folder
        Written by ``replical shard``.
    recipe
        The class of the protocol: its candidates and labels must be those of the shards.

    Raises
    ------
    BadTable
        If the folder is unfinished, damaged or made for other candidates, or a shard is missing or of the wrong size. A
        shard's checksum is compared when the shard is first read.
    """
    body = _contents(folder)
    if body["class"] != recipe.C.fingerprint:
        raise BadTable(
            f"the shards in {folder} were made for other candidates or labels than the protocol has: make them with "
            "replical shard and this protocol"
        )
    shards = _shards(folder, body, recipe)
    for shard in shards:
        _check_there(shard)
    table = ShardedTable(shards=shards, size=len(recipe.C), labels=len(recipe.C.labels), folder=folder.absolute())
    items = cast(Items, ShardedRows(table))
    return Sharded(ids=_ids(folder, body), items=items, fingerprint=body["fingerprint"])


def write_contents(folder: Path, recipe: Recipe, ids: Sequence[str], shards: Sequence[Shard], pool: str) -> None:
    """Write the ids and then, at last, the table of contents: from now on the folder counts.

    Raises
    ------
    BadUsage
        If they cannot be written.
    """
    listed = json.dumps(list(ids), ensure_ascii=False, separators=(",", ":"))
    write_whole(folder / IDS, listed, what="the ids", refuse=BadUsage)
    body: Json = {
        "class": recipe.C.fingerprint,
        "candidates": len(recipe.C),
        "labels": len(recipe.C.labels),
        "items": len(ids),
        "ids": {"file": IDS, "digest": digest_of(listed.encode())},
        "fingerprint": pool,
        "shards": [{"file": Path(shard.path).name, "items": shard.rows, "digest": shard.digest} for shard in shards],
    }
    content = {"schema": SCHEMA, "body": body, "digest": fingerprint(body)}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    write_whole(folder / CONTENTS, text, what="the table of contents", refuse=BadUsage)


def _contents(folder: Path) -> dict[str, Any]:
    path = folder / CONTENTS
    if not path.exists():
        some = next((name for name in sorted(os.listdir(folder)) if name.endswith(".bits") or name == IDS), None)
        if some is None:
            raise BadTable(
                f"{folder} is a folder without shards: a pool is a table, or a folder made by replical shard"
            )
        raise BadTable(f"the shards in {folder} are unfinished, there is no {CONTENTS}: remove the folder and {_AGAIN}")
    text = decode(read_bytes(path, what="the table of contents", refuse=BadTable), path, what="it", refuse=BadTable)
    try:
        content = json.loads(text)
        schema, body, digest = content["schema"], content["body"], content["digest"]
        sealed = digest == fingerprint(body)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadTable(f"{path} is no table of contents of shards: {_AGAIN}") from error
    if schema != SCHEMA:
        raise BadTable(f"{path} has the schema {schema!r:.80}, this version reads {SCHEMA}: {_AGAIN}")
    if not sealed:
        raise BadTable(f"{path} is damaged or was changed: its own checksum does not fit, so {_AGAIN}")
    if not isinstance(body, dict) or not _is_body(body):
        raise BadTable(f"{path} says something else than a table of contents of shards: {_AGAIN}")
    return body


def _is_body(body: dict[str, Any]) -> bool:
    """Has it the parts that are looked at, of the right kinds?"""
    match body:
        case {"class": str(), "fingerprint": str(), "items": int(), "ids": {"digest": str()}, "shards": [*shards]}:
            return all(isinstance(each, dict) and {"file", "items", "digest"} <= set(each) for each in shards)
    return False


def _shards(folder: Path, body: Mapping[str, Any], recipe: Recipe) -> list[Shard]:
    planes, words, start = bits.planes_for(len(recipe.C.labels)), bits.words_for(len(recipe.C)), 0
    shards = []
    for entry in body["shards"]:
        name, rows, digest = entry["file"], entry["items"], entry["digest"]
        named = isinstance(name, str) and name.isprintable() and Path(name).name == name
        if not named or isinstance(rows, bool) or not isinstance(rows, int) or rows < 1 or not is_digest(digest):
            raise BadTable(f"{folder / CONTENTS} names no shard with {entry!r:.100}: {_AGAIN}")
        shards.append(Shard(str(folder.absolute() / name), start, rows, planes, words, digest))
        start += rows
    if start != body["items"] or not shards:
        raise BadTable(f"{folder / CONTENTS} has shards of {start:,} items where there are {body['items']!r}: {_AGAIN}")
    return shards


def _check_there(shard: Shard) -> None:
    try:
        size = os.stat(shard.path).st_size
    except OSError as error:
        raise BadTable(f"the shard {shard.path} cannot be read ({error.strerror}): {_AGAIN}") from error
    if size != shard.bytes:
        raise BadTable(f"the shard {shard.path} has {size:,} bytes where {shard.bytes:,} were written: {_AGAIN}")


def _ids(folder: Path, body: Mapping[str, Any]) -> tuple[str, ...]:
    path = folder / IDS
    content = read_bytes(path, what="the ids", refuse=BadTable)
    if digest_of(content) != body["ids"]["digest"]:
        raise BadTable(f"the ids {path} are damaged or were changed: {_AGAIN}")
    try:
        ids = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadTable(f"{path} is no list of ids: {_AGAIN}") from error
    if not isinstance(ids, list) or not all(type(each) is str for each in ids):
        raise BadTable(f"{path} is no list of ids: {_AGAIN}")
    if len(ids) != body["items"]:
        raise BadTable(f"{path} has {len(ids):,} ids for {body['items']:,} items: {_AGAIN}")
    if not all(map(lt, ids, islice(ids, 1, None))):
        raise BadTable(f"{path} has ids that are not in their order, each once: {_AGAIN}")
    return tuple(ids)
