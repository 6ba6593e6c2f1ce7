"""``replical run``: one lab runs a protocol on its pool, label by label, through its journal."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.cli.by_file import by_file
from replical.cli.inputs import SIMULATED, file_and_column
from replical.cli.label import columns_to_show, details_from, serve_page
from replical.cli.output import amount, answer, notes, prose, settled_words, uncertified, whole
from replical.cli.terminal import ask_at_terminal
from replical.core.files import write_whole
from replical.errors import BadLabel, BadUsage
from replical.lab.certificate.file import certify, write
from replical.lab.certificate.page import page
from replical.lab.journal import Journal
from replical.lab.protocol import Protocol
from replical.lab.public import check_apart
from replical.lab.session import Session
from replical.lab.tables import LabPool, read_labels, read_pool
from replical.learners.measured import measurable
from replical.learners.rounded import ACCURATE, CERTIFIED
from replical.learners.settled import PROVEN
from replical.plans.bills import bills
from replical.worlds.forecast import predict_agreement

PENDING = 3
_EVERY = 0.5  # seconds between two lines of progress
_LOOK = 0.2  # seconds between two looks into the journal
_GRACE = 3.0  # seconds in which the last label can be taken back at the page


def run_command(
    protocol_file: Annotated[Path, typer.Argument(metavar="PROTOCOL", help="the published protocol")],
    pool: Annotated[Path, typer.Option(help="this lab's items: .parquet, .csv or .arrow")],
    journal: Annotated[str, typer.Option(help="file, or database URL, that keeps every label")],
    out: Annotated[Path, typer.Option(help="the certificate to write")],
    labels: Annotated[
        str | None, typer.Option(help="FILE:COLUMN with labels; each is read when it is asked for")
    ] = None,
    ask: Annotated[
        str | None, typer.Option(help="terminal, file (batches to fill in), page, or journal (replical label)")
    ] = None,
    show: Annotated[str | None, typer.Option(help="columns of the pool shown to whoever labels, e.g. text,age")] = None,
    answers: Annotated[
        Path | None, typer.Option(help="answers to read back: CSV, or Label Studio's JSON or JSON-MIN export")
    ] = None,
    batches: Annotated[Path | None, typer.Option(help="folder of the batches; beside the journal if left out")] = None,
    id_column: Annotated[str, typer.Option("--id", help="column with the ids of the items")] = "id",
    annotator: Annotated[str | None, typer.Option(help="name recorded with the labels")] = None,
    html: Annotated[Path | None, typer.Option(help="the certificate as a readable page")] = None,
    votes: Annotated[int, typer.Option(parser=whole, help="page: people who label each item; an odd number")] = 1,
    host: Annotated[str, typer.Option(help="page: address; beyond this machine only with a token")] = "127.0.0.1",
    port: Annotated[int, typer.Option(parser=whole, help="page: port; 0 for any free one")] = 8765,
    media: Annotated[Path | None, typer.Option(help="page: the folder pictures and sounds are served from")] = None,
    instructions: Annotated[Path | None, typer.Option(help="page: a Markdown file for whoever labels")] = None,
    measure_error: Annotated[
        int, typer.Option(parser=whole, help="labels to ask for after the answer, to measure how often it errs")
    ] = 0,
    public: Annotated[
        Path | None, typer.Option(help="the public table of the protocol's order: is none of its items in the pool?")
    ] = None,
    truths: Annotated[int, typer.Option(parser=whole, help="simulated truths for the prediction; 0 for none")] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> int:
    """Show the plan, ask for labels one batch after the other, and write a certificate.

    A run that was interrupted goes on where its journal ends. Exit code 3 while labels are pending.
    """
    if (labels is None) == (ask is None):
        raise BadUsage("give --labels FILE:COLUMN or --ask terminal|file|page|journal, and not both")
    if ask not in (None, "terminal", "file", "page", "journal"):
        raise BadUsage(f"--ask is terminal, file, page or journal, got {ask!r}")
    if not out.parent.is_dir():
        raise BadUsage(f"there is no folder {out.parent} for the certificate")
    protocol = Protocol.read(protocol_file)
    lab = _items(protocol, pool, id_column, public)
    columns = columns_to_show(show, set(protocol.recipe.columns) if protocol.recipe.predicts else set())
    source = _labels_from(labels, protocol, id_column) if labels is not None else None
    details = details_from(pool, columns, id_column)
    with Journal(journal) as lab_journal:
        fresh = lab_journal.created is None
        session = Session(protocol, lab, lab_journal, annotator=annotator, measure=measure_error)
        if fresh:
            _announce(protocol, lab, truths)
        before = session.ledger.results[-1] if session.ledger.results else None
        changed = bool(session.ledger.results)
        batch = None
        if source is not None:
            _from_column(session, source)
        elif ask == "terminal":
            ask_at_terminal(session, details)
        elif ask == "page":
            title = protocol.title or "Labelling"
            serve_page(
                session,
                details,
                title,
                votes=votes,
                host=host,
                port=port,
                media=media,
                instructions=instructions,
            )
        elif ask == "journal":
            _wait(session)
        else:
            folder = batches or Path(journal if "://" not in journal else str(out)).with_suffix(".batches")
            batch = by_file(session, folder, answers, details)
        if session.open:
            return _pending(session, batch, as_json=as_json)
        session.finish()
        certificate = certify(session)
        write(certificate, out)
        if html is not None:
            write_whole(html, page(certificate), what="the page", refuse=BadUsage)
        _done(session, certificate["body"], lab_journal.where, out, as_json=as_json)
        if changed and before != session.result.hypothesis:
            notes.print(f"The answer has changed: it was hypothesis {before}.", markup=False)
    return 0


def _items(protocol: Protocol, pool: Path, id_column: str, public: Path | None) -> LabPool:
    """The lab's items, none of which is in the public table."""
    lab = read_pool(pool, protocol.recipe, id_column=id_column)
    if public is not None:
        check_apart(protocol, public, lab)
    return lab


