"""``replical plan``: the bill before the first label."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from replical.classes.base import HypothesisClass, Items
from replical.classes.prior import Prior
from replical.classes.spec import parse
from replical.cli.inputs import SIMULATED, items_from, read_prior
from replical.cli.options import parameter
from replical.cli.output import CLASSES, amount, answer, progress, prose, whole
from replical.errors import BadUsage
from replical.lab.protocol import Protocol
from replical.lab.tables import read_pool
from replical.plans.bills import ABSURD, Bill, all_agree, bills, cheapest
from replical.plans.catalogue import find
from replical.plans.costs import Setting
from replical.pools.pool import Pool
from replical.study.pictures.bills import bills_picture
from replical.study.pictures.style import check_name, save
from replical.worlds.audit import World
from replical.worlds.forecast import Prediction, predict_agreement
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
    prior, items, kappa, finish, max_labels
        As in `replical.plan`.
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
    items: int | None = None
    kappa: float | None = None
    finish: str | None = None
    max_labels: int | None = None


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
    plot: Annotated[Path | None, typer.Option(help="draw the bills: a .svg, .png or .pdf file")] = None,
    against: Annotated[str, typer.Option(help="what the drawing varies: epsilon, rho, class or theta")] = "epsilon",
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
    truths: Annotated[int, typer.Option(parser=whole, help="hypotheses that take their turn as the truth")] = 16,
    seed: Annotated[str | None, typer.Option(help="the published text a net of half-spaces is drawn from")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """What would it cost? Every learner's label bill and, for a pool of unlabelled items, labels and agreement forecast."""
    if plot is not None:
        check_name(plot)
    if protocol_file is not None:
        if {class_spec, epsilon, learner, delta, rho, items, kappa, max_labels, prior, prefer} != {None}:
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
            ),
            only=learner,
            learner=learner or "rounded-a2",
            prior=read_prior(C, prior, prefer),
            items=items,
            kappa=kappa,
            max_labels=max_labels,
        )
    together = all_agree(labs, question.setting.rho)
    question = _with_theta(question)
    all_bills = bills(question.setting, question.only)
    pool_items = None if _by_labels(question) else question.pool
    forecast = None if pool_items is None else _forecast(question, pool_items, noise, truths)
    if plot is not None:
        save(bills_picture(question.setting, against), plot)
    best, best_any = cheapest(all_bills, replicable=True), cheapest(all_bills, replicable=False)
    reading = _compared(question.setting, all_bills, best, best_any)
    if forecast is not None:
        first = _reading(forecast, question.setting.rho, question.prior)
        reading = f"{first} From public numbers alone, not looking at the items: {reading}"
    elif question.pool is not None:
        finish = "" if question.finish is None else f" with the finish {question.finish}"
        none_yet = f"{question.learner}{finish} has no forecast from unlabelled items yet"
        reading = f"{none_yet}. From public numbers alone: {reading}"
    reading += _all_labs(labs, question.setting.rho, together)
    if as_json:
        answer(
            {
                "schema": "replical.plan/1",
                "inputs": _inputs(question, labs, noise),
                "bills": [_bill_payload(bill) for bill in all_bills],
                "best": None if best is None else best.learner,
                "best_any": None if best_any is None else best_any.learner,
                "all_agree": together,
                "reading": reading,
                "prediction": None if forecast is None else _forecast_payload(question.C, forecast),
            }
        )
        return
    if forecast is not None:
        _show(question.C, forecast)
        prose.print()
    _show_bills(all_bills, question.title, question.setting)
    prose.print(reading, markup=False, soft_wrap=True)
    if plot is not None:
        prose.print(f"Drawn against {against}: {plot}", markup=False, soft_wrap=True)


def _about_protocol(
    file: Path, pool: Path | None, id_column: str, *, theta: float | None, nu: float | None
) -> Question:
    """What a protocol says, and what it leaves open."""
    protocol = Protocol.read(file)
    return Question(
        title=protocol.title or file.name,
        C=protocol.recipe.C,
        pool=None if pool is None else read_pool(pool, protocol.recipe, id_column=id_column).pool(SIMULATED),
        setting=protocol.setting(theta=theta, nu=nu),
        learner=protocol.plan.learner,
        prior=protocol.prior,
        items=protocol.given("items"),
        kappa=protocol.given("kappa"),
        finish=protocol.given("finish"),
        max_labels=protocol.given("max_labels"),
    )


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


