"""How pages look, whether people label at them, read them or print them: one place for colours, fonts and frames."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

LOOK, READING = "look.css", "reading.css"  # of every page, and of those that are one file to read


def style(*sheets: str) -> str:
    """The shared sheets of these names, one after the other.

    Examples
    --------
    >>> "--key" in style(LOOK), style(LOOK, READING).count(":root") == style(LOOK).count(":root")
    (True, True)
    """
    folder = files("replical.core").joinpath("assets")
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8").strip() for name in sheets)


def hash_of(text: str) -> str:
    """The hash of a style or a script, as a content security policy writes it.

    Examples
    --------
    >>> hash_of("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
