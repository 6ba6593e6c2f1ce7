"""The README and the pages beside it do what they say."""

import contextlib
import importlib
import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from replical.cli import main
from replical.cli.commands import GROUPS
from replical.cli.demo import COMMANDS
from replical.errors import BadLabel
from replical.lab.certificate.file import read, text_of
from replical.lab.protocol import Protocol
from support.attacks import ATTACKS
from support.lab import Run, content, world
from support.outputs import PAGE, write_tables, written
from support.paths import ROOT
from support.tables import write as write_table

README = (ROOT / "README.md").read_text()


def test_the_lines_of_the_readme_run_as_they_are_pasted(capsys):
    """Four of stand-ins for what is one's own, and four that choose."""
    pytest.importorskip("sklearn")
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    exec(compile(code, "README.md", "exec"), {})
    assert re.match(r"near \d+ \d+ labels, proven: (True|False)\n", capsys.readouterr().out)
    assert len(code.splitlines()) <= 8
    assert len(README.splitlines()) <= 100


def test_the_example_without_scikit_learn_ends_in_a_number():
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "start.md").read_text("utf-8"), re.DOTALL).group(1)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    same, error = done.stdout.split()
    assert same in ("True", "False")  # different at most one time in ten, and private randomness is fresh
    assert 0 <= float(error) <= 0.05


