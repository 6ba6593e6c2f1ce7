"""Worlds that unlabelled items leave possible: candidates vote on the labels that nobody knows.

Real labels are uncertain where good candidates disagree, and the best candidate is near the middle of the good ones. So a
world is drawn by giving every candidate a weight; an item's label is then what heavy candidates say about it, more or less
surely. Weights start from how reliable a candidate looks, judged by how it goes along with the others, and near ones vary
together. In half of the worlds one candidate, the leader, decides a share of the labels by itself: often some candidate is
nearer to the truth than any vote. That most candidates share a mistake cannot be seen from their votes: no world drawn here
has it. In half of the worlds labels are flipped at random besides. A public order may be wrong: half of the worlds do not
know it.

Outputs with a public loss are drawn likewise: votes say which output of an item is right, if any is, and the loss compares
the others with it. Judges see the right one as good and the others as bad, more or less so, and say one of the two words
of the scale that are nearest to that.

The lab's own pool stands in for the population. Classes that are no table have no votes: there hypotheses take turns as the
truth, the most central one first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from replical.classes.grading import Gold, Scores, loss_of
from replical.classes.outputs import OutputRows, OutputTable
from replical.classes.prior import UNIFORM, Prior
from replical.classes.table import PredictionTable
from replical.core.randomness import PrivateRandomness
from replical.errors import PoolExhausted
from replical.pools.pool import Pool
from replical.pools.query import Answers, Labels, Query
from replical.worlds.world import Population

Numbers = NDArray[np.float64]
CodeTable = NDArray[np.uint16]  # label codes: items x candidates
Places = NDArray[np.int64]

FEWEST = 50  # items from which candidates can be compared at all
MOST_ITEMS = 2000  # items on which candidates are compared
MOST_VOTERS = 2000  # candidates that vote: every two of them are compared
MOST_PAIRS = 100_000  # of outputs that are compared by a loss
SIGMA = (0.0, 2.0)  # how far weights stray from their start, uniformly between these
TAU = (0.8, 3.0)  # how sharply votes decide a label: 1 by their shares; log-uniformly between these
SHARPEST = 8.0  # τ is raised no further where the error of the best is known
STEP = 1.25  # by this factor
LED = 0.5  # share of worlds with a leader, who decides a share of labels that is uniform between 0 and 1
SLIP = 0.02  # share of labels that no vote decides
_LEAST = 0.001  # reliability of a candidate that goes along with nobody
_REFITS, _POWERS = 30, 8  # of the common factor
_ROUNDS = 8  # of starts that depend on where the weight is
LAPSE = 0.4  # the most that a right output loses in the mean by judges, and that a wrong one does not
NOISY, FLIPS = 0.5, 0.2  # share of worlds in which labels are flipped at random, and the largest share of flips


@dataclass(frozen=True, kw_only=True)
class PossibleWorld:
    """Where one pair of labs lives."""

    population: Population
    answers: Callable[[Pool, PrivateRandomness], Labels]  # who answers for the items of a pool of this population
    best: int  # hypothesis
    private: PrivateRandomness  # where the randomness of its labs comes from


class PossibleWorlds:
    """Worlds in place of the one that a pool is from; `by_votes` says whether they are drawn from votes.

    `noise` is the error of the best candidate of a table, or how labels of other classes are flipped, where somebody knows
    it. `certain`: is the best hypothesis of every world always right?
    """

    def __init__(
        self, pool: Pool, prior: Prior = UNIFORM, *, noise: float | None = None, certain: bool = False
    ) -> None:
        self.C, self._pool, self._noise, self._certain = pool.C, pool, noise, certain
        self.by_votes = isinstance(pool.C, PredictionTable)
        if self.by_votes:
            votes = votes_on(pool, prior)
            if votes is None:
                raise PoolExhausted(
                    f"a forecast needs at least {FEWEST} unlabelled items to compare the candidates on, and the pool holds "
                    f"{len(pool)}: bring more items, they need no labels"
                )
            self._votes, self._plain = votes, self._population(0)

    def __call__(self, number: int) -> PossibleWorld:
        """World `number` (0, 1, ..): always the same."""
        private = PrivateRandomness.simulated("forecast", number)
        generator, C = private.generator("world"), self._pool.C
        if self.by_votes:
            each = self._votes.draw(generator)
            if self._noise is not None:  # then it says whether anyone leads
                each = replace(each, lead=0.0)
            world = self._votes.world(each, nu=self._noise, certain=self._certain)
            return PossibleWorld(population=self._plain, answers=world.answers, best=world.best, private=private)
        target = central_hypothesis(self._pool) if number == 0 else int(generator.integers(len(C)))
        population = self._population(target, self._noise or 0.0)
        return PossibleWorld(population=population, answers=population.labels, best=target, private=private)

    def _population(self, target: int, noise: float = 0.0) -> Population:
        """The pool in place of the population."""
        pool = self._pool
        return Population(
            pool.C, target=target, cells=pool.items, weights=pool.weights, noise=noise, predictions=pool.predictions
        )


def central_hypothesis(pool: Pool) -> int:
    """The hypothesis with the smallest mean distance to all others, on at most 2,000 items."""
    items, everyone = pool.tail(Fraction(1))[:MOST_ITEMS], np.arange(len(pool.C), dtype=np.int64)
    votes = pool.predictions.votes(everyone, items)
    return int(np.argmin(pool.predictions.errors(items, votes, everyone)))


def votes_on(pool: Pool, prior: Prior = UNIFORM) -> Votes | None:
    """The votes of a table's candidates on a `pool`, with a public `prior`; None where there are fewer than 50 items."""
    if len(pool) < FEWEST:
        return None
    sample = np.asarray(pool.items[pool.tail(Fraction(1))[:MOST_ITEMS]])
    return Votes(sample, len(pool.C.labels), guess_of(prior, len(pool.C)), _losses_apart(pool))


