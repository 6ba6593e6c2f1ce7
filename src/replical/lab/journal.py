"""The journal: every label asked and given, append-only, from which a run is rebuilt.

SQLite by default (write-ahead log, every commit on the disk before it is acknowledged), PostgreSQL by URL. One table of
events; nothing is ever changed or removed. What counts follows from the events alone: the first answer for an item is its
label until it is taken back or corrected (`replical.lab.ledger`), so a run can be replayed at any time, by anyone who
has pool, protocol and journal.
Needs SQLAlchemy: ``pip install 'replical[lab]'``.
"""

from __future__ import annotations

import contextlib
import csv
import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

from replical.errors import BadJournal, MissingExtra

SCHEMA = "replical.journal/1"
_FIELDS = ("seq", "kind", "item", "label", "annotator", "at", "detail")
_LOCK = 0x7265706C  # PostgreSQL's advisory lock takes a number; this one spells "repl"


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line of the journal.

    Attributes
    ----------
    kind
        created, lab, registration, beacon, measure, open, ask, answer, skip, vote, undo, correction or done.
    item, label, annotator
        What it is about, the position of the label in the protocol's label set, and who said so.
    detail
        Whatever else belongs to this kind.
    seq, at
        Its number in the journal, and when it was written.
    """

    kind: str
    item: str | None = None
    label: int | None = None
    annotator: str | None = None
    detail: Mapping[str, Any] | None = None
    seq: int = 0
    at: str = ""


class Journal:
    """An open journal; only one runner at a time may drive it, but people may label beside it.

    Parameters
    ----------
    where
        A file, or the URL of a database.
    write
        May events be added?
    runner
        Is this the one that drives the run? Otherwise the journal must be there already.

    Raises
    ------
    BadJournal
        If it is not there, is something else, is driven by another runner, or cannot be written.
    """

    def __init__(self, where: str | Path, *, write: bool = True, runner: bool = True) -> None:
        self._sql = _sqlalchemy()
        self.where = _without_password(str(where))
        url = _url(self._sql, str(where), self.where)
        self._file = (
            None if url.get_backend_name() != "sqlite" else Path(url.database if "://" in str(where) else where)
        )
        self._lock: Any = None
        self._write = write
        if not (write and runner) and self._file is not None and not self._file.exists():
            raise BadJournal(f"there is no journal {self.where}")
        self._engine = _engine(self._sql, url, self.where, self._file, write=write)
        self._events = _events(self._sql)
        try:
            if write and runner:
                self._take_lock()
                with self._translate_errors():
                    self._refuse_others()
                with self._translate_errors(), self._engine.begin() as connection:
                    self._events.metadata.create_all(connection)
                    self._protect(connection)
            with self._translate_errors():
                self._check()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the next runner in."""
        lock, self._lock = self._lock, None
        if lock is not None and self._file is None:
            lock.close()  # a connection: it goes back to the pool, which is emptied next
        self._engine.dispose()
        if lock is not None and self._file is not None:
            lock.close()

    def create(self, detail: Mapping[str, Any]) -> None:
        """Write the first event, with this `detail`: whose journal this is.

        The private seed is drawn here and never leaves the journal.
        """
        private = secrets.token_hex(32)
        self.append([Event(kind="created", detail={"schema": SCHEMA, "private": private, **detail})])

    @property
    def writable(self) -> bool:
        """May this runner add events?"""
        return self._write

    @property
    def created(self) -> Mapping[str, Any] | None:
        """What the first event says; None while the journal is empty."""
        first = next(iter(self.events(limit=1)), None)
        return None if first is None else first.detail

    def append(self, events: Iterable[Event]) -> None:
        """Write `events`; when this returns they are on the disk.

        Raises
        ------
        BadJournal
            If the journal was opened for reading, or the disk refuses.
        """
        if not self._write:
            raise BadJournal(f"{self.where} was opened for reading")
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        rows = [
            {
                "kind": event.kind,
                "item": event.item,
                "label": event.label,
                "annotator": event.annotator,
                "at": event.at or now,
                "detail": None if event.detail is None else json.dumps(event.detail, sort_keys=True),
            }
            for event in events
        ]
        if rows:
            with self._translate_errors(), self._engine.begin() as connection:
                if self._engine.dialect.name == "postgresql":  # events become visible in the order of their numbers
                    connection.exec_driver_sql("LOCK TABLE replical_events IN EXCLUSIVE MODE")
                connection.execute(self._events.insert(), rows)

    def events(self, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events in the order they were written, those `after` a number, at most `limit` of them."""
        table = self._events
        query = self._sql.select(table).where(table.c.seq > after).order_by(table.c.seq)
        with self._translate_errors(), self._engine.connect() as connection:
            rows = connection.execute(query if limit is None else query.limit(limit)).mappings().all()
        return [_event(row, self.where) for row in rows]

    @cached_property
    def _labels(self) -> list[Any]:
        values: list[Any] = (self.created or {}).get("protocol", {}).get("labels", {}).get("values", [])
        return values

    def label(self, code: int) -> Any:
        """The label with this `code` as the protocol spells it, also one that a damaged event tells."""
        return self._labels[code] if 0 <= code < len(self._labels) else f"label {code}"

    def export(self, file: TextIO) -> None:
        """Write all events as CSV to a `file`, without the private seed."""
        writer = csv.writer(file)
        writer.writerow(_FIELDS)
        for event in self.events():
            detail = None if event.detail is None else {k: v for k, v in event.detail.items() if k != "private"}
            text = "" if detail is None else json.dumps(detail, sort_keys=True)
            label = "" if event.label is None else self.label(event.label)
            writer.writerow([event.seq, event.kind, event.item or "", label, event.annotator or "", event.at, text])

    def _refuse_others(self) -> None:
        """A file that holds something else stays as it is; a server's database may hold other tables too."""
        if self._file is None or not self._file.exists():
            return
        plain = self._sql.create_engine(self._engine.url, poolclass=self._sql.NullPool)  # without a write-ahead log
        tables = self._sql.inspect(plain).get_table_names()
        if tables and "replical_events" not in tables:
            raise BadJournal(f"{self.where} is no journal of replical")

    def _check(self) -> None:
        """Refuse a database that is no journal."""
        tables = self._sql.inspect(self._engine).get_table_names()
        if "replical_events" not in tables:
            raise BadJournal(f"{self.where} is no journal of replical")
        created = self.created
        if created is not None and created.get("schema") != SCHEMA:
            raise BadJournal(f"{self.where} was written as {created.get('schema')!r}, this version reads {SCHEMA!r}")

    def _protect(self, connection: Any) -> None:
        """Append-only, enforced by the database where it can."""
        refuse = "SELECT RAISE(ABORT, 'a journal is append-only')"
        if self._engine.dialect.name == "sqlite":
            for verb in ("UPDATE", "DELETE"):
                connection.exec_driver_sql(
                    f"CREATE TRIGGER IF NOT EXISTS replical_no_{verb.lower()} BEFORE {verb} ON replical_events "
                    f"BEGIN {refuse}; END"
                )
            connection.exec_driver_sql(  # INSERT OR REPLACE removes a row without asking the other triggers
                "CREATE TRIGGER IF NOT EXISTS replical_no_replace BEFORE INSERT ON replical_events "
                f"WHEN EXISTS (SELECT 1 FROM replical_events WHERE seq = NEW.seq) BEGIN {refuse}; END"
            )
            return
        there = (
            "SELECT 1 FROM pg_trigger WHERE tgname = 'replical_append_only' AND tgrelid = 'replical_events'::regclass"
        )
        if connection.exec_driver_sql(there).first() is None:
            connection.exec_driver_sql(
                "CREATE OR REPLACE FUNCTION replical_append_only() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'a journal is append-only'; END $$"
            )
            connection.exec_driver_sql(
                "CREATE TRIGGER replical_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON replical_events "
                "FOR EACH STATEMENT EXECUTE FUNCTION replical_append_only()"
            )

    def _take_lock(self) -> None:
        """One runner at a time; the lock goes away with the process, however that ends."""
        busy = f"another runner is using the journal {self.where}: wait until it ends, or give this run its own journal"
        if self._file is not None:
            self._lock = _locked_file(self._file.resolve(), busy)  # one lock, whatever links lead there
        else:
            with self._translate_errors():
                self._lock = self._engine.connect()
                if not self._lock.exec_driver_sql(f"SELECT pg_try_advisory_lock({_LOCK})").scalar():
                    raise BadJournal(busy)
                self._lock.commit()

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """What goes wrong in the database, in one sentence."""
        try:
            yield
        except (self._sql.exc.SQLAlchemyError, UnicodeEncodeError) as error:
            reason = str(getattr(error, "orig", None) or error).splitlines()[0]
            lost = "nothing that was acknowledged is lost" if self._write else "it was not changed"
            raise BadJournal(f"the journal {self.where} cannot be used ({reason}); {lost}") from error


def _event(row: Mapping[str, Any], where: str) -> Event:
    try:
        detail = None if row["detail"] is None else json.loads(row["detail"])
    except json.JSONDecodeError as error:
        raise BadJournal(f"{where}: the detail of event {row['seq']} is damaged") from error
    if detail is not None and not isinstance(detail, dict):
        raise BadJournal(f"{where}: the detail of event {row['seq']} is damaged")
    return Event(**{**row, "detail": detail})


def _sqlalchemy() -> Any:
    try:
        import sqlalchemy
    except ImportError as error:
        raise MissingExtra("a journal needs SQLAlchemy: install it with pip install 'replical[lab]'") from error
    return sqlalchemy


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
    if "@" in (url.host or ""):  # the rest of a password, which the driver would show
        raise BadJournal(f"write '@' as %40 in the password of {display}")
    if url.get_backend_name() == "sqlite" and (not url.database or ":" in url.database):
        raise BadJournal(f"a journal has to be a file that outlives its run, got {display}")
    return url


def _engine(sql: Any, url: Any, where: str, file: Path | None, *, write: bool) -> Any:
    if file is not None and not file.parent.is_dir():
        raise BadJournal(f"there is no folder {file.parent} for the journal {file.name}")
    try:
        engine = sql.create_engine(url)
    except (sql.exc.ArgumentError, sql.exc.NoSuchModuleError, ImportError) as error:
        raise BadJournal(f"cannot open the journal {where}: {error}") from error
    if file is not None and write:
        sql.event.listen(engine, "connect", _durable)
    return engine


def _durable(connection: Any, _: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _events(sql: Any) -> Any:
    number = sql.BigInteger().with_variant(sql.Integer, "sqlite")
    return sql.Table(
        "replical_events",
        sql.MetaData(),
        sql.Column("seq", number, primary_key=True, autoincrement=True),
        sql.Column("kind", sql.String(16), nullable=False),
        sql.Column("item", sql.Text),
        sql.Column("label", sql.Integer),
        sql.Column("annotator", sql.Text),
        sql.Column("at", sql.String(40), nullable=False),
        sql.Column("detail", sql.Text),
        sqlite_autoincrement=True,
    )


def _locked_file(file: Path, busy: str) -> Any:
    try:
        lock = file.with_name(file.name + ".lock").open("a")
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
