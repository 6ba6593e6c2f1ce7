"""A public yardstick by the command line."""

import csv
import json
import tomllib

import numpy as np
import pytest

from replical.core.canonical import fingerprint
from replical.lab.certificate.file import seal
from replical.lab.certificate.verify import verify
from replical.lab.protocol import Protocol
from replical.lab.schema import MEANING

AUDIT = ["audit", "--class", "thresholds:5000", "--learner", "rounded-cal", "--epsilon", ".05", "--pool-size", "3000",
         "--seed", "yardstick", "--pairs", "4", "--workers", "1"]  # fmt: skip


def test_an_audit_on_the_cells_certifies_where_own_items_do_not(command):
    on_cells = json.loads(command(*AUDIT, "--yardstick", "cells", "--json")[1])
    on_own = json.loads(command(*AUDIT, "--json")[1])
    assert on_cells["inputs"]["yardstick"] == "cells"
    assert on_own["inputs"]["yardstick"] is None
    assert (on_cells["certified_fraction"], on_own["certified_fraction"]) == (1.0, 0.0)
    assert on_cells["rho_proven"] <= 0.1


@pytest.mark.parametrize(
    ("learner", "source", "sentence"),
    [
        ("cal", "cells", "cal measures nothing on a yardstick"),
        ("rounded-cal", "pool", "without a protocol a yardstick is 'cells'"),
    ],
)
def test_what_an_audit_cannot_measure_on_is_refused(command, learner, source, sentence):
    words = [learner if word == "rounded-cal" else word for word in AUDIT]
    code, _, told = command(*words, "--yardstick", source)
    assert code == 2
    assert sentence in told


# --- protocols, runs and certificates ----------------------------------------------------------------------------------

CUTS, TRUTH = 2000, 700


@pytest.fixture
def labs(tmp_path):
    """Two labs with pools of 2,000 items, and a public file of 3,000."""
    generator = np.random.default_rng(1)
    for name, size in (("a", 2000), ("b", 2000), ("public", 3000)):
        rows = [[f"{name}{i}", int(x)] for i, x in enumerate(generator.integers(0, CUTS - 1, size))]
        labelled = [[*row, "yes" if row[1] >= TRUTH else "no"] for row in rows]
        _write(tmp_path / f"{name}.csv", ["id", "x", "label"], labelled)
    return tmp_path


def _write(file, head, rows):
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([head, *rows])


def published(command, folder, yardstick, *more):
    return command(
        "protocol", "new", "--out", folder / "p.toml", "--class", f"thresholds:{CUTS}", "--label-values", "no,yes",
        "--learner", "rounded-cal", "--epsilon", ".05", "--delta", ".05", "--rho", ".1", "--seed", "published",
        "--yardstick", yardstick, *more,
    )  # fmt: skip


def run(command, folder, lab, *more):
    pool, certificate = folder / f"{lab}.csv", folder / f"{lab}.json"
    return command(
        "run", folder / "p.toml", "--pool", pool, "--labels", f"{pool}:label", "--journal", folder / f"{lab}.db",
        "--out", certificate, "--truths", "0", *more,
    )  # fmt: skip


@pytest.mark.parametrize("source", ["cells", pytest.param("string", marks=pytest.mark.slow), "file"])
def test_two_labs_publish_one_answer_that_anybody_can_check_without_their_items(command, labs, source):
    given = {"cells": "cells", "string": "string:4000", "file": labs / "public.csv"}[source]
    code, told, _ = published(command, labs, given)
    assert code == 0
    assert MEANING[source] in " ".join(told.split())
    for lab in "ab":
        code, told, _ = run(command, labs, lab)
        assert code == 0
        assert "any number of labs with this yardstick" in told
        fixed = json.loads(run(command, labs, lab, "--json")[1])["fixed"]
        assert (
            "Fixed: with this string every certified lab returns this answer, if some hypothesis makes no" in told
        ) == fixed
    more = ("--yardstick", labs / "public.csv") if source == "file" else ()
    code, told, _ = command("verify", labs / "a.json", "-v", *more)
    assert code == 0
    assert "ok  scores and rho_proven follow from yardstick and survivors" in told
    code, told, _ = command(
        "verify", labs / "b.json", "--pool", labs / "b.csv", "--journal", labs / "b.db", "-v", *more
    )
    assert (code, "the file, its pool and its journal can show" in told) == (0, True)
    both = ("compare", labs / "a.json", labs / "b.json", "--json")
    found = json.loads(command(*both, *more)[1])
    assert found["identical"]
    assert json.loads((labs / "a.json").read_text())["body"]["certified"]


