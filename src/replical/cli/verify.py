"""``replical verify`` and ``compare``: check one certificate, or several."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from replical.classes.grading import loss_of
from replical.cli.inputs import IdColumn, never_over, pool_of
from replical.cli.output import AsJson, answer, notes, prose
from replical.core.files import write_whole
from replical.core.text import at_most, confidence, count, listing, plural, two_of
from replical.errors import BadCertificate, BadRegistration, BadUsage
from replical.lab.certificate import opening as openings
from replical.lab.certificate.checks import Check, Verification, protocol_of
from replical.lab.certificate.compare import Common, Comparison, compare, confirms
from replical.lab.certificate.file import read
from replical.lab.certificate.overlap import Shared
from replical.lab.certificate.page import page
from replical.lab.certificate.unchecked import LEVELS, not_checkable
from replical.lab.certificate.verify import verify
from replical.lab.journal.journal import Journal
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.lab.registration import check_against, mismatches, other_beacons
from replical.lab.registration import read as read_registration

RegistrationFile = Annotated[
    Path | None, typer.Option("--registration", help="what the lab published before its first label: is it this run?")
]
RegistrationFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--registration",
        help="a registration; give all that were published: each needs its certificate, and each lab has one",
    ),
]
NO = 1
UNDECIDED = 4
_EVIDENCE = {"self": "the file alone", "pool": "the file and its pool", "journal": "the file, its pool and its journal"}
_MARKS = {"checked": "ok  ", "not checkable": "?   ", "failed": "WRONG  "}


def verify_command(
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="the certificate, or a confirmation")],
    pool: Annotated[Path | None, typer.Option(help="the lab's pool: masses and scores are recomputed")] = None,
    journal: Annotated[str | None, typer.Option(help="the lab's journal: the whole run is replayed")] = None,
    public: Annotated[Path | None, typer.Option(help="public table of the handicaps, which are computed again")] = None,
    registration: RegistrationFile = None,
    id_column: IdColumn = "id",
    html: Annotated[Path | None, typer.Option(help="the certificate as a readable page")] = None,
    opening: Annotated[Path | None, typer.Option(help="labels opened by the lab (journal open), to check")] = None,
    require: Annotated[Literal["pool", "journal"] | None, typer.Option(help="with less than this, exit code 4")] = None,
    allow_code: Annotated[bool, typer.Option("--allow-code", help="run a loss that is somebody's program")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="list what was checked, what not, and why")] = False,
    as_json: AsJson = False,
) -> int:
    """Recompute what a certificate says: alone, with the pool, or with pool and journal.

    One line says how much was checked and how much could not be; -v lists both.

    Exit codes: 0 nothing is wrong, 1 something is, 2 it could not be read, 4 less was given than --require asks for.
    """
    if journal is not None and pool is None:
        raise BadUsage("a journal is replayed on its pool: give --pool too")
    never_over({"--html": html}, {"the certificate": certificate, "--pool": pool, "--journal": journal})
    if not os.path.exists(certificate):
        raise BadUsage(f"there is no certificate {certificate}")
    try:
        content = read(certificate)
    except BadCertificate as error:
        none = Check(name="the file is a certificate", status="failed", detail=str(error))
        return _say_verdict(Verification(level="self", checks=(none,)), verbose=verbose, as_json=as_json)
    check = partial(verify, public=public)
    verdict = check(content)
    own = _own_loss(content) if verdict.valid and pool is not None and not allow_code else None
    if own is not None:
        why = f"the loss {own!r} is a program of somebody's, and no part of replical: --allow-code runs it"
        verdict = verdict.with_checks(
            not_checkable("outputs, answers and losses are those of pool and journal", why=why)
        )
    elif verdict.valid and pool is not None:
        lab = _read_lab(content, pool, id_column)
        if journal is None:
            verdict = check(content, lab)
        else:
            with Journal(journal, write=False) as lab_journal:
                verdict = check(content, lab, lab_journal)
    if registration is not None and verdict.valid:
        verdict = add_registration(verdict, content, registration)
    opened: list[openings.Opened] = []
    if opening is not None and verdict.valid:
        shown = openings.read_opening(opening)
        verdict = verdict.with_checks(*openings.check_opening(shown, content))
        opened = openings.entries_of(shown, content) if verdict.valid else []
    if html is not None and verdict.valid:
        write_whole(html, page(content), what="the page", refuse=BadUsage)
    return _say_verdict(verdict, opened, require, verbose=verbose, as_json=as_json)


def _read_lab(certificate: Mapping[str, Any], pool: Path, id_column: str) -> LabPool:
    """A lab's items, as the protocol of its certificate sees them."""
    return pool_of(pool, Protocol.of(certificate["body"]["protocol"]).recipe, id_column)


