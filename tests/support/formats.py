"""Every format that is read from a file somebody else may have written: valid examples of it, and who reads it.

A reader returns whether it accepted the file; it refuses with an own error, or with an exit code of the command line.
"""

import csv
import io
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from replical.cli import main
from replical.errors import ReplicalError
from support.lab import LABELS, Run, answered, content, world
from support.registering import RegisteredRun
from support.registering import said as registering
from support.studies import BASE
from support.studies import text_of as study_text
from support.tables import write

CANDIDATES = 6
BESIDE = {"a": "b", "b": "a", "s": "t", "t": "s", "n": "o", "o": "n"}  # who ran the same protocol as whom


@dataclass(frozen=True, kw_only=True)
class Format:
    """How its examples are mutated (bytes, json, sealed or toml), which files they are, and `read(path, folder)`."""

    kind: str
    pattern: str
    read: Callable[[Path, Path], bool]


def accepted(*calls):
    """Make every call, whatever the others say; accepted where none refuses."""
    refusals = []
    for call in calls:
        try:
            call()
        except ReplicalError as error:
            refusals.append(str(error))
    for said in refusals:
        if not said.strip() or "\n" in said.strip() or len(said) > 1500:
            raise AssertionError(f"no sentence: {said!r:.300}")
    return not refusals


def command(*words):
    """One command in this process; an exit code of 0 means accepted, one of 4 that something is still open."""
    return main([str(word) for word in words]) in (0, 4)


# ---- readers ----


def read_table(path, folder):
    """A pool of predictions, a pool of features, labels, and what people are shown."""
    from replical.classes.catalogue import recipe
    from replical.lab.tables import ItemColumns, read_labels, read_pool

    candidates = {"kind": "table", "candidates": [{"name": f"m{c}"} for c in range(CANDIDATES)]}
    doses = {"kind": "thresholds", "features": ["dose"], "count": 10}
    return accepted(
        lambda: read_pool(path, recipe(candidates, LABELS, "s")).pool,
        lambda: read_pool(path, recipe(doses, LABELS, "s")),
        lambda: read_labels(path, "truth", LABELS),
        lambda: ItemColumns(path, ["text", "age", "kind"])(["i0001"]),
    )


def read_protocol(path, folder):
    """As a lab reads it that was sent one, with the list of candidates beside it."""
    shutil.copy(folder / "listed.csv", path.with_name("listed.csv"))
    return command("protocol", "show", path)


def read_candidates(path, folder):
    """The list of candidates beside a protocol, in TOML or on the command line."""
    beside = path.with_name("beside.toml")
    beside.write_text((folder / "protocol-file.toml").read_text().replace("listed.csv", path.name))
    new = ("protocol", "new", "--out", path.with_name("new.toml"), "--label-values", "no,yes", "--seed", "a text")
    sizes = ("--epsilon", "0.2", "--delta", "0.1", "--rho", "0.2")
    listed = command(*new, *sizes, "--candidates", path)
    path.with_name("new.toml").unlink(missing_ok=True)
    return command("protocol", "show", beside) and listed


def read_study(path, folder):
    """As `replical study` does before the first pair."""
    from replical.study.spec import Study

    def cells():
        study = Study.read(path)
        for cell in study.cells(quick=True)[:3]:
            assert cell.id
            assert cell.words

    return accepted(cells)


def read_cell(path, folder):
    """A damaged cell of a study is made again."""
    from replical.study.spec import Study
    from replical.study.store import NOTHING, Store

    (path.parent / "store" / "cells").mkdir(parents=True, exist_ok=True)
    cell = Study.read(folder / "small-study.toml").cells()[0]
    path.replace(path.parent / "store" / "cells" / f"{cell.id}.parquet")
    store = Store(path.parent / "store")
    found = store.read(cell) is not NOTHING
    return accepted(lambda: store.check(cell.study_seed)) and found


def _lab(path):
    """Whose file it is, and the other lab of the same protocol: the last letter of the name says it."""
    return path.stem[-1], BESIDE[path.stem[-1]]


def read_certificate(path, folder):
    """Alone, with its pool, as a page, beside another."""
    lab, other = _lab(path)
    page = path.with_name("page.html")
    return all(
        [
            command("verify", path, "--json"),
            command("verify", path, "--pool", folder / f"pool-{lab}.parquet", "--html", page),
            command("compare", path, folder / f"certificate-{other}.json"),
        ]
    )


def read_confirmation(path, folder):
    """Alone and beside its certificate."""
    lab, _ = _lab(path)
    return all([command("verify", path, "--json"), command("compare", path, folder / f"certificate-{lab}.json")])


