"""Slow clients and floods: half a request, a body that never ends, an answer that nobody takes, 1,300 lines at once."""

import contextlib
import http.client
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from replical.lab.page import connections as lines
from replical.lab.page.connections import Connections
from replical.lab.page.guard import network
from support.page import get, opened, serving

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"
BODY = b"POST /api/next HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"


@pytest.fixture
def world(tmp_path):
    with opened(tmp_path) as made:
        yield made


class Hashable(SimpleNamespace):
    __hash__ = object.__hash__
    __eq__ = object.__eq__


def line(network, *, waits=True, served=False):
    made = Hashable(network=network, waits=waits, served=served, given_up=False)
    made.transport = SimpleNamespace(abort=lambda: setattr(made, "given_up", True))
    return made


def expected(there, new, most, each, proxies):
    """Who makes room for a new line, said the long way: None if nobody has to, False if nobody can."""
    same = [old for old in there if old.network == new.network]
    if len(same) >= each and new.network not in proxies:
        crowd = same
    elif len(there) >= most:
        crowd = there
    else:
        return None
    crowd = [old for old in crowd if old.waits]
    if not crowd:
        return False
    strangers = [old for old in crowd if not old.served] or crowd
    sizes = {old.network: sum(other.network == old.network for other in there) for old in strangers}
    return next(old for old in strangers if sizes[old.network] == max(sizes.values()))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("enter"), st.sampled_from("abcp"), st.booleans(), st.booleans()),
        st.tuples(st.just("leave"), st.integers(0, 30)),
        st.tuples(st.just("change"), st.integers(0, 30), st.booleans(), st.booleans()),
    ),
    max_size=60,
)


@given(steps=STEPS, most=st.integers(1, 8), each=st.integers(1, 5))
def test_who_makes_room(steps, most, each):
    room, there, proxies = Connections(most, each, frozenset("p")), [], frozenset("p")
    for step in steps:
        if step[0] == "enter":
            new = line(step[1], waits=step[2], served=step[3])
            gone = expected(there, new, most, each, proxies)
            assert room.enter(new) == (gone is not False)
            if gone:
                assert gone.given_up
                there.remove(gone)
            there += [new] if gone is not False else []
        elif there and step[0] == "leave":
            room.leave(gone := there.pop(step[1] % len(there)))
            room.leave(gone)  # once more does nothing
        elif there:
            changed = there[step[1] % len(there)]
            changed.waits, changed.served = step[2:]
        assert not any(old.given_up for old in there)
        assert len(there) <= most
        for name in "abc":
            assert sum(old.network == name for old in there) <= each


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("2001:db8::1", "2001:db8::ffff:1:2:3", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("?", "unix", False),
    ],
)
def test_one_house_is_one_network(one, two, same):
    assert (network(one) == network(two)) is same


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [(1024, 1024, 600), (256, -1, 600), (256, 4096, 600), (256, 500, 500 - 256), (100, 100, 16), (-1, -1, 600)],
)
def test_lines_leave_files_for_the_rest(monkeypatch, soft, hard, expected):
    """The process's limit is raised where it may be; -1 is none."""
    resource = pytest.importorskip("resource")
    limit = [(soft, hard)]
    monkeypatch.setattr(resource, "RLIM_INFINITY", -1)
    monkeypatch.setattr(resource, "getrlimit", lambda _: limit[0])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: limit.insert(0, new))
    assert lines._room() == expected
    assert limit[0][1] == hard
    assert soft == -1 or limit[0][0] >= soft


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A page that waits for half a second where it would wait for half a minute; and its folder of media."""
    with pytest.MonkeyPatch.context() as patched, opened(tmp_path_factory.mktemp("quick")) as world:
        for name in ("_ARRIVING", "_TAKING"):
            patched.setattr(lines, name, 0.5)
        with serving(world, patched) as running:
            running.media = world[1].media
            yield running


def lasts(port, first, then=b"", every=0.05, most=4.0):
    """Seconds until a client that says this, then some of that, bit by bit, is hung up on."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(first)
        begun = time.monotonic()
        client.settimeout(every)
        while time.monotonic() - begun < most:
            try:
                if not client.recv(65536):
                    break
            except TimeoutError:
                with contextlib.suppress(OSError):
                    client.sendall(then)
            except OSError:
                break
        return time.monotonic() - begun


