"""A protocol is read strictly, written so that it reads back, and fingerprinted so that nothing in it can change."""

import copy
import hashlib
import json
import re
import tomllib
import types

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from replical.classes.catalogue import recipe
from replical.cli import main
from replical.cli import protocol as protocol_cli
from replical.errors import BadProtocol, ReplicalError
from replical.lab.protocol import Protocol
from support.lab import content

SECTIONS = {
    "thresholds": {"kind": "thresholds", "features": ["dose"], "cuts": [[0.5, 1.5, 2.5]]},
    "intervals": {"kind": "intervals", "features": ["dose"], "bins": 5, "range": [[0.0, 10.0]]},
    "stumps": {"kind": "stumps", "features": ["dose", "age"], "cuts": [[1.0], [40.0, 55.0]]},
    "boxes": {"kind": "boxes", "features": ["dose", "age"], "bins": 2, "range": [[0.0, 10.0], [20.0, 60.0]]},
    "halfspaces": {"kind": "halfspaces", "features": ["dose", "age"], "count": 7, "range": [[0.0, 10.0], [20.0, 60.0]]},
    "star": {"kind": "star", "features": ["cell"], "count": 4},
    "table": {"kind": "table", "candidates": [{"name": "a"}, {"name": "b"}]},
}


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
        (content(), ["class", "candidates", 1]),
        *((of_kind(kind), ["class"]) for kind in SECTIONS),
        *(
            (content(prior=prior), ["prior"])
            for prior in ({"kind": "uniform"}, {"kind": "weights", "weights": [1] * 6}, {"kind": "order", "order": [*range(6)]})
        ),
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
        (content(), ["labels"], "values", "[labels] has one key, values"),
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
        (content(prior={"kind": "order", "order": [0]}), ["prior"], "order", "order = [..]"),
        (content(prior={"kind": "order", "order": [0]}), ["prior"], "kind", "kind None has no key 'order'"),
        (content(prior={"kind": "uniform"}), ["prior"], "kind", "unknown kind of prior None"),
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
        (["labels", "values"], "yes", "[labels] has one key, values"),
        (["labels", "values"], [1.0, 2.0], "labels must be texts or whole numbers, got [1.0, 2.0]"),
        (["labels", "values"], [True, False], "labels must be texts or whole numbers"),
        (["labels", "values"], ["yes"], "2 to 65536 distinct labels, got ['yes']"),
        (["labels", "values"], ["yes", "yes"], "distinct labels"),
        (["labels", "values"], ["yes", "?"], "'?' cannot be a label: whoever labels by file writes it"),
        (["learner", "name"], 5, "name must be a text, got 5"),
        (["learner", "name"], "rounded-a3", "unknown learner 'rounded-a3'"),
        (["learner", "epsilon"], "0.1", "epsilon must be a number, got '0.1'"),
        (["learner", "epsilon"], True, "epsilon must be a number, got True"),
        (["learner", "epsilon"], float("nan"), "epsilon must be in (0, 1), got nan"),
        (["learner", "rho"], 1, "rho must be in (0, 1), got 1"),
        (["learner", "batch"], 1.0, "batch must be a whole number, got 1.0"),
        (["learner", "batch"], 0, "batch must be a whole number of at least 1, got 0"),
        (["learner", "items"], True, "items must be a whole number, got True"),
        (["learner", "finish"], 1, "finish must be a text, got 1"),
        (["learner", "finish"], "soon", "unknown finish 'soon'"),
        (["learner", "plan"], "loose", "unknown plan 'loose'"),
        (["learner", "query"], "halving", "rounded-a2 has no query"),
        (["class", "kind"], "forest", "unknown kind of class 'forest'"),
        (["class", "candidates"], [], "lists its candidates"),
        (["class", "candidates"], {"name": "a"}, "lists its candidates"),
        (["class", "candidates", 2], "m2", "candidate 2 needs a name, got 'm2'"),
        (["class", "candidates", 2, "name"], "", "candidate 2 needs a name"),
        (["class", "candidates", 2, "name"], "m1", "the candidate 'm1' is named twice"),
        (["class", "candidates", 2, "weight"], "1", "the weight of 'm2' must be a number, got '1'"),
        (["class", "candidates", 2, "weight"], True, "the weight of 'm2' must be a number, got True"),
        (["class", "candidates", 2, "weight"], 2.0, "'m2' has a weight, but the prior is uniform"),
        (["class", "candidates", 2, "digest"], "md5:1", "the digest of 'm2' must be written sha256:<64 hex digits>"),
        (["prior"], {"kind": "flat"}, "unknown kind of prior 'flat'"),
        (["prior"], {"kind": "weights"}, "the prior has no weight for 'm0'"),
        (["prior"], {"kind": "weights", "weights": [1, 2]}, "a prior needs 6 weights, one a hypothesis, got 2"),
        (["prior"], {"kind": "weights", "weights": [1, 1, 1, 1, 1, 0]}, "hypothesis 5 (m5) must be a positive number, got 0"),
        (["prior"], {"kind": "order", "order": "m0"}, "lists every hypothesis once"),
        (["prior"], {"kind": "order", "order": [0, 1, 2]}, "'m3' is missing"),
        (["prior"], {"kind": "order", "order": ["m9", 1, 2, 3, 4, 5]}, "names 'm9', which is no candidate"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(place, value, message):
    said = copy.deepcopy(content())
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


# ---- round trip and fingerprint ----

NASTY = [
    '"',
    "\\",
    "'''",
    '"""',
    "\n",
    "\r\n",
    "\t",
    "\x00",
    "\x1f",
    "\x7f",
    "\x85",
    "\u2028",
    "é",
    "é",
    "💥",
    "# no",
    "=",
    "]",
]
texts = st.lists(
    st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=4)), max_size=4
).map("".join)  # fmt: skip
names = texts.filter(bool)
sizes = st.integers(1, 6)
weights = st.floats(1e-3, 1e3)
pairs = st.tuples(st.floats(-100, 100), st.floats(0.5, 100)).map(lambda ends: [ends[0], ends[0] + ends[1]])


