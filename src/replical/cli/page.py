"""The labelling page: its options, serving it until a run has ended, and ``replical label`` for a run elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replical.cli.inputs import columns_to_show, details_from
from replical.cli.output import notes, prose
from replical.core.files import read_text
from replical.errors import BadUsage, need
from replical.lab.journal.journal import Journal
from replical.lab.sessions.labelling import Desk, RemoteRun
from replical.lab.sessions.session import Session

if TYPE_CHECKING:
    from replical.cli.forecasts import Outlook


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """How a page is served, as words such as ``port=8000`` say; keys of the words are the names of the fields."""

    votes: int = 1  # people who label each item; an odd number
    host: str = "127.0.0.1"  # address to listen on
    port: int = 8765  # 0 for any free one
    media: Path | None = None  # the folder that pictures and sounds are served from
    instructions: Path | None = None  # a Markdown file for whoever labels
    people: Path | None = None  # names, one a line, who get personal links; nobody else labels
    token: bool = True  # without it every user and program of this machine may label
    proxy: str | None = None  # address of a proxy that says who comes from where, by https or not
    url: str | None = None  # address of Label Studio
    project: int | None = None  # of Label Studio; one is made if left out

    @classmethod
    def of(cls, words: Sequence[str], *, live: bool = False) -> PageOptions:
        """What the words of ``--page`` say of the page; of Label Studio if that is `live`.

        Examples
        --------
        >>> options = PageOptions.of(["port=0", "media=pictures", "token=no"])
        >>> options.port, str(options.media), options.token, options.votes
        (0, 'pictures', False, 1)
        """
        found: dict[str, Any] = {}
        for word in words:
            key, _, value = word.partition("=")
            if key not in _PAGE:
                near = get_close_matches(key, _PAGE, n=1)
                meant = f"did you mean {near[0]}?" if near else f"its keys are {', '.join(_PAGE)}"
                raise BadUsage(f"--page has no key {key!r}: {meant}")
            if key in found:
                raise BadUsage(f"--page gives {key} twice: leave one of them out")
            if key not in (_LIVE if live else _PAGE.keys() - {"url", "project"}):
                raise BadUsage(f"--page {key}=.. is for --ask {'page' if live else 'label-studio'}: leave it out")
            read, takes = _PAGE[key]
            try:
                found[key] = read(value) if value else int(value)  # nothing is no value of any key
            except (KeyError, ValueError):
                raise BadUsage(f"--page {key}=.. takes {takes}, got {word!r}") from None
        if live and "url" not in found:
            raise BadUsage("--ask label-studio needs the address of the server: --page url=http://HOST:PORT")
        return cls(**found)


# How values are read, and what they are, by the types of the fields.
_KINDS: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "str": (str, "an address"),
    "Path": (Path, "a path"),
    "bool": ({"yes": True, "no": False}.__getitem__, "yes or no"),
}
_PAGE = {each.name: _KINDS[str(each.type).partition(" ")[0]] for each in fields(PageOptions)}
_LIVE = {"votes", "url", "project"}  # what Label Studio is told
PageWords = Annotated[
    list[str] | None,
    typer.Option(
        "--page",
        metavar="KEY=VALUE",
        help="how the page is served, once for each: votes=3 (people who label each item; an odd number), host=ADDRESS, "
        "port=NUMBER (0 for any free one), media=FOLDER (of pictures and sounds), instructions=FILE (Markdown, for whoever "
        "labels), people=FILE (of names, one a line, who get personal links; nobody else labels), token=no (every user and "
        "program of this machine may label), proxy=ADDRESS (of a proxy that tells where each visitor comes from); "
        "url=ADDRESS of Label Studio, project=NUMBER there (a new one if left out)",
        autocompletion=lambda: [f"{key}=" for key in _PAGE],
    ),
]


def label_command(
    journal: Annotated[str, typer.Argument(metavar="JOURNAL", help="of a run started with --ask journal")],
    pool: Annotated[Path | None, typer.Option(help="the pool, for the columns to show")] = None,
    show: Annotated[str | None, typer.Option(help="columns of the pool shown to whoever labels")] = None,
    id_column: Annotated[str, typer.Option("--id", help="column with the ids of the items")] = "id",
    page: PageWords = None,
    invite: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="print a personal link to the page at this host and port, and end"),
    ] = None,
) -> None:
    """Serve a page on which people label, for a run that was started with ``--ask journal``."""
    options = PageOptions.of(page or ())
    if invite is not None:
        _invite(journal, invite, options.host, options.port)
        return
    with Journal(journal, runner=False) as lab_journal:
        run = RemoteRun(lab_journal)
        created = lab_journal.created or {}
        candidates = {each["name"] for each in created["protocol"]["class"].get("candidates", ())}
        columns = columns_to_show(show, candidates)
        if columns and pool is None:
            raise BadUsage("columns to show are read from the pool: give --pool too")
        details = details_from(pool, columns, id_column)
        serve_page(run, details, created["protocol"].get("title") or "Labelling", options)
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
