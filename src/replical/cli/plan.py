"""The bill before the first label: ``replical plan``, of a protocol, ``replical paper bill``, of a class and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.classes.base import HypothesisClass, Items
from replical.classes.catalogue import parse
from replical.classes.grading import Scores, loss_of
from replical.cli import forecasts
from replical.cli.inputs import CLASSES, SIMULATED, IdColumn, NetSeed, learner_flag, parameter, pool_of, whole
from replical.cli.output import AsJson, answer, progress, prose
from replical.cli.protocol import cut_words, loss_words
from replical.core.exact import round_down_to
from replical.core.text import amount, count, plural
from replical.errors import BadUsage
from replical.lab.protocol import Protocol
from replical.learners.bills import Bill, all_agree, bills, cheapest
from replical.learners.catalogue import find
from replical.learners.plan import Setting
from replical.learners.proof import family_of
from replical.pools.pool import Pool
from replical.worlds.forecast import DRAWS, Prediction
from replical.worlds.theta import theta as disagreement_coefficient
from replical.worlds.world import World, parse_noise

_SMALL = 2000  # hypotheses up to which the disagreement coefficient takes seconds
_SOME = 5000  # items of a pool it is computed on


Theta = Annotated[float | None, parameter("theta", "disagreement coefficient; computed for small classes if left out")]
Nu = Annotated[float | None, parameter("nu", "upper bound on the best error; without it labels are noiseless")]
Labs = Annotated[int, typer.Option("--labs", parser=whole, help="how many labs are to agree")]
ItemsFile = Annotated[Path | None, typer.Option("--pool", help="unlabelled items: .parquet or .csv")]
Noise = Annotated[str | None, typer.Option("--noise", help="share of wrong labels to expect (default: nu)")]
Truths = Annotated[int, typer.Option("--truths", parser=whole, help="worlds to simulate, each with a pair of labs")]
Everything = Annotated[bool, typer.Option("--all", help="also the bills of every learner")]


def plan_command(
    protocol_file: Annotated[Path, typer.Argument(metavar="PROTOCOL", help="a protocol file")],
    pool: ItemsFile = None,
    id_column: IdColumn = "id",
    theta: Theta = None,
    nu: Nu = None,
    labs: Labs = 2,
    noise: Noise = None,
    truths: Truths = DRAWS,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """Check a protocol, print its fingerprint, and say what it costs: labels and agreement to expect.

    From unlabelled items (--pool), or from public numbers alone. --all lists the bills of every learner.
    """
    protocol = Protocol.read(protocol_file)
    if not as_json:
        _say_protocol(protocol, protocol_file)
    if (cost := family_of(protocol.record).cost(protocol)) is not None:
        forecasts.show_cost(protocol, cost, pool, id_column, as_json=as_json)
        return
    question = about_protocol(protocol, protocol_file.name, pool, id_column, theta=theta, nu=nu)
    _answer(question, labs, noise, truths, everything=everything, as_json=as_json)


def bill_command(
    class_spec: Annotated[str, typer.Option("--class", help=CLASSES)],
    epsilon: Annotated[float, parameter("epsilon")],
    learner: Annotated[str | None, learner_flag(help="this learner; the cheapest if left out")] = None,
    delta: Annotated[float, parameter("delta")] = 0.05,
    rho: Annotated[float, parameter("rho")] = 0.1,
    theta: Theta = None,
    nu: Nu = None,
    labs: Labs = 2,
    seed: NetSeed = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """What would a class cost? The labels to expect of the cheapest learner, from public numbers alone.

    --all lists the bills of every learner.
    """
    C, cells = parse(class_spec, seed=seed)
    setting = Setting(n=len(C), epsilon=epsilon, delta=delta, rho=rho, theta=theta, nu=nu, labs=labs)
    question = CostQuestion(title=class_spec, C=C, cells=cells, setting=setting, only=learner, nu=nu)
    _answer(question, labs, everything=everything, as_json=as_json)


def _answer(
    question: CostQuestion, labs: int, noise: str | None = None, truths: int = DRAWS, *, everything: bool, as_json: bool
) -> None:
    """Compute bills and, where there are items, a forecast; print what was found."""
    known = question.only is not None and find(question.only).uses("labs")  # the bill is made for these labs
    to_all = known or labs <= (question.lab_count or 0)
    together = all_agree(2 if to_all else labs, question.setting.rho)
    question = add_theta(question)
    exact = question.protocol is None and question.pool is None  # a lab with a protocol has a pool, or will have one
    all_bills = bills(question.setting, question.only, pool="exact" if exact else "finite", noisy=question.noisy)
    forecast, none_because = _forecast(question, noise, truths)
    more = [*_labs_remarks(labs, question, together, to_all=to_all), *_loss_remarks(question)]
    found = _Report(question, all_bills, forecast, none_because, more)
    if as_json:
        answer(
            {
                "schema": "replical.plan/1",
                "fingerprint": None if question.protocol is None else question.protocol.fingerprint,
                "inputs": inputs(question, labs, noise),
                "bills": [forecasts.bill_payload(bill) for bill in all_bills],
                "best": None if found.best is None else found.best.learner,
                "best_any": None if found.best_any is None else found.best_any.learner,
                "all_agree": together,
                "reading": found.reading,
                "forecast": None if forecast is None else forecasts.forecast_payload(forecast),
            }
        )
        return
    _show(found, everything=everything)


def _say_protocol(protocol: Protocol, file: Path) -> None:
    """What a protocol file holds, written by hand or not, and what to publish."""
    first = f"{file}: {family_of(protocol.record).class_words(protocol.recipe)}, learner {protocol.plan.learner}."
    family = family_of(protocol.record)
    remarks = family.remarks(protocol) if family.cost(protocol) is None else ()  # else they stand beside the cost
    for line in (first, *cut_words(protocol.content["class"]), *loss_words(protocol), *remarks):
        prose.say(line)
    prose.say(f"Fingerprint {protocol.fingerprint}")


@dataclass(frozen=True, kw_only=True)
class CostQuestion:
    """What is asked about: a protocol, or a class and public numbers."""

    title: str
    C: HypothesisClass
    cells: Items | None = None  # of the class's standard population
    pool: Pool | None = None  # the lab's own items
    setting: Setting
    theta_source: str | None = None
    only: str | None = None  # the learner whose bills are wanted; None for all
    nu: float | None = None  # the error of the best hypothesis, where somebody said it
    noisy: bool = False  # does a protocol say nothing of noise, so that no label is inferred?
    protocol: Protocol | None = None  # None where a class is asked about

    @property
    def lab_count(self) -> int | None:
        """Labs that a protocol's numbers are for, where they depend on it."""
        return None if self.protocol is None else self.protocol.labs_most

    @property
    def weighs(self) -> bool:
        """Does a protocol count losses, not errors?"""
        return self.protocol is not None and self.protocol.recipe.losses is not None

    def parameter(self, name: str) -> Any:
        """What a protocol says of a parameter."""
        return None if self.protocol is None else self.protocol.parameter(name)


