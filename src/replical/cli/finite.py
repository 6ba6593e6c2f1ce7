"""What a finite list loses against the infinite class it stands for, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replical.bounds.finite import net_reach, net_size
from replical.core.exact import up, up_to


def losses_of(section: Mapping[str, Any], epsilon: float, delta: float) -> Iterator[str]:
    """What the list of a class section loses: nothing is said where it stands for nothing larger."""
    if "quantiles" in section:
        yield _cuts(section)
    if section.get("kind") == "halfspaces":
        yield from net_words(len(section["features"]), section["count"], epsilon, delta)


def net_words(dimensions: int, count: int, epsilon: float, delta: float) -> Iterator[str]:
    """How near a net of half-spaces comes to those it stands for, if features are like standard normal ones."""
    if dimensions < 2:
        return
    needed, eta = net_size(dimensions, min(epsilon, 0.49), delta), net_reach(dimensions, count, delta)
    net = f"A net of {count:,} half-spaces in {dimensions} dimensions"
    near = f"{up(eta, 3)} of the best half-space, except with probability {delta:g}"
    enough = "" if count >= needed else f"; for {epsilon:g} it takes about {_about(needed)}"
    yield f"{net} comes within {near}{enough} (for normal features)."
    if count < needed:
        yield "ReplicableLinear chooses a half-space without a list."


def _about(count: int) -> str:
    return f"{int(float(up_to(count, 2))):,}" if count < 10**7 else up_to(count, 2)


def _cuts(section: Mapping[str, Any]) -> str:
    about, names = section["quantiles"], section["features"]
    of = names[0] if len(names) == 1 else f"{len(names)} features"
    return (
        f"Cuts at {about['bins']:,} quantiles of {of} in {about['rows']:,} public rows: the best of them errs at most "
        f"{up(about['loss'], 4)} more than the best on the whole line, except with probability {about['level']:g}, if "
        "these rows are draws from the population of the labs. Keep them out of every pool."
    )
