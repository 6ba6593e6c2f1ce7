"""``replical data order``: a public order of the models of a table, and the file that ``replical init --prefer`` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from replical.classes.recipe import Recipe
from replical.cli import inputs as flags
from replical.cli.labels import PENDING, Annotator, Show, ask_at_terminal, say_pending
from replical.cli.output import AsJson, answer, prose
from replical.cli.protocol_sections import labels_section, read_models
from replical.core.files import write_whole
from replical.core.text import count
from replical.errors import BadTable, BadUsage
from replical.lab.columns import names_of
from replical.lab.journal.journal import Journal
from replical.lab.ordering import SCHEMA, OrderFile, Ordering, active_section, asked_of, order_by, vote_section
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol, recipe_of
from replical.lab.public import PublicSample, check_features, check_ids
from replical.lab.schema import SCHEMA as PROTOCOL
from replical.lab.sessions.session import Session
from replical.lab.tables import read_labels
from replical.learners.handicap.order import Inquiry

_DRAFT = "public order"  # the seed of what the journal calls a protocol; nothing is drawn from it
_FIRST = 3  # models that are named


def order_command(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="public items that no lab scans: .parquet or .csv")],
    out: Annotated[Path, typer.Option(help="the order to write, a .json file for init --prefer")],
    labels: Annotated[str | None, typer.Option(help="a column with labels, of which a hundred are looked at")] = None,
    ask: Annotated[str | None, typer.Option(help="who labels a hundred: terminal, or page")] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="no labels: vote (who agrees most with all others), or FILE:COLUMN, a CSV with a column candidate and a "
            "public number, the smallest first; FILE:COLUMN,OTHER parts those with the same"
        ),
    ] = None,
    descending: Annotated[bool, typer.Option("--descending", help="of --by FILE:COLUMN: the largest first")] = False,
    journal: Annotated[Path | None, typer.Option(help="of --ask: the file that keeps every label")] = None,
    show: Show = None,
    annotator: Annotator = None,
    page: flags.PageWords = None,
    candidates: flags.Candidates = None,
    leave_out: flags.LeaveOut = None,
    values: flags.LabelValues = None,
    weights: flags.Weights = None,
    abstain: flags.Abstain = None,
    price: flags.Price = None,
    force: Annotated[bool, typer.Option("--force", help="replace an existing order")] = False,
    as_json: AsJson = False,
) -> int:
    """Put good models first: an order from public items that are not labelled, for init --public TABLE --prefer FILE.

    Up to 100 items are asked, each where models still in play (at most 3 errors behind the best) differ. The order is
    written with what was asked, so that anyone can compute it again. No lab may scan an item of the table, asked or not.
    Exit code 3 while labels are pending.
    """
    _check_usage(labels, ask, by, journal=journal, descending=descending)
    flags.never_over(
        {"--out": out},
        {"the table": table, "--journal": journal, "--by": None if by is None else by.rpartition(":")[0]},
    )
    if out.exists() and not force:
        raise BadUsage(f"{out} exists: others may have it; use --force, or another name")
    section, said, _ = read_models(table, "id", labels, values, candidates, leave_out or [], abstain)
    about = labels_section(said, weights, abstain, price)
    recipe = recipe_of(section, about, _DRAFT)
    if labels in recipe.columns:
        raise BadTable(f"{labels!r} is a model, not the labels of {table}: name the column that holds the labels")
    if by is not None and by != "vote":
        return _write(by_columns(by, recipe, descending=descending), None, table, out, as_json=as_json)
    items = flags.pool_of(table, recipe)
    if by == "vote":
        return _write(OrderFile.of(vote_section(items), recipe), None, table, out, as_json=as_json)
    if labels is not None:
        known = dict[str, Any](read_labels(table, labels, recipe.answers))
        try:
            inquiry = asked_of(items, known, f"the column {labels} of {table}")
        except BadTable as error:
            raise BadTable(f"{error}: label it, or have people asked, who may skip it (--ask page)") from error
    else:
        assert journal is not None, "checked above"
        options = (flags.PageOptions.of(page) if page else flags.PageOptions()) if ask == "page" else None
        columns = flags.columns_to_show(show, set(recipe.columns))
        draft = {"class": section, "labels": about}
        session, found = _ask_people(items, draft, journal, table, columns, annotator=annotator, page=options)
        if found is None and as_json:
            answer({"schema": SCHEMA, "status": "pending", "pending": len(session.open), "labels": session.counts})
            return PENDING
        if found is None:
            return say_pending(session, None)
        inquiry = found
    return _write(OrderFile.of(active_section(items, inquiry), recipe), (items, inquiry), table, out, as_json=as_json)


def _check_usage(
    labels: str | None, ask: str | None, by: str | None, *, journal: Path | None, descending: bool
) -> None:
    """Refuse two ways to an order, or none, and what is about another way."""
    if sum(each is not None for each in (labels, ask, by)) != 1:
        raise BadUsage("give --labels COLUMN, --ask terminal|page, or --by vote|FILE:COLUMN, and one of them alone")
    if ask not in (None, "terminal", "page"):
        raise BadUsage(f"--ask is terminal or page, got {ask!r}")
    if (ask is None) != (journal is None):
        need = "--ask keeps every label in a journal: give --journal FILE too"
        raise BadUsage(need if ask else "a journal is for labels that people give: leave out --journal, or give --ask")
    if descending and by in (None, "vote"):
        raise BadUsage("--descending is about --by FILE:COLUMN: leave it out")


def _ask_people(
    items: LabPool,
    draft: Mapping[str, Any],
    journal: Path,
    table: Path,
    columns: list[str],
    *,
    annotator: str | None = None,
    page: flags.PageOptions | None = None,
) -> tuple[Session, Inquiry | None]:
    """A hundred labels from people, at the terminal or at a page; no inquiry while some are pending."""
    content: dict[str, Any] = {"schema": PROTOCOL, "title": "Public order", "seed": _DRAFT, **draft}
    content |= {"learner": {"name": "handicap", "epsilon": 0.05, "delta": 0.05, "rho": 0.1}}
    details = flags.details_from(table, columns, "id")
    with Journal(str(journal)) as kept:
        session = Session(Ordering(Protocol.of(content).content, items.ids), items, kept, annotator=annotator)
        if page is None:
            ask_at_terminal(session, details)
        else:
            from replical.cli.page import serve_page  # most orders have none

            serve_page(session, details, "Labelling", page)
        if session.open:
            return session, None
        session.finish()
        known = session.ledger.labels | dict.fromkeys(session.ledger.skipped)
        return session, asked_of(items, known, str(journal))


def by_columns(by: str, recipe: Recipe, *, descending: bool) -> OrderFile:
    """From the columns of a CSV file, with one row a candidate."""
    file, names = flags.file_and_column("--by", by)
    columns = [(name, flags.numbers_of(file, name)) for name in map(str.strip, names.split(","))]
    return order_by(recipe, columns, descending=descending, name=file.name)


def _write(order: OrderFile, asked: tuple[LabPool, Inquiry] | None, table: Path, out: Path, *, as_json: bool) -> int:
    write_whole(out, order.json, what="the order", refuse=BadTable)
    if as_json:
        fields: dict[str, Any] = {"schema": SCHEMA, "status": "done", "made": order.made, "order": list(order.order)}
        answer(fields | {"asked": len(order.asked), "file": str(out)})
        return 0
    if asked is not None:
        _say_asked(*asked)
    listed = ", ".join(order.order[:_FIRST]) + (", .." if len(order.order) > _FIRST else "")
    prose.say(f"Wrote {out}: {listed}")
    apart = ""
    if order.from_table:
        prose.say(f"Publish {table} with it. No lab may scan one of its items, asked or not: they were looked at.")
        apart = f" --public {table}"
    prose.say(f"Next: replical init --pool YOUR-TABLE{apart} --prefer {out}")
    return 0


def _say_asked(items: LabPool, inquiry: Inquiry) -> None:
    skipped = sum(each.code is None for each in inquiry.asked)
    more = f" and {skipped} skipped" if skipped else ""
    prose.say(
        f"{count(len(inquiry.asked) - skipped, 'label')}{more}, of {count(len(items), 'public item')}; "
        f"{len(inquiry.in_play)} of {count(len(inquiry.C), 'model')} still in play."
    )
    if skipped == len(inquiry.asked):
        prose.say("Nothing was learned of the models: the order is by the vote, then by name.")


class ProtocolOrder(NamedTuple):
    """What a protocol says of its order, the file that it was made from, and the labelled items where they make it."""

    section: dict[str, Any] | None = None
    file: Path | None = None
    sample: PublicSample | None = None


def read_order(
    file: Path, public: str | None, pool: Path | None, recipe: Recipe, id_column: str, *, instead: object
) -> ProtocolOrder:
    """The order in a file, computed again on its public table, none of whose items is in the `pool`."""
    if instead is not None:
        raise BadUsage("--prefer says who is preferred: give it, or --handicap")
    order = OrderFile.read(file)
    if not order.from_table:
        if public is not None:
            raise BadUsage(f"{file} was made by {order.made}, without a public table: leave out --public, or --prefer")
        return ProtocolOrder(order.section(recipe, None, str(file), ""), None)
    if public is None:
        raise BadUsage(f"{file} was made from a public table: give it too, --public TABLE")
    table = Path(public)
    if not table.exists():
        raise BadUsage(f"beside such an order --public names the table alone, and there is no file {public}")
    if pool is not None and table.samefile(pool):
        raise BadUsage(f"public items belong to no lab, and {table} is your table: give --public a table of its own")
    order.places(recipe, str(file))
    items = flags.pool_of(table, recipe)
    section = order.section(recipe, items, str(file), str(table))
    if pool is not None:
        _check_apart(items, table, pool, id_column)
    return ProtocolOrder(section, table)


def _check_apart(items: LabPool, table: Path, pool: Path, id_column: str) -> None:
    """None of the public items may be in the pool, asked or not."""
    check_ids(items, str(table), pool, id_column=id_column)
    check_features(items.recipe, table, pool, id_column=id_column)


def ask_order(
    table: Path,
    pool: Path,
    recipe: Recipe,
    draft: Mapping[str, Any],
    journal: Path,
    shown: Sequence[str],
    id_column: str,
) -> ProtocolOrder:
    """An order from a hundred labels that somebody at the terminal gives now, kept in a `journal`."""
    items = flags.pool_of(table, recipe)
    _check_apart(items, table, pool, id_column)
    prose.say(
        f"Up to 100 items of {table} are asked. Every label is kept in {journal}; to go on "
        "another day, say the same again."
    )
    columns = [each for each in shown if each in names_of(table)]
    session, inquiry = _ask_people(items, draft, journal, table, columns)
    if inquiry is None:
        raise typer.Exit(say_pending(session, None))
    _say_asked(items, inquiry)
    return ProtocolOrder(active_section(items, inquiry), table)
