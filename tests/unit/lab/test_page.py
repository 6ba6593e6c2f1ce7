"""The page's application: its routes, what it shows and what it never says."""

import asyncio
import json
import time

import pytest

pytest.importorskip("starlette")

from replical.errors import ValueOutOfRange
from replical.lab.page.app import Content, to_html
from replical.lab.page.serve import check_address
from support.page import Person, application, call, get, opened, serving


@pytest.fixture
def world(tmp_path):
    with opened(tmp_path) as made:
        yield made


def test_a_person_labels_and_sees_no_predictions(world):
    desk, content = world
    app = application(desk, content)
    ann, bob = Person(app, "ann"), Person(app, "bob")
    item = ann.item()
    status, _, text = ann.post("/api/answer", item=item, label="yes")
    assert status == 200
    assert desk.session.ledger.labels == {item: 1}
    for path in ("/", "/api/progress"):
        text += ann.get(path)[2]
    assert b"secret" not in text  # names of candidates, let alone what they say
    assert b"survivors" not in text
    assert bob.post("/api/answer", item=item, label="no")[0] == 409
    assert bob.post("/api/answer", item=item, label="maybe")[0] == 400
    assert Person(app).post("/api/answer", item=item, label="no")[0] == 401
    assert ann.post("/api/undo")[0] == 200
    assert desk.session.ledger.labels == {}
    assert ann.post("/api/skip", item=item)[0] == 200
    assert desk.session.ledger.skipped == {item}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\ntext\n- one\n  goes on\n- two\n\n1. first\n2. next\nmore", "<h2>A</h2>\n<p>text</p>\n"
         "<ul>\n<li>one\ngoes on</li>\n<li>two</li>\n</ul>\n<ol>\n<li>first</li>\n<li>next\nmore</li>\n</ol>\n"),
        ("###### A", "<h6>A</h6>\n"),
        ("press `s` or `<`, not `ss`", "<p>press <kbd>s</kbd> or <kbd>&lt;</kbd>, not <code>ss</code></p>\n"),
        ("`a*b*c` **x** *y* 2 * 3 * 4", "<p><code>a*b*c</code> <strong>x</strong> <em>y</em> 2 * 3 * 4</p>\n"),
        ("[a *b*](https://x.org/?p=1&q=*2*)", '<p><a href="https://x.org/?p=1&amp;q=*2*" target="_blank" '
         'rel="noopener noreferrer">a <em>b</em></a></p>\n'),
        ("[a](/media/x.png)", '<p><a href="/media/x.png" target="_blank" rel="noopener noreferrer">a</a></p>\n'),
        ("[a](mailto:b@c.org)", '<p><a href="mailto:b@c.org" target="_blank" rel="noopener noreferrer">a</a></p>\n'),
        ('[a](http://x"onclick=1)', '<p><a href="http://x%22onclick=1" target="_blank" rel="noopener noreferrer">a</a></p>\n'),
        ("![a](/media/x.png)", '<p>!<a href="/media/x.png" target="_blank" rel="noopener noreferrer">a</a></p>\n'),
        ("", ""),
    ],
)  # fmt: skip
def test_instructions_in_markdown(text, expected):
    assert to_html(text) == expected


def test_security_headers_are_on_every_answer(world):
    app = application(*world)
    for path in ("/", "/nowhere", "/assets/page.js", "/api/progress"):
        headers = call(app, path)[1]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


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
    shown = Content(title="", columns=lambda ids: {each: {"what": value} for each in ids}, media=content.media)
    told = json.loads(Person(application(desk, shown), "ann").post("/api/next")[2])
    assert told["item"]["fields"] == [{"name": "what"} | expected]
    if "source" in expected:
        path = {"/media/x.png": "/media/x.png"}.get(expected["source"], "/media/a b/ü#?.png")
        assert call(application(desk, shown), path)[0] == 200


