"""People at the labelling page, as its own script talks to it."""

import http.client
import json
import secrets
from urllib.parse import urlsplit


class Annotator:
    """One person with one browser.

    Parameters
    ----------
    url
        The address that was printed, with its token.
    name
        What they call themselves.
    """

    def __init__(self, url, name, timeout=30.0):
        parts = urlsplit(url)
        self.host, self.name, self._cookies = parts.netloc, name, {}
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
        self._ask("GET", f"/?{parts.query}" if parts.query else "/")

    def _ask(self, method, path, body=None):
        headers = {"Host": self.host, "Content-Type": "application/json"} if body is not None else {"Host": self.host}
        if self._cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        reply = self._connection.getresponse()
        content = reply.read()
        for each in reply.headers.get_all("Set-Cookie") or ():
            name, _, value = each.split(";")[0].partition("=")
            self._cookies[name] = value
        return reply.status, content

    def post(self, path, **message):
        """Status and what was said."""
        status, content = self._ask("POST", path, {"annotator": self.name, **message})
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
