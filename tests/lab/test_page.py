"""The page's application: routes, what it never says, and who is let in."""

import asyncio
import http.client
import json
import logging
import re
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("starlette")
from replical import Protocol, Session, read_pool
from replical.errors import BadJournal, EmptyVersionSpace, ValueOutOfRange
from replical.lab.desk import Desk
from replical.lab.journal import Journal
from replical.lab.page import guard, serve
from replical.lab.page.app import Content, application
from replical.lab.page.markdown import to_html
from replical.lab.page.serve import token_for
from replical.lab.tables import Shown

NASTY = "<script>alert(1)</script>"


def call(app, path, body=None, *, method=None, headers=(), raw=None, query=b"", client="127.0.0.1", pieces=1):
    """One request to an ASGI application: status, headers, body."""
    sent, data = [], raw if raw is not None else b"" if body is None else json.dumps(body).encode()
    named = {"host": "127.0.0.1:8765", "content-length": str(len(data))} | dict(headers)
    if body is not None:
        named.setdefault("content-type", "application/json")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
        "method": method or ("GET" if body is None and raw is None else "POST"), "path": path, "raw_path": path.encode(),
        "query_string": query, "headers": [(k.encode(), v.encode()) for k, v in named.items()],
        "client": (client, 1), "server": ("127.0.0.1", 8765),
    }  # fmt: skip
    waiting = [{"type": "http.request", "body": data, "more_body": left > 1} for left in range(pieces, 0, -1)]

    async def receive():
        return waiting.pop(0) if waiting else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    start = next(message for message in sent if message["type"] == "http.response.start")
    text = b"".join(message.get("body", b"") for message in sent)
    return start["status"], {k.decode(): v.decode() for k, v in start["headers"]}, text


@pytest.fixture
def world(tmp_path):
    made = Protocol.of({
        "schema": "replical.protocol/1", "seed": "page", "title": NASTY,
        "class": {"kind": "table", "candidates": [{"name": name} for name in ("secret-a", "secret-b", "secret-c")]},
        "labels": {"values": ["no", "yes"]},
        "learner": {"name": "rounded-a2", "epsilon": 0.2, "delta": 0.1, "rho": 0.3, "batch": 3},
    })  # fmt: skip
    rng = np.random.default_rng(0)
    said = rng.choice(["no", "yes"], size=(300, 3))
    table = {"id": [f"i{n}" for n in range(300)], "text": [NASTY] * 300}
    table |= {name: said[:, h] for h, name in enumerate(made.recipe.columns)}
    (tmp_path / "media").mkdir()
    (tmp_path / "media" / "x.png").write_bytes(b"picture")
    (tmp_path / "secret.png").write_bytes(b"secret")
    with Journal(tmp_path / "a.db") as journal:
        desk = Desk(Session(made, read_pool(table, made.recipe), journal))
        content = Content(
            title=NASTY, shown=Shown(table, ["text"]), media=tmp_path / "media", instructions=f"# Rules\n\n{NASTY}"
        )
        yield desk, content


def test_a_person_labels_and_sees_no_predictions(world):
    desk, content = world
    app = application(desk, content)
    status, _, text = call(app, "/api/next", {"annotator": "ann"})
    told = json.loads(text)
    assert status == 200
    item = told["item"]["id"]
    status, _, text = call(app, "/api/answer", {"annotator": "ann", "item": item, "label": "yes"})
    assert status == 200
    assert desk.session.known.labels == {item: 1}
    for path in ("/", "/api/progress"):
        text += call(app, path)[2]
    assert b"secret" not in text  # names of candidates, let alone what they say
    assert b"survivors" not in text
    assert call(app, "/api/answer", {"annotator": "bob", "item": item, "label": "no"})[0] == 409
    assert call(app, "/api/answer", {"annotator": "bob", "item": item, "label": "maybe"})[0] == 400
    assert call(app, "/api/answer", {"item": item, "label": "no"})[0] == 400
    assert call(app, "/api/undo", {"annotator": "ann"})[0] == 200
    assert desk.session.known.labels == {}
    assert call(app, "/api/skip", {"annotator": "ann", "item": item})[0] == 200
    assert desk.session.known.skipped == {item}


