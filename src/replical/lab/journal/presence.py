"""Are the files of an SQLite journal still those that were opened? A database writes on into a file that is gone.

Whoever removes, moves, empties or replaces the file or its log under a run would have labels acknowledged into nothing. So
both are compared with what they were, before anything is written and before it is acknowledged. The files only grow:
nothing is ever deleted from a journal, and its log is not cut off while it is open. A file that somebody else wrote to in
place, as a checkpoint does, has its chain followed once more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from replical.errors import BadJournal

_OFTEN = 1.0  # seconds between checkpoints, at least


class Mark(NamedTuple):
    """Which file it is, how large, and when it was written to."""

    device: int
    number: int
    size: int
    written: int


class Presence:
    """The `file` of a journal and its log, as they were last seen; `follow` goes along the chain, from the disk."""

    def __init__(self, file: Path, follow: Callable[[], object]) -> None:
        self.file, self._follow = file, follow
        self._log = file.with_name(f"{file.name}-wal")
        self._marks = {each: _mark(each) for each in (file, self._log) if each.exists()}
        self._settled = time.monotonic()

    def wrong(self) -> str | None:
        """What has become of a file, in words; None if all is well."""
        for path, known in self._marks.items():
            now = _mark(path)
            if now is None or known is None:
                return f"{path} is gone"
            if now[:2] != known[:2]:
                return f"{path} is another file than the one that was opened"
            if now.size < known.size:
                return f"{path} was emptied or cut off"
            self._marks[path] = now
            if path == self.file and now.written != known.written:
                try:
                    self._follow()
                except BadJournal as error:
                    return f"{path} was written over ({error})"
        return None

    @property
    def due(self) -> bool:
        """Is it time to move what the log holds into the file?"""
        return self._log in self._marks and time.monotonic() - self._settled > _OFTEN

    def settled(self) -> None:
        """That was done now."""
        self._marks[self.file], self._settled = _mark(self.file), time.monotonic()

    def rescue(self, suffix: str) -> Path:
        """A new name beside the file for what can be saved, or here if its folder is gone too."""
        folder, number = self.file.parent if self.file.parent.is_dir() else Path.cwd(), 1
        while (path := folder / f"{self.file.stem}.rescue{'' if number == 1 else f'-{number}'}{suffix}").exists():
            number += 1
        return path


def _mark(path: Path) -> Mark | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Mark(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
