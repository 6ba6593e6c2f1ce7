"""What a run will cost, in words: bills, forecasts from unlabelled items, and the labels that are left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from replical.cli.inputs import pool_of
from replical.cli.output import answer, prose
from replical.core.text import amount, at_most, count, percent, plural, two_figures
from replical.errors import BudgetSpent, EmptyVersionSpace, PlanMismatch, PoolExhausted
from replical.lab.protocol import Protocol
from replical.lab.sessions.session import Session
from replical.learners.bills import Bill
from replical.learners.catalogue import find
from replical.learners.plan import Cost, Setting
from replical.learners.proof import family_of
from replical.learners.result import Span
from replical.pools.pool import Pool
from replical.worlds.forecast import Prediction, forecast

_TIMES, _LABELS = (1, 2, 4), (50, 100, 200, 400, None)  # of a lab's items, and labels, that a forecast is told for
FIRST = 16  # labels before the first estimate; then always twice as many
# What no forecast can know, by its method.
CAVEATS = {
    "votes": "made from the models' votes alone, which cannot show that most models share a mistake",
    "resampled": "if one of the hypotheses is the truth; real labels often take two to three times as many",
}
# Why there is none: the pool is too small to tell anything, or for the learner.
NO_FORECAST = (PoolExhausted, PlanMismatch, EmptyVersionSpace, BudgetSpent)
# In which sense a bill is meant.
SENSES = {"expected": "expected", "estimate": "estimated", "most": "at most"}


def bill_payload(bill: Bill) -> dict[str, Any]:
    """A bill as JSON tells it."""
    numbers = [{"name": each.name, "value": _number(each.value), "source": each.source} for each in bill.numbers]
    return asdict(bill) | {"numbers": numbers}


def _number(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)


def bill_reading(setting: Setting, all_bills: list[Bill], best: Bill | None, best_any: Bill | None) -> str:
    """The winner, the price of replicability, and what the theorem would ask for."""
    if best is None or best_any is None:
        missing = {bill.note for bill in all_bills if bill.note and not bill.applies}
        why = missing or {bill.note for bill in all_bills if bill.note}
        return f"No replicable learner's bill is known for these numbers: {'; '.join(sorted(why)).rstrip('.')}."
    sentence = (
        "Without noise (no nu is given) the" if setting.nu is None else "The" if setting.nu else "Without noise the"
    )
    labels = f"{amount(best.labels or 0)} {plural(best.labels or 0, 'label')}"
    sentence += f" cheapest replicable learner is {best.learner} with {labels}"
    if not best_any.replicable:
        sentence += f", where {best_any.learner} without replicability needs {amount(best_any.labels or 0)}"
    for bill in (each for each in all_bills if each.absurd and each.plan == "paper"):
        record = find(bill.learner)
        if record.replicable and record.active and not record.boosts:  # one of the paper's two new learners
            asked = amount(bill.labels or 0)
            sentence += f"; the paper's own sizes for {bill.learner} ask for {asked}, which nobody can pay"
            break
    if best.absurd:
        sentence += f". That is absurd as well: {best.note.removeprefix('nobody can pay this: ').rstrip('.')}"
    return sentence + "."


def show_bills(
    all_bills: list[Bill], class_spec: str, setting: Setting, items: int | None, *, numbers: bool = True
) -> None:
    """A table of bills, with the `numbers` of a single learner; what asks for more than the `items` one has is red."""
    from rich.markup import escape
    from rich.table import Table

    public = f"{class_spec}, epsilon {setting.epsilon:g}, rho {setting.rho:g}"
    title = escape(f"Labels per lab, from public numbers alone: {public}")
    table = Table(title=title, box=None, padding=(0, 2, 0, 0), title_justify="left")
    for column in ("learner", "plan", "repl.", "labels", "", "rounds", "items"):
        right = column in ("labels", "rounds", "items")
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    for bill in sorted((bill for bill in all_bills if bill.applies), key=lambda bill: bill.labels or 0):
        labels = _count_text(bill.labels)
        table.add_row(
            bill.learner,
            bill.plan,
            "yes" if bill.replicable else "no",
            f"[red]{labels}[/red]" if bill.absurd else labels,
            SENSES[bill.kind or "most"],
            "-" if bill.rounds is None else str(bill.rounds),
            _items(bill, items),
        )
    prose.print(table)
    if items is not None and any(bill.applies and _too_many(bill, items) for bill in all_bills):
        prose.print(f"Items in red: more than the {items:,} that you have. Never: no finite pool will do.")
    one_learner = numbers and len({bill.learner for bill in all_bills}) == 1
    left_out: dict[str, list[str]] = {}
    for bill in all_bills:
        if one_learner and bill.applies and bill.note:
            prose.say(f"{bill.learner} ({bill.plan}): {bill.note}")
        if not bill.applies and bill.learner not in left_out.setdefault(bill.note, []):
            left_out[bill.note].append(bill.learner)
    for note, learners in left_out.items():
        if learners:
            prose.say(f"Left out: {', '.join(learners)} ({note}).")
    if one_learner:
        for each in all_bills[-1].numbers:
            prose.say(f"  {each.name:<10} {float(each.value):<12.6g} {each.source}")


def _count_text(count: int | None) -> str:
    return "-" if count is None else amount(count)


def _items(bill: Bill, items: int | None) -> str:
    """What a lab has to have, in red if it has less."""
    words = _count_text(bill.unlabelled) if bill.pools else "never"
    return f"[red]{words}[/red]" if items is not None and _too_many(bill, items) else words


def _too_many(bill: Bill, items: int) -> bool:
    return not bill.pools or (bill.unlabelled is not None and bill.unlabelled > items)


def show_cost(protocol: Protocol, cost: Cost, pool: Path | None, id_column: str, *, as_json: bool) -> None:
    """Of a learner that is alone with its class: one bill, and what is wrong with the items, if they are given."""
    plan, family = protocol.plan, family_of(protocol.record)
    remarks = [*family.remarks(protocol)]
    if pool is not None:
        items = pool_of(pool, protocol.recipe, id_column).items
        remarks += [f"Warning: {each}." for each in family.warnings(protocol, items)]
    said = " ".join(remarks)
    if not as_json:
        prose.say(f"{plan.learner}, {family.class_words(protocol.recipe)}: {said}")
        return
    bill = Bill(
        learner=plan.learner, plan=plan.name, applies=True, replicable=True, labels=cost.labels, kind=cost.kind,
        numbers=plan.numbers, note=cost.note,
    )  # fmt: skip
    names = ("epsilon", "delta", "rho", "nu", "labs", "max_labels")
    asked = {"class": protocol.title or protocol.content["class"]["kind"], "learner": plan.learner} | {
        each: protocol.parameter(each) for each in names
    }
    nothing = dict.fromkeys(("all_agree", "forecast"))
    fields = {"inputs": asked, "bills": [bill_payload(bill)], "best": plan.learner, "best_any": plan.learner}
    head = {"schema": "replical.plan/1", "fingerprint": protocol.fingerprint}
    answer({**head, **fields, **nothing, "reading": said})


def make_forecast(
    protocol: Protocol,
    pool: Pool,
    draws: int,
    *,
    noise: float | None,
    far: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Prediction:
    """Of a protocol's own plan."""
    options = protocol.options | {"prior": protocol.prior}
    return forecast(
        pool, protocol.plan.learner, options, published=protocol.plan, noise=noise, draws=draws, far=far,
        progress=progress,
    )  # fmt: skip


