"""People at the labelling page, as its own script talks to it."""

import http.client
import json
import random
import secrets
import threading
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit


class Annotator:
    """One person with one browser.

    Parameters
    ----------
    url
        The address that was printed, with its token.
    name
        What they call themselves.
    cookies
        What their browser has kept; a new browser if left out.
    """

    def __init__(self, url, name, timeout=30.0, cookies=None):
        parts = urlsplit(url)
        self.host, self.name, self._cookies = parts.netloc, name, {} if cookies is None else cookies
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
        self._ask("GET", f"/?{parts.query}" if parts.query else "/")
        self.joined = self.post("/api/join", name=name)

    def _ask(self, method, path, body=None):
        headers = {"Host": self.host, "Content-Type": "application/json"} if body is not None else {"Host": self.host}
        if self._cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        reply = self._reply(method, path, None if body is None else json.dumps(body), headers)
        content = reply.read()
        for each in reply.headers.get_all("Set-Cookie") or ():
            name, _, value = each.split(";")[0].partition("=")
            self._cookies[name] = value
        return reply.status, content

    def get(self, path):
        """Status and content."""
        return self._ask("GET", path)

    def _reply(self, *request):
        """Once more, as a browser does, where the server has let go of an idle connection."""
        try:
            self._connection.request(*request)
            return self._connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self._connection.close()
            self._connection.request(*request)
            return self._connection.getresponse()

    def post(self, path, **message):
        """Status and what was said."""
        status, content = self._ask("POST", path, message)
        try:
            return status, json.loads(content)
        except ValueError:
            return status, {"error": content.decode(errors="replace")}

    def next(self):
        """The item to label; None if there is none now."""
        status, told = self.post("/api/next")
        return told["item"]["id"] if status == 200 and told["item"] else None

    def answer(self, item, label):
        """Status 200: it is recorded."""
        return self.post("/api/answer", item=item, label=label, turn=secrets.token_hex(8))

    def close(self):
        """Leave."""
        self._connection.close()


@dataclass
class Heard:
    """What some people did and heard: answers that were acknowledged, by item; refusals, other troubles, longest wait."""

    acknowledged: dict = field(default_factory=dict)
    refused: list = field(default_factory=list)
    troubles: list = field(default_factory=list)
    longest: float = 0.0


def _label(url, name, truth, until, think, heard):
    """One person labels, with pauses, until the time is over or the server is gone."""
    chance, item = random.Random(name), None
    try:
        person = Annotator(url, name)
        while time.monotonic() < until:
            begun = time.monotonic()
            if item is None:
                status, told = person.post("/api/next")
            else:
                status, told = person.answer(item, str(truth[item]))
                if status == 200:
                    heard.acknowledged.setdefault(item, []).append(name)
                elif status == 409:
                    heard.refused.append((name, item, told))
            heard.longest = max(heard.longest, time.monotonic() - begun)
            if status not in (200, 409):
                heard.troubles.append((name, status, told))
            item = told["item"]["id"] if status == 200 and told["item"] else None
            time.sleep(chance.uniform(0, 2 * think) if item else 0.3)
        person.close()
    except (OSError, http.client.HTTPException) as error:
        heard.troubles.append((name, type(error).__name__, str(error)))


def crowd(urls, truth, *, people, seconds, think):
    """So many people label at once, at these addresses in turn, and pause `think` seconds on average before an answer."""
    heard, until = Heard(), time.monotonic() + seconds
    threads = [
        threading.Thread(target=_label, args=(urls[number % len(urls)], f"person {number}", truth, until, think, heard))
        for number in range(people)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return heard
