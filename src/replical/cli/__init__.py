"""The command line: parse, call one function, print."""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import suppress
from typing import Any

from replical import __version__
from replical.errors import ReplicalError, Unwritten

INTERRUPTED = 130
UNWRITTEN = 74  # the answer could not be written (EX_IOERR): no other code may stand for that


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        return _run_command(arguments)
    except Unwritten as lost:
        return _give_up_output(lost.error)


def _run_command(arguments: list[str] | None) -> int:
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
    from replical.learners.parameters import PARAMETERS

    name = option.removeprefix("--").replace("-", "_")
    return f": give it as --set {name}=VALUE" if name in PARAMETERS else ""


def _give_up_output(error: OSError) -> int:
    """What is left to write goes nowhere: quietly where whoever read it has left, with a sentence where a disk is full."""
    from replical.cli.output import notes

    if not isinstance(error, BrokenPipeError):
        notes.say(f"Error: the answer cannot be written to standard output: {error.strerror}", style="bold red")
    _lead_nowhere(sys.stdout)
    return UNWRITTEN


def _lead_nowhere(stream: Any) -> None:
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _interrupt_once(*_: Any) -> None:
    """Somebody who presses Ctrl-C again must not cut off the end of what the first one ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _open_streams() -> None:
    """A file that is opened must not become standard output: where that was closed, it leads nowhere."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - closed with the process


def run() -> None:
    """Entry point of the ``replical`` command."""
    _open_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where a shell has it ignored
        signal.signal(signal.SIGINT, _interrupt_once)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code = main()
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _give_up_output(error)
    try:
        sys.stderr.flush()
    except OSError:
        _lead_nowhere(sys.stderr)
    if code == INTERRUPTED:  # leave at once: worker processes follow, nothing else is pending
        os._exit(code)
    sys.exit(code)
