"""``replical run``: one lab runs a protocol on its pool, label by label, through its journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from replical.cli import labels as sources
from replical.cli.forecasts import FIRST, NO_FORECAST, Outlook, make_forecast, rough_words
from replical.cli.inputs import SIMULATED, Device, IdColumn, PageWords, never_over, whole
from replical.cli.output import AsJson, answer, notes, prose, warn
from replical.core.files import write_whole
from replical.core.text import amount, count, plural
from replical.errors import BadUsage
from replical.gpu.device import use
from replical.lab.certificate.file import write
from replical.lab.certificate.page import page
from replical.lab.journal.binding import SCHEMA, commitment
from replical.lab.journal.journal import Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.lab.release import VOTE_SCHEMA as VOTE
from replical.lab.release import vote_of
from replical.lab.run import check_allowed, register_run, run
from replical.lab.sessions.session import Session
from replical.lab.signatures import read_private
from replical.learners.bills import bills
from replical.learners.proof import broken_conditions, family_of
from replical.pools.pool import Pool

RegisterFile = Annotated[
    Path | None,
    typer.Option(
        "--register", help="write a registration of the run, to be published before the first label, and stop"
    ),
]
Go = Annotated[bool, typer.Option("--go", help="with --register: go on at once")]
BeaconValue = Annotated[
    str | None, typer.Option("--beacon", help="the public value that the protocol's beacon has shown since")
]
KeyFile = Annotated[
    Path | None, typer.Option("--key", help="sign registration and certificate with this private key (PEM)")
]


UNPROVEN = 5


def run_command(
    protocol_file: Annotated[Path, typer.Argument(metavar="PROTOCOL", help="the published protocol")],
    pool: sources.PoolFile,
    journal: sources.JournalFile,
    out: Annotated[Path | None, typer.Option(help="the certificate to write, or the vote")] = None,
    public: sources.Public = None,
    labels: sources.LabelColumn = None,
    ask: sources.Ask = None,
    show: sources.Show = None,
    answers: sources.AnswerFile = None,
    batches: sources.Batches = None,
    id_column: IdColumn = "id",
    annotator: sources.Annotator = None,
    page_words: PageWords = None,
    until_budget: Annotated[
        int | None,
        typer.Option(parser=whole, help="labels to ask for in all: with those left the tolerance gets sharper"),
    ] = None,
    measure_error: Annotated[int, typer.Option(parser=whole, help="labels that measure how often the answer errs")] = 0,
    require_proof: Annotated[bool, typer.Option("--require-proof", help="a run without a proof has failed")] = False,
    html: Annotated[Path | None, typer.Option(help="the certificate as a readable page")] = None,
    envelope: sources.Envelope = None,
    key: KeyFile = None,
    lab_name: Annotated[str | None, typer.Option("--lab", help="the lab's name; the certificate carries it")] = None,
    register: RegisterFile = None,
    go: Go = False,
    beacon: BeaconValue = None,
    vote: Annotated[
        Literal["answer", "left"] | None,
        typer.Option(
            help="write a vote for a private release, for the answer or for all that are left, and no certificate"
        ),
    ] = None,
    truths: Annotated[int, typer.Option(parser=whole, help="simulated worlds for the forecast; 0 for none")] = 12,
    device: Device = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="say more about how the run went")] = False,
    as_json: AsJson = False,
) -> int:
    """Say what to expect, ask for labels one batch after the other, and write a certificate.

    It ends with four lines: what was chosen, how often it errs, what is proven (or why not, and what would help), the
    files. A run that was interrupted goes on where its journal ends.

    Exit codes: 0 it has ended, 2 bad input, 3 labels are pending, 5 no proof and --require-proof.
    """
    if device is not None:
        use(device)
    reads: sources.Files = {
        "the protocol": protocol_file,
        "--pool": pool,
        "--journal": journal,
        "--public": public,
        "--answers": answers,
    }
    registration = Registration(file=register, go=go, beacon=beacon, key=key)
    if not registration.stops:
        writes = {"--out": out, "--html": html, "--register": register}
        sources.check_usage(labels, ask, writes=writes, reads=reads)
    if truths < 0:
        raise BadUsage(f"--truths must be 0 or more, got {truths}")
    if vote is not None and (html is not None or envelope is not None or require_proof):
        raise BadUsage("--html, --envelope and --require-proof are about a certificate, and --vote writes none")
    protocol = Protocol.read(protocol_file)
    registration.check(protocol, reads)
    _check_kind(protocol, vote=vote is not None, proof=require_proof)
    check_allowed(protocol, lab=lab_name, measure=measure_error, beacon=beacon, registers=register is not None)
    items = sources.read_items(protocol, pool, id_column, public)
    if registration.stops:
        with Journal(journal) as lab_journal:
            registration.register(protocol, items, lab_journal, lab_name, as_json=as_json)
        return 0
    if out is None:
        raise BadUsage("Missing option '--out': the certificate to write, or the vote")
    source = sources.source_of(
        protocol, pool, id_column, labels=labels, ask=ask, show=show, answers=answers, batches=batches, journal=journal,
        out=out, page=page_words,
    )  # fmt: skip
    labelling = sources.Labelling(source=source, announce=partial(_begin, truths=truths, verbose=verbose))
    with Journal(journal) as lab_journal:
        if vote is not None and lab_name is None and Ledger.of(lab_journal.events()).lab is None:
            raise BadUsage("a vote names its lab, so that nobody votes twice: give --lab NAME")
        done = run(
            protocol, items, labelling, lab_journal, lab=lab_name, register=register, beacon=beacon, key=key,
            until_budget=until_budget, measure=measure_error, annotator=annotator, out=out, envelope=envelope,
            private=vote is not None, note=notes.say,
        )  # fmt: skip
        session = done.session
        if done.open:
            return _say_pending(session, labelling.batch, labelling.outlook, as_json=as_json)
        if done.certificate is None:
            return _write_vote(session, out, approve=vote == "left", as_json=as_json)
        if html is not None:
            write_whole(html, page(done.certificate), what="the page", refuse=BadUsage)
        written: dict[str, Path | str | None] = {"certificate": out, "journal": session.journal.where, "page": html}
        _say_result(session, done.certificate["body"], written, verbose=verbose, as_json=as_json)
        before = labelling.before[0] if labelling.before else None
        if isinstance(before, int) and before != session.result.hypothesis:
            notes.say(f"The answer has changed: it was {_name(before, protocol)}.")
    return UNPROVEN if require_proof and not done.certificate["body"]["certified"] else 0


@dataclass(frozen=True, kw_only=True)
class Registration:
    """What the flags of ``run`` say of the time before the first label."""

    file: Path | None  # the registration to write
    go: bool  # ask for labels at once all the same?
    beacon: str | None  # its value, if it is known now
    key: Path | None  # the private key to sign with

    @property
    def stops(self) -> bool:
        """Does the command end before the first label?"""
        return self.file is not None and not self.go

    def check(self, protocol: Protocol, reads: Mapping[str, Path | str | None]) -> None:
        """Refuse what makes no sense, before anything is written."""
        if self.go and self.file is None:
            raise BadUsage("--go is about --register: give both, or neither")
        if self.go and protocol.beacon is not None:
            raise BadUsage(
                f"the run waits for a public value, {protocol.beacon!r}, once it is registered: leave out --go"
            )
        never_over({"--register": self.file}, {**reads, "--key": self.key})
        if self.key is not None:
            read_private(self.key)

    def register(self, protocol: Protocol, lab: LabPool, journal: Journal, name: str | None, *, as_json: bool) -> None:
        """Write the registration, and say what to do with it."""
        assert self.file is not None, "only where there is something to write"
        made = register_run(protocol, lab, journal, self.file, lab=name, key=self.key)
        if as_json:
            fields = {"lab": made["lab"], "digest": made["digest"], "registration": str(self.file)}
            answer({"schema": SCHEMA, "status": "registered"} | fields)
            return
        prose.say(f"Registered: {self.file}, {made['digest']}")
        then = "" if protocol.beacon is None else f" and {protocol.beacon!r} is known (--beacon VALUE)"
        prose.say(f"No label was asked. Publish the file; run without --register once it is public{then}.")


def _begin(session: Session, truths: int, *, verbose: bool) -> Outlook | None:
    """Announce a run that begins; what estimates the labels that are left."""
    forecast = _announce(session, truths, verbose=verbose) if session.fresh else None
    return Outlook(session, _tell, expected=forecast) if truths else None


def _check_kind(protocol: Protocol, *, vote: bool, proof: bool) -> None:
    """Refuse a vote for hypotheses where there is no list of them, and to wait for a proof that never comes."""
    family = family_of(protocol.record)
    if vote and not family.lists:
        kind = protocol.content["class"]["kind"]
        raise BadUsage(f"a private release counts votes for hypotheses of a list, and the class {kind} is no list")
    if proof and family.Part is None:
        raise BadUsage(f"{protocol.record.id} proves nothing of single runs: leave out --require-proof")


def _announce(session: Session, truths: int, *, verbose: bool) -> float | None:
    """The plan first: what it may cost; about how many labels, where that can be foretold."""
    protocol, lab = session.protocol, session.lab
    plan, family = protocol.plan, family_of(protocol.record)
    about = f"{plan.learner}, {family.class_words(protocol.recipe)}, {count(len(lab), 'item')}"
    notes.say(f"{protocol.title or 'Protocol'} ({protocol.fingerprint[:23]}): {about}")
    if session.ledger.registration is None and (verbose or protocol.registers):
        notes.say(
            f"Not registered: items {lab.fingerprint[:23]}, private seed committed to as {commitment(session.secret)[:23]}. "
            "Others can tell a run that was thrown away if --register FILE is published before the first label."
        )
    most = plan.labels_most
    if most is not None:
        notes.say(f"At most {amount(most)} {plural(most, 'label')}.")
    for remark in family.remarks(protocol):
        notes.say(remark)
    for warning in family.warnings(protocol, lab.items):
        warn(f"{warning}.")
    if (cost := family.cost(protocol)) is not None:
        return float(cost.labels) if cost.kind == "estimate" else None
    if verbose:
        _tell_bill(protocol)
    pool = lab.pool(SIMULATED)
    if pool.version_space().mass == 0:
        features = "" if protocol.recipe.models else "; do the features lie in the ranges of the protocol?"
        warn(f"on every item all hypotheses say the same, so no label can tell them apart{features}")
        return None
    return _tell_forecast(protocol, pool, truths) if truths else None


def _tell_bill(protocol: Protocol) -> None:
    """What public numbers alone say."""
    plan, record = protocol.plan, protocol.record
    noisy = record.infers and protocol.parameter("nu") is None
    setting = protocol.setting(nu=0.0 if noisy else None)
    for bill in bills(setting, plan.learner, pool="finite", noisy=noisy):
        if bill.plan == plan.name and bill.labels is not None:
            notes.say(f"The plan's bill: {amount(bill.labels)} {plural(bill.labels, 'label')} ({bill.kind}).")


def _tell_forecast(protocol: Protocol, pool: Pool, truths: int) -> float | None:
    try:
        forecast = make_forecast(protocol, pool, truths, noise=protocol.parameter("nu"), far=False)
    except NO_FORECAST as error:  # the run will say so if it matters
        notes.say(f"No forecast: {error}.")
        return None
    notes.say(rough_words(forecast))
    return forecast.labels_median


def _tell(words: str) -> None:
    """For the person who runs."""
    notes.say(f"{words}.")


def _say_pending(session: Session, batch: Path | None, outlook: Outlook | None, *, as_json: bool) -> int:
    known = len(session.ledger.labels) >= FIRST and outlook is not None
    said = outlook.now() if known and outlook is not None else ""
    if not as_json:
        if said:
            _tell(said)
        return sources.say_pending(session, batch)
    payload = _payload(session, "pending")
    if said and outlook is not None:
        payload["forecast"] = outlook.figures()
    answer(payload | {"pending": len(session.open), "batch": None if batch is None else str(batch)})
    return sources.PENDING


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


def _write_vote(session: Session, out: Path, *, approve: bool, as_json: bool) -> int:
    """A vote and nothing else: what the lab found is not shown either."""
    vote = vote_of(session, approve=approve)
    write(vote, out, what="the vote")
    if as_json:
        answer({"schema": VOTE, "status": "done", "lab": vote["lab"], "vote": str(out)})
    else:
        prose.say(f"Vote of {vote['lab']}: {out}")
        prose.say("Send it to the curator and to nobody else; the journal stays in the lab.")
    return 0


def _say_result(
    session: Session, body: dict[str, Any], written: Mapping[str, Path | str | None], *, verbose: bool, as_json: bool
) -> None:
    """Four lines: the answer, its error, what is proven, the files; and more if somebody wants it."""
    result, protocol = session.result, session.protocol
    measured = 0 if result.measured is None else result.measured.labels
    most = session.budget
    spent = most is not None and result.labels - measured >= most - session.error_labels and not result.stopped
    if as_json:
        keys = ["hypothesis", "rounds", "survivors", "certified", "rho_proven", "conditions"]
        keys += [key for key in ("proof", "answer_error") if key in body]
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
    family = family_of(protocol.record)
    for sentence in (
        _answer_sentence(session),
        family.error_words(result, protocol),
        family.proof_words(result, protocol),
        _files_sentence(written, certified=body["certified"]),
        *(family.detail_words(result, protocol) if verbose else ()),
        *(
            f"Not held: {each}."
            for each in (broken_conditions(result, besides=family.verdict_names) if verbose else ())
        ),
    ):
        prose.say(sentence)


def _answer_sentence(session: Session) -> str:
    """The answer, and how many labels it took."""
    result, skipped = session.result, len(session.ledger.skipped)
    measured = 0 if result.measured is None else result.measured.labels
    judged = session.counts.get("judgements")
    labels = count(result.labels - measured, "label" if judged is None else "item")
    labels = labels if judged is None else f"{count(judged - measured, 'judgement')} of {labels}"
    labels += f" and {measured:,} more for its error" if measured else ""
    labels += f" ({count(skipped, 'item')} skipped)" if skipped else ""
    if result.hypothesis is None:
        return f"Answer: none, no hypothesis was found often enough (no heavy hitter); {labels}."
    protocol = session.protocol
    what = "Model" if protocol.recipe.models else "Answer"
    return f"{what}: {_name(result.hypothesis, protocol)}, chosen with {labels}."


def _name(h: int, protocol: Protocol) -> str:
    return family_of(protocol.record).answer_words(h, protocol.recipe)


def _files_sentence(written: Mapping[str, Path | str | None], *, certified: bool) -> str:
    """Which files were written; of a run without a proof none is called a certificate."""
    names = {} if certified else {"certificate": "record of the run, not certified"}
    places = (f"{where} ({names.get(what, what)})" for what, where in written.items() if where is not None)
    return f"Written: {', '.join(places)}."
