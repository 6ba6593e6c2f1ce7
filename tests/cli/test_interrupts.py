"""Interrupted, killed, or not listened to: no traceback, nobody left behind."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX process groups")

LONG = ["audit", "--class", "thresholds:100000", "--learner", "replical", "--epsilon", ".01", "--theta", "2", "--pool-size",
        "exact", "--seed", "s", "--pairs", "100000", "--workers", "2"]  # fmt: skip


@pytest.fixture
def start():
    """Start long audits in groups of their own; nothing outlives the test."""
    started = []

    def begin(*more):
        command = [sys.executable, "-m", "replical", *LONG, *more]
        # Whoever runs the tests in the background may have switched interrupts off; a person at a terminal has not.
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - one thread, one call
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def left_behind(group):
    listed = subprocess.run(["ps", "-eo", "pgid,stat"], capture_output=True, text=True, check=True).stdout.split("\n")[
        1:
    ]
    return [line for line in listed if line.split()[:1] == [str(group)] and "Z" not in line.split()[1]]


def wait_until_gone(group):
    for _ in range(100):
        if not left_behind(group):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("delay", [1.5, 4.0])
@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_ends_everything_at_once(delay, times, start):
    process = start("--json")
    time.sleep(delay)
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert json.loads(out) == {
        "schema": "replical.error/1",
        "error": "Interrupted",
        "message": "interrupted",
        "exit": 130,
    }
    assert "KeyboardInterrupt" not in err
    assert wait_until_gone(process.pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_workers_leave_with_their_parent(number, start):
    process = start()
    time.sleep(3)
    os.kill(process.pid, number)
    process.communicate(timeout=120)
    assert wait_until_gone(process.pid)


def test_a_lost_worker_is_one_sentence(start):
    process = start("--json")
    time.sleep(4)
    listed = subprocess.run(["ps", "-ww", "-eo", "pid,pgid,args"], capture_output=True, text=True, check=True).stdout
    workers = [
        line.split()[0] for line in listed.split("\n") if str(process.pid) in line.split()[1:2] and "spawn_main" in line
    ]
    os.kill(int(workers[0]), signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert json.loads(out)["error"] == "WorkerLost"
    assert "Traceback" not in err
    assert wait_until_gone(process.pid)


def test_a_closed_pipe_is_no_drama():
    command = f"{sys.executable} -m replical theta --class star:5 --json | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_any_encoding_will_do():
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "0"}
    base = [sys.executable, "-m", "replical", "audit", "--class", "thresholds:9", "--learner", "cal", "--epsilon", ".3",
            "--pool-size", "50", "--pairs", "2", "--seed", "Zürich"]  # fmt: skip
    done = subprocess.run([*base, "--json"], capture_output=True, text=True, check=True, env=environment)
    assert json.loads(done.stdout)["inputs"]["seed"] == "Zürich"
    plain = subprocess.run(base, capture_output=True, text=True, check=True, env=environment)
    assert "identical" in plain.stdout
