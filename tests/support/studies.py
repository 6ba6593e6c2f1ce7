"""Studies small enough to be run many times, and what a run leaves on the disk."""

import json
import random
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass

GRID = {"class": ["thresholds:50", "thresholds:1000"], "learner": ["cal", "erm"], "epsilon": 0.1, "pool_size": 300}
BASE = {"schema": "replical.study/1", "name": "small", "seed": "small 1", "stop": {"pairs": 30}, "grid": [GRID]}


def based(**more):
    return {**BASE, **more}


def of_pairs(pairs):
    return based(stop={"pairs": pairs})


def text_of(content):
    """A study as TOML."""

    def value(it):
        if isinstance(it, dict):
            return "{" + ", ".join(f"{key} = {value(each)}" for key, each in it.items()) + "}"
        return "[" + ", ".join(map(value, it)) + "]" if isinstance(it, list) else json.dumps(it)

    lines = [f"{key} = {value(it)}" for key, it in content.items() if key != "grid"]
    for grid in content["grid"]:
        lines += ["[[grid]]", *(f"{key} = {value(it)}" for key, it in grid.items())]
    return "\n".join(lines) + "\n"


@dataclass
class Ran:
    """What a sweep found, and how it went."""

    rows: list
    tables: dict
    progress: list


class Chance:
    """Workers that finish in any order and end now and then, as a seed has it; the work is done in this process."""

    def __init__(self, seed, count, lost):
        self.random, self.count, self.lost, self.deaths = random.Random(seed), count, lost, 0
        self.ahead, self.losses, self.words, self.runs = count, 10**6, "chance", []

    def submit(self, task, piece):
        done = Future()
        if self.random.random() < self.lost:
            self.deaths += 1
            done.set_exception(BrokenExecutor("it ended"))
        else:
            self.runs.extend((piece.cell, number) for number in range(piece.start, piece.end))
            done.set_result(task(piece))
        return done

    def look(self):
        raise AssertionError("somebody always answers")
