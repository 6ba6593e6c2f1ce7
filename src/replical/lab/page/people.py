"""Who is who at the page, so that nobody answers, takes back or votes as somebody else.

A name belongs to the browser that labelled with it first: the browser keeps a random credential, a cookie that no script
can read, and the journal its hash, from the first answer on. So one browser is one person, after a restart and at every
server of the run, whatever names are tried. A personal link carries a credential that the journal's secret makes for a
name: whoever runs gives it to that person, and where links are for a list of people there is no other way in.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from replical.core.text import JOINERS, is_seen
from replical.errors import BadLabel, BadUsage
from replical.lab.journal.journal import Event
from replical.lab.journal.ledger import VOTE
from replical.lab.sessions.labelling import RemoteRun
from replical.lab.sessions.session import Session

LONGEST_NAME = 80
ANONYMOUS = "anonymous-"
_UNUSED = 600.0  # seconds after which somebody else may take a name that never labelled
_RESERVED = 1000  # names that have not labelled yet; more, and the oldest are forgotten


class NameTaken(BadLabel):
    """A name belongs to somebody else, or a browser to somebody with another name."""


class ReservedName(NamedTuple):
    """A name that somebody has given and not labelled with yet."""

    name: str
    since: float


class People:
    """Names and who may use them, as the journal of the `run` keeps them; `closed`: there are personal links only."""

    def __init__(
        self, run: Session | RemoteRun, *, closed: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._run, self.closed, self._clock = run, closed, clock
        self._key = key_of(run.journal.created or {})
        self._reserved: dict[str, ReservedName] = {}  # by the hash of a credential, oldest first
        # Cookies know no ports: those of two runs must not be mixed up, those of two servers of one run are the same.
        self.cookie = f"replical-person-{self.secret_for('cookie')[:12]}"

    def secret_for(self, purpose: str) -> str:
        """A secret of this run for some purpose, the same after a restart and at every server."""
        return secret_for(self._key, purpose)

    def link(self, name: str) -> str:
        """The credential of somebody's personal link."""
        return personal_credential(self._key, name)

    def who(self, credential: str) -> str | None:
        """Whose credential is this?"""
        name = self.linked_name(credential)
        if name is not None:
            return name
        own = _hash(credential)
        bound = next((name for name, theirs in self._run.ledger.people.items() if theirs == own), None)
        if bound is not None or own not in self._reserved:
            return bound
        return self._reserved[own].name

    def linked_name(self, credential: str) -> str | None:
        """The name in a personal link that is genuine."""
        try:
            name = base64.urlsafe_b64decode(credential.partition(".")[0] + "==").decode()
        except ValueError:
            return None
        return name if name and hmac.compare_digest(credential.encode(), self.link(name).encode()) else None

    def is_settled(self, credential: str) -> bool:
        """Can this browser have no other name any more?"""
        return self.linked_name(credential) is not None or _hash(credential) in self._run.ledger.people.values()

    def join(self, credential: str, said: object) -> tuple[str, str]:
        """Somebody says a name, or none: their name, and the credential that their browser keeps from now on."""
        if credential and self.who(credential) is None:
            self._run.refresh()  # they may have labelled at another server just now
        known = self.who(credential)
        if known is not None and said in ("", known):
            return known, credential
        if known is not None and self.is_settled(credential):
            raise NameTaken(f"this browser labels as {known}: somebody else needs another browser or a personal link")
        name, now = name_of(said), self._clock()
        if self.closed:
            raise NameTaken("this page is for people with a personal link: open yours")
        if known is None:
            credential = secrets.token_urlsafe(24)
        own = _hash(credential)
        name = name or f"{ANONYMOUS}{secrets.token_hex(4)}"
        alike = {each: kept for each, kept in self._reserved.items() if looks_like(kept.name) == looks_like(name)}
        waiting = any(now - kept.since < _UNUSED for each, kept in alike.items() if each != own)
        if waiting or self._owner(name) is not None:
            raise NameTaken(f"somebody labels as {name} already: take another name, or ask for your personal link")
        for each in (own, *alike):
            self._reserved.pop(each, None)
        while len(self._reserved) >= _RESERVED:
            del self._reserved[next(iter(self._reserved))]
        self._reserved[own] = ReservedName(name, now)
        return name, credential

    def _owner(self, name: str) -> str | None:
        """The hash of whoever labelled with this name first, or with one that looks the same."""
        people = self._run.ledger.people.items()
        return next((theirs for known, theirs in people if looks_like(known) == looks_like(name)), None)

    def bind(self, credential: str, name: str) -> None:
        """Whoever labels has their name from now on, for good."""
        own = _hash(credential)
        if self._owner(name) is None:
            self._run.refresh()
            if self._owner(name) is None:  # of two that come at the same moment, the first counts
                self._run.journal.append([Event(kind="join", annotator=name, detail={"browser": own})])
                self._run.refresh()
            self._reserved.pop(own, None)
        if self._owner(name) != own and self.linked_name(credential) is None:
            raise NameTaken(f"somebody labels as {name} already: take another name")


def name_of(said: object) -> str:
    """A name as it is kept, empty for whoever gives none."""
    name = unicodedata.normalize("NFC", said).strip() if isinstance(said, str) else None
    if name is None or len(name) > LONGEST_NAME or not is_seen(name):
        raise BadUsage(f"a name has at most {LONGEST_NAME} letters that are seen, in one line")
    if looks_like(name) == VOTE or looks_like(name).startswith(ANONYMOUS):
        raise BadUsage(f"{name} cannot be a name here: please take another one")
    return name


def key_of(created: Mapping[str, Any]) -> bytes:
    """What all secrets of a page are made from; nothing follows from it about the lab's private seed."""
    return hmac.digest(bytes.fromhex(created["private"]), b"replical page", "sha256")


def secret_for(key: bytes, purpose: str) -> str:
    """A secret for some purpose."""
    return base64.urlsafe_b64encode(hmac.digest(key, purpose.encode(), "sha256")[:24]).decode()


def personal_credential(key: bytes, name: str) -> str:
    """The credential of a personal link: a name, and what only the holder of the key can make of it."""
    written = base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")
    return f"{written}.{secret_for(key, f'person {name}')}"


def _hash(credential: str) -> str:
    return hashlib.sha256(credential.encode()).hexdigest()


_UNSEEN = dict.fromkeys(map(ord, JOINERS))


@lru_cache(maxsize=4096)
def looks_like(name: str) -> str:
    """What names have in common that people would take for one another.

    Examples
    --------
    >>> looks_like("Ann  Lee") == looks_like("ａnn lee")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().translate(_UNSEEN).split())
