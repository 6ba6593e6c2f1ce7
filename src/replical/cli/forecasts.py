"""What a run will cost, as it is told: bills, forecasts from unlabelled items, and the labels that are left."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from replical.classes.base import HypothesisClass
from replical.classes.table import PredictionTable
from replical.cli.output import answer, prose, reading
from replical.core.exact import round_up_to
from replical.core.text import amount, count, plural, two_figures
from replical.errors import BudgetSpent, EmptyVersionSpace, PlanMismatch, PoolExhausted, ReplicalError
from replical.lab.journal.journal import Event
from replical.lab.protocol import Protocol
from replical.lab.sessions.session import Session
from replical.lab.tables import read_pool
from replical.learners.bills import ABSURD, Bill
from replical.learners.catalogue import find
from replical.learners.plan import Cost, Setting
from replical.learners.proof import family_of
from replical.pools.pool import Pool
from replical.worlds.forecast import Prediction, Remaining, forecast, remaining
from replical.worlds.vote_worlds import Votes, votes_on
from replical.worlds.world import Noise

FIRST = 16  # labels before the first estimate; then always twice as many
# What no forecast can know, by its method.
CAVEATS = {
    "votes": "made from the candidates' votes alone, which cannot show that most candidates share a mistake",
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
    absurd = [bill for bill in all_bills if bill.absurd and bill.plan == "paper" and _is_of_the_paper(bill.learner)]
    if absurd:
        asked = amount(absurd[0].labels or 0)
        sentence += f"; the paper's own sizes for {absurd[0].learner} ask for {asked}, which nobody can pay"
    if best.absurd:
        sentence += f". That is absurd as well: {best.note.removeprefix('nobody can pay this: ').rstrip('.')}"
    return sentence + "."


def _is_of_the_paper(learner: str) -> bool:
    """Is it one of the paper's two new learners?"""
    record = find(learner)
    return record.replicable and record.active and not record.boosts


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
            prose.print(f"{bill.learner} ({bill.plan}): {bill.note}", markup=False, soft_wrap=True)
        if not bill.applies and bill.learner not in left_out.setdefault(bill.note, []):
            left_out[bill.note].append(bill.learner)
    for note, learners in left_out.items():
        if learners:
            prose.print(f"Left out: {', '.join(learners)} ({note}).", markup=False, soft_wrap=True)
    if one_learner:
        for each in all_bills[-1].numbers:
            prose.print(f"  {each.name:<10} {float(each.value):<12.6g} {each.source}", markup=False, soft_wrap=True)


def _count_text(count: int | None) -> str:
    return "-" if count is None else f"{count:,}" if count < ABSURD else round_up_to(count, 2)


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
        with reading(pool) as update:
            items = read_pool(pool, protocol.recipe, id_column=id_column, progress=update).items
        remarks += [f"Warning: {each}." for each in family.warnings(protocol, items)]
    said = " ".join(remarks)
    if not as_json:
        prose.print(f"{plan.learner}, {family.class_words(protocol.recipe.C)}: {said}", markup=False, soft_wrap=True)
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
    told = {"inputs": asked, "bills": [bill_payload(bill)], "best": plan.learner, "best_any": plan.learner}
    head = {"schema": "replical.plan/1", "fingerprint": protocol.fingerprint}
    answer({**head, **told, **nothing, "reading": said})


def make_forecast(
    protocol: Protocol,
    pool: Pool,
    draws: int,
    *,
    noise: Noise | None,
    progress: Callable[[int, int], None] | None = None,
) -> Prediction:
    """Of a protocol's own plan."""
    options = protocol.options | {"prior": protocol.prior}
    return forecast(
        pool, protocol.plan.learner, options, published=protocol.plan, noise=noise, draws=draws, progress=progress,
    )  # fmt: skip


def rough_words(C: HypothesisClass, forecast: Prediction, *, verbose: bool) -> Iterator[str]:
    """What a lab may expect, where few worlds were looked at; on request also what is behind it, and who is hard to tell."""
    first = f"Forecast from the unlabelled items: about {_labels(forecast, ' labels')}"
    if not verbose:
        yield f"{first}; a rough estimate, -v says more."
        return
    yield (
        f"{first}, another lab differs in {rate(forecast.disagreement_mean, forecast.draws)} of cases. That is a rough "
        f"estimate from {worlds(forecast.draws)}, {CAVEATS[forecast.method]}; replical plan takes more."
    )
    if forecast.ties:
        tied = max(forecast.ties, key=len)
        names = ", ".join(C.describe(h) for h in tied[:4]) + (" .." if len(tied) > 4 else "")
        yield f"Near-ties that labels will hardly tell apart: {names}"


def _labels(forecast: Prediction, what: str = "") -> str:
    """How many labels, and between which numbers."""
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
    differ = rate(forecast.disagreement_mean, forecast.draws)
    seen = (
        f"different answers in {differ} of pairs"
        if forecast.disagreement_mean > 0
        else f"the same answer in all of {count(forecast.draws, 'simulated pair')}"
    )
    words = (
        f"Expect about {_labels(forecast, ' labels per lab')} and {seen}: an estimate "
        f"from {forecast.items:,} unlabelled items and {worlds(forecast.draws)}, {CAVEATS[forecast.method]}"
    )
    certified = forecast.certified_fraction
    if certified is None:
        words += "."
    else:
        words += f"; about {100 * certified:.0f}% of labs would end with a proof at rho = {rho:g}."
    return words


