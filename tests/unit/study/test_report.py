"""The report of a study: its sentences, its marks, its numbers, and what other people's text can do to it."""

import re
import time
import tomllib
from hashlib import sha256
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from replical.core.exact import clopper_pearson, upper_tail
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
from replical.study.report import findings
from replical.study.report.page import report, toml
from replical.study.results import SCHEMA, table
from replical.study.spec import Study

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'&{{}} $title"
CONTENT = {
    "schema": "replical.study/1", "name": "small", "seed": "s", "stop": {"pairs": 100},
    "grid": [{"class": "thresholds:100", "learner": ["cal", "rounded-cal"], "epsilon": [0.1, 0.2], "pool_size": 1000}],
}  # fmt: skip
FACTS = {
    "quick": False,
    "versions": {"python": "3", "dask": None},
    "fingerprint": "sha256:0",
    "cells_by_version": {"1": 9},
}


def row(learner="rounded-cal", *, agree=97, pairs=100, **changes):
    """A row as `replical.study.results.row` makes it."""
    replicable = learner.startswith(("rounded", "repli", "boosted"))
    low, high = clopper_pearson(agree, pairs)
    made = {name: None for name, _ in SCHEMA} | {
        "grids": ["grid 1"], "class": "thresholds:1000", "learner": learner, "epsilon": 0.1, "pool_size": "2000",
        "delta": 0.05, "rho": 0.1 if replicable else None, "noise": "0.0", "plan": "tight", "hypotheses": 1000.0,
        "status": "done", "replicable": replicable, "vacuous": False if replicable else None,
        "pairs": pairs, "agreements": agree, "agreement": agree / pairs, "agreement_low": low, "agreement_high": high,
        "disagreement": 1 - agree / pairs, "disagreement_low": 1 - high, "disagreement_high": 1 - low,
        "expected_jaccard": 0.03, "base_agreement": 0.5, "labels_mean": 12.0, "labels_max": 20.0, "labels_error": 0.3,
        "excess_error_mean": 0.02, "excess_error_max": 0.05, "excess_over_epsilon": 0, "cap_reached": 0,
    }  # fmt: skip
    if learner.startswith("rounded"):
        made |= {"certified_fraction": 1.0, "rho_proven": 0.08, "rho_predicted": 0.033}
    made |= changes
    made["cell"] = changes.get("cell") or sha256(str(sorted(made.items())).encode()).hexdigest()[:16]
    return made


def refusal(reason="no", **changes):
    return row(**changes) | {"status": "refused", "reason": reason, "pairs": 0, "agreement": None, "labels_mean": None}


def test_the_rows_here_have_the_shape_of_real_ones():
    pa = pytest.importorskip("pyarrow")
    assert table([row(), refusal(), row("cal")], pa).num_rows == 3


def page(rows, pictures=(), content=CONTENT, facts=FACTS):
    return report(Study(content=content), rows, pictures, facts)


# Numbers.
def test_numbers():
    assert [count(x) for x in (0, 9.96, 99.96, 1234.4, 9_999_999, 1e7, 9.96e17, 1e18)] == [
        "0", "10.0", "100", "1,234", "9,999,999", "1 × 10⁷", "1 × 10¹⁸", "1 × 10¹⁸",
    ]  # fmt: skip
    assert [percent(x) for x in (0, 1, 0.999, 1e-7, None)] == ["0%", "100%", "99.9%", "below 0.0001%", "-"]
    assert number(None) == "-"
    assert span([3, 3.01]) == "3"
    assert amount(1, "cell was", "cells were") == "1 cell was"
    assert list_few([]) == ""
    assert list_few(["a"]) == "a"


# What one row means.
def test_verdict():
    assert verdict(row(agree=100)) == WITHIN
    assert verdict(row(agree=92)) == OPEN
    assert verdict(row(agree=70)) == BELOW
    assert verdict(row("cal", agree=10)) is None
    assert verdict(refusal()) is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"certified_fraction": 0.94}, "12 of 200 labs"),
        ({"learner": "replical", "k_loop": 40}, "sizes set by hand"),
        ({"learner": "replical", "noise": "0.05"}, "its proof allows no noise"),
        ({"learner": "rounded-cal", "noise": "boundary:0.1,0.2"}, "its proof allows no noise"),
        ({"learner": "replica2", "noise": "0.05", "nu": 0.01}, "more noise than its ν"),
        ({"learner": "replica2", "noise": "0.05", "nu": 0.05}, ""),
        ({"learner": "replical", "cap_reached": 3}, "cut short"),
        ({"learner": "cal", "cap_reached": 3}, ""),
    ],
)
def test_unproven(changes, why):
    assert missing_proof(row(**changes)) == why


