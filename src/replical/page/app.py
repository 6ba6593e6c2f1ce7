"""Routes of the labelling page."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from replical.desk import Desk
from replical.errors import ReplicalError
from replical.page.guard import Guard
from replical.page.markdown import to_html

_TYPES = {".css": "text/css", ".js": "text/javascript", ".html": "text/html", ".svg": "image/svg+xml"}
_MEDIA = {
    ".png": "image", ".jpg": "image", ".jpeg": "image", ".gif": "image", ".webp": "image",
    ".wav": "audio", ".mp3": "audio", ".ogg": "audio", ".flac": "audio",
}  # fmt: skip
_LONGEST_NAME = 80

Shown = Callable[[list[str]], Mapping[str, Mapping[str, str]]]


@dataclass(frozen=True, kw_only=True)
class Content:
    """What the page shows beside the desk.

    Attributes
    ----------
    shown
        Columns of some items, by id.
    media
        The only folder files are served from; None: no files.
    instructions
        Markdown.
    """

    title: str
    shown: Shown
    media: Path | None = None
    instructions: str = ""


def application(desk: Desk, content: Content, *, token: str | None = None) -> Starlette:
    """The page for a desk; with a token only for those who know it."""
    page = _Page(desk, content)
    routes = [
        Route("/", page.index),
        Route("/assets/{name}", page.asset),
        Route("/media/{name:path}", page.file),
        Route("/api/next", page.next, methods=["POST"]),
        Route("/api/answer", page.answer, methods=["POST"]),
        Route("/api/skip", page.skip, methods=["POST"]),
        Route("/api/undo", page.undo, methods=["POST"]),
        Route("/api/progress", page.progress),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, token=token)])


class _Page:
    def __init__(self, desk: Desk, content: Content) -> None:
        self._desk, self._content = desk, content

    async def index(self, _: Request) -> Response:
        text = files("replical").joinpath("page/assets/index.html").read_text(encoding="utf-8")
        labels = json.dumps([str(label) for label in self._desk.session.labels])
        filled = (
            text.replace("{{title}}", html.escape(self._content.title))
            .replace("{{labels}}", html.escape(labels))
            .replace("{{instructions}}", to_html(self._content.instructions))
        )
        return Response(filled, media_type="text/html")

    async def asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ("page.css", "page.js"):
            return JSONResponse({"error": "there is no such file"}, status_code=404)
        text = files("replical").joinpath(f"page/assets/{name}").read_text(encoding="utf-8")
        return Response(text, media_type=_TYPES[Path(name).suffix])

    async def file(self, request: Request) -> Response:
        """A file of the media folder, and of no other."""
        folder, missing = self._content.media, JSONResponse({"error": "there is no such file"}, status_code=404)
        if folder is None:
            return missing
        path = (folder / request.path_params["name"]).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file() or path.suffix.lower() not in _MEDIA:
            return missing
        return FileResponse(path)

    async def next(self, request: Request) -> Response:
        said = await _said(request)
        return await self._then(said, lambda who: None)

    async def answer(self, request: Request) -> Response:
        said = await _said(request)
        labels = {str(label): label for label in self._desk.session.labels}
        value = said.get("label")
        if value not in labels:
            return JSONResponse({"error": f"{value!r} is no label of the protocol"}, status_code=400)
        return await self._then(said, lambda who: self._desk.answer(who, str(said.get("item")), labels[value]))

    async def skip(self, request: Request) -> Response:
        said = await _said(request)
        return await self._then(said, lambda who: self._desk.skip(who, str(said.get("item"))))

    async def undo(self, request: Request) -> Response:
        said = await _said(request)
        return await self._then(said, self._desk.undo)

    async def progress(self, _: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._desk.progress))

    async def _then(self, said: dict[str, Any], act: Callable[[str], object]) -> Response:
        """Do what was said, then hand out the next item."""
        who = said.get("annotator")
        if not isinstance(who, str) or not who.strip() or len(who) > _LONGEST_NAME:
            return JSONResponse({"error": "say who labels: a name of at most 80 letters"}, status_code=400)
        try:
            return JSONResponse(await run_in_threadpool(self._acted, who.strip(), act))
        except ReplicalError as error:
            return JSONResponse({"error": str(error)}, status_code=409)

    def _acted(self, who: str, act: Callable[[str], object]) -> dict[str, Any]:
        act(who)
        item = self._desk.next(who)
        told = {"progress": self._desk.progress(), "item": None}
        if item is None:
            return told
        shown = self._content.shown([item]).get(item, {})
        fields = [{"name": name, "value": value, "kind": self._kind(value)} for name, value in shown.items()]
        return told | {"item": {"id": item, "fields": fields}}

    def _kind(self, value: str) -> str:
        """Text, unless it names a picture or a sound in the media folder."""
        kind = _MEDIA.get(Path(value).suffix.lower()) if self._content.media is not None and len(value) < 400 else None
        if kind is None or self._content.media is None:
            return "text"
        path = (self._content.media / value).resolve()
        return kind if path.is_relative_to(self._content.media.resolve()) and path.is_file() else "text"


async def _said(request: Request) -> dict[str, Any]:
    try:
        said = json.loads(await request.body())
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
