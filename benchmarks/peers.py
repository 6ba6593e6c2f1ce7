"""Peers, side by side in one run: how many labels, do two labs agree, how good is the answer, how long does it take?

    pip install "replical[peers,plot]"
    python benchmarks/peers.py [--quick] [--workers W] [--out DIR] [--json FILE]

Four sets of models from benchmarks/model_sets.py: even or odd digits, breast cancer, and two generated worlds, overlapping
moons with near-ties and a noisy one. Two labs draw their own pools from a set's population, with the strings of
benchmarks/choosing.py; 100 public items that belong to no lab are shown to everybody, and put the candidates in a public
order. Everybody then labels items of the pool:

- ours: `handicap` and `a2` (as in benchmarks/choosing.py), until they stop by themselves;
- `argmax` by definition, the same with errors on the public items counted too, and Model Picker
  (benchmarks/model_picker.py);
- scikit-activeml: random, uncertainty, and query by committee with the candidates as the committee (entropy of votes);
- Vowpal Wabbit's active mode.

Who has no stopping rule gets a budget: 100 labels, and 500. An answer is the candidate with the fewest errors on the labels
asked, ties by the public order (errors count as much as the peer weighs the label; only Model Picker and Vowpal Wabbit
weigh). Two libraries are made to train a new model, so their answers are also measured that way: a logistic regression on
300 kernel features (scikit-activeml, refitted after every ten labels), and Vowpal Wabbit's linear model on the same
features. Both start from the public items.

*Labels to reach ε* (and .01): after so many the current answer is that near to the best candidate and stays so up to the
largest budget; it takes hindsight, as a lab does not know its errors. For ours it is where they stopped by themselves.
*Agree*: two labs of one string have the same candidate, or new models that say the same about every row of the population.

Writes DIR/peers.json, .md, .svg and .png. Worlds that are done are kept in DIR/peers-parts until the end, so that an
interrupted run goes on from there if it is started again. A peer that is not installed is left out and named.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from itertools import groupby
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

from choosing import SETTING, about, all_runs, figures, kept, key, models_of, say
from peer_askers import MELLOWNESS
from peer_labs import KERNEL, MODEL, OURS, TARGETS, Beside, Peers, Size, kernel_features
from peer_tables import figure, tables
from peer_times import measure
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator
from speed import machine
from threadpoolctl import threadpool_limits

from replical.sklearn import ReplicableClassifier

WORLDS = ("even-odd-240", "breast-200", "moons-200", "two-classes-80")
PACKAGES = {"scikit-activeml": "skactiveml", "vowpalwabbit": "vowpalwabbit", "modAL-python": "modAL"}


def activeml() -> Any:
    from skactiveml.classifier import SklearnClassifier

    return SklearnClassifier(LogisticRegression())


def modal() -> Any:
    from modAL.models import ActiveLearner

    return ActiveLearner(LogisticRegression())


def wabbit() -> Any:
    from vowpalwabbit.sklearn import VWClassifier

    return VWClassifier()


CHECKED: dict[str, Callable[[], Any]] = {
    "replical.sklearn.ReplicableClassifier": lambda: ReplicableClassifier("halfspaces", count=300, seed="checks"),
    "skactiveml.classifier.SklearnClassifier": activeml,
    "modAL.models.ActiveLearner": modal,
    "vowpalwabbit.sklearn.VWClassifier": wabbit,
}
QUICK = Size(items=300, strings=2, budgets=(20, 40), batch=10, timed=(500,), timed_labels=3)


def summary(runs: Iterable[Beside]) -> list[dict[str, Any]]:
    """One entry for each method and order."""
    found = []
    for (method, order), some in groupby(sorted(runs, key=key), key=key):
        here = list(some)
        told: dict[str, Any] = {"method": method, "order": order, **figures(list(here))}
        told["alike_mean"] = sum(each.alike for each in here) / len(here)
        told["reached"] = [reached([each.reached[place] for each in here]) for place in range(len(TARGETS))]
        found.append(told)
    return found


def reached(labels: list[int | None]) -> dict[str, Any]:
    """The median, None if half of the labs or more did not get there; and how many did not."""
    middle = median([inf if each is None else each for each in labels])
    return {"median": None if middle == inf else middle, "never": labels.count(None)}


def world(path: Path, name: str, size: Size, installed: tuple[str, ...], workers: int) -> list[Beside]:
    """All runs in one world, from the file if they are there; a dot is a string."""

    def work() -> dict[str, Any]:
        models, started = models_of(name), time.perf_counter()
        assert models.features is not None
        with threadpool_limits(limits=1):
            labs = Peers(
                models, size.items, OURS, size=size, installed=installed, kernel=kernel_features(models.features)
            )
        say(f"{name} ", end="")
        runs = [asdict(run) for run in all_runs(labs, size.strings, workers)]
        say(f" {time.perf_counter() - started:.0f} s")
        return {"runs": runs}

    setting = {**SETTING, "model": MODEL, "kernel": KERNEL, "mellowness": MELLOWNESS, "installed": installed}
    setting = json.loads(json.dumps({**setting, "name": name, "size": asdict(size)}))
    return [Beside(**run) for run in kept(path, setting, work)["runs"]]


def times(size: Size) -> list[dict[str, Any]]:
    found = []
    for items in size.timed:
        say(f"time of a label, {items:,} items")
        found.append({"items": items, "peers": measure(items, size.timed_labels)})
    return found


def checks() -> list[dict[str, Any]]:
    """What scikit-learn's own checks find, where an estimator can be made without anything but itself."""
    say("scikit-learn's checks")
    found = []
    for who, make in CHECKED.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = check_estimator(make(), on_skip=None, on_fail=None)
        except ImportError as missing:
            found.append({"who": who, "missing": missing.name})
        except AttributeError as error:  # the checks themselves could not start
            found.append({"who": who, "error": str(error)})
        else:
            found.append({"who": who, **Counter(each["status"] for each in results)})
    return found


