"""The README does what it says."""

import re
import subprocess
import sys

import pytest

from support.paths import ROOT

README = (ROOT / "README.md").read_text()


def test_the_example_runs_and_ends_in_a_number():
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    same, error = done.stdout.split()
    assert same in ("True", "False")  # different at most one time in ten, and private randomness is fresh
    assert 0 <= float(error) <= 0.05


def test_the_commands_of_the_readme_exist():
    for command in sorted(set(re.findall(r"replical (\w+)", README))):
        if command in ("demo", "audit", "theta", "doctor", "plan", "study"):
            done = subprocess.run(
                [sys.executable, "-m", "replical", command, "--help"], capture_output=True, check=True
            )
            assert done.stdout


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        text = re.sub(r"`[^`\n]*`", "", page.read_text())  # what is shown as code is no link
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_code_of_the_scikit_learn_page_runs(capsys):
    pytest.importorskip("sklearn")
    page = (ROOT / "docs" / "how-to" / "use-with-scikit-learn.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    exec(compile(code, "use-with-scikit-learn.md", "exec"), {})
    assert len(capsys.readouterr().out.splitlines()) == 3
