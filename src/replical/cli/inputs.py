"""What commands take: flags that several of them share, each explained by its record, and the files that flags name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from replical.classes.base import HypothesisClass
from replical.classes.catalogue import read_file, specs
from replical.classes.prior import UNIFORM, Prior
from replical.classes.recipe import Recipe
from replical.classes.table import PredictionTable
from replical.cli.output import reading
from replical.core.files import read_text
from replical.core.randomness import PrivateRandomness
from replical.errors import BadTable, BadUsage
from replical.lab.pool import LabPool
from replical.lab.tables import ItemColumns, read_pool
from replical.learners.catalogue import of_lists
from replical.learners.parameters import PARAMETERS, TASK, Parameter
from replical.pools.pool import Pool


def number(text: str, kind: type[float] = float, what: str = "a number") -> float:
    """Parse a number, naming the text that is none."""
    try:
        return kind(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not {what}.") from None


def whole(text: str) -> int:
    """Parse a whole number, naming the text that is none."""
    return int(number(text, int, "a whole number"))


CLASSES = specs()
Device = Annotated[
    str | None,
    typer.Option("--device", help="cuda or cuda:N: large computations on a graphics card, with the same results"),
]
Cluster = Annotated[
    str | None, typer.Option("--cluster", help="address of a Dask scheduler, or local:N for one started here")
]
Prefer = Annotated[
    Path | None,
    typer.Option(
        "--prefer",
        help="who is preferred: one candidate (or index) a line, best first; .csv: candidate and weight; .json: what data "
        "order wrote",
    ),
]
NetSeed = Annotated[str | None, typer.Option("--seed", help="the published text a net of half-spaces is drawn from")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="a rare parameter; once for each")]
Candidates = Annotated[
    str | None, typer.Option(help="FILE or FILE:COLUMN with the names of the models  [default: read from the table]")
]
IdColumn = Annotated[str, typer.Option("--id", help="column with the ids of the items")]
LeaveOut = Annotated[list[str] | None, typer.Option(help="a column that is no model; once for each")]
LabelValues = Annotated[
    str | None,
    typer.Option("--label-values", help="the labels in their public order  [default: read from the table]"),
]
Weights = Annotated[str | None, typer.Option(help="what an error costs, by true label, e.g. no=1,yes=5; for handicap")]
Abstain = Annotated[str | None, typer.Option(help="what a candidate says that abstains; for handicap")]
Price = Annotated[
    float | None, typer.Option(parser=number, help="what abstaining costs, as a share of the costliest error")
]
SIMULATED = PrivateRandomness.simulated("prediction")  # whose private order a forecast is made in: it needs no secret
PLAN = Parameter(name="plan", kind="word", words=("tight", "paper"), help="paper: the numbers of the paper's learners")


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """How a page is served, as words such as ``port=8000`` say; keys of the words are the names of the fields."""

    votes: int = 1  # people who label each item; an odd number
    host: str = "127.0.0.1"  # address to listen on
    port: int = 8765  # 0 for any free one
    media: Path | None = None  # the folder that pictures and sounds are served from
    instructions: Path | None = None  # a Markdown file for whoever labels
    people: Path | None = None  # names, one a line, who get personal links; nobody else labels
    token: bool = True  # without it every user and program of this machine may label
    proxy: str | None = None  # address of a proxy that says who comes from where, by https or not
    url: str | None = None  # address of Label Studio
    project: int | None = None  # of Label Studio; one is made if left out

    @classmethod
    def of(cls, words: Sequence[str], *, live: bool = False) -> PageOptions:
        """What the words of ``--page`` say of the page; of Label Studio if that is `live`.

        Examples
        --------
        >>> options = PageOptions.of(["port=0", "media=pictures", "token=no"])
        >>> options.port, str(options.media), options.token, options.votes
        (0, 'pictures', False, 1)
        """
        found: dict[str, Any] = {}
        for word in words:
            key, _, value = word.partition("=")
            if key not in _PAGE:
                near = get_close_matches(key, _PAGE, n=1)
                meant = f"did you mean {near[0]}?" if near else f"its keys are {', '.join(_PAGE)}"
                raise BadUsage(f"--page has no key {key!r}: {meant}")
            if key in found:
                raise BadUsage(f"--page gives {key} twice: leave one of them out")
            if key not in (_LIVE if live else _PAGE.keys() - {"url", "project"}):
                raise BadUsage(f"--page {key}=.. is for --ask {'page' if live else 'label-studio'}: leave it out")
            read, takes = _PAGE[key]
            try:
                found[key] = read(value) if value else int(value)  # nothing is no value of any key
            except (KeyError, ValueError):
                raise BadUsage(f"--page {key}=.. takes {takes}, got {word!r}") from None
        if live and "url" not in found:
            raise BadUsage("--ask label-studio needs the address of the server: --page url=http://HOST:PORT")
        return cls(**found)


# How values are read, and what they are, by the types of the fields.
_KINDS: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "str": (str, "an address"),
    "Path": (Path, "a path"),
    "bool": ({"yes": True, "no": False}.__getitem__, "yes or no"),
}
_PAGE = {each.name: _KINDS[str(each.type).partition(" ")[0]] for each in fields(PageOptions)}
_LIVE = {"votes", "url", "project"}  # what Label Studio is told
PageWords = Annotated[
    list[str] | None,
    typer.Option(
        "--page",
        metavar="KEY=VALUE",
        help="how the page is served, once for each: votes=3 (people who label each item; an odd number), host=ADDRESS, "
        "port=NUMBER (0 for any free one), media=FOLDER (of pictures and sounds), instructions=FILE (Markdown, for whoever "
        "labels), people=FILE (of names, one a line, who get personal links; nobody else labels), token=no (every user and "
        "program of this machine may label), proxy=ADDRESS (of a proxy that tells where each visitor comes from); "
        "url=ADDRESS of Label Studio, project=NUMBER there (a new one if left out)",
        autocompletion=lambda: [f"{key}=" for key in _PAGE],
    ),
]


def parameter(name: str, help: str | None = None) -> Any:  # noqa: A002 - as typer calls it
    """The flag of a parameter; a command may explain it in words of its own."""
    record = PARAMETERS[name]
    parser = {"word": None, "count": whole}.get(record.kind, number)
    return typer.Option(f"--{name.replace('_', '-')}", parser=parser, help=help or record.help)


def settings(
    given: list[str] | None, keys: Iterable[str], more: Mapping[str, Parameter] | None = None
) -> dict[str, Any]:
    """What --set says about these `keys`, and those that `more` has records of; each value is checked by its record.

    Examples
    --------
    >>> settings(["batch=4", "a=0.02"], ["batch", "a"])
    {'batch': 4, 'a': 0.02}
    """
    records = {key: PARAMETERS[key] for key in keys} | dict(more or {})
    found: dict[str, Any] = {}
    for text in given or []:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise BadUsage(f"--set gives one parameter its value, KEY=VALUE, got {text!r:.90}")
        if key not in records:
            raise BadUsage(f"--set knows no {key!r:.90}: {_instead(key, records)}")
        if key in found:
            raise BadUsage(f"--set gives {key} two values: give it once")
        found[key] = _read_value(records[key], value)
    return found


def _read_value(record: Parameter, text: str) -> Any:
    """The value that a text spells."""
    if record.kind == "word":
        return record.check(text)
    try:
        value = int(text) if record.kind == "count" else float(text)
    except ValueError as error:
        what = "a whole number" if record.kind == "count" else "a number"
        raise BadUsage(f"{record.name} must be {what}, got {text!r:.90}") from error
    record.check(value)
    return value


def _instead(key: str, records: Mapping[str, Parameter]) -> str:
    """What somebody may have meant."""
    if (name := key.replace("-", "_")) in records:
        return f"write {name}"
    if name in (*TASK, "labs"):
        return f"give --{name}"
    if near := get_close_matches(name, [*records], n=3, cutoff=0.5):
        return f"did you mean {' or '.join(near)}?"
    return f"it takes {', '.join(records)}"


def learner_flag(help: str | None = None) -> Any:  # noqa: A002 - as typer calls it
    """The flag of a learner, of those that choose from a list."""
    names = [record.id for record in of_lists()]
    return typer.Option("--learner", help=help or ", ".join(names), autocompletion=lambda: names)


def items_from(C: HypothesisClass, path: Path, private: PrivateRandomness) -> Pool:
    """A pool from a CSV file: one column a candidate, or the features the class needs."""
    table = read_file(path)
    header, rows = table.header, table.rows
    if isinstance(C, PredictionTable):
        columns = {name: [row[i] for row in rows] for i, name in enumerate(header)}
        return Pool(C, columns, private)
    features: int | None = getattr(C, "dimensions", None)  # None: an item is a single number
    wanted = ["x"] if features is None else [f"x{d}" for d in range(features)]
    if len(header) == len(wanted) and not set(wanted) <= set(header):
        wanted = header  # exactly as many columns as are needed, under other names
    missing = [name for name in wanted if name not in header]
    if missing:
        raise BadTable(f"{path} needs a column {missing[0]!r} with the items, it has {', '.join(header)}")
    try:
        items = np.array([[float(row[header.index(name)]) for name in wanted] for row in rows])
    except ValueError as error:
        raise BadTable(f"{path}: the columns {', '.join(wanted)} must hold numbers ({error})") from error
    if features is not None:
        return Pool(C, items, private)
    whole_numbers = bool((np.abs(items) < 2**53).all() and (items == np.floor(items)).all())
    return Pool(C, items[:, 0].astype(np.int64) if whole_numbers else items[:, 0], private)


def pool_of(path: Path, recipe: Recipe, id_column: str = "id") -> LabPool:
    """A table's items; how far the reading is."""
    with reading(path) as update:
        return read_pool(path, recipe, id_column=id_column, progress=update)


