"""How labs choose by losses other than errors: numbers, sets of labels, boxes, and outputs that judges grade.

All outputs are made from the 1,797 pictures of handwritten digits that come with scikit-learn. 300 of them are for fitting
and the other 1,497 are the population, from which items are drawn with replacement:

- *ink*: 36 regressors see the upper half of a picture and guess how much ink the lower half has; so far off, up to 40, it
  costs;
- *traits*: 12 classifiers of several labels say which of six traits a digit has; 1 less the F1 of the two sets;
- *boxes*: 12 rules find a digit that was laid on a noisy ground four times as large; 1 less the overlap;
- *grades*: 12 classifiers write what they read, "7", "probably 7" or "7 or 1". Simulated judges grade every distinct output
  once: 5 for a plain right answer, 4 for a hesitant one, 3 if it is one of two, 2 for a hesitant wrong one, 1 for a wrong
  one, and one grade up or down in a fifth of cases each;
- *pass or fail*: the same outputs and judges, who only say whether an output passes; where they draw the line is drawn for
  each score from the whole scale, so that every output has the mean loss that it has by grades;
- *4 or more*: the same, where all judges pass grades of 4 and 5. That is another question, with other losses.

For each set two labs run with each of the strings "losses/SET/0", "losses/SET/1", ..; the public order is made from 100
items of the same population, drawn anew for every string. What an answer loses more than the best is computed from the
whole population, where judges are chances.

*Groups*: patients with one image or four, two models, each of which errs on all images of a patient or on none. By image
the second is better (.159 against .224), by patient the first (.132 against .290). Labs choose with `group_weights` item
and group, each with the truth of its own question; and among models that tie, with a handicap between them, once by groups
and once as if images were draws of their own.

    python benchmarks/losses.py [--quick] [--out DIR] [--record]
    python benchmarks/losses.py --forecasts # what replical plan would have told, beside what the last record says
    python benchmarks/losses.py --page      # the tables of docs/how-to, from the last record

writes DIR/losses.json and .md; --record adds the figures to benchmarks/history/losses, with the commit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from choosing import commit, record
from choosing_tables import markdown
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from replical import (
    Gold,
    Groups,
    Handicaps,
    KnownGold,
    KnownLabels,
    OutputTable,
    Pool,
    PredictionTable,
    Prior,
    PrivateRandomness,
    Scores,
    SharedRandomness,
    learner_for,
    plan,
)
from replical.learners.base import Course, learn
from replical.learners.handicap.handicaps import UNIT
from replical.worlds.forecast import forecast

HISTORY = Path(__file__).parent / "history" / "losses"
SEED, FIT, ITEMS, PUBLIC, STRINGS = "losses", 300, 2_000, 100, 20
NUMBERS = {"epsilon": 0.05, "delta": 0.05, "rho": 0.1}
Floats = NDArray[np.float64]
Said = list[tuple[str, ...]]
Law = Callable[[int, str], Sequence[float]]  # of the words that judges may say of an output of an item

X, DIGITS = load_digits(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(X))
FITTED, ROWS = ORDER[:FIT], ORDER[FIT:]


# ---- the sets ----


@dataclass(frozen=True)
class OutputSet:
    """What candidates say of every row of a population, and what that costs: by right answers, or by the law of judges."""

    name: str
    loss: Gold
    said: dict[str, list[Any]]
    right: list[Any] | None = None
    law: Law | None = None

    @cached_property
    def losses(self) -> Floats:
        """The mean loss of every candidate (columns) on every row."""
        C = OutputTable(list(self.said), loss=self.loss)
        rows = C.items(self.said)
        found = []
        for place, (codes, outputs) in enumerate(zip(rows.tolist(), rows.outputs, strict=True)):
            if self.law is None:
                costs = np.array(self.loss.row(self.loss.read(self.right[place]), outputs))
            else:
                scale = [*self.loss.scale.values()]
                costs = np.array([np.dot(self.law(place, each), scale) for each in outputs])
            found.append(costs[codes] / self.loss.unit)
        return np.array(found)

    def answers(self, rows: NDArray[np.int64], draw: np.random.Generator) -> list[Any]:
        """What is said of these rows: the right answer, or a score for every output, drawn anew."""
        if self.law is None:
            return [self.right[row] for row in rows]
        words = [*self.loss.scale]
        said = [sorted({column[row] for column in self.said.values()}) for row in rows]
        return [
            {output: words[draw.choice(len(words), p=self.law(int(row), output))] for output in each}
            for row, each in zip(rows, said, strict=True)
        ]


def ink() -> OutputSet:
    """36 regressors of how much ink the lower half has."""
    from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import Lasso, Ridge
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.tree import DecisionTreeRegressor

    upper, lower = X[:, :32], X[:, 32:].sum(axis=1).astype(int)
    models = {f"ridge {a:g}": Ridge(a) for a in (1, 10, 100, 1e3, 1e4, 1e5)}
    models |= {f"lasso {a:g}": Lasso(a) for a in (0.1, 0.5, 1, 3)}
    models |= {f"near {k}": KNeighborsRegressor(k) for k in (1, 2, 5, 10, 20, 50)}
    models |= {f"tree {d}": DecisionTreeRegressor(max_depth=d, random_state=0) for d in (2, 3, 5, 8)}
    models |= {f"forest {d}": RandomForestRegressor(50, max_depth=d, random_state=0) for d in (3, 5, 8, 12)}
    models |= {f"extra {d}": ExtraTreesRegressor(50, max_depth=d, random_state=0) for d in (3, 5, 8, 12)}
    models |= {f"boosting {n}": GradientBoostingRegressor(n_estimators=n, random_state=0) for n in (20, 50, 100, 200)}
    models |= {f"kernel {g:g}": KernelRidge(alpha=1, kernel="rbf", gamma=g) for g in (1e-4, 3e-4, 1e-3, 3e-3)}
    said = {
        name: model.fit(upper[FITTED], lower[FITTED]).predict(upper[ROWS]).round().tolist()
        for name, model in models.items()
    }
    return OutputSet("ink", Gold.of("absolute", clip=40), said, lower[ROWS].tolist())


TRAITS = {"even": "02468", "prime": "2357", "loop": "0689", "square": "0149", "large": "56789", "round": "03689"}


def traits() -> OutputSet:
    """12 classifiers of several labels."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import RidgeClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    has = np.array([[str(digit) in digits for digits in TRAITS.values()] for digit in DIGITS], dtype=int)
    models: dict[str, Any] = {f"near {k}": KNeighborsClassifier(k) for k in (1, 5, 25)}
    models |= {f"tree {d}": DecisionTreeClassifier(max_depth=d, random_state=0) for d in (4, 7, 12)}
    models |= {f"forest {d}": RandomForestClassifier(50, max_depth=d, random_state=0) for d in (4, 12)}
    models |= {f"extra {d}": ExtraTreesClassifier(50, max_depth=d, random_state=0) for d in (4, 12)}
    models |= {f"ridge {a:g}": RidgeClassifier(a) for a in (1, 1e4)}

    def named(rows: NDArray[np.int64]) -> list[str]:
        return [json.dumps([name for name, one in zip(TRAITS, row, strict=True) if one]) for row in rows]

    said = {name: named(model.fit(X[FITTED], has[FITTED]).predict(X[ROWS])) for name, model in models.items()}
    return OutputSet("traits", Gold.of("f1"), said, named(has[ROWS]))


