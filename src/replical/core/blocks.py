"""Long work cut into blocks, so that what is held at a time stays small."""

from __future__ import annotations

from collections.abc import Iterator


def blocks(count: int, width: int, most: int) -> Iterator[slice]:
    """Stretches of ``range(count)``, one row at least, so short that rows of `width` values hold no more than `most`.

    Examples
    --------
    >>> [(block.start, block.stop) for block in blocks(5, 3, 8)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(1, most // max(1, width))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