def file_and_column(flag: str, text: str) -> tuple[Path, str]:
    """What a `flag` says that names a column of a file."""
    file, _, column = text.rpartition(":")
    if not file or not column:
        raise BadUsage(f"{flag} names a file and a column, FILE:COLUMN, got {text!r}")
    return Path(file), column


def columns_to_show(show: str | None, predictions: set[str]) -> list[str]:
    """Columns for whoever labels; predictions are never among them."""
    columns = [word.strip() for word in (show or "").split(",") if word.strip()]
    for column in columns:
        if column in predictions:
            raise BadUsage(f"{column!r} holds predictions: labelling is blind, so it is not shown")
    return columns


def details_from(pool: Path | None, columns: list[str], id_column: str) -> ItemColumns:
    """These columns of the pool, looked up at once: one that is not there is named before anybody labels."""
    details = ItemColumns(pool, columns, id_column=id_column)
    details([])
    return details


def read_prior(C: HypothesisClass, prefer: Path | None) -> Prior:
    """A public prior from weights, a .csv file, or from a list in order of preference; uniform without either."""
    if prefer is None:
        return UNIFORM
    if prefer.suffix == ".csv":
        return Prior.weights(C, read_numbers(C, prefer, "weight"))
    return Prior.order(C, _read_preference(C, prefer))


