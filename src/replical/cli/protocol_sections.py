"""The sections of a protocol, from flags: the class, its features, labels, labs and handicaps."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any

from replical.classes.base import Label
from replical.classes.catalogue import KINDS, numbers
from replical.classes.comparisons import KINDS as KINDS_OF_LOSS
from replical.classes.grading import SCALES
from replical.classes.own_losses import source_of
from replical.classes.recipe import Recipe
from replical.cli.inputs import file_and_column, number, pool_of, read_numbers
from replical.cli.output import notes, reading
from replical.core.exact import fraction
from replical.core.files import read_csv, read_text
from replical.core.randomness import SharedRandomness
from replical.errors import RETIRED, BadProtocol, BadSpec, BadTable, BadUsage, remedy
from replical.lab.model_columns import ModelColumns, model_columns, score_columns
from replical.lab.public import cover_section
from replical.lab.schema import CUT_KINDS as CUT
from replical.lab.schema import quantile_section
from replical.lab.signatures import read_public as read_key
from replical.lattice.linear import step_for
from replical.learners.catalogue import LEARNERS, find
from replical.learners.parameters import Parameter
from replical.pools.groups import WEIGHTS

_INTERCEPT = 1.0  # about as large as features that were brought to variance one
_ANY = float("inf")
# What --set takes of a loss, a pool and a class.
LOSS_KEYS, POOL_KEYS, CLASS_KEYS = (
    {record.name: record for record in records}
    for records in (
        (
            Parameter(name="loss", kind="word", help="how outputs are compared with answers"),
            Parameter(name="scores", kind="word", words=tuple(SCALES), help="people score outputs, on this scale"),
            Parameter(name="clip", kind="number", high=_ANY, help="loss absolute or squared: so far off costs 1"),
            Parameter(name="grid", kind="count", help="losses are whole parts of 1/grid (1000)"),
        ),
        (
            Parameter(name="group", kind="word", help="the column that says which items belong together"),
            Parameter(name="group_size", kind="count", help="the most items a group of any lab has"),
            Parameter(
                name="population", kind="word", words=("table",), help="all labs have --pool, and it is all there is"
            ),
            Parameter(name="group_weights", kind="word", words=WEIGHTS, help="who counts alike (item)"),
        ),
        (
            Parameter(name="bins", kind="count", help="with --cuts FILE:COLUMN: cuts a column (100)"),
            Parameter(
                name="step", kind="number", high=_ANY, help="class linear: edge of a lattice's cell; else by epsilon"
            ),
            Parameter(
                name="intercept", kind="number", high=_ANY, help="class linear: a public constant (1); 0 for none"
            ),
        ),
    )
)
_USUAL_BINS = 100  # cuts a public column
_HEADER = 2**20  # characters in which the names of a table's columns are looked for
_QUOTED = re.compile('"(?:[^"]|"")*"')
_WORD = re.compile(f"(?:{_QUOTED.pattern}|[^,])+")  # up to a comma outside quotes


@dataclass(frozen=True)
class Features:
    """Columns by name, and low and high of each where they are public."""

    names: list[str]
    ranges: list[list[float]] | None = None


def class_section(
    spec: str | None, candidates: str | None, *, cuts: str | None, bins: int | None, named: Features | None
) -> tuple[dict[str, Any], tuple[Label, ...]]:
    """What the flags say, of which one is given; and the labels where a table tells them."""
    if spec is not None and candidates is not None:
        raise BadProtocol("give --class SPEC or --candidates FILE, and not both")
    if cuts is not None and candidates is None:
        return _quantiles(spec, cuts, bins), ()
    if bins is not None:
        raise BadUsage("bins is for --cuts FILE:COLUMN; else write the number into --class, e.g. stumps:5,40")
    if cuts is not None and candidates is not None:
        return _scores(candidates, cuts), ()
    if candidates is not None:
        return _models_section(candidates)
    if named is not None and spec in KINDS and KINDS[spec].sizes == ("D",):
        spec = f"{spec}:{len(named.names)}"
    return _rules_section(spec or ""), ()


def _quantiles(spec: str | None, source: str, bins: int | None) -> dict[str, Any]:
    """Cuts at quantiles of public columns."""
    if spec not in CUT:
        raise BadUsage(
            f"--cuts FILE:COLUMN makes the cuts of --class {' or --class '.join(CUT)}, without numbers; got {spec!r}"
        )
    file, column = file_and_column("--cuts", source)
    columns = [column] if spec == "thresholds" else column.split(",")
    return quantile_section(spec, file, columns, _USUAL_BINS if bins is None else bins)


def _scores(candidates: str, cuts: str) -> dict[str, Any]:
    """Candidates that are scores, cut at public places."""
    path = Path(candidates)
    if _is_table(path):
        with reading(path) as update:
            models = [{"name": name} for name in score_columns(path, progress=update)]
        notes.say(f"Scores: {', '.join(each['name'] for each in models)}.")
    else:
        models = read_candidates(candidates)
    return {"kind": "table", "candidates": models, "cuts": [_cut_or_band(word.strip()) for word in cuts.split(",")]}


def _is_table(path: Path) -> bool:
    """Is a file a lab's table, and no list of names?"""
    if path.suffix in (".parquet", *RETIRED):
        return True
    if path.suffix != ".csv" or not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        header = file.readline(_HEADER).rstrip("\r\n").split(",")
    return "id" in header and "name" not in header


