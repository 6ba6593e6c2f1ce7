"""What a cluster would do, computed event by event: one driver hands out pieces, workers compute, answers come back.

The driver does one thing at a time, its link carries one message at a time in each direction, and a worker computes one
piece at a time and has the next one waiting. Nothing else is in it: no failures, no other users, no slow machines beyond
what the seconds of the pieces say.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

_AHEAD = 2  # pieces a worker has, the one it works on included


@dataclass(frozen=True, kw_only=True)
class Network:
    """Between the driver and everyone else: bytes a second, and seconds until the first of them arrives."""

    bytes_a_second: float = float("inf")
    latency: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Driver:
    """Seconds the driver spends on handing out a piece and on hearing its answer, and on every byte of both."""

    hand_out: float = 0.0
    hear: float = 0.0
    a_byte: float = 0.0


@dataclass(frozen=True)
class Piece:
    """Work of some `seconds`, the bytes of the question and of the answer."""

    seconds: float
    question: float = 0.0
    answer: float = 0.0


NOWHERE = Network()
AT_ONCE = Driver()


def seconds(pieces: Sequence[Piece], workers: int, network: Network = NOWHERE, driver: Driver = AT_ONCE) -> float:
    """When the driver has heard every answer.

    Parameters
    ----------
    pieces
        In the order in which they are handed out.
    workers
        How many; all are there from the beginning.
    network, driver
        What messages cost.

    Examples
    --------
    >>> seconds([Piece(3.0), Piece(1.0), Piece(1.0)], 2)
    3.0
    """
    busy, links, free = 0.0, [0.0, 0.0], [0.0] * workers  # until when: the driver, its link out and in, each worker
    order, events, waiting = count(), list[tuple[float, int, bool, Piece]](), iter(pieces)
    soonest = [(0.0, worker) for worker in range(workers)]
    end = 0.0

    def hand_out(now: float) -> None:
        nonlocal busy
        piece = next(waiting, None)
        if piece is None:
            return
        busy = max(busy, now) + driver.hand_out + driver.a_byte * piece.question
        links[0] = max(links[0], busy) + piece.question / network.bytes_a_second
        worker = heapq.heappop(soonest)[1]
        free[worker] = max(links[0] + network.latency, free[worker]) + piece.seconds
        heapq.heappush(soonest, (free[worker], worker))
        heapq.heappush(events, (free[worker], next(order), False, piece))

    for _ in range(_AHEAD * workers):
        hand_out(0.0)
    while events:
        now, _, heard, piece = heapq.heappop(events)
        if not heard:
            links[1] = max(links[1], now) + piece.answer / network.bytes_a_second
            heapq.heappush(events, (links[1] + network.latency, next(order), True, piece))
            continue
        end = busy = max(busy, now) + driver.hear + driver.a_byte * piece.answer
        hand_out(busy)
    return end


def dealt(pairs: int, pair_seconds: float, workers: int, piece_seconds: float = 1.0, most: int = 50) -> list[int]:
    """Pairs of each piece of an audit: one for each worker to begin with, then about a second's, fewer towards the end."""
    sizes = [1] * min(pairs, _AHEAD * workers)
    left = pairs - len(sizes)
    while left:
        sizes.append(max(1, min(most, round(piece_seconds / pair_seconds), left // (2 * workers))))
        left -= sizes[-1]
    return sizes
