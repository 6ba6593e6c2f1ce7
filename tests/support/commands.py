"""The command line as real processes."""

import json
import subprocess
import sys


def replical(*arguments, cwd=None):
    command = [sys.executable, "-m", "replical", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300, check=False)


def answer(*arguments):
    done = replical(*arguments, "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)
