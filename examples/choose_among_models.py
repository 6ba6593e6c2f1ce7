"""Two labs choose among 200 fitted models, each with its own items and its own labels.

The models tell even from odd handwritten digits (scikit-learn's digits data). Somebody else fitted them on public rows
and published what they are; here their predictions on the other rows come with the library. 100 of those rows, with
labels, are public too: the models are put in order by their errors on them. Each lab draws its items from the same
rows, writes a table of predictions, runs the published protocol and publishes a certificate.

    python examples/choose_among_models.py

The first pair of labs works with files and commands, as real labs do, and with private randomness that nobody can
repeat. After that many pairs run in memory, with randomness made from the title: their figures are always the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pictures import write_pictures
from pyarrow import parquet
from setting import command, in_a_folder
from sklearn.datasets import load_digits

from replical import PrivateRandomness, Protocol, World, audit, learner_for, plan
from replical.learners.base import Learner
from replical.worlds.datasets import real_world

TITLE = "Even or odd: two labs choose among 200 models"
VALUES = ("even", "odd")
ITEMS = 10_000  # what each lab draws
PUBLIC = 100  # what is drawn, labelled and published, to put the models in order
SHUFFLED_BY = 20240229  # the seed that put the rows into their order (benchmarks/candidates.py)
CANDIDATES = ["--candidates", "candidates.txt", "--label-values", "even,odd", "--public", "public.parquet:label"]
NUMBERS = ["--epsilon", ".05", "--delta", ".05", "--rho", ".1", "--set", "batch=16"]


def example(pairs: int) -> None:
    """Everything, in the present folder."""
    print(f"1. The list of candidates, and two tables of their predictions on {ITEMS:,} items: a.parquet, b.parquet.")
    print(f"   {PUBLIC} labelled items that belong to no lab: public.parquet.")
    print("   The pictures that the items show, for people who label them: digits.")
    names, predictions, truth = candidates()
    write_pictures((Path(picture(row)), digit) for row, digit in enumerate(digits_of(truth)))
    write_tables(names, predictions, truth)

    print("2. The protocol, published before any label is asked.")
    command("init", "--out", "protocol.toml", *CANDIDATES, *NUMBERS, "--seed", TITLE, "--title", TITLE)

    print("3. Each lab runs the protocol; a label is read when it is asked for. Anyone can check and compare.")
    for lab in "ab":
        files = ["--pool", f"{lab}.parquet", "--journal", f"{lab}.db"]
        asks = ["--public", "public.parquet", "--labels", f"{lab}-labels.parquet:label"]
        command("run", "protocol.toml", *files, *asks, "--out", f"{lab}.json")
        command("verify", f"{lab}.json", *files, lines=1)
    command("compare", "a.json", "b.json", allowed=(0, 1, 4))

    print(f"4. {pairs} pairs of labs with fresh items, one published text a pair: '{TITLE} / pair 0' and so on.")
    protocol = Protocol.read(Path("protocol.toml"))
    world = World(C=protocol.recipe.C, cells=predictions, law=np.eye(2)[truth], pool_size=ITEMS)
    labels = tell("the protocol, with its public order", protocol.learner, world, pairs)
    tell("the same with random handicaps", learner("handicap", world, rho=0.1, batch=16), world, pairs)
    tell("the model with fewest errors on as many labels", learner("erm", world, k_final=labels), world, pairs)


def learner(name: str, world: World, **options: Any) -> Learner:
    """A learner that is content with an error .05 above that of the best model."""
    return learner_for(plan(name, world.C, epsilon=0.05, delta=0.05, pool="finite", **options))


def tell(what: str, learner: Learner, world: World, pairs: int) -> int:
    """Let the pairs of labs work, say what came of it, and return how many labels a lab asked for."""
    found = audit(learner, world, seed=TITLE, pairs=pairs)
    print(f"   {what}:")
    print(f"     identical: {found.agreements} of {pairs} pairs")
    if found.certified_fraction is not None:
        print(f"     certified: {round(2 * pairs * found.certified_fraction)} of {2 * pairs} labs")
    print(f"     labels a lab: {found.labels_mean:.0f}")
    print(f"     errs more often than the best model by: {found.excess_error_mean:.3f}")
    return round(found.labels_mean)


def candidates() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names, predictions (one row an item) and true labels; models fitted on a tenth of the public rows are left out."""
    world = real_world("digits", ITEMS)
    kept = [number for number, name in enumerate(world.C.candidates) if not name.endswith("-tenth")]
    return [world.C.candidates[number] for number in kept], world.cells[:, kept], world.law[:, 1].astype(np.int64)


def digits_of(truth: np.ndarray) -> np.ndarray:
    """The digits themselves, in the order of the rows; which rows these are the packaged file says in words."""
    data = load_digits()
    rows = np.random.default_rng(SHUFFLED_BY).permutation(len(data.target))[-len(truth) :]
    assert np.array_equal(data.target[rows] % 2, truth), "scikit-learn's digits are other ones than those predicted"
    return data.images[rows]


def picture(row: int) -> str:
    """The file that shows a row."""
    return f"digits/{row:04d}.png"


def write_tables(names: list[str], predictions: np.ndarray, truth: np.ndarray) -> None:
    """The candidates; each lab's table, with the labels, which nobody has seen yet, apart; and the public one."""
    Path("candidates.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    for who, count in (("a", ITEMS), ("b", ITEMS), ("public", PUBLIC)):
        rows = PrivateRandomness.simulated(TITLE, who).generator().integers(len(truth), size=count)
        ids = pa.array([f"{who}{number:05d}" for number in range(count)])
        pictures, label = pa.array([picture(row) for row in rows]), column(truth[rows])
        said = {name: column(predictions[rows, number]) for number, name in enumerate(names)}
        if who == "public":
            parquet.write_table(pa.table({"id": ids, "label": label, **said}), "public.parquet")
        else:
            parquet.write_table(pa.table({"id": ids, "picture": pictures, **said}), f"{who}.parquet")
            parquet.write_table(pa.table({"id": ids, "label": label}), f"{who}-labels.parquet")


def column(codes: np.ndarray) -> pa.DictionaryArray:
    """Label values, each distinct text stored once."""
    return pa.DictionaryArray.from_arrays(codes.astype(np.int8), list(VALUES))


if __name__ == "__main__":
    raise SystemExit(in_a_folder("Two labs choose among 200 fitted models of handwritten digits.", example))
