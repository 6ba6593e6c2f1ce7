"""Who may talk to the page, how much, and how often; and headers that keep a browser on our side."""

from __future__ import annotations

import hmac
import time
from collections import defaultdict
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response

_LONGEST_BODY = 64 * 1024
_PER_SECOND, _BURST = 50.0, 200.0
_COOKIE = "replical-token"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Middleware in front of every route."""

    def __init__(self, app: Any, token: str | None) -> None:
        self._app, self._token = app, token
        self._allowance: dict[str, tuple[float, float]] = defaultdict(lambda: (_BURST, time.monotonic()))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Refuse, or pass on with our headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is not None:
            refused.headers.update(_HEADERS)
            await refused(scope, receive, send)
            return
        await self._app(scope, _limited(receive), _with_headers(send))

    def _refused(self, scope: Any) -> Response | None:
        headers = Headers(scope=scope)
        client = (scope.get("client") or ("?", 0))[0]
        if not self._within_rate(client):
            return JSONResponse({"error": "too many requests: slow down"}, status_code=429)
        if int(headers.get("content-length") or 0) > _LONGEST_BODY:
            return JSONResponse({"error": "the request is too long"}, status_code=413)
        if self._token is not None:
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            if given and hmac.compare_digest(given.encode(), self._token.encode()):
                response = RedirectResponse(scope["path"], status_code=303)  # out of the address bar, into a cookie
                response.set_cookie(_COOKIE, self._token, httponly=True, samesite="strict")
                return response
            if not hmac.compare_digest(_cookie(headers).encode(), self._token.encode()):
                return JSONResponse({"error": "open the address with the token that was printed"}, status_code=403)
        if scope["method"] not in ("GET", "HEAD") and not _same_site(headers):
            return JSONResponse({"error": "posts from other sites are refused"}, status_code=403)
        return None

    def _within_rate(self, client: str) -> bool:
        left, before = self._allowance[client]
        now = time.monotonic()
        left = min(_BURST, left + (now - before) * _PER_SECOND)
        self._allowance[client] = (left - 1 if left >= 1 else left, now)
        return left >= 1


def _cookie(headers: Headers) -> str:
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == _COOKIE:
            return value
    return ""


def _same_site(headers: Headers) -> bool:
    """Our own page sends JSON, from our own address; no form and no other site can."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    if not headers.get("content-type", "").startswith("application/json"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


def _limited(receive: Any) -> Any:
    """A body that says nothing of its length is counted as it comes."""
    seen = 0

    async def counted() -> Any:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > _LONGEST_BODY:
            return {"type": "http.disconnect"}
        return message

    return counted


def _with_headers(send: Any) -> Any:
    async def adding(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
        await send(message)

    return adding
