"""What ``verify`` and ``compare`` say of the registrations that were published before the first labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.cli.output import notes, prose
from replical.core.words import count
from replical.errors import BadRegistration
from replical.lab.certificate.checks import Check, Verification
from replical.lab.protocol import Protocol
from replical.lab.registration.file import read
from replical.lab.registration.verify import check_against, other_beacons, wrong_among

RegistrationFile = Annotated[
    Path | None, typer.Option("--registration", help="what the lab published before its first label: is it this run?")
]
RegistrationFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--registration",
        help="a registration; give all that were published: has each its certificate, and each lab one?",
    ),
]


def with_registration(verdict: Verification, certificate: Mapping[str, Any], file: Path) -> Verification:
    """What was checked of a valid certificate, and whether it is that of the run registered in this `file`."""
    try:
        registration = read(file)
    except BadRegistration as error:
        return verdict.adding(Check(name="the file is a registration", status="failed", detail=str(error)))
    return verdict.adding(*check_against(certificate, registration))


def wrong_registrations(certificates: Sequence[Mapping[str, Any]], files: Sequence[Path]) -> list[str]:
    """What does not fit between certificates and registrations, where any are given, and between the beacons of labs."""
    found = [*other_beacons(certificates)]
    return found + wrong_among(certificates, {str(file): read(file) for file in files}) if files else found


def say_registered(certificates: Sequence[Mapping[str, Any]], files: Sequence[Path], wrong: Sequence[str]) -> None:
    """What was found of them; where the protocol asks for registrations and none are given, that too."""
    for each in wrong:
        prose.print(f"Not as registered: {each}.", markup=False, soft_wrap=True)
    if files and not wrong:
        prose.print(f"Registered: {count(len(files), 'run')}, each with its certificate, one a lab.")
    if not files and any(Protocol.of(each["body"]["protocol"]).registers for each in certificates):
        notes.print(
            "Warning: the protocol asks labs to register, and whether one has thrown a run away shows only if every "
            "registration that was published is given: --registration FILE, once for each",
            soft_wrap=True,
        )
