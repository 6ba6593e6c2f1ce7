"""A lab small enough to run in a blink: candidates and items, protocols, and finished runs with a known private seed."""

import csv
import hashlib
from pathlib import Path

import numpy as np

from replical.lab.certificate.file import certify
from replical.lab.journal.journal import SCHEMA, Event, Journal
from replical.lab.protocol import Protocol
from replical.lab.sessions.session import Session
from replical.lab.tables import read_pool

LABELS = ("no", "yes")


def world(candidates=6, items=1000, seed=1, best=0.02, worst=0.35, abstain=None):
    """Columns of a lab's table: ids, a text, the truth, and what each candidate says; later candidates err more.

    With a word for it the later half abstains now and then.
    """
    generator = np.random.default_rng(seed)
    truth = generator.integers(2, size=items)
    rates = np.linspace(best, worst, candidates)
    said = np.where(generator.random((candidates, items)) < rates[:, None], 1 - truth, truth)
    values = np.array(LABELS, dtype=object)
    columns = {"id": [f"i{number:04d}" for number in range(items)], "text": [f"text {n}" for n in range(items)]}
    columns["truth"] = values[truth].tolist()
    says = values[said]
    if abstain is not None:
        says[candidates // 2 :][generator.random((candidates - candidates // 2, items)) < 0.2] = abstain
    return columns | {f"m{c}": says[c].tolist() for c in range(candidates)}


def write_csv(path, columns):
    """A lab's table as a file."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])


def content(learner="handicap", *, candidates=6, seed="a published text", **changes):
    """What a protocol about candidates says; other keywords are the learner's, `prior`, `handicap` and `title` its own.

    `losses` stands with the labels: weights, abstain and price.
    """
    said = {"schema": "replical.protocol/1", "seed": seed}
    said |= {key: changes.pop(key) for key in ("title", "notes", "prior", "handicap") if key in changes}
    said["class"] = {"kind": "table", "candidates": [{"name": f"m{c}"} for c in range(candidates)]}
    said["labels"] = {"values": list(LABELS)} | changes.pop("losses", {})
    said["learner"] = {"name": learner, "epsilon": 0.4, "delta": 0.2, "rho": 0.6} | changes
    return said


ORDER = {"from": "order", "order": [3, 1, 4, 0, 5, 2]}
SHORTLIST = ORDER | {"shortlist": 3}
# One finished run of every kind that a certificate can tell: pool size, and what the protocol says ("measure": labels to
# measure the answer's error with).
KINDS = {
    "handicap certified": (1000, {"learner": "handicap", "batch": 4, "handicap": ORDER}),
    "handicap many labs certified": (1000, {"learner": "handicap", "batch": 4, "labs": 4, "handicap": ORDER}),
    "handicap exponentials certified": (1000, {"learner": "handicap", "batch": 12}),
    "handicap weights certified": (
        1000,
        {"learner": "handicap", "handicap": {"from": "weights", "weights": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}},
    ),
    "handicap cover certified": (
        1000,
        {"learner": "handicap", "batch": 8, "handicap": {"from": "cover", "members": [0, 2, 5]}},
    ),
    "handicap zero certified": (300, {"learner": "handicap", "handicap": {"from": "zero"}}),
    "handicap values certified": (
        300,
        {"learner": "handicap", "handicap": {"from": "values", "values": [0.0, 0.1, 0.2, 0.3, 0.05, 0.15]}},
    ),
    "handicap uncertified": (60, {"learner": "handicap", "epsilon": 0.05, "max_labels": 30, "batch": 4}),
    "handicap order uncertified": (1000, {"learner": "handicap", "max_labels": 6, "epsilon": 0.1, "handicap": ORDER}),
    "handicap shortlist certified": (1000, {"learner": "handicap", "batch": 4, "handicap": SHORTLIST}),
    "handicap shortlist uncertified": (
        1000,
        {"learner": "handicap", "max_labels": 3, "epsilon": 0.1, "handicap": SHORTLIST},
    ),
    "handicap measured certified": (1000, {"learner": "handicap", "max_labels": 400, "measure": 20, "handicap": ORDER}),
    "handicap sharpened certified": (1000, {"learner": "handicap", "batch": 4, "until_budget": 90, "handicap": ORDER}),
    "handicap losses certified": (
        1000,
        {
            "learner": "handicap",
            "batch": 4,
            "losses": {"weights": {"no": 1.0, "yes": 4.0}, "abstain": "unsure", "price": 0.1},
        },
    ),
    "handicap noiseless certified": (1000, {"learner": "handicap", "nu": 0.0, "epsilon": 0.3, "handicap": ORDER}),
    "handicap noiseless uncertified": (
        60,
        {"learner": "handicap", "nu": 0.0, "epsilon": 0.02, "batch": 2, "max_labels": 2},
    ),
    "cal": (150, {"learner": "cal", "prior": {"kind": "order", "order": [5, 2, 0, 4, 1, 3]}}),
    "replical": (600, {"learner": "replical", "theta": 2.0, "plan": "paper", "k_loop": 10, "k_final": 20}),
}


def private(name):
    """A private seed for a test, as a journal keeps it."""
    return hashlib.sha256(f"private {name}".encode()).hexdigest()


def begin(journal, protocol, lab, name):
    """The first event of a journal, with a private seed that everybody knows."""
    detail = {"schema": SCHEMA, "private": private(name), "protocol": dict(protocol.content), "items": len(lab)}
    detail |= {"protocol_fingerprint": protocol.fingerprint, "pool_fingerprint": lab.fingerprint, **protocol.binding}
    journal.append([Event(kind="created", detail=detail)])


def answered(session, columns):
    """Answer everything with the truth."""
    truth = dict(zip(columns["id"], columns["truth"], strict=True))
    while session.open:
        session.answer_all({item: truth[item] for item in session.open})
    session.finish()
    return session


class Run:
    """A finished run: its protocol, pool, journal and certificate."""

    def __init__(self, folder, said, columns, name="lab", *, skips=0, corrects=0, measure=0, until_budget=0):
        self.columns, self.path = columns, folder / f"{name}.db"
        self.protocol = said if isinstance(said, Protocol) else Protocol.of(said)
        self.lab = read_pool(columns, self.protocol.recipe)
        self.journal = Journal(self.path)
        try:
            self._run(name, skips, corrects, measure, until_budget)
        except BaseException:
            self.journal.close()
            raise

    def _run(self, name, skips, corrects, measure, until_budget):
        columns = self.columns
        begin(self.journal, self.protocol, self.lab, name)
        session = Session(self.protocol, self.lab, self.journal)
        if until_budget:
            session.spend(until_budget)
        if measure:
            session.measure_error(measure)
        for _ in range(skips):
            session.skip(session.open[0])
        for _ in range(corrects):
            item = session.open[0]
            right = columns["truth"][columns["id"].index(item)]
            session.answer(item, next(label for label in LABELS if label != right))
            session.correct(item, right)
        self.session = answered(session, columns)
        self.certificate = certify(self.session)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.journal.close()


def finished(folder, kind, name="lab", *, seed=1, **events):
    """A finished run of one of the `KINDS`."""
    items, changes = KINDS[kind]
    changes = dict(changes)
    spent = {name: changes.pop(name, 0) for name in ("measure", "until_budget")}
    said = content(**changes)
    realizable = said["learner"]["name"] in ("cal", "replical") or said["learner"].get("nu") == 0
    columns = world(items=items, seed=seed, best=0.0 if realizable else 0.02, abstain=said["labels"].get("abstain"))
    return Run(folder, said, columns, name, **spent, **events)