PROGRESS = b"GET /api/progress HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
CHUNKED = BODY.replace(b"Content-Length: 500", b"Transfer-Encoding: chunked")[:-1]
SLOW = {
    "silence": (b"", b""),
    "half": (HALF, b""),
    "slow header": (HALF, b"x"),  # a byte now and then does not buy time
    "slow headers": (HALF, b": y\r\nX-"),
    "half a body": (BODY, b""),
    "slow body": (BODY, b" "),
    "slow pieces": (CHUNKED, b"1\r\n \r\n"),
    "slow refused body": (BODY.replace(b"application/json", b"text/plain"), b" "),
    "slow second request": (PROGRESS + HALF, b"x"),
    "slow second body": (PROGRESS + BODY, b" "),
}


def test_a_request_has_to_arrive(quick):
    """Before, each of these could keep its line for ever."""
    with ThreadPoolExecutor(len(SLOW)) as crowd:
        took = dict(zip(SLOW, crowd.map(lambda said: lasts(quick.port, *said), SLOW.values()), strict=True))
    assert {name for name, seconds in took.items() if not 0.3 < seconds < 2.5} == set(), took
    assert get(quick.port) == 200


def test_who_thinks_between_requests_keeps_the_line(quick):
    """Time is for requests that have begun, not for people."""
    client = http.client.HTTPConnection("127.0.0.1", quick.port, timeout=5)
    for _ in range(2):
        client.request("GET", "/api/progress")
        client.getresponse().read()
        line = client.sock
        time.sleep(0.7)
    assert client.sock is line is not None
    client.close()


def test_an_answer_has_to_be_taken(quick):
    (quick.media / "large.wav").write_bytes(bytes(20_000_000))
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(5)
        client.connect(("127.0.0.1", quick.port))
        client.sendall(b"GET /media/large.wav HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        time.sleep(1.2)
        got = 0
        with contextlib.suppress(ConnectionResetError):
            while piece := client.recv(1_000_000):
                got += len(piece)
        assert got < 15_000_000  # what was on its way
    assert get(quick.port) == 200


def half_open(port, count, held):
    """Requests that never end, on the stack `held`."""
    for _ in range(count):
        client = held.enter_context(socket.socket())
        client.settimeout(5)
        client.connect(("127.0.0.1", port))
        client.sendall(HALF)


def test_a_flood_keeps_nobody_out(world, monkeypatch):
    monkeypatch.setattr(lines, "_EACH", 6)
    with serving(world, monkeypatch) as running, contextlib.ExitStack() as held:
        ann = http.client.HTTPConnection("127.0.0.1", running.port, timeout=5)
        ann.request("GET", "/")
        ann.getresponse().read()
        line = ann.sock
        half_open(running.port, 60, held)
        for _ in range(3):
            assert get(running.port) == 200
        ann.request("GET", "/api/progress")  # on the line that she had before
        assert ann.getresponse().status == 200
        assert ann.sock is line
        ann.close()


def test_where_everybody_is_served_the_next_hears_so(world, monkeypatch):
    desk = world[0]
    monkeypatch.setattr(lines, "_EACH", 2)
    slow, heard = threading.Event(), threading.Barrier(3)

    def progress():
        heard.wait(10)
        slow.wait(10)
        return {"labels": 0, "open": 0, "ended": False, "left": None, "about": None}

    desk.progress = progress
    with serving(world, monkeypatch) as running:
        people = [http.client.HTTPConnection("127.0.0.1", running.port, timeout=15) for _ in range(2)]
        for person in people:
            person.request("GET", "/api/progress")
        heard.wait(10)
        other = http.client.HTTPConnection("127.0.0.1", running.port, timeout=5)
        other.connect()
        time.sleep(0.2)
        said = other.sock.recv(1000).decode()
        other.close()
        slow.set()
        assert said.startswith("HTTP/1.1 503 ")
        head, _, text = said.partition("\r\n\r\n")
        assert len(text) == int(re.search(r"Content-Length: (\d+)", head)[1])
        assert "too many connections" in text
        for person in people:
            assert person.getresponse().status == 200
            person.close()
