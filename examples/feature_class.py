"""Two labs choose one of 1,296 boxes in two measurements, each with its own patients and its own labels.

The hypotheses say "malignant" inside a rectangle of mean radius and mean concave points and "benign" outside
(scikit-learn's breast cancer data). The grid is public: round numbers, written into the protocol, never quantiles of
anyone's data. Each lab draws its patients from the rows, with replacement, and the labels are the rows' diagnoses.

    python examples/feature_class.py

On this grid one box is clearly the best, so most labs end with a proof. The first pair of labs works with files and
commands, as real labs do, and with private randomness that nobody can repeat. After that many pairs run in memory, with
randomness made from the title: their figures are always the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv
from setting import command, in_a_folder

from replical import PrivateRandomness, Protocol, World, audit, learner_for, plan, predict_agreement, read_pool

TITLE = "Benign or malignant: two labs choose a box"
FEATURES = ("mean radius", "mean concave points")
VALUES = ("benign", "malignant")
ITEMS = 30_000  # what each lab draws
PROTOCOL = f"""\
schema = "replical.protocol/1"
title = "{TITLE}"
seed = "{TITLE}"

[class]
kind = "boxes"
features = ["mean radius", "mean concave points"]
range = [[5.0, 29.0], [0.0, 0.24]]
bins = 8

[labels]
values = ["benign", "malignant"]

[learner]
name = "handicap"
epsilon = 0.2
delta = 0.05
rho = 0.1
batch = 16
"""


def example(pairs: int) -> None:
    """Everything, in the present folder."""
    print(f"1. Two tables of {ITEMS:,} patients, a.csv and b.csv: an id, two features, the diagnosis.")
    features, malignant = measurements()
    for lab in "ab":
        write_table(lab, features, malignant)

    print("2. The protocol, published before any label is asked: protocol.toml.")
    Path("protocol.toml").write_text(PROTOCOL, encoding="utf-8")
    protocol = Protocol.read(Path("protocol.toml"))
    C = protocol.recipe.C
    print(f"   {len(C):,} boxes, fingerprint {protocol.fingerprint}")

    print("3. What to expect, from lab A's items alone, before the first label.")
    pool = read_pool("a.csv", protocol.recipe).pool(PrivateRandomness.simulated(TITLE))
    found = predict_agreement(C, pool, 0.2, "handicap", rho=0.1, noise=0.1, truths=8)
    print(
        f"   Estimate: about {found.labels_median:.0f} labels a lab ({found.labels_low:.0f} to {found.labels_high:.0f})."
    )
    print("   It supposes that some box is the truth, apart from 10% wrong labels.")

    print("4. Each lab runs the protocol; a label is read when it is asked for. Anyone can check and compare.")
    for lab in "ab":
        files = ["--pool", f"{lab}.csv", "--journal", f"{lab}.db"]
        asks = ["--labels", f"{lab}.csv:diagnosis", "--truths", "0"]
        command("run", "protocol.toml", *files, *asks, "--out", f"{lab}.json")
        command("verify", f"{lab}.json", *files, lines=1)
    command("compare", "a.json", "b.json", allowed=(0, 1, 4))

    print(f"5. {pairs} pairs of labs with fresh samples, one string a pair: '{TITLE} / pair 0' and so on.")
    items = C.items(protocol.recipe.items(dict(zip(FEATURES, features.T, strict=True))))
    world = World(C=C, cells=items, law=np.eye(2)[malignant], pool_size=ITEMS)
    figures = audit(protocol.learner, world, seed=TITLE, pairs=pairs)
    alone = audit(learner_for(plan("a2", C, epsilon=0.2, delta=0.05, pool="finite")), world, seed=TITLE, pairs=pairs)
    print(f"   identical: {figures.agreements} of {pairs} pairs")
    print(f"   certified: {round((figures.certified_fraction or 0.0) * 2 * pairs)} of {2 * pairs} labs")
    print(f"   labels a lab: {figures.labels_mean:.0f}")
    print(f"   errs more often than the best box by: {figures.excess_error_mean:.3f}")
    print(
        f"   A2, which promises nothing: {alone.agreements} of {pairs} pairs, with {alone.labels_mean:.0f} labels a lab"
    )


def measurements() -> tuple[np.ndarray, np.ndarray]:
    """The two features of every row, and whether the tumour was malignant."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    places = [list(data.feature_names).index(name) for name in FEATURES]
    return data.data[:, places], 1 - data.target  # scikit-learn codes malignant as 0


def write_table(lab: str, features: np.ndarray, malignant: np.ndarray) -> None:
    """A lab's patients, drawn with replacement: every row of the table is an independent draw."""
    rows = PrivateRandomness.simulated(TITLE, lab).generator().integers(len(features), size=ITEMS)
    measured = {name: features[rows, number] for number, name in enumerate(FEATURES)}
    diagnosis = np.array(VALUES)[malignant[rows]]
    table = pa.table({"id": [f"{lab}{number:05d}" for number in range(ITEMS)], **measured, "diagnosis": diagnosis})
    csv.write_csv(table, f"{lab}.csv")


if __name__ == "__main__":
    raise SystemExit(in_a_folder("Two labs choose a box in two measurements of breast cancer data.", example))
