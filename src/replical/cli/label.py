"""``replical label``, and ``replical run --ask page``: people label at a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.cli.outlook import Outlook
from replical.cli.output import notes, prose, whole
from replical.errors import BadUsage, MissingExtra
from replical.lab.desk import Desk
from replical.lab.journal import Journal
from replical.lab.remote import Elsewhere
from replical.lab.session import Session
from replical.lab.shards import is_sharded
from replical.lab.tables import ItemColumns


def label_command(
    journal: Annotated[str, typer.Argument(metavar="JOURNAL", help="of a run started with --ask journal")],
    pool: Annotated[Path | None, typer.Option(help="the pool, for the columns to show")] = None,
    show: Annotated[str | None, typer.Option(help="columns of the pool shown to whoever labels")] = None,
    id_column: Annotated[str, typer.Option("--id", help="column with the ids of the items")] = "id",
    votes: Annotated[int, typer.Option(parser=whole, help="people who label each item; an odd number")] = 1,
    host: Annotated[
        str, typer.Option(help="address to listen on; beyond this machine only with a token")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(parser=whole, help="port to listen on; 0 for any free one")] = 8765,
    media: Annotated[Path | None, typer.Option(help="the folder pictures and sounds are served from")] = None,
    instructions: Annotated[Path | None, typer.Option(help="a Markdown file for whoever labels")] = None,
) -> None:
    """Serve the labelling page for a run that is driven elsewhere."""
    with Journal(journal, runner=False) as lab_journal:
        run = Elsewhere(lab_journal)
        created = lab_journal.created or {}
        candidates = {each["name"] for each in created["protocol"]["class"].get("candidates", ())}
        columns = columns_to_show(show, candidates)
        if columns and pool is None:
            raise BadUsage("columns to show are read from the pool: give --pool too")
        details = details_from(pool, columns, id_column)
        title = created["protocol"].get("title") or "Labelling"
        serve_page(run, details, title, votes=votes, host=host, port=port, media=media, instructions=instructions)
    prose.print("The run has ended.")


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


def serve_page(
    run: Session | Elsewhere,
    details: Callable[[list[str]], Any],
    title: str,
    *,
    votes: int,
    host: str,
    port: int,
    media: Path | None,
    instructions: Path | None,
    outlook: Outlook | None = None,
) -> None:
    """Serve until the run has ended."""
    try:
        from replical.lab.page.app import Content, application, not_served
        from replical.lab.page.serve import serve, token_for
    except ImportError as error:
        raise MissingExtra(
            "the page needs starlette and uvicorn: install them with pip install 'replical[lab]'"
        ) from error
    if not 0 <= port <= 65535:
        raise BadUsage(f"a port is a number from 0 to 65535, got {port}")
    if media is not None and not media.is_dir():
        raise BadUsage(f"there is no folder {media}")
    try:
        text = "" if instructions is None else instructions.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadUsage(f"cannot read the instructions {instructions}: {error}") from error
    token = token_for(host)
    desk = Desk(run, votes=votes, outlook=outlook, reservations=run.journal.reservations)

    def ended() -> bool:
        with desk.lock:
            if run.journal.lost is not None:  # whatever people say, it would not be written
                return True
            run.refresh()
            return desk.ended

    def started(at: int) -> None:
        secret = "" if token is None else f"?token={token}"
        name = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        notes.print(f"Label at http://{name}:{at}/{secret}", markup=False, soft_wrap=True)

    content = Content(title=title, columns=details, media=media, instructions=text)
    where = "no --media folder is given" if media is None else f"they are not in the folder {media}"
    for column, kind in not_served(content, run.open).items():
        notes.print(
            f"The column {column} names {kind} files, but {where}: people will see the names only.",
            markup=False,
            soft_wrap=True,
        )
    serve(application(desk, content, token=token), host=host, port=port, ended=ended, started=started)
    if run.journal.lost is not None:
        raise run.journal.lost
    if votes > 1:
        _tell_agreement(run.ledger.agreement())


def _tell_agreement(agreement: Mapping[str, float | int | None]) -> None:
    """For whoever runs: people who vote would be swayed by it."""
    if agreement["pairs"]:
        chance = agreement["beyond_chance"]
        beyond = "" if chance is None else f" (Scott's pi {chance:.2f}: 1 is always, 0 what chance would give)"
        notes.print(
            f"Two people who labelled the same item agreed in {agreement['same']:.0%} of {agreement['pairs']:,} "
            f"cases{beyond}.",
            markup=False,
            soft_wrap=True,
        )
