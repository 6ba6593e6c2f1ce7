"""``replical run`` with a pool or a protocol that is not the one the journal began with."""

import pytest

from replical import Session
from replical.errors import BadJournal
from replical.lab.journal.journal import Journal

OLD_ROWS = "the fingerprint of rows 1 to 120 was"
CHANGES = {
    "one value": (lambda columns: columns | {"x": [(columns["x"][0] + 1) % 41, *columns["x"][1:]]}, OLD_ROWS),
    "one id": (lambda columns: columns | {"id": ["other", *columns["id"][1:]]}, OLD_ROWS),
    "one item fewer": (
        lambda columns: {name: column[1:] for name, column in columns.items()},
        "it had 120 items and now has 119",
    ),
    "one item more": (
        lambda columns: {"id": [*columns["id"], "more"], "x": [*columns["x"], 3]},
        "the pool has 1 item more than when",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_pool_that_has_changed(make_world, tmp_path, command, change):
    """Labels drawn on one pool say nothing about another; what changed is told, and the journal stays as it was."""
    world, path = make_world({"name": "cal"}), tmp_path / "a.db"
    world.begin(path)
    changed, sentence = CHANGES[change]
    other = type(world)(world.protocol, changed(world.columns), world.truth)
    with Journal(path) as journal:
        before = journal.events()
        with pytest.raises(BadJournal) as caught:
            Session(other.protocol, other.lab, journal)
        assert journal.events() == before
    assert sentence in str(caught.value)
    code, _, err = command(*other.write(tmp_path).run(path, tmp_path / "a.json"))
    assert (code, sentence in " ".join(err.split())) == (2, True)
    assert not (tmp_path / "a.json").exists()


def test_the_same_pool_in_another_file(make_world, tmp_path, command, lasting):
    """Parquet or CSV, rows in any order, other columns beside: the run goes on."""
    world = make_world({"name": "a2", "batch": 4})
    begun = world.begin(tmp_path / "begun.db")
    shuffled = {name: column[::-1] for name, column in world.columns.items()} | {"text": ["shown"] * 120}
    for name, columns, suffix in (("a", world.columns, ".csv"), ("b", shuffled, ".parquet")):
        (tmp_path / name).mkdir()
        files = type(world)(world.protocol, columns, world.truth).write(tmp_path / name, suffix=suffix)
        world.copy(begun, tmp_path / f"{name}.db")
        assert command(*files.run(tmp_path / f"{name}.db", tmp_path / f"{name}.json"))[0] == 0
    assert lasting(tmp_path / "a.json") == lasting(tmp_path / "b.json")


@pytest.mark.parametrize(
    "change", [{"seed": "another text"}, {"learner": {"name": "cal", "epsilon": 0.16, "delta": 0.1, "rho": 0.3}}]
)
def test_a_protocol_that_has_changed(make_world, tmp_path, command, change):
    """Its journal belongs to what was published before the first label; title and notes are no part of that."""
    world, path = make_world({"name": "cal"}), tmp_path / "a.db"
    world.begin(path)
    other = make_world({"name": "cal"}, **change)
    with Journal(path) as journal, pytest.raises(BadJournal) as caught:
        Session(other.protocol, other.lab, journal)
    for fingerprint in (world.protocol.fingerprint, other.protocol.fingerprint):
        assert fingerprint[:23] in str(caught.value)
    assert "a changed protocol needs a journal of its own" in str(caught.value)
    assert command(*other.write(tmp_path).run(path, tmp_path / "a.json"))[0] == 2
    titled = make_world({"name": "cal"}, title="A better title", notes="and notes")
    assert command(*titled.write(tmp_path).run(path, tmp_path / "a.json"))[0] == 0
