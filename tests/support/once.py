"""Work that is done once for all processes of a run."""

import fcntl
import os


def once(tmp_path_factory, name, make):
    """A folder that `make` has filled; whichever process comes first fills it, the others wait.

    Tests of one file may run in several processes, each with fixtures of its own.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"once {name}"
    folder.mkdir(exist_ok=True)
    done = folder / "done"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder
