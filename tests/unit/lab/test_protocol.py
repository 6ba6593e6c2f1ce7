"""A protocol is read strictly: every unknown, missing or wrong value is named."""

import copy
import tomllib

import numpy as np
import pytest

from replical.classes.catalogue import recipe
from replical.core.memory import remembering
from replical.errors import BadProtocol, ReplicalError
from replical.lab.protocol import Protocol
from support.lab import content
from support.protocols import SECTIONS

PUBLIC = {
    "kind": "order", "order": [*range(6)], "public": f"sha256:{'0a' * 32}", "public_items": 100, "public_column": "y",
}  # fmt: skip
HANDICAPS = (
    {"from": "order", "order": [*range(6)]}, {"from": "exponentials"}, {"from": "weights", "weights": [1] * 6},
    {"from": "cover", "members": [0, 2]}, {"from": "zero"}, {"from": "values", "values": [0.0] * 6},
)  # fmt: skip
COVER = {"from": "cover", "members": [0, 2], "radius": 0.5, "public": PUBLIC["public"], "public_items": 9}


def preferring(prior):
    """The same preference in a protocol of cal and in one of handicap."""
    rest = {key: value for key, value in prior.items() if key != "kind"}
    return content("cal", prior=prior), content(handicap={"from": prior["kind"]} | rest)


def of_kind(kind, **learner):
    return content(**learner) | {"class": copy.deepcopy(SECTIONS[kind])}


def refused(said):
    with pytest.raises(ReplicalError) as caught:
        Protocol.of(said)
    return str(caught.value)


# ---- which keys there are ----


@pytest.mark.parametrize(
    ("said", "place"),
    [
        (content(), []),
        (content(), ["learner"]),
        (content(), ["labels"]),
        (content(), ["class", "candidates", 1]),
        *((of_kind(kind), ["class"]) for kind in SECTIONS),
        *(
            (content("cal", prior=prior), ["prior"])
            for prior in ({"kind": "uniform"}, {"kind": "weights", "weights": [1] * 6}, {"kind": "order", "order": [*range(6)]})
        ),
        *((content(handicap=handicap), ["handicap"]) for handicap in HANDICAPS),
    ],
)  # fmt: skip
def test_an_unknown_key_is_named_wherever_it_stands(said, place):
    """A misspelt key that is silently ignored would be a protocol nobody meant."""
    said = copy.deepcopy(said)
    Protocol.of(said)
    inner = said
    for step in place:
        inner = inner[step]
    inner["colour"] = "blue"
    assert "'colour'" in refused(said)


