"""Pipes, devices, folders and files without end, where a file of some format should be: one sentence, at once."""

import os
import resource
import signal
import socket
import time

import pytest

from support.attacks import ATTACKS
from support.examples import make_examples
from support.formats import FORMATS

KINDS = ("a pipe", "/dev/zero", "a folder", "a socket", "three gigabytes of nothing")


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    make_examples(folder, list(FORMATS))
    return folder


@pytest.fixture
def put(tmp_path):
    """Put something that is no file of any format at a path, and take it away again."""
    open_sockets = []

    def make(kind, path):
        if kind == "a pipe":
            os.mkfifo(path)
        elif kind == "/dev/zero":
            path.symlink_to("/dev/zero")
        elif kind == "a folder":
            path.mkdir()
        elif kind == "a socket":
            server = socket.socket(socket.AF_UNIX)
            open_sockets.append(server)
            here = os.getcwd()
            os.chdir(path.parent)  # an address is short
            server.bind(path.name)
            os.chdir(here)
        else:
            with path.open("wb") as file:
                file.truncate(3 * 2**30)

    yield make
    for each in open_sockets:
        each.close()


def test_all_of_them_are_tried():
    assert (
        len(FORMATS) * len(KINDS)
        == ATTACKS["a pipe, device, folder, socket or file of 3 GB in place of a file of ours"]
    )


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs devices")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_no_file_is_refused_at_once(name, kind, examples, put, tmp_path, capsys):
    form = FORMATS[name]
    example = next(iter(sorted(examples.glob(form.pattern))))
    path = tmp_path / example.name
    put(kind, path)

    def late(*_):
        raise AssertionError(f"{kind} in place of {example.name} is read without end")

    before = signal.signal(signal.SIGALRM, late)
    began, peak = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.alarm(20)
    try:
        assert not form.read(path, examples)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 2**19  # kilobytes
    assert "Traceback" not in capsys.readouterr().err
