"""What `replical board` says of a made table of 146 models and 10,000 items, beside the truth and beside other draws.

A model of skill s errs on an item of difficulty d, a normal number, with probability 1/(1 + exp(s - d)): so models err
on the same items, and each one's mean error in the population is known. Three worlds: skills one after the other
(`spread`), the upper twenty within .02 (`crowded`), the upper thirty alike (`ties`). Of each world tables are drawn anew;
of each draw:

- is the best model in the set, is each true distance in its interval, is a pair called apart the wrong way round?
- is first place that of another draw, of as many items or of half as many, and how often does `board` say so (an estimate)?
- the same for the answer within .02 of the best by a published text and a public order (that of another thousand items).

    python benchmarks/board.py [--draws N] [--items N] [--out DIR] [--record]

writes DIR/board.json; --record keeps the figures at benchmarks/history/board and puts the table on docs/claims/board.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from choosing import commit
from choosing_tables import markdown
from numpy.typing import NDArray

from replical import PredictionTable, Prior
from replical.evals.board import board, choose

HISTORY = Path(__file__).parent / "history" / "board" / "0001.json"
PAGE = Path(__file__).parents[1] / "docs" / "claims" / "board.md"
MARKS = ("<!-- benchmarks/board.py -->\n", "<!-- end -->")  # between them the table stands on the page
MODELS, LEVEL, TOLERANCE = 146, 0.05, 0.02
NAMES = [f"model {number:03d}" for number in range(MODELS)]
Floats = NDArray[np.float64]


def skills(top: int, width: float) -> Floats:
    """The upper `top` within a `width`, the others .01 apart below them."""
    return np.concatenate([np.linspace(1.4, 1.4 - width, top), 1.4 - width - 0.01 * np.arange(1, MODELS - top + 1)])


WORLDS = {"spread": skills(2, 0.01), "crowded": skills(20, 0.02), "ties": skills(30, 0.0)}


def draw(skill: Floats, items: int, seed: list[int]) -> NDArray[np.float32]:
    """A table of errors."""
    generator = np.random.default_rng(seed)
    hard = generator.normal(size=(items, 1))
    return (generator.random((items, MODELS)) < 1 / (1 + np.exp(skill - hard))).astype(np.float32)


def behind(skill: Floats) -> Floats:
    """How far each model is behind the best, in the population."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    losses = (weights / weights.sum()) @ (1 / (1 + np.exp(skill - nodes[:, None])))
    distances: Floats = losses - losses.min()
    return distances


def same(answers: list[str]) -> float:
    """The share of pairs that agree."""
    pairs = [one == other for number, one in enumerate(answers) for other in answers[:number]]
    return mean(pairs)


def world(number: int, skill: Floats, draws: int, items: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """The figures of one world."""
    truth = behind(skill)
    best = np.flatnonzero(truth < 1e-12)
    order = draw(skill, 1000, [number, 0]).mean(axis=0).argsort(kind="stable")
    prior = Prior.order(PredictionTable(NAMES), [NAMES[h] for h in order])
    how: dict[str, Any] = {"tolerance": TOLERANCE, "string": "a text", "prior": prior}

    def answer(table: Any) -> str:
        return choose(NAMES, table, **how).answer

    ideal = answer(np.tile(truth, (2, 1)))
    boards, choices, halves = [], [], []
    for each in range(draws):
        table = draw(skill, items, [number, each + 1])
        boards.append(board(NAMES, table, level=LEVEL, seed=str(each)))
        choices.append(choose(NAMES, table, seed=str(each), **how))
        half = table[: items // 2]  # rows are independent draws
        halves.append((NAMES[half.mean(axis=0).argmin()], answer(half)))
        tell(f"{each + 1} of {draws}")
    false = np.array([(found.better & (truth[:, None] >= truth[None, :])) for found in boards])
    kept = {"low": [found.low <= truth for found in boards], "high": [found.high >= truth for found in boards]}
    return {
        "draws": draws,
        "best in the set": mean(bool(np.isin(h, found.survivors)) for found in boards for h in best),
        "size of the set, median": median(len(found.survivors) for found in boards),
        **{f"{side} holds": float(np.mean(held)) for side, held in kept.items()},
        **{f"{side} holds, worst model": float(np.mean(held, axis=0).min()) for side, held in kept.items()},
        "width of an interval, median": float(np.median([found.high - found.low for found in boards])),
        "pairs apart the wrong way, worst pair": float(false.mean(axis=0).max()),
        "neighbours apart, median": median(int(found.better_than_next.sum()) for found in boards),
        "same first, two draws": same([found.first for found in boards]),
        "same first, two draws of half as many": same([first for first, _ in halves]),
        "same first, estimated from one table": mean(found.again for found in boards),
        "first is the best": mean(found.models.index(found.first) in best for found in boards),
        "same answer, two draws": same([found.answer for found in choices]),
        "same answer, two draws of half as many": same([chosen for _, chosen in halves]),
        "same answer, estimated from one table": mean(found.again for found in choices),
        "answer proven": mean(found.proven for found in choices),
        "answer proven, and not the ideal one": mean(found.proven and found.answer != ideal for found in choices),
        "answer's distance from the best, mean": mean(float(truth[NAMES.index(found.answer)]) for found in choices),
    }


def table(worlds: dict[str, dict[str, Any]]) -> str:
    """A row a figure, a column a world."""
    figures = next(iter(worlds.values()))
    rows = [[name, *(_cell(name, found[name]) for found in worlds.values())] for name in figures]
    return markdown(["", *worlds], rows)


def _cell(name: str, value: float) -> str:
    if name == "draws" or ("median" in name and "width" not in name):
        return f"{value:g}"
    return f"{value:.4f}" if "width" in name or "distance" in name else f"{100 * value:.1f}%"


def show(words: str) -> None:
    """Put the table on its page."""
    before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    after = rest.split(MARKS[1], maxsplit=1)[1]
    PAGE.write_text(f"{before}{MARKS[0]}\n{words}\n{MARKS[1]}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=60, help="tables of each world (60)")
    parser.add_argument("--items", type=int, default=10_000, help="items of each (10,000)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder for what is written")
    parser.add_argument("--record", action="store_true", help="keep the figures and put the table on its page")
    given = parser.parse_args()
    begun, worlds = time.time(), {}
    for number, (name, skill) in enumerate(WORLDS.items()):
        worlds[name] = world(
            number, skill, given.draws, given.items, lambda words, name=name: print(name, words, end="\r")
        )
    found = {"cores": os.cpu_count(), "python": platform.python_version(), "numpy": np.__version__, "commit": commit()}
    found |= {
        "items": given.items,
        "level": LEVEL,
        "tolerance": TOLERANCE,
        "minutes": round((time.time() - begun) / 60, 1),
    }
    told = json.dumps(found | {"worlds": worlds}, indent=1) + "\n"
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "board.json").write_text(told, encoding="utf-8")
    if given.record:
        HISTORY.parent.mkdir(exist_ok=True)
        HISTORY.write_text(told, encoding="utf-8")
        show(table(worlds))
    print(table(worlds), end="")


if __name__ == "__main__":
    main()