@pytest.mark.parametrize(
    ("said", "place", "key", "message"),
    [
        (content(), [], "schema", "schema must be 'replical.protocol/1', got None"),
        *((content(), [], key, f"the key {key!r} is missing") for key in ("seed", "class", "labels", "learner")),
        *(
            (content(), ["learner"], key, f"[learner] needs the key {key!r}")
            for key in ("name", "epsilon", "delta", "rho")
        ),
        (content(), ["labels"], "values", "[labels] lists the labels in their public order"),
        (content(), ["class"], "kind", "unknown kind of class None"),
        (content(), ["class", "candidates", 1], "name", "candidate 1 needs a name"),
        *(
            (of_kind(kind), ["class"], "features", f"a class of kind {kind} needs the key 'features'")
            for kind in SECTIONS
            if kind != "table"
        ),
        (of_kind("intervals"), ["class"], "bins", "a class of kind intervals needs the key 'bins'"),
        (of_kind("boxes"), ["class"], "bins", "a class of kind boxes needs the key 'bins'"),
        (of_kind("boxes"), ["class"], "range", "a class of kind boxes needs the key 'range'"),
        (of_kind("halfspaces"), ["class"], "count", "a class of kind halfspaces needs the key 'count'"),
        (of_kind("star"), ["class"], "count", "a class of kind star needs the key 'count'"),
        (of_kind("table"), ["class"], "candidates", "a class of kind table lists its candidates"),
        (of_kind("thresholds"), ["class"], "cuts", "a class of kind thresholds needs cuts, or range and bins"),
        (of_kind("stumps"), ["class"], "cuts", "a class of kind stumps needs cuts, or range and bins"),
        (content("cal", prior={"kind": "order", "order": [0]}), ["prior"], "order", "order = [..]"),
        (content("cal", prior={"kind": "order", "order": [0]}), ["prior"], "kind", "kind None has no key 'order'"),
        (content("cal", prior={"kind": "uniform"}), ["prior"], "kind", "unknown kind of prior None"),
        *(
            (content(handicap=each), ["handicap"], "from", "[handicap] says where handicaps come from")
            for each in HANDICAPS
        ),
        (content(handicap=HANDICAPS[0]), ["handicap"], "order", "order = [..]"),
        (content(handicap=HANDICAPS[2]), ["handicap"], "weights", "weights must be numbers"),
        (content(handicap=HANDICAPS[3]), ["handicap"], "members", "a cover lists the numbers of its members"),
        (content(handicap=HANDICAPS[5]), ["handicap"], "values", "handicaps are numbers, one a hypothesis"),
        *(
            (content(handicap=COVER), ["handicap"], key, "all three, or none")
            for key in ("radius", "public", "public_items")
        ),
    ],
)
def test_a_missing_key_is_named(said, place, key, message):
    said = copy.deepcopy(said)
    inner = said
    for step in place:
        inner = inner[step]
    del inner[key]
    assert message in refused(said)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["schema"], "replical.protocol/2", "schema must be 'replical.protocol/1', got 'replical.protocol/2'"),
        (["title"], 5, "title must be a text, got 5"),
        (["notes"], ["a"], "notes must be a text, got ['a']"),
        (["seed"], 7, "seed must be a text, got 7"),
        (["seed"], " \n", "seed is empty"),
        (["class"], [], "class must be a section [class], got []"),
        (["labels"], "no,yes", "labels must be a section [labels]"),
        (["prior"], True, "prior must be a section [prior], got True"),
        (["learner"], 3, "learner must be a section [learner], got 3"),
        (["labs"], "a, b", "labs must be a section [labs], got 'a, b'"),
        (["labs"], {"names": ["a", "b"], "key": []}, "[labs] has no key 'key'; it has names, and keys of labs that sign"),
        (["labs"], {}, "[labs] lists the names of two or more labs: names = [..], got None"),
        (["labs"], {"names": ["a"]}, "two or more labs: names = [..], got ['a']"),
        (["labs"], {"names": ["a", "b", "a"]}, "the lab 'a' is listed twice"),
        (["labs"], {"names": ["a", " b"]}, "without blanks around it, got ' b'"),
        (["labs"], {"names": ["a", 5]}, "one line of 1 to 80 characters without blanks around it, got 5"),
        (["labels", "values"], "yes", "[labels] lists the labels in their public order"),
        (["labels", "values"], [1.0, 2.0], "labels must be texts or whole numbers, got [1.0, 2.0]"),
        (["labels", "values"], [True, False], "labels must be texts or whole numbers"),
        (["labels", "values"], ["yes"], "2 to 65536 distinct labels, got ['yes']"),
        (["labels", "values"], ["yes", "yes"], "distinct labels"),
        (["labels", "values"], ["yes", "?"], "'?' cannot be a label: whoever labels by file writes it"),
        (["learner", "name"], 5, "name must be a text, got 5"),
        (["learner", "name"], "handicaps", "unknown learner 'handicaps'"),
        (["learner", "epsilon"], "0.1", "epsilon must be a number, got '0.1'"),
        (["learner", "epsilon"], True, "epsilon must be a number, got True"),
        (["learner", "epsilon"], float("nan"), "epsilon must be in (0, 1), got nan"),
        (["learner", "rho"], 1, "rho must be in (0, 1), got 1"),
        (["learner", "batch"], 1.0, "batch must be a whole number, got 1.0"),
        (["learner", "batch"], 0, "batch must be a whole number of at least 1, got 0"),
        (["learner", "finish"], "excess", "[learner] has no key 'finish'"),
        (["learner", "plan"], "loose", "unknown plan 'loose'"),
        (["learner", "query"], "halving", "[learner] has no key 'query': leave it out"),
        (["class", "kind"], "forest", "unknown kind of class 'forest'"),
        (["class", "candidates"], [], "lists its candidates"),
        (["class", "candidates"], {"name": "a"}, "lists its candidates"),
        (["class", "candidates", 2], "m2", "candidate 2 needs a name, got 'm2'"),
        (["class", "candidates", 2, "name"], "", "candidate 2 needs a name"),
        (["class", "candidates", 2, "name"], "m1", "the candidate 'm1' is named twice"),
        (["class", "candidates", 2, "digest"], "md5:1", "the digest of 'm2' must be written sha256:<64 hex digits>"),
        (["class", "candidates", 2, "digest"], "sha256:" + 64 * "x", "the digest of 'm2' must be written sha256:<64 hex digits>"),
        (["prior"], {"kind": "flat"}, "unknown kind of prior 'flat'"),
        (["prior"], {"kind": "weights"}, "weights must be numbers, one a hypothesis, got None"),
        (["prior"], {"kind": "weights", "weights": [1, 2]}, "a prior needs 6 weights, one a hypothesis, got 2"),
        (["prior"], {"kind": "order", "order": "m0"}, "lists every hypothesis once"),
        (["prior"], PUBLIC | {"public": "md5:1"}, "public must be written sha256:<64 hex digits>, got 'md5:1'"),
        (["prior"], PUBLIC | {"public": 5}, "public must be written sha256:<64 hex digits>, got 5"),
        (["prior"], PUBLIC | {"public_items": 0}, "public_items must be a whole number of at least 1, got 0"),
        (["prior"], PUBLIC | {"public_items": True}, "public_items must be a whole number of at least 1, got True"),
        (["prior"], PUBLIC | {"public_rows": 5}, "a prior of kind 'order' has no key 'public_rows'"),
        (["prior"], {"kind": "order", "order": [*range(6)], "public_items": 5}, "all three, or none"),
        (["prior"], {"kind": "weights", "weights": [1] * 6, "public_items": 5}, "kind 'weights' has no key 'public_items'"),
        (["handicap"], 5, "handicap must be a section [handicap], got 5"),
        (["handicap"], {"from": "luck"}, "one of order, exponentials, weights, cover, zero, values; got 'luck'"),
        (["handicap"], {"from": "zero", "order": [0]}, "handicaps from 'zero' have no key 'order'"),
        (["handicap"], {"from": "order", "order": [*range(6)], "public_items": 5}, "all three, or none"),
        (["handicap"], {"from": "weights", "weights": [1, 2]}, "needs 6 weights, one a hypothesis, got 2"),
        (["handicap"], {"from": "values", "values": [0.1] * 5}, "6 handicaps are needed, one a hypothesis, got 5"),
        (["handicap"], {"from": "values", "values": ["0"] * 6}, "handicaps are numbers, one a hypothesis: values = [..], got ['0'"),
        (["handicap"], {"from": "values", "values": [0.5] * 6}, "a handicap is 0.5, above epsilon = 0.4: give handicaps up to that"),
        (["handicap"], {"from": "values", "values": [-0.1] * 6}, "the handicap of 'm0' must be a number from 0 to epsilon, got -0.1"),
        (["handicap"], {"from": "values", "values": [float("nan")] * 6}, "the handicap of 'm0' must be a number from 0 to epsilon, got nan"),
        (["handicap"], {"from": "order", "order": [*range(6)], "shortlist": 7}, "a shortlist of 7 is longer than the class of 6"),
        (["handicap"], {"from": "order", "order": [*range(6)], "shortlist": 2.5}, "shortlist must be a whole number of at least 2"),
        (["handicap"], {"from": "cover", "members": []}, "a cover lists hypotheses from 0 to 5, each once, and at least one"),
        (["handicap"], {"from": "cover", "members": [0, 6]}, "a cover lists hypotheses from 0 to 5, each once"),
        (["handicap"], {"from": "cover", "members": [0, 0]}, "a cover lists hypotheses from 0 to 5, each once"),
        (["handicap"], {"from": "cover", "members": [True]}, "a cover lists the numbers of its members: members = [..], got [True]"),
        (["handicap"], COVER | {"radius": 1}, "the radius of a cover is a number between 0 and 1, got 1"),
        (["handicap"], COVER | {"public": "md5:1"}, "public must be written sha256:<64 hex digits>, got 'md5:1'"),
        (["handicap"], COVER | {"public_items": 0}, "public_items must be a whole number of at least 1, got 0"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(place, value, message):
    said = copy.deepcopy(content("cal" if place == ["prior"] else "handicap"))
    inner = said
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    assert message in refused(said)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("thresholds", {"features": "dose"}, "features must be a list of names, got 'dose'"),
        ("thresholds", {"features": []}, "features must be a list of names, got []"),
        ("thresholds", {"features": ["dose", ""]}, "features must be a list of names"),
        ("thresholds", {"features": ["dose", "age"]}, "thresholds look at one feature, got 2: dose, age"),
        ("stumps", {"features": ["age", "age"]}, "features names 'age' twice"),
        ("thresholds", {"cuts": [[1.0], [2.0]]}, "cuts must be 1 lists of numbers, one a feature"),
        ("thresholds", {"cuts": [["1"]]}, "cuts must be 1 lists of numbers"),
        ("thresholds", {"cuts": [[True]]}, "cuts must be 1 lists of numbers"),
        ("thresholds", {"cuts": [[float("inf")]]}, "cuts must be 1 lists of numbers"),
        ("thresholds", {"cuts": [[2.0, 1.0]]}, "strictly ascending"),
        ("stumps", {"cuts": [[1.0], []]}, "the cuts of feature 1 must be finite and strictly ascending"),
        ("intervals", {"bins": 0}, "bins must be a whole number of at least 1, got 0"),
        ("intervals", {"bins": 2.0}, "bins must be a whole number of at least 1, got 2.0"),
        ("intervals", {"range": [[0, 1], [0, 1]]}, "range must be 1 pairs [low, high], one a feature"),
        ("intervals", {"range": [0, 1]}, "range must be 1 pairs"),
        ("boxes", {"range": [[0, 1], [1, 0]]}, "the range of 'age' must have low < high, got [1, 0]"),
        ("boxes", {"range": [[0, 1], [0, float("nan")]]}, "range must be 2 pairs"),
        ("halfspaces", {"count": True}, "count must be a whole number of at least 1, got True"),
        ("star", {"count": "4"}, "count must be a whole number of at least 1, got '4'"),
        ("star", {"features": ["a", "b"]}, "star look at one feature, got 2: a, b"),
    ],
)
def test_a_wrong_value_in_a_class_is_named(kind, changes, message):
    said = of_kind(kind)
    Protocol.of(said)
    said["class"] |= changes
    assert message in refused(said)


