"""The test that a row of the map names notices when what the row is about is broken.

Each mutant changes one thing in a copy of the package, as small as a slip, and runs the row's own test.
"""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from contract.test_paper import ROWS
from support.paths import ROOT

NAMED = {row[0]: row[3].strip("`") for row in ROWS}
CAL, A2, ERM = (f"learners/paper/{name}.py" for name in ("cal", "a2", "replicable_erm"))
REPLICAL, REPLICA2, BOOSTING = (f"learners/paper/{name}.py" for name in ("replical", "replica2", "boosting"))
SUBROUTINES, COMPLEXITY, THETA = "bounds/subroutines.py", "bounds/complexity.py", "worlds/theta.py"
PRIVATE = 'SharedRandomness(__import__("secrets").token_hex())'
MUTANTS = {
    # background
    "def.delta": ("pools/version_space.py", "self._undecided_weight - int(", "self._undecided_weight - 0 * int("),
    "def.ball": (THETA, "distances[0] <= math.floor", "distances[0] < math.floor"),
    "def.replicable": ("worlds/labs.py", 'return f"{seed} / pair {number}"', 'return f"{seed} / pair"'),
    "rem.star": ("classes/star.py", "[:, None] - 1 == items", "[:, None] == items"),
    "com.rstat": (SUBROUTINES, "offset + (cell + Fraction(1, 2)) * self.alpha", "mean + 0 * offset"),
    # CAL, A², the passive learner
    "alg1.1": (CAL, "2 * task.theta * ln(task.n * task.rounds /", "2 * task.theta * ln(task.n /"),
    "alg1.3": (CAL, "while V.mass > plan.stop_mass", "while 2 * V.mass > plan.stop_mass"),
    "alg1.6": (CAL, "V.errors(S) == 0", "V.errors(S) <= 1"),
    "alg1.7": (CAL, "most is not None and rounds >= most", "most is not None and rounds > most"),
    "alg2.2a": ("pools/scan.py", "self._draw(V, V.disputed, k if", "self._draw(V, np.flatnonzero(self._weights), k if"),
    "alg2.2c": (A2, "floor(2 * self.k * self[\"width\"])", "floor(self.k * self[\"width\"])"),
    "alg2.5": (A2, "V.keep(errors == errors.min())", "V.keep(errors <= errors.min() + 1)"),
    "erm.threshold": (ERM, 'above = fewest if self["nu"] else 0', "above = 0"),
    "erm.return": (ERM, "plan.most(shared, fewest)", f"plan.most({PRIVATE}, fewest)"),
    # RepliCAL
    "alg3.1": (REPLICAL, "rho = task.rho / N  #", "rho = task.rho  #"),
    "alg3.4": (REPLICAL, '* grid_position(shared, self.integer("m"))', "/ 2"),
    "alg3.10": (REPLICAL, "return floor(self.k * v)", "return ceil_of(self.k * v)"),
    "alg3.12": (REPLICAL, "return scan.draw(V, k if", "return scan.anywhere(V, k if"),
    "alg3.16": (REPLICAL, "floor(k * self.epsilon * v / mass) if mass", "floor(k * v) if mass"),
    "alg3.19": (REPLICAL, "hypothesis=V.first(shared, plan.prior)", "hypothesis=int(V.indices[0])"),
    "rem.terminal": (REPLICAL, "hypothesis=V.first(shared, plan.prior)", "hypothesis=before.first(shared, plan.prior)"),
    "lem2": (REPLICAL, "v = plan.threshold(shared)", f"v = plan.threshold({PRIVATE})"),
    "thm1": (REPLICAL, "hypothesis=V.first(shared, plan.prior)", f"hypothesis=V.first({PRIVATE}, plan.prior)"),
    "prf1.large": (THETA, "fraction(r) * metric.total", "fraction(r) * metric.total / 2"),
    "prf2.close": ("worlds/audit.py", "return 1 - common / (one.V.size", "return 2 - common / (one.V.size"),
    "prf2.bad1": ("study/theorem.py", "rho / 30 * below", "rho / 15 * below"),
    "prf2.bad2": ("study/theorem.py", "exp(place - i) * below", "exp(place - i - 1) * below"),
    "prf2.parts": (REPLICAL, "m**2 / T *", "m / T *"),
    "prf2.rounds": (REPLICAL, "return floor(self.k * v)", "return floor(self.k * v / 2)"),
    "prf2.sum": ("study/theorem.py", "each > i", "each >= i"),
    "prf2.rho": (REPLICAL, "rho = task.rho / N  #", "rho = task.rho / (N + 1)  #"),
    "prfT1.total": (REPLICAL, "return self.k * self.rounds_most + self.integer", "return self.k + self.integer"),
    # boosting
    "boost.find": (SUBROUTINES, "times >= threshold * sizes.counted", "2 * times >= threshold * sizes.counted"),
    "boost.delta": (BOOSTING, "fraction(task.delta) / (K * (", "fraction(task.delta) / (1 * ("),
    # ReplicA²
    "alg4.3": (A2, '["final_scale"] * mass**2', '["final_scale"] * mass'),
    "alg4.12": (REPLICA2, 'self.k * (v + self["nu_bar"] / mass)', "self.k * v"),
    "alg4.15": (REPLICA2, "low + (high - low) * position", "high - (high - low) * position"),
    "alg4.20": (REPLICA2, "int(errors.min())", "0"),
    "alg4.23": (REPLICA2, "hypothesis=V.first(shared, plan.prior)", "hypothesis=int(V.indices[0])"),
    "thm2": (REPLICA2, "hypothesis=V.first(shared, plan.prior)", f"hypothesis=V.first({PRIVATE}, plan.prior)"),
    "lem4": (REPLICA2, "position = plan.position(shared)", f"position = plan.position({PRIVATE})"),
    "prf3.smallest": (REPLICA2, "v = (1 + 2 * position)", "v = 0 * (1 + 2 * position)"),
    "prf4.rounds": (REPLICA2, "v = (1 + 2 * position)", "v = (1 + position)"),
    "prf4.tolerance": (REPLICA2, "max(L, ln(64 * task.n / rho))", "L"),
    # bounds and outlooks
    "eq.CAL": (COMPLEXITY, "_log(n * rounds, delta)\n", "_log(n, delta)\n"),
    "fut.privacy": ("lab/release.py", "(-decimal(epsilon)).exp()", "(-2 * decimal(epsilon)).exp()"),
}  # fmt: skip


