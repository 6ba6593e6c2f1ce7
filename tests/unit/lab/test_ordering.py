"""Orders from public tables without labels: from a transcript, in a session with people, by votes, by numbers, in files."""

import json

import pytest

from replical.errors import BadJournal, BadProtocol, BadTable, ReplicalError
from replical.lab.journal.journal import Journal
from replical.lab.ordering import OrderFile, Ordering, active_section, asked_of, order_by, vote_section
from replical.lab.protocol import Protocol
from replical.lab.public import check_made
from replical.lab.sessions.session import Session
from replical.lab.tables import read_pool
from replical.learners.handicap.order import walk
from support.lab import LABELS, content, world

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")
TABLE = world(items=120, seed=3, best=0.1, worst=0.4)
TRUTH = dict(zip(TABLE["id"], (LABELS.index(label) for label in TABLE["truth"]), strict=True))
PLAIN = {name: column for name, column in TABLE.items() if name != "truth"}
RECIPE = Protocol.of(content()).recipe
ITEMS = read_pool(PLAIN, RECIPE)


def section(known=TRUTH):
    return active_section(ITEMS, asked_of(ITEMS, known, "the column"))


def published(said):
    return Protocol.of(content(handicap={"from": "order"} | said))


def test_items_are_walked_through_in_an_order_that_only_their_ids_decide():
    turned = {name: column[::-1] for name, column in PLAIN.items()} | {"m1": PLAIN["m0"], "text": ["x"] * 120}
    assert walk(read_pool(turned, RECIPE).ids).tolist() == walk(ITEMS.ids).tolist()
    assert sorted(walk(ITEMS.ids).tolist()) == list(range(120))
    assert walk(ITEMS.ids).tolist() != walk((*ITEMS.ids[:-1], "other")).tolist()


def test_whoever_has_table_and_protocol_computes_the_order_again():
    protocol = published(section())
    assert check_made(protocol, PLAIN).fingerprint == protocol.public
    assert check_made(protocol, TABLE).fingerprint == protocol.public  # labels beside it do no harm
    again = Protocol.of(protocol.content)
    assert again.prior.values.tolist() == protocol.prior.values.tolist()


def test_labels_of_what_was_not_asked_are_not_needed():
    said = section()
    few = {item: TRUTH[item] for item in said["asked"]}
    assert len(few) < len(TRUTH)
    assert section(few) == said


@pytest.mark.parametrize("change", ["order", "answer", "label", "item", "fewer", "more"])
def test_an_order_that_was_changed_is_refused(change):
    said = section()
    if change == "order":
        said["order"] = [*said["order"][1:], said["order"][0]]
    elif change == "answer":
        said["answers"] = [next(each for each in LABELS if each != said["answers"][0]), *said["answers"][1:]]
    elif change == "label":
        said["answers"] = ["?", *said["answers"][1:]]
    elif change == "item":
        said["asked"] = [*said["asked"][1:], said["asked"][0]]
    elif change == "fewer":
        said["asked"], said["answers"] = said["asked"][:-1], said["answers"][:-1]
    else:
        unasked = next(each for each in ITEMS.ids if each not in said["asked"])
        said["asked"], said["answers"] = [*said["asked"], unasked], [*said["answers"], "no"]
    with pytest.raises(BadProtocol, match="the protocol's order is not "):
        check_made(published(said), PLAIN)


def test_people_are_asked_in_a_session_and_may_skip_take_back_and_leave(tmp_path):
    """Whatever they do, the end is what the transcript gives; the journal is one of a public order."""
    draft, wrong = Ordering(Protocol.of(content()).content, ITEMS.ids), []
    while True:
        with Journal(tmp_path / "o.db") as journal:
            session = Session(draft, ITEMS, journal)
            if not session.open:
                session.finish()
                break
            for number in range(7):
                if not session.open:
                    break
                item = session.open[0]
                if number == 2 and len(session.ledger.skipped) < 3:
                    session.skip(item)
                    continue
                if number == 4 and not wrong:
                    wrong.append(item)
                    session.answer(item, LABELS[1 - TRUTH[item]])
                    session.undo(item)
                session.answer(item, LABELS[TRUTH[item]])
    assert (len(session.ledger.skipped), len(wrong)) == (3, 1)
    known = session.ledger.labels | dict.fromkeys(session.ledger.skipped)
    said = active_section(ITEMS, asked_of(ITEMS, known, "the journal"))
    assert said["answers"].count("?") == 3
    assert set(said["asked"]) == set(known)
    assert session.result.hypothesis == said["order"][0]
    check_made(published(said), PLAIN)
    with Journal(tmp_path / "o.db") as journal, pytest.raises(BadJournal, match="to a public order, not to a run"):
        Session(Protocol.of(content()), ITEMS, journal)


