"""How long a long run takes to go on, and its certificate to be made and checked.

One run of handicap among 20 candidates that are about equally good, so that it asks until its budget is spent; its
journal is written as a session writes it, and every label is heard again. Seconds are those of one core.

    python benchmarks/resume.py [--quick] [--labels N --batch B] [--record]

`--record` adds a file to benchmarks/history/resume. On a quiet machine about ten minutes of two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from replical import PrivateRandomness, Session, read_pool
from replical.lab.certificate.file import certify, read, text_of, write
from replical.lab.certificate.verify import verify
from replical.lab.journal.journal import SCHEMA, Event, Journal
from replical.lab.protocol import Protocol
from replical.learners.base import Course
from replical.pools.query import Answers

HISTORY = Path(__file__).parent / "history" / "resume"
ROWS = ((100_000, 1), (1_000_000, 10))  # labels, and how many are asked at a time
QUICK = ((3_000, 1), (4_000, 10))
CANDIDATES, WRONG, EASY = 20, 0.3, 0.5
LEFT = 10  # labels that are given after the run was resumed
PRIVATE = "5a" * 32


def world(labels: int, batch: int) -> tuple[Protocol, Any, np.ndarray]:
    """Candidates that err on 0.3 of one half of the items, each on its own; protocol, pool and true labels."""
    generator, items = np.random.default_rng(1), 3 * labels
    truth, easy = generator.integers(0, 2, items), generator.random(items) < EASY
    names = [f"m{number}" for number in range(CANDIDATES)]
    protocol = Protocol.of(
        {
            "schema": "replical.protocol/1",
            "seed": "resume",
            "class": {"kind": "table", "candidates": [{"name": name} for name in names]},
            "labels": {"values": [0, 1]},
            "learner": {
                "name": "handicap",
                **{"epsilon": 0.001, "delta": 0.05, "rho": 0.1, "batch": batch, "max_labels": labels},
            },
        }
    )
    columns: dict[str, Any] = {"id": [f"i{number:07d}" for number in range(items)]}
    columns |= {name: np.where(~easy & (generator.random(items) < WRONG), 1 - truth, truth) for name in names}
    return protocol, read_pool(columns, protocol.recipe), truth


def written(path: Path, protocol: Protocol, lab: Any, truth: np.ndarray, labels: int) -> None:
    """The journal of the run up to its last few labels, as a session would have written it."""
    detail = {"schema": SCHEMA, "private": PRIVATE, "protocol": dict(protocol.content), "items": len(lab)}
    detail |= {"protocol_fingerprint": protocol.fingerprint, "pool_fingerprint": lab.fingerprint}
    with Journal(path) as journal:
        journal.append([Event(kind="created", detail=detail)])
        course = Course(protocol.learner, lab.pool(PrivateRandomness(bytes.fromhex(PRIVATE))), protocol.shared)
        events: list[Event] = []
        while (query := course.query) is not None and course.asked <= labels - LEFT:
            ids = [lab.ids[item] for item in query.items.tolist()]
            events += [Event(kind="ask", item=each) for each in ids]
            events.append(Event(kind="open", detail={"items": ids, "disagreement": list(query.disagreement)}))
            codes = truth[query.items]
            events += [
                Event(kind="answer", item=each, label=code) for each, code in zip(ids, codes.tolist(), strict=True)
            ]
            course.tell(Answers.unanimous(query, codes.astype(np.uint16), 2))
            if len(events) > 100_000:
                journal.append(events)
                events = []
        journal.append(events)


class Clock:
    """Seconds of one core since it was made."""

    def __init__(self) -> None:
        self._begun = time.process_time()

    @property
    def seconds(self) -> float:
        """So far."""
        return time.process_time() - self._begun


def measured(labels: int, batch: int, folder: Path) -> dict[str, Any]:
    """One row: seconds to resume and to verify, and bytes of the certificate."""
    protocol, lab, truth = world(labels, batch)
    path, out = folder / "a.db", folder / "a.json"
    written(path, protocol, lab, truth, labels)
    row: dict[str, Any] = {"labels": labels, "batch": batch, "journal_megabytes": path.stat().st_size / 1e6}
    with Journal(path) as journal:
        clock = Clock()
        session = Session(protocol, lab, journal)
        row["resume"] = clock.seconds
        clock = Clock()
        while session.open:
            session.answer_all({item: int(truth[int(item[1:])]) for item in session.open})
        session.finish()
        certificate = certify(session)
        row["end_and_certify"] = clock.seconds
        write(certificate, out)
    row["certificate_megabytes"] = out.stat().st_size / 1e6
    row["one_by_one_megabytes"] = len(json.dumps(certificate, indent=1, sort_keys=True)) / 1e6
    clock = Clock()
    found = read(out)
    row["read"] = clock.seconds
    assert text_of(found) == text_of(certificate), "what is read is what was written"
    with Journal(path, write=False) as journal:
        clock = Clock()
        assert verify(found, lab, journal).valid, "the certificate must be valid"
        row["verify"] = clock.seconds
    return row


def main() -> None:
    """Measure and print; one line of JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few labels")
    parser.add_argument("--labels", type=int, help="one row with so many labels")
    parser.add_argument("--batch", type=int, default=1, help="how many are asked at a time in that row")
    parser.add_argument("--record", action="store_true", help="add a file to benchmarks/history/resume")
    given = parser.parse_args()
    wanted = ((given.labels, given.batch),) if given.labels else QUICK if given.quick else ROWS
    shown = Table(title="seconds of one core; MB")
    names = {
        "labels": "labels",
        "batch": "batch",
        "resume": "resume",
        "end_and_certify": "end, certify",
        "verify": "verify",
        "certificate_megabytes": "certificate",
        "one_by_one_megabytes": "one by one",
    }
    for name in names.values():
        shown.add_column(name, justify="right")
    rows = []
    for labels, batch in wanted:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measured(labels, batch, Path(folder)))
        shown.add_row(
            *(f"{rows[-1][key]:,.3g}" if key not in ("labels", "batch") else f"{rows[-1][key]:,}" for key in names)
        )
        sys.stdout.write(json.dumps(rows[-1]) + "\n")
        sys.stdout.flush()
    Console().print(shown)
    if given.record:
        machine = {"cores": os.cpu_count(), "load": os.getloadavg()[0], "python": platform.python_version()}
        HISTORY.mkdir(exist_ok=True)
        file = HISTORY / f"{len(list(HISTORY.glob('*.json'))) + 1:04d}.json"
        file.write_text(json.dumps({"machine": machine | {"numpy": np.__version__}, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
