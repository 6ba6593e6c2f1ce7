"""The journal: every label asked and given, append-only, from which a run is rebuilt.

SQLite by default, PostgreSQL by URL; every commit is on the disk before it is acknowledged (`database`), and one
runner at a time drives the run. One table of events, the same in every database; nothing is ever changed or removed.
What counts follows from the events alone: the first answer for an item is its label until it is taken back or corrected
(`ledger`), so a run can be replayed at any time, by anyone who has pool, protocol and journal.

Every event is linked to the one before it, and whoever reads a journal goes along its chain. The hash of event n is
SHA-256 of the 32 bytes of the one before and of the canonical JSON of its fields (`FIELDS`, the detail as the text that is
stored). So an event that is changed, removed, moved or put in later is found, by its number. A chain cannot show that the
last events were cut off, or that everything was written anew: for that its head, the last hash, has to be known elsewhere.
A certificate tells it.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from json.encoder import encode_basestring as spelled
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TextIO

import msgspec
from msgspec import Meta, Struct

from replical.classes.grading import Said
from replical.core.files import write_whole
from replical.core.text import exported
from replical.errors import BadJournal
from replical.lab.journal import reservations
from replical.lab.journal.database import Database, Fence, Presence, make_private

TABLE = "replical_events"
SCHEMA = "replical.journal/3"
_AT_ONCE = 10_000  # rows fetched at a time


class _Labels(Struct):
    values: list[Any] = []


class _Protocol(Struct):
    labels: _Labels | None = None


class _First(Struct):
    """What the first event says, as far as it is read before its protocol is."""

    private: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    protocol: _Protocol | None = None
    items: Annotated[int, Meta(ge=0)] = 0


class Growth(Struct):
    """Items that were added to the pool, and their fingerprint."""

    items: Annotated[int, Meta(ge=0)]
    fingerprint: str


class Event(NamedTuple):
    """One line of the journal.

    Attributes
    ----------
    kind
        created, part, lab, registration, beacon, measure, join, open, ask, show, answer, skip, vote, undo, correction or
        done.
    item, label, annotator
        What it is about, the position of the label in the protocol's label set, and who said so. A gold answer, and
        scores of outputs, stand in the detail.
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

    @property
    def answer(self) -> Said | None:
        """What it says of its item: the code of a label; or a gold answer or scores, which stand in the detail."""
        return self.label if self.detail is None else self.detail.get("answer")


def saying(kind: str, item: str, said: Said | None, annotator: str | None) -> Event:
    """An event of this kind in which an annotator says something of an item; None for who cannot say."""
    if said is None or isinstance(said, int):
        return Event(kind=kind, item=item, label=said, annotator=annotator)
    return Event(kind=kind, item=item, annotator=annotator, detail={"answer": said})