def test_what_the_page_shows_is_escaped(world):
    desk, content = world
    app = application(desk, content)
    text = call(app, "/")[2].decode()
    assert "alert(1)" in text
    assert NASTY not in text
    assert not re.search(
        r"https?://", text + call(app, "/assets/page.js")[2].decode() + call(app, "/assets/page.css")[2].decode()
    )
    assert "innerHTML" not in call(app, "/assets/page.js")[2].decode()
    assert to_html("[x](javascript:alert(1)) <img src=x onerror=1>") == (
        "<p>[x](javascript:alert(1)) &lt;img src=x onerror=1&gt;</p>"
    )
    plain = Content(title="{{labels}} {{rules}}", shown=content.shown)
    text = call(application(desk, plain), "/")[2].decode()
    assert '<h1 dir="auto">{{labels}} {{rules}}</h1>' in text
    assert "Instructions" not in text  # there are none


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\ntext\n- one\n  goes on\n\n- two\n1. first\n2) next\nmore", "<h2>A</h2>\n<p>text</p>\n"
         "<ul><li>one goes on</li><li>two</li></ul>\n<ol><li>first</li><li>next more</li></ol>"),
        ("press `s` or `<`, not `ss`", "<p>press <kbd>s</kbd> or <kbd>&lt;</kbd>, not <code>ss</code></p>"),
        ("`a*b*c` **x** *y* 2 * 3 * 4", "<p><code>a*b*c</code> <strong>x</strong> <em>y</em> 2 * 3 * 4</p>"),
        ("[a *b*](https://x.org/?p=1&q=*2*)", '<p><a href="https://x.org/?p=1&amp;q=*2*" target="_blank" '
         'rel="noopener noreferrer">a <em>b</em></a></p>'),
        ("[a](/media/x.png)", '<p><a href="/media/x.png" target="_blank" rel="noopener noreferrer">a</a></p>'),
        ('[a](http://x"onclick=1)', '<p><a href="http://x&quot;onclick=1" target="_blank" rel="noopener noreferrer">a</a></p>'),
        ("", ""),
    ],
)  # fmt: skip
def test_the_little_markdown(text, expected):
    assert to_html(text) == expected


@pytest.mark.parametrize(
    "link", ["javascript:x", "JavaScript:x", "data:text/html,x", "vbscript:x", "file:///x", "java\tscript:x"]
)
def test_other_links_stay_text(link):
    assert "<a" not in to_html(f"[a]({link})")


def test_security_headers_are_on_every_answer(world):
    app = application(*world)
    for path in ("/", "/nowhere", "/assets/page.js", "/api/progress"):
        headers = call(app, path)[1]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
    ],
)
def test_posts_from_other_sites_are_refused(world, headers):
    app = application(*world)
    assert call(app, "/api/next", {"annotator": "ann"}, headers=headers)[0] == 403
    assert call(app, "/api/next", {"annotator": "ann"}, headers={"origin": "http://127.0.0.1:8765"})[0] == 200


def test_media_come_from_their_folder_alone(world):
    app = application(*world)
    assert call(app, "/media/x.png")[2] == b"picture"
    for path in (
        "/media/../secret.png",
        "/media/%2e%2e/secret.png",
        "/media//etc/passwd",
        "/media/none.png",
        "/media/",
        "/media/x\0.png",
        "/media/" + "x" * 300 + ".png",
    ):
        assert call(app, path)[0] == 404


