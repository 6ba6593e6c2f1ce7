"""A linear rule without a list, from the command line: two labs, one cell, and what is refused."""

import json

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")

from replical.cli import main
from replical.errors import BadUsage
from replical.lab.certificate.compare import compare
from replical.lab.protocol import Protocol
from support.linear import FEATURES, RANGES, columns, written

NUMBERS = ["--epsilon", ".12", "--delta", ".05", "--rho", ".1", "--seed", "a published text"]


def call(capsys, *arguments):
    code = main([*map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def told(capsys, *arguments):
    code, out, err = call(capsys, *arguments)
    assert code == 0, (out, err)
    return out


def refused(capsys, *arguments):
    """One sentence."""
    code, out, err = call(capsys, *arguments)
    assert code == 2, (out, err)
    found = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert len(found) == 1, err
    return found[0]


def new(path, *flags, kind="linear"):
    """Write a protocol about the three features."""
    named = ["--class", kind, "--features", ",".join(FEATURES)] if kind == "linear" else ["--class", kind]
    return ["init", "--out", path, *named, "--label-values", "no,yes", *NUMBERS, *flags]


@pytest.fixture(scope="module")
def labs(tmp_path_factory):
    """Two labs that have run one protocol on tables of their own."""
    folder = tmp_path_factory.mktemp("linear")
    ranges = [f"{name},{low},{high}" for name, (low, high) in zip(FEATURES, RANGES, strict=True)]
    (folder / "features.csv").write_text("\n".join(["feature,low,high", *ranges]) + "\n")
    flags = ["--features", folder / "features.csv", "--label-values", "no,yes", *NUMBERS]
    made = ["init", "--out", folder / "p.toml", "--class", "linear", *flags]
    assert main([*map(str, made)]) == 0
    for number, lab in enumerate("ab", 1):
        table = written(folder / f"{lab}.csv", columns(seed=number))
        run = ["run", folder / "p.toml", "--pool", table, "--labels", f"{table}:truth", "--journal",
               folder / f"{lab}.db"]  # fmt: skip
        assert main([*map(str, run), "--out", str(folder / f"{lab}.json"), "--html", str(folder / f"{lab}.html")]) == 0
    return folder


def test_two_labs_return_the_identical_cell_and_prove_it(labs, capsys):
    bodies = [json.loads((labs / f"{lab}.json").read_text())["body"] for lab in "ab"]
    assert [body["certified"] for body in bodies] == [True, True]
    assert [body["rho_proven"] for body in bodies] == [0.0, 0.0]
    assert bodies[0]["proof"]["cell"] == bodies[1]["proof"]["cell"]
    assert bodies[0]["pool"] != bodies[1]["pool"]
    assert told(capsys, "compare", labs / "a.json", labs / "b.json").startswith("Identical: both labs chose yes if ")


def test_more_labs_than_the_promise_is_about_are_refused(labs):
    made = json.loads((labs / "a.json").read_text())
    many = [{"body": made["body"] | {"private_commitment": f"{number}"}} for number in range(3)]
    assert compare(many[:2]).identical
    with pytest.raises(
        BadUsage, match="3 certificates are given, but the protocol's promise is about labs = 2: compare"
    ):
        compare(many)


def test_a_certificate_is_checked_alone_and_by_replay(labs, capsys):
    assert told(capsys, "verify", labs / "a.json").startswith("Valid, as far as the file alone")
    more = ["--pool", labs / "a.csv", "--journal", labs / "a.db"]
    assert told(capsys, "verify", labs / "a.json", *more).startswith(
        "Valid, as far as the file, its pool and its journal"
    )


def test_a_finished_run_is_run_again_without_a_label_and_json_tells_its_cell(labs, tmp_path, capsys):
    run = ["run", labs / "p.toml", "--pool", labs / "a.csv", "--labels", f"{labs / 'a.csv'}:truth", "--json"]
    found = json.loads(told(capsys, *run, "--journal", labs / "a.db", "--out", tmp_path / "again.json"))
    again, before = (json.loads(file.read_text())["body"] for file in (tmp_path / "again.json", labs / "a.json"))
    assert again == before
    assert found["proof"]["enclosed"]
    assert len(found["proof"]["direction"]) == 4
    assert found["answer_error"]["of"] == "error"


def test_the_rule_is_used_on_a_table_that_nobody_labelled(labs, tmp_path, capsys):
    out = told(capsys, "data", "apply", labs / "a.json", "--table", labs / "b.csv", "--out", tmp_path / "said.csv")
    assert out.startswith("yes if ")
    rows = [line.rpartition(",") for line in (tmp_path / "said.csv").read_text().splitlines()]
    assert rows[0] == ("id", ",", "label")
    truth = dict(zip(columns(seed=2)["id"], columns(seed=2)["truth"], strict=True))
    wrong = sum(truth[name.strip('"')] != label for name, _, label in rows[1:])
    assert wrong / len(truth) < 0.12


def test_a_changed_certificate_is_not_used(labs, tmp_path, capsys):
    changed = json.loads((labs / "a.json").read_text())
    changed["body"]["proof"]["cell"][0] += 1
    (tmp_path / "a.json").write_text(json.dumps(changed, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    apply = ["data", "apply", tmp_path / "a.json", "--table", labs / "b.csv", "--out", tmp_path / "said.csv"]
    assert "so its rule is not used" in refused(capsys, *apply)
    assert not (tmp_path / "said.csv").exists()


def test_a_plan_says_about_how_many_labels(labs, capsys):
    assert "if items look alike from every side" in told(capsys, "plan", labs / "p.toml")
    found = json.loads(told(capsys, "plan", labs / "p.toml", "--pool", labs / "a.csv", "--json"))
    (bill,) = found["bills"]
    assert (bill["learner"], bill["kind"]) == ("lattice", "estimate")
    assert 25 < bill["labels"] < 60
    assert found["forecast"] is None


def test_a_certificate_is_a_page(labs):
    page = (labs / "a.html").read_text()
    assert "cell of the lattice" in page
    assert "all labs that are certified in this way have this cell" in page


def test_cells_that_differ_are_told_apart(tmp_path, capsys):
    told(capsys, *new(tmp_path / "p.toml", "--set", "nu=.1", "--set", "max_labels=21", "--set", "step=.05"))
    for number, lab in enumerate("ab", 1):
        table = written(tmp_path / f"{lab}.csv", columns(60, seed=number, wrong=0.1))
        run = ["run", tmp_path / "p.toml", "--pool", table, "--labels", f"{table}:truth", "--journal"]
        told(capsys, *run, tmp_path / f"{lab}.db", "--out", tmp_path / f"{lab}.json")
    code, out, _ = call(capsys, "compare", tmp_path / "a.json", tmp_path / "b.json")
    assert code == 1
    assert "their cells differ along" in out


def test_where_labels_may_be_wrong_nothing_is_called_proven(tmp_path, capsys):
    told(capsys, *new(tmp_path / "p.toml", "--set", "nu=.05", "--set", "max_labels=60"))
    table = written(tmp_path / "a.csv", columns(400, wrong=0.05))
    run = ["run", tmp_path / "p.toml", "--pool", table, "--labels", f"{table}:truth", "--journal", tmp_path / "a.db"]
    out = told(capsys, *run, "--out", tmp_path / "a.json")
    assert "Not certified: " in out
    assert "Predicted, not proven: another lab differs with probability" in out
    assert "Error: no bound is proven" in out
    assert "Certified" not in out.replace("Not certified", "")
    assert told(capsys, "verify", tmp_path / "a.json").startswith("Valid")


def test_features_that_follow_from_others_are_named_before_the_first_label(tmp_path, capsys):
    told(capsys, *new(tmp_path / "p.toml", "--set", "max_labels=30"))
    table = columns(200) | {"dose": columns(200)["age"]}
    run = ["run", tmp_path / "p.toml", "--pool", written(tmp_path / "a.csv", table), "--journal", tmp_path / "a.db"]
    code, _, err = call(capsys, *run, "--ask", "file", "--out", tmp_path / "a.json")
    assert code == 3
    assert "Warning: on these items dose follows from the other features" in err


@pytest.mark.parametrize(
    ("flags", "kind", "sentence"),
    [
        (["--learner", "handicap"], "linear", "handicap chooses from a list of hypotheses, and the class linear has none"),
        (["--learner", "lattice"], "thresholds:10", "lattice rounds directions to the cells of the class linear"),
        (["--set", "step=.1"], "thresholds:10", "step and intercept are about the class linear"),
        (["--set", "intercept=-1"], "linear", "intercept must be a finite number of at least 0, got -1"),
        (["--features", "age,dose"], "linear:3", "the class looks at 3 features, and 2 are named"),
        (["--set", "batch=4"], "linear", "lattice has no batch: leave it out"),
    ],
)  # fmt: skip
def test_what_does_not_go_with_a_lattice_is_refused_when_it_is_written(tmp_path, capsys, flags, kind, sentence):
    assert sentence in refused(capsys, *new(tmp_path / "p.toml", *flags, kind=kind))
    assert not (tmp_path / "p.toml").exists()


def test_three_labels_are_refused(tmp_path, capsys):
    flags = ["--class", "linear:2", "--label-values", "a,b,c", *NUMBERS]
    assert "this class tells two labels apart" in refused(capsys, "init", "--out", tmp_path / "p.toml", *flags)


@pytest.mark.parametrize(
    "command",
    [
        ["paper", "audit", "--class", "linear:3", "--learner", "cal", "--epsilon", ".1", "--pool-size", "50", "--seed", "s"],
        ["paper", "theta", "--class", "linear:3"],
        ["paper", "bill", "--class", "linear:3", "--epsilon", ".1"],
    ],
)  # fmt: skip
def test_commands_that_need_a_list_say_so(capsys, command):
    assert "linear:3 has no list of hypotheses, and this needs one" in refused(capsys, *command)


def test_what_a_run_cannot_do_is_refused_before_the_first_label(labs, tmp_path, capsys):
    run = ["run", labs / "p.toml", "--pool", labs / "a.csv", "--labels", f"{labs / 'a.csv'}:truth"]
    run += ["--journal", tmp_path / "x.db", "--out", tmp_path / "x.json"]
    assert "the class linear is no list" in refused(capsys, *run, "--vote", "answer", "--lab", "a")
    assert "looks at the whole pool" in refused(capsys, *run, "--measure-error", "20")
    confirm = ["lab", "confirm", labs / "a.json", "--pool", labs / "b.csv", "--labels", f"{labs / 'b.csv'}:truth"]
    sentence = refused(capsys, *confirm, "--journal", tmp_path / "c.db", "--out", tmp_path / "c.json")
    assert "are no list, and this needs a list" in sentence


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda table: table.pop("dose"), "dose"),
        (lambda table: table["dose"].__setitem__(3, "nan"), "dose"),
        (lambda table: table["dose"].__setitem__(3, ""), "dose"),
        (lambda table: table["truth"].__setitem__(slice(None), ["maybe"] * 50), "maybe"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(labs, tmp_path, capsys, change, sentence):
    table = columns(50)
    change(table)
    run = ["run", labs / "p.toml", "--pool", written(tmp_path / "t.csv", table), "--labels",
           f"{tmp_path / 't.csv'}:truth"]  # fmt: skip
    assert sentence in refused(capsys, *run, "--journal", tmp_path / "t.db", "--out", tmp_path / "t.json")


def test_the_file_says_what_the_flags_said(labs):
    section = Protocol.read(labs / "p.toml").content["class"]
    assert section["features"] == list(FEATURES)
    assert section["range"] == RANGES
    assert section["intercept"] == 1.0
    assert 0.2 < section["step"] < 0.4
