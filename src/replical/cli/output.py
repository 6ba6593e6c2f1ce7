"""What every command does with its answer: JSON or prose on standard output, progress and errors on standard error."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replical.core.text import visible
from replical.errors import Unwritten

if TYPE_CHECKING:
    from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on standard output")]

# A terminal that says it is zero columns wide would swallow every line.
_WIDTH = 80 if os.environ.get("COLUMNS", "").strip() == "0" else None

_PATIENCE = 2.0  # seconds without a word


def _go_on() -> None:
    """Raise what is being handled: rich would end the process with 1, which means no."""
    raise  # noqa: PLE0704


class Screen:
    """A console of rich, which is loaded when something is first printed: JSON does without."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._stderr = stderr

    @cached_property
    def console(self) -> Console:
        """The console itself."""
        from rich.console import Console

        console = Console(stderr=self._stderr, highlight=False, width=_WIDTH)
        console.on_broken_pipe = _go_on  # type: ignore[method-assign]
        return console

    @property
    def is_terminal(self) -> bool:
        """Does somebody watch?"""
        return self.console.is_terminal

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """An answer is written, or its loss is told; a note need not be."""
        try:
            yield
        except OSError as error:
            if not self._stderr:
                raise Unwritten(error) from error

    def print(self, *what: Any, **how: Any) -> None:
        """Print `what`; `how` is explained by rich."""
        with self._writing():
            self.console.print(*(visible(each) if isinstance(each, str) else each for each in what), **how)

    def say(self, sentence: str, **how: Any) -> None:
        """A sentence as it is, on one line however long; `how` is explained by rich."""
        with self._writing():
            self.console.print(visible(sentence), markup=False, soft_wrap=True, **how)


prose = Screen()
notes = Screen(stderr=True)


def warn(sentence: str) -> None:
    """What a person who goes on should know."""
    notes.say(f"Warning: {sentence}", style="bold red")


def answer(value: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    try:
        sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")
    except OSError as error:
        raise Unwritten(error) from error


def fail(kind: str, message: str, *, as_json: bool, code: int = 2) -> int:
    """One sentence on standard error, or one JSON object on standard output; the exit code either way."""
    if as_json:
        answer({"schema": "replical.error/1", "error": kind, "message": message, "exit": code})
    else:
        notes.say(f"Error: {message.replace(chr(10), ' ')}", style="bold red")
    return code


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error; lines of text where that is not a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=notes.console, transient=True, disable=not notes.is_terminal) as bar:
        task = bar.add_task(visible(what), total=None)
        quarter = [0]

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)
            if not notes.is_terminal and 4 * done // total > quarter[0]:
                quarter[0] = 4 * done // total
                notes.say(f"{what}: {done} of {total}")

        yield update


@contextmanager
def reading(file: Path) -> Iterator[Callable[[int, int], None]]:
    """Progress in percent while a table is read, if that takes more than two seconds."""
    begun = time.monotonic()
    updates: list[Callable[[int, int], None]] = []
    with ExitStack() as stack:

        def update(done: int, total: int) -> None:
            if not updates and time.monotonic() - begun > _PATIENCE:
                updates.append(stack.enter_context(progress(f"reading {file.name}, percent")))
            for each in updates:
                each(100 * done // max(1, total), 100)

        yield update
