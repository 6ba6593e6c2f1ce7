"""A lab in miniature: protocols, pools and labels small enough to answer hundreds of times."""

import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from replical import KnownLabels, PrivateRandomness, Protocol, Session, learn, read_pool
from replical.lab.journal.journal import Journal
from replical.lab.pool import LabPool

# Answers one item after the other and says so once it is acknowledged.
DRIVER = """
import os, sys
from pathlib import Path
from replical import Protocol, Session, read_pool
from replical.lab.journal.journal import Journal
from replical.lab.tables import read_labels
folder, where = Path(sys.argv[1]), sys.argv[2]
protocol = Protocol.read(folder / "protocol.toml")
lab = read_pool(folder / "pool.csv", protocol.recipe)
labels = read_labels(folder / "labels.csv", "y", protocol.labels)
with Journal(where) as journal:
    session = Session(protocol, lab, journal)
    while session.open:
        item = session.open[-1]
        session.answer(item, protocol.labels[labels[item]])
        os.write(1, f"{item}\\n".encode())
    session.finish()
os.write(1, b"done\\n")
"""
COMMON = {"epsilon": 0.15, "delta": 0.1, "rho": 0.3}


@dataclass(frozen=True)
class World:
    """A protocol, one lab's items, and the label that an annotator would give each of them."""

    protocol: Protocol
    columns: dict
    truth: dict
    lab: LabPool = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "lab", read_pool(self.columns, self.protocol.recipe))

    def begin(self, path, *, private=None):
        """A journal as it is right after its creation: copies of it are runs that share one private seed."""
        seed = (
            mock.patch("replical.lab.journal.journal.secrets.token_hex", return_value=private)
            if private
            else mock.MagicMock()
        )
        with seed, Journal(path) as journal:
            Session(self.protocol, self.lab, journal)
        return path

    def copy(self, begun, path):
        """Another journal with the same private seed."""
        shutil.copy(begun, path)
        return path

    def finish(self, session, truth=None):
        """Answer whatever is asked, batch by batch."""
        while session.open:
            session.answer_all({item: (truth or self.truth)[item] for item in session.open})
        session.finish()
        return session

    def learned(self, private, truth=None, skipped=()):
        """What the learner itself returns, without journal or session."""
        pool = self.lab.pool(PrivateRandomness(private))
        if skipped:
            pool = pool.without(np.array(sorted(self.lab.ids.index(each) for each in skipped), dtype=np.int64))
        column = [(truth or self.truth)[each] for each in self.lab.ids]
        return learn(self.protocol.learner, pool, KnownLabels(self.protocol.recipe.C, column), self.protocol.shared)

    def scan_order(self, private):
        """Ids in the order in which this lab looks at its items."""
        return [self.lab.ids[place] for place in PrivateRandomness(private).permutation(len(self.lab)).tolist()]

    def write(self, folder, *, suffix=".csv"):
        """Protocol, pool and labels as files."""
        (folder / "protocol.toml").write_text(self.protocol.toml(), encoding="utf-8")
        labels = pa.table({"id": list(self.truth), "y": list(self.truth.values())})
        for name, table in (("pool", pa.table(self.columns)), ("labels", labels)):
            write = csv.write_csv if suffix == ".csv" else parquet.write_table
            write(table, folder / f"{name}{suffix}")
        return Files(self, folder, suffix)


@dataclass(frozen=True)
class Files:
    """A world on the disk, and the words that run it."""

    world: World
    folder: Path
    suffix: str

    def run(self, journal, out, *more, labels="labels"):
        """Arguments of ``replical run`` with labels from a file."""
        words = [
            "run", self.folder / "protocol.toml", "--pool", self.folder / f"pool{self.suffix}", "--journal", journal,
        ]  # fmt: skip
        source = [] if labels is None else ["--labels", f"{self.folder / labels}{self.suffix}:y"]
        return [*map(str, [*words, "--out", out, "--truths", "0", *source, *more])]


def world(learner, /, *, kind="thresholds", items=120, number=0, noise=0.0, labels=("no", "yes"), **changes):
    """Thresholds whose truth is one of them, or a table of random candidates; labels are flipped at the rate `noise`."""
    generator = np.random.default_rng(number)
    ids = [f"i{place}" for place in range(items)]
    if kind == "thresholds":
        section = {"kind": kind, "features": ["x"], "count": 40}
        x = generator.integers(41, size=items)
        columns, codes = {"id": ids, "x": x.tolist()}, (x >= 17).astype(np.int64)
    else:
        section = {"kind": "table", "candidates": [{"name": f"m{c}"} for c in range(12)]}
        said = generator.integers(len(labels), size=(12, items))
        columns = {"id": ids} | {f"m{c}": [labels[code] for code in row] for c, row in enumerate(said)}
        codes = said[5]
    codes = np.where(generator.random(items) < noise, (codes + 1) % len(labels), codes)
    content = {"schema": "replical.protocol/1", "seed": "a lab in miniature", "class": section}
    content |= {"labels": {"values": list(labels)}, "learner": COMMON | learner}
    truth = {each: labels[code] for each, code in zip(ids, codes.tolist(), strict=True)}
    return World(Protocol.of(content | changes), columns, truth)


class Processes:
    """Other processes, none of which outlives its test."""

    def __init__(self):
        self._started = []

    def start(self, *words):
        """Python with these words."""
        process = subprocess.Popen(
            [sys.executable, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self._started.append(process)
        return process

    def kill(self, process):
        """kill -9, and what was said until then; whole lines only."""
        process.kill()
        out, _ = process.communicate(timeout=60)
        self._started.remove(process)
        return out.split("\n")[:-1]

    def finish(self, process):
        """What was said to the end, once there is one."""
        out, err = process.communicate(timeout=120)
        self._started.remove(process)
        return process.returncode, out, err

    def end(self):
        """Whatever is left."""
        for process in list(self._started):
            self.kill(process)
