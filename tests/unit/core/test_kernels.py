"""Which back end runs, what is said where it cannot, and threads of our own."""

import subprocess
import sys

import numpy as np
import pytest

from replical.core.kernels import backend

needs_numba = pytest.mark.skipif(backend.trouble() is not None, reason="numba cannot be used here")


@pytest.fixture
def fresh(monkeypatch):
    """A process that has done nothing yet."""
    monkeypatch.setattr(backend, "_spent", [0])
    return monkeypatch


def test_work_decides_unless_a_back_end_is_named(fresh):
    assert not backend.compiles(10)
    fresh.setattr(backend, "trouble", lambda: None)
    assert backend.compiles(2**40)
    assert backend.compiles(10)  # loaded already
    with backend.using("numpy"):
        assert not backend.compiles(2**40)


def test_without_numba_everything_runs_on_numpy(fresh):
    fresh.setattr(backend, "trouble", lambda: "it is not installed")
    assert not backend.compiles(2**40)


@pytest.mark.parametrize("cores", [1, 2, 5])
def test_stretches_cover_everything_once(cores, monkeypatch):
    monkeypatch.setattr(backend, "thread_count", lambda: cores)
    for length, least in ((0, 1), (1, 1), (7, 2), (100, 1)):
        done = np.zeros(length, dtype=int)

        def mark(start, stop, done=done):
            done[start:stop] += 1

        backend.share(mark, length, least)
        assert (done == 1).all()


def test_what_goes_wrong_in_a_thread_is_told(monkeypatch):
    monkeypatch.setattr(backend, "thread_count", lambda: 2)

    def fail(start, stop):
        if start:
            raise ValueError("second half")

    with pytest.raises(ValueError, match="second half"):
        backend.share(fail, 10, 1)


def test_a_worker_process_uses_one_thread(monkeypatch):
    monkeypatch.setattr("multiprocessing.parent_process", object)
    assert backend.thread_count() == 1


@needs_numba
def test_where_nothing_can_be_written_code_is_compiled_and_not_kept():
    """A function without a file has no place for its code, as in an installation that nobody may write to."""
    code = "from replical.core.kernels.numba_rows import kernel, popcount\nprint(kernel(lambda x: popcount(x))(7))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "3"
    assert done.stderr == ""
