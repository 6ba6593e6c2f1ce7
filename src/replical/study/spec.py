"""A study in a file: which cells it has, and how many pairs of labs each of them runs.

A cell is one experiment. Its id is a hash of what it tries, its randomness derives from the study's seed and that id: a
value added to a grid changes no other cell. Parameters a learner does not know are left out of its cells, so that CAL
is run once whatever the values of rho. Format: docs/how-to/run-a-study.md.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from replical.binomial import clopper_pearson
from replical.canonical import canonical, fingerprint
from replical.errors import BadStudy, ReplicalError
from replical.experiment import OPTIONS, Experiment, checked_size
from replical.plans import uses

SCHEMA = "replical.study/1"
_TOP = ("schema", "name", "title", "notes", "seed", "defaults", "grid", "stop", "quick")
_STANDARD: dict[str, Any] = {"delta": 0.05, "rho": 0.1, "noise": 0.0, "plan": "tight"}
_NEEDED = ("class", "learner", "epsilon", "pool_size")
PARAMETERS = (*_NEEDED, *_STANDARD, "theta", "nu", *OPTIONS)
_KNOWN_TO_SOME = ("rho", "theta", "nu", *OPTIONS[:-1])  # max_labels is understood by everyone
_GRID_ONLY = ("name", "stop", "quick")
_TEXTS = ("class", "learner", "plan", "query", "finish", "stop")
_MOST_CELLS = 100_000


@dataclass(frozen=True, kw_only=True)
class Stop:
    """When a cell has enough pairs: at a fixed number, or when the 95% interval of agreement is narrow enough.

    The width is looked at after each whole batch and nothing else is, least of all where the interval lies.
    """

    pairs: int | None = None
    half_width: float | None = None
    batch: int = 100
    max_pairs: int = 4000

    def wanted(self, agreements: int, pairs: int) -> int:
        """How many pairs to have after this many, of which so many agree; the same number if they are enough.

        Examples
        --------
        >>> Stop(half_width=.02, batch=100).wanted(97, 100), Stop(half_width=.02, batch=100).wanted(300, 300)
        (200, 300)
        """
        if self.pairs is not None:
            return self.pairs
        if pairs:
            low, high = clopper_pearson(agreements, pairs)
            if (high - low) / 2 <= (self.half_width or 0.0):
                return pairs
        return min((pairs // self.batch + 1) * self.batch, self.max_pairs)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One experiment of a study."""

    parameters: Mapping[str, Any]
    grids: tuple[str, ...]
    stop: Stop
    study_seed: str

    @cached_property
    def id(self) -> str:
        """The first 16 hexadecimal digits of the hash of what it tries."""
        return fingerprint(dict(self.parameters)).removeprefix("sha256:")[:16]

    @property
    def seed(self) -> str:
        """The text its pairs are drawn from."""
        return f"{self.study_seed} / cell {self.id}"

    @property
    def experiment(self) -> Experiment:
        """What it tries, for `replical.experiment.prepare`."""
        given = self.parameters
        return Experiment(
            class_spec=given["class"],
            learner=given["learner"],
            epsilon=given["epsilon"],
            pool_size=given["pool_size"],
            delta=given["delta"],
            rho=given.get("rho", _STANDARD["rho"]),
            noise=str(given["noise"]),
            theta=given.get("theta"),
            nu=given.get("nu"),
            plan=given["plan"],
            options={name: given[name] for name in OPTIONS if name in given},
        )

    @property
    def told(self) -> str:
        """In a few words, for progress and errors."""
        given = self.parameters
        return f"{given['learner']} on {given['class']} (epsilon {given['epsilon']:g}, pool {given['pool_size']})"


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study file, checked.

    Examples
    --------
    >>> study = Study.of({"schema": "replical.study/1", "name": "small", "seed": "s", "stop": {"pairs": 10},
    ...     "grid": [{"class": "thresholds:100", "learner": ["cal", "rounded-cal"], "epsilon": .1, "rho": [.1, .2],
    ...               "pool_size": 1000}]})
    >>> [(cell.parameters["learner"], cell.parameters.get("rho")) for cell in study.cells()]
    [('cal', None), ('rounded-cal', 0.1), ('rounded-cal', 0.2)]
    """

    content: Mapping[str, Any]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Study:
        """Check everything a study says."""
        _check(content)
        study = cls(content=content)
        for quick in (False, True):
            study.cells(quick=quick)
        return study

    @classmethod
    def read(cls, path: Path) -> Study:
        """Read a TOML file."""
        try:
            content = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        except OSError as error:
            raise BadStudy(f"cannot read the study {path}: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise BadStudy(f"{path} is not a TOML file: {error}") from error
        try:
            return cls.of(content)
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
        found: dict[str, tuple[dict[str, Any], list[str], Stop]] = {}
        for number, grid in enumerate(self.content["grid"], 1):
            name = grid.get("name", f"grid {number}")
            part = _quickened(grid, self.content.get("quick", {})) if quick else grid
            if part is None:
                continue
            own = part.get("stop")  # a table counts pairs; a text is the stop test of a learner
            stop = _stop(own if isinstance(own, dict) else self._stop(quick=quick))
            tried = {key: value for key, value in part.items() if not isinstance(value, dict)}
            for parameters in _product({**_STANDARD, **self.content.get("defaults", {}), **tried}):
                entry = found.setdefault(canonical(parameters), (parameters, [], stop))
                if name not in entry[1]:
                    entry[1].append(name)
            if len(found) > _MOST_CELLS:
                raise BadStudy(f"a study has at most {_MOST_CELLS} cells; shorten the lists of {name!r}")
        if not found:
            raise BadStudy("no grid is left" + (" for --quick: let one of them be quick" if quick else ""))
        return [
            Cell(parameters=parameters, grids=tuple(names), stop=stop, study_seed=self.seed)
            for parameters, names, stop in found.values()
        ]

    def _stop(self, *, quick: bool) -> Any:
        usual = self.content.get("stop", {"pairs": 200})
        return self.content.get("quick", {}).get("stop", usual) if quick else usual


def _quickened(grid: Mapping[str, Any], quick: Mapping[str, Any]) -> dict[str, Any] | None:
    """A grid with the shorter lists of a quick run; its own word goes before the study's. None: left out."""
    own = grid.get("quick", {})
    if own is False:
        return None
    own = {} if own is True else own
    usual = {key: value for key, value in grid.items() if not isinstance(value, dict)}  # not its own number of pairs
    return {**usual, **{key: value for key, value in quick.items() if key in usual and key != "stop"}, **own}


