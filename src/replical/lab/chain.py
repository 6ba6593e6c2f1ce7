"""The chain of a journal: every event carries a hash of itself and of the hash before it.

The hash of event n is SHA-256 of the 32 bytes of the one before and of the canonical JSON of its fields (`FIELDS`, the
detail as the text that is stored). So an event that is changed, removed, moved or put in later is found, by its number.
A chain cannot show that the last events were cut off, or that everything was written anew: for that its head, the last
hash, has to be known elsewhere. A certificate tells it.

Journals of before have events without a hash. They are hashed like the others when the journal is read, and the first
event that is added is linked to them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring as spelled
from typing import Any, NamedTuple

from replical.errors import BadJournal

FIELDS = ("seq", "kind", "item", "label", "annotator", "at", "detail")
FIRST = hashlib.sha256(b"replical journal").digest()  # what the first event is linked to


class Link(NamedTuple):
    """How far a chain goes: the number of its last event, and that event's hash."""

    seq: int = 0
    hash: bytes = FIRST

    @property
    def digest(self) -> str:
        """The hash as published files spell it."""
        return f"sha256:{self.hash.hex()}"


Row = tuple[Any, ...]  # the fields of an event, then its hash; None in journals of before


def linked(
    before: bytes,
    seq: int,
    kind: str,
    item: str | None,
    label: int | None,
    annotator: str | None,
    at: str,
    detail: str | None,
) -> bytes:
    """The hash of an event with these fields, after an event with the hash `before`.

    Raises
    ------
    TypeError
        If a field is neither what it must be nor missing.

    Examples
    --------
    >>> linked(FIRST, 1, "ask", "a", None, None, "2025-01-01", None).hex()[:16]
    '8540bd6edc466345'
    """
    text = (
        f"[{int.__repr__(seq)},{spelled(kind)},{'null' if item is None else spelled(item)},"
        f"{'null' if label is None else int.__repr__(label)},{'null' if annotator is None else spelled(annotator)},"
        f"{spelled(at)},{'null' if detail is None else spelled(detail)}]"
    )
    return hashlib.sha256(before + text.encode()).digest()


def followed(rows: Iterable[Row], link: Link, where: str, *, loose: bool) -> Iterator[tuple[Row, bytes]]:
    """Go along the chain of the journal `where`, from `link` on: every row, and its hash.

    Parameters
    ----------
    loose
        May the first rows be without a hash?

    Raises
    ------
    BadJournal
        At the first event that is not the one which was written there.
    """
    last, now = link
    for row in rows:
        seq, kept = row[0], row[-1]
        if kept is None and not loose:
            raise BadJournal(
                f"{where}: event {seq} is not linked to the one before it, so it was put in later or its hash taken out"
                f"{_REMEDY}"
            )
        if kept is not None and seq != last + 1:
            raise BadJournal(f"{where}: {_missing(last + 1, seq - 1)}{_REMEDY}")
        try:
            now = linked(now, *row[:-1])
        except (TypeError, UnicodeEncodeError) as error:
            raise BadJournal(f"{where}: event {seq} is damaged{_REMEDY}") from error
        if kept is not None and now != kept:
            raise BadJournal(
                f"{where}: event {seq} is not what was written there: it was changed or damaged, or events were moved or "
                f"put in{_REMEDY}"
            )
        last, loose = seq, loose and kept is None
        yield row, now


def whole(last: int, written: int, where: str) -> None:
    """Refuse a journal that ends at event `last` although its database knows that event `written` was there."""
    if last < written:
        raise BadJournal(f"{where}: {_missing(last + 1, written)}{_REMEDY}")


_REMEDY = "; take the journal from a backup, because what follows cannot be trusted"


def _missing(first: int, last: int) -> str:
    return f"event {first} is missing" if first == last else f"events {first} to {last} are missing"
