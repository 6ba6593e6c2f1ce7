"""The bill before the first label: ``replical plan``, of a protocol, ``replical paper bill``, of a class and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.bounds.release import ReleaseChance, Selection, release_chance
from replical.classes.base import HypothesisClass, Items
from replical.classes.catalogue import parse
from replical.classes.prior import Prior
from replical.classes.table import PredictionTable
from replical.cli.forecasts import (
    NO_FORECAST,
    SENSES,
    bill_payload,
    bill_reading,
    forecast_payload,
    forecast_reading,
    lattice_bill,
    prediction_payload,
    show_bills,
    show_forecast,
)
from replical.cli.inputs import (
    CLASSES,
    SIMULATED,
    Prefer,
    Set,
    items_from,
    learner_flag,
    parameter,
    read_prior,
    settings,
)
from replical.cli.output import amount, answer, number, progress, prose, reading, whole
from replical.cli.sentences import cut_words, hypotheses, loss_words
from replical.core.exact import round_down_to
from replical.core.text import at_least, at_most, count, plural
from replical.errors import (
    BadUsage,
)
from replical.lab.protocol import Protocol
from replical.lab.release import check_epsilon, check_nobody
from replical.lab.tables import read_pool
from replical.lattice.plan import LatticePlan
from replical.learners.bills import Bill, all_agree, bills, cheapest
from replical.learners.catalogue import find
from replical.learners.plan import Setting
from replical.pools.pool import Pool
from replical.study.pictures.style import check_name, save
from replical.study.pictures.theory import bills_picture
from replical.worlds.forecast import DRAWS, Prediction
from replical.worlds.forecast import forecast as forecast_of
from replical.worlds.theta import theta as disagreement_coefficient
from replical.worlds.world import World, parse_noise

_RARE = ("kappa", "max_labels")  # what --set takes
_SMALL = 2000  # hypotheses up to which the disagreement coefficient takes seconds
_SOME = 5000  # items of a pool it is computed on


Theta = Annotated[float | None, parameter("theta", "disagreement coefficient; computed for small classes if left out")]
Nu = Annotated[float | None, parameter("nu", "upper bound on the best error; without it labels are noiseless")]
Labs = Annotated[int, typer.Option("--labs", parser=whole, help="labs that shall all agree")]
Private = Annotated[bool, typer.Option("--private", help="is a private release the ideal answer?")]
ReleaseEpsilon = Annotated[
    float | None,
    typer.Option("--release-epsilon", parser=number, help="with --private: epsilon of the release (1)"),
]
Nobody = Annotated[
    int | None, typer.Option("--nobody", parser=whole, help="with --private: votes that 'no answer' gets")
]
Plot = Annotated[Path | None, typer.Option("--plot", help="draw the bills: a .svg, .png or .pdf file")]
Against = Annotated[str, typer.Option("--against", help="what the drawing varies: epsilon, rho, class or theta")]
ItemsFile = Annotated[Path | None, typer.Option("--pool", help="unlabelled items: .csv; with a protocol also .parquet")]
Noise = Annotated[
    str | None,
    typer.Option("--noise", help="share of wrong labels to expect, or boundary:RATE,RADIUS (default: nu)"),
]
Truths = Annotated[int, typer.Option("--truths", parser=whole, help="worlds to simulate, each with a pair of labs")]
Everything = Annotated[
    bool, typer.Option("--all", help="also the bills of every learner, and candidates that are hard to tell apart")
]
Json = Annotated[bool, typer.Option("--json", help="one JSON object on standard output")]


def plan_command(
    protocol_file: Annotated[Path, typer.Argument(metavar="PROTOCOL", help="a protocol file")],
    pool: ItemsFile = None,
    id_column: Annotated[str, typer.Option("--id", help="column with the ids of the items")] = "id",
    theta: Theta = None,
    nu: Nu = None,
    labs: Labs = 2,
    private: Private = False,
    release_epsilon: ReleaseEpsilon = None,
    nobody: Nobody = None,
    plot: Plot = None,
    against: Against = "epsilon",
    noise: Noise = None,
    truths: Truths = DRAWS,
    everything: Everything = False,
    as_json: Json = False,
) -> None:
    """Check a protocol, print its fingerprint, and say what it costs: labels and agreement to expect.

    From unlabelled items (--pool), or from public numbers alone. --all lists the bills of every learner.
    """
    drawing = _Drawing.of(plot, against)
    protocol = Protocol.read(protocol_file)
    if not as_json:
        _say_protocol(protocol, protocol_file)
    if isinstance(protocol.plan, LatticePlan):
        lattice_bill(protocol, pool, id_column, as_json=as_json)
        return
    question = about_protocol(protocol, protocol_file.name, pool, id_column, theta=theta, nu=nu)
    release = _Release(private, release_epsilon, nobody)
    _answer(question, labs, release, noise, truths, drawing, everything=everything, as_json=as_json)


def bill_command(
    class_spec: Annotated[str, typer.Option("--class", help=CLASSES)],
    epsilon: Annotated[float, parameter("epsilon")],
    learner: Annotated[str | None, learner_flag(help="this learner; the cheapest if left out")] = None,
    delta: Annotated[float, parameter("delta")] = 0.05,
    rho: Annotated[float, parameter("rho")] = 0.1,
    theta: Theta = None,
    nu: Nu = None,
    labs: Labs = 2,
    private: Private = False,
    release_epsilon: ReleaseEpsilon = None,
    nobody: Nobody = None,
    plot: Plot = None,
    against: Against = "epsilon",
    pool: ItemsFile = None,
    noise: Noise = None,
    prefer: Prefer = None,
    given: Set = None,
    truths: Truths = DRAWS,
    seed: Annotated[str | None, typer.Option(help="the published text a net of half-spaces is drawn from")] = None,
    everything: Everything = False,
    as_json: Json = False,
) -> None:
    """What would a class cost? The labels to expect of the cheapest learner, from public numbers alone or from items.

    --all lists the bills of every learner. --set takes kappa and max_labels.
    """
    drawing = _Drawing.of(plot, against)
    options = settings(given, _RARE)
    C, cells = parse(class_spec, seed=seed)
    question = about_class(
        class_spec,
        C,
        cells,
        pool=None if pool is None else items_from(C, pool, SIMULATED),
        setting=Setting(n=len(C), epsilon=epsilon, delta=delta, rho=rho, theta=theta, nu=nu, labs=labs),
        only=learner,
        prior=read_prior(C, prefer),
        options=options,
    )
    release = _Release(private, release_epsilon, nobody)
    _answer(question, labs, release, noise, truths, drawing, everything=everything, as_json=as_json)


@dataclass(frozen=True)
class _Release:
    """What is asked of a private release, if anything is."""

    wanted: bool
    epsilon: float | None
    nobody: int | None


@dataclass(frozen=True)
class _Drawing:
    """A file to draw bills in, and what varies there."""

    file: Path
    against: str

    @classmethod
    def of(cls, file: Path | None, against: str) -> _Drawing | None:
        """What the flags say; a name that no figure can have is refused at once."""
        if file is None:
            return None
        check_name(file)
        return cls(file, against)


def _answer(
    question: Question,
    labs: int,
    release: _Release,
    noise: str | None,
    truths: int,
    drawing: _Drawing | None,
    *,
    everything: bool,
    as_json: bool,
) -> None:
    """Compute bills and, where there are items, a forecast; print what was found."""
    known = question.only is not None and find(question.only).uses("labs")  # the bill is made for these labs
    to_all = known or labs <= (question.together or 0)
    together = all_agree(2 if to_all else labs, question.setting.rho)
    question = add_theta(question)
    exact = question.published is None and question.pool is None  # a lab with a protocol has a pool, or will have one
    all_bills = bills(
        question.setting,
        question.only,
        pool="exact" if exact else "finite",
        noisy=question.noisy,
    )
    forecast, none_because = (None, "") if question.pool is None else _forecast(question, question.pool, noise, truths)
    if drawing is not None:
        save(bills_picture(question.setting, drawing.against), drawing.file)
    chance = chance_of_release(question, labs, release.wanted, release.epsilon, release.nobody)
    more = [*_labs_remarks(labs, question, together, to_all=to_all), *_loss_remarks(question)]
    more += [] if chance is None else [release_words(question, chance)]
    found = _Report(question, all_bills, forecast, none_because, more)
    if as_json:
        answer(
            {
                "schema": "replical.plan/1",
                "fingerprint": question.fingerprint,
                "inputs": inputs(question, labs, noise),
                "bills": [bill_payload(bill) for bill in all_bills],
                "best": None if found.best is None else found.best.learner,
                "best_any": None if found.best_any is None else found.best_any.learner,
                "all_agree": together,
                "release": None if chance is None else asdict(chance),
                "reading": found.reading,
                "forecast": None if forecast is None else forecast_payload(question.C, forecast),
                "prediction": None if forecast is None else prediction_payload(question.C, forecast),
            }
        )
        return
    _show(found, everything=everything)
    if drawing is not None:
        prose.print(f"Drawn against {drawing.against}: {drawing.file}", markup=False, soft_wrap=True)


def _say_protocol(protocol: Protocol, file: Path) -> None:
    """What a protocol file holds, written by hand or not, and what to publish."""
    first = f"{file}: {hypotheses(protocol.recipe.C)}, learner {protocol.plan.learner}."
    for line in (first, *cut_words(protocol.content["class"]), *loss_words(protocol)):
        prose.print(line, markup=False, soft_wrap=True)
    prose.print(f"Fingerprint {protocol.fingerprint}", markup=False, soft_wrap=True)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked about: a protocol, or a class and public numbers."""

    title: str
    C: HypothesisClass
    cells: Items | None = None  # of the class's standard population
    pool: Pool | None = None  # the lab's own items
    setting: Setting
    theta_source: str | None = None
    only: str | None = None  # the learner whose bills are wanted; None for all
    learner: str  # whose agreement is forecast
    prior: Prior
    options: Mapping[str, Any]  # the other keywords of `replical.plan`, as they were given
    nu: float | None = None  # the error of the best hypothesis, where somebody said it
    together: int | None = None  # labs that a protocol's numbers are for, where they depend on it
    noisy: bool = False  # does a protocol say nothing of noise, so that no label is inferred?
    published: str | None = None  # which of the learner's plans a protocol names
    fingerprint: str | None = None  # of that protocol


