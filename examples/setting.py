"""What the examples share: a folder of their own, commands as a lab would type them, and a range for a count."""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from replical.cli import main as replical
from replical.core.binomial import lower_tail, upper_tail


def in_a_folder(what: str, example: Callable[[int], None]) -> int:
    """Run an example in the folder that ``--out`` names, or in a temporary one."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--pairs", type=int, default=20, metavar="N", help="pairs to compare with the prediction")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="a new folder for the files; a temporary one if left out"
    )
    given = parser.parse_args()
    if given.pairs < 1:
        parser.error("--pairs must be at least 1")
    with contextlib.ExitStack() as stack:
        folder = given.out or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(inside(folder, parser))
        example(given.pairs)
    return 0


@contextlib.contextmanager
def inside(folder: Path, parser: argparse.ArgumentParser) -> Iterator[None]:
    """Work in a new folder; one that holds something is left as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        parser.error(f"{folder} is not empty: journals are kept, so give a new folder")
    with contextlib.chdir(folder):
        yield


def command(*words: str, lines: int = 0, allowed: tuple[int, ...] = (0,)) -> None:
    """Run a command of replical and show what it prints, or its last lines only."""
    print("   $ replical", " ".join(f'"{word}"' if " " in word else word for word in words))
    with contextlib.redirect_stdout(io.StringIO()) as told, contextlib.redirect_stderr(io.StringIO()) as notes:
        code = replical(list(words))
    if code not in allowed:
        raise SystemExit(notes.getvalue() + told.getvalue())
    for line in told.getvalue().splitlines()[-lines:]:
        print("  ", line)


def interval(pairs: int, disagreement: float) -> tuple[int, int]:
    """How many pairs agree, with probability 95%, if each pair differs with this probability."""
    agrees = 1 - disagreement
    low = min(count for count in range(pairs + 1) if lower_tail(count, pairs, agrees) > 0.025)
    return low, max(count for count in range(pairs + 1) if upper_tail(count, pairs, agrees) > 0.025)
