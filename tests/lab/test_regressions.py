"""Found by looking for trouble; each of these once failed."""

import copy
import csv
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from replical.classes.catalogue import recipe
from replical.cli import main
from replical.core.canonical import fingerprint
from replical.errors import BadCertificate, BadLabel, BadProtocol, BadTable, BadUsage, ReplicalError
from replical.lab import journal as journal_module
from replical.lab.batches import Reply, read_batch, write_batch
from replical.lab.certificate.file import certify, read, seal, write
from replical.lab.certificate.verify import verify
from replical.lab.protocol import Protocol
from replical.lab.tables import Shown, read_labels, read_pool
from support.lab import Run, content, finished, private, world

TEXTS = ("no", "yes")
TABLE = recipe({"kind": "table", "candidates": [{"name": "a"}]}, TEXTS, "s")
LINE = recipe({"kind": "thresholds", "features": ["x"], "cuts": [[0.5, 1.5]]}, TEXTS, "s")
VALID = Protocol.of(content()).toml()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---- labelling by file ----


@pytest.fixture
def pool(folder, monkeypatch):
    monkeypatch.setattr(journal_module.secrets, "token_hex", lambda size: private("cli"))
    columns = world(seed=5, items=150)
    with (folder / "pool.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    (folder / "p.toml").write_text(Protocol.of(content(batch=5)).toml())
    return dict(zip(columns["id"], columns["truth"], strict=True))


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_line_separators_in_a_text_do_not_swallow_its_label(tmp_path, mark):
    path = write_batch(tmp_path, 1, ["u", "v"], {"u": {"text": f"one{mark}two"}, "v": {"text": "x"}}, TEXTS)
    path.write_bytes(path.read_bytes().replace(b"two,", b"two,yes").replace(b"v,x,", b"v,x,no"))
    assert read_batch(path, TEXTS) == [Reply(item="u", code=1), Reply(item="v", code=0)]


def test_ids_that_a_spreadsheet_would_run_are_defused_and_read_back(tmp_path):
    items = ["=1+1", "-5", "\rx", "'=2", "''=2", "'plain"]
    path = write_batch(tmp_path, 1, items, {}, TEXTS)
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert not any(row[0].startswith(("=", "-", "\r")) for row in rows)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *([row[0], "yes"] for row in rows)])
    assert [reply.item for reply in read_batch(path, TEXTS)] == items


@pytest.mark.parametrize("column", ["id", "label", "annotator"])
def test_columns_of_a_batch_are_not_shown_twice(tmp_path, column):
    with pytest.raises(BadTable, match=f"a batch has a column '{column}' of its own"):
        write_batch(tmp_path, 1, ["u"], {"u": {column: "x"}}, TEXTS)


@pytest.mark.parametrize("text", ['[{"data": {"id": "u"}, "annotations": 5}]', "1" * 5000])
def test_damaged_exports_are_a_sentence(tmp_path, text):
    (tmp_path / "export.json").write_text(text)
    with pytest.raises(BadTable):
        read_batch(tmp_path / "export.json", TEXTS)


def test_an_annotator_is_a_text(tmp_path):
    annotation = {"completed_by": {"email": 5}, "result": [{"value": {"choices": ["no"]}}]}
    (tmp_path / "export.json").write_text(json.dumps([{"data": {"id": "u"}, "annotations": [annotation]}]))
    assert read_batch(tmp_path / "export.json", TEXTS) == [Reply(item="u", code=0, annotator="5")]


# ---- tables ----


def test_ids_in_a_csv_file_are_what_is_written(tmp_path):
    """ "007" is not "7", and a date is a name like any other."""
    path = tmp_path / "pool.csv"
    for ids in (["007", "7"], ["2020-01-01", "2020-01-02"], ["true", "false"], ["1.0", "1"], ["1e5", "x"]):
        path.write_text("id,x,truth\n" + "".join(f"{each},{number},yes\n" for number, each in enumerate(ids)))
        found = read_pool(path, LINE)
        assert sorted(found.ids) == sorted(ids)
        assert found.fingerprint == read_pool({"id": ids, "x": [0, 1]}, LINE).fingerprint
        assert set(read_labels(path, "truth", TEXTS)) == set(ids)
        assert set(Shown(path, ["truth"])(ids)) == set(ids)


def test_what_is_shown_of_a_csv_file_is_what_is_written(tmp_path):
    (tmp_path / "pool.csv").write_text("id,code\nu,007\n")
    assert Shown(tmp_path / "pool.csv", ["code"])(["u"]) == {"u": {"code": "007"}}


