"""A protocol that is new: checked, written, and described to whoever publishes it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from replical.classes.catalogue import KINDS
from replical.cli.output import notes, prose
from replical.cli.protocol_sections import Features
from replical.core.exact import round_up
from replical.core.files import write_whole
from replical.errors import BadProtocol
from replical.lab.protocol import Protocol
from replical.lab.public import FEW, PublicSample
from replical.learners.proof import family_of

_MOST = 10**10  # items that no pool holds


def check_new(out: Path, *, force: bool) -> None:
    """Refuse to write over a protocol that others may have."""
    if os.path.exists(out) and not force:
        raise BadProtocol(f"{out} exists: a published protocol is not overwritten; use --force, or another name")


def write_protocol(content: dict[str, Any], out: Path, sample: PublicSample | None) -> tuple[Protocol, int | None]:
    """Check the content of a protocol and write it; the protocol, and how many items every lab needs, if that is known."""
    protocol = Protocol.of(content)
    needed = _items_needed(protocol)
    write_whole(out, protocol.toml(), what="the protocol", refuse=BadProtocol)
    if sample is not None and len(sample) < FEW:
        notes.say(f"Note: {len(sample)} items make a rough order; 50 to 200 labelled items are usual.")
    return protocol, needed


def _items_needed(protocol: Protocol) -> int | None:
    """Items that every lab must have, where the plan can say so."""
    plan, instead = protocol.plan, protocol.record.instead
    other = "" if instead is None else f", or take --learner {instead}"
    if plan.exact_only:
        raise BadProtocol(f"no lab could run this protocol: {plan.exact_only}{other}")
    if family_of(protocol.record).cost(protocol) is not None:
        return None
    cost = plan.cost(protocol.setting())
    if cost.kind != "most" or cost.unlabelled is None:
        return None
    if cost.unlabelled > _MOST:
        raise BadProtocol(
            f"no lab could run this protocol: {plan.learner} needs about {cost.unlabelled:.2g} items, and no pool holds so "
            f"many: ask for less by larger epsilon or rho{other}"
        )
    return cost.unlabelled


def say_written(
    protocol: Protocol,
    out: Path,
    needed: int | None,
    sample: PublicSample | None,
    *,
    standard_taken: bool,
    named: Features | None = None,
) -> None:
    """What was written, and what whoever publishes it should know."""
    chosen, section = protocol.plan.learner, protocol.content["class"]
    what = "candidate models" if "candidates" in section else "rules on features"
    usual = f", the standard for {what}" if standard_taken else ""
    prose.say(f"Wrote {out}: {family_of(protocol.record).class_words(protocol.recipe)}, learner {chosen}{usual}.")
    for remark in _remarks(protocol, sample, needed, named):
        prose.say(remark)
    prose.say(f"Fingerprint {protocol.fingerprint}")
    prose.say("Publish the file, or at least its fingerprint, before any lab asks for a label.")


def _remarks(
    protocol: Protocol, sample: PublicSample | None, needed: int | None, named: Features | None
) -> Iterator[str]:
    """What somebody who has just written a protocol should know."""
    yield from loss_words(protocol)
    if sample is not None:
        yield _first_candidates(sample)
    yield from cut_words(protocol.content["class"])
    yield from _placeholders(protocol.content["class"], named)
    yield from family_of(protocol.record).remarks(protocol)
    if needed is not None:
        yield f"Each lab needs about {needed:,} items: with fewer its run ends without an answer."
    if protocol.registers:
        waits = "" if protocol.beacon is None else f", then waits for a public value, {protocol.beacon}"
        yield f"Every lab registers before its first label (replical run --register FILE){waits}."
    if keys := protocol.lab_keys:
        yield f"Labs that sign: {', '.join(keys)}."
    if (better := protocol.record.instead) is not None:
        yield (
            f"Note: {protocol.plan.learner} is kept to study the paper; {better} promises as much and was better wherever "
            "both were measured."
        )


def _first_candidates(sample: PublicSample) -> str:
    """Who comes first, and on how many items that rests."""
    losses, describe = sample.items.recipe.losses, sample.items.recipe.describe
    errors, least = (sample.errors, "fewest errors") if losses is None else (sample.errors / losses.unit, "least loss")
    first = [f"{describe(h)} ({errors[h]:.6g})" for h in sample.section["order"][:3]]
    return f"Order from {len(sample):,} public items; {least}: {', '.join(first)}."


def _placeholders(section: Mapping[str, Any], named: Features | None) -> Iterator[str]:
    """What stands in the file and has to be replaced."""
    columns: list[str] = section.get("features", [])
    said = ", ".join(columns[:3]) + (" .." if len(columns) > 3 else "")
    ranges = "range" in section and (named is None or named.ranges is None)
    if columns and named is None and "quantiles" not in section:
        also = " and their ranges" if ranges or KINDS[section["kind"]].lists else ""
        yield f"The columns {said}{also} are placeholders: write yours into the file, then publish it."
    elif ranges:
        yield f"The ranges of {said} are placeholders: write public ones into the file, then publish it."


def loss_words(protocol: Protocol) -> Iterator[str]:
    """What a protocol counts instead of errors."""
    if (losses := protocol.recipe.losses) is not None:
        yield losses.words(protocol.labels)


def cut_words(section: Mapping[str, Any]) -> Iterator[str]:
    """What the cuts of a class section lose: nothing is said where they stand for nothing larger."""
    if "quantiles" not in section:
        return
    about, names = section["quantiles"], section["features"]
    of = names[0] if len(names) == 1 else f"{len(names)} features"
    yield (
        f"Cuts at {about['bins']:,} quantiles of {of} in {about['rows']:,} public rows: the best of them errs at most "
        f"{round_up(about['loss'], 4)} more than the best on the whole line, except with probability {about['level']:g}, if "
        "these rows are draws from the population of the labs. Keep them out of every pool."
    )
