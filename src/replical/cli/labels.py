"""Where labels come from, for ``run`` and ``confirm``: a column, a person at the terminal or page, batches, a journal."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replical.classes.grading import Gold, Said, Scores
from replical.cli.inputs import PageOptions, columns_to_show, details_from, file_and_column, never_over
from replical.cli.output import notes, prose, reading, warn
from replical.core.text import count
from replical.errors import BadLabel, BadTable, BadUsage
from replical.lab import run
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.lab.sessions import label_studio as studio
from replical.lab.sessions.batches import questions_of, read_batch, write_batch
from replical.lab.sessions.session import Session
from replical.lab.tables import grouped_columns, read_labels
from replical.learners.proof import family_of

if TYPE_CHECKING:
    from replical.cli.forecasts import Outlook


Details = Callable[[list[str]], Mapping[str, Mapping[str, str]]]
PENDING = 3
_ASKS = ("terminal", "file", "page", "journal", "label-studio")
_EVERY = 0.5  # seconds between two lines of progress
_LONG = 5.0  # seconds after which a run from a column also says how many labels are left
_LOOK = 0.2  # seconds between two looks into the journal
_GRACE = 3.0  # seconds in which the last label can be taken back at the page
PoolFile = Annotated[Path, typer.Option("--pool", help="this lab's items: .parquet or .csv")]
JournalFile = Annotated[str, typer.Option("--journal", help="file, or database URL, that keeps every label")]
LabelColumn = Annotated[
    str | None, typer.Option("--labels", help="FILE:COLUMN with labels; each is read when it is asked for")
]
Ask = Annotated[
    str | None,
    typer.Option("--ask", help="terminal, file (batches to fill in), page, journal (replical label), or label-studio"),
]
Show = Annotated[str | None, typer.Option("--show", help="columns of the pool shown to whoever labels, e.g. text,age")]
AnswerFile = Annotated[
    Path | None, typer.Option("--answers", help="answers to read back: CSV, or Label Studio's JSON or JSON-MIN export")
]
Batches = Annotated[Path | None, typer.Option("--batches", help="folder of the batches  [default: beside the journal]")]
Envelope = Annotated[
    str | None,
    typer.Option(help="in-toto: write the certificate as an in-toto Statement, with --key in a DSSE envelope"),
]
Annotator = Annotated[str | None, typer.Option("--annotator", help="name recorded with the labels")]
Public = Annotated[
    Path | None,
    typer.Option("--public", help="the public table of the protocol's order: none of its items may be in the pool"),
]
Files = Mapping[str, Path | str | None]  # what flags name


def check_usage(labels: str | None, ask: str | None, *, writes: Mapping[str, Path | None], reads: Files) -> None:
    """Refuse two sources of labels, none, an unknown one, and a command that would write over what it reads."""
    if (labels is None) == (ask is None):
        raise BadUsage(f"give --labels FILE:COLUMN or --ask {'|'.join(_ASKS)}, and not both")
    if ask not in (None, *_ASKS):
        raise BadUsage(f"--ask is {', '.join(_ASKS[:-1])} or {_ASKS[-1]}, got {ask!r}")
    never_over(writes, {**reads, "--labels": None if labels is None else labels.rpartition(":")[0]})


def read_items(protocol: Protocol, pool: Path, id_column: str, public: Path | None) -> LabPool:
    """The lab's items, none of which is in the public table; how far the reading is."""
    with reading(pool) as update:
        items = run.read_items(protocol, pool, id_column=id_column, public=public, progress=update)
    if public is None and protocol.public is not None:
        warn(
            "no item of the public table that the protocol was made with may be in this pool, and nobody has looked: give "
            "--public TABLE"
        )
    if protocol.recipe.group is None and protocol.population is None:
        for column in grouped_columns(pool, (id_column, *protocol.recipe.columns)):
            warn(
                f"the column {column} looks as if it said which items belong together, and the protocol takes each for a "
                "draw of its own: if items of one are alike, what is proven does not hold, so name it with replical init "
                "--set group=.."
            )
    return items