def test_without_labels_whoever_agrees_most_with_the_vote_comes_first():
    columns = [PLAIN[f"m{h}"] for h in range(6)]
    vote = [max(LABELS, key=said.count) for said in zip(*columns, strict=True)]  # ties to the first label
    agree = [sum(one == two for one, two in zip(column, vote, strict=True)) for column in columns]
    said = vote_section(ITEMS)
    assert said["order"] == sorted(range(6), key=lambda h: (-agree[h], h))
    check_made(published(said), PLAIN)
    with pytest.raises(BadProtocol, match="the protocol's order is not the one"):
        check_made(published(said | {"order": said["order"][::-1]}), PLAIN)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"made": "guessed"}, "made says how an order was made, active or vote; got 'guessed'"),
        ({"made": 3}, "made says how"),
        ({"made": "vote"}, "an order that is made = 'vote' says made, public, public_items, and this one"),
        ({"public_column": "y"}, "an order that is made = 'active' says"),
        ({"made": None}, "made says how an order was made, active or vote; got None"),
        ({"public": None}, "an order that is made = 'active' says"),
        ({"asked": ["i0001", "i0001"], "answers": ["no", "no"]}, "asked lists an item twice"),
        ({"asked": [1, 2], "answers": ["no", "no"]}, "asked lists the ids of items, as texts, got [1, 2]"),
        ({"answers": ["no"]}, "answers gives each of the "),
        ({"asked": ["i1"], "answers": [True]}, "answers gives each of the 1 items asked its label"),
        ({"asked": ["i1"], "answers": ["perhaps"]}, "the answer for the item 'i1' is 'perhaps', none of ['no', 'yes']"),
        ({"public_items": 0}, "public_items must be a whole number of at least 1, got 0"),
    ],
)
def test_what_is_wrong_with_a_transcript_is_named(changes, message):
    said = {key: value for key, value in (section() | changes).items() if value is not None}
    with pytest.raises(ReplicalError) as caught:
        published(said)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_is_read_back_and_gives_the_section_again(tmp_path):
    for said in (section(), section({**TRUTH, section()["asked"][0]: None}), vote_section(ITEMS)):
        file = tmp_path / "order.json"
        file.write_text(OrderFile.of(said, RECIPE).json, encoding="utf-8")
        read = OrderFile.read(file)
        assert read == OrderFile.of(said, RECIPE)
        assert read.section(RECIPE, ITEMS, "order.json", "public.csv") == said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": "other"}, "its schema is not replical.order/1"),
        ({"extra": 1}, "its schema is not replical.order/1"),
        ({"made": 1}, "needs made, how the order was made, and order"),
        ({"order": "m0"}, "needs made, how the order was made, and order"),
        ({"order": [f"m{h}" for h in range(5)]}, "has no place for the candidate 'm5'"),
        ({"order": [f"m{h}" for h in range(7)]}, "orders 'm6', which is none of the candidates"),
        ({"order": [*(f"m{h}" for h in range(6)), "m0"]}, "lists 'm0' twice"),
        ({"asked": ["i1", "i1"]}, "asked lists an item twice"),
        ({"answers": []}, "answers gives each of the"),
        ({"order": [f"m{h}" for h in reversed(range(6))]}, "is not the order that public.csv makes"),
        ({"asked": ["i1"], "answers": ["no"]}, "is not an order of public.csv: the transcript has no label for the item"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_named(tmp_path, changes, message):
    file = tmp_path / "order.json"
    file.write_text(json.dumps(json.loads(OrderFile.of(section(), RECIPE).json) | changes), encoding="utf-8")
    with pytest.raises(BadTable) as caught:
        OrderFile.read(file).section(RECIPE, ITEMS, "order.json", "public.csv")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


PRICES = {f"m{h}": float(h // 2) for h in range(6)}


def test_an_order_by_numbers_is_strict():
    sizes = {f"m{h}": float(-h) for h in range(6)}
    made = order_by(RECIPE, [("price", PRICES), ("size", sizes)], descending=False, name="s.csv")
    assert made.order == ("m1", "m0", "m3", "m2", "m5", "m4")
    assert made.section(RECIPE, None, "order.json", "") == {"order": [1, 0, 3, 2, 5, 4]}
    assert order_by(RECIPE, [("size", sizes)], descending=True, name="s.csv").order == tuple(f"m{h}" for h in range(6))


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (PRICES, "s.csv: 'm0' and 'm1' have the same price, and an order is strict: name a column more"),
        ({name: number for name, number in PRICES.items() if name != "m4"}, "s.csv has no price for the candidate 'm4'"),
        (PRICES | {"m9": 2.5}, "s.csv has a price for 'm9', which is none of the candidates"),
        (PRICES | {"m2": float("nan")}, "s.csv: the price of 'm2' is nan"),
        (PRICES | {"m2": float("inf")}, "s.csv: the price of 'm2' is inf"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_numbers_is_named(numbers, message):
    with pytest.raises(BadTable) as caught:
        order_by(RECIPE, [("price", numbers)], descending=False, name="s.csv")
    assert message in str(caught.value)
