"""TOML files, read with one sentence for what is wrong, and values as TOML writes them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replical.core.files import Refuse


def read_toml(path: Path, *, what: str, refuse: Refuse) -> dict[str, Any]:
    """The content of a TOML file; `what` it is and how it is refused if it cannot be read."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise refuse(f"cannot read {what} {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # no text, no TOML, a number of thousands of digits, or a nest
        raise refuse(f"{path} is not a TOML file: {error}") from error


def toml_value(value: Any) -> str:
    """One value; texts are written as JSON writes them, which TOML reads alike.

    Examples
    --------
    >>> print(toml_value({"pairs": 9, "grid": [0.1, 0.2], "a b": True}))
    { pairs = 9, grid = [0.1, 0.2], "a b" = true }
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        if any(isinstance(each, Mapping) for each in value):
            return "[\n" + "".join(f"  {toml_value(each)},\n" for each in value) + "]"
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return repr(value)


def toml_key(key: str) -> str:
    """A key: bare where it may be."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_value(key)


def toml_lines(section: Mapping[str, Any]) -> list[str]:
    """One line for each key."""
    return [f"{toml_key(key)} = {toml_value(value)}" for key, value in section.items()]
