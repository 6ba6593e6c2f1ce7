"""Importing the library is cheap and changes nothing; a command loads what it needs."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import replical
from replical.lab.certificate.file import write

# Nothing that somebody who wants the version, or one name, should wait for.
HEAVY = {"asyncio", "concurrent.futures", "dask", "distributed", "matplotlib", "multiprocessing.pool", "numba", "numpy",
         "opendp", "pandas", "polars", "pyarrow", "pydantic", "rich", "scipy", "sklearn", "sqlalchemy", "starlette",
         "torch", "typer", "uvicorn"}  # fmt: skip
GOLDEN = Path(__file__).parents[1] / "golden"
COMMAND = "import sys; sys.argv[1:] = {words!r}\nfrom replical.cli import main\nassert main() == 0"


def loaded(code):
    """The modules that a fresh Python has loaded after some code."""
    shown = f"{code}\nimport sys; sys.stderr.write('\\n' + ' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


@pytest.fixture(scope="module")
def bare():
    """What Python loads by itself: a package that was installed may have a say in it."""
    return loaded("")


def test_import_loads_next_to_nothing(bare):
    found = loaded("import replical; replical.__version__")
    assert not (found - bare) & HEAVY
    assert {each for each in found if each.startswith("replical")} == {"replical"}


def test_the_version_loads_next_to_nothing(bare):
    found = loaded(COMMAND.format(words=["--version"]))
    assert not (found - bare) & HEAVY
    assert {each for each in found if each.startswith("replical")} == {"replical", "replical.cli", "replical.errors"}


def test_the_list_of_commands_loads_no_command(bare):
    found = loaded(COMMAND.format(words=["--help"]))
    ours = {"replical", "replical.errors", "replical.core", "replical.core.exact", "replical.core.text", "replical.cli"}
    ours |= {f"replical.cli.{name}" for name in ("commands", "output")} | {"replical.errors"}
    assert "typer" in found
    assert not (found - bare) & {"numpy", "scipy", "rich", "pyarrow", "multiprocessing.pool"}
    assert {each for each in found if each.startswith("replical")} <= ours


UNNEEDED = {"pyarrow", "pandas", "matplotlib", "sqlalchemy", "rich", "numba", "sklearn", "dask", "scipy"}


def test_a_plan_loads_what_it_needs(bare):
    words = ["paper", "bill", "--class", "thresholds:100", "--epsilon", ".05", "--rho", ".1", "--theta", "2", "--json"]
    found = loaded(COMMAND.format(words=words)) - bare
    assert "numpy" in found
    assert not found & UNNEEDED


def test_checking_a_certificate_loads_what_it_needs(tmp_path, bare):
    published = json.loads((GOLDEN / "certificate.json").read_text(encoding="utf-8"))["replical"]
    write(published, tmp_path / "certificate.json")
    found = loaded(COMMAND.format(words=["verify", str(tmp_path / "certificate.json"), "--json"])) - bare
    assert "numpy" in found
    assert not found & UNNEEDED


def test_a_pool_of_numbers_is_read_without_pandas(tmp_path, bare):
    """Where pandas is installed, some ways through pyarrow load it, half a second for nothing."""
    pytest.importorskip("pyarrow")
    pool = tmp_path / "pool.csv"
    pool.write_text("id,x\na,1\nb,2\n")
    found = loaded(
        "from replical import read_pool\nfrom replical.classes.catalogue import recipe\n"
        "doses = recipe({'kind': 'thresholds', 'features': ['x'], 'cuts': [[1.5]]}, ('no', 'yes'), 'seed')\n"
        f"assert read_pool({str(pool)!r}, doses).ids == ('a', 'b')"
    )
    assert "pyarrow" in found
    assert "pandas" not in found - bare


def test_import_leaves_global_random_state_alone():
    code = "import random, numpy as np; r, n = random.getstate(), np.random.get_state()[1].tolist(); from replical import *; assert random.getstate() == r and np.random.get_state()[1].tolist() == n"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names_are_all_there():
    for name in replical.__all__:
        assert getattr(replical, name) is not None
    for name in ("SharedRandomness", "PrivateRandomness", "Thresholds", "Intervals", "Star", "PredictionTable", "Pool",
                 "Population", "VersionSpace", "ERM", "CAL", "RepliCAL", "theta", "plan", "learn", "audit"):  # fmt: skip
        assert name in replical.__all__
    assert {*replical.__all__, "__version__", "errors"} <= set(dir(replical))
    assert replical.errors.ReplicalError
    with pytest.raises(AttributeError, match="module 'replical' has no attribute 'nonsense'"):
        replical.nonsense  # noqa: B018


def test_type_checkers_see_the_names_that_are_there():
    """The list that is read at run time, and the imports that type checkers and editors read."""
    tree = ast.parse(Path(replical.__file__).read_text(encoding="utf-8"))
    (block,) = (each for each in tree.body if isinstance(each, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    seen = {}
    for line in block.body:
        assert isinstance(line, ast.ImportFrom)
        for each in line.names:
            assert each.asname == each.name, f"{each.name} is not exported: write `{each.name} as {each.name}`"
            seen[each.name] = line.module
    assert seen == {name: f"replical.{home}" for name, home in replical._HOMES.items()}


def test_every_command_is_where_its_list_says():
    """One line about each, and a module that has it; none takes the name of what the package itself has."""
    from replical import cli
    from replical.cli.commands import COMMANDS, GROUPS, load

    assert {name for name, (where, _) in COMMANDS.items() if not where} == set(GROUPS)
    listed = {(name,): line for name, (_, line) in COMMANDS.items()}
    listed |= {(group, name): line for group, names in GROUPS.items() for name, (_, line) in names.items()}
    for path, line in listed.items():
        assert line.endswith((".", "?"))
        assert load(*path).params or path[-1] in GROUPS or path == ("lab", "keys")
    assert callable(cli.run)
    assert callable(cli.main)
