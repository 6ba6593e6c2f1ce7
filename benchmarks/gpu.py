"""What a graphics card adds: predictions, distances and the disagreement coefficient.

    PYTHONPATH=src python3 benchmarks/gpu.py [--quick] [--json FILE] [--device cuda|cuda:N|cpu]

needs NumPy, SciPy and PyTorch, numba for its column, and a card with 64 GB for the full sizes; it takes some minutes.
Seconds are the best of a few repetitions after one to warm up, and end when the card has finished. NumPy's version runs on
a part, on all cores where it can, numba's in full but for distances, on two cores; what is scaled up is marked ~. Every row
compares the card's results with numba's, and a sample of them with NumPy's, bit by bit, and the script ends with exit code 1
if any differs. `--quick` runs small sizes on any device, to see that it works.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from replical.classes.halfspaces import HalfSpaces, gaussians
from replical.classes.predictions.packed import PackedPredictions
from replical.core import bits
from replical.core.kernels import backend, pairs
from replical.core.kernels.signs import signs
from replical.core.parallel import cores
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.gpu import device
from replical.gpu import kernels as torch_pairs
from replical.gpu import kernels as torch_signs
from replical.pools.pool import Pool
from replical.worlds.theta import measure, theta

REPEATS = 3
GOALS = {"predictions, d = 3, on the card": 0.2, "all pairwise distances": 2.0}
Row = dict[str, Any]


def seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The best of a few repetitions, after one to warm up, until the device has finished."""
    torch, best = device.pytorch(), np.inf
    for number in range(repeats + 1):
        _wait(torch)
        started = time.perf_counter()
        work()
        _wait(torch)
        if number:
            best = min(best, time.perf_counter() - started)
    return best


