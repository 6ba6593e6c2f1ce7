"""Forged certificates: nothing can be changed without somebody noticing, and no file gives a traceback."""

import copy
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from replical.cli import main
from replical.errors import BadCertificate
from replical.lab.certificate.file import plan_of, read, shared_of, text_of, write
from replical.lab.certificate.page import page
from replical.lab.certificate.verify import verify
from replical.lab.journal.journal import Journal
from replical.lab.protocol import Protocol
from replical.lab.sessions.session import transcript
from replical.learners.plan import STOP
from replical.learners.proof import set_of
from support.certificates import Tags, at, places, resealed, valid, verdicts
from support.lab import LABELS, Run, begin, content, finished, world


def test_nobody_can_guess_labels_from_the_digest_of_a_transcript(tmp_path):
    """Three items have eight labellings; only the private seed keeps a reader from trying them all."""
    said, columns = content("erm", k_final=3), world(items=3, best=0.0)
    told = []
    for name in "ab":
        with Run(tmp_path, said, columns, name) as run:
            assert transcript(run.session) == [[f"i000{n}", LABELS.index(columns["truth"][n])] for n in range(3)]
            told.append(run.certificate["body"]["transcript"])
    assert told[0]["entries"] == told[1]["entries"] == 3
    assert told[0]["digest"] != told[1]["digest"]


def test_what_a_better_forger_changes_is_caught_by_the_journal(runs):
    """Who changes the protocol and redoes all that follows from it has a certificate of another protocol: no journal fits."""
    run = runs("handicap certified")
    for change in ({"rho": 0.7}, {"epsilon": 0.41}, {"delta": 0.19}, {"batch": 1}):
        forged = copy.deepcopy(run.certificate)
        body = forged["body"]
        body["protocol"]["learner"] |= change
        protocol = Protocol.of(body["protocol"])
        body["protocol_fingerprint"], body["plan"] = protocol.fingerprint, plan_of(protocol.plan)
        beta = float(protocol.plan["beta"])
        body["proof"] |= {"beta": beta, "doubt": beta}
        body["conditions"][0] |= {"value": beta, "bound": beta}
        body["rho_proven"], body["answer_error"]["level"] = 2 * beta, 2 * beta
        found = verdicts(run, resealed(forged))
        assert not found[2].valid
        assert found[0].valid == (
            not {"epsilon", "batch"} & set(change)
        )  # which the grid of the excess, and rounds, show
        if "batch" in change:  # the rounds ask for other numbers of labels
            assert [check.name for check in found[0].failed] == ["the rounds follow the plan and are possible"]


def test_another_answer_needs_another_journal(runs):
    """A lab that publishes the hypothesis it likes best must invent survivors, what they dispute, and labels for them."""
    run = runs("cal")
    forged = copy.deepcopy(run.certificate)
    other = next(h for h in range(6) if h != forged["body"]["hypothesis"]["index"])
    alone = set_of(np.array([other]))
    forged["body"] |= {
        "hypothesis": {"index": other, "description": run.protocol.recipe.describe(other)},
        "shared": shared_of(run.protocol, other),
        "survivors": alone,
    }
    assert [verdict.valid for verdict in verdicts(run, resealed(forged))] == [True, False, False]
    next(each for each in forged["body"]["conditions"] if each["name"] == STOP)["value"] = 0.0
    assert [verdict.valid for verdict in verdicts(run, resealed(forged))] == [True, True, False]


def nothing_was_asked(body):
    """Certified, and nobody was asked about anything."""
    body["rounds"], body["labels"] = [], body["labels"] | {"asked": 0}
    body["proof"] |= {"asked": 0, "scanned": 0, "skipped": 0}
    body["conditions"][-1] |= {"bound": 0.0, "value": 0.0}


def one_condition_more(body):
    body["conditions"].insert(0, {"name": "all labs agree for sure", "value": 1.0, "bound": 1.0, "held": True})


def unlabelled_items_nobody_skipped(body):
    body["proof"]["skipped"] = 5
    body["conditions"][-1]["value"] = 5.0


def a_good_word(body):
    body["verdict"] |= {"helps": "nothing more is needed"}


