"""The commands: their names and one line about each; a module is imported when its command is called or completed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from replical import __version__
from replical.errors import BadUsage, remedy

# Name: where it is, and the line of the list of commands; a group is in `GROUPS`. (A module `run` would take the name of
# `replical.cli.run`.)
COMMANDS = {
    "demo": ("demo:demo_command", "Three labs choose a model in three ways: who agrees, with proof?"),
    "init": ("init:init_command", "Write a protocol, from your table or from flags."),
    "plan": ("plan:plan_command", "What does a protocol cost in labels, and how often will labs agree?"),
    "run": ("run_protocol:run_command", "Run a protocol on this lab's items, label by label."),
    "label": ("page:label_command", "Serve a page on which people label, for a run with --ask journal."),
    "compare": ("verify:compare_command", "Do several labs have one answer?"),
    "verify": ("verify:verify_command", "Check a certificate: by itself, with its pool, with its journal."),
    "board": ("board:board_command", "A leaderboard of a labelled table: who is proven to be first?"),
    "journal": ("", "The file that keeps every label: show, copy, correct it."),
    "lab": ("", "Between labs: confirm, sign, count shared items, vote in private."),
    "paper": ("", "The paper: theorems, RepliCAL, ReplicA2, audits, studies."),
    "data": ("", "Tables: order models, import logs, apply a rule."),
    "doctor": ("doctor:doctor_command", "Versions, optional parts, and a test of the random bits."),
}
GROUPS = {
    "journal": {
        "show": ("journal:show_command", "Is a journal whole? Its events, labels and head."),
        "export": ("journal:export_command", "The events of a journal as CSV."),
        "backup": ("journal:backup_command", "A copy of a journal, also while it is in use."),
        "open": ("journal:open_command", "Prove which labels some items have in a certificate."),
        "correct": ("journal:correct_command", "Record another label for an item."),
    },
    "lab": {
        "confirm": ("confirm:confirm_command", "Does a published answer hold on this lab's items?"),
        "keys": ("lab:keys_app", "Make and show the keys that labs sign with."),
        "overlap": ("lab:overlap_command", "How many items do two labs share?"),
        "release": ("lab:release_command", "One private answer from the votes of many labs."),
    },
    "paper": {
        "audit": ("audit:audit_command", "How often do pairs of simulated labs agree?"),
        "theta": ("paper:theta_command", "The disagreement coefficient of a class."),
        "theorem": ("theorem:theorem_command", "Theorem 1 or 2 at its own size: claimed beside measured."),
        "study": ("paper:study_command", "A grid of audits from one file: tables, figures, a report."),
        "bill": ("plan:bill_command", "What does a class cost in labels, learner by learner?"),
    },
    "data": {
        "order": ("order:order_command", "Put models in a public order, by a hundred labels or none."),
        "import": ("data:import_command", "Logs of evaluations as a table: a row an item, a column a model."),
        "apply": ("data:apply_command", "What the rule of a certificate says about a table."),
    },
}
# They read files that somebody else may have written.
_READERS = {
    "init", "plan", "run", "label", "verify", "compare", "lab confirm", "lab release", "lab overlap", "paper bill",
    "journal open", "data order", "data apply", "board",
}  # fmt: skip
INSTALL, SHOW = "--install-completion", "--show-completion"
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
BY_NAME = "_REPLICAL_COMPLETE=source_bash replical"  # or source_zsh, source_fish


# Parts of a long --help: the parameter with which each begins.
PARTS = {
    "init": {
        "pool": "Your models and items", "epsilon": "The promise", "lab": "Several labs",
        "candidates": "In place of a table", "weights": "What errors cost", "prefer": "Handicaps", "given": "Rare",
    },
    "run": {
        "pool": "Needed", "labels": "Who labels (--labels or --ask)", "until_budget": "More than an answer",
        "lab_name": "Several labs", "truths": "Rare",
    },
}  # fmt: skip


class Command(TyperCommand):
    """Lists its options in parts."""

    parts: Mapping[str, str] = {}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments, and the options under the headings of their parts."""
        heading, rows = "Options", dict[str, list[tuple[str, str]]]()
        for each in self.get_params(ctx):
            heading = self.parts.get(str(each.name), heading)
            if (row := each.get_help_record(ctx)) is not None:
                rows.setdefault("Arguments" if each.param_type_name == "argument" else heading, []).append(row)
        for part, listed in rows.items():
            with formatter.section(part):
                formatter.write_dl(listed)


class Commands(TyperGroup):
    """Knows every command, or all of a group, by name and line; whoever is called, or completed, is loaded."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, with a sentence of our own where a shell's completion cannot be had."""
        if not args and ctx.parent is not None and not ctx.resilient_parsing:
            raise BadUsage(f"replical {ctx.info_name} is a group of commands: {', '.join(self.commands)}")
        with explain_completion(args):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that `args` name, or "No such command", in place of what stands for it in lists.

        What it makes of one protocol it makes once, however many files hold that.
        """
        group = "" if ctx.parent is None else ctx.info_name
        if args[0] not in self.commands and (gone := remedy(f"replical {args[0]}")):
            raise BadUsage(f"No such command {args[0]!r}{gone}")
        if args[0] not in self.commands and group:
            raise BadUsage(f"No such command {args[0]!r}: replical {group} has {', '.join(self.commands)}")
        name, stand_in, rest = super().resolve_command(ctx, args)
        if name is None:
            return name, stand_in, rest
        if not group:
            from replical.core.memory import remembering

            ctx.with_resource(remembering())
        return name, load(*filter(None, (group, name))), rest


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
def load(*path: str) -> Any:
    """The command with this name, or of this group and name, ready to parse its words."""
    if path[0] in GROUPS and len(path) == 1:
        return get_command(_group(GROUPS[path[0]], COMMANDS[path[0]][1]))
    where, _ = (COMMANDS if len(path) == 1 else GROUPS[path[0]])[path[-1]]
    module, attribute = where.split(":")
    found = getattr(import_module(f"replical.cli.{module}"), attribute)
    command: Any = get_command(found) if isinstance(found, typer.Typer) else _single(path[-1], found)
    command.parts = PARTS.get(" ".join(path), {})
    if " ".join(path) in _READERS:
        command.params += [option for option in _single("trusting", _trust_option).params if option.name == "_"]
    return command


def _single(name: str, function: Any) -> Any:
    """A command that is no part of a group."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=Command)(function)
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
            help="also read files that claim to hold far more than their size makes likely",
        ),
    ] = False,
) -> None:
    """Never called: its option, which lifts the limits of `replical.core.files`, is given to all who read files."""


def _stand_in() -> None:
    """Never called: `Commands` loads the command that this one is shown for."""


def _group(members: Mapping[str, tuple[str, str]], line: str) -> typer.Typer:
    """Commands under one name, each with its line."""
    group = typer.Typer(cls=Commands, add_completion=False, rich_markup_mode=None, help=line)
    group.callback()(lambda: None)
    for name, (_, about) in members.items():
        group.command(name, short_help=about)(_stand_in)
    return group


app = typer.Typer(cls=Commands, pretty_exceptions_enable=False, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"replical {__version__}\n")
        raise typer.Exit


@app.callback()
def common(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Active learning whose answer another lab can reproduce. To begin: replical demo, or replical init --pool FILE."""


for _name, (_, _line) in COMMANDS.items():
    app.command(_name, short_help=_line)(_stand_in)
