"""Commands with an answer as JSON: in a process of their own, or in this one, which saves a start of Python."""

import json
import subprocess
import sys


def replical(*arguments, cwd=None):
    """A real process."""
    words = [sys.executable, "-m", "replical", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd, timeout=300, check=False)


def answer(*arguments):
    """What a real process answers."""
    done = replical(*arguments, "--json")
    return _read(done.returncode, done.stdout, done.stderr)


def answered(command, *arguments):
    """What the command answers in this process, by the fixture `command`."""
    return _read(*command(*arguments, "--json"))


def _read(code, out, err):
    assert code == 0, err + out
    assert out.count("\n") == 1
    return json.loads(out)
