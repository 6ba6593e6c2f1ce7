"""What is ahead of a run of Handicap, if items to come are like those it has seen. It decides nothing, and is not published.

A run knows what its survivors lost on every item it has scanned, as S only shrinks. So the rest of it can be played:

    draw how frequent the items seen are (a Bayesian bootstrap: Dirichlet(1, .., 1) over those scanned)
    repeat until one is left, or the items are 50 times those seen:
      draw as many more as a 32nd of those so far; all bets go on, from the wealth they have now
      whoever's wealth has reached 1/β leaves; the favourite changes as it does in a run

Forty such plays are a range of items and labels to a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Indices
from replical.classes.grading import Scores
from replical.learners.handicap.bets import Bets, Block, Floats, Mask, Observation, factor
from replical.learners.handicap.handicaps import UNIT
from replical.learners.handicap.plan import HandicapPlan
from replical.learners.result import Outcomes
from replical.pools.version_space import VersionSpace

PLAYS = 40
FAR = 50  # times the items seen: nobody knows what lies beyond
_STEP = 32  # a play draws items by this part of those so far
_NEAREST = 64  # survivors that are played with: the best on the items so far


@dataclass(frozen=True, kw_only=True, eq=False)
class Ahead:
    """Where a run stands: survivors (columns), from the smallest place on, and kinds of items they differ on (rows).

    Attributes
    ----------
    plan
        Of the run.
    m
        Which survivor is the favourite.
    members, c, lost, wealth
        Their numbers, handicaps, losses and wealth so far.
    losses, says
        What they lose on items of each kind, and what they say.
    times
        How many items of each kind were seen.
    needed
        Is an item of this kind asked?
    scanned
        Items seen, of these kinds and others.
    """

    plan: HandicapPlan
    m: int
    members: Indices
    c: Indices
    lost: Indices
    wealth: Floats
    losses: Indices
    says: Indices
    times: Indices
    needed: Mask
    scanned: int
    _gains: dict[int, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, plan: HandicapPlan, S: VersionSpace, m: int, bets: Bets, seen: Observation, V: VersionSpace | None
    ) -> Ahead:
        """Of the survivors `S` with their `bets`, after all that was `seen`; labels are inferred where `V` agrees."""
        behind = bets.scores
        behind[m] = -np.inf
        near = np.sort(np.argsort(behind, kind="stable")[:_NEAREST])
        near = near[np.argsort(bets.places[near], kind="stable")]
        members = S.indices[near]
        T, order = S.restrict(np.sort(members)), np.argsort(np.argsort(members))
        losses = Block.of(T, seen).losses[:, order].astype(np.int64)
        said = [T.predictions.codes_of_item(item, T.indices) for item in seen.items.tolist()]
        says = np.array(said, dtype=np.int64).reshape(-1, len(members))[:, order]
        needed = (
            np.ones((len(says), 1), dtype=np.int64) if V is None else V.disagreement[seen.items, None].astype(np.int64)
        )
        apart = (says != says[:, :1]).any(axis=1)
        kinds, times = np.unique(np.hstack([losses, says, needed])[apart], axis=0, return_counts=True)
        losses, says, needed = np.split(kinds, [len(members), 2 * len(members)], axis=1)
        return cls(
            plan=plan,
            m=int(np.flatnonzero(near == m)[0]),
            members=members,
            c=bets.c[near],
            lost=bets.lost[near].astype(np.int64),
            wealth=bets.wealth[:, near],
            losses=losses,
            says=says,
            times=times,
            needed=needed[:, 0].astype(np.bool_),
            scanned=bets.scanned,
        )

    def play(self, *, items: int | None = None, labels: int | None = None) -> Outcomes:
        """The rest of the run, played to a proof, or to the end of so many more `items` or `labels`.

        The same run has the same outcomes.
        """
        generator = np.random.default_rng([self.scanned, len(self.members), *self.lost.tolist()])
        most = self.scanned * FAR if items is None else items
        times = np.append(self.times, self.scanned - self.times.sum())
        weights = generator.gamma(times, size=(PLAYS, len(times)))
        weights /= weights.sum(axis=1, keepdims=True)
        games, seen = Games(self, PLAYS), 0
        while seen < most and games.open(labels).any():
            more = min(max(1, (self.scanned + seen) // _STEP), most - seen)
            some = games.open(labels)
            games.go_on(some, generator.multinomial(more, weights[some]))
            seen += more
        return games.outcomes

    def labels_of(self, left: Mask, m: int) -> NDArray[np.int64]:
        """How many labels an item of each kind (columns) takes where some (rows) are `left`, `m` among them."""
        here = left.astype(np.int64)
        apart = (here @ (self.says != self.says[:, [m]]).T > 0) & self.needed
        if not isinstance(self.plan.losses, Scores):
            labels: NDArray[np.int64] = apart.astype(np.int64)
            return labels
        scores: NDArray[np.int64] = np.zeros(apart.shape, dtype=np.int64)
        for output in np.unique(self.says).tolist():
            scores += here @ (self.says == output).T > 0
        scores[~apart] = 0
        return scores

    def gains(self, m: int) -> Floats:
        """What an item of each kind, and at last one on which nobody differs, adds to ln of every wealth against `m`."""
        if m not in self._gains:
            theta = (self.c - self.c[m]) / UNIT
            ahead = np.flatnonzero(theta < 0)
            quiet = np.zeros((1, len(theta)), dtype=np.int64)
            gaps = theta - np.vstack([self.losses[:, [m]] - self.losses, quiet]) / self.plan.unit
            stakes = [factor(stake, gaps, ahead, stake / (1 - theta[ahead])) for stake in self.plan.stakes]
            self._gains[m] = np.log(np.stack(stakes, axis=1))
        return self._gains[m]


class Games:
    """Plays of one run side by side."""

    def __init__(self, ahead: Ahead, plays: int) -> None:
        n = len(ahead.members)
        self._ahead, self._patience = ahead, np.array([ahead.plan.patience(int(h)) for h in ahead.members])
        self.wealth = np.repeat(np.log(ahead.wealth)[None], plays, axis=0)
        self.lost = np.repeat(ahead.lost[None], plays, axis=0)
        self.left, self.m = np.ones((plays, n), dtype=np.bool_), np.full(plays, ahead.m)
        self.items, self.labels = np.zeros(plays), np.zeros(plays)

    def open(self, labels: int | None = None) -> Mask:
        """Which of them go on, with so many `labels` in all."""
        several: Mask = self.left.sum(axis=1) > 1
        return several if labels is None else several & (self.labels < labels)

    def go_on(self, some: Mask, counts: NDArray[np.int64]) -> None:
        """Draw items, so many of each kind (columns), in `some` of the plays (rows)."""
        ahead, plays, kinds = self._ahead, np.flatnonzero(some), counts[:, :-1]
        for m in np.unique(self.m[plays]).tolist():
            mine = self.m[plays] == m
            where = plays[mine]
            self.wealth[where] += np.tensordot(counts[mine], ahead.gains(m), 1)
            self.labels[where] += (kinds[mine] * ahead.labels_of(self.left[where], m)).sum(axis=1)
        self.lost[plays] += kinds @ ahead.losses
        self.items[plays] += counts.sum(axis=1)
        most = self.wealth[plays].max(axis=1, keepdims=True)
        mean = most[:, 0] + np.log(np.exp(self.wealth[plays] - most).mean(axis=1))
        stays = mean < np.log(ahead.plan.leaves_at)
        stays[np.arange(len(plays)), self.m[plays]] = True
        self.left[plays] &= stays
        self._lead(plays)

    def _lead(self, plays: Indices) -> None:
        """The favourites: the old ones while they are near to the best."""
        scanned = self._ahead.scanned + self.items[plays, None]
        scores = self.lost[plays] / self._ahead.plan.unit + self._ahead.c / UNIT * scanned
        scores[~self.left[plays]] = np.inf
        m, rows = self.m[plays], np.arange(len(plays))
        stays = scores[rows, m] <= scores.min(axis=1) + self._patience[m]
        self.m[plays] = np.where(stays, m, scores.argmin(axis=1))

    @property
    def outcomes(self) -> Outcomes:
        """Where they are."""
        return Outcomes(items=self.items, labels=self.labels, proven=~self.open())
