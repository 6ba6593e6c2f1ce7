"""``replical paper audit`` as a person meets it: every learner on every class, exit codes, one clear sentence."""

import json

import pytest

from replical.worlds.audit import run_pair
from replical.worlds.experiment import Experiment, prepare
from support.commands import answer, answered, replical

AUDIT = [
    "paper", "audit", "--epsilon", ".1", "--delta", ".1", "--rho", ".3", "--seed", "cli", "--pairs", "6", "--workers",
    "1",
]  # fmt: skip


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
        "expected_jaccard", "survivors_mean", "controls", "own_string", "own_threshold", "own_order", "fewest_errors", "labels_mean", "labels_max", "excess_error_mean",
        "excess_error_max", "excess_over_epsilon", "certified_fraction", "rho_proven",
        "cap_reached", "conditions", "vacuous", "seconds", "global_stability",
    ]  # fmt: skip
    assert found["inputs"]["theta"] is None


@pytest.mark.parametrize(
    ("spec", "noise"),
    [
        ("intervals:40", ".05"),
        *(
            pytest.param(spec, noise, marks=pytest.mark.slow)
            for spec in ("intervals:40", "stumps:5,40", "boxes:2,8", "halfspaces:2,2000")
            for noise in ("0", ".05")
        ),
    ],
)
def test_every_agnostic_learner_on_the_classes_people_use(spec, noise, command):
    for learner in ("a2", "a2-rounds", "replicable-erm", "replica2"):
        found = answered(command, "paper", "audit", "--class", spec, "--learner", learner, "--pool-size", "exact", "--epsilon", ".1",
                         "--theta", "4", "--noise", noise, "--seed", "cli", "--pairs", "2", "--workers", "1")  # fmt: skip
        assert found["excess_error_max"] <= 0.1
        assert found["inputs"]["nu"] == (None if learner == "a2" else float(noise))


@pytest.mark.parametrize("noise", ["0", ".05"])
def test_handicap_is_told_that_there_is_no_noise_and_nothing_else(noise, command):
    words = ("--class", "thresholds:200", "--learner", "handicap", "--pool-size", "1000", "--noise", noise)
    found = answered(command, *AUDIT, *words)
    assert found["inputs"]["nu"] == (0 if noise == "0" else None)
    assert found["certified_fraction"] is not None
    assert found["excess_error_max"] <= 0.1
    made = Experiment(class_spec="thresholds:200", learner="handicap", epsilon=0.1, pool_size="1000", noise=noise)
    ready = prepare(made, seed="s")
    results = [lab.result for lab in run_pair(ready.learner, ready.world, "s", 0)[1]]
    assert all(result.proof.asked == result.labels for result in results)
    assert all(result.proof.survivors == result.V.size for result in results)


