"""Logs of evaluations as tables: one row an item, one column a model, and a column with the right answers.

Read line by line: what lm-evaluation-harness writes with ``--log_samples`` (``samples_*.jsonl``), instances of Every Eval
Ever (to which Inspect and HELM logs are converted), and plain JSONL or CSV with the fields item, model, output, score and
gold; other formats by a function that an installed package names in the entry point group ``replical.readers``. Several
files are joined by item. Nothing is guessed: an item that a model has not answered, one that has two answers, two tasks in
one table and a line that cannot be read are named, with file and line.
"""

from __future__ import annotations

import csv
import re
import sys
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.metadata import entry_points
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from replical.core.files import check_regular
from replical.errors import BadTable, BadUsage

Form = Literal["plain", "text", "number"]
What = Literal["outputs", "scores"]
FORMS = ("plain", "text", "number")
READERS = "replical.readers"
_LONGEST = 2**24  # characters of a line
_FIELDS = "item, model, output, score, gold"
_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)")
_CHOICE = re.compile(r"\(?([A-Z])[).:]?")
_NAMED = 3  # of what is missing
_SHORT = 64  # characters of outputs that are kept once, however many say so
_TOLD = 2**20  # bytes between two words of progress


class Entry(NamedTuple):
    """What one line says: a model's output or score, or both, for an item of a task."""

    item: str
    model: str
    output: str | None
    score: float | None
    gold: str | None
    task: str = ""
    content: str = ""  # a hash of the item, where the log has one


class _Harness(msgspec.Struct):
    """A line of lm-evaluation-harness."""

    doc_id: int | str
    target: Any = None
    resps: list[Any] = []
    filtered_resps: list[Any] = []
    arguments: Any = None
    metrics: list[str] = []
    filter: str = "none"
    doc_hash: str = ""


class _Input(msgspec.Struct):
    reference: list[str] | str | None = None
    choices: list[str] | None = None


class _Output(msgspec.Struct):
    raw: list[str] | str = []


class _Extracted(msgspec.Struct):
    extracted_value: str | None
    is_terminal: bool = True


class _Evaluation(msgspec.Struct):
    score: Any = None


class _Instance(msgspec.Struct):
    """An instance of Every Eval Ever."""

    model_id: str
    evaluation_name: str
    sample_id: str | int
    input: _Input
    evaluation: _Evaluation
    output: _Output | None = None
    answer_attribution: list[_Extracted] | None = None
    sample_hash: str | None = None
    metadata: dict[str, Any] | None = None


class _Plain(msgspec.Struct):
    """A line of no particular program."""

    item: str | int
    model: str
    output: Any = None
    score: Any = None
    gold: Any = None
    task: str = ""


