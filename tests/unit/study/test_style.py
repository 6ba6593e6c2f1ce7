"""Figures on a dark ground: every colour has another one there, and each can be seen."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from replical.learners.catalogue import of_lists
from replical.study.pictures.style import (
    GROUND,
    INK,
    colour,
    contrast,
    dark_shade,
    fill_style,
    follow_scheme,
    new_figure,
    save,
    style,
)
from support.studies import study_row

LEARNERS = [record.id for record in of_lists()]  # of those that choose from a list

pytest.importorskip("matplotlib")
WHITE = "#ffffff"
RULE = re.compile(r'\[style\*="(fill|stroke): (#[0-9a-f]{6})"\] \{ (?:fill|stroke): (#[0-9a-f]{6}) !important \}')


def drawn(path, **options):
    with style():
        figure = new_figure(3, 2)
        axes = figure.add_subplot(title="words")
    for number, learner in enumerate(LEARNERS):
        axes.plot([0, 1], [number, number], "o-", color=colour(learner), markerfacecolor="white")
    save(figure, path, **options)
    return path


def test_learners_are_seen_and_told_apart_on_both_grounds():
    for learner in LEARNERS:
        shade = colour(learner).lower()
        assert contrast(shade, WHITE) >= 3, learner
        assert contrast(dark_shade(shade), GROUND) >= 3.9, learner
    shades = {colour(learner).lower() for learner in LEARNERS}
    assert len({dark_shade(shade) for shade in shades}) == len(shades)
    assert len({record.marker for record in of_lists()}) == len(LEARNERS)


def test_a_marker_is_half_filled_where_nothing_is_proven():
    rows = [study_row("cal"), study_row("handicap"), study_row("handicap", certified_fraction=0.5)]
    assert [fill_style(row) for row in rows] == ["full", "full", "left"]


def test_what_is_faint_stays_faint():
    assert contrast(dark_shade("#f4f4f4"), GROUND) == pytest.approx(contrast("#f4f4f4", WHITE), abs=0.05)
    greys = ["#ffffff", "#eeeeee", "#b0b0b0", "#808080", "#555555", "#000000"]
    seen = [contrast(dark_shade(shade), GROUND) for shade in greys]
    assert seen == sorted(seen)
    assert (dark_shade(greys[0]), dark_shade(greys[-1])) == (GROUND, INK)


def test_a_figure_has_a_rule_for_every_colour_in_it(tmp_path):
    text = drawn(tmp_path / "a.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    rules = {(what, shade): other for what, shade, other in RULE.findall(text)}
    body = text.partition("</style>")[2]
    used = set(re.findall(r"(fill|stroke): (#[0-9a-f]{6})", body))
    assert used == set(rules)
    assert rules["fill", WHITE] == GROUND  # the ground, and what is hollow
    assert all(other == dark_shade(shade) for (_, shade), other in rules.items())
    assert "svg { fill: " + INK in text  # words without a colour of their own


def test_on_a_light_screen_nothing_changes(tmp_path):
    """Without its style sheet the file is the one that was drawn: programs that know none see the light figure."""
    text = drawn(tmp_path / "a.svg").read_text(encoding="utf-8")
    sheet = re.search(r"<style>@media screen and \(prefers-color-scheme: dark\) \{.*?</style>", text, re.DOTALL)
    assert follow_scheme(text.replace(sheet[0], "")) == text
    assert follow_scheme(text) == text  # once is enough


def test_colours_of_pixels_stay(tmp_path):
    shade = colour("cal").lower()
    text = drawn(tmp_path / "a.svg", pixels=[colour("cal")]).read_text(encoding="utf-8")
    assert shade not in {found for _, found, _ in RULE.findall(text)}
    assert f"stroke: {shade}" in text


def test_a_png_stays_light(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    assert image.imread(drawn(tmp_path / "a.png"))[0, 0, :3].tolist() == [1, 1, 1]
