"""Nobody is somebody else at the page: answers, votes and what is taken back are those of one browser or one link."""

import contextlib
import http.client
import json
import re
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")

from replical.errors import BadUsage
from replical.lab.journal.journal import Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.journal.reservations import Reservations
from replical.lab.page.people import LONGEST_NAME, NameTaken, People, looks_like, name_of
from replical.lab.sessions.labelling import Desk, RemoteRun
from support.attacks import times
from support.page import Person, application, opened, serving


@pytest.fixture
def world(tmp_path):
    with opened(tmp_path) as made:
        yield made


def rows(desk, kind):
    """Who did so, in order."""
    return [event.annotator for event in desk.session.journal.events() if event.kind == kind]


def test_nobody_answers_as_somebody_else(world):
    """Before, a name in the message was enough."""
    desk = world[0]
    app = application(*world)
    ann, eve = Person(app, "ann"), Person(app)
    item = ann.item()
    for said in ({}, {"annotator": "ann"}, {"name": "ann"}, {"who": "ann"}):
        assert eve.post("/api/answer", item=item, label="no", **said)[0] == 401
        assert eve.post("/api/next", **said)[0] == 401
    assert eve.post("/api/join", name="eve")[0] == 200
    assert eve.post("/api/answer", item=item, label="no", annotator="ann")[0] == 200
    assert rows(desk, "answer") == ["eve"]


def test_nobody_takes_back_what_somebody_else_said(world):
    desk = world[0]
    app = application(*world)
    ann, eve = Person(app, "ann"), Person(app, "eve")
    item = ann.item()
    assert ann.post("/api/answer", item=item, label="yes")[0] == 200
    assert eve.post("/api/undo", annotator="ann")[0] == 409
    assert desk.session.ledger.labels == {item: 1}
    assert ann.post("/api/undo")[0] == 200
    assert desk.session.ledger.labels == {}


@pytest.mark.parametrize("name", ["ann", "Ann", " ANN ", "ａｎｎ"])
def test_a_name_is_taken_however_it_is_written(world, name):
    """Also before its first label, and after a restart of the server."""
    app = application(*world)
    ann, eve = Person(app, "ann"), Person(app)
    assert eve.post("/api/join", name=name)[0] == 409
    assert eve.cookies == {}
    assert ann.post("/api/answer", item=ann.item(), label="yes")[0] == 200
    again = application(*world)
    assert Person(again).post("/api/join", name=name)[0] == 409
    ann.page = again
    assert ann.post("/api/next")[0] == 200
    assert b'data-name="ann" data-may="keep"' in ann.get("/")[2]


def test_one_browser_has_one_vote(world):
    """Three names in one browser are one person, and three browsers are three."""
    desk, content = world
    desk.votes = 3
    app = application(desk, content)
    eve = Person(app, "eve")
    item = eve.item()
    assert eve.post("/api/answer", item=item, label="no")[0] == 200
    for name in ("fay", "gus", ""):
        status, _, text = eve.post("/api/join", name=name)
        assert (status, b"this browser labels as eve" in text) == ((200, False) if not name else (409, True))
        assert eve.post("/api/answer", item=item, label="no", annotator=name)[0] == 409
    assert desk.session.ledger.votes == {item: {"eve": 0}}
    assert desk.session.ledger.labels == {}
    for name in ("ann", "bob"):
        assert Person(app, name).post("/api/answer", item=item, label="yes")[0] == 200
    assert desk.session.ledger.labels == {item: 1}


def test_a_cookie_is_not_made_from_a_name(world):
    """No name, no hash of the journal and no other person's link says who somebody is."""
    desk = world[0]
    app = application(*world)
    ann, people = Person(app, "ann"), People(desk.session)
    assert ann.post("/api/answer", item=ann.item(), label="yes")[0] == 200
    link = people.link("bob")
    forged = [
        "ann", "YW5u", "YW5u.", ".", "", desk.session.ledger.people["ann"], "YW5u." + link.partition(".")[2], link[:-1],
        link + "=", "=" + link, link.upper(), "é", "\ud800".encode("utf-8", "replace").decode(),
    ]  # fmt: skip
    for value in forged:
        eve = Person(app)
        eve.cookies[people.cookie] = value
        assert eve.post("/api/next")[0] == 401, value
        assert eve.get("/", query=f"person={value}".encode())[0] == 200  # nothing of it is believed
        assert eve.cookies == {people.cookie: value}
    assert list(ann.cookies) == [people.cookie]
    assert ann.cookies[people.cookie] not in json.dumps([event.detail for event in desk.session.journal.events()])


def test_cookies_are_for_the_server_alone(world):
    app = application(*world, token="let me in")
    _, headers, _ = Person(app).get("/", query=b"token=let+me+in")
    ann = Person(app)
    ann.get("/", query=b"token=let+me+in")
    _, joined, _ = ann.post("/api/join", name="ann")
    for cookie in (headers["set-cookie"], joined["set-cookie"]):
        words = {word.strip().lower() for word in cookie.split(";")}
        assert {"httponly", "samesite=lax", "path=/"} <= words
        assert "secure" not in words  # it would never come back, without TLS


