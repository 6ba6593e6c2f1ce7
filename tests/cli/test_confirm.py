"""``replical lab confirm``: another lab's answer on this lab's items, from the certificate to an outcome that anyone can check."""

import copy
import csv
import functools
import io
import itertools
import json

import pytest

from replical.cli import main
from replical.lab.certificate.file import certify, write
from replical.lab.certificate.verify import verify
from replical.lab.journal import journal as journal_module
from replical.lab.journal.journal import Journal
from replical.lab.protocol import Protocol
from replical.lab.signatures import new_key, read_private
from replical.lab.tables import read_pool
from support.attacks import ATTACKS
from support.certificates import Tags, resealed
from support.lab import Run, content, private, world, write_csv

TABLES = {  # another lab of the same population, one of a population in which the answer is bad, and a small one
    "b": world(seed=12, items=400),
    "other": world(seed=13, items=600, best=0.5, worst=0.02),
    "small": world(seed=14, items=30),
}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """The tables, and lab A's certificates: one with an answer, and one that found no heavy hitter."""
    folder = tmp_path_factory.mktemp("labs")
    for name, columns in {"a": world(seed=11), **TABLES}.items():
        write_csv(folder / f"{name}.csv", columns)
    said = content(batch=2, handicap={"from": "order", "order": [0, 1, 2, 3, 4, 5]})
    with Run(folder, said, world(seed=11), "a") as run:
        write(run.certificate, folder / "a.json")
    said = content("boosted-replicable-erm", nu=0.0, k_final=2, strings=1, runs=2, rho=0.1)
    with Run(folder, said, world(items=60, best=0.0), "none") as run:
        body = run.certificate["body"]
        body["hypothesis"] = body["shared"]["winner_rank"] = None
        write(resealed(run.certificate), folder / "none.json")
    return folder


@pytest.fixture
def lab(certificates, tmp_path, monkeypatch, capsys):
    """A folder with the certificate and the tables, and a way to run commands in it."""
    monkeypatch.chdir(tmp_path)
    names = itertools.chain(
        ["lab", "confirm"], map(str, itertools.count())
    )  # every journal has a private seed of its own
    monkeypatch.setattr(journal_module.secrets, "token_hex", lambda size: private(next(names)))
    for name in ("a.json", "a.db", "none.json", *(f"{each}.csv" for each in ("a", *TABLES))):
        (tmp_path / name).write_bytes((certificates / name).read_bytes())

    class Lab:
        folder = tmp_path

        def __call__(self, *words, code=0):
            found = main([str(word) for word in words])
            self.out, self.err = capsys.readouterr()
            assert found == code, self.out + self.err
            return self.out

        def confirm(self, *words, pool="b", code=0, labels=True):
            files = ["--pool", f"{pool}.csv", "--journal", f"{pool}.db", "--out", f"{pool}.json"]
            source = ["--labels", f"{pool}.csv:truth"] if labels else []
            return self("lab", "confirm", "a.json", *files, *source, *words, code=code)

        def told(self, *words, **options):
            return json.loads(self.confirm(*words, "--json", **options))

        def content(self, name="b.json"):
            return json.loads((tmp_path / name).read_text())

    return Lab()


# ---- outcomes ----


