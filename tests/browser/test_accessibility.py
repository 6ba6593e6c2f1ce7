"""The page as people meet it: by keyboard, by ear, on a phone, in the dark, with a shaky hand and a shaky network."""

import base64
import contextlib
import io
import re
import time
import wave

import numpy as np
import pytest

from support.browser import WCAG, browsers, installed

pytest.importorskip("starlette")
pytest.importorskip("pyarrow")
from replical import Protocol, Session, read_pool
from replical.lab.journal.journal import Event, Journal
from replical.lab.page.app import Content
from replical.lab.page.people import People
from replical.lab.sessions.labelling import Desk
from replical.lab.tables import ItemColumns
from support.page import serving

image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.skipif(not installed(), reason="no chromium and chromedriver on this machine")

RULES = "# Rules\n\nSee [the guide](https://example.org).\n\n- a *point*\n- `code`"
ITEM = "return document.querySelector('#item-id').innerText"
SAYS = "return document.querySelector('#say').innerText"
HEAR = """window.written = []; const out = document.querySelector('#say');
  new MutationObserver(() => written.push(out.innerText)).observe(out, { childList: true })"""
NAME = "const name = document.querySelector('#name'); return [name.value, name.readOnly]"
STILL = "return document.getAnimations().length === 0"
FOCUS = "const at = document.activeElement; return at.id || at.innerText || at.tagName"


@pytest.fixture(scope="module")
def window():
    with browsers() as new:
        yield Page(new())


