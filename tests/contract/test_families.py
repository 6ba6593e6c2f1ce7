"""A proof is one folder: a learner that proves something works everywhere by its file alone, and without it nowhere."""

import copy
import json

import pytest

from replical.cli import main
from replical.lab.certificate.file import read
from replical.lab.certificate.verify import verify
from replical.lab.protocol import Protocol
from replical.learners.catalogue import LEARNERS
from support import toy_proof
from support.certificates import resealed
from support.lab import content, world, write_csv


@pytest.fixture
def labs(tmp_path, monkeypatch, capsys):
    """Two labs of one protocol that ran with a toy, and commands."""
    monkeypatch.setitem(LEARNERS, "lead", toy_proof.LEARNER)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(Protocol.of(content("lead", epsilon=0.1, k_final=40)).toml())

    def command(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, " ".join(out.split()), err

    command.told = []
    for name, seed in (("a", 3), ("b", 4)):
        write_csv(tmp_path / f"{name}.csv", world(items=300, seed=seed, best=0.0, worst=0.45))
        words = ["run", "p.toml", "--pool", f"{name}.csv", "--labels", f"{name}.csv:truth", "--journal", f"{name}.db"]
        command.told.append(command(*words, "--out", f"{name}.json", "--html", f"{name}.html", "--truths", "0"))
    return command


def test_a_toy_that_proves_something_works_everywhere(labs, tmp_path):
    code, out, err = labs.told[0]
    assert code == 0, err
    certificate = read(tmp_path / "a.json")
    assert certificate["body"]["proof"]["family"] == "lead"
    assert ("Certified: a lead of" in out) == certificate["body"]["certified"]
    assert labs("verify", "a.json", "--pool", "a.csv", "--journal", "a.db")[0] == 0
    assert "errors" in (tmp_path / "a.html").read_text()
    code, out, err = labs("compare", "a.json", "b.json")
    same = read(tmp_path / "b.json")["body"]["hypothesis"] == certificate["body"]["hypothesis"]
    assert code == (0 if same else 1), err
    assert ("Identical" in out) == same


@pytest.mark.parametrize("change", [{"lead": 39}, {"lead": "1"}, {"lead": 1, "more": 1}, {"family": "handicap"}])
def test_its_part_is_checked(labs, tmp_path, change):
    certificate = copy.deepcopy(read(tmp_path / "a.json"))
    assert verify(certificate).valid
    certificate["body"]["proof"] |= change
    assert not verify(resealed(certificate)).valid


def test_where_a_learner_is_unknown_nothing_is_valid(labs, monkeypatch):
    monkeypatch.delitem(LEARNERS, "lead")
    code, out, _ = labs("verify", "a.json")
    assert (code, "Not checkable" in out) == (1, True)
    code, out, _ = labs("verify", "a.json", "--json")
    assert code == 1
    told = json.loads(out)
    assert (told["valid"], told["level"]) == (False, "none")
    assert labs("compare", "a.json", "b.json")[0] == 2