def guess_of(prior: Prior, n: int) -> Numbers | None:
    """What a public prior says about who is good: its weights; of a strict order 1, 1/2, 1/3, ..; None if it is uniform."""
    if prior.kind == "uniform":
        return None
    return prior.masses(n) if prior.places is None else 1.0 / (1 + prior.places.astype(np.float64))


@dataclass(frozen=True, kw_only=True, eq=False)
class PossibleTruth:
    """One possible truth about the candidates."""

    base: int  # which start of the weights
    sigma: float  # how far they stray from it
    tau: float  # how sharply votes decide
    z: Numbers  # in which direction weights stray: one normal variable a voter; near voters have nearly the same
    lead: float = 0.0  # share of labels that one voter decides alone
    leader: int = 0  # which of the voters that is
    flips: float = 0.0  # share of labels that are pure chance besides
    lapse: float = 0.0  # what a right output loses in the mean by judges


class Votes:
    """What the votes of candidates on some items say about who may be right.

    `voters` are the candidates that vote (everyone up to 2,000, otherwise so many evenly spread over the class), `distances`
    how often every two of them differ, `reliability` how much of what each says is what all have in common (1 for the most
    reliable), and `bases` equally likely starts of the weights, one a row: four, and four more times a public `guess`. How
    far candidates are `apart` is known of outputs, whose codes are numbers within an item: there being alike is being right.

    Examples
    --------
    >>> generator = np.random.default_rng(1)
    >>> truth = generator.integers(2, size=1000)
    >>> noisy = [truth ^ (generator.random(1000) < rate) for rate in (.05, .1, .2, .5)]
    >>> Votes(np.stack(noisy, axis=1).astype(np.uint16), 2).reliability.round(1).tolist()
    [1.0, 0.7, 0.3, 0.0]
    """

    def __init__(
        self, rows: CodeTable, labels: int, guess: Numbers | None = None, apart: Numbers | None = None
    ) -> None:
        n = rows.shape[1]
        self.voters: Places = np.unique(np.linspace(0, n - 1, min(n, MOST_VOTERS)).round().astype(np.int64))
        self.labels, self.n = labels, n
        self._all = rows[:MOST_ITEMS]
        self._rows = self._all[:, self.voters]
        if apart is None:
            self.distances, self.reliability = _compare_voters(self._rows, labels)
        else:
            self.distances = apart[np.ix_(self.voters, self.voters)]
            self.reliability = _common_factor(1 - self.distances)
        priors = [np.ones(len(self.voters)), *([] if guess is None else [guess[self.voters]])]
        self.bases = np.vstack([_bases(self.distances, self.reliability, prior) for prior in priors])
        length = _weighted_median(self.distances, self.bases[-2])
        covariance = np.exp(-self.distances / length) + 1e-6 * np.eye(len(self.voters))
        self._root = _root(covariance)

    def draw(self, generator: np.random.Generator) -> PossibleTruth:
        """A possible truth, drawn before any label."""
        low, high = np.log(TAU)
        each = PossibleTruth(
            base=int(generator.integers(len(self.bases))),
            sigma=float(generator.uniform(*SIGMA)),
            tau=float(np.exp(generator.uniform(low, high))),
            z=self._root @ generator.standard_normal(len(self.voters)),
            lead=float(generator.uniform()) if generator.random() < LED else 0.0,
            flips=float(generator.uniform(0, FLIPS)) if generator.random() < NOISY else 0.0,
        )
        leader = int(generator.choice(len(self.voters), p=self.weights(each)))
        return replace(each, leader=leader, lapse=float(generator.uniform(0, LAPSE)))

    def weights(self, each: PossibleTruth) -> Numbers:
        """The weights of the voters in a possible truth, adding up to 1."""
        raw = np.log(self.bases[each.base]) + each.sigma * each.z
        w = np.exp(raw - raw.max())
        normalised: Numbers = w / w.sum()
        return normalised

    def world(self, each: PossibleTruth, *, nu: float | None = None, certain: bool = False) -> VoteWorld:
        """The world of a possible truth.

        Where the error `nu` of the best candidate is known, votes decide so sharply that it is no larger; where τ = 8 is not
        sharp enough, the best candidate leads. `certain`: is it always right?
        """
        w, tau, lead, leader = self.weights(each), each.tau, each.lead, int(self.voters[each.leader])
        votes = shares(self._rows, w, self.labels)

        def errors() -> Numbers:
            return self._errors(with_leader(law(votes, tau), self._all[:, leader], lead))

        while nu is not None and errors().min() > nu and tau < SHARPEST:
            tau = min(tau * STEP, SHARPEST)
        if nu is not None and errors().min() > nu:
            by_votes = self._errors(law(votes, tau))
            leader = int(np.argmin(by_votes))
            lead = max(0.0, 1 - nu / float(by_votes[leader]))  # 0 where another leader spoilt it
        flips, best = 0.0 if nu is not None else each.flips, int(np.argmin(errors()))
        known = replace(each, tau=tau, lead=lead, leader=leader, flips=flips)
        return VoteWorld(votes=self, truth=known, weights=w, best=best, certain=certain)

    def _errors(self, probabilities: Numbers) -> Numbers:
        """How often each candidate of the class errs under a law of the items' labels."""
        right = np.zeros(self.n)
        for label in range(self.labels):
            right += probabilities[:, label] @ (self._all == label)
        return 1 - right / len(self._all)


