"""The table of a journal's events: its columns, and what keeps it append-only. It is the same in every database."""

from __future__ import annotations

from typing import Any

TABLE = "replical_events"
SNAPSHOT = "replical_snapshot"  # one row, if any: see `replical.lab.snapshot`


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
    """Until this transaction ends nobody else adds events; SQLite lets in one writer at a time anyway."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"LOCK TABLE {TABLE} IN EXCLUSIVE MODE")


def keep(sql: Any, connection: Any, snapshot: bytes) -> None:
    """Put a snapshot in the place of the last one."""
    kind = "BLOB" if connection.dialect.name == "sqlite" else "BYTEA"
    connection.exec_driver_sql(f"CREATE TABLE IF NOT EXISTS {SNAPSHOT} (one INTEGER PRIMARY KEY, content {kind})")
    connection.exec_driver_sql(f"DELETE FROM {SNAPSHOT}")
    connection.execute(sql.text(f"INSERT INTO {SNAPSHOT} VALUES (1, :content)"), {"content": snapshot})


def last_number(connection: Any) -> int:
    """The highest number that an event ever had, where the database remembers it; SQLite does."""
    if connection.dialect.name != "sqlite":
        return 0
    return int(connection.exec_driver_sql(f"SELECT max(seq) FROM sqlite_sequence WHERE name = '{TABLE}'").scalar() or 0)
