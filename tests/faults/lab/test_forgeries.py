"""No number of a certificate is believed in silence: whoever changes one is found out, or told to be believed."""

import copy
from collections import Counter

import numpy as np
import pytest

from replical.bounds.betting import share_interval
from replical.cli import main
from replical.lab.certificate.file import indices_of, set_of, shared_of, write
from replical.lab.certificate.verify import verify
from replical.learners.catalogue import LEARNERS
from replical.learners.rounded.learner import ACCURATE
from replical.learners.rounded.plan import RoundedPlan
from support.certificates import resealed
from support.lab import KINDS, Run, content, world

LEVELS = ("self", "pool", "journal")
# Certificates of those learners that are in no kind of run: pool size, and what the protocol says.
OTHERS = {
    "erm": (60, {"k_final": 12}),
    "cal-rounds": (150, {"k_loop": 4, "theta": 2.0}),
    "a2": (200, {"batch": 5, "max_labels": 60}),
    "a2-rounds": (400, {"theta": 1.0, "nu": 0.02, "k_loop": 8, "k_final": 15}),
    "replicable-erm": (60, {"nu": 0.02, "k_final": 12}),
    "replica2": (400, {"theta": 1.0, "nu": 0.02, "plan": "paper", "k_loop": 8, "k_final": 15}),
    "boosted-replicable-erm": (100, {"nu": 0.02, "k_final": 5, "plan": "tight", "strings": 1, "runs": 5}),
    "boosted-replica2": (
        400, {"theta": 1.0, "nu": 0.02, "plan": "paper", "k_loop": 4, "k_final": 6, "strings": 1, "runs": 4}
    ),
    "boosted-replical": (
        1500, {"theta": 2.0, "plan": "paper", "k_loop": 4, "k_final": 6, "strings": 1, "runs": 4}
    ),
}  # fmt: skip


