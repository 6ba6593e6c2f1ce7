"""Numbers two machines agree on to the last digit.

A published parameter such as ``epsilon = 0.01`` means one hundredth, not the double nearest to it, and a plan's
sizes must not depend on the last bit of a platform's `log`. So parameters are read as the decimal they print as,
plans are computed in decimal arithmetic (whose logarithm is correctly rounded everywhere), and comparisons are
between integers or fractions. Binomial tails and intervals are exact too.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

from replical.errors import ValueOutOfRange

# Sizes reach 1e18 and are rounded up to integers: 50 digits leave 30 to spare.
_CONTEXT = Context(prec=50)

Real = int | float | Fraction | Decimal


@contextmanager
def decimals() -> Iterator[None]:
    """Compute in the frozen decimal context, whatever the caller has set."""
    with localcontext(_CONTEXT):
        yield


def fraction(x: Real) -> Fraction:
    """Read a number `x` as the decimal it prints as.

    >>> fraction(0.1), fraction(3)
    (Fraction(1, 10), Fraction(3, 1))
    """
    return Fraction(repr(float(x))) if isinstance(x, float) else Fraction(x)


def decimal(x: Real) -> Decimal:
    """Read a number `x` as a decimal, exactly where it is a float or an integer."""
    exact = fraction(x)
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def ln(x: Decimal | int) -> Decimal:
    """Natural logarithm of `x`, correctly rounded on every platform."""
    return Decimal(x).ln()


def ceil(x: Decimal) -> int:
    """Round `x` up to an integer of any size."""
    return math.ceil(x)


def round_up(x: Real, digits: int) -> str:
    """An upper bound `x` in print, with so many `digits` after the point: never smaller than it is.

    >>> round_up(.0341, 3), round_up(.034, 3), round_up(1 / 3, 2)
    ('0.035', '0.034', '0.34')
    """
    return f"{math.ceil(fraction(x) * 10**digits) / 10**digits:.{digits}f}"


def round_down(x: Real, digits: int) -> str:
    """A lower bound `x` in print, with so many `digits` after the point: never larger than it is.

    >>> round_down(.0349, 3), round_down(.034, 3)
    ('0.034', '0.034')
    """
    return f"{math.floor(fraction(x) * 10**digits) / 10**digits:.{digits}f}"


def round_up_to(x: float, figures: int) -> str:
    """An upper bound `x` in print, with so many significant `figures`: never smaller than it is.

    >>> round_up_to(1 / 3, 3), round_up_to(.05, 3), round_up_to(1.21e18, 2)
    ('0.334', '0.05', '1.3e+18')
    """
    return _to(x, figures, ROUND_CEILING)


def round_down_to(x: float, figures: int) -> str:
    """A lower bound `x` in print, with so many significant `figures`: never larger than it is.

    >>> round_down_to(.1 / 3, 3), round_down_to(.05, 3)
    ('0.0333', '0.05')
    """
    return _to(x, figures, ROUND_FLOOR)


def _to(x: float, figures: int, rounding: str) -> str:
    exact = str(x) if isinstance(x, int) else repr(float(x))
    return f"{float(Context(prec=figures, rounding=rounding).create_decimal(exact)):.{figures}g}"


def check_between(name: str, x: float, low: float, high: float) -> float:
    """Check ``low < x < high``, with NaN refused; the same as a Python number.

    >>> check_between("epsilon", 1.5, 0, 1)
    Traceback (most recent call last):
        ...
    replical.errors.ValueOutOfRange: epsilon must be in (0, 1), got 1.5
    """
    x = _plain(name, x)
    if not low < x < high:
        raise ValueOutOfRange(f"{name} must be in ({low:g}, {high:g}), got {_spell(x)}")
    return x


def check_at_least(name: str, x: float, low: float) -> float:
    """Check that `x`, called `name` in the error, is finite and at least `low`, with NaN refused."""
    x = _plain(name, x)
    if not low <= x < math.inf:
        raise ValueOutOfRange(f"{name} must be a finite number of at least {low:g}, got {_spell(x)}")
    return x


def _plain(name: str, x: float) -> float:
    """A Python number from whatever behaves like one; texts and the like are refused."""
    if isinstance(x, bool) or not isinstance(x, numbers.Real | Decimal):
        raise ValueOutOfRange(f"{name} must be a number, got {x!r}")
    if isinstance(x, Decimal) and not x.is_finite():
        return float(x)  # comparisons with a decimal that is no number raise instead of being false
    return x if isinstance(x, int | float | Fraction | Decimal) else float(x)


def _spell(x: Real) -> str:
    """A number for a sentence, however large."""
    try:
        return f"{float(x):g}"
    except OverflowError:
        return f"{Decimal(int(x)):.3g}"


def lower_tail(count: int, trials: int, p: float) -> float:
    """Pr[Bin(trials, p) <= count].

    >>> round(lower_tail(1, 3, 0.5), 10)
    0.5
    """
    from scipy.special import betainc

    if count < 0:
        return 0.0
    return 1.0 if count >= trials else float(betainc(trials - count, count + 1, 1.0 - p))


def upper_tail(count: int, trials: int, p: float) -> float:
    """Pr[Bin(trials, p) >= count].

    >>> round(upper_tail(2, 3, 0.5), 10)
    0.5
    """
    from scipy.special import betainc

    if count <= 0:
        return 1.0
    return 0.0 if count > trials else float(betainc(count, trials - count + 1, p))


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Exact two-sided confidence interval, of this `level`, for a proportion.

    >>> low, high = clopper_pearson(200, 200)
    >>> round(low, 4), high
    (0.9817, 1.0)
    """
    from scipy.special import betaincinv

    if not 0 <= successes <= trials or trials < 1:
        raise ValueOutOfRange(f"an interval needs 0 <= successes <= trials, got {successes} of {trials}")
    tail = (1.0 - level) / 2.0
    failures = trials - successes
    low = 0.0 if successes == 0 else float(betaincinv(successes, failures + 1, tail))
    high = 1.0 if failures == 0 else float(betaincinv(successes + 1, failures, 1.0 - tail))
    return low, high
