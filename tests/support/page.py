"""The page: requests to its application without a server, and a server in a thread."""

import asyncio
import contextlib
import http.client
import json
import threading
from types import SimpleNamespace

import numpy as np

from replical import Protocol, Session, read_pool
from replical.lab.journal.journal import Journal
from replical.lab.page import app, serve
from replical.lab.page.app import Content
from replical.lab.page.people import People
from replical.lab.sessions.labelling import Desk
from replical.lab.tables import ItemColumns

NASTY = "<script>alert(1)</script>"


def application(desk, content, *, token=None, people=None):
    """The page, whoever comes."""
    return app.application(desk, content, People(desk.session) if people is None else people, token=token)


class Person:
    """Somebody with a browser that keeps cookies, at an application without a server."""

    def __init__(self, page, name=None, **headers):
        self.page, self.cookies, self.headers = page, {}, headers
        if name is not None:
            status, _, text = self.post("/api/join", name=name)
            assert status == 200, text

    def get(self, path, query=b""):
        return self._keeping(call(self.page, path, query=query, headers=self._headers()))

    def post(self, path, **said):
        return self._keeping(call(self.page, path, said, headers=self._headers()))

    def item(self, path="/api/next", **said):
        """The item that comes next; None if there is none."""
        status, _, text = self.post(path, **said)
        assert status == 200, text
        shown = json.loads(text)["item"]
        return shown and shown["id"]

    def _headers(self):
        kept = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return self.headers | ({"cookie": kept} if kept else {})

    def _keeping(self, answer):
        for name, value in answer[1].items():
            if name == "set-cookie":
                for each in value.split("\n"):
                    key, _, rest = each.split(";")[0].partition("=")
                    self.cookies[key] = rest.strip('"')
        return answer


def call(
    app, path, body=None, *, method=None, headers=(), raw=None, query=b"", client="127.0.0.1", pieces=1, scheme="http"
):
    """One request to an ASGI application: status, headers, body."""
    sent, data = [], raw if raw is not None else b"" if body is None else json.dumps(body).encode()
    named = {"host": "127.0.0.1:8765", "content-length": str(len(data))} | dict(headers)
    if body is not None:
        named.setdefault("content-type", "application/json")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": scheme, "root_path": "",
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
    told = {}
    for key, value in start["headers"]:  # cookies come one a header
        told[key.decode()] = f"{told[key.decode()]}\n{value.decode()}" if key.decode() in told else value.decode()
    return start["status"], told, text


@contextlib.contextmanager
def opened(tmp_path):
    """A run of three candidates with hostile texts: its desk, and what the page shows."""
    made = Protocol.of({
        "schema": "replical.protocol/1", "seed": "page", "title": NASTY,
        "class": {"kind": "table", "candidates": [{"name": name} for name in ("secret-a", "secret-b", "secret-c")]},
        "labels": {"values": ["no", "yes"]},
        "learner": {"name": "handicap", "epsilon": 0.2, "delta": 0.1, "rho": 0.3, "batch": 3},
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
            title=NASTY,
            columns=ItemColumns(table, ["text"]),
            media=tmp_path / "media",
            instructions=f"# Rules\n\n{NASTY}",
        )
        yield desk, content


@contextlib.contextmanager
def serving(world, monkeypatch, *, token=None, proxy=None, people=None, grace=0.5):
    """Serve in a thread, until `ended` says so."""
    monkeypatch.setattr(serve, "_GRACE", grace)
    running = SimpleNamespace(ended=lambda: False)
    ready = threading.Event()

    def started(port):
        running.port = port
        ready.set()

    def run():
        page = application(*world, token=token, people=people)
        serve.serve(page, host="127.0.0.1", port=0, ended=lambda: running.ended(), started=started, proxy=proxy)

    running.thread = threading.Thread(target=run)
    running.thread.start()
    assert ready.wait(20)
    try:
        yield running
    finally:
        running.ended = lambda: True
        running.thread.join(20)
    assert not running.thread.is_alive()


def get(port, path="/"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    status = connection.getresponse().status
    connection.close()
    return status
