"""Figures of a study: the same bytes twice, rows of every odd kind, nothing on top of anything else."""

import sys
from math import log

import pytest

from replical.errors import MissingExtra
from replical.learners.catalogue import find, of_lists
from replical.study.pictures.style import new_figure, style
from replical.study.run import draw
from replical.study.spec import PARAMETERS, Study
from support.figures import faults, recorded
from support.paths import ROOT
from support.studies import study_row

LEARNERS = [record.id for record in of_lists()]  # of those that choose from a list

plot = pytest.importorskip("matplotlib")
GRID = {"class": "thresholds:1000", "learner": ["a2", "handicap", "replical"], "epsilon": [0.2, 0.1, 0.05]}
STUDY = Study.of({"schema": "replical.study/1", "name": "figures", "seed": "f", "grid": [GRID | {"pool_size": 500}]})


def cell(learner, labels, **given):
    """A row of 100 pairs of which one differs; nobody foresaw anything."""
    foreseen = dict.fromkeys(("certified_fraction", "rho_proven")) | {"jaccard_error": 0.002}
    theta = {"theta": 2.0 if find(learner).uses("theta") else None, "nu": 0.0 if find(learner).uses("nu") else None}
    usual = {"agree": 99, "epsilon": 0.05, "pool_size": "exact", "labels_error": 0.0, "expected_jaccard": 0.02}
    return study_row(learner, labels_mean=labels, **(foreseen | theta | usual | given))


def rows_of_the_study():
    """Rows for the cells of the study, as if they had been run."""
    found = []
    for number, each in enumerate(STUDY.cells()):
        given = dict(each.parameters) | {"cell": each.id, "noise": "0.0", "pool_size": "500", "labels_error": 1.0}
        if find(learner := given.pop("learner")).certifies:
            given |= {"certified_fraction": 0.5, "rho_proven": 0.2}
        found.append(cell(learner, 10.0 * 3**number, **given))
    return found


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return draw(rows_of_the_study(), tmp_path_factory.mktemp("drawn") / "figures")


def figures(monkeypatch, rows, folder):
    """The figures that would be written, by name."""
    seen = recorded(monkeypatch)
    pictures = draw(rows, folder)
    return {picture.name: figure for picture, figure in zip(pictures, seen, strict=True)}


def test_every_figure_is_drawn_in_two_formats(drawn):
    assert [picture.name for picture in drawn] == ["labels-epsilon"]
    for picture in drawn:
        assert picture.title
        assert picture.caption.endswith(".")
        assert [path.name for path in picture.files] == [f"{picture.name}.svg", f"{picture.name}.png"]
        assert all(path.stat().st_size > 5000 for path in picture.files)


def test_captions_are_made_from_the_data(drawn):
    captions = {picture.name: picture.caption for picture in drawn}
    assert f"a2 (tight) {log(9) / log(4):.2f}" in captions["labels-epsilon"]


def test_the_same_rows_give_the_same_bytes_whatever_the_users_own_style(drawn, tmp_path):
    with plot.rc_context({"font.size": 30, "lines.linewidth": 9, "axes.facecolor": "red"}):
        again = draw(rows_of_the_study(), tmp_path)
    for one, two in zip(drawn, again, strict=True):
        assert (one.name, one.title, one.caption) == (two.name, two.title, two.caption)
        assert [path.read_bytes() for path in one.files] == [path.read_bytes() for path in two.files]


ODD = {
    "nothing": [],
    "refused": [cell("replical", None, status="refused", theta=None, hypotheses=None, disagreement=None) | {"pairs": 0}],
    "one": [cell("handicap", 12.0)],
    "without a promise": [cell("cal", 12.0), cell("erm", 200.0)],
    "huge": [cell("replical", 10.0 ** (14 + each), rho=0.1 / 2**each, plan="paper", labels_error=1e17) for each in range(5)],
    "zero": [cell("handicap", 12.0, epsilon=e, agree=100, expected_jaccard=0.0) for e in (0.1, 0.05, 0.02)],
    "no labels": [cell("cal", 0.0), cell("handicap", 0.0), cell("cal", 4.0, epsilon=0.1)],
    "one pair": [cell("handicap", 3.0, agree=1, pairs=1, labels_error=None, jaccard_error=None)],
    "always": [cell("cal", 4.0, agree=0)],
    "equal": [cell("cal", 7.0, epsilon=e, labels_error=0.0) for e in (0.1, 0.05, 0.02)],
    "wide errors": [cell("cal", 7.0, epsilon=e, labels_error=50.0) for e in (0.1, 0.05, 0.02)],
    "near the end": [cell("erm", 7.0 + e, epsilon=e) for e in (0.999, 0.9, 0.8)],
    "noise": [cell("a2", 90.0 + each, noise=f"0.{each}") for each in (1, 2, 3)],
    "table": [cell(learner, 90.0, noise="0.05", **{"class": "table:some.csv"}) for learner in ("a2", "handicap")],
    "everyone": [cell(learner, 30.0 * (number + 1), epsilon=e, theta=2.0, nu=0.0) for number, learner in enumerate(LEARNERS) for e in (0.1, 0.05, 0.02)],
    "options": [cell("handicap", 30.0, rho=r, batch=b, a=0.02) for r in (0.1, 0.2, 0.4) for b in (1, 4)],
    "of the study": rows_of_the_study(),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_no_legend_lies_on_a_curve_and_no_word_on_another_whatever_the_rows(kind, tmp_path, monkeypatch):
    seen = figures(monkeypatch, ODD[kind], tmp_path / "new" / "folder")
    assert {name: found for name, figure in seen.items() if (found := faults(figure))} == {}


@pytest.mark.slow
def test_nor_in_the_published_study(tmp_path, monkeypatch):
    pq = pytest.importorskip("pyarrow.parquet")
    published = ROOT / "docs" / "explanation" / "study"
    rows = pq.read_table(published / "results.parquet").to_pylist()
    seen = figures(monkeypatch, [dict.fromkeys(PARAMETERS) | row for row in rows], tmp_path)
    assert set(seen) == {path.stem for path in published.glob("*.svg")}
    assert {name: found for name, figure in seen.items() if (found := faults(figure))} == {}


def test_a_legend_on_a_curve_is_found_and_words_on_words(monkeypatch, tmp_path):
    seen = recorded(monkeypatch)
    for place, height in (("upper right", 1), ("upper right", 0), ("outside right upper", 1)):
        with style():
            figure = new_figure(4, 3)
            axes = figure.add_subplot(ylim=(0, 1.02))
        axes.plot([0, 1], [height, height], label="a curve")
        (figure if "outside" in place else axes).legend(loc=place)
        figure.savefig(tmp_path / "any.png")
    on, free, outside = map(faults, seen)
    assert len(on) == 1
    assert on[0].startswith("a legend lies on ")
    assert free == outside == []
    for x, y, word in ((0.5, 0.5, "one"), (0.51, 0.5, "two"), (0.99, 0.7, "beyond the edge")):
        seen[1].text(x, y, word)
    assert faults(seen[1]) == ["'beyond the edge' is cut off", "'one' lies on 'two'"]


def test_without_matplotlib_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"replical\[plot\]"):
        draw([], tmp_path)
    with pytest.raises(MissingExtra), style():
        pass
