"""``replical run --vote answer`` and ``replical lab release``: votes, one answer, and a budget that is never overspent."""

import json
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from replical.lab import release as releases
from replical.lab.certificate.file import write
from replical.lab.protocol import Protocol
from replical.lab.release import read_vote, string_of, vote_of
from support.lab import content, world, write_csv

SAID = content(epsilon=0.2, labs=3, nu=0) | {"labs": {"names": ["north", "south", "east"]}}


ENTRY = (
    "total = 2.0\nspent = 1.0\nreleases = [{{protocol = '" + Protocol.of(SAID).fingerprint + "', epsilon = {epsilon}, "
    "nobody = 0, sampler = 'exact integers', answer = {answer}}}]\n"
)


@pytest.fixture
def curator(tmp_path, monkeypatch, command):
    """A folder with a protocol, a budget of 2, and three votes for hypothesis 1."""
    monkeypatch.chdir(tmp_path)
    protocol = Protocol.of(SAID)
    Path("p.toml").write_text(protocol.toml())
    Path("budget.toml").write_text("total = 2.0\n")

    class Curator:
        def vote(self, name, /, **changes):
            made = {"schema": "replical.vote/1", "protocol_fingerprint": protocol.fingerprint, "lab": name}
            write(made | {"shared": string_of(protocol), "votes": [1]} | changes, Path(f"{name}.json"))
            return f"{name}.json"

        def __call__(self, *words, epsilon="1", sampler="exact", code=0):
            fixed = ["--protocol", "p.toml", "--epsilon", epsilon, "--budget", "budget.toml", "--out", "r.json"]
            found, out, err = command("lab", "release", *fixed, "--sampler", sampler, *words)
            assert found == code, out + err
            return " ".join((out if code == 0 else err).split())

        def refused(self, *words, **options):
            """Nothing was published or spent."""
            before = Path("budget.toml").read_text()
            said = self(*words, code=2, **options)
            assert said.startswith("Error: ")
            assert said.count("Error") == 1
            assert not Path("r.json").exists()
            assert Path("budget.toml").read_text() == before
            assert not list(Path().glob("*.lock"))
            return said

    return Curator()


# ---- what a lab sends ----


@pytest.fixture
def lab(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("p.toml").write_text(Protocol.of(SAID).toml())
    columns = world(items=100, seed=3, best=0.0)
    write_csv("pool.csv", columns)

    def run(*words, code=0):
        files = ["--pool", "pool.csv", "--labels", "pool.csv:truth", "--journal", "a.db", "--out", "a.json"]
        found, out, err = command("run", "p.toml", *files, "--truths", "0", *words)
        assert found == code, out + err
        return " ".join((out if code == 0 else err).split())

    return run


def test_a_private_run_writes_a_vote_and_nothing_else(lab):
    said = lab("--vote", "answer", "--lab", "north")
    assert said == "Vote of north: a.json Send it to the curator and to nobody else; the journal stays in the lab."
    protocol, vote = Protocol.of(SAID), read_vote(Path("a.json"))
    assert set(vote) == {"schema", "protocol_fingerprint", "shared", "lab", "votes"}
    assert (vote["schema"], vote["lab"]) == ("replical.vote/1", "north")
    assert (vote["protocol_fingerprint"], vote["shared"]) == (protocol.fingerprint, string_of(protocol))
    told = json.loads(lab("--vote", "answer", "--json"))  # the journal knows the name
    assert told == {"schema": "replical.vote/1", "status": "done", "lab": "north", "vote": "a.json"}
    lab()
    body = json.loads(Path("a.json").read_text())["body"]
    assert vote["votes"] == [body["hypothesis"]["index"]]
    lab("--vote", "left")
    open_ones = [h for low, high in body["survivors"]["ranges"] for h in range(low, high + 1)]
    assert read_vote(Path("a.json"))["votes"] == open_ones


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--vote", "answer"], "a vote names its lab, so that nobody votes twice: give --lab NAME"),
        (["--vote", "answer", "--lab", "north", "--html", "a.html"], "--html, --envelope and --require-proof are about a certificate, and --vote writes none"),
        (["--approve"], "No such option: --approve: write --vote left"),
    ],
)  # fmt: skip
def test_a_vote_that_cannot_be_is_one_sentence(lab, words, message):
    assert message in lab(*words, code=2)
    assert not Path("a.json").exists()


def test_a_lab_without_an_answer_votes_for_nobody():
    result, ledger = SimpleNamespace(hypothesis=None, V=None), SimpleNamespace(lab="north")
    session = SimpleNamespace(protocol=Protocol.of(SAID), ledger=ledger, result=result)
    assert vote_of(session)["votes"] == vote_of(session, approve=True)["votes"] == []


# ---- what is published ----


