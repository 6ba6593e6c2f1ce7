"""Active learning whose answer another lab can reproduce.

`plan` makes the numbers of a learner, `learner_for` the learner, `learn` runs it on a `Pool` with any labels; `audit` counts
how often two labs agree; `confirm` checks an answer that somebody else has found. A real lab publishes a `Protocol`, reads
its items with `read_pool`, keeps labels in a `Journal` and runs a `Session`. Classes of hypotheses: `Thresholds`,
`Intervals`, `Star`, `Stumps`, `Boxes`, `HalfSpaces`, and `PredictionTable` for models of any kind.
"""

from replical.bounds.ranks import agreement_bound
from replical.classes.boxes import Boxes
from replical.classes.halfspaces import HalfSpaces
from replical.classes.intervals import Intervals
from replical.classes.prior import Prior
from replical.classes.star import Star
from replical.classes.stumps import Stumps
from replical.classes.table import PredictionTable
from replical.classes.thresholds import Thresholds
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.lab.journal import Journal
from replical.lab.protocol import Protocol
from replical.lab.session import Session
from replical.lab.tables import read_pool
from replical.learners.a2 import A2, A2Rounds
from replical.learners.asktell import AskTell
from replical.learners.base import learn
from replical.learners.boosted import Boosted
from replical.learners.cal import CAL
from replical.learners.confirm import confirm
from replical.learners.erm import ERM
from replical.learners.for_plan import learner_for
from replical.learners.measured import Measured
from replical.learners.replica2 import ReplicA2
from replical.learners.replicable_erm import ReplicableERM
from replical.learners.replical import RepliCAL
from replical.learners.result import Result
from replical.learners.rounded import Rounded
from replical.learners.settled import Settled
from replical.learners.settled_cal import SettledCAL
from replical.learners.settled_distance import SettledDistance
from replical.plans.plan import plan
from replical.pools.labels.column import KnownLabels
from replical.pools.pool import Pool
from replical.pools.version_space import VersionSpace
from replical.pools.yardstick import Yardstick
from replical.worlds.audit import World, audit
from replical.worlds.balls import ball, curve
from replical.worlds.figures import Audit
from replical.worlds.forecast import Prediction, predict_agreement
from replical.worlds.noise import BoundaryNoise
from replical.worlds.population import Population
from replical.worlds.theta import theta
from replical.worlds.theta_bound import theta_bound

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
    "Journal",
    "KnownLabels",
    "Measured",
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
    "Settled",
    "SettledCAL",
    "SettledDistance",
    "SharedRandomness",
    "Star",
    "Stumps",
    "Thresholds",
    "VersionSpace",
    "World",
    "Yardstick",
    "agreement_bound",
    "audit",
    "ball",
    "confirm",
    "curve",
    "learn",
    "learner_for",
    "plan",
    "predict_agreement",
    "read_pool",
    "theta",
    "theta_bound",
]

__version__ = "0.1.0"
