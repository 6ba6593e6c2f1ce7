"""``replical paper theta``: known answers, pools, and one sentence for bad input."""

import sys

import pytest

from support.commands import answer, answered, replical


def test_theta(command):
    assert answer("paper", "theta", "--class", "thresholds:1000")["theta"] == 2.0
    found = answered(command, "paper", "theta", "--class", "star:64")
    assert (found["theta"], found["hypotheses"], found["points"], found["upper"]) == (64.0, 65, 64, None)
    assert answered(command, "paper", "theta", "--class", "star:64", "--centre", 3)["theta"] < 64
    assert answered(command, "paper", "theta", "--class", "star:64", "--r0", ".5")["radius"] == [32, 64]


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


def test_the_curve_as_a_picture(command, tmp_path):
    pytest.importorskip("matplotlib")
    file, pool = tmp_path / "theta.svg", tmp_path / "pool.csv"
    code, out, _ = command("paper", "theta", "--class", "intervals:12", "--centre", 40, "--plot", file)
    assert (code, out.splitlines()[-1]) == (0, f"Drawn: {file}")
    first = file.read_bytes()
    assert b"<svg" in first
    pool.write_text("x\n" + "".join(f"{i % 12}\n" for i in range(240)))
    assert command("paper", "theta", "--class", "intervals:12", "--pool", pool, "--r0", ".2", "--plot", file)[0] == 0
    assert file.read_bytes() != first


def test_a_picture_that_cannot_be(command, tmp_path, monkeypatch):
    pool = tmp_path / "pool.svg"
    pool.write_text("x\n1\n2\n")
    for words, message in (
        (["--plot", tmp_path / "theta.gif"], "a figure is written as .svg, .png, .pdf, got 'theta.gif'"),
        (["--plot", tmp_path / "nowhere" / "theta.svg"], "there is no folder"),
        (["--pool", pool, "--plot", pool], "is also --pool, and would replace it"),
        (["--class", "thresholds:1", "--plot", tmp_path / "theta.svg"], "nobody differs from hypothesis 0"),
    ):
        code, out, err = command("paper", "theta", "--class", "thresholds:8", *words)
        assert (code, out) == (2, "")
        assert message in err
    assert pool.read_text() == "x\n1\n2\n"
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, err = command("paper", "theta", "--class", "thresholds:8", "--plot", tmp_path / "theta.svg")
    assert code == 2
    assert "figures need matplotlib: install it with pip install 'replical[plot]'" in err


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