@pytest.mark.parametrize("spec", ["boxes:2,6", "stumps:2,20", "halfspaces:2,300"])
def test_items_drawn_from_the_string_serve_classes_without_listed_cells(command, tmp_path, spec):
    """What the paper's definition allows, and anybody can recompute it from the protocol."""
    section = ["--class", spec, "--label-values", "no,yes", "--learner", "rounded-cal", "--epsilon", ".3",
               "--delta", ".1"]  # fmt: skip
    section += ["--rho", ".5", "--seed", "published", "--yardstick", "string:3000", "--a", ".1", "--b", ".25"]
    code, told, _ = command("protocol", "new", "--out", tmp_path / "p.toml", *section)
    assert code == 0, told
    C = Protocol.read(tmp_path / "p.toml").recipe.C
    for seed, lab in enumerate("ab"):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(1500, 2)) if spec.startswith("half") else generator.random((1500, 2))
        says = C.codes(C.items(X), np.array([len(C) // 3]))[0]
        rows = [[f"{lab}{i}", *x, ("no", "yes")[y]] for i, (x, y) in enumerate(zip(X.tolist(), says, strict=True))]
        _write(tmp_path / f"{lab}.csv", ["id", "x0", "x1", "label"], rows)
        assert run(command, tmp_path, lab)[0] == 0
        code, told, _ = command("verify", tmp_path / f"{lab}.json", "-v")
        assert (code, "scores and rho_proven follow from yardstick and survivors" in told) == (0, True)
        assert json.loads((tmp_path / f"{lab}.json").read_text())["body"]["certified"]
    code, told, _ = command("compare", tmp_path / "a.json", tmp_path / "b.json", "--json")
    assert (code, json.loads(told)["same_protocol"]) == (0 if json.loads(told)["identical"] else 1, True)


def test_accuracy_is_said_apart_from_agreement(command, labs):
    """Public items that tell nobody apart on the side of the truth: labs agree, and do not claim to be accurate."""
    left = [[f"left{i}", i % TRUTH] for i in range(3000)]
    _write(labs / "left.csv", ["id", "x"], left)
    published(command, labs, labs / "left.csv", "--a", ".1", "--b", ".5")
    code, told, _ = run(command, labs, "a", "--json", "--html", labs / "a.html")
    found = json.loads(told)
    assert (code, found["certified"], found["accurate"]) == (0, True, False)
    assert "the error bound allows" in found["verdict"]["why"]
    assert "is not proven: it is too far from a survivor" in (labs / "a.html").read_text()
    more = ("--yardstick", labs / "left.csv")
    assert command("verify", labs / "a.json", "--pool", labs / "a.csv", *more)[0] == 0
    code, told, _ = run(command, labs, "b")
    assert "Certified: " in told
    assert "Error: no bound is proven: the answer differs from a survivor on" in told


def test_a_certificate_that_proves_too_much_is_found_out_without_the_pool(command, labs):
    published(command, labs, "cells")
    run(command, labs, "a")
    certificate = json.loads((labs / "a.json").read_text())
    body = certificate["body"]
    body["rho_proven"] = 0.001
    next(each for each in body["conditions"] if "proves rho" in each["name"])["value"] = 0.001
    certificate["digest"] = fingerprint(body)
    certificate["provenance"]["seal"] = seal(certificate["digest"], certificate["provenance"])
    found = {check.name for check in verify(certificate).checks if not check.ok}
    assert found == {"scores and rho_proven follow from yardstick and survivors"}


def test_a_yardstick_that_was_changed_after_publication_is_refused(command, labs):
    published(command, labs, labs / "public.csv")
    run(command, labs, "a")
    public = labs / "public.csv"
    public.write_text(public.read_text().replace("public7,", "public7,1"))
    for words in (("run", labs / "p.toml", "--pool", labs / "b.csv", "--labels", f"{labs / 'b.csv'}:label",
                   "--journal", labs / "b.db", "--out", labs / "b.json"), ("protocol", "show", labs / "p.toml")):  # fmt: skip
        code, _, told = command(*words)
        assert code == 2
        assert "is not the yardstick that was published" in told
    code, told, _ = command("verify", labs / "a.json", "--yardstick", public)
    assert code == 1
    assert "WRONG  the yardstick is the published one" in told
    code, _, told = command("verify", labs / "a.json", "--pool", labs / "a.csv")
    assert code == 2
    assert "give --yardstick FILE" in told
    public.unlink()
    assert command("protocol", "show", labs / "p.toml")[0] == 2


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("string:few", "--yardstick string:M draws M items"),
        ("string:0", "at least 1 item"),
        ("nowhere.csv", "there is no file nowhere.csv"),
    ],
)
def test_a_yardstick_that_cannot_be_published_is_refused(command, labs, given, sentence):
    code, _, told = published(command, labs, given)
    assert (code, sentence in told) == (2, True)
    assert not (labs / "p.toml").exists()


def test_a_plan_measures_where_its_protocol_says(command, labs):
    """Own items could prove nothing here: forecast, bill and release are those of the yardstick."""
    published(command, labs, "cells")
    words = ("plan", labs / "p.toml", "--pool", labs / "a.csv", "--truths", "2", "--theta", "2", "--labs", "5",
             "--private")  # fmt: skip
    found = json.loads(command(*words, "--json")[1])
    assert found["forecast"]["certified"] == 1.0
    bill = next(each for each in found["bills"] if each["learner"] == "rounded-cal")
    assert {"M", "pool_Y0"} <= {each["name"] for each in bill["numbers"]}
    assert found["all_agree"] == 0.9
    assert found["release"]["limit"] == 0.1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--class", "thresholds:50", "--epsilon", ".1", "--yardstick", "own"], "a yardstick is 'cells'"),
        (
            ["--class", "thresholds:50", "--epsilon", ".1", "--yardstick", "cells", "--learner", "cal"],
            "cal measures nothing",
        ),
        (["--class", "thresholds:50", "--epsilon", ".1", "--yardstick", "cells", "--labs", "1"], "at least 2"),
        (["p.toml", "--yardstick", "cells"], "give them or a protocol, not both"),
    ],
)
def test_a_plan_without_such_a_yardstick_is_refused(command, words, sentence):
    code, _, told = command("plan", *words)
    assert (code, sentence in " ".join(told.split())) == (2, True)


