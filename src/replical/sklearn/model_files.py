"""Fitted models as files of skops: what a file holds is named before it is made, and nothing is ever unpickled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    raw: bytes = _skops().dumps(model)
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
        If the file was changed, or holds what is not read from files.
    """
    raw = read_bytes(path, what="the model", refuse=BadTable)
    if digest_of(raw) != digest:
        raise BadTable(f"the model {path} was changed after it was published: its digest is {digest_of(raw):.23}...")
    if strange := _strange(raw):
        raise BadTable(f"the model {path} holds {strange[0]}, which is not read from files")
    return _skops().loads(raw, trusted=list(TRUSTED))


def _strange(raw: bytes) -> list[str]:
    """Types in a file that are not read from files."""
    return [each for each in _skops().get_untrusted_types(data=raw) if each not in TRUSTED]
