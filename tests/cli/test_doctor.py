"""``replical doctor`` and the help."""

from support.commands import answer, replical


def test_doctor_and_help():
    assert answer("doctor")["golden"] is True
    for words in (["--help"], [], ["audit", "--help"], ["theta", "--help"], ["demo", "--help"]):
        done = replical(*words)
        assert done.returncode == 0
        assert "Usage" in done.stdout