def test_workers_change_nothing(command):
    base = [*AUDIT, "--class", "thresholds:2000", "--learner", "cal", "--pool-size", "3000"]
    one, two = answered(command, *base, "--workers", 1), answer(*base, "--workers", 2)
    del one["seconds"], two["seconds"]
    assert one == two


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
    "--class": "thresholds:100", "--learner": "replical", "--pool-size": "exact", "--epsilon": ".1", "--seed": "s",
    "--pairs": "2", "--workers": "1",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--epsilon": "1.5"}, "epsilon must be in (0, 1), got 1.5"),
        ({"--epsilon": "abc"}, "'abc' is not a number"),
        ({"--epsilon": None}, "Missing option '--epsilon'"),
        ({"--seed": None}, "Missing option '--seed'"),
        ({"--class": "table:nowhere.csv"}, "cannot read the table nowhere.csv"),
        ({"--learner": "perceptron"}, "unknown learner 'perceptron'"),
        ({"--pool-size": "0"}, "a pool size is a whole number from 1 to 10**12 - 1 or 'exact', got '0'"),
        ({"--pool-size": "1000", "--set": "plan=paper"}, "which no finite pool can measure"),
        ({"--pool-size": "1000"}, "the plan sets 14960 items aside"),
        ({"--pool-size": "50", "--learner": "erm"}, "missing"),
        ({"--pairs": "0"}, "at least 1 pair, got 0"),
        ({"--workers": "0"}, "at least 1 worker, got 0"),
        ({"--noise": ".7"}, "noise must be in [0, 0.5)"),
        ({"--noise": ".3", "--learner": "cal-rounds", "--theta": "50"}, "what was assumed of them does not hold"),
        ({"--set": "k_loop=1e3"}, "k_loop must be a whole number, got '1e3'"),
        ({"--set": ("k_final=1" + "0" * 40, "plan=paper")}, "2**68"),
        ({"--set": "max_labels=5"}, "more than max_labels = 5"),
        ({"--learner": "replica2", "--pool-size": "1000"}, "times the pool of 1,000: bring more items"),
        ({"--learner": "replica2", "--pool-size": "1000", "--set": "plan=paper"}, "would take about"),
        ({"--noise": "much"}, "malformed noise 'much'"),
        ({"--set": "k_lop=5"}, "--set knows no 'k_lop': did you mean k_loop"),
        ({"--set": "k-loop=5"}, "--set knows no 'k-loop': write k_loop"),
        ({"--set": "epsilon=.2"}, "--set knows no 'epsilon': give --epsilon"),
        ({"--set": "k_loop"}, "--set gives one parameter its value, KEY=VALUE, got 'k_loop'"),
        ({"--set": ("k_loop=5", "k_loop=6")}, "--set gives k_loop two values: give it once"),
        ({"--frobnicate": "5"}, "No such option"),
        ({"--k-loop": "5"}, "No such option: --k-loop: give it as --set k_loop=VALUE"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_exit_code_2(change, message, command):
    given = {option: (value,) if isinstance(value, str) else value or () for option, value in (OK | change).items()}
    words = [word for option, values in given.items() for value in values for word in (option, value)]
    code, out, _ = command("paper", "audit", *words, "--json")
    assert code == 2
    error = json.loads(out)
    assert error["schema"] == "replical.error/1"
    assert error["exit"] == 2
    assert message in error["message"]
    assert_one_sentence(message, *command("paper", "audit", *words))
    if change in IN_A_PROCESS:
        del words[words.index("--workers") : words.index("--workers") + 2]  # said by workers as well
        plain = replical("paper", "audit", *words)
        assert_one_sentence(message, plain.returncode, plain.stdout, plain.stderr)


def assert_one_sentence(message, code, out, err):
    assert code == 2
    assert message in err.replace("\n", " ")
    assert "Traceback" not in err
    assert out == ""


def test_sizes_beyond_63_bits_are_drawn_in_parts(command):
    found = answered(command, *AUDIT, "--class", "thresholds:40", "--learner", "replical", "--set", "plan=paper",
                     "--pool-size", "exact", "--set", f"k_loop={2**64}", "--set", f"k_final={2**65}")  # fmt: skip
    assert found["labels_max"] >= 2**64
    assert found["excess_error_max"] <= 0.1


def test_conditions_that_do_not_hold_are_told(command, capsys):
    """The loop never runs at 8Θν ≥ 1; sizes of one's own, noise where none is allowed, and a ν too small void the proof."""
    words = [*AUDIT, "--class", "thresholds:60", "--pool-size", "exact"]
    agnostic = answered(command, *words, "--learner", "replica2", "--noise", ".1", "--theta", "2")
    assert [each["name"][:26] for each in agnostic["conditions"]] == ["8 theta nu is below 1, so "]
    assert agnostic["conditions"][0]["value"] == 1.6
    own = answered(
        command, *words, "--learner", "replical", "--set", "k_loop=30", "--set", "k_final=50", "--theta", "2"
    )
    assert [each["name"] for each in own["conditions"]] == [
        f"k_{at} is at least what the proof needs" for at in ("loop", "final")
    ]
    noisy = answered(command, *words, "--learner", "cal-rounds", "--noise", ".001", "--set", "k_loop=3", "--theta", "2")
    assert "some hypothesis makes no error" in [each["name"] for each in noisy["conditions"]]
    small = answered(command, *words, "--learner", "replica2", "--noise", ".1", "--nu", ".01", "--theta", "1")
    assert [each["name"] for each in small["conditions"]] == [
        "nu is at least the error of the best hypothesis", "theta is at least the disagreement coefficient",
    ]  # fmt: skip
    assert [small["conditions"][1][name] for name in ("value", "bound")] == [2.0, 1.0]
    assert answered(command, *words, "--learner", "replical", "--theta", "2")["conditions"] == []


def test_an_audit_that_shows_nothing_says_so(command):
    """Where the labels resolve every hypothesis, labs agree with strings of their own too; elsewhere the string is at work."""
    words = [*AUDIT, "--learner", "replical", "--pool-size", "exact", "--theta", "2"]
    told = answered(command, *words, "--class", "thresholds:20")
    assert told["vacuous"] is True
    assert told["own_string"] == told["fewest_errors"] == 1
    fine = answered(command, *words, "--class", "thresholds:2000")
    assert fine["vacuous"] is False
    assert fine["controls"] == 6
    assert fine["own_string"] < 0.5 < fine["fewest_errors"]  # so many labels decide, but the learner goes by the string
    low, high = fine["global_stability"]  # how often two agree with nothing shared, and its root, as an interval
    assert low <= fine["own_string"] <= fine["own_string"] ** 0.5 <= high
    assert told["global_stability"] == [pytest.approx(0.5407, abs=1e-4), 1.0]
    said = " ".join(command(*words, "--class", "thresholds:2000")[1].split())
    assert "most frequent answer if nothing is shared" in said
    assert "with strings of their own" in said
    assert "(6 pairs). So many labels decide without a string too." in said
    assert "Vacuous: labs agree whatever they do" in " ".join(command(*words, "--class", "thresholds:20")[1].split())
    assert (
        answered(command, *AUDIT, "--class", "thresholds:20", "--learner", "cal", "--pool-size", "100")["vacuous"]
        is None
    )
    words = [*AUDIT, "--class", "thresholds:60", "--pool-size", "exact", "--learner", "replical", "--theta", "2"]
    code, out, _ = command(*words, "--set", "k_loop=30", "--set", "k_final=50")
    assert code == 0
    assert "Not held: k_loop is at least what the proof needs (30, bound" in out
    assert "So nothing that the learner promises is proven for these runs." in out.replace("\n", " ")
