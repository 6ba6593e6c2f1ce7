"""The commands: their names and one line about each; a module is imported when its command is called or completed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from replical import __version__
from replical.errors import BadUsage, remedy

# Name: where it is, and the line of the list of commands. (A module `run` would take the name of `replical.cli.run`.)
COMMANDS = {
    "demo": ("demo:demo_command", "Watch three labs choose the identical model, and prove it."),
    "quickstart": ("demo:quickstart_command", "Two labs' tables to try it on, and five commands to type."),
    "init": ("init:init_command", "From your table to a protocol, and the command that comes next."),
    "audit": ("audit:audit_command", "How often do pairs of simulated labs agree?"),
    "plan": ("plan:plan_command", "What will it cost in labels, and how often will labs agree?"),
    "theta": ("paper:theta_command", "The disagreement coefficient of a class."),
    "shard": ("data:shard_command", "Write a table larger than memory as shards, for run."),
    "candidates": ("data:candidates_command", "Fit a family of models on public rows: a list to choose from."),
    "predict": ("data:predict_command", "What fitted candidates say about a table: a pool for run."),
    "run": ("run_protocol:run_command", "Run a protocol on this lab's items, label by label."),
    "label": ("page:label_command", "Serve the labelling page for a run driven elsewhere."),
    "verify": ("verify:verify_command", "Recompute a certificate."),
    "compare": ("verify:compare_command", "Do several labs have one answer?"),
    "apply": ("data:apply_command", "What the rule of a certificate says about a table."),
    "confirm": ("confirm:confirm_command", "Does a published answer hold on this lab's items?"),
    "release": ("lab:release_command", "One private answer from the votes of many labs."),
    "correct": ("journal:correct_command", "Record another label for an item."),
    "journal": ("journal:show_command", "Is a journal whole? Its events, labels and head."),
    "export": ("journal:export_command", "The events of a journal as CSV."),
    "keys": ("lab:keys_app", "Make and show the keys that labs sign with."),
    "study": ("paper:study_command", "A grid of audits from one file: tables, figures, a report."),
    "doctor": ("doctor:doctor_command", "Versions, optional parts, and a test of the random bits."),
    "protocol": ("protocol:protocol_app", "Write and look at protocols."),
}
# They read files that somebody else may have written.
_READERS = {
    "init", "plan", "candidates", "predict", "run", "label", "verify", "compare", "apply", "confirm", "release",
    "protocol", "shard",
}  # fmt: skip
INSTALL, SHOW = "--install-completion", "--show-completion"
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
BY_NAME = "_REPLICAL_COMPLETE=source_bash replical"  # or source_zsh, source_fish


class Commands(TyperGroup):
    """Knows every command by name and line; whoever is called, or completed, is loaded."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, with a sentence of our own where a shell's completion cannot be had."""
        with explain_completion(args):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that `args` name, or "No such command", in place of what stands for it in lists.

        What it makes of one protocol it makes once, however many files hold that.
        """
        if args[0] not in COMMANDS and (gone := remedy(args[0])):
            raise BadUsage(f"No such command {args[0]!r}{gone}")
        name, stand_in, rest = super().resolve_command(ctx, args)
        if name is None:
            return name, stand_in, rest
        from replical.core.memory import remembering

        ctx.with_resource(remembering())
        return name, load(name), rest


@contextmanager
def explain_completion(words: list[str]) -> Iterator[None]:
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


@cache
def load(name: str) -> Any:
    """The command of this `name`, ready to parse its words."""
    module, attribute = COMMANDS[name][0].split(":")
    found = getattr(import_module(f"replical.cli.{module}"), attribute)
    command = get_command(found) if isinstance(found, typer.Typer) else _single(name, found)
    if name in _READERS:
        for each in command.commands.values() if isinstance(command, TyperGroup) else (command,):
            each.params += [option for option in _single("trusting", _trust_option).params if option.name == "_"]
    return command


def _single(name: str, function: Any) -> Any:
    """A command that is no part of a group."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name)(function)
    return get_command(alone)


def _trust(context: typer.Context, wanted: bool) -> None:
    if wanted:
        from replical.core.files import trusting_sizes

        context.with_resource(trusting_sizes())  # type: ignore[no-untyped-call,unused-ignore]


def _trust_option(
    _: Annotated[
        bool,
        typer.Option(
            "--trust-size",
            callback=_trust,
            expose_value=False,
            help="read files that say they hold far more than their own size makes likely",
        ),
    ] = False,
) -> None:
    """Never called: its option, which lifts the limits of `replical.core.files`, is given to all who read files."""


app = typer.Typer(cls=Commands, pretty_exceptions_enable=False, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"replical {__version__}\n")
        raise typer.Exit


@app.callback()
def common(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Active learning whose answer another lab can reproduce."""


def _stand_in() -> None:
    """Never called: `Commands` loads the command that this one is shown for."""


for _name, (_, _line) in COMMANDS.items():
    app.command(_name, short_help=_line)(_stand_in)
