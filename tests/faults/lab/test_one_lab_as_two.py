"""One lab that shows itself as two: on copied items, on some of them, or under its name."""

import json

import numpy as np
import pytest

from replical.cli import main
from replical.errors import BadTable
from replical.lab.certificate.compare import compare
from replical.lab.certificate.file import certify, write
from replical.lab.certificate.overlap import items_file, overlap, read_items, read_key, shared_by
from replical.lab.protocol import Protocol
from replical.lab.tables import read_pool
from support.attacks import times
from support.lab import Run, content, world, write_csv

RECIPE = Protocol.of(content()).recipe
KEY = b"a key that two labs have agreed on by telephone"


def pool(columns):
    return read_pool(columns, RECIPE)


def mixed(columns, other, rows):
    """A table with these rows of `other` in place of its own."""
    mixed = {name: list(values) for name, values in columns.items()}
    for name, values in mixed.items():
        for row in rows:
            values[row] = other[name][row]
    return mixed


@pytest.mark.parametrize("n", times("a copied pool, one row changed, as another lab's"))
def test_a_copied_pool_with_a_row_changed_is_the_same_items(n):
    columns, row = world(seed=n), int(np.random.default_rng(n).integers(1000))
    changed = columns | {"m0": list(columns["m0"])}
    changed["m0"][row] = "no" if columns["m0"][row] == "yes" else "yes"
    one, two = pool(columns), pool(changed)
    assert one.fingerprint != two.fingerprint  # which is all that certificates tell
    (found,) = shared_by([one, two])
    assert (found.files, found.ids, found.alike, found.items) == ((1, 2), 1000, 999, True)


@pytest.mark.parametrize("n", times("half a copied pool with items of its own, as another lab's"))
def test_half_a_copied_pool_is_found(n):
    columns, own = world(seed=n), world(seed=1000 + n)
    own["id"] = [f"own {each}" for each in own["id"]]
    rows = np.random.default_rng(n).permutation(1000)[:500].tolist()
    (found,) = shared_by([pool(columns), pool(mixed(own, columns, rows))])
    assert (found.ids, found.alike, found.items) == (500, 500, True)


@pytest.mark.parametrize("n", times("labs with items of their own that both number from 1, accused of sharing"))
def test_labs_that_number_their_own_items_share_none(n):
    (found,) = shared_by([pool(world(seed=n)), pool(world(seed=1000 + n))])
    assert found.ids == 1000
    assert 20 < found.alike < 500  # models say the same of many items by chance
    assert not found.items


def test_labs_with_other_ids_share_nothing():
    own = world(seed=2)
    own["id"] = [f"own {each}" for each in own["id"]]
    assert shared_by([pool(world(seed=1)), pool(own)]) == []


@pytest.fixture(scope="module")
def labs(tmp_path_factory):
    """A lab, the same with half of its items new, and another one; certificates, tables, and one protocol."""
    folder = tmp_path_factory.mktemp("labs")
    own = world(seed=12)
    own["id"] = [f"own {each}" for each in own["id"]]
    half = mixed(own, world(seed=11), range(500))
    (folder / "p.toml").write_text(Protocol.of(content(batch=4)).toml())
    for name, columns in {"a": world(seed=11), "half": half, "own": own}.items():
        write_csv(folder / f"{name}.csv", columns)
        with Run(folder, content(batch=4), columns, name) as run:
            write(run.certificate, folder / f"{name}.json")
    return folder


