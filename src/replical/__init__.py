"""Active learning whose answer another lab can reproduce."""

from replical.auditing import Audit, World, audit
from replical.classes.intervals import Intervals
from replical.classes.star import Star
from replical.classes.table import PredictionTable
from replical.classes.thresholds import Thresholds
from replical.disagreement import theta
from replical.labels.known import KnownLabels
from replical.learners.base import Result, learn
from replical.learners.cal import CAL
from replical.learners.erm import ERM
from replical.learners.replical import RepliCAL
from replical.plans import plan
from replical.pool import Pool
from replical.population import Population
from replical.randomness import PrivateRandomness, SharedRandomness
from replical.version_space import VersionSpace

__all__ = [
    "CAL",
    "ERM",
    "Audit",
    "Intervals",
    "KnownLabels",
    "Pool",
    "Population",
    "PredictionTable",
    "PrivateRandomness",
    "RepliCAL",
    "Result",
    "SharedRandomness",
    "Star",
    "Thresholds",
    "VersionSpace",
    "World",
    "audit",
    "learn",
    "plan",
    "theta",
]

__version__ = "0.1.0"
