"""The labelling page: its routes, what it shows of items, and the instructions as HTML."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from replical.classes.grading import Scores
from replical.core.text import COMMON, stylesheet
from replical.errors import BadLabel, BadUsage, ReplicalError
from replical.lab.page.guard import REMEMBERED, Guard, cookie_of, set_cookie
from replical.lab.page.people import People
from replical.lab.page.serve import say_once
from replical.lab.sessions.labelling import Desk

_ASSETS = {"page.css": "text/css", "page.js": "text/javascript"}
_MEDIA = {  # not the machine's own list, which may know some of them or none
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".wav": "audio/wav", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".flac": "audio/flac",
}  # fmt: skip
_LONGEST_TURN = 80
_LONGEST_PATH = 400
_STUCK = "the run cannot go on: take your last answer back if it was a slip, or tell whoever started the run"

Columns = Callable[[list[str]], Mapping[str, Mapping[str, str]]]
Act = Callable[[str], object]


class _UnknownError(Exception):
    """Nobody has said who they are."""


@dataclass(frozen=True, kw_only=True)
class Content:
    """What the page shows beside the desk."""

    title: str
    columns: Columns  # columns of some items, by id
    media: Path | None = None  # the only folder files are served from; None: no files
    instructions: str = ""  # Markdown


def application(desk: Desk, content: Content, people: People, *, token: str | None = None) -> Guard:
    """The page for a desk; with a token only for those who know it, or have a personal link."""
    page = _Page(desk, content, people)
    routes = [
        Route("/", page.index),
        Route("/assets/{name}", page.asset),
        Route("/media/{name:path}", page.file),
        Route("/api/join", page.join, methods=["POST"]),
        Route("/api/next", page.next, methods=["POST"]),
        Route("/api/answer", page.answer, methods=["POST"]),
        Route("/api/skip", page.skip, methods=["POST"]),
        Route("/api/show", page.show, methods=["POST"]),
        Route("/api/undo", page.undo, methods=["POST"]),
        Route("/api/progress", page.progress),
    ]
    return Guard(Starlette(routes=routes), token, people)


def unserved_columns(content: Content, items: list[str]) -> dict[str, str]:
    """Columns that name pictures or sounds which the page cannot show for any of these items, and what they name."""
    kinds: dict[str, str] = {}
    served = set()
    for fields in content.columns(items).values():
        for column, value in fields.items():
            suffix = Path(value).suffix.lower()
            if _file(content.media, value) is not None:
                served.add(column)
            elif suffix in _MEDIA and len(value) <= _LONGEST_PATH:
                kinds[column] = "picture" if _MEDIA[suffix].startswith("image/") else "sound"
    return {column: kind for column, kind in kinds.items() if column not in served}


_LINK = re.compile(r"https?://|mailto:|[^:]*$", re.IGNORECASE)  # of any other scheme nothing is made
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).disable("image")
_MARKDOWN.validateLink = lambda url: bool(_LINK.match(url))  # type: ignore[method-assign]


def to_html(text: str) -> str:
    r"""Instructions in Markdown as HTML; whatever looks like HTML in them is shown as it is written.

    Examples
    --------
    >>> to_html("# Rules\n\nBe *kind*, no <b>.")
    '<h2>Rules</h2>\n<p>Be <em>kind</em>, no &lt;b&gt;.</p>\n'
    """
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        if token.type.startswith("heading"):  # the page has a heading of its own above them
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        for part in token.children or ():
            if part.type == "link_open":
                part.attrs |= {"target": "_blank", "rel": "noopener noreferrer"}
    shown: str = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    return shown


def _code(_: object, tokens: Sequence[Token], place: int, *__: object) -> str:
    """Code within a line; a single letter is a key to press."""
    content = tokens[place].content
    tag = "kbd" if len(content) == 1 else "code"
    return f"<{tag}>{html.escape(content)}</{tag}>"


_MARKDOWN.add_render_rule("code_inline", _code)


class _Page:
    def __init__(self, desk: Desk, content: Content, people: People) -> None:
        self._desk, self._content, self._people = desk, content, people
        self._turns: dict[str, str] = {}  # what each annotator did last, by the page's own name for it

        answers = desk.session.answers
        self._heads, self._scores = () if isinstance(answers, tuple) else answers.heads, isinstance(answers, Scores)
        self._choices = [str(label) for label in (answers if isinstance(answers, tuple) else answers.choices)]

    async def index(self, request: Request) -> Response:
        text = files("replical.lab.page").joinpath("assets/index.html").read_text(encoding="utf-8")
        rules = to_html(self._content.instructions)
        name, settled = await run_in_threadpool(self._person, self._credential(request))
        parts = {
            "name": html.escape(name),
            "may": "keep" if settled else "nothing" if self._people.closed else "choose",
            "title": html.escape(self._content.title),
            "labels": html.escape(json.dumps(self._choices)),
            "counts": "output scored,outputs scored" if self._scores else "item labelled,items labelled",
            "heads": html.escape(json.dumps(self._heads)),
            "rules": rules and f'<details id="rules" open><summary>Instructions</summary><div>{rules}</div></details>',
        }
        filled = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], text)
        return Response(filled, media_type="text/html")

    async def asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _ASSETS:
            return _not_found()
        text = files("replical.lab.page").joinpath(f"assets/{name}").read_text(encoding="utf-8")
        shared = f"{stylesheet(COMMON)}\n" if name.endswith(".css") else ""
        return Response(shared + text, media_type=_ASSETS[name])

    async def file(self, request: Request) -> Response:
        path = _file(self._content.media, request.path_params["name"])
        return _not_found() if path is None else FileResponse(path, media_type=_MEDIA[path.suffix.lower()])

    def _credential(self, request: Request) -> str:
        return cookie_of(request.headers, self._people.cookie)

    async def join(self, request: Request) -> Response:
        """Who are you? From now on this browser is that person."""
        said = (await _read_json(request)).get("name")
        try:
            name, credential = await run_in_threadpool(self._join, self._credential(request), said)
        except BadUsage as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        except ReplicalError as error:
            return _refusal(error)
        response = JSONResponse({"name": name})
        set_cookie(response, request.scope, self._people.cookie, credential, days=REMEMBERED)
        return response

    def _person(self, credential: str) -> tuple[str, bool]:
        with self._desk.lock:
            return self._people.who(credential) or "", self._people.is_settled(credential)

    def _join(self, credential: str, said: object) -> tuple[str, str]:
        with self._desk.lock:
            return self._people.join(credential, said)

    async def next(self, request: Request) -> Response:
        return await self._then(request, await _read_json(request), None)

    async def answer(self, request: Request) -> Response:
        message = await _read_json(request)
        value, item = message.get("label"), str(message.get("item"))
        if not isinstance(value, str) or value not in self._choices:
            return JSONResponse({"error": f"{value!r} is no label of the protocol"}, status_code=400)
        answers, outputs = self._desk.session.answers, message.get("outputs") or []

        def act(who: str) -> None:
            self._bind(request, who, item)
            if isinstance(answers, tuple):
                self._desk.answer(who, item, answers[self._choices.index(value)])
            else:
                self._desk.judge(who, item, value, outputs)

        return await self._then(request, message, act)

    async def skip(self, request: Request) -> Response:
        return await self._about(request, self._desk.skip)

    async def show(self, request: Request) -> Response:
        return await self._about(request, self._desk.show)

    async def _about(self, request: Request, do: Callable[[str, str], None]) -> Response:
        """Do something with an item, in the name of whoever asks."""
        message = await _read_json(request)
        item = str(message.get("item"))

        def act(who: str) -> None:
            self._bind(request, who, item)
            do(who, item)

        return await self._then(request, message, act)

    def _bind(self, request: Request, who: str, item: str) -> None:
        """Whoever labels has their name for good."""
        self._desk.check_open(who, item)
        self._people.bind(self._credential(request), who)

    async def undo(self, request: Request) -> Response:
        return await self._then(request, await _read_json(request), self._desk.undo)

    async def progress(self, _: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._progress))

    async def _then(self, request: Request, message: dict[str, Any], act: Act | None) -> Response:
        """Do what was said, then hand out the next item."""
        turn = str(message.get("turn") or "")[:_LONGEST_TURN]
        try:
            return JSONResponse(await run_in_threadpool(self._act, self._credential(request), act, turn))
        except _UnknownError:
            return JSONResponse({"error": "say who labels, please"}, status_code=401)
        except ReplicalError as error:
            return _refusal(error)

    def _act(self, credential: str, act: Act | None, turn: str) -> dict[str, Any]:
        with self._desk.lock:
            who = self._people.who(credential)
            if who is None:
                raise _UnknownError
            if act is not None and (not turn or self._turns.get(who) != turn):  # else it was heard before
                act(who)
                self._turns[who] = turn
        item = self._desk.next(who)
        reply = {"progress": self._progress(), "item": None}
        if item is None:
            return reply
        fields = self._content.columns([item]).get(item, {})
        shown = {"id": item, "fields": [self._field(name, value) for name, value in fields.items()]}
        return reply | {"item": shown | ({"outputs": self._desk.shown(item)} if self._heads else {})}

    def _progress(self) -> dict[str, Any]:
        """Of agreement nothing before the end: whoever votes and looks would know what the others said."""
        figures = self._desk.progress()
        return {key: value for key, value in figures.items() if key != "agreement" or figures["ended"]}

    def _field(self, name: str, value: str) -> dict[str, str]:
        """Text, unless it names a picture or a sound in the media folder."""
        path = _file(self._content.media, value)
        if path is None or self._content.media is None:
            return {"name": name, "kind": "text", "value": value}
        source = quote(path.relative_to(self._content.media.resolve()).as_posix())
        return {"name": name, "kind": _MEDIA[path.suffix.lower()].partition("/")[0], "source": f"/media/{source}"}


def _file(folder: Path | None, name: str) -> Path | None:
    """A picture or sound of the media folder, and of no other, wherever links may lead."""
    if folder is None or len(name) > _LONGEST_PATH or Path(name).suffix.lower() not in _MEDIA:
        return None
    try:
        path = (folder / name).resolve()
        there = path.is_relative_to(folder.resolve()) and path.is_file() and path.suffix.lower() in _MEDIA
    except (OSError, ValueError, RuntimeError):  # too long, with a zero in it, a circle of links
        return None
    return path if there else None


def _refusal(error: ReplicalError) -> Response:
    """People hear what they can mend; what stops the run is for whoever started it."""
    if isinstance(error, BadLabel):
        return JSONResponse({"error": str(error)}, status_code=409)
    say_once(str(error))
    return JSONResponse({"error": _STUCK}, status_code=503)


def _not_found() -> Response:
    return JSONResponse({"error": "there is no such file"}, status_code=404)


async def _read_json(request: Request) -> dict[str, Any]:
    try:
        message = json.loads(await request.body())
    except (ValueError, RecursionError, ClientDisconnect):
        return {}
    return message if isinstance(message, dict) else {}
