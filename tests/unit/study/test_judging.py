"""What one row of a study means, and numbers as people read them."""

import pytest

from replical.core.exact import upper_tail
from replical.study.judging import (
    BELOW,
    OPEN,
    WITHIN,
    amount,
    cell_name,
    count,
    error_chance,
    finished_rows,
    lacks_pairs,
    list_few,
    marks,
    missing_proof,
    number,
    parents,
    percent,
    span,
    verdict,
)
from support.studies import study_row


def row(learner="handicap", **changes):
    return study_row(learner, **changes)


def test_numbers():
    assert [count(x) for x in (0, 9.96, 99.96, 1234.4, 9_999_999, 1e7, 9.96e17, 1e18)] == [
        "0", "10.0", "100", "1,234", "9,999,999", "1 × 10⁷", "1 × 10¹⁸", "1 × 10¹⁸",
    ]  # fmt: skip
    assert [percent(x) for x in (0, 1, 0.999, 1e-7, None)] == ["0%", "100%", "99.9%", "below 0.0001%", "-"]
    assert (number(None), span([3, 3.01]), amount(1, "cell was", "cells were")) == ("-", "3", "1 cell was")
    assert (list_few([]), list_few(["a"])) == ("", "a")


def test_verdict():
    assert [verdict(row(agree=agree)) for agree in (100, 92, 70)] == [WITHIN, OPEN, BELOW]
    assert verdict(row("cal", agree=10)) is verdict(row(status="refused")) is None


def test_cells_with_too_few_pairs():
    assert lacks_pairs(row(agree=6, pairs=6))
    assert not lacks_pairs(row(agree=100))
    assert not lacks_pairs(row(agree=0, pairs=6, rho=0.5))  # six pairs that agree confirm one half


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"certified_fraction": 0.94}, "12 of 200 labs"),
        ({"learner": "replical", "k_loop": 40}, "sizes set by hand"),
        ({"learner": "replical", "noise": "0.05"}, "its proof allows no noise"),
        ({"learner": "handicap", "noise": "0.1", "nu": 0.0}, "its proof allows no noise"),
        ({"learner": "handicap", "noise": "0.1", "certified_fraction": 1.0}, ""),
        ({"learner": "replica2", "noise": "0.05", "nu": 0.01}, "more noise than its ν"),
        ({"learner": "replica2", "noise": "0.05", "nu": 0.05}, ""),
        ({"learner": "replical", "cap_reached": 3}, "cut short"),
        ({"learner": "cal", "cap_reached": 3}, ""),
    ],
)
def test_missing_proof(changes, why):
    assert missing_proof(row(**changes)) == why


def test_marks_are_words_and_symbols():
    found = marks(row(excess_over_epsilon=30, certified_fraction=0.0, vacuous=True, max_labels=20))
    assert [(mark.symbol, mark.text.partition(":")[0]) for mark in found] == [
        ("!", "errors above ε"), ("∅", "vacuous"), ("?", "uncertified"), ("■", "budget reached"),
    ]  # fmt: skip
    assert marks(row()) == []
    assert [mark.text for mark in marks(row("cal", cap_reached=2))] == ["cut short: 2 of 200 labs"]


def test_errors_above_epsilon_by_the_exact_binomial():
    assert error_chance(row(excess_over_epsilon=10)) is None  # as many as δ allows for
    assert error_chance(row(excess_over_epsilon=11)) == upper_tail(11, 200, 0.05)
    assert [marks(row(excess_over_epsilon=over))[0].kind for over in (11, 40)] == ["soft", "bad"]


def test_parents_live_in_the_same_world():
    mine, parent = row(labels_mean=24), row("a2")
    assert parents([mine, parent, row("a2", epsilon=0.2)]) == {mine["cell"]: parent}
    for others in ([mine, row("a2", epsilon=0.2)], [mine, row("a2", max_labels=5)], [row(batch=4), parent]):
        assert parents(others) == {}
    batches = row(batch=4, epsilon=0.3), row("a2", batch=4, epsilon=0.3)
    assert parents(batches) == {batches[0]["cell"]: batches[1]}
    boosted, base = row("boosted-replical", rho=0.2), row("replical", rho=0.2)
    assert parents([boosted, base, row("replical")])[boosted["cell"]] is base
    paper, tight = row("cal-rounds", plan="paper"), row("cal-rounds")
    assert parents([row("replical", plan="paper", cell="x"), paper, tight])["x"] is paper
    assert parents([row("replical", plan="paper", cell="x"), tight])["x"] is tight


def test_a_parent_was_told_the_same_coefficient():
    few, many = row("cal-rounds", theta=2.0), row("cal-rounds", theta=16.0)
    children = [row("replical", theta=theta) for theta in (2.0, 16.0)]
    assert parents([many, few, *children]) == {children[0]["cell"]: few, children[1]["cell"]: many}
    assert parents([few, children[1]]) == {children[1]["cell"]: few}  # better than none


def test_options_are_told():
    assert cell_name(row("replical", k_loop=1234567.0, T=0.125, noise="0.05", plan="paper")) == (
        "replical on thresholds:1000 (ε 0.1, ρ 0.1, pool 2000, noise 0.05, plan paper, T 0.125, k_loop 1,234,567)"
    )


def test_order_is_that_of_worlds_whatever_the_order_of_rows():
    rows = [row("cal"), row(), row("cal", **{"class": "thresholds:500"}), row(epsilon=0.2)]
    found = [cell_name(each) for each in finished_rows(rows)]
    assert found == [cell_name(each) for each in finished_rows(rows[::-1])]
    assert found[0].startswith("cal on thresholds:500")
    assert [each.split()[0] for each in found[1:]] == ["handicap", "cal", "handicap"]
