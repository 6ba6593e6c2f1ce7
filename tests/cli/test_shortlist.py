"""A protocol with a shortlist, from ``init`` to a comparison: every command says among whom the answer is the best."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from replical.lab.certificate.file import read, write
from support.certificates import resealed
from support.lab import world, write_csv

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")
LIST = "of the shortlist of 3"
INIT = ("init", "--pool", "a.csv", "--seed", "s", "--epsilon", ".3", "--out", "p.toml")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two labs' tables and a public one, in the present folder."""
    monkeypatch.chdir(tmp_path)
    for name, seed in (("a", 4), ("b", 5), ("public", 3)):
        columns = world(candidates=8, items=600, seed=seed, best=0.05, worst=0.4)
        write_csv(f"{name}.csv", columns | {"id": [f"{name}{number}" for number in range(600)], "text": columns["id"]})
    columns = world(candidates=8, items=600, seed=3, best=0.05, worst=0.4)
    write_csv(
        "public.csv",
        {"id": [f"p{number}" for number in range(600)]} | {key: columns[key] for key in ("truth", *MODELS)},
    )


MODELS = tuple(f"m{h}" for h in range(8))


def run(command, lab):
    code, out, err = command("run", "p.toml", "--pool", f"{lab}.csv", "--labels", f"{lab}.csv:truth", "--journal",
        f"{lab}.db", "--public", "public.csv", "--out", f"{lab}.json", "-v")  # fmt: skip
    assert code == 0, err
    return out, err


def test_from_a_protocol_to_a_comparison(folder, command):
    code, out, err = command(*INIT, "--public", "public.csv:truth", "--set", "shortlist=3")
    assert code == 0, err
    assert f"more errors in 100 items than the best {LIST}" in out
    remark = (
        "only the first 3 of the public order are candidates. The answer errs at most 0.3 more than the best of these"
    )
    assert remark in out
    assert tomllib.loads(Path("p.toml").read_text())["handicap"]["shortlist"] == 3
    code, out, _ = command("plan", "p.toml", "--pool", "a.csv", "--truths", "2")
    assert (code, remark in out) == (0, True)
    for lab in "ab":
        out, err = run(command, lab)
        assert remark in err
        assert f"Certified: this is proven to be the model {LIST} with the smallest error plus public handicap." in out
        assert re.search(rf"Error: at most [\d.]+ more than the best model {LIST}, with confidence", out)
        code, out, _ = command("verify", f"{lab}.json", "--pool", f"{lab}.csv", "--journal", f"{lab}.db", "--public",
            "public.csv", "--html", f"{lab}.html")  # fmt: skip
        assert code == 0, out
        assert f"more than the best {LIST}" in Path(f"{lab}.html").read_text()
        assert len(read(Path(f"{lab}.json"))["body"]["proof"]["counts"]) == 3
    code, out, _ = command("compare", "a.json", "b.json")
    assert (code, f"more than the best model {LIST}, with confidence 95%, if the labs" in out) == (0, True)


def test_an_answer_that_is_not_on_the_list_is_found_out(folder, command):
    command(*INIT, "--public", "public.csv:truth", "--set", "shortlist=3")
    run(command, "a")
    certificate = read(Path("a.json"))
    body = certificate["body"]
    body["hypothesis"] |= {"index": 7, "description": "m7"}
    body["survivors"] |= {"ranges": [[7, 7]]}
    write(resealed(certificate), Path("forged.json"))
    code, out, _ = command("verify", "forged.json", "--json")
    assert (code, f"a survivor is none {LIST}" in json.dumps(json.loads(out))) == (1, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--public", "public.csv:truth", "--set", "shortlist=9"], "a shortlist of 9 is longer than the class of 8"),
        (["--public", "public.csv:truth", "--set", "shortlist=1"], "shortlist must be a whole number of at least 2, got 1"),
        (["--set", "shortlist=3", "--handicap", "zero"], "and handicaps come from zero: publish an order"),
        (["--set", "shortlist=3", "--learner", "a2"], "[handicap] is for the learner of this name, not for 'a2'"),
    ],
)  # fmt: skip
def test_a_shortlist_that_cannot_be_is_one_sentence(folder, command, words, message):
    code, out, _ = command(*INIT, *words, "--json")
    told = json.loads(out)["message"]
    assert (code, message in told, "\n" in told, Path("p.toml").exists()) == (2, True, False, False), told


def test_an_audit_takes_a_shortlist(command, tmp_path):
    order = tmp_path / "order.txt"
    order.write_text("\n".join(map(str, range(50))))
    words = ("paper", "audit", "--class", "thresholds:50", "--learner", "handicap", "--epsilon", ".2", "--pool-size", "400",
        "--seed", "s", "--pairs", "4", "--workers", "1", "--json")  # fmt: skip
    code, out, _ = command(*words, "--prefer", str(order), "--set", "shortlist=5")
    told = json.loads(out)
    assert (code, told["inputs"]["shortlist"]) == (0, 5)
    assert told["survivors_mean"] <= 5
    code, _, err = command(*words[:-1], "--set", "shortlist=5")
    assert (code, "a shortlist is the beginning of a public order" in err) == (2, True)