def test_nobody_is_shown_the_text_of_another_item():
    with pytest.raises(BadTable, match="has the id 'a' twice, in rows 1 and 2"):
        Shown({"id": ["a", "a", "b"], "text": ["one", "two", "three"]}, ["text"])(["b"])


def test_types_are_not_guessed_from_the_first_rows(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("id,x\n" + "".join(f"{n},1\n" for n in range(300_000)) + "last,0.5\n")
    found = read_pool(path, LINE)
    assert len(found) == 300_001
    assert found.items[-1] == 0.5


def test_whole_numbers_are_whole_in_every_format(tmp_path):
    (tmp_path / "pool.csv").write_text("id,x\nu,1\nv,2\n")
    prints = {read_pool({"id": ["u", "v"], "x": x}, LINE).fingerprint for x in ([1, 2], [1.0, 2.0])}
    assert prints == {read_pool(tmp_path / "pool.csv", LINE).fingerprint}


def test_categories_without_items_are_no_labels():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["no", "yes", "unknown"]))
    assert read_pool(pa.table({"id": ["u", "v"], "a": column}), TABLE).items.tolist() == [[0], [1]]
    used = pa.DictionaryArray.from_arrays(pa.array([0, 2]), pa.array(["no", "yes", "unknown"]))
    with pytest.raises(BadLabel, match="item 'v': a prediction of 'a' is 'unknown'"):
        read_pool(pa.table({"id": ["u", "v"], "a": used}), TABLE)


def test_nested_columns_are_no_labels():
    for column in ([["no"], ["yes"]], [{"x": 1}, {"x": 2}]):
        with pytest.raises(BadLabel, match="the column 'a' holds"):
            read_pool({"id": ["u", "v"], "a": column}, TABLE)


def test_a_header_that_is_no_text(tmp_path):
    (tmp_path / "pool.csv").write_bytes(b"id,\xff\n1,2\n")
    with pytest.raises(BadTable, match="is not UTF-8"):
        read_pool(tmp_path / "pool.csv", LINE)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_feature_that_is_no_number_is_named_by_its_item(value):
    cells = recipe({"kind": "intervals", "features": ["x"], "bins": 4, "range": [[0, 1]]}, TEXTS, "s")
    for made in (LINE, cells):
        with pytest.raises(BadTable, match="the feature 'x' is missing or infinite for the item 'c'"):
            read_pool({"id": ["d", "c", "b"], "x": [0.5, value, 0.25]}, made)


def test_rows_are_counted_from_the_beginning_of_the_table():
    """Also where a table comes in pieces and most rows have no label yet."""
    rows = 70_000
    with pytest.raises(BadTable, match=f"row {rows + 1}: the id"):
        read_labels({"id": [*map(str, range(rows)), None], "truth": [None] * (rows + 1)}, "truth", TEXTS)


# ---- protocols ----


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "1" * 5000,
        "x = " + "[" * 5000,
        VALID.replace('kind = "table"', 'kind = ["table"]'),
        VALID.replace('kind = "table"', "kind = {}"),
        VALID.split("candidates")[0] + 'file = "a\\u0000b"\n' + VALID[VALID.index("[labels]") :],
        VALID + "\n[prior]\nkind = \"weights\"\nweights = [1" + "0" * 400 + ", 1, 1, 1, 1, 1]\n",
    ],
    ids=["digits", "nest", "kind list", "kind table", "zero byte", "huge weight"],
)  # fmt: skip
def test_no_protocol_gives_a_traceback(tmp_path, text):
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(ReplicalError):
        Protocol.read(tmp_path / "p.toml")


def test_a_huge_cut_is_no_number():
    with pytest.raises(BadProtocol, match="cuts must be"):
        recipe({"kind": "thresholds", "features": ["x"], "cuts": [[10**400]]}, TEXTS, "s")


def test_a_mark_of_byte_order_is_no_part_of_a_protocol(tmp_path):
    (tmp_path / "p.toml").write_bytes(b"\xef\xbb\xbf" + VALID.encode())
    assert Protocol.read(tmp_path / "p.toml").fingerprint == Protocol.of(content()).fingerprint


def test_more_cuts_than_anybody_lists():
    section = {"kind": "stumps", "features": ["x"], "range": [[0, 1]], "bins": 10**12}
    with pytest.raises(ReplicalError, match="cuts"):
        recipe(section, TEXTS, "s")


