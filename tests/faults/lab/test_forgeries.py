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
from support.certificates import at, places, resealed
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


def field(place):
    """The name of a field, the same for all members of a list."""
    return "".join("[]" if isinstance(step, int) else f".{step}" for step in place).lstrip(".") or "body"


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def changed(value):
    """Numbers up and down, by the least that is written and by more; another truth, another text; nothing."""
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int):
        return [value + 1, value - 1, 2 * value + 3, None]
    if isinstance(value, float):
        others = (value + 1e-6, value - 1e-6, value + 0.01, 0.9 * value)
        return [*sorted({round(each, 12) for each in others} - {value}), None]
    return [0.5] if value is None else [value[:-1] + ("1" if value.endswith("0") else "0"), None]


def changes(body, *, ends, numbers):
    """(field, how to change it), one at a time: `numbers` only, or everything; in the middle of long lists, beyond so many
    members at either end, one change each, and of numbers none."""
    for place in places(body):
        lists = [(at(body, place[:depth]), step) for depth, step in enumerate(place) if isinstance(step, int)]
        middle = any(ends <= step < len(whole) - ends for whole, step in lists)
        value = at(body, place)
        if isinstance(value, dict | list):
            for key in () if numbers else value if isinstance(value, dict) else range(len(value)):
                yield f"{field(place)} without a part", lambda other, p=place, k=key: at(other, p).pop(k)
            if isinstance(value, dict) and not numbers:
                yield f"{field(place)} with a key more", lambda other, p=place: at(other, p).update(added=1)
        elif not numbers or (is_number(value) and not middle):
            for other in [each for each in changed(value) if each is not None or not numbers][: 1 if middle else None]:
                yield field(place), lambda body, p=place, v=other: at(body, p[:-1]).__setitem__(p[-1], v)


def believed(verdict, name):
    """Is this field listed among those that could not be checked?"""
    fields = [each for check in verdict.unchecked for each in check.fields]
    return any(name == each or name.startswith((f"{each}.", f"{each}[")) for each in fields)


def judged(run, *, ends=1, numbers=True):
    """By field, the levels at which its changes are found out, and how often; and those that some level believes in silence.

    A forger makes digest and seal anew.
    """
    found, silent = {}, []
    for name, change in changes(run.certificate["body"], ends=ends, numbers=numbers):
        forged = copy.deepcopy(run.certificate)
        change(forged["body"])
        resealed(forged)
        for level, given in zip(LEVELS, ((), (run.lab,), (run.lab, run.journal)), strict=True):
            verdict = verify(forged, *given)
            if not verdict.valid:
                found.setdefault(name, Counter())[level] += 1
                break
            if not believed(verdict, name):
                silent.append((level, name))
        else:
            silent.append(("NEVER", name))
    return found, silent


def caught(found):
    """How many forgeries each level finds out."""
    return sum(found.values(), Counter())


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
    assert caught(found)["self"] > 100
    assert caught(found)["journal"] > 0
    assert 6 * caught(found).total() >= ATTACKS["a number of a certificate changed, digest and seal made anew"]


# Fields of which some changes, or some kinds of runs, need more than the certificate alone; it catches all others itself.
NEEDS = {
    ("self", "pool"): ["pool.fingerprint"],
    ("self", "journal"): [
        "labels.corrected", "private_commitment", "proof.counts[][]", "proof.excess", "proof.scanned",
        "rounds[].scanned", "rounds[].survivors", "runs_in_journal", "transcript.digest", "verdict.helps",
        "verdict.why",
    ],
    LEVELS: ["rounds[].disagreement[]"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_change_of_any_kind_of_run_is_found_out_or_listed(runs, kind):
    """No kind of run needs more than the table says."""
    needs = {name: levels for levels, names in NEEDS.items() for name in names}
    found, silent = judged(runs(kind), ends=3, numbers=False)
    assert silent == []
    assert len(found) > 80
    assert {
        name: [*levels] for name, levels in found.items() if not levels.keys() <= {*needs.get(name, ["self"])}
    } == {}


@pytest.mark.slow
@pytest.mark.parametrize("learner", OTHERS)
def test_any_number_of_any_other_learner_is_found_out_or_listed(tmp_path, learner):
    items, changes = OTHERS[learner]
    columns = world(items=items, seed=2, best=0.0)
    with Run(tmp_path, content(learner, **changes), columns, skips=1) as run:
        assert verify(run.certificate, run.lab, run.journal).valid
        found, silent = judged(run, ends=3)
    assert silent == []
    assert caught(found)["self"] > 50


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
    assert caught(found)["self"] > 100
    assert caught(found)["journal"] > 0


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