def read_candidates(source: str) -> list[dict[str, str]]:
    """Candidates: the lines of a text file, or the rows of a CSV file, with their digests where it has such a column."""
    path, _, column = source.rpartition(":")
    if not path or Path(source).exists():
        path, column = source, ""
    file, what = Path(path), "the candidates"
    text = read_text(file, what=what, refuse=BadTable)
    if not column and file.suffix != ".csv":
        names = [{"name": line.strip()} for line in text.splitlines() if line.strip()]
        if not names:
            raise BadTable(f"{path} is empty: write the names of the candidates into it, one a line")
        return names
    rows = read_csv(text, file, what=what, refuse=BadTable, strict=False).dicts()
    column = column or "name"
    if not rows or column not in rows[0]:
        table = f"; if it is a lab's table: replical init --pool {path}" if file.suffix == ".csv" else ""
        raise BadTable(f"{path} has no column {column!r} with the names of candidates{table}")
    return [{"name": row[column]} | ({"digest": row["digest"]} if row.get("digest") else {}) for row in rows]


def _cut_or_band(word: str) -> float | list[float]:
    """Where scores are cut, or from where to where a candidate abstains."""
    ends = [number(end) for end in word.split("-")]
    return ends[0] if len(ends) == 1 else ends


def _rules_section(spec: str) -> dict[str, Any]:
    kind, sizes = numbers(spec, BadProtocol)
    assert kind.section is not None, "whatever has numbers can be written as a section"
    return kind.section(sizes)


def _models_section(source: str) -> tuple[dict[str, Any], tuple[Label, ...]]:
    """Models by name: of a list, or the columns of a table, which tell the labels too."""
    path = Path(source)
    if not _is_table(path):
        return {"kind": "table", "candidates": read_candidates(source)}, ()
    with reading(path) as update:
        found = model_columns(path, progress=update)
    return models_section(found.models), found.values


def models_section(names: Sequence[str]) -> dict[str, Any]:
    """The section of a protocol that lists models by name."""
    return {"kind": "table", "candidates": [{"name": name} for name in names]}


def features_of(text: str | None) -> Features | None:
    """What --features says: names, or a .csv or .txt file of them; None if it is left out."""
    if text is None:
        return None
    if Path(text).suffix in (".csv", ".txt"):
        return _features_file(Path(text))
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise BadProtocol(f"--features lists the columns, separated by commas, e.g. age,dose; got {text!r}")
    return Features(names)


