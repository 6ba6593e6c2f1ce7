"""A certificate says what happened, and nothing that is private."""

import copy
import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from replical.errors import BadCertificate
from replical.lab.certificate.checks import same
from replical.lab.certificate.compare import compare
from replical.lab.certificate.file import read, text_of, write
from replical.lab.certificate.page import page
from replical.lab.certificate.verify import verify
from replical.lab.journal.binding import commitment
from replical.learners.proof import indices_of
from support.certificates import Tags, resealed, valid, verdicts
from support.lab import KINDS, Run, content, private, world

LEVELS = ("self", "pool", "journal")


# ---- what an honest certificate says ----


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_certificate_is_valid_at_every_level(runs, kind):
    run = runs(kind)
    found = verdicts(run, run.certificate)
    assert [verdict.level for verdict in found] == list(LEVELS)
    assert [[check for check in verdict.checks if not check.ok] for verdict in found] == [[], [], []]
    assert len(found[0].checks) < len(found[1].checks) < len(found[2].checks)
    body = run.certificate["body"]
    assert body["labels"]["skipped"] == 1
    assert body["labels"]["corrected"] == 1
    assert body["runs_in_journal"] == 1
    assert body["certified"] == kind.endswith(" certified")
    assert body["hypothesis"]["description"] == f"m{body['hypothesis']['index']}"


def test_nothing_private_is_published(runs):
    """No ids, no texts, no labels of single items, no private seed: only counts, sets and digests."""
    for kind in KINDS:
        run = runs(kind)
        text = text_of(run.certificate)
        assert private("lab") not in text
        assert run.certificate["body"]["private_commitment"] == commitment(bytes.fromhex(private("lab")))
        assert not any(item in text for item in run.columns["id"])
        assert not any(shown in text for shown in run.columns["text"])
        assert "annotator" not in text


def test_the_transcript_binds_labels_and_skips(tmp_path):
    """Other labels, a skip, or the same labels under another private seed: another digest."""
    said, columns = content("cal"), world(items=40, best=0.0)

    def digest(folder, name, **events):
        (tmp_path / folder).mkdir(exist_ok=True)
        with Run(tmp_path / folder, said, columns, name, **events) as run:
            return run.certificate["body"]["transcript"]["digest"]

    one = digest("once", "a")
    assert digest("again", "a") == one
    assert len({one, digest("once", "b"), digest("skipped", "a", skips=1), digest("skipped", "b", skips=1)}) == 4


@pytest.mark.parametrize(
    "told",
    [
        {"count": 3, "ranges": [[0, 3]]},
        {"count": 4, "ranges": [[0, 1], [2, 3]]},
        {"count": 4, "ranges": [[2, 3], [0, 1]]},
        {"count": 2, "ranges": [[0, 1], [1, 0]]},
        {"count": 2, "ranges": [[9, 10]]},
        {"count": 1, "ranges": [[-1, -1]]},
        {"count": 1, "ranges": [[0]]},
        {"count": 1, "ranges": 5},
        {"ranges": [[0, 0]]},
        {"count": 0},
        [],
        None,
    ],
)
def test_only_one_spelling_of_a_set_is_taken(told):
    with pytest.raises(BadCertificate):
        indices_of(told, 10)


def test_a_certificate_reads_back_as_itself(runs, file):
    assert read(file) == runs("cal").certificate
    assert valid(file)
    assert not file.with_name("certificate.json.part").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is not valid JSON"),
        ("[]", "is no certificate of replical"),
        ('{"schema": 5}', "is no certificate of replical"),
        (
            '{"schema": "replical.certificate/2", "body": {}, "digest": "", "provenance": {"replical": "0.2.0"}}',
            "certificate.json says 'replical.certificate/2', this version reads 'replical.certificate/3': check it with the "
            "version of replical that wrote it, which its provenance names",
        ),
        ('{"schema": "replical.protocol/1"}', "says 'replical.protocol/1', this version reads 'replical.certificate/3'"),
        ('{"schema": "replical.certificate/3", "body": {"rounds": 1}}', "its rounds are damaged"),
        ('{"schema": "replical.certificate/3"}', "has other parts than schema, body, digest and provenance"),
        ('{"schema": "replical.certificate/3", "body": [], "digest": 1, "provenance": 2}', "has other parts than"),
        ('{"schema": "replical.certificate/3", "body": {}, "digest": 1, "provenance": 2}', "it has been edited"),
        ('{"schema": "a", "schema": "a"}', "a key occurs twice"),
        ('{"schema": NaN}', "NaN is no number"),
        ("[" * 100_000, "it is not valid JSON"),
    ],
)  # fmt: skip
def test_what_is_no_certificate(tmp_path, text, message):
    (tmp_path / "certificate.json").write_text(text)
    with pytest.raises(BadCertificate, match=r"certificate.json") as caught_error:
        read(tmp_path / "certificate.json")
    assert message in str(caught_error.value)