@dataclass(frozen=True, kw_only=True)
class Answerer:
    """Who answers, and how they are asked."""

    ask: str | None
    column: tuple[str, dict[str, Said]] | None
    details: Callable[[list[str]], Any]
    answers: Path | None
    batches: Path
    page: PageOptions | None

    def answer(self, session: Session, outlook: Outlook | None = None) -> Path | None:
        """Ask until the run has ended or nobody answers; the batch that waits to be filled in, if there is one."""
        if self.column is not None:
            _answer_from_column(session, self.column, outlook)
        elif self.ask == "terminal":
            ask_at_terminal(session, self.details, outlook)
        elif self.ask == "page":
            from replical.cli.page import serve_page  # most runs have none

            serve_page(
                session, self.details, session.protocol.title or "Labelling", self.page or PageOptions(), outlook
            )
        elif self.ask == "journal":
            _wait(session, outlook)
        elif self.ask == "label-studio":
            ask_in_label_studio(session, self.details, self.page or PageOptions(), outlook)
        else:
            return ask_by_file(session, self.batches, self.answers, self.details)
        return None


@dataclass(kw_only=True)
class Labelling:
    """Whoever labels, once the person who runs was told what to expect by `announce`, which makes estimates if any."""

    source: Answerer
    announce: Callable[[Session], Outlook | None]
    outlook: Outlook | None = None
    batch: Path | None = None  # that waits to be filled in
    before: Sequence[int | str | None] = ()  # what the journal had ended with

    def answer_open(self, session: Session) -> None:
        """Announce what begins, then ask."""
        self.outlook = self.announce(session)
        self.before = session.ledger.results[-1:]
        self.batch = self.source.answer(session, self.outlook)


def _answer_from_column(session: Session, source: tuple[str, dict[str, Said]], outlook: Outlook | None) -> None:
    name, known = source
    last, begun = 0.0, time.monotonic()
    while session.open:
        asked = session.open
        missing = [item for item in asked if item not in known]
        if missing:
            raise BadLabel(f"{name} has no label for the item {missing[0]!r}, which is asked for: add it and run again")
        session.answer_all({item: session.wanted(item, session.protocol.word(known[item])) for item in asked})
        if time.monotonic() - last > _EVERY and session.course.latest is not None:
            last = time.monotonic()
            _progress(session, outlook)
            if outlook is not None and last - begun > _LONG:
                outlook.look()


def _progress(session: Session, outlook: Outlook | None) -> None:
    """For the person who runs, never for the one who labels."""
    if session.course.latest is None:
        return
    labels, still = count(session.ledger.label_count, "label"), session.course.latest.survivors
    if still == 1 and session.error_labels:
        notes.say(f"{labels}, measuring its error")
        return
    left = "" if outlook is None else outlook.left()
    line = f"{labels}{f', {left}' if left else ''}"
    protocol = session.protocol
    notes.say(f"{line}{family_of(protocol.record).left_words(still, protocol.recipe)}")


def ask_at_terminal(session: Session, details: Details, outlook: Outlook | None = None) -> None:
    """Ask until the run has ended or the person leaves; every answer is on the disk before the next question."""
    if not session.open:
        return
    labels = session.protocol.labels
    digits = _are_numbers(labels)
    choices = ", ".join(str(label) if digits else f"{place} = {label}" for place, label in enumerate(labels, start=1))
    leave = "/q" if "q" in map(str, labels) or not labels else "q"  # labels come first; none is called SKIP
    judged = isinstance(session.answers, Gold) and bool(session.answers.choices)
    free = "one of the words below what is shown" if judged else "what is right"
    how = f"the label{'' if digits else ' or its number'}: {choices}" if labels else free
    notes.say(f"Answer with {how}. {studio.SKIP!r} skips an item you cannot label, {leave!r} leaves.")
    while session.open:
        session.journal.checkpoint()  # a person takes longer
        item = session.open[0]
        left = "" if outlook is None else outlook.left()
        notes.say(f"\nItem {session.ledger.label_count + 1}{f' ({left})' if left else ''}: {item}")
        for column, text in details([item]).get(item, {}).items():
            notes.say(f"  {column}: {text}")
        if judged:
            if not _judge(session, item):
                return
            if outlook is not None:
                outlook.look()
            continue
        reply = _line()
        if reply in (None, leave):
            return
        if reply == studio.SKIP:
            session.skip(item)
            continue
        try:
            session.answer(item, _label(reply or "", labels) if labels else reply or "")
        except BadLabel as error:
            notes.say(str(error))
        if outlook is not None:
            outlook.look()


