"""A lab's whole run in one call: protocol, items and whoever labels go in, a journal and a certificate come out.

``replical run`` is this call with words of a command line before it and sentences after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from replical.classes.base import Label
from replical.errors import BadKey, BadLabel, BadUsage, ReplicalError
from replical.lab import protocol as protocols
from replical.lab.certificate.envelope import check_envelope
from replical.lab.certificate.file import certify, read, write, write_enveloped
from replical.lab.journal.binding import beacon_value, check_own, commitment
from replical.lab.journal.journal import Journal
from replical.lab.journal.ledger import Ledger
from replical.lab.pool import LabPool, Progress
from replical.lab.schema import check_name
from replical.lab.sessions.session import Session
from replical.lab.signatures import Signer, read_private
from replical.lab.tables import read_pool
from replical.learners.measured import Measured
from replical.learners.result import Result

Oracle = Callable[[str], Label | None]


@runtime_checkable
class LabelSource(Protocol):
    """Whoever labels: asks people, reads files, waits for others."""

    def answer_open(self, session: Session) -> None:
        """Answer what is open in the `session` until it has ended, or until nobody answers any more."""
        ...


@dataclass(frozen=True, kw_only=True)
class Run:
    """What became of a run.

    Attributes
    ----------
    session
        The run itself: its protocol, items, labels and counts.
    certificate
        What is published; None while labels are missing, and where a vote is wanted in its place.
    """

    session: Session = field(repr=False)
    certificate: dict[str, Any] | None = field(repr=False)

    @property
    def open(self) -> list[str]:
        """Ids of the items whose labels are missing; none when the run has ended."""
        return self.session.open

    @property
    def result(self) -> Result:
        """What the run returned; `BadLabel` is raised while labels are missing."""
        return self.session.result


def run(
    protocol: protocols.Protocol | Mapping[str, Any] | str | Path,
    pool: Any,
    labels: Any,
    journal: Journal | str | Path,
    *,
    id_column: str = "id",
    public: Any = None,
    lab: str | None = None,
    register: str | Path | None = None,
    beacon: str | None = None,
    key: str | Path | None = None,
    until_budget: int | None = None,
    measure: int = 0,
    annotator: str | None = None,
    out: str | Path | None = None,
    envelope: str | None = None,
    private: bool = False,
    note: Callable[[str], None] = lambda sentence: None,
    progress: Callable[[Session], None] = lambda session: None,
) -> Run:
    """Run a protocol on a lab's items: ask for labels until the run has ended or labels are missing.

    Every label is in the journal before the next is asked for. Whatever interrupts a run, the same call goes on with it.

    Parameters
    ----------
    protocol
        A `Protocol`, its file, or what such a file says.
    pool
        The lab's items: a `LabPool`, or a table that `read_pool` reads.
    labels
        A dict from the ids of items to their labels, or a pandas Series with the ids as its index; a function from an id to
        its label, or from an id and an output to a score; or anything with a method ``answer_open(session)``. From a dict or
        a function the label None says that nobody can label the item. Where labels of items are missing that are asked for,
        the run waits for them.
    journal
        A `Journal`, its file, or the URL of a database: what keeps every label.
    id_column
        The column with the ids of the items.
    public
        The public table of the protocol's order, to see that none of its items is in the pool.
    lab
        The lab's name; the certificate carries it.
    register
        A file for the registration of the run, which is written before the first label.
    beacon
        The public value that the protocol's beacon has shown since the run was registered.
    key
        The file of a private key, with which registration and certificate are signed.
    until_budget
        Labels to ask for in all, neither fewer nor more, as far as the pool goes: once the first of a public order is proven
        to be the answer they sharpen its tolerance. Left out, the run ends when its answer is proven.
    measure
        Labels to ask for after the answer, to measure how often it errs.
    annotator
        Who labels, unless a call names somebody.
    out
        A file for the certificate.
    envelope
        ``"in-toto"`` writes it as an in-toto Statement, with a key in a DSSE envelope.
    private
        Make no certificate: the lab sends a vote, `replical.lab.release.vote_of` of the session, for a private release.
    note
        Called with sentences for whoever runs it.
    progress
        Called with the session after each label of a function and each batch of a mapping.

    Returns
    -------
    run
        With a certificate, or with items that are still `open`.

    Raises
    ------
    BadProtocol, BadTable, BadJournal
        If one of them cannot be read, or does not belong to the others.
    BadLabel
        If a label is not in the label set, or no label is of an item of the pool.
    BadUsage
        If the protocol does not allow what is asked for, or `out` holds the certificate of another run.
    BadKey
        If the key is not the one that the protocol lists for the lab.
    PlanMismatch
        If the protocol's plan was not made for such a pool.

    Examples
    --------
    >>> import tempfile
    >>> from replical import run
    >>> protocol = {"schema": "replical.protocol/1", "seed": "published", "labels": {"values": ["no", "yes"]},
    ...     "class": {"kind": "thresholds", "features": ["dose"], "count": 20},
    ...     "learner": {"name": "handicap", "epsilon": .2, "delta": .1, "rho": .2}}
    >>> pool = {"id": [f"p{i}" for i in range(3000)], "dose": [i % 19 for i in range(3000)]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal, out = f"{folder}/lab.db", f"{folder}/lab.json"
    ...     begun = run(protocol, pool, {"p1": "no"}, journal)  # labels are missing
    ...     ended = run(protocol, pool, lambda item: "yes" if int(item[1:]) % 19 >= 8 else "no", journal, out=out)
    >>> len(begun.open), begun.certificate
    (1, None)
    >>> ended.open, ended.certificate["body"]["labels"]["asked"] == ended.result.labels
    ([], True)
    """
    published = _protocol(protocol)
    check_allowed(published, lab=lab, measure=measure, beacon=beacon, registers=register is not None, envelope=envelope)
    source = label_source(labels, progress)
    signer = None if key is None else read_private(Path(key))
    if isinstance(pool, LabPool) and public is not None:
        raise BadUsage(
            "public items are compared with the table of the pool: give the table itself, not what was read of it"
        )
    items = pool if isinstance(pool, LabPool) else read_items(published, pool, id_column=id_column, public=public)
    with ExitStack() as opened:
        kept = journal if isinstance(journal, Journal) else opened.enter_context(Journal(journal))
        if register is not None:
            register_run(published, items, kept, register, lab=lab, key=key)
        if beacon is not None:
            from replical.lab.registration import tell_beacon

            tell_beacon(published, kept, beacon)
        session = Session(published, items, kept, annotator=annotator, note=note)
        if out is not None:
            own = commitment(session.secret)
            _check_file(Path(out), "certificate", "--out", lambda file: read(file)["body"]["private_commitment"], own)
        if not private:
            _check_key(published, lab or session.ledger.lab, signer, key)
        if lab is not None:
            session.sign(lab)
        if until_budget is not None:
            session.spend(until_budget)
        if measure:
            session.measure_error(measure)
        source.answer_open(session)
        if session.open:
            return Run(session=session, certificate=None)
        session.finish()
        if private:
            return Run(session=session, certificate=None)
        certificate = certify(session) if signer is None else signer.sign(certify(session))
        if out is not None and envelope is not None:
            write_enveloped(certificate, Path(out), signer)
        elif out is not None:
            write(certificate, Path(out))
        return Run(session=session, certificate=certificate)


def _protocol(given: Any) -> protocols.Protocol:
    if isinstance(given, protocols.Protocol):
        return given
    if isinstance(given, Mapping):
        return protocols.Protocol.of(given)
    if isinstance(given, str | Path):
        return protocols.Protocol.read(Path(given))
    raise BadUsage(f"a protocol is a Protocol, its file, or a dict of what the file says, got {given!r:.40}")


def check_allowed(
    protocol: protocols.Protocol,
    *,
    lab: str | None = None,
    measure: int = 0,
    beacon: str | None = None,
    registers: bool = False,
    envelope: str | None = None,
) -> None:
    """Refuse what the `protocol` does not allow, before anything is read or written."""
    if envelope is not None:
        check_envelope(envelope)
    if beacon is not None:
        value = beacon_value(beacon)
        if protocol.beacon is None:
            raise BadUsage(f"the protocol names no beacon: leave out --beacon {value[:40]}")
        if registers:
            raise BadUsage(
                "a run is registered before the beacon's value exists: give --register first, --beacon later"
            )
    if measure:
        Measured(protocol.learner, measure)
    if lab is not None:
        check_name(lab, protocol.lab_names)


def read_items(
    protocol: protocols.Protocol,
    source: Any,
    *,
    id_column: str = "id",
    public: Any = None,
    progress: Progress | None = None,
) -> LabPool:
    """The lab's items, none of which is in the public table."""
    items = read_pool(source, protocol.recipe, id_column=id_column, progress=progress)
    check_own(protocol, items)
    if public is not None:
        from replical.lab.public import check_apart, check_features

        check_apart(protocol, public, items)
        column = protocol.preference.get("public_column")
        without = [] if column is None else [column]
        check_features(protocol.recipe, public, source, id_column=id_column, without=without)
    return items


# ---- registration and keys ----


def register_run(
    protocol: protocols.Protocol,
    items: LabPool,
    journal: Journal,
    file: str | Path,
    *,
    lab: str | None = None,
    key: str | Path | None = None,
) -> dict[str, Any]:
    """Write the registration of a run, to its journal and, signed with the `key`, to a file; what it says."""
    from replical.lab import registration

    signer = None if key is None else read_private(Path(key))
    _check_key(protocol, lab or Ledger.of(journal.events()).lab, signer, key)
    made = registration.register(protocol, items, journal, name=lab)
    _check_file(
        Path(file), "registration", "--register", lambda file: registration.read(file)["digest"], made["digest"]
    )
    registration.write(made if signer is None else signer.sign(made), Path(file))
    return made


def _check_key(protocol: protocols.Protocol, name: str | None, signer: Signer | None, file: str | Path | None) -> None:
    """Is the key the one that the protocol lists for this lab, where it lists one?"""
    listed = None if name is None else protocol.lab_keys.get(name)
    if protocol.lab_keys and name is None:
        raise BadUsage("the protocol lists the keys of labs, so a lab that runs it has a name: give --lab NAME")
    if protocol.lab_keys and signer is None and protocol.binding:
        raise BadUsage("the protocol lists the keys of labs, so whoever confirms signs: give --key FILE, a private key")
    if listed is not None and signer is None:
        raise BadUsage(f"the protocol lists a key of the lab {name!r}: sign with --key FILE, its private key")
    if signer is not None and listed not in (None, signer.public):
        raise BadKey(f"{file} is not the key that the protocol lists for the lab {name!r}")


def _check_file(file: Path, what: str, option: str, read_whose: Callable[[Path], str], own: str) -> None:
    """Refuse to replace the file of another run: none may be thrown away."""
    if not file.exists():
        return
    try:
        whose = read_whose(file)
    except ReplicalError:  # it is something else
        return
    if whose != own:
        raise BadUsage(f"{file} is the {what} of another run: give another {option}, or move it away")


# ---- who labels ----


def label_source(labels: Any, progress: Callable[[Session], None] = lambda session: None) -> LabelSource:
    """Whoever labels: a source as it is, or one made of a mapping or a function."""
    if isinstance(labels, LabelSource):
        return labels
    if hasattr(labels, "columns"):
        raise BadUsage("labels come from one column of a table, with the ids as its index, and this is the whole table")
    if hasattr(labels, "dropna"):
        labels = labels.dropna().to_dict()
    if isinstance(labels, Mapping):
        return KnownAnswers({str(item): label for item, label in labels.items()}, progress)
    if callable(labels):
        return OracleAnswers(cast(Oracle, labels), progress)
    raise BadUsage(f"labels come from a dict of ids and labels, or from a function of an id, got {labels!r:.40}")


@dataclass(frozen=True)
class KnownAnswers:
    """Labels that are known beforehand, by id; None for an item that nobody can label."""

    labels: Mapping[str, Label | None]
    progress: Callable[[Session], None]

    def answer_open(self, session: Session) -> None:
        """Answer what is known, a batch after the other."""
        if self.labels and self.labels.keys().isdisjoint(session.lab.ids):
            raise BadLabel(
                f"no label is of an item of the pool: labels are found by ids such as {session.lab.ids[0]!r}, and there are "
                f"labels of {next(iter(self.labels))!r}"
            )
        while known := [item for item in session.open if item in self.labels]:
            said = {item: label for item in known if (label := self.labels[item]) is not None}
            answers = {item: session.wanted(item, label) for item, label in said.items()}
            if answers:
                session.answer_all(answers)
            else:
                session.skip(known[0])
            self.progress(session)


@dataclass(frozen=True)
class OracleAnswers:
    """Labels from a function of an item's id, one after the other."""

    oracle: Oracle
    progress: Callable[[Session], None]

    def answer_open(self, session: Session) -> None:
        """Ask until the run has ended; a label is in the journal before the next is asked for."""
        while session.open:
            item = session.open[0]
            if outputs := session.outputs(item):
                session.answer(item, {output: cast(Any, self.oracle)(item, output) for output in outputs[:1]})
                self.progress(session)
                continue
            label = self.oracle(item)
            if label is None:
                session.skip(item)
            else:
                session.answer(item, label)
            self.progress(session)
