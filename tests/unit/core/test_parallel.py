"""Units of work on processes of this machine and on workers that fail: in order, and nobody is left behind."""

from __future__ import annotations

import os
import pickle
import threading
import time
from concurrent.futures import BrokenExecutor, Future

import pytest

from replical.core.parallel import Workers, local, ordered_map
from replical.errors import ValueOutOfRange, WorkerLost


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


def test_answers_come_in_order_from_other_processes():
    found = list(ordered_map(who, range(100), 2))
    assert [number for number, _ in found] == list(range(100))
    pids = {pid for _, pid in found}
    assert os.getpid() not in pids
    assert gone(pids)


def test_nobody_waits_for_work_that_is_not_wanted_any_more():
    threads, started = threading.active_count(), time.perf_counter()
    answers = ordered_map(slow_after_two, range(8), 2)
    pids = {next(answers), next(answers)}
    answers.close()
    assert time.perf_counter() - started < 30
    assert gone(pids)
    assert threading.active_count() == threads


def test_after_a_failure_no_thread_is_left_to_trip_over():
    """Python 3.11 prints an error if it ends while the threads of an executor do."""
    threads = threading.active_count()
    with pytest.raises(ValueError, match="not 0"):
        next(ordered_map(refused, range(8), 2))
    assert threading.active_count() == threads


class Unreliable(Workers):
    """Loses every unit the first `times`, and never answers the first before the others."""

    count, ahead, words = 2, 6, ""

    def __init__(self, times=0, losses=3):
        self.times, self.losses, self.seen, self.first = times, losses, {}, None

    def submit(self, function, /, *args):
        future, (_, units) = Future(), args
        self.seen[units] = self.seen.get(units, 0) + 1
        if self.seen[units] <= self.times:
            future.set_exception(BrokenExecutor("lost"))
        elif self.first is None:
            self.first = (future, function, args)
        else:
            future.set_result(function(*args))
            if len(self.seen) > 5 and not self.first[0].done():
                self.first[0].set_result(self.first[1](*self.first[2]))
        return future


@pytest.mark.parametrize("losses", [0, 1, 2])
def test_all_come_in_their_order_whatever_is_lost(losses, caplog):
    workers = Unreliable(losses)
    assert list(ordered_map(str, range(100), workers)) == [str(n) for n in range(100)]
    assert sum(map(len, workers.seen)) == 100
    assert caplog.text.count("a worker was lost during work unit") == losses * len(workers.seen)


def test_a_unit_that_ends_every_worker_is_named():
    with pytest.raises(WorkerLost, match=r"ended during pair \d, perhaps for lack of memory: use smaller pools"):
        list(ordered_map(str, range(100), Unreliable(3), "pair"))
    with pytest.raises(WorkerLost):
        list(ordered_map(str, range(100), Unreliable(1, losses=1)))


def refuses(number):
    if number in (7, 3, 90):
        raise ValueOutOfRange(f"not {number}")
    return number


@pytest.mark.parametrize("workers", [Unreliable(), Unreliable(1), 2])
def test_the_first_refusal_is_told_after_all_that_stand_before_it(workers):
    running, found = ordered_map(refuses, range(100), workers), []
    with pytest.raises(ValueOutOfRange, match="^not 3$"):
        found.extend(running)
    assert found == [0, 1, 2]


def end_once(number):
    if number == 5 and not os.path.exists(os.environ["REPLICAL_TEST_ENDED"]):
        open(os.environ["REPLICAL_TEST_ENDED"], "w").close()
        os._exit(9)
    return number


def test_processes_started_for_one_map_end_with_the_first_of_them(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLICAL_TEST_ENDED", str(tmp_path / "ended"))
    with pytest.raises(WorkerLost, match="a worker process ended before its work was done"):
        list(ordered_map(end_once, range(40), 2))


class Long:
    """A function that is too long to travel with every unit, and counts its calls in each process."""

    def __init__(self):
        self.ballast, self.calls = bytes(1000), 0

    def __call__(self, number):
        end_once(number)
        self.calls += 1
        return number, os.getpid(), self.calls


def test_what_is_long_travels_once_to_each_process_and_to_those_started_later(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLICAL_TEST_ENDED", str(tmp_path / "ended"))
    with local(2) as busy:
        found = list(ordered_map(Long(), range(40), busy))
        with busy.hold(Long()) as held:
            assert len(pickle.dumps(held)) < 200
    assert [number for number, _, _ in found] == list(range(40))
    for pid in {pid for _, pid, _ in found}:
        calls = [calls for _, who, calls in found if who == pid]
        assert len(set(calls)) == len(calls)  # one object, called again and again
    assert (tmp_path / "ended").exists()
