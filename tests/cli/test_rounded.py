"""Rounded learners, priors and predictions from the command line."""

import csv
import json

import numpy as np
import pytest

from replical.cli import main
from replical.worlds.datasets import real_world

COMMON = ["--epsilon", ".05", "--delta", ".05", "--rho", ".1", "--seed", "3", "--json"]


def told(capsys, *arguments):
    code = main([*map(str, arguments)])
    captured = capsys.readouterr()
    assert code == 0, captured
    return json.loads(captured.out)


def refused(capsys, *arguments):
    code = main([*map(str, arguments)])
    captured = capsys.readouterr()
    assert code == 2
    found = json.loads(captured.out)
    assert found["exit"] == 2
    assert found["message"].count("\n") == 0
    return found["message"]


@pytest.mark.slow
def test_rounded_cal_agrees_where_its_base_does_not(capsys):
    found = told(capsys, "audit", "--class", "thresholds:1000000", "--learner", "rounded-cal", "--pool-size", "100000",
                 "--pairs", "40", "--workers", "1", *COMMON)  # fmt: skip
    assert found["agreement"] >= 0.85
    assert found["base_agreement"] <= 0.75
    assert found["labels_mean"] <= 20
    assert found["certified_fraction"] >= 0.95
    assert found["excess_error_max"] <= 0.05
    assert found["expected_jaccard"] <= found["rho_proven"] <= 0.1
    assert found["cap_reached"] == 0


def test_rounded_a2_from_the_command_line(capsys):
    found = told(capsys, "audit", "--class", "thresholds:20000", "--learner", "rounded-a2", "--noise", ".05", "--nu", ".05",
                 "--pool-size", "200000", "--pairs", "6", "--workers", "1", *COMMON)  # fmt: skip
    assert found["certified_fraction"] == 1
    assert found["labels_mean"] < 400
    assert found["excess_error_max"] <= 0.05


def test_a_pool_of_a_hundred_items_comes_out_uncertified_and_says_what_would_do(capsys):
    found = told(capsys, "audit", "--class", "thresholds:1000", "--learner", "rounded-cal", "--pool-size", "100",
                 "--pairs", "1", "--pair", "0", *COMMON)  # fmt: skip
    for lab in found["labs"]:
        rounding = lab["rounding"]
        assert rounding["certified"] is False
        assert rounding["supports"] > 0.1
        assert rounding["pool_needed"] > 10_000
        assert not all(condition["held"] for condition in lab["conditions"])