def ran(test, src, *words, **environment):
    """The test of a row in a process of its own, on some copy of the package."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *words, f"tests/{test}"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (src, ROOT / "tests")))} | environment
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.nightly
@pytest.mark.parametrize("name", MUTANTS)
def test_the_test_of_a_row_notices(name, tmp_path):
    file, before, after = MUTANTS[name]
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    module = tmp_path / "src" / "replical" / file
    text = module.read_text(encoding="utf-8")
    assert before in text
    module.write_text(text.replace(before, after), encoding="utf-8")
    compile(module.read_text(encoding="utf-8"), str(module), "exec")
    done = ran(NAMED[name], tmp_path / "src")
    assert done.returncode == 1, f"{NAMED[name]}: {done.stdout[-300:]}"


ROWS_OF = {test: [row for row in ROWS if row[3].strip("`") == test and ":" in row[2]] for test in NAMED.values()}


@pytest.mark.nightly
@pytest.mark.parametrize("test", sorted(test for test, rows in ROWS_OF.items() if rows and test[0] in "ul"))
def test_the_test_of_a_row_runs_what_the_row_names(test, tmp_path):
    """Units and laws; the others take long while functions are counted."""
    done = ran(test, ROOT / "src", "-p", "support.recorder", RECORD=str(tmp_path / "ran"))
    assert done.returncode == 0, done.stdout[-300:]
    functions = json.loads((tmp_path / "ran").read_text("utf-8"))
    for name, _, named, *_ in ROWS_OF[test]:
        for each in re.findall(r"`([\w.]+:[\w.]+)`", named):
            module, _, attribute = each.partition(":")
            own = [one.partition(":")[2] for one in functions if one.partition(":")[0] == module]
            inherited = "." in attribute and any(one.endswith(f".{attribute.rpartition('.')[2]}") for one in own)
            assert inherited or any(f"{one}.".startswith(f"{attribute}.") for one in own), f"{name}: {each}"
