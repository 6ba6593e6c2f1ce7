"""Who may talk to the page, how much, and how often; and headers that keep a browser on our side."""

from __future__ import annotations

import hashlib
import hmac
import html
import ipaddress
import re
import time
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from replical.lab.page.people import People

_LONGEST_BODY = 64 * 1024
# Requests a second of one address, and at once. Behind an institution's proxy all who label have the same one; strangers,
# who are refused anyway, are counted apart, so that they use up nobody's allowance.
_PEOPLE, _STRANGERS = (500.0, 2000.0), (50.0, 200.0)
_CLIENTS = 4096  # whose requests are counted at a time
REMEMBERED = 90  # days for which a browser stays the same person
_LOOPBACK = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE)
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
    """In front of everything else: nothing is served without the `token`, or a personal link of one of the `people`.

    Where there is no token, only to a browser on this machine that calls us by a name of this machine, since any site may
    give its own name our address.
    """

    def __init__(self, app: Any, token: str | None, people: People) -> None:
        self._app, self._token, self._people = app, token, people
        # Client, and whether it may come in: requests left, and when; the latest is last.
        self._allowance: dict[tuple[str, bool], tuple[float, float]] = {}
        # Cookies know no ports: two pages on one machine must not forget each other's.
        self._cookie = "" if token is None else f"replical-{hashlib.sha256(token.encode()).hexdigest()[:12]}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Refuse, or pass on with our headers."""
        if scope["type"] == "websocket":  # we have none
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            await self._app(scope, receive, send)
        else:
            app = self._refusal(scope) or self._app
            await app(scope, _limit(receive), _add_headers(send))

    def _refusal(self, scope: Any) -> Response | None:
        headers = Headers(scope=scope)
        stranger = self._check_host(headers) if self._token is None else self._check_token(headers, self._token)
        welcome = self._welcome(scope)
        client = network((scope.get("client") or ("?", 0))[0])
        if not self._within_rate(client, known=stranger is None or welcome is not None):
            return _error(429, "too many requests: slow down")
        length = headers.get("content-length", "0")
        if not re.fullmatch("[0-9]{1,18}", length):
            return _error(400, "the request does not tell its length in digits")
        if int(length) > _LONGEST_BODY:
            return _error(413, "the request is too long")
        if welcome is not None and (self._token is not None or stranger is None):
            return welcome
        if stranger is not None:
            return stranger
        if scope["method"] in ("GET", "HEAD"):
            return None
        if not _same_site(headers):
            return _error(403, "posts from other sites are refused")
        if not _is_json(headers):
            return _error(415, "posts are application/json, and nothing else")
        return None

    def _check_host(self, headers: Headers) -> Response | None:
        if _LOOPBACK.fullmatch(headers.get("host", "")):
            return None
        return _error(403, "this page is for this machine: open the address that was printed")

    def _check_token(self, headers: Headers, token: str) -> Response | None:
        if not hmac.compare_digest(cookie_of(headers, self._cookie).encode(), token.encode()):
            return _error(403, "open the address with the token that was printed, or your personal link")
        return None

    def _welcome(self, scope: Any) -> Response | None:
        """A link that lets in: out of the address bar, into cookies."""
        said = parse_qs(scope["query_string"].decode("latin-1"))
        attempt, person = said.get("token", [""])[0], said.get("person", [""])[0]
        linked = bool(person) and self._people.linked_name(person) is not None
        known = self._token is not None and hmac.compare_digest(attempt.encode(), self._token.encode())
        if not linked and not known:
            return None
        held, instead = cookie_of(Headers(scope=scope), self._people.cookie), said.get("instead", [""])[0]
        if linked and (question := self._question(held, person, instead)):
            return question
        response = RedirectResponse("/", status_code=303)
        if self._token is not None:
            set_cookie(response, scope, self._cookie, self._token)
        if linked:
            set_cookie(response, scope, self._people.cookie, person, days=REMEMBERED)
        return response

    def _question(self, held: str, person: str, instead: str) -> Response | None:
        """Ask before a link makes a browser somebody else's: only whoever reads our answer in it can say yes."""
        before, now = self._people.who(held) if held else None, self._people.linked_name(person)
        yes = self._people.secret_for(f"instead {held} {person}")
        if before in (None, now) or hmac.compare_digest(instead.encode(), yes.encode()):
            return None
        old, new = html.escape(before), html.escape(str(now))
        link = html.escape("/?" + urlencode({"person": person, "instead": yes}))
        return HTMLResponse(
            f'<!doctype html><html lang="en"><title>Who labels here?</title><p>This browser labels as {old}, and the link '
            f'is that of {new}. <a href="{link}">Label as {new} from now on</a>, or <a href="/">go on as {old}</a>.</p>'
        )

    def _within_rate(self, client: str, *, known: bool) -> bool:
        now, (rate, burst) = time.monotonic(), _PEOPLE if known else _STRANGERS
        left, before = self._allowance.pop((client, known), (burst, now))
        left = min(burst, left + (now - before) * rate)
        if len(self._allowance) >= _CLIENTS:
            del self._allowance[next(iter(self._allowance))]  # whoever has been quiet longest
        self._allowance[client, known] = (left - 1 if left >= 1 else left, now)
        return left >= 1


def network(address: str) -> str:
    """Whom an address belongs to: of IPv6 one house has 2⁶⁴."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return str(ipaddress.ip_network((found, 64), strict=False))
        found = found.ipv4_mapped
    return str(found)


def _error(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status_code=status)


def set_cookie(response: Response, scope: Any, name: str, value: str, *, days: int | None = None) -> None:
    """Give the browser a cookie that no script can read; not strict, so that links in mails work."""
    response.set_cookie(
        name,
        value,
        max_age=None if days is None else days * 86_400,
        httponly=True,
        samesite="lax",
        secure=scope["scheme"] == "https",  # what a proxy says of it counts where it is trusted
    )


def cookie_of(headers: Headers, wanted: str) -> str:
    """What a browser kept under a name; nothing if it has not."""
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == wanted:
            return value
    return ""


def _same_site(headers: Headers) -> bool:
    """Our own page posts from our own address."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


def _is_json(headers: Headers) -> bool:
    """Said once, and exactly: no form of another site can send it unasked."""
    kinds = [kind.replace(" ", "").lower() for kind in headers.getlist("content-type")]
    return kinds in (["application/json"], ["application/json;charset=utf-8"])


def _limit(receive: Any) -> Any:
    """A body that says nothing of its length is counted as it comes."""
    size = 0

    async def receive_some() -> Any:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > _LONGEST_BODY:
            raise HTTPException(413)
        return message

    return receive_some


def _add_headers(send: Any) -> Any:
    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
        await send(message)

    return send_with_headers
