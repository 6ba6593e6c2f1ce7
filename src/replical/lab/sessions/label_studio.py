"""Label Studio: what is asked as its tasks and templates, its annotations as answers, by file or live at a server.

Its own formats: labelstud.io/guide/tasks (tasks), /tags/choices and /tags/textarea (templates), /guide/export (JSON,
JSON-MIN); its REST API: api.labelstud.io. Whoever labels sees what the lab chose to show of an item, and what is to be
judged: no predictions, no names of candidates, no other labels.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import msgspec

from replical.classes.grading import Answering, Gold, Said, Scores
from replical.errors import BadLabel, BadTable, BadUsage
from replical.lab.columns import said_code
from replical.lab.journal.binding import commitment
from replical.lab.journal.ledger import CANNOT_SAY
from replical.lab.sessions.labelling import check_votes
from replical.lab.sessions.session import Session

SKIP = "?"  # what an annotator writes who cannot say
KEY = "LABEL_STUDIO_API_KEY"  # the variable of the environment that holds the key
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not in any XML file, escaped or not
_LOOK = 2.0  # seconds between two looks at the server
_LONGEST = 60.0  # seconds to wait for an answer, and at most between two looks at a server that is away
_TITLE = 50  # characters that the title of a project may have
_MARK = "replical run"  # how the description of a project begins that was made for a run

Fields = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What one task asks: about an item, or about outputs of it, one that is scored or two to choose between."""

    item: str
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back for one item: what a journal keeps of it, or None for "cannot say"."""

    item: str
    code: Said | None
    annotator: str | None = None


def questions(session: Session) -> list[Question]:
    """What a run asks now; outputs of an item in a private order, and none where whoever labels need not see them."""
    answers = session.answers
    if isinstance(answers, Scores):
        outputs = [(item, output) for item in session.open for output in session.outputs(item)]
        mixed = sorted(outputs, key=lambda each: session.rank(*each))  # those of an item are not side by side
        return [Question(item=item, outputs=(output,)) for item, output in mixed]
    duel = _judgements(answers)
    return [Question(item=item, outputs=tuple(session.pair(item)) if duel else ()) for item in session.open]


def _judgements(answers: Answering) -> tuple[str, ...]:
    """What may be said of outputs that are shown; nothing where items are labelled."""
    return answers.choices if isinstance(answers, Gold) else ()


# ---- what is asked ----


def task_data(question: Question, fields: Fields, columns: Sequence[str]) -> dict[str, str]:
    """What a task holds: every variable of the template, and the item twice, for JSON-MIN puts a number of its own at id."""
    shown = {f"show_{number}": fields.get(name, "") for number, name in enumerate(columns)}
    outputs = {f"output_{number}": output for number, output in enumerate(question.outputs)}
    return {"id": question.item, "item": question.item} | shown | outputs


def template(columns: Sequence[str], answers: Answering) -> str:
    """A labelling configuration: the shown columns, outputs to be judged, and labels, scores, or a text to choose or write.

    Raises
    ------
    BadLabel
        If a label cannot be written into it.
    """
    judged = _judgements(answers)
    heads = answers.heads if isinstance(answers, Gold) else ()
    shown = [(_literal(column), f"text_{number}", f"$show_{number}") for number, column in enumerate(columns)]
    shown += [(quoteattr(head), f"output_{number}", f"$output_{number}") for number, head in enumerate(heads)]
    objects = "".join(
        f'  <Header value={head}/>\n  <Text name="{name}" value="{value}"/>\n' for head, name, value in shown
    )
    subject = next((name for _, name, _ in reversed(shown) if name in ("output_0", "text_0")), "text_id")
    control = f'name="label" toName="{subject}"'
    answer = f'  <TextArea {control} maxSubmissions="1" required="true"/>\n'
    if labels := [str(label) for label in (judged or (answers if isinstance(answers, tuple) else ()))]:
        choices = "".join(_choice(label) for label in labels)
        answer = f'  <Choices {control} choice="single" required="true">\n{choices}  </Choices>\n'
    return f"<View>\n{objects or _ONLY_ID}{answer}</View>\n"


_ONLY_ID = '  <Text name="text_id" value="$id"/>\n'


def _literal(name: str) -> str:
    """A name to show; a dollar sign begins a variable unless an invisible character follows it."""
    return quoteattr(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", name).replace("$", "$\N{WORD JOINER}"))


def _choice(label: str) -> str:
    """A label to choose; where a dollar sign would begin a variable, `html` is what is shown and `alias` what comes back."""
    if not label.strip() or _NOT_XML.search(label):
        raise BadLabel(
            f"the label {label!r} cannot be written into a file to fill in: label at the page (--ask page) or from a "
            "column (--labels FILE:COLUMN)"
        )
    literal = f" alias={quoteattr(label)} html={quoteattr(escape(label))}" if "$" in label else ""
    return f"    <Choice value={quoteattr(label)}{literal}/>\n"


# ---- what comes back ----


def read_export(text: str, where: object, answers: Answering) -> list[Reply]:
    """Its export as JSON or JSON-MIN, called `where`. An item that one person skipped and another labelled is labelled."""
    try:
        tasks = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadTable(f"{where} is not valid JSON ({error}): export it again") from error
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise BadTable(
            f"{where} is no Label Studio export: it should be a list of tasks, so export the project as JSON or JSON-MIN"
        )
    replies = []
    for number, task in enumerate(tasks):
        question, annotations = _task(task, f"{where}: task {number}", answers)
        replies += [_reply(each, question, answers, where) for each in annotations]
    labelled = {reply.item for reply in replies if reply.code is not None}
    return [reply for reply in replies if reply.code is not None or reply.item not in labelled]


def _task(task: dict[str, Any], what: str, answers: Answering) -> tuple[Question, list[Any]]:
    """JSON: a task, with its data and a list of annotations. JSON-MIN: data and one annotation, all in one."""
    whole = "data" in task
    data = task["data"] if whole else task
    item = data.get("item", data.get("id") if whole else None) if isinstance(data, dict) else None
    if not isinstance(item, str | int) or isinstance(item, bool):
        raise BadTable(f"{what} has no id in its data: import the tasks of a batch there, and export them as JSON")
    outputs = tuple(str(data.get(f"output_{number}", "")) for number in range(_outputs_shown(answers)))
    annotations: Any = []
    if whole:
        annotations = task.get("annotations") or []
    elif "label" in task or task.get("annotation_id") is not None:
        label = task.get("label")
        value = label if isinstance(label, dict) else {"choices": [label]}
        annotations = [{"result": [{"value": value}], "completed_by": task.get("annotator")}]
    if not isinstance(annotations, list):
        raise BadTable(f"{what}: the annotations of the item {str(item)!r} are no list: export it again")
    return Question(item=str(item), outputs=outputs), annotations


def _outputs_shown(answers: Answering) -> int:
    """How many outputs a task shows."""
    return 1 if isinstance(answers, Scores) else 2 if _judgements(answers) else 0


def _reply(annotation: Any, question: Question, answers: Answering, where: object) -> Reply:
    """One person's answer; a cancelled annotation is a skip, and what other controls than `label` say does not count."""
    item = question.item
    if not isinstance(annotation, dict):
        raise BadTable(f"{where}: an annotation of the item {item!r} is damaged: export it again")
    who = annotation.get("completed_by")
    known = who.get("email") if isinstance(who, dict) else who
    name = None if known in (None, "") else str(known).encode("utf-8", "replace").decode()
    if annotation.get("was_cancelled"):
        return Reply(item=item, code=None, annotator=name)
    try:
        values = [each.get("value", {}) for each in annotation["result"] if each.get("from_name", "label") == "label"]
        chosen = [value.get("choices", value.get("text")) for value in values if {"choices", "text"} & set(value)]
    except (AttributeError, KeyError, TypeError):
        chosen = []
    match chosen:
        case [[str() | int() as value] | (str() as value)] if not isinstance(value, bool):
            return Reply(item=item, code=code_of(str(value), question, answers, where), annotator=name)
    raise BadLabel(
        f"{where}: the annotation of the item {item!r} is not a single choice under the name label: label it with the "
        "configuration of the batch, or delete the annotation there"
    )