def read_registration(path, folder):
    """With the certificate of the run that it announced, and beside that of another lab."""
    lab, other = _lab(path)
    own, beside = folder / f"certificate-{lab}.json", folder / f"certificate-{other}.json"
    given = ("--registration", path, "--registration", folder / f"registration-{other}.json")
    return all(
        [command("verify", own, "--registration", path, "--json"), command("compare", own, beside, *given, "--json")]
    )


def read_key(path, folder):
    """As a private key, and as a public one, whichever it is."""
    from replical.lab.signatures import read_private, read_public

    private = accepted(lambda: read_private(path))
    return accepted(lambda: read_public(path)) or private


def read_profile(path, folder):
    """With the certificates that it is about."""
    lab, other = _lab(path)
    two = (folder / f"certificate-{lab}.json", folder / f"certificate-{other}.json")
    return command("compare", *two, "--profile", path, "--profile", folder / f"profile-{other}.json")


def _release(folder, scratch, budget, *votes):
    (scratch / "release.json").unlink(missing_ok=True)
    words = ("--protocol", folder / "protocol-a.toml", "--epsilon", "0.5", "--budget", budget, "--sampler", "exact")
    return command("release", *words, "--out", scratch / "release.json", *votes)


def read_vote(path, folder):
    """As the curator reads it."""
    budget = path.with_name("spent.toml")
    budget.write_text("total = 2.0\n")
    return _release(folder, path.parent, budget, path, folder / f"vote-{_lab(path)[1]}.json")


def read_budget(path, folder):
    """As the curator's own file."""
    return _release(folder, path.parent, path, folder / "vote-a.json", folder / "vote-b.json")


def read_journal(path, folder):
    """Exported, replayed by a verifier, and gone on with by the lab itself."""
    lab, _ = _lab(path)
    exported = command("export", path, "--out", path.with_name("events.csv"))
    pool, protocol = folder / f"pool-{lab}.parquet", folder / f"protocol-{lab}.toml"
    verified = command("verify", folder / f"certificate-{lab}.json", "--pool", pool, "--journal", path)
    run = ("run", protocol, "--pool", pool, "--labels", f"{pool}:truth", "--journal", path)
    return all([exported, verified, command(*run, "--out", path.with_name("again.json"))])


def read_answers(path, folder):
    """What came back for a batch; `items_of` reads only what we wrote ourselves."""
    from replical.lab.batches import items_of, read_batch

    calls = [lambda: read_batch(path, LABELS), lambda: read_batch(path, (0, 1))]
    return accepted(calls[0], *([lambda: items_of(path)] if path.suffix == ".csv" else []))


def read_weights(path, folder):
    """Weights of candidates."""
    return accepted(lambda: _prior(path, None))


def read_order(path, folder):
    """A strict order of preference, the best first."""
    return accepted(lambda: _prior(None, path))


def _prior(weights, prefer):
    from replical.classes.table import PredictionTable
    from replical.cli.inputs import read_prior

    read_prior(PredictionTable([f"m{c}" for c in range(CANDIDATES)]), weights, prefer)


def read_law(path, folder):
    """Probabilities of labels, and a table of items of a small class."""
    from replical.classes.thresholds import Thresholds
    from replical.cli.inputs import items_from, read_law
    from replical.core.randomness import PrivateRandomness

    C = Thresholds(5)
    if path.name.startswith("law"):
        return accepted(lambda: read_law(C, None, path))
    return accepted(lambda: items_from(C, path, PrivateRandomness.simulated("fuzz")))


def read_spec(path, folder):
    """The class ``table:FILE.csv``."""
    from replical.classes.spec import parse

    return accepted(lambda: parse(f"table:{path}"))


