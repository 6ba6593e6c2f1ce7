"""``replical plan``: the bill before the first label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.bounds.release import ReleaseChance, Selection, release_chance
from replical.classes.base import HypothesisClass, Items
from replical.classes.prior import Prior
from replical.classes.spec import parse
from replical.classes.table import PredictionTable
from replical.cli.forecasts import CAVEATS, labels_words, rate, worlds
from replical.cli.inputs import SIMULATED, items_from, read_prior
from replical.cli.options import CLASSES, parameter
from replical.cli.output import amount, answer, count, number, progress, prose, reading, whole
from replical.core.exact import down, down_to, up, up_to
from replical.errors import (
    BadUsage,
    BudgetSpent,
    EmptyVersionSpace,
    PlanMismatch,
    PoolExhausted,
    ValueOutOfRange,
)
from replical.lab.protocol import Protocol
from replical.lab.release.noise import check_epsilon, check_nobody
from replical.lab.tables import read_pool
from replical.plans.bills import ABSURD, Bill, all_agree, bills, cheapest
from replical.plans.catalogue import find
from replical.plans.costs import Setting
from replical.plans.plan import plan
from replical.plans.rounded import RoundedPlan
from replical.pools.pool import Pool
from replical.pools.yardstick import Yardstick
from replical.study.pictures.bills import bills_picture
from replical.study.pictures.style import check_name, save
from replical.worlds.audit import World
from replical.worlds.experiment import yardstick_of
from replical.worlds.forecast import DRAWS, Prediction
from replical.worlds.forecast import forecast as forecast_of
from replical.worlds.noise import parse_noise
from replical.worlds.theta import theta as disagreement_coefficient

_SMALL = 2000  # hypotheses up to which the disagreement coefficient takes seconds
_SOME = 5000  # items of a pool it is computed on


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked about: a protocol, or a class and public numbers.

    Attributes
    ----------
    title
        What it is called.
    C, cells, pool
        The class, the items of its standard population, the lab's own items.
    setting, theta_source
        The public numbers, and where Θ came from.
    only, learner
        The learner whose bills are wanted, all if none; the learner whose agreement is forecast.
    prior, options
        How the shared order prefers hypotheses; the other keywords of `replical.plan`, as they were given.
    nu
        The error of the best hypothesis, where somebody said it.
    together
        Labs that a protocol's numbers are for, where they depend on it.
    measured
        The learner's plan, where distances are measured on a yardstick.
    """

    title: str
    C: HypothesisClass
    cells: Items | None = None
    pool: Pool | None = None
    setting: Setting
    theta_source: str | None = None
    only: str | None = None
    learner: str
    prior: Prior
    options: Mapping[str, Any]
    nu: float | None = None
    together: int | None = None
    measured: RoundedPlan | None = None

    @property
    def yardstick(self) -> Yardstick | None:
        """What distances are measured on; None for every lab's own items."""
        return None if self.measured is None else self.measured.yardstick


