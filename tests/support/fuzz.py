"""Mutated files for every reader: each is accepted or refused in a sentence, and nothing else may happen.

`fuzz(count, seed)` makes so many inputs, the formats in turn, and hands each to those who read such files. Readers run in
child processes, a new one after each death, so that a crash is counted like everything else. Input `number` of a seed is
always the same file, but for times in it: ``python -m support.fuzz --seed 1 --only 1234 --keep FILE`` makes it again and reads it here.
"""

import argparse
import faulthandler
import json
import os
import random
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from support.examples import make_examples
from support.formats import FLAWS, FORMATS
from support.mutations import mutated

PATIENCE = 30.0  # seconds for one input, on a machine that has other things to do
MEMORY = 3 * 2**30  # bytes of address space that one reader may take beyond what Python and its libraries have
GREEDY = 2**30  # bytes that no file of a few kilobytes needs
ALL = FORMATS | FLAWS
FAULTS = ("traceback", "crash", "hang", "greedy")


@dataclass
class Outcomes:
    """What became of the inputs of each format; `found` has format, number, outcome and last words of each fault.

    A `greedy` input made a reader take a gigabyte.
    """

    by_format: dict[str, Counter] = field(default_factory=lambda: defaultdict(Counter))
    found: list[tuple[str, int, str, str]] = field(default_factory=list)

    def add(self, name: str, number: int, outcome: str, words: str = "") -> None:
        """One input more."""
        self.by_format[name][outcome] += 1
        if outcome in FAULTS:
            self.found.append((name, number, outcome, words))

    @property
    def all(self) -> Counter:
        """Of all formats together."""
        return sum(self.by_format.values(), Counter())

    def table(self) -> str:
        """A line a format."""
        outcomes = ("accepted", "refused", *FAULTS)
        lines = [f"{'format':14}{'inputs':>8}" + "".join(f"{outcome:>11}" for outcome in outcomes)]
        for name, counter in [*sorted(self.by_format.items()), ("all", self.all)]:
            lines.append(f"{name:14}{counter.total():8}" + "".join(f"{counter[each]:11}" for each in outcomes))
        return "\n".join(lines)


def fuzz(count: int, seed: int, formats: Sequence[str] | None = None) -> Outcomes:
    """Read `count` mutated files of these `formats` (all of them, if left out), whose bytes follow from the `seed`."""
    return replay(range(count), seed, formats)


