"""``replical lab confirm``: does a published answer hold on this lab's items?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.cli.forecasts import Outlook
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
    check_usage,
    read_items,
    say_pending,
    source_of,
)
from replical.cli.output import answer, notes, number, prose, whole
from replical.cli.page import PageWords
from replical.cli.sentences import loss_words
from replical.core.exact import fraction
from replical.core.text import confidence, count, plural
from replical.errors import BadCertificate
from replical.lab.confirmation import SCHEMA, candidate, check_fresh, claim_of, publish, read_either, write
from replical.lab.journal.journal import Journal
from replical.lab.protocol import Claim, Protocol
from replical.lab.sessions.session import Session
from replical.learners.handicap.confirm import Confirmation

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
        str | None,
        typer.Option(help="the journal of the run that found the answer: none of its items may be in the pool"),
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
    published = read_either(certificate)
    if published["schema"] == SCHEMA:
        raise BadCertificate(f"{certificate} is itself a confirmation: give the certificate that it is about")
    protocol, claim = claim_of(published, margin=margin, level=level, batch=batch, max_labels=max_labels)
    lab = read_items(protocol, pool, id_column, public)
    if against_journal is None:
        check_fresh(published, claim, lab)
    else:
        with Journal(against_journal, write=False) as original:
            check_fresh(published, claim, lab, original)
    source = source_of(
        protocol, pool, id_column, labels=labels, ask=ask, show=show, answers=answers, batches=batches, journal=journal,
        out=out, page=page,
    )  # fmt: skip
    with Journal(journal) as lab_journal:
        fresh = lab_journal.created is None
        session = Session(protocol, lab, lab_journal, annotator=annotator, claim=claim)
        if fresh:
            _announce(session)
        before = session.ledger.results[-1] if session.ledger.results else None
        waiting = source.answer(session, Outlook(session, looks=False))
        if session.open:
            return _say_pending(session, claim, waiting, as_json=as_json)
        session.finish()
        content = publish(session)
        write(content, out)
        _say_outcome(session, content, lab_journal.where, out, as_json=as_json)
        if before not in (None, "undecided", session.result.conclusion):
            notes.print(f"The outcome has changed: it was {before}.", markup=False)
    return CODES[content["outcome"]]


def _announce(session: Session) -> None:
    """The question first, and roughly what it may cost (measured: docs/how-to/replicate-a-published-result.md)."""
    protocol, claim = session.protocol, session.claim
    assert isinstance(claim, Claim), "the session of a confirmation"
    name, margin = protocol.recipe.describe(claim.hypothesis), claim.plan.margin
    notes.print(
        f"{protocol.title or 'Protocol'} ({protocol.fingerprint[:23]}): does {name} (hypothesis {claim.hypothesis}) "
        f"{_verb(protocol)} at most {float(margin):g} more than the best of "
        f"{count(claim.plan.n, 'hypothesis', 'hypotheses')}? {count(len(session.lab), 'item')}, "
        f"level {float(claim.plan.level):g}.",
        markup=False,
        soft_wrap=True,
    )
    for sentence in loss_words(protocol):
        notes.print(sentence, markup=False, soft_wrap=True)
    notes.print(
        "Roughly: some dozens of labels if it is far from the margin, thousands if it is close to it.", soft_wrap=True
    )
    epsilon = fraction(protocol.parameter("epsilon"))
    if margin == epsilon and 2 * epsilon < 1:
        notes.print(
            f"Note: the margin is epsilon. For another lab's answer --margin {float(2 * epsilon):g}, twice epsilon, is the "
            "advice: an answer within epsilon there may lie close to it here.",
            markup=False,
            soft_wrap=True,
        )


def _verb(protocol: Protocol) -> str:
    """What is counted: errors, or losses in costliest errors."""
    return "err" if protocol.recipe.losses is None else "lose"


def _say_pending(session: Session, claim: Claim, batch: Path | None, *, as_json: bool) -> int:
    if not as_json:
        return say_pending(session, batch)
    told = {
        "schema": SCHEMA,
        "status": "pending",
        "answer": candidate(session, claim.hypothesis),
        "outcome": None,
        "margin": float(claim.plan.margin),
        "level": float(claim.plan.level),
        "labels": session.counts,
        "pending": len(session.open),
        "batch": None if batch is None else str(batch),
    }
    answer(told)
    return PENDING


def _say_outcome(
    session: Session,
    content: dict[str, Any],
    journal: str,
    out: Path,
    *,
    as_json: bool,
) -> None:
    if as_json:
        keys = ("schema", "answer", "outcome", "margin", "level", "against", "labels", "pool", "certificate")
        told = {"status": "done"} | {key: content[key] for key in (*keys, "protocol_fingerprint")}
        answer(told | {"journal": journal, "confirmation": str(out)})
        return
    found = session.result.proof
    assert isinstance(found, Confirmation), "the session of a confirmation"
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
