"""The benchmarks run as they are."""

import json
import os
import subprocess
import sys

from support.paths import ROOT


def test_the_cost_benchmark_runs(tmp_path):
    """The quick form, as in continuous integration; it draws its figure too."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "cost_of_replicability.py"), "--quick", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        env=os.environ | {"MPLCONFIGDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "cost-of-replicability.json").read_text())
    assert len(found["worlds"]) == 3
    for world in found["worlds"]:
        assert world["disagreement"]["rounded"] <= world["disagreement"]["unrounded at the same stop"]
    for suffix in ("svg", "png", "md"):
        assert (tmp_path / f"cost-of-replicability.{suffix}").stat().st_size > 500
