"""Losses other than errors: what flags say of them, and what people are told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replical.classes.base import Label
from replical.cli.output import number
from replical.errors import BadProtocol
from replical.lab.protocol import Protocol


def labels_section(
    values: tuple[Label, ...], weights: str | None, abstain: str | None, price: float | None
) -> dict[str, Any]:
    """The section of a protocol about labels; what is wrong with its numbers is said by whoever reads it."""
    section: dict[str, Any] = {"values": list(values)}
    if weights is not None:
        section["weights"] = _weights(weights)
    if abstain is not None:
        whole = all(isinstance(value, int) for value in values) and abstain.lstrip("-").isdigit()
        section["abstain"] = int(abstain) if whole else abstain
    return section | ({} if price is None else {"price": price})


def _weights(text: str) -> dict[str, float]:
    found = {}
    for word in text.split(","):
        name, equals, weight = word.strip().rpartition("=")
        if not equals or not name:
            raise BadProtocol(f"--weights gives every label its weight, e.g. no=1,yes=5; got {text!r}")
        if name in found:
            raise BadProtocol(f"--weights gives the label {name!r} two weights")
        found[name] = number(weight)
    return found


def loss_words(protocol: Protocol) -> Iterator[str]:
    """What a protocol counts instead of errors."""
    losses = protocol.recipe.losses
    if losses is None:
        return
    costs = [max(row[: losses.labels]) / losses.unit for row in losses.costs]
    by_label = ", ".join(f"{label} {cost:.4g}" for label, cost in zip(protocol.labels, costs, strict=True))
    price = f"; to abstain costs {losses.costs[0][-1] / losses.unit:.4g}" if losses.abstains else ""
    yield f"Losses instead of errors, in costliest errors: a wrong answer costs, by true label, {by_label}{price}."
