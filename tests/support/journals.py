"""Journals that have begun, are refused, or are written into behind our back."""

import sqlite3

import pytest

from replical.errors import BadJournal
from replical.lab.journal.journal import Event, Journal


def begun(folder):
    """The file of a journal that has begun."""
    with Journal(folder / "a.db") as journal:
        journal.create({"protocol": {"labels": {"values": ["no", "yes"]}}})
        journal.append([Event(kind="ask", item="one"), Event(kind="ask", item="two")])
    return folder / "a.db"


def refused(*where, **how):
    with pytest.raises(BadJournal) as caught:
        Journal(*where, **how).close()
    return str(caught.value)


def write_into(path, statement, *values):
    """What somebody does to the file behind our back."""
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


def unprotected(path):
    """Take away what keeps the events of a file as they are."""
    for (name,) in write_into(path, "SELECT name FROM sqlite_master WHERE type = 'trigger'"):
        write_into(path, f"DROP TRIGGER {name}")
