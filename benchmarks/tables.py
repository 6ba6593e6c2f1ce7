"""From a file to a ready pool: seconds and memory, beside the bare reading and beside an array of integers.

A table of 10⁶ items × 1,000 candidates as Parquet, and of 10⁵ × 1,000 as CSV, texts "no" and "yes", is written
into a temporary folder (below 1 GB, taken away at the end). For each file, each in a process of its own:

- `bare`: pyarrow reads the same columns in blocks and drops them, the limit of every reader;
- `packed`: `read_pool` and a pool of it: checked, packed, in the order of ids, with its fingerprint;
- `integers`: every prediction as a 16-bit code in one array first, which is then packed. Needs 10 GB for 10⁶ × 1,000;
  `--skip-integers` leaves it out.

Then `replical run` on the Parquet file, with its column of labels, from the command to the certificate.

    python benchmarks/tables.py [--items N] [--candidates K] [--skip-integers] [--json FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from replical.classes.catalogue import recipe
from replical.classes.predictions.packed import PackedPredictions
from replical.classes.recipe import Recipe
from replical.core.canonical import canonical
from replical.core.randomness import PrivateRandomness
from replical.lab.tables import read_pool
from replical.pools.pool import Pool

LABELS = ("no", "yes")
GROUP = 2**16  # rows written at a time
SHARE = {".parquet": 1.0, ".csv": 0.1}  # of the items
PRIVATE = PrivateRandomness.simulated("benchmarks/tables")
HEAD = f"{'file':8} {'way':9} {'items':>9} {'seconds':>8} {'of them CPU':>11} {'peak GB':>8}"


def names(candidates: int) -> list[str]:
    return [f"m{number:05d}" for number in range(candidates)]


def batches(items: int, candidates: int) -> Iterator[pa.RecordBatch]:
    """Candidates that err more and more often, on ids in no order; a few rows at a time."""
    generator, texts = np.random.default_rng(0), pa.array(LABELS)
    ids = generator.permutation(items)
    rates = np.linspace(0.02, 0.3, candidates)
    for start in range(0, items, GROUP):
        some = ids[start : start + GROUP]
        truth = generator.integers(2, size=len(some), dtype=np.int8)
        said = [truth ^ (generator.integers(2**16, size=len(some), dtype=np.uint16) < rate * 2**16) for rate in rates]
        columns = [pa.DictionaryArray.from_arrays(pa.array(codes), texts) for codes in (*said, truth)]
        yield pa.record_batch([pa.array([f"i{i:08d}" for i in some]), *columns], ["id", *names(candidates), "label"])


def write(path: Path, items: int, candidates: int) -> None:
    """Texts, as most people write them, not dictionaries."""
    plain = pa.schema([(name, pa.string()) for name in ("id", *names(candidates), "label")])
    stored = next(batches(1, candidates)).schema
    makers: dict[str, Callable[[], Any]] = {
        ".parquet": lambda: parquet.ParquetWriter(path, stored, store_schema=False),
        ".csv": lambda: csv.CSVWriter(path, plain),
    }
    with makers[path.suffix]() as writer:
        for batch in batches(items, candidates):
            writer.write_batch(batch if path.suffix == ".parquet" else batch.cast(plain))


def bare(path: Path, candidates: int) -> None:
    wanted = names(candidates)
    if path.suffix == ".parquet":
        file = parquet.ParquetFile(path, read_dictionary=wanted)
        for first in range(0, candidates, 64):
            for _ in file.iter_batches(2**17, columns=wanted[first : first + 64]):
                pass
    else:
        texts = dict.fromkeys(wanted, pa.dictionary(pa.int32(), pa.string()))
        reading, convert = csv.ReadOptions(block_size=2**23), csv.ConvertOptions(column_types=texts)
        for _ in csv.open_csv(path, read_options=reading, convert_options=convert):
            pass


def made(candidates: int) -> Recipe:
    return recipe({"kind": "table", "candidates": [{"name": name} for name in names(candidates)]}, LABELS, "seed")


def packed(path: Path, candidates: int) -> str:
    lab = read_pool(path, made(candidates))
    lab.pool(PRIVATE)
    return lab.fingerprint


def integers(path: Path, candidates: int) -> str:
    """Batches of rows, every column as codes, one array of all, sorted, hashed, packed."""
    C, ids, parts = made(candidates).C, [], []
    for batch in opened(path):
        ids += batch.column("id").to_pylist()
        parts.append([codes(batch.column(name)) for name in names(candidates)])
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__))
    whole = [np.concatenate([part[number] for part in parts])[order] for number in range(candidates)]
    table = np.stack(whole, axis=1)
    ids = [ids[place] for place in order.tolist()]
    digest = hashlib.sha256(canonical({"ids": ids, "shape": list(table.shape), "type": "u"}).encode())
    digest.update(table.tobytes())
    everything = np.arange(len(ids))
    Pool.in_order(C, table, everything, PRIVATE.permutation(len(ids)), PackedPredictions(C, table))
    return f"sha256:{digest.hexdigest()}"


def opened(path: Path) -> Iterator[pa.RecordBatch]:
    if path.suffix == ".parquet":
        yield from parquet.ParquetFile(path).iter_batches(2**16)
    else:
        yield from csv.open_csv(path)


def codes(column: Any) -> Any:
    encoded = column.dictionary_encode()
    meanings = np.array([LABELS.index(value) for value in encoded.dictionary.to_pylist()], dtype=np.uint16)
    return meanings[encoded.indices.to_numpy()]


def run(path: Path, candidates: int) -> int:
    """The command itself, in this process; the labels it asked for."""
    from replical.cli import main

    lines = "".join(f'  {{ name = "{name}" }},\n' for name in names(candidates))
    protocol, out = path.with_suffix(".toml"), path.with_suffix(".json")
    protocol.write_text(
        f'schema = "replical.protocol/1"\nseed = "tables"\n[class]\nkind = "table"\ncandidates = [\n{lines}]\n'
        '[labels]\nvalues = ["no", "yes"]\n[learner]\nname = "handicap"\nepsilon = 0.05\ndelta = 0.05\nrho = 0.1\n'
        "batch = 100\nmax_labels = 2000\n"
    )
    files = ["--pool", path, "--labels", f"{path}:label", "--journal", path.with_suffix(".db"), "--out", out]
    sys.argv = ["replical", "run", str(protocol), *map(str, files), "--truths", "0"]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    asked: int = json.loads(out.read_text())["body"]["labels"]["asked"]
    return asked


WAYS: dict[str, Callable[[Path, int], Any]] = {"bare": bare, "packed": packed, "integers": integers, "run": run}


def child(way: str, path: Path, items: int, candidates: int) -> None:
    """Writing too is done in a process of its own: the peak of a parent counts as one of its children's."""
    began, busy = time.perf_counter(), time.process_time()
    found = write(path, items, candidates) if way == "write" else WAYS[way](path, candidates)
    figures = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - busy, "found": found}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    Path(f"{path}.{way}.measured").write_text(json.dumps(figures | {"peak_bytes": peak}))