@dataclass(frozen=True, kw_only=True, eq=False)
class VoteWorld:
    """A world in which weighted votes decide labels."""

    votes: Votes
    truth: PossibleTruth  # its leader is the number of a candidate
    weights: Numbers  # of the voters, adding up to 1
    best: int  # the candidate with the smallest error
    certain: bool  # is the label always what `best` says? For learners that suppose a candidate without an error

    def law(self, rows: CodeTable) -> Numbers:
        """Probabilities of the labels of items (one row each), given what all candidates say about them (`rows`)."""
        votes, truth = self.votes, self.truth
        probabilities = law(shares(rows[:, votes.voters], self.weights, votes.labels), truth.tau)
        probabilities = with_leader(probabilities, rows[:, truth.leader], truth.lead)
        return (1 - truth.flips) * probabilities + truth.flips / votes.labels

    def answers(self, pool: Pool, private: PrivateRandomness) -> VoteLabels | VoteLosses:
        """Whoever answers for the items of `pool` in this world; labels are drawn by `private`."""
        kind = VoteLabels if loss_of(pool.C) is None else VoteLosses
        return kind(self, pool, private.generator("labels"))


class VoteLabels:
    """Labels of a `VoteWorld`, drawn when they are asked for."""

    def __init__(self, world: VoteWorld, pool: Pool, generator: np.random.Generator) -> None:
        self._world, self._items, self._generator = world, pool.items, generator

    def answer(self, query: Query) -> Answers:
        """Labels for `query`."""
        world = self._world
        if world.certain:
            return Answers.unanimous(query, self._items[query.items, world.best], world.votes.labels)
        law = world.law(np.asarray(self._items[query.items]))
        counts = self._generator.multinomial(query.counts.astype(np.int64), law).astype(np.int64)
        return Answers(items=query.items, counts=counts)


