"""``replical paper theorem`` as a person meets it."""

import pytest

from support.commands import answered

SMALL = ("--class", "thresholds:2000", "--epsilon", ".2", "--pairs", "4")


@pytest.mark.parametrize("number", ["1", "2"])
def test_what_is_claimed_stands_beside_what_was_measured(number, command):
    code, out, _ = command("paper", "theorem", number, *SMALL)
    said = " ".join(out.split())
    assert code == 0
    assert f"Theorem {number}, Repli" in said
    assert "0 of 4 pairs" in said
    assert "Controls: the same labs agree in" in said
    assert "Sizes divided" not in said
    assert "ν = 0.05" in said if number == "2" else "ν = " not in said


def test_sizes_divided_and_the_proof_s_own_counts(command):
    code, out, _ = command("paper", "theorem", "1", *SMALL, "--divide", "--anatomy")
    said = " ".join(out.split())
    assert code == 0
    assert "What the proof counts, with ρ' = 0.0333" in said
    assert "Sizes divided, 20 pairs each" in said
    assert "labels would have done here, in place of" in said


def test_json_has_everything(command):
    found = answered(command, "paper", "theorem", "2", *SMALL, "--anatomy")
    assert list(found) == [
        "schema", "theorem", "inputs", "sizes", "claimed", "conditions", "measured", "anatomy", "divided", "seconds",
    ]  # fmt: skip
    assert found["schema"] == "replical.theorem/1"
    assert found["inputs"] == {"class": "thresholds:2000", "theta": 2.0, "nu": 0.05, "seed": "theorem"}
    assert len(found["anatomy"]) == 4
    assert found["measured"]["labels_max"] <= found["claimed"]["labels"]
    assert answered(command, "paper", "theorem", "2", *SMALL, "--anatomy")["measured"] == found["measured"]


def test_an_assumption_that_does_not_hold_is_told(command):
    said = " ".join(command("paper", "theorem", "1", *SMALL, "--theta", "1")[1].split())
    assert "Not held: theta is at least the disagreement coefficient (2, bound 1)." in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("3",), "the paper has theorems 1 and 2, not 3"),
        (("one",), "'one' is not a whole number"),
        (("1", "--pairs", "0"), "--pairs must be at least 1, got 0"),
        (("1", "--rho", ".0001"), "cannot be simulated"),
        (("1", "--noise", ".01", *SMALL), "use an agnostic learner or a larger nu"),
        (("2", "--noise", "much"), "'much' is not a number"),
        (("2", "--class", "grid:3"), "unknown class 'grid:3'"),
    ],
)
def test_bad_input_is_one_sentence(words, message, command):
    code, out, err = command("paper", "theorem", *words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert "Traceback" not in err
