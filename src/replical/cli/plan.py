"""``replical plan``: the bill before the first label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from replical.classes.halfspaces import HalfSpaces
from replical.classes.spec import parse
from replical.classes.table import PredictionTable
from replical.cli.bills import SENSES, bill_payload, compared, show_bills
from replical.cli.finite import net_words
from replical.cli.forecasts import (
    NO_FORECAST,
    forecast_payload,
    forecast_reading,
    prediction_payload,
    show_forecast,
)
from replical.cli.inputs import SIMULATED, items_from, read_prior
from replical.cli.lattice_bill import lattice_bill
from replical.cli.options import CLASSES, parameter
from replical.cli.options import learner as learner_flag
from replical.cli.output import amount, answer, number, progress, prose, whole
from replical.cli.question import Question, about_class, about_protocol, inputs, with_theta
from replical.cli.release_chance import release_words, released
from replical.core.exact import down_to
from replical.core.words import count, plural
from replical.errors import (
    BadUsage,
    ValueOutOfRange,
)
from replical.lab.protocol import Protocol
from replical.plans.bills import Bill, all_agree, bills, cheapest
from replical.plans.catalogue import find
from replical.plans.costs import Setting
from replical.plans.lattice import LatticePlan
from replical.pools.pool import Pool
from replical.study.pictures.bills import bills_picture
from replical.study.pictures.style import check_name, save
from replical.worlds.forecast import DRAWS, Prediction
from replical.worlds.forecast import forecast as forecast_of
from replical.worlds.noise import parse_noise


def plan_command(
    protocol_file: Annotated[Path | None, typer.Argument(metavar="PROTOCOL", help="a published protocol")] = None,
    class_spec: Annotated[str | None, typer.Option("--class", help=CLASSES)] = None,
    epsilon: Annotated[float | None, parameter("epsilon")] = None,
    learner: Annotated[str | None, learner_flag(help="this learner; the cheapest if left out")] = None,
    delta: Annotated[float | None, parameter("delta", "failure probability of the error bound (0.05)")] = None,
    rho: Annotated[float | None, parameter("rho", "how often two labs may differ (0.1)")] = None,
    theta: Annotated[
        float | None, parameter("theta", "disagreement coefficient; computed for small classes if left out")
    ] = None,
    nu: Annotated[
        float | None, parameter("nu", "upper bound on the best error; without it labels are noiseless")
    ] = None,
    labs: Annotated[int, typer.Option(parser=whole, help="labs that shall all agree")] = 2,
    shift: Annotated[float | None, parameter("shift")] = None,
    private: Annotated[bool, typer.Option("--private", help="is a private release the ideal answer?")] = False,
    release_epsilon: Annotated[
        float | None, typer.Option(parser=number, help="with --private: epsilon of the release (1)")
    ] = None,
    nobody: Annotated[
        int | None, typer.Option(parser=whole, help="with --private: votes that 'no answer' gets")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="draw the bills: a .svg, .png or .pdf file")] = None,
    against: Annotated[str, typer.Option(help="what the drawing varies: epsilon, rho, class or theta")] = "epsilon",
    yardstick: Annotated[
        str | None,
        typer.Option(help="cells: rounded learners measure distances on every cell of an audit's population"),
    ] = None,
    pool: Annotated[Path | None, typer.Option(help="unlabelled items: .csv; with a protocol also .parquet")] = None,
    id_column: Annotated[str, typer.Option("--id", help="with a protocol: column with the ids of the items")] = "id",
    items: Annotated[int | None, parameter("items", "items each lab rounds on (default: the whole pool)")] = None,
    noise: Annotated[
        str | None, typer.Option(help="share of wrong labels to expect, or boundary:RATE,RADIUS (default: nu)")
    ] = None,
    kappa: Annotated[float | None, parameter("kappa", "slack at which a run stops uncertified")] = None,
    max_labels: Annotated[int | None, parameter("max_labels")] = None,
    prior: Annotated[Path | None, typer.Option(help="CSV of prior weights: columns candidate and weight")] = None,
    prefer: Annotated[Path | None, typer.Option(help="strict order of preference, one a line, best first")] = None,
    truths: Annotated[int, typer.Option(parser=whole, help="worlds to simulate, each with a pair of labs")] = DRAWS,
    seed: Annotated[str | None, typer.Option(help="the published text a net of half-spaces is drawn from")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="also the bills of every learner, and candidates that are hard to tell apart")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """What would it cost? The labels and agreement to expect from unlabelled items (--pool), or from public numbers alone.

    Of a protocol its own learner is told, of a class the cheapest; --all lists the bills of every learner.
    """
    if plot is not None:
        check_name(plot)
    if protocol_file is not None:
        _alone(class_spec, epsilon, learner, delta, rho, items, kappa, max_labels, prior, prefer, yardstick, shift)
        if isinstance((protocol := Protocol.read(protocol_file)).plan, LatticePlan):
            lattice_bill(protocol, pool, id_column, as_json=as_json)
            return
        question = about_protocol(protocol_file, pool, id_column, theta=theta, nu=nu)
    else:
        if class_spec is None or epsilon is None:
            raise BadUsage("give a protocol, or --class and --epsilon")
        C, cells = parse(class_spec, seed=seed)
        question = about_class(
            class_spec,
            C,
            cells,
            pool=None if pool is None else items_from(C, pool, SIMULATED),
            setting=Setting(
                n=len(C),
                epsilon=epsilon,
                delta=0.05 if delta is None else delta,
                rho=0.1 if rho is None else rho,
                theta=theta,
                nu=nu,
                labs=labs,
                shift=shift or 0.0,
            ),
            shift=shift,
            only=learner,
            prior=read_prior(C, prior, prefer),
            options={"items": items, "kappa": kappa, "max_labels": max_labels},
            yardstick=yardstick,
        )
    known = question.only is not None and find(question.only).uses("labs")  # the bill is made for these labs
    to_all = question.measured is None and (known or labs <= (question.together or 0))
    pairwise = all_agree(2 if to_all else labs, question.setting.rho)
    together = pairwise if question.measured is None else _certified_agree(question, labs)
    question = with_theta(question)
    exact = protocol_file is None and question.pool is None  # a lab with a protocol has a pool, or will have one
    all_bills = bills(
        question.setting,
        question.only,
        pool="exact" if exact else "finite",
        yardstick=question.yardstick,
        labs=question.together or labs,
    )
    forecast, none_because = (None, "") if question.pool is None else _forecast(question, question.pool, noise, truths)
    if plot is not None:
        save(bills_picture(question.setting, against), plot)
    chance = released(question, labs, private, release_epsilon, nobody)
    more = [*_all_labs(labs, question, together, to_all=to_all), *_of_a_net(question), *_of_losses(question)]
    more += [] if chance is None else [release_words(question, chance)]
    found = _Found(question, all_bills, forecast, none_because, more)
    if as_json:
        answer(
            {
                "schema": "replical.plan/1",
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
    if plot is not None:
        prose.print(f"Drawn against {against}: {plot}", markup=False, soft_wrap=True)


def _alone(*said: object) -> None:
    """Refuse what a protocol says already."""
    if set(said) != {None}:
        raise BadUsage("a protocol says class, learner and their numbers: give them or a protocol, not both")


@dataclass(frozen=True)
class _Found:
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
    def foretold(self) -> str:
        """What to expect; empty where there is no forecast."""
        question, forecast = self.question, self.forecast
        if forecast is None:
            return ""
        measured = question.measured is not None
        return forecast_reading(forecast, question.setting.rho, question.prior, yardstick=measured)

    @property
    def reading(self) -> str:
        """All of it."""
        reading = compared(self.question.setting, self.bills, self.best, self.best_any)
        if self.forecast is not None:
            reading = f"{self.foretold} From public numbers alone, not looking at the items: {reading}"
        elif self.question.pool is not None:
            reading = f"No forecast from unlabelled items: {self.none_because}. From public numbers alone: {reading}"
        return " ".join([reading, *self.more])

    @property
    def suggested(self) -> list[Bill]:
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
            told = self.suggested if self.best is not None else self.bills
            return first + compared(question.setting, told, self.best, self.best_any)
        own, better = self.suggested[0], " --pool FILE, a table of unlabelled items, forecasts labels and agreement."
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


def _show(found: _Found, *, everything: bool) -> None:
    """For people: the learner of the protocol, the cheapest of a class; or all of them."""
    question, forecast = found.question, found.forecast
    have = None if question.pool is None else question.pool.size
    if forecast is not None:
        show_forecast(question.C, forecast, yardstick=question.measured is not None, ties=everything)
        prose.print()
    if everything or question.only is not None:
        show_bills(found.bills, question.title, question.setting, have)
        prose.print(found.reading, markup=False, soft_wrap=True)
        return
    if forecast is None and question.published is None and found.suggested:
        show_bills(found.suggested, question.title, question.setting, have, numbers=False)
    for sentence in (found.foretold or found.from_numbers, *found.more):
        prose.print(sentence, markup=False, soft_wrap=True)
    prose.print("--all lists the bills of every learner.", markup=False)


def _of_a_net(question: Question) -> Iterator[str]:
    """What a net of half-spaces loses."""
    if isinstance(question.C, HalfSpaces):
        setting = question.setting
        yield from net_words(question.C.dimensions, len(question.C), setting.epsilon, setting.delta)


def _of_losses(question: Question) -> Iterator[str]:
    """What bills are worth where errors are not all alike."""
    if "losses" in question.options:
        yield "It counts losses: bills suppose that errors are all alike, there are no forecasts, and only settled runs it."


def _certified_agree(question: Question, labs: int) -> float:
    """With what probability all certified ones of `labs` labs return one answer, at least."""
    if labs < 2:
        raise ValueOutOfRange(f"there are at least 2 labs, got {labs}")
    assert question.measured is not None, "asked where there is a yardstick"
    return max(0.0, float(1 - question.measured.rho_string - labs * question.measured["delta_A"]))


def _forecast(question: Question, pool: Pool, noise: str | None, truths: int) -> tuple[Prediction | None, str]:
    """The forecast, or why there is none: the pool is too small to tell anything, or for the learner."""
    if truths < 1:
        raise BadUsage(f"--truths must be at least 1, got {truths}")
    setting, record = question.setting, find(question.learner)
    options = {"epsilon": setting.epsilon, "delta": setting.delta, "prior": question.prior, **question.options}
    if question.yardstick is not None:
        options["yardstick"] = question.yardstick
    if record.uses("rho"):
        options["rho"] = setting.rho
    for name in ("theta", "nu"):
        if record.uses(name) and getattr(setting, name) is not None:
            options[name] = getattr(setting, name)
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


def _all_labs(labs: int, question: Question, together: float, *, to_all: bool) -> Iterator[str]:
    """What is promised to more than two."""
    rho = question.setting.rho
    if labs == 2:
        return
    if question.measured is not None:
        yield f"Of {labs} labs all that are certified agree with probability at least {down_to(together, 6)}."
    elif to_all:
        said = question.together
        new = f"publish labs = {labs}, which these numbers are for"
        numbers = new if said is None else f"the protocol says labs = {said}"
        yield f"That two of {labs} labs are certified and differ has probability at most {rho:g}: {numbers}."
    else:
        wanted = f"publish rho = {down_to(rho / (labs - 1), 3)} if that shall be {down_to(1 - rho, 6)}"
        yield f"All {labs} labs agree with probability at least {down_to(together, 6)}; {wanted}."
