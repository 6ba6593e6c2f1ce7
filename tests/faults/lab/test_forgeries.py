"""No number of a certificate is believed in silence: whoever changes one is found out, or told to be believed."""

import copy
from collections import Counter

import numpy as np
import pytest

from replical.bounds.betting import share_interval
from replical.lab.certificate.file import body_of, shared_of
from replical.lab.certificate.verify import verify
from replical.lab.confirmation import confirming
from replical.lab.sessions.session import Budgets, Session
from replical.learners.catalogue import of_lists
from replical.learners.handicap.certificate import FAMILY
from replical.learners.proof import indices_of, set_of
from support.attacks import ATTACKS, times
from support.certificates import resealed
from support.lab import KINDS, Run, content, world

LEARNERS = [record.id for record in of_lists()]  # of those that choose from a list

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


def test_every_learner_is_tried():
    assert {content(**KINDS[kind][1])["learner"]["name"] for kind in KINDS} | set(OTHERS) == set(LEARNERS)


@pytest.mark.parametrize(
    "kind",
    [
        "handicap measured certified",
        "handicap sharpened certified",
        "handicap uncertified",
        "handicap losses certified",
        "handicap cover certified",
        "cal",
    ],
)
def test_a_changed_number_is_found_out_or_listed(runs, kind):
    found, silent = judged(runs(kind))
    assert silent == []
    assert found["self"] > 100
    assert found["journal"] > 0
    assert 6 * found.total() >= ATTACKS["a number of a certificate changed, digest and seal made anew"]


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


@pytest.mark.parametrize(
    ("outcome", "table", "numbers"),
    [
        ("confirmed", {"seed": 32}, {"margin": 0.35}),
        ("refuted", {"seed": 33, "best": 0.5, "worst": 0.02}, {"margin": 0.1}),
        ("undecided", {"seed": 32}, {"margin": 0.1, "max_labels": 7}),
    ],
)
def test_any_number_of_a_confirmation_is_found_out_or_listed(runs, tmp_path, outcome, table, numbers):
    protocol = confirming(runs("handicap certified").certificate, level=0.05, batch=2, **numbers)
    with Run(tmp_path, protocol, world(items=400, **table), skips=1, corrects=1) as run:
        assert run.certificate["body"]["proof"]["outcome"] == outcome
        assert verify(run.certificate, run.lab, run.journal).valid
        found, silent = judged(run)
    assert silent == []
    assert found["self"] > 100
    assert found["journal"] > 0


# ---- forgeries that fit together ----


def test_a_survivor_that_is_not_the_favourite_is_believed_until_the_journal_is_there(runs):
    """Labels decide among survivors: file and pool list the winner as believed, the journal finds it out."""
    run = runs("handicap uncertified")
    left = indices_of(run.certificate["body"]["survivors"], 6).tolist()
    others = [h for h in left if h != run.certificate["body"]["hypothesis"]["index"]]
    assert others
    for other in others:
        forged = copy.deepcopy(run.certificate)
        forged["body"] |= {
            "hypothesis": {"index": other, "description": run.protocol.recipe.describe(other)},
            "shared": shared_of(run.protocol, other),
        }
        for given in ((), (run.lab,)):
            verdict = verify(resealed(forged), *given)
            assert verdict.failed or believed(verdict, "hypothesis.index")
        assert not verify(forged, run.lab, run.journal).valid


def test_survivors_cut_to_one_prove_nothing(runs):
    """Called certified, with the level and all that goes with it; the words of an honest run are missing."""
    run = runs("handicap uncertified")
    forged = copy.deepcopy(run.certificate)
    body = forged["body"]
    alone = set_of(np.array([body["hypothesis"]["index"]]))
    body |= {"survivors": alone, "certified": True}
    body["proof"]["doubt"] = body["proof"]["beta"]
    body["rho_proven"] = min(1.0, 2 * body["proof"]["beta"])
    assert not verify(resealed(forged)).valid
    assert not verify(forged, run.lab, run.journal).valid


def test_a_lower_doubt_with_the_rho_that_follows_needs_the_journal(runs):
    run = runs("handicap uncertified")
    forged = copy.deepcopy(run.certificate)
    part = forged["body"]["proof"]
    part["doubt"] = round((part["doubt"] + part["beta"]) / 2, 6)
    forged["body"]["rho_proven"] = min(1.0, 2 * part["doubt"])
    forged["body"]["conditions"][-2]["value"] = part["doubt"]
    verdict = verify(resealed(forged))
    assert verdict.failed or believed(verdict, "proof.doubt")
    assert not verify(forged, run.lab, run.journal).valid


def test_a_tolerance_is_that_of_its_counts(runs):
    run = runs("handicap certified")
    forged = copy.deepcopy(run.certificate)
    forged["body"]["proof"]["tolerance"] = round(forged["body"]["proof"]["tolerance"] * 0.9, 6)
    assert [check.name for check in verify(resealed(forged)).failed] == ["the tolerance follows from the counts"]


def test_counts_of_a_lab_cannot_be_doubled(runs):
    """More items would be counted than were looked at; the tolerance that follows is made to fit."""
    run = runs("handicap certified")
    forged = copy.deepcopy(run.certificate)
    part = forged["body"]["proof"]
    part["counts"] = [[2 * each for each in row] for row in part["counts"]]
    part["tolerance"] = FAMILY.joint_tolerance(run.protocol.plan, [part])[0]
    assert [check.name for check in verify(resealed(forged)).failed] == ["the tolerance follows from the counts"]


def test_no_error_is_measured_where_errors_are_not_all_alike(runs):
    """A run that counts losses measures losses; a certificate that tells of errors was once believed by its file alone."""
    run = runs("handicap losses certified")
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
    assert failed == {"error and excess are possible"}


@pytest.mark.parametrize("n", times("an error that was measured until it looked good"))
def test_an_error_is_measured_on_as_many_labels_as_the_journal_says(n, measured_run):
    """Who stops the measurement where it looks best tells fewer labels than were wanted."""
    run, few = measured_run, 4 * (n + 1)
    session = Session(run.protocol, run.lab, run.journal, budgets=Budgets(None, few))
    body = body_of(session)
    assert body["answer_error"]["labels"] == few
    forged = resealed(run.certificate | {"body": body})
    assert verify(forged, run.lab).valid
    verdict = verify(forged, run.lab, run.journal)
    assert "replayed: answer error" in [check.name for check in verdict.failed]


@pytest.fixture(scope="module")
def measured_run(tmp_path_factory):
    """A run that measured its error on 40 labels."""
    with Run(tmp_path_factory.mktemp("measured"), content(batch=4), world(seed=3), measure=40) as run:
        assert verify(run.certificate, run.lab, run.journal).valid
        yield run