def about_protocol(
    protocol: Protocol, name: str, pool: Path | None, id_column: str, *, theta: float | None, nu: float | None
) -> CostQuestion:
    """What a protocol says, and what it leaves open; a file's `name` stands in for its title."""
    items: Pool | None = None
    if pool is not None:
        items = pool_of(pool, protocol.recipe, id_column).pool(SIMULATED)
    setting = protocol.setting(theta=theta, nu=nu)
    noisy = protocol.record.infers and protocol.parameter("nu") is None
    return CostQuestion(
        title=protocol.title or name,
        C=protocol.recipe.C,
        pool=items,
        setting=replace(setting, nu=setting.nu or 0.0) if noisy else setting,
        noisy=noisy,
        nu=protocol.parameter("nu") if protocol.parameter("nu") is not None else nu,
        protocol=protocol,
    )


def add_theta(question: CostQuestion) -> CostQuestion:
    """Θ as given, or on the population of an audit or on some of the pool, where that is quickly known."""
    if question.setting.theta is not None:
        return replace(question, theta_source="given")
    C, cells, pool = question.C, question.cells, question.pool
    items = cells if cells is not None else None if pool is None else pool.items[:_SOME]
    if len(C) > _SMALL or items is None:
        return question
    with progress("disagreement coefficient") as update:
        coefficient = disagreement_coefficient(
            C, World(C=C, cells=items, pool_size="exact").population(0), progress=update
        )
    on = "the population of an audit" if cells is not None else f"{len(items)} items of the pool"
    setting = replace(question.setting, theta=coefficient.value)
    return replace(question, setting=setting, theta_source=f"exact maximum over centres on {on}")


def _forecast(question: CostQuestion, noise: str | None, truths: int) -> tuple[Prediction | None, str]:
    """The forecast, or why there is none: no items, or a pool too small to tell anything, or for the learner."""
    protocol, pool = question.protocol, question.pool
    if protocol is None or pool is None:
        return None, ""
    if truths < 1:
        raise BadUsage(f"--truths must be at least 1, got {truths}")
    expected = parse_noise(noise) if noise is not None else question.nu
    with progress("simulated pairs of labs") as update:
        try:
            return forecasts.make_forecast(protocol, pool, truths, noise=expected, progress=update), ""
        except forecasts.NO_FORECAST as error:
            return None, str(error)


def _labs_remarks(labs: int, question: CostQuestion, together: float, *, to_all: bool) -> Iterator[str]:
    """What is promised to more than two."""
    rho = question.setting.rho
    if labs == 2:
        return
    if to_all:
        said = question.lab_count
        new = f"publish labs = {labs}, which these numbers are for"
        numbers = new if said is None else f"the protocol says labs = {said}"
        yield f"That two of {labs} labs are certified and differ has probability at most {rho:g}: {numbers}."
    else:
        wanted = f"publish rho = {round_down_to(rho / (labs - 1), 3)} if that shall be {round_down_to(1 - rho, 6)}"
        yield f"All {labs} labs agree with probability at least {round_down_to(together, 6)}; {wanted}."


