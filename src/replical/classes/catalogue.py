"""Every kind of class, one record each: how a spec and a section of a protocol name it, and what is known of it.

A class is a record here and a file beside it. It works with every learner at once; the command line, protocols, audits and
studies read the record. Specs are the short names of the command line, e.g. ``thresholds:1000`` or ``table:FILE.csv``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from replical.classes import boxes, halfspaces, intervals, star, stumps, table, thresholds
from replical.classes.base import HypothesisClass, Items, Label
from replical.classes.halfspaces import gaussians
from replical.classes.predictions.packed import check_memory
from replical.classes.recipe import Recipe, Section
from replical.classes.table import PredictionTable
from replical.core.canonical import digest_of
from replical.core.files import Rows, decode, read_bytes, read_csv
from replical.core.randomness import SharedRandomness
from replical.errors import BadProtocol, BadSpec, BadTable

Sizes = Sequence[int]

ATOMS = 20_000  # points of a population whose cells cannot be listed
_ATOMS_STRING = "replical atoms"  # public and fixed: every audit of such a class lives on the same points
_MOST_LABELS = 256  # different predictions in a table; more are ids or scores


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What makes a class a class.

    Attributes
    ----------
    kind
        Its name in specs and protocols.
    sizes, example
        What the numbers of its spec are called, and a spec; a class without numbers is read from a file.
    make
        The class from the numbers of a spec and the published text, which only drawn classes need.
    section
        The section of a protocol that means the same as a spec.
    needs, options
        Keys that a section must and may have beside its kind.
    recipe
        The class, and how columns become its items, from a section.
    atoms
        How the points of its standard population are drawn where its cells cannot be listed.
    theta
        Its disagreement coefficient on the uniform population, where theory knows it.
    lists
        Can its hypotheses be listed? A class of which they cannot is for protocols, and for learners that need no list.
    """

    kind: str
    sizes: tuple[str, ...]
    example: str
    make: Callable[[Sizes, str | None], HypothesisClass] | None
    section: Callable[[Sizes], dict[str, Any]] | None
    needs: frozenset[str]
    options: frozenset[str] = frozenset()
    recipe: Callable[[Section], Recipe]
    atoms: Literal["uniform", "normal"] = "uniform"
    theta: Callable[[Sizes], float] | None = None
    lists: bool = True

    @property
    def spec(self) -> str:
        """How its specs are written."""
        return f"{self.kind}:{','.join(self.sizes) or 'FILE.csv'}"


def _halfspaces(sizes: Sizes, seed: str | None) -> HypothesisClass:
    if seed is None:
        raise BadSpec("half-spaces are drawn from a published text: give one with --seed")
    return halfspaces.HalfSpaces(*sizes, seed=seed)


def _columns(count: int) -> list[str]:
    return [f"x{d}" for d in range(count)]


def _bins_section(kind: str) -> Callable[[Sizes], dict[str, Any]]:
    return lambda sizes: {
        "kind": kind,
        "features": _columns(sizes[0]),
        "range": [[0.0, 1.0]] * sizes[0],
        "bins": sizes[1],
    }