def measured(quick: bool, workers: int, out: Path) -> dict[str, Any]:
    """Run everything; what is done is kept below `out`."""
    begun = time.perf_counter()
    size, names = (QUICK, WORLDS[1:2]) if quick else (Size(), WORLDS)
    installed = tuple(module for module in PACKAGES.values() if find_spec(module))
    found: dict[str, Any] = {
        "schema": "replical.benchmark/1",
        "setting": {**SETTING, "targets": TARGETS, "model": MODEL, "kernel": KERNEL, "mellowness": MELLOWNESS},
        "size": asdict(size),
        "versions": {name: version(name) for name, module in PACKAGES.items() if module in installed},
        "left_out": [name for name, module in PACKAGES.items() if module not in installed],
        "machine": machine(),
    }
    parts = out / "peers-parts"
    runs, found["worlds"] = list[Beside](), list[dict[str, Any]]()
    for name in names:
        here = world(parts / f"{name}.json", name, size, installed, workers)
        runs += here
        found["worlds"].append({**about(models_of(name)), "figures": summary(here)})
    found["totals"] = summary(runs)
    found["times"] = times(size)
    found["checks"] = checks()
    found["minutes"] = (time.perf_counter() - begun) / 60
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one world, two strings, small pools")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder for what is written")
    parser.add_argument(
        "--measured", type=Path, help="figures of an earlier run: only tables and pictures are made anew"
    )
    parser.add_argument("--json", type=Path, help="write the figures here too")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    path = given.out / "peers"
    if given.measured:
        found = json.loads(given.measured.read_text(encoding="utf-8"))
    else:
        found = measured(given.quick, given.workers, given.out)
    given.out.mkdir(parents=True, exist_ok=True)
    for file in filter(None, (path.with_suffix(".json"), given.json)):
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(tables(found), encoding="utf-8")
    figure(found, path)
    shutil.rmtree(given.out / "peers-parts", ignore_errors=True)
    print(tables(found))


if __name__ == "__main__":
    main()
