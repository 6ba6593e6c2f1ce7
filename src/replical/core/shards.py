"""Packed rows in files, for matrices larger than memory: each file, a *shard*, holds some rows and has a checksum.

A shard is mapped into memory when it is read, for as long as one operation takes: what is held of it belongs to the system,
which takes it back when memory is short. Before a process trusts a shard it has compared its checksum, or was told by
another process which did, and the file has not been touched since.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replical.core.bits import Packed
from replical.errors import BadTable

SIZE = 2**26  # bytes of a shard: a few hundredths of a second to look at, a small loss with a worker that had it
_LITTLE = np.dtype("<u8")

Indices = NDArray[np.int64]
Stamp = tuple[int, int, int]  # what changes when somebody writes to a file

_trusted: dict[tuple[str, str], Stamp] = {}  # files whose checksum this process has compared, as they were then


@dataclass(frozen=True)
class Shard:
    """A file of `rows` packed rows, those of a matrix from `start` on: all of the first plane, then of the next.

    Attributes
    ----------
    path
        Where it is, on every machine that reads it.
    start, rows
        The first of its rows, and how many there are.
    planes, words
        How many binary digits a code has, and how many 64-bit words a row of a plane has.
    digest
        SHA-256 of the whole file.
    """

    path: str
    start: int
    rows: int
    planes: int
    words: int
    digest: str

    @property
    def bytes(self) -> int:
        """How long the file is."""
        return 8 * self.planes * self.rows * self.words


def opened(shard: Shard, told: Stamp | None = None) -> tuple[Packed, Stamp]:
    """The bits of a shard, ``planes[digit, row, word]``, mapped as long as somebody holds them; and the file's stamp.

    Parameters
    ----------
    shard
        Which one.
    told
        The stamp of the file when another process compared its checksum: it is compared here if the stamp is another.

    Raises
    ------
    BadTable
        If the file is gone, or is not what was written.
    """
    path = Path(shard.path)
    try:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            if stat.st_size != shard.bytes:
                raise BadTable(
                    f"the shard {path} has {stat.st_size:,} bytes where {shard.bytes:,} were written: it was cut short or "
                    "changed, so make the shards again with replical shard"
                )
            held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)  # nothing is written: pages stay the file's
    except OSError as error:
        raise BadTable(f"cannot read the shard {path}: {error.strerror or error}") from error
    stamp = stat.st_size, stat.st_mtime_ns, stat.st_ino
    key = shard.path, shard.digest
    if stamp not in (told, _trusted.get(key)):
        found = f"sha256:{hashlib.sha256(held).hexdigest()}"
        if found != shard.digest:
            raise BadTable(
                f"the shard {path} is damaged or was changed: its checksum is not the one that was written, so make the "
                "shards again with replical shard"
            )
        _trusted[key] = stamp
    bits = np.frombuffer(held, dtype=_LITTLE).astype(np.uint64, copy=False)
    return bits.reshape(shard.planes, shard.rows, shard.words), stamp


class Writing:
    """Shards of a matrix while they are written, rows in any order; nothing counts before `sealed`.

    Parameters
    ----------
    folder
        Where the files go; it exists.
    rows, planes, words
        The size of the matrix.
    size
        Bytes of a shard, at most, but for one row.
    """

    def __init__(self, folder: Path, *, rows: int, planes: int, words: int, size: int = SIZE) -> None:
        self.folder, self.rows, self.planes, self.words = folder, rows, planes, words
        self._each = max(1, size // (8 * planes * words))
        self._starts = np.arange(0, rows, self._each)

    def name(self, number: int) -> str:
        """What a shard is called."""
        return f"shard-{number:06d}.bits"

    def write(self, at: Indices, first: int, planes: Packed) -> None:
        """Write the words from `first` on of rows of the matrix; row ``at[i]`` is ``planes[:, i]``, `at` ascending."""
        parts = np.searchsorted(at, [*self._starts, self.rows])
        for number, (low, high) in enumerate(pairwise(parts.tolist())):
            if low < high:
                self._into(number, at[low:high] - self._starts[number], first, planes[:, low:high])

    def _into(self, number: int, at: Indices, first: int, planes: Packed) -> None:
        rows, width = self._rows(number), planes.shape[2]
        whole = width == self.words
        ends = np.flatnonzero(np.diff(at) != 1) + 1 if whole else np.arange(1, len(at))
        with open(self.folder / self.name(number), "r+b" if self._there(number) else "w+b") as file:
            for digit, plane in enumerate(planes):
                for low, high in pairwise([0, *ends.tolist(), len(at)]):
                    file.seek(8 * ((digit * rows + int(at[low])) * self.words + first))
                    file.write(np.ascontiguousarray(plane[low:high]).astype(_LITTLE, copy=False).data)

    def _there(self, number: int) -> bool:
        return (self.folder / self.name(number)).exists()

    def _rows(self, number: int) -> int:
        return min(self._each, self.rows - number * self._each)

    def sealed(self) -> list[Shard]:
        """The shards, on the disk and with their checksums."""
        shards = []
        for number, start in enumerate(self._starts.tolist()):
            path, rows = self.folder / self.name(number), self._rows(number)
            with path.open("rb") as file:
                os.fsync(file.fileno())
            shards.append(sealed(Shard(str(path.absolute()), start, rows, self.planes, self.words, digest="")))
        return shards


def sealed(shard: Shard) -> Shard:
    """The same shard, just written, with the checksum of what is in the file."""
    with open(shard.path, "rb") as file:
        digest = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
        stat = os.fstat(file.fileno())
    if stat.st_size != shard.bytes:
        raise OSError(errno.EIO, f"{shard.path} has {stat.st_size:,} bytes in place of {shard.bytes:,}")
    done = Shard(shard.path, shard.start, shard.rows, shard.planes, shard.words, digest)
    _trusted[shard.path, digest] = stat.st_size, stat.st_mtime_ns, stat.st_ino
    return done


class Parts:
    """Which rows of which shards some rows of the matrix are.

    Examples
    --------
    >>> shards = [Shard("a", 0, 3, 1, 1, ""), Shard("b", 3, 2, 1, 1, "")]
    >>> [(part.shard.path, part.rows.tolist(), part.places.tolist()) for part in Parts(shards).of(np.array([4, 1, 3]))]
    [('a', [1], [1]), ('b', [0, 1], [2, 0])]
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards, self._starts = shards, np.array([shard.start for shard in shards])

    def of(self, rows: Indices) -> Iterator[Part]:
        """The parts that hold `rows`, in the order of the shards."""
        ascending = bool((rows[1:] >= rows[:-1]).all())
        order = None if ascending else np.argsort(rows, kind="stable")
        sorted_rows = rows if order is None else rows[order]
        cuts = [*np.searchsorted(sorted_rows, self._starts).tolist(), len(rows)]
        for shard, (low, high) in zip(self._shards, pairwise(cuts), strict=True):
            if low < high:
                places = np.arange(low, high) if order is None else order[low:high]
                yield Part(shard, sorted_rows[low:high] - shard.start, places)


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a shard, by their numbers there, and their places among the rows that were asked for."""

    shard: Shard
    rows: Indices
    places: Indices
