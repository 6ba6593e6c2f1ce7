"""Cuts at quantiles of a public table: what a protocol says of them, and what they lose.

Thresholds on the real line are infinitely many. Cuts at quantiles of public rows are a finite list in their place, and the
best of them errs little more than the best cut of all if the rows are draws from the population of the labs.
Claim: docs/claims/finite.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nextafter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.bounds.finite import quantile_loss, step
from replical.core.canonical import digest_of, is_digest
from replical.core.files import read_bytes
from replical.errors import BadProtocol, BadTable, ValueOutOfRange
from replical.lab.tables import read_features

LEVEL = 0.05  # with what probability, over the public rows, the loss may be larger than stated
KINDS = ("thresholds", "stumps")
_KEYS = {"rows", "bins", "level", "loss", "table"}
_NEAR = 1.5e-6  # losses have six digits; the last may be another machine's


def quantile_cuts(values: NDArray[np.float64], bins: int) -> list[float]:
    """At most `bins` cuts at quantiles of `values`, and one above all of them.

    Every ⌈rows/bins⌉ consecutive values have a cut among them. The last cut stands for the rule that never says the second
    label.

    Examples
    --------
    >>> quantile_cuts(np.array([1.0, 2.0, 2.0, 2.0, 3.0, 9.0]), 3)
    [2.0, 9.0, 11.666666666666666]
    """
    ranked = np.sort(values)
    apart = step(len(ranked), bins)
    at = np.unique(np.append(np.arange(apart - 1, len(ranked), apart), len(ranked) - 1))
    low, high = float(ranked[0]), float(ranked[-1])
    above = high + ((high - low) / bins or 1.0)
    above = above if high < above and isfinite(above) else nextafter(high, float("inf"))
    if not isfinite(above):
        raise BadTable(f"no number is larger than {high}, and the last cut lies above all values")
    return [*np.unique(ranked[at]).tolist(), above]


def quantile_section(kind: str, path: Path, features: Sequence[str], bins: int) -> dict[str, Any]:
    """The class section of a protocol whose cuts are quantiles of the public table at `path`.

    Raises
    ------
    BadTable
        If the table cannot be read, or a value is no finite number.
    ValueOutOfRange
        If `bins` is below 1.
    """
    if bins < 1:
        raise ValueOutOfRange(f"bins must be at least 1, got {bins}")
    ids, X = read_features(path, features)
    about = {
        "rows": len(ids),
        "bins": bins,
        "level": LEVEL,
        "loss": quantile_loss(len(ids), bins, LEVEL),
        "table": digest_of(read_bytes(path, what="the public table", refuse=BadTable)),
    }
    cuts = [quantile_cuts(column, bins) for column in X.T]
    return {"kind": kind, "features": list(features), "cuts": cuts, "quantiles": about}


def check_quantiles(section: Mapping[str, Any]) -> None:
    """What a class section says of its quantiles, if it has any, is what their numbers come to.

    Raises
    ------
    BadProtocol
        If it is not, or anything is missing.
    """
    if "quantiles" not in section:
        return
    about = section["quantiles"]
    if not isinstance(about, Mapping) or set(about) != _KEYS:
        raise BadProtocol(f"quantiles says {', '.join(sorted(_KEYS))} of the public table, got {about!r:.60}")
    counts = [about["rows"], about["bins"]]
    if any(isinstance(each, bool) or not isinstance(each, int) or each < 1 for each in counts):
        raise BadProtocol(f"rows and bins of quantiles must be whole numbers of at least 1, got {counts}")
    for key in ("level", "loss"):
        if not isinstance(about[key], float) or not 0 < about[key] < 2:
            raise BadProtocol(f"{key} of quantiles must be a number above 0, got {about[key]!r:.40}")
    if about["level"] >= 1:
        raise BadProtocol(f"level of quantiles must be between 0 and 1, got {about['level']}")
    if not is_digest(about["table"]):
        raise BadProtocol(f"table of quantiles must be written sha256:<64 hex digits>, got {about['table']!r:.80}")
    cuts = section.get("cuts")
    lines = cuts if isinstance(cuts, list) else []
    if not lines or any(not isinstance(line, list) or len(line) > about["bins"] + 1 for line in lines):
        raise BadProtocol(f"{about['bins']} quantiles make at most {about['bins'] + 1} cuts a feature, listed as cuts")
    loss = quantile_loss(about["rows"], about["bins"], about["level"])
    if abs(loss - about["loss"]) > _NEAR:
        raise BadProtocol(f"the loss of these quantiles is {loss}, and the protocol says {about['loss']}")
