"""What people are told in sentences: how often an answer errs, what is proven, why not and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replical.core.exact import round_up
from replical.lab.protocol import Protocol
from replical.learners.proof import broken_conditions, family_of
from replical.learners.result import Result


def detail_words(result: Result, protocol: Protocol) -> Iterator[str]:
    """What else a run can tell."""
    family = family_of(protocol.record)
    yield from family.detail_words(result, protocol)
    for each in broken_conditions(result, told=family.told):
        yield f"Not held: {each}."


def loss_words(protocol: Protocol) -> Iterator[str]:
    """What a protocol counts instead of errors."""
    if (losses := protocol.recipe.losses) is not None:
        yield losses.words(protocol.content["labels"].get("values", ()))


def cut_words(section: Mapping[str, Any]) -> Iterator[str]:
    """What the cuts of a class section lose: nothing is said where they stand for nothing larger."""
    if "quantiles" not in section:
        return
    about, names = section["quantiles"], section["features"]
    of = names[0] if len(names) == 1 else f"{len(names)} features"
    yield (
        f"Cuts at {about['bins']:,} quantiles of {of} in {about['rows']:,} public rows: the best of them errs at most "
        f"{round_up(about['loss'], 4)} more than the best on the whole line, except with probability {about['level']:g}, if "
        "these rows are draws from the population of the labs. Keep them out of every pool."
    )