class Page:
    """A window, and what a person or an assistive tool does with it."""

    def __init__(self, window):
        self._window = window

    def __getattr__(self, name):
        return getattr(self._window, name)

    def looks(self, *, width=1000, height=760, scale=1, touch=False, dark=False):
        """How large, with a finger or a mouse, in which colours."""
        self.screen(width, height, scale=scale, touch=touch)
        self.cdp("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.media(color_scheme="dark" if dark else "light")

    def key(self, key, *, repeat=False, modifiers=0):
        text = {"Tab": "", "Enter": "\r"}.get(key, key)
        said = {"key": key, "text": text, "autoRepeat": repeat, "modifiers": modifiers}
        said["windowsVirtualKeyCode"] = {"Tab": 9, "Enter": 13}.get(key, ord(key[0].upper()))
        self.cdp("Input.dispatchKeyEvent", type="keyDown", **said)
        if not repeat:
            self.cdp("Input.dispatchKeyEvent", type="keyUp", **said)

    def place(self, selector):
        found = "const box = document.querySelector(arguments[0]).getBoundingClientRect(); return [box.x, box.y]"
        x, y = self.run(found, selector)
        return {"x": x + 9, "y": y + 9}

    def mouse(self, selector, count):
        """One click of a double click."""
        at = self.place(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.cdp("Input.dispatchMouseEvent", type=kind, button="left", clickCount=count, **at)

    def tap(self, selector):
        self.cdp("Input.dispatchTouchEvent", type="touchStart", touchPoints=[self.place(selector)])
        self.cdp("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def start(self, url, name="ann"):
        self.open(url)
        self.run("localStorage.clear(); document.querySelector('#name').value = ''")
        if name:
            self.type("#name", name)
        self.click("#who button")
        return self.item()

    def item(self, before=None):
        """The item that is shown, once it is another one than before."""
        shown = "const it = document.querySelector('#item-id').innerText; return it.startsWith('Item ') && it !== arguments[0] && it"
        found = self.until(shown, before)
        self.until("return !document.querySelector('#main').classList.contains('busy')")
        return found

    def picture(self):
        """What is seen now, pixel by pixel."""
        shot = self.cdp("Page.captureScreenshot")["data"]
        return np.asarray(image.open(io.BytesIO(base64.b64decode(shot))).convert("RGB"))

    def says(self, words, *, more=True, seconds=20):
        """Wait until it says so, and perhaps more."""
        self.until(f"{SAYS}{'.startsWith(arguments[0])' if more else ' === arguments[0]'}", words, seconds=seconds)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Serve pages; each call gives an address and its desk."""
    media = tmp_path / "media"
    media.mkdir()
    image.new("L", (4000, 3000), 128).save(media / "huge.png")
    for width, height in ((8, 8), (28, 28), (100, 10), (300, 200)):
        board = np.indices((height, width)).sum(axis=0) % 2 * 255
        image.fromarray(board.astype(np.uint8)).save(media / f"{width}x{height}.png")
    with wave.open(str(media / "a sound.wav"), "wb") as sound:
        sound.setparams((1, 1, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(8000))
    with contextlib.ExitStack() as stack:

        def new(
            labels=("no", "yes"),
            shown=None,
            *,
            title="Title",
            votes=1,
            learner=None,
            token=None,
            closed=False,
            loss=None,
        ):
            items, shown = 60, shown or {"text": "some text"}
            said = {"schema": "replical.protocol/1", "seed": "page", "labels": {"values": list(labels)}}
            names = ("a", "b") if loss == {"loss": "duel"} else ("a", "b", "c")
            said["class"] = {"kind": "table", "candidates": [{"name": name} for name in names]}
            said["labels"] = loss or said["labels"]
            said["learner"] = {"name": "handicap", "epsilon": 0.2, "delta": 0.1, "rho": 0.3, "batch": 3}
            said["learner"] |= learner or {}
            made = Protocol.of(said)
            codes = np.random.default_rng(0).integers(len(labels), size=(items, len(names)))
            table = {"id": [f"i{n}" for n in range(items)]}
            for h, column in enumerate(made.recipe.columns):
                table[column] = [labels[code] for code in codes[:, h]]
            for name, value in shown.items():
                table[name] = [value] * items
            number = len(list(tmp_path.glob("*.db")))
            journal = stack.enter_context(Journal(tmp_path / f"{number}.db"))
            desk = Desk(Session(made, read_pool(table, made.recipe), journal), votes=votes)
            columns = ItemColumns(table, list(shown))
            content = Content(title=title, columns=columns, media=media, instructions=RULES)
            people = People(desk.session, closed=closed)
            served = serving((desk, content), monkeypatch, token=token, people=people, grace=0.0)
            return f"http://127.0.0.1:{stack.enter_context(served).port}/", desk

        yield new


EVERYTHING = {"text": "some text", "picture": "huge.png", "sound": "a sound.wav"}


def labels(desk):
    return len(desk.session.ledger.labels)


# Contrast of every text with what is behind it, and of every control with what is around it.
CONTRAST = (
    WCAG
    + """
const seen = (node) => node === null ? 1 : Number(style(node).opacity) * seen(node.parentElement);
const found = [];
for (const node of document.body.querySelectorAll("*")) {
  if (!node.getClientRects().length || ["SCRIPT", "NOSCRIPT"].includes(node.tagName)) continue;
  const words = [...node.childNodes].filter((child) => child.nodeType === 3 && child.textContent.trim());
  const ink = parse(style(node).color); ink[3] *= seen(node);
  if (words.length || node.id === "name") found.push([4.5, ratio(over(ink, back(node)), back(node)), "text " + node.outerHTML]);
  if (node.matches("button, input")) {
    const around = back(node.parentElement), edge = parse(style(node).borderTopColor);
    found.push([3, Math.max(ratio(over(edge, around), around), ratio(back(node), around)), "control " + node.outerHTML]);
  }
  if (node.tagName === "polyline") found.push([3, ratio(parse(style(node).stroke), back(node)), "line " + node.outerHTML]);
}
return found;
"""
)


def too_faint(window):
    window.until(STILL)
    found = window.run(CONTRAST)
    assert len(found) > 5
    return [(wanted, round(got, 2), what[:200]) for wanted, got, what in found if got < wanted]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast(window, site, dark):
    """WCAG AA in every state: at first, with an item, with an error, at the end."""
    window.looks(dark=dark)
    url, _ = site(shown=EVERYTHING)
    window.open(url)
    window.until("return document.querySelector('#count').innerText")
    assert window.run("return matchMedia('(prefers-color-scheme: dark)').matches") is dark
    assert too_faint(window) == []
    window.start(url)
    assert too_faint(window) == []
    window.key("u")
    window.until(SAYS)
    assert window.run("return document.querySelector('#say').className") == "bad"
    assert too_faint(window) == []
    ring = """const ring = getComputedStyle(document.activeElement);
              return [ring.outlineStyle, parseFloat(ring.outlineWidth), ring.outlineColor]"""
    for selector in ("#choices button", "#skip", "#keys", "summary", "audio"):
        window.run("document.querySelector(arguments[0]).focus()", selector)
        kind, width, colour = window.run(ring)
        assert (kind, width) == ("solid", 3), selector
        assert colour == ("rgb(53, 184, 152)" if dark else "rgb(11, 110, 91)")


BOX = """const at = document.activeElement, box = at.getBoundingClientRect(), ring = getComputedStyle(at);
  return [[box.left, box.top, box.right, box.bottom], ring.outlineColor.match(/\\d+/g).map(Number), at.matches(':focus-visible')]"""
MIDDLE = 4.5  # pixels from a thing to the middle of its frame
CORNER = 12  # pixels that a corner may round off


def gaps(window, scale):
    """Points of the frame around what has the focus, in pixels of the page, that are not drawn."""
    (left, top, right, bottom), colour, visible = window.run(BOX)
    assert visible
    across = np.arange(left + CORNER - MIDDLE, right - CORNER + MIDDLE)
    down = np.arange(top + CORNER - MIDDLE, bottom - CORNER + MIDDLE)
    assert len(across) > 5, "there is nothing to look at"
    points = [(x, y) for x in across for y in (top - MIDDLE, bottom + MIDDLE)]
    points += [(x, y) for y in down for x in (left - MIDDLE, right + MIDDLE)]
    seen = window.picture()
    high, wide, _ = seen.shape

    def drawn(x, y):
        column, row = int(x * scale), int(y * scale)
        return 0 <= column < wide and 0 <= row < high and seen[row, column].tolist() == colour

    return [(round(x), round(y)) for x, y in points if not drawn(x, y)]


@pytest.mark.nightly
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    "size",
    [{"width": 1000, "height": 760}, {"width": 390, "height": 780, "scale": 2}, {"width": 640, "height": 400}],
    ids=["desk", "phone", "low"],
)
def test_the_frame_of_what_has_the_focus_is_whole(window, site, size, dark):
    """On all four sides, whatever stands beside it: nothing covers or cuts it."""
    window.looks(**size, dark=dark)
    url, _ = site(shown={"sound": "a sound.wav"})
    scale = size.get("scale", 1)
    window.open(url)
    window.until("return document.querySelector('#count').innerText")
    window.key("Tab")  # frames are for those who use keys
    for selector in ("#rules summary", "#rules a", "#name", "#who button"):
        window.run("document.querySelector(arguments[0]).focus()", selector)
        assert gaps(window, scale) == [], selector
    window.start(url)
    window.key("Tab")
    window.until(STILL)
    choices = ("#choices button:first-child", "#choices button:last-child")
    everything = ("#item", *choices, "#skip", "#undo", "#keys", "#rules summary", "audio", "#jump")
    for place in (0, 1e6):
        for selector in everything:
            if window.run("return document.querySelector(arguments[0]).getClientRects().length", selector):
                window.run("scrollTo(0, arguments[0]); document.querySelector(arguments[1]).focus()", place, selector)
                assert gaps(window, scale) == [], (selector, place)


@pytest.mark.nightly
@pytest.mark.parametrize("scale", [1, 2])
@pytest.mark.parametrize(
    ("name", "width", "height"), [("8x8", 256, 256), ("28x28", 252, 252), ("100x10", 200, 20), ("300x200", 300, 200)]
)
def test_small_pictures_are_large_and_not_blurred(window, site, name, width, height, scale):
    """Of black and white pixels nothing grey is made; what is no small picture stays as it is."""
    window.looks(scale=scale)
    url, _ = site(shown={"picture": f"{name}.png"})
    window.start(url)
    box = "const box = document.querySelector('#fields img').getBoundingClientRect(); return [box.x, box.y, box.width, box.height]"
    x, y, *found = window.run(box)
    assert found == [width, height]
    window.until(STILL)
    how = window.run("return getComputedStyle(document.querySelector('#fields img')).imageRendering")
    if name == "300x200":
        assert how == "auto"
        return
    rows, columns = (slice(int(at * scale) + 1, int((at + long) * scale) - 1) for at, long in ((y, height), (x, width)))
    seen = window.picture()[rows, columns]
    assert set(np.unique(seen)) == {0, 255}


@pytest.mark.nightly
def test_small_pictures_keep_their_shape_where_there_is_no_room(window, site):
    window.looks(width=320, height=300)
    url, _ = site(shown={"picture": "8x8.png"})
    window.start(url)
    shape = """const picture = document.querySelector('#fields img'), box = picture.getBoundingClientRect();
      return [box.right <= innerWidth, box.height <= .6 * innerHeight, getComputedStyle(picture).objectFit]"""
    assert window.run(shape) == [True, True, "contain"]


HUGE = {"text": "word " * 3000, "word": "x" * 3000, "picture": "huge.png"}
TARGETS = """return [...document.querySelectorAll("button, summary, label:has(input), input:not([type=checkbox]), audio")]
  .map((node) => [node.getBoundingClientRect(), node.outerHTML]).filter(([box]) => box.width)
  .filter(([box]) => box.width < 44 || box.height < 44).map(([box, what]) => [box.width, box.height, what])"""


@pytest.mark.parametrize(
    "size",
    [
        {"width": 390, "height": 780, "scale": 2, "touch": True},
        {"width": 320, "height": 568, "scale": 2, "touch": True},
        {"width": 640, "height": 400, "scale": 2},  # 200 % on a screen of 1280 by 800
    ],
    ids=["phone", "small phone", "200 %"],
)
def test_layout(window, site, size):
    """Nothing sticks out and everything is large enough to hit, whatever the item."""
    window.looks(**size)
    url, _ = site(("no" * 60, "yes"), HUGE, title="T" * 200)
    wide = "return [document.documentElement.scrollWidth, innerWidth]"
    window.open(url)
    window.until("return document.querySelector('#count').innerText")
    width, most = window.run(wide)
    assert width <= most
    assert window.run(TARGETS) == []
    window.start(url)
    width, most = window.run(wide)
    assert width <= most == size["width"]
    assert window.run(TARGETS) == []
    assert window.run("return document.querySelector('#fields img').getBoundingClientRect().height <= innerHeight")
    before = window.run(ITEM)
    window.run("scrollTo(0, 1e6)")
    window.key("1")
    window.item(before)
    assert 0 <= window.run("return document.querySelector('#item').getBoundingClientRect().top") < size["height"] / 2


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("labels", "height", "there"),
    [
        (("no", "yes"), 780, True),
        (("no", "yes"), 400, False),
        (("no" * 60, "yes"), 780, False),
        (tuple("abcdefgh"), 780, False),
    ],
)
def test_labels_are_at_hand_unless_they_would_cover_the_item(window, site, labels, height, there):
    window.looks(width=390, height=height, touch=True)
    url, _ = site(labels, HUGE)
    window.start(url)
    bottom = window.run("return document.querySelector('#choices').getBoundingClientRect().bottom")
    assert (bottom <= height) == there


def test_less_motion(window, site):
    window.looks()
    url, _ = site()
    window.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    window.start(url)
    moves = """return [...document.querySelectorAll("*")].filter((node) => { const style = getComputedStyle(node);
      return style.transitionDuration !== "0s" || style.animationName !== "none" || style.scrollBehavior !== "auto"; }).length"""
    assert window.run(moves) == 0


def test_names_roles_and_landmarks(window, site):
    """What a screen reader hears of the page."""
    window.looks()
    url, _ = site(shown=EVERYTHING)
    item = window.start(url)
    names = window.names()
    assert window.run("return document.documentElement.lang") == "en"
    roles = {("banner", ""), ("main", ""), ("region", item), ("group", "Labels"), ("status", "")}
    roles |= {("heading", "Title"), ("heading", item), ("link", "Skip to the item"), ("Audio", "sound")}
    roles |= {("button", name) for name in ("no", "yes", "I cannot say", "Take back")}
    assert roles | {("image", f"picture of item {item.removeprefix('Item ')}")} <= set(names)
    assert any(role == "checkbox" and "Keys: 1 2 for the labels" in name for role, name in names)
    assert window.text("#count") == "0 items labelled, 3 waiting for a label"
    assert window.run("return document.querySelectorAll('[aria-live], [role=status], [role=alert]').length") == 1
    assert window.run("return document.querySelector('#choices button').getAttribute('aria-keyshortcuts')") == "1"
    assert window.run("return document.querySelector('#item').getAttribute('aria-describedby')") == "fields"


def test_tab_follows_the_reading_order(window, site):
    window.looks()
    url, _ = site(shown={"text": "some text"})
    window.start(url)
    assert window.run(FOCUS) == "item"
    window.run("document.activeElement.blur(); scrollTo(0, 0)")
    window.run("const top = document.querySelector('#jump'); top.focus()")
    assert window.run("return document.activeElement.getBoundingClientRect().top >= 0")
    passed = ["jump"]
    for _ in range(6):
        window.key("Tab")
        passed.append(window.run(FOCUS).split("\n")[0])
    assert passed == ["jump", "Instructions", "no1", "yes2", "skip", "undo", "keys"]
    window.run("document.querySelector('#jump').focus()")
    window.key("Enter")
    assert window.run(FOCUS) == "item"
    window.key("Tab")
    assert window.run(FOCUS).startswith("no")


def test_focus_goes_to_the_new_item_and_is_never_lost(window, site):
    window.looks()
    url, desk = site()
    item = window.start(url)
    window.run(HEAR)
    window.run("document.querySelector('#choices button').focus()")
    window.key("Enter")
    item = window.item(item)
    assert window.run(FOCUS) == "item"
    assert window.run("return written") == []  # the item is heard because the focus is there; nothing else is read out
    window.run("window.fetch = () => new Promise(() => 0); document.querySelector('#choices button').focus()")
    window.key("Enter")
    window.says("One moment …", more=False)
    assert window.run(FOCUS).startswith("no")
    assert labels(desk) == 1


@pytest.mark.slow
def test_waiting_is_said_once(window, site):
    """A person who has nothing to do hears so once, not at every look; and then the item that comes."""
    window.looks()
    url, desk = site(votes=3, learner={"batch": 1})
    item = window.start(url).removeprefix("Item ")
    window.run(HEAR)
    window.key("1")
    window.says("Nothing for you")
    assert window.run(FOCUS) == "main"
    time.sleep(3.5)
    assert len(window.run("return written")) == 1
    for name in ("bob", "cat"):
        desk.answer(name, item, "no")
    window.item()
    assert window.run(FOCUS) == "item"
    assert window.text("#say") == ""


def test_keys(window, site):
    """Described on the page; never while typing, with modifiers, or when held down; and they can be switched off."""
    window.looks()
    url, desk = site()
    window.open(url)
    window.run("localStorage.clear()")
    window.type("#name", "12su")
    assert window.run("return document.querySelector('#name').value") == "12su"
    window.click("#who button")
    item = window.item()
    assert "Keys: 1 2 for the labels, ? if you cannot say, u to take your last answer back" in window.text("#help")
    for modifiers in (1, 2, 4):  # alt, control, meta
        window.key("1", modifiers=modifiers)
    window.key("S", modifiers=8)
    window.key("3")
    time.sleep(0.3)
    assert labels(desk) == len(desk.session.ledger.skipped) == 0
    window.key("1")
    item = window.item(item)
    for _ in range(10):
        window.key("1", repeat=True)
    window.run("document.querySelector('#choices button').focus()")
    window.key("Enter")
    item = window.item(item)
    window.run("document.querySelector('#undo').focus()")
    for _ in range(10):
        window.key("Enter", repeat=True)
    time.sleep(0.3)
    assert window.run(ITEM) == item
    assert labels(desk) == 2
    window.click("#keys")
    window.key("1")
    window.click("#keys")
    window.key("?")
    window.item(item)
    assert labels(desk) == 2
    assert len(desk.session.ledger.skipped) == 1
    window.key("u")
    window.says("Your last answer is taken back.", more=False)
    assert len(desk.session.ledger.skipped) == 0


def test_keys_of_a_sound_stay_its_own(window, site):
    window.looks()
    url, desk = site(shown=EVERYTHING)
    item = window.start(url)
    window.run("document.querySelector('audio').focus()")
    window.key(" ")
    window.until("return !document.querySelector('audio').paused || document.querySelector('audio').ended")
    assert labels(desk) == 0
    assert window.run("return document.activeElement.tagName") == "AUDIO"
    window.key("2")
    window.item(item)
    assert list(desk.session.ledger.labels.values()) == [1]


def test_labels_that_are_digits_have_their_own_keys(window, site):
    """Whoever presses 1 means the label 1, not the first label."""
    window.looks()
    url, desk = site(("0", "1"))
    item = window.start(url)
    window.key("1")
    window.item(item)
    assert list(desk.session.ledger.labels.values()) == [1]


STARS, OUTPUT = (
    {"scores": "1-5"},
    "return [...document.querySelectorAll('#fields .output')].map((each) => each.innerText)",
)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("loss", [STARS, {"loss": "duel"}], ids=["scores", "duel"])
def test_outputs_are_judged_by_keyboard_and_by_ear(window, site, loss, dark):
    """An item, then what is to be judged, one output at a time or two; every state is read, heard, and large enough."""
    window.looks(width=390, height=780, scale=2, touch=True, dark=dark)
    url, desk = site(("a clear answer", "an odd answer"), loss=loss, learner={"batch": 1})
    item = window.start(url)
    words, heads = (["1", "2", "tie"], ["1", "2"]) if loss != STARS else (list("12345"), ["To be scored, 5 is best"])
    assert window.run(OUTPUT) == []
    assert ("button", "Show what is to be judged") in window.names()
    assert ("button", "I cannot say") in window.names()
    window.key(words[1])  # nobody judges what they have not seen
    time.sleep(0.3)
    assert window.run(OUTPUT) == []
    assert too_faint(window) == window.run(TARGETS) == []
    window.key("Enter")
    first = window.until(f"const found = (() => {{ {OUTPUT} }})(); return found.length > 0 && found")
    names = window.names()
    assert len(first) == len(heads)
    assert {("term", head) for head in heads} | {("button", word) for word in words} <= set(names)
    assert ("button", "I cannot say") not in names
    assert too_faint(window) == window.run(TARGETS) == []
    assert window.run("return document.documentElement.scrollWidth") <= 390
    window.key("?")
    time.sleep(0.3)
    assert window.run(OUTPUT) == first
    window.key(words[1])
    if loss == STARS:
        second = window.until(
            f"const now = (() => {{ {OUTPUT} }})(); return now.length > 0 && now[0] !== arguments[0] && now", first[0]
        )
        assert window.text("#count").startswith("1 output scored")
        window.key("u")
        window.says("Your last answer is taken back.", more=False)
        assert window.run(OUTPUT) == first
        window.key(words[1])
        window.until(f"return (() => {{ {OUTPUT} }})()[0] === arguments[0]", second[0])
        window.key("5")
        assert window.item(item)
        assert desk.session.ledger.labels[item.removeprefix("Item ")] == {first[0]: "2", second[0]: "5"}
    else:
        assert window.item(item)
        assert desk.session.ledger.labels[item.removeprefix("Item ")] == first[1]


def test_a_double_click_is_one_answer(window, site):
    window.looks()
    url, desk = site()
    item = window.start(url)
    window.mouse("#choices button", 1)
    second = window.item(item)
    window.mouse("#choices button", 2)
    time.sleep(0.5)
    assert window.run(ITEM) == second
    assert labels(desk) == 1
    window.mouse("#choices button", 1)
    window.item(second)


@pytest.mark.slow
@pytest.mark.parametrize("second", [1, 2], ids=["same place", "other place"])
def test_a_double_tap_is_one_answer(window, site, second):
    window.looks(width=390, touch=True)
    url, desk = site()
    item = window.start(url)
    time.sleep(0.5)
    window.tap("#choices button")
    time.sleep(0.15)
    window.tap(f"#choices button:nth-child({second})")
    item = window.item(item)
    time.sleep(0.5)
    assert window.run(ITEM) == item
    assert labels(desk) == 1
    window.tap("#choices button")
    window.item(item)


def test_anonymous_in_one_click(window, site):
    """Nobody has to say who they are, and two browsers are two people; one that comes back is the same, with any name."""
    window.looks()
    url, desk = site(votes=3, learner={"batch": 1})
    item = window.start(url, name=None).removeprefix("Item ")
    window.key("1")
    window.says("Nothing for you")
    (first,) = desk.session.ledger.votes[item]
    assert re.fullmatch("anonymous-[0-9a-f]{8}", first)
    window.open(url)
    window.click("#who button")
    window.says("Nothing for you")
    window.open(url)
    assert window.run(NAME) == [first, True]
    window.cdp("Network.clearBrowserCookies")  # another browser
    window.start(url, name=None)
    window.key("1")
    window.says("Nothing for you")
    assert len(desk.session.ledger.votes[item]) == 2


def test_a_name_that_somebody_has(window, site):
    """It is said at once, and another name will do; after the first label the name stays."""
    window.looks()
    url, desk = site()
    desk.session.journal.append([Event(kind="join", annotator="Ann", detail={"browser": "somebody else"})])
    desk.session.refresh()
    window.open(url)
    window.run("localStorage.clear(); document.querySelector('#name').value = ''")
    window.type("#name", "ann")
    window.click("#who button")
    window.says("somebody labels as ann already")
    assert window.run("return document.querySelector('#say').className") == "bad"
    assert too_faint(window) == []
    item = window.start(url, name="eve")
    assert window.text("#me") == "eve"
    window.key("1")
    window.item(item)
    window.open(url)
    assert window.run(NAME) == ["eve", True]
    assert "Your name in this browser" in window.text("#name-hint")
    assert too_faint(window) == []
    window.cdp("Network.clearBrowserCookies")
    window.key("1")
    window.open(url)
    window.click("#who button")  # its cookie is gone, and with it the name
    window.says("somebody labels as eve already")


def test_personal_links(window, site):
    window.looks()
    url, desk = site(closed=True)
    window.open(url)
    window.says("This page is for people with a personal link")
    assert window.run("return document.querySelector('#who').hidden")
    window.open(f"{url}?person={People(desk.session).link('Ann Lee')}")
    assert window.run("return location.search") == ""
    assert window.run("return document.cookie") == ""
    window.click("#who button")
    item = window.item()
    assert window.text("#me") == "Ann Lee"
    window.key("1")
    window.item(item)
    assert desk.session.ledger.by(item.removeprefix("Item ")) == "Ann Lee"


def test_nothing_is_lost_or_counted_twice_on_a_bad_network(window, site):
    window.looks()
    url, desk = site()
    item = window.start(url)
    window.key("1")
    item = window.item(item)
    lost = "window.fetch = async (...what) => { await honest(...what); throw new TypeError('lost on the way back'); }"
    window.run("window.honest = fetch; window.fetch = () => Promise.reject(new TypeError('no network'))")
    window.run("document.querySelector('#choices button').focus()")
    window.key("Enter")
    window.says("No answer from the server")
    assert window.run(ITEM) == item
    assert window.run(FOCUS).startswith("no")
    assert labels(desk) == 1
    window.run(lost)
    window.key("1")
    window.says("No answer from the server")
    assert window.run(ITEM) == item
    assert labels(desk) == 2  # it was heard
    window.run("window.fetch = honest")
    window.key("1")
    item = window.item(item)
    assert labels(desk) == 2
    assert window.text("#say") == ""
    window.run(lost)
    window.key("u")
    window.says("No answer from the server")
    assert labels(desk) == 1
    window.run("window.fetch = honest")
    window.key("u")
    window.says("Your last answer is taken back.", more=False)
    assert labels(desk) == 1  # taken back once
    window.console()


def test_whoever_waits_comes_back_by_themselves(window, site):
    window.looks()
    url, _ = site()
    window.open(url)
    window.run("""window.honest = fetch; window.fetch = (path, ...rest) =>
      path === '/api/join' ? honest(path, ...rest) : Promise.reject(new TypeError('no network'))""")
    window.click("#who button")
    window.says("No answer from the server; trying again")
    window.run("window.fetch = honest")
    window.item()


@pytest.mark.slow
def test_latecomers_hear_that_all_is_done(window, site):
    """And so does whoever looks at an item when somebody else gives the last answer."""
    window.looks()
    url, desk = site(learner={"max_labels": 4}, votes=3)
    window.start(url)
    assert window.text("#count") == "0 items labelled, at most 4 more"
    while not desk.ended:
        for name in ("bob", "cat", "dan"):
            if (item := desk.next(name)) is not None:
                desk.answer(name, item, "yes")
    window.says("All done", seconds=5)
    assert window.run(FOCUS) == "main"
    window.open(url)
    window.says("All done", seconds=5)
    assert window.text("#say").endswith("Two people agreed on 100% of what both labelled.")
    for hidden in ("#who", "#item", "#choices", "#more"):
        assert not window.run("return document.querySelector(arguments[0]).getClientRects().length", hidden)
    assert [what for wanted, got, what in window.run(CONTRAST) if got < wanted] == []


def test_a_link_with_the_token_works_from_another_site(window, site):
    """People find the address in a mail or a chat, whose page is another site."""
    window.looks()
    url, _ = site(token="a-secret")
    window.open(f"data:text/html,<a href='{url}?token=a-secret'>label</a>")
    window.click("a")
    window.until("return document.querySelector('h1')?.innerText === 'Title'", seconds=5)
    assert "token" not in window.run("return location.href")


def test_what_is_written_elsewhere_is_shown_as_it_is(window, site):
    nasty = "<img src=x onerror='document.title=1'>{{labels}}"
    window.looks()
    url, _ = site((nasty, "yes"), {nasty: nasty}, title=nasty)
    window.start(url)
    assert window.text("#fields dt") == window.text("#fields dd") == window.text("h1") == nasty
    assert window.text("#choices button span") == nasty
    assert window.run("return document.title") == nasty
    assert window.run("return document.querySelectorAll('img').length") == 0
    link = "const link = document.querySelector('#rules a'); return [link.href, link.rel]"
    assert window.run(link) == ["https://example.org/", "noopener noreferrer"]
    # A page of an earlier test may look for its server.
    assert [entry for entry in window.console() if url in entry["message"]] == []