def about_protocol(
    protocol: Protocol, name: str, pool: Path | None, id_column: str, *, theta: float | None, nu: float | None
) -> Question:
    """What a protocol says, and what it leaves open; a file's `name` stands in for its title."""
    items: Pool | None = None
    if pool is not None:
        with reading(pool) as update:
            items = read_pool(pool, protocol.recipe, id_column=id_column, progress=update).pool(SIMULATED)
    setting = protocol.setting(theta=theta, nu=nu)
    noisy = protocol.record.infers and protocol.parameter("nu") is None
    return Question(
        title=protocol.title or name,
        C=protocol.recipe.C,
        pool=items,
        setting=replace(setting, nu=setting.nu or 0.0) if noisy else setting,
        noisy=noisy,
        learner=protocol.plan.learner,
        prior=protocol.prior,
        options=protocol.options,
        nu=protocol.parameter("nu") if protocol.parameter("nu") is not None else nu,
        together=protocol.labs_most,
        published=protocol.plan.name,
        fingerprint=protocol.fingerprint,
    )


def about_class(
    spec: str,
    C: HypothesisClass,
    cells: Items,
    *,
    pool: Pool | None,
    setting: Setting,
    only: str | None,
    prior: Prior,
    options: Mapping[str, Any],
) -> Question:
    """What somebody says of a class; what is None among `options` was not said."""
    learner = only or "handicap"
    record = find(learner)
    labs = setting.labs if setting.labs > 2 and record.uses("labs") else None
    said = {**options, "labs": labs}
    return Question(
        title=spec,
        C=C,
        cells=cells,
        pool=pool,
        setting=setting,
        only=only,
        learner=learner,
        prior=prior,
        options={name: value for name, value in said.items() if value is not None},
        nu=setting.nu,
    )


