"""The release: one answer from the votes of many labs, and nothing else about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replical.errors import BadBudget
from replical.lab.certificate import file as certificates
from replical.lab.protocol import Protocol
from replical.lab.release import budget as budgets
from replical.lab.release.budget import NOBODY, Entry
from replical.lab.release.noise import check_epsilon, check_nobody, check_sampler, noisy_maximum, sampler_name
from replical.lab.release.vote import counted

SCHEMA = "replical.release/1"


def release(
    protocol: Protocol,
    votes: Mapping[str, Mapping[str, Any]],
    budget: Path,
    *,
    epsilon: float,
    nobody: int | None = None,
    sampler: str = "opendp",
) -> dict[str, Any]:
    """Draw one answer, charge the budget for it, and say it.

    Parameters
    ----------
    protocol
        What the labs ran.
    votes
        Their votes, by the name of the file.
    budget
        The file of what may be spent.
    epsilon
        What this release costs; the noise is the larger the smaller it is.
    nobody
        Votes that "no answer" gets, a public number: it wins where no candidate has clearly more. No such choice if None.
    sampler
        Who makes the noise, ``"opendp"`` or ``"exact"``.

    Returns
    -------
    content
        What is published.
    """
    check_epsilon(epsilon)
    check_nobody(nobody)
    check_sampler(sampler)
    counts = counted(protocol, votes)
    with budgets.spending(budget) as so_far:
        entry = so_far.found(protocol.fingerprint)
        if entry is None:
            so_far.check(epsilon)
            entry = _drawn(protocol, counts.tolist(), epsilon, nobody or 0, sampler)
            budgets.write(so_far.with_entry(entry), budget)
    if (entry.epsilon, entry.nobody) != (epsilon, nobody or 0):
        told = f"epsilon {entry.epsilon:g}" + (f" and nobody {entry.nobody}" if entry.nobody else "")
        raise BadBudget(
            f"this protocol was released before with {told}: an answer is drawn once; say {told} to be given it"
        )
    return _told(protocol, entry)


def _drawn(protocol: Protocol, counts: list[int], epsilon: float, nobody: int, sampler: str) -> Entry:
    index = noisy_maximum(counts + ([nobody] if nobody else []), epsilon, sampler)
    made = sampler_name(sampler)
    answer = NOBODY if index == len(counts) else index
    return Entry(protocol=protocol.fingerprint, epsilon=epsilon, nobody=nobody, sampler=made, answer=answer)


def _told(protocol: Protocol, entry: Entry) -> dict[str, Any]:
    if not NOBODY <= entry.answer < len(protocol.recipe.C):
        raise BadBudget(
            f"the budget is damaged: it says that hypothesis {entry.answer} was released, which is not there"
        )
    h = entry.answer
    return {
        "schema": SCHEMA,
        "protocol_fingerprint": protocol.fingerprint,
        "epsilon": entry.epsilon,
        "unit": "lab",
        "mechanism": "noisy maximum",
        "sampler": entry.sampler,
        "nobody": entry.nobody or None,
        "answer": None if h == NOBODY else {"index": h, "name": protocol.recipe.describe(h)},
    }


def write(content: Mapping[str, Any], path: Path) -> None:
    """Write whole: a release is there or it is not."""
    certificates.write(content, path, what="the release")
