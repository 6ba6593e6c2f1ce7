"""Survivors as a file of their own: where they are too many to be named, a certificate tells how many, and their digest.

The file says of which protocol they are the hypotheses; one that was changed, or is another run's, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replical.core.ranges import HypothesisSet, digest_of_set, ranges_of, set_of
from replical.errors import BadCertificate, BadSurvivors, BadUsage
from replical.lab.certificate.file import read_as, write
from replical.lab.sessions.session import Session

SCHEMA = "replical.survivors/1"
PARTS = ("schema", "protocol_fingerprint", "count", "ranges", "digest")
_WHAT = "file of survivors"
_BEYOND = 2**63  # no list has so many hypotheses


@dataclass(frozen=True, kw_only=True)
class Survivors:
    """A set of hypotheses of one protocol, and where it was read."""

    file: Path
    protocol_fingerprint: str
    whole: HypothesisSet
    digest: str

    def fits(self, body: Mapping[str, Any]) -> bool:
        """Are these the survivors of the run with this `body`?"""
        told = body.get("survivors")
        if not isinstance(told, Mapping) or body.get("protocol_fingerprint") != self.protocol_fingerprint:
            return False
        try:
            return bool((told["digest"] if "digest" in told else digest_of_set(told)) == self.digest)
        except (LookupError, TypeError, ValueError, RecursionError):  # no set
            return False

    def named_in(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The same body, whose survivors have names where only their digest was told."""
        if "digest" not in body["survivors"]:
            return dict(body)
        return {**body, "survivors": {**body["survivors"], "ranges": self.whole["ranges"]}}


def write_survivors(session: Session, path: Path) -> None:
    """Write who may still be the answer of a run that has ended, however many they are."""
    whole = set_of(session.result.survivors.indices)
    about = {"schema": SCHEMA, "protocol_fingerprint": session.protocol.fingerprint, "digest": digest_of_set(whole)}
    write({**about, **whole}, path, what=f"the {_WHAT}")


def read_survivors(path: Path) -> Survivors:
    """Read what `write_survivors` wrote; anything else is refused."""
    content = read_as(path, SCHEMA, PARTS, what=_WHAT, refuse=BadSurvivors)
    try:
        ranges = ranges_of(content, _BEYOND)
    except BadCertificate as error:
        raise BadSurvivors(
            f"{path} is damaged: its ranges do not ascend, or do not hold as many hypotheses as it says; ask its lab "
            "for the file again"
        ) from error
    whole: HypothesisSet = {"count": content["count"], "ranges": [[low, high] for low, high in ranges]}
    if content["digest"] != digest_of_set(whole):
        raise BadSurvivors(f"{path} is damaged: its digest is not that of its ranges; ask its lab for the file again")
    return Survivors(
        file=path, protocol_fingerprint=content["protocol_fingerprint"], whole=whole, digest=content["digest"]
    )


def check_own(survivors: Survivors, body: Mapping[str, Any]) -> None:
    """Refuse a file that does not hold the survivors of this certificate."""
    if not survivors.fits(body):
        raise BadSurvivors(
            f"{survivors.file} does not hold the survivors of this certificate: give the file that its run wrote with "
            "run --survivors"
        )


def check_every(files: Sequence[Survivors], bodies: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a file that belongs to none of these certificates."""
    for each in files:
        if not any(each.fits(body) for body in bodies):
            raise BadSurvivors(
                f"{each.file} holds the survivors of none of these certificates: leave it out, or compare its lab's too"
            )


def named(body: Mapping[str, Any], files: Sequence[Survivors], *, which: str) -> dict[str, Any]:
    """The body with named survivors; without their file it is said whose is missing, by the words for `which` it is."""
    for each in files:
        if each.fits(body):
            return each.named_in(body)
    if "digest" in body["survivors"]:
        raise BadUsage(
            f"{which} does not name its {body['survivors']['count']:,} survivors, so give the file that its run wrote with "
            f"run --survivors, the one with the digest {body['survivors']['digest'][:23]}: --survivors FILE"
        )
    return dict(body)
