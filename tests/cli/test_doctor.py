"""``replical doctor``, the help, the version, and names of commands that are almost right."""

import json

import pytest

import replical as library
from replical.core.kernels import backend
from replical.gpu import device
from support.commands import answer, replical


def test_doctor_and_what_is_said_to_nothing():
    assert answer("doctor")["golden"] is True
    done = replical()
    assert done.returncode == 0
    assert "Usage" in done.stdout


def test_the_help_lists_every_command_with_its_line(command):
    from replical.cli.commands import COMMANDS

    _, out, _ = command("--help")
    listed = out.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert [line.split(None, 1)[1] for line in listed] == [line for _, line in COMMANDS.values()]


def test_a_group_lists_its_commands(command):
    from replical.cli.commands import GROUPS

    for group, names in GROUPS.items():
        _, out, _ = command(group, "--help")
        listed = out.split("Commands:\n")[1].splitlines()
        assert [tuple(line.split(None, 1)) for line in listed] == [(name, line) for name, (_, line) in names.items()]
        said = f"Error: replical {group} is a group of commands: {', '.join(names)}\n"
        assert command(group) == (2, "", said)
        code, out, err = command(group, "lab.db")
        assert (code, out) == (2, "")
        assert err == f"Error: No such command 'lab.db': replical {group} has {', '.join(names)}\n"


@pytest.mark.parametrize("words", [["--version"], ["--version", "plan"]], ids=["alone", "before a command"])
def test_the_version(words, command):
    assert command(*words) == (0, f"replical {library.__version__}\n", "")


def test_almost_a_command(command):
    code, out, err = command("verfy")
    assert (code, out) == (2, "")
    assert "No such command 'verfy'" in err
    assert "verify" in err.split("verfy", 1)[1]


def test_an_interrupt_while_a_command_is_loaded(command, monkeypatch):
    """Its module is imported inside the command: Ctrl-C there is no traceback either."""
    from replical.cli import commands

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "load", interrupted)
    monkeypatch.setattr("signal.signal", lambda *_: None)  # it would switch interrupts off for the tests
    assert command("plan") == (130, "", "Error: interrupted\n")


@pytest.mark.parametrize(
    ("why", "said"),
    [
        (None, "Kernels: numba, once there is enough work to pay for loading it."),
        ("it is not installed", "Kernels: NumPy; numba would be faster, with the same results, but it is not "
         'installed: pip install "replical[fast]".'),
    ],
)  # fmt: skip
def test_doctor_says_which_kernels_are_used(command, monkeypatch, why, said):
    monkeypatch.setattr(backend, "trouble", lambda: why)
    code, out, _ = command("doctor")
    assert code == 0
    assert said in " ".join(out.split())
    code, out, _ = command("doctor", "--json")
    assert f'"kernels": "{"numba" if "numba, once" in said else "numpy"}"' in out


CARD = {"device": "cuda:0", "name": "A Card", "memory": 3 * 2**30, "free": 2**30}


@pytest.mark.parametrize(
    ("cards", "why", "said"),
    [
        ([CARD], None, "Card cuda:0: A Card, 3.0 GiB of memory, 1.0 GiB free; --device cuda:0 uses it."),
        ([], None, "Cards: none that can be used, PyTorch finds none here."),
        ([], "PyTorch is not installed", "Cards: none that can be used, PyTorch is not installed: pip install " '"replical[gpu]".'),
    ],
)  # fmt: skip
def test_doctor_names_cards_and_their_memory(command, monkeypatch, cards, why, said):
    monkeypatch.setattr(device, "cards", lambda: cards)
    monkeypatch.setattr(backend, "torch_trouble", lambda: why)
    code, out, _ = command("doctor")
    assert code == 0
    assert said in " ".join(out.split())
    assert json.loads(command("doctor", "--json")[1])["cards"] == cards