def test_one_answer_and_nothing_else(curator):
    said = curator(*map(curator.vote, ["north", "south", "east"]), epsilon="20", code=2)
    assert "more than the budget's rest, 2 of 2" in said
    said = curator(*map(curator.vote, ["north", "south", "east"]), epsilon="1.5")
    content = json.loads(Path("r.json").read_text())
    h = content["answer"]["index"]
    assert content == {
        "schema": "replical.release/1", "protocol_fingerprint": Protocol.of(SAID).fingerprint, "epsilon": 1.5,
        "unit": "lab", "mechanism": "noisy maximum", "sampler": "exact integers", "nobody": None,
        "answer": {"index": h, "name": f"m{h}"},
    }  # fmt: skip
    assert said == (
        f"Released: m{h} (hypothesis {h}). Private at epsilon 1.5 for a whole lab that votes or stays away, 3 for one whose "
        "data are replaced. Release: r.json"
    )


@pytest.mark.parametrize("as_json", [False, True])
def test_what_is_printed_does_not_depend_on_how_many_voted(curator, monkeypatch, as_json):
    """The same answer comes out of no vote, one, and three: every byte that is printed or written is the same."""
    monkeypatch.setattr(releases, "noisy_maximum", lambda counts, epsilon, sampler: 1)
    seen = set()
    for labs in ([], ["north"], ["north", "south", "east"]):
        Path("budget.toml").write_text("total = 2.0\n")
        votes = [curator.vote(each) for each in labs]
        said = curator(*votes, *(["--json"] if as_json else []))
        seen.add((said, Path("r.json").read_bytes(), Path("budget.toml").read_bytes()))
    assert len(seen) == 1


def test_a_silent_lab_may_say_so(curator):
    """An empty vote is a vote, and adds nothing."""
    Path("budget.toml").write_text("total = 20\n")
    curator(
        curator.vote("north", votes=[]),
        curator.vote("south", votes=[0, 3]),
        curator.vote("east", votes=[3]),
        epsilon="20",
    )
    assert json.loads(Path("r.json").read_text())["answer"]["index"] == 3


def test_votes_decide_as_far_as_noise_lets_them(curator):
    """With ε = 20 three votes against none lose with probability below 10⁻²⁵."""
    Path("budget.toml").write_text("total = 20\n")
    curator(*map(curator.vote, ["north", "south", "east"]), epsilon="20")
    assert json.loads(Path("r.json").read_text())["answer"]["index"] == 1


def test_nobody_may_win(curator):
    Path("budget.toml").write_text("total = 20\n")
    assert curator(curator.vote("north"), "--nobody", "3", epsilon="20").startswith("Released: no answer.")
    content = json.loads(Path("r.json").read_text())
    assert (content["nobody"], content["answer"]) == (3, None)


def test_opendp_makes_the_noise(curator):
    pytest.importorskip("opendp")
    Path("budget.toml").write_text("total = 20\n")
    curator(*map(curator.vote, ["north", "south", "east"]), epsilon="19.9", sampler="opendp")
    content = json.loads(Path("r.json").read_text())
    assert content["sampler"].startswith("opendp 0.")
    assert content["answer"]["index"] == 1


