"""``replical label``: serve the labelling page for a run that is driven elsewhere; and columns to show there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replical.cli.output import prose
from replical.cli.page import (
    Host,
    Instructions,
    Listed,
    Media,
    NoToken,
    PageOptions,
    Port,
    Proxy,
    Votes,
    address_of,
    check_names,
    serve_page,
)
from replical.errors import BadUsage
from replical.lab.journal import Journal
from replical.lab.remote import Elsewhere
from replical.lab.shards import is_sharded
from replical.lab.tables import ItemColumns


def label_command(
    journal: Annotated[str, typer.Argument(metavar="JOURNAL", help="of a run started with --ask journal")],
    pool: Annotated[Path | None, typer.Option(help="the pool, for the columns to show")] = None,
    show: Annotated[str | None, typer.Option(help="columns of the pool shown to whoever labels")] = None,
    id_column: Annotated[str, typer.Option("--id", help="column with the ids of the items")] = "id",
    votes: Votes = 1,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    media: Media = None,
    instructions: Instructions = None,
    people: Listed = None,
    no_token: NoToken = False,
    proxy: Proxy = None,
    invite: Annotated[
        str | None, typer.Option(metavar="NAME", help="print a personal link to the page at --host and --port, and end")
    ] = None,
) -> None:
    """Serve the labelling page for a run that is driven elsewhere."""
    if invite is not None:
        _invite(journal, invite, host, port)
        return
    options = PageOptions(
        votes=votes, host=host, port=port, media=media, instructions=instructions, people=people, no_token=no_token,
        proxy=proxy,
    )  # fmt: skip
    with Journal(journal, runner=False) as lab_journal:
        run = Elsewhere(lab_journal)
        created = lab_journal.created or {}
        candidates = {each["name"] for each in created["protocol"]["class"].get("candidates", ())}
        columns = columns_to_show(show, candidates)
        if columns and pool is None:
            raise BadUsage("columns to show are read from the pool: give --pool too")
        details = details_from(pool, columns, id_column)
        serve_page(run, details, created["protocol"].get("title") or "Labelling", options)
    prose.print("The run has ended.")


def _invite(journal: str, name: str, host: str, port: int) -> None:
    """A personal link, also while the page is being served."""
    from replical.lab.page.people import key_of, personal

    check_names([name], "--invite")
    with Journal(journal, write=False) as lab_journal:
        created = lab_journal.created
    if created is None:
        raise BadUsage(f"the journal {journal} is empty: start the run first")
    prose.print(address_of(host, port, person=personal(key_of(created), name)), markup=False, soft_wrap=True)


def columns_to_show(show: str | None, predictions: set[str]) -> list[str]:
    """Columns for whoever labels; predictions are never among them."""
    columns = [word.strip() for word in (show or "").split(",") if word.strip()]
    for column in columns:
        if column in predictions:
            raise BadUsage(f"{column!r} holds predictions: labelling is blind, so it is not shown")
    return columns


def details_from(pool: Path | None, columns: list[str], id_column: str) -> ItemColumns:
    """These columns of the pool, looked up at once: one that is not there is named before anybody labels."""
    if columns and is_sharded(pool):
        raise BadUsage(f"{pool} holds shards, and those have predictions alone: leave out --show {','.join(columns)}")
    details = ItemColumns(pool, columns, id_column=id_column)
    details([])
    return details
