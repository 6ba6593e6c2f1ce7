"""Completion with the Tab key: the scripts are typer's, the sentences where they cannot be used are ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from replical.errors import BadUsage

INSTALL, SHOW = "--install-completion", "--show-completion"
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
BY_NAME = "_REPLICAL_COMPLETE=source_bash replical"  # or source_zsh, source_fish


@contextmanager
def in_a_known_shell(words: list[str]) -> Iterator[None]:
    """Where `words` ask for the script of the present shell, say so if there is none or it cannot be kept."""
    if not {INSTALL, SHOW}.intersection(words):
        yield
        return
    if (found := _present_shell()) not in SHELLS:
        raise BadUsage(
            f"{INSTALL} and {SHOW} work in {', '.join(SHELLS[:3])} and PowerShell, and this is "
            f"{found or 'none of them'}: call them there, or print the script of a shell by its name, {BY_NAME}"
        )
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise BadUsage(f"the completion was not installed: {error}; {SHOW} prints what to add by hand") from error


def _present_shell() -> str | None:
    import shellingham  # typer needs it, and asks it too

    try:
        return str(shellingham.detect_shell()[0])
    except shellingham.ShellDetectionFailure:
        return None
