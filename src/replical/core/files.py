"""Files that are written whole or not at all, and read with one sentence about what is wrong: text, CSV and TOML.

What a file asks for that somebody else may have written is compared with how large it is, before any memory is taken: a
file of a few kilobytes can say that it holds sixteen gigabytes. Whoever knows the file lifts the limits: ``--trust-size``,
or `trusting_sizes`.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import secrets
import stat
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PART = ".part-"  # beginning of the names of files that are being written

Refuse = Callable[[str], Exception]

REMEDY = "if you know where it comes from, say --trust-size"
# So much is read of any file, however small, and so much for each byte of a larger one. A distinct id takes more than an
# eighth of a byte in any format, and what models say of many items is hardly ever packed 256-fold.
ROWS, ROWS_A_BYTE = 2**20, 8
BYTES, BYTES_A_BYTE = 2**28, 256

_trusted: ContextVar[bool] = ContextVar("trusted", default=False)


# ---- whole files ----


def write_whole(path: Path, write: Callable[[Path], object] | str, *, what: str, refuse: Refuse) -> None:
    """Write a file under another name, put it on the disk, then rename it: it is there as a whole or not at all.

    `write` is its text, or a function that writes a file of the name it is given. The sentence of an error says `what` it
    is, and `refuse` which error that is.
    """
    end = Path(os.path.realpath(path))  # a link stays a link
    part = end.with_name(f"{PART}{secrets.token_hex(8)}{end.suffix}")
    try:
        if end.exists() and not end.is_file():  # a pipe or a device is written to, not replaced
            _write(end, write)
            return
        try:
            _write(part, write)
            with part.open("r+b") as file:  # Windows puts on the disk only what may be written
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


def check_regular(path: Path | str) -> int:
    """The size of a file; an OSError if it is a pipe, a device or a folder, which might never end, or never begin."""
    found = os.stat(path)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "Is a directory")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    return found.st_size


def read_whole(path: Path) -> bytes:
    """The content of a regular file of bounded size, or an OSError."""
    if check_regular(path) > BYTES and not trusts_sizes():
        raise OSError(errno.EFBIG, f"it has more than the {amount(BYTES)} that are read at once: {REMEDY}")
    return path.read_bytes()


def read_bytes(path: Path, *, what: str, refuse: Refuse) -> bytes:
    """The content of a file."""
    try:
        return read_whole(path)
    except (OSError, ValueError) as error:  # a ValueError: no file can have such a name
        reason = error.strerror if isinstance(error, OSError) else None
        raise refuse(f"cannot read {what} {path}: {reason or error}") from error


def decode(content: bytes, path: Path, *, what: str, refuse: Refuse) -> str:
    """Text in UTF-8, with or without a mark at its beginning."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refuse(f"cannot read {what} {path}: it is not UTF-8 text; if it is the right file, save it so") from error


def read_text(path: Path, *, what: str, refuse: Refuse) -> str:
    """The content of a file of text in UTF-8."""
    return decode(read_bytes(path, what=what, refuse=refuse), path, what=what, refuse=refuse)


# ---- CSV and TOML ----


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a CSV file, each as long as the header, and the line of the file each ends on."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def dicts(self) -> list[dict[str, str]]:
        """Each row by the names of its columns."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]


def read_csv(text: str, path: Path, *, what: str, refuse: Refuse, separator: str = ",", strict: bool = True) -> Rows:
    r"""A CSV text as rows; empty lines do not count, and rows with more values than the header has names are refused.

    `strict` refuses a table without rows too, names that occur twice, and rows shorter than the header, which are filled up
    otherwise.

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


# Reading a key takes time that grows with the square of its parts.
_LONG_KEY = re.compile(r"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")


def read_toml(path: Path, *, what: str, refuse: Refuse) -> dict[str, Any]:
    """The content of a TOML file; `what` it is and how it is refused if it cannot be read."""
    try:
        text = read_whole(path).decode("utf-8-sig")
        if _LONG_KEY.search(text):
            raise ValueError("a key has a hundred parts or more")
        return tomllib.loads(text)
    except OSError as error:
        raise refuse(f"cannot read {what} {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # no text, no TOML, a number of thousands of digits, or a nest
        raise refuse(f"{path} is not a TOML file: {error}") from error


def toml_value(value: Any) -> str:
    """One value; texts are written as JSON writes them, which TOML reads alike.

    >>> print(toml_value({"pairs": 9, "grid": [0.1, 0.2], "a b": True}))
    { pairs = 9, grid = [0.1, 0.2], "a b" = true }
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        if any(isinstance(each, Mapping) for each in value):
            return "[\n" + "".join(f"  {toml_value(each)},\n" for each in value) + "]"
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return repr(value)


def toml_key(key: str) -> str:
    """A key: bare where it may be."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_value(key)


def toml_lines(section: Mapping[str, Any]) -> list[str]:
    """One line for each key."""
    return [f"{toml_key(key)} = {toml_value(value)}" for key, value in section.items()]


# ---- sizes that files claim ----


@contextmanager
def trusting_sizes(trust: bool = True) -> Iterator[None]:
    """Inside this context, believe what files say about their sizes, as far as memory goes.

    Parameters
    ----------
    trust
        False ends the trust that somebody further out has begun.

    Returns
    -------
    context
        For a ``with`` statement: the limits are lifted inside of it.

    Examples
    --------
    >>> with trusting_sizes():
    ...     trusts_sizes()
    True
    >>> trusts_sizes()
    False
    """
    token = _trusted.set(trust)
    try:
        yield
    finally:
        _trusted.reset(token)


def trusts_sizes() -> bool:
    """Are sizes believed?"""
    return _trusted.get()


def most_rows(size: int) -> int:
    """Rows that a file of `size` bytes may say it has."""
    return max(ROWS, ROWS_A_BYTE * size)


def most_bytes(size: int) -> int:
    """Bytes that a file of `size` bytes may say it unpacks to."""
    return max(BYTES, BYTES_A_BYTE * size)


def check_claims(name: str, size: int, *, rows: int = 0, unpacked: int = 0, refuse: Callable[[str], Exception]) -> None:
    """Refuse a file, called `name`, of `size` bytes that says it has too many `rows`, or that it is too large `unpacked`.

    >>> check_claims("a.parquet", 114_000, rows=10**7, refuse=ValueError)
    Traceback (most recent call last):
        ...
    ValueError: a.parquet has 114.0 kB and says it holds 10,000,000 rows, ... believed: if you know where it comes from, ...
    """
    if trusts_sizes():
        return
    if rows > (most := most_rows(size)):
        raise refuse(
            f"{name} has {amount(size)} and says it holds {rows:,} rows, more than the {most:,} that are believed: {REMEDY}"
        )
    if unpacked > (most := most_bytes(size)):
        raise refuse(
            f"{name} has {amount(size)} and says it unpacks to {amount(unpacked)}, more than the {amount(most)} that are "
            f"believed: {REMEDY}"
        )


def amount(size: int) -> str:
    """Bytes in words.

    >>> amount(512), amount(5_800), amount(16 * 10**9)
    ('512 bytes', '5.8 kB', '16.0 GB')
    """
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size} bytes"