def code_of(word: str, question: Question, answers: Answering, where: object) -> Said | None:
    """What a journal keeps of a `word`."""
    what = f"the label of the item {question.item!r} in {where}"
    if word == SKIP:
        return None
    if not isinstance(answers, Gold) or not answers.choices:
        return said_code(word, answers, what)
    try:
        return said_code(answers.judged(word, question.outputs), answers, what)
    except BadLabel as error:
        raise BadLabel(f"{what}: {error}") from error


def contradictions(session: Session, replies: Sequence[Reply]) -> list[Reply]:
    """Of `replies` those that are not what is recorded of their items, and that nobody ever gave: somebody changed them.

    What was corrected since may stay where it was said.
    """
    parts, labels = [part for reply in replies for part in _parts(reply)], session.ledger.labels
    suspects = [each for each in parts if of_code(labels.get(each.item), each.code) not in (each.code, {})]
    kinds = ("answer", "correction", "skip", "vote")
    said = [event for event in session.journal.events() if event.kind in kinds] if suspects else []
    return [
        reply
        for reply in suspects
        if not any(event.item == reply.item and of_code(event.answer, reply.code) == reply.code for event in said)
    ]


def _parts(reply: Reply) -> list[Reply]:
    """What it says of each output, where these are scored."""
    if not isinstance(reply.code, Mapping):
        return [reply]
    return [replace(reply, code={output: score}) for output, score in reply.code.items()]