def _own_loss(content: Mapping[str, Any]) -> str | None:
    """The name of a loss that is none of replical's; None for all others."""
    loss = loss_of(Protocol.of(content["body"]["protocol"]).recipe.C)
    return None if loss is None or loss.source is None else loss.name


def _say_verdict(
    verdict: Verification,
    opened: Sequence[openings.Opened] = (),
    require: str | None = None,
    *,
    verbose: bool,
    as_json: bool,
) -> int:
    enough = require is None or LEVELS.index(verdict.level) >= LEVELS.index(require)
    code = NO if not verdict.valid else 0 if enough else UNDECIDED
    if as_json:
        fields = {"valid": verdict.valid, "level": verdict.level, "claimed": verdict.claimed}
        fields["checks"] = [check.to_json() for check in verdict.checks]
        answer({"schema": "replical.verify/1", **fields, "opened": [each._asdict() for each in opened]})
        return code
    for each in opened if verdict.valid else ():
        prose.say(f"{each.item}: {'skipped' if each.label is None else each.label}")
    for check in verdict.checks if verbose else verdict.failed:
        prose.say(_MARKS[check.status] + _check_words(check))
    checked, needs = len(verdict.checked), [each.needs for each in verdict.unchecked]
    if verdict.valid:
        claimed = "; what its labels prove is claimed" if verdict.claimed else ""
        shown = f"Valid, as far as {_EVIDENCE[verdict.level]} can show{claimed}"
        more = ", ".join(f"--{each}" for each in sorted({*needs} - {""}))
        more = f"; {len(needs) - needs.count('')} more with {more}" if more else ""
        listed = "" if verbose else " (-v lists them)"  # what is wrong is always listed
        prose.say(
            f"{shown}: {count(checked, 'thing')} checked{more}; {needs.count('')} that no file can show, such as whether "
            f"the labels are right{listed}."
        )
        if not enough:
            prose.say(f"Not enough: --require {require} asks for more than {_EVIDENCE[verdict.level]}.")
    elif not verdict.failed:
        prose.say(f"Not checkable: {verdict.objection.detail}.")
    else:
        wrong = len(verdict.failed)
        prose.say(
            f"Not valid: {wrong} of {count(wrong + checked, 'thing')} checked {plural(wrong, 'is', 'are')} wrong."
        )
    return code


def _check_words(check: Check) -> str:
    """What it is about, what is wrong or why it is not known, and what would show it."""
    shows = f"; --{check.needs} shows it" if check.needs else ""
    return f"{check.name}: {check.detail}{shows}" if check.detail else check.name


def add_registration(verdict: Verification, certificate: Mapping[str, Any], file: Path) -> Verification:
    """What was checked of a valid certificate, and whether it is that of the run registered in this `file`."""
    try:
        registration = read_registration(file)
    except BadRegistration as error:
        return verdict.with_checks(Check(name="the file is a registration", status="failed", detail=str(error)))
    return verdict.with_checks(*check_against(certificate, registration))


