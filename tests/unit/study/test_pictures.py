"""Figures of a study: exponents of known laws, beside bounds computed here; the same bytes twice; rows of every odd kind."""

import json
import sys
from math import inf, log
from pathlib import Path

import numpy as np
import pytest

from replical import complexity
from replical.errors import MissingExtra
from replical.learners.catalogue import LEARNERS, find
from replical.study.pictures.costs import _distinction
from replical.study.pictures.draw import Picture, draw
from replical.study.pictures.style import FILLS, colour, fill_style, new_figure, style, tick_text
from replical.study.results import SCHEMA, class_thetas, fit, growths
from replical.study.spec import Study
from support.figures import faults, recorded
from support.paths import ROOT

plot = pytest.importorskip("matplotlib")
STUDY = Study.of(
    {
        "schema": "replical.study/1",
        "name": "figures",
        "seed": "test_study_figures",
        "grid": [
            {
                "class": "thresholds:1000",
                "learner": ["cal", "rounded-cal", "replical"],
                "epsilon": [0.2, 0.1, 0.05],
                "pool_size": 500,
            }
        ],
    }
)


def cell(learner, labels, **given):
    """A row as a study writes it, of 100 pairs of which one differs."""
    row = {name: None for name, _ in SCHEMA}
    row |= {
        "class": "thresholds:1000",
        "hypotheses": 1000.0,
        "epsilon": 0.05,
        "delta": 0.05,
        "noise": "0.0",
        "plan": "tight",
    }
    row |= {"pool_size": "exact", "grids": ["a"], "status": "done", "pairs": 100, "agreements": 99, "agreement": 0.99}
    row |= {"learner": learner, "labels_mean": labels, "labels_error": 0.0, "replicable": find(learner).uses("rho")}
    row |= {"disagreement": 0.01, "disagreement_low": 0.0003, "disagreement_high": 0.055, "base_agreement": 0.5}
    row |= {
        "agreement_low": 0.945,
        "agreement_high": 0.9997,
        "excess_over_epsilon": 0,
        "cap_reached": 0,
        "vacuous": False,
    }
    row |= {"rho": 0.1 if row["replicable"] else None, "expected_jaccard": 0.02, "jaccard_error": 0.002}
    row |= {"theta": 2.0 if find(learner).uses("theta") else None, "nu": 0.0 if find(learner).uses("nu") else None}
    row |= given
    return row | {"cell": given.get("cell", f"{learner} {sorted(given.items())}")}


def only(rows):
    (found,) = growths(rows)
    return found


