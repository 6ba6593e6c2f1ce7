"""Figures follow the reader's light or dark setting."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from replical.learners.catalogue import of_lists
from replical.study.pictures.style import colour, fill_style, follow_scheme, new_figure, save, style
from support.studies import study_row

LEARNERS = [record.id for record in of_lists()]  # of those that choose from a list

pytest.importorskip("matplotlib")


def drawn(path):
    with style():
        figure = new_figure(3, 2)
        axes = figure.add_subplot(title="words")
    for number, learner in enumerate(LEARNERS):
        axes.plot([0, 1], [number, number], "o-", color=colour(learner), markerfacecolor="white")
    save(figure, path)
    return path


def test_a_marker_is_half_filled_where_nothing_is_proven():
    rows = [study_row("cal"), study_row("handicap"), study_row("handicap", certified_fraction=0.5)]
    assert [fill_style(row) for row in rows] == ["full", "full", "left"]


def test_on_a_light_screen_nothing_changes(tmp_path):
    """Without its style sheet the file is the one that was drawn: programs that know none see the light figure."""
    text = drawn(tmp_path / "a.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    sheet = re.search(r"<style>@media screen and \(prefers-color-scheme: dark\) \{.*?</style>", text, re.DOTALL)
    assert follow_scheme(text.replace(sheet[0], "")) == text
    assert follow_scheme(text) == text  # once is enough


def test_a_png_stays_light(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    assert image.imread(drawn(tmp_path / "a.png"))[0, 0, :3].tolist() == [1, 1, 1]
