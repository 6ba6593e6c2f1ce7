"""Do certificates that were published keep verifying, and do the same labels still give the same certificate?"""

import importlib.util
import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")

from replical.core.canonical import canonical, fingerprint
from replical.lab.certificate.file import body_of
from replical.lab.certificate.verify import verify
from replical.lab.protocol import Protocol

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("golden_certificates", HERE / "make_certificate.py")
make = importlib.util.module_from_spec(spec)


spec.loader.exec_module(make)


PUBLISHED = json.loads((HERE / "certificate.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=PUBLISHED)
def run(request, tmp_path_factory):
    """A published certificate, and the pool and journal it was made from, made again."""
    protocol = Protocol.of(make.protocols()[request.param])
    lab = make.pool(protocol)
    path = tmp_path_factory.mktemp("golden") / "golden.db"
    spent = make.MEASURE.get(request.param, 0), make.UNTIL.get(request.param, 0)
    kept, session = make.journal(path, protocol, lab, *spent)
    with kept:
        yield PUBLISHED[request.param], session, lab, kept


def test_the_same_labels_give_the_same_bytes(run):
    published, session, *_ = run
    assert canonical(body_of(session)) == canonical(published["body"])


def test_published_certificates_keep_verifying(run):
    published, _, lab, kept = run
    for more in ((), (lab,), (lab, kept)):
        verdict = verify(published, *more)
        assert [check for check in verdict.checks if not check.ok] == []
    assert verdict.level == "journal"
    assert published["digest"] == fingerprint(published["body"])


def test_the_golden_certificates_say_something():
    """Some with a proof, some without, and all with an item that nobody could label."""
    bodies = {name: certificate["body"] for name, certificate in PUBLISHED.items()}
    assert [body["certified"] for body in bodies.values()].count(True) >= 2
    assert all(body["labels"]["skipped"] == 1 for body in bodies.values())
    assert len({body["hypothesis"]["description"] for body in bodies.values()}) >= 3
