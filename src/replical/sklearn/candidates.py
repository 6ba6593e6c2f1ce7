"""From a recipe and public rows to a finite class: fitted models, their files, a public order, predictions on any table."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Label
from replical.core.canonical import fingerprint, is_digest
from replical.core.files import write_whole
from replical.core.parallel import in_processes
from replical.errors import BadRecipe, BadTable
from replical.lab.columns import name_of, opened
from replical.lab.tables import read_features
from replical.lab.values import ids_of, labels_of
from replical.sklearn.family import Candidate, Family
from replical.sklearn.model_files import load, save

CONTENTS = "replical.models/1"
_FILE, _CSV, _ORDER, _PARTS = "models.json", "candidates.csv", "order.txt", "models"
Progress = Callable[[int, int], None]


def _silent(done: int, total: int) -> None:
    """Tell nobody."""


def read_public(source: Any, family: Family, *, id_column: str = "id") -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features and label codes of the public rows.

    Raises
    ------
    BadTable
        As `read_features` does, and for a row without a label.
    """
    ids, X = read_features(source, family.features, id_column=id_column)
    name, codes = name_of(source), dict[str, int]()
    with opened(source, (id_column, family.label), texts=(id_column,), categories=(family.label,)) as table:
        for block in table.blocks([id_column, family.label], together=True):
            some = ids_of(block.columns[id_column], id_column, name, block.start)
            codes |= dict(labels_of(block.columns[family.label], family.label, family.labels, some, name))
    if len(codes) < len(ids):
        missing = next(each for each in ids if each not in codes)
        raise BadTable(f"{name}: the public row {missing!r} has no label, or its id stands there twice")
    return X, np.array([codes[each] for each in ids], dtype=np.int64)


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
        path = self.folder / _PARTS / f"{number}.skops"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of convergence: how good a model is shows on the rows held out
                model = candidate.made(self.family.shared).fit(self.X[rows], self.y[rows])
            errors = int(np.count_nonzero(model.predict(self.X[held]) != self.y[held]))
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, BadRecipe) as error:
            return {"name": candidate.name, "failed": str(error).splitlines()[0][:200]}
        return {
            "name": candidate.name,
            "file": path.name,
            "digest": save(model, path, candidate.name),
            "errors": errors,
        }

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All of them."""
        return self.family.candidates


def fit_candidates(
    family: Family,
    public: Any,
    folder: Path,
    *,
    id_column: str = "id",
    workers: int = 1,
    skip_failed: bool = False,
    progress: Progress = _silent,
) -> Models:
    """Fit all candidates of a recipe on public rows and write them into a new folder.

    Parameters
    ----------
    family, public
        The recipe, and the table of public rows with their labels.
    folder
        Where to write; a folder that was begun with the same recipe and rows is gone on with.
    id_column
        The column of ids.
    workers
        Processes that fit at the same time.
    skip_failed
        Leave candidates out whose fit fails, and say so in the contents; otherwise the first one stops it.
    progress
        Told how many are done, of how many.

    Returns
    -------
    models
        What was written.

    Raises
    ------
    BadRecipe
        If a fit fails, the folder holds something else, or cannot be written.
    BadTable
        If the public rows cannot be read.
    """
    X, y = read_public(public, family, id_column=id_column)
    rows = fingerprint({"X": [each.hex() for each in X.ravel().tolist()], "y": y.tolist()})
    about = {"schema": CONTENTS, "recipe": dict(family.content), "recipe_fingerprint": family.fingerprint, "rows": rows}
    done = _begun(folder, about)
    fitting, total = Fitting(family, folder, X, y), len(family.candidates)
    left = [number for number in range(total) if str(number) not in done]
    for at, found in enumerate(_fits(fitting, left, workers)):
        if "failed" in found and not skip_failed:
            raise BadRecipe(
                f"the fit of {found['name']} failed: {found['failed']}; --skip-failed leaves such models out"
            )
        done[str(left[at])] = found
        _note(folder, about, done)
        progress(len(done), total)
    models = [done[str(number)] for number in range(total)]
    if all("failed" in each for each in models):
        raise BadRecipe("no fit succeeded: there is nothing to choose among")
    return _finished(folder, about, models)


def _fits(fitting: Fitting, left: Sequence[int], workers: int) -> Iterator[dict[str, Any]]:
    if workers > 1 and len(left) > 1:
        return in_processes(_Some(fitting, tuple(left)), len(left), min(workers, len(left)))
    return map(fitting, left)


@dataclass(frozen=True)
class _Some:
    fitting: Fitting
    numbers: tuple[int, ...]

    def __call__(self, place: int) -> dict[str, Any]:
        return self.fitting(self.numbers[place])


def _begun(folder: Path, about: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What an earlier run fitted; a new folder if there is none."""
    if (folder / _FILE).exists():
        raise BadRecipe(f"{folder} holds fitted models already: give another folder")
    try:
        (folder / _PARTS).mkdir(parents=True, exist_ok=True)
        begun = json.loads((folder / f"{_FILE}.part").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadRecipe(f"cannot go on in {folder}: {error}; give a new folder") from error
    if not isinstance(begun, dict) or begun.get("about") != json.loads(json.dumps(about)):
        raise BadRecipe(f"{folder} was begun with another recipe or other public rows: give a new folder")
    found: dict[str, dict[str, Any]] = begun["done"]
    return {number: each for number, each in found.items() if "failed" not in each}


def _note(folder: Path, about: dict[str, Any], done: dict[str, dict[str, Any]]) -> None:
    text = json.dumps({"about": about, "done": done})
    write_whole(folder / f"{_FILE}.part", text, what="what is fitted", refuse=BadRecipe)


def _finished(folder: Path, about: dict[str, Any], models: list[dict[str, Any]]) -> Models:
    """Candidates, their order and the contents, which are written last: a folder without them is not finished."""
    good = [each for each in models if "failed" not in each]
    order = [each["name"] for each in sorted(good, key=lambda each: (each["errors"], each["name"]))]
    lines = ["name,digest", *(f"{each['name']},{each['digest']}" for each in good)]
    write_whole(folder / _CSV, "\n".join(lines) + "\n", what="the candidates", refuse=BadRecipe)
    write_whole(folder / _ORDER, "\n".join(order) + "\n", what="the order", refuse=BadRecipe)
    body = about | {"models": models, "order": order}
    text = json.dumps(body | {"digest": fingerprint(body)}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    write_whole(folder / _FILE, text, what="the contents", refuse=BadRecipe)
    (folder / f"{_FILE}.part").unlink(missing_ok=True)
    return Models.read(folder)


@dataclass(frozen=True)
class Models:
    """A folder of fitted models.

    Attributes
    ----------
    folder
        Where it is.
    content
        What its contents say.
    """

    folder: Path
    content: dict[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Models:
        """Open a folder that `fit_candidates` wrote.

        Raises
        ------
        BadTable
            If it is none, or was not finished or changed.
        """
        path = folder / _FILE
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            unfinished = (folder / f"{_FILE}.part").exists()
            what = "was not finished: run replical candidates again" if unfinished else f"has no {_FILE}"
            raise BadTable(f"the folder {folder} {what}") from error
        except (OSError, ValueError, RecursionError) as error:
            raise BadTable(f"cannot read {path}: {error}") from error
        body = {key: value for key, value in content.items() if key != "digest"} if isinstance(content, dict) else {}
        if body.get("schema") != CONTENTS or content.get("digest") != fingerprint(body):
            raise BadTable(f"{path} was changed, or is none of replical's: it says what no folder of models says")
        for each in content["models"]:
            if "failed" not in each and not (is_digest(each["digest"]) and Path(each["file"]).name == each["file"]):
                raise BadTable(f"{path} names a file or digest of {each['name']!r} as none can be")
        return cls(folder, content)

    @cached_property
    def family(self) -> Family:
        """The recipe."""
        return Family.of(self.content["recipe"])

    @property
    def names(self) -> list[str]:
        """Those that were fitted, in their public order."""
        return [each["name"] for each in self._fitted]

    @property
    def _fitted(self) -> list[dict[str, Any]]:
        return [each for each in self.content["models"] if "failed" not in each]

    def model(self, number: int) -> Any:
        """Model `number` of those fitted; `BadTable` is raised if its file was changed."""
        each = self._fitted[number]
        return load(self.folder / _PARTS / each["file"], each["digest"])

    def predict(
        self, X: NDArray[np.float64], *, workers: int = 1, progress: Progress = _silent
    ) -> dict[str, list[Label]]:
        """What every model says about the rows of `X`, by its name.

        Parameters
        ----------
        X
            Features, in the recipe's order.
        workers
            Processes that predict at the same time.
        progress
            Told how many models are done, of how many.
        """
        labels, names, found = self.family.labels, self.names, dict[str, list[Label]]()
        task = _Predicting(self, X)
        columns = in_processes(task, len(names), workers) if workers > 1 else map(task, range(len(names)))
        for name, codes in zip(names, columns, strict=True):
            found[name] = [labels[code] for code in codes.tolist()]
            progress(len(found), len(names))
        return found


@dataclass(frozen=True)
class _Predicting:
    models: Models
    X: NDArray[np.float64]

    def __call__(self, number: int) -> NDArray[np.int64]:
        codes: NDArray[np.int64] = self.models.model(number).predict(self.X).astype(np.int64)
        return codes