def _forecast(question: Question, pool: Pool, noise: str | None, truths: int) -> Prediction:
    setting = question.setting
    with progress("simulated pairs of labs") as update:
        return predict_agreement(
            question.C,
            pool,
            setting.epsilon,
            question.learner,
            delta=setting.delta,
            rho=setting.rho,
            noise=parse_noise(noise) if noise is not None else setting.nu or 0.0,
            items=question.items,
            prior=question.prior,
            kappa=question.kappa,
            max_labels=question.max_labels,
            truths=truths,
            progress=update,
        )


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
        "noise": noise,
        "items": question.items,
        "kappa": question.kappa,
        "max_labels": question.max_labels,
        "prior": question.prior.kind,
    }


def _all_labs(labs: int, rho: float, together: float) -> str:
    if labs == 2:
        return ""
    wanted = f"publish rho = {rho / (labs - 1):.3g} if that shall be {1 - rho:g}"
    return f" All {labs} labs agree with probability at least {together:g}; {wanted}."


def _bill_payload(bill: Bill) -> dict[str, Any]:
    numbers = [{"name": each.name, "value": _plain(each.value), "source": each.source} for each in bill.numbers]
    return asdict(bill) | {"numbers": numbers}


def _show_bills(all_bills: list[Bill], class_spec: str, setting: Setting) -> None:
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
            _short(bill.unlabelled),
        )
    prose.print(table)
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


def _short(count: int | None) -> str:
    return "-" if count is None else f"{count:,}" if count < ABSURD else f"{float(count):.2g}"


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


def _by_labels(question: Question) -> bool:
    """Do labels decide in the end? Then items without labels foretell nothing yet."""
    record = find(question.learner)
    return record.certifies and (not record.rounds or question.finish not in (None, "distance"))


def _of_the_paper(learner: str) -> bool:
    """Is it one of the paper's two new learners?"""
    record = find(learner)
    return record.replicable and record.active and not record.boosts


def _plain(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)


def _forecast_payload(C: HypothesisClass, forecast: Prediction) -> dict[str, Any]:
    payload = asdict(forecast)
    return payload | {
        "ties": [[C.describe(h) for h in group] for group in forecast.ties],
        "worst": C.describe(forecast.worst),
    }


def _show(C: HypothesisClass, forecast: Prediction) -> None:
    rows = {
        "items a lab": f"{forecast.items:,}",
        "labels a lab": f"{amount(round(forecast.labels_mean))} ({forecast.labels_low:.0f} to {forecast.labels_high:.0f})",
        "labs differ": f"{forecast.disagreement_mean:.3f}, at worst {forecast.disagreement_worst:.3f}",
        "certified": f"{100 * forecast.certified_fraction:.0f}% of labs",
        "pool for rho": "more than 10^7 items" if forecast.pool_for_rho is None else f"{forecast.pool_for_rho:,} items",
    }
    prose.print("Predicted from the unlabelled items", style="italic")
    for name, value in rows.items():
        prose.print(f"  {name:<14} {value}", markup=False)
    for group in sorted(forecast.ties, key=len, reverse=True)[:3]:
        names = ", ".join(C.describe(h) for h in group[:6]) + (f" and {len(group) - 6} more" if len(group) > 6 else "")
        prose.print(f"  near-ties      {names}", markup=False, soft_wrap=True)


def _reading(forecast: Prediction, rho: float, prior: Prior) -> str:
    words = (
        f"Expect about {forecast.labels_mean:.0f} labels a lab and different answers in "
        f"{100 * forecast.disagreement_mean:.1f}% of pairs (an estimate from {forecast.items:,} unlabelled items, if one of "
        "the hypotheses is the truth; real labels often take two to three times as many)"
    )
    if forecast.certified_fraction >= 0.5:
        words += f"; most labs can prove {rho:g}."
    elif forecast.pool_for_rho is None:
        words += f"; {rho:g} cannot be proven with 10^7 items: raise rho or epsilon."
    elif forecast.pool_for_rho > forecast.items:
        words += f"; to prove {rho:g} about {forecast.pool_for_rho:,} items are needed."
    else:
        words += f"; the pool could prove {rho:g}, but the labels that would take are not reached."
    if prior.kind != "uniform":
        with_without = f"{forecast.disagreement_mean:.3f} with it, {forecast.uniform_disagreement:.3f} without"
        words += (
            f" The prior helps: {with_without}."
            if forecast.prior_helps
            else f" Warning: the prior hurts, because it prefers candidates far from the good ones: {with_without}."
        )
        if prior.kind == "weights":
            words += f" (1 + ln 1/mass near the truth: {forecast.prior_log:.1f} against {forecast.uniform_log:.1f}.)"
    return words
