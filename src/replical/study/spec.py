"""A study in a file: which cells it has, and how many pairs of labs each of them runs.

A cell is one experiment. Its id is a hash of what it tries, its randomness derives from the study's seed and that id: a
value added to a grid changes no other cell. A table counts by what is in it, not by its name or where it lies.
Parameters a learner does not know are left out of its cells, so that CAL is run once whatever the values of rho.
Format: docs/how-to/run-a-study.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from replical.classes.catalogue import parse, table_digest, table_path
from replical.core.canonical import canonical, fingerprint
from replical.core.files import read_toml
from replical.errors import BadStudy, ReplicalError
from replical.learners.catalogue import find
from replical.learners.parameters import OPTIONS
from replical.learners.parameters import PARAMETERS as PLAN_PARAMETERS
from replical.worlds.experiment import Experiment, parse_pool_size

SCHEMA = "replical.study/1"
_TOP = ("schema", "name", "title", "notes", "seed", "defaults", "grid", "stop", "quick")
_GRID_ONLY = ("name", "stop", "quick")
_MOST_CELLS = 100_000
STANDARD: dict[str, Any] = {"delta": 0.05, "rho": 0.1, "noise": 0.0, "plan": "tight"}
NEEDED = ("class", "learner", "epsilon", "pool_size")
PARAMETERS = (*NEEDED, *STANDARD, "theta", "nu", *OPTIONS)
_WORDS = {"plan": ("tight", "paper")}
USUAL = {"pairs": 200}
_MOST_PAIRS = 10**9


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study file, checked.

    Examples
    --------
    >>> study = Study.of({"schema": "replical.study/1", "name": "small", "seed": "s", "stop": {"pairs": 10},
    ...     "grid": [{"class": "thresholds:100", "learner": ["cal", "handicap"], "epsilon": .1, "rho": [.1, .2],
    ...               "pool_size": 1000}]})
    >>> [(cell.parameters["learner"], cell.parameters.get("rho")) for cell in study.cells()]
    [('cal', None), ('handicap', 0.1), ('handicap', 0.2)]
    """

    content: Mapping[str, Any]
    file: Path | None = None
    tables: Mapping[str, TableFile] = field(default_factory=dict)

    @classmethod
    def of(cls, content: Mapping[str, Any], *, file: Path | None = None) -> Study:
        """Check everything a study says; tables are looked for beside its file, without one in the current folder."""
        named = cls(content=content)
        tables: dict[str, TableFile] = {}
        try:
            _check(content)
            cells = [cell for quick in (False, True) for cell in named.cells(quick=quick)]
            for spec in dict.fromkeys(cell.parameters["class"] for cell in cells):
                table = table_path(spec)
                if table is None:
                    parse(spec, seed=named.seed)
                else:
                    tables[spec] = _table_file(table if file is None else file.parent / table)
        except BadStudy:
            raise
        except ReplicalError as error:
            raise BadStudy(str(error)) from error
        return cls(content=content, file=file, tables=tables)

    @classmethod
    def read(cls, path: Path) -> Study:
        """Read a TOML file."""
        content = read_toml(path, what="the study", refuse=BadStudy)
        try:
            return cls.of(content, file=path)
        except ReplicalError as error:
            raise BadStudy(f"{path}: {error}") from error

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.content["name"])

    @property
    def title(self) -> str:
        """For people; its name if it has none."""
        return str(self.content.get("title", self.name))

    @property
    def seed(self) -> str:
        """The text all its randomness derives from."""
        return str(self.content["seed"])

    def cells(self, *, quick: bool = False) -> list[Cell]:
        """All cells, in the order of the file; one that several grids name is run once, as the first of them says."""
        parts: list[tuple[str, dict[str, list[Any]], int]] = []
        combinations = 0
        for number, grid in enumerate(self.content["grid"], 1):
            if quick and grid.get("quick") is False:
                continue
            parts.append((grid.get("name", f"grid {number}"), *self._part(grid, quick=quick)))
            combinations += prod(map(len, parts[-1][1].values()))
            if combinations > _MOST_CELLS:
                raise BadStudy(f"a study has at most {_MOST_CELLS} cells; shorten the lists of {parts[-1][0]!r:.40}")
        entries: dict[str, tuple[dict[str, Any], list[str], int]] = {}
        for name, lists, pairs in parts:
            for parameters in _product(lists):
                tries = _identity(parameters, self.tables.get(parameters["class"]))
                entry = entries.setdefault(canonical(tries), (parameters, [], pairs))
                if name not in entry[1]:
                    entry[1].append(name)
        if not entries:
            raise BadStudy("no grid is left" + (" for --quick: let one of them be quick" if quick else ""))
        return [
            Cell(
                parameters=parameters,
                grids=tuple(names),
                pairs=pairs,
                study_seed=self.seed,
                table=self.tables.get(parameters["class"]),
            )
            for parameters, names, pairs in entries.values()
        ]

    def _part(self, grid: Mapping[str, Any], *, quick: bool) -> tuple[dict[str, list[Any]], int]:
        """The lists of a grid and its pairs: its own word goes before the study's, that on quick runs before others."""
        defaults, shorter = self.content.get("defaults", {}), self.content.get("quick", {})
        layers: list[Mapping[str, Any]] = [STANDARD, defaults, grid]
        stops = [self.content.get("stop", USUAL), grid.get("stop")]
        if quick:
            own = grid.get("quick", True)
            own = {} if own is True else own
            layers += [{key: value for key, value in shorter.items() if key in grid or key in defaults}, own]
            stops += [shorter.get("stop"), own.get("stop")]
        settings = {key: value for layer in layers for key, value in layer.items()}
        lists = {
            name: [read_value(name, each) for each in _as_list(settings[name])]
            for name in PARAMETERS
            if name in settings
        }
        return lists, pairs_of([each for each in stops if each is not None][-1])


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One experiment of a study; `table` is the file behind a class ``table:FILE.csv``."""

    parameters: Mapping[str, Any]
    grids: tuple[str, ...]
    pairs: int
    study_seed: str
    table: TableFile | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What makes it this cell and no other."""
        return _identity(self.parameters, self.table)

    @cached_property
    def id(self) -> str:
        """The first 16 hexadecimal digits of the hash of what it tries."""
        return fingerprint(self.identity).removeprefix("sha256:")[:16]

    @property
    def seed(self) -> str:
        """The text its pairs are drawn from."""
        return f"{self.study_seed} / cell {self.id}"

    @property
    def experiment(self) -> Experiment:
        """What it tries, for `replical.worlds.experiment.prepare`."""
        parameters = self.parameters
        return Experiment(
            class_spec=parameters["class"] if self.table is None else f"table:{self.table.path}",
            learner=parameters["learner"],
            epsilon=parameters["epsilon"],
            pool_size=parameters["pool_size"],
            delta=parameters["delta"],
            rho=parameters.get("rho", STANDARD["rho"]),
            noise=str(parameters["noise"]),
            theta=parameters.get("theta"),
            nu=parameters.get("nu"),
            plan=parameters["plan"],
            options={name: parameters[name] for name in OPTIONS if name in parameters},
            table_digest=None if self.table is None else self.table.digest,
        )

    @property
    def words(self) -> str:
        """In a few words, for progress and errors."""
        what = self.parameters
        return f"{what['learner']} on {what['class']} (epsilon {what['epsilon']:g}, pool {what['pool_size']})"


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """A file of predictions as the study was read with it: where it lies, and the SHA-256 of what is in it."""

    path: Path
    digest: str