def _loss_remarks(question: CostQuestion) -> Iterator[str]:
    """What bills are worth where errors are not all alike."""
    if question.weighs:
        none = "" if loss_of(question.C) is not None else " there are no forecasts,"
        yield f"It counts losses: bills suppose that errors are all alike,{none} and only handicap runs it."


@dataclass(frozen=True)
class _Report:
    """What is known of a question: bills, a forecast or why there is none, and what else is to be said."""

    question: CostQuestion
    bills: list[Bill]
    forecast: Prediction | None
    none_because: str
    more: list[str]

    @property
    def best(self) -> Bill | None:
        """The cheapest replicable one."""
        return cheapest(self.bills, replicable=True)

    @property
    def best_any(self) -> Bill | None:
        """The cheapest."""
        return cheapest(self.bills, replicable=False)

    @property
    def expectation(self) -> str:
        """What to expect; empty where there is no forecast."""
        question, forecast = self.question, self.forecast
        if forecast is None:
            return ""
        return forecasts.forecast_reading(forecast, question.setting.rho)

    @property
    def reading(self) -> str:
        """All of it."""
        reading = forecasts.bill_reading(self.question.setting, self.bills, self.best, self.best_any)
        if self.forecast is not None:
            reading = f"{self.expectation} From public numbers alone, not looking at the items: {reading}"
        elif self.question.pool is not None:
            reading = f"No forecast from unlabelled items: {self.none_because}. From public numbers alone: {reading}"
        return " ".join([reading, *self.more])

    @property
    def suggestions(self) -> list[Bill]:
        """The bill of a protocol's own learner; of a class the cheapest replicable one, and the cheapest of all."""
        question = self.question
        if question.protocol is not None:
            own = question.protocol.plan
            return [bill for bill in self.bills if (bill.learner, bill.plan) == (own.learner, own.name)]
        both = (self.best, self.best_any if self.best_any != self.best else None)
        return [bill for bill in both if bill is not None]

    @property
    def from_numbers(self) -> str:
        """What bills say where there is no forecast, and what says more."""
        question = self.question
        first = f"No forecast from unlabelled items: {self.none_because}. " if self.none_because else ""
        if question.protocol is None:
            offers = self.suggestions if self.best is not None else self.bills
            return first + forecasts.bill_reading(question.setting, offers, self.best, self.best_any)
        own, better = self.suggestions[0], " --pool FILE, a table of unlabelled items, forecasts labels and agreement."
        has_forecast = not question.weighs or loss_of(question.C) is not None
        more = better if question.pool is None and has_forecast else ""
        if not own.applies:
            return f"{first}{self._without_a_bill(own, forecast=bool(more))}{more}"
        scored = isinstance(question.protocol.answers, Scores)  # several outputs of every item
        labels = f"{amount(own.labels or 0)} {plural(own.labels or 0, 'item' if scored else 'label')}"
        asks, sense = "asks about" if scored else "asks for", forecasts.SENSES[own.kind or "most"]
        return f"{first}From public numbers alone {own.learner} {asks} {labels} per lab ({sense}).{more}"

    def _without_a_bill(self, own: Bill, *, forecast: bool) -> str:
        """Why the protocol's numbers alone do not tell the cost, which a `forecast` may; a budget bounds it."""
        most = self.question.parameter("max_labels")
        known = "" if most is None else f" It is at most the budget of {count(int(most), 'label')}."
        if forecast:
            return f"How many labels {own.learner} asks for depends on the items.{known}"
        items = "" if self.question.pool is not None else "Without items "
        return f"{items}{'the' if items else 'The'} cost of {own.learner} cannot be computed ({own.note}).{known}"


def inputs(question: CostQuestion, labs: int, noise: str | None) -> dict[str, Any]:
    """The question as JSON tells it."""
    setting = question.setting
    fields: dict[str, Any] = {"class": question.title, "learner": question.only}
    fields |= {name: getattr(setting, name) for name in ("epsilon", "delta", "rho", "theta", "nu")}
    fields |= {"theta_source": question.theta_source, "labs": labs, "noise": noise}
    prior = "uniform" if question.protocol is None else question.protocol.prior.kind
    return fields | {"max_labels": question.parameter("max_labels"), "prior": prior}


def _show(found: _Report, *, everything: bool) -> None:
    """For people: the learner of the protocol, the cheapest of a class; or all of them."""
    question, forecast = found.question, found.forecast
    have = None if question.pool is None else question.pool.size
    if forecast is not None:
        forecasts.show_forecast(forecast)
        prose.print()
    if everything or question.only is not None:
        forecasts.show_bills(found.bills, question.title, question.setting, have)
        prose.say(found.reading)
        return
    if forecast is None and question.protocol is None and found.suggestions:
        forecasts.show_bills(found.suggestions, question.title, question.setting, have, numbers=False)
    for sentence in (found.expectation or found.from_numbers, *found.more):
        prose.say(sentence)
    prose.say("--all lists the bills of every learner.")
