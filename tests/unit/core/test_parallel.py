"""Units of work on processes of this machine and on workers that fail: in order, and nobody is left behind."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import BrokenExecutor, Future

import pytest

from replical.core.parallel import Workers, as_completed, local, ordered_map
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

    count, ahead = 2, 6

    def __init__(self, times, losses=3):
        self.times, self.losses, self.tries, self.first = times, losses, {}, None

    def submit(self, function, /, *args):
        future, unit = Future(), args[0]
        self.tries[unit] = self.tries.get(unit, 0) + 1
        if self.tries[unit] <= self.times:
            future.set_exception(BrokenExecutor("lost"))
        elif self.first is None:
            self.first = future
        else:
            future.set_result(function(unit))
            if len(self.tries) > 5 and not self.first.done():
                self.first.set_result(None)
        return future


def run(workers):
    units = iter(range(100))
    submit = lambda unit: workers.submit(str, unit)  # noqa: E731
    return [unit for unit, _ in as_completed(lambda: next(units, None), submit, workers, lambda unit: f"pair {unit}")]


@pytest.mark.parametrize("losses", [0, 1, 2])
def test_all_come_whatever_is_lost(losses, caplog):
    assert sorted(run(workers := Unreliable(losses))) == list(range(100))
    assert caplog.text.count("a worker was lost during pair") == losses * len(workers.tries) == losses * 100


@pytest.mark.parametrize(("times", "losses"), [(3, 3), (1, 1)])
def test_a_unit_that_ends_every_worker_is_named(times, losses):
    with pytest.raises(WorkerLost, match=r"ended during pair \d, perhaps for lack of memory: use smaller pools"):
        run(Unreliable(times, losses))


def refuses(number):
    if number in (7, 3, 90):
        raise ValueOutOfRange(f"not {number}")
    return number


@pytest.mark.parametrize("workers", [1, 2])
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


def test_a_process_that_ends_is_started_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLICAL_TEST_ENDED", str(tmp_path / "ended"))
    units = iter(range(40))
    with local(2) as busy:
        done = as_completed(lambda: next(units, None), lambda unit: busy.submit(end_once, unit), busy, str)
        assert sorted(future.result() for _, future in done) == list(range(40))
    assert (tmp_path / "ended").exists()


def test_processes_started_for_one_map_end_with_the_first_of_them(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLICAL_TEST_ENDED", str(tmp_path / "ended"))
    with pytest.raises(WorkerLost, match="a worker process ended before its work was done"):
        list(ordered_map(end_once, range(40), 2))


class Counting:
    """A function that counts its calls in each process."""

    def __init__(self):
        self.calls = 0

    def __call__(self, number):
        self.calls += 1
        return number, os.getpid(), self.calls


def test_a_function_travels_once_to_each_process():
    found = list(ordered_map(Counting(), range(40), 2))
    assert [number for number, _, _ in found] == list(range(40))
    for pid in {pid for _, pid, _ in found}:
        calls = [calls for _, who, calls in found if who == pid]
        assert len(set(calls)) == len(calls)  # one object, called again and again


class Unreadable(Counting):
    """Packed here, and nothing there."""

    def __reduce__(self):
        return int, ("not here",)


def test_a_function_that_no_process_can_read_is_told_as_it_is():
    with pytest.raises(ValueError, match="not here"):
        list(ordered_map(Unreadable(), range(4), 2))
