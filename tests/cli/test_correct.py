"""``replical journal correct``: what a correction changes, and which are refused."""

import json

import pytest

from replical import Session
from replical.errors import EmptyVersionSpace
from replical.lab.journal.journal import Journal
from support.sessions import figures


def flips(world, private, asked):
    """What the run returns if one of its labels is the other one, for each of them."""
    other = {"no": "yes", "yes": "no"}
    return {item: world.learned(private, world.truth | {item: other[world.truth[item]]}) for item in sorted(asked)}


@pytest.fixture
def corrected(make_world, tmp_path, command):
    """A finished run by the command line, with a private seed that everybody knows."""
    private = bytes(range(32))
    world = make_world({"name": "a2", "epsilon": 0.3, "batch": 2})
    files = world.write(tmp_path)
    world.begin(tmp_path / "a.db", private=private.hex())
    assert command(*files.run(tmp_path / "a.db", tmp_path / "a.json"))[0] == 0
    return world, files, private, world.learned(private)


@pytest.mark.parametrize("changes", [True, False])
def test_the_next_run_says_what_a_correction_changed(corrected, tmp_path, command, changes, lasting):
    """Labels that the corrected run needs beyond the old ones are asked; a changed answer is said, an unchanged one not."""
    world, files, private, first = corrected
    with Journal(tmp_path / "a.db", write=False) as journal:
        found = flips(world, private, Session(world.protocol, world.lab, journal).ledger.labels)
    item = next(
        item
        for item, result in found.items()
        if (result.hypothesis != first.hypothesis) == changes and (not changes or result.labels > first.labels)
    )
    other = "no" if world.truth[item] == "yes" else "yes"
    code, out, _ = command(
        "journal", "correct", tmp_path / "a.db", "--item", item, "--label", other, "--annotator", "Ada"
    )
    assert (code, out) == (
        0,
        f"Recorded. The label of the item {item!r} was {world.truth[item]!r}. Run the protocol again: the run is replayed "
        f"with the label {other!r}.\n",
    )
    before = lasting(tmp_path / "a.json")
    code, _, err = command(*files.run(tmp_path / "a.db", tmp_path / "a.json"))
    assert code == 0
    assert (f"The answer has changed: it was {world.protocol.recipe.name(first.hypothesis)}." in err) == changes
    assert lasting(tmp_path / "a.json") != before  # the count of corrections, at least
    body = json.loads((tmp_path / "a.json").read_text())["body"]
    assert (body["labels"]["corrected"], body["runs_in_journal"]) == (1, 1 + changes)
    evidence = ("--pool", tmp_path / "pool.csv", "--journal", tmp_path / "a.db")
    assert command("verify", tmp_path / "a.json", *evidence)[0] == 0
    with Journal(tmp_path / "a.db", write=False) as journal:
        session = Session(world.protocol, world.lab, journal)
        assert figures(session.result) == figures(found[item])
        assert session.ledger.results == [first.hypothesis, found[item].hypothesis][: 1 + changes]
        kinds = [event.kind for event in journal.events()]
    after = kinds[kinds.index("correction") :]
    assert after.count("answer") >= found[item].labels - first.labels
    assert ("answer" in after) or not changes
    code, _, err = command(*files.run(tmp_path / "a.db", tmp_path / "a.json"))  # once more: nothing has changed since
    assert code == 0
    assert "has changed" not in err


@pytest.mark.parametrize(
    ("item", "label", "told"),
    [
        ("nobody", "yes", "the item 'nobody' has no label to correct"),
        ("nobody", None, "Missing option '--label'"),
        (None, "maybe", "the label of the item {item!r} is 'maybe', which is none of ['no', 'yes']"),
        (None, "TRUTH", "the item {item!r} already has the label {label!r}: nothing recorded"),
    ],
)
def test_a_correction_that_cannot_be(corrected, tmp_path, command, item, label, told):
    """One sentence, exit code 2, and nothing is recorded."""
    with Journal(tmp_path / "a.db", write=False) as journal:
        before = journal.events()
    item = item or next(event.item for event in before if event.kind == "answer")
    label = corrected[0].truth[item] if label == "TRUTH" else label
    words = [] if label is None else ["--label", label]
    code, _, err = command("journal", "correct", tmp_path / "a.db", "--item", item, *words)
    assert code == 2
    assert told.format(item=item, label=label) in " ".join(err.split())
    with Journal(tmp_path / "a.db", write=False) as journal:
        assert journal.events() == before


def test_labels_that_contradict_each_other_are_kept_and_can_be_corrected(make_world, tmp_path, command):
    """No threshold has these labels: the run says so, loses nothing, and goes on once the wrong one is corrected."""
    world = make_world({"name": "cal-rounds", "theta": 2.0, "k_loop": 8})
    files, path = world.write(tmp_path), tmp_path / "a.db"
    x = dict(zip(world.columns["id"], world.columns["x"], strict=True))
    world.begin(path, private="ab" * 32)
    with Journal(path) as journal:
        session = Session(world.protocol, world.lab, journal)
        lowest, highest = min(session.open, key=x.get), max(session.open, key=x.get)
        kept = {item: world.truth[item] for item in session.open} | {lowest: "yes", highest: "no"}
        with pytest.raises(EmptyVersionSpace):
            session.answer_all(kept)
        wrong = [item for item in kept if kept[item] != world.truth[item]]
    with Journal(path, write=False) as journal:
        answers = {e.item: world.protocol.labels[e.label] for e in journal.events() if e.kind == "answer"}
    assert answers == kept
    assert wrong
    for _ in range(2):
        code, _, err = command(*files.run(path, tmp_path / "a.json"))
        assert code == 2
        assert "Traceback" not in err
    for item in wrong:
        assert command("journal", "correct", path, "--item", item, "--label", world.truth[item])[0] == 0
    assert command(*files.run(path, tmp_path / "a.json"))[0] == 0
    with Journal(path, write=False) as journal:
        session = Session(world.protocol, world.lab, journal)
        assert figures(session.result) == figures(world.learned(session.private))