def test_which_addresses_are_this_machine_s():
    assert check_address("--host", "127.0.0.1")
    assert check_address("--host", "localhost")
    assert check_address("--host", "::1")
    assert not check_address("--host", "0.0.0.0")
    with pytest.raises(ValueOutOfRange, match="--host must be an address"):
        check_address("--host", "example")


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "127.0.0.1", "localhost:80", "LOCALHOST", "[::1]:8765", "[::1]", "127.0.0.2:1"]
)
def test_this_machine_has_many_names(world, host):
    assert call(application(*world), "/", headers={"host": host})[0] == 200


def test_there_are_no_websockets(world):
    async def talk():
        sent = []

        async def send(message):
            sent.append(message)

        await application(*world)({"type": "websocket", "path": "/", "headers": []}, None, send)
        return sent

    assert asyncio.run(talk()) == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    "name", ["x" * 81, "a\nb", "a\0", "\ud800", 5, None, ["ann"], "vote", "VOTE ", "ＶＯＴＥ", "anonymous-1"]
)
def test_names_that_cannot_be_written_down(world, name):
    assert Person(application(*world)).post("/api/join", name=name)[0] == 400


@pytest.mark.parametrize("name", ["ann", "山田　太郎", " ann ", "نرگس\u200cها", "", "  "])
def test_names_that_can(world, name):
    person = Person(application(*world), name)
    assert person.post("/api/next")[0] == 200
    known = json.loads(person.post("/api/join", name="")[2])["name"]
    assert known == name.strip() or (not name.strip() and known.startswith("anonymous-"))


@pytest.mark.parametrize("label", [[], {}, 1, None, True])
def test_labels_are_texts(world, label):
    assert Person(application(*world), "ann").post("/api/answer", item="i1", label=label)[0] == 400


def test_what_arrives_twice_is_done_once(world):
    """The answer to an answer may get lost; the page then says the same again, with the same turn."""
    desk, content = world
    ann = Person(application(desk, content), "ann")

    def post(path, turn, **said):
        return ann.item(f"/api/{path}", turn=turn, **said)

    first = post("next", "0")
    second = post("answer", "1", item=first, label="yes")
    assert post("answer", "1", item=first, label="yes") == second
    third = post("skip", "2", item=second)
    assert post("skip", "2", item=second) == third
    assert desk.session.ledger.labels == {first: 1}
    assert desk.session.ledger.skipped == {second}
    post("undo", "3")
    post("undo", "3")
    assert desk.session.ledger.labels == {first: 1}
    assert desk.session.ledger.skipped == set()
    post("undo", "4")
    assert desk.session.ledger.labels == {}


def test_how_often_people_agree_is_told_at_the_end(world):
    """Before it, whoever votes and looks would know what somebody else said, and could take the vote back."""
    desk, content = world
    desk.votes = 3
    app = application(desk, content)
    people = [Person(app, name) for name in ("ann", "bob")]
    told = json.loads(people[0].post("/api/next")[2])
    assert set(told["progress"]) == {"labels", "open", "ended", "left", "about", "within"}
    item = told["item"]["id"]
    for person in people:
        text = person.post("/api/answer", item=item, label="yes")[2]
    assert "agreement" not in json.loads(text)["progress"]
    assert b"agreement" not in call(app, "/api/progress")[2]
    desk.progress = lambda: {"labels": 1, "open": 0, "ended": True, "left": None, "about": None, "agreement": {"pairs": 1, "same": 1.0}}  # fmt: skip
    told = json.loads(call(app, "/api/progress")[2])
    assert told["agreement"] == {"pairs": 1, "same": 1.0}


@pytest.fixture
def served(world, monkeypatch):
    with serving(world, monkeypatch) as running:
        yield running


def test_the_last_answer_may_be_taken_back(served):
    served.ended = lambda: True
    time.sleep(0.3)
    served.ended = lambda: False
    time.sleep(1.0)
    assert get(served.port) == 200
