"""Labs are compared by the survivors they have in common: one is the answer, several are a short list, none is a warning."""

import copy

import numpy as np
import pytest

from replical.core.canonical import fingerprint
from replical.lab.certificate.compare import compare
from replical.learners.proof import set_of
from support.lab import Run, content, world

ORDER = {"from": "order", "order": [3, 1, 4, 0, 5, 2]}


@pytest.fixture(scope="module")
def labs(tmp_path_factory):
    """Three labs of one population that stop early, with a public order: certificates of short lists."""
    folder, said = tmp_path_factory.mktemp("labs"), content("handicap", handicap=ORDER, max_labels=8, epsilon=0.1)
    made = []
    for name, seed in (("a", 41), ("b", 42), ("c", 43)):
        with Run(folder, said, world(seed=seed, items=1000), name) as run:
            made.append(run.certificate)
    return made


def with_survivors(certificate, *survivors):
    forged = copy.deepcopy(certificate)
    forged["body"]["survivors"] = set_of(np.array(survivors))
    forged["digest"] = fingerprint(forged["body"])
    return forged


def test_one_in_common_is_the_answer_whoever_is_certified(labs):
    a, b = with_survivors(labs[0], 1, 3), with_survivors(labs[1], 0, 3, 5)
    found = compare([a, b])
    assert found.common.members == (3,)
    assert (found.identical, found.undecided, found.replicated) == (True, False, True)
    assert found.common.level == pytest.approx(2 * a["body"]["proof"]["beta"])


def test_several_in_common_are_named_and_undecided(labs):
    found = compare([with_survivors(labs[0], 1, 3, 4), with_survivors(labs[1], 1, 3)])
    assert found.common.names == ("m1", "m3")
    assert (found.identical, found.undecided, found.replicated) == (False, True, False)


def test_none_in_common_is_a_warning(labs):
    found = compare([with_survivors(labs[0], 1), with_survivors(labs[1], 3)])
    assert found.common.count == 0
    assert (found.identical, found.undecided) == (False, False)
    assert "different populations" in found.first_difference


def test_more_labs_than_were_planned_for_are_counted(labs):
    assert compare(labs).common.level == pytest.approx(3 * labs[0]["body"]["proof"]["beta"])


def test_counts_add_up_to_a_tolerance_that_is_no_worse_than_a_labs_own(labs):
    own = [each["body"]["proof"]["tolerance"] for each in labs]
    assert compare(labs).common.tolerance <= min(own)


def test_labs_that_are_not_independent_have_no_tolerance_together(labs):
    again = copy.deepcopy(labs[0])
    again["body"]["private_commitment"] = f"sha256:{'0' * 64}"
    found = compare([labs[0], again])
    assert found.common.tolerance is None
    assert found.same_items == ((1, 2),)
    assert not found.replicated


def test_two_that_never_differed_are_told_with_their_items(tmp_path):
    columns = world(seed=44, items=60)
    columns["m1"] = columns["m0"]
    order = {"from": "order", "order": [0, 1, 2, 3, 4, 5]}
    with Run(tmp_path, content("handicap", handicap=order, epsilon=0.02), columns, "a") as run:
        one = run.certificate
    assert compare([with_survivors(one, 0, 1)]).common.alike == one["body"]["proof"]["counts"][1][0] > 0
    assert compare([with_survivors(one, 0, 5)]).common.alike is None
