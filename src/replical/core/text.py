"""Numbers in sentences: one label and two labels, shares that are small but not nothing; and the style of every page.

Texts of others are made harmless here, for a terminal (`visible`) and for spreadsheets (`escape_formula`).

Pages that people label at, read or print share their colours, fonts and frames: the sheets in ``assets``.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import pairwise

from replical.core.exact import Real, fraction, round_down, round_up, round_up_to

COMMON, READING = "common.css", "reading.css"  # of every page, and of those that are one file to read


def plural(many: float, one: str, more: str | None = None) -> str:
    """The word that fits so `many`: `one`, or `more`, which is `one` with an s if left out.

    >>> plural(1, "label"), plural(2, "label"), plural(0, "is", "are")
    ('label', 'labels', 'are')
    """
    return one if many == 1 else f"{one}s" if more is None else more


def count(many: int, one: str, more: str | None = None) -> str:
    """So `many` things, in words that fit one of them too.

    >>> count(1, "label"), count(1200, "label"), count(2, "hypothesis", "hypotheses")
    ('1 label', '1,200 labels', '2 hypotheses')
    """
    return f"{many:,} {plural(many, one, more)}"


def two_of(labs: int) -> str:
    """A pair among so many `labs`.

    >>> two_of(2), two_of(5)
    ('two labs', 'two of 5 labs')
    """
    return "two labs" if labs == 2 else f"two of {labs} labs"


def about(share: float, digits: int = 3) -> str:
    """An estimate: 0 only if it is 0.

    >>> about(.0341), about(.1), about(.0002), about(0)
    ('0.034', '0.1', '< 0.001', '0')
    """
    text = _short(f"{share:.{digits}f}")
    return f"< {10**-digits:.{digits}f}" if text == "0" and share > 0 else text


def at_most(share: Real, digits: int = 3) -> str:
    """An upper bound: never smaller than it is, without zeros that say nothing.

    >>> at_most(.0341), at_most(.1), at_most(.0002), at_most(0)
    ('0.035', '0.1', '0.001', '0')
    """
    return _short(round_up(share, digits))


def at_least(share: Real, digits: int = 3) -> str:
    """A lower bound: never larger than it is.

    >>> at_least(.0349), at_least(.9), at_least(.0002)
    ('0.034', '0.9', '0')
    """
    return _short(round_down(share, digits))


def confidence(level: Real) -> str:
    """How sure something is that fails at this `level` at most.

    >>> confidence(.05), confidence(.1), confidence(1 / 30)
    ('95%', '90%', '96.6%')
    """
    return f"{at_least(100 * (1 - fraction(level)), 1)}%"


def percent(share: float) -> str:
    """An estimate in percent: nobody is sure of none, or of all.

    >>> percent(.973), percent(.9999), percent(.005)
    ('97%', '> 99%', '< 1%')
    """
    near = f"{100 * share:.0f}%"
    return {"0%": "< 1%", "100%": "> 99%"}.get(near, near)


def two_figures(value: float) -> int:
    """An estimate of a count, to two figures: more would pretend to know.

    >>> two_figures(351), two_figures(7.6)
    (350, 7)
    """
    return int(float(f"{value:.2g}"))


JOINERS = "\u200c\u200d"  # Persian and Hindi are written with them, and they neither move nor hide anything


def visible(text: str) -> str:
    r"""A text that somebody else may have written, for a terminal: what would move, hide or colour others is spelled out.

    These are control characters (escapes begin with one), marks of direction, and letters of no width.

    >>> print(visible("red\x1b[31m, \u202eback, yes\u200b"))
    red\x1b[31m, \u202eback, yes\u200b
    """
    if text.isprintable():
        return text
    return "".join(each if _harmless(each) else each.encode("unicode_escape").decode() for each in text)


def _harmless(letter: str) -> bool:
    return letter.isprintable() or letter in "\n\t" or letter in JOINERS or unicodedata.category(letter) == "Zs"


def is_seen(name: str) -> bool:
    r"""Is this one line of letters that are all seen, as names are? Joiners may stand in scripts without capitals.

    >>> is_seen("St. Mary"), is_seen("a\u202eb"), is_seen("a\nb"), is_seen("a\u200cb"), is_seen("ن\u200cه")
    (True, False, False, False, True)
    """
    joined = (
        before.isalpha() and before.lower() == before.upper() for before, each in pairwise(name) if each in JOINERS
    )
    plain = name.isprintable() or (visible(name) == name and not set(name) & set("\n\t"))
    return plain and name[:1] not in (*JOINERS,) and all(joined)


_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run a cell that begins so
_NUMBER = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?")


def escape_formula(text: str) -> str:
    """A cell of a CSV file, with an apostrophe before it where a spreadsheet would run it.

    >>> escape_formula("=1+2"), escape_formula("yes")
    ("'=1+2", 'yes')
    """
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA) else text


def unescape_formula(text: str) -> str:
    """Without the apostrophe that made it harmless."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(_FORMULA) else text


def exported(cells: Iterable[object]) -> list[str]:
    """A row of an export, None as nothing; numbers stay as they are, whatever their sign.

    >>> exported([1, None, "=1+2", "-1"])
    ['1', '', "'=1+2", '-1']
    """
    texts = ("" if each is None else str(each) for each in cells)
    return [text if _NUMBER.fullmatch(text) else escape_formula(text) for text in texts]


def stylesheet(*sheets: str) -> str:
    """The shared sheets of these names, one after the other.

    >>> "--key" in stylesheet(COMMON), stylesheet(COMMON, READING).count(":root") == stylesheet(COMMON).count(":root")
    (True, True)
    """
    folder = files("replical.core").joinpath("assets")
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8").strip() for name in sheets)


def policy_hash(text: str) -> str:
    """The hash of a style or a script, as a content security policy writes it.

    >>> policy_hash("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _short(number: str) -> str:
    """Without zeros at the end."""
    return number.rstrip("0").rstrip(".") if "." in number else number


def listing(names: Sequence[str], total: int) -> str:
    """Some names of so many.

    Examples
    --------
    >>> listing(["a", "b"], 2), listing(["a", "b"], 7)
    ('a, b', 'a, b and 5 more')
    """
    more = total - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")


def interval(low: float, high: float, digits: int = 1) -> str:
    """A confidence interval in percent, never narrower than it is."""
    return f"{round_down(100 * fraction(low), digits)}% to {round_up(100 * fraction(high), digits)}%"


def amount(x: float) -> str:
    """A count of labels a person can read at a glance."""
    return f"{x:,.0f}" if x == int(x) and x < 1e9 else f"{x:,.1f}" if x < 1e6 else round_up_to(x, 3)
