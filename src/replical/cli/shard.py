"""``replical shard``: a prediction table larger than memory becomes a folder of packed shards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replical.cli.asking import IdColumn
from replical.cli.inputs import never_over
from replical.cli.output import answer, prose, reading
from replical.core.words import count
from replical.lab.protocol import Protocol
from replical.lab.sharding import write_shards


def shard_command(
    protocol_file: Annotated[Path, typer.Argument(metavar="PROTOCOL", help="the published protocol")],
    pool: Annotated[
        list[Path],
        typer.Option(help="this lab's items: .parquet, .csv or .arrow; once for each part if there are several"),
    ],
    out: Annotated[Path, typer.Option(help="the folder to write, a new one")],
    id_column: IdColumn = "id",
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Write a lab's table as shards: run takes the folder as --pool, whatever its size.

    Rows are read a few at a time. The folder has a table of contents with checksums, written last: a folder that was not
    finished is never used.
    """
    never_over({"--out": out}, {"the protocol": protocol_file, **{str(path): path for path in pool}})
    protocol = Protocol.read(protocol_file)
    with reading(pool[0]) as update:
        lab = write_shards(pool, protocol.recipe, out, id_column=id_column, progress=update)
    files = sorted(out.glob("*.bits"))
    size = sum(file.stat().st_size for file in files)
    if as_json:
        told = {"items": len(lab), "candidates": len(protocol.recipe.C), "shards": len(files), "bytes": size}
        answer({"schema": "replical.shard/1", **told, "fingerprint": lab.fingerprint, "folder": str(out)})
        return
    prose.print(
        f"{count(len(lab), 'item')}, {count(len(protocol.recipe.C), 'candidate')}: {count(len(files), 'shard')}, "
        f"{size / 1e6:,.1f} MB, in {out}",
        markup=False,
        soft_wrap=True,
    )
    prose.print(f"Pool: {lab.fingerprint}", markup=False, soft_wrap=True)