def rough_words(forecast: Prediction) -> str:
    """What a lab may expect, where few worlds were looked at."""
    proof = "" if forecast.certified_fraction is None else f", {_proof(forecast)}"
    return (
        f"Forecast from the unlabelled items: about {_labels(forecast, f' {forecast.counted}')}{proof}; a rough "
        f"estimate from {worlds(forecast.draws)}, replical plan says more."
    )


def _proof(forecast: Prediction) -> str:
    return f"a proof in {percent(forecast.certified_fraction or 0.0)} of labs"


def _pair_words(forecast: Prediction) -> str:
    """What two labs may expect: a proof of one answer, or how often they differ where nothing is proven."""
    if forecast.same is not None:
        return f"two labs both certified with the same answer in at least {int(100 * forecast.same)}% of cases"
    if not forecast.disagreement_mean:
        return f"the same answer in all of {count(forecast.draws, 'simulated pair')}"
    return f"different answers in {rate(forecast.disagreement_mean, forecast.draws)} of pairs"


def _labels(forecast: Prediction, what: str = "") -> str:
    """How many labels or judgements, and between which numbers."""
    return f"{forecast.labels_median:,.0f}{what} ({forecast.labels_low:,.0f} to {forecast.labels_high:,.0f})"


def rate(share: float, draws: int) -> str:
    """How often labs differ; what no pair showed is not 0, but less than one pair in so many."""
    if share <= 0:
        return f"< 1/{draws}"
    return f"{100 * share:.2g}%" if share < 1 else "100%"


def worlds(draws: int) -> str:
    """How many worlds were looked at."""
    return count(draws, "simulated world")


def forecast_reading(forecast: Prediction, rho: float) -> str:
    """The same in sentences."""
    proof = "" if forecast.certified_fraction is None else f", {_proof(forecast)} at rho = {rho:g}"
    return (
        f"Expect about {_labels(forecast, f' {forecast.counted} per lab')}{proof}, and {_pair_words(forecast)}: an estimate "
        f"from {forecast.items:,} unlabelled items and {worlds(forecast.draws)}, {CAVEATS[forecast.method]}."
    )


def chances(forecast: Prediction) -> list[dict[str, float | int | None]]:
    """How likely a lab's proof is, with its items, twice and four times as many, and with so many labels, at ε and 2ε."""
    return [
        {"items": times * forecast.items, "labels": labels, "epsilon": at, "chance": labs.chance(**limits)}
        for at, labs in ((forecast.epsilon, forecast.labs), (2 * forecast.epsilon, forecast.wider))
        if labs is not None
        for times in _TIMES
        for labels in _LABELS
        for limits in ({"items": times * forecast.items} | ({} if labels is None else {"labels": labels}),)
    ]


