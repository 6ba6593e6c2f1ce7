"""The database a journal lives in: a SQLite file or PostgreSQL, one table of events that nobody may change.

Needs SQLAlchemy: ``pip install 'replical[lab]'``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from replical.errors import BadJournal, MissingExtra

TABLE = "replical_events"


def sqlalchemy() -> Any:
    """The package, or a sentence that says how to get it."""
    try:
        import sqlalchemy
    except ImportError as error:
        raise MissingExtra("a journal needs SQLAlchemy: install it with pip install 'replical[lab]'") from error
    return sqlalchemy


def without_password(where: str) -> str:
    """What may be shown of a URL, also of one that nobody can read."""
    if "://" not in where:
        return where
    return re.sub(r"(?i)(password=)[^&]*", r"\1***", re.sub(r"(://[^:/@]*):.*@", r"\1:***@", where))


def url_of(sql: Any, where: str, display: str) -> Any:
    """Where the database is, by path or by URL."""
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


def engine_of(sql: Any, url: Any, where: str, file: Path | None, *, write: bool) -> Any:
    """Connections to the database; those that write wait for the disk."""
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


def table_of(sql: Any) -> Any:
    """Events by number; `chain` is the hash of each (`replical.lab.chain`), NULL in those of before."""
    number = sql.BigInteger().with_variant(sql.Integer, "sqlite")
    return sql.Table(
        TABLE,
        sql.MetaData(),
        sql.Column("seq", number, primary_key=True, autoincrement=True),
        sql.Column("kind", sql.String(16), nullable=False),
        sql.Column("item", sql.Text),
        sql.Column("label", sql.Integer),
        sql.Column("annotator", sql.Text),
        sql.Column("at", sql.String(40), nullable=False),
        sql.Column("detail", sql.Text),
        sql.Column("chain", sql.LargeBinary(32)),
        sqlite_autoincrement=True,
    )


def add_chain(connection: Any) -> None:
    """Give a journal of before the column that its next events need."""
    kind = "BLOB" if connection.dialect.name == "sqlite" else "BYTEA"
    connection.exec_driver_sql(f"ALTER TABLE {TABLE} ADD COLUMN chain {kind}")


def protect(connection: Any) -> None:
    """Append-only, enforced by the database where it can."""
    refuse = "SELECT RAISE(ABORT, 'a journal is append-only')"
    if connection.dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            connection.exec_driver_sql(
                f"CREATE TRIGGER IF NOT EXISTS replical_no_{verb.lower()} BEFORE {verb} ON {TABLE} BEGIN {refuse}; END"
            )
        connection.exec_driver_sql(  # INSERT OR REPLACE removes a row without asking the other triggers
            f"CREATE TRIGGER IF NOT EXISTS replical_no_replace BEFORE INSERT ON {TABLE} "
            f"WHEN EXISTS (SELECT 1 FROM {TABLE} WHERE seq = NEW.seq) BEGIN {refuse}; END"
        )
        return
    there = f"SELECT 1 FROM pg_trigger WHERE tgname = 'replical_append_only' AND tgrelid = '{TABLE}'::regclass"
    if connection.exec_driver_sql(there).first() is None:
        connection.exec_driver_sql(
            "CREATE OR REPLACE FUNCTION replical_append_only() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'a journal is append-only'; END $$"
        )
        connection.exec_driver_sql(
            f"CREATE TRIGGER replical_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {TABLE} "
            "FOR EACH STATEMENT EXECUTE FUNCTION replical_append_only()"
        )


def one_writer(connection: Any) -> None:
    """Until this transaction ends nobody else adds events, so every event follows the one before it."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"LOCK TABLE {TABLE} IN EXCLUSIVE MODE")
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def last_number(connection: Any) -> int:
    """The highest number that an event ever had, where the database remembers it; SQLite does."""
    if connection.dialect.name != "sqlite":
        return 0
    return int(connection.exec_driver_sql(f"SELECT max(seq) FROM sqlite_sequence WHERE name = '{TABLE}'").scalar() or 0)


def only_ours(file: Path) -> None:
    """Make a file that only its owner may read, whatever the umask; SQLite gives its other files the same rights."""
    try:
        if not file.exists():
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
            file.chmod(0o600)
    except OSError as error:
        raise BadJournal(f"cannot write the journal {file}: {error.strerror}") from error


def locked_file(file: Path, busy: str) -> Any:
    """The lock of a journal's file: it goes away with the process, however that ends."""
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