def test_an_unknown_key_beside_the_labels_is_named():
    said = content()
    said["labels"]["colour"] = "blue"
    with pytest.raises(BadProtocol, match="'colour'"):
        Protocol.of(said)


@pytest.mark.parametrize("weights", [["1", "1", "1", "1", "1", "1"], [True] * 6, "111111"])
def test_weights_are_numbers(weights):
    with pytest.raises(BadProtocol, match="weights must be numbers"):
        Protocol.of(content(prior={"kind": "weights", "weights": weights}))


def test_weights_by_name_are_written_so_that_they_read_back(tmp_path):
    names = ["a b", 'c"d', "é", "plain", "x.y", ""]
    said = content(prior={"kind": "weights", "weights": {name or "z": 1.0 + n for n, name in enumerate(names)}})
    said["class"]["candidates"] = [{"name": name or "z"} for name in names]
    (tmp_path / "p.toml").write_text(Protocol.of(said).toml())
    assert Protocol.read(tmp_path / "p.toml").fingerprint == Protocol.of(said).fingerprint


@pytest.mark.parametrize(
    "section",
    [
        {"kind": "thresholds", "features": ["x"], "count": 9, "cuts": [[1, 2]]},
        {"kind": "thresholds", "features": ["x"], "count": 9, "bins": 3, "range": [[0, 1]]},
        {"kind": "stumps", "features": ["x"], "cuts": [[1, 2]], "bins": 3, "range": [[0, 1]]},
    ],
)
def test_a_class_is_given_in_one_way(section):
    """What is ignored silently is what somebody meant."""
    with pytest.raises(BadProtocol, match="not"):
        recipe(section, TEXTS, "s")


NEW = ["protocol", "new", "--out", "p.toml", "--class", "thresholds:9", "--learner", "cal", "--epsilon", ".1", "--delta", ".1",
       "--rho", ".1"]  # fmt: skip


@pytest.mark.parametrize("values", ["²,³", "--5,1", "1" * 5000 + ",2"])
def test_labels_that_are_almost_numbers_are_texts(folder, capsys, values):
    assert main([*NEW, "--seed", "s", "--label-values", values]) == 0
    assert list(Protocol.read(Path("p.toml")).labels) == values.split(",")


@pytest.mark.parametrize("words", [["--seed", "\udcff"], ["--seed", "s", "--title", "\udcff"]])
def test_a_protocol_is_unicode(folder, capsys, words):
    assert main([*NEW, "--label-values", "no,yes", *words]) == 2
    assert not Path("p.toml").exists()


def test_theta_is_computed_once_on_a_public_pool(folder, capsys):
    """Thresholds have coefficient 2 on every distribution without heavy points."""
    Path("public.csv").write_text("id,x\n" + "".join(f"{n},{n % 8}\n" for n in range(80)))
    words = [*NEW, "--label-values", "no,yes", "--seed", "s", "--theta-from", "public.csv"]
    words[words.index("cal")] = "replical"
    assert main(words) == 0
    assert Protocol.read(Path("p.toml")).content["learner"]["theta"] == 2.0


def test_files_that_are_too_much(folder, capsys):
    Path("names.csv").write_text("name\n" + "a" * 200_000 + "\nb\n")
    words = [*NEW, "--label-values", "no,yes", "--seed", "s"]
    words[words.index("--class") : words.index("--class") + 2] = ["--candidates", "names.csv"]
    assert main(words) == 2
    words = [*NEW, "--label-values", "no,yes", "--seed", "s"]
    words[words.index("p.toml")] = "p" * 300
    assert main(words) == 2
    assert main(["verify", "p" * 300]) == 2


# ---- certificates ----


def resealed(certificate):
    certificate["digest"] = fingerprint(certificate["body"])
    certificate["provenance"]["seal"] = seal(certificate["digest"], certificate["provenance"])
    return certificate


