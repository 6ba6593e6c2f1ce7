"""The first picture of a study: who is in it, in which world, and what it says."""

import pytest

from replical.learners.catalogue import find
from replical.study.pictures.headline import choose, headline
from support.figures import faults, recorded
from support.studies import study_row

pytest.importorskip("matplotlib")


def cell(learner, labels, **given):
    """A row of 100 pairs: one of them differs with a replicable learner, half of them with another."""
    usual = {"agree": 99 if find(learner).replicable else 50, "epsilon": 0.05, "pool_size": "5000"}
    usual |= {"rho_proven": 0.07} if find(learner).certifies else {}
    return study_row(learner, labels_mean=labels, **(usual | {"nu": 0.0 if learner == "replical" else None} | given))


THREE = [cell("replical", 3e6, pool_size="exact", vacuous=True), cell("cal", 7.0), cell("handicap", 14.0)]


def learners(rows):
    found = choose(rows)
    return None if found is None else [row["learner"] for row in found.lines]


def test_three_learners_for_one_promise(tmp_path):
    (picture,) = headline([*THREE, cell("cal", 9.0, epsilon=0.01), cell("handicap", 20.0, rho=0.2)], tmp_path)
    assert picture.name == "headline"
    assert picture.caption == (
        "The same promise, thresholds:1000, ε = 0.05, δ = 0.05, ρ = 0.1: CAL asks for 7 labels per lab, promises nothing, and "
        "50% of pairs differ; handicap asks for 14 labels per lab, proves that at most 7% of pairs differ, and 1% of pairs "
        "differ; RepliCAL asks for 3,000,000 labels per lab, proves that at most 10% of pairs differ. In brackets: 95% "
        "intervals. Not tested: two labs agree there whatever they do."
    )
    assert all(path.stat().st_size > 5000 for path in picture.files)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (THREE, ["cal", "handicap", "replical"]),
        (THREE[1:], ["cal", "handicap"]),
        (THREE[::2], ["handicap", "replical"]),
        (THREE[2:], ["handicap"]),
        (THREE[1:2], ["cal"]),
        ([cell("erm", 90.0), cell("replicable-erm", 1e6)], None),
        ([], None),
        ([each | {"status": "refused"} for each in THREE], None),
        (THREE[:1], None),  # a vacuous cell alone says nothing
        ([cell("a2", 60.0, noise="0.05"), cell("handicap", 150.0, noise="0.05")], ["a2", "handicap"]),
        ([cell("cal-rounds", 60.0), cell("replical", 1e6)], ["replical"]),  # its parent, but not of the three
        ([cell("cal", 7.0, epsilon=0.1), cell("handicap", 14.0)], ["handicap"]),  # another world
        ([cell("cal", 7.0), cell("handicap", 14.0, max_labels=14)], ["cal"]),  # a budget makes no price
        ([cell("cal", 7.0), cell("replical", 9.0, k_loop=3)], ["cal"]),  # nor do sizes set by hand
    ],
)  # fmt: skip
def test_those_it_has(rows, expected, tmp_path, monkeypatch):
    assert learners(rows) == learners(rows[::-1]) == expected
    seen = recorded(monkeypatch)
    assert len(headline(rows, tmp_path)) == len(seen) == (expected is not None)
    assert [faults(figure) for figure in seen] == [[]] * len(seen)


def test_a_world_where_labs_agree_anyway_is_not_chosen():
    easy = [each | {"class": "thresholds:9", "vacuous": each["vacuous"] is not None or None} for each in THREE]
    easy[1] |= {"disagreement": 0.0}
    assert learners(easy) is None
    found = choose([*easy, *THREE[1:]])
    assert {row["class"] for row in found.lines} == {"thresholds:1000"}


def test_both_plans_of_the_papers_learner_have_a_line_and_the_best_cell_of_each_is_taken():
    paper = cell("replical", 1e15, plan="paper", pool_size="exact")
    blunt = cell("handicap", 3.0, certified_fraction=0.5)
    found = choose([*THREE, paper, blunt])
    assert [(row["learner"], row["plan"]) for row in found.lines] == [
        ("cal", "tight"),
        ("handicap", "tight"),
        ("replical", "tight"),
        ("replical", "paper"),
    ]
    assert found.lines[1]["labels_mean"] == 14.0  # proven, so taken before the one with fewer labels


def test_what_is_not_proven_is_not_called_proven(tmp_path):
    for given, words in (
        ({"certified_fraction": 0.5}, "50% of labs prove their answer"),
        ({"certified_fraction": 0.0}, "proves nothing"),
        ({"certified_fraction": 0.5, "noise": "0.05", "nu": 0.0}, "proves nothing"),  # its proof allows no noise
    ):
        here = [each | {"noise": given.get("noise", each["noise"])} for each in THREE[1:]]
        (picture,) = headline([here[0], here[1] | given], tmp_path)
        assert f"handicap asks for 14 labels per lab, {words}, and 1% of pairs differ" in picture.caption
