"""What every command does with its answer: JSON or prose on standard output, progress and errors on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from replical.classes.catalogue import specs
from replical.core.exact import down, fraction, up, up_to
from replical.learners.measured import measurable
from replical.learners.result import Result, Rounding, Verdict
from replical.plans.base import Plan
from replical.plans.catalogue import find
from replical.plans.rounded import RoundedPlan
from replical.plans.settled_distance import SettledDistancePlan

CLASSES = specs()

# A terminal that says it is zero columns wide would swallow every line.
_WIDTH = 80 if os.environ.get("COLUMNS", "").strip() == "0" else None

prose = Console(highlight=False, width=_WIDTH)
notes = Console(stderr=True, highlight=False, width=_WIDTH)


def answer(value: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")


def fail(kind: str, message: str, *, as_json: bool, code: int = 2) -> int:
    """One sentence on standard error, or one JSON object on standard output; the exit code either way."""
    if as_json:
        answer({"schema": "replical.error/1", "error": kind, "message": message, "exit": code})
    else:
        notes.print(f"Error: {message}", style="bold red", markup=False, soft_wrap=True)
    return code


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error; lines of text where that is not a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        quarter = [0]

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)
            if not notes.is_terminal and 4 * done // total > quarter[0]:
                quarter[0] = 4 * done // total
                notes.print(f"{what}: {done} of {total}", markup=False)

        yield update


def number(text: str) -> float:
    """Parse a number, naming the text that is none."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number.") from None


def whole(text: str) -> int:
    """Parse a whole number, naming the text that is none."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number.") from None


def interval(low: float, high: float, digits: int = 1) -> str:
    """A confidence interval in percent, never narrower than it is."""
    return f"{down(100 * fraction(low), digits)}% to {up(100 * fraction(high), digits)}%"


def amount(x: float) -> str:
    """A count of labels a person can read at a glance."""
    return f"{x:,.0f}" if x == int(x) and x < 1e9 else f"{x:,.1f}" if x < 1e6 else up_to(x, 3)


def uncertified(verdict: Verdict, rounding: Rounding) -> str:
    """Why a lab that rounds has not proven enough, what would help, and what is known beside proofs."""
    sentence = f"Not certified: {verdict.why}. What helps: {verdict.helps}."
    if rounding.rho_predicted is not None:
        sentence += f" Predicted: another lab differs with probability {rounding.rho_predicted:.3f}."
    elif rounding.far_apart:
        sentence += " How often another lab differs is not predicted: the hypotheses left are too far apart."
    return sentence


def settled_words(result: Result, plan: Plan) -> Iterator[str]:
    """The end of a run of a `plan` of Settled: proven or not, why not, what would help; how good the answer is."""
    settling, verdict, measured = result.settling, result.verdict, result.measured
    assert settling is not None, "asked of settled runs only"
    assert verdict is not None, "asked of settled runs only"
    looked = (
        f"It stands at place {settling.place + 1} of the shared order; {count(settling.scanned, 'item')} "
        f"{'was' if settling.scanned == 1 else 'were'} looked at, {100 * settling.asked / max(settling.scanned, 1):.0f}% of "
        "them asked."
    )
    if verdict.certified:
        labs = "two labs both prove this" if settling.labs == 2 else f"of {settling.labs} labs two prove this"
        v, far = f"{float(settling.v):.4f}", isinstance(plan, SettledDistancePlan)
        ideal = (
            f"that differs from the best on a share of at most {v} of all items" if far else f"within {v} of the best"
        )
        yield (
            f"Certified: this is the first {'hypothesis' if far else 'candidate'} in the shared order {ideal}. That {labs} "
            f"and yet differ has probability at most {up(settling.rho_proven, 3)}{supposed(plan)}."
        )
        yield looked
        most = up(settling.excess_upper or 0.0, 4)
        yield f"It errs at most {most} more often than the best, at level {up_to(2 * settling.beta, 3)}{supposed(plan)}."
    else:
        doubt = "nothing is proven yet" if settling.doubt >= 1 else f"proven only at level {up(settling.doubt, 3)}"
        yield f"Not certified: {verdict.why} ({doubt}, asked for is {settling.beta:.3g})."
        yield f"What helps: {verdict.helps}."
        yield (
            f"{looked} Estimate, not a proof: another lab with such a pool has the same answer in "
            f"{100 * settling.agreement_estimate:.0f}% of cases."
        )
    if measured is None:
        hint = "; --measure-error 100 measures that" if measurable(plan) else ""
        yield f"How often it errs is not known{hint}."
        return
    skipped = f" ({measured.skipped} more could not be labelled and are left out)" if measured.skipped else ""
    yield (
        f"Its error: {measured.estimate:.3f} on {count(measured.labels, 'fresh item')}{skipped}; between "
        f"{down(measured.low, 3)} and {up(measured.high, 3)} at level {measured.level:g}."
    )


def both(plan: Plan) -> str:
    """What a certified lab has shown to be rare."""
    if not isinstance(plan, RoundedPlan) or plan.yardstick is None:
        return "two labs both prove this and yet differ"
    labs = "any number of" if find(plan.learner).setting == "realizable" else str(plan.integer("labs"))
    return f"of {labs} labs with this yardstick two prove this and yet differ"


def fixed(plan: Plan) -> str:
    """What is certain of this string, and as far as what."""
    words = "Fixed: with this string every certified lab returns this answer"
    if not plan["delta_A"]:
        return f"{words}{supposed(plan)}."
    lost = up(plan["labs"] * plan["delta_A"], 3)
    return f"{words}, unless one of {plan.integer('labs')} has lost the best hypothesis (probability at most {lost})."


def supposed(plan: Plan) -> str:
    """What a proof takes for granted."""
    return ", if some hypothesis makes no error" if find(plan.learner).setting == "realizable" else ""


def count(number: int, what: str) -> str:
    """A number of things, in words that fit one of them too."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
