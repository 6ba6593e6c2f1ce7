"""The page's application: routes, what it never says, and who is let in."""

import asyncio
import json
import re

import numpy as np
import pytest

pytest.importorskip("starlette")
from replical import Protocol, Session, read_pool
from replical.desk import Desk
from replical.errors import ValueOutOfRange
from replical.journal import Journal
from replical.page.app import Content, application
from replical.page.markdown import to_html
from replical.page.serve import token_for
from replical.tables import Shown

NASTY = "<script>alert(1)</script>"


def call(app, path, body=None, *, method=None, headers=(), raw=None, query=b""):
    """One request to an ASGI application: status, headers, body."""
    sent, data = [], raw if raw is not None else b"" if body is None else json.dumps(body).encode()
    named = {"host": "127.0.0.1:8765", "content-length": str(len(data))} | dict(headers)
    if body is not None:
        named.setdefault("content-type", "application/json")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
        "method": method or ("GET" if body is None and raw is None else "POST"), "path": path, "raw_path": path.encode(),
        "query_string": query, "headers": [(k.encode(), v.encode()) for k, v in named.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8765),
    }  # fmt: skip
    waiting = [{"type": "http.request", "body": data, "more_body": False}]

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
    ):
        assert call(app, path)[0] == 404


def test_without_the_token_nothing(world):
    app = application(*world, token="let me in")
    for path in ("/", "/api/progress", "/media/x.png"):
        assert call(app, path)[0] == 403
    assert call(app, "/", query=b"token=guess")[0] == 403
    status, headers, _ = call(app, "/", query=b"token=let%20me%20in")
    assert status == 303
    assert "httponly" in headers["set-cookie"].lower()
    assert "samesite=strict" in headers["set-cookie"].lower()
    cookie = headers["set-cookie"].split(";")[0].replace('"', "")
    assert call(app, "/", headers={"cookie": cookie})[0] == 200


def test_tokens_are_for_other_machines():
    assert token_for("127.0.0.1") is token_for("localhost") is token_for("::1") is None
    assert len(token_for("0.0.0.0")) >= 24
    assert token_for("0.0.0.0") != token_for("0.0.0.0")
    with pytest.raises(ValueOutOfRange, match="--host must be an address"):
        token_for("example")


def test_bodies_and_rates_have_limits(world):
    app = application(*world)
    assert call(app, "/api/next", raw=b"x" * 70_000, headers={"content-type": "application/json"})[0] == 413
    for raw in (b"", b"[1]", b"{", b"\xff", b'{"annotator": 5}', b"[" * 60_000):
        assert call(app, "/api/next", raw=raw, headers={"content-type": "application/json"})[0] == 400
    statuses = {call(app, "/api/progress")[0] for _ in range(400)}
    assert statuses == {200, 429}
