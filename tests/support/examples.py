"""Valid examples of every format, as small as they can be and still have all of its parts.

They are the same whenever they are made, but for the times in journals, certificates and registrations, and for keys.
"""

import csv
import io
import json

import numpy as np

from support.formats import CANDIDATES, SIGNERS, TABLES
from support.lab import Run, answered, content, world
from support.registering import RegisteredRun
from support.registering import said as registering
from support.studies import BASE
from support.studies import text_of as study_text
from support.tables import write


def make_examples(folder, names):
    """Write valid files into a `folder`, of every format, or of tables where these `names` are tables alone."""
    _tables(folder)
    if set(names) <= set(TABLES):
        return
    _runs(folder)
    _budgets(folder)
    _protocols(folder)
    _registered(folder)
    _studies(folder)
    _lists(folder)


def _tables(folder):
    """Texts and dictionaries, numbers and gaps; compressed and not, one batch and several."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = world(candidates=CANDIDATES, items=40, seed=3)
    numbers = np.random.default_rng(4)
    columns["text"] = [None if number % 7 == 0 else f"Text {number}, größer" for number in range(40)]
    columns |= {"dose": numbers.uniform(0, 9, 40).round(2).tolist(), "age": numbers.integers(18, 90, 40).tolist()}
    columns["kind"] = ["a" if number % 3 else "b" for number in range(40)]
    plain = pa.table(columns)
    coded = plain
    for name in ("m0", "m1", "m2", "truth", "kind"):
        place = coded.schema.names.index(name)
        coded = coded.set_column(place, name, coded.column(name).dictionary_encode())
    for name, table in (("plain", plain), ("coded", coded)):
        parquet.write_table(table, folder / f"table-{name}.parquet", row_group_size=16)
        parquet.write_table(
            table, folder / f"table-{name}-raw.parquet", compression="none", use_dictionary=name == "coded"
        )
    write(plain, folder / "table-plain.csv")
    write(plain.slice(0, 3), folder / "table-small.csv")


def _runs(folder):
    """Two labs for each of two protocols, what they publish, and one that confirms an answer."""
    from replical import Session
    from replical.lab.certificate.file import certify, text_of
    from replical.lab.certificate.opening import open_entries
    from replical.lab.certificate.overlap import items_file
    from replical.lab.confirmation import confirming
    from replical.lab.journal.journal import Journal
    from replical.lab.release import vote_of
    from replical.lab.tables import read_pool

    protocols = {"ab": content(batch=12), "st": content(batch=4)}
    for seed, (name, said) in enumerate((name, said) for names, said in protocols.items() for name in names):
        columns = world(candidates=CANDIDATES, items=120, seed=seed + 1)
        write(columns, folder / f"pool-{name}.parquet")
        with Run(folder, said, columns, f"journal-{name}", skips=1, corrects=1) as run:
            (folder / f"certificate-{name}.json").write_text(text_of(run.certificate))
            (folder / f"protocol-{name}.toml").write_text(run.protocol.toml())
            if name in "ab":
                opened = open_entries(run.certificate, run.session, [], ("4f1c", 3))
                (folder / f"opening-{name}.json").write_text(text_of(opened))
                (folder / f"hashed-{name}.json").write_text(text_of(items_file(run.lab, bytes(32))))
                run.session.ledger.lab = f"lab {name}"
                (folder / f"vote-{name}.json").write_text(text_of(vote_of(run.session)))
    protocol = confirming(run.certificate, margin=0.35, level=0.05)
    columns = world(candidates=CANDIDATES, seed=32, items=300)
    with Journal(folder / "confirming.db") as journal:
        session = answered(Session(protocol, read_pool(columns, protocol.recipe), journal), columns)
        (folder / "confirmation-t.json").write_text(text_of(certify(session)))
    for leftover in (*folder.glob("*.db-*"), *folder.glob("*.lock")):
        leftover.unlink()


def _budgets(folder):
    from replical.lab.protocol import Protocol
    from replical.lab.release import Budget, ReleaseEntry

    of = {"protocol": Protocol.read(folder / "protocol-a.toml").fingerprint, "epsilon": 0.5, "nobody": 0}
    spent = Budget(total=2.0, releases=(ReleaseEntry(**of, sampler="exact integers", answer=1),))
    (folder / "budget-spent.toml").write_text(spent.toml())
    (folder / "budget-fresh.toml").write_text("total = 2.0\n")


def _registered(folder):
    """Two labs that sign, register and wait for a beacon; the certificates of both are alike."""
    from replical.lab.certificate.file import text_of
    from replical.lab.signatures import new_key, read_private

    keys = {name: new_key(folder / f"key-{name}.pem")[1] for name in SIGNERS.values()}
    protocol = registering(beacon="a draw", keys=keys, candidates=CANDIDATES)
    for seed, (letter, name) in enumerate(SIGNERS.items()):
        columns = world(candidates=CANDIDATES, items=60, seed=seed, best=0.0, worst=1.0)
        write(columns, folder / f"pool-{letter}.parquet")
        run = RegisteredRun(folder, protocol, columns, name, secret=f"journal-{letter}", beacon="4f1c")
        signer = read_private(folder / f"key-{name}.pem")
        for what, made in (("certificate", run.certificate), ("registration", run.registration)):
            (folder / f"{what}-{letter}.json").write_text(text_of(signer.sign(made)))
        (folder / f"protocol-{letter}.toml").write_text(run.protocol.toml())
    for leftover in (*folder.glob("*.db-*"), *folder.glob("*.lock")):
        leftover.unlink()


def _protocols(folder):
    """Of other classes, with handicaps, a list of labs; and orders of a public table."""
    from replical.lab.ordering import OrderFile, active_section, asked_of, vote_section
    from replical.lab.protocol import Protocol
    from replical.lab.tables import read_labels, read_pool

    dose = {"kind": "thresholds", "features": ["dose"], "range": [[0.0, 10.0]], "bins": 20}
    boxes = {"kind": "boxes", "features": ["dose", "age"], "range": [[0.0, 10.0], [18.0, 90.0]], "bins": 3}
    said = {
        "line": content(nu=0.0) | {"class": dose, "handicap": {"from": "zero"}, "title": "Doses"},
        "order": content(handicap={"from": "order", "order": [3, 1, 4, 0, 5, 2]}),
        "weights": content(handicap={"from": "weights", "weights": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}),
        "paper": content("replical", theta=2.0, plan="paper", k_loop=10, k_final=20),
        "boxes": content("cal") | {"class": boxes, "labs": {"names": ["A", "B"]}},
        "count": content("cal") | {"class": {"kind": "thresholds", "features": ["dose"], "count": 50}},
        "net": content("a2") | {"class": {"kind": "halfspaces", "features": ["dose", "age"], "count": 50}},
        "stumps": content("a2") | {"class": dose | {"kind": "stumps"}},
    }
    table, recipe = folder / "pool-a.parquet", Protocol.of(content()).recipe
    items, labels = read_pool(table, recipe), read_labels(table, "truth", recipe.answers)
    labels[min(labels)] = None  # nobody could say
    for made, section in {
        "asked": active_section(items, asked_of(items, labels, "")),
        "vote": vote_section(items),
    }.items():
        (folder / f"public-{made}.json").write_text(OrderFile.of(section, recipe).json)
        said[made] = content(handicap={"from": "order"} | section)
    for name, each in said.items():
        (folder / f"protocol-{name}.toml").write_text(Protocol.of(each).toml())


def _studies(folder):
    from replical.study.spec import Study
    from replical.study.store import EMPTY, Piece, Store, work

    (folder / "small-study.toml").write_text(study_text(BASE))
    (folder / "large-study.toml").write_text(study_text(BASE | {"title": "Large", "stop": {"pairs": 3000}}))
    cell = Study.read(folder / "small-study.toml").cells()[0]
    piece = Piece(cell=cell.id, experiment=cell.experiment, class_seed=cell.study_seed, seed=cell.seed, start=0, end=3)
    store = Store(folder / "store")
    store.write(cell, EMPTY.extend(work(piece)))
    (folder / "store" / "cells" / f"{cell.id}.parquet").replace(folder / "cell-a.parquet")


def _lists(folder):
    """Files of texts."""
    names = [f"m{c}" for c in range(CANDIDATES)]
    rows = {
        "listed.csv": [["name", "weight"], *([name, ""] for name in names)],
        "weights.csv": [["candidate", "weight"], *([name, number + 0.5] for number, name in enumerate(names))],
        "items.csv": [["x"], *([number / 2] for number in range(8))],
        "spec.csv": [names[:3], ["no", "yes", "no"], ["yes", "yes", "no"], ["no", "no", "yes"]],
        "answers-a.csv": [
            ["id", "text", "label"],
            ["i0001", "'=eins", "yes"],
            ["i0002", "zwei", "?"],
            ["i0003", "", "no"],
        ],
        "answers-b.csv": [["id", "label", "annotator"], ["i0001", "yes", "Ann"], ["i0002", "no", "Bob"]],
    }
    for name, listed in rows.items():
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(listed)
        (folder / name).write_text(text.getvalue(), encoding="utf-8")
    (folder / "order.txt").write_text("\n".join(reversed(names)) + "\n")
    chosen = {"result": [{"from_name": "label", "type": "choices", "value": {"choices": ["yes"]}}], "completed_by": 1}
    whole = [{"id": 1, "data": {"id": "i1", "item": "i1"}, "annotations": [chosen]}, {"id": 2, "data": {"item": "i2"}}]
    least = [{"item": "i1", "id": 1, "label": "yes", "annotator": 2}, {"item": "i2", "id": 2}]
    (folder / "answers-whole.json").write_text(json.dumps(whole))
    (folder / "answers-least.json").write_text(json.dumps(least))