def test_marks_are_words_and_symbols():
    found = marks(row(excess_over_epsilon=30, certified_fraction=0.0, vacuous=True, max_labels=20))
    assert [mark.symbol for mark in found] == ["!", "∅", "?", "■"]
    assert [mark.text.partition(":")[0] for mark in found] == [
        "errors above ε",
        "vacuous",
        "uncertified",
        "budget reached",
    ]
    assert marks(row()) == []
    assert [mark.text for mark in marks(row("cal", cap_reached=2))] == ["cut short: 2 of 200 labs"]


def test_errors_above_epsilon_by_the_exact_binomial():
    assert error_chance(row(excess_over_epsilon=10)) is None  # as many as δ allows for
    assert error_chance(row(excess_over_epsilon=11)) == upper_tail(11, 200, 0.05)
    assert marks(row(excess_over_epsilon=11))[0].kind == "soft"
    assert marks(row(excess_over_epsilon=40))[0].kind == "bad"


def test_parents_live_in_the_same_world():
    mine, parent = row(labels_mean=24), row("cal")
    assert parents([mine, parent, row("cal", epsilon=0.2)]) == {mine["cell"]: parent}
    assert parents([mine, row("cal", epsilon=0.2)]) == {}
    assert parents([mine, row("cal", max_labels=5)]) == {}
    assert parents([row(query="halving"), parent]) == {}
    halving = row(query="halving", epsilon=0.3), row("cal", query="halving", epsilon=0.3)
    assert parents(halving) == {halving[0]["cell"]: halving[1]}
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
    assert [each.split()[0] for each in found[1:]] == ["rounded-cal", "cal", "rounded-cal"]


# The sentence.
def test_summary():
    rows = [
        row(agree=100),
        row(agree=92, epsilon=0.2),
        row("cal", labels_mean=6.0),
        row(vacuous=True, rho=0.2, base_agreement=0.95),
        refusal(),
    ]
    assert findings.summary_sentence(rows) == (
        "In 1 of 2 cells that count the 95% interval of two labs' agreement lies wholly within the promise of 1-ρ, in 1 it is "
        "compatible with it, in 0 below it. Rounding took 2 times the labels of its parent. 1 cell shows nothing about it, because "
        "labs agree there without the last step too. 1 cell was refused."
    )


def test_summary_says_how_many_cells_count_for_certain():
    counted = [row(agree=100), row(agree=100, base_agreement=0.78)]
    vacuous = [row(vacuous=True, base_agreement=base) for base in (0.82, 0.83, 0.99)]
    sentence = findings.summary_sentence(counted + vacuous)
    assert sentence.startswith("In 2 of 2 cells that count (1 for certain) the 95% interval")
    assert "3 cells show nothing about it (1 for certain), because" in sentence
    assert "1 cell shows nothing about it (none for certain)" in findings.summary_sentence([*counted, vacuous[0]])


def test_a_first_look_is_no_failure():
    """Six pairs cannot confirm a promise, whatever they show: that comes first."""
    few = [row(agree=6, pairs=6), row(agree=5, pairs=6, rho=0.2), row(agree=4, pairs=4, vacuous=True)]
    assert findings.summary_sentence(few).startswith(
        "A first look: 6 pairs a cell are too few to confirm a promise; of 2 cells that count none looks broken. "
    )
    assert "1 pair a cell is too few" in findings.summary_sentence([row(agree=1, pairs=1)])
    broken = findings.summary_sentence([*few, row(agree=0, pairs=6)])
    assert "of 3 cells that count 1 looks broken. Below it: rounded-cal" in broken
    assert "broken; it is also below in 1 of the others. Below it" in findings.summary_sentence(
        [*few[:2], row(agree=0, pairs=6, vacuous=True)]
    )


def test_cells_with_too_few_pairs_are_told_from_others():
    rows = [row(agree=100), row(agree=6, pairs=6)]
    assert lacks_pairs(rows[1])
    assert not lacks_pairs(rows[0])
    assert not lacks_pairs(row(agree=0, pairs=6, rho=0.5))  # six pairs that agree confirm one half
    assert "in 1 it is compatible with it (1 has too few pairs for more), in 0" in findings.summary_sentence(rows)
    assert "in 1 of 2 cells that count (1 has too few pairs for more); two labs" in findings.promises(rows)[0]
    assert "in 0 of 1 cell that counts (too few pairs for more); two labs" in findings.promises(rows[1:])[0]