def test_the_commands_of_the_readme_exist(command):
    typed = sorted(set(re.findall(r"(?:`|\$ )replical ((?:(?:journal|lab|paper|data) )?[a-z]+)", README)))
    assert len(typed) > 3
    for words in typed:
        assert command(*words.split(), "--help")[0] == 0, words


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        text = re.sub(r"`[^`\n]*`", "", page.read_text())  # what is shown as code is no link
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_an_interface_of_one_s_own_works_as_shown(tmp_path, monkeypatch, capsys, command):
    """The page's code, what it prints, and a certificate that its last command checks against a file."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "how-to" / "build-your-own-interface.md").read_text(encoding="utf-8")
    names = {}
    exec(compile("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), "page", "exec"), names)
    assert capsys.readouterr().out == "".join(re.findall(r"prints\n\n```\n(.*?)```", page, re.DOTALL))
    write_table(names["predictions"], tmp_path / "predictions.csv")
    (line,) = re.findall(r"`replical (verify .*?)`", page, re.DOTALL)
    code, out, _ = command(*line.split())
    assert (code, out.startswith("Valid")) == (0, True), out
    with pytest.raises(BadLabel, match="is not asked for now"):
        names["clicks"].click("note 0001", "calm")


def test_the_code_of_the_scikit_learn_page_runs(capsys):
    pytest.importorskip("sklearn")
    page = (ROOT / "docs" / "how-to" / "use-with-scikit-learn.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    exec(compile(code, "use-with-scikit-learn.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[3].endswith("True True True")  # two labs without a list: certified, and the same


def runs(page):
    """The sections of a page that run something and say what it prints."""
    pattern = r"^## (.*?)\n.*?```python\n(.*?)```\n\nprints\n\n```\n(.*?)```\n"
    return re.findall(pattern, (ROOT / "docs" / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)


ALGORITHMS, TIGHT = runs("paper/algorithms.md"), runs("explanation/nearly-tight.md")


@pytest.mark.parametrize(("title", "code", "printed"), ALGORITHMS + TIGHT, ids=[run[0] for run in ALGORITHMS + TIGHT])
def test_what_is_run_on_a_page_prints_what_is_shown(title, code, printed, capsys):
    assert (len(ALGORITHMS), len(TIGHT)) == (7, 2)
    long = len([line for line in code.splitlines() if line and "import" not in line]) > 10
    assert not long or (title, code, printed) in TIGHT
    exec(compile(code, title, "exec"), {})
    assert capsys.readouterr().out == printed


def shown(text):
    """The commands of a page, each with the lines shown below it."""
    found = []
    for _, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            line, *output = part.splitlines()
            found.append((shlex.split(line, comments=True)[1:], output))
    return found


def name_of(words):
    """The command that is typed, with its group."""
    return " ".join(words[: 2 if words[0] in GROUPS else 1])


def test_commands_are_found_with_what_they_print():
    text = (
        "```toml\nh = 1\n```\n\n```\n$ replical a 'b c' \\\n   --d  # e\nF\n$ replical g\n```\n\n```\nno output\n```\n"
    )
    assert shown(text) == [(["a", "b c", "--d"], ["F"]), (["g"], [])]


def test_the_way_from_candidates_to_certificates_is_as_shown(tmp_path, monkeypatch, command):
    """The how-tos, on the example's tables with fewer items; what does not depend on them is printed as shown."""
    for package in ("pyarrow", "sqlalchemy", "sklearn"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples")
    example = importlib.import_module("choose_among_models")
    monkeypatch.setattr(example, "ITEMS", 1000)
    example.write_tables(*example.candidates())
    (tmp_path / "seed.txt").write_text("a draw\n")
    doses = [f"p{row},{row % 97 / 10}" for row in range(2000)]
    (tmp_path / "doses.csv").write_text("\n".join(["id,dose", *doses]))
    names = ("choose-among-my-models", "publish-a-protocol", "replicate-a-published-result")
    pages = [(ROOT / f"docs/how-to/{name}.md").read_text() for name in names]
    kinds = []
    for words, lines in [each for page in pages for each in shown(page)]:
        code, out, err = command(*words)
        kinds.append(name_of(words))
        assert code in {"compare": (0, 1, 4), "lab confirm": (0, 1, 4)}.get(kinds[-1], (0,)), err
        if words[0] == "init" and lines:
            assert out.replace(": 1,000 items", ": 10,000 items").splitlines() == lines
    assert [kinds.count(kind) for kind in ("init", "run", "compare", "verify", "lab confirm")] == [7, 2, 2, 1, 2]


@pytest.mark.parametrize("page", ["how-to/audit-a-lab"])
def test_a_lab_is_audited_as_shown(page, tmp_path, monkeypatch, command):
    """On small tables of two labs; lines without a number are printed as shown."""
    monkeypatch.chdir(tmp_path)
    Path("protocol.toml").write_text(Protocol.of(content(batch=4)).toml())
    for name, columns in {"a": world(seed=11), "b": world(seed=12) | {"id": [f"b{n}" for n in range(1000)]}}.items():
        write_table(columns, Path(f"{name}.parquet"))
        with Run(tmp_path, content(batch=4), columns, name) as run:
            Path(f"{name}.json").write_text(text_of(run.certificate))
    Path("shared.key").write_text("3f" * 32)
    for words, lines in shown((ROOT / f"docs/{page}.md").read_text("utf-8")):
        if words[0] == "-c":
            continue
        code, out, err = command(*words)
        assert code == 0, (words, err)
        for line in lines:
            pattern = re.sub(r"[0-9,]+", "[0-9,]+", re.escape(line).replace(re.escape(".."), ".*"))
            assert re.search(f"^{pattern}$", out, re.MULTILINE), (line, out)


def test_the_table_of_attacks_is_what_is_tried():
    page = (ROOT / "docs/explanation/attacks.md").read_text("utf-8")
    rows = re.search(r"<!-- attacks -->\n((?:\|.*\n)+)", page).group(1).splitlines()[2:]
    assert {cells[1].strip(): int(cells[2].replace(",", "")) for cells in (row.split("|") for row in rows)} == ATTACKS


def test_outputs_are_compared_as_shown(tmp_path, monkeypatch, command):
    """The page as it is: its tables and its commands; two labs, one answer."""
    for package in ("pyarrow", "sqlalchemy", "sklearn", "pandas"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/how-to/compare-outputs.md").read_text("utf-8")
    (tables,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(tables, "page", "exec"), {})
    done = [(name_of(words), *command(*words)) for words, _ in shown(page)]
    assert [name for name, *_ in done] == ["init", "run", "run", "compare", "verify"]
    assert [code for _, code, *_ in done] == [0] * 5, done
    assert re.search(r"```toml\n(.*?)```", page, re.DOTALL).group(1) in Path("digits.toml").read_text("utf-8")


def test_a_certificate_goes_into_other_tools_as_shown(tmp_path, monkeypatch, capsys):
    """The page's lines, with a stand-in for MLflow."""
    monkeypatch.chdir(tmp_path)
    golden = json.loads((ROOT / "tests/golden/certificate.json").read_text("utf-8"))["handicap"]
    Path("a.json").write_text(text_of(golden))
    Path("protocol.toml").write_text(Protocol.of(golden["body"]["protocol"]).toml())
    Path("croissant.json").write_text('{"distribution": []}')
    mlflow = mock.MagicMock()
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    page = (ROOT / "docs/how-to/verify-a-certificate.md").read_text("utf-8")
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(code, "verify-a-certificate.md", "exec"), {})
    assert capsys.readouterr().out.split() == [f"{name}.json" for name in SCHEMAS]
    mlflow.log_artifact.assert_called_once_with("a.json")
    assert mlflow.set_tags.call_args.args[0]["replical.certificate"] == golden["digest"]
    mlflow.log_metric.assert_called_once_with("replical.labels", golden["body"]["labels"]["asked"])
    added = json.loads(Path("croissant.json").read_text())["distribution"]
    assert [each["@id"] for each in added] == ["protocol.toml", "a.json"]


SCHEMAS = ("certificate", "protocol", "registration", "release", "statement", "vote")


@pytest.mark.slow
def test_two_labs_find_one_linear_rule(tmp_path, monkeypatch, command):
    """The page as it is: its tables, its commands, and the rule used in Python."""
    for package in ("pyarrow", "sqlalchemy"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/how-to/find-a-linear-rule.md").read_text("utf-8")
    tables, used = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(tables, "page", "exec"), {})
    done = [(name_of(words), *command(*words)) for words, _ in shown(page)]
    assert [name for name, *_ in done] == ["init", "plan", "run", "run", "verify", "compare", "data apply"]
    assert [code for _, code, *_ in done] == [0] * 7
    section = re.search(r"```toml\n(.*?)```", page, re.DOTALL).group(1)
    assert section in (tmp_path / "rule.toml").read_text("utf-8")
    assert "Identical" in done[5][2]
    assert "2 of 2 are certified" in done[5][2]
    names = {}
    exec(compile(used, "page", "exec"), names)
    assert set(names["said"]) == {"p1", "p2"}


def test_a_raw_table_leads_to_a_proof(tmp_path, monkeypatch, command):
    """The page as it is: its tables, its models, its commands; two labs, both certified, one answer."""
    for package in ("pyarrow", "sqlalchemy", "sklearn", "pandas"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/how-to/from-a-table-to-a-proof.md").read_text("utf-8")
    *tables, in_python = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile("\n".join(tables), "page", "exec"), {})
    done = [(name_of(words), *command(*words)) for words, _ in shown(page)]
    exec(compile(in_python, "page", "exec"), names := {})
    assert names["ended"].open == []
    assert read(Path("python.json")) == names["ended"].certificate
    assert [(name, code) for name, code, *_ in done] == [("init", 0), ("run", 0), ("run", 0), ("compare", 0)]
    assert "48 models" in done[0][2]
    assert "Identical" in done[-1][2]
    assert "2 of 2 are certified" in done[-1][2]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(5))
