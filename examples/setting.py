"""What the examples share: a folder for each, and commands as a lab would type them."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from replical.cli import main as replical

OUT = Path(__file__).parent / "out"  # what the examples write, and git ignores


def in_a_folder(what: str, example: Callable[[int], None]) -> int:
    """Run an example in a folder of its own, and say where its files are."""
    parser = options(what)
    parser.add_argument("--pairs", type=int, default=20, metavar="N", help="pairs of labs that run in memory")
    given = parser.parse_args()
    if given.pairs < 1:
        parser.error("--pairs must be at least 1")
    with inside(given.out, parser):
        example(given.pairs)
    print(f"The files are in {shown(given.out)}.")
    return 0


def options(what: str) -> argparse.ArgumentParser:
    """Options of an example, with the folder it writes to: one of the example's name, unless told."""
    parser = argparse.ArgumentParser(description=what)
    usual = OUT / Path(sys.argv[0]).stem
    told = f"a new folder for the files; {shown(usual)} if left out"
    parser.add_argument("--out", type=Path, default=usual, metavar="DIR", help=told)
    return parser


def shown(folder: Path) -> str:
    """A folder as one would type it from here."""
    return str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder)


@contextlib.contextmanager
def inside(folder: Path, parser: argparse.ArgumentParser) -> Iterator[None]:
    """Work in a new folder; one that holds something is left as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        parser.error(
            f"{shown(folder)} is not empty, and journals are kept: remove it, or name a new one with --out DIR"
        )
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
