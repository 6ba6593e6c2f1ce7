"""How long does a person wait for the next item, and how many people can label at once?

1000 candidates on 100,000 items, labels that leave them nearly tied, so that the run goes on as long as people do. First
one person answers as fast as the page allows; then 20 people answer for a minute, each thinking for half a second.
Beside it, as the price of asking the server anything at all: reading the progress. Exits 1 if a request fails.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

THINKING = 0.5  # seconds


def lab(folder: Path, candidates: int, items: int) -> dict[str, str]:
    """Write a pool and a protocol; return the labels."""
    rng = np.random.default_rng(7)
    truth = rng.integers(2, size=items, dtype=np.int8)
    names = [f"model-{n:04d}" for n in range(candidates)]
    skill = rng.uniform(0.25, 0.35, candidates)  # how often each is wrong
    table = {"id": pa.array([f"{n:06d}" for n in range(items)])}
    table |= {
        name: pa.array((truth ^ (rng.random(items) < wrong)).astype(np.int8))
        for name, wrong in zip(names, skill, strict=True)
    }
    pq.write_table(pa.table(table), folder / "pool.parquet")
    (folder / "models.csv").write_text("name\n" + "\n".join(names))
    words = ["--label-values", "0,1", "--epsilon", ".05", "--delta", ".05", "--rho", ".1"]
    words += ["--seed", "page benchmark", "--set", "batch=40"]
    new = ["init", "--out", "p.toml", "--candidates", "models.csv", *words]
    subprocess.run([sys.executable, "-m", "replical", *new], cwd=folder, check=True, capture_output=True)
    return {f"{n:06d}": str(label) for n, label in enumerate(truth)}


class Person:
    """One annotator with a connection and a browser of their own."""

    def __init__(self, name: str, address: str, truth: dict[str, str]) -> None:
        self.truth = truth
        parts = urlsplit(address)
        self.http = HTTPConnection("127.0.0.1", parts.port, timeout=60)
        self.cookies: list[str] = []
        self.waited: list[float] = []
        self.errors: list[str] = []
        self.look(f"/?{parts.query}")
        self.say("/api/join", name=name)

    def look(self, path: str) -> None:
        """Read a page."""
        self.http.request("GET", path, headers={"Cookie": "; ".join(self.cookies)})
        self._heard().read()

    def _heard(self) -> HTTPResponse:
        answer = self.http.getresponse()
        self.cookies += [each.split(";")[0] for each in answer.headers.get_all("Set-Cookie", [])]
        return answer

    def say(self, path: str, **body: str) -> dict[str, object]:
        """Post and read the answer."""
        headers = {"Content-Type": "application/json", "Cookie": "; ".join(self.cookies)}
        self.http.request("POST", path, json.dumps(body), headers)
        answer = self._heard()
        told: dict[str, object] = json.loads(answer.read())
        if answer.status != 200:
            self.errors.append(f"{answer.status}: {told}")
        return told

    def label(self, until: float, thinking: float) -> None:
        """Answer until the time is over; note how long each next item took to come."""
        told = self.say("/api/next")
        while time.monotonic() < until:
            if not told.get("item"):
                time.sleep(0.5)
                told = self.say("/api/next")
                continue
            time.sleep(thinking)
            item = told["item"]["id"]  # type: ignore[index]
            asked = time.monotonic()
            told = self.say("/api/answer", item=item, label=self.truth[item])
            self.waited.append(time.monotonic() - asked)


def told(what: str, waited: list[float]) -> None:
    """Print a line of times."""
    tenths = quantiles(waited, n=20)
    print(
        f"{what:<34} {len(waited):>6} answers, median {1e3 * median(waited):6.1f} ms, 95% within {1e3 * tenths[-1]:6.1f} ms"
    )


def main() -> int:
    """Serve, label, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = lab(folder, given.candidates, given.items)
        words = ["run", "p.toml", "--pool", "pool.parquet", "--ask", "page", "--journal", "a.db", "--out", "a.json"]
        started = time.monotonic()
        server = subprocess.Popen(
            [sys.executable, "-m", "replical", *words, "--page", "port=0"],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.stderr is not None
        try:
            address = next(line.split()[-1] for line in server.stderr if line.startswith("Label at"))
            threading.Thread(target=server.stderr.read, daemon=True).start()
            size = f"{given.candidates} candidates, {given.items} items"
            print(f"the page is there after {time.monotonic() - started:.0f} s ({size})")
            return measure(address, truth, given.people, given.seconds)
        finally:
            server.kill()
            server.wait()


def measure(address: str, truth: dict[str, str], people: int, seconds: float) -> int:
    """One person alone, then many."""
    alone = Person("alone", address, truth)
    bare = []
    for _ in range(100):
        asked = time.monotonic()
        alone.look("/api/progress")
        bare.append(time.monotonic() - asked)
    told("reading the progress", bare)
    time.sleep(3)
    alone.label(time.monotonic() + min(seconds, 20), 0.03)
    told("one person, as fast as it goes", alone.waited)
    crowd = [Person(f"person {n}", address, truth) for n in range(people)]
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=person.label, args=(until, THINKING)) for person in crowd]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told(f"{people} people for {seconds:.0f} s", [wait for person in crowd for wait in person.waited])
    errors = [error for person in (alone, *crowd) for error in person.errors]
    print(f"{len(errors)} errors", *errors[:3], sep="\n")
    print(f"next item / bare request: {median(alone.waited) / median(bare):.1f}")
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())
