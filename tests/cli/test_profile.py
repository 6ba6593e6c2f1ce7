"""``run --profile`` and ``compare --profile``: how often these very labs would agree with a fresh string."""

import json
from itertools import combinations

import numpy as np
import pytest

from replical.classes.prior import Prior
from replical.lab.certificate import profile as profiles
from replical.lab.certificate.file import write
from replical.lab.protocol import Protocol
from support.lab import Run, content, world

SAID = content("rounded-a2", items=1000, batch=24)


@pytest.fixture(scope="module")
def labs(tmp_path_factory):
    """Three labs with certificates and profiles, and what they measured."""
    folder, measured = tmp_path_factory.mktemp("profiles"), []
    for name, seed in (("a", 11), ("b", 12), ("c", 13)):
        with Run(folder, SAID, world(seed=seed), name) as run:
            measured.append(run.session.result.rounding)
            write(run.certificate, folder / f"{name}.json")
            profiles.write(profiles.profile_of(run.session, run.certificate), folder / f"{name}.profile.json")
    return folder, measured


def compared(command, folder, names, *more, told=None):
    words = [
        word for name in (names if told is None else told) for word in ("--profile", folder / f"{name}.profile.json")
    ]
    return command("compare", *(folder / f"{name}.json" for name in names), *words, *more)


def test_certificates_with_profiles_say_how_often_these_labs_would_agree(command, labs):
    folder, measured = labs
    code, told, _ = compared(command, folder, "abc")
    assert code == 0
    assert "With a fresh string these labs would return one answer with probability 0." in " ".join(told.split())
    assert "exact for the data they have, no promise about other labs" in " ".join(told.split())
    pairs = []
    for one, two in combinations(range(3), 2):
        names = ["abc"[one], "abc"[two]]
        found = json.loads(compared(command, folder, names, "--json", told=reversed(names))[1])["fresh_string"]
        assert found == pytest.approx(1 - measured[one].difference(measured[two], Prior()))
        pairs.append(found)
    every = json.loads(compared(command, folder, "abc", "--json")[1])["fresh_string"]
    assert sum(pairs) - 2 - 1e-9 <= every <= min(pairs)
    assert json.loads(compared(command, folder, "ab", "--json", told="")[1])["fresh_string"] is None


def forged(folder, tmp_path, **changes):
    """A profile that was changed, with a digest that fits it."""
    told = profiles.read(folder / "a.profile.json") | changes
    told.pop("digest")
    path = tmp_path / "forged.json"
    profiles.write(told | {"digest": profiles.fingerprint(told)}, path)
    return path


def test_profiles_that_do_not_fit_are_refused_in_a_sentence(command, labs, tmp_path):
    folder, _ = labs

    def told(*words):
        code, _, said = command("compare", folder / "a.json", folder / "b.json", *words)
        assert code == 2
        return " ".join(said.split())

    own = ["--profile", folder / "b.profile.json"]
    assert "certificate 1 has no profile" in told(*own)
    assert "both profiles of one certificate" in told(*own, *own[:1], forged_copy(folder, tmp_path))
    assert "is the profile of none of these certificates" in told(*own, "--profile", folder / "c.profile.json")
    scores = json.loads((folder / "a.profile.json").read_text())["scores"]
    changes = {
        "a profile of another protocol": {"protocol_fingerprint": "sha256:" + "0" * 64},
        "must hold 6 scores, whole numbers from 0 to 1000": {"scores": scores[:-1]},
        "by these scores the lab would have chosen from other hypotheses": {"scores": [1000 - each for each in scores]},
        "speaks of 999 items, its certificate of 1000": {"items": 999},
        "speaks of 1000.0 items, its certificate of 1000": {"items": 1000.0},
        "is of the lab 'south', its certificate of None": {"lab": "south"},
    }
    for sentence, change in changes.items():
        assert sentence in told(*own, "--profile", forged(folder, tmp_path, **change))
    changed = tmp_path / "changed.json"
    changed.write_text((folder / "a.profile.json").read_text().replace(f" {max(scores)}", f" {max(scores) - 1}"))
    assert "its digest is that of another profile" in told(*own, "--profile", changed)
    assert "cannot read the profile" in told(*own, "--profile", tmp_path / "nowhere.json")
    assert "says 'replical.certificate/1', this version reads 'replical.profile/1'" in told(
        "--profile", folder / "a.json"
    )


def forged_copy(folder, tmp_path):
    copy = tmp_path / "copy.json"
    copy.write_text((folder / "b.profile.json").read_text())
    return copy


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (content("settled"), "settled has no scores to publish"),
        (content("rounded-a2", finish="excess"), "labels decide, not scores"),
    ],
)
def test_where_scores_do_not_decide_there_is_no_profile(command, tmp_path, said, sentence):
    (tmp_path / "p.toml").write_text(Protocol.of(said).toml())
    columns = world(items=20)
    rows = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "pool.csv").write_text("\n".join(rows))
    words = ["run", tmp_path / "p.toml", "--pool", tmp_path / "pool.csv", "--labels", f"{tmp_path / 'pool.csv'}:truth"]
    words += ["--journal", tmp_path / "a.db", "--out", tmp_path / "a.json", "--profile", tmp_path / "a.profile.json"]
    code, _, told = command(*words)
    assert (code, sentence in told) == (2, True)
    assert not (tmp_path / "a.db").exists()
    code, _, told = command(*words, "--private", "--lab", "north")
    assert (code, "--profile tells what a private vote keeps to itself" in told) == (2, True)


def test_a_run_writes_its_profile(command, tmp_path):
    columns = world(items=1000, seed=11)
    rows = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "pool.csv").write_text("\n".join(rows))
    (tmp_path / "p.toml").write_text(Protocol.of(SAID).toml())
    words = [
        "run", tmp_path / "p.toml", "--pool", tmp_path / "pool.csv", "--labels", f"{tmp_path / 'pool.csv'}:truth",
        "--journal", tmp_path / "a.db", "--out", tmp_path / "a.json", "--truths", "0", "--lab", "north", "--profile",
    ]  # fmt: skip
    code, _, told = command(*words, tmp_path / "a.json")
    assert (code, "give it a name of its own" in told) == (2, True)
    code, _, told = command(*words, tmp_path / "a.profile.json", "--html", tmp_path / "a.json")
    assert (code, "a.json is also what another option writes" in told) == (2, True)
    code, told, _ = command(*words, tmp_path / "a.profile.json")
    assert (code, "a.profile.json (profile)" in told) == (0, True)
    profile, certificate = profiles.read(tmp_path / "a.profile.json"), json.loads((tmp_path / "a.json").read_text())
    assert profile["certificate"] == certificate["digest"]
    assert (profile["lab"], profile["items"], len(profile["scores"])) == ("north", 1000, 6)
    kept = certificate["body"]["kept"]["ranges"]
    inside = np.concatenate([np.arange(low, high + 1) for low, high in kept])
    scores = np.array(profile["scores"])
    assert scores[inside].max() < np.delete(scores, inside).min(initial=1001)
