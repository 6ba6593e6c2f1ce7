"""One runner at a time, and none that was taken for dead writes behind its successor's back.

A runner holds a lock for as long as it lives: a locked file beside an SQLite journal, an advisory lock on a server. Locks
can be lost without their holder's noticing: a network cut, a terminated connection, a removed file, a pooler between.
So the database counts runners (`replical_runner.epoch`), and every transaction of a runner looks at this number first,
with its row locked: who finds that another runner came later writes nothing, for ever. On a server the runner writes
through the very connection that holds its lock. When that dies nothing more can be written, whoever came or did not.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replical.errors import BadJournal
from replical.lab.databases import Database, only_ours

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
    """The right to drive a run; `open` it once, write through `writing`, and `close` it for the next runner.

    Raises
    ------
    BadJournal
        If another runner has the lock, or the database cannot be used.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._epoch: int | None = None
        self._overtaken = False
        self._thread = threading.RLock()  # a server's connection serves one thread at a time
        busy = f"another runner is using the journal {database.where}: wait until it ends, or give this run its own journal"
        self._lock: Any = None
        if database.file is not None:
            self._lock = _locked_file(database.file.resolve(), busy)  # one lock, whatever links lead there
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


def _locked_file(file: Path, busy: str) -> Any:
    beside = file.with_name(file.name + ".lock")
    only_ours(beside)
    try:
        lock = beside.open("a")
    except OSError as error:
        raise BadJournal(f"cannot write the journal {file}: {error.strerror}") from error
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # not on this platform: SQLite's own locks still keep the file whole
        pass
    except OSError as error:
        lock.close()
        raise BadJournal(busy) from error
    return lock