def of_code(said: Said | None, code: Said | None) -> Said | None:
    """Of what was `said` the part that a `code` is about: of scores those of the same outputs."""
    if isinstance(said, Mapping) and isinstance(code, Mapping):
        return {output: said[output] for output in code if output in said}
    return said


# ---- live ----


class Away(Exception):
    """The server does not answer now, and may later."""


class _RefusedKey(BadUsage):
    """The server does not know the key, or not any more."""


class _Project(msgspec.Struct):
    id: int
    description: str | None = None
    label_config: str | None = None


class _Projects(msgspec.Struct):
    results: list[_Project]
    next: str | None = None


class _Task(msgspec.Struct):
    id: int
    data: dict[str, Any]
    annotations: list[dict[str, Any]] = []


class Server:
    """A Label Studio server, by its REST API and an access token of either kind."""

    def __init__(self, url: str, key: str) -> None:
        if not re.match(r"https?://[^/?#\s]+[^?#\s]*$", url):
            raise BadUsage(f"the address of Label Studio is written http://HOST:PORT or https://HOST, got {url!r:.90}")
        if not re.fullmatch("[!-~]+", key):
            raise BadUsage(
                f"put an access token of Label Studio (Account & Settings there) into the environment variable {KEY}"
            )
        self.url, self._key, self._access = url.rstrip("/"), key, ""

    def call(self, method: str, path: str, kind: Any, data: object = None) -> Any:
        """What the server answers to a call of its API, which is of this `kind`.

        Raises
        ------
        BadUsage
            If it refuses.
        Away
            If it does not answer, or cannot now.
        """
        if self._key.count(".") != 2:  # a legacy token; the other kind, a JSON Web Token, buys shorter ones
            return self._send(method, path, kind, data, f"Token {self._key}")
        if self._access:
            with suppress(_RefusedKey):
                return self._send(method, path, kind, data, f"Bearer {self._access}")
        bought = self._send("POST", "/api/token/refresh", dict[str, str], {"refresh": self._key}, "")
        self._access = bought.get("access", "")
        return self._send(method, path, kind, data, f"Bearer {self._access}")

    def _send(self, method: str, path: str, kind: Any, data: object, key: str) -> Any:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import HTTPRedirectHandler, Request, build_opener

        # A redirect is not followed: the key goes to nobody else.
        stay = type("Stay", (HTTPRedirectHandler,), {"redirect_request": lambda *_: None})
        headers = {"Content-Type": "application/json"} | ({"Authorization": key} if key else {})
        body = None if data is None else msgspec.json.encode(data)
        try:
            request = Request(self.url + path, data=body, headers=headers, method=method)
            with build_opener(stay).open(request, timeout=_LONGEST) as reply:
                return msgspec.json.decode(reply.read(), type=kind)
        except HTTPError as error:
            raise self._refusal(error, f"{method} {path.partition('?')[0]}") from error
        except (OSError, HTTPException) as error:
            raise Away(str(getattr(error, "reason", error)) or type(error).__name__) from error
        except msgspec.MsgspecError as error:
            raise Away("what answers there is not Label Studio") from error

    def _refusal(self, error: Any, call: str) -> Exception:
        """What to say of an HTTP status."""
        try:
            reply = msgspec.json.decode(error.read(), type=dict[str, Any])
        except (OSError, msgspec.MsgspecError):
            reply = {}
        why = ", ".join(str(reply[key]) for key in ("detail", "validation_errors") if reply.get(key))
        if error.code in (401, 403):
            return _RefusedKey(
                f"Label Studio at {self.url} refuses the key in {KEY} ({why or error.code}): put an access token of "
                "Account & Settings there"
            )
        if error.code // 100 == 3:
            return BadUsage(f"{self.url} leads to {error.headers.get('Location')!r:.200}: give the address it ends at")
        if error.code == 429 or error.code >= 500 or not why:
            return Away(f"{call} is answered with {error.code}")
        return BadUsage(f"Label Studio at {self.url} refuses {call}: {why:.300}")


