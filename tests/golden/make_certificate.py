"""Write the golden certificates. Run it only when published certificates are meant to stop verifying, and say so in CHANGELOG.md."""

import json
import tempfile
from pathlib import Path

import numpy as np

from replical.core.canonical import fingerprint
from replical.lab.certificate.file import SCHEMA, body_of, seal
from replical.lab.journal.journal import SCHEMA as JOURNAL
from replical.lab.journal.journal import Event, Journal
from replical.lab.protocol import Protocol
from replical.lab.sessions.session import Session
from replical.lab.tables import read_pool

HERE = Path(__file__).parent
PRIVATE = "00112233445566778899aabbccddeeff" * 2
PROVENANCE = {"replical": "golden", "python": "golden", "numpy": "golden", "created": "2025-01-01T00:00:00+00:00"}
LABELS = ["no", "yes"]
ITEMS = 1000
LINE = (np.arange(ITEMS) * 7919) % 199
AGE = (np.arange(ITEMS) * 104729) % 97
TRUTH = (LINE >= 79).astype(int)


def candidates():
    """Six candidates that err on every 50th item or more, by arithmetic alone."""
    said = {}
    for number, every in enumerate((50, 20, 11, 7, 5, 3)):
        wrong = (np.arange(ITEMS) * 31 + 13 * number) % every == 0
        said[f"modèle {number}"] = np.where(wrong, 1 - TRUTH, TRUTH)
    return said


def protocols():
    """A table with a strict order of preference, a table without, and a class on a feature."""
    said = {"schema": "replical.protocol/1", "seed": "Zürich, golden", "labels": {"values": LABELS}}
    numbers = {"epsilon": 0.4, "delta": 0.2, "rho": 0.6}
    table = {"kind": "table", "candidates": [{"name": name} for name in candidates()]}
    line = {"kind": "thresholds", "features": ["dose"], "range": [[0, 199]], "bins": 60}
    order = {"from": "order", "order": [4, 0, 3, 1, 5, 2]}
    ours = {"name": "handicap", **numbers}
    plane = {"kind": "linear", "features": ["dose", "age"], "range": [[0, 199], [0, 97]], "step": 0.5, "intercept": 1.0}
    return {
        "handicap order": said | {"class": table, "handicap": order, "learner": ours | {"batch": 5}},
        "handicap": said | {"class": table, "learner": ours | {"batch": 20}},
        "handicap cover": said
        | {"class": line, "handicap": {"from": "cover", "members": [3, 22, 41]}, "learner": ours | {"nu": 0}},
        "handicap measured": said
        | {"class": table, "handicap": order, "learner": ours | {"labs": 3, "max_labels": 60}},
        "replical": said
        | {
            "class": line,
            "learner": {"name": "replical", "plan": "paper", "theta": 2.0, "k_loop": 10, "k_final": 20, **numbers},
        },
        "lattice": said | {"class": plane, "learner": {"name": "lattice", **numbers}},
        "lattice noisy": said
        | {"class": plane, "learner": {"name": "lattice", "nu": 0.05, "max_labels": 40, **numbers}},
    }


def pool(protocol):
    """The same thousand items for everyone."""
    columns = {"id": [f"item {number:04d}" for number in range(ITEMS)], "dose": LINE, "age": AGE}
    columns |= {name: np.array(LABELS, dtype=object)[codes] for name, codes in candidates().items()}
    return read_pool(columns, protocol.recipe)


MEASURE = {"handicap measured": 25}  # labels to measure the answer's error with
UNTIL = {"handicap order": 60}  # labels that the lab wants to spend


def journal(path, protocol, lab, measure=0, until_budget=0):
    """A journal with a private seed that everybody knows; the first item is skipped, everything else answered truly."""
    kept = Journal(path)
    detail = {"schema": JOURNAL, "private": PRIVATE, "protocol": dict(protocol.content), "items": len(lab)}
    detail |= {"protocol_fingerprint": protocol.fingerprint, "pool_fingerprint": lab.fingerprint}
    kept.append([Event(kind="created", detail=detail)])
    session = Session(protocol, lab, kept)
    if until_budget:
        session.spend(until_budget)
    if measure:
        session.measure_error(measure)
    session.skip(session.open[0])
    while session.open:
        session.answer_all({item: LABELS[TRUTH[int(item.split()[1])]] for item in session.open})
    session.finish()
    return kept, session


def certificates():
    made = {}
    for name, said in protocols().items():
        protocol = Protocol.of(said)
        with tempfile.TemporaryDirectory() as folder:
            kept, session = journal(
                Path(folder) / "golden.db", protocol, pool(protocol), MEASURE.get(name, 0), UNTIL.get(name, 0)
            )
            with kept:
                body = body_of(session)
        digest = fingerprint(body)
        made[name] = {
            "schema": SCHEMA,
            "body": body,
            "digest": digest,
            "provenance": PROVENANCE | {"seal": seal(digest, PROVENANCE)},
        }
    return made


if __name__ == "__main__":
    text = json.dumps(certificates(), indent=1, sort_keys=True, ensure_ascii=False)
    (HERE / "certificate.json").write_text(text + "\n", encoding="utf-8")
