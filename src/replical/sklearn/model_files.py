"""Fitted models as files of skops: what a file holds is named before it is made, and nothing is ever unpickled.

The same model has the same file, to the byte: skops writes the time and places in memory into it, and they are left out.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

from replical.core.canonical import digest_of
from replical.core.files import read_bytes, write_whole
from replical.errors import BadRecipe, BadTable, MissingExtra

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


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise MissingExtra("model files need skops: install it with pip install 'replical[models]'") from error
    return skops.io


def save(model: Any, path: Path, name: str) -> str:
    """Write a fitted model and return the digest of its file.

    Raises
    ------
    BadRecipe
        If it holds something that would not be read again, or cannot be written.
    """
    try:
        raw = settled(_skops().dumps(model))
    except Exception as error:  # whatever skops cannot write
        raise BadRecipe(f"{name} cannot be written as a file: {error}") from error
    if strange := _strange(raw):
        raise BadRecipe(f"{name} holds {strange[0]}, which is not read from files: leave this model out")

    def write(part: Path) -> None:
        part.write_bytes(raw)

    write_whole(path, write, what="the model", refuse=BadRecipe)
    return digest_of(raw)


def load(path: Path, digest: str) -> Any:
    """Read the model with this digest.

    Raises
    ------
    BadTable
        If the file was changed, is none of skops, or holds what is not read from files.
    """
    raw = read_bytes(path, what="the model", refuse=BadTable)
    if digest_of(raw) != digest:
        raise BadTable(f"the model {path} was changed after it was published: its digest is {digest_of(raw):.23}...")
    try:
        if strange := _strange(raw):
            raise BadTable(f"the model {path} holds {strange[0]}, which is not read from files")
        return _skops().loads(raw, trusted=list(TRUSTED))
    except (BadTable, MissingExtra):
        raise
    except Exception as error:  # files may say anything
        raise BadTable(f"the model {path} cannot be read: {one_line(error)}") from error


def _strange(raw: bytes) -> list[str]:
    """Types in a file that are not read from files."""
    return [each for each in _skops().get_untrusted_types(data=raw) if each not in TRUSTED]


def settled(raw: bytes) -> bytes:
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


def one_line(error: Exception) -> str:
    """What an error of somebody else's says, in a few words."""
    said = (str(error).strip() or type(error).__name__).splitlines()[0]
    return said[:_LONGEST].rstrip(".")
