"""``replical paper study`` with a file that says what it may not: one sentence and exit code 2."""

import json

import pytest

from replical.cli import main
from replical.errors import BadStudy
from replical.study.spec import Study
from support.studies import tiny_toml

DEEP = "[" * 3000 + "]" * 3000
HUGE = "0x" + "f" * 6000  # more digits than Python writes out
BAD = [
    (tiny_toml(colour='"red"'), "no key 'colour'"),
    (tiny_toml(grid_rhoo="0.1"), "no key 'rhoo'"),
    (tiny_toml(defaults="{ epsilom = 0.1 }"), "no key 'epsilom'"),
    (tiny_toml(quick="{ name = 'q' }"), "no key 'name'"),
    (tiny_toml(grid_quick="{ quick = true }"), "no key 'quick'"),
    (tiny_toml(schema='"replical.study/2"'), "'replical.study/2'"),
    (tiny_toml(schema=None), "got None"),
    (tiny_toml(seed=None), "'seed', got None"),
    (tiny_toml(seed="7"), "'seed', got 7"),
    (tiny_toml(name="['a']"), "'name', got"),
    (tiny_toml(name=None), "'name', got None"),
    (tiny_toml(notes="1979-05-27"), "notes must be a text"),
    (tiny_toml(defaults="7"), "defaults must be a table, got 7"),
    (tiny_toml(quick="true"), "quick must be a table, got True"),
    (tiny_toml(grid_quick="7"), "quick of grid 1 must be a table, got 7"),
    (tiny_toml(stop="7"), "stop must be a table"),
    (tiny_toml(quick="{ stop = 7 }"), "stop must be a"),
    (tiny_toml(grid_stop="[{ pairs = 5 }]"), "stop must be a table"),
    (tiny_toml(defaults="{ stop = { pairs = 5 } }"), "stop"),
    (tiny_toml(stop="{}"), "stop has one key, pairs, got"),
    (tiny_toml(stop="{ pairs = 5, half_width = 0.1 }"), "stop has one key, pairs, got"),
    (tiny_toml(stop="{ pairs = 0 }"), "pairs of stop must be a whole number"),
    (tiny_toml(stop="{ pairs = true }"), "True"),
    (tiny_toml(stop=f"{{ pairs = {HUGE} }}"), "pairs of stop must be a whole number"),
    (tiny_toml(grid_epsilon="nan"), "epsilon"),
    (tiny_toml(grid_epsilon="true"), "epsilon must be a number, got True"),
    (tiny_toml(grid_labs="2.5"), "labs must be a whole number of at least 2, got 2.5"),
    (tiny_toml(grid_epsilon="[]"), "the list of epsilon is empty"),
    (tiny_toml(grid_epsilon="[[0.1]]"), "epsilon must be a number, got [0.1]"),
    (tiny_toml(grid_epsilon="[0.1, 1.5]"), "epsilon must be in (0, 1), got 1.5"),
    (tiny_toml(grid_epsilon=HUGE), "epsilon must be"),
    (tiny_toml(grid_epsilon="1e999"), "epsilon must be in (0, 1), got inf"),
    (tiny_toml(grid_epsilon=None), "grid 1 needs 'epsilon'"),
    (tiny_toml(grid_pool_size=None), "grid 1 needs 'pool_size'"),
    (tiny_toml(defaults="{ delta = 1 }"), "delta must be in (0, 1), got 1"),
    (tiny_toml(defaults="{ theta = 0.5 }"), "theta must be"),
    (tiny_toml(defaults="{ nu = 0.5 }"), "nu must be in [0, 0.5), got 0.5"),
    (tiny_toml(defaults="{ plan = 'loose' }"), "plan"),
    (tiny_toml(defaults="{ max_labels = 1.5 }"), "max_labels must be a whole number of at least 1, got 1.5"),
    (tiny_toml(defaults="{ k_loop = 0 }"), "k_loop must be a whole number of at least 1, got 0"),
    (tiny_toml(defaults=f"{{ max_labels = {HUGE} }}"), "max_labels must be"),
    (tiny_toml(quick="{ a = 2 }"), "a must be in (0, 1), got 2"),
    (tiny_toml(grid_noise="-0.1"), "noise must be"),
    (tiny_toml(grid_noise="'edge:1'"), "noise must be a number, got 'edge:1'"),
    (tiny_toml(grid_learner="'perceptron'"), "unknown learner 'perceptron'"),
    (tiny_toml(grid_learner="7"), "learner must be a text, got 7"),
    (tiny_toml(grid_learner="[true]"), "learner must be a text, got True"),
    (tiny_toml(grid_class="'circles:5'"), "unknown class 'circles:5'"),
    (tiny_toml(grid_class="['thresholds:50', 'thresholds']"), "malformed class 'thresholds'"),
    (tiny_toml(grid_class="'thresholds:0'"), "at least one hypothesis"),
    (tiny_toml(grid_class="'table:nowhere.csv'"), "nowhere.csv"),
    (tiny_toml(grid_class="'table:'"), "unknown class 'table:'"),
    (tiny_toml(grid_class='"table:a\\u0000b.csv"'), "cannot read the table"),
    (tiny_toml(grid_pool_size="0"), "got 0"),
    (tiny_toml(grid_pool_size="1e5"), "got 100000.0"),
    (tiny_toml(grid_pool_size="'all'"), "'exact', got 'all'"),
    (tiny_toml(grid_pool_size="1000000000000"), "10**12"),
    (tiny_toml(grid_pool_size=HUGE), "pool size"),
    (tiny_toml().split("[[grid]]", maxsplit=1)[0], "at least one [[grid]]"),
    (tiny_toml().split("[[grid]]", maxsplit=1)[0] + "grid = []", "at least one [[grid]]"),
    (tiny_toml().split("[[grid]]", maxsplit=1)[0] + "[grid]\nclass = 5", "at least one [[grid]]"),
    (tiny_toml(grid_quick="false"), "no grid is left for --quick"),
    (tiny_toml() + "\nepsilon = 0.2", "not a TOML file"),
    (tiny_toml(grid_epsilon="0.1.2"), "not a TOML file"),
    (tiny_toml(grid_epsilon=DEEP), "is not a TOML file"),
    (tiny_toml(notes=DEEP), "not a TOML file"),
    (tiny_toml(**{"grid_epsilon" + ".a" * 90: "1", "grid_epsilon": None}), "epsilon must be a number"),
    (tiny_toml(**{"notes" + ".a" * 90: "1"}), "notes must be a text"),
    (tiny_toml(**{"stop" + ".a" * 90: "1", "stop": None}), "stop has one key, pairs, got a"),
    (tiny_toml(**{"notes" + ".a" * 3000: "1"}), "a key has a hundred parts or more"),
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
    assert main(["paper", "study", str(file), "--out", str(out), "--workers", "1", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["error"], told["exit"]) == ("replical.error/1", "BadStudy", 2)
    assert told["message"] == str(caught.value)
    assert not out.exists()