def test_a_class_of_two_labels_refuses_a_third():
    said = of_kind("thresholds") | {"labels": {"values": ["a", "b", "c"]}}
    assert "tells two labels apart" in refused(said)
    assert len(Protocol.of(of_kind("table") | {"labels": {"values": ["a", "b", "c"]}}).labels) == 3


def test_the_order_of_keys_does_not_count_but_that_of_labels_and_candidates_does():
    said = content(batch=2)
    turned = {key: said[key] for key in reversed(said)} | {"learner": dict(reversed(said["learner"].items()))}
    assert Protocol.of(turned).fingerprint == Protocol.of(said).fingerprint
    for section, key in (("labels", "values"), ("class", "candidates")):
        other = said | {section: said[section] | {key: said[section][key][::-1]}}
        assert Protocol.of(other).fingerprint != Protocol.of(said).fingerprint


def test_a_whole_number_means_the_same_with_and_without_a_point():
    said = content("replical", theta=4, plan="paper", k_loop=5, k_final=5)
    other = content("replical", theta=4.0, plan="paper", k_loop=5, k_final=5)
    assert Protocol.of(said).fingerprint == Protocol.of(other).fingerprint


# ---- files and priors ----


def test_a_protocol_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(BadProtocol, match=r"cannot read the protocol .*nowhere.toml: No such file"):
        Protocol.read(tmp_path / "nowhere.toml")
    with pytest.raises(BadProtocol, match="cannot read the protocol .*: Is a directory"):
        Protocol.read(tmp_path)
    for raw in (b"\xff\xfe", b"= 5", b"a = 1\na = 2"):
        (tmp_path / "bad.toml").write_bytes(raw)
        with pytest.raises(BadProtocol, match=r"bad.toml is not a TOML file"):
            Protocol.read(tmp_path / "bad.toml")


