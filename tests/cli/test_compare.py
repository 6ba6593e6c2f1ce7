"""``replical compare``: labs with one answer, another answer, another protocol, other populations."""

import copy
import itertools
import json
import types
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from replical.cli import main
from replical.lab import protocol as protocols
from replical.lab.certificate.compare import compare
from replical.lab.certificate.file import summary, write
from replical.lab.protocol import Protocol
from support.certificates import resealed
from support.lab import Run, content, world, write_csv


@pytest.fixture(scope="module")
def labs(tmp_path_factory):
    """Certificates of one protocol from three labs that agree, one that does not, and one of another protocol.

    Two labs with a learner that proves no set, and one of them that does not agree.
    """
    folder = tmp_path_factory.mktemp("labs")
    said, made = content(batch=4), {}
    plans = {name: (said, world(seed=seed)) for name, seed in (("a", 11), ("b", 12), ("c", 13))}
    plans["other answer"] = (said, world(seed=14, best=0.6, worst=0.02))
    plans["other protocol"] = (content(batch=5, seed="another text"), world(seed=11))
    plain = {"cal a": world(seed=11, best=0.0), "cal b": world(seed=12, best=0.6, worst=0.0)}
    plans |= {name: (content("cal"), columns) for name, columns in plain.items()}
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
    assert f"Identical: {made['a']['body']['hypothesis']['description']} alone is left in all 3 labs." in shown
    assert "Proven: it is the model with the smallest error plus public handicap, except with probability 0." in shown
    assert "3 of 3 are certified, with a proof of their own." in shown
    assert "Each file was checked by itself: nothing is wrong." in shown
    assert main(["compare", *words[:2], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told.pop("same_distribution_p") > 0.001
    common, files = told.pop("common"), told["files"]
    assert (common["count"], common["members"]) == (1, [made["a"]["body"]["hypothesis"]["index"]])
    assert [each["file"] for each in files] == ["a.json", "b.json"]
    assert told == {
        "schema": "replical.compare/1", "identical": True, "same_protocol": True, "same_index": True,
        "runs": 2, "first_difference": None, "warning": None, "confirmations": [],
        "labs": [None, None], "registrations": {"given": 0, "wrong": []},
        "same_items": [], "shared": None, "replicated": True, "files": files,
    }  # fmt: skip
    assert {(each["level"], each["certified"]) for each in files} == {("self", True)}
    assert all(each["checked"] > 10 and each["not_checkable"] > 5 for each in files)


def test_two_runs_on_one_pool_are_no_two_labs(labs, tmp_path, capsys):
    """They used to be called identical, with a warning that no exit code told."""
    folder, made = labs
    with Run(tmp_path, content(batch=4), world(seed=11), "again") as run:
        found = compare([made["a"], made["b"], run.certificate])
        write(run.certificate, tmp_path / "again.json")
    assert (found.identical, found.replicated, found.same_items) == (True, False, ((1, 3),))
    assert found.warning.startswith("files 1 and 3 are about the same items: they are one lab's, or share a pool")
    words = ["compare", str(folder / "a.json"), str(tmp_path / "again.json")]
    assert main(words) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("NOT DIFFERENT LABS: files 1 and 2 are about the same items")
    assert "both labs" not in shown
    assert main([*words, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["identical"], told["replicated"], told["same_items"]) == (True, False, [[1, 2]])


def test_one_file_twice_and_one_private_seed_on_two_pools_are_refused(labs, tmp_path, capsys):
    """A private seed is a lab's own: who has it twice chose among runs."""
    folder, made = labs
    assert main(["compare", str(folder / "a.json"), str(folder / "a.json")]) == 2
    assert "files 1 and 2 come from one journal" in capsys.readouterr().err
    with Run(tmp_path, content(batch=4), world(seed=12), "a") as run:  # the seed of "a"
        assert run.certificate["body"]["private_commitment"] == made["a"]["body"]["private_commitment"]
        assert run.certificate["body"]["pool"]["fingerprint"] != made["a"]["body"]["pool"]["fingerprint"]
        write(run.certificate, tmp_path / "again.json")
    assert main(["compare", str(folder / "a.json"), str(tmp_path / "again.json")]) == 2
    assert "journals with one private seed, so they are one lab's" in capsys.readouterr().err


def test_no_common_survivor_is_told(labs, capsys):
    folder, made = labs
    found = compare([made["a"], made["b"], made["other answer"]])
    assert (found.identical, found.same_protocol, found.common.count) == (False, True, 0)
    assert found.first_difference.startswith("no model is left in all labs, so their items come from different pop")
    assert main(["compare", *(str(folder / f"{name}.json") for name in ("a", "b", "other answer"))]) == 1
    assert (
        "Different: nobody is left in all labs. Their items come from different populations" in capsys.readouterr().out
    )


def test_another_answer_is_named(labs, capsys):
    folder, made = labs
    found = compare([made["cal a"], made["cal b"]])
    first, other = (made[name]["body"]["hypothesis"] for name in ("cal a", "cal b"))
    assert (found.identical, found.same_protocol, found.same_index) == (False, True, False)
    assert found.first_difference == (f"certificate 2 chose {other['description']}, the first {first['description']}")
    assert main(["compare", *(str(folder / f"{name}.json") for name in ("cal a", "cal b"))]) == 1
    mine, theirs = (each["description"] for each in (first, other))
    assert f"Different: cal a.json chose {mine}, cal b.json chose {theirs}.\n" in capsys.readouterr().out


def test_another_protocol_is_named_and_answers_are_not_compared(labs, capsys):
    folder, made = labs
    found = compare([made["a"], made["other protocol"]])
    assert (found.identical, found.same_protocol, found.same_distribution_p) == (False, False, None)
    assert found.first_difference.startswith("certificate 2 follows another protocol than the first: they differ in")
    assert "seed" in found.first_difference
    assert "learner." in found.first_difference
    assert "labels" not in found.first_difference
    assert main(["compare", str(folder / "a.json"), str(folder / "other protocol.json"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["same_distribution_p"] is None


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
SEEDS = map(str, itertools.count())
LINE_PROTOCOL = Protocol.of(content("cal") | {"class": LINE})


def told_of(x):
    """A body that says no more than a comparison looks at."""
    lab = types.SimpleNamespace(items=np.asarray(x))
    body = {"protocol": LINE_PROTOCOL.body, "protocol_fingerprint": "p", "plan": {"numbers": []}}
    body |= {"hypothesis": {"index": 5, "description": "it"}, "private_commitment": next(SEEDS)}
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
    """The promise is about labs that sample one population: a difference that changes predictions is noticed."""
    generator = np.random.default_rng(18)
    for _ in range(20):
        found = compare([told_of(generator.integers(199, size=400)), told_of(generator.integers(40, 199, size=400))])
        assert found.same_distribution_p < 0.001
        assert found.warning.startswith("the pools look as if they came from different distributions (p = ")
        assert found.warning.endswith("the promise is about labs that sample one population")
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
        with Run(
            tmp_path, content(handicap={"from": "cover", "members": [50, 100, 150]}) | {"class": LINE}, columns, name
        ) as run:
            write(run.certificate, tmp_path / f"{name}.json")
            summaries = run.certificate["body"]["pool"]["summary"]
            assert len(summaries) == 32
            assert summaries == sorted(summaries, key=lambda each: each["hypothesis"])
    code = main(["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json")])
    told = capsys.readouterr()
    assert "Warning: the pools look as if they came from different distributions" in told.err.replace("\n", " ")
    assert code == 0
    assert "Identical: yes if x >= 100 else no alone is left in both labs." in told.out


def test_class_and_plan_are_made_once_in_a_command(tmp_path, monkeypatch, command):
    """However many files hold the protocol: it may be a class of a million hypotheses."""
    made = Counter()

    def counting(what):
        real = getattr(protocols, what)

        def call(*values, **options):
            made[what] += 1
            return real(*values, **options)

        monkeypatch.setattr(protocols, what, call)

    counting("_make_recipe")
    counting("plan")
    (tmp_path / "p.toml").write_text(Protocol.of(content(batch=24)).toml())
    files = []
    for number in (1, 2):
        table, journal, out = (tmp_path / f"{number}.{kind}" for kind in ("csv", "db", "json"))
        write_csv(table, world(seed=number, items=300))
        made.clear()
        words = ["--pool", table, "--journal", journal, "--labels", f"{table}:truth", "--out", out]
        assert command("run", tmp_path / "p.toml", *words)[0] == 0
        assert made == {"_make_recipe": 1, "plan": 1}
        files.append(out)
    made.clear()
    assert command("compare", *files)[0] in (0, 1, 4)
    assert made == {"_make_recipe": 1, "plan": 1}
    made.clear()
    assert command("verify", files[1], "--pool", table, "--journal", journal)[0] == 0
    assert made == {"_make_recipe": 1, "plan": 1}
