"""``replical audit`` as a person meets it: every learner on every class, exit codes, one clear sentence."""

import json

import pytest

from support.commands import answer, answered, replical

AUDIT = ["audit", "--epsilon", ".1", "--delta", ".1", "--rho", ".3", "--seed", "cli", "--pairs", "6", "--workers", "1"]


@pytest.mark.parametrize("spec", ["thresholds:1000", "intervals:40", "star:32", "table"])
@pytest.mark.parametrize("learner", ["erm", "cal", "cal-rounds", "replical"])
def test_every_learner_on_every_class(spec, learner, table, command):
    spec = f"table:{table}" if spec == "table" else spec
    found = answered(command, *AUDIT, "--class", spec, "--learner", learner, "--pool-size", "exact")
    assert found["schema"] == "replical.audit/1"
    assert found["pairs"] == 6
    assert found["excess_error_max"] <= 0.1
    assert 0 <= found["agreement_low"] <= found["agreement"] <= found["agreement_high"] <= 1
    assert found["function_agreement"] >= found["agreement"]


def test_audit_json_has_the_documented_fields_in_order():
    found = answer(*AUDIT, "--class", "thresholds:50", "--learner", "cal", "--pool-size", "1000")
    assert list(found) == [
        "schema", "inputs", "pairs", "agreements", "agreement", "agreement_low", "agreement_high", "function_agreement",
        "expected_jaccard", "survivors_mean", "base_agreement", "labels_mean", "labels_max", "excess_error_mean",
        "excess_error_max", "excess_over_epsilon", "labels_sufficient_fraction", "certified_fraction", "rho_proven",
        "rho_predicted", "cap_reached", "seconds",
    ]  # fmt: skip
    assert found["inputs"]["theta"] is None


def test_audit_at_the_theorem_s_own_size():
    found = answer("audit", "--class", "thresholds:100000", "--learner", "replical", "--plan", "paper", "--pool-size", "exact",
                   "--epsilon", ".01", "--delta", ".05", "--rho", ".1", "--pairs", "100", "--seed", "7")  # fmt: skip
    assert found["agreement_low"] >= 0.95
    assert found["survivors_mean"] >= 20
    assert found["excess_error_max"] <= 0.01
    assert found["labels_mean"] > 1e16
    assert found["inputs"]["theta"] == 2.0


def test_streaming_cal_disagrees_where_it_should():
    found = answer("audit", "--class", "thresholds:1000000", "--learner", "cal", "--pool-size", "100000", "--epsilon", ".05",
                   "--delta", ".05", "--rho", ".1", "--pairs", "60", "--seed", "7")  # fmt: skip
    assert found["agreement"] < 0.7


@pytest.mark.parametrize(
    ("spec", "noise"),
    [
        ("intervals:40", ".05"),
        ("boxes:2,8", "0"),
        *(
            pytest.param(spec, noise, marks=pytest.mark.slow)
            for spec in ("intervals:40", "stumps:5,40", "boxes:2,8", "halfspaces:2,2000")
            for noise in ("0", ".05")
        ),
    ],
)
def test_every_agnostic_learner_on_the_classes_people_use(spec, noise, command):
    for learner in ("a2", "a2-rounds", "replicable-erm", "replica2"):
        found = answered(command, "audit", "--class", spec, "--learner", learner, "--pool-size", "exact", "--epsilon", ".1",
                         "--theta", "4", "--noise", noise, "--seed", "cli", "--pairs", "2", "--workers", "1")  # fmt: skip
        assert found["excess_error_max"] <= 0.1
        assert found["inputs"]["nu"] == (None if learner == "a2" else float(noise))


def test_replica2_agrees_at_its_tight_sizes():
    found = answer("audit", "--class", "thresholds:1000", "--learner", "replica2", "--plan", "tight", "--pool-size", "exact",
                   "--epsilon", ".05", "--delta", ".05", "--rho", ".1", "--noise", ".05", "--nu", ".05", "--pairs", "100",
                   "--seed", "8")  # fmt: skip
    assert found["agreement_high"] >= 0.9
    assert found["survivors_mean"] >= 20
    assert found["excess_error_max"] <= 0.05


