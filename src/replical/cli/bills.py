"""How bills are told: a table of what every learner would cost, and who is cheapest.

What ``replical plan`` says of a protocol without a list.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from replical.cli.output import amount, answer, prose, reading
from replical.cli.sentences import bill_words, hypotheses
from replical.core.exact import up_to
from replical.core.text import plural
from replical.lab.protocol import Protocol
from replical.lab.tables import read_pool
from replical.lattice.linear import Linear
from replical.lattice.plan import LatticePlan
from replical.learners.bills import ABSURD, Bill
from replical.learners.catalogue import find
from replical.learners.plan import Setting


def bill_payload(bill: Bill) -> dict[str, Any]:
    """A bill as JSON tells it."""
    numbers = [{"name": each.name, "value": _number(each.value), "source": each.source} for each in bill.numbers]
    return asdict(bill) | {"numbers": numbers}


def _number(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)


# In which sense a bill is meant.
SENSES = {"expected": "expected", "estimate": "estimated", "most": "at most"}


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


def _items(bill: Bill, items: int | None) -> str:
    """What a lab has to have, in red if it has less."""
    words = _count_text(bill.unlabelled) if bill.pools else "never"
    return f"[red]{words}[/red]" if items is not None and _too_many(bill, items) else words


def _too_many(bill: Bill, items: int) -> bool:
    return not bill.pools or (bill.unlabelled is not None and bill.unlabelled > items)


def _count_text(count: int | None) -> str:
    return "-" if count is None else f"{count:,}" if count < ABSURD else up_to(count, 2)


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


def lattice_bill(protocol: Protocol, pool: Path | None, id_column: str, *, as_json: bool) -> None:
    """A protocol without a list: one bill, which is an estimate, and what is wrong with the items, if they are given."""
    plan, C = protocol.plan, protocol.recipe.C
    assert isinstance(plan, LatticePlan), "asked of such protocols only"
    assert isinstance(C, Linear), "whose class is a lattice"
    items = None
    if pool is not None:
        with reading(pool) as update:
            items = read_pool(pool, protocol.recipe, id_column=id_column, progress=update).items
    said = bill_words(C, plan, items, protocol.recipe.columns)
    bill = Bill(
        learner=plan.learner, plan=plan.name, applies=True, replicable=True, labels=plan.labels_about(C), kind="estimate",
        numbers=plan.numbers, note="an estimate for items that look alike from every side",
    )  # fmt: skip
    if as_json:
        names = ("epsilon", "delta", "rho", "nu", "labs", "max_labels")
        asked = {"class": protocol.title or "linear", "learner": plan.learner} | {
            each: protocol.given(each) for each in names
        }
        nothing = dict.fromkeys(("all_agree", "release", "forecast", "prediction"))
        told = {"inputs": asked, "bills": [bill_payload(bill)], "best": plan.learner, "best_any": plan.learner}
        answer({"schema": "replical.plan/1", **told, **nothing, "reading": said})
        return
    prose.print(f"{plan.learner}, {hypotheses(C)}: {said}", markup=False, soft_wrap=True)
