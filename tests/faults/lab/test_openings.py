"""A lab that opens other labels than those it committed to, or fewer than were drawn; and what an opening tells."""

import copy
import json
import random

import pytest

from replical.cli import main
from replical.core.canonical import climb, leaf, path_of, root_of, rows_of, salt_of
from replical.lab.certificate.file import write
from replical.lab.certificate.opening import open_entries, read_opening, wrong_opening
from replical.lab.sessions.session import transcript
from support.attacks import times
from support.lab import Run, content, world, write_csv


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13, 64, 65])
def test_every_entry_leads_to_the_root_and_nothing_else_does(count):
    """The tree of RFC 6962, written down a second time."""
    leaves = [leaf(salt_of(b"key", str(n)), [str(n), n % 2]) for n in range(count)]

    def twin(part):
        if len(part) == 1:
            return part[0]
        half = 1 << (len(part) - 1).bit_length() - 1
        from hashlib import sha256

        return sha256(b"\1" + twin(part[:half]) + twin(part[half:])).digest()

    rows = rows_of(leaves)
    assert root_of(leaves) == f"sha256:{twin(leaves).hex()}"
    for place, each in enumerate(leaves):
        path = path_of(rows, place)
        assert climb(each, place, count, path) == root_of(leaves)
        assert climb(each, place, count, [*path, each]) is None
        assert climb(each[::-1], place, count, path) != root_of(leaves)
        assert count == 1 or climb(each, (place + 1) % count, count, path) != root_of(leaves)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A finished run with a skip and a correction: its files, its certificate, an opening of everything."""
    folder = tmp_path_factory.mktemp("lab")
    columns = world(seed=11)
    write_csv(folder / "a.csv", columns)
    with Run(folder, content(batch=4), columns, "a", skips=1, corrects=1) as run:
        write(run.certificate, folder / "a.json")
        entries = transcript(run.session)
        whole = open_entries(run.certificate, run.session, [entry[0] for entry in entries], ("4f1c", 5))
        yield folder, run, whole


def test_an_opening_shows_labels_and_skips_of_those_items_alone(lab):
    _, run, whole = lab
    truth = dict(zip(run.columns["id"], run.columns["truth"], strict=True))
    item, skip = next(iter(run.session.used_labels[0])), next(iter(run.session.used_labels[1]))
    opened = open_entries(run.certificate, run.session, [item, skip], None)
    assert wrong_opening(opened, run.certificate) is None
    assert {each["item"]: each["said"] for each in opened["entries"]} == {
        item: ("no", "yes").index(truth[item]),
        skip: None,
    }
    told, salts = json.dumps(opened), {each["item"]: each["salt"] for each in whole["entries"]}
    for other, salt in salts.items():
        assert (f'"{other}"' in told, salt in told) == ((other in (item, skip),) * 2)


CHANGES = {
    "another label": lambda each, pick: each.update(said=1 - each["said"]),
    "another item": lambda each, pick: each.update(item=f"{each['item']}x"),
    "another place": lambda each, pick: each.update(place=each["place"] + 1),
    "another salt": lambda each, pick: each.update(salt=pick.randbytes(32).hex()),
    "a longer salt": lambda each, pick: each.update(salt=each["salt"] + "00"),
    "another path": lambda each, pick: each["path"].__setitem__(0, pick.randbytes(32).hex()),
    "a shorter path": lambda each, pick: each["path"].pop(),
    "a skip": lambda each, pick: each.update(said=None),
    "the same number, spelled as another": lambda each, pick: each.update(said=float(each["said"])),
    "the same salt, spelled as another": lambda each, pick: each.update(salt=each["salt"].upper()),
    "a key more": lambda each, pick: each.update(more=1),
    "no number": lambda each, pick: each.update(place="0"),
}


@pytest.mark.parametrize("n", times("an opened label, item, place, salt or path changed"))
def test_a_changed_entry_is_found_out(n, lab, tmp_path, capsys):
    folder, _, whole = lab
    pick, forged = random.Random(n), copy.deepcopy(whole)
    answered = [each for each in forged["entries"] if each["said"] is not None]
    name = list(CHANGES)[n % len(CHANGES)]
    CHANGES[name](pick.choice(answered), pick)
    write(forged, tmp_path / "forged.json", what="the opening")
    assert main(["verify", str(folder / "a.json"), "--opening", str(tmp_path / "forged.json")]) == 1
    assert "WRONG  opened: " in capsys.readouterr().out


@pytest.mark.parametrize("n", times("a drawn label that is not opened"))
def test_a_lab_cannot_leave_out_what_was_drawn(n, lab):
    _, run, _ = lab
    opened = open_entries(run.certificate, run.session, [], (f"value {n}", 6))
    assert wrong_opening(opened, run.certificate) is None
    del opened["entries"][n % len(opened["entries"])]
    assert "drawn" in wrong_opening(opened, run.certificate)


@pytest.mark.parametrize("entries", [None, 5, {}, [5], [[]]])
def test_what_lists_no_entries_is_no_opening(entries, lab, tmp_path, capsys):
    folder, _, whole = lab
    write(whole | {"entries": entries}, tmp_path / "o.json", what="the opening")
    assert main(["verify", str(folder / "a.json"), "--opening", str(tmp_path / "o.json")]) == 2
    assert "it lists no entries" in capsys.readouterr().err


def test_an_entry_twice_or_of_another_certificate_is_found_out(lab, tmp_path):
    _, run, whole = lab
    twice = copy.deepcopy(whole)
    twice["entries"].insert(0, twice["entries"][0])
    assert "stands there twice" in wrong_opening(twice, run.certificate)
    assert "of another certificate" in wrong_opening(whole | {"certificate": "sha256:" + "0" * 64}, run.certificate)


def test_the_commands_open_and_check(lab, tmp_path, capsys):
    folder, run, _ = lab
    words = [str(run.path), str(folder / "a.json"), "--pool", str(folder / "a.csv"), "--out", str(tmp_path / "o.json")]
    item = next(iter(run.session.used_labels[0]))
    assert main(["journal", "open", *words, item, "--beacon", "4f1c", "--draw", "3"]) == 0
    capsys.readouterr()
    assert main(["verify", str(folder / "a.json"), "--opening", str(tmp_path / "o.json")]) == 0
    truth = dict(zip(run.columns["id"], run.columns["truth"], strict=True))
    shown = capsys.readouterr().out.splitlines()
    assert f"{item}: {truth[item]}" in shown
    assert 4 <= len(shown) <= 5
    assert all(truth[name] == label for name, label in (line.split(": ") for line in shown[:-1]))
    assert main(["verify", str(folder / "a.json"), "--opening", str(tmp_path / "o.json"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"item": item, "label": truth[item]} in told["opened"]
    assert (told["level"], told["claimed"]) == ("self", True)
    assert read_opening(tmp_path / "o.json")["draw"] == {"value": "4f1c", "number": 3}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "name items to open"),
        (["i0001x"], "has no label of the item 'i0001x'"),
        (["--draw", "3"], "give --beacon VALUE with --draw NUMBER"),
        (["--draw", "0", "--beacon", "x"], "at least 1 label is drawn, got --draw 0"),
    ],
)
def test_what_cannot_be_opened_is_said(more, message, lab, tmp_path, capsys):
    folder, run, _ = lab
    words = [str(run.path), str(folder / "a.json"), "--pool", str(folder / "a.csv"), "--out", str(tmp_path / "o.json")]
    assert main(["journal", "open", *words, *more]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "o.json").exists()


@pytest.mark.parametrize(
    ("given", "require", "code"),
    [([], None, 0), ([], "pool", 4), ([], "journal", 4), (["pool"], "pool", 0), (["pool"], "journal", 4),
     (["pool", "journal"], "journal", 0)],
)  # fmt: skip
def test_a_gate_asks_for_evidence(given, require, code, lab, capsys):
    folder, run, _ = lab
    files = {"pool": folder / "a.csv", "journal": run.path}
    words = [word for name in given for word in (f"--{name}", str(files[name]))]
    words += [] if require is None else ["--require", require]
    assert main(["verify", str(folder / "a.json"), *words]) == code
    shown = capsys.readouterr().out
    assert ("; what its labels prove is claimed: " in shown) is ("journal" not in given)
    assert ("Not enough: --require" in shown) is (code == 4)
