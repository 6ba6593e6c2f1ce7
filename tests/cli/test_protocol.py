"""``replical init`` without a table: protocols from flags, shown with their fingerprints by ``replical plan``."""

import json
import re
import tomllib
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.cli import main, protocol_sections
from replical.lab.protocol import Protocol

NEW = {
    "--class": "thresholds:9", "--label-values": "no,yes", "--learner": "handicap", "--epsilon": "0.1",
    "--delta": "0.05", "--rho": "0.2", "--seed": "published",
}  # fmt: skip


@pytest.fixture
def new(tmp_path, capsys, monkeypatch):
    """Run `replical init` in an empty folder; the exit code, what it said, and what it wrote."""
    monkeypatch.chdir(tmp_path)

    def run(changes=(), *flags, out="protocol.toml"):
        words = {"--out": out} | NEW | dict(changes)
        given = []
        for flag, value in words.items():
            for each in value if isinstance(value, list) else [value]:
                given += [] if each is None else [flag, str(each)]
        code = main(["init", *given, *flags])
        told = capsys.readouterr()
        file = tmp_path / out
        wrote = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else None
        return types.SimpleNamespace(code=code, out=told.out, err=told.err, wrote=wrote, file=file)

    return run


def refused(done, message):
    """One sentence with this in it, and nothing is written."""
    told = json.loads(done.out)
    assert (done.code, done.wrote, told["schema"], told["exit"]) == (2, None, "replical.error/1", 2)
    assert message in told["message"]
    assert "\n" not in told["message"]


def test_labels_that_nobody_knows_are_asked_of_whoever_can_be_asked(new):
    done = new({"--label-values": None})
    assert (done.code, done.wrote, "the flag --label-values is missing" in done.err) == (2, None, True)


def test_the_rest_has_defaults_where_nobody_can_be_asked(new):
    done = new({"--epsilon": None, "--delta": None, "--rho": None, "--seed": None, "--learner": None})
    assert done.code == 0, done.err
    assert done.wrote["learner"] == {"name": "handicap", "epsilon": 0.05, "delta": 0.05, "rho": 0.1}
    assert "The seed was drawn now; best is a text that was drawn in public: --seed." in done.out


def test_a_table_in_place_of_a_list_tells_models_and_labels(new, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "mine.csv").write_text('id,m1,m2,label\n1,"a,b",c,c\n2,c,c,c\n')
    done = new({"--class": None, "--candidates": "mine.csv", "--learner": None, "--label-values": None})
    assert done.code == 0, done.err
    assert [each["name"] for each in done.wrote["class"]["candidates"]] == ["m1", "m2"]
    assert done.wrote["labels"]["values"] == ["a,b", "c"]
    flags = {"--class": None, "--candidates": "mine.csv", "--learner": None}
    done = new(flags | {"--label-values": "c,d"}, "--force")
    assert (done.code, "the models say 'a,b', which is none of the labels c,d: name every label" in done.err) == (
        2,
        True,
    )
    priced = {"--abstain": "a,b", "--price": "0.1", "--label-values": "c,d"}  # whoever abstains gives no label
    assert new(flags | priced, "--force").wrote["labels"]["values"] == ["c", "d"]


def test_scores_are_cut_where_a_table_holds_them(new, tmp_path):
    """What init says of such a table is what to type: it once led to a message that led back to init."""
    pytest.importorskip("pyarrow")
    (tmp_path / "mine.csv").write_text("id,m1,m2,age,label\n1,0.2,0.75,40.5,no\n2,0.9,1,71.25,yes\n")
    done = new({"--class": None, "--candidates": "mine.csv", "--cuts": "0.5", "--learner": None})
    assert done.code == 0, done.err
    assert [each["name"] for each in done.wrote["class"]["candidates"]] == ["m1", "m2"]
    assert "Scores: m1, m2." in done.err
    (tmp_path / "none.csv").write_text("id,m1,m2\n1,no,no\n")
    done = new({"--class": None, "--candidates": "none.csv", "--cuts": "0.5", "--learner": None}, "--force")
    assert (done.code, "none.csv has no column of scores from 0 to 1" in done.err) == (2, True)


