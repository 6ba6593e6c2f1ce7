"""Serving the page until the run has ended."""

from __future__ import annotations

import ipaddress
import logging
import os
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from replical.errors import ReplicalError, ValueOutOfRange, need

_GRACE = 3.0  # seconds in which every open page hears that the run has ended
_LOOK = 0.2
_HANGING = 3  # seconds that the end of a run waits for those who neither speak nor leave


def check_address(flag: str, address: str) -> bool:
    """Refuse what is none; is it this machine's own, which no other machine reaches?"""
    try:
        return address == "localhost" or ipaddress.ip_address(address).is_loopback
    except ValueError:
        raise ValueOutOfRange(f"{flag} must be an address such as 127.0.0.1 or 0.0.0.0, got {address!r}") from None


@lru_cache(maxsize=64)
def say_once(sentence: str) -> None:
    """Tell whoever started the run, not whoever labels: it may say something of predictions, or of machines."""
    logging.getLogger("replical.lab.page").error(sentence)


def serve(
    application: Any,
    *,
    host: str,
    port: int,
    ended: Callable[[], bool],
    started: Callable[[int], None],
    proxy: str | None = None,
) -> None:
    """Serve until `ended`; an interrupt ends it too. Only of a `proxy` is believed who comes from where, and how."""
    uvicorn = need("uvicorn", "the page needs uvicorn")
    from replical.lab.page.connections import BURST, protocol, widen
    from replical.lab.page.guard import network

    config = uvicorn.Config(
        application,
        host=host,
        port=port,
        backlog=BURST,
        http=protocol(frozenset() if proxy is None else frozenset({network(proxy)})),
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
        log_level="error",
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=_HANGING,
    )
    server = uvicorn.Server(config)
    reasons: list[OSError] = []

    def is_news(record: logging.LogRecord) -> bool:
        """Uvicorn logs why it cannot listen, and we say it in a sentence."""
        if server.started or not isinstance(record.msg, OSError):
            return True
        reasons.append(record.msg)
        return False

    def has_ended() -> bool:
        try:
            return ended()
        except ReplicalError as error:  # people may still take back what it is about
            say_once(str(error))
            return False

    def watch() -> None:
        announced, since = False, None
        while not server.should_exit:
            if server.started and not announced:
                announced = True
                listener = server.servers[0].sockets[0]
                widen(listener)
                started(listener.getsockname()[1])
            since = (since or time.monotonic()) if has_ended() else None  # the last answer may be taken back
            if since is not None and time.monotonic() - since >= _GRACE:
                server.should_exit = True
            time.sleep(_LOOK)

    threading.Thread(target=watch, daemon=True).start()
    logging.getLogger("uvicorn.error").addFilter(is_news)
    try:
        server.run()
    except SystemExit as error:  # uvicorn leaves so when it cannot listen
        why = "".join(f" ({os.strerror(reason.errno)})" for reason in reasons if reason.errno)
        raise ValueOutOfRange(
            f"cannot listen on {host}, port {port}{why}: choose another with --page port=NUMBER"
        ) from error
    finally:
        logging.getLogger("uvicorn.error").removeFilter(is_news)
        server.should_exit = True
