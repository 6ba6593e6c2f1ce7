"""The report of a study in a real browser: as people open it, sort it, search it, print it, and in the dark."""

import base64
import json
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from replical.study.report.page import report
from replical.study.spec import Study
from support.browser import WCAG, browsers, installed
from support.paths import ROOT

pytestmark = pytest.mark.skipif(not installed(), reason="no chromium and chromedriver on this machine")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("matplotlib")

STUDY = """
schema = "replical.study/1"
name = "tiny"
title = "<b>Tiny</b> & <script>document.title = 'taken'</script>"
seed = "browser"
stop = { pairs = 6 }
defaults = { class = "thresholds:1000", rho = 0.2, epsilon = [0.1, 0.2, 0.3] }

[[grid]]
learner = ["a2", "handicap"]
pool_size = 20000

[[grid]]
learner = "replical"
pool_size = "exact"

[[grid]]
learner = "handicap"
pool_size = "exact"
epsilon = 0.1
"""
# What the page asked the network for, and everything on it that could have.
ASKED = """return [...performance.getEntriesByType('resource').map((each) => each.name),
  ...[...document.querySelectorAll('[src], [href], [srcset]')].flatMap((node) =>
    ['src', 'href', 'srcset'].map((name) => node.getAttribute(name)).filter(Boolean))]"""
COLUMN = """const table = document.querySelector('#cells-table');
  const at = [...table.tHead.rows[0].cells].findIndex((head) => head.dataset.head === arguments[0]);
  return [...table.tBodies[0].rows].map((row) => row.cells[at].dataset.v ?? row.cells[at].textContent)"""
WIDE = """return [...document.querySelectorAll('.scroll:has(.sortable)')].map((box) =>
  [box.querySelector('table').id, box.scrollWidth, box.clientWidth])"""
# A figure is brought into sight; where it is then, in pixels.
SCROLLED = """const all = [...document.querySelectorAll('figure')];
  const part = all[arguments[0]].closest('details'); if (part) part.open = true;
  const node = all[arguments[0]].querySelector('img'); node.scrollIntoView({ block: 'start' });
  const box = node.getBoundingClientRect();
  return [box.left, box.top, Math.min(box.width, innerWidth - box.left), Math.min(box.height, innerHeight - box.top)]"""
