"""``replical run --ask file``: batches to fill in, and answers read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from replical.batches import items_of, read_batch, write_batch
from replical.errors import BadTable
from replical.session import Session


def by_file(session: Session, folder: Path, answers: Path | None, shown: Callable[[list[str]], Any]) -> Path | None:
    """Read back what was filled in; open items that no batch holds yet, as after a skip, get a batch of their own."""
    if answers is not None:
        _hear(session, answers)
    while session.open:
        held = {path: items_of(path) for path in sorted(folder.glob("batch-*.csv"))}
        waiting = [path for path, items in held.items() if not items.isdisjoint(session.open)]
        if sum(_hear(session, path) for path in waiting):
            continue
        fresh = [item for item in session.open if not any(item in items for items in held.values())]
        if not fresh:
            return waiting[-1]
        last = max((int(path.stem[6:]) for path in held if path.stem[6:].isdigit()), default=0)
        return write_batch(folder, last + 1, fresh, shown(fresh), session.protocol.labels)
    return None


def _hear(session: Session, path: Path) -> int:
    """Record the answers of a file that are asked for now; others were recorded before, or contradict and are refused."""
    heard, replies = 0, list(read_batch(path, session.protocol.labels))
    for reply in replies:
        if reply.item not in session.known.asked:
            raise BadTable(
                f"{path} answers the item {reply.item!r}, which was never asked for: give the answers to this run's batches"
            )
    for reply in replies:
        if reply.item in session.open:
            heard += 1
            if reply.code is None:
                session.skip(reply.item, annotator=reply.annotator)
            else:
                session.answer(reply.item, session.protocol.labels[reply.code], annotator=reply.annotator)
        elif reply.code is not None and session.known.labels.get(reply.item, reply.code) != reply.code:
            raise BadTable(
                f"{path} has another label for the item {reply.item!r} than the journal: record it with replical correct, "
                "or put the label of the journal there"
            )
    return heard