def test_the_figures_of_the_open_problems_are_what_commands_print(number, capsys):
    """Each command of the page with the lines shown below it; the last is its code."""
    pytest.importorskip("sklearn")
    page = (ROOT / "docs/explanation/open-problems.md").read_text("utf-8")
    commands = [*dict.fromkeys((tuple(words), tuple(lines)) for words, lines in shown(page))]
    assert len(commands) == 5
    words, lines = commands[number]
    program = [] if words[0].endswith(".py") else ["-m", "replical"]
    done = subprocess.run([sys.executable, *program, *words], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert set(lines) <= set(done.stdout.splitlines())


def test_the_code_of_the_open_problems_prints_what_is_said(capsys):
    page = (ROOT / "docs/explanation/open-problems.md").read_text("utf-8")
    exec(compile(re.search(r"```python\n(.*?)```", page, re.DOTALL).group(1), "page", "exec"), {})
    printed = capsys.readouterr().out
    assert printed == "98% in dispute, median minority 3.7%\n"
    assert "about 98% of the 1,297 digits" in " ".join(page.split())


def test_the_consortium_s_ceremony_is_as_shown(tmp_path, monkeypatch, command):
    """Every command of the page, on small tables of the same names."""
    for package in ("pyarrow", "sqlalchemy", "cryptography"):
        pytest.importorskip(package)
    import pyarrow as pa
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    for name, seed, items in (("a", 1, 150), ("b", 2, 150), ("public", 3, 50)):
        columns = {key: [{"no": "even", "yes": "odd"}.get(each, each) for each in column]
                   for key, column in world(items=items, seed=seed, best=0.0, worst=1.0).items()}  # fmt: skip
        columns |= {"label": columns.pop("truth"), "id": [f"{name} {item}" for item in columns["id"]]}
        columns |= {"text": columns["id"]}
        parquet.write_table(pa.table(columns), f"{name}.parquet")
        parquet.write_table(pa.table({key: columns[key] for key in ("id", "label")}), f"{name}-labels.parquet")
    (tmp_path / "candidates.txt").write_text("".join(f"m{number}\n" for number in range(6)))
    kinds = []
    for words, _ in shown((ROOT / "docs/how-to/consortium-ceremony.md").read_text()):
        code, out, err = command(*words, *(["--truths", "0"] if words[0] == "run" else []))
        kinds.append(name_of(words))
        assert code == 0, (words, out, err)
    assert "Registered: 2 runs, each with its certificate, one a lab." in out
    assert kinds == ["lab keys", "lab keys", "init", "run", "run", "run", "run", "verify", "compare"]


def test_commands_print_what_the_page_of_outputs_shows(tmp_path, monkeypatch):
    """If what commands print is meant to change, write the page anew: see support/outputs.py."""
    for package in ("pyarrow", "sqlalchemy"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    page = PAGE.read_text("utf-8")
    assert written(page) == page


def test_the_readme_s_two_labs_end_with_a_proof(tmp_path, monkeypatch, command):
    """`demo --files` as it is, then every command of the README: two labs, both certified, one answer."""
    for package in ("pyarrow", "sqlalchemy"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    code, out, _ = command("demo", "--files", "two-labs")
    assert (code, re.findall("^  (replical .*)$", out, re.MULTILINE)) == (0, list(COMMANDS))
    assert "two-labs exists" in command("demo", "--files", "two-labs")[2]
    monkeypatch.chdir(tmp_path / "two-labs")
    done = [(name_of(words), *command(*words)) for words, _ in shown(README)]
    assert [name for name, *_ in done] == ["init", "run", "run", "compare", "verify", "paper theorem"]
    assert [code for _, code, *_ in done] == [0] * 6
    assert "2 of 2 are certified" in done[3][2]
    stated = re.findall(r"^[A-Z][a-z ]+:", re.search(r"```\n(Model:.*?)```", README, re.DOTALL).group(1), re.MULTILINE)
    assert [line.split(":")[0] + ":" for line in done[1][2].splitlines()] == stated
    assert set(shown(README)[-1][1]) < set(done[-1][2].splitlines())  # the theorem, to the digit


@pytest.mark.slow
def test_the_first_five_minutes_are_as_shown(tmp_path, monkeypatch, command):
    """The page as it is: its models, its tables, its commands; what no private order decides is printed as shown."""
    for package in ("pyarrow", "sqlalchemy", "sklearn"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/tutorial/five-minutes.md").read_text("utf-8")
    exec(compile(re.search(r"```python\n(.*?)```", page, re.DOTALL).group(1), "page", "exec"), {})
    done = [(words[0], lines, *command(*words)) for words, lines in shown(page)]
    assert [name for name, *_ in done] == ["init", "run", "run", "compare", "verify"]
    assert {done[number][2] for number in (0, 1, 2, 4)} == {0}
    assert [line for line in done[0][3].splitlines() if "Fingerprint" not in line] == [
        line for line in done[0][1] if "Fingerprint" not in line
    ]
    for _, lines, _, out, _ in done[1:3]:  # nearly all private orders lead to a proof, but not all
        said, told = ([line.split(":")[0] for line in each] for each in (out.splitlines(), lines))
        assert said == told or "Not certified" in said
    if all("\nCertified:" in out for _, _, _, out, _ in done[1:3]):
        now, then = (
            re.sub(r"at most 0\.\d+ more", "", "\n".join(lines)) for lines in (done[3][3].splitlines(), done[3][1])
        )
        assert now == then
    assert done[4][3].split(":")[0] == done[4][1][0].split(":")[0]


EVALUATING = ROOT / "docs/how-to/evaluate-language-models.md"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """The tables with which the page on language models begins, and what its lines of Python know by then."""
    for package in ("pyarrow", "sqlalchemy"):
        pytest.importorskip(package)
    folder, names = tmp_path_factory.mktemp("evaluating"), {}
    with contextlib.chdir(folder):
        follow(re.split(r"^## ", EVALUATING.read_text("utf-8"), flags=re.MULTILINE)[1], names)
    return folder, names


def follow(section, names):
    """Run what a section shows, in its order; what is printed is as shown, where two dots are anything."""
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", section, re.DOTALL | re.MULTILINE):
        if kind == "python":
            exec(compile(block, "page", "exec"), names)
        for words, lines in shown(f"```\n{block}```\n") if not kind else []:
            with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
                assert main(words) == 0, err.getvalue()
            printed = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
            wanted = re.escape("\n".join(lines)).replace(r"\.\.", ".*")
            assert not lines or re.fullmatch(wanted, printed, re.DOTALL), (words, printed)


RECIPES = re.findall(r"^## (.*)$", EVALUATING.read_text("utf-8"), re.MULTILINE)[1:]


def test_there_are_eight_recipes_and_they_print_something():
    assert len(RECIPES) == 8
    for section in re.split(r"^## ", EVALUATING.read_text("utf-8"), flags=re.MULTILINE)[2:]:
        assert any(len(lines) > 1 for _, lines in shown(section)), section[:40]


@pytest.mark.parametrize("recipe", RECIPES)
def test_language_models_are_evaluated_as_shown(recipe, logs, monkeypatch):
    """Each recipe of the page: its tables, its commands, and what they print."""
    folder, names = logs
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    (section,) = re.findall(
        rf"^## {re.escape(recipe)}\n(.*?)(?=^## |\Z)", EVALUATING.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    follow(section, names)