def _features_file(file: Path) -> Features:
    what = "the features"
    text = read_text(file, what=what, refuse=BadTable)
    if file.suffix != ".csv":
        listed = [line.strip() for line in text.splitlines() if line.strip()]
        if not listed:
            raise BadTable(f"{file} is empty: write the names of the features into it, one a line")
        return Features(listed)
    table = read_csv(text, file, what=what, refuse=BadTable)
    if table.header not in (["feature"], ["feature", "low", "high"]):
        raise BadTable(f"{file} needs the column feature, or feature, low and high; it has {', '.join(table.header)}")
    if not table.rows:
        raise BadTable(f"{file} holds no features: write one a row")
    names = [row[0] for row in table.rows]
    if len(table.header) == 1:
        return Features(names)
    try:
        return Features(names, [[float(low), float(high)] for _, low, high in table.rows])
    except ValueError as error:
        raise BadTable(f"{file}: low and high must be numbers ({error})") from error


def add_features(section: dict[str, Any], features: Features | None) -> dict[str, Any]:
    """The class section with these columns in place of its placeholders."""
    if features is None:
        return section
    if "features" not in section:
        raise BadProtocol("candidates are columns by themselves: leave out --features")
    if len(section["features"]) != len(features.names):
        raise BadProtocol(
            f"the class looks at {len(section['features'])} features, and {len(features.names)} are named: name as many"
        )
    ranges = {} if features.ranges is None else {"range": features.ranges}
    return section | {"features": features.names} | ranges


def lattice_keys(
    section: dict[str, Any], epsilon: float, step: float | None, intercept: float | None
) -> dict[str, Any]:
    """Step and constant of a lattice; a step that nobody gives follows from `epsilon`. Other classes have neither."""
    if "step" not in KINDS[section["kind"]].needs:
        if step is not None or intercept is not None:
            raise BadProtocol("step and intercept are about the class linear: leave them out")
        return {}
    constant = _INTERCEPT if intercept is None else intercept
    d = len(section["features"]) + (constant != 0)
    found = float(f"{step_for(epsilon, d):.3g}") if step is None else step
    return {"step": found} | ({} if constant == 0 else {"intercept": constant})


def label_values(text: str) -> tuple[Label, ...]:
    """Labels in their public order: a line of CSV, so that a label with a comma stands in quotes.

    Examples
    --------
    >>> label_values("no,yes"), label_values('"benign, sure",malignant'), label_values("0,1")
    (('no', 'yes'), ('benign, sure', 'malignant'), (0, 1))
    """
    try:
        lines = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise BadProtocol(f"--label-values has a quote that does not end, or ends too early: {text!r}") from error
    words = [word.strip() for word in lines[0]] if lines else []
    if len(words) < 2 or not all(words):
        raise BadProtocol(f"--label-values lists the labels, separated by commas, e.g. no,yes; got {text!r}")
    return as_labels(words)


def as_labels(said: Iterable[Label]) -> tuple[Label, ...]:
    """Labels as `label_values` reads them: whole numbers if all are, else texts.

    Examples
    --------
    >>> as_labels(["0", 1]), as_labels([0, "one"])
    ((0, 1), ('0', 'one'))
    """
    words = tuple(map(str, said))
    return tuple(map(int, words)) if all(re.fullmatch("-?[0-9]{1,18}", word) for word in words) else words


def read_models(
    table: Path,
    id_column: str,
    truth: str | None,
    values: str | None,
    candidates: str | None,
    leave_out: list[str],
    abstain: str | None,
) -> tuple[dict[str, Any], tuple[Label, ...], ModelColumns]:
    """The class section of the models of a table, their labels, and what else was found there."""
    models = None if candidates is None else read_candidates(candidates)
    said = None if values is None else label_values(values)
    if said is not None and abstain is not None and abstain not in map(str, said):
        said = (*said, abstain)  # models say it too
    with reading(table) as update:
        found = model_columns(
            table,
            id_column=id_column,
            truth=truth,
            values=said,
            models=None if models is None else [each["name"] for each in models],
            without=leave_out,
            progress=update,
        )
    section = models_section(found.models) if models is None else {"kind": "table", "candidates": models}
    if abstain is None:
        return section, found.values, found
    return section, as_labels(value for value in found.values if str(value) != abstain), found


