"""Comparing certificates: do several labs have one answer to one protocol, and did they sample one population?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replical.lab.certificate.verify import index_of

_SUSPICIOUS = 0.001  # two pools of one population look this different once in a thousand comparisons


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How several certificates relate.

    Attributes
    ----------
    first_difference
        The first difference that matters, in words; None where there is none.
    same_distribution_p
        How often pools of one population look at least this different; None where protocols differ.
    """

    identical: bool
    same_protocol: bool
    same_index: bool
    same_distribution_p: float | None
    first_difference: str | None
    warning: str | None


def compare(certificates: Sequence[Mapping[str, Any]]) -> Comparison:
    """Do these labs have one answer to one protocol?"""
    bodies = [certificate["body"] for certificate in certificates]
    protocols = [body["protocol_fingerprint"] for body in bodies]
    indices = [index_of(body) for body in bodies]
    same_protocol, same_index = len(set(protocols)) == 1, len(set(indices)) == 1
    p = _same_distribution(bodies) if same_protocol else None
    warning = None
    if p is not None and p < _SUSPICIOUS:
        warning = (
            f"the pools look as if they came from different distributions (p = {p:.2g}): the promise is about labs that "
            "sample one population"
        )
    identical = same_protocol and same_index and indices[0] is not None
    return Comparison(
        identical=identical,
        same_protocol=same_protocol,
        same_index=same_index,
        same_distribution_p=p,
        first_difference=None if identical else _difference(bodies, protocols, indices),
        warning=warning,
    )


def _difference(bodies: Sequence[Any], protocols: list[str], indices: list[int | None]) -> str:
    for number, body in enumerate(bodies):
        if protocols[number] != protocols[0]:
            keys = [key for key in bodies[0]["protocol"] if bodies[0]["protocol"].get(key) != body["protocol"].get(key)]
            where = ", ".join(keys) or "keys"
            return f"certificate {number + 1} follows another protocol than the first: they differ in {where}"
    for number, index in enumerate(indices):
        if index is None:
            return f"certificate {number + 1} has no answer: no heavy hitter was found"
        if index != indices[0]:
            one, two = (bodies[each]["hypothesis"]["description"] for each in (0, number))
            first = f"the first {one!r} (hypothesis {indices[0]})"
            return f"certificate {number + 1} chose {two!r} (hypothesis {index}), {first}"
    return "nothing that matters"


def _same_distribution(bodies: Sequence[Any]) -> float:
    """Chi-square tests of the label-free summaries, one a summarised hypothesis, corrected for their number."""
    from scipy.special import chdtrc

    smallest = 1.0
    tables = [[each["predicts"] for each in body["pool"]["summary"]] for body in bodies]
    for counts in zip(*tables, strict=True):
        table = np.array(counts, dtype=np.float64)
        table = table[:, table.sum(axis=0) > 0]
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
        freedom = (len(table) - 1) * (table.shape[1] - 1)
        if freedom:
            smallest = min(smallest, float(chdtrc(freedom, ((table - expected) ** 2 / expected).sum())))
    return min(1.0, smallest * len(tables[0]))