def test_links_do_not_lead_out_of_the_media_folder(world):
    app, folder = application(*world), world[1].media
    (folder / "out.png").symlink_to(folder.parent / "secret.png")
    (folder / "outer").symlink_to(folder.parent)
    (folder / "circle.png").symlink_to(folder / "circle.png")
    (folder / "in.png").symlink_to(folder / "x.png")
    for path in ("/media/out.png", "/media/outer/secret.png", "/media/circle.png"):
        assert call(app, path)[0] == 404
    assert call(app, "/media/in.png")[2] == b"picture"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.PNG", "image/png"), ("a.jpg", "image/jpeg"), ("a.gif", "image/gif"), ("a.webp", "image/webp"),
        ("a.wav", "audio/wav"), ("a.mp3", "audio/mpeg"), ("a.ogg", "audio/ogg"), ("a.flac", "audio/flac"),
    ],
)  # fmt: skip
def test_media_say_what_they_are(world, name, kind, monkeypatch):
    """Whatever the machine's own list of types: browsers are told not to guess."""
    monkeypatch.setattr("starlette.responses.guess_type", lambda *_: (None, None))
    (world[1].media / name).write_bytes(b"0123456789")
    app = application(*world)
    assert call(app, f"/media/{name}")[1]["content-type"] == kind
    status, headers, text = call(app, f"/media/{name}", headers={"range": "bytes=2-4"})
    assert (status, headers["content-range"], text) == (206, "bytes 2-4/10", b"234")
    assert call(app, f"/media/{name}", headers={"range": "bytes=20-"})[0] == 416


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a b/ü#?.png", {"kind": "image", "source": "/media/a%20b/%C3%BC%23%3F.png"}),
        ("../media/x.png", {"kind": "image", "source": "/media/x.png"}),
        ("../secret.png", {"kind": "text", "value": "../secret.png"}),
        ("x\0.png", {"kind": "text", "value": "x\0.png"}),
        ("y" * 300 + ".png", {"kind": "text", "value": "y" * 300 + ".png"}),
        ("see x.png", {"kind": "text", "value": "see x.png"}),
    ],
)
def test_a_value_is_a_text_unless_there_is_such_a_file(world, value, expected):
    desk, content = world
    (content.media / "a b").mkdir()
    (content.media / "a b" / "ü#?.png").write_bytes(b"picture")
    shown = Content(title="", shown=lambda ids: {each: {"what": value} for each in ids}, media=content.media)
    told = json.loads(call(application(desk, shown), "/api/next", {"annotator": "ann"})[2])
    assert told["item"]["fields"] == [{"name": "what"} | expected]
    if "source" in expected:
        path = {"/media/x.png": "/media/x.png"}.get(expected["source"], "/media/a b/ü#?.png")
        assert call(application(desk, shown), path)[0] == 200


def test_without_the_token_nothing(world):
    app = application(*world, token="let me in")
    for path in ("/", "/api/progress", "/media/x.png"):
        assert call(app, path)[0] == 403
    assert call(app, "/", query=b"token=guess")[0] == 403
    status, headers, _ = call(app, "/", query=b"token=let%20me%20in")
    assert status == 303
    assert "httponly" in headers["set-cookie"].lower()
    assert "samesite=lax" in headers["set-cookie"].lower()  # strict would lock out whoever follows a link from a mail
    cookie = headers["set-cookie"].split(";")[0].replace('"', "")
    assert call(app, "/", headers={"cookie": cookie})[0] == 200
    assert call(app, "/", headers={"cookie": cookie, "host": "label.example.org"})[0] == 200
    _, headers, _ = call(application(*world, token="other"), "/elsewhere", query=b"token=other")
    assert headers["location"] == "/"
    assert headers["set-cookie"].split("=")[0] != cookie.split("=")[0]  # pages on two ports share their cookies


def test_tokens_are_for_other_machines():
    assert token_for("127.0.0.1") is token_for("localhost") is token_for("::1") is None
    assert len(token_for("0.0.0.0")) >= 24
    assert token_for("0.0.0.0") != token_for("0.0.0.0")
    with pytest.raises(ValueOutOfRange, match="--host must be an address"):
        token_for("example")


def test_bodies_and_rates_have_limits(world, monkeypatch):
    app = application(*world)
    assert call(app, "/api/next", raw=b"x" * 70_000, headers={"content-type": "application/json"})[0] == 413
    for raw in (b"", b"[1]", b"{", b"\xff", b'{"annotator": 5}', b"[" * 60_000):
        assert call(app, "/api/next", raw=raw, headers={"content-type": "application/json"})[0] == 400
    named = {"content-type": "application/json"}
    for length in ("many", "-1", "+5", "1_0", "", "9" * 30):
        assert call(app, "/api/next", raw=b"{}", headers=named | {"content-length": length})[0] == 400
    assert call(app, "/api/next", raw=b"x" * 30_000, pieces=3, headers=named | {"content-length": "0"})[0] == 413
    monkeypatch.setattr(guard, "_PEOPLE", (50.0, 200.0))
    statuses = {call(app, "/api/progress")[0] for _ in range(400)}
    assert statuses == {200, 429}
    assert call(app, "/api/progress", client="10.0.0.1")[0] == 200


