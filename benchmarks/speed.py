"""How fast, in one run: every figure beside its goal, the limit of this machine and the last record.

    python benchmarks/speed.py [--record] [--only PART ..]        # make bench
    python benchmarks/speed.py --page                             # the tables of docs/explanation/performance.md

runs the benchmarks of speed one after the other, each in a process of its own, takes from each the figures that are
promised, and prints them beside their goals and beside the last file of benchmarks/history. Figures are ratios within the
run, or bounds with much room: seconds of another machine are not comparable, so the record says which machine it was.
`--record` adds a file to the history. About six minutes on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HISTORY = HERE / "history"
POOLS = (10**5, 10**6, 10**7)  # items, for the growth of handicap on thresholds


@dataclass(frozen=True)
class Figure:
    """A number that is promised: `goal` is the smallest, or with `most` the largest, that keeps it; None: no promise."""

    what: str
    value: float
    unit: str
    goal: float | None = None
    most: bool = False

    @property
    def kept(self) -> str:
        if self.goal is None:
            return ""
        return "yes" if (self.value <= self.goal if self.most else self.value >= self.goal) else "no"

    @property
    def cells(self) -> list[str]:
        bound = "" if self.goal is None else f"{'≤' if self.most else '≥'} {written(self.goal, self.unit)}"
        return [self.what, written(self.value, self.unit), bound, self.kept]


def written(value: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * value:.0f}%"
    return f"{value:.3g}{'×' if unit == '×' else f' {unit}' if unit else ''}"


def of_kernels(found: dict[str, Any]) -> Iterator[Figure]:
    kernel = {each["kernel"]: each for each in found["kernels"]}
    full, read = kernel["disagreement, all of it agreed"], found["limits"]["read_1"]
    size = "10⁴ hypotheses × 10⁵ items"
    yield Figure("reading memory, one thread", read / 1e9, "GB/s")
    yield Figure(f"disagreement, {size}, share of reading, numba", full["bytes"] / full["numba"] / read, "%", goal=0.75)
    yield Figure("the same, NumPy alone", full["bytes"] / full["numpy"] / read, "%", goal=0.40)
    early = kernel["disagreement, early exit"]
    yield Figure("the same with early exit, numba", 1e3 * early["numba"], "ms", goal=2, most=True)
    errors = kernel["errors on 1,000 labels"]
    yield Figure(
        "errors of 10⁵ on 1,000 labels, times boolean NumPy, numba", errors["plain"] / errors["numba"], "×", goal=500
    )
    yield Figure("the same, NumPy alone", errors["plain"] / errors["numpy"], "×")
    yield Figure(
        "largest memory of a run on 10⁵ × 10⁵", max(run["peak_mb"] for run in found["runs"]) / 1e3, "GB", 3, True
    )
    for run in found["runs"]:
        goal = 3 if run["learner"] == "handicap" else 2
        yield Figure(f"one label at 10⁵ × 10⁵, {run['learner']}, median", run["median_ms"], "ms", goal=goal, most=True)
        yield Figure(
            f"the same, worst after the first ({run['labels']} labels)", run["worst_ms"], "ms", goal=150, most=True
        )


def of_pairs(found: dict[str, Any]) -> Iterator[Figure]:
    def row(operation: str, back_end: str, threads: int) -> dict[str, Any]:
        this: dict[str, Any] = next(
            each
            for each in found["rows"]
            if (each["operation"].split(",")[0].split()[0], each["back end"], each["threads"])
            == (operation, back_end, threads)
        )
        return this

    one, two = row("all", "numba", 1), row("all", "numba", 2)
    yield Figure(
        "all distances of 10⁴ × 10⁴, share of counting bits, one thread", one["share of the limit"], "%", goal=0.55
    )
    yield Figure("two threads against one", one["seconds"] / two["seconds"], "×", goal=1.7)
    yield Figure(
        "Θ of 10⁴ half-spaces on 10⁴ items, in full, one thread", row("theta", "numba", 1)["seconds"], "s", 2.15, True
    )
    yield Figure("the same, times the plain way", row("theta", "numba", 1)["times faster"], "×", goal=40)
    yield Figure(
        "packing half-spaces, times the plain way, one thread", row("packing", "numba", 1)["times faster"], "×", 20
    )
    yield Figure("the same, NumPy alone", row("packing", "numpy", 1)["times faster"], "×")


def of_tables(found: dict[str, Any]) -> Iterator[Figure]:
    row = {(each["file"], each["way"]): each for each in found["rows"]}
    packed, bare, run = (row[".parquet", way] for way in ("packed", "bare", "run"))
    yield Figure("Parquet, 10⁶ items × 1,000 candidates, to a ready pool", packed["seconds"], "s", goal=12, most=True)
    yield Figure("the same, memory", packed["peak_bytes"] / 1e9, "GB", goal=1, most=True)
    yield Figure("the same, times pyarrow's bare reading", packed["seconds"] / bare["seconds"], "×")
    yield Figure(f"replical run on it, {run['found']:,} labels", run["seconds"], "s")
    yield Figure("the same, memory", run["peak_bytes"] / 1e9, "GB")


def of_structured(found: dict[str, Any]) -> Iterator[Figure]:
    for each in found["everyday"]:
        what = f"{each['class']} on {each['items']} items, {each['learner']}, {each['labels']} labels"
        stumps = each["class"].startswith("stumps") and each["noise"] == "0"
        yield Figure(what, each["prepare"] + each["run"], "s", goal=10 if stumps else None, most=True)
        yield Figure("the same, memory", each["MB"] / 1e3, "GB", goal=2 if stumps else None, most=True)
    for name, growth in found["growth"].items():
        yield Figure(f"handicap, time grows with {name} to the power", growth["exponent"], "")


def of_startup(found: dict[str, Any]) -> Iterator[Figure]:
    row = {each["name"]: each for each in found["rows"]}
    yield Figure("import numpy", row["import numpy"]["seconds"], "s")
    yield Figure("import replical, which leaves numpy for later", row["import replical"]["seconds"], "s", 0.08, True)
    yield Figure("from replical import *, numpy and all", row["from replical import *"]["seconds"], "s")
    yield Figure("replical --version", row["replical --version"]["seconds"], "s", goal=0.15, most=True)
    for name in ("replical --help", "replical plan", "replical verify", "replical run"):
        yield Figure(name, row[name]["seconds"], "s")


def of_peers(found: dict[str, Any]) -> Iterator[Figure]:
    for size in found["sizes"]:
        for each in size["peers"]:
            yield Figure(f"{size['models']:,} models, {size['items']:,} items, {each['who']}", each["median_ms"], "ms")


def of_pools(found: list[dict[str, Any]]) -> Iterator[Figure]:
    for each in found:
        yield Figure(f"handicap, 20,000 thresholds, {each['pool']:,} items, a pair", each["pair_seconds"], "s")
    for one, two in pairwise(found):
        power = log(two["pair_seconds"] / one["pair_seconds"]) / log(two["pool"] / one["pool"])
        yield Figure(f"from {one['pool']:,} to {two['pool']:,} items it grows to the power", power, "")


def script(name: str, *words: str) -> Any:
    """What a benchmark writes with ``--json``."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        subprocess.run([sys.executable, str(HERE / f"{name}.py"), *words, "--json", str(file)], check=True)
        return json.loads(file.read_text())