def test_summary_names_every_broken_promise():
    sentence = findings.summary_sentence([row(agree=70), row(agree=70, rho=0.2, vacuous=True, certified_fraction=0.5)])
    assert "in 1 below it; it is also below in 1 of the others" in sentence
    assert (
        "Below it: rounded-cal on thresholds:1000 (ε 0.1, ρ 0.1, pool 2000) and uncertified rounded-cal on" in sentence
    )
    alone = findings.summary_sentence([row(agree=70, vacuous=True)])
    assert "None of 1 cell" in alone
    assert "and yet agreement lies below the promise of 1-ρ in 1. Below it: rounded-cal" in alone


def test_summary_of_little():
    assert findings.summary_sentence([refusal(), refusal(rho=0.2)]) == "Nothing was run: 2 cells were refused."
    found = findings.summary_sentence([row("cal", agree=40), row("cal", agree=60, epsilon=0.2)])
    assert found == "2 cells without a replicable learner: two labs agreed in 40% to 60% of pairs."


# What is shown.
def test_broken():
    assert findings.broken_promises([row(agree=100), row(agree=92)]) == []
    found = findings.broken_promises([row(agree=70), row(agree=60, certified_fraction=0.0)])
    assert found[0].startswith(
        "The promise is broken in 1 cell: the whole 95% interval of agreement lies below 1-ρ for "
    )
    assert "agreement 70%, 60% to 78.8%" in found[0]
    assert found[1].startswith("Labs differ more often than ρ in 1 cell where nothing was proven: ")


def test_promises():
    rows = [row(agree=100), row(agree=92, rho=0.2, epsilon=0.2), row(agree=80, vacuous=True), row("replical", k_loop=9)]
    assert findings.promises(rows) == [
        "replical (sizes set by hand): the 95% interval of agreement lies wholly within 1-ρ in 1 of 1 cell that counts; "
        "two labs differed in 3% of pairs.",
        "rounded-cal: the 95% interval of agreement lies wholly within 1-ρ in 2 of 2 cells that count; two labs differed in "
        "0% to 8% of pairs.",
    ]


def test_last_step_and_ordinary():
    rows = [
        row(agree=98, base_agreement=0.4),
        row(agree=90, base_agreement=0.7, certified_fraction=0.5),
        row("cal", agree=40),
    ]
    first, second = findings.last_step(rows)
    assert (
        "60% of pairs without the shared last step and in 2% with it (1 cell that counts, with a proven promise)"
        in first
    )
    assert (
        "30% of pairs without the shared last step and in 10% with it (1 cell that counts, without a proof)" in second
    )
    assert findings.plain_learners(rows) == [
        "cal promises no replicability: its labs differed in 60% of pairs (1 cell)."
    ]
    assert findings.last_step([row(base_agreement=None)]) == []


def test_price():
    rows = [row(), row("cal", labels_mean=6), row(epsilon=0.2, labels_mean=9), row("cal", epsilon=0.2, labels_mean=10)]
    assert findings.price(rows) == [
        "rounded-cal asked for 0.9 to 2 times the labels of cal (median 1.4) in the same world, from 1 fewer to 6 more "
        "(2 cells)."
    ]
    assert findings.price([row(max_labels=5), row("cal")]) == []  # a budget is no price
    empty = row(labels_mean=60, vacuous=True, rho=0.2)
    assert findings.price([*rows, empty]) == findings.price(rows)  # nor is a price of what labs have anyway
    assert findings.price([empty, row("cal", labels_mean=6)])[0].endswith("54 more (1 vacuous cell).")
    assert "1 fewer (1 cell)" in findings.price(rows[2:])[0]
    assert findings.price([row()]) == []


def test_cheapest():
    rows = [
        row(),
        row("replical", labels_mean=12e6),
        row(epsilon=0.2, labels_mean=90),
        row("replical", epsilon=0.2, labels_mean=30),
    ]
    assert findings.cheapest(rows) == [
        "Of the learners with a proven promise, replical asked for fewest labels in 1 of 2 tasks; the next asked for 3 times "
        "as many.",
        "Of the learners with a proven promise, rounded-cal asked for fewest labels in 1 of 2 tasks; the next asked for "
        "1,000,000 times as many.",
    ]
    unfit = [row(certified_fraction=0.5), row("replical", labels_mean=12e6)]
    assert findings.cheapest(unfit) == []  # who proves nothing does not compete


