"""``replical paper theta``: known answers, pools, and one sentence for bad input."""

import pytest

from support.commands import answer, answered, replical


def test_theta(command):
    assert answer("paper", "theta", "--class", "thresholds:1000")["theta"] == 2.0
    found = answered(command, "paper", "theta", "--class", "star:64")
    assert (found["theta"], found["hypotheses"], found["points"], found["upper"]) == (64.0, 65, 64, None)
    assert answered(command, "paper", "theta", "--class", "star:64", "--centre", 3)["theta"] < 64
    assert (found["littlestone"], found["vc"]) == (1, 1)
    assert answered(command, "paper", "theta", "--class", "star:64", "--r0", ".5")["radius"] == [32, 64]


def test_dimensions_are_told_where_they_are_feasible(command):
    said = {n: " ".join(command("paper", "theta", "--class", f"thresholds:{n}")[1].split()) for n in (1000, 1200)}
    assert said[1000].endswith("On these points: Littlestone dimension 9, VC dimension 1.")
    assert "no dimension; an exact dimension takes at most 1,024 hypotheses and" in said[1200]
    found = answered(command, "paper", "theta", "--class", "thresholds:1200")
    assert found["littlestone"] is found["vc"] is None


def test_theta_on_a_pool(command, tmp_path, table):
    file = tmp_path / "pool.csv"
    file.write_text("id,x\n" + "".join(f"{i},{i % 7}\n" for i in range(700)))
    found = answered(command, "paper", "theta", "--class", "thresholds:8", "--pool", file)
    assert (found["theta"], found["points"]) == (2.0, 700)
    assert found["sampling_error"] > 0
    assert (found["upper"], found["confidence"]) == (2.0, 0.95)
    assert answered(command, "paper", "theta", "--class", f"table:{table}", "--pool", table)["points"] == 300


def test_what_a_pool_says_about_its_population(command, tmp_path):
    file = tmp_path / "pool.csv"
    file.write_text("x\n" + "".join(f"{i % 6}\n" for i in range(600)))
    code, out, _ = command("paper", "theta", "--class", "star:6", "--pool", file, "--r0", ".5")
    assert code == 0
    assert "theta of the population at radii from 0.5 on is at most 2, with 95% confidence" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["paper", "theta", "--class", "star:5", "--r0", "2"], "r0 must be in [0, 1), got 2"),
        (["paper", "theta", "--class", "star:5", "--centre", "9"], "one of the 6 hypotheses, got 9"),
        (["paper", "theta", "--class", "star:5", "--pool", "nowhere.csv"], "cannot read the table nowhere.csv"),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_other_bad_input(words, message):
    done = replical(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
