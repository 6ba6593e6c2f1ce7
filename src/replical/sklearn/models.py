"""A folder of fitted models: what its contents say, and what the models say about a table.

Models are files of skops: what a file holds is named before it is made, and nothing is ever unpickled. The same model has
the same file, to the byte: skops writes the time and places in memory into it, and they are left out.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Label
from replical.core.canonical import digest_of, fingerprint, is_digest
from replical.core.files import read_bytes, write_whole
from replical.core.parallel import ordered_map
from replical.errors import BadRecipe, BadTable, MissingExtra
from replical.sklearn.family import Family

# Beside what skops knows to be harmless: what classifiers of scikit-learn's are made of.
TRUSTED = (
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.tree._tree.Tree",
)
_SCHEMA = "schema.json"
_VALUES = ("JsonNode", "NdArrayNode")  # numbers, texts and arrays: where they lie says nothing
_LONGEST = 200  # characters of an error that are told
CONTENTS = "replical.models/1"
FILE, PARTS = "models.json", "models"
Progress = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Models:
    """A folder of fitted models, and what its contents say."""

    folder: Path
    content: dict[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Models:
        """Open a folder that `fit_candidates` wrote."""
        path = folder / FILE
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            unfinished = (folder / f"{FILE}.part").exists()
            what = "was not finished: run replical data candidates again" if unfinished else f"has no {FILE}"
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
        return [each["name"] for each in self._entries]

    @property
    def _entries(self) -> list[dict[str, Any]]:
        return [each for each in self.content["models"] if "failed" not in each]

    def model(self, number: int) -> Any:
        """Model `number` of those fitted; `BadTable` is raised if its file was changed."""
        each = self._entries[number]
        return load(self.folder / PARTS / each["file"], each["digest"])

    def predict(
        self, X: NDArray[np.float64], *, workers: int = 1, progress: Progress = silent
    ) -> dict[str, list[Label]]:
        """What every model says about the rows of `X`, features in the recipe's order, by its name."""
        labels, names, found = self.family.labels, self.names, dict[str, list[Label]]()
        columns = ordered_map(_Predicting(self, X), range(len(names)), workers)
        for name, codes in zip(names, columns, strict=True):
            found[name] = [labels[code] for code in codes.tolist()]
            progress(len(found), len(names))
        return found


def is_entry(entry: Any) -> bool:
    """Does this say of a model what contents say: its name, and its file or why there is none?"""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return False
    file = entry.get("file")
    named = isinstance(file, str) and Path(file).name == file and is_digest(entry.get("digest"))
    return "failed" in entry or named


def load(path: Path, digest: str) -> Any:
    """Read the model with this digest."""
    raw = read_bytes(path, what="the model", refuse=BadTable)
    if digest_of(raw) != digest:
        raise BadTable(f"the model {path} was changed after it was published: its digest is {digest_of(raw):.23}...")
    try:
        if strange := _untrusted(raw):
            raise BadTable(f"the model {path} holds {strange[0]}, which is not read from files")
        return _skops().loads(raw, trusted=list(TRUSTED))
    except (BadTable, MissingExtra):
        raise
    except Exception as error:  # files may say anything
        raise BadTable(f"the model {path} cannot be read: {one_line(error)}") from error


def _untrusted(raw: bytes) -> list[str]:
    """Types in a file that are not read from files."""
    return [each for each in _skops().get_untrusted_types(data=raw) if each not in TRUSTED]


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise MissingExtra("model files need skops: install it with pip install 'replical[models]'") from error
    return skops.io


def one_line(error: Exception) -> str:
    """What an error of somebody else's says, in a few words."""
    said = (str(error).strip() or type(error).__name__).splitlines()[0]
    return said[:_LONGEST].rstrip(".")


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


def save(model: Any, path: Path, name: str) -> str:
    """Write a fitted model and return the digest of its file."""
    try:
        raw = canonical_file(_skops().dumps(model))
    except Exception as error:  # whatever skops cannot write
        raise BadRecipe(f"{name} cannot be written as a file: {error}") from error
    if strange := _untrusted(raw):
        raise BadRecipe(f"{name} holds {strange[0]}, which is not read from files: leave this model out")

    def write(part: Path) -> None:
        part.write_bytes(raw)

    write_whole(path, write, what="the model", refuse=BadRecipe)
    return digest_of(raw)


def canonical_file(raw: bytes) -> bytes:
    """The same file of skops, with parts numbered as they come and without a time."""
    with ZipFile(io.BytesIO(raw)) as found:
        parts = {name: found.read(name) for name in found.namelist()}
    schema, files, buffer = json.loads(parts.pop(_SCHEMA)), dict[bytes, str](), io.BytesIO()
    _renumber(schema, parts, files, {})
    with ZipFile(buffer, "w") as out:
        for content, name in files.items():
            out.writestr(ZipInfo(name), content)  # of 1980, as all that has no time
        out.writestr(ZipInfo(_SCHEMA), json.dumps(schema, indent=1))
    return buffer.getvalue()


def _renumber(part: Any, parts: Mapping[str, bytes], files: dict[bytes, str], places: dict[int, int]) -> None:
    """Places in memory and names of files become numbers, in the order in which they come; equal files become one."""
    if isinstance(part, list):
        for each in part:
            _renumber(each, parts, files, places)
    if not isinstance(part, dict):
        return
    if isinstance(part.get("__loader__"), str):  # an object, not what a mapping holds
        if part["__loader__"] in _VALUES:
            part.pop("__id__", None)
        elif isinstance(part.get("__id__"), int):
            part["__id__"] = places.setdefault(part["__id__"], len(places) + 1)
        if isinstance(name := part.get("file"), str):
            part["file"] = files.setdefault(parts[name], f"{len(files)}{Path(name).suffix}")
    for each in part.values():
        _renumber(each, parts, files, places)