def test_error_price():
    rows = [row(), row("cal", excess_error_mean=0.01)]
    assert findings.error_price(rows) == [
        "Rounding costs accuracy: its mean excess error is above its parent's in 1 of 1 cell and there 0.2 of ε."
    ]
    assert findings.error_price([row(), row("cal", excess_error_mean=0.05)]) == []


def test_proven_and_predicted():
    rows = [row(agree=100), row(agree=90, rho=0.2), row(agree=50, certified_fraction=0.9)]
    assert findings.proofs(rows) == [
        "Where every lab was certified, labs differed in 5% of pairs in the mean over cells, against a proven 8%; measured "
        "is at most proven in 1 of 2 cells, in 1 with its whole 95% interval; that lies wholly above it in 0."
    ]
    assert findings.proofs([row(agree=70)])[0].endswith(
        "in 0 with its whole 95% interval; that lies wholly above it in 1."
    )
    assert findings.proofs([row("replical")]) == []
    assert findings.estimates(rows[:1]) == [
        "ρ predicted, an estimate, was 1.1 times E[J], the sharper measurement (1 cell)."
    ]
    assert findings.estimates([row(expected_jaccard=0.0)]) == findings.estimates([row(rho_predicted=None)]) == []


def test_accuracy():
    assert findings.accuracy([row(excess_over_epsilon=1), row("cal")]) == [
        "1 of 400 labs ended with an error more than ε above the best; δ allows for 20 in the mean (p = 1, exact binomial)."
    ]
    (mixed,) = findings.accuracy([row(), row(delta=0.1)])
    assert mixed.endswith("δ allows for 30 in the mean.")
    _, bad = findings.accuracy([row(excess_over_epsilon=40), row("cal", excess_over_epsilon=12)])
    assert bad.startswith("More labs than chance explains ended above ε in 1 cell: rounded-cal on")
    assert f"p = {upper_tail(40, 200, 0.05):.2g}" in bad
    assert findings.accuracy([refusal()]) == []


# What is not shown.
def test_vacuous_and_uncertain():
    rows = [row(vacuous=True, base_agreement=0.95), row("cal")]
    assert findings.vacuous_cells(rows) == [
        "1 cell says nothing about replicability: without the shared last step labs already agree in more than 80% of pairs: "
        "rounded-cal on thresholds:1000 (ε 0.1, ρ 0.1, pool 2000)."
    ]
    assert findings.unclear_cells(rows) == []
    unclear = [row(base_agreement=0.78), row(vacuous=True, base_agreement=0.82), row(vacuous=True, base_agreement=0.83)]
    assert findings.unclear_cells([*rows, *unclear, row()]) == [
        "Of 5 cells with a promise, 1 counts for certain and 1 is vacuous for certain. In the other 3 the pairs are too few "
        "to say, because the 95% interval of agreement without the last step contains 80%: 1 is taken to count, 2 as vacuous."
    ]
    assert findings.vacuous_cells([row()]) == findings.unclear_cells([row(base_agreement=None)]) == []


def test_uncertified_wide_chance():
    (said,) = findings.uncertified_cells([row(certified_fraction=0.5), row("replical", k_loop=3), row(rho=0.2)])
    assert said.startswith("In 2 cells agreement is measured, not proven, because 50% of labs were certified: ")
    assert "because" not in findings.uncertified_cells([row("replical", k_loop=3)])[0]
    assert findings.wide_intervals([row(pairs=10, agree=9)])[0].startswith(
        "In 1 cell the half width of the 95% interval is above ρ"
    )
    assert findings.wide_intervals([row()]) == findings.uncertified_cells([row()]) == findings.chance([row()]) == []
    assert "of 40 promises that are kept with nothing to spare, 1 would look broken" in findings.chance([row()] * 40)[0]


def test_cut_short():
    assert findings.cut_short([row("cal", cap_reached=1)])[0].startswith(
        "In 1 cell some labs ended at a cap, a budget or"
    )
    assert findings.cut_short([row(cap_reached=9)]) == []  # that is what uncertified means