PUBLISHED = ROOT / "docs" / "explanation" / "study"
HEAD = "th[data-head='{}'] button"
LOADED = "return [...document.images].every((image) => image.complete)"
# Contrast of every text with what is behind it, and of controls with what is around them.
CONTRAST = (
    WCAG
    + """
const found = [];
for (const node of document.body.querySelectorAll("*")) {
  if (!node.getClientRects().length || node.tagName === "SCRIPT") continue;
  const words = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
  if (words) found.push([4.5, ratio(over(parse(style(node).color), back(node)), back(node)), node.outerHTML]);
  if (node.matches("input")) found.push([3, ratio(parse(style(node).borderTopColor), back(node.parentElement)), node.outerHTML]);
  if (node.matches(".bar path:not(.all)")) found.push([3, ratio(parse(style(node).stroke), back(node)), node.outerHTML]);
}
return found;
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny study that has been run."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "tiny.toml").write_text(STUDY)
    words = [sys.executable, "-m", "replical", "paper", "study", "tiny.toml", "--out", "out", "--workers", "1"]
    done = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    assert "Not run, 1 cell: on a known distribution items never run out: give handicap a" in done.stdout
    return folder / "out"


@pytest.fixture(scope="module")
def only():
    with browsers() as new:
        yield new()


@contextmanager
def screen(window, width):
    """A screen of this width; of a phone, if it is so narrow."""
    window.screen(width, scale=1 + (width < 500), touch=width < 500)
    try:
        yield
    finally:
        window.cdp("Emulation.clearDeviceMetricsOverride")


@pytest.fixture
def window(only, folder):
    """The report, freshly opened."""
    only.media()
    only.open((folder / "report.html").as_uri())
    yield only
    only.console()


def test_everything_is_inside(window):
    """Every picture is there, nothing was asked of any other place, and nothing went wrong."""
    window.until(LOADED)
    shown = window.run("return [...document.images].map((image) => image.naturalWidth)")
    assert shown
    assert min(shown) > 0
    assert all(name.startswith(("data:", "#")) for name in window.run(ASKED))
    assert window.console() == []
    title = "<b>Tiny</b> & <script>document.title = 'taken'</script>"
    assert window.text("h1") == window.run("return document.title") == title
    assert window.text(".summary").endswith("1 cell was refused.")


def test_foreign_script_and_style_do_nothing(window):
    window.run("""document.body.insertAdjacentHTML('beforeend', '<img src="https://example.org/x.png"><b onclick="1" style="color: red">x</b>');
      const script = document.createElement('script'); script.textContent = 'window.taken = 1'; document.body.append(script)""")
    assert window.run("return window.taken ?? null") is None
    assert window.run("return getComputedStyle(document.body.querySelector(':scope > b')).color") != "rgb(255, 0, 0)"
    assert all("Content Security Policy" in entry["message"] for entry in window.console())


def test_sorting_by_click_and_by_keyboard(window):
    assert window.run("return document.querySelectorAll('th[aria-sort]').length") == 0
    before = window.run(COLUMN, "labels per lab")
    head = HEAD.format("labels per lab")
    window.click(head)
    labels = [float(each) for each in window.run(COLUMN, "labels per lab")]
    assert labels == sorted(map(float, before))
    assert window.run("return [...document.querySelectorAll('th[aria-sort]')].map((head) => [head.dataset.head, head.ariaSort])") == [
        ["labels per lab", "ascending"]
    ]  # fmt: skip
    assert window.text("#cells [role=status]") == "9 cells, by labels per lab, ascending"
    window.type(head, "\ue007")  # Enter
    assert [float(each) for each in window.run(COLUMN, "labels per lab")] == labels[::-1]
    assert window.run("return document.activeElement.closest('th').ariaSort") == "descending"
    window.click(HEAD.format("learner, cell"))
    named = "return [...document.querySelectorAll('#cells-table tbody th')].map((head) => head.firstChild.textContent)"
    assert window.run(named) == ["a2"] * 3 + ["handicap"] * 3 + ["replical"] * 3
    window.click(HEAD.format("× parent"))
    assert window.run(COLUMN, "× parent")[-1] == "-"  # what is not known comes last, whatever the direction
    window.click(HEAD.format("× parent"))
    assert window.run(COLUMN, "× parent")[-1] == "-"


def test_filter(window):
    shown = "return [...document.querySelectorAll('#cells-table tbody tr')].filter((row) => !row.hidden).length"
    window.type("#cells input", "HANDICAP 11.2")
    assert window.run(shown) == 1
    assert window.text("#cells [role=status]") == "1 of 9 cells"
    window.type("#cells input", " nothing")
    assert window.run(shown) == 0


@pytest.mark.nightly
def test_what_a_screen_reader_hears(window):
    heard = set(window.names())
    regions = {("main", ""), ("region", "All cells that were run"), ("navigation", "Parts of this report")}
    assert heard >= regions | {("searchbox", "Filter"), ("button", "labels per lab")}
    assert heard >= {("heading", name) for name in ("What this shows", "What this does not show", "Cells")}
    assert window.run("return document.querySelectorAll('.scroll:has(.sortable):not([tabindex=\"0\"])').length") == 0
    assert all(name for role, name in heard if role == "image")


@pytest.mark.nightly
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast(window, dark):
    window.media(color_scheme="dark" if dark else "light")
    assert window.run("return matchMedia('(prefers-color-scheme: dark)').matches") is dark
    window.run("for (const each of document.querySelectorAll('details')) each.open = true")
    found = window.run(CONTRAST)
    assert len(found) > 100
    assert [(round(got, 2), what[:150]) for wanted, got, what in found if got < wanted] == []


@pytest.mark.nightly
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_figures_are_drawn_on_the_ground_of_the_page(window, dark, tmp_path):
    """Their ground is that of their card, and something on it stands out."""
    image = pytest.importorskip("matplotlib.image")
    window.media(color_scheme="dark" if dark else "light")
    window.until(LOADED)
    wanted = np.array([0x1C] * 3 if dark else [255, 255, 255])
    card = "return getComputedStyle(document.querySelector('figure .card')).backgroundColor"
    assert window.run(card) == "rgb({}, {}, {})".format(*wanted)
    seen = window.run("return document.querySelectorAll('figure').length")
    assert seen >= 1
    for place in range(seen):
        x, y, width, height = window.run(SCROLLED, place)
        window.screenshot(tmp_path / "seen.png")
        whole = np.round(255 * image.imread(tmp_path / "seen.png")[..., :3]).astype(int)
        pixels = whole[int(y) + 3 : int(y + height) - 3, int(x) + 3 : int(x + width) - 3]
        assert np.abs(pixels[0, 0] - wanted).max() <= 2
        far = np.abs(pixels - wanted).sum(axis=2)
        assert (far > 250).mean() > 0.002  # words and curves
        assert (far < 10).mean() > 0.4  # and much of the ground: no white card in the dark


@pytest.mark.nightly
def test_phone(window):
    with screen(window, 390):
        assert window.run("return innerWidth") == 390
        assert window.run("return document.documentElement.scrollWidth") <= 390
        wide = "const box = document.querySelector('#cells .scroll'); return box.scrollWidth > box.clientWidth"
        assert window.run(wide)
        low = """return [...document.querySelectorAll('button, input, summary')].filter((node) => node.getClientRects().length)
          .map((node) => node.getBoundingClientRect().height).filter((height) => height < 44)"""
        assert window.run(low) == []


CARDS = """return [...document.querySelectorAll('figure .card')].map((card) => ({
  scrolls: card.scrollWidth > card.clientWidth, stop: card.tabIndex === 0, above: card.previousElementSibling.textContent,
  named: card.ariaLabel, overflow: getComputedStyle(card).overflowX,
  widths: [...card.querySelectorAll('img')].filter((each) => each.getClientRects().length).map((each) => each.width) }))"""


@pytest.mark.nightly
def test_figures_are_read_on_a_phone_by_scrolling_them(window):
    """By finger and by keyboard; the page itself does not scroll sideways."""
    window.until(LOADED)
    with screen(window, 390):
        window.until("return [...document.querySelectorAll('figure .card')].every((card) => card.tabIndex === 0)")
        cards = window.run(CARDS)
        assert len(cards) >= 1
        assert all(card["scrolls"] and min(card["widths"]) >= 700 for card in cards)
        assert all(card["named"] == card["above"] != "" for card in cards)
        assert window.run("return document.documentElement.scrollWidth") <= 390
        moved = """const card = document.querySelector('figure .card'); card.focus(); card.scrollLeft = 200;
          return [document.activeElement === card, card.scrollLeft]"""
        assert window.run(moved) == [True, 200]
        window.media("print")
        paper = window.run(CARDS)
        assert all(card["overflow"] == "visible" and not card["scrolls"] for card in paper)


@pytest.mark.nightly
def test_cards_that_do_not_scroll_are_no_stops_of_the_keyboard(window):
    window.until(LOADED)
    with screen(window, 1100):
        still = "(card) => card.tabIndex === -1 || !card.checkVisibility()"
        window.until(f"return [...document.querySelectorAll('figure .card')].every({still})")
        assert not any(card["scrolls"] for card in window.run(CARDS))


@pytest.mark.nightly
def test_the_tables_of_a_large_study_fit_1100_pixels(window, tmp_path):
    """The published study on a laptop: no table scrolls sideways, and a dozen rows are in sight."""
    rows = pq.read_table(PUBLISHED / "results.parquet").to_pylist()
    facts = json.loads((PUBLISHED / "study.json").read_text(encoding="utf-8"))
    (tmp_path / "large.html").write_text(report(Study.of(facts["study"]), rows, [], facts), encoding="utf-8")
    with screen(window, 1100):
        window.open((tmp_path / "large.html").as_uri())
        window.run("for (const each of document.querySelectorAll('details')) each.open = true")
        found = window.run(WIDE)
        assert [name for name, *_ in found] == ["cells-table", "growth-table"]
        assert [(name, wide) for name, wide, room in found if wide > room] == []
        assert window.run("return document.documentElement.scrollWidth") <= 1100
        shown = """const box = document.querySelector('#cells .scroll'), low = box.getBoundingClientRect().bottom;
          return [...box.querySelectorAll('tbody tr')].filter((row) => row.getBoundingClientRect().bottom <= low).length"""
        assert window.run(shown) >= 12
    with screen(window, 390):
        assert window.run("return document.documentElement.scrollWidth") <= 390
        stuck = """const box = document.querySelector('#cells .scroll'), first = box.querySelector('tbody th');
          const before = first.getBoundingClientRect().left; box.scrollLeft = 300;
          return [box.scrollLeft > 100, first.getBoundingClientRect().left - before]"""
        assert window.run(stuck) == [True, 0]


@pytest.mark.nightly
def test_paper(window):
    """Nothing that only works on a screen, nothing cut off, dark ink whatever the screen."""
    window.media("print", color_scheme="dark")
    assert window.run("return matchMedia('print').matches")
    shown = "return [...document.querySelectorAll(arguments[0])].filter((node) => node.getClientRects().length).length"
    assert window.run(shown, ".tools, nav, button") == 0
    assert window.run(shown, "#cells-table tbody tr") == 9
    assert window.run("return getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    cut = "return [...document.querySelectorAll('.scroll')].filter((box) => getComputedStyle(box).overflow !== 'visible').length"
    assert window.run(cut) == 0
    window.media()
    assert base64.b64decode(window._in("POST", "print", {"background": True})).startswith(b"%PDF")
    assert window.console() == []


@pytest.mark.nightly
def test_without_scripts_it_says_the_same(window):
    window.cdp("Emulation.setScriptExecutionDisabled", value=True)
    try:
        window.open(window.run("return location.href"))
        assert window.run("return document.querySelector('.tools').hidden")
        assert window.run("return document.querySelectorAll('#cells-table tbody tr').length") == 9
    finally:
        window.cdp("Emulation.setScriptExecutionDisabled", value=False)


def test_vacuous_cells_are_marked(window, folder, tmp_path):
    rows = pq.read_table(folder / "results.parquet").to_pylist()
    facts = json.loads((folder / "study.json").read_text())
    rows = [each | {"vacuous": each["learner"] == "replical"} for each in rows]
    (tmp_path / "marked.html").write_text(report(Study.of(facts["study"]), rows, [], facts), encoding="utf-8")
    window.open((tmp_path / "marked.html").as_uri())
    signs = "return [...document.querySelectorAll('#cells-table tbody tr')].map((row) => [row.cells[0].firstChild.textContent, row.textContent.includes('∅')])"
    assert {tuple(each) for each in window.run(signs)} == {("a2", False), ("handicap", False), ("replical", True)}


@pytest.mark.slow
def test_five_hundred_cells_are_sorted_at_once(window, folder, tmp_path):
    rows = pq.read_table(folder / "results.parquet").to_pylist()
    many = [
        each | {"cell": f"{n:03d}{each['cell'][3:]}", "labels_mean": (n * 37 % 100) + 1.0}
        for n in range(56)
        for each in rows
    ]
    facts = json.loads((folder / "study.json").read_text())
    (tmp_path / "many.html").write_text(report(Study.of(facts["study"]), many, [], facts), encoding="utf-8")
    window.open((tmp_path / "many.html").as_uri())
    click = f"""const start = performance.now(); document.querySelector("{HEAD.format("labels per lab")}").click();
      document.body.offsetHeight; return performance.now() - start"""
    assert min(window.run(click) for _ in range(5)) < 1000  # the best of five: the machine may have other things to do
    labels = [float(each) for each in window.run(COLUMN, "labels per lab")]
    assert len(labels) == 9 * 56
    assert labels == sorted(labels)
