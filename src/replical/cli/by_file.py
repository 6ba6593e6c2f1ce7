"""``replical run --ask file``: batches to fill in, and answers read back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from replical.errors import BadTable
from replical.lab.batches import SKIP, Reply, items_of, read_batch, write_batch
from replical.lab.session import Session


def by_file(session: Session, folder: Path, answers: Path | None, details: Callable[[list[str]], Any]) -> Path | None:
    """Read back what was filled in; open items that no batch holds yet, as after a skip, get a batch of their own."""
    if answers is not None:
        _hear(session, answers)
    for path in sorted(folder.glob("batch-*.csv")):
        if not items_of(path).isdisjoint(session.ledger.asked):
            _refuse_changes(session, path, read_batch(path, session.protocol.labels))
    while session.open:
        held = {path: items_of(path) for path in sorted(folder.glob("batch-*.csv"))}
        waiting = [path for path, items in held.items() if not items.isdisjoint(session.open)]
        if sum(_hear(session, path) for path in waiting):
            continue
        fresh = [item for item in session.open if not any(item in items for items in held.values())]
        if not fresh:
            return waiting[-1]
        last = max((int(path.stem[6:]) for path in held if path.stem[6:].isdigit()), default=0)
        return write_batch(folder, last + 1, fresh, details(fresh), session.protocol.labels)
    return None


def _hear(session: Session, path: Path) -> int:
    """Record the answers of a file that are asked for now; others were recorded before, or contradict and are refused."""
    replies = read_batch(path, session.protocol.labels)
    for reply in replies:
        if reply.item not in session.ledger.asked:
            raise BadTable(
                f"{path} answers the item {reply.item!r}, which was never asked for: give the answers to this run's batches"
            )
    _refuse_changes(session, path, replies)
    count = 0
    for reply in replies:
        if reply.item in session.open:
            count += 1
            if reply.code is None:
                session.skip(reply.item, annotator=reply.annotator)
            else:
                session.answer(reply.item, session.protocol.labels[reply.code], annotator=reply.annotator)
    return count


def _refuse_changes(session: Session, path: Path, replies: Sequence[Reply]) -> None:
    """Refuse an answer that its item never had; one that was corrected since may stay in its file."""
    ledger = session.ledger
    repeats = [reply for reply in replies if reply.item in ledger.labels or reply.item in ledger.skipped]
    if path.suffix.lower() == ".json":  # in Label Studio somebody may label what another person skipped, or the reverse
        repeats = [reply for reply in repeats if reply.code is not None and reply.item in ledger.labels]
    suspects = {reply.item: reply for reply in repeats if reply.code != ledger.labels.get(reply.item)}
    if not suspects:
        return
    for event in session.journal.events():
        reply = suspects.get(event.item or "")
        if reply is not None and event.kind in ("answer", "correction", "skip") and event.label == reply.code:
            del suspects[reply.item]
    for item, reply in suspects.items():
        before, now = _written(session, ledger.labels.get(item)), _written(session, reply.code)
        correct = f"record {now!r} with replical correct, or " if SKIP not in (before, now) else ""
        raise BadTable(
            f"{path} has {now!r} for the item {item!r}, but {before!r} is recorded: {correct}put {before!r} there again"
        )


def _written(session: Session, code: int | None) -> str:
    return SKIP if code is None else str(session.protocol.labels[code])
