"""Boards of small tables, and what they refuse."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from replical.errors import BadTable, ReplicalError, ValueOutOfRange
from replical.evals.board import board, choose
from replical.evals.page import page, picture, sentences

NAMES = ["one", "<b>two</b>", "three"]
WRONG = np.random.default_rng(1).random((2000, 3)) < [0.1, 0.11, 0.4]


def test_a_clear_winner_is_proven_and_would_win_again():
    found = board(NAMES, np.random.default_rng(1).random((2000, 3)) < [0.1, 0.2, 0.4])
    assert (found.first, found.proven, found.again) == ("one", True, 1.0)
    assert found.better_than_next.tolist() == [True, True, False]
    assert found.low[1] > 0.05
    assert found.high[1] < 0.15
    assert found.low[0] == 0


def test_the_answer_of_a_text_is_that_of_a_protocol():
    from replical import PredictionTable, Prior, SharedRandomness, plan

    C = PredictionTable(NAMES)
    made = plan("handicap", C, epsilon=0.05, delta=0.05, rho=0.1, pool="finite", prior=Prior.order(C, NAMES[::-1]))
    _, units, _ = made.terms(SharedRandomness("a text"))
    found = choose(NAMES, np.zeros((2, 3)), tolerance=0.05, string="a text", prior=Prior.order(C, NAMES[::-1]))
    assert found.answer == NAMES[int(units.argmin())] == "three"


@pytest.mark.parametrize(
    ("losses", "level", "words"),
    [
        (np.zeros((1, 3)), 0.05, "two items and two models"),
        (np.zeros((4, 2)), 0.05, "two items and two models"),
        (np.array([[0, 1, 1], [0, 1.5, 0]]), 0.05, "got 1.5 for '<b>two</b>' in row 2"),
        (np.array([[0, np.nan, 1], [0, 1, 0]]), 0.05, "got nan"),
        (np.zeros((4, 3)), 1.0, "a level lies between 0 and 1, got 1"),
    ],
)
def test_what_is_no_table_of_losses(losses, level, words):
    with pytest.raises((BadTable, ValueOutOfRange), match=re.escape(words)):
        board(NAMES, losses, level=level)


@pytest.mark.parametrize("how", [{"tolerance": 0}, {"tolerance": 2.0}])
def test_what_gives_no_answer(how):
    with pytest.raises(ReplicalError):
        choose(NAMES, WRONG, string="a text", **how)


def test_the_page_names_everybody_and_runs_nothing():
    found, chosen = board(NAMES, WRONG), choose(NAMES, WRONG, tolerance=0.05, string="a text")
    made = page(found, chosen, 0.05, title="A <i>board</i>")
    assert "<b>two" not in made
    assert "<i>" not in made
    assert "&lt;b&gt;two&lt;/b&gt;" in made
    assert "default-src 'none'" in made
    assert "<script" not in made
    assert "http" not in re.sub("http-equiv", "", made)
    assert made.count("<circle") == 3
    assert made.count("<tr>") == 4
    assert picture(found).count('class="best"') == len(found.survivors) == 2
    assert "are drawn" not in made
    many = page(board([f"m{h}" for h in range(61)], np.eye(61)), None, None, title="Many")
    assert ("The first 60 are drawn." in many, many.count("<circle"), many.count("<tr>")) == (True, 60, 62)


def test_a_picture_alone_is_a_whole_file():
    """Names of one family differ at their ends, so they are cut in the middle."""
    names = [f"some-laboratory/model-of-{size}-billion-instructed-{size}" for size in (7, 13)] + ["a\x00b"]
    drawn = ElementTree.fromstring(picture(board(names, WRONG), alone=True))
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    words = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"some-laborator..-instructed-13", "a b"} < set(words)
    assert "behind the best:" in words
    assert len(set(words)) == len(words)


def test_sentences_say_what_is_proven_and_what_is_an_estimate():
    first, again, chosen = sentences(board(NAMES, WRONG), choose(NAMES, WRONG, tolerance=0.05, string="a text"), 0.05)
    assert first.startswith("First: one, mean loss 0.1000 on 2,000 items; ")
    assert "not proven to be the best: 2 of 3 models may be" in first
    assert "(estimate)" in again
    assert "Of 2 pairs of neighbours 1 cannot be told apart" in again
    assert chosen.startswith("Within 0.05 of the best, by the published text: ")
