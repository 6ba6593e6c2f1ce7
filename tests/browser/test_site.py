"""The documentation as a site: without warnings, without the network, and it can be searched from the disk."""

import re
import subprocess
import sys

import pytest

from support.browser import browsers, installed
from support.paths import ROOT

pytest.importorskip("sphinx")
pytest.importorskip("myst_nb")
pytestmark = pytest.mark.slow

ASKED = "return performance.getEntriesByType('resource').map((each) => each.name)"
FOUND = "return [...document.querySelectorAll('#search-results li a')].some((a) => a.href.includes(arguments[0]))"
WIDER = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


def built(source, out):
    words = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-d", out / "trees", "-c",
             ROOT / "docs"]  # fmt: skip
    return subprocess.run([*words, source, out / "site"], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("built")
    done = built(ROOT / "docs", out)
    assert done.returncode == 0, done.stderr
    return out / "site"


def test_nothing_is_asked_of_another_machine(site):
    for page in site.rglob("*.html"):
        asked = re.findall(
            r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"(https?:[^\"]*)", page.read_text("utf-8")
        )
        assert not asked, f"{page.name}: {asked}"
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*['\"]?https?:", sheet.read_text("utf-8")), sheet.name


def test_every_name_and_command_has_its_place(site):
    import replical
    from replical.cli.commands import COMMANDS, GROUPS

    names = {page.stem for page in (site / "reference" / "api").glob("*.html")}
    errors = (site / "reference" / "api" / "errors.html").read_text("utf-8")  # they share a page
    assert {name for name in replical.__all__ if f'id="replical.errors.{name}"' not in errors} <= names
    commands = (site / "reference" / "commands.html").read_text("utf-8")
    paths = [*COMMANDS, *(f"{group}-{name}" for group, names in GROUPS.items() for name in names)]
    assert all(f'id="replical-{path}"' in commands for path in paths)


def test_no_two_pages_of_the_navigation_have_one_name(site):
    tree = re.search(r'<div class="sidebar-tree">(.*?)</div>', (site / "index.html").read_text("utf-8"), re.DOTALL)[1]
    names = re.findall(r'<li class="toctree-l1[^"]*"><a class="reference internal" href="[^"]*">([^<]*)', tree)
    assert len(names) > 30
    assert len(set(names)) == len(names), [name for name in names if names.count(name) > 1]


@pytest.mark.skipif(not installed(), reason="no chromium and chromedriver on this machine")
def test_it_opens_from_the_disk_and_can_be_searched(site):
    with browsers() as start:
        window = start()
        window.open((site / "index.html").as_uri())
        assert "replical" in window.run("return document.title")
        window.type("input[name=q]", "handicap\n")
        window.until(FOUND, "claims/handicap")
        assert all(address.startswith("file:") for address in window.run(ASKED))
        phone = start(phone=True)
        for page in ("index", "explanation/choosing", "reference/commands", "notebooks/my-own-models"):
            phone.open((site / f"{page}.html").as_uri())
            assert phone.run(WIDER) <= 0, page


@pytest.mark.skipif(not installed(), reason="no chromium and chromedriver on this machine")
@pytest.mark.parametrize("dark", [False, True], ids=["light system", "dark system"])
def test_figures_follow_the_switch_of_the_site_and_the_system(site, dark, tmp_path):
    """The ground of the first figure: dark if the page is, whatever the system prefers."""
    image = pytest.importorskip("matplotlib.image")
    first = "document.querySelector('article img[src$=\".svg\"]')"
    with browsers() as start:
        window = start(dark=dark)
        window.open((site / "explanation" / "cost-of-replicability.html").as_uri())
        for theme, wanted in (("auto", dark), ("dark", True), ("light", False)):
            window.run("document.body.dataset.theme = arguments[0]", theme)
            window.until(f"return {first}.complete")
            window.run(f"{first}.scrollIntoView({{behavior: 'instant', block: 'center'}})")
            x, y = window.run(f"const box = {first}.getBoundingClientRect(); return [box.left, box.top]")
            window.screenshot(tmp_path / "seen.png")
            seen = image.imread(tmp_path / "seen.png")[int(y) + 6, int(x) + 6, :3]
            assert (seen.max() < 0.2) == wanted, theme
            assert (seen.min() > 0.99) != wanted, theme


@pytest.mark.skipif(not installed(), reason="no chromium and chromedriver on this machine")
def test_pictures_are_whole_on_a_phone(site):
    """On every page: loaded, as wide as the page at most, and a link to itself where it holds small print."""
    pictures = """return [...document.querySelectorAll('article img[src*="_images/"]')].map((each) => {
        const box = each.getBoundingClientRect(), inside = box.left >= 0 && box.right <= document.documentElement.clientWidth;
        const alone = !each.src.endsWith('.svg') || each.closest('a') !== null;
        return [each.getAttribute('src'), each.complete && each.naturalWidth > 0, inside && box.width > 250, alone];
    })"""
    pages = [page for page in site.rglob("*.html") if "_images/" in page.read_text("utf-8")]
    seen = 0
    with browsers() as start:
        phone = start(phone=True)
        for page in sorted(pages):
            phone.open(page.as_uri())
            phone.until("return [...document.images].every((each) => each.complete || each.loading === 'lazy')")
            for name, *fine in phone.run(pictures):
                assert fine == [True] * 3, (page.name, name, fine)
                seen += 1
            assert phone.run(WIDER) <= 0, page.name
    assert seen > 20


@pytest.mark.skipif(not installed(), reason="no chromium and chromedriver on this machine")
def test_wide_tables_are_read_without_scrolling_on_a_desk(site):
    with browsers() as start:
        window = start(size=(1300, 900))
        window.open((site / "paper.html").as_uri())
        wide = """return [...document.querySelectorAll('article table')].map((each) => each.scrollWidth - each.clientWidth)"""
        assert len(window.run(wide)) > 5
        assert max(window.run(wide)) <= 0


def test_a_dead_link_is_named(tmp_path):
    """The same settings, on a page that leads nowhere."""
    (tmp_path / "index.md").write_text("# A page\n\n[Nowhere](missing.md)\n", encoding="utf-8")
    done = built(tmp_path, tmp_path / "out")
    assert done.returncode != 0
    assert "missing.md" in done.stderr