@pytest.fixture
def run(tmp_path):
    with finished(tmp_path, "cal") as made:
        yield made


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["plan"]["numbers"][0].update(value=True),
        lambda body: body["plan"]["numbers"][0].update(value=1.0),
        lambda body: body["rounds"][0].update(disagreement=[float(n) for n in body["rounds"][0]["disagreement"]]),
        lambda body: body["labels"].update(skipped=False),
        lambda body: body["pool"]["summary"][0].update(hypothesis=False),
    ],
)
def test_one_is_neither_true_nor_a_fraction(run, change):
    """What Python calls equal is not the same certificate: a file that says so has been edited."""
    forged = copy.deepcopy(run.certificate)
    change(forged["body"])
    assert forged["body"] == run.certificate["body"]
    assert not verify(resealed(forged), run.lab, run.journal).valid


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["conditions"][1].update(value=None),
        lambda body: body["conditions"][1].update(name=5),
        lambda body: body["pool"].update(fingerprint={"x": 1}),
        lambda body: body["pool"]["summary"].pop(),
        lambda body: body["pool"]["summary"][0].update(predicts=[body["pool"]["items"]]),
        lambda body: body["transcript"].pop("digest"),
        lambda body: body.update(labels_sufficient=None),
        lambda body: body.update(private_commitment=None),
        lambda body: body["survivors"].update(added=1),
        lambda body: body.update(hypothesis=None, shared=body["shared"] | {"winner_rank": None}),
    ],
)
def test_a_certificate_alone_is_checked_for_its_shape(run, tmp_path, capsys, change):
    """Whoever shows or compares certificates relies on it: a forged one is refused, not a traceback."""
    forged = copy.deepcopy(run.certificate)
    change(forged["body"])
    write(run.certificate, tmp_path / "honest.json")
    write(resealed(forged), tmp_path / "forged.json")
    assert main(["verify", str(tmp_path / "forged.json"), "--html", str(tmp_path / "page.html")]) == 1
    assert main(["compare", str(tmp_path / "honest.json"), str(tmp_path / "forged.json")]) == 2


def test_a_boosted_run_has_a_valid_certificate(tmp_path):
    """Every run within it begins with the whole class: survivors grow again, and nothing is wrong."""
    x = (np.arange(6000) * 7919) % 59
    columns = {"id": [f"i{n:04d}" for n in range(6000)], "x": x, "truth": np.where(x >= 23, "yes", "no").tolist()}
    said = content("boosted-replica2", epsilon=0.1, theta=1.0, nu=0.01, k_loop=6, k_final=8, strings=1, runs=5)
    said["class"] = {"kind": "thresholds", "features": ["x"], "count": 60}
    with Run(tmp_path, said, columns) as made:
        verdict = verify(made.certificate, made.lab, made.journal)
        assert [check for check in verdict.checks if not check.ok] == []
        sizes = [each["survivors"] for each in made.certificate["body"]["rounds"]]
        assert any(after > before for before, after in pairwise(sizes))


@pytest.mark.parametrize(
    "inside", ['{"a": 1e999}', '{"a": "\\ud800"}', '{"a": ' + "[" * 900 + "]" * 900 + "}", '{"\\ud800": 1}']
)
def test_no_file_gives_a_traceback(tmp_path, capsys, inside):
    path = tmp_path / "certificate.json"
    path.write_text(f'{{"schema": "replical.certificate/1", "body": {inside}, "digest": "", "provenance": {{}}}}')
    with pytest.raises(BadCertificate):
        read(path)
    assert main(["verify", str(path)]) == 1


def test_a_folder_is_no_certificate(tmp_path, capsys):
    with pytest.raises(BadUsage, match="cannot read the certificate .*: Is a directory"):
        read(tmp_path)
    assert main(["verify", str(tmp_path)]) == 2


def test_a_prediction_is_the_same_on_every_machine(tmp_path):
    """Six digits: the certificate of one machine is replayed on another."""
    with finished(tmp_path, "rounded-cal") as made:
        told = certify(made.session)["body"]["rho_predicted"]
        assert told == round(told, 6) > 0
        assert told == pytest.approx(made.session.result.rounding.rho_predicted, abs=1e-6)


def test_a_page_that_cannot_be_written_is_named(folder, pool, capsys):
    words = ["run", "p.toml", "--pool", "pool.csv", "--journal", "lab.db", "--out", "lab.json", "--truths", "0"]
    assert main([*words, "--labels", "pool.csv:truth", "--html", "nowhere/page.html"]) == 2
    assert "cannot write the page nowhere/page.html" in capsys.readouterr().err
    assert Path("lab.json").exists()


def test_a_correction_of_nothing_leaves_nothing_behind(folder, capsys):
    assert main(["correct", "typo.db", "--item", "u", "--label", "no"]) == 2
    assert "there is no journal typo.db" in capsys.readouterr().err
    assert not Path("typo.db").exists()