def test_candidates_measured_on_a_file_need_all_their_predictions(command, tmp_path):
    """Other candidates, or a prediction that is missing: one sentence that names it."""
    (tmp_path / "names.txt").write_text("m1\nm2\n")
    new = ["protocol", "new", "--out", tmp_path / "p.toml", "--candidates", tmp_path / "names.txt", "--label-values",
           "no,yes", "--learner", "rounded-a2", "--epsilon", ".2", "--delta", ".1", "--rho", ".2", "--seed", "s"]  # fmt: skip
    _write(tmp_path / "other.csv", ["id", "m1", "m3"], [["1", "no", "no"]])
    _write(tmp_path / "gap.csv", ["id", "m1", "m2"], [["1", "no", "no"], ["2", "yes", ""]])
    _write(tmp_path / "good.csv", ["id", "m1", "m2"], [[i, "no", "yes" if i % 9 == 0 else "no"] for i in range(90)])
    for file, word in (("other.csv", "m2"), ("gap.csv", "missing")):
        code, _, told = command(*new, "--yardstick", tmp_path / file)
        assert code == 2
        assert word in told
    code, told, _ = command(*new, "--yardstick", "cells")
    assert code == 2
    assert command(*new, "--yardstick", tmp_path / "good.csv", "--labs", "5")[0] == 0
    content = tomllib.loads((tmp_path / "p.toml").read_text())
    assert content["yardstick"]["items"] == 90
    assert content["learner"]["labs"] == 5
