"""One private answer from the votes of many labs, and nothing else about them. Claim: docs/claims/release.md.

A lab's vote is all that it sends to the curator: which hypotheses it votes for, its name, and which protocol and string
that was. No labels, no counts, nothing that was proven.

The budget, a TOML file, says how much privacy may be spent in all, with one line a release. A release is drawn, charged
and written into this file in one step, before anything else is written. Whoever asks for the same release again is given
the answer that was drawn, for nothing: two draws would tell more than one.

The noisy maximum: every count of votes gets noise of its own, exponential of rate ε, and the largest sum wins. OpenDP's
reviewed mechanism makes the noise. Its twin here does the same in whole numbers: each candidate flips a coin of
probability q^(votes short of the top), and one of those whose coin fell well is drawn. No floating point touches a
probability. Which of the two released is said by whoever calls and is told in the release; one never stands in for the
other.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct, ValidationError, convert, to_builtins
from numpy.typing import NDArray

from replical.core.canonical import fingerprint
from replical.core.exact import decimal, decimals, fraction
from replical.core.files import read_toml, toml_lines, write_whole
from replical.errors import BadBudget, BadSpec, BadUsage, BadVote, ValueOutOfRange, need
from replical.lab.certificate import file as certificates
from replical.lab.protocol import Protocol
from replical.lab.schema import is_name
from replical.lab.sessions.session import Session

RELEASE_SCHEMA = "replical.release/1"
VOTE_SCHEMA = "replical.vote/1"
VOTE_PARTS = ("schema", "protocol_fingerprint", "shared", "lab", "votes")
NOBODY = -1  # in place of an index
SAMPLERS = ("opendp", "exact")
MOST_EPSILON = 20  # ε beyond this protects nobody: a ratio of e^20


def release(
    protocol: Protocol,
    votes: Mapping[str, Mapping[str, Any]],
    budget: Path,
    *,
    epsilon: float,
    nobody: int | None = None,
    sampler: str = "opendp",
) -> dict[str, Any]:
    """Draw one answer, charge the budget for it, and say it."""
    check_epsilon(epsilon)
    if nobody is not None and nobody < 1:
        raise ValueOutOfRange(f"nobody must be a whole number of at least 1, got {nobody}")
    check_sampler(sampler)
    counts = count_votes(protocol, votes)
    with locked_budget(budget) as so_far:
        entry = next((each for each in so_far.releases if each.protocol == protocol.fingerprint), None)
        if entry is None:
            left, total = fraction(so_far.total) - so_far.sum, so_far.total
            if fraction(epsilon) > left:
                raise BadBudget(
                    f"epsilon {epsilon:g} is more than the budget's rest, {float(left):g} of {total:g}: nothing is released"
                )
            entry = _draw(protocol, counts.tolist(), epsilon, nobody or 0, sampler)
            spent = Budget(total=total, releases=(*so_far.releases, entry))
            write_whole(budget, spent.toml(), what="the budget", refuse=BadBudget)  # before the answer is published
    if (entry.epsilon, entry.nobody) != (epsilon, nobody or 0):
        terms = f"epsilon {entry.epsilon:g}" + (f" and nobody {entry.nobody}" if entry.nobody else "")
        raise BadBudget(
            f"this protocol was released before with {terms}: an answer is drawn once; say {terms} to be given it"
        )
    return _content(protocol, entry)


def _draw(protocol: Protocol, counts: list[int], epsilon: float, nobody: int, sampler: str) -> ReleaseEntry:
    index = noisy_maximum(counts + ([nobody] if nobody else []), epsilon, sampler)
    made = "exact integers" if sampler == "exact" else f"opendp {version('opendp')}"
    answer = NOBODY if index == len(counts) else index
    return ReleaseEntry(protocol=protocol.fingerprint, epsilon=epsilon, nobody=nobody, sampler=made, answer=answer)


def _content(protocol: Protocol, entry: ReleaseEntry) -> dict[str, Any]:
    if entry.answer >= len(protocol.recipe.C):
        raise BadBudget(
            f"the budget is damaged: it says that hypothesis {entry.answer} was released, which is not there"
        )
    h = entry.answer
    return {
        "schema": RELEASE_SCHEMA,
        "protocol_fingerprint": protocol.fingerprint,
        "epsilon": entry.epsilon,
        "unit": "lab",
        "mechanism": "noisy maximum",
        "sampler": entry.sampler,
        "nobody": entry.nobody or None,
        "answer": None if h == NOBODY else {"index": h, "name": protocol.recipe.describe(h)},
    }


def vote_of(session: Session, *, approve: bool = False) -> dict[str, Any]:
    """What a lab sends after its run: a vote for its answer, or for everyone still possible; none without an answer."""
    result, lab = session.result, session.ledger.lab
    if lab is None:
        raise BadUsage("a vote names its lab, so that nobody votes twice: give --lab NAME")
    answer = [] if result.hypothesis is None else [int(result.hypothesis)]
    return {
        "schema": VOTE_SCHEMA,
        "protocol_fingerprint": session.protocol.fingerprint,
        "shared": string_of(session.protocol),
        "lab": lab,
        "votes": result.survivors.indices.tolist() if approve and answer else answer,
    }


def string_of(protocol: Protocol) -> str:
    """The fingerprint of the published string."""
    return fingerprint(protocol.content["seed"])


def read_vote(path: Path) -> dict[str, Any]:
    """Read a vote that is written as we write it."""
    return certificates.read_as(path, VOTE_SCHEMA, VOTE_PARTS, what="vote", refuse=BadVote)


def count_votes(protocol: Protocol, votes: Mapping[str, Mapping[str, Any]]) -> NDArray[np.int64]:
    """How many labs vote for each hypothesis; every vote, by the name of its file, is checked first.

    Each lab adds 0 or 1 to each count: that is what the noise is made for.
    """
    n, voters = len(protocol.recipe.C), dict[str, str]()
    counts = np.zeros(n, dtype=np.int64)
    for file, vote in votes.items():
        _check_vote(protocol, file, vote, n)
        if (first := voters.setdefault(vote["lab"], file)) != file:
            raise BadVote(f"{first} and {file} are both votes of the lab {vote['lab']!r}: give one vote a lab")
        counts[vote["votes"]] += 1
    return counts


def _check_vote(protocol: Protocol, file: str, vote: Mapping[str, Any], n: int) -> None:
    if vote["protocol_fingerprint"] != protocol.fingerprint:
        raise BadVote(f"{file} is a vote about another protocol than {protocol.fingerprint[:23]}: leave it out")
    if vote["shared"] != string_of(protocol):
        raise BadVote(f"{file} is a vote with another string than the protocol's: leave it out")
    if not is_name(vote["lab"]) or (protocol.lab_names and vote["lab"] not in protocol.lab_names):
        raise BadVote(
            f"{file} is the vote of {vote['lab']!r:.90}, which is no lab that the protocol knows: leave it out"
        )
    listed = vote["votes"]
    plain = isinstance(listed, list) and all(type(h) is int and 0 <= h < n for h in listed)
    if not plain or sorted(set(listed)) != listed:
        raise BadVote(f"{file} must list hypotheses from 0 to {n - 1}, ascending, each once: {listed!r:.60}")


_MOST_TOTAL = 1e9  # of an epsilon: no privacy is left long before, and sums stay numbers
Epsilon = Annotated[float, Meta(gt=0, le=_MOST_TOTAL)]


class ReleaseEntry(Struct, kw_only=True, forbid_unknown_fields=True):
    """One release: of which protocol, how it was made, and the index that came out (-1 for nobody).

    `nobody` is the votes that "nobody" was given, 0 where it was no choice.
    """

    protocol: str
    epsilon: Epsilon
    nobody: Annotated[int, Meta(ge=0)]
    sampler: str
    answer: Annotated[int, Meta(ge=NOBODY)]


class Budget(Struct, kw_only=True, forbid_unknown_fields=True):
    """What may be spent in all, and what was."""

    schema: Literal["replical.budget/1"] = "replical.budget/1"
    total: Epsilon
    spent: float = 0.0
    releases: tuple[ReleaseEntry, ...] = ()

    @property
    def sum(self) -> Fraction:
        """What was spent: releases add up, whatever they are about."""
        return sum((fraction(each.epsilon) for each in self.releases), Fraction(0))

    def toml(self) -> str:
        """The file."""
        return "\n".join(toml_lines(to_builtins(self) | {"spent": float(self.sum)})) + "\n"


def read_budget(path: Path) -> Budget:
    """Read a budget; a file with a line ``total = 2.0`` begins one."""
    if not path.exists():
        raise BadBudget(
            f"there is no budget {path}: write a file with one line, total = 2.0, the epsilon you may spend"
        )
    try:
        budget = convert(read_toml(path, what="the budget", refuse=BadBudget), Budget)
    except ValidationError as error:
        raise BadBudget(f"{path} is no budget, or damaged: {error}") from error
    if budget.spent != float(budget.sum):
        raise BadBudget(f"{path} is damaged: it says spent = {budget.spent:g}, its releases add up to another")
    return budget


@contextmanager
def locked_budget(path: Path) -> Iterator[Budget]:
    """The budget, for one who spends at a time: two at once would both see what only one may have."""
    read_budget(path)  # refuses what is none before anything is made beside it
    lock = path.with_name(path.name + ".lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        raise BadBudget(f"another release spends from {path}; if none is running, delete {lock}") from None
    except OSError as error:
        raise BadBudget(f"cannot write beside the budget {path}: {error.strerror or error}") from error
    try:
        yield read_budget(path)
    finally:
        lock.unlink(missing_ok=True)


def noisy_maximum(counts: Sequence[int], epsilon: float, sampler: str = "opendp") -> int:
    """One index, ε-differentially private for anyone who adds at most 1 to every count."""
    check_epsilon(epsilon)
    check_sampler(sampler)
    if sampler == "exact":
        return permute_and_flip(np.asarray(counts, dtype=np.int64), threshold(epsilon), SystemCoins())
    return _opendp(list(map(int, counts)), epsilon)


def check_epsilon(epsilon: float) -> None:
    """Refuse an ε that is no privacy."""
    if not 0 < epsilon <= MOST_EPSILON:
        raise ValueOutOfRange(f"epsilon of a release must be above 0 and at most {MOST_EPSILON}, got {epsilon:g}")


def check_sampler(sampler: str) -> None:
    """Refuse what is not there before anything is spent."""
    if sampler not in SAMPLERS:
        raise BadSpec(f"unknown sampler {sampler!r}; it is one of {', '.join(SAMPLERS)}")
    if sampler == "opendp":
        instead = ", or say --sampler exact for our own"
        need("opendp.measurements", "the noise of a release is made by OpenDP", instead)


def threshold(epsilon: float) -> int:
    """⌈2⁶⁴e^-ε⌉: a word of 64 bits lies below it with probability q ≥ e^-ε.

    Examples
    --------
    >>> threshold(1.0), threshold(1e-30) == 2**64
    (6786177901268885275, True)
    """
    with decimals():  # to 50 digits, and one unit of the last one up: never below e^-ε
        return min(2**64, math.ceil(2**64 * (-decimal(epsilon)).exp().next_plus()))


def permute_and_flip(counts: NDArray[np.int64], t: int, coins: SystemCoins) -> int:
    """Each candidate flips a coin of probability q^(c_max - c_h), q = t/2⁶⁴; a uniform one of the successes wins.

    A coin of probability q^k is k coins of probability q, so the flips go level by level: whoever is more than `level` votes
    short of the top flips once more. Who has most votes needs no coin, so somebody is always left.
    """
    short = counts.max() - counts
    left = np.arange(len(counts))
    for level in range(int(short.max())):
        flips = short[left] > level
        if not flips.any():
            break
        fell_well = np.ones(len(left), dtype=bool)
        fell_well[flips] = coins.words(int(flips.sum())) <= np.uint64(t - 1)
        left = left[fell_well]
    return int(left[coins.below(len(left))])


class SystemCoins:
    """Where chance comes from: the operating system's randomness, never the published string, which everybody knows."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """So many words of 64 independent fair bits."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    def below(self, count: int) -> int:
        """One of so many numbers from 0 on, all alike."""
        return secrets.randbelow(count)


def _opendp(counts: list[int], epsilon: float) -> int:
    """OpenDP's noisy maximum, with the smallest scale for which it says that ε is kept."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence
    from opendp.metrics import linf_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    # monotonic: a lab more raises counts and lowers none
    space = vector_domain(atom_domain(T="i64")), linf_distance(T="i64", monotonic=True)
    scale = 1 / float(epsilon)
    while True:
        mechanism: Any = make_noisy_max(*space, max_divergence(), scale)
        if Fraction(mechanism.map(1)) <= fraction(epsilon):
            return int(mechanism(counts))
        scale = math.nextafter(scale, math.inf)
