"""The command line: parse, call one function, print."""

from __future__ import annotations

import sys

import typer

from replical.cli.audit import audit_command
from replical.cli.demo import demo_command
from replical.cli.doctor import doctor_command
from replical.cli.output import fail
from replical.cli.theta import theta_command
from replical.errors import ReplicalError

app = typer.Typer(
    help="Active learning whose answer another lab can reproduce.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo_command)
app.command("audit")(audit_command)
app.command("theta")(theta_command)
app.command("doctor")(doctor_command)

INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in words
    try:
        code = app(words or ["--help"], standalone_mode=False)
    except ReplicalError as error:
        return fail(type(error).__name__, str(error), as_json=as_json)
    except (KeyboardInterrupt, typer.Abort):
        return fail("Interrupted", "interrupted", as_json=as_json, code=INTERRUPTED)
    except typer.Exit as leave:
        return leave.exit_code
    except Exception as error:
        # Usage errors of the argument parser; which module defines their class depends on its version.
        if not hasattr(error, "format_message"):
            raise
        return fail("BadUsage", error.format_message(), as_json=as_json)
    return code if isinstance(code, int) else 0


def run() -> None:
    """Entry point of the ``replical`` command."""
    sys.exit(main())
