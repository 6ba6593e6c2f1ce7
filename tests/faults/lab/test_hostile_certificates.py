"""Certificates that ask for more work or memory than anybody wants to give to a stranger's file."""

import copy
import resource
import subprocess
import sys

import pytest

from replical.core.files import trusting_sizes
from replical.errors import BadUsage
from replical.lab.certificate import verify as asked
from replical.lab.certificate.file import text_of
from replical.lab.certificate.verify import verify
from support.certificates import resealed
from support.huge import huge

REMEDY = "if you know where it comes from, say --trust-size"
LINE = {"kind": "thresholds", "features": ["x"]}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """About 3,000 hypotheses, valid."""
    return huge(tmp_path_factory.mktemp("huge"), 3000)


def asking(certificate, section, **more):
    other = copy.deepcopy(certificate)
    other["body"]["protocol"] |= {"class": section, **more}
    return resealed(other)


@pytest.mark.parametrize(
    ("section", "more", "words"),
    [
        (LINE | {"count": 10**9}, {}, "1,000,000,000 hypotheses, more than the 134,217,728 that are checked at once"),
        (LINE | {"kind": "star", "count": 10**9}, {}, "1,000,000,001 hypotheses"),
        (LINE | {"kind": "intervals", "bins": 10**5}, {}, "5,000,050,001 hypotheses"),
        (LINE | {"kind": "halfspaces", "count": 10**9}, {}, "a class of 2,000,000,000 numbers, more than the 4,194,304"),
        (LINE | {"range": [[0, 1]], "bins": 9_999_999}, {}, "a class of 9,999,999 numbers"),
        (
            LINE | {"count": 10**8},
            {"learner": {"name": "handicap", "epsilon": 0.1, "delta": 0.1, "rho": 0.1}, "handicap": {"from": "zero"}},
            "100,000,000 hypotheses, more than the 16,777,216",
        ),
    ],
)  # fmt: skip
def test_what_asks_for_too_much_is_refused_before_anything_is_computed(certificate, section, more, words):
    """In bytes that Python would have to take for it: a gigabyte and more."""
    forged = asking(certificate, section, **more)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadUsage) as caught:
        verify(forged)
    assert words in str(caught.value)
    assert str(caught.value).endswith(REMEDY)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**18  # kilobytes


@pytest.mark.parametrize(
    "section", [None, 5, {"kind": "nobody knows"}, LINE, LINE | {"count": "many"}, {"features": 3}]
)
def test_what_is_no_protocol_is_not_valid_and_no_crash(certificate, section):
    assert not verify(asking(certificate, section)).valid


def test_commands_refuse_and_the_flag_lifts_it(certificate, command, tmp_path, monkeypatch):
    path, other = tmp_path / "a.json", tmp_path / "b.json"
    path.write_text(text_of(certificate))
    assert command("verify", path)[0] == 0
    monkeypatch.setattr(asked, "_ALONE", 2999)
    code, _, said = command("verify", path)
    assert code == 2
    assert (
        said
        == f"Error: the certificate asks for 3,000 hypotheses, more than the 2,999 that are checked at once: {REMEDY}\n"
    )
    assert command("verify", path, "--trust-size")[0] == 0
    second = copy.deepcopy(certificate)
    second["body"]["private_commitment"] = f"sha256:{'0' * 64}"
    second["body"]["pool"]["fingerprint"] = f"sha256:{'1' * 64}"
    other.write_text(text_of(resealed(second)))
    assert command("compare", path, other)[0] == 2
    assert command("compare", path, other, "--trust-size")[0] == 0
    assert command("verify", path)[0] == 2  # for one command only


def test_with_trust_a_class_is_checked_in_blocks(certificate, monkeypatch):
    for module in ("replical.classes.prior", "replical.core.randomness"):
        monkeypatch.setattr(f"{module}._BLOCK", 256)
    with trusting_sizes():
        assert verify(certificate).valid
        other = copy.deepcopy(certificate)
        other["body"]["hypothesis"]["index"] ^= 1
        assert not verify(resealed(other)).valid


@pytest.mark.slow
def test_a_hundred_million_hypotheses_take_no_memory(tmp_path):
    """All at once they took 2.4 GB."""
    (tmp_path / "a.json").write_text(text_of(huge(tmp_path, 10**8)))
    most = "import sys; from replical.cli import main; code = main(['verify', sys.argv[1]]); "
    most += "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]); sys.exit(code)"  # of it alone
    ran = subprocess.run([sys.executable, "-c", most, tmp_path / "a.json"], capture_output=True, text=True, check=True)
    assert int(ran.stdout.split()[-1]) < 300_000  # kilobytes
