"""``replical doctor`` and the help."""

import pytest

from replical.core.kernels import choice
from support.commands import answer, replical


def test_doctor_and_help():
    assert answer("doctor")["golden"] is True
    for words in (["--help"], [], ["audit", "--help"], ["theta", "--help"], ["demo", "--help"]):
        done = replical(*words)
        assert done.returncode == 0
        assert "Usage" in done.stdout


@pytest.mark.parametrize(
    ("named", "why", "said"),
    [
        ("", None, "Kernels: numba, once there is enough work to pay for loading it."),
        ("numpy", None, "Kernels: NumPy, as REPLICAL_KERNELS says; results are the same on numba."),
        ("", "it is not installed", "Kernels: NumPy; numba would be faster, with the same results, but it is not "
         'installed: pip install "replical[fast]".'),
    ],
)  # fmt: skip
def test_doctor_says_which_kernels_are_used(command, monkeypatch, named, why, said):
    monkeypatch.setenv(choice.VARIABLE, named)
    monkeypatch.setattr(choice, "trouble", lambda: why)
    code, out, _ = command("doctor")
    assert code == 0
    assert said in " ".join(out.split())
    code, out, _ = command("doctor", "--json")
    assert f'"kernels": "{"numba" if "numba, once" in said else "numpy"}"' in out


def test_unknown_kernels_are_one_sentence(command, monkeypatch):
    monkeypatch.setenv(choice.VARIABLE, "gpu")
    code, _, err = command("doctor")
    assert code == 2
    assert "there are no kernels 'gpu': REPLICAL_KERNELS is numpy or numba" in " ".join(err.split())
