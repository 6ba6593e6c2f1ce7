"""From a recipe and public rows to a finite class: fitted models, their files, and a public order."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.core.canonical import digest_of, fingerprint
from replical.core.files import write_whole
from replical.core.parallel import ordered_map
from replical.errors import BadRecipe, BadTable, MissingExtra
from replical.lab.columns import ids_of, labels_of, name_of, open_table
from replical.lab.tables import read_features
from replical.sklearn.family import Candidate, Family
from replical.sklearn.models import CONTENTS, FILE, PARTS, Models, Progress, is_entry, one_line, save, silent

_CSV, _ORDER = "candidates.csv", "order.txt"
_NOTE_EVERY = 1.0  # seconds between two notes of what is fitted


def fit_candidates(
    family: Family,
    public: Any,
    folder: Path,
    *,
    id_column: str = "id",
    workers: int = 1,
    skip_failed: bool = False,
    progress: Progress = silent,
) -> Models:
    """Fit all candidates of a recipe on public rows; a `folder` begun with the same recipe and rows is gone on with."""
    X, y = read_public(public, family, id_column=id_column)
    rows = fingerprint({"X": [each.hex() for each in X.ravel().tolist()], "y": y.tolist()})
    about = {"schema": CONTENTS, "recipe": dict(family.content), "recipe_fingerprint": family.fingerprint, "rows": rows}
    done = _earlier_fits(folder, about)
    fitting, total = Fitting(family, folder, X, y), len(family.candidates)
    left = [number for number in range(total) if str(number) not in done]
    noted = monotonic()
    try:
        for at, found in enumerate(ordered_map(fitting, left, workers)):
            if "failed" in found and not skip_failed:
                raise BadRecipe(
                    f"the fit of {found['name']} failed: {found['failed']}; --skip-failed leaves such models out"
                )
            done[str(left[at])] = found
            if monotonic() - noted > _NOTE_EVERY:
                _note(folder, about, done)
                noted = monotonic()
            progress(len(done), total)
    finally:
        _note(folder, about, done)
    models = [done[str(number)] for number in range(total)]
    if all("failed" in each for each in models):
        raise BadRecipe("no fit succeeded: there is nothing to choose among")
    return _write_contents(folder, about, models)


def read_public(source: Any, family: Family, *, id_column: str = "id") -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features and label codes of the public rows."""
    ids, X = read_features(source, family.features, id_column=id_column)
    name, codes = name_of(source), dict[str, Any]()
    with open_table(source, (id_column, family.label), texts=(id_column,), categories=(family.label,)) as table:
        for block in table.blocks([id_column, family.label], together=True):
            some = ids_of(block.columns[id_column], id_column, name, block.start)
            codes |= dict(labels_of(block.columns[family.label], family.label, family.labels, some, name))
    if len(codes) < len(ids):
        missing = next(each for each in ids if each not in codes)
        raise BadTable(f"{name}: the public row {missing!r} has no label")
    return X, np.array([codes[each] for each in ids], dtype=np.int64)


def _earlier_fits(folder: Path, about: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What an earlier run fitted; a new folder if there is none."""
    if (folder / FILE).exists():
        raise BadRecipe(f"{folder} holds fitted models already: give another folder")
    try:
        (folder / PARTS).mkdir(parents=True, exist_ok=True)
        begun = json.loads((folder / f"{FILE}.part").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadRecipe(f"cannot go on in {folder}: {error}; give a new folder") from error
    if not isinstance(begun, dict) or begun.get("about") != json.loads(json.dumps(about)):
        raise BadRecipe(f"{folder} was begun with another recipe or other public rows: give a new folder")
    found = begun.get("done")
    return (
        {number: each for number, each in found.items() if _is_whole(folder, each)} if isinstance(found, dict) else {}
    )


def _is_whole(folder: Path, entry: Any) -> bool:
    """Is the file of a model that was fitted still what it was? Those that are not are fitted again."""
    if not is_entry(entry) or "failed" in entry:
        return False
    try:
        return bool(digest_of((folder / PARTS / entry["file"]).read_bytes()) == entry["digest"])
    except OSError:
        return False


@dataclass(frozen=True, eq=False)
class Fitting:
    """Fits candidate after candidate; it travels to worker processes once."""

    family: Family
    folder: Path
    X: NDArray[np.float64]
    y: NDArray[np.int64]

    def __call__(self, number: int) -> dict[str, Any]:
        """Fit candidate `number`, write its file, count its errors on the rows held out; or say why it failed."""
        candidate = self.candidates[number]
        fitted, held = self.family.split(len(self.X))
        rows = candidate.rows(self.family.shared, fitted)
        path = self.folder / PARTS / f"{number}.skops"
        try:
            with warnings.catch_warnings(), _one_thread():
                warnings.simplefilter("ignore")  # of convergence: how good a model is shows on the rows held out
                model = candidate.make(self.family.shared).fit(self.X[rows], self.y[rows])
                digest = save(model, path, candidate.name)  # before it predicts: some models count what they are asked
                errors = int(np.count_nonzero(model.predict(self.X[held]) != self.y[held]))
        except MissingExtra:
            raise
        except Exception as error:  # models of somebody else's may raise anything
            return {"name": candidate.name, "failed": one_line(error)}
        return {"name": candidate.name, "file": path.name, "digest": digest, "errors": errors}

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All of them."""
        return self.family.candidates


def _one_thread() -> Any:
    """How many threads add numbers up changes their last digits, and some models keep the number itself."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)


def _note(folder: Path, about: dict[str, Any], done: dict[str, dict[str, Any]]) -> None:
    text = json.dumps({"about": about, "done": done})
    write_whole(folder / f"{FILE}.part", text, what="what is fitted", refuse=BadRecipe)


def _write_contents(folder: Path, about: dict[str, Any], models: list[dict[str, Any]]) -> Models:
    """Candidates, their order and the contents, which are written last: a folder without them is not finished."""
    good = [each for each in models if "failed" not in each]
    order = [each["name"] for each in sorted(good, key=lambda each: (each["errors"], each["name"]))]
    lines = ["name,digest", *(f"{each['name']},{each['digest']}" for each in good)]
    write_whole(folder / _CSV, "\n".join(lines) + "\n", what="the candidates", refuse=BadRecipe)
    write_whole(folder / _ORDER, "\n".join(order) + "\n", what="the order", refuse=BadRecipe)
    body = about | {"models": models, "order": order}
    text = json.dumps(body | {"digest": fingerprint(body)}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    write_whole(folder / FILE, text, what="the contents", refuse=BadRecipe)
    (folder / f"{FILE}.part").unlink(missing_ok=True)
    return Models.read(folder)
