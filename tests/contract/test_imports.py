"""Importing the library is cheap and changes nothing."""

import subprocess
import sys

HEAVY = {
    "scipy",
    "typer",
    "rich",
    "pyarrow",
    "matplotlib",
    "sklearn",
    "torch",
    "numba",
    "dask",
    "sqlalchemy",
    "multiprocessing.pool",
}


def test_import_loads_numpy_and_little_else():
    code = "import sys; import replical; print(*sorted(m for m in sys.modules if '.' not in m or m == 'multiprocessing.pool'))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "numpy" in loaded
    assert not loaded & HEAVY


def test_import_leaves_global_random_state_alone():
    code = "import random, numpy as np; r, n = random.getstate(), np.random.get_state()[1].tolist(); import replical; assert random.getstate() == r and np.random.get_state()[1].tolist() == n"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names_are_all_there():
    import replical

    for name in replical.__all__:
        assert getattr(replical, name) is not None
    for name in ("SharedRandomness", "PrivateRandomness", "Thresholds", "Intervals", "Star", "PredictionTable", "Pool",
                 "Population", "VersionSpace", "ERM", "CAL", "RepliCAL", "theta", "plan", "learn", "audit"):  # fmt: skip
        assert name in replical.__all__