def boxes() -> OutputSet:
    """12 rules that look for a digit on a noisy ground: what is darker than a threshold, alone or with its neighbours."""
    from scipy.ndimage import uniform_filter

    draw = np.random.default_rng(1)
    right, said = [], {f"above {t}, {size} wide": [] for size in (1, 3, 5) for t in (3, 5, 7, 9)}
    for picture in X[ROWS].reshape(-1, 8, 8):
        ground, (top, left) = draw.exponential(1.5, (16, 16)), draw.integers(0, 9, 2)
        ground[top : top + 8, left : left + 8] += picture
        y, x = np.nonzero(picture > 0)
        right.append([int(left + x.min()), int(top + y.min()), int(left + x.max()) + 1, int(top + y.max()) + 1])
        for size in (1, 3, 5):
            smooth = uniform_filter(ground, size)
            for t in (3, 5, 7, 9):
                y, x = np.nonzero(smooth > t)
                box = [int(x.min()), int(y.min()), int(x.max()) + 1, int(y.max()) + 1] if len(x) else [0, 0, 16, 16]
                said[f"above {t}, {size} wide"].append(box)
    return OutputSet("boxes", Gold.of("iou"), said, right)


def readings() -> dict[str, list[str]]:
    """What 12 classifiers write."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    models: dict[str, Any] = {f"near {k}": KNeighborsClassifier(k) for k in (5, 9, 25)}
    models |= {f"forest {d}": RandomForestClassifier(50, max_depth=d, random_state=0) for d in (3, 6, 12)}
    models |= {f"extra {d}": ExtraTreesClassifier(50, max_depth=d, random_state=0) for d in (6, 12)}
    models |= {f"logistic {c:g}": LogisticRegression(C=c, max_iter=2_000) for c in (1e-4, 1e-2)}
    models |= {"bayes": GaussianNB(var_smoothing=0.05), "tree": DecisionTreeClassifier(max_depth=8, random_state=0)}
    said = {}
    for name, model in models.items():
        chances = model.fit(X[FITTED], DIGITS[FITTED]).predict_proba(X[ROWS])
        first, second = np.argsort(-chances, axis=1)[:, :2].T
        sure = chances[np.arange(len(chances)), first]
        said[name] = [
            f"{one}" if p >= 0.8 else f"probably {one}" if p >= 0.5 else f"{one} or {two}"
            for one, two, p in zip(first, second, sure, strict=True)
        ]
    return said


NOISE = 0.2  # how often a judge grades one up, and one down


def grade_law(row: int, output: str) -> Floats:
    """How often judges give 1, 2, .., 5."""
    truth, words = str(DIGITS[ROWS[row]]), output.split()
    grade = 3 if "or" in words and truth in words else {1: 5, 2: 4, 3: 2}[len(words)] if truth == words[-1] else 0
    grade = grade or (1 if len(words) == 1 else 2)
    law = np.zeros(5)
    for step, chance in ((0, 1 - 2 * NOISE), (1, NOISE), (-1, NOISE)):
        law[min(max(grade + step, 1), 5) - 1] += chance
    return law


def grades() -> OutputSet:
    """Graded from 1 to 5."""
    return OutputSet("grades", Scores.on("1-5"), readings(), law=grade_law)


def passed(name: str, chances: Sequence[float]) -> OutputSet:
    """The same, of which judges pass each grade with these chances."""

    def law(row: int, output: str) -> list[float]:
        share = float(grade_law(row, output) @ np.array(chances))
        return [share, 1 - share]

    return OutputSet(name, Scores.on("pass-fail"), readings(), law=law)


def pass_or_fail() -> OutputSet:
    """With the means of grades."""
    return passed("pass or fail", (0, 0.25, 0.5, 0.75, 1))


def four_or_more() -> OutputSet:
    """With one line."""
    return passed("4 or more", (0, 0, 0, 1, 1))


SETS = (ink, traits, boxes, grades, pass_or_fail, four_or_more)


# ---- runs ----


@dataclass(frozen=True)
class Run:
    """What one lab found."""

    answer: int
    items: int
    judgements: int
    certified: bool
    ideal: bool
    excess: float


def public_order(each: OutputSet, C: OutputTable, said: Said, string: int) -> Prior:
    """From public items."""
    public = PrivateRandomness.simulated(SEED, each.name, string, "public").generator()
    rows = public.integers(len(said), size=PUBLIC)
    pool = Pool(C, [said[row] for row in rows], PrivateRandomness.simulated("public"))
    lost = np.zeros(len(C), dtype=np.int64)
    for codes, outputs, answer in zip(pool.items.tolist(), pool.items.outputs, each.answers(rows, public), strict=True):
        lost += np.array(each.loss.row(each.loss.read(answer), outputs))[codes]
    return Prior.by_errors(C, lost)


def forecast_row(each: OutputSet, came: dict[str, Any]) -> list[str]:
    """What is forecast for a lab, and what came in the mean."""
    C, said = OutputTable(list(each.said), loss=each.loss), list(zip(*each.said.values(), strict=True))
    rows = np.random.default_rng(5).integers(len(said), size=ITEMS)
    pool = Pool(C, [said[row] for row in rows], PrivateRandomness.simulated("cal"))
    options = {**NUMBERS, "prior": public_order(each, C, said, 0), "losses": each.loss}
    found = forecast(pool, "handicap", options, far=False)
    low, median, high = found.labels_low, found.labels_median, found.labels_high
    return [each.name, f"{median:,.0f}", f"{low:,.0f} to {high:,.0f}", f"{came['judgements']:.0f}"]


def runs(each: OutputSet, string: int, items: int) -> Iterator[Run]:
    """Two labs with one string."""
    C, losses = OutputTable(list(each.said), loss=each.loss), each.losses
    mean, n = losses.mean(axis=0), len(losses)
    said = list(zip(*each.said.values(), strict=True))
    made = plan("handicap", C, pool="finite", prior=public_order(each, C, said, string), **NUMBERS)
    shared = SharedRandomness(f"{SEED}/{each.name}/{string}")
    members, c, _ = made.terms(shared)
    ideal = int(members[np.argmin(mean[members] + np.asarray(c) / UNIT)])
    for lab in "AB":
        private = PrivateRandomness.simulated(SEED, each.name, string, lab)
        draw = private.generator("items")
        rows = draw.integers(n, size=items)
        pool = Pool(C, [said[row] for row in rows], private)
        course, answers = Course(learner_for(made), pool, shared), KnownGold(pool, each.answers(rows, draw))
        while course.query is not None:
            course.tell(answers.answer(course.query))
        found = course.result()
        h = found.hypothesis
        yield Run(h, course.asked, course.judged, found.proof.certified, h == ideal, float(mean[h] - mean.min()))


def measure(make: Callable[[], OutputSet], strings: int, items: int) -> dict[str, Any]:
    """The figures of one set."""
    each, started = make(), time.perf_counter()
    pairs = [tuple(runs(each, string, items)) for string in range(strings)]
    labs = [run for pair in pairs for run in pair]
    both = [(one, two) for one, two in pairs if one.certified and two.certified]
    mean = np.sort(each.losses.mean(axis=0))
    return {
        "set": each.name,
        "candidates": len(each.said),
        "scored": each.law is not None,
        "items": items,
        "labs": len(labs),
        "asked": sum(run.items for run in labs) / len(labs),
        "judgements": sum(run.judgements for run in labs) / len(labs),
        "certified": sum(run.certified for run in labs),
        "wrong_certificates": sum(run.certified and not run.ideal for run in labs),
        "pairs": len(pairs),
        "agree": sum(one.answer == two.answer for one, two in pairs),
        "certified_and_different": sum(one.answer != two.answer for one, two in both),
        "excess": sum(run.excess for run in labs) / len(labs),
        "best": float(mean[0]),
        "median": float(np.median(mean)),
        "seconds": time.perf_counter() - started,
    }


# ---- groups ----


SIZES, SHARE = (1, 4), 0.4  # images of a patient, and how often there are four
TRUTHS = {"item": 1, "group": 0}  # which of the two is better, by image and by patient
ERRS = ((0.02, 0.3), (0.45, 0.05))  # each model, on patients with one image and with four
TIE = 0.05


def patients(private: PrivateRandomness, number: int, rates: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which patient every image is of, and who is wrong on it."""
    draw = private.generator("patients")
    large = (draw.random(number) < SHARE).astype(int)
    wrong = draw.random((number, len(rates))) < np.array(rates).T[large]
    groups = np.repeat(np.arange(number), np.array(SIZES)[large])
    return groups, wrong[groups].astype(int)


