"""Like any estimator of scikit-learn: fit, predict, pipelines, cross-validation, with labels revealed as they are asked for.

Needs scikit-learn: ``pip install 'replical[sklearn]'``.
"""

from replical.sklearn.classifier import ReplicableClassifier
from replical.sklearn.linear import ReplicableLinear
from replical.sklearn.selector import ReplicableSelector

__all__ = ["ReplicableClassifier", "ReplicableLinear", "ReplicableSelector"]