def compare_command(
    certificates: Annotated[list[Path], typer.Argument(metavar="CERT", help="certificates, and confirmations of them")],
    pool: Annotated[list[Path] | None, typer.Option(help="pools, in the order of files: do labs share items?")] = None,
    id_column: IdColumn = "id",
    registration: RegistrationFiles = None,
    as_json: AsJson = False,
) -> int:
    """Do several labs have one answer to one protocol? Exit code 1 if not, 4 if that is undecided.

    Replicated: two or more labs ran the protocol, on items of their own, and ended with one answer. A confirmation is no
    run: it may speak against an answer, and with one run and any number of them nothing is replicated (4).
    Each file is checked alone first. Two files of one lab are refused; labs that share their items are no two labs, which is
    said first and is exit code 1.
    """
    if len(certificates) < 2:
        raise BadUsage(f"compare takes two or more certificates, got {len(certificates)}")
    if pool and len(pool) != len(certificates):
        raise BadUsage(f"there are {len(certificates)} files and {count(len(pool), 'pool')}: give --pool once for each")
    tables: Sequence[Path | None] = pool or [None] * len(certificates)
    files_read = [_read_valid(*each, id_column) for each in zip(certificates, tables, strict=True)]
    contents, verdicts = [each[0] for each in files_read], [each[1] for each in files_read]
    pools = [each[2] for each in files_read if each[2] is not None]
    comparison = compare(contents, pools)
    registrations = registration or []
    unfit = wrong_registrations(contents, registrations)
    if as_json:
        files = [_depth(*each) for each in zip(certificates, verdicts, contents, strict=True)]
        fields = asdict(comparison) | {"replicated": comparison.replicated, "files": files}
        registered = {"given": len(registrations), "wrong": unfit}
        answer({"schema": "replical.compare/1", **fields, "registrations": registered})
    else:
        _say_comparison(comparison, contents, [path.name for path in certificates])
        for each in comparison.shared or ():
            prose.say(_shared_words(each))
        if comparison.shared == ():
            prose.say("No item is in two of the pools, by its id.")
        prose.say(
            f"Each file was checked {'with its pool' if pools else 'by itself'}: nothing is wrong. That its labels lead to "
            "this end is claimed; pool and journal show it: replical verify CERT --pool FILE --journal FILE."
        )
        if comparison.warning and not comparison.same_items:
            notes.say(f"Warning: {comparison.warning}")
        say_registrations(contents, registrations, unfit)
    if unfit:
        return NO
    if comparison.undecided and not comparison.same_items:
        return UNDECIDED
    return 0 if comparison.replicated else NO


def _read_valid(path: Path, pool: Path | None, id_column: str) -> tuple[dict[str, Any], Verification, LabPool | None]:
    """A certificate that nothing is wrong with, how it was checked, and the lab's items."""
    certificate, lab = read(path), None
    verdict = verify(certificate)
    if pool is not None and verdict.valid:
        lab = _read_lab(certificate, pool, id_column)
        verdict = verify(certificate, lab)
    verdict.refuse_unless_valid(str(path), "it is not compared")
    return certificate, verdict, lab


def _shared_words(shared: Shared) -> str:
    """Ids that two pools have in common, and whether these are the same items."""
    one, other = shared.files
    start = f"Files {one} and {other} have {count(shared.ids, 'id')} in common, "
    if shared.items:
        return f"{start}and models say the same of {shared.alike:,}: these are the same items."
    return f"{start}and models say the same of {shared.alike:,}, as often as by chance: each lab numbers its own items."


def wrong_registrations(certificates: Sequence[Mapping[str, Any]], files: Sequence[Path]) -> list[str]:
    """What does not fit between certificates and registrations, where any are given, and between the beacons of labs."""
    found = [*other_beacons(certificates)]
    return found + mismatches(certificates, {str(file): read_registration(file) for file in files}) if files else found


def _depth(path: Path, verdict: Verification, content: Mapping[str, Any]) -> dict[str, Any]:
    """How deeply a file was checked, and whether it has a proof of its own."""
    counts = {"checked": len(verdict.checked), "not_checkable": len(verdict.unchecked)}
    return {"file": path.name, "level": verdict.level, "certified": content["body"]["certified"], **counts}


def _say_comparison(comparison: Comparison, contents: list[dict[str, Any]], files: list[str]) -> None:
    certificates = [each["body"] for each in contents if not confirms(each["body"])]
    if comparison.same_items:
        prose.say(f"NOT DIFFERENT LABS: {comparison.warning}.")
    if comparison.common is not None and comparison.common.count != 1:
        _say_common(comparison.common, certificates)
    elif not (comparison.identical or comparison.undecided):
        difference = None if comparison.same_index or not comparison.same_protocol else _who_chose_what(contents, files)
        prose.say(f"Different: {difference or comparison.first_difference}.")
        if comparison.same_protocol and len(certificates) > 1:
            prose.say(_certification(certificates))
    elif certificates:
        chosen, labs = certificates[0]["hypothesis"]["description"], len(certificates)
        if labs == 1:
            prose.say(f"Not replicated: 1 lab ran the protocol, and chose {chosen}; a confirmation is no second run.")
        who = {2: "both labs"}.get(labs, f"all {labs} labs") + _names(certificates)
        who = f"all {labs} files" if comparison.same_items else who
        if labs > 1 and comparison.common is not None:
            prose.say(f"Identical: {comparison.common.names[0]} alone is left in {who}.")
            _say_together(comparison.common, certificates)
        elif labs > 1:
            prose.say(f"Identical: {who} chose {chosen}.")
            prose.say(_certification(certificates))
    for each in comparison.confirmations:
        word = {"confirmed": "Confirmed", "refuted": "Refuted", "undecided": "Undecided"}[each.outcome]
        against = "" if each.against is None else f", against {each.against}"
        who = f"lab {each.lab} ({each.name or 'no name'}, {'signed' if each.signed else 'claimed'})"
        prose.say(f"{word} by {who}: {each.answer}, margin {each.margin:g}, level {each.level:g}{against}.")


