"""Pairs of labs that try everything that benchmarks/peers.py compares, on the same pools."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np
from choosing import EPSILON, Labs, Run, Way, key
from model_picker import steps
from numpy.typing import NDArray
from peer_askers import MELLOWNESS, Codes, Floats, Step, Task, at_random, committee, uncertain, vowpal
from sklearn.kernel_approximation import Nystroem
from threadpoolctl import threadpool_limits

from replical.core.randomness import PrivateRandomness

KERNEL = 300  # features of new models: nearness to so many rows
MODEL: dict[str, Any] = {"C": 10, "max_iter": 1000}  # of C = 1, 10, 100 and the plain features the best over the worlds
OURS = (
    Way("handicap", "public"),
    Way("handicap", "random"),
    Way("a2", "public", options=()),
    Way("public-first", "public"),
)
TARGETS = (EPSILON, 0.01)  # how near to the best candidate: labels that it takes are counted for each

Reached = tuple[int | None, ...]


@dataclass(frozen=True)
class Size:
    """How much is measured: items of a pool, strings, budgets, labels between two fits, and the pools of the times."""

    items: int = 2_000
    strings: int = 15
    budgets: tuple[int, ...] = (100, 500)
    batch: int = 10
    timed: tuple[int, ...] = (10_000, 100_000)
    timed_labels: int = 40


@dataclass(frozen=True)
class Beside(Run):
    """A run beside others.

    Attributes
    ----------
    reached
        Labels after which the answer was within each of the targets and stayed there; None if it was not.
    alike
        Share of the population about which the answers of both labs say the same.
    """

    reached: Reached = ()
    alike: float = 1.0


@dataclass(frozen=True)
class Answer:
    """What somebody says after so many labels."""

    method: str
    labels: int
    number: int
    says: Codes
    reached: Reached


@dataclass(frozen=True)
class Peers(Labs):
    """Pairs of labs, each of which tries everything; called with a string's number."""

    ways: tuple[Way, ...] = OURS
    size: Size = Size()
    installed: tuple[str, ...] = ()
    kernel: Floats | None = None

    def runs(self, string: int) -> Iterator[Run]:
        own: dict[tuple[str, str], list[Run]] = {}
        for run in super().runs(string):
            if run.lab != "C":
                own.setdefault(key(run), []).append(run)
        for one, two in own.values():
            alike = float((self.models.predictions[:, one.answer] == self.models.predictions[:, two.answer]).mean())
            for run in (one, two):
                yield Beside(**asdict(run), alike=alike, reached=within(np.array([run.excess]), [run.labels]))
        places = np.argsort(self.public_order(string).places, kind="stable")
        with threadpool_limits(limits=1):
            for one, two in zip(*(self.answers(string, name, places) for name in "AB"), strict=True):
                alike = float((one.says == two.says).mean())
                for each in (one, two):
                    excess = float((each.says != self.models.truth).mean() - self.best_error)
                    about = {"reached": each.reached, "alike": alike}
                    yield Beside(each.method, "public", string, each.number, each.labels, excess, **about)

    @property
    def best_error(self) -> float:
        return float(self.models.errors.min() / len(self.models.truth))

    def answers(self, string: int, name: str, places: NDArray[np.int64]) -> Iterator[Answer]:
        """Everything that one lab could have answered."""
        rows, private = self.rows(string, name), PrivateRandomness.simulated(*self.private(string, name))
        seed, coins = (int(private.generator("peers").integers(2**31)), private.generator("coins").random(len(rows)))
        says, truth, most = self.models.predictions[rows], self.models.truth[rows], max(self.size.budgets)
        differ = np.flatnonzero((says != says[:, :1]).any(axis=1))
        public = self.public_rows(string)
        wrong = self.wrong(rows[differ[:most]]).cumsum(axis=0)
        yield from self.path("argmax", wrong, places)
        yield from self.path("argmax with the public items", wrong + self.wrong(public).sum(axis=0), places)
        picked = list(islice(steps(says, truth, coins), most))
        yield from self.path("Model Picker", np.array([step.losses for step in picked]), places)
        if self.kernel is None:
            return
        task = Task(self.kernel[rows], truth, (self.kernel[public], self.models.truth[public]), seed)
        asked: dict[str, Iterable[Step]] = {}
        if "skactiveml" in self.installed:
            asked["scikit-activeml, random"] = at_random(task, self.size.batch, **MODEL)
            asked["scikit-activeml, uncertainty"] = uncertain(task, self.size.batch, **MODEL)
            asked["scikit-activeml, committee"] = committee(says, truth, seed, batch=most)
        if "vowpalwabbit" in self.installed:
            asked["Vowpal Wabbit"] = vowpal(task, MELLOWNESS)
        for method, asks in asked.items():
            told: list[Step] = []
            trained = list(self.trained(method, self.kept(asks, told)))
            yield from self.chosen(method, rows, told, places)
            yield from trained

    def kept(self, asks: Iterable[Step], told: list[Step]) -> Iterator[Step]:
        """The steps within the largest budget, written down as they come."""
        for step in islice(asks, max(self.size.budgets)):
            told.append(step)
            yield step

    def chosen(
        self, method: str, rows: NDArray[np.int64], asks: Iterable[Step], places: NDArray[np.int64]
    ) -> Iterator[Answer]:
        """The candidate with the fewest errors on what was asked."""
        told = list(asks)
        asked = np.array([step.item for step in told], dtype=np.int64)
        wrong = self.wrong(rows[asked]) * np.array([step.weight for step in told])[:, None]
        yield from self.path(method, wrong.cumsum(axis=0), places)

    def path(self, method: str, losses: Floats, places: NDArray[np.int64]) -> Iterator[Answer]:
        """The candidate of smallest loss at each budget; losses after each label, one row each."""
        choices = np.concatenate([places[:1], places[losses[:, places].argmin(axis=1)]])  # without a label, the first
        excess = self.models.errors[choices] / len(self.models.truth) - self.best_error
        reached = within(excess, list(range(len(choices))))
        for budget in self.size.budgets:
            n = min(budget, len(losses))
            h = int(choices[n])
            yield Answer(f"{method}, {budget}", n, h, self.models.predictions[:, h], reached)

    def trained(self, method: str, asks: Iterable[Step]) -> Iterator[Answer]:
        """The newly trained model at each budget, looked at whenever it was refitted."""
        excess, at, found = list[float](), list[int](), dict[int, tuple[int, Codes]]()
        says: Codes | None = None
        for n, step in enumerate(asks, 1):
            if step.says is None or (n % self.size.batch and n not in self.size.budgets):
                continue
            says = step.says(self.kernel)  # type: ignore[arg-type]
            excess.append(float((says != self.models.truth).mean() - self.best_error))
            at.append(n)
            found |= {budget: (n, says) for budget in self.size.budgets if budget >= n}
        if says is None:
            return
        reached = within(np.array(excess), at)
        for budget in self.size.budgets:
            n, says = found[budget]
            yield Answer(f"{method}, new model, {budget}", n, zlib.crc32(says.tobytes()), says, reached)


def within(excess: NDArray[np.float64], labels: list[int]) -> Reached:
    """After how many labels it is at most each target for good; None where it is not at the end."""
    found: list[int | None] = []
    for target in TARGETS:
        above = np.flatnonzero(excess > target + 1e-12)
        first = int(above[-1]) + 1 if len(above) else 0
        found.append(labels[first] if first < len(labels) else None)
    return tuple(found)


def kernel_features(X: Floats) -> Floats:
    """Nearness to some rows, by which a linear model can draw curves; the same for all labs."""
    near = Nystroem(gamma=1 / X.shape[1], n_components=min(KERNEL, len(X)), random_state=0)
    return np.asarray(near.fit(X[:20_000]).transform(X))