@dataclass(kw_only=True)
class Joined:
    """Logs joined by item.

    Attributes
    ----------
    what
        What the cells are.
    items
        The number of each, in the order in which they first came.
    cells
        By model, what it has for each item by its number; None, or nothing at the end, where the logs have nothing.
    gold
        By item, where logs have it.
    against
        Outputs of which the score in the log, 0 or 1, says otherwise than the right answer; and where the `first` is.
    files
        Each with how many items came before it; `lines`, where each item first came.
    noun
        What a file is counted in.
    """

    what: What = "outputs"
    items: dict[str, int] = field(default_factory=dict)
    cells: dict[str, list[Any]] = field(default_factory=dict)
    gold: dict[str, str] = field(default_factory=dict)
    against: int = 0
    first: str = ""
    files: list[tuple[int, Path]] = field(default_factory=list)
    lines: array[int] = field(default_factory=lambda: array("q"))
    noun: str = "line"

    def where(self, line: int, number: int | None = None) -> str:
        """The place of a line of the last file; of the file in which the item of a `number` first came."""
        path = next(path for start, path in reversed(self.files) if number is None or start <= number)
        return f"{path}, {self.noun} {line}"

    def columns(self, *, common: bool = False) -> dict[str, list[Any]]:
        """The table: ``id``, a column a model, and ``label`` where outputs have right answers.

        With `common` items that some model lacks are left out; otherwise they are named.
        """
        for row in self.cells.values():
            row.extend([None] * (len(self.items) - len(row)))
        if all(cell is None for row in self.cells.values() for cell in row):
            raise BadTable(
                f"the logs hold no {self.what}: ask for {'scores' if self.what == 'outputs' else 'outputs'} instead"
            )
        names, without = list(self.items), set[int]()
        for model, row in self.cells.items():
            if model in ("id", "label"):
                raise BadTable(f"a model is called {model}, as a column of the table is: name it with NAME=FILE")
            lacking = [number for number, cell in enumerate(row) if cell is None]
            if lacking and not common:
                some = ", ".join(names[number] for number in lacking[:_NAMED])
                some += ", .." if len(lacking) > _NAMED else ""
                first = self.where(self.lines[lacking[0]], lacking[0])
                raise BadTable(
                    f"{model} has no {self.what[:-1]} for {len(lacking):,} of {len(names):,} items ({some}; the first is in "
                    f"{first}): log them, leave the model out, or give --common to keep the items that all models have"
                )
            without.update(lacking)
        kept = [number for number in range(len(names)) if number not in without]
        if not kept:
            raise BadTable("no item was answered by all models: are these logs of one task?")
        table: dict[str, list[Any]] = {"id": [names[number] for number in kept]}
        table |= {model: [row[number] for number in kept] for model, row in self.cells.items()}
        if self.what == "outputs" and self.gold:
            table["label"] = [self.gold.get(item) for item in table["id"]]
        return table


def find(logs: Iterable[str], pattern: str) -> list[tuple[str | None, Path]]:
    """Files, ``NAME=FILE``, and what is in folders and called samples_*.jsonl, or else by a `pattern`: names and files."""
    found: list[tuple[str | None, Path]] = []
    for each in logs:
        name, equals, rest = each.partition("=")
        path = Path(rest if equals and not Path(each).exists() else each)
        if path.is_dir():
            inside = sorted(filter(Path.is_file, [*path.rglob("samples_*.jsonl")] or path.rglob(pattern)))
            if not inside:
                raise BadUsage(f"{path} holds no logs: they are called samples_*.jsonl, or end in .jsonl")
            found += [(None, log) for log in inside]
        else:
            found.append((name if equals and path == Path(rest) else None, path))
    return found