def add_theta(question: Question) -> Question:
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


def _forecast(question: Question, pool: Pool, noise: str | None, truths: int) -> tuple[Prediction | None, str]:
    """The forecast, or why there is none: the pool is too small to tell anything, or for the learner."""
    if truths < 1:
        raise BadUsage(f"--truths must be at least 1, got {truths}")
    setting, record = question.setting, find(question.learner)
    options = {"epsilon": setting.epsilon, "delta": setting.delta, "prior": question.prior, **question.options}
    if record.uses("rho"):
        options["rho"] = setting.rho
    for name in ("theta", "nu"):
        said = record.best_error(setting.nu) if name == "nu" else setting.theta
        if record.uses(name) and said is not None and not (name == "nu" and question.noisy):
            options[name] = said
    expected = parse_noise(noise) if noise is not None else question.nu
    with progress("simulated pairs of labs") as update:
        try:
            return (
                forecast_of(
                    pool,
                    question.learner,
                    options,
                    noise=expected,
                    draws=truths,
                    trade_off=isinstance(question.C, PredictionTable),
                    progress=update,
                ),
                "",
            )
        except NO_FORECAST as error:
            return None, str(error)


def chance_of_release(
    question: Question, labs: int, private: bool, epsilon: float | None, nobody: int | None
) -> ReleaseChance | None:
    """How likely a private release is the ideal answer, if all labs vote and, where that is needed, are certified."""
    if not private:
        if epsilon is not None or nobody is not None:
            raise BadUsage("--release-epsilon and --nobody are about a private release: give --private too")
        return None
    epsilon = 1.0 if epsilon is None else epsilon
    check_epsilon(epsilon)
    check_nobody(nobody)
    setting, record = question.setting, find(question.learner)
    selection = Selection(n=setting.n, epsilon=epsilon, nobody=nobody or 0)
    if record.certifies:
        return release_chance(selection, labs, beta=min(setting.delta, setting.rho / (question.together or labs)))
    if not record.replicable or record.boosts:
        raise BadUsage(
            f"{question.learner} promises nothing about a release: name the learner handicap, or a protocol of it"
        )
    return release_chance(selection, labs, rho=setting.rho)