class Project:
    """The project of a run on a server.

    Its tasks hold what they ask and for which run, so what was created before is found again. The journal is what counts: an
    annotation is heard when it is in there, and whatever the server is asked can be asked again.

    Parameters
    ----------
    session
        The run.
    server
        Where people label.
    details
        The columns to show of some items.
    number
        The project; one that was made for this run, or is made now, if left out.
    votes
        People who label each item, an odd number.
    note
        Called with sentences for whoever runs it.

    Raises
    ------
    BadUsage
        If the server refuses, or the project is somebody else's.
    """

    def __init__(
        self,
        session: Session,
        server: Server,
        details: Callable[[list[str]], Mapping[str, Fields]],
        *,
        number: int | None = None,
        votes: int = 1,
        note: Callable[[str], None],
    ) -> None:
        check_votes(votes)
        self._session, self._server, self._details = session, server, details
        self._votes, self._note = votes, note
        self._answers = session.protocol.answers
        if votes > 1 and isinstance(self._answers, Scores):
            raise BadUsage("votes are for labels, and each output is scored once: leave out --page votes=..")
        self._run = commitment(session.secret)[:23]
        self._tasks: dict[Question, list[int]] = {}  # what is there, by what it asks
        self._people: dict[int, int] = {}  # whom a task is for, where that is more than a vote takes
        self._notices: set[str] = set()
        self.number = self._find() if number is None else self._check(number)
        self.url = f"{server.url}/projects/{self.number}"

    def _check(self, number: int) -> int:
        """Somebody's own project, with a template of their own."""
        found = self._server.call("GET", f"/api/projects/{number}", _Project)
        if not re.search(r"""\bname=["']label["']""", found.label_config or ""):
            raise BadUsage(
                f"the labelling interface of the project {number} has no control of the name label: leave out --page "
                "project=.., and a project is made"
            )
        return number

    def _find(self) -> int:
        """The project that was made for this run, or a new one."""
        mark, page = f"{_MARK} {self._run}", 0
        listed = _Projects(results=[], next="the first")
        while listed.next:
            page += 1
            listed = self._server.call("GET", f"/api/projects?page={page}&page_size=100", _Projects)
            for each in listed.results:
                if (each.description or "").startswith(mark):
                    return int(each.id)
        shown = next(iter(self._details(self._session.open[:1]).values()), {})
        made = {
            "title": f"{self._session.protocol.title or 'Labelling'}: {self._run}"[:_TITLE],
            "description": f"{mark}: its tasks are created as they are asked, and these words are how it is found again",
            "label_config": template(list(shown), self._answers),
            "maximum_annotations": self._votes,
            "enable_empty_annotation": False,
            "show_skip_button": not _judgements(self._answers),
            "skip_queue": "REQUEUE_FOR_OTHERS" if self._votes > 1 else "IGNORE_SKIPPED",
        }
        return int(self._server.call("POST", "/api/projects", _Project, made).id)

    def step(self) -> bool:
        """Hear what was annotated, and create what is asked and not there yet; was anything heard?"""
        wanted = questions(self._session)
        if any(each not in self._tasks for each in wanted):
            self._tasks.clear()
            news = [self._hear(task) for task in self._look()]
            for question in questions(self._session):
                if question not in self._tasks:
                    self._create(question)
            return any(news)
        numbers = [number for each in wanted for number in self._tasks[each]]
        found = self._look(numbers)
        if len(found) < len(numbers):  # somebody removed a task
            self._tasks.clear()
        news = [self._hear(task) for task in found]
        return any(news)

    def _look(self, numbers: Sequence[int] = ()) -> list[_Task]:
        """Tasks with their annotations, some or all."""
        some = "".join(f"&ids[]={number}" for number in numbers)
        path = f"/api/projects/{self.number}/export?exportType=JSON&download_all_tasks=true{some}"
        found: list[_Task] = self._server.call("GET", path, list[_Task])
        return found

    def _create(self, question: Question) -> None:
        if question.outputs:  # from now on somebody may see them
            self._session.show(question.item)
        fields = self._details([question.item]).get(question.item, {})
        data = task_data(question, fields, list(fields)) | {"run": self._run}
        task = {"project": self.number, "data": data, "overlap": self._votes}  # a project's own number would not count
        made = self._server.call("POST", "/api/tasks/", _Task, task)
        self._tasks.setdefault(question, []).append(made.id)

    def _hear(self, task: _Task) -> bool:
        """What people said at a task, oldest first; was anything of it new?"""
        if task.data.get("run") != self._run:
            raise BadUsage(
                f"the project {self.number} of Label Studio has tasks of somebody else, like {task.id}: give each run a "
                "project of its own"
            )
        what = f"task {task.id} of Label Studio"
        question, _ = _task({"data": task.data}, what, self._answers)
        if task.id not in (known := self._tasks.setdefault(question, [])):
            known.append(task.id)
        replies: dict[object, Reply] = {}
        for number, annotation in enumerate(sorted(task.annotations, key=lambda each: str(each.get("created_at")))):
            try:
                reply = _reply(annotation, question, self._answers, what)
            except BadLabel as error:
                self._tell(str(error))
            else:  # the first person's answer counts; each one's last vote
                replies[number if self._votes == 1 else reply.annotator] = reply
        news = [self._take(question, reply) for reply in replies.values()]
        self._break_tie(question, task.id)
        return any(news)

    def _break_tie(self, question: Question, task: int) -> None:
        """Where enough people have voted and decided nothing, let one more."""
        people = len(self._session.ledger.votes.get(question.item, ()))
        if people >= self._people.get(task, self._votes) > 1 and question in questions(self._session):
            self._server.call("PATCH", f"/api/tasks/{task}/", dict[str, Any], {"overlap": people + 1})
            self._people[task] = people + 1

    def _take(self, question: Question, reply: Reply) -> bool:
        """First on the disk, then heard."""
        session, item, who = self._session, reply.item, reply.annotator or "unknown"
        said = None if reply.code is None else session.protocol.word(reply.code)
        vote = session.ledger.votes.get(item, {}).get(who)
        if question not in questions(session):
            if said is not None and (self._votes == 1 or vote is not None):
                self._tell_changes(reply)
            return False
        if said is None and question.outputs:
            self._tell(f"the item {item!r} is not skipped, since its outputs have been seen: judge them")
            return False
        if self._votes > 1:
            if vote == (CANNOT_SAY if said is None else reply.code):
                return False
            session.vote(item, said, annotator=who, needed=self._votes)
        elif said is None:
            session.skip(item, annotator=reply.annotator)
        else:
            session.answer(item, said, annotator=reply.annotator)
        return True

    def _tell_changes(self, reply: Reply) -> None:
        if of_code(self._session.ledger.labels.get(reply.item), reply.code) in (None, {}):
            return  # it was skipped, or nobody asks about this output any more
        for each in contradictions(self._session, [reply]):
            self._tell(f"Label Studio has {change_words(self._session, each)}")

    def _tell(self, sentence: str) -> None:
        if sentence not in self._notices:
            self._notices.add(sentence)
            self._note(sentence)


