"""What ``replical init`` asks at a terminal: a person is a pseudo-terminal here."""

import os
import pty
import re
import select
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from support.lab import world, write_csv
from support.paths import ROOT

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")
PATIENCE = 60  # seconds for an answer
CTRL_C = "\x03"
TABLE, MODELS, DATA, LABS, TOLERANCE = "Your table", "no models?", "Public data: 1", "How many labs", "Tolerance"


# Becomes the command, at a terminal of its own, which turns a Ctrl-C into a signal.
BEGIN = """import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)  # who starts tests in the background has it ignored
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "replical", *sys.argv[1:]])"""


class Terminal:
    """A command that somebody watches, and answers."""

    def __init__(self, *words):
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", BEGIN, *words],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**os.environ, "TERM": "dumb", "COLUMNS": "300"},
        )  # fmt: skip
        os.close(slave)
        self.text, self._seen = "", 0

    def reply(self, question, answer=""):
        """Wait for a question, and type the answer; False if there is none any more."""
        while question not in self.text[self._seen :] or not self.text.endswith(": "):
            if not self._read():
                return False
        self._seen = len(self.text)
        end = time.monotonic() + PATIENCE
        os.write(self._master, answer.encode() if answer == CTRL_C else f"{answer}\n".encode())
        while answer == CTRL_C and self._process.poll() is None and time.monotonic() < end:
            if not select.select([self._master], [], [], 5)[0]:
                os.write(
                    self._master, CTRL_C.encode()
                )  # Python misses one that comes between its prompt and its reading
            elif not self._read():
                break
        return True

    def end(self):
        """The exit code, and everything that stood there."""
        while self._read():
            pass
        code = self._process.wait(PATIENCE)
        os.close(self._master)
        return code, self.text

    def _read(self):
        if not select.select([self._master], [], [], PATIENCE)[0]:
            return False
        try:
            found = os.read(self._master, 2**16).decode()
        except OSError:  # nobody writes any more
            return False
        self.text += found.replace("\r\n", "\n")
        return bool(found)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A lab's table of 24 models, a public one with labels and one without, and prices."""
    monkeypatch.chdir(tmp_path)
    for name, seed, items in (("a", 4, 300), ("public", 3, 200)):
        columns = world(candidates=24, items=items, seed=seed, best=0.02, worst=0.45)
        columns |= {"id": [f"{name}{n}" for n in range(items)], "text": [f"{name} {n}" for n in range(items)]}
        truth = columns.pop("truth")
        write_csv(f"{name}.csv", columns)
        write_csv(f"labelled-{name}.csv", columns | {"label": truth})
    Path("prices.csv").write_text("candidate,price\n" + "".join(f"m{h},{h}\n" for h in range(24)))
    return tmp_path


def written():
    return tomllib.loads(Path("protocol.toml").read_text())


def test_every_question_is_asked_again_until_it_can_be_answered(folder):
    asked = Terminal("init", "--seed", "s")
    asked.reply(TABLE, "nowhere.csv")
    asked.reply("there is no file nowhere.csv", "a.csv")
    asked.reply(MODELS, "m99")
    asked.reply("'m99' is none of the models", "m22, m23")
    asked.reply(DATA, "5")
    asked.reply("'5' is none of these", "1")
    asked.reply("FILE:COLUMN", "a.csv")
    asked.reply("public data belong to no lab, and a.csv is your table", "public.csv")
    asked.reply("public.csv has no column '', it has id, text", "labelled-public.csv")
    asked.reply(LABS, "1")
    asked.reply("labs must be a whole number of at least 2, got 1", "3")
    asked.reply(TOLERANCE, "two")
    asked.reply("'two' is not a number", ".2")
    asked.reply("of 22 are candidates", "23")
    asked.reply("a shortlist of 23 is longer than the list of 22 models", "8")
    code, text = asked.end()
    assert code == 0, text
    protocol = written()
    assert len(protocol["class"]["candidates"]) == 22
    assert protocol["learner"] == {"name": "handicap", "epsilon": 0.2, "delta": 0.05, "rho": 0.1, "labs": 3}
    assert (protocol["handicap"]["public_column"], protocol["handicap"]["shortlist"]) == ("label", 8)
    assert "--public labelled-public.csv --ask page --show text --journal a.db" in text


def test_flags_are_answers_and_enter_takes_what_is_proposed(folder):
    asked = Terminal("init", "--pool", "labelled-a.csv", "--labs", "2", "--epsilon", ".1", "--leave-out", "m3")
    asked.reply(DATA)
    code, text = asked.end()
    assert code == 0, text
    assert written()["learner"] == {"name": "handicap", "epsilon": 0.1, "delta": 0.05, "rho": 0.1, "labs": 2}
    assert "handicap" not in written()
    assert "  handicaps random  " in text
    code, text = Terminal("init", "--pool", "a.csv", "--yes", "--out", "other.toml").end()
    assert (code, "?" in text) == (0, False)


