"""K labs, and populations that differ, from the command line: audits, protocols, runs, certificates, comparisons."""

import copy
import csv
import json

import numpy as np
import pytest

from replical.errors import BadUsage
from replical.lab.certificate.compare import compare
from replical.lab.certificate.file import certify
from replical.lab.certificate.verify import verify
from support.certificates import resealed
from support.lab import Run, content, world

AUDIT = ["audit", "--class", "thresholds:200", "--epsilon", ".2", "--seed", "s", "--pairs", "3", "--workers", "1"]
OWN = [*AUDIT, "--learner", "rounded-cal", "--pool-size", "30000"]


def told(command, *words):
    code, out, _ = command(*words, "--json")
    assert code == 0, out
    return json.loads(out)


def test_an_audit_of_groups_says_what_whole_groups_do(command):
    pairs, found = told(command, *OWN, "--rho", ".2"), told(command, *OWN, "--rho", ".2", "--labs", "4")
    assert "groups" not in pairs
    assert (found["groups"], found["inputs"]["labs"]) == (3, 4)
    assert found["all_agree_low"] <= found["all_agree"] <= found["all_agree_high"]
    assert 0 <= found["pairs_differ"] <= 1 - found["all_agree"]
    assert found["groups_jaccard"] <= found["groups_rho_proven"] <= 0.2
    assert found["certified_differ"] <= 1 - found["all_agree"]


def test_an_audit_of_groups_for_people(command):
    code, out, _ = command(*OWN, "--rho", ".3", "--labs", "3", "--shift", ".02")
    assert code == 0
    assert "all 3 labs agree" in out
    assert "at most 30% promised" in out


def test_groups_measure_on_public_items_too(command):
    found = told(
        command, *AUDIT, "--learner", "rounded-cal", "--pool-size", "2000", "--labs", "5", "--yardstick", "cells"
    )
    assert (found["groups"], found["certified_fraction"]) == (3, 1.0)


def test_with_public_items_populations_may_differ_and_the_plan_need_not_know(command):
    own = (*AUDIT, "--learner", "rounded-cal", "--pool-size", "2000", "--yardstick", "cells")
    one, tilted = told(command, *own), told(command, *own, "--shift", ".3")
    assert tilted["certified_fraction"] == 1
    assert tilted["labels_mean"] != one["labels_mean"]  # other pools
    code, _, err = command(
        "protocol", "new", "--out", "p.toml", "--class", "thresholds:200", "--learner", "rounded-cal", "--epsilon", ".1",
        "--rho", ".2", "--delta", ".1", "--fresh-seed", "--label-values", "0,1", "--yardstick", "cells", "--shift", ".3",
    )  # fmt: skip
    assert code == 2
    assert "need no shift as long as one hypothesis is best" in err


def test_a_shift_is_in_the_world_and_in_the_plan(command):
    """Labs differ more often than they would in one population, and are certified all the same."""
    one, two = (told(command, *OWN, "--rho", ".3", *more) for more in ([], ["--shift", ".05"]))
    assert two["certified_fraction"] == one["certified_fraction"] == 1
    assert two["expected_jaccard"] > 2 * one["expected_jaccard"]