FORMATS = {
    "csv": Format(kind="bytes", pattern="table-*.csv", read=read_table),
    "parquet": Format(kind="bytes", pattern="table-*.parquet", read=read_table),
    "arrow": Format(kind="bytes", pattern="table-*.arrow", read=read_table),
    "feather": Format(kind="bytes", pattern="table-*.feather", read=read_table),
    "protocol": Format(kind="toml", pattern="protocol-*.toml", read=read_protocol),
    "candidates": Format(kind="bytes", pattern="listed*.csv", read=read_candidates),
    "study": Format(kind="toml", pattern="*study.toml", read=read_study),
    "cell": Format(kind="bytes", pattern="cell-*.parquet", read=read_cell),
    "certificate": Format(kind="sealed", pattern="certificate-*.json", read=read_certificate),
    "confirmation": Format(kind="sealed", pattern="confirmation-*.json", read=read_confirmation),
    "registration": Format(kind="sealed", pattern="registration-*.json", read=read_registration),
    "key": Format(kind="bytes", pattern="key-*.pem", read=read_key),
    "profile": Format(kind="sealed", pattern="profile-*.json", read=read_profile),
    "vote": Format(kind="json", pattern="vote-*.json", read=read_vote),
    "budget": Format(kind="toml", pattern="budget-*.toml", read=read_budget),
    "journal": Format(kind="bytes", pattern="journal-*.db", read=read_journal),
    "answers": Format(kind="bytes", pattern="answers-*.csv", read=read_answers),
    "label studio": Format(kind="json", pattern="answers-*.json", read=read_answers),
    "weights": Format(kind="bytes", pattern="weights.csv", read=read_weights),
    "order": Format(kind="bytes", pattern="order.txt", read=read_order),
    "law": Format(kind="bytes", pattern="law*.csv", read=read_law),
    "items": Format(kind="bytes", pattern="items*.csv", read=read_law),
    "spec": Format(kind="bytes", pattern="spec*.csv", read=read_spec),
}


# ---- readers with a flaw, to see that it is counted ----


def _raises(path, folder):
    raise KeyError(path.name)


def _crashes(path, folder):
    os.kill(os.getpid(), signal.SIGSEGV)


def _hangs(path, folder):
    time.sleep(10**6)


def _greedy(path, folder):
    return bool(np.ones(3 * 2**26).any())


def _only_if_changed(flaw):
    """Whole files are read as they should be."""
    return lambda path, folder: path.read_bytes() == (folder / path.name).read_bytes() or flaw(path, folder)


FLAWS = {
    name: Format(kind="bytes", pattern="order.txt", read=_only_if_changed(flaw))
    for name, flaw in {"raises": _raises, "crashes": _crashes, "hangs": _hangs, "greedy": _greedy}.items()
}


# ---- examples ----


TABLES = ("csv", "parquet", "arrow", "feather")


def make_examples(folder, names):
    """Write valid files into a `folder`, of every format, or of tables where these `names` are tables alone."""
    _tables(folder)
    if set(names) <= set(TABLES):
        return
    _runs(folder)
    _registered(folder)
    _budgets(folder)
    _protocols(folder)
    _studies(folder)
    _lists(folder)


def _tables(folder):
    """Texts and dictionaries, numbers and gaps; compressed and not, one batch and several."""
    import pyarrow as pa
    from pyarrow import feather, ipc, parquet

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
        feather.write_feather(table, folder / f"table-{name}.feather", compression="lz4")
        feather.write_feather(table, folder / f"table-{name}-raw.feather", compression="uncompressed", chunksize=16)
        for compression in (None, "zstd"):
            options = ipc.IpcWriteOptions(compression=compression, unify_dictionaries=True)
            path = folder / f"table-{name}{'-zstd' if compression else ''}.arrow"
            with pa.OSFile(str(path), "wb") as file, ipc.new_file(file, table.schema, options=options) as writer:
                writer.write_table(table, max_chunksize=16)
    write(plain, folder / "table-plain.csv")
    write(plain.slice(0, 3), folder / "table-small.csv")


def _runs(folder):
    """Two labs for each of two protocols, what they publish, and one that confirms an answer."""
    from replical import Session
    from replical.lab.certificate.file import text_of
    from replical.lab.certificate.profile import profile_of
    from replical.lab.confirmation.claims import claim_of
    from replical.lab.confirmation.file import publish
    from replical.lab.journal import Journal
    from replical.lab.release.vote import vote_of
    from replical.lab.tables import read_pool

    protocols = {"ab": content("rounded-a2", batch=12), "st": content("settled", batch=4)}
    for seed, (name, said) in enumerate((name, said) for names, said in protocols.items() for name in names):
        columns = world(candidates=CANDIDATES, items=120, seed=seed + 1)
        write(columns, folder / f"pool-{name}.parquet")
        with Run(folder, said, columns, f"journal-{name}", skips=1, corrects=1) as run:
            (folder / f"certificate-{name}.json").write_text(text_of(run.certificate))
            (folder / f"protocol-{name}.toml").write_text(run.protocol.toml())
            if name in "ab":
                (folder / f"profile-{name}.json").write_text(text_of(profile_of(run.session, run.certificate)))
                run.session.ledger.lab = f"lab {name}"
                (folder / f"vote-{name}.json").write_text(text_of(vote_of(run.session)))
    protocol, claim = claim_of(run.certificate, margin=0.35, level=0.05)
    columns = world(candidates=CANDIDATES, seed=32, items=300)
    with Journal(folder / "confirming.db") as journal:
        session = answered(Session(protocol, read_pool(columns, protocol.recipe), journal, claim=claim), columns)
        (folder / "confirmation-t.json").write_text(text_of(publish(session)))
    for leftover in (*folder.glob("*.db-*"), *folder.glob("*.lock")):
        leftover.unlink()


