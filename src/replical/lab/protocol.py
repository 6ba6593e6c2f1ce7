"""A protocol: what is published before any lab asks for a label.

A TOML file with the class, the label set, the learner and its parameters, and one random string. It is read strictly:
a key it may not have is an error that names it. Its fingerprint covers everything but title and notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from replical.classes import outputs
from replical.classes.base import Label, is_listed
from replical.classes.catalogue import recipe
from replical.classes.grading import Answering, Gold, Said, answering, word_of
from replical.classes.losses import Losses
from replical.classes.prior import UNIFORM, Prior
from replical.classes.recipe import Recipe
from replical.core.canonical import canonical, fingerprint
from replical.core.files import read_toml, toml_lines
from replical.core.memory import remembered
from replical.core.randomness import SharedRandomness
from replical.errors import BadLabel, BadProtocol
from replical.lab import schema
from replical.learners.base import Learner
from replical.learners.catalogue import Record, find
from replical.learners.handicap.confirm import CONFIRM, Confirm, ConfirmPlan, confirm_plan
from replical.learners.handicap.handicaps import Handicaps
from replical.learners.plan import Plan, Setting
from replical.learners.planning import learner_for, plan
from replical.pools.groups import Groups

# Keys of a prior beside its kind.
_PRIORS = {"uniform": (), "weights": ("weights",), "order": ("order", "shortlist", *schema.PUBLIC, *schema.TRANSCRIPT)}


@dataclass(frozen=True)
class Protocol:
    """A published protocol.

    Parameters
    ----------
    content
        What the file says, checked by `Protocol.of`.

    Examples
    --------
    >>> protocol = Protocol.of({
    ...     "schema": "replical.protocol/1", "seed": "published",
    ...     "class": {"kind": "table", "candidates": [{"name": "a"}, {"name": "b"}]},
    ...     "labels": {"values": ["no", "yes"]},
    ...     "learner": {"name": "handicap", "epsilon": .05, "delta": .05, "rho": .1}})
    >>> len(protocol.recipe.C), protocol.plan.learner, protocol.fingerprint[:15]
    (2, 'handicap', 'sha256:6f99142f')
    """

    content: Mapping[str, Any]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Protocol:
        """Check everything that the `content` of a protocol says.

        Raises
        ------
        BadProtocol
            For a key or value it may not have, or lacks.
        """
        return remembered("protocol", content, lambda: cls._check(content))

    @classmethod
    def _check(cls, content: Mapping[str, Any]) -> Protocol:
        schema.check_shape(content)
        protocol = cls(content)
        _ = protocol.plan  # makes the class, the prior and the plan, each of which checks its part
        _check_many(protocol)
        try:
            canonical(dict(content)).encode()
        except UnicodeEncodeError as error:
            raise BadProtocol(f"a protocol is valid Unicode text, got {error.object[error.start]!r} in it") from error
        return protocol

    @classmethod
    def read(cls, path: Path) -> Protocol:
        """Read the TOML file at `path`.

        Raises
        ------
        BadProtocol
            If it cannot be read, or says something it may not say.
        """
        content = read_toml(path, what="the protocol", refuse=BadProtocol)
        try:
            return cls.of(content)
        except BadProtocol as error:
            raise BadProtocol(f"{path}: {error}") from error

    @property
    def title(self) -> str:
        """For people; not in the fingerprint."""
        return str(self.content.get("title", ""))

    @property
    def body(self) -> dict[str, Any]:
        """Everything but title and notes."""
        return {key: value for key, value in self.content.items() if key not in ("title", "notes")}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the body."""
        return fingerprint(self.body)

    @cached_property
    def answers(self) -> Answering:
        """What may be said of an item: one of the labels, in their public order, or a gold answer that a loss can read."""
        return answering(self.content["labels"])

    @property
    def labels(self) -> tuple[Label, ...]:
        """The label set, in its public order; empty where answers are free."""
        return self.answers if isinstance(self.answers, tuple) else ()

    def code(self, item: str, answer: Said) -> Said:
        """What a journal keeps of an `answer` about an `item`.

        Raises
        ------
        BadLabel
            If it is none of the labels, or nothing that the loss reads.
        """
        if isinstance(self.answers, Gold):
            return self.answers.read(answer, f"the answer of the item {item!r}")
        if isinstance(answer, bool) or answer not in self.answers:
            raise BadLabel(f"{answer!r} for the item {item!r} is none of {list(self.answers)!r}")
        return self.answers.index(answer)

    def word(self, said: Said) -> Said:
        """What was `said`, as the protocol spells it."""
        return word_of(said, self.answers)

    @property
    def lab_names(self) -> tuple[str, ...]:
        """The labs it lists, in their public order; none where any lab may take part."""
        return tuple(self.content.get("labs", {}).get("names", ()))

    @property
    def lab_keys(self) -> Mapping[str, str]:
        """Public keys of the labs that sign, by their names."""
        found: Mapping[str, str] = self.content.get("labs", {}).get("keys", {})
        return found

    @property
    def beacon(self) -> str | None:
        """Which public value takes part in the private seeds, in words; None where there is none."""
        found: str | None = self.content.get("beacon")
        return found

    @property
    def registers(self) -> bool:
        """Must every lab register before its first label?"""
        return "beacon" in self.content or bool(self.content.get("register", False))

    @property
    def labs_most(self) -> int | None:
        """K, where the promise is about so many labs together; None where it is about any two of them."""
        return next((int(number.value) for number in self.plan.numbers if number.name == "labs"), None)

    @cached_property
    def shared(self) -> SharedRandomness:
        """The published random string."""
        return SharedRandomness(self.content["seed"])

    @cached_property
    def recipe(self) -> Recipe:
        """The class and the columns it needs, and what predictions cost."""
        made = recipe_of(*(self.content[key] for key in ("class", "labels", "seed")))
        return replace(made, group=self.content.get("pool", {}).get("group"))

    @cached_property
    def prior(self) -> Prior:
        """How the shared order prefers hypotheses."""
        return _prior(self.content, self.recipe)

    @property
    def preference(self) -> Mapping[str, Any]:
        """The section that says who is preferred: [handicap] of the learner of this name, [prior] of all others."""
        found: Mapping[str, Any] = self.content.get("handicap", self.content.get("prior", {}))
        return found

    @cached_property
    def handicaps(self) -> Handicaps | None:
        """Where handicaps come from, if neither from an order or weights nor from the string."""
        return schema.handicaps_of(self.content.get("handicap", {}), self.recipe)

    @property
    def public(self) -> str | None:
        """The fingerprint of the public table that order or cover was made from; None where there is none."""
        found: str | None = self.preference.get("public")
        return found

    @property
    def population(self) -> str | None:
        """The fingerprint of the table that all labs have and that the promise is about; None where pools are samples."""
        found: str | None = self.content.get("pool", {}).get("population")
        return found

    @property
    def options(self) -> dict[str, Any]:
        """What the file says of its learner, as keywords of `replical.plan`; the prior stands elsewhere."""
        section = {key: value for key, value in self.content["learner"].items() if key not in ("name", "plan")}
        measured: dict[str, Any] = {} if self.recipe.losses is None else {"losses": self.recipe.losses}
        measured |= {} if self.handicaps is None else {"handicaps": self.handicaps}
        measured |= {key: value for key, value in self.preference.items() if key == "shortlist"}
        measured |= {} if self.population is None else {"table": True}
        if self.recipe.group is not None:
            section_of_pool = self.content["pool"]
            measured["groups"] = Groups(section_of_pool["group_size"], section_of_pool.get("group_weights", "item"))
        return section | measured | {"name": self.content["learner"].get("plan", "tight")}

    @cached_property
    def plan(self) -> Plan:
        """Every number of the learner, for finite pools."""
        return plan(self.content["learner"]["name"], self.recipe.C, pool="finite", prior=self.prior, **self.options)

    @property
    def record(self) -> Record:
        """What the catalogue says of its learner."""
        return find(self.content["learner"]["name"])

    def parameter(self, name: str) -> Any:
        """A parameter of the learner, by its `name`, as the file says it; None where it is left out."""
        return self.content["learner"].get(name)

    def setting(self, *, theta: float | None = None, nu: float | None = None) -> Setting:
        """The public numbers its bill depends on; `theta` and `nu` are supposed where the file leaves them out.

        An agnostic learner that was told no ν is billed as if labels had no noise.
        """
        nu = self.parameter("nu") if self.parameter("nu") is not None else nu
        return Setting(
            n=len(self.recipe.C),
            epsilon=self.parameter("epsilon"),
            delta=self.parameter("delta"),
            rho=self.parameter("rho"),
            theta=self.parameter("theta") if self.parameter("theta") is not None else theta,
            nu=0.0 if nu is None and self.record.setting == "agnostic" else nu,
            labs=self.parameter("labs") or 2,
        )

    @property
    def learner(self) -> Learner:
        """The learner every lab runs."""
        return learner_for(self.plan)

    @property
    def parts(self) -> dict[str, Any]:
        """What its certificates have beside what all have."""
        return {}

    @property
    def binding(self) -> dict[str, Any]:
        """What journals are bound to beside protocol and pool."""
        return {}

    def confirming(self, hypothesis: int, part: Mapping[str, Any]) -> Confirming:
        """The same protocol, to confirm this `hypothesis`; `part` says whose answer it is, and how closely to look."""
        return Confirming(self.content, hypothesis, part)

    def toml(self) -> str:
        """The protocol as a file; reading it gives the same fingerprint."""
        lines = toml_lines({key: self.content[key] for key in schema.PLAIN if key in self.content})
        for section in schema.SECTIONS:
            if section in self.content:
                lines += ["", f"[{section}]", *toml_lines(self.content[section])]
        return "\n".join(lines) + "\n"


