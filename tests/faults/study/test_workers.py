"""Workers that are killed or fail cost their own piece and nothing else."""

import os
import signal
import time

import pytest

from replical.core.parallel import local
from replical.errors import WorkerLost
from replical.study.spec import Study
from replical.study.store import Store
from support.studies import BASE, of_pairs


def test_a_killed_worker_costs_its_own_piece_and_nothing_else(sweep, usual, tasks, tmp_path, caplog):
    """One of two processes is killed in the middle of a piece while the other one is in the middle of its own."""
    ran, pairs = tmp_path / "ran", 100
    ran.mkdir()
    wanted = usual(pairs)
    tasks(f"""
def task(piece):
    name = f"{{piece.cell}}-{{piece.start}}"
    tries = len(list(Path({str(ran)!r}).glob(name + "-*")))
    (Path({str(ran)!r}) / f"{{name}}-{{tries}}").write_text("")
    if piece.start <= 40 < piece.end and tries == 0:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return work(piece)
""")
    with local(2) as busy:
        found = sweep(of_pairs(pairs), workers=busy)
    assert found.tables == wanted
    again = sorted(path.name for path in ran.glob("*-1"))
    assert sorted(name.split("-")[0] for name in again) == sorted(found.tables)
    assert all(int(name.split("-")[1]) <= 40 for name in again)
    assert not list(ran.glob("*-2"))
    lost = [record.getMessage() for record in caplog.records]
    assert len(lost) == 4
    assert all("a worker was lost during" in each for each in lost)


@pytest.mark.slow
def test_a_worker_killed_between_two_pieces_is_replaced(sweep, usual, monkeypatch):
    """Nobody was working on anything: nothing is lost, and handing in does not fail."""
    with local(2) as busy:
        killed = []

        def kill(far):
            if far.pairs_done >= 30 and not killed:
                time.sleep(1)  # both have nothing to do
                killed.extend(process.pid for each in busy._each for process in each._processes.values())
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)
                time.sleep(1)

        assert sweep(workers=busy, progress=kill).tables == usual()
    assert len(killed) == 2


def test_a_piece_that_ends_every_worker_is_named_and_the_rest_is_kept(sweep, tasks, tmp_path, cells_of):
    tasks("""
def task(piece):
    if piece.experiment.class_spec == "thresholds:1000" and piece.start <= 10 < piece.end:
        os._exit(9)
    return work(piece)
""")
    folder = tmp_path / "deadly"
    with (
        local(2) as busy,
        pytest.raises(WorkerLost, match="ended during .* on thresholds:1000 .*; what is complete is kept"),
    ):
        sweep(folder=folder, workers=busy)
    kept = cells_of(folder)
    assert len(kept) >= 1
    assert all(Store(folder).read(cell).pairs == 30 for cell in Study.of(BASE).cells() if f"{cell.id}.parquet" in kept)
    tasks("task = work\n")
    assert sweep(folder=folder).tables == sweep().tables


def test_an_error_in_the_work_is_not_hidden(sweep, tasks):
    tasks("""
def task(piece):
    raise ZeroDivisionError("a mistake")
""")
    with local(2) as busy, pytest.raises(ZeroDivisionError, match="a mistake"):
        sweep(workers=busy)
