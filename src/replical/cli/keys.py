"""``replical keys``: the keys that labs sign with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replical.cli.output import answer, prose
from replical.lab.signatures import new_key, read_public

keys_app = typer.Typer(help="Make and show the keys that labs sign with.", add_completion=False, rich_markup_mode=None)


@keys_app.callback()
def keys_group() -> None:
    """Make and show the keys that labs sign with."""


@keys_app.command("new")
def new_command(
    out: Annotated[Path, typer.Option(help="the private key to write, e.g. oslo.pem; the public one is oslo.pub.pem")],
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Make a key (Ed25519, two PEM files): the private one for the lab alone, the public one for the protocol."""
    public_file, public = new_key(out)
    if as_json:
        answer({"schema": "replical.keys/1", "private": str(out), "public": str(public_file), "key": public})
        return
    prose.print(
        f"Private: {out}. It stays in the lab; whoever has it can sign in its name.", markup=False, soft_wrap=True
    )
    prose.print(f"Public: {public_file}. Give it to whoever writes the protocol.", markup=False, soft_wrap=True)
    prose.print(f"Key {public}", markup=False, soft_wrap=True)


@keys_app.command("show")
def show_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a public key (PEM)")],
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Print a public key as a protocol lists it."""
    key = read_public(file)
    if as_json:
        answer({"schema": "replical.keys/1", "private": None, "public": str(file), "key": key})
    else:
        prose.print(key, markup=False, soft_wrap=True)
