"""Errors a user can act on.

Every message is one sentence that names the offending value and, where there is one, the remedy.
`ReplicalError` is the root: the command line turns it into exit code 2, a program may catch it whole.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class ReplicalError(Exception):
    """Root of every error raised on purpose by this library."""


class Unwritten(BaseException):
    """The answer could not be written, because of this error: no command may take it for an error of its own."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class ValueOutOfRange(ReplicalError, ValueError):
    """A number lies outside the range in which it means something."""


class BadSpec(ReplicalError, ValueError):
    """A class, learner or plan is named in a way nobody understands."""


class BadTable(ReplicalError, ValueError):
    """A table of items has missing cells, unequal lengths or values that are not labels."""


class BadLabel(ReplicalError, ValueError):
    """A label is not in the label set of the class."""


class PoolExhausted(ReplicalError):
    """A learner needs more fresh items than the pool still holds."""


class BudgetSpent(ReplicalError):
    """A learner needs more labels than its budget allows."""


class PlanMismatch(ReplicalError):
    """A plan is used where its proof does not hold, e.g. the paper's plan on a finite pool."""


class WorkerLost(ReplicalError):
    """A worker process died."""


class EmptyVersionSpace(ReplicalError):
    """No hypothesis is left: the labels contradict the realizable setting."""


class MissingExtra(ReplicalError, ImportError):
    """An optional part of the library is not installed."""


# Which extra has a package that the core does without.
EXTRAS = {
    "pyarrow": "lab",
    "starlette": "lab",
    "uvicorn": "lab",
    "sklearn": "sklearn",
    "matplotlib": "plot",
    "dask": "study",
    "distributed": "study",
    "opendp": "private",
    "cryptography": "sign",
}


def need(package: str, what: str, instead: str = "") -> Any:
    """Import a package that may be missing: then one sentence says `what` needs it, and what to do `instead`.

    >>> need("json", "notes need JSON").dumps([])
    '[]'
    """
    try:
        return import_module(package)
    except ImportError as error:
        extra = EXTRAS[package.partition(".")[0]]
        raise MissingExtra(f"{what}: install it with pip install 'replical[{extra}]'{instead}") from error


class BadProtocol(ReplicalError, ValueError):
    """A protocol file says something it may not say, or leaves something out."""


class BadJournal(ReplicalError):
    """A journal belongs to something else, is in use, or cannot be written."""


class BadCertificate(ReplicalError, ValueError):
    """A file that should be a certificate is none."""


class BadRegistration(ReplicalError, ValueError):
    """A file that should be a registration is none."""


class BadKey(ReplicalError, ValueError):
    """A file that should hold a key of a lab holds none, or cannot be written."""


class BadVote(ReplicalError, ValueError):
    """A file that should be a vote is none, or belongs to something else."""


class BadBudget(ReplicalError, ValueError):
    """A budget of privacy is spent, in use or damaged."""


class BadUsage(ReplicalError, ValueError):
    """A command was called in a way that makes no sense."""


class UncertifiedWarning(UserWarning):
    """An estimator has an answer and no proof: nothing is promised of what another lab finds.

    Examples
    --------
    Whoever wants no answer without a proof makes it an error:

    >>> import warnings
    >>> warnings.simplefilter("error", UncertifiedWarning)
    """


class BadStudy(ReplicalError, ValueError):
    """A study file says something it may not say, or its folder holds another study."""


# What earlier versions had and this one has not, and what to use in its place. Learners and values stand here as they were
# typed, commands after "replical", options with their dashes (a protocol's key has the row of its option), kinds of files
# with their dot.
RETIRED: dict[str, str] = {
    "--shift": "leave it out, every promise is about labs that sample one population",
    "--profile": "compare takes the certificates alone",
    ".arrow": "write it as Parquet or CSV",
    ".feather": "write it as Parquet or CSV",
    "--boosting": "leave it out, a frequent winner is found as the paper does, by rHeavyHitters",
    "--stop": "leave it out, loops end by the mass of DIS(V)",
    "--stop-delta": "leave it out, loops end by the mass of DIS(V)",
    "--kappa": "leave it out, A2 stops at epsilon",
    "--query": "leave it out, CAL asks the next disputed item",
    "a2-paired": "take a2",
    "--finish": "leave it out, handicap chooses by error plus handicap",
    "settled": "take handicap, which does what it did",
    "settled-cal": "take handicap with nu = 0, which does what it did",
    "settled-distance": "take handicap, which does what it did",
    "rounded-cal": "take handicap with nu = 0, which does what it did",
    "rounded-a2": "take handicap, which does what it did",
    "--yardstick": "leave it out, handicap needs no public items to measure distances on",
    "--items": "leave it out, each lab uses all items it has",
    "replical quickstart": "type replical demo --files FOLDER",
    "replical protocol": "type replical init to write a protocol, replical plan to look at one",
    "replical audit": "type replical paper audit",
    "replical theta": "type replical paper theta",
    "replical study": "type replical paper study",
    "replical candidates": "fit models with scikit-learn, and let each fill a column of your table",
    "replical predict": "let each model fill a column of your table, and type replical init --pool TABLE",
    "replical apply": "type replical data apply",
    "replical shard": "type replical run --pool TABLE, 100,000 items of 100,000 candidates take 1.25 GB of memory",
    "replical correct": "type replical journal correct",
    "replical export": "type replical journal export",
    "replical confirm": "type replical lab confirm",
    "replical release": "type replical lab release",
    "replical keys": "type replical lab keys",
    "--cluster": "leave it out, only replical paper audit and study use a cluster",
    "--survivors": "leave it out, every certificate names its survivors",
    "--hard": "leave it out",
    "--pair": "leave it out, replical.worlds.audit.run_pair runs one pair",
    "--release-epsilon": "leave it out, docs/claims/release.md says how many labs a release takes",
    "--law": "leave it out, replical.World(law=..) takes one",
    "--plot": "leave it out, replical.curve and the JSON answer have the numbers",
    "--group": "write --set group=COLUMN --set group_size=NUMBER",
    "--private": "write --vote answer",
    "--approve": "write --vote left",
    "--votes": "write --page votes=NUMBER",
    "--host": "write --page host=ADDRESS",
    "--port": "write --page port=NUMBER",
    "--media": "write --page media=FOLDER",
    "--instructions": "write --page instructions=FILE",
    "--people": "write --page people=FILE",
    "--no-token": "write --page token=no",
    "--proxy": "write --page proxy=ADDRESS",
}


def remedy(word: str) -> str:
    """What to say of a word that is gone, to end a sentence with; empty for any other word.

    >>> remedy("cal")
    ''
    """
    option = f"--{word.replace('_', '-')}"
    return next((f": {RETIRED[each]}" for each in (word, option) if each in RETIRED), "")