@pytest.mark.parametrize(("proxy", "secure"), [(None, False), ("127.0.0.1", True)])
def test_only_a_proxy_that_is_named_says_that_it_was_tls(world, monkeypatch, proxy, secure):
    """Before, every program of this machine could say where it came from, and how."""
    with serving(world, monkeypatch, token="secret", proxy=proxy) as running:
        client = http.client.HTTPConnection("127.0.0.1", running.port, timeout=5)
        client.request("GET", "/?token=secret", headers={"X-Forwarded-Proto": "https", "X-Forwarded-For": "10.9.9.9"})
        answer = client.getresponse()
        assert ("secure" in answer.headers["Set-Cookie"].lower()) is secure
        assert answer.headers["Location"] == "/"
        client.close()


def test_a_personal_link_is_a_person_and_lets_in(world):
    desk = world[0]
    people = People(desk.session, closed=True)
    app = application(*world, token="secret", people=people)
    link = f"person={people.link('Ann Ö')}".encode()
    ann, eve = Person(app), Person(app)
    status, headers, _ = ann.get("/", query=link)
    assert (status, headers["location"]) == (303, "/")
    assert b'data-name="Ann \xc3\x96" data-may="keep"' in ann.get("/")[2]
    assert ann.post("/api/join", name="eve")[0] == 409
    assert ann.post("/api/answer", item=ann.item(), label="yes")[0] == 200
    assert rows(desk, "answer") == ["Ann Ö"]
    assert eve.get("/")[0] == 403
    assert eve.get("/", query=b"token=secret")[0] == 303
    assert b'data-may="nothing"' in eve.get("/")[2]
    for name in ("eve", "Ann Ö", ""):
        assert eve.post("/api/join", name=name)[0] == 409
    other = Person(application(*world, token="secret", people=People(desk.session, closed=True)))
    assert other.get("/", query=link)[0] == 303  # on her phone, after a restart
    assert other.post("/api/answer", item=other.item(), label="yes")[0] == 200
    assert rows(desk, "join") == ["Ann Ö"]


@pytest.mark.parametrize("n", times("a link of one person, opened in the browser of another (simulated browsers)"))
def test_a_link_asks_before_it_takes_over_a_browser(n, world):
    desk = world[0]
    people = People(desk.session)
    app = application(*world, people=people)
    ann, eve = Person(app, None if n % 2 else "ann"), Person(app)
    if n % 2:
        ann.get("/", query=f"person={people.link('ann')}".encode())
    link = f"person={people.link('<i>eve')}"
    assert eve.get("/", query=link.encode())[0] == 303
    guess = ("", "&instead=yes", f"&instead={people.link('ann')}", "&instead=" + "A" * 32)[n % 4]
    status, headers, text = ann.get("/", query=(link + guess).encode())
    assert (status, "set-cookie" in headers) == (200, False)
    assert b"labels as ann" in text
    assert b"<i>" not in text
    assert b'data-name="ann"' in ann.get("/")[2]
    code = re.search(rb'href="/\?([^"]*)"', text).group(1).decode().replace("&amp;", "&")
    assert eve.get("/", query=code.encode())[0] == 303  # already hers: nothing to ask
    other = Person(app, "bob")
    assert other.get("/", query=code.encode())[0] == 200  # what one browser was told is no yes in another
    assert ann.get("/", query=code.encode())[0] == 303
    assert b'data-name="&lt;i&gt;eve"' in ann.get("/")[2]


def test_links_of_one_run_open_no_other(world, tmp_path):
    (tmp_path / "other").mkdir()
    with opened(tmp_path / "other") as other:
        people, others = People(world[0].session), People(other[0].session)
        assert people.linked_name(people.link("ann")) == "ann"
        assert others.linked_name(people.link("ann")) is None
        assert people.cookie != others.cookie
        assert people.secret_for("token") != others.secret_for("token") != people.secret_for("cookie")


def test_names_that_never_label_expire(world):
    """Before, nothing did; whoever had one keeps it as long as nobody else wants it."""
    desk, now = world[0], [0.0]
    people = People(desk.session, clock=lambda: now[0])
    app = application(*world, people=people)
    ghost, ann = Person(app, "ann"), Person(app)
    assert ann.post("/api/join", name="ann")[0] == 409
    now[0] = 601.0
    assert ghost.post("/api/next")[0] == 200
    assert ann.post("/api/join", name="ann")[0] == 200
    assert ghost.post("/api/next")[0] == 401
    assert ann.post("/api/answer", item=ann.item(), label="yes")[0] == 200
    now[0] = 10_000.0
    assert ghost.post("/api/join", name="ann")[0] == 409
    assert rows(desk, "join") == ["ann"]