def once(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@contextmanager
def numba_on_two_cores() -> Iterator[None]:
    """numba's kernels, held to two cores where the system allows it."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else None
    if before is not None:
        os.sched_setaffinity(0, sorted(before)[:2])
    try:
        with backend.using("numba"):
            yield
    finally:
        if before is not None:
            os.sched_setaffinity(0, before)


def on_numba(work: Callable[[], Any], repeats: int = 1) -> tuple[float | None, Any]:
    """The best of `repeats` after one to compile, and the result; nothing where numba is not there."""
    if backend.trouble() is not None:
        return None, None
    best = np.inf
    with numba_on_two_cores():
        work()
        for _ in range(repeats):
            started = time.perf_counter()
            result = work()
            best = min(best, time.perf_counter() - started)
    return best, result


def _wait(torch: Any) -> None:
    if device.name() != backend.CPU:
        torch.cuda.synchronize(device.name())


def row(
    name: str, size: str, card: float, numpy: float, part: int, same: bool, numba: float | None, of: float = 1
) -> Row:
    """One line: `numpy` seconds were measured on one of `part` parts, those of `numba` on one of `of`."""
    told = {"what": name, "size": size, "device_s": card, "numpy_s": numpy * part, "scaled_by": part}
    told |= {"numba_s": None if numba is None else numba * of, "numba_scaled_by": of, "equal": same}
    compiled = "" if numba is None else _beside("numba", numba, of, card)
    goal = f"  goal {GOALS[name]:g} s, 100 x numba" if name in GOALS and size.startswith("100,000") else ""
    print(f"{name:<44} {size:<18} {card:>9.4f} s{_beside('NumPy', numpy, part, card)}{compiled}   "
          f"{'equal' if same else 'DIFFERENT'}{goal}", flush=True)  # fmt: skip
    return told


def _beside(name: str, taken: float, part: float, card: float) -> str:
    return f"   {name} {'~' if part > 1 else ' '}{taken * part:>9.3f} s {taken * part / card:>7.0f} x"


# ---- predictions ----


def points_of(count: int, dimensions: int) -> Any:
    """So many items with standard normal features, on a grid of 2^-20."""
    drawn = gaussians(SharedRandomness("points"), "points", count=count * dimensions)
    return np.round(drawn.reshape(count, dimensions) * 2**20) / 2**20


def predictions(n: int, m: int, dimensions: int) -> Iterator[Row]:
    """Signs of m points over n planes: on the card, and with the way to it and back."""
    C = HalfSpaces(dimensions, n, seed="benchmark")
    X = points_of(m, dimensions)
    X[0], C.normals[0], C.offsets[0] = 0.0, 0.0, 0.0  # some heights are exactly zero
    points, factors, starts = device.send(X), device.send(C.normals), device.send(-C.offsets)
    size = f"{n:,} x {m:,}"
    card = seconds(lambda: torch_signs.packed_signs(points, factors, starts))
    part = max(1, m // 500)
    some = np.unique(np.linspace(0, m - 1, max(1, m // part)).astype(np.int64))
    expected = np.zeros((len(some), bits.words_for(n)), dtype=np.uint64)
    with backend.using("numpy"):
        numpy = once(lambda: signs(X[some], C.normals, -C.offsets, expected))
    found = torch_signs.packed_signs(points, factors, starts)[device.send(some)].cpu().numpy().view(np.uint64)
    same = bool((found == expected).all())
    compiled = np.zeros((m, bits.words_for(n)), dtype=np.uint64)
    numba, _ = on_numba(lambda: signs(X, C.normals, -C.offsets, compiled))
    out = np.zeros((m, bits.words_for(n)), dtype=np.uint64)
    if numba is not None:
        same &= bool(
            (torch_signs.packed_signs(points, factors, starts).cpu().numpy().view(np.uint64) == compiled).all()
        )
    yield row(f"predictions, d = {dimensions}, on the card", size, card, numpy, part, same, numba)

    def there_and_back() -> None:
        with backend.using("torch"):
            signs(X, C.normals, -C.offsets, out)

    card = seconds(there_and_back, 1)
    yield row(f"predictions, d = {dimensions}, and back in memory", size, card, numpy, part,
              bool((out[some] == expected).all() and (numba is None or (out == compiled).all())), numba)  # fmt: skip


# ---- distances ----


def all_pairs(planes: Any) -> Iterator[tuple[slice, slice, Any]]:
    """All distances between rows on the device, in blocks on and above the diagonal; whoever asks keeps what is needed."""
    count = planes.shape[1]
    for top in bits.blocks(count, 1, torch_pairs._SIDE):
        for left in bits.blocks(count, 1, torch_pairs._SIDE):
            if left.start >= top.start:
                yield top, left, torch_pairs._differences(planes[:, top], planes[:, left])


def distances(planes: Any) -> Iterator[Row]:
    """All pairs of rows, on and above the diagonal, in blocks that are added up and dropped."""
    torch, count = device.pytorch(), planes.shape[1]
    held = device.hold(planes)

    def everyone() -> int:
        return sum(int(block.sum(dtype=torch.int64)) for _, _, block in all_pairs(held))

    card = seconds(everyone, 1)
    few = min(8, count)
    rows = np.unique(np.linspace(0, count - 1, few).astype(np.int64))
    expected = np.zeros((len(rows), count), dtype=np.int64)
    numpy = once(lambda: pairs._count(np.ascontiguousarray(planes[:, rows]), planes, expected))
    same, chosen = True, {int(h): number for number, h in enumerate(rows)}
    for top, left, block in all_pairs(held):
        for h, number in chosen.items():
            if top.start <= h < top.stop:
                same &= bool((block[h - top.start].cpu().numpy() == expected[number, left]).all())
            if left.start <= h < left.stop:
                same &= bool((block[:, h - left.start].cpu().numpy() == expected[number, top]).all())
    first = max(1, count // 5)  # of the rows, whose pairs are a 25th of all
    numba, found = on_numba(lambda: pairs.Pairs(planes[:, :first]).matrix())
    for top, left, block in all_pairs(held) if found is not None else ():
        expected, ours = found[top, left], block.cpu().numpy()
        same &= bool((ours[: expected.shape[0], : expected.shape[1]] == expected).all())
    size, of = f"{count:,} x {64 * planes.shape[2]:,}", count * (count + 1) / (first * (first + 1))
    yield row("all pairwise distances", size, card, numpy, count // (2 * few), same, numba, of)


# ---- the disagreement coefficient ----


def coefficient(n: int) -> Iterator[Row]:
    """Θ of n half-spaces on n items, from items to the answer; NumPy for some centres, with the best ratio known."""
    C = HalfSpaces(3, n, seed="benchmark")
    X = points_of(n, 3)
    pool = Pool(C, X, PrivateRandomness.simulated("benchmark"))
    with backend.using("torch"):
        started = time.perf_counter()
        found = theta(C, pool)
        first = time.perf_counter() - started
        card = min(first, once(lambda: theta(C, pool)))
        started = time.perf_counter()
        on_card = measure(C, pool)
        before = time.perf_counter() - started
    few = 8
    centres = np.unique(np.append(np.linspace(0, n - 1, few).astype(np.int64), found.centre))
    with backend.using("numpy"):
        measured = measure(C, pool)

        def some() -> Any:
            far = np.concatenate([far for _, far in measured.distances(centres)])
            return measured.tops(centres, far, 0, found.value * (1 - 1e-9)), far

        started = time.perf_counter()
        (expected, far), numpy = some(), time.perf_counter() - started
    with backend.using("torch"):
        same = all(bool((a == far).all()) for _, a in on_card.distances(centres))
        tops = on_card.tops(centres, far, 0, found.value * (1 - 1e-9))
    best = expected.ratios >= expected.ratios.max()
    for ours, theirs in zip((tops.disputed, tops.radius), (expected.disputed, expected.radius), strict=True):
        same &= bool((ours[best] == theirs[best]).all())
    print(f"(of the next row, {before:.3f} s until predictions are made and turned, and before the first distance)")
    here = int(np.searchsorted(centres, found.centre))
    same &= (int(tops.disputed[here]), int(tops.radius[here])) == (found.disagreement[0], found.radius[0])
    numba, compiled = on_numba(lambda: theta(C, pool))
    same &= compiled is None or compiled == found
    yield row("disagreement coefficient, from items on", f"{n:,} x {n:,}", card, numpy, n // len(centres), same, numba)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, on any device")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--device", help="cuda, cuda:N or cpu; the first card if left out")
    wanted = parser.parse_args()
    if wanted.device:
        os.environ[backend.DEVICE] = wanted.device
    torch, here = device.pytorch(), device.name()
    if here == backend.CPU and not wanted.quick:
        sys.exit("there is no card here: --quick runs small sizes on the processor")
    machine = {
        "device": torch.cuda.get_device_name(here) if here != backend.CPU else f"processor, {platform.machine()}",
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "cores": cores(),
        "numba": None if backend.trouble() else version("numba"),
        "products_of_bytes": here != backend.CPU and torch_pairs._bytes_multiply(str(torch.device(here))),
    }
    print(", ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    n = 2_000 if wanted.quick else 100_000
    rows: list[Row] = []
    for dimensions in (3, 50):
        rows += predictions(n, n, dimensions)
    C = HalfSpaces(3, n, seed="benchmark")
    with backend.using("torch"):
        packed = PackedPredictions(C, points_of(n, 3))
    planes = packed._planes
    rows += distances(planes)
    del packed, planes
    for size in (300, 500) if wanted.quick else (10_000, 30_000):
        rows += coefficient(size)
    peak = torch.cuda.max_memory_allocated() if here != backend.CPU else 0
    print(f"most memory on the card: {peak / 2**30:.1f} GiB")
    if wanted.json:
        text = json.dumps({"machine": machine, "quick": wanted.quick, "peak_bytes": peak, "rows": rows}, indent=1)
        wanted.json.write_text(text + "\n", encoding="utf-8")
    return 0 if all(each["equal"] for each in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
