"""Classes as a protocol describes them: from cuts, ranges and counts to predictions and words."""

import copy
import re

import numpy as np
import pytest

from replical.classes.catalogue import recipe
from replical.errors import BadProtocol
from replical.lab.protocol import Protocol
from support.lab import content
from support.protocols import SECTIONS


def of_kind(kind, **learner):
    return content(**learner) | {"class": copy.deepcopy(SECTIONS[kind])}


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


TEXTS = ("no", "yes")


@pytest.mark.parametrize(
    "section",
    [
        {"kind": "thresholds", "features": ["x"], "count": 9, "cuts": [[1, 2]]},
        {"kind": "thresholds", "features": ["x"], "count": 9, "bins": 3, "range": [[0, 1]]},
        {"kind": "stumps", "features": ["x"], "cuts": [[1, 2]], "bins": 3, "range": [[0, 1]]},
    ],
)
def test_a_class_is_given_in_one_way(section):
    """What is ignored silently is what somebody meant."""
    with pytest.raises(BadProtocol, match="not"):
        recipe(section, TEXTS, "s")
