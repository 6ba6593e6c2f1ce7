"""Serving the page until the run has ended."""

from __future__ import annotations

import ipaddress
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from replical.errors import MissingExtra, ValueOutOfRange

_GRACE = 2.0  # seconds in which every open page hears that the run has ended
_LOOK = 0.2


def token_for(host: str) -> str | None:
    """None on loopback; elsewhere a token, without which nothing is served."""
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise ValueOutOfRange(f"--host must be an address such as 127.0.0.1 or 0.0.0.0, got {host!r}") from None
    return None if local else secrets.token_urlsafe(24)


def serve(application: Any, *, host: str, port: int, ended: Callable[[], bool], started: Callable[[int], None]) -> None:
    """Serve until `ended`; an interrupt ends it too."""
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra("the page needs uvicorn: install it with pip install 'replical[lab]'") from error
    config = uvicorn.Config(application, host=host, port=port, log_level="error", access_log=False, server_header=False)
    server = uvicorn.Server(config)

    def watch() -> None:
        told = False
        while not server.should_exit:
            if server.started and not told:
                told = True
                started(server.servers[0].sockets[0].getsockname()[1])
            if ended():
                time.sleep(_GRACE)
                server.should_exit = True
            time.sleep(_LOOK)

    threading.Thread(target=watch, daemon=True).start()
    try:
        server.run()
    except SystemExit as error:  # uvicorn leaves so when it cannot listen
        raise ValueOutOfRange(f"cannot listen on {host}, port {port}: choose another with --port") from error
