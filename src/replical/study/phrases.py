"""Numbers and lists as people read them: in tables, in sentences, and when they are 10¹⁸."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, log10

from replical.core.exact import down, fraction, up
from replical.core.words import plural

_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_LONG = 1e7  # from here on a power of ten is easier to read than all digits


def count(value: float | None) -> str:
    """How many: with one decimal if there are few, as a power of ten if there are very many.

    Examples
    --------
    >>> count(7.08), count(755841.1), count(1.2e18), count(None)
    ('7.1', '755,841', '1.2 × 10¹⁸', '-')
    """
    if value is None:
        return "-"
    if value >= _LONG:
        power = floor(log10(value))
        digits = f"{value / 10**power:.2g}"
        if digits == "10":
            digits, power = "1", power + 1
        return f"{digits} × 10{str(power).translate(_RAISED)}"
    return f"{value:,.0f}" if value >= 99.95 or float(value).is_integer() else f"{value:.1f}"


def percent(value: float | None) -> str:
    """A share; with one decimal where that says more.

    Examples
    --------
    >>> percent(.5), percent(.985), percent(1 / 3), percent(.0004)
    ('50%', '98.5%', '33.3%', '0.04%')
    """
    if value is None:
        return "-"
    if 0 < value < 0.001:
        return f"{100 * value:.1g}%" if value >= 1e-6 else "below 0.0001%"
    return f"{100 * value:.1f}".removesuffix(".0") + "%"


def at_most(value: float) -> str:
    """A share that is an upper bound: never smaller than it is.

    Examples
    --------
    >>> at_most(.08), at_most(.0801)
    ('8%', '8.1%')
    """
    return up(100 * fraction(value), 1).removesuffix(".0") + "%"


def at_least(value: float) -> str:
    """A share that is a lower bound: never larger than it is.

    Examples
    --------
    >>> at_least(.08), at_least(.0809)
    ('8%', '8%')
    """
    return down(100 * fraction(value), 1).removesuffix(".0") + "%"


def number(value: float | None) -> str:
    """A number of no special kind.

    Examples
    --------
    >>> number(2.0), number(1.6437), number(347.2), number(12345.6), number(.0000123)
    ('2', '1.6', '347', '12,346', '1.2e-05')
    """
    if value is None:
        return "-"
    if value >= _LONG:
        return count(value)
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def span(values: Sequence[float], form: Callable[[float], str] = number) -> str:
    """From the smallest to the largest.

    Examples
    --------
    >>> span([2.72, 1.61, 2]), span([1.61, 1.62])
    ('1.6 to 2.7', '1.6')
    """
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"


def some(many: float, one: str, more: str | None = None) -> str:
    """A number of things.

    Examples
    --------
    >>> some(1, "cell"), some(3, "cell"), some(2, "was", "were")
    ('1 cell', '3 cells', '2 were')
    """
    return f"{count(many)} {plural(many, one, more)}"


def listed(texts: Sequence[str], most: int = 3) -> str:
    """The first few of them, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"]), listed(["a, b", "c", "d"])
    ('a and b', 'a, b, c and 2 more', 'a, b; c and d')
    """
    between = "; " if any("," in text for text in texts) else ", "
    if len(texts) > most + 1:
        return f"{between.join(texts[:most])} and {len(texts) - most} more"
    return " and ".join(filter(None, (between.join(texts[:-1]), texts[-1]))) if texts else ""
