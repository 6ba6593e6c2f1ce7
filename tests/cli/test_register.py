"""``run --register``, ``--beacon`` and ``--key``, and ``keys``: what a lab does before its first label."""

import csv
import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")
pytest.importorskip("cryptography")

from replical.lab.certificate.verify import verify
from replical.lab.registration import write
from replical.lab.signatures import read_private
from support.registering import BEACON, columns


@pytest.fixture
def lab(tmp_path, monkeypatch, command):
    """Commands in a folder with two tables and the keys of two labs; the words that are common to all runs are left out."""
    monkeypatch.chdir(tmp_path)
    for name, seed in (("a", 1), ("b", 2)):
        table = columns(seed)
        with Path(f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([table, *zip(*table.values(), strict=True)])
    Path("candidates.txt").write_text("".join(f"m{c}\n" for c in range(6)))

    def run(*words, code=0):
        found = command(*words)
        assert found[0] == code, found
        return " ".join((found[1] if code == 0 else found[2]).split())

    run.new = lambda *words, **more: run("init", "--out", "p.toml", "--candidates", "candidates.txt",
        "--label-values", "no,yes", "--learner", "erm", "--set", "k_final=15", "--epsilon", ".4", "--delta", ".2", "--rho", ".6",
        "--seed", "a text", *words, **more)  # fmt: skip
    run.run = lambda name, *words, **more: run("run", "p.toml", "--pool", f"{name}.csv", "--journal", f"{name}.db",
        "--truths", "0", *words, **more)  # fmt: skip
    run.ask = lambda name, *words, **more: run.run(
        name, "--labels", f"{name}.csv:truth", "--out", f"{name}.json", *words, **more
    )
    return run


def told(file):
    return json.loads(Path(file).read_text())


def test_register_stops_before_the_first_label_and_the_run_goes_on_later(lab, command):
    lab.new("--register", "--lab", "north", "--lab", "south")
    assert "the protocol asks every lab to register before its first label" in lab.ask("a", "--lab", "north", code=2)
    said = lab.run("a", "--lab", "north", "--register", "a.reg.json")
    made = told("a.reg.json")
    assert said == (
        f"Registered: a.reg.json, {made['digest']} No label was asked. Publish the file; run without --register once it is "
        "public."
    )
    assert set(made) == {
        "schema", "protocol_fingerprint", "pool_fingerprint", "private_commitment", "lab", "confirms", "digest",
        "provenance",
    }  # fmt: skip
    kinds = [line.split(",")[1] for line in command("journal", "export", "a.db")[1].splitlines()[1:]]
    assert kinds == ["created", "lab", "registration"]
    before = Path("a.reg.json").read_bytes()
    lab.run("a", "--register", "a.reg.json")  # the journal knows: the same bytes again
    assert Path("a.reg.json").read_bytes() == before
    lab.ask("a")
    assert told("a.json")["body"]["registration"] == made["digest"]
    assert lab.run("a", "--register", "a.reg.json") == said  # also later, if the file was lost
    message = lab.run("b", "--lab", "south", "--register", "a.reg.json", code=2)
    assert "a.reg.json is the registration of another run: give another --register, or move it away" in message


def test_register_and_go(lab):
    lab.new()
    found = json.loads(lab.run("b", "--register", "b.reg.json", "--json"))
    assert found["status"] == "registered"
    assert found["lab"] is None
    lab.ask("a", "--register", "a.reg.json", "--go")
    assert told("a.json")["body"]["registration"] == told("a.reg.json")["digest"]


def test_a_run_without_a_registration_says_what_could_be_registered(lab, command):
    lab.new()
    _, _, err = command("run", "p.toml", "--pool", "a.csv", "--journal", "a.db", "--labels", "a.csv:truth", "--out",
        "a.json", "--truths", "0", "-v")  # fmt: skip
    body = told("a.json")["body"]
    said = " ".join(err.split())
    assert f"items {body['pool']['fingerprint'][:23]}" in said
    assert f"committed to as {body['private_commitment'][:23]}" in said
    assert "labels already: a run is registered before its first label" in lab.run("a", "--register", "r.json", code=2)
    assert not Path("r.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--go",), "--go is about --register"),
        (("--beacon", "4f1c"), "the protocol names no beacon: leave out --beacon 4f1c"),
        (("--beacon", ""), "the value of a beacon is one line"),
        (("--register", "a.csv"), "--register a.csv is also --pool"),
        (("--register", "p.toml", "--go"), "--register p.toml is also the protocol"),
        (("--register", "a.json", "--go"), "--register a.json is also what another option writes"),
        (("--register", "nowhere/r.json"), "there is no folder nowhere"),
        (("--key", "missing.pem"), "cannot read the key missing.pem"),
        (("--key", "a.csv"), "a.csv holds no private key in PEM"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(lab, words, message):
    lab.new()
    assert message in lab.ask("a", *words, code=2)
    assert not Path("a.db").exists()


def test_a_beacon_is_waited_for(lab):
    lab.new("--beacon", BEACON)
    for words, message in (
        (("--register", "a.reg.json", "--go"), f"the run waits for a public value, '{BEACON}'"),
        (("--register", "a.reg.json", "--beacon", "4f1c"), "a run is registered before the beacon's value exists"),
        (("--beacon", "4f1c"), "has no registration, and that comes before the beacon"),
    ):
        assert message in lab.ask("a", *words, code=2)
    assert f"'{BEACON}' is known (--beacon VALUE)" in lab.run("a", "--register", "a.reg.json")
    assert f"waits for a public value, '{BEACON}': give --beacon VALUE" in lab.ask("a", code=2)
    lab.ask("a", "--beacon", "4f1c")
    assert told("a.json")["body"]["beacon"] == "4f1c"
    assert "which cannot change any more" in lab.ask("a", "--beacon", "4f1d", code=2)
    lab("verify", "a.json", "--pool", "a.csv", "--journal", "a.db")


def test_labs_sign_with_the_keys_that_the_protocol_lists(lab):
    for name in ("north", "south"):
        made = json.loads(lab("lab", "keys", "new", "--out", f"{name}.pem", "--json"))
        assert lab("lab", "keys", "show", made["public"]) == made["key"]
        assert "exists: a key is not overwritten" in lab("lab", "keys", "new", "--out", f"{name}.pem", code=2)
    assert "is a private key" in lab.new("--lab", "north=north.pem", "--lab", "south", code=2)
    lab.new("--lab", "north=north.pub.pem", "--lab", "south=south.pub.pem")
    for words, message in (
        ((), "the protocol lists the keys of labs, so a lab that runs it has a name: give --lab NAME"),
        (("--lab", "north"), "the protocol lists a key of the lab 'north': sign with --key FILE"),
        (
            ("--lab", "north", "--key", "south.pem"),
            "south.pem is not the key that the protocol lists for the lab 'north'",
        ),
    ):
        assert message in lab.run("a", "--register", "a.reg.json", *words, code=2)
    assert not Path("a.reg.json").exists()
    lab.run("a", "--lab", "north", "--key", "north.pem", "--register", "a.reg.json")
    assert "sign with --key FILE" in lab.ask("a", code=2)
    lab.ask("a", "--key", "north.pem")
    certificate = told("a.json")
    assert "signed by north" in [check.name for check in verify(certificate).checks if check.ok]
    lab("verify", "a.json", "--html", "a.html")
    page = Path("a.html").read_text()
    assert all(each in page for each in (certificate["signature"]["key"], told("a.reg.json")["digest"]))
    unsigned = {key: value for key, value in certificate.items() if key != "signature"}
    assert "it is not signed, and the protocol lists a key of 'north'" in [
        check.detail for check in verify(unsigned).failed
    ]


def test_a_signature_that_nobody_asked_for_must_be_right(lab):
    lab.new()
    lab("lab", "keys", "new", "--out", "a.pem")
    lab.ask("a", "--key", "a.pem")
    certificate = told("a.json")
    assert verify(certificate).valid
    assert not verify(certificate | {"signature": certificate["signature"] | {"value": "AAAA"}}).valid


# ---- verify and compare ----


@pytest.fixture
def two(lab):
    """Two labs that registered, waited for one value and ran."""
    lab.new("--beacon", BEACON, "--lab", "north", "--lab", "south")
    for name, lab_name in (("a", "north"), ("b", "south")):
        lab.run(name, "--lab", lab_name, "--register", f"{name}.reg.json")
        lab.ask(name, "--beacon", "4f1c")
    return lab


def test_verify_checks_a_certificate_against_its_registration(two, command):
    assert "Valid" in two("verify", "a.json", "--registration", "a.reg.json")
    told_all = json.loads(command("verify", "a.json", "--registration", "a.reg.json", "--json")[1])
    status = {check["name"]: check["status"] for check in told_all["checks"]}
    assert status["registered: the private seed"] == "checked"
    assert status["the registration was published before the first label"] == "not checkable"
    assert status["the value of the beacon is the public one"] == "not checkable"
    alone = {check["name"]: check for check in json.loads(command("verify", "a.json", "--json")[1])["checks"]}
    assert alone["the registration was published before the first label"]["needs"] == "registration"
    code, out, _ = command("verify", "a.json", "--registration", "b.reg.json")
    assert code == 1
    for wrong in ("the items", "the private seed", "the lab"):
        assert f"WRONG  registered: {wrong}: " in out
    Path("broken.json").write_text("{}")
    code, out, _ = command("verify", "a.json", "--registration", "broken.json")
    assert code == 1
    assert "WRONG  the file is a registration: broken.json is no registration of replical" in out
    assert "cannot read the registration missing.json" in two(
        "verify", "a.json", "--registration", "missing.json", code=2
    )


def test_compare_counts_registrations(two, command):
    both = ["--registration", "a.reg.json", "--registration", "b.reg.json"]
    code, out, err = command("compare", "a.json", "b.json", *both)
    assert "Registered: 2 runs, each with its certificate, one a lab." in out
    assert "the protocol asks labs to register" not in err
    agree = code == 0
    code, out, err = command("compare", "a.json", "b.json")
    assert "Warning: the protocol asks labs to register" in err
    assert (code == 0) == agree
    code, out, _ = command("compare", "a.json", "b.json", "--registration", "a.reg.json")
    assert code == 1
    assert "Not as registered: certificate 2 (south) has no registration here." in out
    two.run("b", "--journal", "again.db", "--lab", "south", "--register", "again.json")
    code, out, _ = command("compare", "a.json", "b.json", *both, "--registration", "again.json", "--json")
    assert code == 1
    assert json.loads(out)["registrations"] == {
        "given": 3,
        "wrong": [
            "again.json registers a run of 'south' that has no certificate here",
            "b.reg.json and again.json register two runs of 'south'",
        ],
    }


def test_compare_wants_one_value_of_the_beacon(two, command):
    two.run("b", "--journal", "other.db", "--lab", "south", "--register", "other.reg.json")
    two("run", "p.toml", "--pool", "b.csv", "--labels", "b.csv:truth", "--truths", "0", "--journal", "other.db", "--out",
        "other.json", "--beacon", "4f1d")  # fmt: skip
    code, out, _ = command("compare", "a.json", "other.json")
    assert code == 1
    assert "certificate 2 (south) has the beacon's value '4f1d', certificate 1 (north) has '4f1c'." in out


def test_a_registration_must_be_signed_by_a_lab_that_signs(lab, command):
    for name in ("north", "south"):
        lab("lab", "keys", "new", "--out", f"{name}.pem")
    lab.new("--register", *(word for name in ("north", "south") for word in ("--lab", f"{name}={name}.pub.pem")))
    lab.run("a", "--lab", "north", "--key", "north.pem", "--register", "a.reg.json")
    lab.ask("a", "--key", "north.pem")
    assert "Valid" in lab("verify", "a.json", "--registration", "a.reg.json")
    write(read_private(Path("south.pem")).sign(told("a.reg.json")), Path("forged.json"))
    code, out, _ = command("verify", "a.json", "--registration", "forged.json")
    assert code == 1
    assert "WRONG  registered: signed by north: it is signed with the key of 'south', not with that of 'north'" in out
