"""What one row of a study means: which promise it has, whether the data keep it, what to beware of; numbers in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10

from replical.classes.catalogue import known_theta
from replical.core.exact import clopper_pearson, upper_tail
from replical.core.text import plural
from replical.learners.catalogue import LEARNERS, find
from replical.learners.parameters import OPTIONS
from replical.study.results import Row

_BY_HAND = ("k_loop", "k_final", "strings", "runs")
_SAME_WORLD = ("class", "noise", "epsilon", "delta", "pool_size", "batch")

WITHIN, OPEN, BELOW = "within", "compatible", "below"


@dataclass(frozen=True)
class Mark:
    """Something a reader must know before using a row: a symbol and words, so that no colour is needed."""

    kind: str
    symbol: str
    text: str


def sort_rows(rows: Iterable[Row]) -> list[Row]:
    """Cells of one world beside each other, learners in the library's order."""

    def key(row: Row) -> tuple[object, ...]:
        place = [part for name in ("class", "noise", "pool_size") for part in _natural(str(row[name]))]
        learner = list(LEARNERS).index(row["learner"])
        return place, -row["epsilon"], row["delta"], learner, row["plan"], row["rho"] or 0, row["cell"]

    return sorted(rows, key=key)


def _natural(text: str) -> list[tuple[int, str]]:
    """Numbers by their size, before words."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"([0-9]+)", text)]


def finished_rows(rows: Iterable[Row]) -> list[Row]:
    """Those that were run, in order."""
    return sort_rows(row for row in rows if row["status"] == "done")


def replicable_rows(rows: Iterable[Row]) -> list[Row]:
    """Those that were run with a learner that promises replicability, in order."""
    return [row for row in finished_rows(rows) if row["replicable"]]


def certifies(row: Row) -> bool:
    """Does its learner prove what it promises, run by run?"""
    return find(row["learner"]).certifies


def verdict(row: Row) -> str | None:
    """Where the 95% interval of agreement lies: within the promise 1-ρ, around its border, below it; None: no promise."""
    if row["status"] != "done" or not row["replicable"] or row["rho"] is None:
        return None
    if row["disagreement_high"] <= row["rho"]:
        return WITHIN
    return BELOW if row["disagreement_low"] > row["rho"] else OPEN


def lacks_pairs(row: Row) -> bool:
    """Are the pairs so few that the promise would not be confirmed if all of them agreed?"""
    return bool(1 - clopper_pearson(row["pairs"], row["pairs"])[0] > row["rho"])


def missing_proof(row: Row) -> str:
    """Why the promise is not proven for this row; empty if it is, or if there is none."""
    if row["status"] != "done" or not row["replicable"]:
        return ""
    if has_own_sizes(row):
        return "sizes set by hand"
    rate = float(row["noise"])
    record = find(row["learner"])
    if rate != 0 and (record.setting == "realizable" or (record.infers and row["nu"] == 0)):
        return "its proof allows no noise"
    if row["nu"] is not None and row["nu"] < rate:
        return "more noise than its ν"
    if row["theta"] is not None and row["theta"] < (known_theta(row["class"]) or 0):
        return "a larger Θ than it was told"
    if row["certified_fraction"] is not None:
        labs = 2 * row["pairs"]
        missing = round((1 - row["certified_fraction"]) * labs)
        return f"{count(missing)} of {amount(labs, 'lab')}" if missing else ""
    return "cut short" if row["cap_reached"] else ""


def has_own_sizes(row: Row) -> bool:
    """Are sizes set by hand in place of the proof's?"""
    return any(row[name] is not None for name in _BY_HAND)


def error_chance(row: Row) -> float | None:
    """How likely so many labs with an error above ε are if each has one with probability δ; None if there are fewer.

    The exact binomial tail, with all labs taken as independent.
    """
    over, labs = row["excess_over_epsilon"] or 0, 2 * row["pairs"]
    return upper_tail(over, labs, row["delta"]) if over > row["delta"] * labs else None