def _meant(text: str) -> str:
    close = get_close_matches(text.lower(), LEARNERS, 1)
    return f"did you mean {close[0]}? Otherwise " if close else ""


def learner_id(text: str) -> str:
    """The name of a learner that exists."""
    if text not in LEARNERS and not text.startswith("boosted-") and not remedy(text):
        raise BadSpec(
            f"unknown learner {text!r}; {_meant(text)}take handicap, or lattice for --class linear (replical paper audit "
            "--help lists those of the paper)"
        )
    return find(text).id


def labels_section(
    values: tuple[Label, ...],
    weights: str | None,
    abstain: str | None,
    price: float | None,
    loss: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The section of a protocol about labels, or a loss; what is wrong with its numbers is said by whoever reads it."""
    section: dict[str, Any] = dict(loss) if loss else {"values": list(values)}
    name = section.get("loss")
    if name is not None and name not in KINDS_OF_LOSS and (source := source_of(name)) is not None:
        section["source"] = source
    if weights is not None:
        section["weights"] = _weights(weights)
    if abstain is not None:
        whole = all(isinstance(value, int) for value in values) and abstain.lstrip("-").isdigit()
        section["abstain"] = int(abstain) if whole else abstain
    return section | ({} if price is None else {"price": price})


def _weights(text: str) -> dict[str, float]:
    found = {}
    for word in _WORD.findall(text):
        name, equals, weight = word.rpartition("=")
        name = name.strip()
        if _QUOTED.fullmatch(name):  # as --label-values quotes a label that has a comma
            name = name[1:-1].replace('""', '"')
        if not equals or not name:
            raise BadProtocol(f"--weights gives every label its weight, e.g. no=1,yes=5; got {text!r}")
        if name in found:
            raise BadProtocol(f"--weights gives the label {name!r} two weights")
        found[name] = number(weight.strip())
    return found


def labs_section(said: list[str]) -> dict[str, Any]:
    """Who takes part, each as NAME or NAME=FILE, and who of them signs with which key."""
    names, keys = [], {}
    for text in said:
        name, equals, file = text.partition("=")
        names.append(name)
        if equals:
            keys[name] = read_key(Path(file))
    return ({"labs": {"names": names} | ({"keys": keys} if keys else {})}) if names else {}


def preference_section(learner: str, kind: str, said: dict[str, Any]) -> dict[str, Any]:
    """Who is preferred: [handicap] of a learner that takes handicaps, [prior] of all others."""
    return {"handicap": {"from": kind} | said} if find(learner).handicaps else {"prior": {"kind": kind} | said}


_COVERED = Fraction(4, 5)  # of ε: the radius of a cover, which leaves room for the sampling of its items


def handicap_section(source: str, class_recipe: Recipe, seed: str, epsilon: float) -> dict[str, Any]:
    """Where handicaps come from: a word, or a word and the file of public items or of numbers."""
    kind, _, file = source.partition(":")
    if kind in ("exponentials", "zero") and not file:
        return {"from": kind}
    if kind not in ("cover", "values") or not file:
        raise BadProtocol(f"--handicap is exponentials, zero, cover:FILE or values:FILE, got {source!r:.60}")
    if not Path(file).exists():
        raise BadProtocol(f"--handicap reads {file}, and there is no such file")
    if kind == "values":
        return {"from": "values", "values": read_numbers(class_recipe.C, Path(file), "handicap")}
    items = pool_of(Path(file), class_recipe)
    return cover_section(items, SharedRandomness(seed), float(_COVERED * fraction(epsilon)))