@st.composite
def classes(draw):
    kind = draw(st.sampled_from(list(SECTIONS)))
    if kind == "table":
        listed = draw(st.lists(names, min_size=1, max_size=4, unique=True))
        candidates = [{"name": name} for name in listed]
        if draw(st.booleans()):
            candidates[0]["digest"] = f"sha256:{'0a' * 32}"
        return {"kind": kind, "candidates": candidates}
    count = draw(st.integers(1, 3)) if kind in ("stumps", "boxes", "halfspaces") else 1
    section = {"kind": kind, "features": draw(st.lists(names, min_size=count, max_size=count, unique=True))}
    ranges = draw(st.lists(pairs, min_size=count, max_size=count))
    cuts = [sorted(draw(st.sets(st.integers(-50, 50), min_size=1, max_size=4))) for _ in range(count)]
    ways = {
        "thresholds": [{"count": draw(sizes)}, {"cuts": cuts}, {"range": ranges, "bins": draw(sizes)}],
        "stumps": [{"cuts": cuts}, {"range": ranges, "bins": draw(sizes)}],
        "intervals": [{"bins": draw(sizes)}, {"bins": draw(sizes), "range": ranges}],
        "boxes": [{"bins": draw(st.integers(1, 3)), "range": ranges}],
        "halfspaces": [{"count": draw(sizes)}, {"count": draw(sizes), "range": ranges}],
        "star": [{"count": draw(sizes)}],
    }
    return section | draw(st.sampled_from(ways[kind]))


LEARNERS = [
    {"name": "rounded-a2", "batch": 3, "items": 5000, "finish": "excess", "kappa": 0.01, "max_labels": 10**20},
    {"name": "rounded-cal", "query": "halving", "a": 0.01, "b": 0.02},
    {"name": "cal"},
    {"name": "a2", "kappa": 0.01},
    {"name": "erm", "nu": 0.02, "plan": "paper"},
    {"name": "replical", "theta": 2.0, "plan": "paper", "T": 0.125, "k_loop": 5, "k_final": 9},
    {"name": "replica2", "theta": 4, "nu": 0.03, "stop": "rstat", "stop_delta": 1e-9},
    {"name": "boosted-replicable-erm", "nu": 0.0, "strings": 2, "runs": 3},
]


@st.composite
def protocols(draw):
    section = draw(classes())
    many = 4 if section["kind"] == "table" else 2
    labels = st.one_of(
        st.lists(names.filter(lambda name: name != "?"), min_size=2, max_size=many, unique=True),
        st.lists(st.integers(-5, 10**20), min_size=2, max_size=many, unique=True),
    )
    said = {"schema": "replical.protocol/1"}
    said |= {key: draw(texts) for key in ("title", "notes") if draw(st.booleans())}
    said |= {"seed": draw(texts.filter(str.strip)), "class": section, "labels": {"values": draw(labels)}}
    n = len(recipe(section, said["labels"]["values"], said["seed"]).C)
    prior = draw(st.sampled_from(["none", "uniform", "weights", "candidates", "order"]))
    if prior == "uniform":
        said["prior"] = {"kind": "uniform"}
    elif prior == "weights":
        said["prior"] = {"kind": "weights", "weights": draw(st.lists(weights, min_size=n, max_size=n))}
    elif prior == "candidates" and section["kind"] == "table":
        said["prior"] = {"kind": "weights"}
        for candidate in section["candidates"]:
            candidate["weight"] = draw(weights)
    elif prior == "order":
        said["prior"] = {"kind": "order", "order": draw(st.permutations(range(n)))}
    small = {"epsilon": 0.1, "delta": draw(st.sampled_from([0.05, 1e-7])), "rho": draw(st.floats(0.01, 0.5))}
    said["learner"] = draw(st.sampled_from(LEARNERS)) | small
    return said


@settings(max_examples=80)
@given(protocols())
def test_a_written_protocol_reads_back_as_itself(tmp_path_factory, said):
    """Labs exchange the file: what one publishes must be to the last character what another reads."""
    protocol = Protocol.of(said)
    file = tmp_path_factory.getbasetemp() / "written.toml"
    file.write_text(protocol.toml(), encoding="utf-8")
    again = Protocol.read(file)
    assert again.content == said
    assert again.fingerprint == protocol.fingerprint
    assert again.title == said.get("title", "")
    assert again.recipe.C.fingerprint == protocol.recipe.C.fingerprint


@settings(max_examples=25)
@given(protocols(), texts, texts)
def test_title_and_notes_are_for_people_only(said, title, notes):
    bare = Protocol.of({key: value for key, value in said.items() if key not in ("title", "notes")})
    dressed = Protocol.of(said | {"title": title, "notes": notes})
    assert dressed.fingerprint == bare.fingerprint
    assert dressed.toml() != bare.toml()


