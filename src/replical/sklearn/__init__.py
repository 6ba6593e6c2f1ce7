"""Like any estimator of scikit-learn: fit, predict, pipelines, cross-validation, with labels revealed as they are asked for.

Needs scikit-learn: ``pip install 'replical[sklearn]'``.
"""

from replical.errors import need

need("sklearn", "replical.sklearn needs scikit-learn")

from replical.sklearn.classifier import ReplicableClassifier  # noqa: E402
from replical.sklearn.linear import ReplicableLinear  # noqa: E402
from replical.sklearn.selector import ReplicableSelector  # noqa: E402

__all__ = ["ReplicableClassifier", "ReplicableLinear", "ReplicableSelector"]
