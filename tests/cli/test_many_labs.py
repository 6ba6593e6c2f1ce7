"""K labs from the command line: audits, protocols, runs, certificates, comparisons."""

import csv
import json

import numpy as np
import pytest

AUDIT = [
    "paper", "audit", "--class", "thresholds:200", "--epsilon", ".2", "--seed", "s", "--pairs", "3", "--workers", "1",
]  # fmt: skip
OWN = [*AUDIT, "--learner", "handicap", "--nu", "0", "--pool-size", "3000"]


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
    assert (pairs["inputs"]["labs"], pairs["pairs"]) == (None, 3)
    assert 0.05 <= found["groups_rho_proven"] <= 1  # β = min(δ, ρ/4) where a lab is certified
    assert found["certified_differ"] <= 1 - found["all_agree"]


def test_an_audit_of_groups_for_people(command):
    code, out, _ = command(*OWN, "--rho", ".3", "--labs", "3")
    assert code == 0
    assert "all 3 labs agree" in out
    assert "at most 30% promised" in out


def test_plans_know_labs(command):
    base = ["paper", "bill", "--class", "thresholds:100", "--epsilon", ".1", "--learner", "handicap", "--nu", "0"]
    found = told(command, *base, "--labs", "5")
    numbers = {each["name"]: each["value"] for each in found["bills"][0]["numbers"]}
    assert (numbers["labs"], numbers["beta"]) == (5, 0.02)
    assert found["all_agree"] == pytest.approx(0.9)
    assert "two of 5 labs are certified and differ has probability at most 0.1" in found["reading"]


def test_a_plan_of_a_protocol_knows_how_many_labs_its_numbers_are_for(folder, command):
    plans = [told(command, "plan", "p.toml", "--theta", "2", "--labs", labs) for labs in ("3", "4", "5")]
    assert [each["all_agree"] for each in plans] == pytest.approx([0.6, 0.6, 0.0])
    assert (
        "That two of 4 labs are certified and differ has probability at most 0.4: the protocol says labs = 4"
        in plans[1]["reading"]
    )
    assert "publish rho = 0.1 if that" in plans[2]["reading"]


NEW = [
    "init", "--out", "q.toml", "--class", "thresholds:100", "--label-values", "0,1", "--learner", "handicap",
    "--epsilon", ".2", "--delta", ".05", "--rho", ".4", "--seed", "text", "--lab", "a", "--lab", "b", "--lab", "c",
]  # fmt: skip


def test_no_more_labs_are_listed_than_the_promise_is_about(folder, command):
    code, _, err = command(*NEW, "--labs", "2")
    assert (code, "3 labs are listed, and the learner's numbers are for labs = 2" in err) == (2, True)
    assert command(*NEW, "--labs", "3")[0] == 0
    assert command(*NEW, "--force")[0] == 0  # as many as are listed


@pytest.fixture
def folder(tmp_path, monkeypatch, command):
    """A protocol for four labs on a line, and one lab's items."""
    monkeypatch.chdir(tmp_path)
    x = 99 * np.random.default_rng(1).random(10_000)
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "x", "y"], *([i, each, int(each > 30)] for i, each in enumerate(x))])
    code, _, err = command(
        "init", "--out", "p.toml", "--class", "thresholds:100", "--label-values", "0,1", "--learner",
        "handicap", "--set", "nu=0", "--epsilon", ".2", "--delta", ".2", "--rho", ".4", "--seed", "text", "--labs", "4",
    )  # fmt: skip
    assert code == 0, err
    return tmp_path


def test_a_run_says_for_how_many_labs_it_has_proven_its_answer_and_verify_checks_it(folder, command):
    assert "labs = 4" in (folder / "p.toml").read_text()
    run = ["run", "p.toml", "--pool", "a.csv", "--labels", "a.csv:y", "--truths", "0"]
    code, out, err = command(*run, "--journal", "a.db", "--out", "a.json", "-v")
    assert code == 0, err
    assert "except with probability 0.1." in " ".join(out.split())  # ρ/K, where δ is larger
    body = json.loads((folder / "a.json").read_text())["body"]
    assert (body["certified"], body["proof"]["beta"]) == (True, 0.1)
    assert command("verify", "a.json", "--pool", "a.csv", "--journal", "a.db")[0] == 0
