"""Keys in standard files, and signatures that nobody else can make."""

import copy
import os
import re
import subprocess

import pytest

pytest.importorskip("cryptography")

from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)

from replical.errors import BadKey, MissingExtra
from replical.lab.certificate.file import seal
from replical.lab.signatures import (
    Signer,
    is_public_key,
    new_key,
    read_private,
    read_public,
    wrong_signature,
    wrong_signer,
)

FORGED = "the signature is forged, or the file was changed after it was signed"


def signer(number):
    return Signer(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32))


def published(schema="replical.registration/1", digest="sha256:" + "a" * 64):
    made = {"created": "2030-01-01T00:00:00+00:00"}
    return {"schema": schema, "digest": digest, "provenance": made | {"seal": seal(digest, made)}, "lab": "north"}


@pytest.fixture
def keys(tmp_path):
    return tmp_path / "lab.pem", *new_key(tmp_path / "lab.pem")


def test_keys_are_standard_files_and_the_private_one_is_for_its_owner_alone(keys):
    private, public_file, public = keys
    assert private.stat().st_mode & 0o777 == 0o600
    assert public_file.name == "lab.pub.pem"
    assert private.read_text().startswith("-----BEGIN PRIVATE KEY-----\n")
    assert read_public(public_file) == public == read_private(private).public
    standard = load_pem_public_key(public_file.read_bytes())
    assert standard.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo) == public_file.read_bytes()


def test_a_key_is_private_whatever_the_user_s_mask_says(tmp_path):
    before = os.umask(0)
    try:
        new_key(tmp_path / "open.pem")
    finally:
        os.umask(before)
    assert (tmp_path / "open.pem").stat().st_mode & 0o777 == 0o600


def test_another_program_reads_the_keys(keys):
    try:
        done = subprocess.run(["openssl", "pkey", "-in", keys[0], "-pubout"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl is not there, or does not know Ed25519")
    assert done.stdout == keys[1].read_bytes()


def test_a_key_is_never_overwritten(keys, tmp_path):
    before = keys[0].read_bytes()
    with pytest.raises(BadKey, match=r"lab.pem exists: a key is not overwritten"):
        new_key(keys[0])
    (tmp_path / "other.pub.pem").write_text("something")
    with pytest.raises(BadKey, match=r"other.pub.pem exists"):
        new_key(tmp_path / "other.pem")
    assert keys[0].read_bytes() == before
    assert not (tmp_path / "other.pem").exists()
    with pytest.raises(BadKey, match=r"cannot write the key .*nowhere/a.pem: No such file"):
        new_key(tmp_path / "nowhere" / "a.pem")


def test_what_is_no_public_key_is_refused(keys, tmp_path):
    with pytest.raises(BadKey, match="is a private key, which nobody but its lab may see"):
        read_public(keys[0])
    for text in ("", "MCow", keys[2], f"-----BEGIN PUBLIC KEY-----\n{keys[2][:-4]}\n-----END PUBLIC KEY-----\n"):
        (tmp_path / "x.pem").write_text(text)
        with pytest.raises(BadKey, match=r"x.pem holds no Ed25519 public key"):
            read_public(tmp_path / "x.pem")
    for value in (None, 5, "", keys[2] + "\n", keys[2][:-1], "é", keys[2].replace("M", "N", 1), [keys[2]]):
        assert not is_public_key(value)


def test_what_is_no_private_key_is_refused(keys, tmp_path):
    locked, other = Ed25519PrivateKey.generate(), Ed448PrivateKey.generate()
    files = {
        "is behind a password": locked.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
        ),
        "of another kind than Ed25519": other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        "holds no private key in PEM": keys[1].read_bytes(),
        "holds no private key": b"\xff\x00",
    }
    for message, content in files.items():
        (tmp_path / "x.pem").write_bytes(content)
        with pytest.raises(BadKey, match=re.escape(message)):
            read_private(tmp_path / "x.pem")
    with pytest.raises(BadKey, match="cannot read the key"):
        read_private(tmp_path / "missing.pem")


def test_a_signature_is_about_every_part_that_counts():
    signed = signer(1).sign(published())
    assert wrong_signature(signed) is None
    assert signer(1).sign(signed) == signed  # Ed25519 draws nothing
    for change in (
        {"schema": "replical.certificate/3"},
        {"digest": "sha256:" + "b" * 64},
        {"provenance": signed["provenance"] | {"seal": "sha256:" + "c" * 64}},
        {"signature": signed["signature"] | {"key": signer(2).public}},
        {"signature": signed["signature"] | {"value": signer(1).sign(published(digest="x"))["signature"]["value"]}},
    ):
        assert wrong_signature(signed | change) == FORGED
    for part in ({}, None, 5, {**signed["signature"], "more": 1}):
        assert wrong_signature(signed | {"signature": part}) == "a signature has the parts algorithm, key, value"
    for change in ({"algorithm": "rsa"}, {"key": "MCow"}, {"key": None}, {"value": "?"}, {"value": None}):
        assert wrong_signature(signed | {"signature": signed["signature"] | change}) == "it is no Ed25519 signature"
    for value in ("", "AAAA"):
        assert wrong_signature(signed | {"signature": signed["signature"] | {"value": value}}) == FORGED


def test_a_wrong_signer_is_named():
    keys = {"north": signer(1).public, "south": signer(2).public}
    file = published()
    assert wrong_signer(signer(1).sign(file), "north", keys) is None
    assert wrong_signer(file, "north", keys) == "it is not signed, and the protocol lists a key of 'north'"
    assert wrong_signer(signer(2).sign(file), "north", keys) == (
        "it is signed with the key of 'south', not with that of 'north'"
    )
    assert wrong_signer(signer(3).sign(file), "north", keys) == (
        "it is signed with a key that the protocol does not list, not with that of 'north'"
    )
    assert wrong_signer(signer(1).sign(file), None, keys) == "it names no lab, and the protocol lists the keys of labs"
    assert wrong_signer(signer(1).sign(file), "east", keys) == "the protocol lists no key of 'east'"
    forged = copy.deepcopy(signer(1).sign(file))
    forged["digest"] = "sha256:" + "d" * 64
    assert wrong_signer(forged, "north", keys) == FORGED


def test_without_the_extra_it_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "cryptography", None)
    calls = (lambda: new_key(tmp_path / "a.pem"), lambda: read_private(tmp_path / "a.pem"), lambda: wrong_signature({}))
    for call in calls:
        with pytest.raises(MissingExtra, match=r"install it with pip install 'replical\[sign\]'"):
            call()
    assert not (tmp_path / "a.pem").exists()