def test_a_person_reads_why_a_lab_is_not_certified(capsys):
    words = ["audit", "--class", "thresholds:1000", "--learner", "rounded-cal", "--pairs", "1", "--pair", "0",
             *COMMON[:-1]]  # fmt: skip
    assert main([*words, "--pool-size", "100"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "Not certified: nothing is proven of how often labs differ, and 0.1 was asked for; the pool of 100 items"
        in shown
    )
    assert "What helps: about" in shown
    assert main([*words, "--pool-size", "100000"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Certified: the chance that two labs both prove this much and have different answers" in said


def test_a_person_reads_what_was_proven(capsys):
    assert main(["audit", "--class", "thresholds:1000", "--learner", "rounded-cal", "--pool-size", "100000", "--pairs", "2",
                 "--workers", "1", *COMMON[:-1]]) == 0  # fmt: skip
    shown = capsys.readouterr().out
    assert "labs certified" in shown
    assert "rho proven, mean of labs" in shown


@pytest.fixture(scope="session")
def pool_file(tmp_path_factory):
    """Predictions of 40 of the digit models on 3000 draws of the labs' rows."""
    world = real_world("digits", 100)
    chosen, rows = range(0, 240, 6), np.random.default_rng(4).integers(1297, size=3000)
    file = tmp_path_factory.mktemp("pool") / "pool.csv"
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([world.C.candidates[h] for h in chosen])
        writer.writerows(world.cells[rows][:, list(chosen)].tolist())
    return file


def names(pool_file):
    return pool_file.read_text().splitlines()[0].split(",")


def test_plan_predicts_from_a_pool(capsys, pool_file):
    found = told(capsys, "plan", "--class", f"table:{pool_file}", "--pool", pool_file, "--epsilon", ".1", "--truths", "4",
                 "--kappa", ".03", "--json")  # fmt: skip
    prediction = found["prediction"]
    assert found["schema"] == "replical.plan/1"
    assert prediction["items"] == 3000
    assert prediction["labels_low"] <= prediction["labels_mean"] <= prediction["labels_high"]
    assert 0 <= prediction["disagreement_mean"] <= prediction["disagreement_worst"] <= 1
    assert prediction["pool_for_rho"] > 3000
    assert all(len(group) >= 2 for group in prediction["ties"])
    assert main(["plan", "--class", f"table:{pool_file}", "--pool", str(pool_file), "--epsilon", ".1", "--truths", "2",
                 "--kappa", ".03"]) == 0  # fmt: skip
    assert "Expect about" in capsys.readouterr().out


def test_plan_without_a_pool_shows_the_numbers(capsys):
    found = told(capsys, "plan", "--class", "thresholds:1000", "--learner", "rounded-cal", "--epsilon", ".05", "--json")
    assert found["prediction"] is None
    assert {number["name"] for number in found["bills"][0]["numbers"]} >= {"a", "b", "delta_C", "pool_R1"}


@pytest.mark.slow
def test_plan_says_whether_a_prior_helps(capsys, pool_file, tmp_path):
    """The figures with and without the prior are both told, and the sentence follows them."""
    file = tmp_path / "prior.csv"
    for steepness in (0.3, -0.3):
        rows = [f"{name},{np.exp(steepness * place)}" for place, name in enumerate(names(pool_file))]
        file.write_text("\n".join(["candidate,weight", *rows]))
        found = told(capsys, "plan", "--class", f"table:{pool_file}", "--pool", pool_file, "--epsilon", ".1", "--truths", "4",
                     "--kappa", ".03", "--prior", file, "--json")  # fmt: skip
        prediction = found["prediction"]
        helps = prediction["disagreement_mean"] <= prediction["uniform_disagreement"]
        assert ("The prior helps" in found["reading"]) == helps
        assert ("Warning: the prior hurts" in found["reading"]) != helps
        assert prediction["prior_log"] != prediction["uniform_log"]


def test_what_failed_is_named_where_rho_is_proven(capsys):
    """The pool proves ρ and is too small for the error bound; before, "proven is 0.2" was given as the reason."""
    assert main(["audit", "--class", "thresholds:100", "--learner", "rounded-cal", "--epsilon", ".1", "--rho", ".3", "--seed",
                 "3", "--pool-size", "5000", "--pairs", "1", "--pair", "0"]) == 0  # fmt: skip
    shown = " ".join(capsys.readouterr().out.split())
    assert "is proven, but the pool of 5,000 items is too small for the error bound. What helps: about 1" in shown
    assert "items, or --learner settled-cal." in shown


BAD = [
    (["--kappa", ".06"], "kappa must be at most epsilon = 0.05, got 0.06"),
    (["--a", ".03", "--b", ".03"], "a must be above 0 and below b"),
    (["--b", ".05"], "b must be below epsilon"),
    (["--b", ".2"], "b must be below epsilon"),
    (["--query", "halving"], "rounded-a2 has no query"),
    (["--kappa", "0"], "kappa must be in (0, 1)"),
    (["--noise", ".5"], "noise"),
    (["--pool-size", "exact"], "give a pool size instead of 'exact'"),
    (["--k-loop", "5"], "rounded-a2 has no k_loop"),
]


@pytest.mark.parametrize(("words", "sentence"), BAD)
def test_bad_input_is_one_sentence(words, sentence, capsys):
    message = refused(capsys, "audit", "--class", "thresholds:100", "--learner", "rounded-a2", "--pairs", "1", *COMMON,
                      *([] if "--pool-size" in words else ["--pool-size", "1000"]), *words)  # fmt: skip
    assert sentence in message


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("candidate,weight\n0,1\n1,0\n2,1\n", "must be a positive number, got 0"),
        ("candidate,weight\n0,1\n1,-2\n2,1\n", "must be a positive number, got -2"),
        ("candidate,weight\n0,1\n2,1\n", "no weight for '1'"),
        ("candidate,weight\n0,1\n1,1\n2,1\n3,1\n", "gives a weight to '3'"),
        ("candidate,weight\n0,1\n1,x\n2,1\n", "line 3: the weight 'x' is not a number"),
        ("candidate,weight\n0,1\n0,2\n1,1\n2,1\n", "has two weights"),
        ("candidate,share\n0,1\n", "needs two columns, candidate and weight"),
    ],
)
def test_bad_priors_are_named(text, sentence, tmp_path, capsys):
    file = tmp_path / "prior.csv"
    file.write_text(text)
    message = refused(capsys, "audit", "--class", "thresholds:3", "--learner", "rounded-cal", "--pool-size", "1000",
                      "--pairs", "1", "--prior", file, *COMMON)  # fmt: skip
    assert sentence in message


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("0\n1\n", "each of the 3 hypotheses once"), ("0\n1\n7\n", "prefers '7'"), ("0\n1\n1\n2\n", "each of the 3")],
)
def test_bad_orders_of_preference_are_named(text, sentence, tmp_path, capsys):
    file = tmp_path / "prefer.txt"
    file.write_text(text)
    words = ["audit", "--class", "thresholds:3", "--learner", "rounded-cal", "--pool-size", "1000", "--pairs", "1"]
    assert sentence in refused(capsys, *words, "--prefer", file, *COMMON)
    assert "not both" in refused(capsys, *words, "--prefer", file, "--prior", file, *COMMON)


def test_every_replicable_learner_takes_a_prior(tmp_path, capsys):
    weights, prefer = tmp_path / "prior.csv", tmp_path / "prefer.txt"
    weights.write_text("\n".join(["candidate,weight", *(f"{h},{1 + h % 3}" for h in range(40))]))
    prefer.write_text("\n".join(map(str, reversed(range(40)))))
    for learner, extra in (
        ("replical", []),
        ("replica2", ["--nu", ".05"]),
        ("replicable-erm", ["--nu", "0"]),
        ("cal", []),
    ):
        for flag, file in (("--prior", weights), ("--prefer", prefer)):
            found = told(capsys, "audit", "--class", "thresholds:40", "--learner", learner, "--pool-size", "exact", "--pairs",
                         "2", "--workers", "1", flag, file, *extra, *COMMON)  # fmt: skip
            assert found["pairs"] == 2