def show_forecast(C: HypothesisClass, forecast: Prediction, *, ties: bool) -> None:
    """What the labs may expect, line by line."""
    rows = {
        "items per lab": f"{forecast.items:,}",
        "labels per lab": _labels(forecast),
        "labs differ": _pairs(forecast),
    }
    if forecast.certified_fraction is not None:
        worst = (
            "" if forecast.method == "votes" else f", {100 * (forecast.certified_worst or 0.0):.0f}% in the worst world"
        )
        rows["certified"] = f"{100 * forecast.certified_fraction:.0f}% of labs{worst}"
    prose.print("Forecast from the unlabelled items", style="italic")
    for name, value in rows.items():
        prose.print(f"  {name:<14} {value}", markup=False)
    for group in sorted(forecast.ties if ties else (), key=len, reverse=True)[:3]:
        names = ", ".join(C.describe(h) for h in group[:6]) + (f" and {len(group) - 6} more" if len(group) > 6 else "")
        prose.print(f"  near-ties      {names}", markup=False, soft_wrap=True)


def _pairs(forecast: Prediction) -> str:
    """How often two labs differ in simulations, and how often they may for all that is known."""
    share, high = forecast.disagreement_mean, f"up to {100 * forecast.differ_high:.0f}% would be plausible"
    if share <= 0:
        return f"in none of {forecast.draws:,} simulated pairs; {high}"
    return f"in {rate(share, forecast.draws)} of {forecast.draws:,} simulated pairs; {high}"


def forecast_payload(C: HypothesisClass, forecast: Prediction) -> dict[str, Any]:
    """The same as JSON tells it."""
    return {
        "items": forecast.items,
        "draws": forecast.draws,
        "labels_low": forecast.labels_low,
        "labels_median": forecast.labels_median,
        "labels_high": forecast.labels_high,
        "certified": forecast.certified_fraction,
        "differ": forecast.disagreement_mean,
        "differ_high": forecast.differ_high,
        "method": forecast.method,
        "ties": [[C.describe(h) for h in group] for group in forecast.ties],
    }


class Outlook:
    """Estimates of how many labels are left, for whoever runs while others label.

    An estimate is made when 16, 32, 64, .. labels are known, beside the run: it never changes what is asked, when a run
    stops or how long an answer takes. It speaks of counts alone, and so seldom that nobody can read from it what a single
    label did to the candidates. The journal keeps it, so that pages on other machines show it too, and a run that goes on
    tomorrow. `expected` is what was forecast before the first label; where nobody `looks`, it is all that is known.
    """

    def __init__(
        self,
        session: Session,
        tell: Callable[[str], None] = lambda _: None,
        *,
        expected: float | None = None,
        looks: bool = True,
    ) -> None:
        self._session, self._tell, self._next, self._looks = session, tell, FIRST, looks
        self._kept = session.ledger.estimate
        self._expected = self._kept if expected is None else expected + session.error_labels
        self._votes: Votes | None = None
        self._thread: threading.Thread | None = None
        self.latest: Remaining | None = None  # the last estimate that was finished

    def look(self) -> None:
        """Begin an estimate beside the run if it is time for one. To be called by whoever changes the session."""
        session = self._session
        count = len(session.ledger.labels)
        self._keep()
        busy = not self._looks or (self._thread is not None and self._thread.is_alive())
        if count < self._next or busy or not isinstance(session.protocol.recipe.C, PredictionTable) or session.ended:
            return
        while self._next <= count:
            self._next *= 2
        known = (session.label_codes, list(session.ledger.skipped))  # copies: the run goes on meanwhile
        self._thread = threading.Thread(target=self._beside, args=known, daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        """In the journal. An estimate that cannot be written stops nothing: the next answer will be refused if need be."""
        whole = self._whole()
        if whole is None or round(whole) == self._kept or self._session.ended:
            return
        with suppress(ReplicalError):
            self._session.journal.append([Event(kind="estimate", detail={"labels": round(whole)})])
            self._kept = round(whole)

    def _whole(self) -> float | None:
        """About how many labels it will be in all."""
        found = self.latest
        return self._expected if found is None else found.labels + found.median

    def _beside(self, heard: Mapping[int, int], skipped: list[str]) -> None:
        self._estimate(heard, skipped)
        if self.latest is not None and self.latest.labels == len(heard) and not self._session.ended:
            self._tell(self.latest.words)

    def now(self) -> Remaining | None:
        """An estimate of this moment, waited for."""
        session = self._session
        if isinstance(session.protocol.recipe.C, PredictionTable) and not session.ended:
            self._estimate(session.label_codes, list(session.ledger.skipped))
        return self.latest

    def left(self) -> str:
        """About how many labels are left, by the last estimate or the forecast, for the end of a line; empty if unknown."""
        heard, whole = len(self._session.ledger.labels), self._whole()
        return "" if whole is None or whole < heard + 1 else f"about {two_figures(whole - heard):,} left"

    def wait(self) -> None:
        """Until the estimate under way is finished."""
        if self._thread is not None:
            self._thread.join()

    def figures(self) -> dict[str, Any] | None:
        """The last estimate, for an answer in JSON."""
        found = self.latest
        if found is None:
            return None
        return {"labels": found.labels, "left_low": found.low, "left_median": found.median, "left_high": found.high}

    def _estimate(self, heard: Mapping[int, int], skipped: list[str]) -> None:
        session = self._session
        pool, protocol = session.pool_without(skipped), session.protocol
        self._votes = self._votes or votes_on(pool, protocol.prior)
        if self._votes is None:  # too few items to say anything
            return
        try:
            self.latest = remaining(
                session.learner, pool, protocol.shared, self._votes, heard, nu=protocol.parameter("nu")
            )
        except ReplicalError:  # the rest of the run cannot be imagined; the run itself will say why
            self.latest = None