def leaves(value, place=()):
    """Every place in nested mappings and lists where something stands that is neither."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield place
    else:
        for key, each in inner:
            yield from leaves(each, (*place, key))


def with_changed(said, place, change):
    said = copy.deepcopy(said)
    inner = said
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = change(inner[place[-1]])
    return said


def another(value):
    if isinstance(value, str):
        return f"sha256:{'0b' * 32}" if value.startswith("sha256:") else value + "x"
    return value + 1 if isinstance(value, int) else value * 1.5 + 1e-9


@settings(max_examples=40)
@given(protocols())
def test_every_single_leaf_of_the_body_is_in_the_fingerprint(said):
    """A protocol with anything else in it is another protocol, or none."""
    fingerprint = Protocol.of(said).fingerprint
    places = [place for place in leaves(said) if place[0] not in ("title", "notes")]
    assert len(places) >= 8
    changed = 0
    for place in places:
        other = with_changed(said, place, another)
        assert other != said
        try:
            found = Protocol.of(other).fingerprint
        except ReplicalError:
            continue
        assert found != fingerprint, place
        changed += 1
    assert changed >= 4  # seed, labels, delta, rho


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


# ---- candidates in a file, priors ----


@pytest.fixture
def with_file(tmp_path):
    """A protocol whose candidates stand in a CSV file beside it."""

    def write(text, *, digest=None, prior="uniform", more=""):
        raw = text if isinstance(text, bytes) else text.encode()
        (tmp_path / "candidates.csv").write_bytes(raw)
        told = "" if digest is None else f'digest = "{digest or "sha256:" + hashlib.sha256(raw).hexdigest()}"\n'
        file = tmp_path / "protocol.toml"
        file.write_text(
            f'schema = "replical.protocol/1"\nseed = "s"\n[class]\nkind = "table"\nfile = "candidates.csv"\n{told}{more}'
            f'[labels]\nvalues = ["no", "yes"]\n[prior]\nkind = "{prior}"\n[learner]\nname = "rounded-a2"\n'
            "epsilon = 0.1\ndelta = 0.1\nrho = 0.1\n"
        )
        return file

    return write


def test_candidates_in_a_file_are_as_good_as_listed_ones(with_file):
    protocol = Protocol.read(with_file("name,weight\nrés net,2\nvit,0.5\n", digest="", prior="weights"))
    assert protocol.recipe.columns == ("rés net", "vit")
    assert protocol.prior.values.tolist() == [2.0, 0.5]
    listed = Protocol.of(protocol.content)
    assert listed.fingerprint == protocol.fingerprint
    assert tomllib.loads(protocol.toml())["class"]["candidates"][1] == {"name": "vit", "weight": 0.5}


def test_a_file_of_candidates_may_come_from_a_spreadsheet(with_file):
    plain = Protocol.read(with_file("name\na\nb\n")).fingerprint
    assert Protocol.read(with_file(b"\xef\xbb\xbfname,digest\r\na,\r\nb,\r\n")).fingerprint == plain


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("name\na\nb\n", {"digest": "sha256:" + "0" * 64}, "candidates.csv has changed: its digest is sha256:"),
        ("name\na\nb\n", {"more": 'candidates = [{ name = "a" }]\n'}, "give candidates or a file of them, not both"),
        ("name,weight\na,much\n", {"prior": "weights"}, "the weight of 'a' is no number: 'much'"),
        ("name,weight\na,1\nb,\n", {"prior": "weights"}, "no weight for 'b'"),
        ("name,colour\na,red\n", {}, "a candidate has no key 'colour'"),
        ("model\na\n", {}, "candidate 0 needs a name"),
        ("name\na\na\n", {}, "the candidate 'a' is named twice"),
        ("", {}, "lists its candidates"),
        ('name\n"a\n', {}, "cannot read the candidates"),
        (b"name\n\xff\n", {}, "cannot read the candidates"),
        ("name\na,b\n", {}, "a candidate has no key None"),
    ],
)
def test_what_is_wrong_with_a_file_of_candidates_is_named(with_file, text, options, message):
    with pytest.raises(ReplicalError, match=r".") as caught:
        Protocol.read(with_file(text, **options))
    assert message in str(caught.value)


def test_a_missing_file_of_candidates_is_named(with_file):
    file = with_file("name\na\n")
    (file.parent / "candidates.csv").unlink()
    with pytest.raises(BadProtocol, match=r"protocol.toml: cannot read the candidates .*candidates.csv"):
        Protocol.read(file)


def test_a_protocol_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(BadProtocol, match=r"cannot read the protocol .*nowhere.toml: No such file"):
        Protocol.read(tmp_path / "nowhere.toml")
    with pytest.raises(BadProtocol, match="cannot read the protocol .*: Is a directory"):
        Protocol.read(tmp_path)
    for raw in (b"\xff\xfe", b"= 5", b"a = 1\na = 2"):
        (tmp_path / "bad.toml").write_bytes(raw)
        with pytest.raises(BadProtocol, match=r"bad.toml is not a TOML file"):
            Protocol.read(tmp_path / "bad.toml")


def test_priors_reach_the_plan():
    """The published preference is the one the shared order uses, whether it is told by name, by index or by weight."""
    by_name = Protocol.of(content(prior={"kind": "order", "order": ["m5", "m4", "m3", "m2", "m1", "m0"]}))
    by_index = Protocol.of(content(prior={"kind": "order", "order": [5, 4, 3, 2, 1, 0]}))
    everyone = np.arange(6)
    for protocol in (by_name, by_index):
        assert protocol.plan.prior.first(protocol.shared, "order", indices=everyone) == 5
    heavy = [1e-6, 1e-6, 1e6, 1e-6, 1e-6, 1e-6]
    listed = Protocol.of(content(prior={"kind": "weights", "weights": heavy}))
    told = content(prior={"kind": "weights"})
    for candidate, weight in zip(told["class"]["candidates"], heavy, strict=True):
        candidate["weight"] = weight
    assert listed.plan.prior.first(listed.shared, "order", indices=everyone) == 2
    assert Protocol.of(told).plan.prior.fingerprint == listed.plan.prior.fingerprint
    cuts = of_kind("thresholds") | {"prior": {"kind": "weights", "weights": [1, 5, 1]}}
    assert Protocol.of(cuts).plan.prior.masses(3).tolist() == pytest.approx([1 / 7, 5 / 7, 1 / 7])


def test_every_number_of_the_learner_reaches_the_plan():
    made = Protocol.of(content(epsilon=0.1, kappa=0.01, a=0.02, b=0.05, batch=3, items=77, max_labels=9)).plan
    assert [float(made[name]) for name in ("a", "b", "rho", "delta", "kappa")] == [0.02, 0.05, 0.6, 0.2, 0.01]
    assert (made.items, made.max_labels, made.base.max_labels, made.name) == (77, 9, 9, "tight")
    assert Protocol.of(content("erm", plan="paper", k_final=5)).plan.name == "paper"


# ---- classes from columns ----

DOSE = np.array([-1.0, 0.0, 0.4, 2.0, 4.99, 9.9, 10.0, 12.0])
AGE = np.array([20.0, 39.9, 40.0, 60.0, 19.0, 70.0, 30.0, 55.0])
CELLS = np.array([0, 3, 2, 1])


def said_by(section, columns):
    made = recipe(section, ("no", "yes"), "seed")
    return made, made.C.codes(made.C.items(made.items(columns)), np.arange(len(made.C)))


def test_thresholds_from_cuts_ranges_and_counts():
    made, codes = said_by(
        {"kind": "thresholds", "features": ["dose"], "range": [[0.0, 10.0]], "bins": 4}, {"dose": DOSE}
    )
    assert made.columns == ("dose",)
    assert [made.describe(h) for h in (0, 3)] == ["yes if dose >= 2.0 else no", "yes if dose >= 8.0 else no"]
    assert codes.tolist() == [(cut <= DOSE).astype(int).tolist() for cut in (2.0, 4.0, 6.0, 8.0)]
    made, codes = said_by(SECTIONS["thresholds"], {"dose": DOSE})
    assert codes.tolist() == [(cut <= DOSE).astype(int).tolist() for cut in (0.5, 1.5, 2.5)]
    made, codes = said_by({"kind": "thresholds", "features": ["dose"], "count": 5}, {"dose": CELLS})
    assert made.describe(3) == "yes if dose >= 3 else no"
    assert codes.tolist() == [(h <= CELLS).astype(int).tolist() for h in range(5)]


def test_intervals_from_cells_and_ranges():
    made, codes = said_by(SECTIONS["intervals"], {"dose": DOSE})
    cells = np.clip(np.floor(DOSE / 2), 0, 4)  # five cells of width 2; what lies outside belongs to the nearest
    place = 1 + 5 + 1  # the empty one, five that begin at 0, then [1, 1], [1, 2]
    assert made.describe(place) == "yes if 2 <= dose < 6 else no"
    assert codes[place].tolist() == ((cells >= 1) & (cells <= 2)).astype(int).tolist()
    assert [made.describe(h) for h in (0, 2, 5, 9)] == [
        "no everywhere",
        "yes if dose < 4 else no",
        "yes everywhere",
        "yes if 2 <= dose else no",
    ]
    made, codes = said_by({"kind": "intervals", "features": ["dose"], "bins": 4}, {"dose": CELLS})
    assert made.describe(2) == "yes on cells 0 to 1, else no"
    assert codes[0].tolist() == [0, 0, 0, 0]
    assert codes[1].tolist() == (CELLS == 0).astype(int).tolist()


def test_stumps_look_at_the_feature_they_name():
    made, codes = said_by(SECTIONS["stumps"], {"age": AGE, "dose": DOSE, "unused": DOSE})
    assert made.columns == ("dose", "age")
    assert [made.describe(h) for h in (0, 1, 4, 5)] == [
        "yes if dose >= 1 else no",
        "no if dose >= 1 else yes",
        "yes if age >= 55 else no",
        "no if age >= 55 else yes",
    ]
    assert codes[0].tolist() == (DOSE >= 1).astype(int).tolist()
    assert codes[5].tolist() == (AGE < 55).astype(int).tolist()
    plain = {key: value for key, value in SECTIONS["stumps"].items() if key != "cuts"}
    made, codes = said_by(plain | {"range": [[0, 10], [20, 60]], "bins": 3}, {"age": AGE, "dose": DOSE})
    assert [made.describe(h) for h in (2, 10)] == ["yes if dose >= 5 else no", "yes if age >= 50 else no"]


def test_boxes_are_scaled_to_their_ranges():
    """Half of each range is a bin: 0 to 5 of the dose, 20 to 40 of the age; outside the range is outside every box."""
    made, codes = said_by(SECTIONS["boxes"], {"dose": DOSE, "age": AGE})
    low_low = (DOSE >= 0) & (DOSE < 5) & (AGE >= 20) & (AGE < 40)
    assert codes[0].tolist() == low_low.astype(int).tolist()
    everything = (DOSE >= 0) & (DOSE < 10) & (AGE >= 20) & (AGE < 60)
    assert codes[4].tolist() == everything.astype(int).tolist()
    assert codes.shape == (9, len(DOSE))
    assert "dose" in made.describe(0)
    assert "age" in made.describe(0)


def test_halfspaces_are_scaled_to_variance_one():
    made, codes = said_by(SECTIONS["halfspaces"], {"dose": DOSE, "age": AGE})
    scaled = np.stack([(DOSE - 5) / 10, (AGE - 40) / 40], axis=1) * np.sqrt(12)
    assert (codes == (scaled @ made.C.normals.T - made.C.offsets >= 0).T).all()
    assert {"dose", "age"} <= set(made.describe(0).replace("x", "").split())
    bare = {key: value for key, value in SECTIONS["halfspaces"].items() if key != "range"}
    made, codes = said_by(bare, {"dose": DOSE, "age": AGE})
    assert (codes == (np.stack([DOSE, AGE], axis=1) @ made.C.normals.T - made.C.offsets >= 0).T).all()


def test_the_net_of_halfspaces_is_drawn_from_the_protocol_s_string():
    one, two = (Protocol.of(of_kind("halfspaces") | {"seed": seed}).recipe.C for seed in ("one", "two"))
    assert one.fingerprint != two.fingerprint
    assert (one.normals != two.normals).any()


def test_star_and_table():
    made, codes = said_by(SECTIONS["star"], {"cell": CELLS})
    assert (len(made.C), made.describe(0), made.describe(2)) == (5, "no everywhere", "yes on cell 1, else no")
    assert codes[2].tolist() == (CELLS == 1).astype(int).tolist()
    made, codes = said_by(SECTIONS["table"], {"b": np.array(["no", "yes"]), "a": np.array(["yes", "yes"])})
    assert (made.columns, made.predicts, made.describe(1)) == (("a", "b"), True, "b")
    assert codes.tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize("kind", ["thresholds", "intervals", "stumps", "boxes", "halfspaces"])
def test_a_description_means_what_the_hypothesis_says(kind):
    """People read the description and act on it: in the features' own units it must say what was certified."""
    made, codes = said_by(SECTIONS[kind], {"dose": DOSE, "age": AGE})
    for h in range(len(made.C)):
        told = made.describe(h)
        if told.endswith("everywhere"):
            said = [told.removesuffix(" everywhere")] * len(DOSE)
        else:
            high, rule, low = re.fullmatch(r"(yes|no) if (.*) else (yes|no)", told).groups()
            rule = re.sub(r"([0-9.e+-]+) (dose|age)", r"(\1) * \2", rule) if kind == "halfspaces" else rule
            said = [high if eval(rule, {"dose": d, "age": a}) else low for d, a in zip(DOSE, AGE, strict=True)]
        wrong = [n for n, word in enumerate(said) if word != ("no", "yes")[codes[h, n]]]
        if kind == "halfspaces":  # three digits of a coefficient cannot tell an item on the boundary
            scaled = np.stack([(DOSE - 5) / 10, (AGE - 40) / 40], axis=1) * np.sqrt(12)
            wrong = [n for n in wrong if abs(scaled[n] @ made.C.normals[h] - made.C.offsets[h]) > 0.02]
        assert wrong == [], told


