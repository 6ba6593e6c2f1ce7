"""The vote of a lab: all that it sends to the curator.

Which hypotheses it votes for, its name, and which protocol and string that was. No labels, no counts, nothing that was
proven: whatever else a lab knows stays there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.core.canonical import fingerprint
from replical.errors import BadUsage, BadVote
from replical.lab.certificate import file as certificates
from replical.lab.names import is_name
from replical.lab.protocol import Protocol
from replical.lab.session import Session

SCHEMA = "replical.vote/1"
PARTS = ("schema", "protocol_fingerprint", "shared", "lab", "votes")


def vote_of(session: Session, *, approve: bool = False) -> dict[str, Any]:
    """What a lab sends after its run: a vote for its answer, or for everyone still possible; none without an answer."""
    result, lab = session.result, session.ledger.lab
    if lab is None:
        raise BadUsage("a vote names its lab, so that nobody votes twice: give --lab NAME")
    answer = [] if result.hypothesis is None else [int(result.hypothesis)]
    return {
        "schema": SCHEMA,
        "protocol_fingerprint": session.protocol.fingerprint,
        "shared": string_of(session.protocol),
        "lab": lab,
        "votes": result.V.indices.tolist() if approve and answer else answer,
    }


def string_of(protocol: Protocol) -> str:
    """The fingerprint of the published string."""
    return fingerprint(protocol.content["seed"])


def write(vote: Mapping[str, Any], path: Path) -> None:
    """Write whole: a vote is there or it is not."""
    certificates.write(vote, path, what="the vote")


def read(path: Path) -> dict[str, Any]:
    """Read a vote that is written as we write it."""
    return certificates.read_as(path, {SCHEMA: PARTS}, what="vote", refuse=BadVote)


def counted(protocol: Protocol, votes: Mapping[str, Mapping[str, Any]]) -> NDArray[np.int64]:
    """How many labs vote for each hypothesis; every vote, by the name of its file, is checked first.

    Each lab adds 0 or 1 to each count: that is what the noise is made for.
    """
    n, voters = len(protocol.recipe.C), dict[str, str]()
    counts = np.zeros(n, dtype=np.int64)
    for file, vote in votes.items():
        _check(protocol, file, vote, n)
        if (first := voters.setdefault(vote["lab"], file)) != file:
            raise BadVote(f"{first} and {file} are both votes of the lab {vote['lab']!r}: give one vote a lab")
        counts[vote["votes"]] += 1
    return counts


def _check(protocol: Protocol, file: str, vote: Mapping[str, Any], n: int) -> None:
    if vote["protocol_fingerprint"] != protocol.fingerprint:
        raise BadVote(f"{file} is a vote about another protocol than {protocol.fingerprint[:23]}: leave it out")
    if vote["shared"] != string_of(protocol):
        raise BadVote(f"{file} is a vote with another string than the protocol's: leave it out")
    if not is_name(vote["lab"]) or (protocol.lab_names and vote["lab"] not in protocol.lab_names):
        raise BadVote(
            f"{file} is the vote of {vote['lab']!r:.90}, which is no lab that the protocol knows: leave it out"
        )
    if not _indices(vote["votes"], n):
        raise BadVote(f"{file} must list hypotheses from 0 to {n - 1}, ascending, each once: {vote['votes']!r:.60}")


def _indices(votes: Any, n: int) -> bool:
    if not isinstance(votes, list) or any(isinstance(h, bool) or not isinstance(h, int) for h in votes):
        return False
    return sorted(set(votes)) == votes and all(0 <= h < n for h in votes)
