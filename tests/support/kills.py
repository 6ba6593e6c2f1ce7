"""Every way to label, killed at random moments: what was acknowledged, what is there, and how it ends."""

import contextlib
import csv
import io
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import dataclass
from http.client import HTTPException
from unittest import mock

from replical.cli import main
from support import forked, label_studio_server
from support.annotators import Annotator
from support.label_studio import Project
from support.miniature import DRIVER

# The same in a sentence where the journal cannot be used.
SESSION = f"""
import sys
from replical.errors import BadJournal
try:
{textwrap.indent(DRIVER, "    ")}
except BadJournal as error:
    print(error)
    sys.exit(2)
"""
# A run that looks at its server without rest.
LIVE = f"""
import os, sys
from replical.cli import main
from replical.lab.sessions import label_studio
label_studio._LOOK = 0.01
os.environ[label_studio.KEY] = {label_studio_server.KEY!r}
sys.exit(main(sys.argv[1:]))
"""
PATIENCE = 120.0  # seconds until a process that neither answers nor ends counts as hanging


def recorded(path):
    """Answers in the journal, one row each, read with nothing but SQLite."""
    if not path.exists():
        return []
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(
            "SELECT item, label FROM replical_events WHERE kind = 'answer' ORDER BY seq"
        ).fetchall()


def lasting(path):
    """All of a certificate, or of a confirmation, that is the same whenever it is written."""
    told = json.loads(path.read_text(encoding="utf-8"))
    for key in ("created", "seal", "journal_head", "journal_events"):
        told.get("provenance", {}).pop(key, None)
    return told


class Lab:
    """Files of one lab, a journal that has just begun, and what a run comes to that nobody interrupts.

    Parameters
    ----------
    words
        Arguments of ``run`` or ``confirm`` for a journal and a certificate, without a source of labels.
    truth
        The label of every item, as people spell it.
    labels
        FILE:COLUMN with the same.
    """

    def __init__(self, folder, words, truth, labels, codes=(0,), name="a"):
        self.folder, self._words, self.truth, self.codes = folder, words, truth, codes
        self.refusals = ()  # exit codes of a run that is turned away, and may be
        self.column = ["--labels", str(labels)]
        self.path, self.out, self.batches = (folder / f"{name}-run{end}" for end in (".db", ".json", ".batches"))
        self._begun, straight, self.straight = (
            folder / f"{name}-{end}" for end in ("begun.db", "straight.db", "straight.json")
        )
        with mock.patch("sys.stdin", io.StringIO("")):
            assert main([*words(self._begun, self.straight), "--ask", "terminal"]) == 3
        shutil.copy(self._begun, straight)
        assert main([*words(straight, self.straight), *self.column]) in codes
        self.answers = sorted(recorded(straight))
        self.acknowledged = set()
        self.cookies = {}  # of the browser of whoever labels at the page
        self.serving, self.served = contextlib.ExitStack(), None  # a Label Studio server

    def end(self):
        """Nothing is served any more."""
        self.serving.close()
        self.served = None

    def words_in(self, folder):
        """Arguments of a run whose journal and certificate are in another folder."""
        return self._words(folder / self.path.name, folder / self.out.name)

    @property
    def words(self):
        """Arguments of the run that is killed."""
        return self.words_in(self.folder)

    def again(self):
        """A fresh start with the same private seed."""
        for each in self.folder.glob(f"{self.path.stem}.*"):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        shutil.copy(self._begun, self.path)
        self.acknowledged, self.cookies = set(), {}
        self.end()
        return self

    def rows(self):
        """Answers in the journal."""
        return recorded(self.path)

    def check(self, counts):
        """Is every acknowledged label there and right, and everything there once?"""
        rows = self.rows()
        there = {item for item, _ in rows}
        counts.lost += len(self.acknowledged - there)
        counts.changed += len(rows) - len(there) + len(set(rows) - set(self.answers))
        return rows

    def check_end(self, counts, folder=None):
        """Has it come to the same as without us, byte for byte?"""
        folder = folder or self.folder
        out, path = folder / self.out.name, folder / self.path.name
        same = out.exists() and lasting(out) == lasting(self.straight)
        counts.changed += not (same and sorted(recorded(path)) == self.answers)

    def finish(self, counts, folder=None):
        """Go on to the end, undisturbed."""
        folder = folder or self.folder
        if main([*self.words_in(folder), *self.column]) not in self.codes:
            counts.changed += 1
        self.check_end(counts, folder)


