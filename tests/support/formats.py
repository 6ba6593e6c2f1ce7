"""Every format that is read from a file somebody else may have written: how it is mutated, and who reads it.

A reader returns whether it accepted the file; it refuses with an own error, or with an exit code of the command line.
"""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from replical.cli import main, output
from replical.errors import ReplicalError
from support.lab import LABELS

FAIL = output.fail
CANDIDATES = 6
TABLES = ("csv", "parquet")
BESIDE = {"a": "b", "b": "a", "s": "t", "t": "s", "n": "o", "o": "n"}  # who ran the same protocol as whom
SIGNERS = {"n": "north", "o": "south"}  # who signs


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
    with mock.patch.object(output, "fail", _failed):
        return main([str(word) for word in words]) in (0, 4)


def _failed(kind, message, **how):
    """Running out of memory is said in a sentence, but the next machine may have no limit that makes it one."""
    if kind == "MemoryError":
        raise AssertionError(message)
    return FAIL(kind, message, **how)


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
    """As a lab reads it that was sent one."""
    return command("plan", path)


def read_candidates(path, folder):
    """A list of candidates on the command line."""
    new = ("init", "--out", path.with_name("new.toml"), "--label-values", "no,yes", "--seed", "a text")
    sizes = ("--epsilon", "0.2", "--delta", "0.1", "--rho", "0.2")
    path.with_name("new.toml").unlink(missing_ok=True)
    return command(*new, *sizes, "--candidates", path)


def read_study(path, folder):
    """As `replical paper study` does before the first pair."""
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
    from replical.study.store import EMPTY, Store

    (path.parent / "store" / "cells").mkdir(parents=True, exist_ok=True)
    cell = Study.read(folder / "small-study.toml").cells()[0]
    path.replace(path.parent / "store" / "cells" / f"{cell.id}.parquet")
    store = Store(path.parent / "store")
    found = store.read(cell) is not EMPTY
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
    """Alone, as a page, and beside its certificate."""
    lab, _ = _lab(path)
    page = path.with_name("page.html")
    return all(
        [
            command("verify", path, "--json"),
            command("verify", path, "--html", page),
            command("compare", path, folder / f"certificate-{lab}.json"),
        ]
    )


def _release(folder, scratch, budget, *votes):
    (scratch / "release.json").unlink(missing_ok=True)
    words = ("--protocol", folder / "protocol-a.toml", "--epsilon", "0.5", "--budget", budget, "--sampler", "exact")
    return command("lab", "release", *words, "--out", scratch / "release.json", *votes)


def read_hashed_items(path, folder):
    """Beside those of another lab."""
    from replical.lab.certificate.overlap import overlap, read_items

    return accepted(lambda: overlap(read_items(path), read_items(folder / "hashed-b.json")))


def read_opened(path, folder):
    """Beside the certificate whose labels it shows."""
    return command("verify", folder / f"certificate-{_lab(path)[0]}.json", "--opening", path)


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
    exported = command("journal", "export", path, "--out", path.with_name("events.csv"))
    pool, protocol = folder / f"pool-{lab}.parquet", folder / f"protocol-{lab}.toml"
    verified = command("verify", folder / f"certificate-{lab}.json", "--pool", pool, "--journal", path)
    run = ("run", protocol, "--pool", pool, "--labels", f"{pool}:truth", "--journal", path)
    key = ("--key", folder / f"key-{SIGNERS[lab]}.pem") if lab in SIGNERS else ()
    return all([exported, verified, command(*run, *key, "--out", path.with_name("again.json"))])


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


def read_answers(path, folder):
    """What came back for a batch; `questions_of` reads only what we wrote ourselves."""
    from replical.lab.sessions.batches import questions_of, read_batch

    calls = [lambda: read_batch(path, LABELS), lambda: read_batch(path, (0, 1))]
    return accepted(calls[0], *([lambda: questions_of(path, LABELS)] if path.suffix == ".csv" else []))


def read_weights(path, folder):
    """Weights of candidates."""
    return accepted(lambda: _prior(path))


def read_order(path, folder):
    """A strict order of preference, the best first."""
    return accepted(lambda: _prior(path))


def read_public_order(path, folder):
    """An order with what was asked for it, computed again on its public table, as init does."""
    from replical.lab.ordering import OrderFile
    from replical.lab.protocol import Protocol
    from replical.lab.tables import read_pool

    recipe = Protocol.read(folder / "protocol-a.toml").recipe
    items = read_pool(folder / "pool-a.parquet", recipe)
    return accepted(lambda: OrderFile.read(path).section(recipe, items, path.name, "pool-a.parquet"))


def _prior(prefer):
    from replical.classes.table import PredictionTable
    from replical.cli.inputs import read_prior

    read_prior(PredictionTable([f"m{c}" for c in range(CANDIDATES)]), prefer)


def read_feature_items(path, folder):
    """A table of items of a small class."""
    from replical.classes.thresholds import Thresholds
    from replical.cli.inputs import items_from
    from replical.core.randomness import PrivateRandomness

    return accepted(lambda: items_from(Thresholds(5), path, PrivateRandomness.simulated("fuzz")))


def read_spec(path, folder):
    """The class ``table:FILE.csv``."""
    from replical.classes.catalogue import parse

    return accepted(lambda: parse(f"table:{path}"))


FORMATS = {
    "csv": Format(kind="bytes", pattern="table-*.csv", read=read_table),
    "parquet": Format(kind="bytes", pattern="table-*.parquet", read=read_table),
    "protocol": Format(kind="toml", pattern="protocol-*.toml", read=read_protocol),
    "candidates": Format(kind="bytes", pattern="listed*.csv", read=read_candidates),
    "study": Format(kind="toml", pattern="*study.toml", read=read_study),
    "cell": Format(kind="bytes", pattern="cell-*.parquet", read=read_cell),
    "certificate": Format(kind="sealed", pattern="certificate-*.json", read=read_certificate),
    "confirmation": Format(kind="sealed", pattern="confirmation-*.json", read=read_confirmation),
    "registration": Format(kind="sealed", pattern="registration-*.json", read=read_registration),
    "key": Format(kind="bytes", pattern="key-*.pem", read=read_key),
    "hashed items": Format(kind="json", pattern="hashed-*.json", read=read_hashed_items),
    "opening": Format(kind="json", pattern="opening-*.json", read=read_opened),
    "vote": Format(kind="json", pattern="vote-*.json", read=read_vote),
    "budget": Format(kind="toml", pattern="budget-*.toml", read=read_budget),
    "journal": Format(kind="bytes", pattern="journal-*.db", read=read_journal),
    "answers": Format(kind="bytes", pattern="answers-*.csv", read=read_answers),
    "label studio": Format(kind="json", pattern="answers-*.json", read=read_answers),
    "weights": Format(kind="bytes", pattern="weights.csv", read=read_weights),
    "order": Format(kind="bytes", pattern="order.txt", read=read_order),
    "public order": Format(kind="json", pattern="public-*.json", read=read_public_order),
    "items": Format(kind="bytes", pattern="items*.csv", read=read_feature_items),
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