class VoteLosses:
    """What outputs lose in a `VoteWorld`, drawn when it is asked for."""

    def __init__(self, world: VoteWorld, pool: Pool, generator: np.random.Generator) -> None:
        self._world, self._generator, self._codes = world, generator, len(pool.C.labels)
        self._items, self._loss = cast(OutputRows, pool.items), cast(OutputTable, pool.C).loss

    def answer(self, query: Query) -> Answers:
        """For each item of `query` a right output is drawn, or none, and what the others lose."""
        law = self._world.law(np.asarray(self._items[query.items]))
        right = (law.cumsum(axis=1) < self._generator.random((len(law), 1))).sum(axis=1)
        said = [self._items.outputs[item] for item in query.items.tolist()]
        rows = [self._row(outputs, code) for outputs, code in zip(said, right.tolist(), strict=True)]
        return Answers.graded(query, rows, self._codes)

    def _row(self, outputs: tuple[str, ...], right: int) -> list[int]:
        """What the `outputs` of an item lose where that of this code is right, if there is one."""
        loss = self._loss
        if not isinstance(loss, Scores):
            return _compared(loss, outputs, right) if right < len(outputs) else [loss.unit] * len(outputs)
        levels = np.unique([*loss.scale.values()])
        badness = np.where(np.arange(len(outputs)) == right, self._world.truth.lapse, 1 - self._world.truth.lapse)
        seen = levels[0] + badness * (levels[-1] - levels[0])
        above = np.clip(np.searchsorted(levels, seen), 1, len(levels) - 1)
        low, high = levels[above - 1], levels[above]
        scores: list[int] = np.where(self._generator.random(len(seen)) * (high - low) < seen - low, high, low).tolist()
        return scores


@lru_cache(2**16)
def _compared(loss: Gold, outputs: tuple[str, ...], right: int) -> list[int]:
    """What each of the `outputs` loses where this one is right."""
    return loss.row(outputs[right], outputs)


