"""Active learning whose answer another lab can reproduce.

`plan` makes the numbers of a learner, `learner_for` the learner, `learn` runs it on a `Pool` with any labels; `audit` counts
how often two labs agree; `confirm` checks an answer that somebody else has found. A real lab publishes a `Protocol` and
runs it with `run`: its items and whoever labels go in, a `Journal` of all labels and a certificate come out (`Session` and
`read_pool` are its parts). Classes of hypotheses: `Thresholds`, `Intervals`, `Star`, `Stumps`, `Boxes`, `HalfSpaces`, and
`PredictionTable` for models of any kind; `Linear` (half-spaces) is learned by `Lattice` with the numbers of `lattice_plan`.

Names are loaded when they are first used: ``import replical`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.3.0"

# Where each public name is defined; the same list again, below, for type checkers and editors.
_HOMES = {
    "A2": "learners.paper.a2",
    "CAL": "learners.paper.cal",
    "ERM": "learners.paper.erm",
    "A2Rounds": "learners.paper.a2",
    "AskTell": "learners.base",
    "Audit": "worlds.audit",
    "Boosted": "learners.paper.boosting",
    "Boxes": "classes.boxes",
    "Gold": "classes.grading",
    "Handicap": "learners.handicap.learner",
    "Groups": "pools.groups",
    "Handicaps": "learners.handicap.handicaps",
    "HalfSpaces": "classes.halfspaces",
    "Intervals": "classes.intervals",
    "Journal": "lab.journal.journal",
    "KnownGold": "pools.query",
    "KnownLabels": "pools.query",
    "Lattice": "lattice.learner",
    "Linear": "lattice.linear",
    "Losses": "classes.losses",
    "Measured": "learners.measured",
    "OutputTable": "classes.outputs",
    "Pool": "pools.pool",
    "Population": "worlds.world",
    "Prediction": "worlds.forecast",
    "PredictionTable": "classes.table",
    "Prior": "classes.prior",
    "PrivateRandomness": "core.randomness",
    "Protocol": "lab.protocol",
    "RepliCAL": "learners.paper.replical",
    "ReplicA2": "learners.paper.replica2",
    "ReplicableERM": "learners.paper.replicable_erm",
    "Result": "learners.result",
    "Rule": "lab.certificate.rule",
    "Scores": "classes.grading",
    "Session": "lab.sessions.session",
    "SharedRandomness": "core.randomness",
    "Star": "classes.star",
    "Stumps": "classes.stumps",
    "Thresholds": "classes.thresholds",
    "UncertifiedWarning": "errors",
    "VersionSpace": "pools.version_space",
    "World": "worlds.world",
    "agreement_bound": "bounds.ranks",
    "audit": "worlds.audit",
    "ball": "worlds.theta",
    "confirm": "learners.handicap.confirm",
    "curve": "worlds.theta",
    "lattice_plan": "lattice.plan",
    "learn": "learners.base",
    "mean_interval": "bounds.betting",
    "learner_for": "learners.planning",
    "plan": "learners.planning",
    "predict_agreement": "worlds.forecast",
    "read_pool": "lab.tables",
    "read_rule": "lab.certificate.rule",
    "run": "lab.run",
    "theta": "worlds.theta",
    "theta_bound": "worlds.theta",
    "trusting_sizes": "core.files",
}
_ROOMS = ("bounds", "classes", "core", "errors", "lab", "learners", "pools", "worlds")

__all__ = list(_HOMES)

if TYPE_CHECKING:
    from replical.bounds.betting import mean_interval as mean_interval
    from replical.bounds.ranks import agreement_bound as agreement_bound
    from replical.classes.boxes import Boxes as Boxes
    from replical.classes.grading import Gold as Gold
    from replical.classes.grading import Scores as Scores
    from replical.classes.halfspaces import HalfSpaces as HalfSpaces
    from replical.classes.intervals import Intervals as Intervals
    from replical.classes.losses import Losses as Losses
    from replical.classes.outputs import OutputTable as OutputTable
    from replical.classes.prior import Prior as Prior
    from replical.classes.star import Star as Star
    from replical.classes.stumps import Stumps as Stumps
    from replical.classes.table import PredictionTable as PredictionTable
    from replical.classes.thresholds import Thresholds as Thresholds
    from replical.core.files import trusting_sizes as trusting_sizes
    from replical.core.randomness import PrivateRandomness as PrivateRandomness
    from replical.core.randomness import SharedRandomness as SharedRandomness
    from replical.errors import UncertifiedWarning as UncertifiedWarning
    from replical.lab.certificate.rule import Rule as Rule
    from replical.lab.certificate.rule import read_rule as read_rule
    from replical.lab.journal.journal import Journal as Journal
    from replical.lab.protocol import Protocol as Protocol
    from replical.lab.run import run as run
    from replical.lab.sessions.session import Session as Session
    from replical.lab.tables import read_pool as read_pool
    from replical.lattice.learner import Lattice as Lattice
    from replical.lattice.linear import Linear as Linear
    from replical.lattice.plan import lattice_plan as lattice_plan
    from replical.learners.base import AskTell as AskTell
    from replical.learners.base import learn as learn
    from replical.learners.handicap.confirm import confirm as confirm
    from replical.learners.handicap.handicaps import Handicaps as Handicaps
    from replical.learners.handicap.learner import Handicap as Handicap
    from replical.learners.measured import Measured as Measured
    from replical.learners.paper.a2 import A2 as A2
    from replical.learners.paper.a2 import A2Rounds as A2Rounds
    from replical.learners.paper.boosting import Boosted as Boosted
    from replical.learners.paper.cal import CAL as CAL
    from replical.learners.paper.erm import ERM as ERM
    from replical.learners.paper.replica2 import ReplicA2 as ReplicA2
    from replical.learners.paper.replicable_erm import ReplicableERM as ReplicableERM
    from replical.learners.paper.replical import RepliCAL as RepliCAL
    from replical.learners.planning import learner_for as learner_for
    from replical.learners.planning import plan as plan
    from replical.learners.result import Result as Result
    from replical.pools.groups import Groups as Groups
    from replical.pools.pool import Pool as Pool
    from replical.pools.query import KnownGold as KnownGold
    from replical.pools.query import KnownLabels as KnownLabels
    from replical.pools.version_space import VersionSpace as VersionSpace
    from replical.worlds.audit import Audit as Audit
    from replical.worlds.audit import audit as audit
    from replical.worlds.forecast import Prediction as Prediction
    from replical.worlds.forecast import predict_agreement as predict_agreement
    from replical.worlds.theta import ball as ball
    from replical.worlds.theta import curve as curve
    from replical.worlds.theta import theta as theta
    from replical.worlds.theta import theta_bound as theta_bound
    from replical.worlds.world import Population as Population
    from replical.worlds.world import World as World
else:  # type checkers would take it to mean that any name exists

    def __getattr__(name):
        """A public name, or a room such as `replical.errors`, loaded now."""
        if name in _HOMES:
            value = globals()[name] = getattr(import_module(f"replical.{_HOMES[name]}"), name)
            return value
        if name in _ROOMS:
            return import_module(f"replical.{name}")
        raise AttributeError(f"module 'replical' has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *_HOMES, *_ROOMS})
