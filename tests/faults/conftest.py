"""Labs that are disturbed, and a Dask cluster of this machine that all tests share which harm none of its parts."""

import os
import sys

import pytest

from replical.core.parallel import cluster
from replical.errors import BadUsage
from support.dask import answers, free_port, starter, wait_for_workers
from support.processes import groups


@pytest.fixture(scope="session")
def dask_processes(tmp_path_factory):
    """Start schedulers and workers as people do, on this machine only; nothing outlives the tests."""
    with groups() as begin:
        yield starter(begin, tmp_path_factory.mktemp("dask"))


@pytest.fixture(scope="session")
def scheduler(dask_processes):
    """An address nobody works at."""
    port = free_port()
    dask_processes("dask_scheduler", "--host", "127.0.0.1", "--port", port, PYTHONPATH=os.pathsep.join(sys.path))
    answers(port)
    return f"127.0.0.1:{port}"


@pytest.fixture(scope="session")
def elsewhere(scheduler, dask_processes):
    """The address of a scheduler with one worker of three threads."""
    with pytest.raises(BadUsage, match="has no workers: start some with dask worker 127.0.0.1:"), cluster(scheduler):
        pass
    dask_processes("dask_worker", scheduler, "--nthreads", 3, "--no-nanny", "--host", "127.0.0.1")
    wait_for_workers(scheduler, 1)
    return scheduler


@pytest.fixture(scope="session")
def lab_of(make_world, tmp_path_factory):
    """A lab in a folder of its own, with so many items open at once."""
    from support.kills import Lab

    def make(batch=3):
        folder = tmp_path_factory.mktemp("lab")
        world = make_world({"name": "handicap", "batch": batch, "epsilon": 0.3}, noise=0.03)
        files = world.write(folder)
        labels = folder / "labels.csv:y"
        return Lab(folder, lambda journal, out: files.run(journal, out, labels=None), world.truth, labels)

    return make