def test_many_names_use_up_little(world, monkeypatch):
    monkeypatch.setattr("replical.lab.page.people._RESERVED", 50)
    people = People(world[0].session)
    for number in range(150):
        people.join("", f"name {number}")
    assert len(people._reserved) <= 50
    assert people.join("", "name 1")[0] == "name 1"
    with pytest.raises(NameTaken):
        people.join("", "name 149")


def test_people_who_never_say_anything_hold_nothing_up(world):
    """A name that only asks for items keeps one from others for a while, once; before, again and again."""
    desk, now = world[0], [0.0]
    journal = desk.session.journal
    journal.reservations = Reservations(journal._database, lambda: now[0])
    desk = Desk(desk.session, clock=lambda: now[0])
    ghosts = [f"ghost {number}" for number in range(3)]
    for ghost in ghosts:
        assert desk.next(ghost) is not None
    assert desk.next("ann") is None
    now[0] += 31
    for _ in range(10):
        for ghost in ghosts:
            desk.next(ghost)
        item = desk.next("ann")
        assert item is not None
        desk.answer("ann", item, "yes")
        now[0] += 1


def test_two_servers_and_one_name(world):
    """Both give it away, and the first label decides; the other one hears of it before anything is written."""
    desk = world[0]
    with Journal(desk.session.journal.where, runner=False) as journal:
        other = Desk(RemoteRun(journal))
        ann, eve = Person(application(*world), "ann"), Person(application(other, world[1]), "ann")
        (item, next_item), _ = desk.session.open[:2], eve.item()
        assert ann.post("/api/answer", item=item, label="yes")[0] == 200
        assert eve.post("/api/answer", item=next_item, label="no")[0] == 409
        assert eve.post("/api/next")[0] == 401
        assert rows(desk, "answer") == ["ann"]
        ann.page = eve.page  # her browser at the other server
        assert ann.post("/api/answer", item=next_item, label="yes")[0] == 200
    assert rows(desk, "join") == ["ann"]


def test_many_join_at_once(world):
    """Every name is given to one browser, whatever happens at the same moment."""
    app = application(*world)

    def join(number):
        person = Person(app)
        return number % 5, person.post("/api/join", name=f"name {number % 5}")[0]

    with ThreadPoolExecutor(8) as crowd:
        given = [name for name, status in crowd.map(join, range(60)) if status == 200]
    assert sorted(given) == list(range(5))


class Shared:
    """A run as two servers see it: one list of events, and for each what it has heard of them."""

    def __init__(self, events):
        self.journal = SimpleNamespace(created={"private": "00" * 32}, append=events.extend)
        self.ledger, self._events, self._heard = Ledger(), events, 0

    def refresh(self):
        for event in self._events[self._heard :]:
            self.ledger.hear(event)
        self._heard = len(self._events)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["join", "label", "look", "wait", "restart"]),
        st.integers(0, 1),  # at which server
        st.integers(0, 3),  # which browser
        st.sampled_from(["ann", "Ann", "bob", "", "ａｎｎ", "cat"]),
    ),
    max_size=40,
)


@settings(max_examples=60)
@given(steps=STEPS)
@example([("join", 1, 0, "ann"), ("label", 1, 0, "ann"), ("join", 0, 0, "cat"), ("label", 0, 0, "cat")])
def test_one_browser_one_person_one_name(steps):
    """Whatever four browsers do at two servers, labels under one name are from one browser, and one browser has one."""
    events, now, cookies = [], [0.0], [""] * 4
    servers = [People(Shared(events), clock=lambda: now[0]) for _ in range(2)]
    labelled = {}  # under which name, by which browser
    for what, at, browser, name in steps:
        people = servers[at]
        if what == "wait":
            now[0] += 400
        elif what == "restart":
            servers[at] = People(Shared(events), clock=lambda: now[0])
        elif what == "look":
            people._run.refresh()
        elif what == "join":
            with contextlib.suppress(NameTaken):
                given_name, cookies[browser] = people.join(cookies[browser], name)
                assert people.who(cookies[browser]) == given_name
        elif (who := people.who(cookies[browser])) is not None:
            with contextlib.suppress(NameTaken):
                people.bind(cookies[browser], who)
                assert labelled.setdefault(looks_like(who), browser) == browser
    assert len(set(labelled.values())) == len(labelled)
    assert len([event for event in events if event.kind == "join"]) == len(labelled)


NAMES = st.text(max_size=LONGEST_NAME + 5)


@settings(max_examples=40)
@given(said=st.one_of(NAMES, st.none(), st.integers(), st.lists(NAMES)))
def test_names_are_kept_as_they_are_or_refused(said):
    try:
        name = name_of(said)
    except BadUsage:
        return
    assert name == name_of(name)
    assert name == name.strip()
    assert len(name) <= LONGEST_NAME
    assert looks_like(name) == looks_like(f"  {name} ")
