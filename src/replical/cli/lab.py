"""What labs do beside running: keys to sign with, one private answer from votes, items that two of them have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replical.cli.inputs import IdColumn, never_over, number, pool_of, whole
from replical.cli.output import AsJson, answer, prose
from replical.core.text import count, plural
from replical.errors import BadUsage
from replical.lab.certificate.file import write
from replical.lab.certificate.overlap import items_file, overlap, read_items, read_key
from replical.lab.protocol import Protocol
from replical.lab.release import read_vote, release
from replical.lab.signatures import new_key, read_public

keys_app = typer.Typer(help="Make and show the keys that labs sign with.", add_completion=False, rich_markup_mode=None)


@keys_app.callback()
def keys_group() -> None:
    """Make and show the keys that labs sign with."""


@keys_app.command("new")
def new_command(
    out: Annotated[Path, typer.Option(help="the private key to write, e.g. oslo.pem; the public one is oslo.pub.pem")],
    as_json: AsJson = False,
) -> None:
    """Make a key (Ed25519, two PEM files): the private one for the lab alone, the public one for the protocol."""
    public_file, public = new_key(out)
    if as_json:
        answer({"schema": "replical.keys/1", "private": str(out), "public": str(public_file), "key": public})
        return
    prose.say(f"Private: {out}. It stays in the lab; whoever has it can sign in its name.")
    prose.say(f"Public: {public_file}. Give it to whoever writes the protocol.")
    prose.say(f"Key {public}")


@keys_app.command("show")
def show_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a public key (PEM)")],
    as_json: AsJson = False,
) -> None:
    """Print a public key as a protocol lists it."""
    key = read_public(file)
    if as_json:
        answer({"schema": "replical.keys/1", "private": None, "public": str(file), "key": key})
    else:
        prose.say(key)


def release_command(
    protocol_file: Annotated[Path, typer.Option("--protocol", help="the protocol that the labs ran")],
    epsilon: Annotated[float, typer.Option(parser=number, help="what this release may tell about a lab")],
    budget: Annotated[Path, typer.Option(help="TOML file of what may be spent in all: begin it with total = 2.0")],
    out: Annotated[Path, typer.Option(help="the release to write")],
    votes: Annotated[list[Path] | None, typer.Argument(metavar="VOTE", help="votes of replical run --vote")] = None,
    nobody: Annotated[int | None, typer.Option(parser=whole, help="votes for 'no answer'; none if left out")] = None,
    sampler: Annotated[str, typer.Option(help="who makes the noise: opendp, or exact for our own")] = "opendp",
    as_json: AsJson = False,
) -> None:
    """Publish one answer, epsilon-differentially private for every lab: nothing else about the votes is told.

    The answer is drawn once for a protocol and kept in the budget: asked again, the same answer is given for nothing.
    """
    files = {str(path): path for path in votes or []}
    if len(files) < len(votes or []):
        raise BadUsage("a vote is given twice: give every file once")
    never_over({"--out": out}, {"the protocol": protocol_file, "--budget": budget, **files})
    protocol = Protocol.read(protocol_file)
    content = release(
        protocol,
        {name: read_vote(path) for name, path in files.items()},
        budget,
        epsilon=epsilon,
        nobody=nobody,
        sampler=sampler,
    )
    write(content, out, what="the release")
    # Nothing below depends on the votes but through the answer.
    if as_json:
        answer(content | {"release": str(out)})
        return
    chosen = content["answer"]
    prose.say(
        "Released: no answer." if chosen is None else f"Released: {chosen['name']} (hypothesis {chosen['index']})."
    )
    prose.say(
        f"Private at epsilon {epsilon:g} for a whole lab that votes or stays away, {2 * epsilon:g} for one whose data are "
        "replaced."
    )
    prose.say(f"Release: {out}")


def overlap_command(
    files: Annotated[list[Path] | None, typer.Argument(metavar="HASHES", help="two files of --out, to compare")] = None,
    protocol_file: Annotated[Path | None, typer.Option("--protocol", help="the protocol of both labs")] = None,
    pool: Annotated[Path | None, typer.Option(help="this lab's pool")] = None,
    key: Annotated[Path | None, typer.Option(help="a file with the key that both labs agreed on")] = None,
    out: Annotated[Path | None, typer.Option(help="the hashes to write, for the other lab alone")] = None,
    id_column: IdColumn = "id",
    as_json: AsJson = False,
) -> int:
    """How many items do two labs share? Each writes keyed hashes of its ids, and two such files are compared.

    Exit code 1 if they share any. Whoever has the key can look for an id in the file, so it is for the two labs alone.
    """
    if files:
        if len(files) != 2 or (protocol_file, pool, key, out) != (None,) * 4:
            raise BadUsage(f"two files of hashes are compared, and nothing else is given then, got {len(files)}")
        one, other = map(read_items, files)
        shared, sizes = overlap(one, other), (len(one["hashes"]), len(other["hashes"]))
        if as_json:
            answer({"schema": "replical.overlap/1", "shared": shared, "items": sizes})
        else:
            prose.say(
                f"{count(shared, 'item')} {plural(shared, 'is', 'are')} in both, of {sizes[0]:,} and {sizes[1]:,}."
            )
        return 1 if shared else 0
    if protocol_file is None or pool is None or key is None or out is None:
        raise BadUsage("give two files of hashes, or --protocol, --pool, --key and --out to write one")
    never_over({"--out": out}, {"the protocol": protocol_file, "--pool": pool, "--key": key})
    lab = pool_of(pool, Protocol.read(protocol_file).recipe, id_column)
    write(items_file(lab, read_key(key)), out, what="the hashes")
    if as_json:
        answer({"schema": "replical.overlap/1", "items": len(lab), "hashes": str(out)})
    else:
        prose.say(f"Written: {out}, {count(len(lab), 'hash', 'hashes')}. It is for the lab that has the same key.")
    return 0
