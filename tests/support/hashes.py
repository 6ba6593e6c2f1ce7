"""Write constraints-hashed.txt: the wheels of the core, as constraints.txt pins them, with the SHA-256 sums of all systems.

    .venv/bin/python tests/support/hashes.py

asks the package index that pip is set up with, for every system and Python below, and keeps sums alone.
"""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "linux": ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64"), "win32": ("win_amd64",), "darwin": ("macosx_14_0_arm64",),
}  # fmt: skip
NAMES = {"linux": "Linux", "win32": "Windows", "darwin": "Darwin"}
HEAD = """\
# The wheels of the core with their SHA-256 sums, for Linux, Windows and macOS and Python 3.11 to 3.14; written by
# tests/support/hashes.py. An editable install refuses sums, a wheel does not:
#     pip install --require-hashes -r constraints-hashed.txt && pip install --no-deps replical
"""


def needed(environment):
    """The core's dependencies and theirs, by name."""
    todo = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    found = set()
    while todo:
        one = Requirement(todo.pop())
        name = canonicalize_name(one.name)
        if name not in found and (one.marker is None or one.marker.evaluate(environment)):
            found.add(name)
            todo += () if name == "colorama" else requires(name) or ()  # which is for Windows, and needs nothing
    return found


def sums(pins, python, platform):
    """The sum of the wheel of each pin."""
    tags = [
        "--platform",
        platform,
        *(
            ["--platform", platform.replace("2_28", "2_27"), "--platform", platform.replace("2_28", "2_17")]
            if "many" in platform
            else []
        ),
    ]
    where = [*tags, "--python-version", python, "--only-binary=:all:", "--target", "."]
    how = ["-q", "--dry-run", "--ignore-installed", "--ignore-requires-python", "--no-deps", "--report", "-"]
    words = [sys.executable, "-m", "pip", "install", *how, *where, *pins]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    for each in json.loads(done.stdout)["install"]:
        pin = f"{canonicalize_name(each['metadata']['name'])}=={each['metadata']['version']}"
        yield pin, each["download_info"]["archive_info"]["hashes"]["sha256"]


def main():
    """All of them, in one file."""
    lines = [line.split(" #")[0] for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()]
    pinned, found = [Requirement(line) for line in lines if line[:1].isalpha()], {}
    for system, platforms in PLATFORMS.items():
        for python in PYTHONS:
            about = {"sys_platform": system, "platform_system": NAMES[system], "python_version": python, "extra": ""}
            names = needed(about)
            here = [each for each in pinned if each.marker is None or each.marker.evaluate(about)]
            here = {f"{canonicalize_name(each.name)}{each.specifier}": each for each in here}
            here = {pin: each for pin, each in here.items() if pin.split("==")[0] in names}
            for platform in platforms:
                for pin, digest in sums(here, python, platform):
                    found.setdefault((pin, str(here[pin].marker or "")), set()).add(digest)
    rows = [
        f"{pin}{'; ' if marker else ''}{marker} \\\n"
        + " \\\n".join(f"    --hash=sha256:{each}" for each in sorted(digests))
        for (pin, marker), digests in sorted(found.items())
    ]
    (ROOT / "constraints-hashed.txt").write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
