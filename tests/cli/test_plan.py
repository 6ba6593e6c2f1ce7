"""``replical plan``: the whole comparison for a person's own numbers."""

import json

import pytest

from replical.cli import main

POINT = [
    "paper", "bill", "--class", "thresholds:1000", "--epsilon", ".01", "--delta", ".05", "--rho", ".1", "--theta",
    "2",
]  # fmt: skip


def told(capsys, *args):
    assert main([*POINT, *map(str, args), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_bills_as_json(capsys):
    found = told(capsys)
    assert (found["best"], found["best_any"]) == ("handicap", "cal")
    assert found["inputs"]["theta_source"] == "given"
    assert found["all_agree"] == 0.9
    bills = {(bill["learner"], bill["plan"]): bill for bill in found["bills"]}
    assert bills["erm", "paper"]["labels"] == 991
    assert isinstance(bills["replical", "paper"]["labels"], int)
    assert bills["replical", "paper"]["labels"] > 10**18
    assert {"m", "k_loop"} <= {number["name"] for number in bills["replical", "paper"]["numbers"]}
    assert "1.23e+18, which nobody can pay" in found["reading"]
    found = told(capsys, "--nu", ".02")
    assert (found["best"], found["best_any"]) == ("handicap", "a2")


def test_the_cheapest_are_told_and_all_on_request(capsys):
    assert main(POINT) == 0
    few = capsys.readouterr().out
    assert [line.split()[0] for line in few.splitlines() if " tight " in line] == ["cal", "handicap"]
    assert "Without noise (no nu is given) the cheapest replicable learner is handicap with 135 labels" in few
    assert "e+" not in few  # nothing that nobody can pay
    assert main([*POINT, "--all"]) == 0
    out = capsys.readouterr().out
    assert "boosted-replicable-erm" in out
    assert "Left out: a2" in out
    assert "Without noise (no nu is given) the cheapest replicable learner is handicap" in out


def test_theta_is_found_for_small_classes_and_asked_for_in_large_ones(capsys):
    assert main(["paper", "bill", "--class", "star:16", "--epsilon", ".1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["inputs"]["theta"] == 16
    assert main(["paper", "bill", "--class", "thresholds:100000", "--epsilon", ".1"]) == 0
    assert "give theta" in capsys.readouterr().out


def test_several_labs(capsys):
    found = told(capsys, "--labs", "5")
    assert found["all_agree"] == pytest.approx(0.6)
    assert "All 5 labs agree with probability at least 0.6; publish rho = 0.025" in found["reading"]


BAD = [
    (["--rho", "0"], "rho must be in (0, 1)"),
    (["--learner", "cals"], "unknown learner 'cals'"),
]


@pytest.mark.parametrize(("args", "sentence"), BAD)
def test_bad_input(capsys, monkeypatch, tmp_path, args, sentence):
    monkeypatch.chdir(tmp_path)
    assert main([*POINT, *args]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())