@pytest.mark.parametrize("labels", [("x", "y"), ("x1", "x2"), ("no x", "x7 yes"), ("0", "x")])
def test_labels_may_be_called_like_features(labels):
    made = recipe({"kind": "stumps", "features": ["dose", "age"], "cuts": [[1.0], [2.0]]}, labels, "s")
    low, high = labels
    assert [made.describe(h) for h in (0, 1, 2)] == [
        f"{high} if dose >= 1 else {low}",
        f"{low} if dose >= 1 else {high}",
        f"{high} if age >= 2 else {low}",
    ]


def test_names_of_features_are_put_in_as_they_are():
    """A feature may be called like part of a pattern or of a description."""
    features = ["x1", "x0", r"\1 (dose)"]
    made = recipe({"kind": "stumps", "features": features, "cuts": [[1.0], [2.0], [3.0]]}, ("no", "yes"), "s")
    assert [made.describe(h) for h in (0, 2, 4)] == [
        "yes if x1 >= 1 else no",
        "yes if x0 >= 2 else no",
        r"yes if \1 (dose) >= 3 else no",
    ]


# ---- replical protocol new ----

NEW = {
    "--class": "thresholds:9",
    "--label-values": "no,yes",
    "--learner": "rounded-a2",
    "--epsilon": "0.1",
    "--delta": "0.05",
    "--rho": "0.2",
    "--seed": "published",
}