BAD = [
    (["--labs", "1"], "labs must be a whole number of at least 2, got 1"),
    (["--labs", "2.5"], "2.5"),
    (["--shift", "-0.1"], "shift must be in [0, 1), got -0.1"),
    (["--shift", "1"], "shift must be in [0, 1), got 1"),
    (["--shift", "nan"], "nan"),
    (["--shift", "0.1", "--learner", "settled-cal"], "settled-cal looks for the ideal answer of one population"),
    (["--shift", "0.1", "--learner", "cal"], "cal has no shift: leave it out"),
    (["--shift", "0.1", "--learner", "rounded-a2", "--finish", "excess"], "has no proof that a shift could enter"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_input_is_one_sentence(command, words, message):
    code, _, err = command(*OWN, *words)
    assert code == 2
    assert message in err
    assert err.count("\n") <= 1


def test_plans_know_labs_and_shift(command):
    base = ["plan", "--class", "thresholds:100", "--epsilon", ".1", "--learner", "rounded-cal"]
    found = told(command, *base, "--labs", "5", "--shift", ".01")
    numbers = {each["name"]: each["value"] for each in found["bills"][0]["numbers"]}
    assert (numbers["labs"], numbers["shift"], numbers["delta_C"]) == (5, 0.01, 0.0002)
    assert found["all_agree"] == pytest.approx(0.9)
    assert "two of 5 labs are certified and differ has probability at most 0.1" in found["reading"]
    code, _, err = command(*base[:-1], "settled-cal", "--shift", ".1")
    assert (code, "settled-cal knows no shift" in err) == (2, True)


def test_with_a_shift_no_learner_of_one_population_is_recommended(command):
    base = ["plan", "--class", "thresholds:100", "--epsilon", ".1"]
    assert told(command, *base)["best"] == told(command, *base, "--shift", "0")["best"] == "settled-cal"
    found = told(command, *base, "--shift", ".1")
    assert (found["best"], found["best_any"]) == ("rounded-cal", "cal")
    left_out = {each["learner"] for each in found["bills"] if "in one population alone" in each["note"]}
    assert {"settled-cal", "replical", "replicable-erm"} <= left_out


def test_a_plan_of_a_protocol_knows_how_many_labs_its_numbers_are_for(folder, command):
    plans = [told(command, "plan", "p.toml", "--theta", "2", "--labs", labs) for labs in ("3", "4", "5")]
    assert [each["all_agree"] for each in plans] == pytest.approx([0.6, 0.6, 0.0])
    assert (
        "That two of 4 labs are certified and differ has probability at most 0.4: the protocol says labs = 4"
        in plans[1]["reading"]
    )
    assert "publish rho = 0.1 if that" in plans[2]["reading"]


NEW = [
    "protocol", "new", "--out", "q.toml", "--class", "thresholds:100", "--label-values", "0,1", "--learner", "rounded-cal",
    "--epsilon", ".2", "--delta", ".05", "--rho", ".4", "--seed", "text", "--lab", "a", "--lab", "b", "--lab", "c",
]  # fmt: skip


def test_no_more_labs_are_listed_than_the_promise_is_about(folder, command):
    code, _, err = command(*NEW, "--labs", "2")
    assert (code, "3 labs are listed, and the learner's numbers are for labs = 2" in err) == (2, True)
    assert command(*NEW, "--labs", "3")[0] == 0
    assert command(*NEW, "--force")[0] == 0  # as many as are listed
    assert command(*NEW, "--force", "--labs", "2", "--yardstick", "cells")[0] == 0  # any number of them


def test_what_helps_where_populations_differ_is_no_learner_that_knows_no_shift(command):
    few = [*AUDIT, "--learner", "rounded-cal", "--pool-size", "500", "--pair", "0"]
    for more, other in (([], True), (["--shift", ".01"], False)):
        code, out, _ = command(*few, *more)
        assert (code, "or --learner settled-cal" in " ".join(out.split())) == (0, other)


def test_what_is_predicted_for_many_labs_is_said_of_all_of_them(command):
    few = [*AUDIT, "--learner", "rounded-cal", "--pool-size", "2000", "--pair", "0"]
    for more, words in (([], "another lab differs"), (["--labs", "5"], "5 labs do not all agree")):
        _, out, _ = command(*few, *more)
        assert f"Predicted: {words} with probability 0." in " ".join(out.split())


@pytest.fixture
def folder(tmp_path, monkeypatch, command):
    """A protocol for four labs on a line whose populations may differ, and one lab's items."""
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(1).random(30_000)
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "x", "y"], *([i, each, int(each > 0.3)] for i, each in enumerate(x))])
    code, _, err = command(
        "protocol", "new", "--out", "p.toml", "--class", "thresholds:100", "--label-values", "0,1", "--learner",
        "rounded-cal", "--epsilon", ".2", "--delta", ".05", "--rho", ".4", "--seed", "text", "--items", "30000",
        "--labs", "4", "--shift", ".02",
    )  # fmt: skip
    assert code == 0, err
    return tmp_path


def test_a_run_says_which_shift_it_could_have_proven_and_verify_checks_it(folder, command):
    text = (folder / "p.toml").read_text()
    assert ("labs = 4" in text, "shift = 0.02" in text) == (True, True)
    run = ["run", "p.toml", "--pool", "a.csv", "--labels", "a.csv:y", "--truths", "0"]
    code, out, err = command(*run, "--journal", "a.db", "--out", "a.json", "-v")
    assert code == 0, err
    assert "two of 4 labs both prove this much and have different answers" in " ".join(out.split())
    assert "the protocol asks for 0.02" in out.replace("\n", " ")
    body = json.loads((folder / "a.json").read_text())["body"]
    assert body["certified"]
    assert body["shift_most"] >= 0.02
    assert command("verify", "a.json", "--pool", "a.csv", "--journal", "a.db")[0] == 0


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Three labs with a protocol for two."""
    said, made = content("rounded-a2", items=1000, batch=24, labs=2, shift=0.02), []
    for seed in (1, 2, 3):
        columns = world(seed=seed)
        with Run(tmp_path_factory.mktemp("labs"), said, columns, f"lab {seed}") as run:
            made.append((certify(run.session), run.lab))
    return made


def test_more_certificates_than_labs_are_refused(certificates):
    told = [certificate for certificate, _ in certificates]
    assert compare(told[:2]).same_protocol
    with pytest.raises(BadUsage, match="3 certificates are given, but the protocol's promise is about labs = 2"):
        compare(told)


@pytest.mark.parametrize("claimed", [0.5, 0.01, "much", None])
def test_a_larger_shift_than_proven_is_found_out(certificates, claimed):
    certificate, lab = certificates[0]
    assert certificate["body"]["certified"]
    forged = copy.deepcopy(certificate)
    if claimed is None:
        del forged["body"]["shift_most"]
    else:
        forged["body"]["shift_most"] = claimed
    assert not verify(resealed(forged), lab).valid
    assert verify(certificate, lab).valid


def test_one_hypothesis_that_is_left_is_one(tmp_path, monkeypatch, command):
    """An item in every cell: the labels leave the truth alone."""
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "x", "y"], *([f"i{x}", x + 0.5, int(x > 30)] for x in range(99))])
    assert command(*NEW)[0] == 0
    run = ["run", "q.toml", "--pool", "a.csv", "--labels", "a.csv:y", "--truths", "0", "--lab", "a"]
    code, out, _ = command(*run, "--journal", "a.db", "--out", "a.json", "-v")
    assert (code, "\n1 hypothesis left in " in out) == (0, True)
