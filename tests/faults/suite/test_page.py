"""The page under a crowd, and among clients that neither speak nor leave."""

import contextlib
import csv
import signal
import socket
import sqlite3
import time
from urllib.parse import urlsplit

import pytest

from replical import Protocol
from support.annotators import Annotator, crowd
from support.faults import scaled
from support.kills import Lab, start, url_of
from support.lab import content, world

pytest.importorskip("starlette")
PEOPLE, SECONDS, THINK = 50, 60, 0.4


def rows_of(path):
    """Who answered what, read with nothing but SQLite."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(
            "SELECT item, label, annotator FROM replical_events WHERE kind = 'answer' ORDER BY seq"
        ).fetchall()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A run of thousands of labels, many of them open at once."""
    folder = tmp_path_factory.mktemp("large")
    columns = world(items=12_000, seed=5, best=0.2, worst=0.23)
    with (folder / "pool.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    protocol = Protocol.of(content("handicap", epsilon=0.02, batch=80))
    (folder / "protocol.toml").write_text(protocol.toml(), encoding="utf-8")

    def words(journal, out):
        files = ["--pool", folder / "pool.csv", "--journal", journal, "--out", out, "--truths", "0"]
        return [*map(str, ["run", folder / "protocol.toml", *files])]

    truth = dict(zip(columns["id"], columns["truth"], strict=True))
    return Lab(folder, words, truth, folder / "pool.csv:truth")


@contextlib.contextmanager
def served(lab, counts, servers=1):
    """Addresses of the page: of the run itself, or of servers beside it. Afterwards all of them end, without a word."""
    if servers == 1:
        processes = [start("-m", "replical", *lab.words, "--ask", "page", "--page", "port=0")]
    else:
        processes = [start("-m", "replical", *lab.words, "--ask", "journal")]
        processes += [start("-m", "replical", "label", lab.path, "--page", "port=0") for _ in range(servers)]
    said = []
    try:
        yield [url_of(each, said) for each in processes[-servers:]]
    finally:
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            out, _ = process.communicate(timeout=60)
            said.append(out)
            counts.crashes += process.returncode not in (0, 3, 130)
        counts.tracebacks += sum("Traceback" in text for text in said)
        print("".join(said))  # shown if the test fails


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 2])
def test_fifty_people(large, counted, servers):
    """What was acknowledged is there once, by whom it was, and nobody works in vain; then the run ends as ever."""
    counts, lab = counted(f"page: {PEOPLE} people, {servers} server{'s' * (servers > 1)}"), large.again()
    with served(lab, counts, servers) as urls:
        heard = crowd(urls, lab.truth, people=PEOPLE, seconds=scaled(SECONDS, 5), think=THINK)
    assert heard.troubles == []
    assert heard.refused == []
    rows = rows_of(lab.path)
    counts.acknowledged += sum(map(len, heard.acknowledged.values()))
    counts.lost += sum(
        [
            (item, name) not in {(i, a) for i, _, a in rows}
            for item, names in heard.acknowledged.items()
            for name in names
        ]
    )
    counts.changed += len(rows) - len({item for item, *_ in rows})
    counts.hangs += heard.longest > 30
    lab.acknowledged = set(heard.acknowledged)
    lab.check(counts)
    lab.finish(counts)
    assert counts.faults == {}


def half_open(address, source):
    """Begins a request and never ends it."""
    link = socket.create_connection(address, timeout=5, source_address=(source, 0))
    link.sendall(b"POST /api/next HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    return link


def silent(address, source):
    """Connects, and says nothing."""
    return socket.create_connection(address, timeout=5, source_address=(source, 0))


def slow_body(address, source):
    """Promises a body, and sends a byte of it."""
    link = half_open(address, source)
    link.sendall(b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
    return link


def slow_reader(address, source):
    """Asks for more than anybody reads."""
    link = silent(address, source)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    with contextlib.suppress(OSError):
        link.sendall(b"GET /assets/page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200)
    return link


@pytest.mark.slow
def test_clients_that_neither_speak_nor_leave(large, counted):
    """From other addresses, hundreds of each kind: somebody who labels meanwhile is served."""
    counts, lab = counted("page: slow clients"), large.again()
    with served(lab, counts) as (url,), contextlib.ExitStack() as links:
        address = (urlsplit(url).hostname, urlsplit(url).port)
        person = links.enter_context(contextlib.closing(Annotator(url, "ann")))
        for number in range(scaled(1300, 40)):
            kind = (half_open, silent, slow_body, slow_reader)[number % 4]
            with contextlib.suppress(OSError):  # turned away
                links.enter_context(kind(address, f"127.0.0.{2 + number % 8}"))
            counts.inputs += 1
            if number % 10 == 0:
                begun = time.monotonic()
                item = person.next()
                status, told = person.answer(item, str(lab.truth[item]))
                assert status == 200, told
                lab.acknowledged.add(item)
                counts.acknowledged += 1
                counts.hangs += time.monotonic() - begun > 10
        links.enter_context(contextlib.closing(Annotator(url, "ben"))).next()  # somebody new
    lab.check(counts)
    assert counts.faults == {}
