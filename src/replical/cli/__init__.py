"""The command line: parse, call one function, print."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import Annotated

import typer

from replical import __version__
from replical.cli.audit import audit_command
from replical.cli.confirm import confirm_command
from replical.cli.demo import demo_command
from replical.cli.doctor import doctor_command
from replical.cli.journal import correct_command, export_command
from replical.cli.label import label_command
from replical.cli.output import fail, prose
from replical.cli.plan import plan_command
from replical.cli.protocol import protocol_app
from replical.cli.release import release_command
from replical.cli.run import run_command
from replical.cli.study import study_command
from replical.cli.theta import theta_command
from replical.cli.verify import compare_command, verify_command
from replical.errors import ReplicalError

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        prose.print(f"replical {__version__}")
        raise typer.Exit


@app.callback()
def common(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Active learning whose answer another lab can reproduce."""


app.command("demo", short_help="Watch two labs with independent data choose the identical model.")(demo_command)
app.command("audit", short_help="How often do pairs of simulated labs agree?")(audit_command)
app.command("plan", short_help="What will it cost in labels, and how often will labs agree?")(plan_command)
app.command("theta", short_help="The disagreement coefficient of a class.")(theta_command)
app.add_typer(protocol_app, name="protocol")
app.command("run", short_help="Run a protocol on this lab's items, label by label.")(run_command)
app.command("label", short_help="Serve the labelling page for a run driven elsewhere.")(label_command)
app.command("verify", short_help="Recompute a certificate.")(verify_command)
app.command("compare", short_help="Do several labs have one answer?")(compare_command)
app.command("confirm", short_help="Does a published answer hold on this lab's items?")(confirm_command)
app.command("release", short_help="One private answer from the votes of many labs.")(release_command)
app.command("correct", short_help="Record another label for an item.")(correct_command)
app.command("export", short_help="The events of a journal as CSV.")(export_command)
app.command("study", short_help="A grid of audits from one file: tables, figures, a report.")(study_command)
app.command("doctor", short_help="Versions, optional parts, and a test of the random bits.")(doctor_command)

INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in words
    try:
        code = app(words or ["--help"], standalone_mode=False)
        if code != INTERRUPTED:  # the argument parser may turn an interrupt into its exit code
            return code if isinstance(code, int) else 0
    except ReplicalError as error:
        return fail(type(error).__name__, str(error), as_json=as_json)
    except MemoryError:
        return fail("MemoryError", "out of memory: use a smaller class, pool or number of workers", as_json=as_json)
    except typer.Exit as leave:
        if leave.exit_code != INTERRUPTED:
            return leave.exit_code
    except (KeyboardInterrupt, typer.Abort):
        pass
    except BrokenPipeError:
        return _nobody_listens()
    except Exception as error:
        # Usage errors of the argument parser; which module defines their class depends on its version.
        if not hasattr(error, "format_message"):
            raise
        return fail("BadUsage", error.format_message(), as_json=as_json)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # once is enough
    return fail("Interrupted", "interrupted", as_json=as_json, code=INTERRUPTED)


def _nobody_listens() -> int:
    """Whoever read standard output has left: so do we, quietly."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - closed with the process
    return 1


def run() -> None:
    """Entry point of the ``replical`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code = main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _nobody_listens()
    if code == INTERRUPTED:  # leave at once: worker processes follow, nothing else is pending
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
