"""``replical lab confirm``: does a published answer hold on this lab's items?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.classes.table import PredictionTable
from replical.cli.forecasts import Outlook, confirm_forecast_words
from replical.cli.inputs import SIMULATED
from replical.cli.labels import (
    PENDING,
    Annotator,
    AnswerFile,
    Ask,
    Batches,
    Files,
    IdColumn,
    JournalFile,
    LabelColumn,
    PoolFile,
    Public,
    Show,
    check_truths,
    check_usage,
    read_items,
    say_pending,
    source_of,
)
from replical.cli.output import answer, notes, number, progress, prose, whole
from replical.cli.page import PageWords
from replical.cli.sentences import loss_words
from replical.core.exact import fraction
from replical.core.text import confidence, count, plural
from replical.errors import PlanMismatch, PoolExhausted
from replical.lab.certificate.file import certify, read, write
from replical.lab.confirmation import check_fresh, confirming
from replical.lab.journal.journal import Journal
from replical.lab.protocol import Confirming, Protocol
from replical.lab.sessions.session import Session
from replical.learners.handicap.confirm import Confirmation
from replical.worlds.forecast import DRAWS, ConfirmForecast, forecast_confirmation

SCHEMA = "replical.confirm/1"  # of answers in JSON; the file is a certificate
CODES = {"confirmed": 0, "refuted": 1, "undecided": 4}


def confirm_command(
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="the certificate with the answer")],
    pool: PoolFile,
    journal: JournalFile,
    out: Annotated[Path, typer.Option(help="the file to write the outcome to")],
    margin: Annotated[
        float | None, typer.Option(parser=number, help="how much more than the best it may err; epsilon if left out")
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(parser=number, help="how often either outcome may be wrong; the protocol's if left out"),
    ] = None,
    max_labels: Annotated[int | None, typer.Option(parser=whole, help="budget of labels")] = None,
    batch: Annotated[
        int | None, typer.Option(parser=whole, help="items that are open at once; the protocol's if left out")
    ] = None,
    against_journal: Annotated[
        str | None, typer.Option(help="the journal of the run that found the answer: is none of its items in the pool?")
    ] = None,
    labels: LabelColumn = None,
    ask: Ask = None,
    show: Show = None,
    answers: AnswerFile = None,
    batches: Batches = None,
    id_column: IdColumn = "id",
    annotator: Annotator = None,
    page: PageWords = None,
    public: Public = None,
    truths: Annotated[
        int, typer.Option(parser=whole, help="simulated worlds for the forecast; 0 for no forecast")
    ] = DRAWS,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> int:
    """Does a published answer err at most a margin more than the best candidate, on this lab's items?

    Exit code 0 if confirmed, 1 if refuted, 4 if pool or budget ended undecided, 3 while labels are pending. What was
    interrupted goes on where its journal ends; after 4 it goes on with a larger budget.
    """
    reads: Files = {
        "the certificate": certificate,
        "--pool": pool,
        "--journal": journal,
        "--public": public,
        "--answers": answers,
    }
    check_usage(labels, ask, writes={"--out": out}, reads={**reads, "--against-journal": against_journal})
    check_truths(truths)
    published = read(certificate)
    protocol = confirming(published, margin=margin, level=level, batch=batch, max_labels=max_labels)
    lab = read_items(protocol, pool, id_column, public)
    if against_journal is None:
        check_fresh(published, lab)
    else:
        with Journal(against_journal, write=False) as original:
            check_fresh(published, lab, original)
    source = source_of(
        protocol, pool, id_column, labels=labels, ask=ask, show=show, answers=answers, batches=batches, journal=journal,
        out=out, page=page,
    )  # fmt: skip
    with Journal(journal) as lab_journal:
        fresh = lab_journal.created is None
        session = Session(protocol, lab, lab_journal, annotator=annotator)
        forecast = _announce(session, protocol, truths) if fresh else None
        before = session.ledger.results[-1] if session.ledger.results else None
        expected = None if forecast is None else forecast.labels_median
        waiting = source.answer(session, Outlook(session, expected=expected, looks=False))
        if session.open:
            return _say_pending(session, protocol, waiting, forecast, as_json=as_json)
        session.finish()
        write(certify(session), out, what="the confirmation")
        found = session.result.proof
        assert isinstance(found, Confirmation), "the session of a confirmation"
        _say_outcome(session, protocol, found, out, forecast, as_json=as_json)
        if before not in (None, "undecided", session.result.conclusion):
            notes.print(f"The outcome has changed: it was {before}.", markup=False)
    return CODES[found.outcome]


def _announce(session: Session, protocol: Confirming, truths: int) -> ConfirmForecast | None:
    """The question first, and roughly what it may cost (measured: docs/how-to/replicate-a-published-result.md)."""
    plan, h = protocol.plan, protocol.hypothesis
    name, margin = protocol.recipe.describe(h), plan.margin
    notes.print(
        f"{protocol.title or 'Protocol'} ({protocol.fingerprint[:23]}): does {name} (hypothesis {h}) "
        f"{_verb(protocol)} at most {float(margin):g} more than the best of "
        f"{count(plan.n, 'hypothesis', 'hypotheses')}? {count(len(session.lab), 'item')}, "
        f"level {float(plan.level):g}.",
        markup=False,
        soft_wrap=True,
    )
    for sentence in loss_words(protocol):
        notes.print(sentence, markup=False, soft_wrap=True)
    forecast = _forecast(session, protocol, truths) if truths else None
    if forecast is None:
        told: Iterable[str] = [
            "Roughly: some dozens of labels if it is far from the margin, thousands if it is close to it."
        ]
    else:
        told = confirm_forecast_words(forecast, float(margin), session.budget)
    for sentence in told:
        notes.print(sentence, markup=False, soft_wrap=True)
    epsilon = fraction(protocol.parameter("epsilon"))
    if margin == epsilon and 2 * epsilon < 1:
        notes.print(
            f"Note: the margin is epsilon. For another lab's answer --margin {float(2 * epsilon):g}, twice epsilon, is the "
            "advice: an answer within epsilon there may lie close to it here.",
            markup=False,
            soft_wrap=True,
        )
    return forecast


def _verb(protocol: Protocol) -> str:
    """What is counted: errors, or losses in costliest errors."""
    return "err" if protocol.recipe.losses is None else "lose"


def _forecast(session: Session, protocol: Confirming, truths: int) -> ConfirmForecast | None:
    """Of candidates; truths of other classes say nothing about a given answer."""
    if not isinstance(protocol.recipe.C, PredictionTable):
        return None
    pool = session.lab.pool(SIMULATED)
    try:
        with progress("simulated confirmations") as update:
            return forecast_confirmation(
                protocol.learner,
                pool,
                prior=protocol.prior,
                noise=protocol.parameter("nu"),
                draws=truths,
                progress=update,
            )
    except (PoolExhausted, PlanMismatch) as error:
        notes.print(f"No forecast: {error}.", markup=False, soft_wrap=True)
        return None


def _say_pending(
    session: Session, protocol: Confirming, batch: Path | None, forecast: ConfirmForecast | None, *, as_json: bool
) -> int:
    if not as_json:
        return say_pending(session, batch)
    told = {
        "schema": SCHEMA,
        "status": "pending",
        "answer": _candidate(protocol, protocol.hypothesis),
        "outcome": None,
        "margin": float(protocol.plan.margin),
        "level": float(protocol.plan.level),
        "labels": session.counts,
        "pending": len(session.open),
        "batch": None if batch is None else str(batch),
    }
    answer(told | _forecast_payload(forecast))
    return PENDING


def _candidate(protocol: Protocol, h: int) -> dict[str, Any]:
    return {"index": h, "name": protocol.recipe.describe(h)}


def _forecast_payload(forecast: ConfirmForecast | None) -> dict[str, Any]:
    """In JSON: when a confirmation begins, and where there is one."""
    return {} if forecast is None else {"forecast": asdict(forecast)}


def _say_outcome(
    session: Session,
    protocol: Confirming,
    found: Confirmation,
    out: Path,
    forecast: ConfirmForecast | None,
    *,
    as_json: bool,
) -> None:
    journal, lab = session.journal.where, session.lab
    if as_json:
        told = {
            "schema": SCHEMA,
            "status": "done",
            "answer": _candidate(protocol, found.hypothesis),
            "outcome": found.outcome,
            "margin": found.margin,
            "level": found.level,
            "against": None if found.against is None else _candidate(protocol, found.against),
            "labels": session.counts,
            "pool": {"items": len(lab), "fingerprint": lab.fingerprint}
            | {"scanned": found.scanned, "unlabelled": found.unlabelled},
            "certificate": {
                "digest": protocol.part["certificate"],
                "pool_fingerprint": protocol.part["pool_fingerprint"],
            },
            "protocol_fingerprint": protocol.fingerprint,
        }
        answer(told | _forecast_payload(forecast) | {"journal": journal, "confirmation": str(out)})
        return
    for sentence in _outcome_words(session, found):
        prose.print(sentence, markup=False, soft_wrap=True)
    prose.print(f"Written: {out} (confirmation), {journal} (journal).", markup=False, soft_wrap=True)


def _outcome_words(session: Session, found: Confirmation) -> Iterator[str]:
    """The outcome, against whom, and what it took."""
    describe, skipped = session.protocol.recipe.describe, len(session.ledger.skipped)
    name, best = f"{describe(found.hypothesis)} (hypothesis {found.hypothesis})", "the best candidate"
    errs = f"{_verb(session.protocol)}s"
    sure = f"on items like this pool's, with confidence {confidence(found.level)}"
    if found.outcome == "confirmed":
        yield f"Confirmed: {name} {errs} at most {found.margin:g} more than {best} {sure}."
    elif found.outcome == "refuted":
        assert found.against is not None, "whoever is refuted lost to somebody"
        yield (
            f"Refuted: {name} {errs} more than {found.margin:g} above {best} {sure}. It lost to "
            f"{describe(found.against)} (hypothesis {found.against})."
        )
    elif found.unlabelled > found.asked:
        yield (
            f"Undecided: {count(found.unlabelled, 'item')} on which candidates differ could not be labelled, and only "
            f"{found.asked} {plural(found.asked, 'was', 'were')}. What helps: items that somebody can label."
        )
    else:
        spent = session.budget is not None and found.asked >= session.budget
        end = f"the budget of {count(session.budget or 0, 'label')} was spent" if spent else "the pool was used up"
        helps = "a larger budget, with the same journal" if spent else "a larger pool, with a journal of its own"
        others = "1 other candidate" if found.rivals == 1 else f"{found.rivals:,} other candidates"
        assert found.against is not None, "somebody is not done"
        least = "least loss" if errs == "loses" else "fewest errors"
        against = f"{describe(found.against)} (hypothesis {found.against})"
        yield (
            f"Undecided: {end}. {others} may still be better by more than {found.margin:g}; of these {against} has the "
            f"{least}. What helps: {helps}; or a larger margin."
        )
    yield (
        f"Asked: {count(found.asked, 'label')}{f', {skipped:,} skipped' if skipped else ''}; {found.scanned:,} of "
        f"{count(len(session.lab), 'item')} {plural(len(session.lab), 'was', 'were')} looked at."
    )