def test_a_good_answer_is_confirmed_and_anyone_can_check(lab):
    told = lab.told("--margin", ".2", "--public", "p.csv", code=2)
    assert "was not made from a public table" in told["message"]
    told = lab.told("--margin", ".2", "--against-journal", "a.db", code=2)
    assert "items of the pool were asked in the run that found the answer" in told["message"]
    assert not (lab.folder / "b.db").exists()  # nothing was begun
    told = lab.told("--margin", ".2")
    assert (told["schema"], told["status"], told["outcome"]) == ("replical.confirm/1", "done", "confirmed")
    assert (told["confirms"]["margin"], told["confirms"]["level"]) == (0.2, 0.2)  # β = min(δ, ρ/2)
    assert told["labels"]["asked"] == told["labels"]["answered"] > 0
    written = lab.content()["body"]
    assert told["proof"]["against"] is None
    assert told.items() >= {key: written[key] for key in ("hypothesis", "proof", "confirms", "labels")}.items()
    assert (written["certified"], written["rho_proven"], written["answer_error"]) == (True, 1.0, None)
    for files in ([], ["--pool", "b.csv"], ["--pool", "b.csv", "--journal", "b.db"]):
        lab("verify", "b.json", *files)
    assert "Valid, as far as the file, its pool and its journal can show: " in lab.out
    lab("verify", "b.json", "--pool", "small.csv", code=1)
    lab("verify", "b.json", "--pool", "b.csv", "--journal", "a.db", code=1)
    assert "this is the journal of another run" in lab.out
    name = told["hypothesis"]["description"]
    lab("verify", "b.json", "--html", "page.html")
    page = Tags((lab.folder / "page.html").read_text()).texts
    assert "Confirmed\nConfirmation of a published answer" in page
    assert f"Confirmed: {name} errs at most 0.2 more" in page
    lab("compare", "a.json", "b.json", code=4)
    assert lab.out.startswith(f"Not replicated: 1 lab ran the protocol, and chose {name}; a confirmation is no second")
    assert f"Confirmed by lab 2 (no name, claimed): {name}, margin 0.2, level 0.2." in lab.out
    before = lab.content()
    lab.confirm("--margin", ".2")
    assert before["body"] == lab.content()["body"]


def test_a_bad_answer_is_refuted(lab):
    lab.confirm("--margin", ".1", "--level", ".05", pool="other", code=1)
    found = lab.content("other.json")["body"]
    answer, against = found["hypothesis"]["description"], found["proof"]["against"]
    assert (found["proof"]["outcome"], found["certified"]) == ("refuted", False)
    assert f"Refuted: {answer} errs" in lab.out
    assert f"It lost to m{against}." in lab.out
    lab("verify", "other.json", "--pool", "other.csv", "--journal", "other.db")
    lab.confirm("--margin", ".2")
    told = json.loads(lab("compare", "a.json", "b.json", "other.json", "--json", code=1))
    assert (told["identical"], told["same_protocol"], told["same_index"]) == (False, True, True)
    assert told["first_difference"] == f"lab 3 refuted {answer!r}"
    assert [each["outcome"] for each in told["confirmations"]] == ["confirmed", "refuted"]


def test_undecided_at_its_budget_it_goes_on_with_a_larger_one(lab):
    lab.confirm("--margin", ".1", "--max-labels", "4", code=4)
    assert "Undecided: the budget of 4 labels was spent." in lab.out
    assert "What helps: a larger budget, with the same journal; or a larger margin." in lab.out
    found = lab.content()["body"]
    assert (found["labels"]["asked"], found["confirms"]["max_labels"]) == (4, 4)
    assert found["proof"]["against"] != found["hypothesis"]["index"]
    lab("verify", "b.json", "--pool", "b.csv", "--journal", "b.db")
    lab("compare", "a.json", "b.json", code=4)
    assert "Undecided by lab 2 (no name, claimed): " in lab.out
    lab.confirm("--margin", ".1")
    assert lab.content()["body"]["proof"]["outcome"] == "confirmed"
    lab("verify", "b.json", "--pool", "b.csv", "--journal", "b.db")


def test_undecided_at_the_end_of_the_pool(lab):
    lab.confirm("--margin", ".001", pool="small", code=4)
    assert "Undecided: the pool was used up." in lab.out
    assert "30 of 30 items were looked at." in lab.out


def test_the_question_and_its_cost_come_first_and_only_then(lab):
    lab.confirm("--ask", "file", labels=False, code=3)
    assert "err at most 0.4 more than the best of 6 models? 400 items, level 0.2." in lab.err
    assert "some dozens of labels if it is far from the margin, thousands if it is close to it" in lab.err
    assert "For another lab's answer --margin 0.8, twice epsilon, is the advice" in lab.err
    lab.confirm()  # the same journal goes on
    assert "some dozens" not in lab.err
    lab.confirm("--margin", ".1", "--level", ".1", pool="other", code=1)
    assert "twice epsilon" not in lab.err


