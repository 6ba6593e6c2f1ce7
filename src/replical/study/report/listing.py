"""A study as the text of a file that can be run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replical.core.toml import toml_lines


def toml(content: Mapping[str, Any]) -> str:
    """A study as a file that can be run again.

    Examples
    --------
    >>> print(toml({"name": "small", "stop": {"pairs": 9}, "grid": [{"rho": [.1, .2]}]}))
    name = "small"
    stop = { pairs = 9 }
    <BLANKLINE>
    [[grid]]
    rho = [0.1, 0.2]
    """
    grids = content.get("grid", [])
    blocks = [toml_lines({key: value for key, value in content.items() if key != "grid"})]
    blocks += [["[[grid]]", *toml_lines(grid)] for grid in grids]
    return "\n\n".join("\n".join(block) for block in blocks)