def test_a_preference_stands_in_the_section_of_its_learner():
    prior = {"kind": "order", "order": [*range(6)]}
    assert "[prior] is not for the learner handicap: say who is preferred in [handicap]" in refused(
        content(prior=prior)
    )
    said = content("cal", handicap=HANDICAPS[0])
    assert refused(said) == "[handicap] is for the learner of this name, not for 'cal'"


def test_the_public_table_of_an_order_is_in_the_fingerprint():
    """And a file that says nothing of one has the fingerprint it always had."""
    plain = {"kind": "order", "order": [*range(6)]}
    others = [PUBLIC, PUBLIC | {"public_items": 101}, PUBLIC | {"public": f"sha256:{'0b' * 32}"}, plain]
    for who in (0, 1):
        assert len({Protocol.of(preferring(prior)[who]).fingerprint for prior in others}) == 4
        assert [Protocol.of(preferring(prior)[who]).public for prior in (PUBLIC, plain)] == [PUBLIC["public"], None]
    assert Protocol.of(content(handicap=COVER)).public == COVER["public"]
    assert Protocol.of(content()).public is None
    frozen = [
        "sha256:7133a65d495ef93bd5ed006665e3a3705c64846d2c202fb219cfa86a66f05b91",
        "sha256:cf729aaaaadeae3494ad0bb8a1ca025e3ed75e69b2a79c2a58da773e9acb0427",
    ]
    assert [Protocol.of(said).fingerprint for said in preferring(plain)] == frozen