def _labs_remarks(labs: int, question: Question, together: float, *, to_all: bool) -> Iterator[str]:
    """What is promised to more than two."""
    rho = question.setting.rho
    if labs == 2:
        return
    if to_all:
        said = question.together
        new = f"publish labs = {labs}, which these numbers are for"
        numbers = new if said is None else f"the protocol says labs = {said}"
        yield f"That two of {labs} labs are certified and differ has probability at most {rho:g}: {numbers}."
    else:
        wanted = f"publish rho = {round_down_to(rho / (labs - 1), 3)} if that shall be {round_down_to(1 - rho, 6)}"
        yield f"All {labs} labs agree with probability at least {round_down_to(together, 6)}; {wanted}."


def _loss_remarks(question: Question) -> Iterator[str]:
    """What bills are worth where errors are not all alike."""
    if "losses" in question.options:
        yield "It counts losses: bills suppose that errors are all alike, there are no forecasts, and only handicap runs it."


def release_words(question: Question, found: ReleaseChance) -> str:
    """The same in sentences, and how many labs would do."""
    record = find(question.learner)
    voting = (
        f"run {question.learner}, are certified and vote" if record.certifies else f"run {question.learner} and vote"
    )
    ideal = "the ideal answer" if record.certifies else "the string's commonest answer"
    words = (
        f"A private release with epsilon {found.epsilon:g}, if {found.labs} labs {voting}: it is "
        f"{ideal} with probability at least {at_least(1 - found.misses)}."
    )
    target = at_least(1 - found.limit - found.tolerance)
    two = f" Two such groups with one string release different answers with probability at most {at_most(found.apart)}."
    if found.enough is None:
        return words + f" No number of labs makes that {target}: raise the release's epsilon, or lower rho." + two
    return words + f" For {target} it takes {count(found.enough, 'lab')}." + two


