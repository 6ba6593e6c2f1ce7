"""What `make dist` built: is it whole, and does it run where nothing else is installed?

    python tests/support/dist.py dist build

looks into the wheel and the source archive of the first folder, then installs each into an empty environment in the
second one, with the versions of constraints.txt, and runs commands there. Needs a checkout: what belongs into the two
files is what git tracks. Stands alone, so that it needs no installed replical.
"""

from __future__ import annotations

import argparse
import email
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parents[2]
LICENCES = ("LICENSE", "LICENSES/CC-BY-4.0.txt", "NOTICE")
COMPLETE = {"_REPLICAL_COMPLETE": "complete_bash", "COMP_WORDS": "replical de", "COMP_CWORD": "1"}


class Broken(Exception):
    """Says what is wrong with a file."""


def names_of(file: Path) -> set[str]:
    """The files in a wheel, or in a source archive without its top folder."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            return set(wheel.namelist())
    with tarfile.open(file) as archive:
        members = archive.getmembers()
    if odd := [member.name for member in members if not (member.isfile() or member.isdir())]:
        raise Broken(f"{file.name} holds links or devices: {', '.join(odd)}")
    top = file.name.removesuffix(".tar.gz") + "/"
    return {member.name.removeprefix(top) for member in members if member.isfile()}


def expected(file: Path, tracked: set[str]) -> set[str]:
    """What must be in `file`, given the names that git tracks."""
    if file.suffix == ".whl":
        about = "-".join(file.name.split("-")[:2]) + ".dist-info"
        code = {name.removeprefix("src/") for name in tracked if name.startswith("src/")}
        notes = {f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
        return code | notes | {f"{about}/licenses/{name}" for name in LICENCES}
    return tracked | {"PKG-INFO"}


def check_names(file: Path, tracked: set[str]) -> None:
    """Raise `Broken` unless `file` holds exactly what it should."""
    wanted, found = expected(file, tracked), names_of(file)
    for what, names in (("lacks", wanted - found), ("should not hold", found - wanted)):
        if names:
            raise Broken(f"{file.name} {what} {', '.join(sorted(names)[:10])} ({len(names)} files)")


def metadata_of(file: Path) -> Message:
    """What an index of packages shows of `file`."""
    if file.suffix == ".whl":
        about = "-".join(file.name.split("-")[:2]) + ".dist-info"
        with zipfile.ZipFile(file) as wheel:
            return email.message_from_bytes(wheel.read(f"{about}/METADATA"))
    with tarfile.open(file) as archive:
        text = archive.extractfile(file.name.removesuffix(".tar.gz") + "/PKG-INFO")
        assert text is not None
        return email.message_from_bytes(text.read())


def check_metadata(file: Path, version: str, readme: str) -> None:
    """Raise `Broken` unless version, licences and description are those of the checkout."""
    told = metadata_of(file)
    wanted = {"Name": "replical", "Version": version, "License-Expression": "Apache-2.0 AND CC-BY-4.0"}
    for key, value in wanted.items():
        if told[key] != value:
            raise Broken(f"{file.name} says {key}: {told[key]}, not {value}")
    if tuple(sorted(told.get_all("License-File", []))) != LICENCES:
        raise Broken(f"{file.name} names other licence files than {', '.join(LICENCES)}")
    payload = told.get_payload(decode=True)
    if not isinstance(payload, bytes) or payload.decode().strip() != readme.strip():
        raise Broken(f"the description in {file.name} is not README.md")


def try_out(file: Path, place: Path, version: str) -> None:
    """Install `file` into an empty environment at `place`, and run commands far from the checkout."""
    said(f"{file.name}: into the empty environment {place}")
    pins = str(ROOT / "constraints.txt")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    clean |= {"PIP_CONSTRAINT": pins, "PIP_BUILD_CONSTRAINT": pins}  # the second for what builds, where pip knows it

    def run(*words: str | Path, **more: str) -> str:
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as elsewhere:
            done = subprocess.run(words, cwd=elsewhere, env=clean | more, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Broken(f"{' '.join(map(str, words))} failed:\n{done.stdout}{done.stderr}")
        said(f"  {time.perf_counter() - started:5.1f} s  {' '.join([Path(words[0]).name, *map(str, words[1:])])}")
        return " ".join(done.stdout.split())

    run(sys.executable, "-m", "venv", "--clear", place)
    run(place / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", file)
    replical = place / "bin/replical"
    lies = run(place / "bin/python", "-c", "import replical; print(replical.__file__)")
    for told, must in (
        (lies, re.escape(f"{place}/")),
        (run(replical, "--version"), f"^replical {re.escape(version)}$"),
        (run(replical, "doctor"), "Golden words of the shared randomness: as published"),
        (run(replical, "demo"), r"117 of 120 labs have one"),
        (run(replical, **COMPLETE), "^demo$"),
    ):
        if not re.search(must, told):
            raise Broken(f"{file.name}, installed, says nothing like '{must}' but: {told}")


def said(line: str) -> None:
    """Print at once, also into a file."""
    print(line, flush=True)


def main() -> int:
    """Check everything; the first thing that is wrong ends it."""
    parser = argparse.ArgumentParser(description="Is what was built whole, and does it run where nothing else is?")
    parser.add_argument("built", type=Path, help="the folder with one wheel and one source archive")
    parser.add_argument("environments", type=Path, help="a folder for two environments, which are made anew")
    given = parser.parse_args()
    files = sorted(given.built.resolve().iterdir())
    if [file.suffix for file in files] != [".whl", ".gz"]:
        parser.error(f"{given.built} must hold one wheel and one source archive, and nothing else")
    version = re.search(r'^__version__ = "(.+)"$', (ROOT / "src/replical/__init__.py").read_text("utf-8"), re.MULTILINE)
    assert version is not None
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    try:
        for file in files:
            check_names(file, set(filter(None, listed.split("\0"))))
            check_metadata(file, version[1], (ROOT / "README.md").read_text("utf-8"))
            said(f"{file.name}: {len(names_of(file))} files, {file.stat().st_size / 1e6:.1f} MB, whole")
        for file, name in zip(files, ("try-wheel", "try-sdist"), strict=True):
            try_out(file, given.environments.resolve() / name, version[1])
    except Broken as problem:
        said(f"Error: {problem}")
        return 1
    said("Both install and run. Their SHA-256 sums:")
    for file in files:
        said(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
