"""People at the terminal and beside a run: labels named like commands, impossible ports, agreement."""

import io
import re
from types import SimpleNamespace

import pytest

from replical.cli import main
from replical.cli.page import _tell_agreement
from replical.lab.journal.journal import Journal
from replical.lab.protocol import Protocol
from support.lab import content, world, write_csv
from support.page import Person, call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "pool.csv", world(seed=5, items=150))
    (tmp_path / "p.toml").write_text(Protocol.of(content(batch=2)).toml())
    return tmp_path


RUN = ["run", "p.toml", "--pool", "pool.csv", "--journal", "a.db", "--out", "a.json", "--truths", "0"]


def kinds(name):
    with Journal(name, write=False) as journal:
        return [(event.kind, event.label) for event in journal.events() if event.kind in ("answer", "skip")]


def test_labels_named_like_commands_are_labels(folder, monkeypatch, capsys):
    said = content(batch=2) | {"labels": {"values": ["s", "q"]}}
    (folder / "p.toml").write_text(Protocol.of(said).toml())
    text = (folder / "pool.csv").read_text().replace(",no", ",s").replace(",yes", ",q")
    (folder / "pool.csv").write_text(text)
    monkeypatch.setattr("sys.stdin", io.StringIO("s\nq\n?\n/q\n"))
    assert main([*RUN, "--ask", "terminal"]) == 3
    assert kinds("a.db") == [("answer", 0), ("answer", 1), ("skip", None)]
    assert "'?' skips an item you cannot label, '/q' leaves." in capsys.readouterr().err


def test_a_number_that_is_no_label_is_not_taken_for_a_place(folder, monkeypatch, capsys):
    """Whoever typed 2 where labels are 0 and 1 once said 1."""
    said = content(batch=2) | {"labels": {"values": [0, 1]}}
    (folder / "p.toml").write_text(Protocol.of(said).toml())
    text = (folder / "pool.csv").read_text().replace(",no", ",0").replace(",yes", ",1")
    (folder / "pool.csv").write_text(text)
    monkeypatch.setattr("sys.stdin", io.StringIO("2\n1\n0\nq\n"))
    assert main([*RUN, "--ask", "terminal"]) == 3
    assert kinds("a.db") == [("answer", 1), ("answer", 0)]
    assert "'2' is none of [0, 1]" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["99999", "-5", "65536"])
def test_a_port_that_cannot_be(folder, port, capsys):
    pytest.importorskip("starlette")
    assert main([*RUN, "--ask", "page", "--page", f"port={port}"]) == 2
    assert f"a port is a number from 0 to 65535, got {port}" in capsys.readouterr().err


def test_agreement_is_told_to_whoever_runs(capsys):
    _tell_agreement({"pairs": 0, "same": None, "beyond_chance": None})
    assert capsys.readouterr().err == ""
    _tell_agreement({"pairs": 1200, "same": 0.9, "beyond_chance": 0.8})
    told = capsys.readouterr().err.replace("\n", " ")
    assert told.startswith("Two people who labelled the same item agreed in 90% of 1,200 cases (Scott's pi 0.80: ")


@pytest.fixture
def page(monkeypatch):
    """What would be served, and where."""
    pytest.importorskip("starlette")
    served = SimpleNamespace()

    def pretend(app, *, host, port, ended, started, proxy=None):
        served.app, served.host, served.proxy = app, host, proxy
        started(port)

    monkeypatch.setattr("replical.lab.page.serve.serve", pretend)
    return served


def told(capsys):
    return capsys.readouterr().err.replace("\n ", " ")


def test_the_address_has_a_token_on_this_machine_too(folder, page, capsys):
    """Other users and programs of this machine are strangers as well; before, they were let in."""
    assert main([*RUN, "--ask", "page"]) == 3
    first = re.search(r"Label at http://127\.0\.0\.1:8765/\?token=(\S{32})\n", told(capsys))[1]
    assert call(page.app, "/")[0] == call(page.app, "/api/join", {"name": "eve"})[0] == 403
    assert call(page.app, "/", query=f"token={first}".encode())[0] == 303
    assert main([*RUN, "--ask", "page", "--page", "host=0.0.0.0"]) == 3
    assert f"?token={first}\n" in told(capsys), "people keep their address when the page is served again"


