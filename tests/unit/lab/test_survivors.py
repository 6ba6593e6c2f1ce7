"""Survivors that are too many to be named stand in a file of their own, and whoever needs them asks for it."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

from replical.core import ranges
from replical.core.ranges import MOST_RANGES, digest_of_set, set_of, told_set
from replical.errors import BadSurvivors, BadUsage
from replical.lab.certificate import checks
from replical.lab.certificate.compare import compare
from replical.lab.certificate.file import certify, shared_of, text_of
from replical.lab.certificate.survivors import read_survivors, write_survivors
from replical.lab.certificate.verify import verify
from support.certificates import resealed
from support.lab import ORDER, Run, content, world

pytest.importorskip("pyarrow")
SAID = content("handicap", handicap=ORDER, max_labels=20, epsilon=0.1)


def scattered(seed):
    """A lab's table in which good candidates and bad ones take turns."""
    columns = world(seed=seed, items=1000, best=0.02, worst=0.7)
    return columns | {f"m{new}": columns[f"m{old}"] for new, old in enumerate((0, 3, 1, 4, 2, 5))}


@pytest.fixture
def few(monkeypatch):
    """A limit that six candidates reach."""
    for module in (ranges, checks):
        monkeypatch.setattr(module, "MOST_RANGES", 1)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two labs of one protocol with other survivors each, who do not lie side by side, and a lab of another protocol."""
    folder, made = tmp_path_factory.mktemp("labs"), []
    try:
        for seed, name, said in ((42, "l120", SAID), (49, "l820", SAID), (47, "l620", SAID | {"seed": "another text"})):
            made.append(Run(folder, said, scattered(seed), name))
        yield made
    finally:
        for run in made:
            run.journal.close()


@pytest.fixture
def written(runs, few, tmp_path):
    """Their certificates, which tell digests, and the files of their survivors."""
    found = []
    for number, run in enumerate(runs):
        write_survivors(run.session, tmp_path / f"{number}.json")
        found.append((certify(run.session), read_survivors(tmp_path / f"{number}.json")))
    assert all("ranges" not in certificate["body"]["survivors"] for certificate, _ in found[:2])
    return found


def needs(verdict):
    return {check.name for check in verdict.unchecked if check.needs == "survivors"}


def test_ten_thousand_ranges_are_named_and_more_are_told_by_their_digest():
    named, more = 2 * np.arange(MOST_RANGES), 2 * np.arange(MOST_RANGES + 1)
    assert told_set(named) == set_of(named)
    assert told_set(more) == {"count": MOST_RANGES + 1, "digest": digest_of_set(set_of(more))}


def test_a_file_has_the_survivors_of_any_run(runs, tmp_path):
    write_survivors(runs[0].session, tmp_path / "s.json")
    found = read_survivors(tmp_path / "s.json")
    assert found.whole == runs[0].certificate["body"]["survivors"] == set_of(runs[0].session.result.survivors.indices)
    with_it, without = (verify(runs[0].certificate, survivors=each) for each in (found, None))
    assert with_it.valid
    assert with_it == without


def test_what_needs_the_names_is_checked_with_the_file_alone(written):
    certificate, survivors = written[0]
    without, with_it = verify(certificate), verify(certificate, survivors=survivors)
    assert needs(without) == {
        "the answer is among the survivors",
        "so many items and labels can have proven it",
        "the tolerance follows from the counts",
    }
    assert without.valid
    assert with_it.valid
    assert not needs(with_it)
    assert {check.name for check in with_it.checked} == {check.name for check in without.checked} | needs(without)


def test_a_journal_shows_the_names_too(runs, written):
    certificate = written[0][0]
    pool = verify(certificate, runs[0].lab)
    assert "disagreement in the rounds is possible on the pool" in needs(pool)
    whole = verify(certificate, runs[0].lab, runs[0].journal)
    assert whole.valid
    assert not needs(whole)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"digest": "sha256:0"}, "Expected `str` matching regex '^sha256:[0-9a-f]{64}$' - at `$.survivors.digest`"),
        ({"count": 6}, "no 6 of 6 hypotheses lie in more than 1 ranges"),
        ({"count": 1}, "no 1 of 6 hypotheses lie in more than 1 ranges"),
        ({"count": "4"}, "Expected `int`, got `str` - at `$.survivors.count`"),
    ],
)
def test_what_no_set_can_be_is_found_by_the_file(written, changes, wrong):
    forged = copy.deepcopy(written[0][0])
    forged["body"]["survivors"] |= changes
    assert any(wrong in check.detail for check in verify(resealed(forged)).failed)


def test_few_ranges_are_named_and_many_are_not(runs, written, monkeypatch):
    assert "are told by their digest" in str(verify(runs[0].certificate).failed)
    for module in (ranges, checks):
        monkeypatch.setattr(module, "MOST_RANGES", 5)
    assert not verify(written[0][0]).valid


def test_a_winner_that_did_not_survive_is_found_with_the_names(runs, written):
    certificate, survivors = written[0]
    left = runs[0].session.result.survivors.indices.tolist()
    gone = next(h for h in range(6) if h not in left)
    forged = copy.deepcopy(certificate)
    forged["body"]["hypothesis"] = {"index": gone, "description": f"m{gone}"}
    forged["body"]["shared"] = shared_of(runs[0].protocol, gone)
    assert verify(resealed(forged)).valid
    assert [check.detail for check in verify(forged, survivors=survivors).failed] == [
        f"hypothesis {gone} is not among the survivors"
    ]


def test_the_file_of_another_run_is_refused(written):
    (first, of_first), (_, of_second), (_, of_other_protocol) = written
    for survivors in (of_second, of_other_protocol):
        with pytest.raises(BadSurvivors, match=r"does not hold the survivors of this certificate: give the file that"):
            verify(first, survivors=survivors)
    assert not replace(of_first, protocol_fingerprint=of_other_protocol.protocol_fingerprint).fits(first["body"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda told: told["ranges"].pop(), "its ranges do not ascend, or do not hold as many hypotheses as it says"),
        (lambda told: told["ranges"].reverse(), "its ranges do not ascend"),
        (lambda told: told.update(ranges=3), "its ranges do not ascend"),
        (lambda told: told.update(digest=f"sha256:{'0' * 64}"), "its digest is not that of its ranges"),
        (lambda told: told.update(schema="replical.vote/1"), "says 'replical.vote/1'"),
        (lambda told: told.pop("digest"), "has other parts than schema, protocol_fingerprint"),
    ],
)
def test_a_damaged_file_is_refused(written, change, message):
    path = written[0][1].file
    told = json.loads(path.read_text())
    change(told)
    path.write_text(text_of(told))
    with pytest.raises(BadSurvivors) as caught:
        read_survivors(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_compare_asks_for_the_files_that_it_needs(runs, written):
    certificates, files = [each for each, _ in written[:2]], [each for _, each in written[:2]]
    for given, missing in (([], 1), (files[:1], 2), (files[1:], 1)):
        with pytest.raises(
            BadUsage, match=rf"certificate {missing} does not name its [0-9]+ survivors, so give the file"
        ):
            compare(certificates, given)
    left = [set(run.session.result.survivors.indices.tolist()) for run in runs[:2]]
    common = compare(certificates, files).common
    assert set(common.members) == left[0] & left[1]
    assert compare([run.certificate for run in runs[:2]], files).common == common
    with pytest.raises(BadSurvivors, match="holds the survivors of none of these certificates: leave it out"):
        compare(certificates, [each for _, each in written])