def test_whoever_leaves_leaves_nothing(folder):
    before = sorted(folder.iterdir())
    asked = Terminal("init", "--pool", "a.csv")
    asked.reply(MODELS)
    asked.reply(DATA, "2")
    asked.reply("The table", "public.csv")
    asked.reply(LABS)
    asked.reply(TOLERANCE)
    asked.reply("of 24 are candidates", CTRL_C)
    code, text = asked.end()
    assert (code, "interrupted" in text, sorted(folder.iterdir())) == (130, True, before), text


def test_a_hundred_are_labelled_at_once_and_on_another_day(folder):
    first = ("init", "--pool", "a.csv", "--labs", "2", "--epsilon", ".2", "--set", "shortlist=5", "--seed", "s")
    asked = Terminal(*first)
    asked.reply(MODELS)
    asked.reply(DATA, "2")
    asked.reply("The table", "public.csv")
    asked.reply("text: public", "1")
    asked.reply("Item 2", "q")
    code, text = asked.end()
    assert (code, "1 label is pending" in text, Path("protocol.toml").exists()) == (3, True, False), text
    asked = Terminal(*first, "--public", "public.csv")
    asked.reply(MODELS)
    count = 2
    while asked.reply(f"Item {count}", "1"):
        count += 1
    code, text = asked.end()
    assert code == 0, text
    said = written()["handicap"]
    assert (said["made"], said["shortlist"], len(said["asked"])) == ("active", 5, count - 1)


def test_models_may_be_ordered_by_a_public_number(folder):
    asked = Terminal("init", "--pool", "a.csv", "--labs", "2", "--epsilon", ".2", "--set", "shortlist=5")
    asked.reply(MODELS)
    asked.reply(DATA, "3")
    asked.reply("FILE:COLUMN", "prices.csv:cost")
    asked.reply("prices.csv has no column 'cost', it has candidate, price", "prices.csv:price")
    asked.reply("the smallest or the largest", "largest")
    code, text = asked.end()
    assert code == 0, text
    assert written()["handicap"]["order"] == [*range(24)][::-1]


def test_what_models_say_that_abstain_has_a_price(folder):
    columns = world(candidates=4, items=100, seed=4, abstain="unsure")
    write_csv("shy.csv", columns | {"label": columns.pop("truth")})
    asked = Terminal("init", "--pool", "shy.csv", "--labs", "2", "--epsilon", ".2", "--handicap", "exponentials")
    asked.reply(MODELS)
    asked.reply("If models abstain that way", "2")
    asked.reply("a price is a number from 0 to 1, got 2", ".1")
    code, text = asked.end()
    assert code == 0, text
    assert "No right answer is 'unsure'." in text
    assert written()["labels"] == {"values": ["no", "yes"], "abstain": "unsure", "price": 0.1}


def test_items_that_seem_to_belong_together_are_asked_about(folder):
    columns = world(candidates=4, items=120, seed=4)
    write_csv("images.csv", columns | {"patient": [n // 3 for n in range(120)], "label": columns.pop("truth")})
    for answer, section in (("4", {"group": "patient", "group_size": 4}), ("", None)):
        asked = Terminal(
            "init", "--pool", "images.csv", "--labs", "2", "--epsilon", ".2", "--handicap", "zero", "--force"
        )
        asked.reply(MODELS)
        asked.reply("Do items with one patient belong together? If so, the most", "1")
        asked.reply("a group has at least 2 items, got 1", answer)
        code, text = asked.end()
        assert code == 0, text
        assert written().get("pool") == section


def test_the_transcript_of_the_docs_is_what_one_sees(tmp_path, monkeypatch, command):
    """The page's questions and answers, in the folder that it names."""
    monkeypatch.chdir(tmp_path)
    assert command("demo", "--files", "two-labs")[0] == 0
    monkeypatch.chdir("two-labs")
    page = (ROOT / "docs/how-to/choose-among-my-models.md").read_text("utf-8")
    shown = re.search(r"```\nreplical init\n(.*?)```", page, re.DOTALL).group(1)
    asked, answers = (
        Terminal("init"),
        re.findall(r"^(.*?(?:column per model|\[\S+\]|FILE:COLUMN)): ?(.*)$", shown, re.MULTILINE),
    )
    assert len(answers) == 6
    for question, answer in answers:
        asked.reply(question, answer)
    code, text = asked.end()
    assert code == 0
    lines = [line.rstrip() for line in text.splitlines()]
    assert [line for line in shown.splitlines() if line not in lines and "Fingerprint" not in line] == []
