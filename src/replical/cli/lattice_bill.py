"""What ``replical plan`` says of a protocol without a list."""

from __future__ import annotations

from pathlib import Path

from replical.classes.linear import Linear
from replical.cli.bills import bill_payload
from replical.cli.lattice import bill_words, hypotheses
from replical.cli.output import answer, prose, reading
from replical.lab.protocol import Protocol
from replical.lab.tables import read_pool
from replical.plans.bills import Bill
from replical.plans.lattice import LatticePlan


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
