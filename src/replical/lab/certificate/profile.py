"""Score profiles: what a lab publishes so that others see how often these labs would agree with a fresh string.

Where labs measure on a yardstick, survivors and yardstick tell the scores, and nothing more is published. On a lab's own
items the profile is a file of its own, beside the certificate that it names: for each hypothesis the number of items on
which it differs from the lab's centre. No ids and no labels; but it tells about the items, so it is published by choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replical.bounds.ranks import LabScores, one_answer
from replical.core.canonical import fingerprint
from replical.errors import BadCertificate, BadUsage
from replical.lab.certificate import file as certificates
from replical.lab.protocol import Protocol
from replical.lab.sessions.session import Session
from replical.learners.plan import Plan
from replical.learners.rounded.plan import RoundedPlan
from replical.learners.rounded.proof import Centre

SCHEMA = "replical.profile/1"
PARTS = ("schema", "protocol_fingerprint", "certificate", "lab", "items", "scores", "digest")


def check_plan(plan: Plan) -> None:
    """Refuse a profile where there is none, or where nobody needs one.

    Raises
    ------
    BadUsage
        In one sentence.
    """
    if not isinstance(plan, RoundedPlan):
        raise BadUsage(
            f"{plan.learner} has no scores to publish: leave out --profile, or take rounded-cal or rounded-a2"
        )
    if plan.choice != "ball":
        raise BadUsage(f"with the finish {plan.finish!r} labels decide, not scores: leave out --profile")
    if plan.yardstick is not None:
        raise BadUsage("with a yardstick the certificate tells the scores: leave out --profile")


def profile_of(session: Session, certificate: Mapping[str, Any]) -> dict[str, Any]:
    """The profile of a run that has ended with this `certificate`."""
    rounding = session.result.rounding
    assert rounding is not None, "refused at the border"
    profile = {
        "schema": SCHEMA,
        "protocol_fingerprint": session.protocol.fingerprint,
        "certificate": certificate["digest"],
        "lab": session.ledger.lab,
        "items": rounding.items,
        "scores": rounding.scores.tolist(),
    }
    return profile | {"digest": fingerprint(profile)}


def write(profile: Mapping[str, Any], path: Path) -> None:
    """Write whole: a profile is there or it is not."""
    certificates.write(profile, path, what="the profile")


def read(path: Path) -> dict[str, Any]:
    """Read a profile that is written as we write it.

    Raises
    ------
    BadCertificate
        If it is none, or was changed.
    """
    profile = certificates.read_as(path, {SCHEMA: PARTS}, what="profile")
    if fingerprint({key: value for key, value in profile.items() if key != "digest"}) != profile["digest"]:
        raise BadCertificate(f"{path} has been changed: its digest is that of another profile")
    return profile


def with_a_fresh_string(
    runs: Sequence[Mapping[str, Any]], profiles: Mapping[str, Mapping[str, Any]], yardstick: Path | None = None
) -> float | None:
    """How often the labs of these certificates would return one answer with a fresh string.

    Parameters
    ----------
    runs
        Valid certificates, two or more, all of one protocol.
    profiles
        Their profiles by the name of the file, in any order.
    yardstick
        The published file that distances were measured on, where it is one.

    Returns
    -------
    probability
        Exact for the data that they have. None where scores do not decide, or are not told.

    Raises
    ------
    BadUsage
        If one profile is missing, or some that is given belongs to none of these certificates.
    BadCertificate
        If a profile and its certificate do not fit together.
    """
    protocol = Protocol.of(runs[0]["body"]["protocol"], yardstick=yardstick)
    plan = protocol.plan
    if profiles:
        check_plan(plan)
    if not isinstance(plan, RoundedPlan) or plan.choice != "ball":
        return None
    if plan.yardstick is not None:
        if protocol.measures_on_file and yardstick is None:
            return None
        labs = [_on_yardstick(each["body"], protocol) for each in runs]
    elif profiles:
        told = _told(runs, profiles)
        labs = [_published(each["body"], protocol, *told[each["digest"]]) for each in runs]
    else:
        return None
    return one_answer(labs, (float(plan["a"]), float(plan["b"])), protocol.prior)


def _told(
    runs: Sequence[Mapping[str, Any]], profiles: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Each certificate's own profile, by digest."""
    told: dict[str, tuple[str, Mapping[str, Any]]] = {}
    digests = [each["digest"] for each in runs]
    for name, profile in profiles.items():
        if profile["protocol_fingerprint"] != runs[0]["body"]["protocol_fingerprint"]:
            raise BadUsage(f"{name} is a profile of another protocol than these certificates': leave it out")
        if profile["certificate"] not in digests:
            raise BadUsage(
                f"{name} is the profile of none of these certificates: give the one written with each of them"
            )
        if profile["certificate"] in told:
            raise BadUsage(
                f"{told[profile['certificate']][0]} and {name} are both profiles of one certificate: give one"
            )
        told[profile["certificate"]] = (name, profile)
    for number, digest in enumerate(digests, 1):
        if digest not in told:
            raise BadUsage(
                f"certificate {number} has no profile: a fresh string is spoken of for all labs or none; the lab writes it "
                "with replical run --profile"
            )
    return told


def _on_yardstick(body: Mapping[str, Any], protocol: Protocol) -> LabScores:
    """Survivors and public items tell the scores."""
    assert protocol.yardstick is not None, "asked where there is one"
    whole, V = protocol.yardstick.version_space(), certificates.indices_of(body["survivors"], len(protocol.recipe.C))
    scores = Centre(whole).distances(whole.only(V))
    return LabScores(scores=scores, items=protocol.yardstick.size, survivors=V)


def _published(body: Mapping[str, Any], protocol: Protocol, name: str, profile: Mapping[str, Any]) -> LabScores:
    """What a profile says, as far as it fits the certificate."""
    plan, scores, items, n = protocol.plan, profile["scores"], profile["items"], len(protocol.recipe.C)
    assert isinstance(plan, RoundedPlan), "asked of rounded runs only"
    rounded_on = body["pool"]["items"] if plan.items is None else plan.items
    if type(items) is not int or items != rounded_on:
        raise BadCertificate(f"{name} speaks of {items!r:.40} items, its certificate of {rounded_on}")
    if profile["lab"] != body.get("lab"):
        raise BadCertificate(f"{name} is of the lab {profile['lab']!r:.90}, its certificate of {body.get('lab')!r:.90}")
    whole = isinstance(scores, list) and all(type(score) is int and 0 <= score <= items for score in scores)
    if not whole or len(scores) != n:
        raise BadCertificate(f"{name} must hold {n} scores, whole numbers from 0 to {items}")
    V, counted = certificates.indices_of(body["survivors"], n), np.array(scores, dtype=np.int64)
    ball = plan.ball(protocol.shared, counted, items, V)
    assert ball is not None, "scores decide"
    if certificates.set_of(ball) != body["kept"]:
        raise BadCertificate(
            f"{name} does not fit its certificate: by these scores the lab would have chosen from other hypotheses"
        )
    return LabScores(scores=counted, items=items, survivors=V)
