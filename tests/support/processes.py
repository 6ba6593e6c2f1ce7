"""Commands in process groups of their own: interrupted as a whole, looked at as a whole, and nothing outlives a test."""

import contextlib
import os
import signal
import subprocess
import sys
import time


@contextlib.contextmanager
def groups():
    """A function that starts Python with some words in a group of its own; all of them end with the block."""
    started = []

    def begin(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options):
        # Whoever runs the tests in the background may have switched interrupts off; a person at a terminal has not.
        process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            stdout=stdout,
            stderr=stderr,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - one thread, one call
            **options,
        )
        started.append(process)
        return process

    try:
        yield begin
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


INTERRUPTED = {"schema": "replical.error/1", "error": "Interrupted", "message": "interrupted", "exit": 130}


def interrupt(process, times):
    """As somebody does who presses Ctrl-C, once or impatiently."""
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)


def members(group, word=""):
    """Ids of the processes of a group that are alive, those with a word in their command."""
    shown = subprocess.run(["ps", "-ww", "-eo", "pid,pgid,stat,args"], capture_output=True, text=True, check=True)
    fields = [line.split(None, 3) for line in shown.stdout.splitlines()[1:]]
    return [int(pid) for pid, of, state, words in fields if of == str(group) and "Z" not in state and word in words]


def gone(group):
    """Is nobody of a group left, ten seconds from now at the latest?"""
    for _ in range(100):
        if not members(group):
            return True
        time.sleep(0.1)
    return False