def _losses_apart(pool: Pool) -> Numbers | None:
    """What the output of each candidate loses, in the mean, where another's is right; None where they say labels."""
    loss, n = loss_of(pool.C), len(pool.C)
    if loss is None:
        return None
    some = cast(OutputRows, pool.items[pool.tail(Fraction(1))[: max(10, min(MOST_ITEMS, MOST_PAIRS // n**2))]])
    apart = np.zeros((n, n))
    for codes, outputs in zip(np.asarray(some), some.outputs, strict=True):
        if isinstance(loss, Scores):
            apart += codes[:, None] != codes
        else:
            rows = np.array([_compared(loss, outputs, code) for code in range(len(outputs))]) / loss.unit
            apart += rows[np.ix_(codes, codes)]
    both: Numbers = (apart + apart.T) / (2 * len(some))
    return both


def shares(rows: CodeTable, weights: Numbers, labels: int) -> Numbers:
    """The weight of those who say each label (columns) of each item (rows)."""
    return np.stack([(rows == label) @ weights for label in range(labels)], axis=1)


def law(votes: Numbers, tau: float) -> Numbers:
    """Probabilities of the labels where they have these shares of the votes.

    Examples
    --------
    >>> law(np.array([[.7, .3]]), 2.0).round(4).tolist()
    [[0.8379, 0.1621]]
    """
    sharp = np.maximum(votes, 0.0) ** tau
    sharp = (1 - SLIP) * sharp / sharp.sum(axis=1, keepdims=True) + SLIP / votes.shape[1]
    probabilities: Numbers = sharp / sharp.sum(axis=1, keepdims=True)
    return probabilities


def with_leader(probabilities: Numbers, says: NDArray[np.uint16], lead: float) -> Numbers:
    """The same where somebody who `says` a label of each item decides a share `lead` of the labels.

    Examples
    --------
    >>> with_leader(np.array([[.8, .2]]), np.array([1], dtype=np.uint16), .5).round(4).tolist()
    [[0.4, 0.6]]
    """
    mixed = (1 - lead) * probabilities
    mixed[np.arange(len(says)), says] += lead
    return np.minimum(mixed, 1.0)  # rounding


def _compare_voters(rows: CodeTable, labels: int) -> tuple[Numbers, Numbers]:
    """How often every two voters differ; and how much of what each says is what all have in common."""
    m, n = rows.shape
    same, covariance = np.zeros((n, n)), np.zeros((n, n))
    for label in range(labels):
        says = (rows == label).astype(np.float64)
        both, mean = says.T @ says / m, says.mean(axis=0)
        same += both
        covariance += both - np.outer(mean, mean)
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    varies = spread > 1e-9
    scale = np.where(varies, spread, 1.0)
    R = np.where(np.outer(varies, varies), covariance / np.outer(scale, scale), 0.0)
    return np.clip(1 - same, 0.0, 1.0), _common_factor(R)


def _common_factor(R: Numbers) -> Numbers:
    """The squares of r with R ≈ rrᵀ beside the diagonal, which is refitted; divided by their maximum."""
    R, r = R.copy(), np.full(len(R), 0.5)
    for _ in range(_REFITS):
        np.fill_diagonal(R, r**2)
        x = r + 1e-3
        for _ in range(_POWERS):
            x = R @ x
            x /= max(float(np.linalg.norm(x)), 1e-300)
        r = np.sqrt(max(float(x @ R @ x), 0.0)) * x
    r = r if r.sum() >= 0 else -r
    return np.clip(r / r.max(), _LEAST, 1.0) ** 2 if r.max() > 0 else np.ones(len(r))


def _bases(D: Numbers, r: Numbers, prior: Numbers) -> Numbers:
    """Four starts: all alike; by reliability; twice more by reliability and by nearness to where the weight is."""
    starts = [np.ones(len(r)), r**2]
    for power in (1, 2):
        w = r**2 / (r**2).sum()
        for _ in range(_ROUNDS):
            w = r**2 * (1 - (1 - D) @ w + 0.001) ** -power
            w /= w.sum()
        starts.append(w)
    weighed = np.stack(starts) * prior
    bases: Numbers = weighed / weighed.sum(axis=1, keepdims=True)
    return bases


def _weighted_median(D: Numbers, w: Numbers) -> float:
    """The median distance of two voters drawn by weight; where that is 0, the smallest that is not."""
    order = np.argsort(D, axis=None)
    mass = np.cumsum(np.outer(w, w).ravel()[order])
    middle = float(D.ravel()[order[np.searchsorted(mass, mass[-1] / 2)]])
    if middle > 0:
        return middle
    return float(D[D > 0].min()) if (D > 0).any() else 1.0


def _root(covariance: Numbers) -> Numbers:
    """A matrix whose square is this one; negative eigenvalues, which the kernel may have, count as 0."""
    try:
        return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), dtype=np.float64)
