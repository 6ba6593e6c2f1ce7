"""Errors a user can act on.

Every message is one sentence that names the offending value and, where there is one, the remedy.
`ReplicalError` is the root: the command line turns it into exit code 2, a program may catch it whole.
"""

from __future__ import annotations


class ReplicalError(Exception):
    """Root of every error raised on purpose by this library."""


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


class BadProtocol(ReplicalError, ValueError):
    """A protocol file says something it may not say, or leaves something out."""


class BadRecipe(ReplicalError, ValueError):
    """A recipe for candidates says something it may not say, or a model cannot be made as it says."""


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