_ALL = (
    Kind(
        kind="thresholds",
        sizes=("N",),
        example="thresholds:1000",
        make=lambda sizes, _: thresholds.Thresholds(sizes[0]),
        section=lambda sizes: {"kind": "thresholds", "features": ["x"], "count": sizes[0]},
        needs=frozenset({"features"}),
        options=frozenset({"cuts", "count", "range", "bins", "quantiles"}),
        recipe=thresholds.recipe,
        theta=lambda _: 2.0,
    ),
    Kind(
        kind="intervals",
        sizes=("G",),
        example="intervals:40",
        make=lambda sizes, _: intervals.Intervals(sizes[0]),
        section=lambda sizes: {"kind": "intervals", "features": ["x"], "bins": sizes[0]},
        needs=frozenset({"features", "bins"}),
        options=frozenset({"range"}),
        recipe=intervals.recipe,
    ),
    Kind(
        kind="star",
        sizes=("N",),
        example="star:32",
        make=lambda sizes, _: star.Star(sizes[0]),
        section=lambda sizes: {"kind": "star", "features": ["x"], "count": sizes[0]},
        needs=frozenset({"features", "count"}),
        recipe=star.recipe,
        theta=lambda sizes: float(sizes[0]),
    ),
    Kind(
        kind="stumps",
        sizes=("D", "B"),
        example="stumps:5,40",
        make=lambda sizes, _: stumps.Stumps(*sizes),
        section=_bins_section("stumps"),
        needs=frozenset({"features"}),
        options=frozenset({"cuts", "range", "bins", "quantiles"}),
        recipe=stumps.recipe,
    ),
    Kind(
        kind="boxes",
        sizes=("D", "B"),
        example="boxes:2,8",
        make=lambda sizes, _: boxes.Boxes(*sizes),
        section=_bins_section("boxes"),
        needs=frozenset({"features", "bins", "range"}),
        recipe=boxes.recipe,
    ),
    Kind(
        kind="halfspaces",
        sizes=("D", "N"),
        example="halfspaces:2,2000",
        make=_halfspaces,
        section=lambda sizes: {"kind": "halfspaces", "features": _columns(sizes[0]), "count": sizes[1]},
        needs=frozenset({"features", "count"}),
        options=frozenset({"range"}),
        recipe=halfspaces.recipe,
        atoms="normal",
    ),
    Kind(
        kind="table",
        sizes=(),
        example="table:FILE.csv",
        make=None,
        section=None,
        needs=frozenset({"candidates"}),
        options=frozenset({"cuts"}),
        recipe=lambda section: (table.score_recipe if "cuts" in section.content else table.recipe)(section),
    ),
    Kind(
        kind="linear",
        sizes=("D",),
        example="linear:10",
        make=None,
        section=lambda sizes: {"kind": "linear", "features": _columns(sizes[0])},
        needs=frozenset({"features", "step"}),
        options=frozenset({"intercept", "range"}),
        recipe=lambda section: import_module("replical.lattice.linear").recipe(section),
        atoms="normal",
        lists=False,
    ),
)
KINDS: dict[str, Kind] = {kind.kind: kind for kind in _ALL}


def of_lists() -> list[Kind]:
    """Kinds of classes whose hypotheses can be listed: those of specs, bills, audits and studies."""
    return [kind for kind in KINDS.values() if kind.lists]


def specs() -> str:
    """How every class is written."""
    *first, last = (kind.spec for kind in of_lists())
    return f"{', '.join(first)} or {last}"


def numbers(spec: str, refuse: Callable[[str], Exception] = BadSpec) -> tuple[Kind, list[int]]:
    """The kind and the numbers of a spec that has numbers.

    >>> kind, sizes = numbers("stumps:5,40")
    >>> kind.kind, sizes
    ('stumps', [5, 40])
    """
    name, _, rest = spec.partition(":")
    known = KINDS.get(name)
    if known is None or not known.sizes:
        *first, last = (kind.example for kind in of_lists())
        raise refuse(f"unknown class {spec!r:.80}; the classes are {', '.join(first)} and {last}")
    words = rest.split(",")
    right = all(word.isascii() and word.isdigit() and len(word) < 20 for word in words)
    if len(words) != len(known.sizes) or not right:
        raise refuse(f"malformed class {spec!r:.80}; write it as in {known.example}")
    return known, [int(word) for word in words]


def recipe(section: Mapping[str, Any], labels: Sequence[Label], seed: str, *, abstains: bool = False) -> Recipe:
    """The class of a protocol's `section`, and how the columns of a pool become its items.

    `BadProtocol` is raised for a kind nobody knows, and for keys or values that the kind does not have.

    >>> doses = recipe({"kind": "thresholds", "features": ["dose"], "range": [[0, 10]], "bins": 4}, ("no", "yes"), "s")
    >>> doses.describe(1), doses.columns
    ('yes if dose >= 4.0 else no', ('dose',))
    """
    name = section.get("kind")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise BadProtocol(f"unknown kind of class {name!r}; the kinds are {', '.join(KINDS)}")
    known = kind.needs | kind.options
    for key in section:
        if key not in known | {"kind"}:
            raise BadProtocol(f"a class of kind {name} has no key {key!r}; it has {', '.join(sorted(known))}")
    for key in sorted(kind.needs):
        if key not in section:
            raise BadProtocol(f"a class of kind {name} needs the key {key!r}")
    return kind.recipe(Section(content=section, labels=tuple(labels), seed=seed, abstains=abstains))