def a_better_bound(body):
    body["proof"]["excess_upper"] = body["answer_error"]["high"] = False


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (nothing_was_asked, "so many items and labels can have proven it"),
        (one_condition_more, "every condition is recomputed"),
        (unlabelled_items_nobody_skipped, "labels and items looked at add up"),
        (a_good_word, "error and excess are possible"),
        (a_better_bound, "every part is written as it must be"),
    ],
)
def test_what_cannot_be_of_a_run_is_caught_alone(runs, change, wrong):
    """Consistent forgeries need the journal; these do not fit together by themselves."""
    forged = copy.deepcopy(runs("handicap measured certified").certificate)
    change(forged["body"])
    found = verify(resealed(forged))
    assert wrong in [check.name for check in found.failed]


def test_another_lab_s_pool_or_journal_does_not_fit(runs, tmp_path):
    run = runs("cal")
    with finished(tmp_path, "cal", "other", seed=3) as other:
        assert not verify(run.certificate, other.lab).valid
        found = verify(run.certificate, run.lab, other.journal)
        assert not found.valid
        assert "this is the journal of another run" in found.failed[-1].detail
    with finished(tmp_path, "cal", "again", seed=2, skips=1, corrects=1) as again:
        found = verify(run.certificate, run.lab, again.journal)
        assert not found.valid
        assert "this is the journal of another run" in found.failed[-1].detail


def test_an_unfinished_or_empty_journal_is_no_proof(runs, tmp_path):
    run = runs("cal")
    with Journal(tmp_path / "empty.db") as journal:
        assert verify(run.certificate, run.lab, journal).failed[-1].detail == "the journal is empty"
        begin(journal, run.protocol, run.lab, "lab")
        assert "still missing" in verify(run.certificate, run.lab, journal).failed[-1].detail


# ---- the file ----


@settings(max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**9), st.integers(1, 255))
def test_no_byte_of_the_file_can_be_changed(file, position, flip):
    raw = bytearray(file.read_bytes())
    raw[position % len(raw)] ^= flip
    other = file.with_name("changed.json")
    other.write_bytes(raw)
    assert not valid(other)


def test_neither_white_space_nor_provenance_can_be_changed(file):
    """What JSON does not care about, a reader might: the file is as it was written, or it is not."""
    raw = file.read_bytes()
    other = file.with_name("spaced.json")
    spaces = [place for place, byte in enumerate(raw) if byte in b" \n"][::40]
    start = raw.index(b'"provenance"')
    dates = range(raw.index(b'"created"', start) + 12, raw.index(b'"created"', start) + 30)
    swapped = raw.replace(b'"digest"', b'"schema"', 1)
    changed = [
        raw[:place] + (b"\t" if raw[place : place + 1] != b"\t" else b" ") + raw[place + 1 :] for place in spaces
    ]
    changed += [raw[:place] + b" " + raw[place:] for place in spaces]
    changed += [raw[:place] + b"7" + raw[place + 1 :] for place in dates if raw[place : place + 1] != b"7"]
    changed += [
        raw + b"\n", raw[:-1], b"\xef\xbb\xbf" + raw, raw.replace(b"\n", b"\r\n"), b"", raw[: len(raw) // 2], swapped,
    ]  # fmt: skip
    changed += [json.dumps(json.loads(raw)).encode(), raw.replace(b'"cal"', b'"\\u0063al"')]
    assert len(changed) > 50
    for each in changed:
        assert each != raw
        other.write_bytes(each)
        assert not valid(other)


# ---- arbitrary bodies ----
json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 2000),
        st.integers(-(10**20), 10**20),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["count", "ranges", "x"]), inner)
    ),
    max_leaves=6,
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), json_values)
def test_verification_never_fails_itself(runs, data, value):
    """Whatever stands wherever in a body, the answer is a verdict: and it is "no" unless nothing has changed."""
    run = runs(data.draw(st.sampled_from(["handicap uncertified", "cal", "replical"])))
    forged = copy.deepcopy(run.certificate)
    place = data.draw(st.sampled_from([place for place in places(forged["body"]) if place]))
    at(forged["body"], place[:-1])[place[-1]] = value
    found = verdicts(run, resealed(forged))
    assert found[2].valid == (text_of(forged["body"]) == text_of(run.certificate["body"]))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(json_values)
