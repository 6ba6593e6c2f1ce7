"""``replical quickstart``: the tables of two labs to try everything on, and the five commands to type."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from replical.cli.output import answer, prose
from replical.core.randomness import PrivateRandomness
from replical.errors import BadUsage, MissingExtra
from replical.worlds.datasets import twelve

ITEMS, PUBLIC = 20_000, 100
FOLDER = "replical-quickstart"
_VALUES = ("even", "odd")
_RUN = "replical run protocol.toml --pool {0}.parquet --public public.parquet --labels {0}.parquet:label"
COMMANDS = (
    "replical init --pool a.parquet --public public.parquet:label",
    f"{_RUN.format('a')} --journal a.db --out a.json",
    f"{_RUN.format('b')} --journal b.db --out b.json",
    "replical compare a.json b.json",
    "replical verify a.json --pool a.parquet --journal a.db",
)


def quickstart_command(
    out: Annotated[Path, typer.Option(help="the folder to make")] = Path(FOLDER),
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Make the tables of two labs, with twelve models each, and print the five commands from there to a proof."""
    if out.exists():
        raise BadUsage(f"{out} exists: go on there, or name another folder with --out")
    _write(out)
    if as_json:
        answer({"schema": "replical.quickstart/1", "folder": str(out), "commands": list(COMMANDS)})
        return
    prose.print(
        f"Made the folder {out}: a.parquet and b.parquet, the tables of two labs. One row per item, {ITEMS:,} of them, with "
        "its id, what twelve models say about it (is this handwritten digit even or odd?), and in the column label the "
        f"right answer, which a run reads only where it asks. public.parquet has {PUBLIC} labelled items that belong to no "
        "lab.\n",
        markup=False,
    )
    prose.print(f"Go there (cd {shlex.quote(str(out))}), and type:", markup=False, soft_wrap=True)
    for command, what in zip(COMMANDS, _WHAT, strict=True):
        prose.print(f"\n  # {what}", markup=False, style="dim", soft_wrap=True)
        prose.print(f"  {command}", markup=False, soft_wrap=True)
    prose.print("\nWith a table of your own, begin with: replical init --pool FILE", markup=False)


_WHAT = (
    "a protocol, which all labs get before the first label",
    "lab a asks for labels where they decide something, and ends with a certificate",
    "lab b does the same with its own items",
    "do both have the identical model?",
    "anyone can check a certificate",
)


def _write(folder: Path) -> None:
    """The tables, in a folder that version control leaves alone."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra(
            "tables are written with pyarrow: pip install 'replical[lab]', then replical quickstart"
        ) from error
    names, said, truth = twelve()
    folder.mkdir(parents=True)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    for who, count in (("a", ITEMS), ("b", ITEMS), ("public", PUBLIC)):
        rows = PrivateRandomness.simulated("replical quickstart", who).generator().integers(len(truth), size=count)
        codes = {"label": truth[rows]} | {name: each[rows] for name, each in zip(names, said, strict=True)}
        texts = {
            name: pa.DictionaryArray.from_arrays(each.astype(np.int8), list(_VALUES)) for name, each in codes.items()
        }
        ids = pa.array([f"{who}{number:05d}" for number in range(count)])
        parquet.write_table(pa.table({"id": ids, **texts}), folder / f"{who}.parquet")
