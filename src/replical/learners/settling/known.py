"""Which labels are known: those that were asked. A learner that can infer others says so here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.learners.memory import Kept
from replical.pools.query import Answers, Indices, Query
from replical.pools.version_space import VersionSpace

Labelled = tuple[Indices, NDArray[np.int64]]  # items, and their label codes


class Known:
    """Known is what was asked, and what nobody can label tells candidates apart for nobody.

    Attributes
    ----------
    V
        Where it disagrees labels are unknown; None where they are unknown everywhere.
    """

    V: VersionSpace | None = None

    def kept(self) -> Kept:
        """What is known beside the answers themselves."""
        return {}

    def put_back(self, kept: Kept) -> None:
        """Know what was kept; `ValueError` if nobody can know that."""

    def labels(self, query: Query, answers: Answers | None) -> Labelled:
        """The labels known of the items that a query passed; no answers where nothing was asked."""
        if answers is None:
            return query.items, query.items
        return answers.items, np.argmax(answers.counts, axis=1)

    def unknown(self, query: Query) -> Indices:
        """Items that a query passed and that count against the favourite because their labels are unknown."""
        return query.unlabelled[:0]
