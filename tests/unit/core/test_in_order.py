"""Numbered pieces on workers that fail, lose pieces and answer in any order."""

import os
from concurrent.futures import BrokenExecutor, Executor, Future

import pytest

from replical.core.parallel import Workers, in_order, local
from replical.errors import ValueOutOfRange, WorkerLost


class Unreliable(Executor):
    """Loses every piece the first `losses` times, or never answers the first before the others."""

    def __init__(self, losses=0):
        self.losses, self.seen, self.first = losses, {}, None

    def submit(self, fn, /, *args):
        future, (_, numbers) = Future(), args
        self.seen[numbers] = self.seen.get(numbers, 0) + 1
        if self.seen[numbers] <= self.losses:
            future.set_exception(BrokenExecutor("lost"))
        elif self.first is None:
            self.first = (future, fn, args)
        else:
            future.set_result(fn(*args))
            if len(self.seen) > 5 and not self.first[0].done():
                self.first[0].set_result(self.first[1](*self.first[2]))
        return future


def on(executor, losses=3):
    return Workers(executor, count=2, words="", ahead=6, losses=losses)


@pytest.mark.parametrize("losses", [0, 1, 2])
def test_all_come_in_their_order_whatever_is_lost(losses, caplog):
    executor = Unreliable(losses)
    assert list(in_order(str, 100, on(executor))) == [str(n) for n in range(100)]
    assert sum(map(len, executor.seen)) == 100
    assert caplog.text.count("a worker was lost during piece") == losses * len(executor.seen)


def test_a_piece_that_ends_every_worker_is_named():
    with pytest.raises(WorkerLost, match=r"ended during pair \d, perhaps for lack of memory: use smaller pools"):
        list(in_order(str, 100, on(Unreliable(3)), "pair"))
    with pytest.raises(WorkerLost):
        list(in_order(str, 100, on(Unreliable(1), losses=1)))


def refuses(number):
    if number in (7, 3, 90):
        raise ValueOutOfRange(f"not {number}")
    return number


@pytest.mark.parametrize("executor", [Unreliable(), Unreliable(1)])
def test_the_first_refusal_is_told_after_all_that_stand_before_it(executor):
    running, found = in_order(refuses, 100, on(executor)), []
    with pytest.raises(ValueOutOfRange, match="^not 3$"):
        found.extend(running)
    assert found == [0, 1, 2]


def end_once(number):
    if number == 5 and not os.path.exists(os.environ["REPLICAL_TEST_ENDED"]):
        open(os.environ["REPLICAL_TEST_ENDED"], "w").close()
        os._exit(9)
    return number


def test_processes_of_this_machine_too(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLICAL_TEST_ENDED", str(tmp_path / "ended"))
    with local(2) as busy:
        assert list(in_order(end_once, 40, busy)) == list(range(40))
    assert (tmp_path / "ended").exists()