def measure(way: str, path: Path, items: int, candidates: int) -> dict[str, Any]:
    sizes = ["--items", str(items), "--candidates", str(candidates)]
    words = [sys.executable, __file__, "--child", way, str(path), *sizes]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{way} on {path.name} failed: {done.stderr[-500:]}")
    figures = json.loads(Path(f"{path}.{way}.measured").read_text())
    row: dict[str, Any] = {"file": path.suffix, "way": way, "items": items, "candidates": candidates, **figures}
    print(
        f"{path.suffix:8} {way:9} {items:9,} {row['seconds']:8.1f} {row['cpu']:11.1f} {row['peak_bytes'] / 1e9:8.2f}"
        + (f"  {row['found']} labels" if way == "run" else ""),
        flush=True,
    )
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=10**6)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--skip-integers", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.child:
        child(words.child[0], Path(words.child[1]), words.items, words.candidates)
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        print(HEAD)
        for suffix, share in SHARE.items():
            path, items = Path(folder) / f"table{suffix}", max(1, int(words.items * share))
            rows.append(measure("write", path, items, words.candidates))
            ways = ["bare", "packed", *([] if words.skip_integers else ["integers"])]
            found = [measure(way, path, items, words.candidates) for way in ways]
            if len({row["found"] for row in found[1:]}) > 1:
                sys.exit(f"the fingerprints of {path.name} differ: {found}")
            rows += found
            if suffix == ".parquet":
                rows.append(measure("run", path, items, words.candidates))
            path.unlink()
    if words.json:
        words.json.write_text(
            json.dumps({"schema": "replical.benchmark/1", "benchmark": "tables", "rows": rows}, indent=1)
        )


if __name__ == "__main__":
    main()
