"""Every learner, one record each: what it promises, how its plans are made, what it needs, and how it is shown.

A learner is a record here, a file with its plan in `replical.learners`, a claim and a test; `plan`, protocols, audits,
studies, bills, pictures and the command line all read the record. Records name what they stand for (``module:name``), and
it is loaded when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal

from replical.errors import BadSpec, remedy
from replical.learners.parameters import EVERYWHERE
from replical.learners.plan import Plan, Task

Maker = Callable[[Task], Plan]
Setting = Literal["realizable", "agnostic", "either"]


def load(path: str) -> Any:
    """What a record names, ``module:name``."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The names of a learner's bounds in `replical.bounds.complexity`, for noiseless and for noisy labels.

    Attributes
    ----------
    paper
        The paper's; for a learner the paper does not have, those of its own learner for the same task.
    ours
        Those of the plan ``"tight"``.
    """

    paper: tuple[str | None, str | None] = (None, None)
    ours: tuple[str | None, str | None] = (None, None)


_LABELS = "(ln n)^2/(epsilon rho^2)"
_NOISY_LABELS = "nu (ln n)^2/(epsilon^2 rho^2)"  # excess errors vary with ν, and are known to ε with ν/ε² labels


@dataclass(frozen=True, kw_only=True)
class Record:
    """What makes a learner a learner.

    Attributes
    ----------
    id
        Its name in protocols, studies and on the command line.
    learner
        The class that runs its plans.
    setting
        ``"realizable"``: some hypothesis makes no error; ``"agnostic"``: any noise; ``"either"``: as `nu` says.
    replicable
        Does it promise that two labs return the identical hypothesis?
    active
        Does it choose what to ask?
    certifies
        Does a lab end with what it has proven of its own replicability?
    weighs
        Does its proof hold for losses other than errors?
    infers
        Does it infer labels where `nu` is 0, and take no other `nu`?
    lists
        Does it choose from a list of hypotheses? One that does not is for classes that are no list, and stands in
        no bill, audit or study.
    shrinks
        Do later rounds of a run never have more survivors?
    abstains
        May a run end without an answer?
    handicaps
        Does the section [handicap] of a protocol say who is preferred, and not [prior]?
    extends
        May its pool grow? Then a run goes on where it had ended, and its level is that of all parts together.
    grows_with
        What its labels grow with, for noiseless and for noisy labels: why a bill is beyond anybody's means.
    family
        What certificates, pages and sentences say of its runs (`replical.learners.proof.Family`).
    paper, tight
        The functions that make its plans; None where there is no such plan.
    needs, options, paper_options
        Parameters it cannot do without, those it may be given, and those of the plan ``"paper"`` alone.
    parent
        The learner it is made from, with whose labels its own are compared.
    bounds
        Its label-complexity bounds.
    instead
        A learner that promises as much and was better wherever both were measured: this one is kept to study the paper
        and to compare with, and is not suggested.
    colour, marker
        How pictures show it.
    """

    id: str
    learner: str
    setting: Setting
    replicable: bool
    active: bool
    paper: str | None
    tight: str | None
    needs: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    paper_options: frozenset[str] = frozenset()
    certifies: bool = False
    weighs: bool = False
    infers: bool = False
    lists: bool = True
    shrinks: bool = True
    abstains: bool = False
    handicaps: bool = False
    extends: bool = False
    grows_with: tuple[str, str] = (_LABELS, _LABELS)
    family: str = "replical.learners.proof:PLAIN"
    parent: str | None = None
    bounds: Bounds = Bounds()
    instead: str | None = None
    colour: str
    marker: str

    @property
    def boosts(self) -> bool:
        """Is it a replicable learner run many times?"""
        return self.parent is not None and LEARNERS[self.parent].replicable

    @property
    def plans(self) -> dict[str, Maker]:
        """Its plans by name, the paper's first; where ours is the paper's, that one alone."""
        names = {"paper": self.paper, "tight": None if self.tight == self.paper else self.tight}
        return {name: self.maker(name) for name, path in names.items() if path is not None}

    def maker(self, name: str) -> Maker:
        """How a plan of this name is made."""
        if name not in ("paper", "tight"):
            raise BadSpec(f"unknown plan {name!r}; the plans are paper and tight")
        path = self.paper if name == "paper" else self.tight
        if path is None:
            others = " and ".join(self.plans)
            raise BadSpec(f"{self.id} is not a learner of the paper, which has no sizes for it: take the plan {others}")
        make: Maker = load(path)
        if not self.boosts:
            return make
        boost: Callable[[str, Maker], Maker] = load("replical.learners.paper.boosting:boost")
        return boost(str(self.parent), make)

    def uses(self, parameter: str, plan: str | None = None) -> bool:
        """Do its plans depend on a parameter, needed or optional? Those of one plan alone count where it is named."""
        known = self.needs | self.options | frozenset(EVERYWHERE)
        return parameter in (known | self.paper_options if plan == "paper" else known)

    def best_error(self, nu: float | None) -> float | None:
        """`nu` as its plans take it; None where they do not depend on it, though somebody knows it."""
        return None if not self.uses("nu") or (self.infers and nu) else nu


_SIZES = frozenset({"k_loop", "k_final"})

# Colours are Okabe and Ito's, told apart by everybody, with darker shades of them for noisy labels; a boosted learner has
# the colour of its base. No two learners have one marker, so that pictures can be read without colours too.
_ERM = Record(
    id="erm",
    learner="replical.learners.paper.erm:ERM",
    setting="either",
    replicable=False,
    active=False,
    paper="replical.learners.paper.erm:paper",
    tight="replical.learners.paper.erm:tight",
    options=frozenset({"k_final", "nu"}),
    bounds=Bounds(paper=("passive", "passive_agnostic")),
    colour="#808080",
    marker="v",
)
_CAL = Record(
    id="cal",
    learner="replical.learners.paper.cal:CAL",
    setting="realizable",
    replicable=False,
    active=True,
    paper=None,
    tight="replical.learners.paper.cal:streaming",
    bounds=Bounds(paper=("cal", None)),
    colour="#2A8FCB",
    marker="o",
)
_CAL_ROUNDS = Record(
    id="cal-rounds",
    learner="replical.learners.paper.cal:CAL",
    setting="realizable",
    replicable=False,
    active=True,
    paper="replical.learners.paper.cal:paper",
    tight="replical.learners.paper.cal:tight",
    needs=frozenset({"theta"}),
    options=frozenset({"k_loop"}),
    bounds=Bounds(paper=("cal", None)),
    instead="cal",
    colour="#0072B2",
    marker="p",
)
_A2 = Record(
    id="a2",
    learner="replical.learners.paper.a2:A2",
    setting="agnostic",
    replicable=False,
    active=True,
    paper=None,
    tight="replical.learners.paper.a2:betting",
    options=frozenset({"batch"}),
    bounds=Bounds(paper=("a2", "a2")),
    colour="#C98500",
    marker="s",
)
_A2_ROUNDS = Record(
    id="a2-rounds",
    learner="replical.learners.paper.a2:A2Rounds",
    setting="agnostic",
    replicable=False,
    active=True,
    paper="replical.learners.paper.a2:rounds",
    tight="replical.learners.paper.a2:rounds",
    needs=frozenset({"theta", "nu"}),
    options=_SIZES,
    grows_with=(_NOISY_LABELS, _NOISY_LABELS),
    bounds=Bounds(paper=("a2", "a2")),
    instead="a2",
    colour="#6E4B00",
    marker="h",
)
_REPLICABLE_ERM = Record(
    id="replicable-erm",
    learner="replical.learners.paper.replicable_erm:ReplicableERM",
    setting="either",
    replicable=True,
    active=False,
    paper="replical.learners.paper.replicable_erm:paper",
    tight="replical.learners.paper.replicable_erm:tight",
    needs=frozenset({"rho", "nu"}),
    options=frozenset({"k_final"}),
    parent="erm",
    grows_with=(_LABELS, _NOISY_LABELS),
    bounds=Bounds(
        paper=("replicable_passive", "replicable_passive_agnostic"),
        ours=("replicable_passive_tight", "replicable_passive_agnostic_tight"),
    ),
    instead="handicap",
    colour="#CC79A7",
    marker="^",
)
_REPLICA2 = Record(
    id="replica2",
    learner="replical.learners.paper.replica2:ReplicA2",
    setting="agnostic",
    replicable=True,
    active=True,
    paper="replical.learners.paper.replica2:paper",
    tight="replical.learners.paper.replica2:tight",
    needs=frozenset({"theta", "rho", "nu"}),
    options=_SIZES,
    parent="a2-rounds",
    grows_with=(_NOISY_LABELS, _NOISY_LABELS),
    bounds=Bounds(paper=("replica2", "replica2"), ours=("replica2_tight", "replica2_tight")),
    instead="handicap",
    colour="#8C2D04",
    marker="X",
)
_REPLICAL = Record(
    id="replical",
    learner="replical.learners.paper.replical:RepliCAL",
    setting="realizable",
    replicable=True,
    active=True,
    paper="replical.learners.paper.replical:paper",
    tight="replical.learners.paper.replical:tight",
    needs=frozenset({"theta", "rho"}),
    options=_SIZES,
    paper_options=frozenset({"T"}),
    parent="cal-rounds",
    grows_with=("(ln n)^2/(rho^2)", "(ln n)^2/(rho^2)"),  # ε cancels: the last sample is asked in DIS(V) only
    bounds=Bounds(paper=("replical", None), ours=("replical_tight", None)),
    instead="handicap",
    colour="#D55E00",
    marker="D",
)
_HANDICAP = Record(
    id="handicap",
    learner="replical.learners.handicap.learner:Handicap",
    setting="either",
    replicable=True,
    active=True,
    certifies=True,
    handicaps=True,
    extends=True,
    weighs=True,
    infers=True,
    paper=None,
    tight="replical.learners.handicap.plan:handicap",
    family="replical.learners.handicap.certificate:FAMILY",
    needs=frozenset({"rho"}),
    options=frozenset({"a", "b", "batch", "labs", "nu", "shortlist"}),
    parent="a2",
    bounds=Bounds(paper=("replica2", "replica2")),
    colour="#111111",
    marker="$h$",
)


def _boost(base: Record, marker: str, bounds: Bounds) -> Record:
    """A replicable learner, run many times."""
    return replace(
        base,
        id=f"boosted-{base.id}",
        learner="replical.learners.paper.boosting:Boosted",
        options=base.options | {"strings", "runs"},
        paper_options=frozenset(),
        shrinks=False,  # every run begins anew
        abstains=True,
        parent=base.id,
        bounds=bounds,
        marker=marker,
    )


_LATTICE = Record(
    id="lattice",
    learner="replical.lattice.learner:Lattice",
    setting="either",
    replicable=True,
    active=True,
    certifies=True,
    lists=False,
    shrinks=False,  # how far the directions reach that are left is not computed after every label
    family="replical.lattice.certificate:FAMILY",
    paper=None,
    tight="replical.lattice.plan:lattice",
    needs=frozenset({"rho"}),
    options=frozenset({"nu", "labs"}),
    colour="#000000",
    marker="+",
)
_ALL = (
    _ERM,
    _CAL,
    _CAL_ROUNDS,
    _A2,
    _A2_ROUNDS,
    _REPLICABLE_ERM,
    _REPLICA2,
    _REPLICAL,
    _HANDICAP,
    _boost(_REPLICABLE_ERM, "<", Bounds(paper=("replicable_passive_boosted", None))),
    _boost(_REPLICA2, "8", Bounds(paper=("replica2_boosted", "replica2_boosted"))),
    _boost(_REPLICAL, ">", Bounds(paper=("replical_boosted", None))),
    _LATTICE,
)
LEARNERS: dict[str, Record] = {record.id: record for record in _ALL}


def of_lists() -> list[Record]:
    """Learners that choose from a list of hypotheses: those of bills, audits and studies."""
    return [record for record in LEARNERS.values() if record.lists]


def standard_learner(*, lists: bool = True) -> str:
    """The learner to take where nobody says; where the class is no list, there is one learner.

    Examples
    --------
    >>> standard_learner(), standard_learner(lists=False)
    ('handicap', 'lattice')
    """
    return "handicap" if lists else "lattice"


def find(learner: str) -> Record:
    """The record of a learner; `BadSpec` for an id that nobody has.

    Examples
    --------
    >>> find("handicap").parent, sorted(find("cal-rounds").needs)
    ('a2', ['theta'])
    """
    if learner not in LEARNERS and (gone := remedy(str(learner))):
        raise BadSpec(f"unknown learner {learner!r}{gone}")
    if learner not in LEARNERS and str(learner).removeprefix("boosted-") in LEARNERS:
        bases = ", ".join(record.parent for record in LEARNERS.values() if record.boosts and record.parent)
        raise BadSpec(f"unknown learner {learner!r}: boosting starts from a replicable learner, one of {bases}")
    if learner not in LEARNERS:
        raise BadSpec(f"unknown learner {learner!r}; the learners are {', '.join(LEARNERS)}")
    return LEARNERS[learner]


def takes_handicaps(content: Any) -> bool:
    """Is this what a protocol says of a learner that takes handicaps?"""
    record = LEARNERS.get(str(content.get("name"))) if isinstance(content, Mapping) else None
    return record is not None and record.handicaps


def owner(parameter: str) -> str:
    """Whose plan ``"paper"`` alone knows a parameter; empty where others know it too."""
    return next((record.id for record in LEARNERS.values() if parameter in record.paper_options), "")