def recipe_of(section: Mapping[str, Any], labels: Mapping[str, Any], seed: str) -> Recipe:
    """A class `section` and the section of `labels` together: candidates may abstain, and predictions cost."""
    return remembered("class", [section, labels, seed], lambda: _make_recipe(section, labels, seed))


def _make_recipe(section: Mapping[str, Any], labels: Mapping[str, Any], seed: str) -> Recipe:
    values, abstain = answering(labels), labels.get("abstain")
    if isinstance(values, Gold):
        if section.get("kind") != "table" or "cuts" in section:
            raise BadProtocol(
                "a loss compares outputs of candidates: the class is of kind table, without cuts, where [labels] has a loss"
            )
        return outputs.recipe(recipe(section, (0, 1), seed).columns, values)
    if not {"weights", "abstain", "price"} & set(labels):  # errors are all alike
        return recipe(section, values, seed)
    losses = Losses.of(values, weights=labels.get("weights"), abstain=abstain, price=labels.get("price"))
    if losses is None or not losses.abstains:
        return replace(recipe(section, values, seed), losses=losses)
    if section.get("kind") != "table":
        raise BadProtocol(f"only candidates of a table abstain, and the class is of kind {section.get('kind')!r:.40}")
    return replace(recipe(section, (*values, labels["abstain"]), seed, abstains=True), losses=losses)


