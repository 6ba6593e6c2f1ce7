"""All that a run of Settled remembers, as arrays that can be kept and put back.

Only the entries of heads are kept: nobody looks at others. What is put back is looked at first, because it comes from a
file; that it is what the run itself would have come to is for a replay to show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.learners.memory import Kept, Memory, like
from replical.learners.settling.groups import Everyone
from replical.learners.settling.known import Known
from replical.learners.settling.purses import Charges, Purses
from replical.learners.settling.tally import Tally
from replical.pools.scan import Blocks


@dataclass(frozen=True, kw_only=True, eq=False)
class Books:
    """Whatever changes in a run, by place in the shared order."""

    tally: Tally
    is_open: NDArray[np.bool_]
    settled_at: NDArray[np.int64]
    purses: Purses
    charges: Charges
    groups: Everyone
    known: Known
    blocks: Blocks

    def kept(self, m: int, o: int, asked: int, share: float, place: tuple[int, int] | None) -> Kept | None:
        """Everything, when the favourite is `m`, the opponent `o` and the scan at `place`; None where it cannot go back."""
        if place is None:
            return None
        heads = self.groups.heads
        counts = {"m": m, "o": o, "asked": asked, "t": self.tally.t, "at": place[0], "unlabelled": place[1]}
        told: dict[str, NDArray[Any]] = {name: np.array(count, dtype=np.int64) for name, count in counts.items()}
        told |= {
            "share": np.array(share),
            "heads": heads,
            "favourites": np.array(list(self.purses.best), dtype=np.int64),
        }
        told |= {name: array[..., heads] for name, array in self._arrays().items()}
        return {**told, **self.groups.kept(), **self.known.kept()}

    def opened(self, memory: Memory) -> tuple[int, int, int, float]:
        """Take over what was kept, if anything; favourite, opponent, labels asked and the share of disputed items.

        Raises
        ------
        ValueError
            If it is none of this learner's on this pool.
        """
        if memory.kept is None:
            return 0, 0, 0, 1.0
        try:
            return self._put_back(memory.kept)
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(f"not what a run keeps: {error}") from error

    def _put_back(self, kept: Kept) -> tuple[int, int, int, float]:
        n = len(self.is_open)
        m, o, asked, t, at, unlabelled = (
            int(like(kept[name], (), np.int64)) for name in ("m", "o", "asked", "t", "at", "unlabelled")
        )
        self.groups.put_back(kept)
        heads, favourites = self.groups.heads, kept["favourites"]
        like(kept["heads"], heads.shape, np.int64)
        for place in like(favourites, favourites.shape, np.int64).tolist():
            if not 0 <= place < n:
                raise ValueError(f"place {place} of {n}")
            self.purses.begin(place)
        if not (np.array_equal(kept["heads"], heads) and np.isin([m, o], heads).all()):
            raise ValueError("favourite and opponent are no heads")
        if min(asked, t, unlabelled) < 0:
            raise ValueError("a negative count")
        for name, array in self._arrays().items():
            array[..., heads] = like(kept[name], array[..., heads].shape, array.dtype)
        self.tally.t = t
        self.blocks.go_to((at, unlabelled))
        self.known.put_back(kept)
        return m, o, asked, float(like(kept["share"], (), np.float64))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Whatever is remembered of each candidate."""
        arrays: dict[str, NDArray[Any]] = {"E": self.tally.E, "open": self.is_open, "settled_at": self.settled_at}
        arrays |= {f"purses {number}": array for number, array in enumerate(self.purses.arrays())}
        return arrays | {f"charges {number}": array for number, array in enumerate(self.charges.arrays())}