# ---- labels from people ----


def truth_of(pool):
    return dict(zip(TABLES[pool]["id"], TABLES[pool]["truth"], strict=True))


def test_by_file_with_skips(lab):
    truth, skipped = truth_of("b"), 0
    while True:
        code = main(["lab", "confirm", "a.json", "--pool", "b.csv", "--journal", "b.db", "--out", "b.json", "--margin", ".1",
                     "--ask", "file", "--batch", "8"])  # fmt: skip
        if code != 3:
            break
        (batch,) = sorted((lab.folder / "b.batches").glob("*.csv"))[-1:]
        header, *rows = csv.reader(io.StringIO(batch.read_text()))
        for row in rows:
            row[-1] = row[-1] or ("?" if skipped < 3 else truth[row[0]])
            skipped += row[-1] == "?"
        with batch.open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
    assert code == 0
    found = lab.content()["body"]
    assert (found["proof"]["outcome"], found["labels"]["skipped"], found["proof"]["unlabelled"]) == ("confirmed", 3, 3)
    lab("verify", "b.json", "--pool", "b.csv", "--journal", "b.db")


def test_nothing_is_confirmed_of_what_nobody_can_label(lab, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("?\n" * 700))
    lab.confirm("--margin", ".3", "--ask", "terminal", labels=False, code=4)
    assert "items on which candidates differ could not be labelled, and only 0 were" in lab.out
    found = lab.content()["body"]
    assert (found["proof"]["outcome"], found["proof"]["against"], found["labels"]["asked"]) == ("undecided", None, 0)
    lab("verify", "b.json", "--pool", "b.csv", "--journal", "b.db")


def test_pending_labels_and_corrections(lab, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("no\nyes\nq\n"))
    told = lab.told("--margin", ".1", "--ask", "terminal", labels=False, code=3)
    assert (told["status"], told["outcome"], told["labels"]["answered"]) == ("pending", None, 2)
    lab("lab", "confirm", "a.json", "--pool", "b.csv", "--journal", "b.db", "--out", "b.json", "--labels", "b.csv:truth",
        "--margin", ".1")  # fmt: skip
    with Journal("b.db", write=False) as journal:
        answers = [event for event in journal.events() if event.kind == "answer"]
    for event in answers[:3]:
        lab("journal", "correct", "b.db", "--item", event.item, "--label", ("yes", "no")[event.label])
    code = main(["lab", "confirm", "a.json", "--pool", "b.csv", "--journal", "b.db", "--out", "b.json", "--margin", ".1",
                 "--labels", "b.csv:truth"])  # fmt: skip
    assert code in (0, 1, 4)
    found = lab.content()["body"]
    assert found["labels"]["corrected"] == 3
    assert found["runs_in_journal"] == (1 if code == 0 else 2)
    lab("verify", "b.json", "--pool", "b.csv", "--journal", "b.db")


# ---- what is refused ----


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pool", "a.csv"], "the answer was computed on these items, so they cannot confirm it"),
        (["--margin", "1"], "margin must be in (0, 1), got 1"),
        (["--level", "1.5"], "level must be in (0, 1), got 1.5"),
        (["--level", "half"], "'half' is not a number"),
        (["--max-labels", "1"], "max_labels = 1 is below batch = 2, so not even one batch could be asked"),
        (["--batch", "0"], "batch must be a whole number of at least 1, got 0"),
        (["--ask", "page"], "give --labels FILE:COLUMN or --ask"),
        (["--pool", "empty.csv"], "empty.csv holds no items"),
        (["--pool", "narrow.csv"], "narrow.csv has no column 'm1'"),
        (["--labels", "b.csv:text"], "which is none of ['no', 'yes']"),
        (["--labels", "b.csv:m1"], "is a candidate of the protocol: its predictions are not the labels"),
        (["--out", "nowhere/b.json"], "there is no folder nowhere for --out b.json"),
        (["--against-journal", "nowhere.db"], "there is no journal nowhere.db"),
        (["--against-journal", "another.db"], "is not the journal of the run that wrote the certificate"),
    ],
)
def test_bad_input_is_one_sentence(lab, words, message):
    (lab.folder / "empty.csv").write_text("id,m0,m1,m2,m3,m4,m5\n")
    (lab.folder / "narrow.csv").write_text("id,m0\n1,no\n")
    Journal("another.db").close()
    usual = {"--pool": "b.csv", "--journal": "b.db", "--out": "b.json", "--labels": "b.csv:truth"}
    given = usual | dict(zip(words[::2], words[1::2], strict=True))
    told = json.loads(
        lab("lab", "confirm", "a.json", *[word for pair in given.items() for word in pair], "--json", code=2)
    )
    assert message in told["message"]
    assert "\n" not in told["message"]
    assert not (lab.folder / "b.db").exists()
    assert not (lab.folder / "b.json").exists()


