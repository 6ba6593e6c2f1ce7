"""How much work and memory a certificate may ask of whoever checks it: its protocol names a class of any size.

Checking works in blocks, so that memory does not grow with the class; time does, and what is measured on items does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replical.core.limits import REMEDY, trusted
from replical.errors import BadUsage, ReplicalError
from replical.lab.protocol import Protocol

_ALONE = 2**27  # hypotheses whose place in the shared order is looked up: a few seconds
_MEASURED = 2**24  # hypotheses that are held, each with its distance: about 2 GiB
_HELD = 2**22  # numbers that a class has to hold: cuts, or the normals of a net


def check_asked(body: Any, *, deeply: bool = False) -> None:
    """Refuse a `body` whose protocol asks for too much; where a pool is given too, distances are counted `deeply`.

    Raises
    ------
    BadUsage
        In one sentence, unless sizes are trusted. Whatever else is wrong is for others to find.
    """
    protocol = body.get("protocol") if isinstance(body, Mapping) else None
    if trusted() or not isinstance(protocol, Mapping) or not isinstance(protocol.get("class"), Mapping):
        return
    if (held := _held(protocol["class"])) > _HELD:
        raise _too_much(f"a class of {held:,} numbers", _HELD)
    try:
        n = len(Protocol(protocol).recipe.C)
    except (ReplicalError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return
    most = _MEASURED if deeply or "yardstick" in protocol else _ALONE
    if n > most:
        raise _too_much(f"{n:,} hypotheses", most)


def _held(section: Mapping[str, Any]) -> int:
    """Numbers that the class holds, at most: bins of every feature, or a net's normals and offsets."""
    features = section.get("features")
    width = len(features) if isinstance(features, list) else 1
    count, bins = (value if isinstance(value := section.get(key), int) else 0 for key in ("count", "bins"))
    listed = section.get("kind") in ("thresholds", "stumps")
    return (width + 1) * count if section.get("kind") == "halfspaces" else width * bins * listed


def _too_much(what: str, most: int) -> BadUsage:
    return BadUsage(f"the certificate asks for {what}, more than the {most:,} that are checked at once: {REMEDY}")