@pytest.fixture
def new(tmp_path, capsys, monkeypatch):
    """Run `replical protocol new` in an empty folder; the exit code, what it said, and what it wrote."""
    monkeypatch.chdir(tmp_path)

    def run(changes=(), *flags, out="protocol.toml"):
        words = {"--out": out} | NEW | dict(changes)
        given = [str(word) for flag, value in words.items() if value is not None for word in (flag, value)]
        code = main(["protocol", "new", *given, *flags])
        told = capsys.readouterr()
        file = tmp_path / out
        wrote = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else None
        return types.SimpleNamespace(code=code, out=told.out, err=told.err, wrote=wrote, file=file)

    return run


@pytest.mark.parametrize("flag", ["--out", *(flag for flag in NEW if flag != "--class")])
def test_a_missing_flag_is_named_where_nobody_can_be_asked(new, flag):
    done = new({flag: None})
    assert done.code == 2
    assert f"the flag {flag} is missing" in done.err
    assert done.wrote is None


def test_at_a_terminal_what_is_missing_is_asked_for(new, monkeypatch):
    """And only what is missing."""
    terminal = types.SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(protocol_cli, "sys", types.SimpleNamespace(stdin=terminal, stderr=terminal))
    asked = []

    def prompt(what, *, err):
        asked.append((what, err))
        return {"rho": "0.25", "label values": "a,b"}[what]

    monkeypatch.setattr(protocol_cli.typer, "prompt", prompt)
    done = new({"--rho": None, "--label-values": None})
    assert done.code == 0
    assert sorted(asked) == [("label values", True), ("rho", True)]
    assert (done.wrote["learner"]["rho"], done.wrote["labels"]["values"]) == (0.25, ["a", "b"])


