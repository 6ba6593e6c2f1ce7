"""Many exchanges in few bytes: how a certificate file holds the rounds of a long run.

A run of 100,000 labels has about as many rounds, most of them alike. Where there are many, a file holds each of their
figures as one text of runs, e.g. ``"200*3 17"`` for 200, 200, 200, 17. It is a way to write: the body that is digested,
signed and checked is the same, and files of before are read as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

MANY = 100  # rounds; fewer are written one by one, for people to read
_MOST = 4_000_000  # rounds that a file may claim: each takes memory here, and none there
_DIGITS = 40  # of a figure, at most
_PLAIN = ("survivors", "drawn", "scanned")
_COLUMNS = ("disagreement", "total", *_PLAIN)


def folded(rounds: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Rounds numbered from 1 as texts of runs.

    Examples
    --------
    >>> one = {"round": 1, "disagreement": [3, 9], "survivors": 2, "drawn": 1, "scanned": 4}
    >>> folded([one, one | {"round": 2, "scanned": 5}])
    {'disagreement': '3*2', 'total': '9*2', 'survivors': '2*2', 'drawn': '1*2', 'scanned': '4 5'}
    """
    columns: dict[str, Iterable[int]] = {
        "disagreement": (each["disagreement"][0] for each in rounds),
        "total": (each["disagreement"][1] for each in rounds),
    }
    columns |= {name: [each[name] for each in rounds] for name in _PLAIN}
    return {name: " ".join(_runs(column)) for name, column in columns.items()}


def _runs(column: Iterable[int]) -> Iterator[str]:
    for value, same in groupby(column):
        times = sum(1 for _ in same)
        yield str(value) if times == 1 else f"{value}*{times}"


def unfolded(texts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rounds that `folded` wrote.

    Raises
    ------
    ValueError
        If they are none, or too many.
    """
    if set(texts) != set(_COLUMNS):
        raise ValueError(f"rounds are {', '.join(_COLUMNS)}")
    columns = [_values(texts[name]) for name in _COLUMNS]
    return [
        {"round": number, "disagreement": [mass, total], "survivors": survivors, "drawn": drawn, "scanned": scanned}
        for number, (mass, total, survivors, drawn, scanned) in enumerate(zip(*columns, strict=True), 1)
    ]


def _values(text: str) -> list[int]:
    values: list[int] = []
    for run in text.split(" "):
        value, _, times = run.partition("*")
        if not (value + (times or "1")).isdecimal() or len(run) > _DIGITS:
            raise ValueError(f"{run[:_DIGITS]!r} is no figure of a round")
        if len(values) + int(times or 1) > _MOST:
            raise ValueError(f"more than {_MOST:,} rounds")
        values += [int(value)] * int(times or 1)
    return values
