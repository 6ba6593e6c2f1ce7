"""Audits on a Dask cluster: the same figures to the bit, a worker that is killed, and addresses where nobody works."""

import json
import os
import signal
import sys
import time
from dataclasses import dataclass

import numpy as np
import pytest

from replical import CAL, Thresholds, World, audit, plan
from replical.core.parallel import cluster
from replical.errors import ValueOutOfRange
from replical.worlds.audit import audit_groups

cloudpickle = pytest.importorskip("cloudpickle")
pytest.importorskip("distributed")

C = Thresholds(1000)
LEARNER = CAL(plan("cal", C, epsilon=0.1, delta=0.1, pool="finite"))
AUDIT = ["paper", "audit", "--learner", "handicap", "--epsilon", ".2", "--rho", ".3", "--pool-size", "1000"]
AUDIT += ["--pairs", "7", "--seed", "cluster", "--json"]


@dataclass(frozen=True, kw_only=True)
class Slow(World):
    """A world that tells who is in it, and takes its time."""

    folder: str

    def population(self, target=0):
        with open(os.path.join(self.folder, f"{time.time_ns()}-{os.getpid()}"), "w"):
            time.sleep(0.05)
        return super().population(target)


@dataclass(frozen=True, kw_only=True)
class Narrow(World):
    """A world without room for some targets."""

    def population(self, target=0):
        if target > 600:
            raise ValueOutOfRange(f"no room for {target}")
        return super().population(target)


@pytest.fixture(scope="module", autouse=True)
def _worlds_travel():
    """No worker could import what is defined here: it goes with the message, as what a notebook defines does."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture
def slow(tmp_path):
    """Such a world."""
    return Slow(C=C, pool_size=500, folder=str(tmp_path))


def test_a_cluster_finds_the_same_to_the_bit(elsewhere, command):
    """As the command tells it: pairs, and groups of labs with what only groups have."""
    for more in (["--class", "halfspaces:2,60"], ["--class", "thresholds:300", "--labs", "3"]):
        found = []
        for who in (["--workers", "1"], ["--cluster", elsewhere]):
            code, out, err = command(*AUDIT, *more, *who)
            assert code == 0, err
            assert f"{'groups of 3 labs' if '--labs' in more else 'pairs of labs'}: 7 of 7" in err
            assert ("workers: 3 on Dask at " in err) == (who[0] == "--cluster")
            found.append(json.loads(out) | {"seconds": 0})
        assert found[0] == found[1]


def test_a_world_travels_without_what_can_be_computed():
    """A message of some kilobytes whatever the class; items that are not the class's own go along."""
    world = World(C=Thresholds(100_000), cells=Thresholds(100_000).cells(), pool_size=500)
    assert world.population(7).error(9) == world.light().population(7).error(9)
    assert len(cloudpickle.dumps(world.light())) < 2000 < 800_000 < len(cloudpickle.dumps(world))
    few = World(C=C, cells=C.items([1, 5, 900]), weights=np.array([1, 2, 3]))
    assert few.light() == few


def test_the_first_pair_that_cannot_be_run_is_told(elsewhere):
    found = []
    with cluster(elsewhere) as busy:
        for workers in (1, busy):
            with pytest.raises(ValueOutOfRange, match=r"^pair \d+: no room for \d+$") as caught:
                audit(LEARNER, Narrow(C=C, pool_size=500), seed="narrow", pairs=40, workers=workers)
            found.append(str(caught.value))
    assert found[0] == found[1]


@pytest.mark.parametrize("workers", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_worker_s_pairs_are_run_again(workers, slow, tmp_path):
    """Where it was the only one, whoever is started in its place gets what an audit needs before any piece of it."""
    alone = audit_groups(LEARNER, World(C=C, pool_size=500), seed="killed", groups=24, labs=3)
    killed = []

    def kill(done, total):
        if done >= 8 and not killed:
            killed.append(int(max(os.listdir(tmp_path)).split("-")[1]))
            os.kill(killed[0], signal.SIGKILL)

    with cluster(f"local:{workers}") as busy:
        assert busy.submit(os.environ.get, "MALLOC_TRIM_THRESHOLD_").result() is None
        found = audit_groups(LEARNER, slow, seed="killed", groups=24, labs=3, workers=busy, progress=kill)
    assert found == alone
    after = [int(name.split("-")[1]) for name in sorted(os.listdir(tmp_path))]
    assert len(after) > 24  # it was in the middle of something
    assert after[-1] != killed[0]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--cluster", "127.0.0.1:1"], "no Dask scheduler answers at '127.0.0.1:1': start one with dask scheduler"),
        (["--cluster", "local:x"], "--cluster local:N starts N worker processes, e.g. local:2, got 'local:x'"),
        (["--cluster", "local:2", "--workers", "2"], "--workers counts processes of this machine: leave it out with --cluster"),
        (["--cluster", "local:2", "--device", "cpu"], "--device is a card of this machine, and a cluster computes elsewhere: leave one of them out"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_cluster_is_one_sentence(words, sentence, command):
    code, out, _ = command(*AUDIT, "--class", "star:9", *words)
    assert (code, json.loads(out)["message"]) == (2, sentence)


def test_without_dask_it_is_one_sentence(command, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, out, _ = command(*AUDIT, "--class", "star:9", "--cluster", "local:2")
    assert (code, json.loads(out)["error"]) == (2, "MissingExtra")
    assert json.loads(out)["message"] == "--cluster needs Dask: install it with pip install 'replical[study]'"
