"""Flags for classes, learners and parameters: each from its record, so that every command explains it in the same words."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from replical.classes.catalogue import specs
from replical.cli.output import number, whole
from replical.learners.catalogue import LEARNERS
from replical.learners.parameters import PARAMETERS

CLASSES = specs()
Device = Annotated[
    str | None,
    typer.Option("--device", help="cuda or cuda:N: large computations on a graphics card, with the same results"),
]
Cluster = Annotated[
    str | None, typer.Option("--cluster", help="address of a Dask scheduler, or local:N for one started here")
]


def parameter(name: str, help: str | None = None) -> Any:  # noqa: A002 - as typer calls it
    """The flag of a parameter; a command may explain it in words of its own."""
    record = PARAMETERS[name]
    parser = {"word": None, "count": whole}.get(record.kind, number)
    return typer.Option(f"--{name.replace('_', '-')}", parser=parser, help=help or record.help)


def learner(*more: str, help: str | None = None) -> Any:  # noqa: A002 - as typer calls it
    """The flag of a learner; a command may know `more` of them than those that choose from a list."""
    names = [*LEARNERS, *more]
    return typer.Option("--learner", help=help or ", ".join(names), autocompletion=lambda: names)