def test_priors_reach_the_plan():
    """The published preference is the one the shared order uses, whether it is told by name, by index or by weight."""
    everyone = np.arange(6)
    for order in (["m5", "m4", "m3", "m2", "m1", "m0"], [5, 4, 3, 2, 1, 0]):
        paper, ours = map(Protocol.of, preferring({"kind": "order", "order": order}))
        assert paper.plan.prior.first(paper.shared, "order", indices=everyone) == 5
        assert (ours.plan.source, ours.plan.favourite) == ("order", 5)
    heavy = [1e-6, 1e-6, 1e6, 1e-6, 1e-6, 1e-6]
    listed, ours = map(Protocol.of, preferring({"kind": "weights", "weights": heavy}))
    assert listed.plan.prior.first(listed.shared, "order", indices=everyone) == 2
    assert ours.plan.source == "weights"
    assert ours.plan.terms(ours.shared)[1].argmin() == 2
    cuts = of_kind("thresholds", learner="cal") | {"prior": {"kind": "weights", "weights": [1, 5, 1]}}
    assert Protocol.of(cuts).plan.prior.masses(3).tolist() == pytest.approx([1 / 7, 5 / 7, 1 / 7])


def test_handicaps_reach_the_plan():
    made = {each["from"]: Protocol.of(content(handicap=each)) for each in HANDICAPS}
    assert {name: each.plan.source for name, each in made.items()} == {name: name for name in made}
    assert made["cover"].plan.members.tolist() == [0, 2]
    short = Protocol.of(content(handicap={"from": "order", "order": [4, 1, 0, 2, 3, 5], "shortlist": 2}))
    assert short.plan.terms(short.shared)[0].tolist() == [1, 4]
    for name in ("zero", "values"):
        assert not made[name].plan.terms(made[name].shared)[1].any()
    given = Protocol.of(content(handicap={"from": "values", "values": {f"m{n}": n / 32 for n in range(6)}}))
    assert given.plan.terms(given.shared)[1].tolist() == [n * 2**35 for n in range(6)]


