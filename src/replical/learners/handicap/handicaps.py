"""Handicaps: the public number c_h that is added to the error of each hypothesis, between 0 and ε.

They come from what is public: an order of preference, weights, a cover of the class, numbers of your own, or from the
string alone. Near ties in error are parted by them, so labs that never meet look for one and the same hypothesis. Claim:
docs/claims/handicap.md.

A handicap is a whole number of units of 2⁻⁴⁰, computed from doubles by a fixed sequence of + - × ÷ and rounded down, so two
machines have the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import count
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import HypothesisClass, Indices, Items
from replical.classes.predictions.base import Predictions, predictions_of
from replical.classes.predictions.line import LinePredictions
from replical.classes.prior import Prior, by_name, minus_ln
from replical.core.exact import decimals, fraction
from replical.core.randomness import SharedRandomness, below
from replical.errors import PlanMismatch, ValueOutOfRange

UNIT = 2**40
Source = Literal["order", "exponentials", "weights", "cover", "zero", "values"]

_FIRST_STEP = 0.9  # of v: what the second in an order is behind the first; the others lie between that and v
_DRAWN = 2000  # hypotheses among which the next members of a cover are looked for
_AT_ONCE = 4096  # items compared at a time
_SLOPES = [Decimal(tenth) / 10 for tenth in range(1, 600)]  # L = ε/τ that are tried


@dataclass(frozen=True, kw_only=True, eq=False)
class Handicaps:
    """Public handicaps that follow from no prior: none, numbers of your own, or a cover of the class.

    Made by `Handicaps.cover`, `Handicaps.zero` or `Handicaps.of`.

    Attributes
    ----------
    source
        ``"cover"``, ``"zero"`` or ``"values"``.
    values
        The members of a cover, ascending, or the handicap of each hypothesis; None for ``"zero"``.
    class_fingerprint
        Of the class they are for; empty for ``"zero"``, which is for any.
    """

    source: Source
    values: NDArray[np.int64] | None = None
    class_fingerprint: str = ""

    @classmethod
    def zero(cls) -> Handicaps:
        """No handicaps: the answer is the best hypothesis itself, certified where it is alone."""
        return cls(source="zero")

    @classmethod
    def of(cls, C: HypothesisClass, handicaps: ArrayLike | Mapping[str, float]) -> Handicaps:
        """Public numbers of your own.

        Parameters
        ----------
        C
            The class.
        handicaps
            One number a hypothesis, in the order of the class or by name: 0 for the most welcome, at most ε.

        Returns
        -------
        handicaps
            Rounded down to whole multiples of 2⁻⁴⁰.

        Raises
        ------
        ValueOutOfRange
            If one is missing, negative or no number.
        """
        listed = by_name(C, handicaps, "handicap") if isinstance(handicaps, Mapping) else handicaps
        try:
            values = np.asarray(listed, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueOutOfRange(f"handicaps must be numbers ({error})") from error
        if values.shape != (len(C),):
            raise ValueOutOfRange(f"{len(C)} handicaps are needed, one a hypothesis, got {values.size}")
        wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
        if len(wrong):
            h = int(wrong[0])
            raise ValueOutOfRange(
                f"the handicap of {C.describe(h)!r} must be a number from 0 to epsilon, got {values[h]:g}"
            )
        units = np.floor(values * UNIT).astype(np.int64)
        return cls(source="values", values=units, class_fingerprint=C.fingerprint)

    @classmethod
    def cover(cls, C: HypothesisClass, items: Items, *, radius: float, shared: SharedRandomness) -> Handicaps:
        """A few hypotheses such that every other differs from one of them on at most a share `radius` of public items.

        Only they are candidates, all with the handicap 0. Thresholds are walked along: from a first one, which the string
        draws, in the longest steps to both sides that leave nothing uncovered. In other classes the next member is always
        the one that covers most of what is still uncovered, among up to 2,000 uncovered hypotheses that the string draws;
        when these are covered others are drawn, until everybody is.

        Parameters
        ----------
        C
            The class.
        items
            Public unlabelled items that no lab scans.
        radius
            How far a hypothesis may be from the nearest member.
        shared
            The published randomness.

        Returns
        -------
        handicaps
            For this class.
        """
        predictions, most = predictions_of(C, items), int(Fraction(fraction(radius)) * len(items))
        if isinstance(predictions, LinePredictions):
            return cls.cover_of(C, _walk(predictions, most, shared))
        return cls.cover_of(C, _greedy(predictions, len(C), len(items), len(C.labels), most, shared))

    @classmethod
    def cover_of(cls, C: HypothesisClass, members: Sequence[int]) -> Handicaps:
        """The cover of the class `C` with these `members`.

        Raises
        ------
        ValueOutOfRange
            If there are none, or one is listed twice or is none of the class.
        """
        listed = np.array(sorted(int(h) for h in members), dtype=np.int64)
        if len(listed) == 0 or len(np.unique(listed)) < len(listed) or listed[0] < 0 or listed[-1] >= len(C):
            raise ValueOutOfRange(f"a cover lists hypotheses from 0 to {len(C) - 1}, each once, and at least one")
        return cls(source="cover", values=listed, class_fingerprint=C.fingerprint)

    def check(self, C: HypothesisClass) -> None:
        """Refuse a class `C` that these handicaps were not made for.

        Raises
        ------
        PlanMismatch
            If it is another class.
        """
        if self.class_fingerprint not in ("", C.fingerprint):
            raise PlanMismatch(
                f"the handicaps are for the class {self.class_fingerprint[:23]}, the pool's class is "
                f"{C.fingerprint[:23]}: make handicaps for this one"
            )


def _walk(line: LinePredictions, most: int, shared: SharedRandomness) -> list[int]:
    """Thresholds of which every other is within `most` items: two differ on the items between their cuts."""
    passed = np.cumsum(np.bincount(line.positions, minlength=line.size))[: line.size]
    start = int(passed[shared.integer("cover", high=line.size)])
    ends, places = (int(passed[0]), int(passed[-1])), [start]
    while (reached := places[-1] + most) < ends[1]:
        uncovered = int(passed[np.searchsorted(passed, reached, side="right")])
        places.append(int(passed[np.searchsorted(passed, uncovered + most, side="right") - 1]))
    places.reverse()
    while (reached := places[-1] - most) > ends[0]:
        uncovered = int(passed[np.searchsorted(passed, reached, side="left") - 1])
        places.append(int(passed[np.searchsorted(passed, uncovered - most, side="left")]))
    members = []
    for place in places:  # thresholds at one place are alike on the items: the string says which is taken
        first, last = (int(np.searchsorted(passed, place, side=side)) for side in ("left", "right"))
        members.append(first + shared.integer("cover", "tie", place, high=last - first))
    return members


def _greedy(
    predictions: Predictions, n: int, items: int, labels: int, most: int, shared: SharedRandomness
) -> list[int]:
    """Hypotheses of which every other is within `most` items, without a matrix of all of them."""
    every, uncovered = np.arange(items), np.arange(n)
    members: list[int] = []
    for draw in count():
        if len(uncovered) == 0:
            break
        words = shared.words("cover", draw, count=min(len(uncovered), _DRAWN))
        if len(uncovered) <= _DRAWN:
            some = uncovered[np.argsort(words, kind="stable")]
        else:
            places = below(words, len(uncovered))
            some = uncovered[places[np.sort(np.unique(places, return_index=True)[1])]]
        for h in _most_covering(predictions, some, items, labels, most, first=not members):
            counts = np.zeros((items, labels), dtype=np.int64)
            counts[every, predictions.codes(h)] = 1
            uncovered = uncovered[predictions.errors(every, counts, uncovered) > most]
            members.append(h)
    return members


def _most_covering(
    predictions: Predictions, some: Indices, items: int, labels: int, most: int, *, first: bool
) -> list[int]:
    """Members of `some` that cover it, the most covering one next, the earlier of equals; the `first` is first if so."""
    alike = np.zeros((len(some), len(some)), dtype=np.float32)  # whole numbers up to 2²⁴ are exact
    codes = np.stack([predictions.codes(int(h)) for h in some])
    for start in range(0, items, _AT_ONCE):
        for label in range(labels):
            says = (codes[:, start : start + _AT_ONCE] == label).astype(np.float32)
            alike += says @ says.T
    covers = items - alike <= most
    gains, chosen = covers.sum(axis=1), list[int]()
    open_ = np.ones(len(some), dtype=np.bool_)
    while open_.any():
        h = 0 if first and not chosen else int(gains.argmax())
        new = covers[h] & open_
        open_ &= ~new
        gains = gains - covers[:, new].sum(axis=1)
        chosen.append(int(some[h]))
    return chosen


def by_order(places: Indices, v: Fraction) -> Indices:
    """Handicaps of a public order with threshold `v`: none for the first, from .9v on for the others, all different."""
    n = len(places)
    behind = np.maximum(places - 1, 0).astype(np.float64)
    steps = 0.5 * (1 - np.ldexp(1.0, -np.minimum(behind, 1000).astype(np.int64))) + 0.5 * (behind / max(n - 2, 1))
    units = np.floor(float(int(v * UNIT)) * (_FIRST_STEP + (1 - _FIRST_STEP) * steps)).astype(np.int64)
    return separate(np.where(places == 0, 0, units), places, int(v * UNIT))


def by_exponentials(words: NDArray[np.uint64], slope: Fraction, width: Fraction, epsilon: Fraction) -> Indices:
    """Handicaps ε - X, X exponential and truncated to [0, `width`] with `slope` L = width/τ (Lemma G')."""
    with decimals():
        q = float((-Decimal(slope.numerator) / Decimal(slope.denominator)).exp())
    u = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    X = minus_ln(1 - u * (1 - q)) / float(slope)  # of [0, 1]
    units = int(epsilon * UNIT) - np.ceil(np.minimum(X, 1.0) * float(int(width * UNIT))).astype(np.int64)
    return separate(np.maximum(units, 0), np.arange(len(words)), int(epsilon * UNIT))


def by_weights(prior: Prior, words: NDArray[np.uint64], slope: Fraction, epsilon: Fraction) -> Indices:
    """The same on the upper half of [0, ε], less up to ε/2 for public weights: the heaviest has all of it."""
    masses = prior.masses(len(words))
    spread = float(minus_ln(np.array([masses.min() / masses.max()]))[0])
    bonus = 1 - minus_ln(masses / masses.max()) / spread if spread else np.zeros(len(words))
    units = by_exponentials(words, slope, epsilon / 2, epsilon)
    units = units - np.floor(np.clip(bonus, 0.0, 1.0) * float(int(epsilon * UNIT) // 2)).astype(np.int64)
    return separate(np.maximum(units, 0), np.arange(len(words)), int(epsilon * UNIT))


def best_slope(n: int) -> Fraction:
    """The L for which Λ = L(1 + n/(e^L - 1)), and with it the chance of a small margin, is least, to one digit."""
    with decimals():
        least = min(_SLOPES, key=lambda L: L * (1 + n / (L.exp() - 1)))
    return Fraction(least)


def separate(units: Indices, places: Indices, most: int) -> Indices:
    """The same, moved by as few units as it takes that no two are equal; among equals the smaller place is first.

    Examples
    --------
    >>> separate(np.array([7, 3, 7, 7]), np.arange(4), 8).tolist()
    [6, 3, 7, 8]
    """
    order = np.lexsort((places, units))
    count = np.arange(len(units))
    rising = count + np.maximum.accumulate(units[order] - count)
    spread = np.empty_like(units)
    spread[order] = np.minimum(rising, most - count[::-1])
    return spread
