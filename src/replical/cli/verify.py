"""``replical verify`` and ``replical compare``: check one certificate, or several against each other."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.cli.output import answer, notes, prose
from replical.core.files import write_whole
from replical.errors import BadCertificate, BadUsage
from replical.lab.certificate.checks import Check, Verification
from replical.lab.certificate.compare import compare
from replical.lab.certificate.file import read
from replical.lab.certificate.page import page
from replical.lab.certificate.verify import verify
from replical.lab.journal import Journal
from replical.lab.protocol import Protocol
from replical.lab.tables import read_pool

NO = 1


def verify_command(
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="the certificate")],
    pool: Annotated[Path | None, typer.Option(help="the lab's pool: masses and scores are recomputed")] = None,
    journal: Annotated[str | None, typer.Option(help="the lab's journal: the whole run is replayed")] = None,
    id_column: Annotated[str, typer.Option("--id", help="column with the ids of the items")] = "id",
    html: Annotated[Path | None, typer.Option(help="the certificate as a readable page")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> int:
    """Recompute what a certificate says: alone, with the pool, or with pool and journal. Exit code 1 if it is wrong."""
    if journal is not None and pool is None:
        raise BadUsage("a journal is replayed on its pool: give --pool too")
    if not os.path.exists(certificate):
        raise BadUsage(f"there is no certificate {certificate}")
    try:
        content = read(certificate)
    except BadCertificate as error:
        verdict = Verification(
            level="self", checks=(Check(name="the file is a certificate", ok=False, detail=str(error)),)
        )
        return _say(verdict, as_json=as_json)
    verdict = verify(content)
    if verdict.valid and pool is not None:
        lab = read_pool(pool, Protocol.of(content["body"]["protocol"]).recipe, id_column=id_column)
        if journal is None:
            verdict = verify(content, lab)
        else:
            with Journal(journal, write=False) as lab_journal:
                verdict = verify(content, lab, lab_journal)
    if html is not None and verdict.valid:
        write_whole(html, page(content), what="the page", refuse=BadUsage)
    return _say(verdict, as_json=as_json)


def _say(verdict: Verification, *, as_json: bool) -> int:
    if as_json:
        checks = [asdict(check) for check in verdict.checks]
        answer({"schema": "replical.verify/1", "valid": verdict.valid, "level": verdict.level, "checks": checks})
    else:
        for check in verdict.checks:
            mark = "ok  " if check.ok else "NO  "
            detail = f": {check.detail}" if check.detail else ""
            prose.print(f"{mark}{check.name}{detail}", markup=False, soft_wrap=True)
        evidence = {"self": "alone", "pool": "with its pool", "journal": "with its pool and its journal"}[verdict.level]
        prose.print(f"{'Valid' if verdict.valid else 'Not valid'}, checked {evidence}.")
    return 0 if verdict.valid else NO


def compare_command(
    certificates: Annotated[list[Path], typer.Argument(metavar="CERT", help="two or more certificates")],
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> int:
    """Do several labs have one answer to one protocol? Exit code 1 if not."""
    if len(certificates) < 2:
        raise BadUsage(f"compare takes two or more certificates, got {len(certificates)}")
    contents: list[dict[str, Any]] = []
    for path in certificates:
        if not os.path.exists(path):
            raise BadUsage(f"there is no certificate {path}")
        certificate = read(path)
        verdict = verify(certificate)
        if not verdict.valid:
            wrong = next(check for check in verdict.checks if not check.ok)
            raise BadCertificate(f"{path} is not valid ({wrong.name}: {wrong.detail}), so it is not compared")
        contents.append(certificate)
    comparison = compare(contents)
    if as_json:
        answer({"schema": "replical.compare/1", **asdict(comparison)})
    else:
        _compared(comparison.identical, comparison.first_difference, contents)
        if comparison.warning:
            notes.print(f"Warning: {comparison.warning}", markup=False, soft_wrap=True)
    return 0 if comparison.identical else NO


def _compared(identical: bool, difference: str | None, certificates: list[dict[str, Any]]) -> None:
    if identical:
        chosen = certificates[0]["body"]["hypothesis"]["description"]
        prose.print(f"Identical: all {len(certificates)} labs chose {chosen}.", markup=False, soft_wrap=True)
        certified = sum(certificate["body"]["certified"] for certificate in certificates)
        prose.print(f"{certified} of {len(certificates)} are certified.")
    else:
        prose.print(f"Different: {difference}.", markup=False, soft_wrap=True)
