"""Two labs choose among 200 fitted models, each with its own items and its own labels.

The models tell even from odd handwritten digits (scikit-learn's digits data). Somebody else fitted them on public rows
and published what they are; here their predictions on the other rows come with the library. Each lab draws its items
from those other rows, writes a table of predictions, runs the published protocol and publishes a certificate. A third
draw of 100 items, with labels, is public: an order of preference can be made from it (docs/how-to).

    python examples/choose_among_models.py --out labs

The first pair of labs works with files and commands, as real labs do, and with private randomness that nobody can
repeat. After that many pairs run in memory, with randomness made from the title: their figures are always the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pictures import write_pictures
from pyarrow import parquet
from setting import command, in_a_folder, interval
from sklearn.datasets import load_digits

from replical import PrivateRandomness, Protocol, World, audit, predict_agreement, read_pool
from replical.worlds.datasets import real_world

TITLE = "Even or odd: two labs choose among 200 models"
VALUES = ("even", "odd")
ITEMS = 10_000  # what each lab draws
PUBLIC = 100  # what is drawn, labelled and published for an order of preference
SHUFFLED_BY = 20240229  # the seed that put the rows into their order (benchmarks/candidates.py)
LEARNER = ["--learner", "rounded-a2", "--epsilon", ".05", "--delta", ".05", "--rho", ".1", "--items", str(ITEMS)]
LEARNER += ["--nu", ".02", "--kappa", ".02", "--batch", "16", "--finish", "distance"]


def example(pairs: int) -> None:
    """Everything, in the present folder."""
    print(f"1. The list of candidates, and two tables of their predictions on {ITEMS:,} items: a.parquet, b.parquet.")
    print(f"   {PUBLIC} labelled items that belong to no lab: public.parquet.")
    print("   The pictures that the items show, for people who label them: digits.")
    names, predictions, truth = candidates()
    write_pictures((Path(picture(row)), digit) for row, digit in enumerate(digits_of(truth)))
    write_tables(names, predictions, truth)

    print("2. The protocol, published before any label is asked.")
    candidate_list = ["--candidates", "candidates.txt", "--label-values", "even,odd"]
    command("protocol", "new", "--out", "protocol.toml", *candidate_list, *LEARNER, "--seed", TITLE, "--title", TITLE)
    protocol = Protocol.read(Path("protocol.toml"))
    C = protocol.recipe.C

    print("3. What to expect, from lab A's items alone, before the first label.")
    pool = read_pool("a.parquet", protocol.recipe).pool(PrivateRandomness.simulated(TITLE))
    found = predict_agreement(C, pool, 0.05, "rounded-a2", noise=0.02, items=ITEMS, kappa=0.02, truths=16)
    print(f"   Estimate: {found.labels_low:.0f} to {found.labels_high:.0f} labels; two labs differ in")
    print(
        f"   {100 * found.disagreement_mean:.1f}% of cases. It is made from the candidates' votes and supposes that the best"
    )
    print("   of them errs on 2% of the items.")
    print(
        f"   Near-ties: {max(map(len, found.ties), default=0)} candidates differ from each other on at most 5% of the items."
    )

    print("4. Each lab runs the protocol; a label is read when it is asked for. Anyone can check and compare.")
    for lab in "ab":
        files = ["--pool", f"{lab}.parquet", "--journal", f"{lab}.db"]
        asks = ["--labels", f"{lab}-labels.parquet:label", "--truths", "0"]
        command("run", "protocol.toml", *files, *asks, "--out", f"{lab}.json")
        command("verify", f"{lab}.json", *files, lines=1)
    command("compare", "a.json", "b.json", allowed=(0, 1))

    print(f"5. {pairs} pairs of labs with fresh samples, one string a pair: '{TITLE} / pair 0' and so on.")
    world = World(C=C, cells=predictions, law=np.eye(2)[truth], pool_size=ITEMS)
    figures = audit(protocol.learner, world, seed=TITLE, pairs=pairs)
    low, high = interval(pairs, found.disagreement_mean)
    own_low, own_high = interval(pairs, figures.rho_predicted or 0.0)
    print(f"   predicted: {low} to {high} of {pairs} pairs agree (a 95% range, if the estimate of step 3 is right)")
    print(f"   predicted by the labs themselves when they stopped: {own_low} to {own_high}")
    print(f"   observed: {figures.agreements} of {pairs}")
    certified = round((figures.certified_fraction or 0.0) * 2 * pairs)
    print(f"   proven: {certified} of {2 * pairs} labs are certified: pools are too small and models too nearly tied")
    print(
        f"   labels a lab: {figures.labels_mean:.0f}; error above that of the best model: {figures.excess_error_mean:.3f}"
    )
    print(f"   the same labels without rounding: {round(figures.base_agreement * pairs)} of {pairs} agree")


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