def test_without_opendp_the_extra_is_named_and_nothing_stands_in(curator, monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.measurements", None)
    monkeypatch.setitem(sys.modules, "opendp", None)
    said = curator.refused(curator.vote("north"), sampler="opendp")
    assert "pip install 'replical[private]', or say --sampler exact for our own" in said


# ---- the budget ----


def test_what_is_spent_is_kept_and_never_exceeds_the_total(curator):
    curator(curator.vote("north"), epsilon=".7")
    kept = tomllib.loads(Path("budget.toml").read_text())
    assert (kept["total"], kept["spent"], len(kept["releases"])) == (2.0, 0.7, 1)
    Path("r.json").unlink()
    Path("p.toml").write_text(Protocol.of(SAID | {"seed": "another string"}).toml())
    curator(epsilon=".7")
    Path("r.json").unlink()
    Path("p.toml").write_text(Protocol.of(SAID | {"seed": "a third"}).toml())
    said = curator.refused(epsilon=".7")
    assert "epsilon 0.7 is more than the budget's rest, 0.6 of 2: nothing is released" in said
    curator(epsilon=".6")  # decimals: .7 + .7 + .6 is 2
    assert tomllib.loads(Path("budget.toml").read_text())["spent"] == 2.0


def test_a_protocol_is_drawn_once(curator):
    first = curator(curator.vote("north"), epsilon=".01")
    content, budget = Path("r.json").read_bytes(), Path("budget.toml").read_bytes()
    for _ in range(6):  # a second draw would differ with probability 5/6
        assert curator(curator.vote("south"), curator.vote("east"), epsilon=".01") == first
        assert (Path("r.json").read_bytes(), Path("budget.toml").read_bytes()) == (content, budget)
    said = curator(epsilon="1", code=2)
    assert "this protocol was released before with epsilon 0.01: an answer is drawn once" in said


def test_what_cannot_be_written_is_not_lost(curator):
    """The draw is in the budget before the release is written: asked again, it is given."""
    Path("r.json").mkdir()
    curator(curator.vote("north"), epsilon=".01", code=2)
    Path("r.json").rmdir()
    drawn = tomllib.loads(Path("budget.toml").read_text())["releases"][0]["answer"]
    curator(epsilon=".01")
    assert json.loads(Path("r.json").read_text())["answer"]["index"] == drawn


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no budget budget.toml: write a file with one line, total = 2.0"),
        ("total = ", "budget.toml is not a TOML file"),
        ("total = 0", "Expected `float` > 0.0 - at `$.total`"),
        ("total = nan", "Expected `float` > 0.0 - at `$.total`"),
        ("", "missing required field `total`"),
        ("total = 1e308", "Expected `float` <= 1000000000.0 - at `$.total`"),
        ("total = 2.0\nwhole = 3", "unknown field `whole`"),
        ("total = 2.0\nspent = 0.5", "is damaged: it says spent = 0.5, its releases add up to another"),
        ("total = 2.0\nreleases = [{epsilon = 1.0}]", "missing required field `protocol` - at `$.releases[0]`"),
        (ENTRY.format(epsilon="-1.0", answer=1), "Expected `float` > 0.0 - at `$.releases[0].epsilon`"),
        (ENTRY.format(epsilon="1.0", answer=6), "it says that hypothesis 6 was released, which is not there"),
    ],
)
def test_a_bad_budget_is_one_sentence(curator, text, message):
    if text is None:
        Path("budget.toml").unlink()
        assert message in curator(code=2)
        assert not Path("r.json").exists()
    else:
        Path("budget.toml").write_text(text)
        assert message in curator.refused()


def test_one_spends_at_a_time(curator):
    Path("budget.toml.lock").touch()
    said = curator(code=2)
    assert "another release spends from budget.toml; if none is running, delete budget.toml.lock" in said
    Path("budget.toml.lock").unlink()
    curator.refused(epsilon="3")


# ---- bad input ----


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocol_fingerprint": "sha256:0"}, "north.json is a vote about another protocol than sha256:"),
        ({"shared": "sha256:0"}, "north.json is a vote with another string than the protocol's"),
        ({"lab": "west"}, "north.json is the vote of 'west', which is no lab that the protocol knows"),
        ({"lab": 5}, "north.json is the vote of 5"),
        ({"votes": [6]}, "north.json must list hypotheses from 0 to 5, ascending, each once: [6]"),
        ({"votes": [-1]}, "ascending, each once: [-1]"),
        ({"votes": [1, 1]}, "ascending, each once: [1, 1]"),
        ({"votes": [2, 1]}, "ascending, each once: [2, 1]"),
        ({"votes": [True]}, "ascending, each once: [True]"),
        ({"votes": "1"}, "ascending, each once: '1'"),
        ({"weight": 2}, "north.json has other parts than schema"),
        ({"schema": "replical.certificate/3"}, "north.json says 'replical.certificate/3', this version reads 'replical.vote/1'"),
    ],
)  # fmt: skip
def test_a_vote_of_something_else_is_refused(curator, changes, message):
    assert message in curator.refused(curator.vote("north", **changes))


def test_one_lab_twice_is_refused(curator):
    curator.vote("south", lab="north")
    said = curator.refused(curator.vote("north"), "south.json")
    assert "north.json and south.json are both votes of the lab 'north': give one vote a lab" in said
    assert "a vote is given twice" in curator.refused("north.json", "north.json")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": "0"}, "epsilon of a release must be above 0 and at most 20, got 0"),
        ({"epsilon": "nan"}, "must be above 0 and at most 20, got nan"),
        ({"epsilon": "21"}, "must be above 0 and at most 20, got 21"),
        ({"epsilon": "one"}, "'one' is not a number"),
        ({"sampler": "dice"}, "unknown sampler 'dice'; it is one of opendp, exact"),
    ],
)
def test_numbers_that_are_none_are_refused(curator, options, message):
    assert message in curator.refused(curator.vote("north"), **options)


def test_other_bad_input_is_refused(curator):
    assert "nobody must be a whole number of at least 1, got 0" in curator.refused("--nobody", "0")
    assert "cannot read the vote missing.json: No such file" in curator.refused("missing.json")
    Path("torn.json").write_text("{")
    assert "torn.json is no vote: it is not valid JSON" in curator.refused("torn.json")
