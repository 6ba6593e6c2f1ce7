"""The one thing a label source does."""

from __future__ import annotations

from typing import Protocol

from replical.pools.query import Answers, Query


class Labels(Protocol):
    """Whoever answers a learner's queries."""

    def answer(self, query: Query) -> Answers:
        """Label every item of `query` as often as it is asked; what came back is counted in `Answers`."""
        ...
