"""A certificate says what happened, and nothing in it can be changed without somebody noticing."""

import copy
import html.parser
import json
import types

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from replical.cli import main
from replical.core.canonical import fingerprint
from replical.errors import BadCertificate
from replical.lab.certificate.compare import compare
from replical.lab.certificate.file import (
    certify,
    commitment,
    indices_of,
    plan_of,
    read,
    seal,
    set_of,
    shared_of,
    summary,
    text_of,
    write,
)
from replical.lab.certificate.page import page
from replical.lab.certificate.verify import verify
from replical.lab.journal import Journal
from replical.lab.protocol import Protocol
from replical.lab.session import Session, transcript
from replical.plans.rounded import RoundedPlan
from support.lab import KINDS, LABELS, Run, begin, content, finished, private, world

LEVELS = ("self", "pool", "journal")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A finished run of every kind, each with a skipped and a corrected item, made when first asked for."""
    made = {}

    def run(kind):
        if kind not in made:
            made[kind] = finished(tmp_path_factory.mktemp("runs"), kind, seed=2, skips=1, corrects=1)
        return made[kind]

    yield run
    for each in made.values():
        each.journal.close()


def verdicts(run, certificate):
    return [verify(certificate), verify(certificate, run.lab), verify(certificate, run.lab, run.journal)]


def resealed(certificate):
    """What a forger does who knows how certificates are made."""
    certificate["digest"] = fingerprint(certificate["body"])
    certificate["provenance"]["seal"] = seal(certificate["digest"], certificate["provenance"])
    return certificate


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
    assert body["certified"] == (kind in ("rounded-a2 certified", "rounded-a2 order", "rounded-cal"))
    assert body["hypothesis"]["description"] == f"m{body['hypothesis']['index']}"


def test_the_body_depends_on_the_journal_alone(runs):
    """Not on the clock, not on the session that wrote it: the same journal gives the same bytes."""
    run = runs("rounded-a2 certified")
    with Journal(run.path, write=False) as journal:
        again = certify(Session(run.protocol, run.lab, journal))
    assert text_of(again["body"]) == text_of(run.certificate["body"])
    assert again["digest"] == run.certificate["digest"]


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


@settings(max_examples=60)
@given(st.sets(st.integers(0, 40)))
def test_sets_are_written_as_ranges_and_read_back(members):
    indices = np.array(sorted(members), dtype=np.int64)
    told = set_of(indices)
    assert told["count"] == len(members)
    assert len(told["ranges"]) == sum(h - 1 not in members for h in members)
    assert indices_of(told, 41).tolist() == indices.tolist()


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


# ---- every field, changed by a forger who redoes digest and seal ----


def places(value, place=()):
    """Every place in nested mappings and lists, the whole first."""
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*place, key))


def at(value, place):
    for step in place:
        value = value[step]
    return value


def put(body, place, value):
    at(body, place[:-1])[place[-1]] = value


def field(place):
    """The name of a field, the same for all members of a list."""
    return "".join("[]" if isinstance(step, int) else f".{step}" for step in place).lstrip(".") or "body"


def altered(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.1 + 1e-3
    if value is None:
        return 0.5
    return value[:-1] + ("1" if value.endswith("0") else "0")


def mutations(body, *, every):
    """(field, how to change it), one at a time; of long lists only the ends unless `every` member is wanted."""
    for place in places(body):
        lists = [(at(body, place[:depth]), step) for depth, step in enumerate(place) if isinstance(step, int)]
        if not every and any(0 < step < len(whole) - 1 for whole, step in lists):
            continue
        value = at(body, place)
        if isinstance(value, dict):
            for key in value:
                yield f"{field(place)} without a key", lambda other, p=place, k=key: at(other, p).pop(k)
            yield f"{field(place)} with a key more", lambda other, p=place: at(other, p).update(added=1)
        elif isinstance(value, list):
            for number in range(len(value)):
                if every or number in (0, len(value) - 1):
                    yield f"{field(place)} without a member", lambda other, p=place, n=number: at(other, p).pop(n)
        else:
            yield field(place), lambda other, p=place, v=value: put(other, p, altered(v))
            if value is not None:
                yield field(place), lambda other, p=place: put(other, p, None)


def caught(run, *, every):
    """By field: the levels at which its changes are found out, the weakest that will do for each."""
    found = {}
    for name, change in mutations(run.certificate["body"], every=every):
        forged = copy.deepcopy(run.certificate)
        change(forged["body"])
        resealed(forged)
        given_levels = ((), (run.lab,), (run.lab, run.journal))
        level = next(
            (level for level, more in zip(LEVELS, given_levels, strict=True) if not verify(forged, *more).valid),
            "NEVER",
        )
        found.setdefault(name, set()).add(level)
    return found


# What each level of verification catches, over all kinds of runs. Where several levels stand, some changes of the field
# (or some kinds of runs) need the stronger one.
CAUGHT = {
    "self": [
        "body with a key more", "body without a key", "certified", "class_fingerprint",
        "conditions[] with a key more", "conditions[] without a key", "hypothesis with a key more",
        "hypothesis without a key", "hypothesis.description", "hypothesis.index", "kept with a key more",
        "kept without a key", "kept.count", "kept.ranges without a member", "kept.ranges[] without a member",
        "kept.ranges[][]", "labels with a key more", "labels without a key", "labels.answered", "labels.asked",
        "labels.skipped", "plan with a key more", "plan without a key", "plan.learner", "plan.name",
        "plan.numbers without a member", "plan.numbers[] with a key more", "plan.numbers[] without a key",
        "plan.numbers[].name", "plan.numbers[].source", "plan.numbers[].value",
        "plan.numbers[].value without a member", "plan.numbers[].value[]", "pool with a key more",
        "pool without a key", "pool.items", "pool.summary without a member", "pool.summary[] with a key more",
        "pool.summary[] without a key", "pool.summary[].hypothesis", "pool.summary[].predicts without a member",
        "pool.summary[].predicts[]", "protocol with a key more", "protocol without a key",
        "protocol.class with a key more", "protocol.class without a key",
        "protocol.class.candidates without a member", "protocol.class.candidates[] with a key more",
        "protocol.class.candidates[] without a key", "protocol.class.candidates[].name", "protocol.class.kind",
        "protocol.labels with a key more", "protocol.labels without a key", "protocol.labels.values without a member",
        "protocol.labels.values[]", "protocol.learner with a key more", "protocol.learner without a key",
        "protocol.learner.batch", "protocol.learner.delta", "protocol.learner.epsilon", "protocol.learner.finish",
        "protocol.learner.items", "protocol.learner.k_final", "protocol.learner.k_loop", "protocol.learner.name",
        "protocol.learner.plan", "protocol.learner.rho", "protocol.learner.theta", "protocol.prior with a key more",
        "protocol.prior without a key", "protocol.prior.kind", "protocol.prior.order without a member",
        "protocol.prior.order[]", "protocol.schema", "protocol.seed", "protocol_fingerprint",
        "rounds without a member", "rounds[] with a key more", "rounds[] without a key",
        "rounds[].disagreement without a member", "rounds[].drawn", "rounds[].round", "shared with a key more",
        "shared without a key", "shared.threshold", "shared.winner_rank", "survivors with a key more",
        "survivors without a key", "survivors.count", "survivors.ranges without a member",
        "survivors.ranges[] without a member", "survivors.ranges[][]", "transcript with a key more",
        "transcript without a key", "transcript.entries",
    ],
    "self or pool": [
        "pool.fingerprint",
    ],
    "self or journal": [
        "conditions without a member", "conditions[].bound", "conditions[].held", "conditions[].name",
        "conditions[].value", "labels.corrected", "private_commitment", "rho_predicted", "rounds[].disagreement[]",
        "rounds[].scanned", "rounds[].survivors", "runs_in_journal", "transcript.digest",
    ],
    "self or pool or journal": [
        "labels_sufficient", "rho_proven",
    ],
}  # fmt: skip


def table(found):
    """Fields by the levels that catch their changes."""
    told = {}
    for name in sorted(found):
        levels = " or ".join(level for level in (*LEVELS, "NEVER") if level in found[name])
        told.setdefault(levels, []).append(name)
    return told


@pytest.fixture
def quick(monkeypatch):
    """How large a pool would do is no part of a certificate, and takes long to find."""
    monkeypatch.setattr(RoundedPlan, "pool_needed", lambda plan, distances: None)


FAST = (
    "rounded-a2 certified",
    "rounded-a2 uncertified",
    "rounded-a2 first items",
    "rounded-a2 excess",
    "cal",
    "replical",
)


def test_every_change_of_every_field_is_caught(runs, quick):
    """The table says what a reader gets from a certificate alone, and what pool and journal are needed for."""
    found = {}
    for kind in FAST:
        for name, levels in caught(runs(kind), every=False).items():
            found.setdefault(name, set()).update(levels)
    assert not [name for name in found if "NEVER" in found[name]]
    assert table(found) == CAUGHT, json.dumps(table(found), indent=4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_change_of_every_member_of_every_list_is_caught(runs, quick, kind):
    """Nor does any other kind of run need more than the table says."""
    told = {name: levels.split(" or ") for levels, names in CAUGHT.items() for name in names}
    found = caught(runs(kind), every=True)
    assert len(found) > 80
    for name, levels in found.items():
        assert levels <= set(told.get(name, ["self"])) | {"self"}, name


def test_what_a_better_forger_changes_is_caught_by_the_journal(runs):
    """Who changes the protocol and redoes all that follows from it has a certificate of another protocol: no journal fits."""
    run = runs("rounded-a2 certified")
    for change in ({"rho": 0.7}, {"epsilon": 0.41}, {"delta": 0.19}, {"batch": 25}):
        forged = copy.deepcopy(run.certificate)
        body = forged["body"]
        body["protocol"]["learner"] |= change
        protocol = Protocol.of(body["protocol"])
        body["protocol_fingerprint"], body["plan"] = protocol.fingerprint, plan_of(protocol.plan)
        for each in body["conditions"]:
            each["bound"] = float(protocol.plan["rho"]) if "proves rho" in each["name"] else each["bound"]
        found = verdicts(run, resealed(forged))
        assert not found[2].valid
        if "batch" in change:  # nothing but the order of questions depends on it, and only the journal knows that
            assert found[1].valid
            assert "belongs to the protocol" in next(check.detail for check in found[2].checks if not check.ok)


def test_another_answer_needs_another_journal(runs):
    """A lab that publishes the hypothesis it likes best must invent survivors, and labels to go with them."""
    run = runs("cal")
    forged = copy.deepcopy(run.certificate)
    other = next(h for h in range(6) if h != forged["body"]["hypothesis"]["index"])
    alone = set_of(np.array([other]))
    forged["body"] |= {
        "hypothesis": {"index": other, "description": run.protocol.recipe.describe(other)},
        "shared": shared_of(run.protocol, other),
        "survivors": alone,
        "kept": alone,
    }
    assert [verdict.valid for verdict in verdicts(run, resealed(forged))] == [True, True, False]


def test_another_lab_s_pool_or_journal_does_not_fit(runs, tmp_path):
    run = runs("cal")
    with finished(tmp_path, "cal", "other", seed=3) as other:
        assert not verify(run.certificate, other.lab).valid
        found = verify(run.certificate, run.lab, other.journal)
        assert not found.valid
        assert "the pool has changed since the journal" in found.checks[-1].detail
    with finished(tmp_path, "cal", "again", seed=2, skips=1, corrects=1) as again:
        found = verify(run.certificate, run.lab, again.journal)
        wrong = {check.name for check in found.checks if not check.ok}
        assert "the commitment is to the journal's private seed" in wrong
        assert "replayed: transcript" in wrong


def test_an_unfinished_or_empty_journal_is_no_proof(runs, tmp_path):
    run = runs("cal")
    with Journal(tmp_path / "empty.db") as journal:
        assert verify(run.certificate, run.lab, journal).checks[-1].detail == "the journal is empty"
        begin(journal, run.protocol, run.lab, "lab")
        assert "labels are still missing" in verify(run.certificate, run.lab, journal).checks[-1].detail


# ---- the file ----


def test_without_a_new_digest_every_change_is_caught_by_the_certificate_alone(runs):
    run = runs("rounded-a2 certified")
    count = 0
    for name, change in mutations(run.certificate["body"], every=False):
        forged = copy.deepcopy(run.certificate)
        change(forged["body"])
        assert not verify(forged).checks[0].ok, name
        count += 1
    assert count > 200


@pytest.fixture(scope="module")
def file(runs, tmp_path_factory):
    path = tmp_path_factory.mktemp("file") / "certificate.json"
    write(runs("cal").certificate, path)
    return path


def valid(path):
    """As `replical verify` decides."""
    try:
        return verify(read(path)).valid
    except BadCertificate:
        return False


def test_a_certificate_reads_back_as_itself(runs, file):
    assert read(file) == runs("cal").certificate
    assert valid(file)
    assert not file.with_name("certificate.json.part").exists()


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
        raw + b"\n",
        raw[:-1],
        b"\xef\xbb\xbf" + raw,
        raw.replace(b"\n", b"\r\n"),
        b"",
        raw[: len(raw) // 2],
        swapped,
    ]
    changed += [json.dumps(json.loads(raw)).encode(), raw.replace(b'"cal"', b'"\\u0063al"')]
    assert len(changed) > 50
    for each in changed:
        assert each != raw
        other.write_bytes(each)
        assert not valid(other)


def test_the_command_line_says_so_with_exit_code_1(file, capsys):
    raw = file.read_bytes()
    other = file.with_name("sampled.json")
    for place in [*range(0, len(raw), len(raw) // 6), len(raw) - 1, raw.index(b'"created"') + 13]:
        other.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        assert main(["verify", str(other), "--json"]) == 1
        told = json.loads(capsys.readouterr().out)
        assert (told["schema"], told["valid"], told["level"]) == ("replical.verify/1", False, "self")
        assert not all(check["ok"] for check in told["checks"])
    assert main(["verify", str(file)]) == 0
    assert "Valid, checked alone." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is not valid JSON"),
        ("[]", "is no certificate of replical"),
        ('{"schema": 5}', "is no certificate of replical"),
        ('{"schema": "replical.certificate/2"}', "says 'replical.certificate/2', this version reads"),
        ('{"schema": "replical.certificate/1"}', "has other parts than schema, body, digest and provenance"),
        ('{"schema": "replical.certificate/1", "body": [], "digest": 1, "provenance": 2}', "has other parts than"),
        ('{"schema": "replical.certificate/1", "body": {}, "digest": 1, "provenance": 2}', "it has been edited"),
        ('{"schema": "a", "schema": "a"}', "a key occurs twice"),
        ('{"schema": NaN}', "NaN is no number"),
        ("[" * 100_000, "it is not valid JSON"),
    ],
)
def test_what_is_no_certificate(tmp_path, text, message):
    (tmp_path / "certificate.json").write_text(text)
    with pytest.raises(BadCertificate, match=r"certificate.json") as caught_error:
        read(tmp_path / "certificate.json")
    assert message in str(caught_error.value)


def test_a_certificate_that_cannot_be_written_is_named(runs, tmp_path):
    with pytest.raises(BadCertificate, match="cannot write the certificate .*: No such file"):
        write(runs("cal").certificate, tmp_path / "nowhere" / "certificate.json")


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
    run = runs(data.draw(st.sampled_from(["rounded-a2 excess", "cal", "replical"])))
    forged = copy.deepcopy(run.certificate)
    place = data.draw(st.sampled_from([place for place in places(forged["body"]) if place]))
    put(forged["body"], place, value)
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


class Tags(html.parser.HTMLParser):
    """What is in a page: tags, attributes and texts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = set(), set(), ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.texts += data


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_says_what_the_certificate_says(runs, kind):
    body = runs(kind).certificate["body"]
    seen = Tags(page(runs(kind).certificate))
    assert seen.tags <= {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "h1",
        "h2",
        "p",
        "table",
        "tr",
        "th",
        "td",
        "code",
        "span",
    }
    assert seen.attributes <= {"lang", "charset", "name", "content", "class"}  # nothing that fetches or runs anything
    assert "http" not in page(runs(kind).certificate)
    for told in (body["hypothesis"]["description"], body["protocol_fingerprint"], body["pool"]["fingerprint"], "a published text",
                 runs(kind).certificate["digest"]):  # fmt: skip
        assert told in seen.texts
    assert ("Not certified" in seen.texts) == (not body["certified"])
    assert ("not held" in seen.texts) == any(not each["held"] for each in body["conditions"])


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


