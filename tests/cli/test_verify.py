"""``replical verify``: exit codes, pages and bad usage."""

import json

import pytest

from replical.cli import main
from replical.errors import BadUsage
from replical.lab.certificate.file import read
from replical.lab.certificate.page import page


def test_the_command_line_says_so_with_exit_code_1(file, capsys):
    raw = file.read_bytes()
    other = file.with_name("sampled.json")
    for place in [*range(0, len(raw), len(raw) // 6), len(raw) - 1, raw.index(b'"created"') + 13]:
        other.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        assert main(["verify", str(other), "--json"]) == 1
        told = json.loads(capsys.readouterr().out)
        assert (told["schema"], told["valid"], told["level"]) == ("replical.verify/1", False, "self")
        assert not all(check["ok"] for check in told["checks"])
    assert main(["verify", str(file)]) == 0
    assert "Valid, as far as the file alone can show; what its labels prove is claimed: " in capsys.readouterr().out


def test_verify_writes_the_page_of_a_valid_certificate_only(file, tmp_path, capsys):
    target = tmp_path / "page.html"
    bad = tmp_path / "bad.json"
    bad.write_bytes(file.read_bytes()[:-1])
    assert main(["verify", str(bad), "--html", str(target)]) == 1
    assert not target.exists()
    assert main(["verify", str(file), "--html", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == page(read(file))
    assert main(["verify", str(file), "--html", str(tmp_path / "nowhere" / "page.html")]) == 2
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["verify", "nowhere.json"], "there is no certificate nowhere.json"),
        (["verify", "FILE", "--journal", "lab.db"], "a journal is replayed on its pool: give --pool too"),
        (["verify", "FILE", "--pool", "nowhere.csv"], "there is no file nowhere.csv"),
        (["compare", "FILE"], "compare takes two or more certificates, got 1"),
        (["compare", "FILE", "nowhere.json"], "cannot read the certificate nowhere.json: No such file or directory"),
        (["compare", "FILE", "BAD"], "is no certificate: it is not valid JSON"),
    ],
)
def test_bad_usage_is_exit_code_2(file, tmp_path, capsys, words, message):
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    given_words = [{"FILE": str(file), "BAD": str(bad)}.get(word, word) for word in words]
    assert main([*given_words, "--json"]) == 2
    assert message in json.loads(capsys.readouterr().out)["message"]


def test_a_folder_is_no_certificate(tmp_path, capsys):
    with pytest.raises(BadUsage, match="cannot read the certificate .*: Is a directory"):
        read(tmp_path)
    assert main(["verify", str(tmp_path)]) == 2