def plan_command(
    protocol_file: Annotated[Path | None, typer.Argument(metavar="PROTOCOL", help="a published protocol")] = None,
    class_spec: Annotated[str | None, typer.Option("--class", help=CLASSES)] = None,
    epsilon: Annotated[float | None, parameter("epsilon")] = None,
    learner: Annotated[str | None, typer.Option(help="this learner alone; every learner if left out")] = None,
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
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """What would it cost? Every learner's label bill and, for a pool of unlabelled items, labels and agreement forecast."""
    if plot is not None:
        check_name(plot)
    if protocol_file is not None:
        if {class_spec, epsilon, learner, delta, rho, items, kappa, max_labels, prior, prefer, yardstick, shift} != {
            None
        }:
            raise BadUsage("a protocol says class, learner and their numbers: give them or a protocol, not both")
        question = _about_protocol(protocol_file, pool, id_column, theta=theta, nu=nu)
    else:
        if class_spec is None or epsilon is None:
            raise BadUsage("give a protocol, or --class and --epsilon")
        C, cells = parse(class_spec, seed=seed)
        question = Question(
            title=class_spec,
            C=C,
            cells=cells,
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
            only=learner,
            learner=learner or "rounded-a2",
            prior=read_prior(C, prior, prefer),
            options=_given({"items": items, "kappa": kappa, "max_labels": max_labels})
            | _many(learner or "rounded-a2", labs, shift),
            nu=nu,
        )
        if yardstick is not None:
            question = replace(question, measured=_measured(question, yardstick_of(yardstick, C, cells)))
    known = question.only is not None and find(question.only).uses("labs")  # the bill is made for these labs
    to_all = question.measured is None and (known or labs <= (question.together or 0))
    pairwise = all_agree(2 if to_all else labs, question.setting.rho)
    together = pairwise if question.measured is None else _certified_agree(question, labs)
    question = _with_theta(question)
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
    best, best_any = cheapest(all_bills, replicable=True), cheapest(all_bills, replicable=False)
    reading = _compared(question.setting, all_bills, best, best_any)
    if forecast is not None:
        first = _reading(forecast, question)
        reading = f"{first} From public numbers alone, not looking at the items: {reading}"
    elif question.pool is not None:
        reading = f"No forecast from unlabelled items: {none_because}. From public numbers alone: {reading}"
    reading += _all_labs(labs, question, together, to_all=to_all)
    released = _released(question, labs, private, release_epsilon, nobody)
    reading += "" if released is None else f" {_release_words(question, released)}"
    if as_json:
        answer(
            {
                "schema": "replical.plan/1",
                "inputs": _inputs(question, labs, noise),
                "bills": [_bill_payload(bill) for bill in all_bills],
                "best": None if best is None else best.learner,
                "best_any": None if best_any is None else best_any.learner,
                "all_agree": together,
                "release": None if released is None else asdict(released),
                "reading": reading,
                "forecast": None if forecast is None else _forecast_payload(question.C, forecast),
                "prediction": None if forecast is None else _prediction_payload(question.C, forecast),
            }
        )
        return
    if forecast is not None:
        _show(question, forecast)
        prose.print()
    have = None if question.pool is None else question.pool.size
    _show_bills(all_bills, question.title, question.setting, have)
    prose.print(reading, markup=False, soft_wrap=True)
    if plot is not None:
        prose.print(f"Drawn against {against}: {plot}", markup=False, soft_wrap=True)


def _about_protocol(
    file: Path, pool: Path | None, id_column: str, *, theta: float | None, nu: float | None
) -> Question:
    """What a protocol says, and what it leaves open."""
    protocol = Protocol.read(file)
    items: Pool | None = None
    if pool is not None:
        with reading(pool) as update:
            items = read_pool(pool, protocol.recipe, id_column=id_column, progress=update).pool(SIMULATED)
    rounded = protocol.plan if isinstance(protocol.plan, RoundedPlan) else None
    return Question(
        title=protocol.title or file.name,
        C=protocol.recipe.C,
        pool=items,
        setting=protocol.setting(theta=theta, nu=nu),
        learner=protocol.plan.learner,
        prior=protocol.prior,
        options=protocol.options,
        nu=protocol.given("nu") if protocol.given("nu") is not None else nu,
        together=protocol.labs_most,
        measured=None if rounded is None or rounded.yardstick is None else rounded,
    )


def _measured(question: Question, yardstick: Yardstick | None) -> RoundedPlan:
    """The plan of a learner that measures on a yardstick; one that does not is refused."""
    setting = question.setting
    made = plan(
        question.learner,
        question.C,
        epsilon=setting.epsilon,
        delta=setting.delta,
        rho=setting.rho,
        pool="finite",
        prior=question.prior,
        yardstick=yardstick,
        **question.options,
    )
    assert isinstance(made, RoundedPlan), "nobody else measures on a yardstick"
    return made


def _certified_agree(question: Question, labs: int) -> float:
    """With what probability all certified ones of `labs` labs return one answer, at least."""
    if labs < 2:
        raise ValueOutOfRange(f"there are at least 2 labs, got {labs}")
    assert question.measured is not None, "asked where there is a yardstick"
    return max(0.0, float(1 - question.measured.rho_string - labs * question.measured["delta_A"]))


def _with_theta(question: Question) -> Question:
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


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


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
        except (PoolExhausted, PlanMismatch, EmptyVersionSpace, BudgetSpent) as error:
            return None, str(error)


def _many(learner: str, labs: int, shift: float | None) -> dict[str, Any]:
    """What a learner's plan is told of labs and their populations, as far as it knows them."""
    record = find(learner)
    if shift is not None and not record.uses("shift"):
        raise BadUsage(f"{learner} knows no shift: leave it out, or name rounded-cal or rounded-a2")
    many = {"labs": labs if labs > 2 and record.uses("labs") else None, "shift": shift}
    return _given(many)


def _inputs(question: Question, labs: int, noise: str | None) -> dict[str, Any]:
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
        "shift": question.setting.shift,
        "noise": noise,
        "items": question.options.get("items"),
        "kappa": question.options.get("kappa"),
        "max_labels": question.options.get("max_labels"),
        "prior": question.prior.kind,
    }