@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])).map(str.strip).filter(bool), min_size=2))
@settings(max_examples=50)
def test_any_labels_can_be_spelled_in_one_flag(words):
    expected = tuple(map(int, words)) if all(re.fullmatch("-?[0-9]{1,18}", word) for word in words) else tuple(words)
    text = ",".join(f'"{word.replace(chr(34), chr(34) * 2)}"' for word in words)
    assert protocol_sections.label_values(text) == expected


@pytest.mark.parametrize("text", ['"a,b",c', '"a,b", c', 'c,"a,b"', '"say ""no""",c'])
def test_labels_with_commas_stand_in_quotes(new, text):
    done = new({"--label-values": text})
    assert (done.code, len(done.wrote["labels"]["values"])) == (0, 2)


def test_a_new_protocol_says_what_was_asked_for(new):
    rare = ["plan=tight", "a=0.02", "b=0.08", "batch=4", "max_labels=77", "theta=2.5"]
    done = new({"--labs": "5", "--set": rare, "--title": 'Dose "rule"'})
    assert done.code == 0, done.err
    assert done.wrote == {
        "schema": "replical.protocol/1",
        "title": 'Dose "rule"',
        "seed": "published",
        "class": {"kind": "thresholds", "features": ["x"], "count": 9},
        "labels": {"values": ["no", "yes"]},
        "learner": {
            "name": "handicap", "plan": "tight", "epsilon": 0.1, "delta": 0.05, "rho": 0.2, "theta": 2.5, "a": 0.02,
            "b": 0.08, "batch": 4, "labs": 5, "max_labels": 77,
        },
    }  # fmt: skip
    fingerprint = Protocol.read(done.file).fingerprint
    assert fingerprint in done.out
    assert "9 hypotheses" in done.out
    again = new({"--title": "other"}, "--json", out="other.toml")
    told = json.loads(again.out)
    assert told == {
        "schema": "replical.init/1",
        "file": "other.toml",
        "learner": "handicap",
        "fingerprint": Protocol.read(again.file).fingerprint,
        "models": None,
        "labels": ["no", "yes"],
        "alike": [],
        "next": [],
    }
    assert again.err == ""


def test_nu_is_written_where_the_learner_needs_it(new):
    done = new({"--learner": "a2-rounds", "--set": ["theta=2", "nu=0.03"]})
    assert (done.code, done.wrote["learner"]["nu"]) == (0, 0.03)
    assert "a2-rounds needs nu" in new({"--learner": "a2-rounds", "--set": "theta=2"}, "--force").err


@pytest.mark.parametrize(
    ("spec", "section", "count"),
    [
        ("thresholds:9", {"kind": "thresholds", "features": ["x"], "count": 9}, 9),
        ("intervals:4", {"kind": "intervals", "features": ["x"], "bins": 4}, 11),
        ("star:5", {"kind": "star", "features": ["x"], "count": 5}, 6),
        ("stumps:2,3", {"kind": "stumps", "features": ["x0", "x1"], "range": [[0.0, 1.0]] * 2, "bins": 3}, 12),
        ("boxes:2,3", {"kind": "boxes", "features": ["x0", "x1"], "range": [[0.0, 1.0]] * 2, "bins": 3}, 36),
        ("halfspaces:3,8", {"kind": "halfspaces", "features": ["x0", "x1", "x2"], "count": 8}, 8),
    ],
)
def test_every_class_can_be_published(new, spec, section, count):
    done = new({"--class": spec})
    assert done.code == 0, done.err
    assert done.wrote["class"] == section
    assert len(Protocol.read(done.file).recipe.C) == count


@pytest.mark.parametrize(
    ("name", "text", "source"),
    [
        ("names.txt", "résnet \n\nvit\n", "names.txt"),
        ("names.csv", "name,size\nrésnet,5\nvit,6\n", "names.csv"),
        ("names.csv", "size,model\n5,résnet\n6,vit\n", "names.csv:model"),
        ("names.csv", "name,digest\nrésnet,\nvit,\n", "names.csv"),
        ("a:b.txt", "résnet\nvit", "a:b.txt"),
    ],
)
def test_candidates_come_from_lines_or_a_column(new, tmp_path, name, text, source):
    (tmp_path / name).write_text(text, encoding="utf-8")
    done = new({"--class": None, "--candidates": source})
    assert done.code == 0, done.err
    assert done.wrote["class"] == {"kind": "table", "candidates": [{"name": "résnet"}, {"name": "vit"}]}