@example({})
@example({"protocol": {}})
def test_no_body_at_all_is_a_verdict_too(runs, body):
    forged = resealed(copy.deepcopy(runs("cal").certificate) | {"body": body})
    assert not any(verdict.valid for verdict in verdicts(runs("cal"), forged))


# ---- for people ----
EVIL = "<script>alert(1)</script>"


def test_names_seeds_and_labels_cannot_smuggle_anything_into_the_page(tmp_path):
    """Candidates may be anybody's; a page about them runs nobody's code."""
    names = [EVIL, '"><img src=x onerror=alert(1)>', "&lt;b&gt;", "' onload='x", "</style>", "http://example.org"]
    labels = {"no": f"no{EVIL}", "yes": f"yes{EVIL}"}
    columns = world(items=40, best=0.0)
    said = {labels.get(name, name): column for name, column in columns.items() if not name.startswith("m")}
    said |= {name: [labels[value] for value in columns[f"m{number}"]] for number, name in enumerate(names)}
    said["truth"] = [labels[value] for value in columns["truth"]]
    protocol = content("cal", seed=f"seed {EVIL} & more", title=EVIL, notes=EVIL)
    protocol["class"]["candidates"] = [{"name": name} for name in names]
    protocol["labels"]["values"] = list(labels.values())
    with Run(tmp_path, protocol, said) as run:
        shown = page(run.certificate)
        seen = Tags(shown)
        assert "script" not in seen.tags
        assert "img" not in seen.tags
        assert EVIL not in shown
        assert seen.texts.count(EVIL) >= 3  # the seed and both labels, as texts
        assert run.certificate["body"]["hypothesis"]["description"] in seen.texts
        assert "title" not in run.certificate["body"]["protocol"]


@pytest.fixture
def run(tmp_path):
    with finished(tmp_path, "cal") as made:
        yield made


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["plan"]["numbers"][0].update(value=True),
        lambda body: body["plan"]["numbers"][0].update(value=1.0),
        lambda body: body["rounds"][0].update(disagreement=[float(n) for n in body["rounds"][0]["disagreement"]]),
        lambda body: body["labels"].update(skipped=False),
        lambda body: body["pool"]["summary"][0].update(hypothesis=False),
    ],
)
def test_one_is_neither_true_nor_a_fraction(run, change):
    """What Python calls equal is not the same certificate: a file that says so has been edited."""
    forged = copy.deepcopy(run.certificate)
    change(forged["body"])
    assert forged["body"] == run.certificate["body"]
    assert not verify(resealed(forged), run.lab, run.journal).valid


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["pool"]["summary"][0].update(predicts=[body["pool"]["items"]]),
        lambda body: body["transcript"].pop("digest"),
        lambda body: body.update(hypothesis=None, shared=body["shared"] | {"winner_rank": None}),
    ],
)
def test_a_certificate_alone_is_checked_for_its_shape(run, tmp_path, capsys, change):
    """Whoever shows or compares certificates relies on it: a forged one is refused, not a traceback."""
    forged = copy.deepcopy(run.certificate)
    change(forged["body"])
    write(run.certificate, tmp_path / "honest.json")
    write(resealed(forged), tmp_path / "forged.json")
    assert main(["verify", str(tmp_path / "forged.json"), "--html", str(tmp_path / "page.html")]) == 1
    assert main(["compare", str(tmp_path / "honest.json"), str(tmp_path / "forged.json")]) == 2


@pytest.mark.parametrize(
    "inside", ['{"a": 1e999}', '{"a": "\\ud800"}', '{"a": ' + "[" * 900 + "]" * 900 + "}", '{"\\ud800": 1}']
)
def test_no_file_gives_a_traceback(tmp_path, capsys, inside):
    path = tmp_path / "certificate.json"
    path.write_text(f'{{"schema": "replical.certificate/3", "body": {inside}, "digest": "", "provenance": {{}}}}')
    with pytest.raises(BadCertificate):
        read(path)
    assert main(["verify", str(path)]) == 1
