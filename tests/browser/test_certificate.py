"""A certificate as a page, in a real browser: it looks like a report, fits a phone and paper, and runs nobody's code."""

import json

import pytest

from replical.core.text import COMMON, stylesheet
from replical.lab.certificate.page import page
from replical.study.report.page import report
from replical.study.spec import Study
from support.browser import WCAG, browsers, installed
from support.lab import KINDS
from support.page import application, call, opened
from support.paths import ROOT

pytestmark = pytest.mark.skipif(not installed(), reason="no chromium and chromedriver on this machine")
pq = pytest.importorskip("pyarrow.parquet")

PUBLISHED = ROOT / "docs" / "explanation" / "study"
# How things look that every page has, by what they are.
LOOKS = """return Object.fromEntries(['body', '.kind', 'h1', 'h2', '.summary', '.scroll', 'tbody tr:nth-child(2) td', 'tbody th', 'code']
  .map((each) => { const found = getComputedStyle(document.querySelector(each)); return [each, Object.fromEntries(
    ['color', 'backgroundColor', 'fontFamily', 'fontSize', 'fontWeight', 'lineHeight', 'borderLeftColor', 'borderRadius', 'textTransform']
      .map((name) => [name, found[name]]))]; }))"""
CONTRAST = (
    WCAG
    + """return [...document.body.querySelectorAll('*')].filter((node) => node.getClientRects().length
  && [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()))
  .map((node) => [ratio(over(parse(style(node).color), back(node)), back(node)), node.outerHTML.slice(0, 80)])"""
)


@pytest.fixture(scope="module")
def window():
    with browsers() as new:
        yield new()


@pytest.fixture
def shown(window, runs, tmp_path):
    """Open the certificate of a run."""

    def show(kind="handicap measured certified", **features):
        media(window, **features)
        (tmp_path / "certificate.html").write_text(page(runs(kind).certificate), encoding="utf-8")
        window.open((tmp_path / "certificate.html").as_uri())
        return window

    yield show
    media(window)
    window.console()


def media(window, kind="", width=1000, colours="light"):
    window.media(kind, color_scheme=colours)
    window.screen(width, touch=width < 500)


@pytest.mark.nightly
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_it_looks_like_a_report(shown, tmp_path, colours):
    window = shown(colours=colours)
    certificate = window.run(LOOKS)
    rows = pq.read_table(PUBLISHED / "results.parquet").to_pylist()
    facts = json.loads((PUBLISHED / "study.json").read_text(encoding="utf-8"))
    (tmp_path / "report.html").write_text(report(Study.of(facts["study"]), rows, [], facts), encoding="utf-8")
    window.open((tmp_path / "report.html").as_uri())
    seen = window.run(LOOKS)
    for cell in ("tbody tr:nth-child(2) td", "tbody th"):  # a report's tables are wide, and so in smaller type
        for name in ("fontSize", "lineHeight"):
            assert float(seen[cell].pop(name)[:-2]) < float(certificate[cell].pop(name)[:-2])
    for name in ("color", "borderLeftColor", "fontSize", "lineHeight"):  # those of the words around it
        assert seen["code"].pop(name)
        assert certificate["code"].pop(name)
    assert seen == certificate
    assert certificate["body"]["color"] == ("rgb(238, 242, 240)" if colours == "dark" else "rgb(28, 35, 33)")


def test_the_labelling_page_takes_its_look_from_the_same_place(tmp_path):
    with opened(tmp_path) as (desk, content):
        sheet = call(application(desk, content), "/assets/page.css")[2].decode()
    assert sheet.startswith(stylesheet(COMMON))
    assert "--key:" not in sheet.removeprefix(stylesheet(COMMON)), "colours are named in one place"


@pytest.mark.nightly
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("kind", ["handicap measured certified", "handicap uncertified"])
def test_contrast(shown, kind, colours):
    """What is held and what is not, certified or not."""
    found = shown(kind, colours=colours).run(CONTRAST)
    assert len(found) > 20
    assert [each for each in found if each[0] < 4.5] == []


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [320, 390])
def test_it_fits_a_phone(shown, kind, width):
    window = shown(kind, width=width)
    wide = "return [document.documentElement, ...document.querySelectorAll('.scroll')].map((each) => each.scrollWidth - each.clientWidth)"
    assert window.run("return innerWidth") == width
    assert set(window.run(wide)) == {0}


@pytest.mark.nightly
def test_paper(shown):
    """Black on white whatever the screen, and no box that could cut anything off."""
    window = shown(kind="handicap measured certified")
    media(window, "print", colours="dark")
    colours = window.run("const body = getComputedStyle(document.body); return [body.color, body.backgroundColor]")
    assert colours == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    whole = (
        "return [...document.querySelectorAll('.scroll')].every((box) => getComputedStyle(box).overflow === 'visible')"
    )
    assert window.run(whole)


def test_it_asks_for_nothing_and_runs_nothing(shown):
    """Its policy refuses what a forger might add: a script, a style, a picture from elsewhere."""
    window = shown()
    assert window.run("return performance.getEntriesByType('resource').length") == 0
    assert window.console() == []
    window.run("""const add = (tag, more) => document.body.append(Object.assign(document.createElement(tag), more));
      add('script', { textContent: "document.title = 'taken'" });
      add('style', { textContent: 'h1 { color: rgb(255, 0, 0) }' });
      add('img', { src: 'data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=' })""")
    assert window.run("return document.title") == "Certificate of a replicable run"
    assert window.run("return getComputedStyle(document.querySelector('h1')).color") != "rgb(255, 0, 0)"
    window.until("return document.images[0].complete")
    assert window.run("return document.images[0].naturalWidth") == 0
    refused = [entry["message"] for entry in window.console()]
    assert len(refused) == 3
    assert all("Content Security Policy" in each for each in refused)
