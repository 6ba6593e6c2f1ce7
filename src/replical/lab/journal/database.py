"""Databases that keep journals: what their settings promise, and one runner at a time.

An acknowledged label must be on the disk. That is so only with certain settings, and a server's, database's or role's
own settings may be others. So a transaction that writes sets what it can, looks whether that took, and is refused
otherwise:

======================  ==============================================  ==============================================
database                set and checked                                 what it promises
======================  ==============================================  ==============================================
SQLite                  ``journal_mode=WAL``, ``synchronous=FULL``      an acknowledged commit survives the loss of
                                                                        power, as far as the disk itself tells the truth
SQLite where there      whatever rollback journal on the disk the file  the same
can be no such log      has, ``synchronous=EXTRA``
PostgreSQL              ``synchronous_commit=on`` (``remote_apply`` is  the same, on the server's disk; and on those of
                        more, and stays), ``fsync`` must be on          its synchronous standbys, if it has any
the same, for           SQLite ``synchronous=NORMAL``, PostgreSQL       whole at any time, but the last commits may be
reservations            ``synchronous_commit=off``                      gone after a crash: no label is among them
======================  ==============================================  ==============================================

Not checked, because nobody can from here: a disk that says "written" too early, ``full_page_writes=off`` on a file
system that tears pages, a network file system that lies about locks.

No runner that was taken for dead writes behind its successor's back. A runner holds a lock for as long as it lives: a
locked file beside an SQLite journal, an advisory lock on a server. Locks can be lost without their holder's noticing:
a network cut, a terminated connection, a removed file, a pooler between. So the database counts runners
(`replical_runner.epoch`), and every transaction of a runner looks at this number first, with its row locked: who
finds that another runner came later writes nothing, for ever. On a server the runner writes through the very
connection that holds its lock. When that dies nothing more can be written, whoever came or did not.
"""

from __future__ import annotations

import contextlib
import copy
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from replical.core.files import trusts_sizes
from replical.errors import BadJournal

_ON_DISK = {"wal": 2, "delete": 3, "truncate": 3, "persist": 3}  # SQLite's journal modes, and FULL or EXTRA for each
_LASTING = (
    "SELECT pg_catalog.set_config('synchronous_commit', CASE pg_catalog.current_setting('synchronous_commit') "
    "WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true), pg_catalog.current_setting('fsync')"
)
_LONGEST = 2**26  # bytes of a value in a file: the first event holds a protocol
_STEPS, _STEPS_A_BYTE = 100_000, 1_000
# A connection that is cut is noticed within two minutes, not after hours; seconds, the last in milliseconds.
_WATCHFUL = {
    "connect_timeout": 30,
    "keepalives_idle": 60,
    "keepalives_interval": 10,
    "keepalives_count": 6,
    "tcp_user_timeout": 120_000,
}


