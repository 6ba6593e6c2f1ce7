"""A few frozen words of shared randomness: does this machine produce the bits that were published?"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from replical.core.randomness import SharedRandomness

# (seed, name, index) -> word; computed once, independently confirmed by the reference in tests/golden.
GOLDEN: dict[tuple[str, tuple[str | int, ...], int], int] = {
    ("replical", ("order",), 0): 9684725063889002671,
    ("replical", ("order",), 12): 13438428956706015059,
    ("replical", ("order",), 1000000000): 467820595157492640,
    ("", ("threshold",), 0): 6653272879068679612,
    ("Zürich 1", ("centre", 3), 7): 13427286049742941640,
    ("7 / pair 0", ("order",), 99999): 14188488953685935199,
}


def wrong_words() -> list[str]:
    """Descriptions of the golden words this machine gets wrong; empty when all is well."""
    return [
        f"{seed!r} {name!r} [{index}]"
        for (seed, name, index), word in GOLDEN.items()
        if SharedRandomness(seed).word(*name, index=index) != word
    ]


def installed(package: str) -> str | None:
    """The version of a package; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