class Journal:
    """An open journal. One run at a time may drive it; people may add labels beside it.

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
        self._database = Database(where, write=write)
        self._sql, self.where = self._database.sql, self._database.where
        self._fence: Fence | None = None
        self._write = write
        self._presence: Presence | None = None
        self._gone: BadJournal | None = None
        self._known, self._lines = Link(), list[Row]()  # the last event of this process, and all of them
        if not (write and runner) and self._database.file is not None and not self._database.file.exists():
            raise BadJournal(f"there is no journal {self.where}")
        self._events = table_of(self._sql)
        try:
            if write and runner:
                self._fence = Fence(self._database)
                if self._database.file is not None:
                    make_private(self._database.file)
                with self._database.plain_errors():
                    self._refuse_others()
                with self._fence.writing() as connection:
                    self._events.metadata.create_all(connection)
                    protect(connection)
                    make_reservations(connection)
                self._fence.open()
            with self._database.plain_errors():
                self._check()
            if write and self._database.file is not None:
                self._presence, _ = Presence(self._database.file, self._follow_anew), self._labels
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the next runner in."""
        self._presence = None
        if self._fence is not None and self._database.file is None:
            self._fence.close()  # its connection goes back to the others, which are closed next
        if "reservations" in self.__dict__:
            self.reservations.close()
        self._database.close()
        if self._fence is not None:
            self._fence.close()

    def create(self, detail: Mapping[str, Any]) -> None:
        """Write the first event, with this `detail`: whose journal this is.

        The private seed is drawn here and never leaves the journal.
        """
        private = secrets.token_hex(32)
        self.append([Event(kind="created", detail={"schema": SCHEMA, "private": private, **detail})])
        self.__dict__.pop("_labels", None)
        _ = self._labels  # what is said can be told without the file then
        self.checkpoint()

    @property
    def writable(self) -> bool:
        """May this runner add events?"""
        return self._write

    @property
    def lost(self) -> BadJournal | None:
        """Why this runner writes nothing more, if it has noticed that its lock is lost."""
        return self._gone or (None if self._fence is None else self._fence.lost)

    @cached_property
    def reservations(self) -> reservations.Reservations:
        """Who is labelling what, for all desks of this run, whichever servers they are on."""
        return reservations.Reservations(self._database)

    @property
    def created(self) -> Mapping[str, Any] | None:
        """What the first event says; None while the journal is empty."""
        first = next(iter(self.events(limit=1)), None)
        return None if first is None else first.detail

    @property
    def growth(self) -> list[Growth]:
        """What was written each time the pool grew. Whoever replays the run goes along the chain, and so checks it.

        Raises
        ------
        BadJournal
            If an event is damaged.
        """
        query = (
            self._sql.select(self._events.c.detail).where(self._events.c.kind == "part").order_by(self._events.c.seq)
        )
        with self._database.reading() as connection:
            texts = [text or "" for (text,) in connection.execute(query)]
        try:
            return [msgspec.json.decode(text, type=Growth) for text in texts]
        except msgspec.DecodeError as error:
            raise BadJournal(f"{self.where}: an event that adds items to the pool is damaged ({error})") from error

    @property
    def head(self) -> Link:
        """The last event and its hash, which tells all events before it."""
        with self._database.reading() as connection:
            return self._last(connection)

    def hash_of(self, seq: int) -> str | None:
        """The hash of event `seq`, as published files spell it; None if there is no such event."""
        return next((Link(row[0], now).digest for row, now in self._follow(seq - 1, 1) if row[0] == seq), None)

    def append(self, events: Iterable[Event], *, last: int | None = None) -> bool:
        """Write `events`; when this returns they are on the disk.

        With the number of the `last` event one knows of, only if it still is the last one: False if somebody else has
        written since, so that what was to be written may have to be thought over. True otherwise.

        Raises
        ------
        BadJournal
            If the journal was opened for reading, or the disk refuses.
        """
        if not self._write:
            raise BadJournal(f"{self.where} was opened for reading")
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        lines = [
            (
                event.kind,
                event.item,
                event.label,
                event.annotator,
                event.at or now,
                None if event.detail is None else json.dumps(event.detail, sort_keys=True),
            )
            for event in events
        ]
        if lines:
            self._refuse_if_gone()
            try:
                with self._writing() as connection:
                    lock_table(connection)
                    link = self._last(connection)
                    if last is not None and link.seq != last:
                        return False
                    rows = self._link_rows(lines, link)
                    connection.execute(self._events.insert(), rows)
            except BadJournal:
                self._refuse_if_gone()  # why it cannot be used
                raise
            self._lines += lines
            self._known = Link(rows[-1]["seq"], rows[-1]["chain"])
            self._refuse_if_gone()
            if self._presence is not None and self._presence.due:
                self.checkpoint()
        return True

    def checkpoint(self) -> None:
        """Move what the log beside an SQLite file holds into the file: who copies the file alone has it then."""
        self._refuse_if_gone()
        if self._presence is not None:
            with contextlib.suppress(BadJournal), self._database.reading() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").all()
            self._presence.settled()

    def _follow_anew(self) -> None:
        """Go along the chain as it is on the disk, up to what was written last."""
        with Journal(str(self._database.file), write=False) as again:
            again._follow_to(self._known)

    def _follow_to(self, known: Link) -> None:
        """Go along the whole chain, which has to hold a `known` event."""
        for _ in self.news(0):
            pass
        if known.seq and self.hash_of(known.seq) != known.digest:
            raise BadJournal(f"it does not hold event {known.seq}")

    def _refuse_if_gone(self) -> None:
        """Once a file of the journal is not what it was, nothing more is acknowledged; what can be saved is saved."""
        if self._presence is None:
            return
        if self._gone is None and (wrong := self._presence.wrong()) is not None:
            self._gone = BadJournal(f"{wrong[1]}, so the run stops; {self._rescue(self._presence, wrong[0])}")
        if self._gone is not None:
            raise self._gone

    def _rescue(self, presence: Presence, wrong: Path) -> str:
        """Save the journal, or else what this process wrote to it; what was saved where."""
        try:
            path = presence.rescue(".db")
            if wrong == presence.index:  # file and log are whole, and hold what others wrote since
                self._copy_files(presence, path)
            else:
                self.backup(path)
            return f"all that was acknowledged is saved in {path.name}: go on with it as the journal"
        except BadJournal:
            path = presence.rescue(".csv")
        try:
            make_private(path)
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(FIELDS[1:])
                for kind, item, label, *rest in self._lines:
                    writer.writerow(exported([kind, item, None if label is None else self.label(label), *rest]))
        except (BadJournal, OSError) as error:
            return f"nothing could be saved either ({error})"
        return f"what was said since it began is saved in {path.name}: take the journal from a backup"

    def backup(self, out: Path) -> None:
        """Copy all events, checking their chain, to the new SQLite file `out`: a journal of its own, also of a server's.

        Raises
        ------
        BadJournal
            If the file exists or cannot be written, or the chain is broken.
        """
        if out.exists():
            raise BadJournal(f"{out} exists: a backup replaces nothing; give another name")
        write_whole(out, self._copy, what="the backup", refuse=BadJournal)

    def _copy_files(self, presence: Presence, path: Path) -> None:
        """Copy the file and its log, from which SQLite makes another index."""
        try:
            for each, end in ((presence.file, ""), (presence.log, "-wal")):
                make_private(path.with_name(path.name + end))
                path.with_name(path.name + end).write_bytes(each.read_bytes())
        except OSError as error:
            raise BadJournal(f"cannot copy {presence.file}: {error.strerror}") from error
        with Journal(path) as copy:
            copy.checkpoint()
            copy._follow_to(self._known)

    def _copy(self, part: Path) -> None:
        try:
            with Journal(part) as copy, copy._writing() as connection:
                for row, chained in self._follow(0, None):
                    connection.execute(copy._events.insert(), dict(zip(FIELDS, row, strict=False)) | {"chain": chained})
        finally:
            part.with_name(f"{part.name}.lock").unlink(missing_ok=True)

    def _writing(self) -> contextlib.AbstractContextManager[Any]:
        """A transaction that lasts once it has ended; of a runner, one in which it still is the runner."""
        return (self._database if self._fence is None else self._fence).writing()

    def _link_rows(self, lines: list[Row], link: Link) -> list[dict[str, Any]]:
        """Rows of the table for these `lines`, in order, after `link`."""
        rows = []
        for each in lines:
            fields = (link.seq + 1, *each)
            try:
                link = Link(fields[0], link_hash(link.hash, *fields))
            except TypeError as error:
                raise BadJournal(
                    f"an event {each!r:.80} cannot be written to {self.where}; nothing that was acknowledged is lost"
                ) from error
            rows.append(dict(zip(FIELDS, fields, strict=True)) | {"chain": link.hash})
        return rows

    def _last(self, connection: Any) -> Link:
        """How far the chain goes."""
        written, link = last_number(connection), Link()
        last = connection.execute(self._select().order_by(self._events.c.seq.desc()).limit(1)).first()
        if last is not None:
            if last[-1] is None:
                raise _unlinked_error(self.where, last[0])
            link = Link(last[0], last[-1])
        check_end(link.seq, written, self.where)
        return link

    def _select(self) -> Any:
        """All fields of events, and their hashes."""
        return self._sql.select(*(self._events.c[name] for name in (*FIELDS, "chain")))

    def _rows(self, connection: Any, first: int, limit: int | None) -> Iterator[Row]:
        """Events from a number on, as they are stored, at most `limit` of them."""
        query = self._select().where(self._events.c.seq >= first).order_by(self._events.c.seq)
        found = connection.execute(query if limit is None else query.limit(limit))
        return chain.from_iterable(found.partitions(_AT_ONCE))

    def events(self, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events in the order they were written, those `after` a number, at most `limit` of them.

        Raises
        ------
        BadJournal
            If one of them was changed, removed, moved or put in later, or is damaged; the sentence names it.
        """
        return [_event(row, self.where) for row, _ in self._follow(after, limit)]

    def news(self, after: int) -> Iterator[tuple[Event, bytes]]:
        """The events `after` a number, one by one, each with its hash.

        Of those that say what the run asks for now, which are many, the details of the last alone are told.

        Raises
        ------
        BadJournal
            As `events` does; events before the one that it names have been told then.
        """
        asking: tuple[Row, bytes] | None = None
        for found in self._follow(after, None):
            (seq, kind, item, label, annotator, at, detail, _), now = found
            if kind == "open":
                asking = found
                yield Event(kind, None, None, None, None, seq, at), now
            elif detail is None:
                yield Event(kind, item, label, annotator, None, seq, at), now
            else:
                yield _event(found[0], self.where), now
        if asking is not None:
            yield _event(asking[0], self.where), asking[1]

    @property
    def drives(self) -> bool:
        """Is this the runner's?"""
        return self._fence is not None

    def _follow(self, after: int, limit: int | None) -> Iterator[tuple[Row, bytes]]:
        """Go along the chain: from the hash of event `after` on, where it has one, else from the beginning."""
        with self._database.reading() as connection:
            written, last = last_number(connection), 0
            rows = self._rows(connection, after, None if limit is None else limit + (after > 0))
            known = next(rows, None) if after else None
            if known is not None and known[0] == after and known[-1] is not None:
                yield from follow(rows, Link(after, known[-1]), self.where)
                return
            passed = 0
            for found in follow(self._rows(connection, 0, None) if after else rows, Link(), self.where):
                last = found[0][0]
                if last > after and (limit is None or passed < limit):
                    passed += 1
                    yield found
            if limit is None:
                check_end(last, written, self.where)

    @cached_property
    def _labels(self) -> list[Any]:
        values: list[Any] = (self.created or {}).get("protocol", {}).get("labels", {}).get("values", [])
        return values

    def label(self, code: Said) -> Any:
        """The label with this `code` as the protocol spells it, also one that a damaged event tells; or a gold answer."""
        if not isinstance(code, int):
            return code if isinstance(code, str) else json.dumps(code, ensure_ascii=False)
        return self._labels[code] if 0 <= code < len(self._labels) else f"label {code}"

    def export(self, file: TextIO) -> None:
        """Write all events as CSV to a `file`, without the private seed."""
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        for event in self.events():
            detail = None if event.detail is None else {k: v for k, v in event.detail.items() if k != "private"}
            text = "" if detail is None else json.dumps(detail, sort_keys=True)
            label = "" if event.answer is None else self.label(event.answer)
            writer.writerow(exported([event.seq, event.kind, event.item, label, event.annotator, event.at, text]))

    def _refuse_others(self) -> None:
        """A file that holds something else stays as it is; a server's database may hold other tables too."""
        file = self._database.file
        if file is None or not file.exists():
            return
        tables = self._database.tables(_TRIGGERS)
        if tables and TABLE not in tables:
            raise BadJournal(f"{self.where} is no journal of replical")

    def _check(self) -> None:
        """Refuse a database that is no journal, or none that this version writes."""
        file = self._database.file
        tables = [] if file is None else self._database.tables(_TRIGGERS)  # before anything else is asked of it
        looked = self._sql.inspect(self._database.engine)
        tables = tables if file is not None else looked.get_table_names()
        if TABLE not in tables:
            log = (
                ""
                if tables or file is None
                else f"; if it is a copy, its log was left behind: copy {file.name}-wal too"
            )
            raise BadJournal(f"{self.where} is no journal of replical{log}")
        chained = any(column["name"] == "chain" for column in looked.get_columns(TABLE))
        columns = (self._events.c.detail, self._events.c.chain if chained else self._sql.null())
        with self._database.reading() as connection:
            first = connection.execute(self._sql.select(*columns).order_by(self._events.c.seq).limit(1)).first()
        if first is None:
            return
        detail, link = first
        if link is not None:
            self.events(limit=1)  # is it what was written there?
        said = None
        try:
            said = json.loads(detail)
            schema = said.get("schema")
        except (AttributeError, TypeError, ValueError, RecursionError):
            schema = None
        if detail is not None and schema != SCHEMA:
            raise BadJournal(
                f"{self.where} was written as {schema!r}, this version reads {SCHEMA!r}: go on with the version of replical "
                "that began it"
            )
        if link is None:
            raise _unlinked_error(self.where, 1)
        try:
            msgspec.convert(said, _First | None)
        except msgspec.ValidationError as error:
            raise BadJournal(f"the first event of {self.where} is damaged: {error}") from error


def _event(row: Row, where: str) -> Event:
    seq, kind, item, label, annotator, at, text, _ = row
    try:
        detail = None if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadJournal(f"{where}: the detail of event {seq} is damaged") from error
    if detail is not None and not isinstance(detail, dict):
        raise BadJournal(f"{where}: the detail of event {seq} is damaged")
    return Event(kind=kind, item=item, label=label, annotator=annotator, detail=detail, seq=seq, at=at)


FIELDS = ("seq", "kind", "item", "label", "annotator", "at", "detail")
FIRST = hashlib.sha256(b"replical journal").digest()  # what the first event is linked to


class Link(NamedTuple):
    """How far a chain goes: the number of its last event, and that event's hash."""

    seq: int = 0
    hash: bytes = FIRST

    @property
    def digest(self) -> str:
        """The hash as published files spell it."""
        return f"sha256:{self.hash.hex()}"


Row = tuple[Any, ...]  # the fields of an event, then its hash


def link_hash(
    before: bytes,
    seq: int,
    kind: str,
    item: str | None,
    label: int | None,
    annotator: str | None,
    at: str,
    detail: str | None,
) -> bytes:
    """The hash of an event with these fields, after an event with the hash `before`.

    Examples
    --------
    >>> link_hash(FIRST, 1, "ask", "a", None, None, "2025-01-01", None).hex()[:16]
    '8540bd6edc466345'
    """
    text = (
        f"[{int.__repr__(seq)},{spelled(kind)},{'null' if item is None else spelled(item)},"
        f"{'null' if label is None else int.__repr__(label)},{'null' if annotator is None else spelled(annotator)},"
        f"{spelled(at)},{'null' if detail is None else spelled(detail)}]"
    )
    return hashlib.sha256(before + text.encode()).digest()


def follow(rows: Iterable[Row], link: Link, where: str) -> Iterator[tuple[Row, bytes]]:
    """Go along the chain of the journal `where`, from `link` on: every row, and its hash."""
    last, now = link
    for row in rows:
        seq, kept = row[0], row[-1]
        if kept is None:
            raise _unlinked_error(where, seq)
        if seq != last + 1:
            raise BadJournal(f"{where}: {_missing(last + 1, seq - 1)}{_REMEDY}")
        try:
            now = link_hash(now, *row[:-1])
        except (TypeError, UnicodeEncodeError) as error:
            raise BadJournal(f"{where}: event {seq} is damaged{_REMEDY}") from error
        if now != kept:
            raise BadJournal(
                f"{where}: event {seq} is not what was written there: it was changed or damaged, or events were moved or "
                f"put in{_REMEDY}"
            )
        last = seq
        yield row, now


def check_end(last: int, written: int, where: str) -> None:
    """Refuse a journal that ends at event `last` although its database knows that event `written` was there."""
    if last < written:
        raise BadJournal(f"{where}: {_missing(last + 1, written)}{_REMEDY}")


_REMEDY = "; take the journal from a backup, because what follows cannot be trusted"


def _unlinked_error(where: str, seq: int) -> BadJournal:
    why = f"event {seq} is not linked to the one before it, so it was put in later or its hash taken out"
    return BadJournal(f"{where}: {why}{_REMEDY}")


def _missing(first: int, last: int) -> str:
    return f"event {first} is missing" if first == last else f"events {first} to {last} are missing"


def table_of(sql: Any) -> Any:
    """Events by number; `chain` is the hash of each (`link_hash`)."""
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


_GUARDS = {  # INSERT OR REPLACE removes a row without asking the other triggers
    "update": f"BEFORE UPDATE ON {TABLE}",
    "delete": f"BEFORE DELETE ON {TABLE}",
    "replace": f"BEFORE INSERT ON {TABLE} WHEN EXISTS (SELECT 1 FROM {TABLE} WHERE seq = NEW.seq)",
}
_TRIGGERS = [
    f"CREATE TRIGGER replical_no_{name} {when} BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END"
    for name, when in _GUARDS.items()
]  # as SQLite keeps them


def protect(connection: Any) -> None:
    """Append-only, enforced by the database where it can."""
    if connection.dialect.name == "sqlite":
        for each in _TRIGGERS:
            connection.exec_driver_sql(each.replace("TRIGGER", "TRIGGER IF NOT EXISTS", 1))
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


def make_reservations(connection: Any) -> None:
    """Make the table of who is labelling what, where it is missing; it need not outlive a crash."""
    lasting = "TABLE" if connection.dialect.name == "sqlite" else "UNLOGGED TABLE"
    connection.exec_driver_sql(f"CREATE {lasting} IF NOT EXISTS {reservations.TABLE} {reservations.COLUMNS}")


def lock_table(connection: Any) -> None:
    """Until this transaction ends nobody else adds events; SQLite lets in one writer at a time anyway."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"LOCK TABLE {TABLE} IN EXCLUSIVE MODE")


def last_number(connection: Any) -> int:
    """The highest number that an event ever had, where the database remembers it; SQLite does."""
    if connection.dialect.name != "sqlite":
        return 0
    return int(connection.exec_driver_sql(f"SELECT max(seq) FROM sqlite_sequence WHERE name = '{TABLE}'").scalar() or 0)
