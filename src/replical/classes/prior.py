"""A public prior: which hypotheses come early in the shared order.

With weights μ the order is an exponential race, rank(h) = E_h/μ_h, so that the first of any set S is h with probability
μ_h/μ(S). Two labs then split with probability 1 - μ(V1∩V2)/μ(V1∪V2): a prior that puts more than its share on the good
region helps, one that is anti-aligned with it hurts. A strict order of preference is the
limit of steeper and steeper weights; nothing about it is random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import HypothesisClass, Indices
from replical.classes.table import PredictionTable
from replical.core.bits import numbers_in
from replical.core.canonical import fingerprint
from replical.core.randomness import SharedRandomness
from replical.errors import PlanMismatch, ValueOutOfRange

Masses = NDArray[np.float64]

_LN2 = float.fromhex("0x1.62e42fefa39efp-1")
_TERMS = 12  # of the series of ln m: s² < .0295, so the first term left out is below 2⁻⁶¹
_BLOCK = 2**20  # hypotheses that are ranked at a time
_SMALLEST, _LARGEST = 1e-100, 1e100  # weights whose quotients stay ordinary numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Prior:
    """How the shared order prefers hypotheses: not at all, by weights, or strictly.

    Made by `Prior.weights` or `Prior.order`; ``Prior()`` prefers nobody.

    Attributes
    ----------
    kind
        ``"uniform"``, ``"weights"`` or ``"order"``.
    values
        The weights, or the place of each hypothesis in the order of preference; None for a uniform prior.
    class_fingerprint
        Of the class it is for; empty for a uniform prior, which is for any.

    Examples
    --------
    >>> from replical import SharedRandomness, Thresholds
    >>> prior = Prior.weights(Thresholds(3), [1, 2, 1])
    >>> prior.masses(3).tolist(), prior.spread(3)
    ([0.25, 0.5, 0.25], 4.0)
    >>> Prior.order(Thresholds(3), [2, 0, 1]).first(SharedRandomness("x"), "order", indices=np.array([0, 1]))
    0
    """

    kind: str = "uniform"
    values: Masses | Indices | None = None  # weights, or the place of each hypothesis in the order of preference
    class_fingerprint: str = ""

    @classmethod
    def weights(cls, C: HypothesisClass, weights: ArrayLike | Mapping[str, float]) -> Prior:
        """A prior by public weights.

        Parameters
        ----------
        C
            The class.
        weights
            Any positive numbers, one a hypothesis: in the order of the class, or a mapping from what each hypothesis is
            described by, such as a candidate's name.

        Returns
        -------
        prior
            The prior for this class.

        Raises
        ------
        ValueOutOfRange
            If a weight is missing, no number, or not between 1e-100 and 1e100.
        """
        listed = by_name(C, weights, "weight") if isinstance(weights, Mapping) else weights
        try:
            values = np.array(listed, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueOutOfRange(f"prior weights must be numbers ({error})") from error
        if values.shape != (len(C),):
            raise ValueOutOfRange(
                f"a prior needs {len(C)} weights, one a hypothesis, got {values.size}: missing ones are not guessed"
            )
        wrong = np.flatnonzero(~((values >= _SMALLEST) & (values <= _LARGEST)))
        if len(wrong):
            h = int(wrong[0])
            raise ValueOutOfRange(
                f"the prior weight of hypothesis {h} ({C.describe(h)}) must be a positive number, got {values[h]:g}: "
                "give unlikely candidates a small weight, and leave impossible ones out of the class"
            )
        return cls(kind="weights", values=values, class_fingerprint=C.fingerprint)

    @classmethod
    def order(cls, C: HypothesisClass, preferred: Sequence[int] | Sequence[str]) -> Prior:
        """A strict public order of preference.

        Parameters
        ----------
        C
            The class.
        preferred
            Every hypothesis once, the most preferred first, by index or by candidate name.

        Returns
        -------
        prior
            The prior for this class.

        Raises
        ------
        ValueOutOfRange
            If a hypothesis is missing, listed twice or unknown.
        """
        places = {name: h for h, name in enumerate(C.candidates)} if isinstance(C, PredictionTable) else {}
        listed: list[int] = []
        for h in preferred:
            if isinstance(h, str) and h not in places:
                raise ValueOutOfRange(f"the order of preference names {h!r}, which is no candidate")
            if isinstance(h, bool) or not isinstance(h, str | int | np.integer):
                raise ValueOutOfRange("an order of preference lists hypotheses by index or candidates by name")
            listed.append(places[h] if isinstance(h, str) else int(h))
        if sorted(listed) != list(range(len(C))):
            raise ValueOutOfRange(
                f"an order of preference lists each of the {len(C)} hypotheses once: {_fault_of_order(C, listed)}"
            )
        places_of = np.empty(len(C), dtype=np.int64)
        places_of[np.array(listed, dtype=np.int64)] = np.arange(len(C))
        return cls(kind="order", values=places_of, class_fingerprint=C.fingerprint)

    @classmethod
    def by_errors(cls, C: HypothesisClass, errors: ArrayLike, *then: Indices) -> Prior:
        """A strict order made from errors on a public sample: the fewest first, equal ones by name.

        Parameters
        ----------
        C
            The class.
        errors
            How often each hypothesis erred on labelled items that no lab scans, in the order of the class.
        then
            Whole numbers that come next where errors are equal, the smallest first.

        Returns
        -------
        prior
            The prior for this class. Hypotheses without a name of their own are ordered by index where errors are equal.

        Raises
        ------
        ValueOutOfRange
            If there is not one whole number for each hypothesis.

        Examples
        --------
        >>> from replical import PredictionTable
        >>> Prior.by_errors(PredictionTable(["c", "b", "a"]), [3, 1, 3]).places.tolist()
        [2, 0, 1]
        """
        counts = np.asarray(errors)
        if counts.shape != (len(C),) or counts.dtype.kind not in "iu":
            raise ValueOutOfRange(
                f"an order by errors needs {len(C)} whole numbers, one a hypothesis, got {counts.size} of type "
                f"{counts.dtype}"
            )
        names = C.candidates if isinstance(C, PredictionTable) else range(len(C))
        return cls.order(
            C, sorted(range(len(C)), key=lambda h: (*(int(each[h]) for each in (counts, *then)), names[h]))
        )

    def check(self, C: HypothesisClass) -> None:
        """Refuse a class `C` that this prior was not made for.

        Raises
        ------
        PlanMismatch
            If it is another class.
        """
        if self.class_fingerprint not in ("", C.fingerprint):
            raise PlanMismatch(
                f"the prior is for the class {self.class_fingerprint[:23]}, the pool's class is {C.fingerprint[:23]}: "
                "weights belong to one class and its order, so make a prior for this one"
            )

    @property
    def fingerprint(self) -> str:
        """A hash of the prior and the class it is for."""
        listed = None if self.values is None else [value.hex() for value in self.values.astype(np.float64).tolist()]
        return fingerprint({"kind": self.kind, "values": listed, "class": self.class_fingerprint})

    def first(self, shared: SharedRandomness, *name: str | int, indices: Indices) -> int:
        """The first of `indices` in the order that `shared` holds under `name`."""
        if self.kind == "uniform" or len(indices) == 0:
            return shared.first(*name, indices=indices)
        assert self.values is not None, "only a uniform prior has no values"
        if self.kind == "order":
            return int(indices[np.argmin(self.values[indices])])
        words = shared.ranks(*name, indices=indices)
        ranks = exponentials(words) / self.values[indices]
        lowest = np.flatnonzero(ranks == ranks.min())
        return int(indices[lowest[np.lexsort((indices[lowest], words[lowest]))[0]]])

    def first_in(self, shared: SharedRandomness, *name: str | int, ranges: Sequence[tuple[int, int]]) -> int:
        """The first, in the order that `shared` holds under `name`, of `ranges` of indices, both ends included.

        The first of all is the first among the firsts of blocks, so that no more than a block is held at a time.

        Examples
        --------
        >>> UNIFORM.first_in(SharedRandomness("replical"), "order", ranges=[(0, 10**6), (2 * 10**6, 3 * 10**6)])
        591133
        """
        firsts = [self.first(shared, *name, indices=block) for block in numbers_in(ranges, _BLOCK)]
        return self.first(shared, *name, indices=np.array(firsts, dtype=np.int64))

    @property
    def places(self) -> Indices | None:
        """The place of each hypothesis in a strict order of preference; None for any other prior."""
        return self.values.astype(np.int64) if self.kind == "order" and self.values is not None else None

    def masses(self, n: int) -> Masses:
        """μ of `n` hypotheses, summing to one; equal for a uniform prior.

        Raises
        ------
        ValueOutOfRange
            If the order is strict: it has no weights.
        """
        if self.kind == "order":
            raise ValueOutOfRange("a strict order has no weights")
        values = np.ones(n) if self.values is None else self.values.astype(np.float64)
        normalised: Masses = values / values.sum()
        return normalised

    def spread(self, n: int) -> float:
        """1/μ of the least likely of `n` hypotheses, `n` where none is less likely. Its logarithm replaces ln n."""
        return float(n) if self.kind != "weights" else float(1 / self.masses(n).min())


UNIFORM = Prior()


def exponentials(words: NDArray[np.uint64]) -> Masses:
    """Exponential variables E = -ln(1-u) from `words`, increasing in the word, as a frozen sequence of IEEE operations.

    The logarithm of a mathematical library may differ in its last bit between platforms; additions, multiplications
    and divisions of doubles do not.

    >>> exponentials(np.array([2**63], dtype=np.uint64)).tolist()
    [0.6931471805599455]
    """
    left = 2 * (np.uint64(2**52 - 1) - (words >> np.uint64(12))).astype(np.int64) + 1  # odd: 1-u = left / 2**53
    return minus_ln(left.astype(np.float64) * 2.0**-53)


def minus_ln(y: Masses) -> Masses:
    """-ln y for 0 < y ≤ 1, as a frozen sequence of IEEE operations."""
    mantissa, exponent = np.frexp(y)
    low = mantissa < 0.7071067811865476
    mantissa, exponent = np.where(low, 2 * mantissa, mantissa), exponent - low
    s = (mantissa - 1) / (mantissa + 1)
    square, series = s * s, np.zeros(len(y))
    for term in range(_TERMS, -1, -1):
        series = series * square + 1 / (2 * term + 1)
    logarithms: Masses = -exponent * _LN2 - 2 * s * series
    return logarithms


def _fault_of_order(C: HypothesisClass, listed: list[int]) -> str:
    """What is wrong with a list that shall hold each hypothesis once."""
    unknown = [h for h in listed if not 0 <= h < len(C)]
    if unknown:
        return f"{unknown[0]} is none of 0 to {len(C) - 1}"
    counts = np.bincount(np.array(listed, dtype=np.int64), minlength=len(C))
    said = [f"{C.describe(int(h))!r} is listed {counts[h]} times" for h in np.flatnonzero(counts > 1)[:1]]
    said += [f"{C.describe(int(h))!r} is missing" for h in np.flatnonzero(counts == 0)[:1]]
    return " and ".join(said)


def by_name(C: HypothesisClass, given: Mapping[str, float], what: str) -> list[float]:
    """What is `given` for each hypothesis, by its description, in the order of the class; called `what` in errors."""
    names = [C.describe(h) for h in range(len(C))]
    if missing := [name for name in names if name not in given]:
        raise ValueOutOfRange(f"there is no {what} for {missing[0]!r}: every hypothesis needs one")
    if unknown := [name for name in given if name not in set(names)]:
        raise ValueOutOfRange(f"there is a {what} for {unknown[0]!r}, which is no candidate")
    return [given[name] for name in names]