def test_a2_asks_for_few_labels():
    found = answer("audit", "--class", "thresholds:1000", "--learner", "a2", "--noise", ".05", "--pool-size", "100000",
                   "--epsilon", ".05", "--pairs", "40", "--seed", "8")  # fmt: skip
    assert found["labels_mean"] <= 120


def test_boundary_noise_and_budgets():
    found = answer("audit", "--class", "thresholds:1000", "--learner", "a2", "--noise", "boundary:.3,.05", "--pool-size",
                   "5000", "--epsilon", ".1", "--pairs", "4", "--seed", "8", "--max-labels", "60")  # fmt: skip
    assert found["inputs"]["noise"] == "boundary:.3,.05"
    assert found["labels_max"] <= 60


def test_workers_and_single_pairs_change_nothing(command):
    base = [*AUDIT, "--class", "thresholds:2000", "--learner", "cal", "--pool-size", "3000"]
    one, two = answer(*base, "--workers", 1), answer(*base, "--workers", 2)
    del one["seconds"], two["seconds"]
    assert one == two
    labels = []
    for number in range(6):
        pair = answered(command, *base, "--pair", number)
        assert pair["agree"] == (pair["labs"][0]["hypothesis"] == pair["labs"][1]["hypothesis"])
        labels += [lab["labels"] for lab in pair["labs"]]
    assert sum(labels) / 12 == pytest.approx(one["labels_mean"])


def test_prose_and_progress_are_separate():
    done = replical(*AUDIT, "--class", "thresholds:50", "--learner", "cal", "--pool-size", "1000")
    assert done.returncode == 0
    assert "identical hypothesis" in done.stdout
    assert "pairs of labs: 6 of 6" in done.stderr
    assert "of 6" not in done.stdout


