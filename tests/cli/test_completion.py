"""Completion with the Tab key: what the shells' scripts ask, and what is answered."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replical.cli import commands as completion
from replical.cli import main
from replical.cli.commands import COMMANDS, GROUPS, load
from replical.learners.catalogue import of_lists

LEARNERS = [record.id for record in of_lists()]  # of those that choose from a list

ASKED = "_REPLICAL_COMPLETE"
WORDS = {"bash": "COMP_WORDS", "zsh": "_TYPER_COMPLETE_ARGS", "fish": "_TYPER_COMPLETE_ARGS"}


@pytest.fixture
def complete(monkeypatch, capsys):
    """What a shell is answered that asks about the last of these words."""

    def call(*words, shell="bash"):
        monkeypatch.setenv(ASKED, f"complete_{shell}")
        monkeypatch.setenv(WORDS[shell], " ".join(["replical", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([])
        assert left.value.code == 0
        monkeypatch.delenv(ASKED)
        return capsys.readouterr().out.split("\n")

    return call


def parsers():
    """Every command, and every command of a group, with the words that lead to it."""
    for path in [(name,) for name in COMMANDS if name not in GROUPS] + [
        (group, name) for group, names in GROUPS.items() for name in names
    ]:
        command = load(*path)
        yield from (((*path, each), sub) for each, sub in getattr(command, "commands", {"": command}).items())


def test_every_command_is_offered_and_none_is_loaded(complete, monkeypatch):
    monkeypatch.setattr("replical.cli.commands.load", None)
    assert [*filter(None, complete(""))] == list(COMMANDS)
    assert [*filter(None, complete("la"))] == ["label", "lab"]
    assert complete("", shell="fish")[0] == "demo\t" + COMMANDS["demo"][1]


@pytest.mark.parametrize("group", GROUPS)
def test_every_command_of_a_group_is_offered(group, complete):
    assert [*filter(None, complete(group, ""))] == [*GROUPS[group]]
    assert complete(group, "", shell="fish")[0] == "\t".join(
        (name := next(iter(GROUPS[group])), GROUPS[group][name][1])
    )


def test_the_options_of_every_command_are_offered(complete):
    """Beside what the parser knows, option by option."""
    for path, parser in parsers():
        known = {name for option in parser.params for name in option.opts if name.startswith("--")}
        off = {name for option in parser.params for name in option.secondary_opts}
        found = {*filter(None, complete(*filter(None, path), "--"))}
        assert known <= found <= known | off | {"--help"}, path


@pytest.mark.parametrize("words", [("run", "pro"), ("run", "p.toml", "--pool", "a"), ("verify", "a.json", "")])
def test_files_are_left_to_the_shell(words, complete):
    """An empty answer: then the script of bash offers files, and so do the others."""
    assert complete(*words) == ["", ""]
    assert complete(*words, shell="zsh") == ["_files", ""]
    assert complete(*words, shell="fish") == ["", ""]


@pytest.mark.parametrize("command", [("paper", "audit"), ("paper", "bill")])
def test_learners_are_offered_by_name(command, complete):
    assert set(LEARNERS) <= set(complete(*command, "--learner", ""))
    assert {*filter(None, complete(*command, "--learner", "boosted-"))} == {
        name for name in LEARNERS if name.startswith("boosted-")
    }


def test_to_whoever_writes_a_protocol_two_learners_are_offered(complete):
    assert [*filter(None, complete("init", "--learner", ""))] == ["handicap", "lattice"]


def test_in_bash(tmp_path):
    """The script that is printed, in the shell it is for: commands, and files where files are meant."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    command = tmp_path / "replical"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m replical "$@"\n')
    command.chmod(0o755)
    script = f"""
        eval "$({ASKED}=source_bash replical)"
        complete -p replical
        COMP_WORDS=(replical journal e); COMP_CWORD=2; _replical_completion replical; echo "${{COMPREPLY[*]}}"
    """
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([bash, "--norc", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["complete -o default -F _replical_completion replical", "export"]


def test_it_is_installed_for_the_present_shell(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    (tmp_path / ".bashrc").write_text("mine=1\n")
    with pytest.raises(SystemExit) as left:
        main([completion.INSTALL])
    assert left.value.code == 0
    script = tmp_path / ".bash_completions/replical.sh"
    assert str(script) in capsys.readouterr().out.replace("\n", "")
    assert (tmp_path / ".bashrc").read_text().split("\n")[:3] == ["mine=1", "", f"source '{script}'"]
    assert "-F _replical_completion replical" in script.read_text()


@pytest.mark.parametrize("word", [completion.INSTALL, completion.SHOW])
@pytest.mark.parametrize("shell", ["ksh", None])
def test_a_shell_without_a_script_is_named_with_a_remedy(word, shell, command, monkeypatch):
    import shellingham

    def detect():
        if shell is None:
            raise shellingham.ShellDetectionFailure
        return shell, f"/bin/{shell}"

    monkeypatch.setattr("shellingham.detect_shell", detect)
    code, out, err = command(word)
    assert (code, out) == (2, "")
    assert f"this is {shell or 'none of them'}" in err
    assert completion.BY_NAME in err


@pytest.mark.parametrize("broken", ["a folder", "not a text"])
def test_a_start_up_file_that_cannot_be_read_is_left_as_it_is(broken, tmp_path, command, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    before = b"caf\xe9=1\n"
    if broken == "a folder":
        (tmp_path / ".bashrc").mkdir()
    else:
        (tmp_path / ".bashrc").write_bytes(before)
        monkeypatch.setattr(Path, "read_text", lambda path: path.read_bytes().decode())  # whatever the locale is
    code, out, err = command(completion.INSTALL)
    assert (code, out) == (2, "")
    assert "was not installed" in err
    assert completion.SHOW in err
    assert broken == "a folder" or (tmp_path / ".bashrc").read_bytes() == before
