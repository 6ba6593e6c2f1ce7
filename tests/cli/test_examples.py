"""The examples run as they are."""

import re
import shlex
import shutil
import subprocess
import sys

import pytest

from replical.lab.certificate.file import read
from replical.lab.certificate.verify import verify
from replical.lab.journal.journal import Journal
from replical.lab.protocol import Protocol
from replical.lab.tables import read_pool
from support.annotators import Annotator
from support.paths import ROOT

EXAMPLES = ROOT / "examples"
PAIRS = 6


def run_example(name, folder):
    """Run an example with few pairs of labs; both certificates it leaves are valid at every level."""
    for package in ("pyarrow", "sqlalchemy", "sklearn"):
        pytest.importorskip(package)
    words = [sys.executable, EXAMPLES / f"{name}.py", "--pairs", str(PAIRS), "--out", folder]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Valid, as far as the file, its pool and its journal can show: ") == 2
    for lab in "ab":
        certificate = read(folder / f"{lab}.json")
        (table,) = folder.glob(f"{lab}.[pc]*")
        items = read_pool(table, Protocol.read(folder / "protocol.toml").recipe)
        with Journal(folder / f"{lab}.db", write=False) as journal:
            verdict = verify(certificate, items, journal)
        assert (verdict.valid, verdict.level) == (True, "journal")
    return done.stdout


@pytest.mark.slow
def test_labs_that_choose_among_models_are_certified_and_agree(tmp_path):
    """With the public order every lab is certified and every pair identical; the best on as many labels is not replicable.

    The pairs draw from randomness made of the example's title, so their figures are the same in every run.
    """
    told = run_example("choose_among_models", tmp_path / "labs")
    from pyarrow import parquet

    shown = parquet.read_table(tmp_path / "labs" / "a.parquet", columns=["picture"])["picture"].unique().to_pylist()
    assert len(shown) > 1000  # and people can label what they show
    assert all((tmp_path / "labs" / picture).read_bytes().startswith(b"\x89PNG") for picture in shown)
    identical = list(map(int, re.findall(rf"identical: (\d+) of {PAIRS} pairs\n", told)))
    certified = list(map(int, re.findall(rf"certified: (\d+) of {2 * PAIRS} labs\n", told)))
    assert len(identical) == 3, told
    assert identical[0] == PAIRS > identical[2]
    assert certified[0] == 2 * PAIRS > certified[1]


@pytest.mark.slow
def test_labs_that_choose_a_box_agree(tmp_path):
    """All pairs, where plain labs often differ; nearly all labs prove it. The figures are the same in every run."""
    told = run_example("feature_class", tmp_path / "labs")
    identical, certified, plain = (
        int(re.search(rf"{what} (\d+) of", told)[1]) for what in ("identical:", "certified:", "promises nothing:")
    )
    assert identical == PAIRS > plain + 1
    assert certified >= 2 * PAIRS - 2


@pytest.mark.slow
def test_an_example_does_not_touch_a_folder_in_use(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.db").write_text("somebody's journal")
    words = [sys.executable, str(EXAMPLES / "choose_among_models.py"), "--out", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


def test_the_files_of_the_tutorial_are_there_and_its_command_serves_pictures(tmp_path):
    """The last line that is printed is the command to type next; at the page people see pictures, not names."""
    for package in ("pyarrow", "sqlalchemy", "sklearn", "starlette"):
        pytest.importorskip(package)
    shutil.copytree(EXAMPLES, tmp_path / "my examples", ignore=shutil.ignore_patterns("out", "__pycache__"))
    words = [sys.executable, "my examples/people_who_label.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True, cwd=tmp_path)
    folder = tmp_path / "my examples/out/people_who_label"
    assert {path.name for path in folder.iterdir()} == {"lab.parquet", "media", "models.txt", "protocol.toml",
                                                        "rules.md"}  # fmt: skip
    enter, serve = done.stdout.splitlines()[-2:]
    assert shlex.split(enter) == ["cd", "my examples/out/people_who_label"]
    tutorial = (ROOT / "docs/tutorial/people-who-label.md").read_text().replace("\\\n    ", "")
    assert "\npython examples/people_who_label.py\ncd examples/out/people_who_label\n" in tutorial
    assert "\nexamples/out/\n" in (ROOT / ".gitignore").read_text()
    assert f"\n{serve}\n" in tutorial
    command = [sys.executable, "-m", *shlex.split(serve), "--page", "port=0", "--truths", "0"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        told = [server.stderr.readline()]
        while told[-1] and not told[-1].startswith("Label at"):
            told.append(server.stderr.readline())
        assert told[-1], told
        ann = Annotator(told[-1].split()[-1], "ann")
        _, told_next = ann.post("/api/next")
        (field,) = told_next["item"]["fields"]
        assert field["kind"] == "image"
        status, picture = ann.get(field["source"])
        assert (status, picture[:8]) == (200, b"\x89PNG\r\n\x1a\n")
        ann.close()
        assert not any(line.startswith("The column") for line in told)
    finally:
        server.kill()
        server.communicate()
