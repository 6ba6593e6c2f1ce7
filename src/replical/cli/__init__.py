"""The command line: parse, call one function, print."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import Any

from replical import __version__
from replical.errors import ReplicalError

INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if words == ["--version"]:  # needs no parser
        sys.stdout.write(f"replical {__version__}\n")
        return 0
    import typer

    from replical.cli.commands import app
    from replical.cli.output import fail
    from replical.errors import EXTRAS, remedy

    as_json = "--json" in words
    try:
        code = app(words or ["--help"], prog_name="replical", standalone_mode=False)
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
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in EXTRAS:
            raise
        what = f"this command needs {package}: install it with pip install 'replical[{EXTRAS[package]}]'"
        return fail("MissingExtra", what, as_json=as_json)
    except Exception as error:
        # Usage errors of the argument parser; which module defines their class depends on its version.
        if not hasattr(error, "format_message"):
            raise
        option: str = getattr(error, "option_name", "")  # that no command has
        gone = remedy(option) or _rare(option, getattr(error, "ctx", None))
        what = f"No such option: {option}{gone}" if gone else error.format_message()
        return fail("BadUsage", what, as_json=as_json)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # once is enough
    return fail("Interrupted", "interrupted", as_json=as_json, code=INTERRUPTED)


def _rare(option: str, context: Any) -> str:
    """What to say of an option that is a parameter, where --set takes it; empty otherwise."""
    if context is None or not any("--set" in each.opts for each in context.command.params):
        return ""
    from replical.learners.plan import PARAMETERS

    name = option.removeprefix("--").replace("-", "_")
    return f": give it as --set {name}=VALUE" if name in PARAMETERS else ""


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