def _all_labs(labs: int, question: Question, together: float, *, to_all: bool) -> str:
    if labs == 2:
        return ""
    rho = question.setting.rho
    if question.measured is not None:
        return f" Of {labs} labs all that are certified agree with probability at least {down_to(together, 6)}."
    if to_all:
        said = question.together
        new = f"publish labs = {labs}, which these numbers are for"
        numbers = new if said is None else f"the protocol says labs = {said}"
        return f" That two of {labs} labs are certified and differ has probability at most {rho:g}: {numbers}."
    wanted = f"publish rho = {down_to(rho / (labs - 1), 3)} if that shall be {down_to(1 - rho, 6)}"
    return f" All {labs} labs agree with probability at least {down_to(together, 6)}; {wanted}."


def _released(
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
    if question.measured is not None:
        lost, string = float(question.measured["delta_A"]), float(question.measured.rho_string)
        return release_chance(selection, labs, beta=lost, string=string)
    if record.certifies and not record.rounds:
        return release_chance(selection, labs, beta=min(setting.delta, setting.rho / (question.together or labs)))
    if not record.replicable or record.boosts:
        raise BadUsage(
            f"{question.learner} promises nothing about a release: name a learner like settled, or a protocol of one"
        )
    return release_chance(selection, labs, rho=setting.rho)


def _release_words(question: Question, found: ReleaseChance) -> str:
    record = find(question.learner)
    voting = (
        f"run {question.learner}, are certified and vote" if record.certifies else f"run {question.learner} and vote"
    )
    alone = question.measured is not None or not record.rounds
    ideal = "the ideal answer" if record.certifies and alone else "the string's commonest answer"
    words = (
        f"A private release with epsilon {found.epsilon:g}, if {found.labs} labs {voting}: it is "
        f"{ideal} with probability at least {down(1 - found.misses, 3)}."
    )
    target = f"{down(1 - found.limit - found.tolerance, 3)}"
    two = f" Two such groups with one string release different answers with probability at most {up(found.apart, 3)}."
    if found.enough is None:
        return words + f" No number of labs makes that {target}: raise the release's epsilon, or lower rho." + two
    return words + f" For {target} it takes {count(found.enough, 'lab')}." + two


def _bill_payload(bill: Bill) -> dict[str, Any]:
    numbers = [{"name": each.name, "value": _plain(each.value), "source": each.source} for each in bill.numbers]
    return asdict(bill) | {"numbers": numbers}


def _show_bills(all_bills: list[Bill], class_spec: str, setting: Setting, items: int | None) -> None:
    from rich.markup import escape
    from rich.table import Table

    public = f"{class_spec}, epsilon {setting.epsilon:g}, rho {setting.rho:g}"
    title = escape(f"Labels a lab, from public numbers alone: {public}")
    table = Table(title=title, box=None, padding=(0, 2, 0, 0), title_justify="left")
    for column in ("learner", "plan", "repl.", "labels", "", "rounds", "items"):
        right = column in ("labels", "rounds", "items")
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    for bill in sorted((bill for bill in all_bills if bill.applies), key=lambda bill: bill.labels or 0):
        labels = _short(bill.labels)
        table.add_row(
            bill.learner,
            bill.plan,
            "yes" if bill.replicable else "no",
            f"[red]{labels}[/red]" if bill.absurd else labels,
            {"expected": "expected", "estimate": "estimated", "most": "at most"}[bill.kind or "most"],
            "-" if bill.rounds is None else str(bill.rounds),
            _items(bill, items),
        )
    prose.print(table)
    if items is not None and any(bill.applies and _too_many(bill, items) for bill in all_bills):
        prose.print(f"Items in red: more than the {items:,} that you have. Never: no finite pool will do.")
    one_learner = len({bill.learner for bill in all_bills}) == 1
    left_out: dict[str, list[str]] = {}
    for bill in all_bills:
        if one_learner and bill.applies and bill.note:
            prose.print(f"{bill.learner} ({bill.plan}): {bill.note}", markup=False, soft_wrap=True)
        if not bill.applies and bill.learner not in left_out.setdefault(bill.note, []):
            left_out[bill.note].append(bill.learner)
    for note, learners in left_out.items():
        if learners:
            prose.print(f"Left out: {', '.join(learners)} ({note}).", markup=False, soft_wrap=True)
    if one_learner:
        for each in all_bills[-1].numbers:
            prose.print(f"  {each.name:<10} {float(each.value):<12.6g} {each.source}", markup=False, soft_wrap=True)


def _items(bill: Bill, items: int | None) -> str:
    """What a lab has to have, in red if it has less."""
    words = _short(bill.unlabelled) if bill.pools else "never"
    return f"[red]{words}[/red]" if items is not None and _too_many(bill, items) else words


def _too_many(bill: Bill, items: int) -> bool:
    return not bill.pools or (bill.unlabelled is not None and bill.unlabelled > items)


def _short(count: int | None) -> str:
    return "-" if count is None else f"{count:,}" if count < ABSURD else up_to(count, 2)


def _compared(setting: Setting, all_bills: list[Bill], best: Bill | None, best_any: Bill | None) -> str:
    """The winner, the price of replicability, and what the theorem would ask for."""
    if best is None or best_any is None:
        return "No replicable learner's bill is known for these numbers: " + "; ".join(
            sorted({bill.note for bill in all_bills if bill.note})
        )
    sentence = (
        "Without noise (no nu is given) the" if setting.nu is None else "The" if setting.nu else "Without noise the"
    )
    sentence += f" cheapest replicable learner is {best.learner} with {amount(best.labels or 0)} labels"
    if not best_any.replicable:
        sentence += f", where {best_any.learner} without replicability needs {amount(best_any.labels or 0)}"
    absurd = [bill for bill in all_bills if bill.absurd and bill.plan == "paper" and _of_the_paper(bill.learner)]
    if absurd:
        asked = amount(absurd[0].labels or 0)
        sentence += f"; the paper's own sizes for {absurd[0].learner} ask for {asked}, which nobody can pay"
    if best.absurd:
        sentence += f". That is absurd as well: {best.note.removeprefix('nobody can pay this: ').rstrip('.')}"
    return sentence + "."


def _of_the_paper(learner: str) -> bool:
    """Is it one of the paper's two new learners?"""
    record = find(learner)
    return record.replicable and record.active and not record.boosts


def _plain(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)


def _forecast_payload(C: HypothesisClass, forecast: Prediction) -> dict[str, Any]:
    return {
        "items": forecast.items,
        "draws": forecast.draws,
        "labels_low": forecast.labels_low,
        "labels_median": forecast.labels_median,
        "labels_high": forecast.labels_high,
        "certified": forecast.certified_fraction,
        "differ": forecast.disagreement_mean,
        "differ_high": forecast.differ_high,
        "pool_for_rho": forecast.pool_for_rho,
        "method": forecast.method,
        "ties": [[C.describe(h) for h in group] for group in forecast.ties],
        "trade_off": [asdict(row) for row in forecast.trade_off],
    }


def _prediction_payload(C: HypothesisClass, forecast: Prediction) -> dict[str, Any]:
    """The names of the release before."""
    payload = asdict(replace(forecast, trade_off=()))
    del payload["trade_off"]
    return payload | {
        "ties": [[C.describe(h) for h in group] for group in forecast.ties],
        "worst": C.describe(forecast.worst),
    }


def _show(question: Question, forecast: Prediction) -> None:
    C, differ = question.C, rate(forecast.disagreement_mean, forecast.draws)
    rows = {
        "items a lab": f"{forecast.items:,}",
        "labels a lab": f"{labels_words(forecast)}",
        "labs differ": f"{differ} of pairs, plausibly up to {forecast.differ_high:.2f}",
    }
    if forecast.certified_fraction is not None:
        worst = (
            "" if forecast.method == "votes" else f", {100 * (forecast.certified_worst or 0.0):.0f}% in the worst world"
        )
        rows["certified"] = f"{100 * forecast.certified_fraction:.0f}% of labs{worst}"
    if forecast.uniform_disagreement is not None and question.measured is None:
        pool = forecast.pool_for_rho
        rows["pool for rho"] = "more than 10^7 items" if pool is None else f"{pool:,} items"
    prose.print("Forecast from the unlabelled items", style="italic")
    for name, value in rows.items():
        prose.print(f"  {name:<14} {value}", markup=False)
    for group in sorted(forecast.ties, key=len, reverse=True)[:3]:
        names = ", ".join(C.describe(h) for h in group[:6]) + (f" and {len(group) - 6} more" if len(group) > 6 else "")
        prose.print(f"  near-ties      {names}", markup=False, soft_wrap=True)
    if len(forecast.trade_off) > 1:
        _show_trade_off(forecast)


def _show_trade_off(forecast: Prediction) -> None:
    from rich.markup import escape
    from rich.table import Table

    draws = max(1, forecast.draws // 2)
    title = f"What a change would do, in the same {draws} worlds"
    table = Table(title=title, box=None, padding=(0, 2, 0, 0), title_justify="left")
    for column in ("protocol", "labels", "certified", "labs differ"):
        table.add_column(column, justify="left" if column == "protocol" else "right", no_wrap=True)
    for row in forecast.trade_off:
        certified = "-" if row.certified is None else f"{100 * row.certified:.0f}%"
        table.add_row(escape(row.change), f"{row.labels_median:,.0f}", certified, escape(rate(row.differ, draws)))
    prose.print(table)


def _reading(forecast: Prediction, question: Question) -> str:
    rho, prior = question.setting.rho, question.prior
    differ = rate(forecast.disagreement_mean, forecast.draws)
    words = (
        f"Expect about {forecast.labels_median:,.0f} labels a lab ({forecast.labels_low:,.0f} to "
        f"{forecast.labels_high:,.0f}) and different answers in {differ} of pairs: an estimate "
        f"from {forecast.items:,} unlabelled items and {worlds(forecast.draws)}, {CAVEATS[forecast.method]}"
    )
    certified = forecast.certified_fraction
    if certified is None:
        words += "."
    elif certified >= 0.5:
        words += f"; most labs can prove {rho:g}."
    elif forecast.uniform_disagreement is None or question.measured is not None:
        words += f"; only {100 * certified:.0f}% of labs would prove {rho:g}."
    elif forecast.pool_for_rho is None:
        words += f"; {rho:g} cannot be proven with 10^7 items: raise rho or epsilon."
    elif forecast.pool_for_rho > forecast.items:
        words += f"; to prove {rho:g} about {forecast.pool_for_rho:,} items are needed."
    else:
        words += f"; the pool could prove {rho:g}, but the labels that would take are not reached."
    if prior.kind != "uniform" and forecast.uniform_disagreement is not None:
        with_without = f"{differ} with it, {rate(forecast.uniform_disagreement, forecast.draws)} without"
        words += (
            f" The prior helps: {with_without}."
            if forecast.prior_helps
            else f" Warning: the prior hurts, because it prefers candidates far from the good ones: {with_without}."
        )
        if prior.kind == "weights":
            words += f" (1 + ln 1/mass near the truth: {forecast.prior_log:.1f} against {forecast.uniform_log:.1f}.)"
    return words
