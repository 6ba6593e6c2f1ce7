"""The page among strangers: who is let in, hostile texts and requests, and runs that stop or hang."""

import http.client
import logging
import re
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("starlette")

from replical.errors import BadJournal, EmptyVersionSpace
from replical.lab.page import guard, serve
from replical.lab.page.app import Content, to_html
from support.page import NASTY, Person, application, call, get, opened, serving


@pytest.fixture
def world(tmp_path):
    with opened(tmp_path) as made:
        yield made


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
        "<p>[x](javascript:alert(1)) &lt;img src=x onerror=1&gt;</p>\n"
    )
    plain = Content(title="{{labels}} {{rules}}", columns=content.columns)
    text = call(application(desk, plain), "/")[2].decode()
    assert '<h1 dir="auto">{{labels}} {{rules}}</h1>' in text
    assert "Instructions" not in text  # there are none


@pytest.mark.parametrize(
    "link", ["javascript:x", "JavaScript:x", "data:text/html,x", "vbscript:x", "file:///x", "java\tscript:x"]
)
def test_other_links_stay_text(link):
    for text in (f"[a]({link})", f"[a](<{link}>)", f"<{link}>", f"[a]\n\n[a]: {link}"):
        assert "<a" not in to_html(text)


@pytest.mark.parametrize(
    "text", [NASTY, f"# {NASTY}", f"`{NASTY}`", f"- {NASTY}", f"```{NASTY}\n{NASTY}\n```", "![a](http://x/y.png)"]
)
def test_no_html_of_others_is_made(text):
    assert not re.search(r"<(?:script|img|b|i|svg)\b", to_html(text))


def test_deep_nesting_ends():
    assert len(to_html("> " * 5000 + "[" * 5000 + "*" * 5000)) < 10**6


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "null"},
        {"origin": "http://evil.example", "content-type": "text/plain"},
    ],
)
def test_posts_from_other_sites_are_refused(world, headers):
    app = application(*world)
    ann = Person(app, "ann")
    ann.headers = headers
    for path in ("/api/next", "/api/join"):
        assert ann.post(path, name="ann")[0] == 403
    ann.headers = {"origin": "http://127.0.0.1:8765"}
    assert ann.post("/api/next")[0] == 200


@pytest.mark.parametrize(
    "kind",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx",
     "application/json-seq", "text/plain; application/json", "application/json; charset=latin-1", "application/json,text/plain"],
)  # fmt: skip
def test_posts_are_json_exactly(world, kind):
    ann = Person(application(*world), "ann")
    for said, status in ((kind, 415), ("application/json", 200), ("Application/JSON; charset=UTF-8", 200)):
        ann.headers = {"content-type": said}
        assert ann.post("/api/next")[0] == status


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


def test_bodies_and_rates_have_limits(world, monkeypatch):
    app = application(*world)
    assert call(app, "/api/next", raw=b"x" * 70_000, headers={"content-type": "application/json"})[0] == 413
    for raw in (b"", b"[1]", b"{", b"\xff", b'{"name": 5}', b"[" * 60_000):
        assert call(app, "/api/join", raw=raw, headers={"content-type": "application/json"})[0] == 400
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
    "host",
    ["", "evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example:8765", "evil@127.0.0.1", "127.0.0.1:x",
     "192.168.0.7:8765", "[::2]"],
)  # fmt: skip
def test_no_other_name_may_be_given_to_this_machine(world, host):
    """DNS rebinding: a site that lets its own name point here reads nothing, and says nothing."""
    app = application(*world)
    for path in ("/", "/api/progress", "/media/x.png"):
        assert call(app, path, headers={"host": host})[0] == 403
    assert call(app, "/api/join", {"name": "ann"}, headers={"host": host, "origin": f"http://{host}"})[0] == 403


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
    ann = Person(application(desk, content), "ann")
    item = ann.item()
    for _ in range(3):
        status, _, text = ann.post("/api/answer", item=item, label="yes")
    assert (status, str(error) in text.decode()) == (503, False)
    assert [record.message for record in caplog.records] == [str(error)]


def test_an_error_of_ours_has_the_headers_too(world):
    desk, content = world
    content = Content(title="", columns=lambda ids: 1 / 0)
    sent = []
    ann = Person(application(desk, content), "ann")
    app = ann.page

    async def overheard(scope, receive, send):
        async def keep(message):
            sent.append(message)

        await app(scope, receive, keep)

    ann.page = overheard
    with pytest.raises(ZeroDivisionError):
        ann.post("/api/next")
    assert sent[0]["status"] == 500
    assert b"x-frame-options" in dict(sent[0]["headers"])


@pytest.fixture
def served(world, monkeypatch):
    with serving(world, monkeypatch) as running:
        yield running


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
