"""Files that are read with one sentence about what is wrong, and written whole or not at all."""

from __future__ import annotations

import csv
import errno
import io
import os
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PART = ".part-"  # beginning of the names of files that are being written

Refuse = Callable[[str], Exception]


def write_whole(path: Path, write: Callable[[Path], object] | str, *, what: str, refuse: Refuse) -> None:
    """Write a file under another name, put it on the disk, then rename it: it is there as a whole or not at all.

    Parameters
    ----------
    path
        Where it shall be.
    write
        Its text, or a function that writes a file of the name it is given.
    what, refuse
        What it is, for the sentence of the error, and which error that is.
    """
    end = Path(os.path.realpath(path))  # a link stays a link
    part = end.with_name(f"{PART}{secrets.token_hex(8)}{end.suffix}")
    try:
        if end.exists() and not end.is_file():  # a pipe or a device is written to, not replaced
            _write(end, write)
            return
        try:
            _write(part, write)
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(end)
            _sync_folder(end.parent)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise refuse(f"cannot write {what} {path}: {error.strerror or error}") from error


def _sync_folder(folder: Path) -> None:
    """A new name outlives a power cut once its folder is on the disk; elsewhere folders cannot be opened, nor need they."""
    if os.name == "posix":
        entry = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(entry)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that syncs no folders
                raise
        finally:
            os.close(entry)


def _write(path: Path, write: Callable[[Path], object] | str) -> None:
    if isinstance(write, str):
        path.write_text(write, encoding="utf-8", newline="\n")
    else:
        write(path)


def read_bytes(path: Path, *, what: str, refuse: Refuse) -> bytes:
    """The content of a file."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # a ValueError: no file can have such a name
        reason = error.strerror if isinstance(error, OSError) else None
        raise refuse(f"cannot read {what} {path}: {reason or error}") from error


def decode(content: bytes, path: Path, *, what: str, refuse: Refuse) -> str:
    """Text in UTF-8, with or without a mark at its beginning."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refuse(f"cannot read {what} {path}: it is no text in UTF-8; is it the right file?") from error


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a CSV file.

    Attributes
    ----------
    header
        Names of the columns.
    rows
        Each as long as the header.
    lines
        The line of the file each row ends on.
    """

    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def named(self) -> list[dict[str, str]]:
        """Each row by the names of its columns."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]


def read_csv(text: str, path: Path, *, what: str, refuse: Refuse, separator: str = ",", strict: bool = True) -> Rows:
    r"""A CSV text as rows; empty lines do not count.

    Parameters
    ----------
    text, path, what
        The text, where it came from and what it is, for the sentence of an error.
    refuse
        Which error that is.
    strict
        Refuse a table without rows, names that occur twice and rows shorter than the header, which are filled up otherwise.
        Rows with more values than the header has names are always refused.

    Examples
    --------
    >>> table = read_csv("id,label\na,yes\n", Path("x.csv"), what="the table", refuse=ValueError)
    >>> table.header, table.rows, table.lines
    (['id', 'label'], [['a', 'yes']], [2])
    """
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        for row in reader:
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise refuse(f"cannot read {what} {path}: it is no CSV file ({error})") from error
    header = rows[0] if rows else []
    if strict and len(rows) < 2:
        raise refuse(f"{path} needs a header and at least one row")
    twice = Counter(header).most_common(1)
    if strict and twice[0][1] > 1:
        raise refuse(f"{path}: the column {twice[0][0]!r} is named twice")
    for row, line in zip(rows, lines, strict=True):
        if any(row[len(header) :]) or (strict and len(row) != len(header)):
            raise refuse(f"{path}, line {line}: {len(row)} values where the header names {len(header)}")
    filled = [(row + [""] * len(header))[: len(header)] for row in rows[1:]]
    return Rows(header=header, rows=filled, lines=lines[1:])