def slope(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def test_the_exponent_of_rho_stands_beside_both_bounds():
    rhos = (0.05, 0.1, 0.2, 0.4)
    found = only([cell("replical", 7 * rho**-3, rho=rho) for rho in rhos])
    assert (found.learner, found.plan, found.axis, len(found.points)) == ("replical", "tight", "rho", 4)
    assert found.fitted == pytest.approx(3)
    assert found.error == pytest.approx(0, abs=1e-9)
    paper = [complexity.replical(1000, 0.05, 0.05, rho, 2) for rho in rhos]
    ours = [complexity.replical_tight(1000, 0.05, 0.05, rho, 2) for rho in rhos]
    assert found.paper == pytest.approx(-slope(rhos, paper))
    assert found.power.ours == pytest.approx(-slope(rhos, ours))
    assert found.paper > 4 > 2.1 > found.power.ours > 1.9


def test_epsilon_has_a_power_and_a_power_of_its_logarithm():
    epsilons = (0.2, 0.1, 0.05, 0.01, 0.001)
    found = only([cell("cal", 3 * log(1 / each) ** 1.5, epsilon=each) for each in epsilons])
    assert found.logged.fitted == pytest.approx(1.5)
    assert found.fitted < 1
    assert found.error > 0.01  # a power of 1/ε is the wrong shape
    passive = only([cell("erm", 50 / each, epsilon=each) for each in epsilons])
    assert (passive.fitted, passive.paper) == pytest.approx((1, 1))


def test_the_scale_of_the_class_is_the_logarithm_of_its_size():
    sizes = (100, 1000, 10**5, 10**6)
    rows = [
        cell("replicable-erm", 5 * log(n) ** 2.5, hypotheses=float(n), **{"class": f"thresholds:{n}"}) for n in sizes
    ]
    found = only(rows)
    assert (found.axis, found.settings["class"]) == ("hypotheses", "thresholds")
    assert found.fitted == pytest.approx(2.5)
    assert found.paper == pytest.approx(2, abs=0.01)


@pytest.mark.parametrize("learner", ["cal-rounds", "rounded-cal"])
def test_stars_are_drawn_against_theta_whether_the_plan_knows_it_or_not(learner):
    leaves = (4, 8, 16, 32)
    rows = [
        cell(learner, 3.0 * n, hypotheses=n + 1.0, pool_size="5000", theta=None, **{"class": f"star:{n}"})
        for n in leaves
    ]
    found = only(rows)
    assert (found.axis, found.fitted) == ("theta", pytest.approx(1))
    assert [point.x for point in found.points] == list(leaves)


def test_a_family_whose_theta_moves_little_is_drawn_against_its_size():
    worlds = ((10, 100.0, 4.0), (30, 1000.0, 5.0), (100, 10000.0, 6.0))
    rows = [
        cell("replical", log(n) ** 2, hypotheses=n, theta=theta, **{"class": f"intervals:{size}"})
        for size, n, theta in worlds
    ]
    found = only(rows)
    assert (found.axis, found.fitted) == ("hypotheses", pytest.approx(2))
    paper = [complexity.replical(int(n), 0.05, 0.05, 0.1, theta) for _, n, theta in worlds]
    assert found.paper == pytest.approx(slope([log(n) for _, n, _ in worlds], paper))


def test_theta_of_a_plan_in_one_class():
    found = only([cell("replical", theta**2, theta=float(theta)) for theta in (2, 4, 8)])
    assert (found.axis, found.settings["class"], found.fitted) == ("theta", "thresholds:1000", pytest.approx(2))


def test_nu_is_the_rate_of_the_noise_and_0_is_left_out():
    rates = (0.0, 0.01, 0.04, 0.16)
    found = only([cell("a2", 100 * max(rate, 1e-3) ** 0.5, noise=str(rate)) for rate in rates])
    assert (found.axis, found.fitted) == ("nu", pytest.approx(0.5))
    assert [point.x for point in found.points] == [0.01, 0.04, 0.16]
    assert found.paper is not None


def test_rounding_stands_beside_theorem_1_and_theorem_r1():
    rows = [cell("rounded-cal", 18.0, rho=rho, pool_size="20000") for rho in (0.05, 0.1, 0.2)]
    found = only(rows)
    assert found.fitted == pytest.approx(0, abs=1e-9)
    assert found.paper > 4
    assert found.power.ours == pytest.approx(0, abs=1e-9)
    sizes = (10**3, 10**4, 10**6)
    rows = [
        cell("rounded-cal", 10.0, hypotheses=float(n), pool_size="20000", **{"class": f"thresholds:{n}"}) for n in sizes
    ]
    A = [2 * (1 + log(n)) for n in sizes]
    bound = [2 + a * (1 + log(20000 / a)) for a in A]
    assert only(rows).power.ours == pytest.approx(slope([log(n) for n in sizes], bound))


def test_the_error_is_that_of_the_points_or_of_the_scatter():
    x = [0.0, 1.0, 2.0, 3.0]
    assert fit(x, [0, 2, 4, 6], [0.3] * 4) == pytest.approx((2, 0.3 / 5**0.5))
    found, covered = np.polyfit(x, [0, 2.5, 3.5, 6], 1, cov="unscaled")
    rest = np.array([0, 2.5, 3.5, 6]) - np.polyval(found, x)
    assert fit(x, [0, 2.5, 3.5, 6]) == pytest.approx((found[0], (covered[0, 0] * (rest @ rest) / 2) ** 0.5))


def test_groups_hold_all_else_equal():
    rows = [cell("rounded-cal", 10.0, rho=rho, epsilon=e) for rho in (0.1, 0.2) for e in (0.1, 0.05, 0.02)]
    assert [(each.axis, each.settings["rho"]) for each in growths(rows)] == [("epsilon", 0.1), ("epsilon", 0.2)]
    assert growths(rows[:2]) == []
    assert growths([row | {"status": "refused", "labels_mean": None} for row in rows]) == []
    options = [cell("rounded-cal", 10.0, epsilon=e, query=q) for e, q in ((0.1, "halving"), (0.05, None), (0.02, None))]
    assert growths(options) == []


def test_theta_of_a_class_is_known_or_agreed_upon():
    rows = [cell("replical", 1.0, theta=7.0, **{"class": "intervals:9"}), cell("cal", 1.0, **{"class": "star:5"})]
    rows += [cell("replical", 1.0, theta=theta, **{"class": "boxes:2,3"}) for theta in (3.0, 4.0)]
    assert class_thetas(rows) == {"intervals:9": 7.0, "star:5": 5.0}


def test_every_learner_has_a_colour_and_a_marker_of_its_own():
    assert all(colour(learner).startswith("#") for learner in LEARNERS)
    assert len({record.marker for record in LEARNERS.values()}) == len(LEARNERS)


def test_how_a_marker_is_filled():
    assert fill_style(cell("cal", 5.0)) == "full"
    assert fill_style(cell("rounded-cal", 5.0, certified_fraction=1.0)) == "full"
    assert fill_style(cell("rounded-cal", 5.0, certified_fraction=0.5)) == "left"
    assert set(FILLS) == {"full", "left"}


def test_ticks_are_short_at_any_size():
    assert [tick_text(value) for value in (0.0, 0.001, 1.0, 2e4, 1e18, 1e-9)] == [
        "0",
        "0.001",
        "1",
        "2·10⁴",
        "10¹⁸",
        "10⁻⁹",
    ]


def rows_of_the_study():
    """Rows for the cells of the study, as if they had been run."""
    found = []
    for number, each in enumerate(STUDY.cells()):
        given = dict(each.parameters) | {"cell": each.id, "noise": "0.0", "pool_size": "500"}
        learner = given.pop("learner")
        found.append(cell(learner, 10.0 * 3**number, labels_error=1.0, **given))
        if learner == "rounded-cal":
            found[-1] |= {"certified_fraction": 0.5, "rho_predicted": 0.03, "rho_proven": 0.2}
    return found


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn") / "figures"
    return draw(STUDY.cells(), rows_of_the_study(), folder)


def test_every_figure_is_drawn_in_two_formats(drawn):
    names = [picture.name for picture in drawn]
    assert names == ["headline", "cost", "disagreement", "labels-epsilon", "predicted"]
    for picture in drawn:
        assert isinstance(picture, Picture)
        assert picture.title
        assert picture.caption.endswith(".")
        assert [path.suffix for path in picture.files] == [".svg", ".png"]
        assert all(path.stem == picture.name and path.stat().st_size > 5000 for path in picture.files)


def test_captions_are_made_from_the_data(drawn):
    captions = {picture.name: picture.caption for picture in drawn}
    assert "predicted 1.5 times" in captions["predicted"]
    assert "in 3 of 3 cells" in captions["predicted"]
    assert "rounded-cal (tight) 27" in captions["cost"]  # three cells of CAL come before the three that round
    assert "1% of pairs differ" in captions["disagreement"]
    exponent = log(9) / log(4)
    assert f"cal (tight) {exponent:.2f}" in captions["labels-epsilon"]


@pytest.mark.slow
def test_the_same_rows_give_the_same_bytes(drawn, tmp_path):
    again = draw(STUDY.cells(), rows_of_the_study(), tmp_path)
    for one, two in zip(drawn, again, strict=True):
        assert (one.name, one.title, one.caption) == (two.name, two.title, two.caption)
        assert [path.read_bytes() for path in one.files] == [path.read_bytes() for path in two.files]


def test_the_users_own_style_changes_nothing(drawn, tmp_path):
    with plot.rc_context({"font.size": 30, "lines.linewidth": 9, "axes.facecolor": "red"}):
        again = draw([], rows_of_the_study(), tmp_path)
    wanted = {picture.name: picture.files[1].read_bytes() for picture in drawn}
    assert len(again) == 5
    assert all(picture.files[1].read_bytes() == wanted[picture.name] for picture in again)


ODD = {
    "nothing": [],
    "refused": [cell("replical", None, status="refused", pairs=0, theta=None, hypotheses=None, disagreement=None)],
    "one": [cell("rounded-cal", 12.0)],
    "without a promise": [cell("cal", 12.0), cell("erm", 200.0)],
    "huge": [cell("replical", 10.0 ** (14 + each), rho=0.1 / 2**each, plan="paper", labels_error=1e17) for each in range(5)],
    "zero": [
        cell("rounded-cal", 12.0, epsilon=e, disagreement=0.0, disagreement_low=0.0, expected_jaccard=0.0, rho_predicted=0.0)
        for e in (0.1, 0.05, 0.02)
    ],
    "no labels": [cell("cal", 0.0), cell("rounded-cal", 0.0), cell("cal", 4.0, epsilon=0.1)],
    "one pair": [cell("rounded-cal", 3.0, pairs=1, labels_error=None, jaccard_error=None, rho_predicted=0.1, rho_proven=None)],
    "always": [cell("cal", 4.0, disagreement=1.0, disagreement_low=0.9, disagreement_high=1.0)],
    "equal": [cell("cal", 7.0, epsilon=e, labels_error=0.0) for e in (0.1, 0.05, 0.02)],
    "wide errors": [cell("cal", 7.0, epsilon=e, labels_error=50.0) for e in (0.1, 0.05, 0.02)],
    "near the end": [cell("erm", 7.0 + e, epsilon=e) for e in (0.999, 0.9, 0.8)],
    "boundary": [cell("a2", 90.0 + each, noise=f"boundary:0.{each},0.05") for each in (1, 2, 3)],
    "table": [cell("a2", 90.0, noise="0.05", **{"class": "table:some.csv"}), cell("rounded-a2", 190.0, noise="0.05", **{"class": "table:some.csv"})],
    "everyone": [cell(learner, 30.0 * (number + 1), epsilon=e, theta=2.0, nu=0.0) for number, learner in enumerate(LEARNERS) for e in (0.1, 0.05, 0.02)],
    "options": [cell("rounded-a2", 30.0, rho=r, finish=f, kappa=0.01) for r in (0.1, 0.2, 0.4) for f in ("distance", "noise")],
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_rows_of_every_odd_kind(kind, tmp_path):
    pictures = draw(STUDY.cells(), ODD[kind], tmp_path / "new" / "folder")
    assert all(path.stat().st_size for picture in pictures for path in picture.files)
    assert ("disagreement" in [picture.name for picture in pictures]) == (kind not in ("nothing", "refused"))


def test_a_share_of_zero_stands_on_the_floor(tmp_path, monkeypatch):
    figures = {}
    monkeypatch.setattr(
        "replical.study.pictures.curves.write_picture",
        lambda figure, folder, name, *words: figures.setdefault(name, figure) and None,
    )
    draw([], [*ODD["zero"], *ODD["always"]], tmp_path)
    axes = figures["disagreement"].axes[0]
    heights = sorted({float(y) for line in axes.lines if line.get_marker() != "None" for y in line.get_ydata()})
    assert heights == [0.004, 1.0]  # 100 pairs: less than one of them
    ticks = dict(zip(axes.get_yticks(), [tick.get_text() for tick in axes.get_yticklabels()], strict=True))
    assert ticks[0.004] == "0"
    assert all(
        0 < y < inf for collection in axes.collections for path in collection.get_paths() for y in path.vertices[:, 1]
    )


VACUOUS = [cell("rounded-cal", 77.0, epsilon=e, vacuous=True, rho_predicted=0.031, rho_proven=0.2) for e in (0.1, 0.05)]


def shown(figure):
    """Where markers stand."""
    return {
        (float(x), float(y))
        for axes in figure.axes
        for line in axes.lines
        if line.get_marker() not in ("None", "|")
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }


def test_vacuous_cells_are_not_drawn_beside_the_evidence(tmp_path, monkeypatch):
    seen = recorded(monkeypatch)
    counted = [
        cell("rounded-cal", 12.0, epsilon=0.1, rho_predicted=0.03, rho_proven=0.2),
        cell("cal", 6.0, epsilon=0.1),
    ]
    pictures = draw([], [*counted, *VACUOUS], tmp_path)
    figures = {picture.name: figure for picture, figure in zip(pictures, seen, strict=True)}
    assert [*figures] == ["headline", "cost", "disagreement", "predicted"]
    for name in ("cost", "disagreement", "predicted"):
        assert not [at for at in shown(figures[name]) if 77.0 in at or 0.031 in at], name
    assert draw([], VACUOUS, tmp_path) == []


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
    seen[1].text(0.5, 0.5, "one")
    seen[1].text(0.51, 0.5, "two")
    seen[1].text(0.99, 0.7, "beyond the edge")
    assert faults(seen[1]) == ["'beyond the edge' is cut off", "'one' lies on 'two'"]


@pytest.mark.parametrize("kind", ["of the study", *(kind for kind in ODD if kind not in ("nothing", "refused"))])
def test_no_legend_lies_on_a_curve_and_no_word_on_another(kind, tmp_path, monkeypatch):
    seen = recorded(monkeypatch)
    pictures = draw(STUDY.cells(), rows_of_the_study() if kind == "of the study" else ODD[kind], tmp_path)
    assert {name: found for name, figure in zip(pictures, seen, strict=True) if (found := faults(figure))} == {}


@pytest.mark.slow
def test_nor_in_the_published_study(tmp_path, monkeypatch):
    pq = pytest.importorskip("pyarrow.parquet")
    published = ROOT / "docs" / "explanation" / "study"
    facts = json.loads((published / "study.json").read_text(encoding="utf-8"))
    study, rows = Study.of(facts["study"]), pq.read_table(published / "results.parquet").to_pylist()
    seen = recorded(monkeypatch)
    pictures = draw(study.cells(), rows, tmp_path)
    assert len(seen) == len(pictures) > 15
    assert {name.name: found for name, figure in zip(pictures, seen, strict=True) if (found := faults(figure))} == {}


def test_many_lines_go_to_several_pictures(tmp_path):
    rows = [cell("rounded-cal", 10.0 + each, **{"class": f"intervals:{each}"}) for each in range(50)]
    assert [each.name for each in draw([], rows, tmp_path)] == ["headline", "cost", "cost-2", "disagreement"]


def test_the_axis_of_costs_runs_on_as_far_as_labels_go(tmp_path, monkeypatch):
    drawn = {}
    monkeypatch.setattr(
        "replical.study.pictures.costs.write_picture",
        lambda figure, *words, **_: drawn.update(figure=figure, said=words[-1]),
    )
    draw([], [cell("cal-rounds", 50.0), cell("replical", 3e6), cell("replical", 9e16, plan="paper")], tmp_path)
    (axes,) = drawn["figure"].axes
    ends = sorted(float(line.get_xdata()[-1]) for line in axes.lines if len(line.get_xdata()) == 2)
    assert {3e6, 9e16} <= set(ends)
    assert axes.get_xlim()[1] > 9e16
    assert drawn["said"].endswith("Shaded: over 10⁶ labels, which nobody could pay for.")


def test_a_coefficient_that_was_given_is_told_from_one_that_was_computed(tmp_path, monkeypatch):
    study = Study.of(STUDY.content | {"grid": [
        {"class": "thresholds:1000", "learner": "replical", "epsilon": 0.05, "pool_size": "exact"} | more
        for more in ({}, {"theta": 2})
    ]})  # fmt: skip
    names = []
    monkeypatch.setattr(
        "replical.study.pictures.costs.write_picture", lambda figure, *_, **__: names.extend(figure.axes[0].texts)
    )
    rows = [cell("replical", 90.0 + n, theta=2.0, cell=each.id) for n, each in enumerate(study.cells())]
    draw(study.cells(), rows, tmp_path)
    said = {text.get_text() for text in names}
    assert {"ρ = 0.1, Θ = 2", "ρ = 0.1, Θ = 2 given"} <= said


def test_lines_that_differ_in_the_coefficient_alone_name_it():
    swept = [cell("replical", 90.0, theta=2.0, rho=0.1), cell("replical", 300.0, theta=8.0, rho=0.1)]
    lines = [(row, None) for row in [*swept, cell("replical", 70.0, theta=2.0, rho=0.2), cell("cal", 9.0, theta=3.0)]]
    assert [_distinction(line, lines) for line in lines] == ["ρ = 0.1, Θ = 2", "ρ = 0.1, Θ = 8", "ρ = 0.2", ""]


def test_without_matplotlib_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"replical\[plot\]"):
        draw([], [], tmp_path)
    with pytest.raises(MissingExtra), style():
        pass


def test_modules_import_without_matplotlib():
    study = Path(sys.modules["replical.study.pictures.draw"].__file__).parents[1]
    sources = [*study.glob("pictures/*.py"), study / "results.py"]
    assert len(sources) > 5
    for source in sources:
        lines = source.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if line.startswith(("import matplotlib", "from matplotlib"))]