def _judge(session: Session, item: str) -> bool:
    """Show an output to be scored, or two to choose between, and hear what is said of them; False for who leaves.

    Before any is shown the item may be skipped.
    """
    answers = session.answers
    assert isinstance(answers, Gold), "labels are no outputs"
    if item not in session.ledger.shown:
        notes.say(f"  Enter shows what is to be judged, {studio.SKIP!r} skips the item.")
        if (reply := _line()) in (None, "/q"):
            return False
        if reply == studio.SKIP:
            session.skip(item)
            return True
        session.show(item)
    outputs = session.ledger.to_judge(item)[: 1 if isinstance(answers, Scores) else 2]
    for head, output in zip(answers.heads, outputs, strict=True):
        notes.say(textwrap.indent(f"{head}: {output}", "  "))
    notes.say(f"  {', '.join(answers.choices)}")
    while (reply := _line()) not in (None, "/q"):
        try:
            session.answer(item, answers.judged(reply or "", outputs))
        except BadLabel as error:
            notes.say(str(error))
        else:
            return True
    return False


def _are_numbers(labels: tuple[Any, ...]) -> bool:
    """Is some label a number? Then a number is a label, and never its place."""
    return any(str(label).lstrip("-").isdigit() for label in labels)


def _line() -> str | None:
    notes.say("label: ", end="")
    line = sys.stdin.readline()
    return line.strip() if line else None


def _label(reply: str, labels: tuple[Any, ...]) -> Any:
    """The label as written, or its place from 1 on where no label is a number.

    Examples
    --------
    >>> _label("yes", ("no", "yes")), _label("2", ("no", "yes")), _label("1", (0, 1))
    ('yes', 'yes', 1)
    """
    by_text = {str(label): label for label in labels}
    if reply in by_text:
        return by_text[reply]
    if not _are_numbers(labels) and reply.isascii() and reply.isdigit() and 1 <= int(reply) <= len(labels):
        return labels[int(reply) - 1]
    raise BadLabel(f"{reply!r} is none of {list(labels)!r}")


def _wait(session: Session, outlook: Outlook | None) -> None:
    """Labels come through the journal, from ``replical label``."""
    notes.say("Waiting for labels in the journal: serve the page with replical label.")
    answered = -_GRACE  # when something was open last
    while session.open or time.monotonic() - answered < _GRACE:
        if session.open:
            answered = time.monotonic()
        time.sleep(_LOOK)
        session.refresh()
        session.journal.checkpoint()
        if outlook is not None:
            outlook.look()


def ask_by_file(session: Session, folder: Path, answers: Path | None, details: Details) -> Path | None:
    """Read back what was filled in; what is open and in no batch yet, as after a skip, gets a batch of its own."""
    if answers is not None:
        _record_answers(session, answers)
    for path in sorted(folder.glob("batch-*.csv")):
        if any(each.item in session.ledger.asked for each in questions_of(path, session.answers)):
            _refuse_changes(session, path, read_batch(path, session.answers))
    while session.open:
        held = {path: questions_of(path, session.answers) for path in sorted(folder.glob("batch-*.csv"))}
        asked = studio.questions(session)
        waiting = [path for path, kept in held.items() if not kept.isdisjoint(asked)]
        if sum(_record_answers(session, path) for path in waiting):
            continue
        fresh = [each for each in asked if not any(each in kept for kept in held.values())]
        if not fresh:
            return waiting[-1]
        for each in fresh:
            if each.outputs:
                session.show(each.item)
        last = max((int(path.stem[6:]) for path in held if path.stem[6:].isdigit()), default=0)
        items = list(dict.fromkeys(each.item for each in fresh))
        return write_batch(folder, last + 1, fresh, details(items), session.answers)
    return None