def change_words(session: Session, reply: Reply) -> str:
    """What a reply says instead of what is recorded, and what to do."""
    ledger = session.ledger
    before, now = (_text(session, said) for said in (of_code(ledger.labels.get(reply.item), reply.code), reply.code))
    correct = f"record {now!r} with replical journal correct, or " if SKIP not in (before, now) else ""
    return f"{now!r} for the item {reply.item!r}, but {before!r} is recorded: {correct}put {before!r} there again"


def _text(session: Session, said: Said | None) -> str:
    if isinstance(said, Mapping):
        return json.dumps(said, ensure_ascii=False)
    return SKIP if said is None else str(session.protocol.word(said))


def label_live(project: Project, session: Session, *, look: Callable[[], None], note: Callable[[str], None]) -> None:
    """Ask in a project until the run has ended; while the server is away, wait for it."""
    pause = _LOOK
    while session.open:
        try:
            news = project.step()
            if pause > _LOOK:
                note(f"{project.url} answers again.")
            pause = _LOOK
        except Away as error:
            if pause == _LOOK:
                note(
                    f"{project.url} does not answer ({error}): the run waits for it; whatever was heard is in the journal."
                )
            news, pause = False, min(2 * pause, _LONGEST)
        look()
        if not news:
            time.sleep(pause)
        session.refresh()
