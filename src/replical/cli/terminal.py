"""Labelling at the terminal: one item at a time, blind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from replical.cli.output import notes
from replical.errors import BadLabel
from replical.lab.session import Session

Shown = Callable[[list[str]], Mapping[str, Mapping[str, str]]]


def ask_at_terminal(session: Session, shown: Shown) -> None:
    """Ask until the run has ended or the person leaves; every answer is on the disk before the next question."""
    if not session.open:
        return
    labels = session.protocol.labels
    choices = ", ".join(f"{number + 1} = {label}" for number, label in enumerate(labels))
    skip, leave = (word if word not in map(str, labels) else f"/{word}" for word in ("s", "q"))  # labels come first
    notes.print(
        f"Answer with the label or its number: {choices}. {skip!r} skips an item you cannot label, {leave!r} leaves.",
        markup=False,
    )
    while session.open:
        item = session.open[0]
        notes.print(f"\nItem {len(session.ledger.labels) + 1}: {item}", markup=False)
        for column, text in shown([item]).get(item, {}).items():
            notes.print(f"  {column}: {text}", markup=False)
        said = _line()
        if said in (None, leave):
            return
        if said == skip:
            session.skip(item)
            continue
        try:
            session.answer(item, _label(said or "", labels))
        except BadLabel as error:
            notes.print(str(error), markup=False)


def _line() -> str | None:
    notes.print("label: ", end="", markup=False)
    line = sys.stdin.readline()
    return line.strip() if line else None


def _label(said: str, labels: tuple[Any, ...]) -> Any:
    """The label as written; a number that is no label itself counts from 1."""
    by_text = {str(label): label for label in labels}
    if said in by_text:
        return by_text[said]
    if said.isascii() and said.isdigit() and 1 <= int(said) <= len(labels):
        return labels[int(said) - 1]
    raise BadLabel(f"{said!r} is none of {list(labels)!r}")
