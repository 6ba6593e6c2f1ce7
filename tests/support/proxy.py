"""Between a client and a server on a socket of this machine: passes everything on, until the line is cut."""

import contextlib
import socket
import threading


class Proxy:
    """Listens at one path, and connects to another for everyone who comes.

    Parameters
    ----------
    at, to
        Paths of two sockets.
    """

    def __init__(self, at, to):
        self._to, self._pairs, self._lock = str(to), [], threading.Lock()
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._door.bind(str(at))
        self._door.listen(50)
        threading.Thread(target=self._open, daemon=True).start()

    def _open(self):
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:  # closed
                return
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                server.connect(self._to)
            except OSError:
                client.close()
                server.close()
                continue
            with self._lock:
                self._pairs.append((client, server))
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut(self):
        """Everyone who is connected, in the middle of a word."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for each in pair:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        for pair in pairs:
            for each in pair:
                each.close()

    def close(self):
        """For good."""
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self.cut()