def pools() -> list[dict[str, Any]]:
    sizes = [{"spec": "thresholds:20000", "learner": "handicap", "pool": pool, "noise": "0"} for pool in POOLS]
    words = [[sys.executable, str(HERE / "scale.py"), "--one", json.dumps(size)] for size in sizes]
    return [json.loads(subprocess.run(each, check=True, capture_output=True).stdout) for each in words]


PARTS: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Iterator[Figure]]]] = {
    "startup": ("Starting", lambda: script("startup"), of_startup),
    "kernels": ("Kernels and runs on a table of 10⁵ × 10⁵", lambda: script("kernels"), of_kernels),
    "pairs": ("Distances, Θ, half-spaces", lambda: script("pairs"), of_pairs),
    "tables": ("Reading tables", lambda: script("tables", "--skip-integers"), of_tables),
    "structured": ("Classes without a matrix, one lab", lambda: script("structured"), of_structured),
    "pools": ("Growth with the pool", pools, of_pools),
    "peers": ("One label, the median of 40, beside other libraries", lambda: script("peer_times"), of_peers),
}


def machine() -> dict[str, Any]:
    import numpy as np

    from replical import __version__
    from replical.core.parallel import cores

    known = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    named = [line.split(":")[1].strip() for line in known if line.startswith("model name")]
    name = (named or [platform.processor()])[0]
    return {"processor": name, "cores": cores(), "python": platform.python_version(), "numpy": np.__version__,
            "replical": __version__}  # fmt: skip


def latest() -> dict[str, Any] | None:
    """The last record."""
    files = sorted(HISTORY.glob("*.json"))
    return json.loads(files[-1].read_text()) if files else None


def figures(record: dict[str, Any]) -> dict[str, list[Figure]]:
    """Everything a record says, by part."""
    return {part: [Figure(**each) for each in found] for part, found in record["figures"].items()}


def table(found: list[Figure], before: list[Figure] | None = None) -> list[str]:
    """The lines of a Markdown table; beside an earlier record where there is one."""
    old = {(each.what, place): each for place, each in enumerate(before or [])}
    head = ["figure", "measured", "goal", "kept"] + (["last record"] if before else [])
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for place, each in enumerate(found):
        earlier = old.get((each.what, place))
        last = [written(earlier.value, earlier.unit) if earlier else ""] if before else []
        lines.append(f"| {' | '.join([*each.cells, *last])} |")
    return lines


def page(record: dict[str, Any]) -> str:
    """Every table of a record, with headings."""
    parts = figures(record)
    return "\n".join(line for part in parts for line in (f"### {PARTS[part][0]}", "", *table(parts[part]), ""))


def main() -> None:
    """Run the parts, print their tables, keep a record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="add a file to benchmarks/history")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--page", action="store_true", help="print the last record as Markdown, run nothing")
    given = parser.parse_args()
    last = latest()
    if given.page:
        print(page(last) if last else "there is no record", end="")
        return
    before, found = figures(last) if last else {}, {}
    for part in given.only:
        print(f"== {part}", flush=True)
        _, run, read = PARTS[part]
        found[part] = list(read(run()))
    for part, here in found.items():
        print("\n".join(["", f"### {PARTS[part][0]}", "", *table(here, before.get(part))]))
    missed = [each.what for here in found.values() for each in here if each.kept == "no"]
    print(f"\n{len(missed)} goals missed" + (": " + "; ".join(missed) if missed else ""))
    if given.record:
        HISTORY.mkdir(exist_ok=True)
        record = {"schema": "replical.benchmark/1", "date": date.today().isoformat(), "machine": machine()}
        record["figures"] = {part: [each.__dict__ for each in here] for part, here in found.items()}
        (HISTORY / f"{len(list(HISTORY.glob('*.json'))) + 1:04}.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
