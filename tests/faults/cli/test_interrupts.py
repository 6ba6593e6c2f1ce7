"""Interrupted, killed, or not listened to: no traceback, nobody left behind."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from support.attacks import ATTACKS, times
from support.processes import INTERRUPTED, gone, groups, interrupt, members

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX process groups")
LONG = ["paper", "audit", "--class", "thresholds:100000", "--learner", "replical", "--epsilon", ".01", "--theta", "2", "--pool-size",
        "exact", "--seed", "s", "--pairs", "100000", "--workers", "2"]  # fmt: skip


@pytest.fixture
def start():
    """Start long audits in groups of their own; nothing outlives the test."""
    with groups() as begin:
        yield lambda *more: begin("-m", "replical", *LONG, *more)


@pytest.mark.parametrize("delay", [0.0, 0.4, 2.0])  # as the first worker starts, as another does, at work
def test_an_interrupt_ends_everything_at_once(delay, start):
    process = start("--json")
    while not members(process.pid, "spawn_main"):
        time.sleep(0.01)
    time.sleep(delay)
    interrupt(process, 1)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert json.loads(out) == INTERRUPTED
    assert "KeyboardInterrupt" not in err
    assert gone(process.pid)


@pytest.mark.parametrize(
    "n",
    [n if n < 2 else pytest.param(n, marks=pytest.mark.slow) for n in times("a second Ctrl-C while workers are ended")],
)
def test_a_second_interrupt_writes_nothing_more(n, start):
    """At any moment of the end that the first one began."""
    process, pick = start("--json"), random.Random(n)
    while not members(process.pid, "spawn_main"):
        time.sleep(0.01)
    time.sleep(pick.uniform(0, 2))
    for gap in (pick.choice([0, 0.001, 0.01, 0.03, 0.1, 0.2, 0.3]), 0):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(gap)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, json.loads(out), err) == (130, INTERRUPTED, "")
    assert gone(process.pid)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGKILL])
def test_workers_leave_with_their_parent(number, start):
    process = start()
    time.sleep(3)
    os.kill(process.pid, number)
    process.communicate(timeout=120)
    assert gone(process.pid)


def test_a_lost_worker_is_one_sentence(start):
    process = start("--json")
    time.sleep(4)
    os.kill(members(process.pid, "spawn_main")[0], signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert json.loads(out)["error"] == "WorkerLost"
    assert "Traceback" not in err
    assert gone(process.pid)


@pytest.mark.slow
def test_any_encoding_will_do():
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "0"}
    base = [sys.executable, "-m", "replical", "paper", "audit", "--class", "thresholds:9", "--learner", "cal", "--epsilon", ".3",
            "--pool-size", "50", "--pairs", "2", "--seed", "Zürich"]  # fmt: skip
    done = subprocess.run([*base, "--json"], capture_output=True, text=True, check=True, env=environment)
    assert json.loads(done.stdout)["inputs"]["seed"] == "Zürich"
    plain = subprocess.run(base, capture_output=True, text=True, check=True, env=environment)
    assert "identical" in plain.stdout


STREAMS = {">/dev/full": 74, ">&-": None, "| true": 74, "2>/dev/full": None, "<&- >&- 2>&-": None}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs devices")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize(
    "words", ["doctor", "doctor --json", "verify nothing.json", "verify nothing.json --json", "journal export {}"]
)
@pytest.mark.parametrize("stream", STREAMS)
def test_output_that_fails_has_a_code_of_its_own(stream, words, buffered, tmp_path):
    """1 means no: a closed pipe or a full disk must not say it. What goes to standard error may be lost."""
    from support.journals import begun

    assert len(STREAMS) * 10 == ATTACKS["output to a full disk, a closed pipe, or closed streams"]
    wanted = {"doctor": 0, "verify": 2, "journal": 0}[words.split()[0]]
    told = "--json" in words or not words.startswith("verify")  # does anything go to standard output?
    code = (STREAMS[stream] if told else None) or wanted
    environment = os.environ | {"PYTHONUNBUFFERED": "" if buffered else "1"}
    command = f"set -o pipefail; {sys.executable} -m replical {words.format(begun(tmp_path))} {stream}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60, env=environment
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert ("the answer cannot be written" in done.stderr) is (stream == ">/dev/full" and code == 74)
