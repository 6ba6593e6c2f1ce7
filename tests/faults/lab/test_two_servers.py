"""Two real servers beside one run, and many people at them: everybody's work counts."""

import pytest

from replical.lab.journal.journal import Journal
from support.annotators import crowd

PEOPLE, BATCH, SECONDS, THINK = 16, 20, 15, 0.2


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, tmp_path):
    return tmp_path / "a.db" if request.param == "sqlite" else request.getfixturevalue("database")


def address(process):
    """Where a page is served, as it says."""
    for line in process.stderr:
        if "Label at " in line:
            return line.split("Label at ")[1].strip()
    raise AssertionError("it serves nothing")


@pytest.mark.slow
def test_many_people_at_two_servers(where, make_world, tmp_path, start):
    world = make_world({"name": "a2", "batch": BATCH, "epsilon": 0.01}, items=4000, noise=0.35)
    words = world.write(tmp_path).run(where, tmp_path / "a.json", "--ask", "journal", labels=None)
    run = start(*words)
    assert any("Waiting for labels" in line for line in run.stderr)
    addresses = [address(start("label", where, "--page", "port=0")) for _ in range(2)]
    heard = crowd(addresses, world.truth, people=PEOPLE, seconds=SECONDS, think=THINK)
    given = sum(map(len, heard.acknowledged.values())) + len(heard.refused)
    print(f"{len(heard.refused)} of {given} answers thrown away, {len(heard.acknowledged)} labels")
    assert heard.troubles == []
    assert run.poll() is None
    with Journal(where, write=False) as journal:
        answers = [event.item for event in journal.events() if event.kind == "answer"]
    assert len(answers) == len(set(answers))
    assert set(answers) == set(heard.acknowledged)
    assert given > 10 * PEOPLE
    assert heard.refused == []
