"""A claim: a published answer that a lab wants to see confirmed on its own items, and how closely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from replical.learners.confirm import Confirm
from replical.plans.confirm import ConfirmPlan


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A published answer under test.

    Attributes
    ----------
    certificate
        Digest of the certificate that publishes it.
    computed_on
        Fingerprint of the pool it was computed on.
    hypothesis
        Index of the answer.
    plan
        Margin, level, batch and budget.
    """

    certificate: str
    computed_on: str
    hypothesis: int
    plan: ConfirmPlan

    @property
    def learner(self) -> Confirm:
        """Who asks."""
        return Confirm(plan=self.plan, h=self.hypothesis)

    @property
    def bound(self) -> dict[str, Any]:
        """What a journal is bound to. A budget may be raised later: whenever one stops, the outcome holds."""
        return {
            "certificate": self.certificate,
            "computed_on": self.computed_on,
            "hypothesis": self.hypothesis,
            "margin": float(self.plan.margin),
            "level": float(self.plan.level),
            "batch": self.plan.batch,
        }