def test_verify_writes_the_page_of_a_valid_certificate_only(file, tmp_path, capsys):
    target = tmp_path / "page.html"
    bad = tmp_path / "bad.json"
    bad.write_bytes(file.read_bytes()[:-1])
    assert main(["verify", str(bad), "--html", str(target)]) == 1
    assert not target.exists()
    assert main(["verify", str(file), "--html", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == page(read(file))
    assert main(["verify", str(file), "--html", str(tmp_path / "nowhere" / "page.html")]) == 2
    assert "cannot write the page" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["verify", "nowhere.json"], "there is no certificate nowhere.json"),
        (["verify", "FILE", "--journal", "lab.db"], "a journal is replayed on its pool: give --pool too"),
        (["verify", "FILE", "--pool", "nowhere.csv"], "there is no file nowhere.csv"),
        (["compare", "FILE"], "compare takes two or more certificates, got 1"),
        (["compare", "FILE", "nowhere.json"], "there is no certificate nowhere.json"),
        (["compare", "FILE", "BAD"], "is no certificate: it is not valid JSON"),
    ],
)
def test_bad_usage_is_exit_code_2(file, tmp_path, capsys, words, message):
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    given_words = [{"FILE": str(file), "BAD": str(bad)}.get(word, word) for word in words]
    assert main([*given_words, "--json"]) == 2
    assert message in json.loads(capsys.readouterr().out)["message"]