def start(*words, **options):
    """Python in a process of its own, with one stream for all it says."""
    if not options:
        return forked.start(words)
    return subprocess.Popen(
        [sys.executable, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, bufsize=1, **options,
    )  # fmt: skip


@dataclass(frozen=True)
class Way:
    """A way to label.

    Attributes
    ----------
    start
        Starts its processes for a lab; the first is the run.
    answers
        Labels, as people do: an item whenever one is acknowledged, None when something else has happened, until the
        processes are gone. Lines that it has read are kept in a list.
    certifies
        Does it write a certificate?
    """

    name: str
    start: object
    answers: object
    certifies: bool = True


def _alone(*more):
    return lambda lab: [start("-m", "replical", *lab.words, *(each(lab) if callable(each) else each for each in more))]


def _tell(process, line):
    with contextlib.suppress(OSError, ValueError):
        process.stdin.write(line)
        process.stdin.flush()


def _from_python(lab, processes, said):
    for line in processes[0].stdout:
        said.append(line)
        if line.strip() in lab.truth:
            yield line.strip()


def _at_terminal(lab, processes, said):
    """The next question acknowledges the answer before; so does the end."""
    asked = None
    for line in processes[0].stdout:
        said.append(line)
        if found := re.match(r"Item \d+: (\S+)$", line):
            if asked is not None:
                yield asked
            asked = found[1]
            _tell(processes[0], f"{lab.truth[asked]}\n")
    if processes[0].wait() in lab.codes and asked is not None:
        yield asked


def _journal_grows(lab, process):
    """None for every answer that appears in the journal while a process works."""
    seen = len(lab.rows())
    while process.poll() is None:
        now = len(lab.rows())
        yield from [None] * (now - seen)
        seen = now
        time.sleep(0.002)


def _from_column(lab, processes, said):
    """Nobody is told anything: what another process has seen in the journal must stay."""
    for _ in _journal_grows(lab, processes[0]):
        yield from {item for item, _ in lab.rows()} - lab.acknowledged


def _fill_in(lab):
    """Somebody fills in all batches: files, what is in them now, and their items."""
    filled = []
    for path in sorted(lab.batches.glob("batch-*.csv")):
        head, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
        rows = [[*row[:-1], lab.truth[row[0]]] for row in rows]
        text = "".join(",".join(row) + "\n" for row in [head, *rows])
        path.write_text(text, encoding="utf-8")
        filled.append((path, text, [row[0] for row in rows]))
    return filled


def _by_file(lab, processes, said):
    """The end of the command acknowledges what it has read; what was filled in stays as it was, killed or not."""
    filled = lab.filled
    yield from _journal_grows(lab, processes[0])
    if processes[0].wait() in (*lab.codes, 3):
        yield from [item for _, _, items in filled for item in items]
    for path, text, _ in filled:
        assert path.read_text(encoding="utf-8") == text, f"{path} was filled in and is changed"


def _start_by_file(lab):
    lab.filled = _fill_in(lab)
    return [start("-m", "replical", *lab.words, "--ask", "file", "--batches", lab.batches)]


def _start_label_studio(lab):
    """All tasks so far are imported into one project, chosen by name, and exported as JSON."""
    tasks = sorted(lab.batches.glob("batch-*.json"))
    words = [*lab.words, "--ask", "file", "--batches", lab.batches]
    lab.filled = []
    if tasks:
        project = Project((lab.batches / "label-studio.xml").read_text(encoding="utf-8"))
        for path in tasks:
            project.load(path)
        for task in project.tasks:
            project.annotate(task, lab.truth[task["data"]["item"]])
        export = project.export(lab.folder / "export.json")
        words += ["--answers", export]
        lab.filled = [(export, export.read_text(encoding="utf-8"), [task["data"]["item"] for task in project.tasks])]
    return [start("-m", "replical", *words)]


def _start_live(lab):
    """The server outlives every kill; a run that begins anew has a new one."""
    if lab.served is None:
        lab.served = lab.serving.enter_context(label_studio_server.serving())
        lab.serving.enter_context(label_studio_server.people(lab.served, lambda project, task: project.annotate(
            task, str(lab.truth[task["data"]["item"]]))))  # fmt: skip
    words = [*lab.words, "--ask", "label-studio", "--page", f"url={lab.served.url}"]
    return [start("-c", LIVE, *words)]


def _live(lab, processes, said):
    """What is seen in the journal must stay, and no task is there twice."""
    yield from _from_column(lab, processes, said)
    items = [task["data"]["item"] for project in lab.served.projects.values() for task in project.tasks]
    assert len(lab.served.projects) <= 1
    assert len(items) == len(set(items)), "a task was created twice"


def url_of(process, said):
    """The address of the page that a process serves, once it says so; None if it ends before."""
    for line in process.stdout:
        said.append(line)
        if found := re.search(r"Label at (http://\S+)", line):
            return found[1]
    return None


def _ann(lab, url):
    """Always the same browser: it is known again after a restart."""
    return Annotator(url, "ann", cookies=lab.cookies)


def _at_page(lab, processes, said):
    """An answer with status 200 is acknowledged."""
    server, run = processes[-1], processes[0]
    url = url_of(server, said)
    if url is None:
        return
    with contextlib.suppress(OSError, HTTPException), contextlib.closing(_ann(lab, url)) as ann:
        while True:
            item = ann.next()
            if item is None:
                if run.poll() is not None:  # nobody asks any more
                    break
                time.sleep(0.05)
                continue
            status, told = ann.answer(item, str(lab.truth[item]))
            if status == 200:
                yield item
            elif status not in (409, 503):
                said.append(f"Traceback: the page said {status}, {told}\n")


def _start_beside(lab):
    run = start("-m", "replical", *lab.words, "--ask", "journal")
    return [run, start("-m", "replical", "label", lab.path, "--page", "port=0")]


WAYS = {
    way.name: way
    for way in (
        Way("Python session", lambda lab: [start("-c", SESSION, lab.folder, lab.path)], _from_python, certifies=False),
        Way("terminal", _alone("--ask", "terminal"), _at_terminal),
        Way("labels from a column", lambda lab: [start("-m", "replical", *lab.words, *lab.column)], _from_column),
        Way("by file", _start_by_file, _by_file),
        Way("Label Studio", _start_label_studio, _by_file),
        Way("Label Studio, live", _start_live, _live),
        Way("page", _alone("--ask", "page", "--page", "port=0"), _at_page),
        Way("page beside the run", _start_beside, _at_page),
    )
}


def sitting(way, lab, chance, counts, harm=None):
    """One start, until it ends or is killed: sometimes while it starts, mostly while it works. Has the run ended?

    `harm` is done to something else instead, a server or a connection.
    """
    processes, said, killed = way.start(lab), [], []
    unlucky = chance.choice([processes[:1], processes[-1:], processes])
    early = chance.random() < 0.2
    after, delay = (0, chance.uniform(0, 0.4)) if early else (chance.randint(1, 8), chance.uniform(0, 0.02))

    def kill():
        if harm is not None:
            counts.kills += 1
            harm()
            return
        for process in unlucky:
            if process.poll() is None:
                killed.append(process)
                process.kill()

    def give_up():
        counts.hangs += 1
        for process in processes:
            process.kill()

    timers = [threading.Timer(delay, kill), threading.Timer(PATIENCE, give_up)]
    timers[1].start()
    if after == 0:
        timers[0].start()
    for number, item in enumerate(way.answers(lab, processes, said), start=1):
        if item is not None:
            counts.acknowledged += item not in lab.acknowledged
            lab.acknowledged.add(item)
        if number == after:
            timers[0].start()
    _end(processes, killed, timers, said)
    counts.kills += len(killed)
    counts.tracebacks += any("Traceback" in line for line in said)
    for process in processes:
        lived = process not in killed
        counts.crashes += lived and process.returncode < 0 and process.returncode != -signal.SIGTERM
        if lived and process.returncode > 0 and process.returncode not in (*lab.codes, 3, *lab.refusals):
            raise AssertionError(f"{way.name} ended with {process.returncode}: {''.join(said)}")
    return processes[0].returncode in lab.codes


def _end(processes, killed, timers, said):
    """Whoever serves beside a run that was killed is told to go; everything else ends by itself."""
    _call_off(timers[0])
    for process in processes:
        if killed and process.poll() is None:
            process.terminate()
    for process in processes:
        said.append(process.communicate()[0] or "")
    _call_off(timers[1])


def _call_off(timer):
    """Not at all, or to its end."""
    timer.cancel()
    if timer.ident is not None:
        timer.join()


def kill_again_and_again(way, lab, kills, chance, counts, harm=None):
    """Until so many kills have met it; a run that comes to its end begins again. How many have met it at work?"""
    lab.again()
    before, target, halfway = [], counts.kills + kills, 0
    while counts.kills < target:
        ended = sitting(way, lab, chance, counts, harm)
        rows = lab.check(counts)
        counts.changed += rows[: len(before)] != before  # nothing that was written moves
        before, halfway = rows, halfway + (0 < len(rows) < len(lab.answers))
        if ended:
            (lab.check_end if way.certifies else lab.finish)(counts)
            lab.again()
            before = []
    lab.finish(counts)
    return halfway


def race(lab, times, chance, counts):
    """Three runs of one journal, started together, one of them killed: at most one works, the others are turned away."""
    lab.again()
    refused = 0
    for _ in range(times):
        processes = [start("-m", "replical", *lab.words, *lab.column) for _ in range(3)]
        time.sleep(chance.uniform(0.05, 0.6))
        unlucky = chance.choice(processes)
        unlucky.kill()
        said = [process.communicate(timeout=PATIENCE)[0] for process in processes]
        counts.kills += unlucky.returncode == -signal.SIGKILL
        counts.tracebacks += sum("Traceback" in text for text in said)
        for process, text in zip(processes, said, strict=True):
            counts.crashes += process is not unlucky and process.returncode < 0
            if process.returncode > 0:
                refused += 1
                told = " ".join(text.split())
                assert "another runner" in told, told
        seen = {item for item, _ in lab.check(counts)}
        counts.acknowledged += len(seen - lab.acknowledged)
        lab.acknowledged |= seen
        if any(process.returncode in lab.codes for process in processes):
            lab.check_end(counts)
            lab.again()
    lab.finish(counts)
    return refused
