"""Tables in shards, cut anywhere."""

import os
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from replical.classes.predictions.sharded import Shard, ShardedTable, seal
from replical.classes.table import PackedRows


def packed(codes, labels):
    """Codes, one row an item, as packed rows."""
    rows = PackedRows.blank(*codes.shape, labels=labels)
    rows.write(slice(0, len(codes)), codes)
    return rows


def in_shards(codes, labels, folder, cuts=(), **how):
    """The same codes in shards that end at `cuts`."""
    planes = packed(codes, labels).planes
    digits, rows, words = planes.shape
    shards = []
    for start, stop in pairwise([0, *sorted(set(cuts) - {0, rows}), rows]):
        path = Path(tempfile.mkstemp(dir=folder, suffix=".bits")[1])
        path.write_bytes(np.ascontiguousarray(planes[:, start:stop]).astype("<u8").tobytes())
        shards.append(seal(Shard(str(path), start, stop - start, digits, words, "")))
    return ShardedTable(shards=shards, size=codes.shape[1], labels=labels, folder=Path(folder), **how)


def slow_votes(here, rows, alive, folder):
    """What `votes` maps, told by who does it, and slowly."""
    with open(os.path.join(folder, f"{time.time_ns()}-{os.getpid()}"), "w"):
        time.sleep(0.3)
    return here.votes(alive, rows)
