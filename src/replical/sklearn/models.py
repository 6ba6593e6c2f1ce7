"""A folder of fitted models: what its contents say, and what the models say about a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Label
from replical.core.canonical import fingerprint, is_digest
from replical.core.parallel import in_processes
from replical.errors import BadTable
from replical.sklearn.family import Family
from replical.sklearn.model_files import load, one_line

CONTENTS = "replical.models/1"
FILE, PARTS = "models.json", "models"
Progress = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Tell nobody."""


def is_entry(entry: Any) -> bool:
    """Does this say of a model what contents say: its name, and its file or why there is none?"""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return False
    file = entry.get("file")
    named = isinstance(file, str) and Path(file).name == file and is_digest(entry.get("digest"))
    return "failed" in entry or named


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
        path = folder / FILE
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            unfinished = (folder / f"{FILE}.part").exists()
            what = "was not finished: run replical candidates again" if unfinished else f"has no {FILE}"
            raise BadTable(f"the folder {folder} {what}") from error
        except (OSError, ValueError, RecursionError) as error:
            raise BadTable(f"cannot read {path}: {error}") from error
        body = {key: value for key, value in content.items() if key != "digest"} if isinstance(content, dict) else {}
        if body.get("schema") != CONTENTS or content.get("digest") != fingerprint(body):
            raise BadTable(f"{path} was changed, or is none of replical's: it says what no folder of models says")
        models = content.get("models")
        for each in models if isinstance(models, list) else [None]:
            if not is_entry(each):
                raise BadTable(f"{path} says of a model what no folder of models says: {each!r:.80}")
        if len({each["name"] for each in models}) < len(models):
            raise BadTable(f"{path} has two models of one name")
        return cls(folder, content)

    @cached_property
    def family(self) -> Family:
        """The recipe."""
        recipe = self.content.get("recipe")
        return Family.of(recipe if isinstance(recipe, dict) else {})

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
        return load(self.folder / PARTS / each["file"], each["digest"])

    def predict(
        self, X: NDArray[np.float64], *, workers: int = 1, progress: Progress = silent
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
        """The codes of what model `number` says; `BadTable` is raised if it says anything else."""
        name, labels = self.models.names[number], len(self.models.family.labels)
        model = self.models.model(number)
        try:
            said = np.asarray(model.predict(self.X))
        except Exception as error:  # models of somebody else's may raise anything
            raise BadTable(f"the model {name!r} cannot predict: {one_line(error)}") from error
        if said.shape != (len(self.X),) or said.dtype.kind not in "iu" or not ((said >= 0) & (said < labels)).all():
            raise BadTable(f"the model {name!r} says something else than one of the {labels} labels an item")
        codes: NDArray[np.int64] = said.astype(np.int64)
        return codes