def test_strangers_use_up_nobody_s_allowance(world):
    """Twenty people and a stranger behind one proxy, pictures and all."""
    app = application(*world, token="secret of this test")
    known = {"cookie": f"{app._cookie}=secret of this test"}
    assert {call(app, "/api/progress")[0] for _ in range(400)} == {403, 429}
    assert {call(app, "/api/progress", headers=known)[0] for _ in range(1000)} == {200}


def test_the_table_of_rates_stays_small(world, monkeypatch):
    monkeypatch.setattr(guard, "_CLIENTS", 10)
    monkeypatch.setattr(guard, "time", SimpleNamespace(monotonic=lambda: 0.0))
    app = application(*world)
    for number in range(50):
        call(app, "/nowhere", client="10.0.0.1")
        call(app, "/nowhere", client=f"10.0.1.{number}")
    assert len(app._allowance) <= 10
    assert app._allowance["10.0.0.1", True][0] < 1990  # whoever keeps coming is not forgotten


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "127.0.0.1", "localhost:80", "LOCALHOST", "[::1]:8765", "[::1]", "127.0.0.2:1"]
)
def test_this_machine_has_many_names(world, host):
    assert call(application(*world), "/", headers={"host": host})[0] == 200


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example:8765", "evil@127.0.0.1", "127.0.0.1:x",
     "192.168.0.7:8765", "[::2]"],
)  # fmt: skip
def test_no_other_name_may_be_given_to_this_machine(world, host):
    """DNS rebinding: a site that lets its own name point here reads nothing, and says nothing."""
    app = application(*world)
    for path in ("/", "/api/progress", "/media/x.png"):
        assert call(app, path, headers={"host": host})[0] == 403
    assert call(app, "/api/next", {"annotator": "ann"}, headers={"host": host, "origin": f"http://{host}"})[0] == 403


def test_there_are_no_websockets(world):
    async def talk():
        sent = []

        async def send(message):
            sent.append(message)

        await application(*world)({"type": "websocket", "path": "/", "headers": []}, None, send)
        return sent

    assert asyncio.run(talk()) == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "a\nb", "a\0", "\ud800", 5, None, ["ann"]])
def test_names_that_cannot_be_written_down(world, name):
    assert call(application(*world), "/api/next", {"annotator": name})[0] == 400


@pytest.mark.parametrize("name", ["ann", "山田　太郎", "anonymous-0a1b2c3d", " ann ", "نرگس\u200cها"])
def test_names_that_can(world, name):
    assert call(application(*world), "/api/next", {"annotator": name})[0] == 200


@pytest.mark.parametrize("label", [[], {}, 1, None, True])
def test_labels_are_texts(world, label):
    assert call(application(*world), "/api/answer", {"annotator": "ann", "item": "i1", "label": label})[0] == 400


def test_what_arrives_twice_is_done_once(world):
    """The answer to an answer may get lost; the page then says the same again, with the same turn."""
    desk, content = world
    app = application(desk, content)

    def post(path, turn, **said):
        status, _, text = call(app, f"/api/{path}", {"annotator": "ann", "turn": turn, **said})
        assert status == 200
        return json.loads(text)["item"]["id"]

    first = post("next", "0")
    second = post("answer", "1", item=first, label="yes")
    assert post("answer", "1", item=first, label="yes") == second
    third = post("skip", "2", item=second)
    assert post("skip", "2", item=second) == third
    assert desk.session.known.labels == {first: 1}
    assert desk.session.known.skipped == {second}
    post("undo", "3")
    post("undo", "3")
    assert desk.session.known.labels == {first: 1}
    assert desk.session.known.skipped == set()
    post("undo", "4")
    assert desk.session.known.labels == {}