def _labels_from(labels: str, protocol: Protocol, id_column: str) -> tuple[str, dict[str, int]]:
    file, column = file_and_column("--labels", labels)
    if protocol.recipe.predicts and column in protocol.recipe.columns:
        raise BadUsage(f"{column!r} is a candidate of the protocol: its predictions are not the labels")
    return labels, read_labels(file, column, protocol.labels, id_column=id_column)


def _announce(protocol: Protocol, lab: LabPool, truths: int) -> None:
    """The plan first: what it may cost and how likely the labs agree."""
    plan, C = protocol.plan, protocol.recipe.C
    notes.print(
        f"{protocol.title or 'Protocol'} ({protocol.fingerprint[:23]}): {plan.learner}, {len(C):,} hypotheses, "
        f"{len(lab):,} items",
        markup=False,
        soft_wrap=True,
    )
    most = plan.labels_most
    if most is not None:
        notes.print(f"At most {amount(most)} labels.", markup=False)
    for bill in bills(protocol.setting(), plan.learner):
        if bill.plan == plan.name and bill.labels is not None:
            notes.print(f"The plan's bill: {amount(bill.labels)} labels ({bill.kind}).", markup=False)
    if protocol.record.rounds and plan.choice == "ball" and truths:
        _tell_forecast(protocol, lab, truths)


def _tell_forecast(protocol: Protocol, lab: LabPool, truths: int) -> None:
    C, setting = protocol.recipe.C, protocol.setting()
    forecast = predict_agreement(
        C,
        lab.pool(SIMULATED),
        setting.epsilon,
        protocol.plan.learner,
        delta=setting.delta,
        rho=setting.rho,
        noise=(setting.nu or 0.0) if protocol.record.setting == "agnostic" else 0.0,
        items=protocol.given("items"),
        prior=protocol.prior,
        max_labels=protocol.given("max_labels"),
        kappa=protocol.given("kappa"),
        truths=truths,
    )
    notes.print(
        f"Predicted from the unlabelled items: about {forecast.labels_mean:.0f} labels ({forecast.labels_low:.0f} to "
        f"{forecast.labels_high:.0f}), another lab differs in {100 * forecast.disagreement_mean:.1f}% of cases. That is if "
        "one of the hypotheses is the truth; real labels often take two to three times as many.",
        markup=False,
        soft_wrap=True,
    )
    if forecast.ties:
        tied = max(forecast.ties, key=len)
        names = ", ".join(C.describe(h) for h in tied[:4]) + (" .." if len(tied) > 4 else "")
        notes.print(f"Near-ties that labels will hardly tell apart: {names}", markup=False, soft_wrap=True)


def _from_column(session: Session, source: tuple[str, dict[str, int]]) -> None:
    name, known = source
    values, last = session.protocol.labels, 0.0
    while session.open:
        asked = session.open
        missing = [item for item in asked if item not in known]
        if missing:
            raise BadLabel(f"{name} has no label for the item {missing[0]!r}, which is asked for: add it and run again")
        session.answer_all({item: values[known[item]] for item in asked})
        if time.monotonic() - last > _EVERY and session.course.rounds:
            last = time.monotonic()
            _progress(session)