def marks(row: Row) -> list[Mark]:
    """What to beware of in this row, beside its verdict."""
    warnings, labs = [], 2 * row["pairs"]
    if (chance := error_chance(row)) is not None:
        text = f"errors above ε: {count(row['excess_over_epsilon'])} of {amount(labs, 'lab')}, p = {chance:.2g}"
        warnings.append(Mark("bad" if chance < 0.05 else "soft", "!", text))
    if row["vacuous"]:
        warnings.append(Mark("soft", "∅", "vacuous"))
    if why := missing_proof(row):
        warnings.append(Mark("warn", "?", f"uncertified: {why}"))
    if row["max_labels"] is not None and (row["labels_max"] or 0) >= row["max_labels"]:
        warnings.append(Mark("warn", "■", "budget reached"))
    elif row["certified_fraction"] is None and row["cap_reached"]:
        warnings.append(Mark("warn", "■", f"cut short: {count(row['cap_reached'])} of {amount(labs, 'lab')}"))
    return warnings


def cell_name(row: Row) -> str:
    """Which cell this is, in a few words."""
    parts = [f"ε {row['epsilon']:g}"]
    parts += [f"ρ {row['rho']:g}"] if row["rho"] is not None else []
    parts += [f"pool {row['pool_size']}"]
    parts += [f"noise {row['noise']}"] if float(row["noise"]) else []
    parts += [f"plan {row['plan']}"] if row["plan"] != "tight" else []
    parts += options(row)
    return f"{row['learner']} on {row['class']} ({', '.join(parts)})"


def options(row: Row) -> list[str]:
    """The parameters that only some learners know."""
    return [f"{name} {_plain(row[name])}" for name in OPTIONS if row[name] is not None]


def _plain(value: object) -> str:
    """Sizes with all their digits, also where they come as doubles."""
    if not isinstance(value, int | float):
        return str(value)
    return count(value) if float(value).is_integer() else f"{value:g}"


def parents(rows: Iterable[Row]) -> dict[str, Row]:
    """For each replicable cell the cell of its parent in the same world, where the study has one; by cell id.

    Of several, one with the same plan and told the same coefficient, as far as there is one.
    """
    ran = finished_rows(rows)
    known: dict[tuple[object, ...], Row] = {}
    for row in ran:
        plain = row["max_labels"] is None and not has_own_sizes(row)
        if plain or row["replicable"]:
            for place in _places(row):
                known.setdefault((row["learner"], row["rho"], *place), row)
    matches = {}
    for row in ran:
        record = find(row["learner"])
        parent, rho = record.parent, row["rho"] if record.boosts else None
        match = next((known[parent, rho, *place] for place in _places(row) if (parent, rho, *place) in known), None)
        if match is not None:
            matches[row["cell"]] = match
    return matches


def _places(row: Row) -> list[tuple[object, ...]]:
    """Where to look for a cell's parent, the closest first."""
    place = tuple(row[name] for name in _SAME_WORLD)
    theta, plan = ("theta", row["theta"]), ("plan", row["plan"])
    return [(*place, theta, plan), (*place, theta), (*place, plan), place]


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


def amount(many: float, one: str, more: str | None = None) -> str:
    """A number of things.

    Examples
    --------
    >>> amount(1, "cell"), amount(3, "cell"), amount(2, "was", "were")
    ('1 cell', '3 cells', '2 were')
    """
    return f"{count(many)} {plural(many, one, more)}"


def list_few(texts: Sequence[str], most: int = 3) -> str:
    """The first few of them, and how many more there are.

    Examples
    --------
    >>> list_few(["a", "b"]), list_few(["a", "b", "c", "d", "e"]), list_few(["a, b", "c", "d"])
    ('a and b', 'a, b, c and 2 more', 'a, b; c and d')
    """
    between = "; " if any("," in text for text in texts) else ", "
    if len(texts) > most + 1:
        return f"{between.join(texts[:most])} and {len(texts) - most} more"
    return " and ".join(filter(None, (between.join(texts[:-1]), texts[-1]))) if texts else ""
