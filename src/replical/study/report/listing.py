"""A study as the text of a file that can be run again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


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
    blocks = [[f"{_key(key)} = {_value(value)}" for key, value in content.items() if key != "grid"]]
    blocks += [["[[grid]]", *(f"{_key(key)} = {_value(value)}" for key, value in grid.items())] for grid in grids]
    return "\n\n".join("\n".join(block) for block in blocks)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(name)} = {_value(each)}' for name, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else str(value)
