"""Finished runs and their certificates: honest ones, and ones whose digest was made again after a change."""

from replical.core.canonical import fingerprint
from replical.errors import BadCertificate
from replical.lab.certificate.file import (
    read,
    seal,
)
from replical.lab.certificate.verify import verify


def verdicts(run, certificate):
    return [verify(certificate), verify(certificate, run.lab), verify(certificate, run.lab, run.journal)]


def resealed(certificate):
    """What a forger does who knows how certificates are made."""
    certificate["digest"] = fingerprint(certificate["body"])
    certificate["provenance"]["seal"] = seal(certificate["digest"], certificate["provenance"])
    return certificate


def valid(path):
    """As `replical verify` decides."""
    try:
        return verify(read(path)).valid
    except BadCertificate:
        return False
