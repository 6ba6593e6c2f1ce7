"""``replical run``: one lab runs a protocol on its pool, label by label, through its journal."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replical.cli.forecasts import FIRST, NO_FORECAST, Outlook, rough_words
from replical.cli.inputs import SIMULATED, Cluster, Device
from replical.cli.lab import BeaconValue, Go, KeyFile, RegisterFile, RegistrationOptions
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
from replical.cli.output import amount, answer, notes, prose, whole
from replical.cli.page import Host, Instructions, Media, NoToken, PageOptions, PeopleFile, Port, Proxy, Votes
from replical.cli.sentences import (
    detail_words,
    error_words,
    hypotheses,
    item_warnings,
    lattice_remarks,
    proof_words,
)
from replical.core.files import write_whole
from replical.core.kernels.torch_device import use
from replical.core.text import count, plural
from replical.errors import BadUsage, ReplicalError
from replical.lab.certificate.file import certify, read, write
from replical.lab.certificate.page import page
from replical.lab.certificate.survivors import write_survivors
from replical.lab.journal.journal import Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.journal.owner import commitment
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.lab.release import VOTE_SCHEMA as VOTE
from replical.lab.release import vote_of, write_vote
from replical.lab.schema import check_name
from replical.lab.sessions.session import Session
from replical.lattice.linear import Linear
from replical.lattice.plan import LatticePlan
from replical.learners.bills import bills
from replical.learners.measured import Measured
from replical.pools.pool import Pool
from replical.worlds.forecast import forecast as forecast_of

if TYPE_CHECKING:
    from replical.core.parallel import Workers


_OPENING = 20  # events of a journal among which the first item is asked


def run_command(
    protocol_file: Annotated[Path, typer.Argument(metavar="PROTOCOL", help="the published protocol")],
    pool: PoolFile,
    journal: JournalFile,
    out: Annotated[Path | None, typer.Option(help="the certificate to write, or the vote")] = None,
    lab_name: Annotated[str | None, typer.Option("--lab", help="the lab's name; the certificate carries it")] = None,
    register: RegisterFile = None,
    go: Go = False,
    beacon: BeaconValue = None,
    key: KeyFile = None,
    labels: LabelColumn = None,
    ask: Ask = None,
    show: Show = None,
    answers: AnswerFile = None,
    batches: Batches = None,
    id_column: IdColumn = "id",
    annotator: Annotator = None,
    private: Annotated[
        bool, typer.Option("--private", help="write a vote for a private release and no certificate")
    ] = False,
    approve: Annotated[
        bool, typer.Option("--approve", help="with --private: vote for every hypothesis still possible")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="the certificate as a readable page")] = None,
    survivors: Annotated[
        Path | None, typer.Option(help="write the survivors to this file, where the certificate may not name them all")
    ] = None,
    votes: Votes = 1,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    media: Media = None,
    instructions: Instructions = None,
    people: PeopleFile = None,
    no_token: NoToken = False,
    proxy: Proxy = None,
    measure_error: Annotated[
        int, typer.Option(parser=whole, help="labels to ask for after the answer, to measure how often it errs")
    ] = 0,
    public: Public = None,
    truths: Annotated[int, typer.Option(parser=whole, help="simulated worlds for the forecast; 0 for no forecast")] = 4,
    device: Device = None,
    at: Cluster = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="say more: how it was foretold, and how it went")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> int:
    """Say what to expect, ask for labels one batch after the other, and write a certificate.

    It ends with four lines: the answer, how often it errs, what is proven (or why not, and what would help), the files. A
    run that was interrupted goes on where its journal ends. Exit code 3 while labels are pending.
    """
    _use_device(device, at, pool)
    reads: Files = {
        "the protocol": protocol_file,
        "--pool": pool,
        "--journal": journal,
        "--public": public,
        "--answers": answers,
    }
    registration = RegistrationOptions(file=register, go=go, beacon=beacon, key=key)
    if not registration.stops:
        writes = {"--out": out, "--html": html, "--survivors": survivors, "--register": register}
        check_usage(labels, ask, writes=writes, reads=reads)
    check_truths(truths)
    _check_private(private=private, approve=approve, html=html, survivors=survivors)
    protocol = Protocol.read(protocol_file)
    registration.check(protocol, reads)
    _check_protocol(protocol, measure_error, lab_name, private=private, survivors=survivors)
    lab = read_items(protocol, pool, id_column, public)
    if registration.stops:
        with Journal(journal) as lab_journal:
            return registration.register(protocol, lab, lab_journal, lab_name, as_json=as_json)
    if out is None:
        raise BadUsage("Missing option '--out': the certificate to write, or the vote")
    page_options = PageOptions(
        votes=votes, host=host, port=port, media=media, instructions=instructions, people=people, no_token=no_token,
        proxy=proxy,
    )  # fmt: skip
    source = source_of(
        protocol, pool, id_column, labels=labels, ask=ask, show=show, answers=answers, batches=batches, journal=journal,
        out=out, page=page_options,
    )  # fmt: skip
    with _workers(at) as workers, Journal(journal) as lab_journal:
        lab = lab.on(workers)
        forecast: float | None = None
        fresh = not Ledger.of(lab_journal.events(limit=_OPENING)).asked
        if private and lab_name is None and Ledger.of(lab_journal.events()).lab is None:
            raise BadUsage("a vote names its lab, so that nobody votes twice: give --lab NAME")
        registration.begin(protocol, lab, lab_journal, lab_name, as_json=as_json)
        session = Session(protocol, lab, lab_journal, annotator=annotator, note=_note)
        _check_out(out, session)
        if lab_name is not None:
            session.sign(lab_name)
        registration.check_key(protocol, session.ledger.lab, signs=not private)
        if measure_error:
            session.measure(measure_error)
        if fresh:
            forecast = _announce(protocol, session, truths, verbose=verbose)
        outlook = Outlook(session, _tell, expected=forecast) if truths > 0 and not lab.sharded else None
        earlier = session.ledger.results[-1:]
        batch = source.answer(session, outlook)
        if session.open:
            return _say_pending(session, batch, outlook, as_json=as_json)
        session.finish()
        if private:
            return _write_vote(session, out, approve=approve, as_json=as_json)
        certificate = registration.sign(certify(session))
        written = _write_files(session, certificate, out, html, survivors)
        _say_result(session, certificate["body"], written, verbose=verbose, as_json=as_json)
        if earlier and earlier[0] != session.result.hypothesis:
            notes.print(f"The answer has changed: it was hypothesis {earlier[0]}.", markup=False, soft_wrap=True)
    return 0


def _use_device(device: str | None, at: str | None, pool: Path) -> None:
    """Send large work to the card, if one is named; refuse what does not go with a cluster."""
    if device is not None:
        use(device)
    if at is not None and device is not None:
        raise BadUsage("--device is a card of this machine, and a cluster computes elsewhere: leave one of them out")
    if at is not None and pool.is_file():
        raise BadUsage(
            f"--cluster computes on shards, and {pool} is a table: make shards of it with replical data shard"
        )


def _check_private(*, private: bool, approve: bool, html: Path | None, survivors: Path | None) -> None:
    if approve and not private:
        raise BadUsage("--approve is about the vote of a private release: give --private too, or leave it out")
    if private and html is not None:
        raise BadUsage("--html shows a certificate, and --private writes none: leave it out")
    if private and survivors is not None:
        raise BadUsage("--survivors says what the lab found, and --private shows nothing but the vote: leave it out")


def _check_protocol(
    protocol: Protocol, measure_error: int, lab_name: str | None, *, private: bool, survivors: Path | None
) -> None:
    """Refuse what the protocol does not allow, before anything is written."""
    if survivors is not None and not protocol.record.lists:
        kind = protocol.content["class"]["kind"]
        raise BadUsage(f"--survivors names hypotheses of a list, and the class {kind} is no list: leave it out")
    if private and not protocol.record.lists:
        kind = protocol.content["class"]["kind"]
        raise BadUsage(f"a private release counts votes for hypotheses of a list, and the class {kind} is no list")
    if measure_error:
        Measured(protocol.learner, measure_error)
    if lab_name is not None:
        check_name(lab_name, protocol.lab_names)


def _workers(at: str | None) -> AbstractContextManager[Workers | None]:
    """Who computes on shards: a cluster, or this process."""
    if at is None:
        return nullcontext()
    from replical.core.parallel import cluster

    return cluster(at)


def _note(sentence: str) -> None:
    notes.print(sentence, markup=False, soft_wrap=True)


def _check_out(out: Path, session: Session) -> None:
    """Refuse to replace the certificate of another run: none may be thrown away."""
    if not out.exists():
        return
    try:
        private = read(out)["body"]["private_commitment"]
    except ReplicalError:  # no certificate
        return
    if private != commitment(session.secret):
        raise BadUsage(f"{out} is the certificate of another run: give another --out, or move it away")


def _announce(protocol: Protocol, session: Session, truths: int, *, verbose: bool) -> float | None:
    """The plan first: what it may cost; about how many labels, where that can be foretold."""
    plan, C, lab = protocol.plan, protocol.recipe.C, session.lab
    items = count(len(lab), "item")
    _note(f"{protocol.title or 'Protocol'} ({protocol.fingerprint[:23]}): {plan.learner}, {hypotheses(C)}, {items}")
    if session.ledger.registration is None and (verbose or protocol.registers):
        _note(
            f"Not registered: items {lab.fingerprint[:23]}, private seed committed to as {commitment(session.secret)[:23]}. "
            "Others can tell a run that was thrown away if --register FILE is published before the first label."
        )
    most = plan.labels_most
    if most is not None:
        _note(f"At most {amount(most)} {plural(most, 'label')}.")
    if isinstance(C, Linear):
        return _announce_lattice(C, protocol, lab)
    if verbose:
        _tell_bill(protocol)
    pool = lab.pool(SIMULATED)
    if pool.version_space().mass == 0:
        features = "" if protocol.recipe.models else "; do the features lie in the ranges of the protocol?"
        notes.print(
            f"Warning: on every item all hypotheses say the same, so no label can tell them apart{features}",
            style="bold red",
            soft_wrap=True,
        )
        return None
    if truths and lab.sharded:
        _note("No forecast: it would read the shards many times.")
        return None
    return _tell_forecast(protocol, pool, truths, verbose=verbose) if truths else None


def _announce_lattice(C: Linear, protocol: Protocol, lab: LabPool) -> float | None:
    """There is no list that a forecast could choose truths from: what is known before the first label."""
    assert isinstance(protocol.plan, LatticePlan), "who else has a lattice?"
    for remark in lattice_remarks(C, protocol.plan):
        _note(remark)
    for warning in item_warnings(C, lab.items, protocol.recipe.columns):
        notes.print(f"Warning: {warning}.", style="bold red", markup=False, soft_wrap=True)
    return None if protocol.plan.noisy else float(protocol.plan.labels_about(C))


def _tell_bill(protocol: Protocol) -> None:
    """What public numbers alone say."""
    plan, record = protocol.plan, protocol.record
    noisy = record.infers and protocol.parameter("nu") is None
    setting = protocol.setting(nu=0.0 if noisy else None)
    for bill in bills(setting, plan.learner, pool="finite", noisy=noisy):
        if bill.plan == plan.name and bill.labels is not None:
            _note(f"The plan's bill: {amount(bill.labels)} {plural(bill.labels, 'label')} ({bill.kind}).")


def _tell_forecast(protocol: Protocol, pool: Pool, truths: int, *, verbose: bool) -> float | None:
    options = protocol.options | {"prior": protocol.prior}
    try:
        forecast = forecast_of(pool, protocol.plan.learner, options, noise=protocol.parameter("nu"), draws=truths)
    except NO_FORECAST as error:  # the run will say so if it matters
        _note(f"No forecast: {error}.")
        return None
    for sentence in rough_words(protocol.recipe.C, forecast, verbose=verbose):
        _note(sentence)
    return forecast.labels_median


def _tell(words: str) -> None:
    """For the person who runs."""
    notes.print(f"{words}.", markup=False)


def _say_pending(session: Session, batch: Path | None, outlook: Outlook | None, *, as_json: bool) -> int:
    known = len(session.ledger.labels) >= FIRST and outlook is not None
    left = outlook.now() if known and outlook is not None else None
    if not as_json:
        if left is not None:
            _tell(left.words)
        return say_pending(session, batch)
    payload = _payload(session, "pending")
    if left is not None and outlook is not None:
        payload["forecast"] = outlook.figures()
    answer(payload | {"pending": len(session.open), "batch": None if batch is None else str(batch)})
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


def _write_files(
    session: Session, certificate: dict[str, Any], out: Path, html: Path | None, survivors: Path | None
) -> dict[str, Path | str | None]:
    """The certificate, and the page and the survivors where they are wanted: what each of them is."""
    write(certificate, out)
    if html is not None:
        write_whole(html, page(certificate), what="the page", refuse=BadUsage)
    if survivors is not None:
        write_survivors(session, survivors)
    elif "digest" in certificate["body"]["survivors"]:
        _note(
            f"{out} tells a digest of its survivors, who are too many to be named there: run the same command with "
            "--survivors FILE to write them for those who compare labs."
        )
    return {"certificate": out, "journal": session.journal.where, "page": html, "survivors": survivors}


def _write_vote(session: Session, out: Path, *, approve: bool, as_json: bool) -> int:
    """A vote and nothing else: what the lab found is not shown either."""
    vote = vote_of(session, approve=approve)
    write_vote(vote, out)
    if as_json:
        answer({"schema": VOTE, "status": "done", "lab": vote["lab"], "vote": str(out)})
    else:
        prose.print(f"Vote of {vote['lab']}: {out}", markup=False, soft_wrap=True)
        prose.print("Send it to the curator and to nobody else; the journal stays in the lab.")
    return 0


def _say_result(
    session: Session, body: dict[str, Any], written: Mapping[str, Path | str | None], *, verbose: bool, as_json: bool
) -> None:
    """Four lines: the answer, its error, what is proven, the files; and more if somebody wants it."""
    result, protocol = session.result, session.protocol
    measured = 0 if result.measured is None else result.measured.labels
    most = protocol.plan.max_labels
    spent = most is not None and result.labels - measured >= most and not result.stopped
    if as_json:
        keys = ["hypothesis", "rounds", "survivors", "certified", "labels_sufficient", "rho_proven", "rho_predicted"]
        keys += ["conditions", *(key for key in ("proof", "enclosing", "answer_error") if key in body)]
        payload = _payload(session, "budget" if spent else "done") | {key: body[key] for key in keys}
        if payload["hypothesis"] is not None:
            h = payload["hypothesis"]["index"]
            payload["hypothesis"] = {"name": protocol.recipe.describe(h) if protocol.recipe.models else None} | payload[
                "hypothesis"
            ]
        if result.verdict is not None:
            payload["verdict"] = asdict(result.verdict)
        answer(payload | {key: str(written[key]) for key in ("journal", "certificate")})
        return
    for sentence in (
        _answer_sentence(session),
        error_words(result, protocol),
        proof_words(result, protocol),
        _files_sentence(written, certified=body["certified"]),
        *(detail_words(result, protocol) if verbose else ()),
    ):
        prose.print(sentence, markup=False, soft_wrap=True)


def _answer_sentence(session: Session) -> str:
    """The answer, and how many labels it took."""
    result, skipped = session.result, len(session.ledger.skipped)
    measured = 0 if result.measured is None else result.measured.labels
    labels = count(result.labels - measured, "label")
    labels += f" and {measured:,} more for its error" if measured else ""
    labels += f" ({count(skipped, 'item')} skipped)" if skipped else ""
    if result.hypothesis is None:
        return f"Answer: none, no hypothesis was found often enough (no heavy hitter); {labels}."
    chosen = session.protocol.recipe.describe(result.hypothesis)
    numbered = f" (hypothesis {result.hypothesis})" if session.protocol.record.lists else ""
    return f"Answer: {chosen}{numbered}, chosen with {labels}."


def _files_sentence(written: Mapping[str, Path | str | None], *, certified: bool) -> str:
    """Which files were written; of a run without a proof none is called a certificate."""
    names = {} if certified else {"certificate": "record of the run, not certified"}
    told = (f"{where} ({names.get(what, what)})" for what, where in written.items() if where is not None)
    return f"Written: {', '.join(told)}."
