"""Certificates as in-toto Statements, in DSSE envelopes where labs sign: written, read, and refused where they were changed."""

import base64
import json
import random

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")
pytest.importorskip("cryptography")

from replical.errors import BadCertificate
from replical.lab.certificate.envelope import PAYLOAD, PREDICATE, STATEMENT
from replical.lab.certificate.file import read, text_of, write_enveloped
from replical.lab.signatures import new_key, read_private
from support.lab import Run, content, world
from support.registering import columns

DIGEST = "sha256:" + "5" * 64


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A signed certificate of a run whose candidates are files, and who signed it."""
    folder, columns = tmp_path_factory.mktemp("run"), world(candidates=3, items=60)
    said = content(batch=10)
    listed = [{"name": f"m{c}", "digest": DIGEST} for c in range(3)]
    new_key(folder / "lab.pem")
    signer = read_private(folder / "lab.pem")
    with Run(folder, said | {"class": {"kind": "table", "candidates": listed}}, columns, "a") as run:
        return signer.sign(run.certificate), signer


@pytest.fixture(params=["statement", "envelope"])
def written(request, run, tmp_path):
    path = tmp_path / "a.json"
    write_enveloped(run[0], path, run[1] if request.param == "envelope" else None)
    return path


def test_what_is_written_is_read(run, written):
    assert read(written) == run[0]


def statement(path):
    found = json.loads(path.read_text())
    return json.loads(base64.b64decode(found["payload"])) if "payload" in found else found


def test_it_is_about_the_protocol_and_the_model(run, written):
    body, found = run[0]["body"], statement(written)
    assert (found["_type"], found["predicateType"]) == (STATEMENT, PREDICATE)
    assert found["subject"] == [
        {"name": "protocol", "digest": {"sha256": body["protocol_fingerprint"].removeprefix("sha256:")}},
        {"name": body["hypothesis"]["description"], "digest": {"sha256": "5" * 64}},
    ]


def test_every_byte_that_says_something_is_kept(run, written):
    """Wherever one byte is another one, the file is refused, or says the same in every part."""
    whole, draw = written.read_bytes(), random.Random(1)
    for _ in range(300):
        place = draw.randrange(len(whole))
        other = whole[:place] + bytes([draw.choice(b'0aZ"} ')]) + whole[place + 1 :]
        written.write_bytes(other)
        if other == whole:
            continue
        try:
            found = read(written)
        except BadCertificate:
            continue
        assert text_of(found) != text_of(run[0])  # the body was changed: the digest and signature in it tell
        assert statement(written)["predicate"] == found


def rewritten(path, change):
    """An envelope with one part changed, as replical would write it."""
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda found: found.update(payload="?"), "its envelope is damaged"),
        (lambda found: found.update(payloadType="text/plain"), "it has been edited"),
        (lambda found: found.update(signatures=[]), "one signature"),
        (lambda found: found["signatures"].append(found["signatures"][0]), "one signature"),
        (lambda found: found["signatures"][0].update(keyid="lab"), "another key than the certificate in it"),
        (lambda found: found["signatures"][0].update(sig=base64.b64encode(bytes(64)).decode()), "is forged"),
        (lambda found: found["signatures"][0].update(sig=7), "is forged"),
        (lambda found: found.pop("signatures"), "it has been edited"),
    ],
)
def test_a_changed_envelope_is_refused(run, tmp_path, change, says):
    path = tmp_path / "a.json"
    write_enveloped(run[0], path, run[1])
    rewritten(path, change)
    with pytest.raises(BadCertificate, match=says):
        read(path)


def test_another_subject_is_refused(run, tmp_path):
    path = tmp_path / "a.json"
    write_enveloped(run[0], path, None)
    rewritten(path, lambda found: found["subject"][0]["digest"].update(sha256="0" * 64))
    with pytest.raises(BadCertificate, match="edited"):
        read(path)


def test_others_read_and_verify_it(run, tmp_path):
    """A reader of DSSE that is not ours, with the lab's key from its PEM file."""
    dsse = pytest.importorskip("securesystemslib.dsse")
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import SSlibKey

    key = f"-----BEGIN PUBLIC KEY-----\n{run[1].public}\n-----END PUBLIC KEY-----\n"
    public = SSlibKey.from_crypto(load_pem_public_key(key.encode()), keyid=run[1].public)
    write_enveloped(run[0], tmp_path / "a.json", run[1])
    found = dsse.Envelope.from_dict(json.loads((tmp_path / "a.json").read_text()))
    assert found.payload_type == PAYLOAD
    assert found.verify([public], 1) == {run[1].public: public}
    found.payload += b" "
    with pytest.raises(VerificationError):
        found.verify([public], 1)


def test_commands_write_and_read_it(tmp_path, monkeypatch, command):
    """`run` and `lab confirm` write it; `verify` and `compare` read it beside a plain certificate."""
    import csv

    monkeypatch.chdir(tmp_path)
    for name, seed in (("a", 1), ("b", 2)):
        table = columns(seed)
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([table, *zip(*table.values(), strict=True)])
    assert command("lab", "keys", "new", "--out", "key.pem")[0] == 0
    assert (
        command(
            "init", "--pool", "a.csv", "--label-column", "truth", "--epsilon", ".3", "--seed", "s", "--out", "p.toml"
        )[0]
        == 0
    )

    def run(name, *words):
        given = ("--pool", f"{name}.csv", "--labels", f"{name}.csv:truth", "--journal", f"{name}.db", "--truths", "0")
        return command("run", "p.toml", *given, "--out", f"{name}.json", *words)

    assert "in-toto, or left out" in run("a", "--envelope", "dsse")[2]
    assert run("a", "--key", "key.pem", "--envelope", "in-toto")[0] == 0
    assert run("b", "--envelope", "in-toto")[0] == 0
    assert [sorted(json.loads((tmp_path / f"{name}.json").read_text())) for name in "ab"] == [
        ["payload", "payloadType", "signatures"],
        ["_type", "predicate", "predicateType", "subject"],
    ]
    for name in "ab":
        assert command("verify", f"{name}.json", "--pool", f"{name}.csv", "--journal", f"{name}.db")[0] == 0
    assert command("compare", "a.json", "b.json")[0] in (0, 4)
    assert run("a", "--key", "key.pem")[0] == 0  # as it is, over the envelope of the same run
    assert command("verify", "a.json")[0] == 0
    given = ("--pool", "b.csv", "--labels", "b.csv:truth", "--journal", "c.db", "--out", "c.json")
    assert command("lab", "confirm", "a.json", *given, "--envelope", "in-toto")[0] in (0, 1, 4)
    assert command("verify", "c.json")[0] == 0
    assert "_type" in json.loads((tmp_path / "c.json").read_text())