@dataclass(frozen=True)
class _Report:
    """What is known of a question: bills, a forecast or why there is none, and what else is to be said."""

    question: Question
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
        return forecast_reading(forecast, question.setting.rho)

    @property
    def reading(self) -> str:
        """All of it."""
        reading = bill_reading(self.question.setting, self.bills, self.best, self.best_any)
        if self.forecast is not None:
            reading = f"{self.expectation} From public numbers alone, not looking at the items: {reading}"
        elif self.question.pool is not None:
            reading = f"No forecast from unlabelled items: {self.none_because}. From public numbers alone: {reading}"
        return " ".join([reading, *self.more])

    @property
    def suggestions(self) -> list[Bill]:
        """The bill of a protocol's own learner; of a class the cheapest replicable one, and the cheapest of all."""
        question = self.question
        if question.published is not None:
            return [bill for bill in self.bills if (bill.learner, bill.plan) == (question.learner, question.published)]
        both = (self.best, self.best_any if self.best_any != self.best else None)
        return [bill for bill in both if bill is not None]

    @property
    def from_numbers(self) -> str:
        """What bills say where there is no forecast, and what says more."""
        question = self.question
        first = f"No forecast from unlabelled items: {self.none_because}. " if self.none_because else ""
        if question.published is None:
            told = self.suggestions if self.best is not None else self.bills
            return first + bill_reading(question.setting, told, self.best, self.best_any)
        own, better = self.suggestions[0], " --pool FILE, a table of unlabelled items, forecasts labels and agreement."
        more = better if question.pool is None and "losses" not in question.options else ""
        if not own.applies:
            return f"{first}{self._without_a_bill(own)}{more}"
        labels = f"{amount(own.labels or 0)} {plural(own.labels or 0, 'label')} per lab ({SENSES[own.kind or 'most']})"
        return f"{first}From public numbers alone {own.learner} asks for {labels}.{more}"

    def _without_a_bill(self, own: Bill) -> str:
        """Why the protocol's numbers alone do not tell the cost; where it has a budget, that it is no more."""
        items = "" if self.question.pool is not None else "Without items "
        most = self.question.options.get("max_labels")
        known = "" if most is None else f" It is at most the budget of {count(int(most), 'label')}."
        return f"{items}{'the' if items else 'The'} cost of {own.learner} cannot be computed ({own.note}).{known}"


def inputs(question: Question, labs: int, noise: str | None) -> dict[str, Any]:
    """The question as JSON tells it."""
    setting = question.setting
    return {
        "class": question.title,
        "learner": question.only,
        "epsilon": setting.epsilon,
        "delta": setting.delta,
        "rho": setting.rho,
        "theta": setting.theta,
        "theta_source": question.theta_source,
        "nu": setting.nu,
        "labs": labs,
        "noise": noise,
        "kappa": question.options.get("kappa"),
        "max_labels": question.options.get("max_labels"),
        "prior": question.prior.kind,
    }


def _show(found: _Report, *, everything: bool) -> None:
    """For people: the learner of the protocol, the cheapest of a class; or all of them."""
    question, forecast = found.question, found.forecast
    have = None if question.pool is None else question.pool.size
    if forecast is not None:
        show_forecast(question.C, forecast, ties=everything)
        prose.print()
    if everything or question.only is not None:
        show_bills(found.bills, question.title, question.setting, have)
        prose.print(found.reading, markup=False, soft_wrap=True)
        return
    if forecast is None and question.published is None and found.suggestions:
        show_bills(found.suggestions, question.title, question.setting, have, numbers=False)
    for sentence in (found.expectation or found.from_numbers, *found.more):
        prose.print(sentence, markup=False, soft_wrap=True)
    prose.print("--all lists the bills of every learner.", markup=False)