def test_certificates_that_cannot_be_confirmed(lab):
    files = ["--pool", "b.csv", "--journal", "b.db", "--out", "b.json", "--labels", "b.csv:truth"]
    forged = json.loads((lab.folder / "a.json").read_text())
    forged["body"]["certified"] = not forged["body"]["certified"]
    write(forged, lab.folder / "forged.json")
    lab("lab", "confirm", "forged.json", *files, code=2)
    assert "the certificate is not valid (the digest is that of the body: " in lab.err
    newer = (lab.folder / "a.json").read_text().replace("replical.certificate/3", "replical.certificate/9")
    (lab.folder / "newer.json").write_text(newer)
    lab("lab", "confirm", "newer.json", *files, code=2)
    assert "says 'replical.certificate/9', this version reads" in lab.err
    lab("lab", "confirm", "none.json", *files, code=2)
    assert "has no answer, no heavy hitter was found, so there is nothing to confirm" in lab.err
    lab("lab", "confirm", "a.json", *files)
    lab("lab", "confirm", "b.json", *files[:4], "--out", "c.json", *files[6:], code=2)
    assert "is itself a confirmation: give the certificate that it is about" in lab.err


def test_a_journal_belongs_to_one_confirmation(lab):
    lab.confirm("--margin", ".2")
    for words, key in (
        (["--margin", ".3"], "margin 0.2, here it is 0.3"),
        (["--margin", ".2", "--batch", "3"], "batch 2"),
    ):
        assert f"belongs to a confirmation with {key}" in lab.told(*words, code=2)["message"]
    assert "level 0.2, here it is 0.1" in lab.told("--margin", ".2", "--level", ".1", code=2)["message"]
    protocol = json.loads((lab.folder / "a.json").read_text())["body"]["protocol"]
    (lab.folder / "p.toml").write_text(Protocol.of(protocol).toml())
    files = ["--pool", "b.csv", "--out", "x.json", "--labels", "b.csv:truth"]
    lab("run", "p.toml", *files, "--journal", "b.db", code=2)
    assert "the journal b.db belongs to a confirmation, not to a run: give this one a journal of its own" in lab.err
    lab("lab", "confirm", "a.json", *files, "--journal", "a.db", code=2)
    assert "the journal a.db belongs to a run, not to a confirmation" in lab.err


# ---- by whom, and about what ----


OTHERS = (1, 3)


@pytest.mark.parametrize("others", OTHERS)
def test_confirmations_replicate_nothing_however_many(lab, others):
    """Whoever has a certificate can make a table on which its answer holds."""
    assert sum(OTHERS) == ATTACKS["confirmations by nobody, beside one run"]
    for number in range(others):
        lab.confirm("--margin", ".2", "--lab", f"lab {number}", pool="b" if number == 0 else f"b{number}")
        (lab.folder / f"b{number + 1}.csv").write_text(
            (lab.folder / "b.csv").read_text().replace("\ni", f"\nj{number}-")
        )
    files = ["b.json", *(f"b{number}.json" for number in range(1, others))]
    told = json.loads(lab("compare", "a.json", *files, "--json", code=4))
    assert (told["replicated"], told["identical"], told["runs"]) == (False, True, 1)
    assert [each["certified"] for each in told["files"]] == [True] * (1 + others)
    assert [(each["name"], each["signed"]) for each in told["confirmations"]] == [
        (f"lab {number}", False) for number in range(others)
    ]