def _wait(session: Session) -> None:
    """Labels come through the journal, from ``replical label``."""
    notes.print("Waiting for labels in the journal: serve the page with replical label.", markup=False)
    answered = -_GRACE  # when something was open last
    while session.open or time.monotonic() - answered < _GRACE:
        if session.open:
            answered = time.monotonic()
        time.sleep(_LOOK)
        session.refresh()


def _progress(session: Session) -> None:
    """For the person who runs, never for the one who labels."""
    if not session.course.rounds:
        return
    labels, left = len(session.ledger.labels), session.course.rounds[-1].survivors
    found = f"{'1 label' if labels == 1 else f'{labels} labels'}, disagreement {session.mass:.4f}"
    notes.print(f"{found}, {'1 hypothesis' if left == 1 else f'{left:,} hypotheses'} left", markup=False)


def _pending(session: Session, batch: Path | None, *, as_json: bool) -> int:
    if as_json:
        payload = _payload(session, "pending")
        answer(payload | {"pending": len(session.open), "batch": None if batch is None else str(batch)})
    else:
        pending = "1 label is pending" if len(session.open) == 1 else f"{len(session.open)} labels are pending"
        fill = f": fill in the column label of {batch} ('?' for an item nobody can label), then run the same command again."
        prose.print(
            pending + ("; run the same command to go on." if batch is None else fill), soft_wrap=True, markup=False
        )
    return PENDING


def _payload(session: Session, status: str) -> dict[str, Any]:
    protocol = session.protocol
    return {
        "schema": "replical.result/1",
        "status": status,
        "protocol": protocol.fingerprint,
        "class": protocol.recipe.C.fingerprint,
        "labels": session.counts,
        "pool": {"items": len(session.lab), "fingerprint": session.lab.fingerprint},
    }


def _done(session: Session, body: dict[str, Any], journal: str, out: Path, *, as_json: bool) -> None:
    result, protocol = session.result, session.protocol
    spent = session.budget is not None and result.labels >= session.budget and not result.stopped
    if as_json:
        keys = ["hypothesis", "rounds", "survivors", "certified", "labels_sufficient", "rho_proven", "rho_predicted"]
        keys += ["conditions", *(key for key in ("settling", "answer_error") if key in body)]
        payload = _payload(session, "budget" if spent else "done") | {key: body[key] for key in keys}
        if payload["hypothesis"] is not None:
            h = payload["hypothesis"]["index"]
            payload["hypothesis"] = {
                "name": protocol.recipe.columns[h] if protocol.recipe.predicts else None
            } | payload["hypothesis"]
        if result.verdict is not None:
            payload["verdict"] = asdict(result.verdict)
        answer(payload | {"journal": journal, "certificate": str(out)})
        return
    h = result.hypothesis
    chosen = (
        "No heavy hitter: there is no answer."
        if h is None
        else f"Chosen: {protocol.recipe.describe(h)} (hypothesis {h})."
    )
    prose.print(chosen, markup=False, soft_wrap=True)
    skipped = f", {len(session.ledger.skipped)} skipped" if session.ledger.skipped else ""
    left = f", {result.V.size:,} hypotheses left" if result.settling is None else ""
    prose.print(f"{result.labels} labels{skipped}{left}.", markup=False)
    supposed = ", if some hypothesis makes no error" if protocol.record.setting == "realizable" else ""
    if result.rounding is not None and result.verdict is not None:
        if result.verdict.certified:
            prose.print(
                f"Certified: two labs that prove this differ with probability at most {result.rounding.rho_proven:.3f}"
                f"{supposed}.",
                soft_wrap=True,
            )
        else:
            prose.print(uncertified(result.verdict, result.rounding), markup=False, soft_wrap=True)
    if result.settling is not None and result.verdict is not None:
        words = settled_words(
            result.settling,
            result.verdict,
            result.answer_error,
            supposed=supposed,
            measurable=measurable(protocol.plan),
        )
        for sentence in words:
            prose.print(sentence, markup=False, soft_wrap=True)
    for condition in result.conditions:
        if not condition.held and condition.name not in (CERTIFIED, ACCURATE, PROVEN):
            prose.print(
                f"Not held: {condition.name} ({condition.value:g}, bound {condition.bound:g}).",
                markup=False,
                soft_wrap=True,
            )
    prose.print(f"Certificate: {out}", markup=False, soft_wrap=True)
