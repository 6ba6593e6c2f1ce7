"""The JSON Schemas that the package ships: in step with its readers, and of one mind with them about files."""

import copy
import importlib.util
import json
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")
pytest.importorskip("cryptography")

from replical.errors import BadRegistration, ReplicalError
from replical.lab.certificate.file import read_as, text_of, write_enveloped
from replical.lab.certificate.verify import verify
from replical.lab.protocol import Protocol
from replical.lab.registration import read as read_registration
from replical.lab.release import ReleaseEntry, _content
from support.certificates import at, places, resealed
from support.examples import make_examples

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("golden_schemas", HERE / "make_schemas.py")
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)
GOLDEN = json.loads((HERE / "certificate.json").read_text("utf-8"))
NAMES = ("protocol", "certificate", "statement", "registration", "vote", "release")


def shipped(name):
    return (files("replical.lab") / "schemas" / f"{name}.json").read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_they_are_in_step_with_the_readers(name):
    assert make.text_of(make.schemas()[name]) == shipped(name), "run python tests/golden/make_schemas.py"


@pytest.fixture(scope="module")
def accepts():
    """Does a validator of the field accept this content, by the schema of this name?"""
    jsonschema = pytest.importorskip("jsonschema")
    known = {}
    for name in NAMES:
        said = json.loads(shipped(name))
        jsonschema.Draft202012Validator.check_schema(said)
        known[name] = jsonschema.Draft202012Validator(said)
    return lambda name, content: known[name].is_valid(content)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    make_examples(folder, ["certificate"])
    return folder


def test_what_is_written_is_accepted(accepts, examples, tmp_path):
    """Every kind of file that the product writes, certificates of every family and in an envelope."""
    found = {name: [*examples.glob(f"{name}-*.json")] for name in ("certificate", "registration", "vote")}
    found["certificate"] += examples.glob("confirmation-*.json")
    assert all(len(paths) > 1 for paths in found.values())
    for name, paths in found.items():
        for path in paths:
            assert accepts(name, json.loads(path.read_text())), path.name
    for name, content in GOLDEN.items():
        assert accepts("certificate", json.loads(text_of(content))), name
        write_enveloped(content, tmp_path / "a.json", None)
        assert accepts("statement", json.loads((tmp_path / "a.json").read_text())), name


def test_many_rounds_are_accepted_as_they_are_written(accepts):
    """They are one text a figure then."""
    many = copy.deepcopy(GOLDEN["handicap"])
    many["body"]["rounds"] = [many["body"]["rounds"][0] | {"round": number} for number in range(1, 300)]
    folded = json.loads(text_of(many))
    assert isinstance(folded["body"]["rounds"], dict)
    assert accepts("certificate", folded)
    folded["body"]["rounds"]["drawn"] = "1 x"
    assert not accepts("certificate", folded)


def test_protocols_are_accepted(accepts, examples):
    paths = [*examples.glob("protocol-*.toml")]
    assert len(paths) > 10
    for path in paths:
        said = tomllib.loads(path.read_text())
        assert accepts("protocol", said), path.name
        assert not accepts("protocol", said | {"added": 1})


@pytest.mark.parametrize("answer", [3, -1])
def test_releases_are_accepted(accepts, answer):
    protocol = Protocol.of(GOLDEN["handicap"]["body"]["protocol"])
    entry = ReleaseEntry(
        protocol=protocol.fingerprint,
        epsilon=0.5,
        nobody=2 if answer < 0 else 0,
        sampler="exact integers",
        answer=answer,
    )
    found = _content(protocol, entry)
    assert accepts("release", found)
    for key in found:
        assert not accepts("release", {each: value for each, value in found.items() if each != key})
        assert not accepts("release", found | {key: [1]})


# ---- damage ----


def damaged(content):
    """One part at a time: a key missing, a key too many, another kind of value; each with its place."""
    for place in places(content):
        owner = at(content, place)
        if any(isinstance(step, int) and step for step in place):
            continue  # of lists the first member
        if isinstance(owner, dict):
            for key in owner:
                yield (*place, f"without {key}"), place, lambda found, key=key: found.pop(key)
            yield (*place, "with a key more"), place, lambda found: found.update(added=1)
        elif place:
            yield (*place, "a list"), place[:-1], lambda found, key=place[-1]: found.__setitem__(key, [[]])


def changed(content, place, change):
    other = copy.deepcopy(content)
    change(at(other, place))
    return other


def refused(certificate):
    try:
        return not verify(resealed(certificate) if {"body", "provenance"} <= set(certificate) else certificate).valid
    except (ReplicalError, LookupError, TypeError, AttributeError):
        return True


@pytest.mark.parametrize("name", ["handicap order", "lattice", "replical"])
def test_damaged_certificates_are_refused_by_both(accepts, name):
    """At least fifty each; and nothing that `verify` takes is refused by the schema."""
    both = 0
    for what, place, change in damaged(GOLDEN[name]["body"]):
        other = GOLDEN[name] | {"body": changed(GOLDEN[name]["body"], place, change)}
        by_schema, by_us = not accepts("certificate", other), refused(copy.deepcopy(other))
        assert by_us, what
        both += by_schema
        if "with a key more" in what and "weights" not in place:
            assert by_schema, what
    assert both >= 50


def test_other_damaged_files_are_refused_by_both(accepts, examples, tmp_path):
    for name, parts in (("registration", None), ("vote", make.release.VOTE_PARTS)):
        whole = json.loads(next(iter(sorted(examples.glob(f"{name}-*.json")))).read_text())
        for key in whole:
            path = tmp_path / "damaged.json"
            path.write_text(text_of({each: value for each, value in whole.items() if each != key}))
            assert key == "signature" or not accepts(name, json.loads(path.read_text()))
            if key != "signature":
                with pytest.raises((ReplicalError, BadRegistration)):
                    read_registration(path) if parts is None else read_as(path, make.release.VOTE_SCHEMA, parts)
            assert not accepts(name, whole | {key: 7})