def test_a_confirmation_is_compared_with_the_certificate_that_it_names(lab):
    lab.confirm("--margin", ".2", "--lab", "reader")
    write(forge(lab.content("a.json"), ("runs_in_journal", 2)), lab.folder / "again.json")
    lab("compare", "again.json", "b.json", code=2)
    assert "file 2 confirms the answer of the certificate sha256:" in lab.err
    assert "which is not among these: give it too" in lab.err
    found = lab.content()
    write(forge(found, ("confirms.pool_fingerprint", found["body"]["class_fingerprint"])), lab.folder / "other.json")
    lab("compare", "a.json", "other.json", code=2)
    assert "and tells another answer, protocol or pool than that" in lab.err
    write(forge(lab.content("a.json"), ("lab", "reader")), lab.folder / "named.json")
    digest = lab.content("named.json")["digest"]
    write(forge(found, ("confirms.certificate", digest)), lab.folder / "own.json")
    lab("compare", "named.json", "own.json", code=2)
    assert "files 1 and 2 are both of the lab 'reader': give one file a lab" in lab.err


def test_where_a_protocol_lists_keys_whoever_confirms_signs(lab, certificates, tmp_path):
    keys = {name: new_key(tmp_path / f"{name}.pem")[1] for name in ("north", "reader")}
    said = content(batch=2) | {"labs": {"names": ["north", "south"], "keys": {"north": keys["north"]}}}
    with Run(tmp_path, said, world(seed=11), "listed") as run:
        run.session.sign("north")
        write(read_private(tmp_path / "north.pem").sign(certify(run.session)), tmp_path / "a.json")
    lab.confirm("--margin", ".2", code=2)
    assert "the protocol lists the keys of labs, so a lab that runs it has a name: give --lab NAME" in lab.err
    lab.confirm("--margin", ".2", "--lab", "reader", code=2)
    assert "so whoever confirms signs: give --key FILE, a private key" in lab.err
    lab.confirm("--margin", ".2", "--lab", "north", "--key", "reader.pem", code=2)
    assert "reader.pem is not the key that the protocol lists for the lab 'north'" in lab.err
    lab.confirm("--margin", ".2", "--lab", "reader", "--key", "reader.pem")
    lab("verify", "b.json", "--pool", "b.csv", "--journal", "b.db", "-v")
    assert "whose signature it is: the protocol lists no key of this lab" in lab.out
    lab("compare", "a.json", "b.json", code=4)
    assert "Confirmed by lab 2 (reader, claimed): " in lab.out
    signed = lab.content()
    unnamed = {key: value for key, value in signed["body"].items() if key != "lab"}
    for forged in (
        {key: value for key, value in forge(signed).items() if key != "signature"},
        resealed({key: signed[key] for key in ("schema", "provenance")} | {"body": unnamed}),
        read_private(tmp_path / "reader.pem").sign(forge(signed, ("lab", "north"))),
    ):
        write(forged, tmp_path / "forged.json")
        lab("compare", "a.json", "forged.json", code=2)
        assert "forged.json is not valid (signed by " in lab.err
    listed = read_private(tmp_path / "north.pem").sign(forge(signed, ("lab", "north")))
    assert verify(listed).valid


def test_a_confirmation_is_registered_before_its_first_label(lab):
    told = json.loads(lab.confirm("--margin", ".2", "--lab", "reader", "--register", "r.json", "--json"))
    assert told["status"] == "registered"
    assert not (lab.folder / "b.json").exists()
    lab.confirm("--margin", ".2")
    lab("verify", "b.json", "--registration", "r.json")
    lab("compare", "a.json", "b.json", "--registration", "r.json", code=1)
    assert "Not as registered: certificate 1 has no registration here." in lab.out