def test_a_certificate_that_cannot_be_written_is_named(runs, tmp_path):
    with pytest.raises(BadCertificate, match="cannot write the certificate .*: No such file"):
        write(runs("cal").certificate, tmp_path / "nowhere" / "certificate.json")


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_says_what_the_certificate_says(runs, kind):
    body = runs(kind).certificate["body"]
    seen = Tags(page(runs(kind).certificate))
    assert seen.tags <= {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "table", "tr", "th", "td",
                         "code", "span", "header", "main", "section", "div", "thead", "tbody"}  # fmt: skip
    # nothing that fetches or runs anything
    assert seen.attributes <= {"lang", "charset", "name", "content", "class", "http-equiv"}
    assert "//" not in page(runs(kind).certificate)
    for told in (body["hypothesis"]["description"], body["protocol_fingerprint"], body["pool"]["fingerprint"], "a published text",
                 runs(kind).certificate["digest"]):  # fmt: skip
        assert told in seen.texts
    assert ("Not certified" in seen.texts) == (not body["certified"])
    if "proof" in body:
        survivors = body["survivors"]["count"]
        said = f"{survivors} model{'s' * (survivors > 1)}, proven to contain the ideal answer"
        assert said in seen.texts
        asked, proven = re.search(r"asked for ([\d./]+), proven ([\d./]+)", seen.texts).groups()
        assert float(Fraction(asked)) == body["proof"]["beta"]
        assert (asked == proven) >= body["certified"]
    else:
        assert body["rho_proven"] is None
    assert ("not held" in seen.texts) == any(not each["held"] for each in body["conditions"])


def test_no_answer_is_never_identical():
    """Two labs that found no heavy hitter have nothing in common."""
    body = {
        "protocol_fingerprint": "p",
        "hypothesis": None,
        "pool": {"summary": [{"predicts": [1, 1]}]},
        "protocol": content("boosted-replicable-erm"),
        "plan": {"numbers": []},
    }
    found = compare([{"body": body | {"private_commitment": each}} for each in "ab"])
    assert (found.identical, found.same_index) == (False, True)
    assert found.first_difference == "certificate 1 has no answer: no heavy hitter was found"


def test_a_boosted_run_has_a_valid_certificate(tmp_path):
    """Every run within it begins with the whole class: survivors grow again, and nothing is wrong."""
    x = (np.arange(6000) * 7919) % 59
    columns = {"id": [f"i{n:04d}" for n in range(6000)], "x": x, "truth": np.where(x >= 23, "yes", "no").tolist()}
    said = content(
        "boosted-replica2", epsilon=0.1, theta=1.0, nu=0.01, plan="paper", k_loop=6, k_final=8, strings=1, runs=5
    )
    said["class"] = {"kind": "thresholds", "features": ["x"], "count": 60}
    with Run(tmp_path, said, columns) as made:
        verdict = verify(made.certificate, made.lab, made.journal)
        assert [check for check in verdict.checks if not check.ok] == []
        sizes = [each["survivors"] for each in made.certificate["body"]["rounds"]]
        assert any(after > before for before, after in pairwise(sizes))


def test_an_estimate_of_the_excess_need_not_be_a_count(runs):
    """What candidates lose may be parts of an error: that gives fractions."""
    forged = copy.deepcopy(runs("handicap certified").certificate)
    part, error = forged["body"]["proof"], forged["body"]["answer_error"]
    part["excess"] = error["estimate"] = round(1.5 / part["scanned"], 6)
    assert verify(resealed(forged)).valid
    error["estimate"] = 1.5
    assert [check.name for check in verify(resealed(forged)).failed] == ["error and excess are possible"]


# ---- what a failed check says ----


def test_what_is_the_same_says_nothing():
    assert same({"a": [1, 2]}, {"a": (1, 2)}) is None


def test_only_what_differs_is_told_and_where():
    claim = [{"name": "enough", "bound": 14.0, "held": True}, {"name": "stopped", "bound": 1.0, "held": True}]
    result = [{"name": "enough", "bound": 1.0, "held": False}, {"name": "stopped", "bound": 1.0, "held": True}]
    assert same(claim, result) == (
        "'enough', bound: the certificate says 14.0, recomputed 1.0; "
        "'enough', held: the certificate says yes, recomputed no"
    )
    assert same([1, 2, 3], [1, 2]) == "the certificate says [1, 2, 3], recomputed [1, 2]"
    assert same((True, None), (True, 0.5)) == "number 2: the certificate says nothing, recomputed 0.5"


def test_long_lists_of_differences_are_cut():
    told = same(dict.fromkeys("abcdef", 1), dict.fromkeys("abcdef", 2))
    assert told is not None
    assert told.count("recomputed") == 3
    assert told.endswith("; and 3 more")


def test_a_part_that_is_missing_is_never_taken_for_the_same():
    assert same({"a": None}, {}) == "the certificate says {'a': None}, recomputed {}"
    assert same({"a": "nothing"}, {"a": None})
    assert same({"a": 1}, {"a": 1.0})
    assert same({"a": True}, {"a": 1})


@pytest.mark.parametrize(
    ("kind", "pair"), [("handicap certified", "two labs"), ("handicap many labs certified", "two of 4 labs")]
)
def test_the_page_names_as_many_labs_as_the_bound_is_about(runs, kind, pair):
    assert f"the chance that {pair} both prove this much" in page(runs(kind).certificate)