def numbers_of(path: Path, column: str) -> dict[str, float]:
    """The numbers in a `column` of a CSV file, by the names in its column candidate."""
    table, numbers = read_file(path), dict[str, float]()
    for needed in ("candidate", column):
        if needed not in table.header:
            raise BadTable(f"{path} needs a column {needed!r}, it has {', '.join(table.header)}")
    who, what = map(table.header.index, ("candidate", column))
    for row, line in zip(table.rows, table.lines, strict=True):
        if row[who] in numbers:
            raise BadTable(f"{path}, line {line}: {row[who]!r} stands in it twice: leave one row out")
        try:
            numbers[row[who]] = float(row[what])
        except ValueError as error:
            wrong = f"the {column} {row[what]!r} is no number: every candidate needs one"
            raise BadTable(f"{path}, line {line}: {wrong}") from error
    return numbers


def read_numbers(C: HypothesisClass, path: Path, column: str) -> list[float]:
    """One number a hypothesis, from a CSV with the columns candidate and this `column`."""
    numbers = numbers_of(path, column)
    names = _names(C)
    for name in names:
        if name not in numbers:
            raise BadTable(f"{path} has no {column} for {name!r}: every hypothesis needs one")
    if len(numbers) > len(names):
        unknown = next(name for name in numbers if name not in set(names))
        raise BadTable(f"{path} gives a {column} to {unknown!r}, which is no hypothesis of the class")
    return [numbers[name] for name in names]


def _names(C: HypothesisClass) -> list[str]:
    """Candidates by name, other hypotheses by index."""
    return list(C.candidates) if isinstance(C, PredictionTable) else [str(h) for h in range(len(C))]


def _read_preference(C: HypothesisClass, path: Path) -> list[int]:
    text = read_text(path, what="the order of preference", refuse=BadTable)
    listed = [line.strip() for line in text.splitlines() if line.strip()]
    places = {name: h for h, name in enumerate(_names(C))}
    unknown = [name for name in listed if name not in places]
    if unknown:
        raise BadTable(f"{path} prefers {unknown[0]!r}, which is no hypothesis of the class")
    return [places[name] for name in listed]


def never_over(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | str | None]) -> None:
    """Refuse to write over what is read (a pool, a protocol, labels, a journal) or over what another option writes."""
    read = {
        os.path.realpath(path): flag for flag, path in inputs.items() if path is not None and "://" not in str(path)
    }
    written = set()
    for flag, path in outputs.items():
        if path is None:
            continue
        if not path.parent.is_dir():
            raise BadUsage(f"there is no folder {path.parent} for {flag} {path.name}")
        if (other := read.get(os.path.realpath(path))) is not None:
            raise BadUsage(f"{flag} {path} is also {other}, and would replace it: give {flag} another name")
        if os.path.realpath(path) in written:
            raise BadUsage(f"{flag} {path} is also what another option writes: give it a name of its own")
        written.add(os.path.realpath(path))