# ---- several labs ----


@pytest.fixture(scope="module")
def labs(tmp_path_factory):
    """Certificates of one protocol from three labs that agree, one that does not, and one of another protocol."""
    folder = tmp_path_factory.mktemp("labs")
    said, made = content("rounded-a2", items=1000, batch=24), {}
    plans = {name: (said, world(seed=seed)) for name, seed in (("a", 11), ("b", 12), ("c", 13))}
    plans["other answer"] = (said, world(seed=14, best=0.6, worst=0.02))
    plans["other protocol"] = (content("rounded-a2", items=1000, batch=25, seed="another text"), world(seed=11))
    for name, (protocol, columns) in plans.items():
        with Run(folder, protocol, columns, name) as run:
            made[name] = run.certificate
            write(run.certificate, folder / f"{name}.json")
    return folder, made


def test_labs_with_one_answer_are_identical(labs, capsys):
    folder, made = labs
    found = compare([made["a"], made["b"], made["c"]])
    assert (found.identical, found.same_protocol, found.same_index) == (True, True, True)
    assert (found.first_difference, found.warning) == (None, None)
    assert found.same_distribution_p > 0.001
    assert made["a"]["body"]["pool"]["fingerprint"] != made["b"]["body"]["pool"]["fingerprint"]
    words = [str(folder / f"{name}.json") for name in "abc"]
    assert main(["compare", *words]) == 0
    shown = capsys.readouterr().out
    assert f"Identical: all 3 labs chose {made['a']['body']['hypothesis']['description']}." in shown
    assert "3 of 3 are certified." in shown
    assert main(["compare", *words[:2], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told.pop("same_distribution_p") > 0.001
    assert told == {
        "schema": "replical.compare/1", "identical": True, "same_protocol": True, "same_index": True,
        "first_difference": None, "warning": None,
    }  # fmt: skip


def test_another_answer_is_named(labs, capsys):
    folder, made = labs
    found = compare([made["a"], made["b"], made["other answer"]])
    first, other = (made[name]["body"]["hypothesis"] for name in ("a", "other answer"))
    assert (found.identical, found.same_protocol, found.same_index) == (False, True, False)
    assert found.first_difference == (
        f"certificate 3 chose {other['description']!r} (hypothesis {other['index']}), "
        f"the first {first['description']!r} (hypothesis {first['index']})"
    )
    assert main(["compare", *(str(folder / f"{name}.json") for name in ("a", "b", "other answer"))]) == 1
    assert "Different: certificate 3 chose" in capsys.readouterr().out


def test_another_protocol_is_named_and_answers_are_not_compared(labs, capsys):
    folder, made = labs
    found = compare([made["a"], made["other protocol"]])
    assert (found.identical, found.same_protocol, found.same_distribution_p) == (False, False, None)
    assert found.first_difference.startswith("certificate 2 follows another protocol than the first: they differ in")
    assert "seed" in found.first_difference
    assert "learner" in found.first_difference
    assert "labels" not in found.first_difference
    assert main(["compare", str(folder / "a.json"), str(folder / "other protocol.json"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["same_distribution_p"] is None


def test_no_answer_is_never_identical():
    """Two labs that found no heavy hitter have nothing in common."""
    body = {
        "protocol_fingerprint": "p",
        "hypothesis": None,
        "pool": {"summary": [{"predicts": [1, 1]}]},
        "protocol": {},
    }
    found = compare([{"body": body}, {"body": body}])
    assert (found.identical, found.same_index) == (False, True)
    assert found.first_difference == "certificate 1 has no answer: no heavy hitter was found"


def test_an_invalid_certificate_is_not_compared(labs, tmp_path, capsys):
    folder, made = labs
    forged = copy.deepcopy(made["b"])
    forged["body"]["hypothesis"]["index"] += 1
    write(resealed(forged), tmp_path / "forged.json")
    assert main(["compare", str(folder / "a.json"), str(tmp_path / "forged.json")]) == 2
    assert "forged.json is not valid (" in capsys.readouterr().err
    write(copy.deepcopy(made["b"]) | {"digest": made["a"]["digest"]}, tmp_path / "forged.json")
    assert main(["compare", str(folder / "a.json"), str(tmp_path / "forged.json")]) == 2
    assert "(the digest is that of the body: " in capsys.readouterr().err


LINE = {"kind": "thresholds", "features": ["x"], "count": 200}
LINE_PROTOCOL = Protocol.of(content("cal") | {"class": LINE})


def told_of(x):
    """A body that says no more than a comparison looks at."""
    lab = types.SimpleNamespace(items=np.asarray(x))
    body = {"protocol_fingerprint": "p", "hypothesis": {"index": 5, "description": "it"}}
    return {"body": body | {"pool": {"summary": summary(LINE_PROTOCOL, lab)}}}


def test_labs_of_one_population_are_rarely_warned(alarm):
    """p is a probability: below 0.001 once in a thousand pairs, below 0.2 in a fifth of them at most, and not always 1."""
    generator = np.random.default_rng(17)
    found = [compare([told_of(generator.integers(199, size=400)) for _ in range(2)]) for _ in range(200)]
    p = np.array([each.same_distribution_p for each in found])
    assert (p < 0.001).sum() <= binom.isf(alarm / 2, 200, 0.001)
    assert (p < 0.2).sum() <= binom.isf(alarm / 2, 200, 0.2)
    assert [each.warning is not None for each in found] == (p < 0.001).tolist()
    assert all(each.identical for each in found)
    assert (p < 0.9).mean() > 0.1


def test_labs_of_other_populations_are_warned():
    """The promise is about labs that sample one population: a shift that changes predictions is noticed."""
    generator = np.random.default_rng(18)
    for _ in range(20):
        found = compare([told_of(generator.integers(199, size=400)), told_of(generator.integers(40, 199, size=400))])
        assert found.same_distribution_p < 0.001
        assert found.warning.startswith("the pools look as if they came from different distributions (p = ")
        assert found.identical


def test_three_pools_are_looked_at_together():
    generator = np.random.default_rng(19)
    same = [told_of(generator.integers(199, size=400)) for _ in range(3)]
    assert compare(same).warning is None
    assert compare([*same[:2], told_of(generator.integers(40, 199, size=400))]).warning is not None


def test_a_warning_changes_no_exit_code(tmp_path, capsys):
    """Identical is identical; whether the labs were comparable is for their readers to judge."""
    generator = np.random.default_rng(20)
    for name, low in (("a", 0), ("b", 25)):
        x = generator.integers(low, 199, size=600)
        columns = {
            "id": [f"i{n}" for n in range(600)],
            "x": x.tolist(),
            "truth": np.where(x >= 100, "yes", "no").tolist(),
        }
        with Run(tmp_path, content("rounded-cal", epsilon=0.3) | {"class": LINE}, columns, name) as run:
            write(run.certificate, tmp_path / f"{name}.json")
            summaries = run.certificate["body"]["pool"]["summary"]
            assert len(summaries) == 32
            assert summaries == sorted(summaries, key=lambda each: each["hypothesis"])
    code = main(["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json")])
    told = capsys.readouterr()
    assert "Warning: the pools look as if they came from different distributions" in told.err.replace("\n", " ")
    assert code == 0
    assert "Identical: all 2 labs chose yes if x >=" in told.out