def parse(spec: str, *, seed: str | None = None, digest: str | None = None) -> tuple[HypothesisClass, Items]:
    """Read a spec: the class, and the items of its standard population.

    A net of half-spaces is drawn from the published text `seed`; a table whose `digest`, from `table_digest`, differs is
    refused.

    >>> C, cells = parse("thresholds:1000")
    >>> len(C), len(cells)
    (1000, 999)
    """
    table = table_path(spec)
    if table is not None:
        return read_table(table, digest=digest)
    kind, sizes = numbers(spec)
    if kind.make is None:
        raise BadSpec(
            f"{spec} has no list of hypotheses, and this needs one: write it into a protocol with replical init, or "
            "take halfspaces:D,N, a list of N half-spaces"
        )
    C = kind.make(sizes, seed)
    check_memory(C)
    cells = C.cells()
    return C, cells if cells is not None else _atoms(C, sizes[0], kind.atoms)


def _atoms(C: HypothesisClass, dimensions: int, drawn: str) -> Items:
    """Public points: uniform on [0, 1], or standard normal."""
    shared = SharedRandomness(_ATOMS_STRING)
    if drawn == "normal":
        points = gaussians(shared, "normal", dimensions, count=ATOMS * dimensions)
    else:
        words = shared.words("uniform", dimensions, count=ATOMS * dimensions)
        points = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return C.items(points.reshape(ATOMS, dimensions))


def known_theta(spec: str) -> float | None:
    """The disagreement coefficient of a class on its uniform population, where theory knows it.

    >>> known_theta("star:64"), known_theta("boxes:2,8")
    (64.0, None)
    """
    if table_path(spec) is not None:
        return None
    kind, sizes = numbers(spec)
    return None if kind.theta is None else kind.theta(sizes)


def table_path(spec: str) -> Path | None:
    """The file that a spec names; None for classes that need none."""
    kind, _, rest = spec.partition(":")
    return Path(rest) if kind == "table" and rest else None


def table_digest(path: Path) -> str:
    """The SHA-256 of a file, as ``sha256sum`` tells it."""
    return digest_of(_read(path))


def read_table(path: Path, *, digest: str | None = None) -> tuple[PredictionTable, Items]:
    """Read a CSV file with one column a candidate and one row an item; the label set is what occurs, sorted."""
    content = _read(path)  # once: what is compared is what is read
    if digest is not None and digest_of(content) != digest:
        raise BadTable(
            f"the table {path} has another content: its {digest_of(content):.23}... should be {digest:.23}..."
        )
    table = read_file(path, content)
    for row, line in zip(table.rows, table.lines, strict=True):
        if "" in row:
            raise BadTable(f"{path}, line {line}: the prediction of {table.header[row.index('')]!r} is missing")
    labels = sorted({value for row in table.rows for value in row})
    if len(labels) < 2:
        raise BadTable(f"{path} holds a single label {labels!r}; candidates that never differ leave nothing to learn")
    if len(labels) > _MOST_LABELS:
        raise BadTable(
            f"{path} holds {len(labels)} different values: every column is a candidate, so leave ids, texts and scores out"
        )
    C = PredictionTable(table.header, labels=labels)
    return C, C.items(table.rows)


def read_file(path: Path, content: bytes | None = None) -> Rows:
    """The rows of a CSV file, each as long as its header, no name twice; of its `content`, where that was read."""
    text = decode(_read(path) if content is None else content, path, what="the table", refuse=BadTable)
    return read_csv(text, path, what="the table", refuse=BadTable)


def _read(path: Path) -> bytes:
    return read_bytes(path, what="the table", refuse=BadTable)