def _product(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    lists = {name: _listed(given[name]) for name in PARAMETERS if name in given}
    for values in product(*lists.values()):
        chosen = {name: _plain(name, value) for name, value in zip(lists, values, strict=True)}
        learner = chosen["learner"]
        yield {
            name: value
            for name, value in chosen.items()
            if name not in _KNOWN_TO_SOME or uses(learner, name) or (name == "T" and chosen["plan"] == "paper")
        }


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _plain(name: str, value: Any) -> Any:
    """One spelling a value: 1 and 1.0 are one epsilon, 0 and "0" one noise."""
    if name == "pool_size":
        return checked_size(value)
    if name in _TEXTS or (name == "noise" and isinstance(value, str) and ":" in value):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadStudy(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise BadStudy(f"{name} must be a number, got {value!r:.40}") from None
    return int(number) if number.is_integer() and name not in ("epsilon", "delta", "rho", "noise", "nu") else number


def _check(content: Mapping[str, Any]) -> None:
    for key in content:
        if key not in _TOP:
            raise BadStudy(f"a study has no key {key!r}; it has {', '.join(_TOP)}")
    if content.get("schema") != SCHEMA:
        raise BadStudy(f"the schema of a study is {SCHEMA!r}, got {content.get('schema')!r}")
    for key in ("name", "seed"):
        if not isinstance(content.get(key), str) or not content[key]:
            raise BadStudy(f"a study needs a text {key!r}, got {content.get(key)!r}")
    grids = content.get("grid")
    if not isinstance(grids, list) or not grids or not all(isinstance(grid, dict) for grid in grids):
        raise BadStudy("a study needs at least one [[grid]]")
    sections = [("defaults", content.get("defaults", {}), PARAMETERS), ("quick", content.get("quick", {}), PARAMETERS)]
    sections += [(f"grid {number}", grid, (*PARAMETERS, *_GRID_ONLY)) for number, grid in enumerate(grids, 1)]
    sections += [
        (f"quick of grid {number}", grid["quick"], PARAMETERS)
        for number, grid in enumerate(grids, 1)
        if not isinstance(grid.get("quick", True), bool)
    ]
    for where, section, known in sections:
        _check_section(where, section, known)
    defaults = content.get("defaults", {})
    for number, grid in enumerate(grids, 1):
        for key in _NEEDED:
            if key not in grid and key not in defaults:
                raise BadStudy(f"grid {number} needs {key!r}, a value or a list")
    _stop(content.get("stop", {"pairs": 200}))


def _check_section(where: str, section: Any, known: tuple[str, ...]) -> None:
    if not isinstance(section, dict):
        raise BadStudy(f"{where} must be a table, got {section!r:.40}")
    for key, value in section.items():
        if key not in known and key != "stop":
            raise BadStudy(f"{where} has no key {key!r}; it may have {', '.join(known)}")
        if key == "stop" and isinstance(value, dict):
            _stop(value)
        elif key in PARAMETERS:
            for each in _listed(value):
                if key in _TEXTS and not isinstance(each, str):
                    raise BadStudy(f"{where}: {key} must be a text, got {each!r:.40}")
            if value == []:
                raise BadStudy(f"{where}: the list of {key} is empty")


def _stop(given: Any) -> Stop:
    if not isinstance(given, dict):
        raise BadStudy(f"stop must be a table such as {{ pairs = 400 }}, got {given!r:.40}")
    for key, value in given.items():
        if key not in ("pairs", "half_width", "batch", "max_pairs"):
            raise BadStudy(f"stop has no key {key!r}; it has pairs, or half_width, batch and max_pairs")
        if key == "half_width":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 0.5:
                raise BadStudy(f"half_width must be between 0 and 0.5, got {value!r}")
        elif isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise BadStudy(f"{key} of stop must be a whole number of at least 1, got {value!r}")
    if ("pairs" in given) == ("half_width" in given) or ("pairs" in given and len(given) > 1):
        raise BadStudy("stop has either pairs, or half_width with batch and max_pairs")
    return Stop(**given)
