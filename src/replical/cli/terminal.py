"""Labelling at the terminal: one item at a time, blind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from replical.cli.outlook import Outlook
from replical.cli.output import notes
from replical.errors import BadLabel
from replical.lab.batches import SKIP
from replical.lab.session import Session

Details = Callable[[list[str]], Mapping[str, Mapping[str, str]]]


def ask_at_terminal(session: Session, details: Details, outlook: Outlook | None = None) -> None:
    """Ask until the run has ended or the person leaves; every answer is on the disk before the next question."""
    if not session.open:
        return
    labels = session.protocol.labels
    digits = _are_numbers(labels)
    choices = ", ".join(str(label) if digits else f"{place} = {label}" for place, label in enumerate(labels, start=1))
    leave = "/q" if "q" in map(str, labels) else "q"  # labels come first; none is called SKIP
    notes.print(
        f"Answer with the label{'' if digits else ' or its number'}: {choices}. {SKIP!r} skips an item you cannot label, "
        f"{leave!r} leaves.",
        markup=False,
        soft_wrap=True,
    )
    while session.open:
        item = session.open[0]
        left = "" if outlook is None else outlook.left()
        notes.print(f"\nItem {len(session.ledger.labels) + 1}{f' ({left})' if left else ''}: {item}", markup=False)
        for column, text in details([item]).get(item, {}).items():
            notes.print(f"  {column}: {text}", markup=False)
        reply = _line()
        if reply in (None, leave):
            return
        if reply == SKIP:
            session.skip(item)
            continue
        try:
            session.answer(item, _label(reply or "", labels))
        except BadLabel as error:
            notes.print(str(error), markup=False)
        if outlook is not None:
            outlook.look()


def _line() -> str | None:
    notes.print("label: ", end="", markup=False)
    line = sys.stdin.readline()
    return line.strip() if line else None


def _are_numbers(labels: tuple[Any, ...]) -> bool:
    """Is some label a number? Then a number is a label, and never its place."""
    return any(str(label).lstrip("-").isdigit() for label in labels)


def _label(reply: str, labels: tuple[Any, ...]) -> Any:
    """The label as written, or its place from 1 on where no label is a number.

    Examples
    --------
    >>> _label("yes", ("no", "yes")), _label("2", ("no", "yes")), _label("1", (0, 1))
    ('yes', 'yes', 1)
    """
    by_text = {str(label): label for label in labels}
    if reply in by_text:
        return by_text[reply]
    if not _are_numbers(labels) and reply.isascii() and reply.isdigit() and 1 <= int(reply) <= len(labels):
        return labels[int(reply) - 1]
    raise BadLabel(f"{reply!r} is none of {list(labels)!r}")
