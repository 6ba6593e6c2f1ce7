"""Do registrations that were published keep their bytes, and does the seed after a draw stay what it was?"""

import hashlib
import importlib.util
import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")
pytest.importorskip("cryptography")

from replical.lab.journal.binding import registration_digest as digest_of
from replical.lab.registration import read, write
from replical.lab.signatures import wrong_signer
from support.lab import private

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("golden_registration", HERE / "make_registration.py")
make = importlib.util.module_from_spec(spec)


spec.loader.exec_module(make)

PUBLISHED = json.loads((HERE / "registration.json").read_text(encoding="utf-8"))


def test_the_same_run_is_registered_in_the_same_bytes(tmp_path):
    assert make.made(tmp_path) == PUBLISHED


def test_a_published_registration_is_still_read_and_its_signature_right(tmp_path):
    registration = PUBLISHED["registration"]
    write(registration, tmp_path / "r.json")
    assert read(tmp_path / "r.json") == registration
    assert digest_of(registration) == registration["digest"] == PUBLISHED["certificate"]["registration"]
    assert wrong_signer(registration, "north", {"north": make.PUBLIC}) is None


def test_the_seed_is_the_hash_that_the_documents_say():
    """Computed here a second time: the commitment is to the secret, the seed of its hash and of the value."""
    secret = bytes.fromhex(private("lab"))
    seed = hashlib.sha256(b"replical private seed and beacon\0" + hashlib.sha256(secret).digest() + b"4f1c").hexdigest()
    assert seed == PUBLISHED["seed"]
    committed = hashlib.sha256(b"replical private seed\0" + secret).hexdigest()
    assert PUBLISHED["registration"]["private_commitment"] == f"sha256:{committed}"
