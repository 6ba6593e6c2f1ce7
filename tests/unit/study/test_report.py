"""The report of a study: its sentences, its numbers, and what other people's text can do to it."""

import re
import time
import tomllib
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from replical.core.exact import upper_tail
from replical.study.report import findings
from replical.study.report.page import report, toml
from replical.study.results import table
from replical.study.spec import Study
from support.studies import study_row

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'&{{}} $title"
CONTENT = {
    "schema": "replical.study/1", "name": "small", "seed": "s", "stop": {"pairs": 100},
    "grid": [{"class": "thresholds:100", "learner": ["cal", "handicap"], "epsilon": [0.1, 0.2], "pool_size": 1000}],
}  # fmt: skip
FACTS = {
    "quick": False,
    "versions": {"python": "3", "dask": None},
    "fingerprint": "sha256:0",
    "cells_by_version": {"1": 9},
}


def row(learner="handicap", **changes):
    return study_row(learner, **changes)


def refusal(reason="no", **changes):
    return row(**changes) | {"status": "refused", "reason": reason, "pairs": 0, "agreement": None, "labels_mean": None}


def page(rows, pictures=(), content=CONTENT, facts=FACTS):
    return report(Study(content=content), rows, pictures, facts)


def test_the_rows_here_have_the_shape_of_real_ones():
    pa = pytest.importorskip("pyarrow")
    assert table([row(), refusal(), row("cal")], pa).num_rows == 3


# The sentence.
FEW = [row(agree=6, pairs=6), row(agree=5, pairs=6, rho=0.2), row(agree=4, pairs=4, vacuous=True)]


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        ([row(agree=100), row(agree=92, epsilon=0.2), row("a2", labels_mean=6.0),
          row(vacuous=True, rho=0.2, own_string=1.0, fewest_errors=1.0), refusal()],
         ["In 1 of 2 cells that count the 95% interval of two labs' agreement lies wholly within the promise of 1-ρ, in 1 it "
          "is compatible with it, in 0 below it. handicap took 2 times the labels of its parent. 1 cell shows nothing about "
          "it, because labs agree there whatever they do. 1 cell was refused."]),
        (FEW, ["A first look: 6 pairs a cell are too few to confirm a promise; of 2 cells that count none looks broken. "]),
        ([row(agree=1, pairs=1)], ["A first look: 1 pair a cell is too few"]),
        ([*FEW, row(agree=0, pairs=6)], ["A first", "of 3 cells that count 1 looks broken. Below it: handicap"]),
        ([*FEW[:2], row(agree=0, pairs=6, vacuous=True)], ["A", "broken; it is also below in 1 of the others. Below it"]),
        ([row(agree=100), FEW[0]], ["In", "in 1 it is compatible with it, in 0"]),
        ([row(agree=70), row(agree=70, rho=0.2, vacuous=True, certified_fraction=0.5)],
         ["In", "in 1 below it; it is also below in 1 of the others",
          "Below it: handicap on thresholds:1000 (ε 0.1, ρ 0.1, pool 2000) and uncertified handicap on"]),
        ([row(agree=70, vacuous=True)], ["None of 1 cell", "and yet agreement lies below the promise of 1-ρ in 1. Below it: handicap"]),
        ([refusal(), refusal(rho=0.2)], ["Nothing was run: 2 cells were refused."]),
        ([row("cal", agree=40), row("cal", agree=60, epsilon=0.2)],
         ["2 cells without a replicable learner: two labs agreed in 40% to 60% of pairs."]),
    ],
)  # fmt: skip
def test_summary(rows, parts):
    sentence = findings.summary_sentence(rows)
    assert sentence.startswith(parts[0])
    assert all(part in sentence for part in parts)


