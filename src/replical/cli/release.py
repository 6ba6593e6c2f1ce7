"""``replical release``: one private answer from the votes of many labs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replical.cli.inputs import never_over
from replical.cli.output import answer, number, prose, whole
from replical.errors import BadUsage
from replical.lab.protocol import Protocol
from replical.lab.release import read_vote, release
from replical.lab.release import write_release as write


def release_command(
    protocol_file: Annotated[Path, typer.Option("--protocol", help="the protocol that the labs ran")],
    epsilon: Annotated[float, typer.Option(parser=number, help="what this release may tell about a lab")],
    budget: Annotated[Path, typer.Option(help="TOML file of what may be spent in all: begin it with total = 2.0")],
    out: Annotated[Path, typer.Option(help="the release to write")],
    votes: Annotated[
        list[Path] | None, typer.Argument(metavar="VOTE", help="votes, as replical run --private writes them")
    ] = None,
    nobody: Annotated[
        int | None,
        typer.Option(parser=whole, help="votes that 'no answer' gets; without it some candidate is released"),
    ] = None,
    sampler: Annotated[str, typer.Option(help="who makes the noise: opendp, or exact for our own")] = "opendp",
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
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
    write(content, out)
    # Nothing below depends on the votes but through the answer.
    if as_json:
        answer(content | {"release": str(out)})
        return
    chosen = content["answer"]
    prose.print(
        "Released: no answer." if chosen is None else f"Released: {chosen['name']} (hypothesis {chosen['index']}).",
        markup=False,
        soft_wrap=True,
    )
    prose.print(
        f"Private at epsilon {epsilon:g} for a whole lab that votes or stays away, {2 * epsilon:g} for one whose data are "
        "replaced.",
        markup=False,
        soft_wrap=True,
    )
    prose.print(f"Release: {out}", markup=False, soft_wrap=True)
