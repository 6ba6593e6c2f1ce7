"""A lab that throws runs away until it likes the answer: what shows, without registrations and with them."""

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")

from replical.lab.certificate.compare import compare
from replical.lab.certificate.verify import verify
from replical.lab.journal.journal import Journal
from replical.lab.registration import check_against, mismatches
from support.lab import Run
from support.registering import RegisteredRun, columns, said

SECRETS = ["first", "second", "third", "fourth"]


def answer(certificate):
    return certificate["body"]["hypothesis"]["index"]


def wrong(checks):
    return [check.name for check in checks if not check.ok]


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """The same lab, items and labels four times, each with another private seed, without registrations and with them."""
    folders = [tmp_path_factory.mktemp(name) for name in ("unregistered", "registered")]
    plain = {}
    for secret in SECRETS:
        with Run(folders[0], said(register=False), columns(), secret) as run:
            run.session.sign("north")
        plain[secret] = run
    return (
        folders,
        plain,
        {each: RegisteredRun(folders[1], said(), columns(), "north", secret=each) for each in SECRETS},
    )


def liked(runs):
    """What the first seed did not choose and another did: the lab publishes that one."""
    first = answer(runs[SECRETS[0]].certificate)
    return next(run for run in runs.values() if answer(run.certificate) != first)


def test_before_four_private_seeds_leave_no_trace(tried):
    _, plain, _ = tried
    assert len({answer(run.certificate) for run in plain.values()}) > 1  # it pays to try
    run = liked(plain)
    with Journal(run.path, write=False) as journal:  # the others are deleted
        for given in ((), (run.lab,), (run.lab, journal)):
            assert wrong(verify(run.certificate, *given).checks) == []
    assert run.certificate["body"]["runs_in_journal"] == 1


def test_after_another_seed_than_the_registered_one_is_found(tried):
    _, _, runs = tried
    published, run = runs[SECRETS[0]].registration, liked(runs)
    assert wrong(verify(run.certificate).checks) == []  # by itself it shows nothing
    assert wrong(check_against(run.certificate, published)) == [
        "registered: the private seed",
        "registered: the certificate refers to it",
    ]
    assert mismatches([run.certificate], {"north.json": published}) == [
        "certificate 1 (north) has no registration here: north.json registers another private seed of 'north'",
        "north.json registers a run of 'north' that has no certificate here",
    ]


def test_after_a_lab_that_registers_every_try_is_found(tried):
    _, _, runs = tried
    run, files = liked(runs), {f"{secret}.json": each.registration for secret, each in runs.items()}
    found = mismatches([run.certificate], files)
    assert sum("has no certificate here" in each for each in found) == 3
    assert sum("register two runs of 'north'" in each for each in found) == 3


def test_after_a_registration_made_up_for_the_run_that_is_liked_is_dated_and_counted(tried):
    """Whoever holds the first registration sees two."""
    _, _, runs = tried
    run = liked(runs)
    found = mismatches(
        [run.certificate], {"published.json": runs[SECRETS[0]].registration, "late.json": run.registration}
    )
    assert "published.json and late.json register two runs of 'north'" in found


def test_a_lab_that_leaves_is_seen(tried, tmp_path):
    """It registered, did not like its answer, and is not there when labs are compared."""
    _, _, runs = tried
    north = runs[SECRETS[0]]
    south = RegisteredRun(tmp_path, said(), columns(2), "south", secret="south")
    files = {"n.json": north.registration, "s.json": south.registration}
    assert mismatches([north.certificate, south.certificate], files) == []
    assert compare([north.certificate, south.certificate]).same_protocol
    assert mismatches([south.certificate], files) == ["n.json registers a run of 'north' that has no certificate here"]