# What is shown, what is not: the sentences of each function, in full or how they begin.
SENTENCES = [
    ("broken_promises", [row(agree=100), row(agree=92)], []),
    ("broken_promises", [row(agree=70), row(agree=60, certified_fraction=0.0)], [
        "The promise is broken in 1 cell: the whole 95% interval of agreement lies below 1-ρ for handicap on thresholds:1000 "
        "(ε 0.1, ρ 0.1, pool 2000), agreement 70%, 60.0% to 78.8%.",
        "Labs differ more often than ρ in 1 cell where nothing was proven: "]),
    ("accuracy", [row(excess_over_epsilon=1), row("cal")], [
        "1 of 400 labs ended with an error more than ε above the best; δ allows for 20 in the mean (p = 1, exact binomial)."]),
    ("accuracy", [row(), row(delta=0.1)], ["0 of 400 labs ended with an error more than ε above the best; δ allows for 30 in the mean."]),
    ("accuracy", [row(excess_over_epsilon=40), row("cal", excess_over_epsilon=12)], [
        "52 of 400 labs",
        "More labs than chance explains ended above ε in 1 cell: handicap on thresholds:1000 (ε 0.1, ρ 0.1, pool 2000), "
        f"p = {upper_tail(40, 200, 0.05):.2g}."]),
    ("accuracy", [refusal()], []),
    ("vacuous_cells", [row(vacuous=True, own_string=0.95, fewest_errors=1.0), row("cal")], [
        "1 cell says nothing about replicability: labs agree in more than 80% of pairs with strings of their "
        "own too, and if they take what errs least: handicap on thresholds:1000 (ε 0.1, ρ 0.1, pool 2000)."]),
    ("vacuous_cells", [row()], []),
    ("uncertified_cells", [row(certified_fraction=0.5), row("replical", k_loop=3), row(rho=0.2)], [
        "In 2 cells agreement is measured, not proven, because 50% of labs were certified: "]),
    ("uncertified_cells", [row("replical", k_loop=3)], ["In 1 cell agreement is measured, not proven: replical on"]),
    ("uncertified_cells", [row()], []),
    ("chance", [row()], []),
    ("chance", [row()] * 40, [
        "Each interval is a 95% interval of its own: of 40 promises that are kept with nothing to spare, 1 would look broken"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "rows", "expected"), SENTENCES)
def test_sentences(name, rows, expected):
    found = getattr(findings, name)(rows)
    assert len(found) == len(expected)
    for sentence, begins in zip(found, expected, strict=True):
        assert sentence == begins if begins.endswith(".") else sentence.startswith(begins)


def test_how_it_was_run():
    (said,) = findings.several_versions({"cells_by_version": {"1.0": 2, "0.9": 3}})
    assert said.endswith("3 by 0.9 and 2 by 1.0. Run again in an empty folder.")
    assert findings.several_versions({}) == findings.several_versions(FACTS) == []
    assert findings.limits([row()], FACTS)[-1] == findings.SIMULATED


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


def test_text_from_elsewhere_is_only_text(pictures):
    clean = Parts(page(ROWS, pictures)).tags
    content = CONTENT | {"title": NASTY, "notes": NASTY, "name": NASTY, "seed": NASTY}
    rows = [each | {"reason": NASTY} if each["status"] == "refused" else each for each in ROWS]
    pictures[0].title = pictures[0].caption = NASTY
    facts = FACTS | {"versions": {NASTY: NASTY}, "fingerprint": NASTY, "cells_by_version": {NASTY: 1}}
    parts = Parts(page(rows, pictures, content, facts))
    assert [tag for tag in parts.tags if tag != "p"] == [tag for tag in clean if tag != "p"]
    assert "".join(parts.words).count(NASTY) == 11
    assert ("img", "alt", f"{NASTY}. {NASTY}") in parts.attributes


def test_all_refused():
    text = page([refusal(NASTY), refusal("b", epsilon=0.2)])
    assert "Nothing was run: 2 cells were refused." in text
    assert 'id="refused-table"' in text
    assert 'id="cells-table"' not in text
    assert text.count('href="#cells"') == 0


def test_values_that_are_not_known():
    names = ["own_string", "fewest_errors", "vacuous", "expected_jaccard", "rho_proven", "labels_error", "labels_most",
             "certified_fraction"]  # fmt: skip
    text = page([row(**dict.fromkeys([*names, "cap_reached", "excess_over_epsilon"]))], facts={})
    assert "None" not in text.partition("<script>")[0]
    assert "nan" not in Parts(text.partition("<script>")[0]).words


def test_parameters_that_do_not_vary_are_said_once():
    text = page([row(), row(epsilon=0.2)])
    assert "The same in all cells: class thresholds:1000, noise 0, pool 2000, δ 0.05, ρ 0.1, plan tight." in text
    assert re.findall(r'data-head="([^"]*)"', text)[:3] == ["learner, cell", "ε", "labels per lab"]


def test_labels_and_their_price_come_right_after_the_parameters():
    heads = re.findall(r'data-head="([^"]*)"', page([row(), row(rho=0.2, pool_size="9"), row("a2", epsilon=0.1)]))
    assert heads[:6] == ["learner, cell", "world", "ρ", "labels per lab", "× parent", "agreement, 95%"]


def test_the_sentence_and_the_terms_come_before_everything_else(pictures):
    text = page(ROWS, pictures)
    parts = ('<p class="summary">', f'<p class="terms">{findings.TERMS}</p>', "<h2>")
    places = [text.index(part) for part in (*parts, '<section id="figures">', '<figure id="figure-a"')]
    assert places == sorted(places)
    assert all(f" {word} " in f" {findings.TERMS}" for word in ("cell is", "Controls are", "counts if", "parent is"))


def test_vacuous_cells_are_marked(pictures):
    empty = row(vacuous=True, own_string=0.95, fewest_errors=1.0, epsilon=0.2)
    text = page([*ROWS, empty], pictures)
    line = text[text.index(empty["cell"]) :].partition("</tr>")[0]
    assert "∅" in line
    assert "✓" not in line  # a promise that is kept says nothing here
    broken = page([row(vacuous=True, agree=20)])
    assert "✗" in broken[broken.index('id="cells-table"') :].partition("</table>")[0]


def test_a_world_is_named_in_one_column():
    text = page([row(), row(noise="0.05", pool_size="exact"), row(**{"class": "boxes:2,8"})])
    for name, under in (("thresholds:1000", "pool 2,000"), ("thresholds:1000", "noise 0.05, exact"), ("boxes:2,8", "pool 2,000")):  # fmt: skip
        assert f"<td>{name}<small>{under}</small></td>" in text


def test_figures_have_a_title_and_a_card_that_scrolls(pictures):
    text = page(ROWS, pictures)
    assert '<figure id="figure-a"><h3>A</h3><div class="card" tabindex="0" role="region" aria-label="A"><img' in text
    assert ' alt="A. one"></div><figcaption>one</figcaption></figure>' in text


def test_growth_beside_the_bounds():
    text = page([row(epsilon=x, labels_mean=1 / x) for x in (0.1, 0.05, 0.025)])
    lines = text[text.index('id="growth-table"') :].partition("</table>")[0].split("<tr>")[2:]
    assert [line.count(">1/ε<") + 2 * line.count(">ln(1/ε)<") for line in lines] == [1, 2]
    assert '1.00 <span class="error">± ' in lines[0]


def test_command_and_listing():
    assert "<code>replical paper study small.toml --out small</code>" in page([row()])
    assert "<code>replical paper study small.toml --out small --quick</code>" in page(
        [row()], facts=FACTS | {"quick": True}
    )
    command = {"command": "replical paper study x.toml --out 'a b'"}
    assert "<code>replical paper study x.toml --out &#x27;a b&#x27;</code>" in page([row()], facts=command)
    assert "<p>Made with python 3. Cells: 9 by replical 1. Study fingerprint: sha256:0.</p>" in page([row()])
    odd = {
        "name": NASTY + "\n\x7f\t\\ü", "notes": {"a b": [1, 2.5, True]}, "stop": {"pairs": 5}, "seed": "é",
        "defaults": {"epsilon": 1e-7, "theta": 2}, "grid": [{"rho": [0.1, 1e22], "quick": {"rho": 0.1}}, {"quick": False}],
    }  # fmt: skip
    assert tomllib.loads(toml(odd)) == odd


def test_five_hundred_cells_are_quick():
    learners = ["handicap", "cal", "replical", "cal-rounds"] * 125
    rows = [row(learner, cell=f"{n:016x}", epsilon=0.001 + n / 2000) for n, learner in enumerate(learners)]
    started = time.process_time()
    text = page(rows)
    assert time.process_time() - started < 2
    assert text.count("<tr>") > 500
    assert len(text) < 2_000_000