def test_a_new_protocol_says_what_was_asked_for(new):
    done = new({"--plan": "tight", "--nu": None, "--items": "500", "--finish": "distance", "--kappa": "0.02", "--batch": "4",
                "--max-labels": "77", "--theta": "2.5", "--title": 'Dose "rule"'})  # fmt: skip
    assert done.code == 0, done.err
    assert done.wrote == {
        "schema": "replical.protocol/1",
        "title": 'Dose "rule"',
        "seed": "published",
        "class": {"kind": "thresholds", "features": ["x"], "count": 9},
        "labels": {"values": ["no", "yes"]},
        "learner": {
            "name": "rounded-a2", "plan": "tight", "epsilon": 0.1, "delta": 0.05, "rho": 0.2, "theta": 2.5, "items": 500,
            "finish": "distance", "kappa": 0.02, "batch": 4, "max_labels": 77,
        },
    }  # fmt: skip
    fingerprint = Protocol.read(done.file).fingerprint
    assert fingerprint in done.out
    assert "9 hypotheses" in done.out
    again = new({"--title": "other"}, "--json", out="other.toml")
    told = json.loads(again.out)
    assert told == {
        "schema": "replical.protocol-new/1",
        "file": "other.toml",
        "fingerprint": Protocol.read(again.file).fingerprint,
    }
    assert again.err == ""


def test_nu_is_written_where_the_learner_needs_it(new):
    done = new({"--learner": "a2-rounds", "--theta": "2", "--nu": "0.03"})
    assert (done.code, done.wrote["learner"]["nu"]) == (0, 0.03)
    assert "a2-rounds needs nu" in new({"--learner": "a2-rounds", "--theta": "2"}, "--force").err


@pytest.mark.parametrize(
    ("spec", "section", "count"),
    [
        ("thresholds:9", {"kind": "thresholds", "features": ["x"], "count": 9}, 9),
        ("intervals:4", {"kind": "intervals", "features": ["x"], "bins": 4}, 11),
        ("star:5", {"kind": "star", "features": ["x"], "count": 5}, 6),
        ("stumps:2,3", {"kind": "stumps", "features": ["x0", "x1"], "range": [[0.0, 1.0]] * 2, "bins": 3}, 12),
        ("boxes:2,3", {"kind": "boxes", "features": ["x0", "x1"], "range": [[0.0, 1.0]] * 2, "bins": 3}, 36),
        ("halfspaces:3,8", {"kind": "halfspaces", "features": ["x0", "x1", "x2"], "count": 8}, 8),
    ],
)
def test_every_class_can_be_published(new, spec, section, count):
    done = new({"--class": spec})
    assert done.code == 0, done.err
    assert done.wrote["class"] == section
    assert len(Protocol.read(done.file).recipe.C) == count


@pytest.mark.parametrize(
    ("name", "text", "source"),
    [
        ("names.txt", "résnet \n\nvit\n", "names.txt"),
        ("names.csv", "name,size\nrésnet,5\nvit,6\n", "names.csv"),
        ("names.csv", "size,model\n5,résnet\n6,vit\n", "names.csv:model"),
        ("names.csv", "name,digest\nrésnet,\nvit,\n", "names.csv"),
        ("a:b.txt", "résnet\nvit", "a:b.txt"),
    ],
)
def test_candidates_come_from_lines_or_a_column(new, tmp_path, name, text, source):
    (tmp_path / name).write_text(text, encoding="utf-8")
    done = new({"--class": None, "--candidates": source})
    assert done.code == 0, done.err
    assert done.wrote["class"] == {"kind": "table", "candidates": [{"name": "résnet"}, {"name": "vit"}]}