def show_forecast(forecast: Prediction) -> None:
    """What the labs may expect: labels, and how likely a proof is."""
    prose.print("Forecast from the unlabelled items", style="italic")
    prose.say(f"  {'items per lab':<14} {forecast.items:,}")
    prose.say(f"  {f'{forecast.counted} per lab':<14} {_labels(forecast)}")
    if forecast.labs is not None:
        _show_chances(forecast)


def _show_chances(forecast: Prediction) -> None:
    """A line for so many items, a column for so many labels."""
    epsilon = forecast.epsilon
    found = {(each["epsilon"], each["items"], each["labels"]): each["chance"] for each in chances(forecast)}
    wider = "" if forecast.wider is None else f" (at {2 * epsilon:g})"
    limits = f"with so many items and {forecast.counted}"
    prose.print(f"Chance of a proof at epsilon {epsilon:g}{wider}, {limits}", style="italic")
    rows = [["", *("any" if labels is None else f"{labels}" for labels in _LABELS)]]
    for items in (times * forecast.items for times in _TIMES):
        cells = []
        for labels in _LABELS:
            own, twice = (found.get((at, items, labels)) for at in (epsilon, 2 * epsilon))
            cells.append(percent(own or 0.0) + ("" if twice is None else f" ({percent(twice)})"))
        rows.append([f"{items:,} items", *cells])
    for first, *cells in rows:
        prose.say(f"  {first:<14}" + "".join(f"{cell:>15}" for cell in cells))


def forecast_payload(forecast: Prediction) -> dict[str, Any]:
    """The same as JSON tells it."""
    names = ("items", "draws", "labels_low", "labels_median", "labels_high", "same", "method", "counted")
    fields = {name: getattr(forecast, name) for name in names}
    certified, differ = forecast.certified_fraction, forecast.disagreement_mean
    return fields | {"certified": certified, "chances": chances(forecast), "differ": differ}


class Outlook:
    """Estimates of how many labels are left, for whoever runs while others label.

    An estimate is made when 16, 32, 64, .. labels are known: it never changes what is asked, or when a run stops. It speaks
    of counts alone, and so seldom that nobody can read from it what a single label did to the candidates. `expected` is what
    was forecast before the first label.
    """

    def __init__(
        self, session: Session, tell: Callable[[str], None] = lambda _: None, *, expected: float | None = None
    ) -> None:
        self._session, self._tell, self._next = session, tell, FIRST
        self._whole = None if expected is None else expected + session.error_labels  # about how many it will be in all
        self.within: str | None = None  # as close to the best the first of a public order is proven to be
        self._span: Span | None = None  # labels left by the last estimate, when there were `_at`
        self._at = 0

    def look(self) -> None:
        """Make an estimate if it is time for one. To be called by whoever changes the session."""
        labels = self._session.ledger.label_count
        if labels >= self._next and not self._session.ended:
            while self._next <= labels:
                self._next *= 2
            if words := self.now():
                self._tell(words)

    def now(self) -> str:
        """What is known at this moment, in a line; empty where nothing is."""
        session, course = self._session, self._session.course
        standing = course.standing
        if standing is None or course.query is None:
            return ""
        rest, first, self._at = standing.rest, standing.first, course.judged - course.query.judgements
        self._span = None if rest is None else rest.span("labels", to_proof=False)
        if self._span is not None:
            self._whole = self._at + self._span.median
        elif session.budget is not None:  # labels that are left sharpen the tolerance
            self._whole = None
        words = [count(self._at, "label"), "" if self._span is None else self._span.of("left", "left")]
        tolerance = 1.0 if standing.behind or standing.tolerance is None else standing.tolerance
        self.within = at_most(tolerance) if tolerance < 1 else None
        name = "" if first is None else session.protocol.recipe.describe(first)
        if first is not None and standing.behind:
            words.append(f"{name}, the first of the public order, is clearly behind")
        elif self.within is not None:
            words.append(f"proven so far: {name} is within {self.within} of the best")
        return "; ".join(filter(None, words)) if any(words[1:]) else ""

    @property
    def about(self) -> int | None:
        """About how many labels are left, to two figures, by the last estimate or the forecast; None if nobody knows."""
        labels = self._session.ledger.label_count
        return None if self._whole is None or self._whole < labels + 1 else two_figures(self._whole - labels)

    def left(self) -> str:
        """The same for the end of a line; empty if unknown."""
        return "" if self.about is None else f"about {self.about:,} left"

    def figures(self) -> dict[str, Any] | None:
        """The last estimate, for an answer in JSON."""
        if self._span is None:
            return None
        low, median, high = self._span.low, self._span.median, self._span.high
        return {"labels": self._at, "left_low": low, "left_median": median, "left_high": high}
