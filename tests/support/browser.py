"""A real browser, driven through the WebDriver protocol of Debian's chromedriver: a few calls are all we need."""

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's own name of "this is an element"
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
]  # fmt: skip
# Functions for scripts that measure contrast: of two colours, as WCAG computes it, and what is behind an element.
WCAG = """
const parse = (text) => { const found = text.match(/[\\d.]+/g).map(Number); return [found[0], found[1], found[2], found[3] ?? 1]; };
const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3]));
const light = (colour) => colour.slice(0, 3).map((v) => v / 255).map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const ratio = (one, two) => { const [a, b] = [light(one), light(two)].sort((x, y) => y - x); return (a + .05) / (b + .05); };
const style = (node) => getComputedStyle(node);
const back = (node) => node === null ? [255, 255, 255] : over(parse(style(node).backgroundColor), back(node.parentElement));
"""


def installed():
    """Is there a browser and its driver?"""
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """One window."""

    def __init__(self, base, *, size=(1000, 760), dark=False, phone=False):
        options = {"args": [*FLAGS, f"--window-size={size[0]},{size[1]}", f"--user-data-dir={tempfile.mkdtemp()}"]}
        options["binary"] = shutil.which("chromium")
        if phone:
            metrics = {"width": 390, "height": 780, "pixelRatio": 2.0, "touch": True}
            options["mobileEmulation"] = {"deviceMetrics": metrics}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self._base = base
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session, self._process = made["sessionId"], made["capabilities"].get("goog:processID")
        if dark:
            self.media(color_scheme="dark")

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def _in(self, method, path, body=None):
        return self._call(method, f"/session/{self._session}/{path}", body)

    def cdp(self, command, **params):
        """A command of the browser's own protocol."""
        return self._in("POST", "goog/cdp/execute", {"cmd": command, "params": params})

    def media(self, kind="", **features):
        """On a screen or on paper, with what people prefer."""
        wanted = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
        self.cdp("Emulation.setEmulatedMedia", media=kind, features=wanted)

    def screen(self, width, height=780, *, scale=1, touch=False):
        """How large, with a finger or a mouse."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": touch}
        self.cdp("Emulation.setDeviceMetricsOverride", **metrics)

    def names(self):
        """Role and name of everything an assistive tool hears of."""
        nodes = [
            each for each in self.cdp("Accessibility.getFullAXTree")["nodes"] if not each["ignored"] and "role" in each
        ]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes]

    def open(self, url):
        """Go there."""
        self._in("POST", "url", {"url": url})

    def find(self, selector):
        """The first element of a selector."""
        return self._in("POST", "element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        """Click it."""
        self._in("POST", f"element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        """Type into it."""
        self._in("POST", f"element/{self.find(selector)}/value", {"text": text})

    def run(self, script, *arguments):
        """Run JavaScript and return what it returns."""
        return self._in("POST", "execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        """What a person reads there."""
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def until(self, script, *arguments, seconds=20):
        """Wait until JavaScript says something true."""
        end = time.monotonic() + seconds
        while not (found := self.run(script, *arguments)):
            assert time.monotonic() < end, f"waited {seconds} s for {script}; the page says {self.text('body')!r}"
            time.sleep(0.02)
        return found

    def console(self):
        """Errors the page wrote to its console."""
        return [entry for entry in self._in("POST", "se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]

    def screenshot(self, path):
        """A picture of the window."""
        path.write_bytes(base64.b64decode(self._in("GET", "screenshot")))

    def kill(self):
        """Die, without a word to anybody."""
        os.kill(self._process, signal.SIGKILL)

    def close(self):
        """Leave."""
        with contextlib.suppress(Exception):
            self._call("DELETE", f"/session/{self._session}")


@contextlib.contextmanager
def browsers():
    """A driver; call what it yields to open windows."""
    process = subprocess.Popen(
        ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    windows = []
    try:
        for line in process.stdout:
            if "started successfully on port" in line:
                port = line.rstrip(".\n").rpartition(" ")[2]
                break

        def window(**options):
            windows.append(Browser(f"http://127.0.0.1:{port}", **options))
            return windows[-1]

        yield window
    finally:
        for each in windows:
            each.close()
        process.terminate()
        process.wait(10)
        process.stdout.close()