def test_every_number_of_the_learner_reaches_the_plan():
    made = Protocol.of(content(epsilon=0.1, a=0.02, b=0.05, batch=3, labs=3, max_labels=9)).plan
    assert [float(made[name]) for name in ("a", "b", "rho", "delta", "labs")] == [0.02, 0.05, 0.6, 0.2, 3]
    assert (made.batch, made.max_labels, made.name) == (3, 9, "tight")
    assert Protocol.of(content("erm", plan="paper", k_final=5)).plan.name == "paper"


TEXTS = ("no", "yes")
VALID = Protocol.of(content()).toml()


def test_a_huge_cut_is_no_number():
    with pytest.raises(BadProtocol, match="cuts must be"):
        recipe({"kind": "thresholds", "features": ["x"], "cuts": [[10**400]]}, TEXTS, "s")


def test_a_mark_of_byte_order_is_no_part_of_a_protocol(tmp_path):
    (tmp_path / "p.toml").write_bytes(b"\xef\xbb\xbf" + VALID.encode())
    assert Protocol.read(tmp_path / "p.toml").fingerprint == Protocol.of(content()).fingerprint


@pytest.mark.parametrize("weights", [["1", "1", "1", "1", "1", "1"], [True] * 6, "111111"])
def test_weights_are_numbers(weights):
    for said in preferring({"kind": "weights", "weights": weights}):
        with pytest.raises(BadProtocol, match="weights must be numbers"):
            Protocol.of(said)


def test_weights_by_name_are_written_so_that_they_read_back(tmp_path):
    names = ["a b", 'c"d', "é", "plain", "x.y", ""]
    weights = {name or "z": 1.0 + n for n, name in enumerate(names)}
    for said in preferring({"kind": "weights", "weights": weights}):
        said["class"]["candidates"] = [{"name": name or "z"} for name in names]
        (tmp_path / "p.toml").write_text(Protocol.of(said).toml())
        assert Protocol.read(tmp_path / "p.toml").fingerprint == Protocol.of(said).fingerprint


def test_labs_are_part_of_the_protocol_and_their_order_is():
    plain, named = content(labs=3), content(labs=3) | {"labs": {"names": ["a", "b", "c"]}}
    assert Protocol.of(plain).lab_names == ()
    assert Protocol.of(named).lab_names == ("a", "b", "c")
    turned = named | {"labs": {"names": ["b", "a", "c"]}}
    assert len({Protocol.of(said).fingerprint for said in (plain, named, turned)}) == 3
    assert Protocol.of(tomllib.loads(Protocol.of(named).toml())).fingerprint == Protocol.of(named).fingerprint
    assert (Protocol.of(named).labs_most, Protocol.of(content("cal")).labs_most) == (3, None)


def test_more_labs_than_the_learner_counts_on_are_refused():
    said = content() | {"labs": {"names": ["a", "b", "c"]}}
    assert "3 labs are listed, and the learner's numbers are for labs = 2: write 3 there" in refused(said)


def test_what_a_command_remembers_is_the_same_protocol_to_the_letter():
    """True, 1 and 1.0 are equal to Python and not to a protocol; what was refused is refused again."""
    said = content(batch=1)
    with remembering():
        first = Protocol.of(said)
        assert Protocol.of(copy.deepcopy(said)) is first
        for batch in (True, 1.0):
            for _ in range(2):
                with pytest.raises(BadProtocol):
                    Protocol.of(content(batch=batch))
        other = Protocol.of(said | {"seed": "another text"})
        assert (other.fingerprint, other.recipe.C) != (first.fingerprint, first.recipe.C)
        assert Protocol.of(said | {"title": "A title"}).title == "A title"
    assert Protocol.of(said) is not Protocol.of(said)