def grouped(labs: int, number: int = 1_200) -> list[dict[str, Any]]:
    """Labs that choose among two models, by groups or not."""
    two, six = PredictionTable(["few errors on small", "few on large"]), PredictionTable([f"m{h}" for h in range(6)])
    tied = [(0.10,) * 2] + [(0.10 + TIE,) * 2] * 5  # the first has a handicap of as much as the others err more
    ways = [
        ("by image", two, ERRS, {"groups": Groups(max(SIZES), "item")}, 1),
        ("by patient", two, ERRS, {"groups": Groups(max(SIZES), "group")}, 0),
        ("tie, by image", six, tied, {"groups": Groups(max(SIZES), "item")}, 0),
        ("tie, groups ignored", six, tied, {}, 0),
    ]
    found = []
    for name, C, rates, options, best in ways:
        c = [TIE, *[0.0] * 5] if C is six else [0.0, 0.0]
        made = plan("handicap", C, pool="finite", handicaps=Handicaps.of(C, c), **NUMBERS, **options)
        results = []
        for lab in range(labs):
            private = PrivateRandomness.simulated(SEED, name, lab)
            groups, wrong = patients(private, number, rates)
            pool = Pool(C, wrong, private, groups=groups.tolist() if options else None)
            labels = KnownLabels(C, np.zeros(len(wrong), dtype=int))
            results.append(learn(learner_for(made), pool, labels, SharedRandomness(f"{SEED}/{name}")))
        found.append(
            {
                "way": name,
                "labs": labs,
                "labels": sum(each.labels for each in results) / labs,
                "certified": sum(each.proof.certified for each in results),
                "right": sum(each.proof.certified and each.hypothesis == best for each in results),
                "dropped": sum(best not in each.survivors.indices for each in results),
            }
        )
    return found