def _registered(folder):
    """Two labs that sign, register and wait for a beacon; the certificates of both are alike."""
    from replical.lab.certificate.file import text_of
    from replical.lab.signatures import new_key, read_private

    names = {"n": "north", "o": "south"}
    keys = {name: new_key(folder / f"key-{name}.pem")[1] for name in names.values()}
    protocol = registering(beacon="a draw", keys=keys, candidates=CANDIDATES)
    for seed, (letter, name) in enumerate(names.items()):
        columns = world(candidates=CANDIDATES, items=60, seed=seed, best=0.0, worst=1.0)
        write(columns, folder / f"pool-{letter}.parquet")
        run = RegisteredRun(folder, protocol, columns, name, secret=f"journal-{letter}", beacon="4f1c")
        signer = read_private(folder / f"key-{name}.pem")
        for what, made in (("certificate", run.certificate), ("registration", run.registration)):
            (folder / f"{what}-{letter}.json").write_text(text_of(signer.signed(made)))
        (folder / f"protocol-{letter}.toml").write_text(run.protocol.toml())
    for leftover in (*folder.glob("*.db-*"), *folder.glob("*.lock")):
        leftover.unlink()


def _budgets(folder):
    fresh = folder / "budget-fresh.toml"
    fresh.write_text("total = 2.0\n")
    _release(folder, folder, fresh, folder / "vote-a.json")
    fresh.replace(folder / "budget-spent.toml")
    fresh.write_text("total = 2.0\n")


def _protocols(folder):
    """Of other classes, with priors, a yardstick, a list of labs."""
    from replical.lab.protocol import Protocol

    dose = {"kind": "thresholds", "features": ["dose"], "range": [[0.0, 10.0]], "bins": 20}
    boxes = {"kind": "boxes", "features": ["dose", "age"], "range": [[0.0, 10.0], [18.0, 90.0]], "bins": 3}
    said = {
        "line": content("rounded-cal") | {"class": dose, "yardstick": {"source": "cells"}, "title": "Doses"},
        "order": content("settled", prior={"kind": "order", "order": [3, 1, 4, 0, 5, 2]}),
        "weights": content("rounded-a2", prior={"kind": "weights", "weights": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}),
        "paper": content("replical", theta=2.0, plan="paper", k_loop=10, k_final=20),
        "boxes": content("cal") | {"class": boxes, "labs": {"names": ["A", "B"]}},
        "count": content("cal") | {"class": {"kind": "thresholds", "features": ["dose"], "count": 50}},
        "net": content("a2") | {"class": {"kind": "halfspaces", "features": ["dose", "age"], "count": 50}},
        "stumps": content("a2") | {"class": dose | {"kind": "stumps"}},
    }
    for name, each in said.items():
        (folder / f"protocol-{name}.toml").write_text(Protocol.of(each).toml())
    listed = content("settled") | {"class": {"kind": "table", "file": "listed.csv"}}
    (folder / "protocol-file.toml").write_text(Protocol(listed).toml())


def _studies(folder):
    from replical.study.piece import Piece, work
    from replical.study.spec import Study
    from replical.study.store import NOTHING, Store

    (folder / "small-study.toml").write_text(study_text(BASE))
    (folder / "large-study.toml").write_text(study_text(BASE | {"title": "Large", "stop": {"pairs": 3000}}))
    cell = Study.read(folder / "small-study.toml").cells()[0]
    piece = Piece(cell=cell.id, experiment=cell.experiment, class_seed=cell.study_seed, seed=cell.seed, start=0, end=3)
    store = Store(folder / "store")
    store.write(cell, NOTHING.with_more(work(piece)))
    (folder / "store" / "cells" / f"{cell.id}.parquet").replace(folder / "cell-a.parquet")


def _lists(folder):
    """Files of texts."""
    names = [f"m{c}" for c in range(CANDIDATES)]
    rows = {
        "listed.csv": [["name", "weight"], *([name, ""] for name in names)],
        "weights.csv": [["candidate", "weight"], *([name, number + 0.5] for number, name in enumerate(names))],
        "law.csv": [["0", "1"], *([1 - p / 4, p / 4] for p in range(4))],
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
