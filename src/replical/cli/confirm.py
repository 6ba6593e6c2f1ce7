"""``replical lab confirm``: does a published answer hold on this lab's items?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.cli import labels as sources
from replical.cli.inputs import IdColumn, PageWords, number, whole
from replical.cli.output import AsJson, answer, notes, prose
from replical.cli.protocol import loss_words
from replical.cli.run_protocol import KeyFile, RegisterFile, Registration
from replical.core.exact import fraction
from replical.core.text import count, plural
from replical.lab.certificate.file import read
from replical.lab.confirmation import check_fresh, confirming
from replical.lab.journal.journal import Journal
from replical.lab.protocol import Confirming
from replical.lab.run import run
from replical.lab.sessions.session import Session
from replical.learners.handicap.confirm import Confirmation
from replical.learners.handicap.confirmation import outcome_words

CODES = {"confirmed": 0, "refuted": 1, "undecided": 4}


def confirm_command(
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="the certificate with the answer")],
    pool: sources.PoolFile,
    journal: sources.JournalFile,
    out: Annotated[Path, typer.Option(help="the file to write the outcome to")],
    margin: Annotated[float | None, typer.Option(parser=number, help="its tolerance; epsilon if left out")] = None,
    level: Annotated[
        float | None,
        typer.Option(parser=number, help="how often either outcome may be wrong; the protocol's if left out"),
    ] = None,
    max_labels: Annotated[int | None, typer.Option(parser=whole, help="budget of labels")] = None,
    batch: Annotated[int | None, typer.Option(parser=whole, help="items at once; the protocol's if left out")] = None,
    against_journal: Annotated[
        str | None,
        typer.Option(help="the journal of the run that found the answer: none of its items may be in the pool"),
    ] = None,
    lab_name: Annotated[str | None, typer.Option("--lab", help="the lab's name; the confirmation carries it")] = None,
    register: RegisterFile = None,
    key: KeyFile = None,
    labels: sources.LabelColumn = None,
    ask: sources.Ask = None,
    show: sources.Show = None,
    answers: sources.AnswerFile = None,
    batches: sources.Batches = None,
    id_column: IdColumn = "id",
    annotator: sources.Annotator = None,
    page: PageWords = None,
    public: sources.Public = None,
    envelope: sources.Envelope = None,
    as_json: AsJson = False,
) -> int:
    """Does a published answer err at most a margin more than the best candidate, on this lab's items?

    Exit code 0 if confirmed, 1 if refuted, 4 if pool or budget ended undecided, 3 while labels are pending. What was
    interrupted goes on where its journal ends; after 4 it goes on with a larger budget.
    """
    reads: sources.Files = {
        "the certificate": certificate,
        "--pool": pool,
        "--journal": journal,
        "--public": public,
        "--answers": answers,
    }
    registration = Registration(file=register, go=False, beacon=None, key=key)
    if not registration.stops:
        sources.check_usage(labels, ask, writes={"--out": out}, reads={**reads, "--against-journal": against_journal})
    published = read(certificate)
    protocol = confirming(published, margin=margin, level=level, batch=batch, max_labels=max_labels)
    registration.check(protocol, reads)
    lab = sources.read_items(protocol, pool, id_column, public)
    if against_journal is None:
        check_fresh(published, lab)
    else:
        with Journal(against_journal, write=False) as original:
            check_fresh(published, lab, original)
    if registration.stops:
        with Journal(journal) as lab_journal:
            registration.register(protocol, lab, lab_journal, lab_name, as_json=as_json)
        return 0
    source = sources.source_of(
        protocol, pool, id_column, labels=labels, ask=ask, show=show, answers=answers, batches=batches, journal=journal,
        out=out, page=page,
    )  # fmt: skip
    labelling = sources.Labelling(source=source, announce=partial(_announce, protocol=protocol))
    with Journal(journal) as lab_journal:
        done = run(
            protocol,
            lab,
            labelling,
            lab_journal,
            lab=lab_name,
            key=key,
            annotator=annotator,
            out=out,
            envelope=envelope,
        )
        proof = None if done.open else done.result.proof
        h = {"index": protocol.hypothesis, "description": protocol.recipe.describe(protocol.hypothesis)}
        payload: dict[str, Any] = {"schema": "replical.confirm/1", "hypothesis": h, **protocol.parts}
        payload |= {"protocol_fingerprint": protocol.fingerprint, "labels": done.session.counts}
        if not isinstance(proof, Confirmation) or done.certificate is None:
            if not as_json:
                return sources.say_pending(done.session, labelling.batch)
            waits = None if labelling.batch is None else str(labelling.batch)
            payload |= {"status": "pending", "outcome": None, "pending": len(done.open), "batch": waits}
            answer(payload)
            return sources.PENDING
        if as_json:
            payload |= {"status": "done", "outcome": proof.outcome, "proof": done.certificate["body"]["proof"]}
            answer(payload | {"journal": lab_journal.where, "confirmation": str(out)})
        else:
            for sentence in _outcome_words(done.session, proof):
                prose.say(sentence)
            prose.say(f"Written: {out} (confirmation), {lab_journal.where} (journal).")
        if labelling.before and labelling.before[0] not in ("undecided", proof.outcome):
            notes.say(f"The outcome has changed: it was {labelling.before[0]}.")
    return CODES[proof.outcome]


def _announce(session: Session, protocol: Confirming) -> None:
    """The question first, and roughly what it may cost (measured: docs/how-to/replicate-a-published-result.md)."""
    if not session.fresh:
        return
    plan, h = protocol.plan, protocol.hypothesis
    name, margin, verb = protocol.recipe.name(h), plan.margin, "err" if plan.losses is None else "lose"
    question = f"does {name} {verb} at most {float(margin):g} more than the best of"
    among = f"{protocol.recipe.count(plan.n)}? {count(len(session.lab), 'item')}, level {float(plan.level):g}"
    notes.say(f"{protocol.title or 'Protocol'} ({protocol.fingerprint[:23]}): {question} {among}.")
    for sentence in loss_words(protocol):
        notes.say(sentence)
    notes.say("Roughly: some dozens of labels if it is far from the margin, thousands if it is close to it.")
    epsilon = fraction(protocol.parameter("epsilon"))
    if margin == epsilon and 2 * epsilon < 1:
        notes.say(
            f"Note: the margin is epsilon. For another lab's answer --margin {float(2 * epsilon):g}, twice epsilon, is the "
            "advice: an answer within epsilon there may lie close to it here."
        )


def _outcome_words(session: Session, found: Confirmation) -> Iterator[str]:
    """The outcome, and what it took."""
    skipped = len(session.ledger.skipped)
    yield outcome_words(found, session.protocol)
    yield (
        f"Asked: {count(found.asked, 'label')}{f', {skipped:,} skipped' if skipped else ''}; {found.scanned:,} of "
        f"{count(len(session.lab), 'item')} {plural(len(session.lab), 'was', 'were')} looked at."
    )
