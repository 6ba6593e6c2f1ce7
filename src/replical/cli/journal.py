"""``replical journal``: is one whole, its events as CSV, a copy, another label for an item, single labels proven."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TextIO, cast

import typer

from replical.cli.inputs import IdColumn, never_over, pool_of, whole
from replical.cli.output import AsJson, answer, prose
from replical.core.text import count, visible
from replical.errors import BadJournal, BadLabel, BadUsage, Unwritten
from replical.lab.certificate.checks import protocol_of
from replical.lab.certificate.file import read, write
from replical.lab.certificate.opening import open_entries
from replical.lab.certificate.verify import session_of
from replical.lab.columns import said_code
from replical.lab.journal.binding import kept_protocol
from replical.lab.journal.journal import Journal, saying
from replical.lab.journal.ledger import Ledger, export_labels


def show_command(
    journal: Annotated[str, typer.Argument(metavar="JOURNAL", help="file or database URL")],
    as_json: AsJson = False,
) -> None:
    """Go along the chain of a journal, event by event; an event that was changed, moved, removed or put in is named.

    The head is the hash of the last event and tells all others: whoever notes it down can tell later that nothing was cut
    off or written anew.
    """
    with Journal(journal, write=False) as lab_journal:
        ledger, head = Ledger.of(event for event, _ in lab_journal.news(0)), lab_journal.head
        fields = {"events": head.seq, "head": head.digest, "labels": len(ledger.labels), "skipped": len(ledger.skipped)}
        fields |= {"corrected": ledger.corrected, "results": len(ledger.results)}
        if as_json:
            answer({"schema": "replical.journal-head/1", "journal": lab_journal.where, **fields})
            return
        labels = f"{count(len(ledger.labels), 'label')}, {len(ledger.skipped)} skipped, {ledger.corrected} corrected"
        prose.say(f"{lab_journal.where} is whole: {count(head.seq, 'event')}, {labels}.")
        prose.say(f"Head: {head.digest}")


def export_command(
    journal: Annotated[str, typer.Argument(metavar="JOURNAL", help="file or database URL")],
    out: Annotated[Path | None, typer.Option(help="the CSV file to write; standard output if left out")] = None,
    labels_only: Annotated[bool, typer.Option("--labels-only", help="the labels that count, a row an item")] = False,
) -> None:
    """Every event of a journal as CSV, without the private seed."""
    never_over({"--out": out}, {"the journal": journal})
    with Journal(journal, write=False) as lab_journal:
        export = export_labels if labels_only else Journal.export
        if out is None:
            try:
                export(lab_journal, cast(TextIO, _HarmlessStream(sys.stdout)) if sys.stdout.isatty() else sys.stdout)
            except OSError as error:
                raise Unwritten(error) from error
            return
        try:
            with out.open("w", newline="", encoding="utf-8") as file:
                export(lab_journal, file)
        except OSError as error:
            raise BadJournal(f"cannot write {out}: {error.strerror or error}") from error


class _HarmlessStream:
    """A terminal, to which nothing is written that it would obey."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """As much as is harmless as it is, the rest spelled out."""
        return self._stream.write(visible(text))


def backup_command(
    journal: Annotated[str, typer.Argument(metavar="JOURNAL", help="file or database URL")],
    out: Annotated[Path, typer.Option(help="the SQLite file to write; none is replaced")],
) -> None:
    """Copy a journal, event by event along its chain, to a file with which a run can go on."""
    with Journal(journal, write=False) as lab_journal:
        lab_journal.backup(out)
    with Journal(out, write=False) as copy:
        prose.say(f"Written: {out}, {count(copy.head.seq, 'event')}.")
        prose.say(f"Head: {copy.head.digest}")


def correct_command(
    journal: Annotated[str, typer.Argument(metavar="JOURNAL", help="file or database URL")],
    item: Annotated[str, typer.Option("--item", help="id of the item")],
    label: Annotated[str, typer.Option("--label", help="its right label")],
    annotator: Annotated[str | None, typer.Option(help="who says so")] = None,
) -> None:
    """Record another label for an item that was answered; the next run replays with it and says what changed."""
    with Journal(journal, runner=False) as lab_journal:  # a wrong name makes no new journal
        answers, ledger = kept_protocol(lab_journal).answers, Ledger.of(lab_journal.events())
        if item not in ledger.labels:
            raise BadLabel(f"the item {item!r} has no label to correct")
        code, before = said_code(label, answers, f"the label of the item {item!r}"), ledger.labels[item]
        if code == before:
            raise BadLabel(f"the item {item!r} already has the label {label!r}: nothing recorded")
        lab_journal.append([saying("correction", item, code, annotator)])
        was = str(lab_journal.label(before))
    prose.say(
        f"Recorded. The label of the item {item!r} was {was!r}. Run the protocol again: the run is replayed with the label "
        f"{label!r}."
    )


def open_command(
    journal: Annotated[str, typer.Argument(metavar="JOURNAL", help="file or database URL")],
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="the certificate that was made from it")],
    items: Annotated[list[str] | None, typer.Argument(metavar="ITEM", help="ids of items to open")] = None,
    pool: Annotated[Path, typer.Option(help="the lab's pool")] = ...,  # type: ignore[assignment]
    out: Annotated[Path, typer.Option(help="the opening to write")] = ...,  # type: ignore[assignment]
    beacon: Annotated[str | None, typer.Option(help="a public value, newer than the file, that draws labels")] = None,
    draw: Annotated[int | None, typer.Option(parser=whole, help="so many labels are drawn by the beacon")] = None,
    id_column: IdColumn = "id",
) -> None:
    """Prove which labels some items have in a certificate, and tell nothing of the others: verify --opening checks it."""
    if (beacon is None) != (draw is None) or (beacon is None and not items):
        raise BadUsage("name items to open, or give --beacon VALUE with --draw NUMBER, or all of these")
    if draw is not None and draw < 1:
        raise BadUsage(f"at least 1 label is drawn, got --draw {draw}")
    never_over({"--out": out}, {"the journal": journal, "the certificate": certificate, "--pool": pool})
    published = read(certificate)
    protocol = protocol_of(published["body"])
    lab = pool_of(pool, protocol.recipe, id_column)
    with Journal(journal, write=False) as lab_journal:
        session = session_of(published, protocol, lab, lab_journal)
        opened = open_entries(published, session, items or (), None if draw is None else (beacon or "", draw))
    write(opened, out, what="the opening")
    number, total = len(opened["entries"]), published["body"]["transcript"]["entries"]
    prose.say(
        f"Written: {out}, {number:,} of {total:,} entries are open. replical verify {certificate} --opening {out}"
    )
