"""``replical study`` with a file that says what it may not: one sentence and exit code 2."""

import json

import pytest

from replical.cli import main
from replical.errors import BadStudy
from replical.study.spec import Study


# What it may not say
def toml(**changes):
    """The base as text, with some lines changed or left out."""
    lines = {"schema": '"replical.study/1"', "name": '"small"', "seed": '"s"', "stop": "{ pairs = 5 }"}
    grid = {"class": '"thresholds:50"', "learner": '"cal"', "epsilon": "0.1", "pool_size": "300"}
    for name, value in changes.items():
        (grid if name.startswith("grid_") else lines)[name.removeprefix("grid_")] = value
    told = [f"{name} = {value}" for name, value in lines.items() if value is not None]
    return "\n".join([*told, "[[grid]]", *(f"{name} = {value}" for name, value in grid.items() if value is not None)])


DEEP = "[" * 3000 + "]" * 3000
HUGE = "0x" + "f" * 6000  # more digits than Python writes out
BAD = [
    (toml(colour='"red"'), "no key 'colour'"),
    (toml(grid_rhoo="0.1"), "no key 'rhoo'"),
    (toml(defaults="{ epsilom = 0.1 }"), "no key 'epsilom'"),
    (toml(quick="{ name = 'q' }"), "no key 'name'"),
    (toml(grid_quick="{ quick = true }"), "no key 'quick'"),
    (toml(schema='"replical.study/2"'), "'replical.study/2'"),
    (toml(schema=None), "got None"),
    (toml(seed=None), "'seed', got None"),
    (toml(seed="7"), "'seed', got 7"),
    (toml(seed='""'), "'seed', got ''"),
    (toml(name="['a']"), "'name', got"),
    (toml(name=None), "'name', got None"),
    (toml(title="7"), "title must be a text, got 7"),
    (toml(notes="1979-05-27"), "notes must be a text"),
    (toml(grid_name="7"), "name must be a text, got 7"),
    (toml(defaults="7"), "defaults must be a table, got 7"),
    (toml(quick="true"), "quick must be a table, got True"),
    (toml(grid_quick="7"), "quick of grid 1 must be a table, got 7"),
    (toml(stop="7"), "stop must be a table"),
    (toml(stop="'rstat'"), "stop must be a table"),
    (toml(quick="{ stop = 7 }"), "stop must be a"),
    (toml(grid_stop="7"), "7"),
    (toml(grid_stop="[{ pairs = 5 }]"), "stop must be a table"),
    (toml(defaults="{ stop = { pairs = 5 } }"), "stop"),
    (toml(stop="{}"), "either pairs, or half_width"),
    (toml(stop="{ pairs = 5, half_width = 0.1 }"), "either pairs, or half_width"),
    (toml(stop="{ pairs = 5, batch = 5 }"), "either pairs, or half_width"),
    (toml(stop="{ batch = 5 }"), "either pairs, or half_width"),
    (toml(stop="{ pairs = 0 }"), "pairs of stop must be a whole number"),
    (toml(stop="{ pairs = -3 }"), "-3"),
    (toml(stop="{ pairs = 5.5 }"), "5.5"),
    (toml(stop="{ pairs = true }"), "True"),
    (toml(stop="{ pairs = '5' }"), "'5'"),
    (toml(stop="{ pairs = 10_000_000_000_000_000_000_000 }"), "pairs of stop must be a whole number"),
    (toml(stop=f"{{ pairs = {HUGE} }}"), "pairs of stop must be a whole number"),
    (toml(stop="{ pears = 5 }"), "no key 'pears'"),
    (toml(stop="{ half_width = 0 }"), "half_width must be between 0 and 0.5, got 0"),
    (toml(stop="{ half_width = 0.5 }"), "got 0.5"),
    (toml(stop="{ half_width = nan }"), "got nan"),
    (toml(stop="{ half_width = true }"), "got True"),
    (toml(stop="{ half_width = 0.1, batch = 0 }"), "batch of stop"),
    (toml(stop="{ half_width = 0.1, batch = 20, max_pairs = 10 }"), "batch of stop must be at most max_pairs"),
    (toml(stop="{ half_width = 0.1, max_pairs = 10 }"), "at most max_pairs = 10, got 100"),
    (toml(grid_epsilon="nan"), "epsilon"),
    (toml(grid_epsilon="inf"), "epsilon"),
    (toml(grid_epsilon="'nan'"), "epsilon"),
    (toml(grid_epsilon="true"), "epsilon must be a number, got True"),
    (toml(grid_epsilon="'small'"), "epsilon must be a number, got 'small'"),
    (toml(grid_labs="2.5"), "labs must be a whole number of at least 2, got 2.5"),
    (toml(grid_epsilon="[]"), "the list of epsilon is empty"),
    (toml(grid_epsilon="[[0.1]]"), "epsilon must be a number, got [0.1]"),
    (toml(grid_epsilon="{ low = 0.1 }"), "epsilon must be a number, got {'low': 0.1}"),
    (toml(grid_epsilon="1979-05-27"), "epsilon must be a number"),
    (toml(grid_epsilon="[0.1, 1.5]"), "epsilon must be in (0, 1), got 1.5"),
    (toml(grid_epsilon="0"), "epsilon must be in (0, 1), got 0"),
    (toml(grid_epsilon=HUGE), "epsilon must be"),
    (toml(grid_epsilon="1" * 400), "epsilon must be"),
    (toml(grid_epsilon="1e999"), "epsilon must be in (0, 1), got inf"),
    (toml(grid_epsilon=None), "grid 1 needs 'epsilon'"),
    (toml(grid_pool_size=None), "grid 1 needs 'pool_size'"),
    (toml(grid_class=None), "grid 1 needs 'class'"),
    (toml(grid_learner=None), "grid 1 needs 'learner'"),
    (toml(defaults="{ delta = 1 }"), "delta must be in (0, 1), got 1"),
    (toml(defaults="{ rho = nan }"), "rho"),  # although CAL does not know it
    (toml(defaults="{ theta = inf }"), "theta"),
    (toml(defaults="{ theta = 1e400 }"), "theta"),
    (toml(defaults="{ theta = 0.5 }"), "theta must be"),
    (toml(defaults="{ nu = 0.5 }"), "nu must be in [0, 0.5), got 0.5"),
    (toml(defaults="{ plan = 'loose' }"), "plan"),
    (toml(defaults="{ max_labels = 1.5 }"), "max_labels must be a whole number of at least 1, got 1.5"),
    (toml(defaults="{ k_loop = 0 }"), "k_loop must be a whole number of at least 1, got 0"),
    (toml(defaults=f"{{ max_labels = {HUGE} }}"), "max_labels must be"),
    (toml(quick="{ kappa = 2 }"), "kappa must be in (0, 1), got 2"),
    (toml(quick="{ epsilon = [] }"), "the list of epsilon is empty"),
    (toml(grid_noise="-0.1"), "noise must be"),
    (toml(grid_noise="'nan'"), "noise"),
    (toml(grid_noise="'edge:1'"), "malformed noise 'edge:1'"),
    (toml(grid_learner="'perceptron'"), "unknown learner 'perceptron'"),
    (toml(grid_learner="7"), "learner must be a text, got 7"),
    (toml(grid_learner="[true]"), "learner must be a text, got True"),
    (toml(grid_learner="[]"), "the list of learner is empty"),
    (toml(grid_class="'circles:5'"), "unknown class 'circles:5'"),
    (toml(grid_class="['thresholds:50', 'thresholds']"), "malformed class 'thresholds'"),
    (toml(grid_class="'thresholds:0'"), "at least one hypothesis"),
    (toml(grid_class="'table:nowhere.csv'"), "nowhere.csv"),
    (toml(grid_class="'table:'"), "unknown class 'table:'"),
    (toml(grid_class='"table:a\\u0000b.csv"'), "cannot read the table"),
    (toml(grid_class="5"), "class must be a text, got 5"),
    (toml(grid_pool_size="0"), "got 0"),
    (toml(grid_pool_size="-5"), "got -5"),
    (toml(grid_pool_size="1e5"), "got 100000.0"),
    (toml(grid_pool_size="true"), "got True"),
    (toml(grid_pool_size="'all'"), "'exact', got 'all'"),
    (toml(grid_pool_size="1000000000000"), "10**12"),
    (toml(grid_pool_size=HUGE), "pool size"),
    (toml(grid_pool_size="[[5]]"), "pool size"),
    (toml(grid_query="'fast'"), "query"),
    (toml().split("[[grid]]", maxsplit=1)[0], "at least one [[grid]]"),
    (toml().split("[[grid]]", maxsplit=1)[0] + "grid = []", "at least one [[grid]]"),
    (toml().split("[[grid]]", maxsplit=1)[0] + "grid = [5]", "at least one [[grid]]"),
    (toml().split("[[grid]]", maxsplit=1)[0] + "[grid]\nclass = 5", "at least one [[grid]]"),
    (toml(grid_quick="false"), "no grid is left for --quick"),
    (toml() + "\nepsilon = 0.2", "not a TOML file"),
    (toml(grid_epsilon="0.1.2"), "not a TOML file"),
    (toml(grid_epsilon="1" * 6000), "not a TOML file"),
    (toml(grid_epsilon=DEEP), "is not a TOML file"),
    (toml(notes=DEEP), "not a TOML file"),
    (toml(**{"grid_epsilon" + ".a" * 3000: "1", "grid_epsilon": None}), "epsilon must be a number"),
    (toml(**{"notes" + ".a" * 3000: "1"}), "notes must be a text"),
    (toml(**{"stop" + ".a" * 3000: "1", "stop": None}), "no key 'a'"),
    ("", "the schema of a study"),
    ("\0", "not a TOML file"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_is_one_sentence_and_exit_code_2(text, message, tmp_path, capsys):
    file = tmp_path / "bad.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadStudy) as caught:
        Study.read(file)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert str(file) in str(caught.value)
    out = tmp_path / "out"
    assert main(["study", str(file), "--out", str(out), "--workers", "1", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["error"], told["exit"]) == ("replical.error/1", "BadStudy", 2)
    assert told["message"] == str(caught.value)
    assert not out.exists()
