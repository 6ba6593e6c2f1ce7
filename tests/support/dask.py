"""Dask as people start it: a scheduler here, workers there, all on this machine."""

import os
import socket
import subprocess
import time


def free_port():
    """A port nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def starter(begin, folder):
    """A function that starts a part of Dask, by one that starts Python (`support.processes.groups`)."""

    def dask(module, *words, **environment):
        quiet = ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        return begin(
            "-m", f"distributed.cli.{module}", *words, *quiet, cwd=folder, env=os.environ | environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    return dask


def answers(port):
    """Wait until somebody listens at a port."""
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("no scheduler")


def wait_for_workers(address, count):
    """Wait until a scheduler has so many workers."""
    from distributed import Client

    with Client(address, timeout=60) as client:
        client.wait_for_workers(count, timeout=60)