def replay(numbers: Sequence[int], seed: int, formats: Sequence[str] | None = None) -> Outcomes:
    """Read some inputs of a seed again."""
    names, outcomes = list(formats or FORMATS), Outcomes()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        examples = Path(folder) / "examples"
        examples.mkdir()
        make = [sys.executable, "-m", "support.fuzz", "--make", examples, "--formats", *names]
        subprocess.run(make, check=True, env=_environment(), stdout=subprocess.DEVNULL)
        parallel = min(os.cpu_count() or 1, max(1, len(numbers) // 50))
        with ThreadPoolExecutor(parallel) as pool:
            parts = [
                pool.submit(_read_all, numbers[first::parallel], seed, names, Path(folder)) for first in range(parallel)
            ]
            for part in parts:
                for outcome in part.result():
                    outcomes.add(*outcome)
    outcomes.found.sort(key=lambda each: each[1])
    return outcomes


def _read_all(numbers, seed, names, folder):
    """Outcomes of some inputs; a child that dies or hangs is followed by another."""
    outcomes, left = [], list(numbers)
    while left:
        with _Child(left, seed, names, folder) as child:
            for number in list(left):
                told = child.outcome()
                left.remove(number)
                outcomes.append((names[number % len(names)], number, *told))
                if told[0] in ("crash", "hang"):
                    break
    return outcomes


class _Child:
    """A process that reads one input after the other and says a line about each."""

    def __init__(self, numbers, seed, names, folder):
        self._log = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with the child
        receive, send = os.pipe()
        words = [sys.executable, "-m", "support.fuzz", "--child", str(send), "--examples", str(folder / "examples")]
        words += ["--seed", str(seed), "--formats", *names]
        self._process = subprocess.Popen(
            words, pass_fds=[send], stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, env=_environment()
        )
        os.close(send)
        with self._process.stdin as told:
            told.write(json.dumps(numbers).encode())
        self._receive, self._buffer = receive, b""
        self._line()  # it is ready

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._receive)
        self._log.close()

    def _line(self):
        until = time.monotonic() + PATIENCE
        while b"\n" not in self._buffer:
            if not select.select([self._receive], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            more = os.read(self._receive, 2**16)
            if not more:
                return b""
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def outcome(self):
        """Of the next input: what became of it, and the last words of a reader that failed."""
        line = self._line()
        if line is None:
            return "hang", f"more than {PATIENCE:g} s"
        if not line:
            code = self._process.wait()
            self._log.seek(0)
            _, fatal, words = self._log.read().rpartition(b"Fatal Python error")
            return "crash", f"exit code {code}: {(fatal + words)[:1500].decode(errors='replace')}"
        outcome, words = json.loads(line)
        return outcome, words


def _environment():
    """The same readers as here."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONFAULTHANDLER": "1"}


# ---- in the child ----


def _input(number, seed, names, examples):
    """The name of a format, the file name of an example, and a mutated content."""
    name = names[number % len(names)]
    chance = random.Random(f"{seed}/{name}/{number // len(names)}")
    paths = sorted(examples.glob(ALL[name].pattern))
    path = chance.choice(paths)
    others = [each.read_bytes() for each in paths]
    return name, path.name, mutated(chance, path.read_bytes(), ALL[name].kind, others)


def _read(name, file, content, examples, scratch):
    """What becomes of one input."""
    path = scratch / file
    path.write_bytes(content)
    try:
        return ("accepted" if ALL[name].read(path, examples) else "refused"), ""
    except BaseException:
        return "traceback", traceback.format_exc()[-1500:]
    finally:
        for each in scratch.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()


def _work(numbers, seed, names, examples, send):
    """Read inputs and say what became of them."""
    faulthandler.enable()
    for name in dict.fromkeys(names):  # libraries are loaded by a file that is whole, before memory is limited
        with tempfile.TemporaryDirectory() as scratch:
            first = sorted(examples.glob(ALL[name].pattern))[0]
            outcome, words = _read(name, first.name, first.read_bytes(), examples, Path(scratch))
            if outcome != "accepted":
                raise AssertionError(f"{first} cannot be read: {words}")
    _limit_memory()
    os.write(send, b"ready\n")
    with tempfile.TemporaryDirectory() as scratch:
        for number in numbers:
            name, file, content = _input(number, seed, names, examples)
            before = _peak(afresh=True)
            outcome = _read(name, file, content, examples, Path(scratch))
            if (taken := _peak() - before) > GREEDY:
                outcome = "greedy", f"{file}: {taken / 2**30:.1f} GiB"
            os.write(send, json.dumps(outcome).encode() + b"\n")


def _limit_memory():
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _peak(*, afresh=False):
    """Most bytes of memory that this process ever had, or since it was last asked `afresh`."""
    if afresh:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--formats", nargs="*")
    parser.add_argument("--only", type=int, help="the number of one input, read in this process")
    parser.add_argument("--keep", type=Path, help="where to keep that input")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--examples", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.formats or list(FORMATS)
    if given.make:
        make_examples(given.make, names)
    elif given.child:
        _work(json.load(sys.stdin), given.seed, names, given.examples, given.child)
    elif given.only is not None:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as scratch:
            make_examples(Path(folder), names)
            name, file, content = _input(given.only, given.seed, names, Path(folder))
            if given.keep:
                given.keep.write_bytes(content)
            print(name, file, *_read(name, file, content, Path(folder), Path(scratch)))
    else:
        outcomes = fuzz(given.count, given.seed, names)
        print(outcomes.table())
        for name, number, outcome, words in outcomes.found:
            print(f"\n== {outcome}: {name}, --seed {given.seed} --only {number}\n{words}")


if __name__ == "__main__":
    _main()