def _say_common(common: Common, certificates: list[dict[str, Any]]) -> None:
    """Several are left in all labs, or nobody."""
    if common.count == 0:
        sentence = (
            "Different: nobody is left in all labs. Their items come from different populations, or a condition is broken, "
            f"except with probability {at_most(common.level)}."
        )
    else:
        names = listing(common.names, common.count)
        alike = "" if common.alike is None else f", which never differed in loss on {count(common.alike, 'item')}"
        sentence = f"Undecided: the answer is one of these {common.count:,}: {names}{alike}."
    prose.say(sentence)
    _say_together(common, certificates)


def _say_together(common: Common, certificates: list[dict[str, Any]]) -> None:
    """What the labs have proven together, and by themselves."""
    certified, labs = sum(body["certified"] for body in certificates), len(certificates)
    protocol = Protocol.of(certificates[0]["protocol"])
    recipe, among = protocol.recipe, protocol.plan.among
    own = plural(certified, "is certified, with a proof of its own", "are certified, with a proof of their own")
    own = f"{certified} of {labs} {own}"
    if common.count:
        whose = "it is the" if common.count == 1 else "one of them is the"
        prose.say(
            f"Proven: {whose} {recipe.member}{among} with the smallest error plus public handicap, except with probability "
            f"{at_most(common.level)}; {own}."
        )
    else:
        prose.say(f"{own}.")
    if common.tolerance is not None and common.tolerance < 1:
        who, level = common.favourite, confidence(protocol.plan["beta"])
        first = (
            "it" if common.answer is not None and common.names[0] == who else f"{who}, the first of the public order,"
        )
        prose.say(
            f"With the labels of all labs together {first} {recipe.errs} at most {at_most(common.tolerance, 4)} more than "
            f"the best {recipe.member}{among}, with confidence {level}, if the labs drew their items independently."
        )


def _who_chose_what(contents: list[dict[str, Any]], files: list[str]) -> str | None:
    """Answers of one list, by file; None where one has none, or answers are rules that have no number."""
    said: dict[str, list[str]] = {}
    for content, file in zip(contents, files, strict=True):
        body, chosen = content["body"], content["body"]["hypothesis"]
        if chosen is None or "cell" in body.get("proof", {}):
            return None
        verb = "confirms" if confirms(body) else "chose"
        what = f"{verb} {protocol_of(body).recipe.name(chosen['index'])}"
        said.setdefault(what, []).append(file)
    return ", ".join(f"{' and '.join(names)} {what}" for what, names in said.items())


def _certification(bodies: list[dict[str, Any]]) -> str:
    """How many have proven their answer, and what that promises."""
    certified, labs = sum(body["certified"] for body in bodies), len(bodies)
    tally = f"{certified} of {labs} {plural(certified, 'is', 'are')} certified"
    if certified < labs:
        return f"{tally}, so no agreement was guaranteed{' with the others' if certified else ''}."
    rho, numbers = bodies[0]["protocol"]["learner"]["rho"], bodies[0]["plan"]["numbers"]
    many = next((each["value"] for each in numbers if each["name"] == "labs"), 2)
    return f"{tally}: the chance that {two_of(many)} are both certified and have different answers is at most {rho:g}."


def _names(bodies: list[dict[str, Any]]) -> str:
    """Who they are, where all have names."""
    names = [body["lab"] for body in bodies if "lab" in body]
    return f" ({', '.join(names)})" if len(names) == len(bodies) else ""


def say_registrations(certificates: Sequence[Mapping[str, Any]], files: Sequence[Path], wrong: Sequence[str]) -> None:
    """What was found of them; where the protocol asks for registrations and none are given, that too."""
    for each in wrong:
        prose.say(f"Not as registered: {each}.")
    if files and not wrong:
        prose.say(f"Registered: {count(len(files), 'run')}, each with its certificate, one a lab.")
    if not files and any(Protocol.of(each["body"]["protocol"]).registers for each in certificates):
        notes.say(
            "Warning: the protocol asks labs to register, and whether one has thrown a run away shows only if every "
            "registration that was published is given: --registration FILE, once for each"
        )