def numbers(value, place=()):
    """Every number in nested mappings and lists, by its place."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(each, (*place, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place


def field(place):
    return "".join("[]" if isinstance(step, int) else f".{step}" for step in place).lstrip(".")


def at(value, place):
    for step in place:
        value = value[step]
    return value


def changed(number):
    """Up and down: by the least that is written, and by more."""
    if isinstance(number, int):
        return {number + 1, number - 1, 2 * number + 3}
    return {round(each, 12) for each in (number + 1e-6, number - 1e-6, number + 0.01, 0.9 * number)} - {number}


def believed(verdict, name):
    """Is this field listed among those that could not be checked?"""
    fields = [each for check in verdict.unchecked for each in check.fields]
    return any(name == each or name.startswith((f"{each}.", f"{each}[")) for each in fields)


def forgeries(run, *, ends):
    """(field, forged certificate), one number at a time; of long lists so many members at either end."""
    body = run.certificate["body"]
    for place in numbers(body):
        lists = [(at(body, place[:depth]), step) for depth, step in enumerate(place) if isinstance(step, int)]
        if any(ends <= step < len(whole) - ends for whole, step in lists):
            continue
        for value in changed(at(body, place)):
            forged = copy.deepcopy(run.certificate)
            at(forged["body"], place[:-1])[place[-1]] = value
            yield field(place), resealed(forged)


def judged(run, *, ends=1):
    """How many forgeries each level finds out, and those that some level believes in silence."""
    found, silent = Counter(), []
    for name, forged in forgeries(run, ends=ends):
        for level, given in zip(LEVELS, ((), (run.lab,), (run.lab, run.journal)), strict=True):
            verdict = verify(forged, *given)
            if not verdict.valid:
                found[level] += 1
                break
            if not believed(verdict, name):
                silent.append((level, name))
        else:
            silent.append(("NEVER", name))
    return found, silent


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """How large a pool would do is no part of a certificate, and takes long to find."""
    monkeypatch.setattr(RoundedPlan, "pool_needed", lambda plan, distances: None)


def test_every_learner_is_tried():
    assert {content(**KINDS[kind][1])["learner"]["name"] for kind in KINDS} | set(OTHERS) == set(LEARNERS)


@pytest.mark.parametrize("kind", ["rounded-a2 first items", "settled uncertified", "settled losses certified", "cal"])
def test_a_changed_number_is_found_out_or_listed(runs, kind):
    found, silent = judged(runs(kind))
    assert silent == []
    assert found["self"] > 100
    assert found["journal"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_any_kind_of_run_is_found_out_or_listed(runs, kind):
    found, silent = judged(runs(kind), ends=3)
    assert silent == []
    assert found["self"] > 100


@pytest.mark.slow
@pytest.mark.parametrize("learner", OTHERS)
def test_any_number_of_any_other_learner_is_found_out_or_listed(tmp_path, learner):
    items, changes = OTHERS[learner]
    columns = world(items=items, seed=2, best=0.0)
    with Run(tmp_path, content(learner, **changes), columns, skips=1) as run:
        assert verify(run.certificate, run.lab, run.journal).valid
        found, silent = judged(run, ends=3)
    assert silent == []
    assert found["self"] > 50


# ---- forgeries that fit together ----


def test_the_winner_of_some_items_of_a_larger_pool_is_no_longer_called_checked(runs, tmp_path, capsys):
    """Which items were used only the private seed tells; a forged winner used to be "Valid, checked with its pool"."""
    run = runs("rounded-a2 first items")
    forged = copy.deepcopy(run.certificate)
    body, n = forged["body"], len(run.protocol.recipe.C)
    kept, honest = indices_of(body["kept"], n).tolist(), body["hypothesis"]["index"]
    outcomes = Counter()
    for other in range(n):
        chosen = sorted({*kept, other} - {honest})
        if not chosen or other == honest:
            continue
        told = set_of(np.array(chosen))
        first = int(run.protocol.prior.first(run.protocol.shared, "order", indices=indices_of(told, n)))
        body |= {
            "kept": told,
            "hypothesis": {"index": first, "description": run.protocol.recipe.describe(first)},
            "shared": shared_of(run.protocol, first),
        }
        verdict = verify(resealed(forged), run.lab)
        outcomes["found out" if verdict.failed else "listed"] += 1
        assert verdict.failed or (believed(verdict, "hypothesis.index") and believed(verdict, "kept.count"))
        assert not verify(forged, run.lab, run.journal).valid
    assert outcomes["found out"] > 0
    write(run.certificate, tmp_path / "a.json")
    assert main(["verify", str(tmp_path / "a.json"), "-v"]) == 0
    assert (
        "which 150 of the 200 items were used follows from the private seed; --journal shows it"
        in capsys.readouterr().out
    )


def test_no_error_is_measured_where_errors_are_not_all_alike(runs):
    """A run that counts losses cannot measure errors; a certificate that says so was once believed by its file alone."""
    run = runs("settled losses certified")
    forged = copy.deepcopy(run.certificate)
    body, items = forged["body"], len(run.lab)
    low, high = share_interval(0, 20, 0.2)
    body["answer_error"] = {"estimate": 0.0, "low": low, "high": high, "level": 0.2, "of": "error", "labels": 20,
                            "skipped": 0}  # fmt: skip
    for _ in range(5):
        measured = {"disagreement": [0, items], "drawn": 4, "scanned": 4, "survivors": 1}
        body["rounds"].append(measured | {"round": len(body["rounds"]) + 1})
    for count in ("asked", "answered"):
        body["labels"][count] += 20
    body["transcript"]["entries"] += 20
    failed = {check.name for check in verify(resealed(forged)).failed}
    assert failed == {"the rounds follow the plan and are possible", "error and excess are possible"}


def test_a_slack_below_nothing_is_no_slack(runs):
    """A pool too small for the error bound allows a negative slack; that slack itself was once accepted as small enough."""
    run = runs("rounded-a2 uncertified")
    forged = copy.deepcopy(run.certificate)
    body = forged["body"]
    slack = next(each for each in body["conditions"] if each["name"] == ACCURATE)
    for bound in (slack["bound"], -0.0079):
        slack |= {"value": bound, "bound": bound, "held": True}
        assert [check.name for check in verify(resealed(forged)).failed] == ["every condition is recomputed"]
