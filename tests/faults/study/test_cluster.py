"""The same cells on a Dask cluster, started here or elsewhere, and what happens when parts of it go away."""

import os
import sys
import threading
import time

import pytest

from replical.core.parallel import cluster, local
from replical.errors import BadUsage, WorkerLost
from replical.study.scheduler import Sweep
from replical.study.spec import Study
from replical.study.store import Store
from support.dask import answers, free_port, wait_for_workers
from support.studies import GRID

pytest.importorskip("distributed")


BASE = {"schema": "replical.study/1", "name": "small", "seed": "small 1", "stop": {"pairs": 60}, "grid": [GRID]}


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """What one process finds."""
    with local(1) as busy:
        kept = Sweep(Study.of(BASE).cells(), Store(tmp_path_factory.mktemp("usual")), busy).run()
    return {name: (each.rows, each.facts) for name, each in kept.items()}


def test_a_cluster_goes_on_where_processes_stopped_and_back(elsewhere, sweep, usual, tmp_path):
    folder = tmp_path / "both"
    with cluster(elsewhere) as busy:
        sweep({**BASE, "stop": {"pairs": 20}}, folder=folder, workers=busy)
    sweep({**BASE, "stop": {"pairs": 40}}, folder=folder)
    with cluster(elsewhere) as busy:
        assert sweep(BASE, folder=folder, workers=busy).tables == usual


def test_a_mistake_in_the_work_is_told_as_it_is(elsewhere, sweep, monkeypatch):
    def task(piece):  # sent as it is: defined in no module a worker could import
        raise ZeroDivisionError("a mistake")

    task.__module__ = "__main__"
    monkeypatch.setattr("replical.study.scheduler.work", task)
    with cluster(elsewhere) as busy, pytest.raises(ZeroDivisionError, match="a mistake"):
        sweep(BASE, workers=busy)


def test_workers_of_another_version_are_refused(elsewhere, monkeypatch):
    monkeypatch.setattr("replical.core.parallel.version", lambda _: "9.9")
    with (
        pytest.raises(BadUsage, match=r"part of the Dask cluster at '127.* has replical .*: install 9\.9 there"),
        cluster(elsewhere),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("without", ["dask_scheduler", "dask_worker"])
def test_every_part_of_a_cluster_needs_the_library(without, dask_processes, tmp_path):
    (tmp_path / "replical").mkdir()
    (tmp_path / "replical" / "__init__.py").write_text("raise ImportError('not here')")
    paths = {
        name: {"PYTHONPATH": str(tmp_path)} if name == without else {} for name in ("dask_scheduler", "dask_worker")
    }
    port = free_port()
    dask_processes("dask_scheduler", "--host", "127.0.0.1", "--port", port, **paths["dask_scheduler"])
    answers(port)
    dask_processes("dask_worker", f"127.0.0.1:{port}", "--nthreads", 1, "--host", "127.0.0.1", **paths["dask_worker"])
    wait_for_workers(f"127.0.0.1:{port}", 1)
    with (
        pytest.raises(BadUsage, match="has no replical: scheduler and workers need version"),
        cluster(f"127.0.0.1:{port}"),
    ):
        pass


@pytest.mark.parametrize(
    "address",
    ["", "nobody", "tcp://", "http://127.0.0.1:80", "127.0.0.1:99999", "tls://127.0.0.1:1", "tcp://[::1", "inproc://x", "127.0.0.1:1"],
)  # fmt: skip
def test_where_nobody_answers_it_is_said_at_once(address):
    started = time.monotonic()
    with pytest.raises(BadUsage) as caught, cluster(address):
        pass
    assert str(caught.value) == f"no Dask scheduler answers at {address!r}: start one with dask scheduler"
    assert time.monotonic() - started < 8


@pytest.mark.parametrize(
    "address", ["local", "local:", "local:0", "local:-1", "local:x", "local:1001", "local:²", "local:" + "9" * 5000]
)
def test_how_to_start_workers_here(address):
    with pytest.raises(BadUsage, match="starts N worker processes, e.g. local:2, got 'local"), cluster(address):
        pass


@pytest.mark.slow
def test_a_scheduler_that_goes_away_is_one_sentence(dask_processes, sweep, tasks, tmp_path):
    tasks("def task(piece):\n    time.sleep(0.2)\n    return work(piece)\n")
    port = free_port()
    gone = dask_processes("dask_scheduler", "--host", "127.0.0.1", "--port", port, PYTHONPATH=os.pathsep.join(sys.path))
    answers(port)
    path = os.pathsep.join(sys.path)
    dask_processes(
        "dask_worker", f"127.0.0.1:{port}", "--nthreads", 1, "--no-nanny", "--host", "127.0.0.1", PYTHONPATH=path
    )
    wait_for_workers(f"127.0.0.1:{port}", 1)
    with (
        cluster(f"127.0.0.1:{port}") as busy,
        pytest.raises(WorkerLost, match="scheduler at 127.* is gone; what is complete"),
    ):
        sweep(BASE, workers=busy, progress=lambda far: far.pairs_done >= 30 and gone.kill())


@pytest.mark.slow
def test_without_workers_it_waits_and_says_so(dask_processes, sweep, usual, tasks, monkeypatch, caplog):
    tasks("def task(piece):\n    time.sleep(0.2)\n    return work(piece)\n")
    monkeypatch.setattr("replical.core.parallel._PATIENCE", 2.0)
    port, path = free_port(), os.pathsep.join(sys.path)
    dask_processes("dask_scheduler", "--host", "127.0.0.1", "--port", port, PYTHONPATH=os.pathsep.join(sys.path))
    answers(port)
    words = ["dask_worker", f"127.0.0.1:{port}", "--nthreads", 1, "--no-nanny", "--host", "127.0.0.1"]
    first = dask_processes(*words, PYTHONPATH=path)
    wait_for_workers(f"127.0.0.1:{port}", 1)
    later = []

    def kill(far):
        if far.pairs_done >= 30 and not later:
            first.kill()
            later.append(threading.Timer(6, lambda: dask_processes(*words, PYTHONPATH=path)))
            later[0].start()

    with cluster(f"127.0.0.1:{port}") as busy:
        assert sweep(BASE, workers=busy, progress=kill).tables == usual
    assert "no worker is left on Dask at 127.0.0.1" in caplog.text
