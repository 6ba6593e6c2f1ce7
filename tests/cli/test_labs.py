"""Labs with names: who ran, who is compared, and what it says that all labs of a list agree."""

import copy
import json
from pathlib import Path

import pytest

from replical.lab.certificate.compare import compare
from replical.lab.certificate.file import certify, write
from replical.lab.certificate.verify import verify
from replical.lab.journal.journal import Journal
from support.certificates import resealed
from support.lab import Run, content, world, write_csv

NAMES = ["north", "south", "east"]
LISTED = content(epsilon=0.2, labs=4, nu=0) | {"labs": {"names": NAMES}}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Three listed labs that agree, one that agrees and is not listed, one that does not agree."""
    folder, made = tmp_path_factory.mktemp("named"), {}
    worlds = {name: {"seed": 11 + place, "best": 0.0} for place, name in enumerate([*NAMES, "other"])}
    for name, options in {**worlds, "apart": {"seed": 15, "best": 0.6, "worst": 0.0}}.items():
        lab = {"other": None, "apart": "east"}.get(name, name)
        with Run(folder, LISTED, world(items=600, **options), name) as run:
            if lab is not None:
                run.session.sign(lab)
            made[name] = certify(run.session)
        write(made[name], folder / f"{name}.json")
    return folder, made


# ---- a run with a name ----


@pytest.fixture
def lab(tmp_path, monkeypatch, command):
    """A folder with a protocol that lists labs, and a table."""
    monkeypatch.chdir(tmp_path)
    columns = world(items=100, seed=3, best=0.0)
    write_csv("pool.csv", columns)
    (tmp_path / "candidates.txt").write_text("".join(f"m{c}\n" for c in range(6)))
    names = [word for name in NAMES for word in ("--lab", name)]
    numbers = ["--learner", "handicap", "--set", "nu=0", "--epsilon", ".4", "--delta", ".2", "--rho", ".6", "--seed",
               "a published text"]  # fmt: skip
    source = ["--candidates", "candidates.txt", "--label-values", "no,yes"]
    assert command("init", "--out", "p.toml", *source, *numbers, *names)[0] == 0

    def run(*words, code=0):
        files = ["--pool", "pool.csv", "--labels", "pool.csv:truth", "--journal", "a.db", "--out", "a.json"]
        found = command("run", "p.toml", *files, "--truths", "0", *words)
        assert found[0] == code, found
        return found

    return run


def body_of_a():
    return json.loads(Path("a.json").read_text())["body"]


def test_a_name_is_kept_in_journal_and_certificate(lab, command):
    lab("--lab", "south")
    body = body_of_a()
    assert body["lab"] == "south"
    assert body["protocol"]["learner"]["labs"] == 3  # as many as are listed
    assert command("verify", "a.json", "--pool", "pool.csv", "--journal", "a.db", "--html", "a.html")[0] == 0
    assert "<th>lab</th><td>south</td>" in Path("a.html").read_text()
    before = body_of_a()
    lab()  # the journal knows
    assert body_of_a() == before
    message = lab("--lab", "north", code=2)[2]
    assert "is that of the lab 'south', not of 'north': give every lab a journal of its own" in " ".join(
        message.split()
    )


def test_a_lab_may_take_its_name_later(lab):
    lab()
    assert "lab" not in body_of_a()
    lab("--lab", "south")
    assert body_of_a()["lab"] == "south"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("west", "the protocol lists no lab 'west', it lists north, south, east"),
        ("", "a lab's name is one line of 1 to 80 characters"),
        ("a\nb", "a lab's name is one line of 1 to 80 characters"),
    ],
)
def test_a_name_that_is_none_is_refused_before_anything_is_written(lab, tmp_path, name, message):
    assert message in " ".join(lab("--lab", name, code=2)[2].split())
    assert not (tmp_path / "a.db").exists()


def test_a_name_in_a_certificate_is_checked(certificates):
    _, made = certificates
    assert verify(made["north"]).valid
    assert "the lab may have this name" not in {check.name for check in verify(made["other"]).checks}
    for name, found in (*((each, "the lab may have this name") for each in ("west", "", "a\nb")),
                        (5, "every part is written as it must be")):  # fmt: skip
        forged = copy.deepcopy(made["north"])
        forged["body"]["lab"] = name
        wrong = [check.name for check in verify(resealed(forged)).checks if not check.ok]
        assert wrong == [found]


def test_whose_certificate_it_is_follows_from_the_journal(certificates):
    folder, made = certificates
    forged = copy.deepcopy(made["north"])
    forged["body"]["lab"] = "south"
    with (
        Run(folder, LISTED, world(items=600, seed=11, best=0.0), "again") as run,
        Journal(folder / "north.db", write=False) as journal,
    ):
        wrong = [check.name for check in verify(resealed(forged), run.lab, journal).checks if not check.ok]
    assert wrong == ["replayed: lab"]


# ---- compared ----


def test_names_are_shown(certificates, command):
    folder, made = certificates
    code, out, _ = command("compare", *(folder / f"{name}.json" for name in NAMES))
    assert code == 0
    assert "alone is left in all 3 labs (north, south, east). " in " ".join(out.split())
    found = compare([made["north"], made["apart"]])
    assert found.labs == ("north", "east")
    assert found.first_difference.startswith("no model is left in all labs")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Three runs of a learner that proves no set, two of them with one name and different answers."""
    folder, made = tmp_path_factory.mktemp("plain"), []
    said = content("cal") | {"labs": {"names": NAMES}}
    for number, (lab, best) in enumerate([("north", 0.0), ("east", 0.0), ("east", 0.6)]):
        with Run(folder, said, world(items=300, seed=number, best=best, worst=0.6 - best), f"{number}") as run:
            run.session.sign(lab)
            made.append(certify(run.session))
        write(made[-1], folder / f"{number}.json")
    return folder, made


def test_a_lab_with_another_answer_is_named(plain):
    _, made = plain
    found = compare([made[0], made[2]])
    assert found.labs == ("north", "east")
    assert found.first_difference.startswith("certificate 2 (east) chose ")


def test_one_lab_twice_is_refused(plain, command):
    folder, made = plain
    code, _, err = command("compare", *(folder / f"{number}.json" for number in range(3)))
    assert code == 2
    assert "files 2 and 3 are both of the lab 'east': give one file a lab" in " ".join(err.split())
    other = copy.deepcopy(made[2])
    other["body"]["protocol_fingerprint"] = "another"
    assert not compare([made[1], other]).same_protocol  # a lab may take part in two protocols


def test_more_certificates_than_the_protocol_has_labs_for_are_proven_less(certificates):
    """Every set counts at its own level: so many labs are together wrong with probability Kβ, whatever K was planned."""
    _, made = certificates
    many = [copy.deepcopy(made["other"]) for _ in range(3)]
    for number, each in enumerate(many):
        each["body"]["private_commitment"] = f"{number}"
    beta = made["north"]["body"]["proof"]["beta"]
    assert compare([made["north"], *many]).common.level == pytest.approx(4 * beta)
    assert compare([made["north"], made["south"], *many]).common.level == pytest.approx(5 * beta)
