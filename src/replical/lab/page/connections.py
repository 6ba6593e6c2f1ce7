"""Connections to the page: how many may be open, for each address and in all, and how slow they may be.

Uvicorn waits for ever for a request that has begun, and opens connections until the process has no file left to open.
Here a request has to arrive within some seconds, whoever takes an answer has to take it at some speed, and where too
many are open, one that nobody is using makes room.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from replical.lab.page.guard import network

# Open at a time. A browser holds one or two while somebody labels; behind an institution's proxy all have one address.
_MOST, _EACH = 600, 200
BURST = 128  # asyncio takes so many in before it asks us about the first
_QUEUE = 1024  # that the system lets wait until we take them in
_FILES = 128 + BURST  # that are open besides: tables, journal, pictures
_FEWEST = 16
_ARRIVING = 15.0  # seconds for a whole request, of a few hundred bytes, at most 64 kB
_TAKING = 30.0  # seconds for about 50 kB of an answer: what asyncio keeps between two pauses
_FULL = b"""HTTP/1.1 503 Service Unavailable\r
Content-Type: application/json\r
Content-Length: 61\r
Retry-After: 5\r
Connection: close\r
\r
{"error": "too many connections: close some, then try again"}"""


class Connection(H11Protocol):
    """One connection, with a time limit for every request and every piece of an answer."""

    open_connections: Connections
    _arriving: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    network = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let it in if there is room; its first request has to come soon."""
        super().connection_made(transport)
        self.network = network(self.client[0] if self.client else "")
        if self.open_connections.enter(self):
            self._arriving = self.loop.call_later(_ARRIVING, transport.abort)
        else:
            transport.write(_FULL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room."""
        self.open_connections.leave(self)
        for timer in (self._arriving, self._taking):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A piece of a request."""
        super().data_received(data)
        self._limit_arrival()

    def on_response_complete(self) -> None:
        """An answer is out; the next request may have begun already."""
        super().on_response_complete()
        self._limit_arrival()

    def pause_writing(self) -> None:
        """Whoever asked does not take the answer."""
        super().pause_writing()
        self._taking = self._taking or self.loop.call_later(_TAKING, self.transport.abort)

    def resume_writing(self) -> None:
        """They took some of it."""
        super().resume_writing()
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _limit_arrival(self) -> None:
        """The time runs from the first byte of a request to its last, however many come in between."""
        state = self.conn.their_state
        begun = state is h11.SEND_BODY or (state is h11.IDLE and bool(self.conn.trailing_data[0]))
        if begun and self._arriving is None and not self.transport.is_closing():
            self._arriving = self.loop.call_later(_ARRIVING, self.transport.abort)
        elif not begun and self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None

    @property
    def waits(self) -> bool:
        """Is no request here that is being answered?"""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and self.conn.our_state is not h11.SEND_BODY

    @property
    def served(self) -> bool:
        """Has it ever asked for something, from the first letter to the last?"""
        return self.cycle is not None and self.cycle.response_complete


class Connections:
    """All connections of a page, oldest first: so many in all, and of `each` address that is none of the `proxies`."""

    def __init__(self, most: int, each: int, proxies: frozenset[str] = frozenset()) -> None:
        self._most, self._each, self._proxies = most, each, proxies
        self._open: dict[Any, None] = {}
        self._of: dict[str, int] = {}

    def enter(self, connection: Any) -> bool:
        """Room for one more, if need be that of one that waits; False if all are busy."""
        if self._of.get(connection.network, 0) >= self._each and connection.network not in self._proxies:
            crowd = [each for each in self._open if each.network == connection.network]
        elif len(self._open) >= self._most:
            crowd = list(self._open)
        else:
            crowd = None
        if crowd is not None:
            waiting = [each for each in crowd if each.waits]
            if not waiting:
                return False
            # Whoever has never finished a request goes first, then whoever comes from where most come from.
            given_up = min(waiting, key=lambda each: (each.served, -self._of[each.network]))
            self.leave(given_up)
            given_up.transport.abort()
        self._open[connection] = None
        self._of[connection.network] = self._of.get(connection.network, 0) + 1
        return True

    def leave(self, connection: Any) -> None:
        """A connection is closed, or about to be."""
        if connection in self._open:
            del self._open[connection]
            self._of[connection.network] -= 1
            if not self._of[connection.network]:
                del self._of[connection.network]


def protocol(proxies: frozenset[str] = frozenset()) -> type[asyncio.Protocol]:
    """What uvicorn makes for every connection of one page."""

    class OfThisPage(Connection):
        open_connections = Connections(_room(), _EACH, proxies)

    return OfThisPage


def widen(listener: Any) -> None:
    """Let more connections wait than asyncio takes in at once: it knows one number for both."""
    with socket.fromfd(listener.fileno(), listener.family, listener.type) as same:
        same.listen(_QUEUE)


def _room() -> int:
    """How many connections leave files for the rest; the process's limit is raised where it may be."""
    try:
        import resource
    except ImportError:  # not on this platform
        return _MOST
    wanted = _MOST + _FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(
                resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
            )
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST if soft == resource.RLIM_INFINITY else max(_FEWEST, min(_MOST, soft - _FILES))
