"""A run that asks at a Label Studio server: a stand-in here, which speaks what is used of the documented API.

The whole was tried against release 1.23.2 as well: docs/how-to/label-by-file.md.
"""

import contextlib
import csv
import json
import random
import re
import shlex
import threading

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")

from replical.cli import main
from replical.lab.certificate.file import read
from replical.lab.journal import journal as journal_module
from replical.lab.protocol import Protocol
from replical.lab.sessions import label_studio
from support.lab import content, private, world, write_csv
from support.label_studio_server import KEY, PERSONAL, people, serving
from support.paths import ROOT


class KilledError(BaseException):
    """As if the process were killed."""


@pytest.fixture
def server():
    with serving() as made:
        yield made


@pytest.fixture
def lab(tmp_path, monkeypatch, capsys, server):
    """A lab whose run looks at the server all the time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(journal_module.secrets, "token_hex", lambda size: private("label studio"))
    monkeypatch.setattr(label_studio, "_LOOK", 0.01)
    monkeypatch.setattr(label_studio, "_LONGEST", 0.5)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", KEY)
    columns = world(seed=5, items=150)
    write_csv(tmp_path / "pool.csv", columns)
    (tmp_path / "p.toml").write_text(Protocol.of(content(batch=5, title="Yes or no?")).toml())

    class Lab:
        folder, truth = tmp_path, dict(zip(columns["id"], columns["truth"], strict=True))

        def run(self, *words, code=0, name="lab"):
            found = main(["run", "p.toml", "--pool", "pool.csv", "--journal", f"{name}.db", "--out", f"{name}.json",
                          "--truths", "0", *words])  # fmt: skip
            out, err = capsys.readouterr()
            assert found == code, out + err
            return out + err

        def live(self, *words, code=0, **more):
            return self.run("--ask", "label-studio", "--page", f"url={server.url}", *words, code=code, **more)

        def right(self, project, task):
            project.annotate(task, self.truth[task["data"]["item"]], who=7)

        def history(self, name="lab"):
            main(["journal", "export", f"{name}.db"])
            return capsys.readouterr().out

        def body(self, name="lab"):
            return read(self.folder / f"{name}.json")["body"]

    return Lab()


def rows(history):
    return list(csv.DictReader(history.splitlines()))


def items(server, number=1):
    return [task["data"]["item"] for task in server.projects[number].tasks]


# ---- the whole way ----


def test_labels_from_a_server_give_the_result_of_labels_from_a_column(lab, server):
    lab.run("--labels", "pool.csv:truth", name="whole")
    with people(server, lab.right):
        told = lab.live("--show", "text")
    assert f"Label at {server.url}/projects/1\n" in told
    assert lab.body() == lab.body("whole")
    assert lab.history().count(",7,") == lab.body()["labels"]["answered"] == len(server.projects[1].tasks)
    assert main(["verify", "lab.json", "--pool", "pool.csv", "--journal", "lab.db"]) == 0
    assert {task["data"]["show_0"][:5] for task in server.projects[1].tasks} == {"text "}
    assert all(set(task["data"]) == {"id", "item", "show_0", "run"} for task in server.projects[1].tasks)
    sent = json.dumps([server.made, [task["data"] for task in server.projects[1].tasks]])
    assert not re.search(r"\bm\d\b", sent)  # no model: nothing but what the lab chose to show leaves the house
    assert server.made[1]["title"].startswith("Yes or no?: sha256:")
    calls = len(server.calls)
    lab.live("--show", "text")  # it has ended: nobody is asked
    assert len(server.calls) == calls


@pytest.mark.parametrize("lost", ["nothing", "project", "task"])
def test_a_run_that_is_killed_goes_on_where_it_was(lab, server, monkeypatch, lost):
    """Also where the server did what was asked and nobody heard of it: what is there is found again."""
    kills, paths = iter((3, 5, 8, 13, 21)), {"project": "/api/projects", "task": "/api/tasks/"}
    looks, limit = 0, next(kills)

    def wait(seconds):
        nonlocal looks
        looks += 1
        if looks >= limit:
            raise KilledError
        threading.Event().wait(seconds)

    monkeypatch.setattr(label_studio.time, "sleep", wait)
    dropped = []

    def drop(method, path):
        if method == "POST" and path == paths.get(lost) and not dropped:
            dropped.append(path)
            return "drop"
        return None

    server.faults = drop
    if lost == "project":
        assert "does not answer" in lab.live(code=2)
    with people(server, lambda project, task: lab.right(project, task) if random.random() < 0.1 else None):
        for _ in range(4):
            with contextlib.suppress(KilledError):
                lab.live()
            looks, limit = 0, next(kills)
    with people(server, lab.right):
        monkeypatch.setattr(label_studio.time, "sleep", lambda seconds: threading.Event().wait(seconds))
        lab.live()
    assert len(server.projects) == 1
    assert len(set(items(server))) == len(items(server))
    lab.run("--labels", "pool.csv:truth", name="whole")
    assert lab.body() == lab.body("whole")


def test_an_annotation_that_is_not_on_the_disk_is_heard_again(lab, server, monkeypatch):
    """The journal is what counts: it cannot be written once, and nothing that people said is lost."""
    append = journal_module.Journal.append

    def fail(journal, events, **more):
        if any(event.kind == "answer" for event in events):
            raise KilledError
        return append(journal, events, **more)

    with people(server, lab.right):
        monkeypatch.setattr(journal_module.Journal, "append", fail)
        with pytest.raises(KilledError):
            lab.live()
        monkeypatch.setattr(journal_module.Journal, "append", append)
        lab.live()
    lab.run("--labels", "pool.csv:truth", name="whole")
    assert lab.body() == lab.body("whole")


def test_the_page_s_commands_run(lab, server, command):
    """As it is written, but for the address, the files of its example, and who labels."""
    page = (ROOT / "docs/how-to/label-by-file.md").read_text("utf-8")
    section = page[page.index("## With Label Studio, live") : page.index("## With Label Studio, by file")]
    ((line, told),) = re.findall(r"```\n\$ replical (.*?)\n(Label at .*?)\n```", section, re.DOTALL)
    words = shlex.split(line.replace("\\\n", ""))
    assert told == "Label at http://127.0.0.1:8080/projects/6"
    ours = {"protocol.toml": "p.toml", "a.parquet": "pool.csv", "picture": "text", "--public": None, "public.parquet": None,
            "url=http://127.0.0.1:8080": f"url={server.url}"}  # fmt: skip
    with people(server, lab.right):
        code, _, err = command(*[ours.get(word, word) for word in words if ours.get(word, word)])
    assert code == 0, err
    assert f"Label at {server.url}/projects/1" in err


# ---- what people do there ----


def test_a_skipped_task_is_a_skip_and_another_item_takes_its_place(lab, server):
    skipped = []

    def said(project, task):
        if len(skipped) < 2:
            skipped.append(task["data"]["item"])
            project.annotate(task, None, who=7)
        else:
            lab.right(project, task)

    with people(server, said):
        lab.live()
    assert lab.body()["labels"]["skipped"] == 2
    assert lab.history().count(",skip,") == 2


def test_several_people_vote_and_one_of_them_counts_once(lab, server):
    """The commonest of three, of a fourth where they are tied; of somebody who annotates several times the last counts."""

    def said(project, task):
        truth, who = lab.truth[task["data"]["item"]], len({each["completed_by"] for each in task["annotations"]}) + 1
        for label in ("yes", "no", truth) if who == 1 else ():
            project.annotate(task, label, who=1)
        if who == 2:
            project.annotate(task, {"no": "yes", "yes": "no"}[truth], who=2)
        if who == 3:
            project.annotate(task, None if task["id"] % 2 else truth, who=3)
        if who == 4:
            project.annotate(task, truth, who=4)

    with people(server, said):
        lab.live("--page", "votes=3")
    assert server.made[1]["maximum_annotations"] == 3
    lab.run("--labels", "pool.csv:truth", name="whole")
    assert lab.body()["hypothesis"] == lab.body("whole")["hypothesis"]
    tied = [task for task in server.projects[1].tasks if task["overlap"] == 4]
    assert 0 < len(tied) < len(server.projects[1].tasks)
    last = {(each["item"], each["annotator"]): each["label"] for each in rows(lab.history()) if each["kind"] == "vote"}
    assert len(last) == 3 * len(server.projects[1].tasks) + len(tied)
    assert all(label == lab.truth[item] for (item, who), label in last.items() if who == "1")


def test_an_annotation_that_is_changed_later_is_said_and_corrected(lab, server, capsys):
    changed = []

    def said(project, task):
        if len(project.tasks) > 5 and not changed:
            first = project.tasks[0]
            changed.append(first["data"]["item"])
            value = first["annotations"][0]["result"][0]["value"]
            value["choices"] = [{"no": "yes", "yes": "no"}[value["choices"][0]]]
        lab.right(project, task)

    with people(server, said):
        told = lab.live()
    (item,) = changed
    was, now = lab.truth[item], {"no": "yes", "yes": "no"}[lab.truth[item]]
    assert (
        f"Label Studio has {now!r} for the item {item!r}, but {was!r} is recorded: record {now!r} with replical journal "
        f"correct, or put {was!r} there again"
    ) in told
    assert told.count("Label Studio has") == 1
    assert main(["journal", "correct", "lab.db", "--item", item, "--label", now]) == 0
    with people(server, lab.right):
        assert "Label Studio has" not in lab.live()
    assert lab.body()["labels"]["corrected"] == 1


def test_what_cannot_be_read_is_said_once_and_waits_for_somebody(lab, server):
    bad = []

    def said(project, task):
        lab.right(project, task)
        if not bad:
            bad.append(task)
            task["annotations"][0]["result"] = []
            threading.Timer(0.3, lambda: lab.right(project, task)).start()

    with people(server, said):
        told = lab.live()
    item = bad[0]["data"]["item"]
    assert told.count(f"the annotation of the item {item!r} is not a single choice") == 1
    assert lab.body()["labels"]["answered"] == len(server.projects[1].tasks)


def test_a_task_that_somebody_removes_is_asked_again(lab, server):
    gone = []

    def said(project, task):
        if not gone:
            gone.append(task["data"]["item"])
            project.tasks.remove(task)
        else:
            lab.right(project, task)

    with people(server, said):
        lab.live()
    assert gone[0] in items(server)
    lab.run("--labels", "pool.csv:truth", name="whole")
    assert lab.body() == lab.body("whole")


# ---- servers ----


def test_a_server_that_goes_away_is_waited_for_and_nothing_is_asked_twice(lab, server):
    calls = []

    def faults(method, path):
        calls.append(path)
        if 6 < len(calls) < 12:
            return 503
        if len(calls) in (15, 30):
            return "drop"  # done, and nobody hears of it
        return "page" if len(calls) == 20 else None

    server.faults = faults
    with people(server, lab.right):
        told = lab.live()
    assert f"{server.url}/projects/1 does not answer (" in told
    assert "the run waits for it" in told
    assert f"{server.url}/projects/1 answers again." in told
    assert len(set(items(server))) == len(items(server))
    lab.run("--labels", "pool.csv:truth", name="whole")
    assert lab.body() == lab.body("whole")


def test_a_personal_token_is_exchanged_and_again_when_it_is_too_old(lab, server, monkeypatch):
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", PERSONAL)

    aged = []

    def said(project, task):
        if len(project.tasks) > 5 and not aged:
            server.access += 1  # nobody knows the old one any more
            aged.append(task)
        lab.right(project, task)

    with people(server, said):
        lab.live()
    assert sum(path == "/api/token/refresh" for _, path in server.calls) == 2


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("", "put an access token of Label Studio (Account & Settings there) into the environment variable LABEL_STUDIO_API_KEY"),
        ("a b", "put an access token of Label Studio"),
        ("wrong", "Label Studio at {url} refuses the key in LABEL_STUDIO_API_KEY (Invalid token.): put an access token of"),
        ("a.wrong.token", "Label Studio at {url} refuses the key in LABEL_STUDIO_API_KEY (Token is invalid)"),
    ],
)  # fmt: skip
def test_a_wrong_key_is_one_sentence_and_is_not_told(lab, server, monkeypatch, key, message):
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", key)
    told = lab.live(code=2)
    assert message.format(url=server.url) in told
    assert not key or repr(key) not in told


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("page", "Label Studio at {url} does not answer: what answers there is not Label Studio"),
        (502, "Label Studio at {url} does not answer: GET /api/projects is answered with 502"),
        ((404, None), "Label Studio at {url} does not answer: GET /api/projects is answered with 404"),
        ((400, {"detail": "Too old"}), "Label Studio at {url} refuses GET /api/projects: Too old"),
        ("drop", "Label Studio at {url} does not answer: "),
        (302, "{url} leads to 'http://127.0.0.1:9/elsewhere': give the address it ends at"),
    ],
)
def test_a_wrong_address_is_one_sentence(lab, server, fault, message):
    server.faults = lambda method, path: fault
    told = lab.live(code=2)
    assert message.format(url=server.url) in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--ask label-studio needs the address of the server: --page url=http://HOST:PORT"),
        (["--page", "url=localhost:8080"], "the address of Label Studio is written http://HOST:PORT or https://HOST, got"),
        (["--page", "url=http://h?x=1"], "the address of Label Studio is written"),
        (["--page", "url=http://127.0.0.1:9"], "Label Studio at http://127.0.0.1:9 does not answer: [Errno 111] Connection"),
        (["--page", "url=http://h", "--page", "port=1"], "--page port=.. is for --ask page: leave it out"),
        (["--page", "url=http://h", "--page", "project=x"], "--page project=.. takes a whole number, got 'project=x'"),
        (["--page", "url=http://h", "--page", "votes=2"], "votes must be an odd number, so that they decide, got 2"),
    ],
)  # fmt: skip
def test_bad_words_are_one_sentence(lab, words, message):
    assert message in lab.run("--ask", "label-studio", *words, code=2)


def test_words_for_label_studio_are_not_for_the_page(lab):
    told = lab.run("--ask", "page", "--page", "url=http://h", code=2)
    assert "--page url=.. is for --ask label-studio: leave it out" in told


def test_the_project_of_somebody_else_is_refused_and_left_alone(lab, server):
    shown = '<View><Text name="a" value="$item"/><Choices name="label" toName="a" choice="single" required="true">'
    shown += '<Choice value="no"/><Choice value="yes"/></Choices></View>'
    mine, foreign, other = (server.add(label_config=shown) for _ in range(3))
    server.projects[foreign].add({"item": "i0001"})
    server.projects[other].add({"item": "i0001", "run": "sha256:0123456789abcdef"})
    bare = server.add()
    for number in (foreign, other):
        told = lab.live("--page", f"project={number}", code=2)
        assert (
            f"the project {number} of Label Studio has tasks of somebody else, like 1: give each run a project" in told
        )
        assert len(server.projects[number].tasks) == 1
    told = lab.live("--page", f"project={bare}", code=2)
    assert f"the labelling interface of the project {bare} has no control of the name label" in told
    told = lab.live("--page", "project=99", code=2)
    assert "refuses GET /api/projects/99: No Project matches the given query." in told
    with people(server, lab.right, mine):
        lab.live("--page", f"project={mine}")
    assert len(server.projects) == 4
    assert items(server, mine)


def test_a_template_that_wants_more_than_is_shown_is_refused(lab, server):
    shown = '<View><Text name="a" value="$picture"/><TextArea name="label" toName="a" required="true"/></View>'
    number = server.add(label_config=shown)
    told = lab.live("--page", f"project={number}", code=2)
    assert "refuses POST /api/tasks/: Validation error" in told
    assert '"picture" is expected' in told


def test_the_project_of_a_run_is_found_among_many(lab, server):
    for _ in range(120):
        server.add()
    with people(server, lab.right, 121):
        lab.live()
        (lab.folder / "lab.json").unlink()
    with people(server, lab.right, 121):
        main(["journal", "correct", "lab.db", "--item", items(server, 121)[0], "--label", "no"])
        lab.live()
    assert len(server.projects) == 121
