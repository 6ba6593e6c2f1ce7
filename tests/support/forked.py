"""Python processes that have loaded everything already: forked from one that waits, so that hundreds can be started and killed.

What a forked process does with files, sockets, locks and signals is its own; only the half second in which Python loads its
libraries is saved.
"""

import ctypes
import functools
import inspect
import json
import os
import signal
import socket
import subprocess
import sys
import traceback

_SUBREAPER = 36  # prctl: orphans below us become our children, so that we hear how they ended
_LOADED = ("replical.cli.run_protocol", "replical.cli.confirm", "replical.cli.page", "replical.lab.page.app",
           "replical.lab.page.serve", "uvicorn", "uvicorn.loops.auto", "uvicorn.protocols.http.h11_impl", "sqlalchemy.dialects.sqlite",
           "pyarrow.csv", "pyarrow.compute", "psycopg", "sqlalchemy.dialects.postgresql.psycopg")  # fmt: skip


@functools.cache
def _zygote():
    """The socket of the process that waits."""
    if ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0):
        raise OSError("this process cannot adopt others")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = [sys.executable, "-m", "support.forked", str(theirs.fileno())]
    how = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    waiting = subprocess.Popen(words, pass_fds=[theirs.fileno()], env=how)
    theirs.close()
    ours.recv(16)  # everything is loaded
    return ours, waiting


class Forked(subprocess.Popen):
    """Like `subprocess.Popen` for ``[python, "-m", "replical", ..]`` and ``[python, "-c", code, ..]``."""

    def _execute_child(self, args, *rest):
        names = inspect.getfullargspec(subprocess.Popen._execute_child).args[2:]
        given = dict(zip(names, rest, strict=True))
        streams = [given["p2cread"], given["c2pwrite"]]
        ours, _ = _zygote()
        socket.send_fds(ours, [json.dumps([*map(str, args[1:])]).encode()], streams)
        self.pid = int(ours.recv(32))
        self._child_created = True
        for each in streams:
            os.close(each)


def start(words):
    """Such a process, with one stream for all it says; a usual one where this cannot be."""
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    kind = Forked if sys.platform.startswith("linux") else subprocess.Popen
    return kind([sys.executable, *map(str, words)], text=True, bufsize=1, **streams)


# ---- in the process that waits ----


def _run(words):
    if words[0] == "-m":
        from replical.cli import main

        return main(words[2:])
    sys.argv = ["-c", *words[2:]]
    exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
    return 0


def _code(words):
    try:
        return _run(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        return 1


def _wait(link):
    for name in _LOADED:
        try:
            __import__(name)
        except ImportError:
            continue
    link.send(b"ready")
    while True:
        message, streams, _, _ = socket.recv_fds(link, 2**20, 2)
        if not message:
            return
        hear, tell = os.pipe()
        between = os.fork()
        if between == 0:  # this one ends at once, so that whoever asked becomes the parent of the next
            child = os.fork()
            if child:
                os.write(tell, str(child).encode())
                os._exit(0)
            os.dup2(streams[0], 0)
            os.dup2(streams[1], 1)
            os.dup2(streams[1], 2)
            os.closerange(3, 256)
            signal.signal(
                signal.SIGINT, signal.default_int_handler
            )  # which whoever runs tests in the background has lost
            code = _code(json.loads(message))
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        os.waitpid(between, 0)  # only then can whoever asked wait for its child
        link.send(os.read(hear, 32))
        for each in (*streams, hear, tell):
            os.close(each)


if __name__ == "__main__":
    _wait(socket.socket(fileno=int(sys.argv[1])))