@pytest.mark.parametrize(("other", "code"), [("half", 1), ("own", 0)])
def test_compare_counts_what_pools_share(other, code, labs, capsys):
    files = [str(labs / f"{name}.json") for name in ("a", other)]
    pools = [word for name in ("a", other) for word in ("--pool", str(labs / f"{name}.csv"))]
    assert main(["compare", *files]) == 0  # the files alone cannot tell
    capsys.readouterr()
    assert main(["compare", *files, *pools]) == code
    shown = capsys.readouterr().out
    assert ("NOT DIFFERENT LABS: files 1 and 2 share 500 items" in shown) is (code == 1)
    assert ("have 500 ids in common, and models say the same of 500: these are the same items" in shown) is (code == 1)
    assert ("No item is in two of the pools" in shown) is (code == 0)
    assert main(["compare", *files, *pools, "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["shared"] == ([{"files": [1, 2], "ids": 500, "alike": 500, "items": True}] if code else [])
    assert (told["replicated"], {each["level"] for each in told["files"]}) == (code == 0, {"pool"})


def test_compare_refuses_other_pools(labs, capsys):
    files = [str(labs / f"{name}.json") for name in ("a", "own")]
    assert main(["compare", *files, "--pool", str(labs / "a.csv")]) == 2
    assert "there are 2 files and 1 pool: give --pool once for each" in capsys.readouterr().err
    assert main(["compare", *files, "--pool", str(labs / "own.csv"), "--pool", str(labs / "a.csv")]) == 2
    assert "a.json is not valid (the pool has this fingerprint:" in capsys.readouterr().err


@pytest.mark.parametrize(("other", "replicated"), [("half", False), ("own", True)])
def test_two_runs_of_one_lab_are_one_unless_pools_show_that_they_share_nothing(other, replicated, tmp_path):
    tables, runs = {name: world(seed=11) for name in ("a", "half")}, []
    tables["own"] = world(seed=12) | {"id": [f"own {n}" for n in range(1000)]}
    tables["half"] = mixed(tables["own"], tables["a"], range(500))
    for name in ("a", other):
        with Run(tmp_path, content(batch=4), tables[name], name) as run:
            run.session.sign("north")
            runs.append((certify(run.session), run.lab))
    certificates, pools = zip(*runs, strict=True)
    found = compare(certificates)
    assert (found.identical, found.replicated, found.common.tolerance) == (True, False, None)
    assert "files 1 and 2 are both of the lab 'north', and may share items, which --pool tells" in found.warning
    assert compare(certificates, pools).replicated is replicated


def hashed(tmp_path, name, columns, key=KEY):
    path = tmp_path / f"{name}.json"
    write(items_file(pool(columns), key), path, what="the hashes")
    return path


def test_keyed_hashes_tell_how_many_and_nothing_else(tmp_path, capsys, labs):
    (tmp_path / "key").write_bytes(KEY + b"\n")
    files = [str(tmp_path / f"{name}.json") for name in ("a", "half")]
    for name, out in zip(("a", "half"), files, strict=True):
        words = [
            "--protocol", str(labs / "p.toml"), "--pool", str(labs / f"{name}.csv"), "--key", str(tmp_path / "key"),
        ]  # fmt: skip
        assert main(["lab", "overlap", *words, "--out", out]) == 0
    assert "Written: " in capsys.readouterr().out
    assert main(["lab", "overlap", *files]) == 1
    assert capsys.readouterr().out == "500 items are in both, of 1,000 and 1,000.\n"
    text = (tmp_path / "a.json").read_text()
    assert not any(f'"{each}"' in text for each in world(seed=11)["id"])
    assert KEY.decode() not in text
    other = hashed(tmp_path, "other key", world(seed=11), KEY + b"!")
    with pytest.raises(BadTable, match="made with different keys"):
        overlap(read_items(other), read_items(tmp_path / "a.json"))
    assert main(["lab", "overlap", files[0]]) == 2
    assert main(["lab", "overlap", "--pool", files[0]]) == 2


def test_a_key_that_can_be_guessed_is_refused(tmp_path):
    (tmp_path / "key").write_bytes(b"0" * 31 + b"\n")
    with pytest.raises(BadTable, match="has 31 bytes, and at least 32 keep ids from being guessed"):
        read_key(tmp_path / "key")


@pytest.mark.parametrize("n", times("a file of hashed items with a hash changed, taken out or put in"))
def test_a_changed_file_of_hashes_is_refused(n, tmp_path):
    path = hashed(tmp_path, "a", world(seed=1, items=50))
    content, place = read_items(path), n % 50
    hashes = list(content["hashes"])
    hashes[place : place + (n % 3 < 2)] = [] if n % 3 == 0 else ["f" * 32]
    write(content | {"hashes": hashes}, path, what="the hashes")
    with pytest.raises(BadTable, match="was changed: its digest is another"):
        read_items(path)