def _record_answers(session: Session, path: Path) -> int:
    """Record the answers of a file that are asked for now; others were recorded before, or contradict and are refused."""
    replies = read_batch(path, session.answers)
    for reply in replies:
        if reply.item not in session.ledger.asked:
            raise BadTable(
                f"{path} answers the item {reply.item!r}, which was never asked for: give the answers to this run's batches"
            )
    _refuse_changes(session, path, replies)
    count = 0
    for reply in replies:
        code, before = reply.code, session.ledger.labels.get(reply.item)
        if isinstance(code, Mapping) and isinstance(before, Mapping):
            code = {output: score for output, score in code.items() if output not in before}
        if reply.item in session.open and code != {}:
            count += 1
            if code is None:
                session.skip(reply.item, annotator=reply.annotator)
            else:
                session.answer(reply.item, session.protocol.word(code), annotator=reply.annotator)
    return count


def _refuse_changes(session: Session, path: Path, replies: Sequence[studio.Reply]) -> None:
    """Refuse an answer that its item never had; one that was corrected since may stay in its file."""
    ledger = session.ledger
    repeats = [reply for reply in replies if reply.item in ledger.labels or reply.item in ledger.skipped]
    if path.suffix.lower() == ".json":  # in Label Studio somebody may label what another person skipped, or the reverse
        repeats = [reply for reply in repeats if reply.code is not None and reply.item in ledger.labels]
    for reply in studio.contradictions(session, repeats):
        raise BadTable(f"{path} has {studio.change_words(session, reply)}")


def ask_in_label_studio(session: Session, details: Details, options: PageOptions, outlook: Outlook | None) -> None:
    """Ask at a Label Studio server until the run has ended."""
    if not session.open:
        return
    server = studio.Server(options.url or "", os.environ.get(studio.KEY, "").strip())
    try:
        project = studio.Project(session, server, details, number=options.project, votes=options.votes, note=notes.say)
    except studio.Away as error:
        raise BadUsage(f"Label Studio at {server.url} does not answer: {error}") from error
    notes.say(f"Label at {project.url}")
    studio.label_live(project, session, look=(lambda: None) if outlook is None else outlook.look, note=notes.say)


def source_of(
    protocol: Protocol,
    pool: Path,
    id_column: str,
    *,
    labels: str | None,
    show: str | None,
    journal: str,
    out: Path,
    batches: Path | None,
    page: Sequence[str] | None,
    **options: Any,
) -> Answerer:
    """What the flags of a command say, checked before anybody is asked."""
    if options.get("ask") in ("page", "journal") or (page is not None and options.get("ask") != "label-studio"):
        _refuse_page(protocol)
    live = options.get("ask") == "label-studio"
    options["page"] = None if page is None and not live else PageOptions.of(page or (), live=live)
    predictions = set(protocol.recipe.columns) if protocol.recipe.models else set()
    return Answerer(
        column=None if labels is None else _label_column(labels, protocol, id_column),
        details=details_from(pool, columns_to_show(show, predictions), id_column),
        batches=batches or Path(journal if "://" not in journal else str(out)).with_suffix(".batches"),
        **options,
    )


def _refuse_page(protocol: Protocol) -> None:
    if isinstance(protocol.answers, Gold) and not protocol.answers.choices:
        raise BadUsage(
            "the labelling page has a button for each label, and answers to this protocol are free: take --ask terminal or "
            "--ask file"
        )


def _label_column(labels: str, protocol: Protocol, id_column: str) -> tuple[str, dict[str, Said]]:
    file, column = file_and_column("--labels", labels)
    if protocol.recipe.models and column in protocol.recipe.columns:
        raise BadUsage(f"{column!r} is a candidate of the protocol: its predictions are not the labels")
    return labels, read_labels(file, column, protocol.answers, id_column=id_column)


def say_pending(session: Session, batch: Path | None) -> int:
    """Labels are missing: how many, and what to do."""
    asked = studio.questions(session)
    judged = any(each.outputs for each in asked)  # which were seen by then, so that nothing is skipped
    what, skip = ("judgement", "") if judged else ("label", f" ({studio.SKIP!r} for an item nobody can label)")
    pending = count(len(asked), f"{what} is pending", f"{what}s are pending")
    fill = f": fill in the column label of {batch}{skip}, then run the same command again."
    prose.say(pending + ("; run the same command to go on." if batch is None else fill))
    return PENDING
