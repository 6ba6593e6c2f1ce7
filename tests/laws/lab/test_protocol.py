"""Every protocol reads back as itself, and nothing in it can change without its fingerprint."""

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from replical.classes.catalogue import recipe
from replical.core.text import is_seen
from replical.errors import ReplicalError
from replical.lab.protocol import Protocol
from support.protocols import NASTY, SECTIONS

# ---- round trip and fingerprint ----
texts = st.lists(
    st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=4)), max_size=4
).map("".join)  # fmt: skip
names = texts.filter(bool).filter(is_seen)
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
    {"name": "handicap", "labs": 3, "batch": 4, "max_labels": 10**20},
    {"name": "handicap", "nu": 0.0, "batch": 3},
    {"name": "cal"},
    {"name": "a2", "batch": 2},
    {"name": "erm", "nu": 0.02, "plan": "paper"},
    {"name": "replical", "theta": 2.0, "plan": "paper", "T": 0.125, "k_loop": 5, "k_final": 9},
    {"name": "replica2", "theta": 4, "nu": 0.03},
    {"name": "boosted-replicable-erm", "nu": 0.0, "strings": 2, "runs": 3},
    {"name": "boosted-replical", "theta": 2.0, "plan": "paper", "strings": 2, "runs": 3},
]


OURS = ["exponentials", "cover", "zero", "values"]
PUBLIC = {"public": f"sha256:{'0a' * 32}", "public_items": 7}


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
    small = {"epsilon": 0.1, "delta": draw(st.sampled_from([0.05, 1e-7])), "rho": draw(st.floats(0.01, 0.5))}
    said["learner"] = draw(st.sampled_from(LEARNERS)) | small
    own = said["learner"]["name"] == "handicap"
    source = draw(st.sampled_from(["none", "weights", "order", *(OURS if own else ["uniform"])]))
    if source == "none":
        return said
    name, kind = ("handicap", "from") if own else ("prior", "kind")
    said[name] = {kind: source}
    if source == "weights":
        said[name]["weights"] = draw(st.lists(weights, min_size=n, max_size=n))
    elif source == "order":
        said[name]["order"] = draw(st.permutations(range(n)))
        asked = draw(st.lists(texts, max_size=4, unique=True))
        answer = st.sampled_from([*said["labels"]["values"], "?"])
        answers = draw(st.lists(answer, min_size=len(asked), max_size=len(asked)))
        made = [{}, PUBLIC | {"public_column": "y"}, PUBLIC | {"made": "vote"}]
        said[name] |= draw(st.sampled_from([*made, PUBLIC | {"made": "active", "asked": asked, "answers": answers}]))
    elif source == "cover":
        said[name]["members"] = sorted(draw(st.sets(st.integers(0, n - 1), min_size=1)))
        said[name] |= (PUBLIC | {"radius": 0.08}) if draw(st.booleans()) else {}
    elif source == "values":
        said[name]["values"] = draw(st.lists(st.floats(0, 0.1), min_size=n, max_size=n))
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