def test_without_a_token_if_asked_for(folder, page, capsys):
    assert main([*RUN, "--ask", "page", "--page", "token=no"]) == 3
    assert "Label at http://127.0.0.1:8765/\n" in told(capsys)
    assert call(page.app, "/")[0] == 200
    assert call(page.app, "/", headers={"host": "evil.example"})[0] == 403


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--page", "token=no", "--page", "host=0.0.0.0"], "--page token=no is for a page on this machine alone"),
        (["--page", "token=no", "--page", "proxy=127.0.0.1"], "--page token=no is for a page on this machine alone"),
        (["--page", "host=example"], "--page host must be an address such as 127.0.0.1 or 0.0.0.0, got 'example'"),
        (["--page", "proxy=nginx"], "--page proxy must be an address such as 127.0.0.1 or 0.0.0.0, got 'nginx'"),
        (["--page", "people=none.txt"], "cannot read the people none.txt"),
        (["--page", "people=long.txt"], "a name has at most 80 letters"),
        (["--page", "people=twice.txt"], "twice.txt: 'Ann' and 'ann' look like one person: change one of them"),
        (["--page", "people=vote.txt"], "vote.txt: vote cannot be a name here"),
        (["--page", "people=two.txt", "--page", "votes=3"], "--page votes=3 needs as many people at least, two.txt names 2"),
        (["--page", "prot=80"], "--page has no key 'prot': did you mean port?"),
        (["--page", "Media=."], "--page has no key 'Media': did you mean media?"),
        (["--page", "colour=red"], "its keys are votes, host, port, media, instructions, people, token, proxy"),
        (["--page", "port"], "--page port=.. takes a whole number, got 'port'"),
        (["--page", "media="], "--page media=.. takes a path, got 'media='"),
        (["--page", "port=high"], "--page port=.. takes a whole number, got 'port=high'"),
        (["--page", "votes=2"], "votes must be an odd number, so that they decide, got 2"),
        (["--page", "token=off"], "--page token=.. takes yes or no, got 'token=off'"),
        (["--page", "port=1", "--page", "port=2"], "--page gives port twice: leave one of them out"),
    ],
)  # fmt: skip
def test_what_a_page_cannot_be(folder, page, capsys, words, why):
    files = {"twice": "Ann\nann\n", "vote": "vote\n", "two": "Ann\n\nBob\n", "long": "x" * 90}
    for name, people in files.items():
        (folder / f"{name}.txt").write_text(people)
    assert main([*RUN, "--ask", "page", *words]) == 2
    assert why in told(capsys).replace("\n", " ")
    assert not hasattr(page, "app")


def test_people_by_their_links(folder, page, capsys):
    (folder / "people.txt").write_text("Ann\nBob Ö\n", encoding="utf-8")
    assert main([*RUN, "--ask", "page", "--page", "people=people.txt", "--page", "votes=1"]) == 3
    links = dict(re.findall(r"(.+) labels at http://127\.0\.0\.1:8765/\?person=(\S+)", said := told(capsys)))
    assert list(links) == ["Ann", "Bob Ö"]
    assert "token" not in said
    ann = Person(page.app)
    assert ann.get("/", query=f"person={links['Ann']}".encode())[0] == 303
    assert ann.post("/api/next")[0] == 200
    assert main(["label", "a.db", "--invite", "Ann", "--page", "port=80"]) == 0
    assert capsys.readouterr().out == f"http://127.0.0.1:80/?person={links['Ann']}\n"
    assert main(["label", "a.db", "--invite", "vote"]) == 2
    assert "--invite: vote cannot be a name here" in told(capsys)


def test_a_proxy_is_believed_where_it_is_named(folder, page):
    """`Secure` cookies behind TLS; nobody else may say that they came by TLS, or from where."""
    assert main([*RUN, "--ask", "page", "--page", "proxy=127.0.0.1"]) == 3
    assert page.proxy == "127.0.0.1"
    for scheme, secure in (("http", False), ("https", True)):
        headers = call(page.app, "/", query=f"token={page.app._token}".encode(), scheme=scheme)[1]
        assert ("secure" in headers["set-cookie"].lower()) is secure