class Database:
    """A database that is there, or an SQLite file that will be; where it is `lasting`, a commit waits for the disk."""

    def __init__(self, where: str | Path, *, write: bool = True, lasting: bool = True) -> None:
        import sqlalchemy

        self.sql: Any = sqlalchemy
        self.where = _without_password(str(where))  # what may be shown of it
        self._url, self._write, self._lasting = _url(self.sql, str(where), self.where), write, lasting
        on_server = self._url.get_backend_name() != "sqlite"
        # The SQLite file; None for a server.
        self.file = None if on_server else Path(self._url.database if "://" in str(where) else where)
        self.engine = self._engine()

    def without_waiting(self) -> Database:
        """The same database for what need not last: commits do not wait for the disk."""
        other = copy.copy(self)
        other._lasting = False
        other.engine = other._engine()
        return other

    def close(self) -> None:
        """Close every connection that nobody uses."""
        self.engine.dispose()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Any]:
        """A connection to look with."""
        with self.plain_errors(), self.engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self, connection: Any = None) -> Iterator[Any]:
        """A transaction, on this `connection` or any; when it has ended, what was written in it lasts as promised.

        On SQLite nobody else writes from its beginning on; on PostgreSQL it sees what others have committed, statement
        by statement, whatever the server's usual isolation is.
        """
        with self.plain_errors(), contextlib.ExitStack() as own:
            used = own.enter_context(self.engine.connect()) if connection is None else connection
            own.enter_context(used.begin())
            if self.file is not None:
                used.exec_driver_sql("BEGIN IMMEDIATE")
            elif self._lasting:
                waits, flushes = used.exec_driver_sql(_LASTING).one()
                self._refuse_unless(waits in ("on", "remote_apply"), f"synchronous_commit={waits}")
                self._refuse_unless(flushes == "on", f"fsync={flushes}")
            else:
                used.exec_driver_sql("SET LOCAL synchronous_commit = off")
            yield used

    @contextlib.contextmanager
    def plain_errors(self) -> Iterator[None]:
        """What goes wrong in the database, in one sentence."""
        try:
            yield
        except (self.sql.exc.SQLAlchemyError, sqlite3.Error, UnicodeError, OverflowError) as error:
            reason = str(getattr(error, "orig", None) or error).splitlines()[0]
            lost = "nothing that was acknowledged is lost" if self._write else "it was not changed"
            raise BadJournal(f"the journal {self.where} cannot be used ({reason}); {lost}") from error

    def _engine(self) -> Any:
        if self.file is not None and not self.file.parent.is_dir():
            raise BadJournal(f"there is no folder {self.file.parent} for the journal {self.file.name}")
        options: dict[str, Any] = {}
        if self.file is None:
            options |= {"isolation_level": "READ COMMITTED", "pool_pre_ping": True}  # servers are started again
            if self._url.get_driver_name() in ("psycopg", "psycopg2"):
                options["connect_args"] = {k: v for k, v in _WATCHFUL.items() if k not in self._url.query}
        else:
            options |= {"creator": self._connect} | ({} if self._write else {"poolclass": self.sql.NullPool})
        try:
            engine = self.sql.create_engine(self._url, **options)
        except ImportError as error:
            raise BadJournal(
                f"cannot open the journal {self.where} ({error}): PostgreSQL needs a driver, install it with "
                "pip install 'replical[postgres]'"
            ) from error
        except (self.sql.exc.ArgumentError, self.sql.exc.NoSuchModuleError) as error:
            raise BadJournal(f"cannot open the journal {self.where}: {error}") from error
        if self.file is not None:
            self.sql.event.listen(engine, "connect", self._harden)
        if self.file is not None and self._write:
            self.sql.event.listen(engine, "connect", self._settle)
        return engine

    def _connect(self) -> sqlite3.Connection:
        """To write where a file is, and make none; to read without any way to write, or to make a log."""
        assert self.file is not None, "asked of files only"
        file, how = self.file, "mode=rw" if self._write else "immutable=1"
        log = file.with_name(f"{file.name}-wal")
        if not self._write and log.exists() and log.stat().st_size:
            how = "mode=ro"
        if how == "mode=ro" and not os.access(file.parent, os.W_OK):
            raise BadJournal(
                f"the journal {self.where} lies on a disk that cannot be written, and its last labels are still in "
                f"{log.name} beside it: copy both to a disk that can be written, and look at them there"
            )
        return sqlite3.connect(f"{file.absolute().as_uri()}?{how}", uri=True, check_same_thread=False)

    def _harden(self, connection: Any, _: object) -> None:
        """What a file of somebody else may ask for: no functions from its schema, no huge values, no long loops."""
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        if not self._write:
            steps = count(1)
            connection.set_progress_handler(lambda: next(steps) * _STEPS > self._most_steps(), _STEPS)

    def _most_steps(self) -> float:
        """Steps of SQLite's machine for a reader, by the size of file and log: each event takes some dozens."""
        files = (self.file, self.file.with_name(f"{self.file.name}-wal")) if self.file is not None else ()
        size = sum(each.stat().st_size for each in files if each.exists())
        return float("inf") if trusts_sizes() else 100 * _STEPS + _STEPS_A_BYTE * size

    def tables(self, triggers: Collection[str] = ()) -> list[str]:
        """Names of the tables in a file; one where reading or writing means computing is refused, but for our `triggers`."""
        assert self.file is not None, "asked of files only"
        with contextlib.closing(self._connect()) as plain:  # makes no log
            self._harden(plain, None)
            for kind, name, written in plain.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
                hidden = "SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden"
                if kind == "table":
                    plain_table = str(written)[:14].upper() != "CREATE VIRTUAL"
                    kept = plain_table and not plain.execute(hidden, (name,)).fetchone()
                else:  # an index that a table makes for itself has no text
                    kept = written in triggers if kind == "trigger" else kind == "index" and written is None
                if not kept:
                    raise BadJournal(
                        f"{self.where} is no journal of replical: the {kind} {name!r:.80} computes, and a journal only keeps"
                    )
            return [name for (name,) in plain.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]

    def _settle(self, connection: Any, _: object) -> None:
        """SQLite's settings belong to a connection, and are given before its first transaction."""
        (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        self._refuse_unless(mode in _ON_DISK, f"journal_mode={mode}")
        wanted = _ON_DISK[mode] if self._lasting else 1
        connection.execute(f"PRAGMA synchronous={wanted}")
        connection.execute("PRAGMA fullfsync=ON")  # where a plain fsync does not reach the disk: macOS
        (found,) = connection.execute("PRAGMA synchronous").fetchone()
        self._refuse_unless(found == wanted, f"synchronous={found}")

    def _refuse_unless(self, so: bool, setting: str) -> None:
        if not so:
            raise BadJournal(
                f"the database of the journal {self.where} has {setting}, and it stays so: labels could be lost after they "
                "were acknowledged, so none is written; change its settings, or use another database"
            )


def _without_password(where: str) -> str:
    """What may be shown of a URL, also of one that nobody can read."""
    if "://" not in where:
        return where
    return re.sub(r"(?i)(password=)[^&]*", r"\1***", re.sub(r"(://[^:/@]*):.*@", r"\1:***@", where))


def _url(sql: Any, where: str, display: str) -> Any:
    if "://" not in where:
        # Not as a text: there "?" and "%" would mean something.
        return sql.URL.create("sqlite", database=str(Path(where).absolute()))
    try:
        url = sql.make_url(where)
    except (sql.exc.ArgumentError, ValueError) as error:
        raise BadJournal(f"a journal is a file or the URL of a database, got {display}") from error
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise BadJournal(f"a journal is a SQLite file or a PostgreSQL database, got {display}")
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")  # the one that is installed with us
    if "@" in (url.host or ""):  # the rest of a password, which the driver would show
        raise BadJournal(f"write '@' as %40 in the password of {display}")
    if url.get_backend_name() == "sqlite" and (not url.database or ":" in url.database):
        raise BadJournal(f"a journal has to be a file that outlives its run, got {display}")
    return url


_LOCK = 0x7265706C  # PostgreSQL's advisory lock takes a number; this one spells "repl"
_MAKE = "CREATE TABLE IF NOT EXISTS replical_runner (one INTEGER PRIMARY KEY CHECK (one = 1), epoch BIGINT NOT NULL)"
# A server lets go of a runner whose machine is gone after two minutes, and not of one that waits for people all night.
_PATIENT = (
    "SET tcp_keepalives_idle = 60",
    "SET tcp_keepalives_interval = 10",
    "SET tcp_keepalives_count = 6",
    "SET idle_session_timeout = 0",
)


class Fence:
    """The right to drive a run; `open` it once, write through `writing`, and `close` it for the next runner."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._epoch: int | None = None
        self._overtaken = False
        self._thread = threading.RLock()  # a server's connection serves one thread at a time
        busy = f"another runner is using the journal {database.where}: wait until it ends, or give this run its own journal"
        self._lock: Any = None
        if database.file is not None:
            self._lock = _lock_file(database.file.resolve(), busy)  # one lock, whatever links lead there
            return
        with database.plain_errors():
            self._lock = database.engine.connect()
            try:
                for wish in _PATIENT:
                    with contextlib.suppress(database.sql.exc.DBAPIError), self._lock.begin():
                        self._lock.exec_driver_sql(wish)  # an older server, or a pooler, may not know it
                with self._lock.begin():
                    if not self._lock.exec_driver_sql(f"SELECT pg_try_advisory_lock({_LOCK})").scalar():
                        raise BadJournal(busy)
            except BaseException:
                self.close()
                raise

    def open(self) -> None:
        """From here on nobody who held the lock before writes any more."""
        with self.writing() as connection:
            connection.exec_driver_sql(_MAKE)
            connection.exec_driver_sql("INSERT INTO replical_runner VALUES (1, 0) ON CONFLICT DO NOTHING")
            connection.exec_driver_sql("UPDATE replical_runner SET epoch = epoch + 1")
            epoch = connection.exec_driver_sql("SELECT epoch FROM replical_runner").scalar()
        self._epoch = epoch

    @contextlib.contextmanager
    def writing(self) -> Iterator[Any]:
        """A transaction in which this is the runner, from its beginning to its end."""
        with self._thread:
            self._refuse_if_lost()
            try:
                with self._database.writing(None if self._database.file is not None else self._lock) as connection:
                    self._look(connection)
                    self._refuse_if_lost()
                    yield connection
            except BadJournal as error:
                self._refuse_if_lost(error)  # the connection was cut: the sentence says how to go on
                raise

    def _look(self, connection: Any) -> None:
        """Has another runner come since? None comes before this transaction has ended."""
        if self._epoch is not None:
            at_end = "" if self._database.file is not None else " FOR UPDATE"
            now = connection.exec_driver_sql(f"SELECT epoch FROM replical_runner{at_end}").scalar()
            self._overtaken = now != self._epoch

    def _refuse_if_lost(self, error: BadJournal | None = None) -> None:
        if (lost := self.lost) is not None:
            raise lost from error

    @property
    def lost(self) -> BadJournal | None:
        """Why this runner writes nothing more, as far as it has noticed; None while it may."""
        if self._lock is None:
            why = "it was closed"
        elif self._overtaken:
            why = "another runner has taken over"
        elif self._database.file is None and self._lock.invalidated:
            why = "the connection that kept other runners away was cut"
        else:
            return None
        return BadJournal(
            f"the journal {self._database.where} is no longer this run's to write: {why}; nothing that was acknowledged is "
            "lost, and the same command goes on from there once no other runner is at work"
        )

    def close(self) -> None:
        """Let the next runner in, at once: a server notices only after a while that a connection has ended."""
        lock, self._lock = self._lock, None
        if lock is None:
            return
        if self._database.file is None and not lock.invalidated:
            with contextlib.suppress(self._database.sql.exc.DBAPIError):
                lock.rollback()
                with lock.begin():
                    lock.exec_driver_sql("SELECT pg_advisory_unlock_all()")
        lock.close()


def _lock_file(file: Path, busy: str) -> Any:
    beside = file.with_name(file.name + ".lock")
    make_private(beside)
    try:
        lock = beside.open("a")
    except OSError as error:
        raise BadJournal(f"cannot write the journal {file}: {error.strerror}") from error
    try:
        _lock(lock)
    except (OSError, BadJournal) as error:
        lock.close()
        raise BadJournal(busy if isinstance(error, OSError) else str(error)) from error
    return lock


def _lock(file: Any) -> None:
    """Lock an open file until it is closed, or its process ends; raise OSError if somebody else has."""
    try:
        import fcntl
    except ImportError:  # Windows
        try:
            windows: Any = import_module("msvcrt")
        except ImportError as error:
            raise BadJournal(
                "this system locks no files, so two runs could write one journal: use Linux, macOS or Windows, or the URL "
                "of a PostgreSQL database"
            ) from error
        windows.locking(file.fileno(), windows.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def make_private(file: Path) -> None:
    """Make a file that only its owner may read, whatever the umask; SQLite gives its other files the same rights."""
    try:
        if not file.exists():
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
            file.chmod(0o600)
    except OSError as error:
        raise BadJournal(f"cannot write the journal {file}: {error.strerror}") from error


# ---- is the file still there? ----


_OFTEN = 1.0  # seconds between checkpoints, at least


class Mark(NamedTuple):
    """Which file it is, how large, and when it was written to."""

    device: int
    number: int
    size: int
    written: int


class Presence:
    """The `file` of a journal and those beside it, as they were last seen; `follow` goes along the chain, from the disk.

    A database writes on into a file that is gone: whoever removes, moves, empties or replaces the file, its log or the index
    of the log under a run would have labels acknowledged into nothing; without one index, two processes write their logs
    over each other. So all are compared with what they were, before anything is written and before it is acknowledged. The
    files only grow: nothing is ever deleted from a journal, and its log is not cut off while it is open. A file that
    somebody else wrote to in place, as a checkpoint does, has its chain followed once more.
    """

    def __init__(self, file: Path, follow: Callable[[], object]) -> None:
        self.file, self._follow = file, follow
        self.log, self.index = (file.with_name(file.name + end) for end in ("-wal", "-shm"))
        self._marks = {each: _mark(each) for each in (file, self.log, self.index) if each.exists()}
        self._settled = time.monotonic()

    def wrong(self) -> tuple[Path, str] | None:
        """Which file it is that has changed, and what became of it in words; None if all is well."""
        for path, known in self._marks.items():
            now = _mark(path)
            if now is None or known is None:
                return path, f"{path} is gone"
            if now[:2] != known[:2]:
                return path, f"{path} is another file than the one that was opened"
            if now.size < known.size:
                if path == self.index:  # it lies in memory, and who looks beyond its end is ended
                    with contextlib.suppress(OSError):
                        os.truncate(path, known.size)
                return path, f"{path} was emptied or cut off"
            self._marks[path] = now
            if path == self.file and now.written != known.written:
                try:
                    self._follow()
                except BadJournal as error:
                    return path, f"{path} was written over ({error})"
        return None

    @property
    def due(self) -> bool:
        """Is it time to move what the log holds into the file?"""
        return self.log in self._marks and time.monotonic() - self._settled > _OFTEN

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
    written = max(found.st_mtime_ns, found.st_ctime_ns)  # whoever sets the date of a file back changes the second
    return Mark(found.st_dev, found.st_ino, found.st_size, written)
