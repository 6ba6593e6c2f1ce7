"""Like any estimator of scikit-learn: fit, predict, pipelines, cross-validation, with labels revealed as they are asked for.

Needs scikit-learn: ``pip install 'replical[sklearn]'``.
"""

from replical.errors import MissingExtra

try:
    import sklearn  # noqa: F401 - asked for once, so that one sentence says what is missing
except ImportError as error:
    raise MissingExtra(
        "replical.sklearn needs scikit-learn: install it with pip install 'replical[sklearn]'"
    ) from error

from replical.sklearn.classifier import ReplicableClassifier
from replical.sklearn.linear import ReplicableLinear
from replical.sklearn.selector import ReplicableSelector

__all__ = ["ReplicableClassifier", "ReplicableLinear", "ReplicableSelector"]