def test_digests_of_candidates_are_published_with_their_names(new, tmp_path):
    digest = f"sha256:{'0a' * 32}"
    (tmp_path / "names.csv").write_text(f"name,digest\na,{digest}\nb,\n")
    done = new({"--class": None, "--candidates": "names.csv"})
    assert done.wrote["class"]["candidates"] == [{"name": "a", "digest": digest}, {"name": "b"}]
    (tmp_path / "names.csv").write_text("name,digest\na,md5\n")
    assert (
        "the digest of 'a' must be written sha256:"
        in new({"--class": None, "--candidates": "names.csv"}, "--force").err
    )


def test_a_protocol_is_shown_with_its_fingerprint(new, capsys):
    """Who wrote it by hand wants to know whether it is one, and what to publish."""
    done = new({"--title": "by hand"})
    fingerprint = Protocol.read(done.file).fingerprint
    assert main(["plan", "protocol.toml"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"protocol.toml: 9 hypotheses, learner handicap.\nFingerprint {fingerprint}\n")
    assert main(["plan", "protocol.toml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["fingerprint"]) == ("replical.plan/1", fingerprint)
    done.file.write_text(done.file.read_text().replace("epsilon", "epsilom"))
    assert main(["plan", "protocol.toml"]) == 2
    assert "[learner] has no key 'epsilom'" in capsys.readouterr().err.replace("\n", " ")


def test_a_published_protocol_is_not_overwritten_by_accident(new):
    assert new().code == 0
    done = new({"--seed": "later"})
    assert done.code == 2
    assert "protocol.toml exists: a published protocol is not overwritten; use --force" in done.err
    assert done.wrote["seed"] == "published"
    assert new({"--seed": "later"}, "--force").wrote["seed"] == "later"


def test_seeds_are_given_or_drawn(new):
    drawn = [new({"--seed": None}, "--force").wrote["seed"] for _ in range(3)]
    assert len(set(drawn)) == 3
    assert all(len(seed) == 32 for seed in drawn)
    assert new({"--seed": "Ziehung vom 1. März: 3, 7"}, "--force").wrote["seed"] == "Ziehung vom 1. März: 3, 7"
    assert new({"--seed": "drawn now"}, "--force").wrote["seed"] == "drawn now"


@pytest.mark.parametrize(("learner", "section", "kind"), [("handicap", "handicap", "from"), ("a2", "prior", "kind")])
def test_preferences_are_published_with_the_protocol(new, tmp_path, learner, section, kind):
    (tmp_path / "names.txt").write_text("a\nb\nc\n")
    (tmp_path / "weights.csv").write_text("candidate,weight\nc,3\na,1\nb,2\n")
    (tmp_path / "order.txt").write_text("b\nc\na\n")
    table = {"--class": None, "--candidates": "names.txt", "--learner": learner}
    assert new(table | {"--prefer": "weights.csv"}).wrote[section] == {kind: "weights", "weights": [1.0, 2.0, 3.0]}
    preferred = new(table | {"--prefer": "order.txt"}, "--force")
    assert preferred.wrote[section] == {kind: "order", "order": [1, 2, 0]}
    protocol = Protocol.read(preferred.file)
    assert protocol.recipe.describe(protocol.prior.first(protocol.shared, "order", indices=np.arange(3))) == "b"
    assert not {"prior", "handicap"} & set(new(table, "--force").wrote)


# ---- the standard for candidate models: handicap, with an order from a public table ----
MODELS = {"--class": None, "--candidates": "names.txt", "--learner": None}


@pytest.fixture
def models(new, tmp_path):
    """Three candidates, a public table of 60 items, and `new` for them."""
    pytest.importorskip("pyarrow")
    (tmp_path / "names.txt").write_text("c\nb\na\n")
    rows = [
        f"p{n},{'yes' if n % 2 else 'no'},{'no' if n < 30 else 'yes'},{'no' if n == 7 else 'yes'},yes"
        for n in range(60)
    ]
    (tmp_path / "public.csv").write_text("\n".join(["id,label,c,b,a", *rows]) + "\n")

    def run(changes=(), *flags, **options):
        return new(MODELS | {"--public": "public.csv:label"} | dict(changes), *flags, **options)

    return run


def test_handicap_is_the_standard_for_candidates(models, new):
    done = new(MODELS)
    assert done.code == 0, done.err
    assert done.wrote["learner"]["name"] == "handicap"
    assert "Wrote protocol.toml: 3 models, learner handicap, the standard for candidate models." in done.out
    assert json.loads(new(MODELS, "--json", "--force").out)["learner"] == "handicap"
    told = new(MODELS | {"--learner": "handicap"}, "--force")
    assert "learner handicap." in told.out
    assert told.wrote == done.wrote


@pytest.mark.parametrize("nu", [{}, {"nu": 0.0}])
def test_it_is_the_standard_for_rules_on_features_too(new, nu):
    done = new({"--learner": None, "--set": [f"{key}={value}" for key, value in nu.items()]})
    assert done.code == 0, done.err
    assert done.wrote["learner"] == {"name": "handicap", "epsilon": 0.1, "delta": 0.05, "rho": 0.2} | nu
    assert "learner handicap, the standard for rules on features." in done.out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--learner": "replica2"}, "would take about"),
        ({"--learner": "replical"}, "which no finite pool can measure"),
        ({"--learner": "replicable-erm"}, "items, and no pool holds so many: ask for less by larger epsilon or rho"),
    ],
)
def test_a_protocol_that_no_lab_could_run_is_not_written(new, changes, message):
    done = new({"--set": ["plan=paper", "theta=2", "nu=0.05"]} | changes)
    assert (done.code, done.wrote) == (2, None)
    assert "no lab could run this protocol" in done.err
    assert message in done.err


def test_how_many_items_a_lab_needs_is_said(new):
    assert "Each lab needs about" in new({"--learner": "erm", "--set": "nu=0.05"}).out
    assert "Each lab needs about" not in new((), "--force").out


def test_a_learner_that_is_not_suggested_names_a_better_one(new):
    done = new({"--learner": "replical", "--set": "theta=2"})
    assert "Note: replical is kept to study the paper; handicap promises as much" in done.out
    assert "Note:" not in new((), "--force").out


def test_an_order_comes_from_a_public_table(models):
    """Errors: a and c 30, b 31; so the tie is broken by name, though c is the first of the class."""
    done = models()
    assert done.code == 0, done.err
    made = done.wrote["handicap"]
    assert (made["from"], made["order"], made["public_items"]) == ("order", [2, 0, 1], 60)
    assert "Order from 60 public items; fewest errors: a (30), c (30), b (31)." in done.out
    assert "Note" not in done.err
    protocol = Protocol.read(done.file)
    assert protocol.public == made["public"]
    assert protocol.toml() == done.file.read_text()


def test_few_public_items_are_noted_and_taken(models, tmp_path):
    lines = (tmp_path / "public.csv").read_text().splitlines()
    for count, noted in ((49, True), (50, False)):
        (tmp_path / "public.csv").write_text("\n".join(lines[: count + 1]) + "\n")
        done = models((), "--force")
        assert (done.code, done.wrote["handicap"]["public_items"]) == (0, count)
        note = f"Note: {count} items make a rough order; 50 to 200 labelled items are usual."
        assert (note in done.err) == noted


def test_an_order_may_be_of_rules_on_features(new, tmp_path):
    pytest.importorskip("pyarrow")
    rows = "".join(f"{n},{n % 9},{'yes' if n % 9 >= 4 else 'no'}\n" for n in range(90))
    (tmp_path / "public.csv").write_text(f"id,x,label\n{rows}")
    done = new({"--public": "public.csv:label"})
    assert done.code == 0, done.err
    assert done.wrote["handicap"]["order"][:3] == [4, 3, 5]
    assert "fewest errors: 1 if x >= 4 else 0 (0), " in done.out.replace("yes", "1").replace("no", "0")


@pytest.mark.parametrize(
    ("changes", "text", "message"),
    [
        ({"--public": "public.csv"}, None, "--public public.csv names no column: give --public public.csv:label if it is labelled; if not, have"),
        ({"--public": "nowhere.csv:label"}, None, "there is no file nowhere.csv"),
        ({"--public": "public.csv:a"}, None, "'a' is a candidate, not the labels of public.csv"),
        ({"--public": "public.csv:truth"}, None, "public.csv has no column 'truth'; it has id, label, c, b, a"),
        ({}, "id,label,c,b,a\np1,nay,no,no,no\n", "the label of the item 'p1' in public.csv is 'nay', which is none of"),
        ({}, "key,label,c,b,a\np1,no,no,no,no\n", "public.csv has no column 'id'"),
    ],
)  # fmt: skip
def test_a_bad_public_table_is_one_sentence_and_nothing_is_written(models, tmp_path, changes, text, message):
    if text is not None:
        (tmp_path / "public.csv").write_text(text)
    refused(models(changes, "--json"), message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--label-values": "yes"}, "--label-values lists the labels, separated by commas, e.g. no,yes; got 'yes'"),
        ({"--label-values": "no,,yes"}, "--label-values lists the labels"),
        ({"--label-values": "1,01"}, "distinct labels, got [1, 1]"),
        ({"--label-values": "a,b,c"}, "tells two labels apart"),
        ({"--class": None}, "init reads models and labels from your table, replical init --pool FILE, or takes --candidates FILE or"),
        ({"--candidates": "names.txt"}, "give --class SPEC or --candidates FILE, and not both"),
        ({"--class": "forest:5"}, "unknown class 'forest:5'"),
        ({"--class": "stumps:5"}, "malformed class 'stumps:5'; write it as in stumps:5,40"),
        ({"--class": None, "--candidates": "nowhere.csv"}, "cannot read the candidates nowhere.csv"),
        ({"--class": None, "--candidates": "names.csv"}, "names.csv has no column 'name' with the names of candidates"),
        ({"--class": None, "--candidates": "names.csv:size"}, "names.csv has no column 'size'"),
        ({"--class": None, "--candidates": "empty.txt"}, "empty.txt is empty: write the names of the candidates into it, one a line"),
        ({"--learner": "perceptron"}, "unknown learner 'perceptron'; take handicap, or lattice for --class linear"),
        ({"--epsilon": "much"}, "'much' is not a number"),
        ({"--set": "batch=2.5"}, "batch must be a whole number, got '2.5'"),
        ({"--prefer": "nowhere.csv"}, "nowhere.csv"),
        ({"--out": "nowhere/protocol.toml"}, "cannot write the protocol nowhere/protocol.toml: No such file"),
        ({"--seed": "\udcff"}, "a protocol is valid Unicode text"),
        ({"--class": None, "--candidates": "long.csv"}, "field larger than field limit"),
        ({"--features": "nowhere.csv"}, "cannot read the features nowhere.csv"),
        ({"--set": "rho=.1"}, "--set knows no 'rho': give --rho"),
        ({"--set": "bachts=4"}, "--set knows no 'bachts': did you mean batch?"),
        ({"--batch": "4"}, "No such option: --batch: give it as --set batch=VALUE"),
        ({"--class": None, "--pool": "names.csv", "--cuts": ".5"}, "--cuts is not about the models of a table: leave out"),
        ({"--pool": "names.csv"}, "--class is not about the models of a table: leave out --class, or --pool"),
        ({"--colour": "blue"}, "No such option: --colour"),
    ],
)  # fmt: skip
def test_bad_usage_is_one_sentence_and_exit_code_2(new, tmp_path, changes, message):
    (tmp_path / "names.txt").write_text("a\nb\n")
    (tmp_path / "names.csv").write_text("model\na\n")
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "long.csv").write_text("name\n" + "a" * 200_000 + "\nb\n")
    refused(new(changes, "--json"), message)


def test_label_values_keep_their_order_and_numbers_stay_numbers(new):
    assert new({"--label-values": " yes , no"}).wrote["labels"]["values"] == ["yes", "no"]
    assert new({"--label-values": "1,0"}, "--force").wrote["labels"]["values"] == [1, 0]
    assert new({"--label-values": "-1,1"}, "--force").wrote["labels"]["values"] == [-1, 1]
    assert new({"--label-values": "1,one"}, "--force").wrote["labels"]["values"] == ["1", "one"]


@pytest.mark.parametrize("values", ["²,³", "--5,1", "1" * 5000 + ",2"])
def test_labels_that_are_almost_numbers_are_texts(new, values):
    assert list(Protocol.read(new({"--label-values": values}).file).labels) == values.split(",")


def test_names_of_files_that_are_too_much(new):
    words = [word for pair in NEW.items() for word in pair]
    assert main(["init", "--out", "p" * 300, *words]) == 2
    assert main(["verify", "p" * 300]) == 2
