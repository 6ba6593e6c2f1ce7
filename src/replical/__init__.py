"""Active learning whose answer another lab can reproduce."""

from replical.asktell import AskTell
from replical.auditing import Audit, World, audit
from replical.classes.boxes import Boxes
from replical.classes.halfspaces import HalfSpaces
from replical.classes.intervals import Intervals
from replical.classes.star import Star
from replical.classes.stumps import Stumps
from replical.classes.table import PredictionTable
from replical.classes.thresholds import Thresholds
from replical.disagreement import theta
from replical.labels.known import KnownLabels
from replical.learners.a2 import A2, A2Rounds
from replical.learners.base import Result, learn
from replical.learners.boosted import Boosted
from replical.learners.cal import CAL
from replical.learners.erm import ERM
from replical.learners.replica2 import ReplicA2
from replical.learners.replicable_erm import ReplicableERM
from replical.learners.replical import RepliCAL
from replical.learners.rounded import Rounded
from replical.noise import BoundaryNoise
from replical.plans import plan
from replical.pool import Pool
from replical.population import Population
from replical.prediction import Prediction, predict_agreement
from replical.prior import Prior
from replical.protocol import Protocol
from replical.randomness import PrivateRandomness, SharedRandomness
from replical.ranks import agreement_bound
from replical.session import Session
from replical.tables import read_pool
from replical.version_space import VersionSpace

__all__ = [
    "A2",
    "CAL",
    "ERM",
    "A2Rounds",
    "AskTell",
    "Audit",
    "Boosted",
    "BoundaryNoise",
    "Boxes",
    "HalfSpaces",
    "Intervals",
    "KnownLabels",
    "Pool",
    "Population",
    "Prediction",
    "PredictionTable",
    "Prior",
    "PrivateRandomness",
    "Protocol",
    "RepliCAL",
    "ReplicA2",
    "ReplicableERM",
    "Result",
    "Rounded",
    "Session",
    "SharedRandomness",
    "Star",
    "Stumps",
    "Thresholds",
    "VersionSpace",
    "World",
    "agreement_bound",
    "audit",
    "learn",
    "plan",
    "predict_agreement",
    "read_pool",
    "theta",
]

__version__ = "0.1.0"
