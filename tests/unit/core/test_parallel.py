"""Work on several processes: in order, and nobody is left behind."""

from __future__ import annotations

import os
import threading
import time

import pytest

from replical.core.parallel import in_processes


def who(number: int) -> tuple[int, int]:
    return number, os.getpid()


def slow_after_two(number: int) -> int:
    if number >= 2:
        time.sleep(60)
    return os.getpid()


def refused(number: int) -> int:
    raise ValueError(f"not {number}")


def gone(pids: set[int]) -> bool:
    for pid in pids:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        return False
    return True


def test_pieces_come_in_order_from_other_processes():
    found = list(in_processes(who, 100, 2))
    assert [number for number, _ in found] == list(range(100))
    pids = {pid for _, pid in found}
    assert os.getpid() not in pids
    assert gone(pids)


def test_nobody_waits_for_work_that_is_not_wanted_any_more():
    threads, started = threading.active_count(), time.perf_counter()
    pieces = in_processes(slow_after_two, 8, 2)
    pids = {next(pieces), next(pieces)}
    pieces.close()
    assert time.perf_counter() - started < 30
    assert gone(pids)
    assert threading.active_count() == threads


def test_after_a_failure_no_thread_is_left_to_trip_over():
    """Python 3.11 prints an error if it ends while the threads of an executor do."""
    threads = threading.active_count()
    with pytest.raises(ValueError, match="not 0"):
        next(in_processes(refused, 8, 2))
    assert threading.active_count() == threads
