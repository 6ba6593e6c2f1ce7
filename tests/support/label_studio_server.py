"""A small stand-in for a Label Studio server: the calls of its documented REST API that the library makes, and no other.

Projects, tasks, export and access tokens as api.labelstud.io describes them; what was seen of release 1.23.2 is kept to: a
task lacks no variable of the labelling interface, an export filters by `ids[]`, refusals are JSON with a `detail`.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from support.label_studio import Project

KEY = "0123456789abcdef"  # a legacy token
PERSONAL = "head.personal.sign"  # a personal access token is a JSON Web Token, to be exchanged


class Server:
    """Projects by number, and whatever the test wants to go wrong.

    Attributes
    ----------
    faults
        Called with each method and path: a status to answer with and do nothing, "drop" to do it and answer nothing, "page"
        to answer with a page of something else, None to go on.
    """

    def __init__(self):
        self.projects, self.made, self.lock = {}, {}, threading.RLock()
        self.faults = lambda method, path: None
        self.calls, self.access = [], 0

    def add(self, **said):
        """A project that somebody has made."""
        number = len(self.projects) + 1
        made = {"description": "", "label_config": "<View/>"} | said
        assert 3 <= len(made.get("title", "own")) <= 50
        self.made[number] = made | {"id": number}
        self.projects[number] = Project(made["label_config"]) if made["label_config"] != "<View/>" else None
        return number

    def tasks(self, number=1):
        """Tasks of a project that Label Studio would hand out: not enough people have annotated them."""
        with self.lock:
            project = self.projects.get(number)
            return [] if project is None else [task for task in project.tasks if _people(task) < task.get("overlap", 1)]

    def handle(self, method, path, query, key, body):
        """Status and answer."""
        if path == "/api/token/refresh" and method == "POST":
            if body != {"refresh": PERSONAL}:
                return 401, {"detail": "Token is invalid"}
            self.access += 1
            return 200, {"access": f"access-{self.access}"}
        if key not in (f"Token {KEY}", f"Bearer access-{self.access}"):
            return 401, {"detail": "Invalid token."}
        if path == "/api/projects" and method == "GET":
            page, size = int(query["page"][0]), int(query["page_size"][0])
            found = list(self.made.values())
            more = f"?page={page + 1}" if len(found) > page * size else None
            return 200, {"count": len(found), "next": more, "results": found[(page - 1) * size : page * size]}
        if path == "/api/projects" and method == "POST":
            return 201, self.made[self.add(**body)]
        if method == "PATCH":
            task = int(path.split("/")[3])
            (found,) = [each for project in self.projects.values() for each in project.tasks if each["id"] == task]
            found |= body
            return 200, found
        number = body["project"] if path == "/api/tasks/" else int(path.split("/")[3])
        if number not in self.projects:
            return 404, {"detail": "No Project matches the given query."}
        if path == f"/api/projects/{number}" and method == "GET":
            return 200, self.made[number]
        project = self.projects[number]
        if path == "/api/tasks/" and method == "POST":
            if missing := project.missing(body["data"]):
                return 400, {"detail": "Validation error", "validation_errors": {"data": [f'"{missing}" is expected']}}
            made = project.add(body["data"])
            made["overlap"] = body.get("overlap", 1)  # whatever maximum_annotations of the project says
            return 201, made
        assert (method, path) == ("GET", f"/api/projects/{number}/export")
        assert query["exportType"] == ["JSON"]
        assert query["download_all_tasks"] == ["true"]
        wanted = set(map(int, query.get("ids[]", ())))
        return 200, [task for task in project.as_json() if not wanted or task["id"] in wanted]


def _people(task):
    return len({str(each["completed_by"]) for each in task["annotations"]})


def _handler(server):
    class Handler(BaseHTTPRequestHandler):
        def _do(self):
            split = urlsplit(self.path)
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            with server.lock:
                server.calls.append((self.command, split.path))
                fault = server.faults(self.command, split.path)
                status, told = fault if isinstance(fault, tuple) else (fault, {"detail": "fault"})
                if not isinstance(status, int):
                    key = self.headers.get("Authorization", "")
                    status, told = server.handle(self.command, split.path, parse_qs(split.query), key, body)
                text = b"<html>something else</html>" if fault == "page" else json.dumps(told).encode()
            if fault == "drop":
                self.close_connection = True
                return
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = _do  # noqa: N815 - as http.server calls them

        def log_message(self, *_):
            """Nothing."""

    return Handler


@contextmanager
def serving():
    """A server, at `url` on loopback, until the test has ended."""
    server = Server()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    server.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@contextmanager
def people(server, said, number=1):
    """People who annotate whatever has no annotation yet: `said` of a project and one of its tasks annotates, or does not."""
    gone, faults = threading.Event(), []

    def work():
        try:
            while not gone.wait(0.005):
                for task in server.tasks(number):
                    with server.lock:
                        said(server.projects[number], task)
        except Exception as error:  # the test is told
            faults.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        gone.set()
        thread.join()
    assert not faults, faults
