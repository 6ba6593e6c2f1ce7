"""On a stranger's machine: without any extra, and without what only Linux and macOS have."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from replical.errors import EXTRAS, BadJournal
from replical.lab.journal.journal import Journal

ROOT = Path(__file__).parents[2]
PACKAGES = [*EXTRAS, "h11", "numba", "torch", "pandas", "polars", "psycopg"]
# What Windows has not, and a stand-in for its module of locks.
WINDOWS = """
import multiprocessing.pool, os, signal, subprocess, types  # which look for msvcrt themselves
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for module, names in ((os, "sysconf sched_getaffinity register_at_fork getuid fork statvfs O_NOFOLLOW"), (signal, "pthread_sigmask")):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=lambda *words: None)
"""
AUDIT = "paper audit --class thresholds:9 --learner erm --epsilon .2 --pool-size 99 --pairs 2 --seed s".split()  # noqa: SIM905
FEWER = "from replical.cli import demo, main\ndemo.ITEMS = 2000\n"


def python(words, folder, before=""):
    blocked = f"import sys\nfor name in {PACKAGES}: sys.modules[name] = None\n"
    end = f"sys.exit(next((code for each in {words!r} if (code := main(each))), 0))"
    return subprocess.run(
        [sys.executable, "-c", blocked + before + FEWER + end], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("before", ["", WINDOWS], ids=["no extra", "Windows"])
def test_from_two_labs_tables_to_a_proof_with_the_core_alone(tmp_path, before):
    from replical.cli.demo import COMMANDS

    done = python([["demo", "--files", "labs"]], tmp_path, before)
    assert done.returncode == 0, done.stderr
    words = [line.split()[1:] + ["--truths", "0"] * (" run " in line) for line in COMMANDS]
    done = python(words, tmp_path / "labs", before)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "2 of 2 are certified" in done.stdout


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["init", "--pool", "a.parquet"], "lab"),
        (["board", "a.csv"], "lab"),
        (["lab", "keys", "new", "--out", "north.pem"], "sign"),
        (["run", "protocol.toml", "--pool", "a.csv", "--ask", "page", "--journal", "a.db", "--out", "a.json"], "lab"),
        (["paper", "study", str(ROOT / "studies" / "many-labs.toml"), "--quick", "--out", "study"], "lab"),
        ([*AUDIT, "--cluster", "local:1"], "study"),
    ],
)
def test_a_command_that_needs_an_extra_says_which_in_one_sentence(tmp_path, words, extra):
    (tmp_path / "a.csv").write_text("id,m1,m2,label\n1,no,yes,no\n2,yes,no,no\n")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    first = [["init", "--pool", "a.csv"]] if words[0] == "run" else []
    done = python([*first, words], tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert f"pip install 'replical[{extra}]'" in done.stderr.splitlines()[-1]


def test_extras_are_those_of_the_package():
    """Each has what its sentence promises; OpenDP comes only when it is asked for by name."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    needs = {extra: " ".join(about[extra]).lower() for extra in about}
    for package, extra in EXTRAS.items():
        assert {"sklearn": "scikit-learn"}.get(package, package) in needs[extra] + needs["plot"]
    assert "private" not in re.findall(r"[a-z]+", needs["all"])


def test_where_there_is_no_flock_windows_locks_the_journal(tmp_path, monkeypatch):
    held = []

    class Windows:
        LK_NBLCK = 2

        @staticmethod
        def locking(number, how, size):
            if held:
                raise PermissionError(13, "Permission denied")
            held.append((how, size))

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", Windows)
    with Journal(tmp_path / "a.db"), pytest.raises(BadJournal, match="another runner is using the journal"):
        Journal(tmp_path / "a.db").__enter__()
    assert held == [(2, 1)]
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    with pytest.raises(BadJournal, match="locks no files.* or the URL of a PostgreSQL database"):
        Journal(tmp_path / "b.db").__enter__()