def test_how_it_was_run():
    study = Study(content=CONTENT | {"stop": {"half_width": 0.02}})
    cells = study.cells()
    assert findings.stops_by_width([row(cell=cells[0].id)], cells)[0].startswith(
        "In 1 cell pairs were added until the half width"
    )
    assert findings.stops_by_width([row(cell=cells[0].id)], Study(content=CONTENT).cells()) == []
    assert findings.several_versions({"cells_by_version": {"1.0": 2, "0.9": 3}})[0].endswith(
        "3 by 0.9 and 2 by 1.0. Run again in an empty folder."
    )
    assert findings.several_versions({}) == findings.several_versions(FACTS) == []
    assert findings.limits([row()], cells, FACTS)[-1] == findings.SIMULATED


# The page.
class Parts(HTMLParser):
    """Everything in a page that could act or fetch."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *each) for each in attributes]

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture
def pictures(tmp_path):
    drawn = []
    for name, caption in (("a", "one"), ("b", "two")):
        (tmp_path / f"{name}.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
        files = (tmp_path / f"{name}.svg", tmp_path / f"{name}.png")
        drawn.append(SimpleNamespace(name=name, title=name.upper(), caption=caption, files=files))
    return drawn


ROWS = [
    row(),
    row("cal", labels_mean=6),
    row("replical", labels_mean=1.2e18, agree=70, plan="paper"),
    refusal("why not"),
]


def test_same_rows_same_bytes(pictures):
    text = page(ROWS, pictures)
    assert text == page(ROWS[::-1], pictures)
    assert "1.2 × 10¹⁸" in text
    assert "$" not in text.replace("${", "")  # every gap of the template is filled; the script has its own


def test_nothing_from_outside_and_no_script_but_ours(pictures):
    parts = Parts(page(ROWS, pictures))
    assert parts.tags.count("script") == parts.tags.count("style") == 1
    assert {"iframe", "object", "embed", "base", "form"}.isdisjoint(parts.tags)
    for tag, name, value in parts.attributes:
        assert not name.startswith("on")
        assert name != "style"
        if name in ("src", "href", "srcset"):
            assert value.startswith(("data:", "#")), (tag, value)
    policy = next(value for tag, name, value in parts.attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy
    assert [value for tag, name, value in parts.attributes if (tag, name) == ("img", "alt")] == [
        "A. one",
        "B. two",
    ]


def test_text_from_elsewhere_is_only_text(pictures):
    clean = Parts(page(ROWS, pictures)).tags
    content = CONTENT | {"title": NASTY, "notes": NASTY, "name": NASTY, "seed": NASTY}
    rows = [each | {"reason": NASTY} if each["status"] == "refused" else each for each in ROWS]
    pictures[0].title = pictures[0].caption = NASTY
    facts = FACTS | {"versions": {NASTY: NASTY}, "fingerprint": NASTY, "cells_by_version": {NASTY: 1}}
    parts = Parts(page(rows, pictures, content, facts))
    assert [tag for tag in parts.tags if tag not in ("tr", "th", "td", "p")] == [
        tag for tag in clean if tag not in ("tr", "th", "td", "p")
    ]
    assert sum(NASTY in words for words in parts.words) >= 8
    assert ("img", "alt", f"{NASTY}. {NASTY}") in parts.attributes


def test_all_refused():
    text = page([refusal(NASTY), refusal("b", epsilon=0.2)])
    assert "Nothing was run: 2 cells were refused." in text
    assert 'id="refused-table"' in text
    assert 'id="cells-table"' not in text
    assert text.count('href="#cells"') == 0


def test_values_that_are_not_known():
    empty = row(
        base_agreement=None, expected_jaccard=None, rho_proven=None, rho_predicted=None, labels_error=None,
        labels_most=None, certified_fraction=None, cap_reached=None, excess_over_epsilon=None,
    )  # fmt: skip
    text = page([empty], facts={})
    assert "None" not in text.partition("<script>")[0]
    assert "nan" not in Parts(text.partition("<script>")[0]).words


def test_parameters_that_do_not_vary_are_said_once():
    text = page([row(), row(epsilon=0.2)])
    assert "The same in all cells: class thresholds:1000, noise 0, pool 2000, δ 0.05, ρ 0.1, plan tight." in text
    heads = re.findall(r'data-head="([^"]*)"', text)
    assert heads[:3] == ["learner, cell", "ε", "labels per lab"]


def test_labels_and_their_price_come_right_after_the_parameters():
    heads = re.findall(r'data-head="([^"]*)"', page([row(), row(rho=0.2, pool_size="9"), row("cal", epsilon=0.1)]))
    assert heads[:6] == ["learner, cell", "world", "ρ", "labels per lab", "× parent", "agreement, 95%"]


def test_terms_are_explained_under_the_headline():
    text = page(ROWS)
    assert text.index('<p class="summary">') < text.index(f'<p class="terms">{findings.TERMS}</p>') < text.index("<h2>")
    assert all(f" {word} " in f" {findings.TERMS}" for word in ("cell is", "last step is", "counts if", "parent is"))


def test_the_headline_comes_before_everything_else_that_is_drawn(pictures):
    pictures.append(SimpleNamespace(name="headline", title="First", caption="it says", files=pictures[0].files))
    text = page(ROWS, pictures)
    place = text.index('<figure id="figure-headline"')
    assert (
        text.index('<p class="summary">')
        < place
        < text.index('<p class="terms">')
        < text.index('<section id="figures">')
    )
    assert place == text.index("<figure ")
    assert text.count("figure-headline") == 1


def test_vacuous_cells_are_marked_and_not_drawn(pictures):
    empty = row(vacuous=True, base_agreement=0.95, epsilon=0.2)
    text = page([*ROWS, empty], pictures)
    assert "<p>Not drawn where agreement or its price is shown: 1 vacuous cell, 1 of rounded-cal.</p>" in text
    line = text[text.index(empty["cell"]) :].partition("</tr>")[0]
    assert "∅" in line
    assert "✓" not in line  # a promise that is kept says nothing here
    broken = page([row(vacuous=True, agree=20)])
    assert "✗" in broken[broken.index('id="cells-table"') :].partition("</table>")[0]
    assert "Not drawn" not in page(ROWS, pictures)


def test_a_world_is_named_in_one_column():
    rows = [row(), row(noise="0.05", pool_size="exact"), row(**{"class": "boxes:2,8"})]
    text = page(rows)
    assert "<td>thresholds:1000<small>pool 2,000</small></td>" in text
    assert "<td>thresholds:1000<small>noise 0.05, exact</small></td>" in text
    assert "<td>boxes:2,8<small>pool 2,000</small></td>" in text


def test_titles_stand_above_figures_and_cards_can_be_scrolled_by_keyboard(pictures):
    text = page(ROWS, pictures)
    assert '<figure id="figure-a"><h3>A</h3><div class="card" tabindex="0" role="region" aria-label="A"><img' in text
    assert "</div><figcaption>one</figcaption></figure>" in text


@pytest.mark.parametrize(("width", "wide"), [(490, False), (576, True), (684, True)])
def test_only_narrow_figures_share_a_line(pictures, width, wide):
    """Half a page of 1100 pixels has 488 for a picture: text of 9 points becomes too small from 500 points on."""
    pictures[0].files[0].write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}pt"/>')
    assert ('<figure id="figure-a" class="wide">' in page(ROWS, pictures)) == wide


def test_growth_beside_the_bounds():
    rows = [row(epsilon=x, labels_mean=1 / x) for x in (0.1, 0.05, 0.025)]
    text = page(rows)
    assert 'id="growth-table"' in text
    assert '1.00 <span class="error">± ' in text


def test_command_and_listing():
    assert "<code>replical study small.toml --out small</code>" in page([row()])
    assert "<code>replical study small.toml --out small --quick</code>" in page([row()], facts=FACTS | {"quick": True})
    assert "<code>replical study x.toml --out &#x27;a b&#x27;</code>" in page(
        [row()], facts={"command": "replical study x.toml --out 'a b'"}
    )
    odd = {
        "name": NASTY + "\n\x7f\t\\ü", "notes": {"a b": [1, 2.5, True]}, "stop": {"pairs": 5}, "seed": "é",
        "defaults": {"epsilon": 1e-7, "theta": 2}, "grid": [{"rho": [0.1, 1e22], "quick": {"rho": 0.1}}, {"quick": False}],
    }  # fmt: skip
    assert tomllib.loads(toml(odd)) == odd


def test_five_hundred_cells_are_quick():
    rows = [
        row(learner, cell=f"{n:016x}", epsilon=0.001 + n / 2000)
        for n, learner in enumerate(["rounded-cal", "cal", "replical", "cal-rounds"] * 125)
    ]
    started = time.process_time()
    text = page(rows)
    assert time.process_time() - started < 2
    assert text.count("<tr>") > 500
    assert len(text) < 2_000_000