def _identity(parameters: Mapping[str, Any], table: TableFile | None) -> dict[str, Any]:
    return dict(parameters) if table is None else {**parameters, "class": f"table:{table.digest}"}


def _table_file(path: Path) -> TableFile:
    digest = table_digest(path)
    parse(f"table:{path}", digest=digest)
    return TableFile(path=path.absolute(), digest=digest)  # absolute: workers are in other folders


def _product(lists: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for values in product(*lists.values()):
        chosen = dict(zip(lists, values, strict=True))
        yield {name: value for name, value in chosen.items() if matters(name, chosen)}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _check(content: Mapping[str, Any]) -> None:
    for key in content:
        if key not in _TOP:
            raise BadStudy(f"a study has no key {key!r:.40}; it has {', '.join(_TOP)}")
    if content.get("schema") != SCHEMA:
        raise BadStudy(f"the schema of a study is {SCHEMA!r}, got {quote(content.get('schema'))}")
    for key in ("name", "seed"):
        if not isinstance(content.get(key), str) or not content[key]:
            raise BadStudy(f"a study needs a text {key!r}, got {quote(content.get(key))}")
    grids = content.get("grid")
    if not isinstance(grids, list) or not grids or not all(isinstance(grid, dict) for grid in grids):
        raise BadStudy("a study needs at least one [[grid]]")
    _check_texts("a study", content, "title", "notes")
    _check_section("defaults", content.get("defaults", {}), PARAMETERS)
    _check_section("quick", content.get("quick", {}), (*PARAMETERS, "stop"))
    for number, grid in enumerate(grids, 1):
        _check_texts(f"grid {number}", grid, "name")
        _check_section(f"grid {number}", grid, (*PARAMETERS, *_GRID_ONLY))
        if not isinstance(grid.get("quick", True), bool):
            _check_section(f"quick of grid {number}", grid["quick"], (*PARAMETERS, "stop"))
        for key in NEEDED:
            if key not in grid and key not in content.get("defaults", {}):
                raise BadStudy(f"grid {number} needs {key!r}, a value or a list")
    pairs_of(content.get("stop", USUAL))


def _check_texts(where: str, section: Mapping[str, Any], *keys: str) -> None:
    for key in keys:
        if not isinstance(section.get(key, ""), str):
            raise BadStudy(f"{where}: {key} must be a text, got {quote(section[key])}")


def _check_section(where: str, section: Any, known: tuple[str, ...]) -> None:
    if not isinstance(section, dict):
        raise BadStudy(f"{where} must be a table, got {quote(section)}")
    for key, value in section.items():
        if key not in known:
            raise BadStudy(f"{where} has no key {key!r:.40}; it may have {', '.join(known)}")
        if value == []:
            raise BadStudy(f"{where}: the list of {key} is empty")
        if key == "stop":
            pairs_of(value)
        elif key in PARAMETERS:
            for each in _as_list(value):
                read_value(key, each)


def pairs_of(section: Any) -> int:
    """How many pairs a stop asks for."""
    if not isinstance(section, dict):
        raise BadStudy(f"stop must be a table such as {{ pairs = 400 }}, got {quote(section)}")
    if set(section) != {"pairs"}:
        raise BadStudy(f"stop has one key, pairs, got {', '.join(sorted(section)) or 'none':.90}")
    pairs = section["pairs"]
    if isinstance(pairs, bool) or not isinstance(pairs, int) or not 1 <= pairs <= _MOST_PAIRS:
        raise BadStudy(f"pairs of stop must be a whole number from 1 to {_MOST_PAIRS}, got {quote(pairs)}")
    return pairs


def read_value(name: str, value: Any) -> Any:
    """Check a value; one spelling each: 1 and 1.0 are one epsilon, 0 and "0" one noise."""
    if is_text(name):
        return _text(name, value)
    if name == "pool_size":
        try:
            return parse_pool_size(value)
        except (ValueError, RecursionError):
            raise BadStudy(
                f"a pool size is a whole number from 1 to 10**12 - 1 or 'exact', got {quote(value)}"
            ) from None
    return _number(name, value)


def is_text(name: str) -> bool:
    """Are the values of this parameter texts?"""
    return name in ("class", "learner", *_WORDS) or (name in PLAN_PARAMETERS and PLAN_PARAMETERS[name].kind == "word")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadStudy(f"{name} must be a text, got {quote(value)}")
    known = PLAN_PARAMETERS[name].words if name in PLAN_PARAMETERS else _WORDS.get(name, (value,))
    if value not in known:
        raise BadStudy(f"unknown {name} {quote(value)}; it is one of {', '.join(known)}")
    return value


def _number(name: str, value: Any) -> Any:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        number = None
    if number is None:
        raise BadStudy(f"{name} must be a number, got {quote(value)}")
    if name == "noise":
        if not 0 <= number < 1:
            raise BadStudy(f"{name} must be in [0, 1), got {number:g}")
        return number + 0.0  # no minus zero
    known = PLAN_PARAMETERS[name]
    if known.kind == "count":
        whole = value if isinstance(value, int) else int(number) if number.is_integer() else 0
        if whole < 1:
            raise BadStudy(f"{name} must be a whole number of at least {max(1, int(known.low))}, got {quote(value)}")
        return whole
    number = known.check(number)
    return int(number) if name == "theta" and number.is_integer() else number


def matters(name: str, chosen: Mapping[str, Any]) -> bool:
    """Does the learner know this parameter?

    A `nu` above 0 is nothing to a learner that infers labels where there is no noise, and otherwise supposes nothing.
    """
    if name == "nu" and find(chosen["learner"]).infers and chosen[name]:
        return False
    return name not in PLAN_PARAMETERS or find(chosen["learner"]).uses(name, chosen["plan"])


def quote(value: Any) -> str:
    """A value for a sentence, however long or deep it is."""
    try:
        return f"{value!r:.40}"
    except (ValueError, RecursionError):  # Python writes out neither huge numbers nor endless nesting
        return f"one of kind {type(value).__name__!r} that is too large"