@pytest.mark.parametrize(
    "error", [EmptyVersionSpace("none of the 4 surviving hypotheses fits"), BadJournal("postgresql://db is gone")]
)
def test_what_stops_a_run_is_told_to_whoever_started_it(world, error, caplog):
    """It speaks of survivors, or of machines; whoever labels hears only that it goes no further."""
    desk, content = world

    def broken(*_, **__):
        raise error

    desk.session.answer = broken
    serve.say_once.cache_clear()
    app = application(desk, content)
    item = json.loads(call(app, "/api/next", {"annotator": "ann"})[2])["item"]["id"]
    for _ in range(3):
        status, _, text = call(app, "/api/answer", {"annotator": "ann", "item": item, "label": "yes"})
    assert (status, str(error) in text.decode()) == (503, False)
    assert [record.message for record in caplog.records] == [str(error)]


def test_an_error_of_ours_has_the_headers_too(world):
    desk, content = world
    content = Content(title="", shown=lambda ids: 1 / 0)
    sent = []
    with pytest.raises(ZeroDivisionError):
        call(SimpleASGI(application(desk, content), sent), "/api/next", {"annotator": "ann"})
    assert sent[0]["status"] == 500
    assert b"x-frame-options" in dict(sent[0]["headers"])


class SimpleASGI:
    """An application whose messages are kept, also if it fails."""

    def __init__(self, app, sent):
        self._app, self._sent = app, sent

    async def __call__(self, scope, receive, send):
        async def keep(message):
            self._sent.append(message)

        await self._app(scope, receive, keep)


def test_how_often_people_agree_is_told_at_the_end(world):
    """Before it, whoever votes and looks would know what somebody else said, and could take the vote back."""
    desk, content = world
    desk.votes = 3
    app = application(desk, content)
    told = json.loads(call(app, "/api/next", {"annotator": "ann"})[2])
    assert set(told["progress"]) == {"labels", "open", "ended", "left", "masses"}
    item = told["item"]["id"]
    for name in ("ann", "bob"):
        text = call(app, "/api/answer", {"annotator": name, "item": item, "label": "yes"})[2]
    assert "agreement" not in json.loads(text)["progress"]
    assert b"agreement" not in call(app, "/api/progress")[2]
    desk.progress = lambda: {"labels": 1, "open": 0, "ended": True, "left": None, "masses": [(n, 0.123456) for n in range(400)],
                             "agreement": {"pairs": 1, "same": 1.0}}  # fmt: skip
    told = json.loads(call(app, "/api/progress")[2])
    assert told["agreement"] == {"pairs": 1, "same": 1.0}
    assert told["masses"][-1] == [399, 0.1235]
    assert 50 < len(told["masses"]) <= 100  # a few hundred bytes, since every page asks every other second


@pytest.fixture
def served(world, monkeypatch):
    """Serve in a thread, until `ended` says so."""
    monkeypatch.setattr(serve, "_GRACE", 0.5)
    running = SimpleNamespace(ended=lambda: False)
    ready = threading.Event()

    def started(port):
        running.port = port
        ready.set()

    def run():
        serve.serve(application(*world), host="127.0.0.1", port=0, ended=lambda: running.ended(), started=started)

    running.thread = threading.Thread(target=run)
    running.thread.start()
    assert ready.wait(20)
    yield running
    running.ended = lambda: True
    running.thread.join(20)
    assert not running.thread.is_alive()


def get(port, path="/"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_end_waits_for_nobody_who_hangs(served):
    """A phone that left in the middle of a request must not keep the certificate from being written."""
    hanging = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    hanging.putrequest("POST", "/api/next")
    hanging.putheader("Content-Type", "application/json")
    hanging.putheader("Content-Length", "100")
    hanging.endheaders(b"{")
    time.sleep(0.3)
    served.ended = lambda: True
    served.thread.join(15)
    assert not served.thread.is_alive()
    hanging.close()


def test_serving_goes_on_while_the_run_is_stuck(served, caplog):
    serve.say_once.cache_clear()

    def stuck():
        raise EmptyVersionSpace("nothing fits")

    served.ended = stuck
    time.sleep(1.0)
    assert [(record.levelno, record.message) for record in caplog.records] == [(logging.ERROR, "nothing fits")]
    assert get(served.port) == 200


def test_the_last_answer_may_be_taken_back(served):
    served.ended = lambda: True
    time.sleep(0.3)
    served.ended = lambda: False
    time.sleep(1.0)
    assert get(served.port) == 200
