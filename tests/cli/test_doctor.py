"""``replical doctor``, the help, the version, and names of commands that are almost right."""

import pytest

import replical as library
from support.commands import answer, replical


def test_doctor_and_help(command):
    assert answer("doctor")["golden"] is True
    for words in (
        ["--help"],
        ["audit", "--help"],
        ["theta", "--help"],
        ["demo", "--help"],
        ["protocol", "new", "--help"],
    ):
        code, out, _ = command(*words)
        assert code == 0
        assert "Usage" in out
    done = replical()
    assert done.returncode == 0
    assert "Usage" in done.stdout


def test_the_help_lists_every_command_with_its_line(command):
    from replical.cli.commands import COMMANDS

    _, out, _ = command("--help")
    listed = out.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert [line.split(None, 1)[1] for line in listed] == [line for _, line in COMMANDS.values()]


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
