"""What the lab's own items show: masses, distances and, where no label decides it, the proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from replical.core.randomness import PrivateRandomness
from replical.lab.certificate.checks import Checks, same
from replical.lab.certificate.conditions import value_of
from replical.lab.certificate.course import split
from replical.lab.certificate.file import condition_part, indices_of, set_of, shift_told, summary
from replical.lab.certificate.measured import measured_on
from replical.lab.certificate.rounded import slack
from replical.lab.protocol import Protocol
from replical.lab.tables import LabPool
from replical.learners.base import Proves
from replical.learners.result import STOP
from replical.learners.rounded import NEAR
from replical.learners.rounding.centre import Centre
from replical.plans.a2 import A2Plan
from replical.plans.base import CALPlan
from replical.plans.rounded import RoundedPlan
from replical.pools.pool import Pool
from replical.pools.version_space import VersionSpace


@dataclass(frozen=True)
class OnPool:
    """A certificate's `body`, read with the lab's items."""

    body: Mapping[str, Any]
    protocol: Protocol
    lab: LabPool

    @cached_property
    def pool(self) -> Pool:
        """The items; masses do not depend on the private order, so any order will do."""
        return self.lab.pool(PrivateRandomness.simulated("verification"))

    @cached_property
    def whole(self) -> VersionSpace:
        """The class on these items."""
        return self.pool.version_space()

    @cached_property
    def survivors(self) -> VersionSpace:
        """Those the certificate names."""
        told = indices_of(self.body["survivors"], len(self.protocol.recipe.C))
        return self.whole.keep(np.isin(self.whole.indices, told))

    @property
    def unused(self) -> int:
        """Items of the pool that masses were not measured on; which ones is private."""
        return len(self.lab) - measured_on(self.protocol.plan, len(self.lab))

    def check(self, checks: Checks) -> None:
        """Everything that these items show."""
        body, protocol, lab, learner = self.body, self.protocol, self.lab, self.protocol.learner
        checks("the pool has this fingerprint", lambda: same(body["pool"]["fingerprint"], lab.fingerprint))
        checks("the pool is not the public table of the order", self._own)
        checks("the pool has so many items", lambda: same(body["pool"]["items"], len(lab)))
        checks("the summary is that of the pool", lambda: same(body["pool"]["summary"], summary(protocol, lab)))
        if not protocol.record.lists:
            return
        checks("disagreement in the rounds is possible on the pool", self._disagreement)
        if isinstance(protocol.plan, CALPlan | A2Plan):
            checks("disagreement at the stop is that of the survivors on the pool", self._stop)
        if isinstance(learner, Proves) and learner.repeatable(len(lab)):
            checks("scores and rho_proven follow from pool and survivors", lambda: self.scores(learner))
        elif isinstance(plan := protocol.plan, RoundedPlan) and plan.yardstick is None:
            checks("kept and slack are possible on some of the pool's items", lambda: self._some_items(plan))

    def _own(self) -> str | None:
        return "the order was made from these very items" if self.lab.fingerprint == self.protocol.public else None

    def _disagreement(self) -> str | None:
        """The first round begins with the whole class; no later one has less to disagree on than those who survive."""
        rounds, shrinks, most = split(self.body)[0], self.protocol.plan.shrinks, self.whole.disagreement_weight
        last = self.survivors.disagreement_weight if shrinks else 0
        for each in rounds:
            count, everyone = each["disagreement"][0], each["survivors"] == self.whole.size
            least = max(0, (most if everyone and (shrinks or each["round"] == 1) else last) - self.unused)
            if not least <= count <= most:
                return (
                    f"round {each['round']}: {count} items are said to be disputed, on the pool it is {least} to {most}"
                )
        return None

    def _stop(self) -> str | None:
        return same(value_of(self.body, STOP), float(self.survivors.mass))

    def scores(self, learner: Proves) -> str | None:
        """What these survivors prove on these items, without labels."""
        body, again = self.body, learner.again(self.pool, self.survivors, self.protocol.shared)
        claim = [body["rho_proven"], body["certified"], body["labels_sufficient"], body["kept"], body.get("shift_most")]
        proven, most = again.rounding, shift_told(self.protocol.plan, again)
        assert proven is not None, "whoever proves, rounds"
        told = [proven.rho_proven, proven.certified, proven.labels_sufficient, set_of(again.chosen_from), most]
        if wrong := same(claim, told):
            return wrong
        found = [condition_part(each) for each in again.conditions if each.name != NEAR or self._is_lab]
        return same([each for each in body["conditions"] if each["name"] != NEAR or self._is_lab], found)

    @property
    def _is_lab(self) -> bool:
        """Are these the lab's items, and not others that stand in for them?"""
        return bool(self.lab.fingerprint == self.body["pool"]["fingerprint"])

    def _some_items(self, plan: RoundedPlan) -> str | None:
        """Whatever items were used: nobody is farther from the centre on some of them than on all, nor much nearer."""
        body, unused, V = self.body, self.unused, self.survivors
        centre = Centre(self.whole)
        kappa, radius = slack(body, plan), centre.radius(V)
        if not radius - unused <= kappa <= radius:
            return f"the slack is said to be {kappa} items, on these it is {max(0, radius - unused)} to {radius}"
        if plan.choice != "ball":
            return None
        scores, v = centre.distances(V), plan.threshold(self.protocol.shared, measured_on(plan, len(self.lab)))
        kept = np.zeros(plan.n, dtype=np.bool_)
        kept[indices_of(body["kept"], plan.n)] = True
        if not (scores - unused <= v).any():  # then survivors are kept, and that is checked without the pool
            return None
        missing, strange = (scores <= v) & ~kept, kept & (scores - unused > v)
        if missing.any():
            return f"hypothesis {int(np.argmax(missing))} is within the shared distance on any of these items, and not kept"
        if strange.any() and (scores <= v).any():
            return f"hypothesis {int(np.argmax(strange))} is beyond the shared distance on any of these items, and kept"
        return None