# ---- tables ----


def tables(found: dict[str, Any]) -> list[str]:
    """Sets, and groups."""
    rows = [
        [
            each["set"],
            f"{each['candidates']}",
            f"{each['asked']:.0f}",
            f"{each['judgements']:.0f}" if each["scored"] else "",
            f"{each['certified']} of {each['labs']}",
            f"{each['agree']} of {each['pairs']}",
            f"{each['excess']:.4f}",
        ]
        for each in found["sets"]
    ]
    heads = ("set", "candidates", "items asked", "judgements", "certified", "pairs agree", "excess loss")
    groups = [
        [
            each["way"],
            f"{each['labels']:.0f}",
            f"{each['certified']} of {each['labs']}",
            f"{each['right']}",
            f"{each['dropped']}",
        ]
        for each in found["groups"]
    ]
    return [
        markdown(heads, rows),
        markdown(("labs choose", "labels", "certified", "of these right", "best one dropped"), groups),
    ]


def recorded() -> dict[str, Any]:
    """The last record."""
    return dict(json.loads(sorted(HISTORY.glob("*.json"))[-1].read_text(encoding="utf-8")))


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one string a set, 400 items, 5 labs with groups")
    parser.add_argument("--page", action="store_true", help="print the tables of the last record, run nothing")
    parser.add_argument("--forecasts", action="store_true", help="make forecasts for the first string, run nothing")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--record", action="store_true", help="add a file to benchmarks/history/losses")
    given = parser.parse_args()
    if given.page:
        print("\n".join(tables(recorded())), end="")
        return
    if given.forecasts:
        heads = ("set", "median forecast", "range", "what labs took in the mean")
        rows = [forecast_row(make(), came) for make, came in zip(SETS, recorded()["sets"], strict=True)]
        print(markdown(heads, rows), end="")
        return
    strings, items, labs = (1, 400, 5) if given.quick else (STRINGS, ITEMS, 200)
    found: dict[str, Any] = {"seed": SEED, **NUMBERS, "public_items": PUBLIC, "commit": commit(), "sets": []}
    for make in SETS:
        found["sets"].append(measure(make, strings, items))
        print(found["sets"][-1], file=sys.stderr, flush=True)
    found["groups"] = grouped(labs)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "losses.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (given.out / "losses.md").write_text("\n".join(tables(found)), encoding="utf-8")
    print("\n".join(tables(found)))
    if given.record:
        record(HISTORY, found)


if __name__ == "__main__":
    main()
