"""A PostgreSQL server of this machine, for tests: found, started, stopped gently or not, and started again.

The programs are the system's or those of the package ``pgserver``; nobody outside can connect, and nothing is left behind.
"""

import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy

URL = "REPLICAL_TEST_POSTGRES"  # a server that is there already; its user may create databases


class NoServer(Exception):
    """There is none, and why."""


def programs():
    """Folders that hold initdb and postgres."""
    found = [Path(each).resolve().parent for each in (shutil.which("initdb"),) if each]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    package = importlib.util.find_spec("pgserver")
    found += (
        [Path(each) / "pginstall" / "bin" for each in (package.submodule_search_locations or ())] if package else []
    )
    return [folder for folder in found if (folder / "initdb").exists() and (folder / "postgres").exists()]


def somebody():
    """PostgreSQL does not run as root: then it runs as nobody."""
    if os.geteuid() != 0:
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


class Cluster:
    """A server that listens on a socket in its `folder` only."""

    def __init__(self, bin_folder, folder, **settings):
        self._bin, self._settings, self._process = bin_folder, settings, None
        self.url = f"postgresql+psycopg://postgres@/postgres?host={folder}"
        who = somebody()
        if who:
            os.chown(folder, who["user"], who["group"])
        self._how = who | {"cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": folder}}
        self._folder, self._data = folder, Path(folder) / "data"
        make = [bin_folder / "initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        try:
            made = subprocess.run(make, capture_output=True, text=True, check=False, timeout=60, **self._how)
        except OSError as error:
            raise NoServer(str(error)) from error
        if made.returncode:
            raise NoServer(made.stderr.strip().split("\n")[-1])
        self.start()

    def start(self):
        """Start it, again if need be, and wait until it answers."""
        words = [self._bin / "postgres", "-D", self._data, "-k", self._folder, "-h", ""]
        for name, value in self._settings.items():
            words += ["-c", f"{name}={value}"]
        self._launch(words)
        engine = sqlalchemy.create_engine(self.url, poolclass=sqlalchemy.NullPool)
        patience = time.monotonic() + 20
        for _ in range(600):
            try:
                engine.connect().close()
            except sqlalchemy.exc.OperationalError as error:
                if self._process.poll() is not None:
                    if time.monotonic() > patience:
                        raise NoServer(str(error.orig)) from error
                    time.sleep(0.5)  # processes of one that was killed may still hold its memory
                    self._launch(words)
                time.sleep(0.05)
            else:
                return
        self.stop(signal.SIGKILL)
        raise NoServer("it does not answer")

    def _launch(self, words):
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self._how)

    def stop(self, how=signal.SIGINT):
        """SIGINT: at once, whoever is connected. SIGQUIT: without writing anything down, as ``pg_ctl stop -m immediate``."""
        self._process.send_signal(how)
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def cluster(**settings):
    """A running server, gone after the block."""
    reasons = []
    for bin_folder in programs():
        with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:  # a socket's path may not be long
            try:
                made = Cluster(bin_folder, folder, **settings)
            except NoServer as error:
                reasons.append(f"{bin_folder}: {error}")
                continue
            try:
                yield made
            finally:
                made.stop()
            return
    raise NoServer("; ".join(reasons) or "no programs found")


def execute(url, statement):
    """One statement, committed at once; its rows."""
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        found = connection.exec_driver_sql(statement)
        return found.all() if found.returns_rows else []


@contextmanager
def empty_database(server):
    """The URL of an empty database, gone after the block."""
    name = f"replical_test_{secrets.token_hex(6)}"
    execute(server, f"CREATE DATABASE {name}")
    yield sqlalchemy.make_url(server).set(database=name).render_as_string(hide_password=False)
    execute(server, f"DROP DATABASE {name} WITH (FORCE)")
