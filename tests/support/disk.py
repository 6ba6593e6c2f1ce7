"""Disks that lose power, are full, read-only or broken: a layer in front of the C library, compiled when it is first used.

`Cut` rebuilds a folder as it may be after a power cut at any place of the log: what was synced is there, of everything else
any part. A name is there for certain only after its folder was synced.
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

SECTOR = 512
HEAD = struct.Struct("<cQQI")


@cache
def library():
    """The compiled layer; None with a reason where there is none."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if not sys.platform.startswith("linux") or compiler is None:
        return None, "needs Linux and a C compiler"
    source = Path(__file__).with_suffix(".c")
    made = Path(tempfile.mkdtemp(prefix="replical-disk-")) / "disk.so"
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", made, source, "-ldl", "-lpthread"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return (made, "") if done.returncode == 0 else (None, f"{compiler} cannot compile it: {done.stderr.strip()[-200:]}")


def environment(folder, **how):
    """Variables for a process whose disk below `folder` fails: `log`, `room`, `read_only`, `bad_sync`."""
    found = {"LD_PRELOAD": str(library()[0]), "REPLICAL_DISK": os.path.realpath(folder)}
    return os.environ | found | {f"REPLICAL_DISK_{key.upper()}": str(value) for key, value in how.items()}


@dataclass(frozen=True)
class Record:
    """One line of the log: what (see disk.c), of which file, where, and the bytes."""

    what: str
    number: int
    offset: int
    data: bytes


def read_log(path):
    """The log as records."""
    raw, place, records = path.read_bytes(), 0, []
    while place < len(raw):
        what, number, offset, length = HEAD.unpack_from(raw, place)
        place += HEAD.size
        records.append(Record(what.decode(), number, offset, raw[place : place + length]))
        place += length
    return records


@dataclass
class Kept:
    """A file: what is on the disk for certain, and what was written since."""

    content: bytearray
    pending: list = field(default_factory=list)

    def sync(self):
        for change in self.pending:
            _apply(self.content, *change)
        self.pending = []

    def after_a_cut(self, chance):
        """Nothing of what was not synced, all of it, the beginning of it, or any sectors of it."""
        content, how = bytearray(self.content), chance.choice(["nothing", "all", "beginning", "sectors", "sectors"])
        upto = {"nothing": 0, "beginning": chance.randint(0, len(self.pending))}.get(how, len(self.pending))
        for offset, data in self.pending[:upto]:
            for piece_at, piece in _sectors(offset, data):
                if how != "sectors" or chance.random() < 0.5:
                    _apply(content, piece_at, piece)
        return bytes(content)


def _sectors(offset, data):
    if data is None:
        yield offset, None
        return
    place = 0
    while place < len(data):
        end = place + SECTOR - (offset + place) % SECTOR
        yield offset + place, data[place:end]
        place = end


def _apply(content, offset, data):
    """Bytes at an offset; None: the file ends, or is filled up with zeros to, there."""
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    if data is None:
        del content[offset:]
    else:
        content[offset : offset + len(data)] = data


class Cut:
    """A folder whose power fails.

    Parameters
    ----------
    folder
        As it was called in the log.
    before
        Its files when the log began, by path: all of that is on the disk.
    """

    def __init__(self, folder, before):
        self._folder = Path(folder)
        self._files = {str(path): Kept(bytearray(content)) for path, content in before.items()}
        self._names, self._pending = dict(self._files), []  # on the disk for certain; link or unlink since
        self._by_number = {}
        self.said = b""

    def hear(self, record):
        """The next line of the log."""
        path = record.data.decode() if record.what in "OCUR" else ""
        if record.what == "A":
            self.said += record.data
        elif record.what == "O":
            self._by_number[record.number] = self._files[path]
        elif record.what == "C":
            made = self._files[path] = self._by_number[record.number] = Kept(bytearray())
            self._pending.append((path, made))
        elif record.what == "W":
            self._by_number[record.number].pending.append((record.offset, record.data))
        elif record.what == "T":
            self._by_number[record.number].pending.append((record.offset, None))
        elif record.what == "S":
            self._by_number[record.number].sync()
        elif record.what == "D":
            self._names = self._linked(len(self._pending))
            self._pending = []
        elif record.what == "U":
            self._files.pop(path, None)
            self._pending.append((path, None))
        elif record.what == "R":
            old, new = path.split("\0")
            moved = self._files[new] = self._files.pop(old)
            self._pending.append(((old, new), moved))

    def _linked(self, upto):
        names = dict(self._names)
        for path, file in self._pending[:upto]:
            if isinstance(path, tuple):
                names.pop(path[0], None)
                names[path[1]] = file
            elif file is None:
                names.pop(path, None)
            else:
                names[path] = file
        return names

    def rebuild(self, folder, chance):
        """What is found below `folder` when the power is back. Memory that processes shared through a file is noise, or gone."""
        shutil.rmtree(folder, ignore_errors=True)
        for path, file in self._linked(chance.randint(0, len(self._pending))).items():
            there = Path(folder) / Path(path).relative_to(self._folder)
            there.parent.mkdir(parents=True, exist_ok=True)
            if not path.endswith("-shm"):
                there.write_bytes(file.after_a_cut(chance))
            elif chance.random() < 0.5:
                there.write_bytes(chance.randbytes(32768))