def _check_many(protocol: Protocol) -> None:
    most, listed = protocol.labs_most, len(protocol.lab_names)
    if most is not None and listed > most:
        raise BadProtocol(
            f"{listed} labs are listed, and the learner's numbers are for labs = {most}: write {listed} there"
        )


def _prior(content: Mapping[str, Any], class_recipe: Recipe) -> Prior:
    section = schema.prior_section(content)
    kind, C = section.get("kind"), class_recipe.C
    for key in section:
        if key not in ("kind", *_PRIORS.get(str(kind), ())):
            raise BadProtocol(f"a prior of kind {kind!r} has no key {key!r}")
    if kind in _PRIORS and kind != "uniform" and not is_listed(C):
        raise BadProtocol(
            f"a class of kind {content['class']['kind']} is no list, and a prior prefers hypotheses of a list: leave the "
            "section [prior] out"
        )
    if kind == "uniform":
        return UNIFORM
    if kind == "weights":
        return Prior.weights(C, _weights(section.get("weights")))
    if kind == "order":
        if not isinstance(section.get("order"), list):
            raise BadProtocol(
                "a prior of kind order lists every hypothesis once, the most preferred first: order = [..]"
            )
        schema.check_public(section)
        schema.check_answers(section, class_recipe.answers)
        return Prior.order(C, section["order"])
    raise BadProtocol(f"unknown kind of prior {kind!r}; the kinds are uniform, weights and order")


def _weights(value: Any) -> Any:
    """Weights as numbers; a text that looks like one is none."""
    listed = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(listed, list) or any(isinstance(w, bool) or not isinstance(w, int | float) for w in listed):
        raise BadProtocol(f"weights must be numbers, one a hypothesis, got {value!r:.60}")
    return value


@dataclass(frozen=True)
class Confirming(Protocol):
    """A protocol whose published answer a lab confirms on its own items, in place of a run.

    It is another question with a journal of its own. Whoever confirms registers and signs as those who run do, need not be
    listed, and waits for no beacon.

    Parameters
    ----------
    content
        What the file says.
    hypothesis
        Index of the answer.
    part
        Of which certificate it is, on which pool it was computed, and the numbers of the confirmation, as in certificates.
    """

    hypothesis: int
    part: Mapping[str, Any]

    lab_names, beacon = (), None

    @property
    def parts(self) -> dict[str, Any]:
        """What is confirmed."""
        return {"confirms": dict(self.part)}

    @property
    def binding(self) -> dict[str, Any]:
        """The answer and how closely. A budget may be raised later: whenever one stops, the outcome holds."""
        fixed = {key: value for key, value in self.part.items() if key != "max_labels"}
        return {"confirms": fixed | {"hypothesis": self.hypothesis}}

    @cached_property
    def plan(self) -> ConfirmPlan:
        """The numbers of the confirmation."""
        numbers = {key: self.part[key] for key in ("margin", "level", "batch", "max_labels")}
        return confirm_plan(len(self.recipe.C), losses=self.recipe.losses, **numbers)

    @property
    def record(self) -> Record:
        """What is known of Confirm."""
        return CONFIRM

    @property
    def learner(self) -> Confirm:
        """Who asks."""
        return Confirm(plan=self.plan, h=self.hypothesis)
