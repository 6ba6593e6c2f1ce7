"""Text that somebody else has written moves nothing on a terminal, hides nothing, and runs in no spreadsheet."""

import csv
import io
import sys
import unicodedata

import pytest

from replical.classes.base import label_set
from replical.classes.table import PredictionTable
from replical.cli import main
from replical.cli.output import prose
from replical.core.text import JOINERS, escape_formula, exported, unescape_formula, visible
from replical.errors import BadLabel, BadProtocol, BadTable, BadUsage
from replical.lab.journal.journal import Journal, saying
from replical.lab.journal.ledger import export_labels
from replical.lab.page.people import name_of
from replical.lab.protocol import Protocol
from replical.lab.schema import check_name
from support.attacks import ATTACKS, times
from support.lab import Run, content, world, write_csv

HOSTILE = [
    "\x1b[2J\x1b[31m",
    "\x1b]0;owned\x07",
    "\u202e",
    "\u2066",
    "\u200b",
    "\ufeff",
    "\u200f",
    "\x9b31m",
    "\r",
    "\x08",
]


def harmful(text):
    """Letters that a terminal obeys, or that are not seen."""
    return [
        each
        for each in text
        if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") and each not in "\n\t" + JOINERS
    ]


def test_no_code_point_reaches_the_terminal_that_it_would_obey():
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    assert len(every) == ATTACKS["every code point of Unicode, as text on the terminal"]
    shown = visible("".join(every))
    assert harmful(shown) == []
    assert all(each in shown for each in "aé–Ω漢字 \n\té️")
    seen = [each for each in every if each.isprintable()]
    assert visible("".join(seen)) == "".join(seen)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_sentence_shows_what_was_written(text, capsys):
    prose.say(f"Answer: {text}!")
    prose.print(f"Answer: {text}!")
    shown = capsys.readouterr().out
    assert harmful(shown) == []
    assert shown.count(repr(text)[1:-1].replace("\\'", "'")) >= 1


@pytest.mark.parametrize("text", HOSTILE)
def test_titles_ids_and_errors_of_others_are_shown_harmless(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    said = content(batch=1) | {"title": f"A {text} title", "notes": f"{text} notes"}
    columns = world(seed=1, items=60)
    columns["id"] = [f"{text}{each}" for each in columns["id"]]
    columns["text"] = [f"say {text}" for _ in columns["id"]]
    write_csv("a.csv", columns)
    (tmp_path / "p.toml").write_text(Protocol.of(said).toml())
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\nno\n/q\n"))
    words = ["--pool", "a.csv", "--journal", "a.db", "--out", "a.json"]
    code = main(["run", "p.toml", *words, "--ask", "terminal", "--show", "text", "--truths", "0"])
    assert code == 3
    assert main(["plan", "p.toml", "--truths", "0"]) == 0
    assert main(["verify", f"no{text}.json"]) == 2
    assert main(["journal", "export", "a.db", "--labels-only"]) == 0
    write_csv("board.csv", {"id": ["1", "2"], f"m{text}": ["1", "0"], "n": ["0", "1"]})
    assert main(["board", "board.csv", "--scores", "0:1"]) == 2
    shown = capsys.readouterr()
    assert harmful(shown.err) == []
    assert "title" in shown.err + shown.out


NAMES = {
    "a feature's": lambda name: (
        Protocol.of(content() | {"class": {"kind": "star", "features": [name], "count": 3}}).recipe
    ),
    "a candidate's": lambda name: PredictionTable([name, "b"]),
    "a label's": lambda name: label_set(["no", name]),
    "a lab's": lambda name: check_name(name, ()),
    "a person's": name_of,
}


@pytest.mark.parametrize("whose", NAMES)
@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("place", ["{}b", "a{}b", "b{}"])
def test_names_have_only_letters_that_are_seen(place, text, whose):
    if whose == "a person's" and text == "\r" and place != "a{}b":
        assert name_of(place.format(text)) == place.format("")  # a blank
        return
    with pytest.raises((BadTable, BadLabel, BadProtocol, BadUsage)):
        NAMES[whose](place.format(text))


FORMULAS = [
    "=1+2",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\tx",
    "\rx",
    '=HYPERLINK("http://x")',
    "'=1",
    "--1",
    "+1a",
]


@pytest.mark.parametrize("n", times("a formula as item, label, annotator or detail in an export"))
def test_an_export_runs_in_no_spreadsheet(n, tmp_path):
    formula = FORMULAS[n % len(FORMULAS)]
    with Run(tmp_path, content(batch=4), world(seed=1, items=200), "a") as run:
        run.journal.append([saying("answer", formula, 1, formula)])
        for export, name in (
            (Journal.export, "events"),
            (lambda journal, file: export_labels(journal, file), "labels"),
        ):
            out = io.StringIO(newline="")
            export(run.journal, out)
            rows = list(csv.reader(io.StringIO(out.getvalue(), newline="")))
            cells = [cell for row in rows for cell in row]
            assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))], name
            assert escape_formula(formula) in cells
    assert unescape_formula(escape_formula(formula)) == formula


def test_what_is_no_formula_stays_as_it_is():
    plain = ["-1", "+3.5", "0", "yes", "'quoted'", ""]
    assert exported([*plain, None, 7]) == [*plain, "", "7"]
