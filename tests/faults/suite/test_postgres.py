"""Journals on PostgreSQL: runs killed, the server killed, the connection cut."""

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy

from replical.cli import main
from replical.lab.journal.journal import Event, Journal
from support.faults import Counts, scaled
from support.kills import SESSION, WAYS, Lab, kill_again_and_again, lasting, race, sitting, start
from support.postgres import NoServer, cluster, empty_database, execute
from support.proxy import Proxy

pytest.importorskip("psycopg", reason="no PostgreSQL driver: pip install 'replical[postgres]'")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server():
    """A server of our own, to be killed; it writes its log late, so that whoever does not wait for it loses much."""
    with contextlib.ExitStack() as stack:
        try:
            late = {"wal_writer_delay": "10s", "synchronous_commit": "off", "wal_writer_flush_after": "1GB"}
            made = stack.enter_context(cluster(**late))
        except NoServer as error:
            pytest.skip(f"no PostgreSQL: {error}")
        yield made


class OnServer(Lab):
    """A lab whose journal is a database; runs reach it through `way_in`, another folder with a socket if need be."""

    def __init__(self, lab, server):
        self.__dict__.update(lab.__dict__)
        self._stack, self._server, self.refusals = contextlib.ExitStack(), server, (2,)
        self.way_in, self._url = None, None
        with Journal(lab._begun, write=False) as journal:
            self._first = journal.events()[0]

    @property
    def path(self):
        """The URL that runs are given."""
        if self.way_in is None:
            return self._url
        return sqlalchemy.make_url(self._url).update_query_dict({"host": str(self.way_in)}).render_as_string()

    @path.setter
    def path(self, _):
        pass

    @property
    def words(self):
        return self._words(self.path, self.out)

    def again(self):
        """An empty database, but for the first event of every other start."""
        self._stack.close()
        self._url = self._stack.enter_context(empty_database(self._server.url))
        with Journal(self._url) as journal:
            journal.append([Event(kind="created", detail=self._first.detail)])
        self.out.unlink(missing_ok=True)
        self.acknowledged, self.cookies = set(), {}
        return self

    def rows(self):
        until_up(self._url)
        with Journal(self._url, write=False) as journal:
            return [(event.item, event.label) for event in journal.events() if event.kind == "answer"]

    def check_end(self, counts, folder=None):
        same = self.out.exists() and lasting(self.out) == lasting(self.straight)
        counts.changed += not (same and sorted(self.rows()) == self.answers)

    def finish(self, counts, folder=None):
        until_free(self._url)
        if main([*self._words(self._url, self.out), *self.column]) not in self.codes:
            counts.changed += 1
        self.check_end(counts)


def until_up(url):
    """A server that has lost a process starts anew, and answers soon."""
    for _ in range(200):
        with contextlib.suppress(sqlalchemy.exc.OperationalError):
            execute(url, "SELECT 1")
            return
        time.sleep(0.05)


def until_free(url):
    """Whoever was killed is noticed by the server soon."""
    until_up(url)
    for _ in range(200):
        if not execute(url, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'"):
            return
        time.sleep(0.05)


@pytest.fixture
def lab(lab_of, server):
    made = OnServer(lab_of(), server)
    yield made
    made._stack.close()


@pytest.mark.parametrize("name", ["Python session", "labels from a column", "terminal", "page"])
def test_kills_of_the_run(name, lab, counted):
    counts = counted(f"PostgreSQL: kills, {name}")
    kill_again_and_again(WAYS[name], lab, scaled(20, 2), random.Random(name), counts)
    assert counts.faults == {}


def test_several_runners(lab, counted):
    counts = counted("PostgreSQL: several runners")
    assert race(lab, scaled(10, 2), random.Random("race"), counts)
    assert counts.faults == {}


def pieces(server):
    """The server's processes, its own first."""
    main_id = server._process.pid
    shown = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True).stdout
    rows = [tuple(map(int, line.split())) for line in shown.splitlines()[1:]]
    return [main_id, *(pid for pid, parent in rows if parent == main_id)]


def kill_server(server, how, chance):
    """All of it by kill -9, all of it without writing anything down, or one process, after which it starts itself anew."""
    if how == "loses a process":
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.choice(pieces(server)[1:]), signal.SIGKILL)
        return
    if how == "killed":
        for pid in pieces(server):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        server._process.wait()
    else:
        server.stop(signal.SIGQUIT)
    server.start()


@pytest.mark.parametrize("how", ["killed", "stopped at once", "loses a process"])
def test_kills_of_the_server(how, lab, server, counted):
    """By kill -9, or as ``pg_ctl stop -m immediate`` does; the run ends with a sentence, and goes on later."""
    counts, chance = counted(f"PostgreSQL: server {how}"), random.Random(how)
    way = WAYS["Python session"]
    kill_again_and_again(way, lab, scaled(30, 2), chance, counts, harm=lambda: kill_server(server, how, chance))
    assert counts.faults == {}


def test_a_connection_that_is_cut(lab, server, counted):
    """In the middle of anything: the run ends with a sentence, and goes on later."""
    counts, chance = counted("PostgreSQL: cut off"), random.Random("cut")
    with tempfile.TemporaryDirectory(prefix="cut", dir="/tmp") as folder:
        inner = Path(sqlalchemy.make_url(server.url).query["host"]) / ".s.PGSQL.5432"
        proxy = Proxy(Path(folder) / ".s.PGSQL.5432", inner)
        lab.way_in = folder
        for name in ("Python session", "labels from a column", "terminal"):
            kill_again_and_again(WAYS[name], lab, scaled(15, 2), chance, counts, harm=proxy.cut)
        proxy.close()
    assert counts.faults == {}


# What a server's own settings may be: it says that it waits, and does not.
CARELESS = """
import replical.lab.journal.database
replical.lab.journal.database._LASTING = "SELECT 'on', 'on' FROM set_config('synchronous_commit', 'off', true)"
"""


def test_a_server_that_does_not_wait_for_the_disk_is_found(lab, server):
    """The suite can fail: with synchronous_commit off, as a server's own settings may have it, labels are lost."""
    counts, chance = Counts("off"), random.Random("off")
    begin = lambda lab: [start("-c", CARELESS + SESSION, lab.folder, lab.path)]  # noqa: E731
    way = replace(WAYS["Python session"], start=begin)
    lab.again()
    while not counts.lost and counts.kills < 20:
        sitting(way, lab, chance, counts, harm=lambda: kill_server(server, "killed", chance))
        lab.check(counts)
    assert counts.lost