# ---- forgeries ----


def forge(content, *changes):
    """What a forger does who knows how the files are made; a change is a path in the body and a value."""
    forged = copy.deepcopy(content)
    for path, value in changes:
        *parts, last = path.split(".")
        place = functools.reduce(lambda found, key: found[key], parts, forged["body"])
        place[last] = value
    return resealed(forged)


VERDICT = {"helps": "", "why": ""}
CONFIRMED = (
    ("proof.outcome", "confirmed"), ("certified", True), ("verdict", VERDICT | {"certified": True}),
)  # fmt: skip
REFUTED = (("proof.outcome", "refuted"), ("verdict", VERDICT | {"certified": False, "why": "refuted"}))


def test_forgeries_are_found_at_the_level_that_knows_better(lab):
    lab.confirm("--margin", ".1", "--max-labels", "4", code=4)
    honest = lab.content()
    body, protocol = honest["body"], Protocol.of(honest["body"]["protocol"])
    h, against, pool = body["hypothesis"]["index"], body["proof"]["against"], body["pool"]
    lab_pool = read_pool("b.csv", protocol.recipe)
    assert verify(forge(honest)).valid
    alone = {"count": 1, "ranges": [[h, h]]}
    for changes in (
        [("proof.outcome", "confirmed")],
        [("certified", True)],
        [("rho_proven", None)],
        [("answer_error", {"estimate": 0.0, "low": 0.0, "high": 0.0, "level": 0.1, "of": "error", "labels": 0, "skipped": 0})],
        [("verdict.why", "")],
        CONFIRMED,
        [*CONFIRMED, ("proof.against", None)],
        [*CONFIRMED, ("proof.against", None), ("survivors", alone)],
        REFUTED,
        [("proof.outcome", "perhaps")],
        [("proof.family", "handicap")],
        [("proof.against", None)],
        [("proof.against", h)],
        [("proof.against", 99)],
        [("survivors", alone)],
        [("confirms.margin", 2.0)],
        [("confirms.margin", "0.1")],
        [("confirms.max_labels", None)],
        [("confirms.pool_fingerprint", pool["fingerprint"])],
        [("confirms.more", 1)],
        [("confirms", None)],
        [("plan.numbers", [])],
        [("protocol_fingerprint", body["class_fingerprint"])],
        [("hypothesis", {"index": 0, "description": "another"})],
        [("hypothesis", None)],
    ):  # fmt: skip
        assert not verify(forge(honest, *changes)).valid, changes
    unsealed = copy.deepcopy(honest)
    unsealed["body"]["runs_in_journal"] = 2
    assert not verify(unsealed).valid
    run = copy.deepcopy(honest)
    del run["body"]["confirms"]
    assert not verify(resealed(run)).valid
    left = [each for low, high in body["survivors"]["ranges"] for each in range(low, high + 1)]
    other = next(each for each in left if each not in (h, against))
    rank = f"{protocol.shared.word('order', index=other):016x}"
    numbers = [each | {"value": [1, 10]} if each["name"] == "level" else each for each in body["plan"]["numbers"]]
    with Journal("b.db", write=False) as journal:
        assert verify(forge(honest), lab_pool, journal).valid
        for changes in (
            [("proof.against", other)],
            [("hypothesis", {"index": other, "description": f"m{other}"}), ("shared.winner_rank", rank)],
            [("confirms.level", 0.1), ("plan.numbers", numbers)],
            [("confirms.certificate", body["class_fingerprint"])],
        ):
            assert verify(forge(honest, *changes)).valid, "nobody can know it yet"
            assert not verify(forge(honest, *changes), lab_pool, journal).valid, changes
    forged = forge(honest, *CONFIRMED, ("proof.against", None), ("survivors", alone))
    write(forged, lab.folder / "forged.json")
    lab("verify", "forged.json", code=1)
    lab("compare", "a.json", "forged.json", code=2)
    assert "is not valid (so many items and labels can decide this: " in lab.err