def test_digests_of_candidates_are_published_with_their_names(new, tmp_path):
    digest = f"sha256:{'0a' * 32}"
    (tmp_path / "names.csv").write_text(f"name,digest\na,{digest}\nb,\n")
    done = new({"--class": None, "--candidates": "names.csv"})
    assert done.wrote["class"]["candidates"] == [{"name": "a", "digest": digest}, {"name": "b"}]
    (tmp_path / "names.csv").write_text("name,digest\na,md5\n")
    assert (
        "the digest of 'a' must be written sha256:"
        in new({"--class": None, "--candidates": "names.csv"}, "--force").err
    )


def test_a_protocol_is_shown_with_its_fingerprint(new, capsys):
    """Who wrote it by hand wants to know whether it is one, and what to publish."""
    done = new({"--title": "by hand"})
    fingerprint = Protocol.read(done.file).fingerprint
    assert main(["protocol", "show", "protocol.toml"]) == 0
    shown = capsys.readouterr().out
    assert "protocol.toml: 9 hypotheses, learner rounded-a2." in shown
    assert f"Fingerprint {fingerprint}" in shown
    assert main(["protocol", "show", "protocol.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": "replical.protocol-show/1",
        "file": "protocol.toml",
        "hypotheses": 9,
        "learner": "rounded-a2",
        "fingerprint": fingerprint,
    }
    done.file.write_text(done.file.read_text().replace("epsilon", "epsilom"))
    assert main(["protocol", "show", "protocol.toml"]) == 2
    assert "[learner] needs the key 'epsilon'" in capsys.readouterr().err.replace("\n", " ")


def test_a_published_protocol_is_not_overwritten_by_accident(new):
    assert new().code == 0
    done = new({"--seed": "later"})
    assert done.code == 2
    assert "protocol.toml exists: a published protocol is not overwritten; use --force" in done.err
    assert done.wrote["seed"] == "published"
    assert new({"--seed": "later"}, "--force").wrote["seed"] == "later"


def test_a_refused_protocol_is_not_written(new):
    assert new({"--epsilon": "2"}).wrote is None


def test_seeds_are_given_read_or_drawn(new, tmp_path):
    drawn = [new({"--seed": None}, "--fresh-seed", "--force").wrote["seed"] for _ in range(3)]
    assert len(set(drawn)) == 3
    assert all(len(seed) == 32 for seed in drawn)
    (tmp_path / "seed.txt").write_text("Ziehung vom 1. März: 3, 7, 12\n", encoding="utf-8")
    done = new({"--seed": None, "--seed-file": "seed.txt"}, "--force")
    assert done.wrote["seed"] == "Ziehung vom 1. März: 3, 7, 12"
    assert "cannot read the seed nowhere.txt" in new({"--seed": None, "--seed-file": "nowhere.txt"}, "--force").err
    for words in ({"--seed-file": "seed.txt"}, {"--seed": None, "--seed-file": "seed.txt"}):
        clash = new(words, "--force", "--fresh-seed")
        assert (clash.code, "give one of --seed, --seed-file and --fresh-seed" in clash.err) == (2, True)


def test_theta_is_computed_on_a_pool_that_is_there(new):
    missing = new({"--learner": "replical", "--theta-from": "nowhere.csv"})
    assert (missing.code, "there is no file nowhere.csv" in missing.err) == (2, True)


def test_priors_are_published_with_the_protocol(new, tmp_path):
    (tmp_path / "names.txt").write_text("a\nb\nc\n")
    (tmp_path / "weights.csv").write_text("candidate,weight\nc,3\na,1\nb,2\n")
    (tmp_path / "order.txt").write_text("b\nc\na\n")
    table = {"--class": None, "--candidates": "names.txt"}
    assert new(table | {"--prior": "weights.csv"}).wrote["prior"] == {"kind": "weights", "weights": [1.0, 2.0, 3.0]}
    preferred = new(table | {"--prefer": "order.txt"}, "--force")
    assert preferred.wrote["prior"] == {"kind": "order", "order": [1, 2, 0]}
    protocol = Protocol.read(preferred.file)
    assert protocol.recipe.describe(protocol.prior.first(protocol.shared, "order", indices=np.arange(3))) == "b"
    assert "prior" not in new(table, "--force").wrote
    both = new(table | {"--prior": "weights.csv", "--prefer": "order.txt"}, "--force")
    assert "weights or a strict order of preference, not both" in both.err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--label-values": "yes"}, "--label-values lists the labels, separated by commas, e.g. no,yes; got 'yes'"),
        ({"--label-values": "no,,yes"}, "--label-values lists the labels"),
        ({"--label-values": "yes,yes"}, "distinct labels, got ['yes', 'yes']"),
        ({"--label-values": "1,01"}, "distinct labels, got [1, 1]"),
        ({"--label-values": "a,b,c"}, "tells two labels apart"),
        ({"--class": None}, "give --class SPEC or --candidates FILE, and not both"),
        ({"--candidates": "names.txt"}, "give --class SPEC or --candidates FILE, and not both"),
        ({"--class": "forest:5"}, "unknown class 'forest:5'"),
        ({"--class": "stumps:5"}, "unknown class 'stumps:5'"),
        ({"--class": "thresholds:many"}, "malformed class 'thresholds:many'"),
        ({"--class": "thresholds:-4"}, "malformed class 'thresholds:-4'"),
        ({"--class": "thresholds:0"}, "count must be a whole number of at least 1, got 0"),
        ({"--class": None, "--candidates": "nowhere.csv"}, "cannot read the candidates nowhere.csv"),
        ({"--class": None, "--candidates": "names.csv"}, "names.csv has no column 'name' with the names of candidates"),
        ({"--class": None, "--candidates": "names.csv:size"}, "names.csv has no column 'size'"),
        ({"--class": None, "--candidates": "empty.txt"}, "at least one hypothesis"),
        ({"--learner": "perceptron"}, "unknown learner 'perceptron'"),
        ({"--epsilon": "1.5"}, "epsilon must be in (0, 1), got 1.5"),
        ({"--epsilon": "much"}, "'much' is not a number"),
        ({"--batch": "2.5"}, "'2.5' is not a whole number"),
        ({"--items": "0"}, "items must be a whole number of at least 1, got 0"),
        ({"--finish": "soon"}, "unknown finish 'soon'"),
        ({"--plan": "loose"}, "unknown plan 'loose'"),
        ({"--seed": " "}, "seed is empty"),
        ({"--theta": ".5"}, "theta must be a finite number of at least 1, got 0.5"),
        ({"--prior": "nowhere.csv"}, "nowhere.csv"),
        ({"--out": "nowhere/protocol.toml"}, "cannot write the protocol nowhere/protocol.toml: No such file"),
        ({"--colour": "blue"}, "No such option: --colour"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(new, tmp_path, changes, message):
    (tmp_path / "names.txt").write_text("a\nb\n")
    (tmp_path / "names.csv").write_text("model\na\n")
    (tmp_path / "empty.txt").write_text("\n")
    done = new(changes, "--json")
    assert done.code == 2
    assert done.wrote is None
    told = json.loads(done.out)
    assert (told["schema"], told["exit"]) == ("replical.error/1", 2)
    assert message in told["message"]


def test_label_values_keep_their_order_and_numbers_stay_numbers(new):
    assert new({"--label-values": " yes , no"}).wrote["labels"]["values"] == ["yes", "no"]
    assert new({"--label-values": "1,0"}, "--force").wrote["labels"]["values"] == [1, 0]
    assert new({"--label-values": "-1,1"}, "--force").wrote["labels"]["values"] == [-1, 1]
    assert new({"--label-values": "1,one"}, "--force").wrote["labels"]["values"] == ["1", "one"]


# ---- whatever a file holds ----

VALID = Protocol.of(content(title="fuzz", batch=2, prior={"kind": "weights", "weights": [1, 2, 3, 4, 5, 6]})).toml()
LITERALS = [
    "[]",
    "{}",
    "[[]]",
    "[1, [2]]",
    "true",
    "nan",
    "-inf",
    "-1",
    "0",
    "1e400",
    "2020-01-01",
    '"\\u0000"',
    '"é"',
    "0.5",
    '""',
]


def read_or_refused(file):
    """Is it a protocol? Anything but an error of ours is a failure of the test."""
    try:
        Protocol.read(file)
    except ReplicalError as error:
        assert str(error)
        return False
    return True


def run_with(file):
    """A run whose pool does not exist: whatever the protocol says, the exit code is 2 and there is one sentence."""
    nowhere = str(file.parent / "nowhere.csv")
    return main(["run", str(file), "--pool", nowhere, "--journal", str(file.parent / "j.db"), "--out", str(file) + ".json",
                 "--labels", f"{nowhere}:y"])  # fmt: skip


@settings(max_examples=200)
@given(st.one_of(st.binary(max_size=80), texts.map(str.encode)))
@example(b"\xef\xbb\xbf")
@example(b'schema = "replical.protocol/1"\n')
def test_no_bytes_whatsoever_give_a_traceback(tmp_path_factory, raw):
    file = tmp_path_factory.getbasetemp() / "fuzz.toml"
    file.write_bytes(raw)
    assert not read_or_refused(file)


@st.composite
def mutated(draw):
    """Cut, repeat and replace pieces of a valid file, and put any value behind any key."""
    text = VALID
    for _ in range(draw(st.integers(1, 3))):
        how = draw(st.sampled_from(["cut", "insert", "literal", "line"]))
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        lines = text.splitlines(keepends=True)
        keyed = [n for n, line in enumerate(lines) if " = " in line and not line.startswith(("kind", " "))]
        if how == "cut":
            text = text[:start] + text[end:]
        elif how == "insert":
            text = text[:start] + draw(texts) + text[start:]
        elif how == "line" and lines:
            line = draw(st.integers(0, len(lines) - 1))
            text = "".join(lines[:line] + lines[line + 1 :] + ([lines[line]] if draw(st.booleans()) else []))
        elif how == "literal" and keyed:
            line = draw(st.sampled_from(keyed))
            lines[line] = f"{lines[line].partition(' = ')[0]} = {draw(st.sampled_from(LITERALS))}\n"
            text = "".join(lines)
    return text


@settings(max_examples=300)
@given(mutated())
@example(VALID)
def test_no_mutated_protocol_gives_a_traceback(tmp_path_factory, text):
    file = tmp_path_factory.getbasetemp() / "mutated.toml"
    file.write_text(text, encoding="utf-8")
    assert read_or_refused(file) or text != VALID


@settings(max_examples=10)
@given(mutated())
@example(VALID)
@example("")
def test_no_mutated_protocol_gives_a_traceback_at_the_command_line(tmp_path_factory, text):
    file = tmp_path_factory.getbasetemp() / "mutated-run.toml"
    file.write_text(text, encoding="utf-8")
    assert run_with(file) == 2
