"""Classes over real features: stumps, boxes and half-spaces by their definitions."""

import numpy as np
import pytest

from replical import Boxes, HalfSpaces, Stumps
from replical.classes.catalogue import parse
from replical.errors import BadSpec, BadTable, ReplicalError


def test_stumps_by_definition():
    C = Stumps(cuts=[[0.2, 0.7], [5.0]], labels=("no", "yes"))
    X = [[0.1, 9.0], [0.5, 1.0]]
    assert C.predict(X).tolist() == [
        ["no", "yes"],
        ["yes", "no"],
        ["no", "no"],
        ["yes", "yes"],
        ["yes", "no"],
        ["no", "yes"],
    ]


def test_boxes_by_definition():
    C = Boxes(2, 3)
    X = np.random.default_rng(0).random((200, 2)) * 1.2 - 0.1
    said = C.codes(C.items(X), np.arange(len(C)))
    sides = [(a / 3, (b + 1) / 3) for a in range(3) for b in range(a, 3)]
    for h, (one, two) in enumerate((one, two) for one in sides for two in sides):
        inside = (one[0] <= X[:, 0]) & (X[:, 0] < one[1]) & (two[0] <= X[:, 1]) & (X[:, 1] < two[1])
        assert said[h].tolist() == inside.astype(int).tolist()


def test_halfspaces_by_definition_and_from_their_string_alone():
    C, same, other = (HalfSpaces(3, 40, seed=seed) for seed in ("net", "net", "another"))
    X = np.random.default_rng(0).normal(size=(100, 3))
    assert (C.codes(X, np.arange(40)) == (C.offsets <= X @ C.normals.T).T).all()
    assert (C.normals == same.normals).all()
    assert C.fingerprint == same.fingerprint != other.fingerprint
    assert np.allclose((C.normals**2).sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Stumps(2, 0), ReplicalError, "cuts"),
        (lambda: Stumps(cuts=[[1.0, 0.5]]), ReplicalError, "strictly ascending"),
        (lambda: Stumps(cuts=[[]]), ReplicalError, "strictly ascending"),
        (lambda: Boxes(0, 3), ReplicalError, "features"),
        (lambda: Boxes(9, 300), ReplicalError, "boxes"),
        (lambda: HalfSpaces(2, 3, seed=7), ReplicalError, "published text, got int"),
        (lambda: Stumps(2, 3).items([[1.0]]), BadTable, "2 columns"),
        (lambda: Boxes(2, 3).items([[1.0, float("nan")]]), BadTable, "row 0, column 1"),
        (lambda: parse("halfspaces:2,10"), BadSpec, "published text"),
        (lambda: parse("stumps:2"), BadSpec, "stumps:5,40"),
        (lambda: parse("boxes:2,x"), BadSpec, "boxes:2,8"),
        (lambda: parse("boxes:2,3,4"), BadSpec, "boxes:2,8"),
    ],
)
def test_bad_feature_classes(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_a_net_that_cannot_fit_is_refused_before_it_is_drawn():
    words = r"1,000,000,000,000 half-spaces need 178813\.9 GiB, .*: at most [0-9,]* fit"
    with pytest.raises(ReplicalError, match=words):
        HalfSpaces(2, 10**12, seed="published")
