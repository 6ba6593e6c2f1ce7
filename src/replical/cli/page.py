"""The labelling page: serving it until a run has ended, and ``replical label`` for a run elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replical.cli.inputs import IdColumn, PageOptions, PageWords, columns_to_show, details_from
from replical.cli.output import notes, prose
from replical.core.files import read_text
from replical.errors import BadUsage, need
from replical.lab.journal.journal import Journal
from replical.lab.sessions.labelling import Desk, RemoteRun
from replical.lab.sessions.session import Session

if TYPE_CHECKING:
    from replical.cli.forecasts import Outlook


def label_command(
    journal: Annotated[str, typer.Argument(metavar="JOURNAL", help="of a run started with --ask journal")],
    pool: Annotated[Path | None, typer.Option(help="the pool, for the columns to show")] = None,
    show: Annotated[str | None, typer.Option(help="columns of the pool shown to whoever labels")] = None,
    id_column: IdColumn = "id",
    page: PageWords = None,
    invite: Annotated[str | None, typer.Option(metavar="NAME", help="print a personal link, and end")] = None,
) -> None:
    """Serve a page on which people label, for a run that was started with ``--ask journal``."""
    options = PageOptions.of(page or ())
    if invite is not None:
        _invite(journal, invite, options.host, options.port)
        return
    with Journal(journal, runner=False) as lab_journal:
        run = RemoteRun(lab_journal)
        candidates = {each["name"] for each in run.protocol.content["class"].get("candidates", ())}
        columns = columns_to_show(show, candidates)
        if columns and pool is None:
            raise BadUsage("columns to show are read from the pool: give --pool too")
        details = details_from(pool, columns, id_column)
        serve_page(run, details, run.protocol.title or "Labelling", options)
    prose.say("The run has ended.")


def _invite(journal: str, name: str, host: str, port: int) -> None:
    """A personal link, also while the page is being served."""
    from replical.lab.page.people import key_of, personal_credential

    check_names([name], "--invite")
    with Journal(journal, write=False) as lab_journal:
        created = lab_journal.created
    if created is None:
        raise BadUsage(f"the journal {journal} is empty: start the run first")
    prose.say(address_of(host, port, person=personal_credential(key_of(created), name)))


def check_names(names: list[str], where: str) -> None:
    """Names that a page knows apart."""
    from replical.lab.page.people import looks_like, name_of

    seen: dict[str, str] = {}
    for name in names:
        try:
            kept = name_of(name)
        except BadUsage as error:
            raise BadUsage(f"{where}: {error}, got {name!r:.90}") from error
        if kept != name or not name:
            raise BadUsage(f"{where}: {name!r:.90} is no name as it would be kept, {kept!r}")
        if looks_like(name) in seen:
            raise BadUsage(f"{where}: {seen[looks_like(name)]!r} and {name!r} look like one person: change one of them")
        seen[looks_like(name)] = name


def address_of(host: str, port: int, **secret: str | None) -> str:
    """Where the page is; whoever comes from elsewhere puts this machine's name in place of the address."""
    name = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    said = "&".join(f"{key}={value}" for key, value in secret.items() if value is not None)
    return f"http://{name}:{port}/" + (f"?{said}" if said else "")


def serve_page(
    run: Session | RemoteRun,
    details: Callable[[list[str]], Any],
    title: str,
    options: PageOptions,
    outlook: Outlook | None = None,
) -> None:
    """Serve until the run has ended."""
    need("starlette", "the page needs starlette and uvicorn")
    from replical.lab.page.app import Content, application, unserved_columns
    from replical.lab.page.people import People
    from replical.lab.page.serve import check_address, serve

    host, media = options.host, options.media
    _check_options(options, local=check_address("--page host", host))
    if options.proxy is not None:
        check_address("--page proxy", options.proxy)
    listed = None if options.people is None else _read_people(options.people, options.votes)
    people = People(run, closed=listed is not None)
    token = people.secret_for("token") if options.token else None
    desk = Desk(run, votes=options.votes, outlook=outlook)

    def ended() -> bool:
        with desk.lock:
            if run.journal.lost is not None:  # whatever people say, it would not be written
                return True
            run.refresh()
            return desk.ended

    def started(at: int) -> None:
        if listed is None:
            notes.say(f"Label at {address_of(host, at, token=token)}")
            if options.votes > 1:
                notes.say("Votes are counted by browsers: --page people=FILE gives every person a link.")
        for name in listed or ():
            link = address_of(host, at, person=people.link(name))
            notes.say(f"{name} labels at {link}")

    rules = options.instructions
    text = "" if rules is None else read_text(rules, what="the instructions", refuse=BadUsage)
    content = Content(title=title, columns=details, media=media, instructions=text)
    where = "no folder is given with --page media=FOLDER" if media is None else f"they are not in the folder {media}"
    for column, kind in unserved_columns(content, run.open).items():
        notes.say(f"The column {column} names {kind} files, but {where}: people will see the names only.")
    app = application(desk, content, people, token=token)
    serve(app, host=host, port=options.port, proxy=options.proxy, ended=ended, started=started)
    if run.journal.lost is not None:
        raise run.journal.lost
    if options.votes > 1:
        _tell_agreement(run.ledger.agreement())


def _check_options(options: PageOptions, *, local: bool) -> None:
    """Refuse what cannot be meant."""
    if not 0 <= options.port <= 65535:
        raise BadUsage(f"a port is a number from 0 to 65535, got {options.port}")
    if not options.token and not (local and options.proxy is None):
        raise BadUsage("--page token=no is for a page on this machine alone, without a proxy: others need the token")
    if options.media is not None and not options.media.is_dir():
        raise BadUsage(f"there is no folder {options.media}")


def _read_people(file: Path, votes: int) -> list[str]:
    """Names, one a line."""
    lines = read_text(file, what="the people", refuse=BadUsage).splitlines()
    names = [line.strip() for line in lines if line.strip()]
    check_names(names, str(file))
    if len(names) < votes:
        raise BadUsage(f"--page votes={votes} needs as many people at least, {file} names {len(names)}")
    return names


def _tell_agreement(agreement: Mapping[str, float | int | None]) -> None:
    """For whoever runs: people who vote would be swayed by it."""
    if agreement["pairs"]:
        chance = agreement["beyond_chance"]
        beyond = "" if chance is None else f" (Scott's pi {chance:.2f}: 1 is always, 0 what chance would give)"
        notes.say(
            f"Two people who labelled the same item agreed in {agreement['same']:.0%} of {agreement['pairs']:,} "
            f"cases{beyond}."
        )