# One of each kind, in a process of its own too: said by the parser, by a plan, of a file, of the labels in the middle of a run.
IN_A_PROCESS = [
    {"--epsilon": "abc"},
    {"--epsilon": "1.5"},
    {"--class": "table:nowhere.csv"},
    {"--noise": ".3", "--learner": "cal-rounds", "--theta": "50"},
]
OK = {
    "--class": "thresholds:100",
    "--learner": "replical",
    "--pool-size": "exact",
    "--epsilon": ".1",
    "--seed": "s",
    "--pairs": "2",
    "--workers": "1",
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--epsilon": "1.5"}, "epsilon must be in (0, 1), got 1.5"),
        ({"--epsilon": "nan"}, "epsilon must be in (0, 1), got nan"),
        ({"--epsilon": "abc"}, "'abc' is not a number"),
        ({"--epsilon": None}, "Missing option '--epsilon'"),
        ({"--seed": None}, "Missing option '--seed'"),
        ({"--delta": "0"}, "delta must be in (0, 1), got 0"),
        ({"--rho": "1"}, "rho must be in (0, 1), got 1"),
        ({"--theta": ".5"}, "theta must be a finite number of at least 1, got 0.5"),
        ({"--theta": "nan"}, "got nan"),
        ({"--T": ".7", "--plan": "paper"}, "T must be in (0, 0.5), got 0.7"),
        ({"--class": "foo:3"}, "unknown class 'foo:3'"),
        ({"--class": "thresholds:many"}, "malformed class 'thresholds:many'"),
        ({"--class": "thresholds:0"}, "at least one hypothesis"),
        ({"--class": "table:nowhere.csv"}, "cannot read the table nowhere.csv"),
        ({"--learner": "perceptron"}, "unknown learner 'perceptron'"),
        ({"--plan": "loose"}, "unknown plan 'loose'"),
        ({"--pool-size": "0"}, "a pool size is a whole number from 1 to 10**12 - 1 or 'exact', got '0'"),
        ({"--pool-size": "1e5"}, "got '1e5'"),
        ({"--pool-size": "1000", "--plan": "paper"}, "which no finite pool can measure"),
        ({"--pool-size": "1000"}, "the plan sets 14960 items aside"),
        ({"--pool-size": "50", "--learner": "erm"}, "missing"),
        ({"--pairs": "0"}, "at least 1 pair, got 0"),
        ({"--workers": "0"}, "at least 1 worker, got 0"),
        ({"--pair": "-1"}, "numbered from 0, got -1"),
        ({"--noise": ".7"}, "noise must be in [0, 0.5)"),
        ({"--noise": ".3", "--learner": "cal-rounds", "--theta": "50"}, "what was assumed of them does not hold"),
        ({"--k-loop": "0"}, "k_loop must be a whole number of at least 1, got 0"),
        ({"--k-loop": "1e3"}, "'1e3' is not a whole number"),
        ({"--k-final": "1" + "0" * 40, "--plan": "paper"}, "2**68"),
        ({"--max-labels": "5"}, "more than max_labels = 5"),
        ({"--learner": "cal", "--k-final": "5"}, "cal has no k_final"),
        ({"--learner": "replica2", "--nu": ".5"}, "nu must be in [0, 0.5), got 0.5"),
        ({"--learner": "replica2", "--theta": ".5"}, "theta must be a finite number of at least 1, got 0.5"),
        ({"--learner": "replica2", "--pool-size": "1000"}, "times the pool of 1000: bring more items"),
        ({"--learner": "replica2", "--pool-size": "1000", "--plan": "paper"}, "would take about"),
        ({"--learner": "a2", "--kappa": "2"}, "kappa must be in (0, 1), got 2"),
        ({"--learner": "a2", "--batch": "0"}, "batch must be a whole number of at least 1, got 0"),
        ({"--learner": "settled", "--labs": "1"}, "labs must be a whole number of at least 2, got 1"),
        ({"--learner": "settled", "--b": ".2"}, "b must be at most epsilon = 0.1, got 0.2"),
        ({"--learner": "settled", "--a": ".2"}, "a must be above 0 and at most b = 0.1, got 0.2"),
        ({"--learner": "settled", "--batch": "9", "--max-labels": "8"}, "max_labels = 8 is below batch = 9"),
        ({"--noise": "much"}, "malformed noise 'much'"),
        ({"--class": "star:5", "--noise": "boundary:.1,.1"}, "Star has no decision boundary"),
        ({"--class": "stumps:5"}, "malformed class 'stumps:5'"),
        ({"--frobnicate": "5"}, "No such option"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_exit_code_2(change, message, command):
    words = [word for option, value in (OK | change).items() if value is not None for word in (option, value)]
    code, out, _ = command("audit", *words, "--json")
    assert code == 2
    error = json.loads(out)
    assert error["schema"] == "replical.error/1"
    assert error["exit"] == 2
    assert message in error["message"]
    assert_one_sentence(message, *command("audit", *words))
    if change in IN_A_PROCESS:
        del words[words.index("--workers") : words.index("--workers") + 2]  # said by workers as well
        plain = replical("audit", *words)
        assert_one_sentence(message, plain.returncode, plain.stdout, plain.stderr)


def assert_one_sentence(message, code, out, err):
    assert code == 2
    assert message in err.replace("\n", " ")
    assert "Traceback" not in err
    assert out == ""


def test_sizes_beyond_63_bits_are_drawn_in_parts():
    found = answer(*AUDIT, "--class", "thresholds:40", "--learner", "replical", "--plan", "paper", "--pool-size", "exact",
                   "--k-loop", 2**64, "--k-final", 2**65)  # fmt: skip
    assert found["labels_max"] >= 2**64
    assert found["excess_error_max"] <= 0.1
