"""Who is labelling what at this moment, so that no two people do one piece of work.

A *desk* (`lab.sessions.labelling.Desk`) gives items to the people who label. It asks for one with `take`, which gives
what the person was shown before, or an item that has room for one more; when the person has answered it says so with
`release`. A reservation keeps others away for a while only (`patience`), but what one was shown stays theirs until the
item has its label. Reservations stand in the journal's database, through which the desks of several servers know of
each other; `Journal.reservations` has them. Nothing here decides which label counts: that is the journal's to say, and
reservations that are lost cost some work at most. So they are no events, and their commits do not wait for the disk.

Between a look at the journal and `take` somebody else may have labelled the item, and be done with it. Whoever takes
an item therefore looks again afterwards, and tries once more if it has its label: an answer is written before its
reservation is released, so the second look sees it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from replical.errors import BadJournal
from replical.lab.journal.database import Database

TABLE = "replical_reservations"
_LONGEST = 86_400.0  # seconds a reservation stands in a database, at most
COLUMNS = (
    "(item TEXT NOT NULL, annotator TEXT NOT NULL, since DOUBLE PRECISION NOT NULL, PRIMARY KEY (item, annotator))"
)

Holds = Mapping[str, Mapping[str, float]]  # item: who was shown it: when


def choose_item(
    holds: Holds, annotator: str, most_people: Mapping[str, int], now: float, patience: float
) -> str | None:
    """What they have already, or the item with fewest people among those with room for one more.

    Examples
    --------
    >>> choose_item({"a": {"ann": 0.0}}, "bob", {"a": 1, "b": 1}, now=5.0, patience=10.0)
    'b'
    >>> choose_item({"a": {"ann": 0.0}}, "bob", {"a": 1}, now=5.0, patience=10.0) is None
    True
    >>> choose_item({"a": {"ann": 0.0}}, "bob", {"a": 1}, now=15.0, patience=10.0)
    'a'
    """
    people = {}
    for item, most in most_people.items():
        held = holds.get(item, {})
        if annotator in held:
            return item
        count = sum(abs(now - since) < patience for since in held.values())  # clocks of servers may be set back
        if count < most:
            people[item] = count
    return min(people, key=people.__getitem__) if people else None


class Reservations:
    """In the journal's database, for the desks of any number of servers; times are seconds, and people go by their names."""

    def __init__(self, database: Database, clock: Callable[[], float] | None = None) -> None:
        self._database, self._clock = database.without_waiting(), clock

    def close(self) -> None:
        """Close its connections."""
        self._database.close()

    def take(self, annotator: str, most_people: Mapping[str, int], patience: float) -> str | None:
        """An item for this annotator, who has it from now on; None if there is no room at any."""
        with self._database.reading() as connection:  # most looks change nothing, and keep nobody waiting
            holds = _holds(connection)
            item = choose_item(holds, annotator, most_people, self._now(connection), patience)
        if item is None or annotator in holds.get(item, {}):
            return item
        with self._database.writing() as connection:
            self._lock_table(connection)
            now = self._now(connection)
            item = choose_item(_holds(connection), annotator, most_people, now, patience)
            if item is not None:
                self._execute(connection, f"DELETE FROM {TABLE} WHERE since < :old", old=now - _LONGEST)
                self._write(connection, annotator, item, now)
        return item

    def hold(self, annotator: str, item: str) -> None:
        """They have this item again, from now on, whoever else has it; a failure costs some work at most."""
        with suppress(BadJournal), self._database.writing() as connection:
            self._lock_table(connection)
            self._delete(connection, item, annotator)
            self._write(connection, annotator, item, self._now(connection))

    def release(self, annotator: str, item: str, *, labelled: bool) -> float | None:
        """They are done with it, and if it has its label everybody is: how long they had it, where that is known."""
        with suppress(BadJournal), self._database.writing() as connection:
            self._lock_table(connection)
            since, now = _holds(connection).get(item, {}).get(annotator), self._now(connection)
            self._delete(connection, item, None if labelled else annotator)
            return None if since is None else now - since
        return None

    def _lock_table(self, connection: Any) -> None:
        """Until this transaction ends nobody else takes anything; on SQLite that is so from its beginning."""
        if self._database.file is None:
            connection.exec_driver_sql(f"LOCK TABLE {TABLE} IN EXCLUSIVE MODE")

    def _now(self, connection: Any) -> float:
        if self._clock is not None:
            return self._clock()
        if self._database.file is not None:
            return time.time()
        return float(connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar())

    def _write(self, connection: Any, annotator: str, item: str, since: float) -> None:
        insert = f"INSERT INTO {TABLE} VALUES (:item, :annotator, :since) ON CONFLICT DO NOTHING"
        self._execute(connection, insert, item=item, annotator=annotator, since=since)

    def _delete(self, connection: Any, item: str, annotator: str | None) -> None:
        """Of this person, or of everybody."""
        if annotator is None:
            self._execute(connection, f"DELETE FROM {TABLE} WHERE item = :item", item=item)
        else:
            statement = f"DELETE FROM {TABLE} WHERE item = :item AND annotator = :annotator"
            self._execute(connection, statement, item=item, annotator=annotator)

    def _execute(self, connection: Any, statement: str, **values: Any) -> None:
        connection.execute(self._database.sql.text(statement), values)


def _holds(connection: Any) -> Holds:
    found: dict[str, dict[str, float]] = {}
    rows: Iterable[tuple[str, str, float]] = connection.exec_driver_sql(f"SELECT item, annotator, since FROM {TABLE}")
    for item, annotator, since in rows:
        found.setdefault(item, {})[annotator] = since
    return found