def join(
    files: Iterable[tuple[str | None, Path]],
    *,
    what: What = "outputs",
    form: Form = "plain",
    metric: str | None = None,
    task: str | None = None,
    reader: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Joined:
    """Read logs, each with the name of its model or None, and join them.

    Parameters
    ----------
    files
        Names and files. Without a name the model is called what the log says, or as the folder of the log.
    what
        What to keep; scores take little memory, outputs what they are long.
    form
        What is kept of outputs and right answers: all (``"plain"``), text without case, spaces and end marks (``"text"``),
        or the last number in it (``"number"``).
    metric
        Which score of lm-evaluation-harness to take; the first if left out.
    task
        Which task of the logs to take; there must be one if left out. Of a pattern, as ``"mmlu_*"``, all that fit, and their
        items are called task/item.
    reader
        The name of an installed reader: a function of a path that yields a mapping an entry, with the fields of a plain log.
    progress
        Called with (bytes read, bytes in all), now and then.

    Returns
    -------
    joined
        Everything, checked.

    Raises
    ------
    BadTable
        For a line that cannot be read, two tasks, two different answers of one model to one item, two right answers, and
        items that have one name and two contents.
    """
    files = list(files)
    read = None if reader is None else _installed(reader)
    joined = Joined(what=what, noun="line" if read is None else "entry")
    tasks, contents = set[str](), dict[str, str]()
    total, before, last = sum(_size(path) for _, path in files), 0, 0
    for name, path in files:
        joined.files.append((len(joined.items), path))
        for line, done, entry in _entries(path, name, metric) if read is None else _of_reader(path, name, read):
            if progress is not None and before + done >= last + _TOLD:
                last = before + done
                progress(last, total)
            if task is not None and not fnmatchcase(entry.task or task, task):
                continue
            if task not in (None, entry.task) and entry.task:
                entry = entry._replace(item=f"{entry.task}/{entry.item}", task=task)  # noqa: PLW2901
            tasks.add(entry.task)
            if len(tasks) > 1:
                one, two = sorted(tasks)[:2]
                raise BadTable(
                    f"{joined.where(line)}: the logs are of two tasks, {one!r} and {two!r}: take one with --task"
                )
            if entry.content and contents.setdefault(entry.item, entry.content) != entry.content:
                raise BadTable(
                    f"{joined.where(line)}: the item {entry.item!r} is another one than in an earlier log: are these one "
                    "task and version?"
                )
            _add(joined, entry, form, line)
        before += _size(path)
        if progress is not None:
            progress(before, total)
    if not joined.items:
        raise BadTable("the logs hold no items" + (f" of the task {task!r}" if task else ""))
    return joined


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise BadTable(f"{path} cannot be read: {error.strerror}") from error


def _add(joined: Joined, entry: Entry, form: Form, line: int) -> None:
    number = joined.items.setdefault(entry.item, len(joined.items))
    if number == len(joined.lines):
        joined.lines.append(line)
    row = joined.cells.setdefault(entry.model, [])
    if number >= len(row):
        row += [None] * (number + 1 - len(row))
    gold = joined.gold.get(entry.item)
    if entry.gold is not None:
        said = normal(entry.gold, form)
        if gold not in (None, said):
            raise BadTable(f"{joined.where(line)}: the item {entry.item!r} has two right answers: leave one out")
        joined.gold[entry.item] = gold = said
    cell: str | float | None = entry.score
    if joined.what == "outputs":
        cell = None if entry.output is None else normal(entry.output, form)
        if None not in (cell, gold) and entry.score in (0, 1) and (cell == gold) != (entry.score == 1):
            joined.against += 1
            joined.first = joined.first or joined.where(line)
    if cell is None:
        return
    if row[number] not in (None, cell):
        raise BadTable(
            f"{joined.where(line)}: {entry.model} has two {joined.what} for the item {entry.item!r}: leave one out"
        )
    row[number] = sys.intern(cell) if isinstance(cell, str) and len(cell) < _SHORT else cell


def normal(text: str, form: Form) -> str:
    """What is kept of an answer.

    >>> normal(" The  Answer. ", "text"), normal("so it is $1,250.50!", "number"), normal(" a ", "plain")
    ('the answer', '1250.50', 'a')
    """
    whole = unicodedata.normalize("NFC", text).strip()
    if form == "text":
        return " ".join(unicodedata.normalize("NFKC", whole).casefold().split()).strip(" .,;:!?\"'")
    if form == "number":
        found = _NUMBER.findall(whole)
        return found[-1].replace(",", "").lstrip("+") if found else whole
    return whole


# ---- formats ----


def _entries(path: Path, name: str | None, metric: str | None) -> Iterator[tuple[int, int, Entry]]:
    """The entries of a file, each with its line and how many bytes were read."""
    if path.suffix == ".csv":
        yield from _of_csv(path, name)
        return
    reader: Callable[[bytes], Entry] | None = None
    done = 0
    try:
        check_regular(path)
        with path.open("rb") as lines:
            for number, line in enumerate(iter(lambda: lines.readline(_LONGEST + 1), b""), 1):
                where = f"{path}, line {number}"
                if len(line) > _LONGEST:
                    raise BadTable(f"{where} has more than {_LONGEST:,} bytes: leave out what is no output")
                done += len(line)
                if not line.strip():
                    continue
                try:
                    reader = reader or _reader(line, path, name, metric)
                    yield number, done, reader(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise BadTable(f"{where} cannot be read: {error}") from error
                except _Wrong as error:
                    raise BadTable(f"{where}: {error}") from error
    except OSError as error:
        raise BadTable(f"{path} cannot be read: {error.strerror}") from error


class _Wrong(Exception):
    """What is wrong with a line."""


def _reader(line: bytes, path: Path, name: str | None, metric: str | None) -> Callable[[bytes], Entry]:
    """Who reads a file, by the keys of its first line."""
    first = msgspec.json.decode(line)
    keys = set(first) if isinstance(first, dict) else set[str]()
    if {"doc_id", "target"} <= keys:
        model = name or path.parent.name.replace("__", "/") or path.stem
        task = re.sub(r"_\d{4}-\d\d-\d\dT.*$", "", path.stem.removeprefix("samples_"))
        return lambda each: _of_harness(each, model, task, metric)
    if {"sample_id", "evaluation_name"} <= keys:
        decoder = msgspec.json.Decoder(_Instance)
        return lambda each: _of_instance(decoder.decode(each), name)
    if {"item", "model"} <= keys or (name is not None and "item" in keys):
        return lambda each: _of_plain(msgspec.convert(_with_model(msgspec.json.decode(each), name), _Plain))
    raise _Wrong(
        f"this is no log that is known: lines of lm-evaluation-harness have doc_id and target, of Every Eval Ever "
        f"sample_id and evaluation_name, others {_FIELDS}"
    )


def _with_model(line: Any, name: str | None) -> Any:
    return line | {"model": name} if isinstance(line, dict) and name is not None else line


def _of_harness(line: bytes, model: str, task: str, metric: str | None) -> Entry:
    found = msgspec.json.decode(line)
    sample = msgspec.convert(found, _Harness, strict=False)
    responses = sample.filtered_resps or sample.resps
    choices = _choices(responses)
    if choices is None:
        output, gold = _first(responses), sample.target
    else:
        output, gold = str(max(range(len(choices)), key=choices.__getitem__)), _place(sample, len(choices))
    numbers = [key for key, value in found.items() if isinstance(value, bool | int | float) and key != "doc_id"]
    named = [metric] if metric is not None else sample.metrics or numbers
    score = next((found[each] for each in named if each in found), None)
    if metric is not None and score is None:
        raise _Wrong(f"there is no score {metric!r}; this line has {', '.join(sample.metrics or numbers) or 'none'}")
    whole = task if sample.filter == "none" else f"{task}, {sample.filter}"
    gold = None if gold is None else _text(gold)
    return Entry(str(sample.doc_id), model, output, _score(score), gold, whole, sample.doc_hash)


def _choices(responses: list[Any]) -> list[float] | None:
    """Log-likelihoods of the choices, where a line has them: [number, is it the greedy answer] for each."""
    pairs = [each[0] if isinstance(each, list) and len(each) == 1 else each for each in responses]
    if len(pairs) < 2 or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        return None
    try:
        return [float(pair[0]) for pair in pairs]
    except (TypeError, ValueError):
        return None


def _place(sample: _Harness, choices: int) -> int:
    """Which choice is the right one: a number, or the text of one of them."""
    text = str(sample.target).strip()
    if text.isdecimal() and int(text) < choices:
        return int(text)
    arguments = sample.arguments
    parts = list(arguments.values()) if isinstance(arguments, dict) else list(arguments or [])
    texts = [part.get("arg_1") if isinstance(part, dict) else part[1] if len(part) > 1 else None for part in parts]
    places = [place for place, each in enumerate(texts) if isinstance(each, str) and each.strip() == text]
    if len(places) != 1:
        raise _Wrong(f"the right answer {text[:40]!r} is none of its {choices} choices")
    return places[0]


def _first(responses: list[Any]) -> str | None:
    while responses and isinstance(responses[0], list):
        responses = responses[0]
    return None if not responses else str(responses[0])


def _of_instance(found: _Instance, name: str | None) -> Entry:
    answers = [each.extracted_value for each in found.answer_attribution or () if each.is_terminal]
    raw = [] if found.output is None else found.output.raw
    output = answers[-1] if answers else (raw if isinstance(raw, str) else raw[0] if raw else None)
    references, choices = found.input.reference or [], found.input.choices or []
    references = [references] if isinstance(references, str) else references
    return Entry(
        str(found.sample_id),
        name or found.model_id,
        _letter(output, choices),
        _score(found.evaluation.score),
        _letter(references[0], choices, numbered=True) if len(references) == 1 else None,
        found.evaluation_name,
        str((found.metadata or {}).get("doc_hash") or found.sample_hash or ""),  # the prompt's differs by template
    )


def _letter(text: str | None, choices: Sequence[str], *, numbered: bool = False) -> str | None:
    """Which choice an answer is, as a letter, by its text or letter, or its number from 0; the answer itself if it is none.

    >>> _letter("Rome", ["Oslo", "Rome"]), _letter("(B)", ["Oslo", "Rome"]), _letter("Lima", ["Oslo", "Rome"])
    ('B', 'B', 'Lima')
    >>> _letter("1", ["Oslo", "Rome"], numbered=True)  # what the harness has as the right answer
    'B'
    """
    if text is None or not choices:
        return text
    places = [place for place, choice in enumerate(choices) if choice.strip() == text.strip()]
    if not places and numbered and text.isdecimal() and int(text) < len(choices):
        places = [int(text)]
    if len(places) == 1:
        return chr(ord("A") + places[0])
    letter = _CHOICE.fullmatch(text.strip())
    return letter[1] if letter and ord(letter[1]) - ord("A") < len(choices) else text


def _of_plain(found: _Plain) -> Entry:
    if found.output is None and found.score is None:
        raise _Wrong(f"neither an output nor a score: a line has {_FIELDS}")
    output = None if found.output is None else _text(found.output)
    return Entry(
        str(found.item),
        found.model,
        output,
        _score(found.score),
        None if found.gold is None else _text(found.gold),
        found.task,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _score(value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise _Wrong(f"the score {str(value)[:40]!r} is no number") from None
    if not isfinite(found):
        raise _Wrong(f"the score {found} is no finite number")
    return found


def _of_csv(path: Path, name: str | None) -> Iterator[tuple[int, int, Entry]]:
    done, where = 0, str(path)
    try:
        check_regular(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            names: Sequence[str] = reader.fieldnames or ()
            if "item" not in names or ("model" not in names and name is None):
                raise BadTable(f"{path} has no columns item and model: a log in CSV has {_FIELDS}")
            for row in reader:
                where = f"{path}, line {reader.line_num}"
                if None in row or None in row.values():
                    raise BadTable(f"{where} has another number of cells than the first line")
                done += sum(len(value.encode()) + 1 for value in row.values())
                cells = {key: value for key, value in row.items() if value != "" and key in _Plain.__struct_fields__}
                try:
                    yield reader.line_num, done, _of_plain(msgspec.convert(_with_model(cells, name), _Plain))
                except (_Wrong, msgspec.ValidationError) as error:
                    raise BadTable(f"{where}: {error}") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadTable(f"{path} cannot be read after {where.rpartition(', ')[2]}: {error}") from error


Reader = Callable[[Path], Iterable[Any]]


def _installed(name: str) -> Reader:
    """The reader of this name that some package has."""
    found = next(iter(entry_points(group=READERS, name=name)), None)
    if found is None:
        raise BadTable(
            f"no package that is installed has the reader {name!r}: its entry point is in the group {READERS}"
        )
    try:
        read: Reader = found.load()
    except Exception as error:
        raise BadTable(f"the reader {name!r} cannot be loaded: {type(error).__name__}: {error!s:.80}") from error
    return read


def _of_reader(path: Path, name: str | None, read: Reader) -> Iterator[tuple[int, int, Entry]]:
    number = 0
    try:
        for number, found in enumerate(read(path), 1):
            yield number, 0, _of_plain(msgspec.convert(_with_model(found, name), _Plain))
    except (_Wrong, msgspec.ValidationError) as error:
        raise BadTable(f"{path}, entry {number}: {error}") from error
    except Exception as error:
        raise BadTable(
            f"{path}: the reader fails after entry {number}: {type(error).__name__}: {error!s:.80}"
        ) from error
