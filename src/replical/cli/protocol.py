"""``replical protocol``: write what is published before any label, and look at it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.classes.base import size_of
from replical.classes.catalogue import UNLISTED
from replical.classes.recipe import Recipe
from replical.cli.inputs import CLASSES, file_and_column, learner_flag, parameter, read_prior
from replical.cli.output import answer, notes, number, progress, prose, reading, whole
from replical.cli.protocol_sections import (
    FeatureFile,
    FeatureNames,
    Features,
    Intercept,
    Step,
    add_features,
    class_section,
    features_of,
    handicap_section,
    labels_section,
    labs_section,
    lattice_keys,
    preference_section,
)
from replical.cli.sentences import cut_words, hypotheses, lattice_remarks, loss_words
from replical.cli.wizard import DRAWN, ask, at_a_terminal, labels_with, learner_id, seed_text, share, without_abstention
from replical.core.files import write_whole
from replical.errors import BadProtocol, BadUsage
from replical.lab.protocol import Protocol, recipe_of
from replical.lab.public import FEW, PublicSample, read_public
from replical.lab.schema import SCHEMA
from replical.lab.tables import read_pool
from replical.lattice.plan import LatticePlan
from replical.learners.catalogue import UNLISTED as BEYOND_LISTS
from replical.learners.catalogue import find, standard_learner
from replical.worlds.theta import theta as disagreement_coefficient
from replical.worlds.world import Population

_MOST = 10**10  # items that no pool holds
protocol_app = typer.Typer(help="Write and look at protocols.", add_completion=False, rich_markup_mode=None)


@protocol_app.callback()
def protocol_group() -> None:
    """Write protocols."""


@protocol_app.command("new")
def new_command(
    out: Annotated[Path | None, typer.Option(help="the file to write")] = None,
    class_spec: Annotated[str | None, typer.Option("--class", help=f"{CLASSES}; or linear:D, without a list")] = None,
    candidates: Annotated[
        str | None, typer.Option(help="FILE or FILE:COLUMN with the names of candidate models, one a row")
    ] = None,
    features: FeatureNames = None,
    features_from: FeatureFile = None,
    step: Step = None,
    intercept: Intercept = None,
    cuts: Annotated[
        str | None,
        typer.Option(help="with --candidates: their columns hold probabilities of the second label; cut there"),
    ] = None,
    cuts_from: Annotated[
        str | None,
        typer.Option(
            help="FILE:COLUMN: cuts at quantiles of this public column, for --class thresholds; COLUMN,COLUMN for stumps"
        ),
    ] = None,
    bins: Annotated[int | None, typer.Option(parser=whole, help="with --cuts-from: cuts a column (100)")] = None,
    label_values: Annotated[str | None, typer.Option(help="the labels in their public order, e.g. no,yes")] = None,
    weights: Annotated[
        str | None, typer.Option(help="what an error costs, by true label, e.g. no=1,yes=5; for handicap")
    ] = None,
    abstain: Annotated[str | None, typer.Option(help="what a candidate says that abstains; for handicap")] = None,
    price: Annotated[
        float | None, typer.Option(parser=number, help="what abstaining costs, as a share of the costliest error")
    ] = None,
    learner: Annotated[str | None, learner_flag(*BEYOND_LISTS)] = None,
    epsilon: Annotated[float | None, parameter("epsilon")] = None,
    delta: Annotated[float | None, parameter("delta")] = None,
    rho: Annotated[float | None, parameter("rho")] = None,
    seed: Annotated[str | None, typer.Option(help="the published random text")] = None,
    seed_file: Annotated[Path | None, typer.Option(help="a file that holds the published random text")] = None,
    fresh_seed: Annotated[bool, typer.Option("--fresh-seed", help="draw a random text now")] = False,
    plan_name: Annotated[
        str | None, typer.Option("--plan", help="tight, or paper for the learners of the paper")
    ] = None,
    nu: Annotated[float | None, parameter("nu")] = None,
    theta: Annotated[float | None, parameter("theta")] = None,
    theta_from: Annotated[Path | None, typer.Option(help="compute theta on this public pool")] = None,
    prior: Annotated[Path | None, typer.Option(help="CSV of prior weights: columns candidate and weight")] = None,
    prefer: Annotated[Path | None, typer.Option(help="strict order of preference, one a line, best first")] = None,
    order_from: Annotated[
        str | None, typer.Option(help="FILE:COLUMN: prefer candidates with few errors on this public labelled table")
    ] = None,
    handicap: Annotated[
        str | None,
        typer.Option(
            help="where handicaps come from, if not from an order: exponentials, zero, cover:FILE of public unlabelled "
            "items, or values:FILE, a CSV with columns candidate and handicap"
        ),
    ] = None,
    kappa: Annotated[float | None, parameter("kappa")] = None,
    a: Annotated[float | None, parameter("a")] = None,
    b: Annotated[float | None, parameter("b")] = None,
    batch: Annotated[int | None, parameter("batch")] = None,
    query: Annotated[str | None, parameter("query")] = None,
    T: Annotated[float | None, parameter("T")] = None,
    k_loop: Annotated[int | None, parameter("k_loop")] = None,
    k_final: Annotated[int | None, parameter("k_final")] = None,
    strings: Annotated[int | None, parameter("strings")] = None,
    runs: Annotated[int | None, parameter("runs")] = None,
    labs: Annotated[int | None, parameter("labs")] = None,
    lab: Annotated[
        list[str] | None, typer.Option(help="a lab that takes part; once for each, in an order that stays")
    ] = None,
    lab_key: Annotated[
        list[str] | None, typer.Option(help="NAME=FILE: the public key (PEM) of a lab that signs; once for each")
    ] = None,
    register: Annotated[
        bool, typer.Option("--register", help="every lab registers its run before its first label")
    ] = False,
    beacon: Annotated[
        str | None,
        typer.Option(
            help="which public value, not known when labs register, takes part in their private seeds; in words"
        ),
    ] = None,
    max_labels: Annotated[int | None, parameter("max_labels")] = None,
    title: Annotated[str | None, typer.Option(help="for people; not in the fingerprint")] = None,
    force: Annotated[bool, typer.Option("--force", help="replace an existing file")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Write a protocol file. At a terminal what is missing is asked for; otherwise a missing flag is an error."""
    out = ask("--out", out, Path, default="protocol.toml")
    check_new(out, force=force)
    named = features_of(features, features_from)
    section, known = class_section(class_spec, candidates, cuts=cuts, cuts_from=cuts_from, bins=bins, named=named)
    known = None if known is None else without_abstention(known, abstain)
    values = ask("--label-values", label_values, labels_with(known), default=known, needed=known is None)
    text = _seed(seed, seed_file, fresh=fresh_seed)
    section = add_features(section, named)
    if section["kind"] in UNLISTED:
        epsilon = ask("--epsilon", epsilon, share("epsilon"), default="0.05")
    section |= lattice_keys(section, epsilon or 1.0, step, intercept)
    labels = labels_section(values, weights, abstain, price)
    class_recipe = recipe_of(section, labels, text)
    public = read_prior(class_recipe.C, prior, prefer)
    sample = None if order_from is None else _order_from(order_from, class_recipe, prior, prefer)
    usual = standard_learner(lists=section["kind"] not in UNLISTED)
    learner_section: dict[str, Any] = {
        "name": ask("--learner", learner, learner_id, default=usual, needed=False),
        "plan": plan_name,
        "epsilon": ask("--epsilon", epsilon, share("epsilon"), default="0.05"),
        "delta": ask("--delta", delta, share("delta"), default="0.05"),
        "rho": ask("--rho", rho, share("rho"), default="0.1"),
        "nu": nu,
        "theta": theta if theta_from is None else _theta_from(theta_from, class_recipe),
        "kappa": kappa, "a": a, "b": b, "batch": batch, "query": query, "T": T,
        "k_loop": k_loop, "k_final": k_final,
        "strings": strings, "runs": runs, "labs": labs, "max_labels": max_labels,
    }  # fmt: skip
    content: dict[str, Any] = {"schema": SCHEMA}
    if title is not None:
        content["title"] = title
    content |= {"seed": text} | ({"register": True} if register else {})
    content |= {} if beacon is None else {"beacon": beacon}
    content |= {"class": section, "labels": labels}
    if sample is not None:
        content |= preference_section(learner_section["name"], "order", sample.section)
    elif public.kind == "weights" and public.values is not None:
        content |= preference_section(learner_section["name"], "weights", {"weights": public.values.tolist()})
    elif public.places is not None:
        content |= preference_section(learner_section["name"], "order", {"order": public.places.argsort().tolist()})
    elif handicap is not None:
        content["handicap"] = handicap_section(handicap, class_recipe, text, learner_section["epsilon"])
    learner_section |= _labs_number(learner_section, lab or [])
    content["learner"] = {key: value for key, value in learner_section.items() if value is not None}
    content |= labs_section(lab or [], lab_key or [])
    protocol, needed = write_protocol(content, out, sample)
    if as_json:
        told = {"file": str(out), "learner": protocol.plan.learner, "fingerprint": protocol.fingerprint}
        answer({"schema": "replical.protocol-new/1"} | told)
    else:
        say_written(protocol, out, needed, sample, standard_taken=learner is None, named=named)
        if at_a_terminal():
            run = f"replical run {out} --pool FILE --labels FILE:COLUMN --journal lab.db --out lab.json"
            prose.print(f"Next, in every lab on its own table: {run} (or --ask page)", markup=False, soft_wrap=True)


def check_new(out: Path, *, force: bool) -> None:
    """Refuse to write over a protocol that others may have."""
    if os.path.exists(out) and not force:
        raise BadProtocol(f"{out} exists: a published protocol is not overwritten; use --force, or another name")


def _seed(seed: str | None, file: Path | None, *, fresh: bool) -> str:
    if sum((seed is not None, file is not None, fresh)) > 1:
        raise BadProtocol("give one of --seed, --seed-file and --fresh-seed")
    if fresh:
        return secrets.token_hex(16)
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BadProtocol(f"cannot read the seed {file}: {error}") from error
    return seed if seed is not None else ask("--seed", None, seed_text, default=DRAWN)


def _order_from(source: str, class_recipe: Recipe, prior: Path | None, prefer: Path | None) -> PublicSample:
    if prior is not None or prefer is not None:
        other = "--prior" if prior is not None else "--prefer"
        raise BadUsage(f"--order-from makes an order of its own: give it or {other}, not both")
    file, column = file_and_column("--order-from", source)
    return read_public(file, column, class_recipe)


def _theta_from(file: Path, class_recipe: Recipe) -> float:
    """Θ on a public pool, computed once and published: an estimate of each lab's own would couple nothing."""
    with reading(file) as update:
        lab = read_pool(file, class_recipe, progress=update)
    with progress("disagreement coefficient") as update:
        return disagreement_coefficient(
            class_recipe.C, Population(class_recipe.C, target=0, cells=lab.items), progress=update
        ).value


def _labs_number(learner: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """As many labs as are listed, where a learner's numbers depend on how many they are and nobody says so."""
    if learner["labs"] is not None or not find(learner["name"]).uses("labs") or len(names) < 2:
        return {}
    return {"labs": len(names)}


def write_protocol(content: dict[str, Any], out: Path, sample: PublicSample | None) -> tuple[Protocol, int | None]:
    """Check the content of a protocol and write it; the protocol, and how many items every lab needs, if that is known."""
    protocol = Protocol.of(content)
    needed = _items_needed(protocol)
    write_whole(out, protocol.toml(), what="the protocol", refuse=BadProtocol)
    if sample is not None and len(sample) < FEW:
        notes.print(
            f"Note: {len(sample)} items make a rough order; 50 to 200 labelled items are usual.", soft_wrap=True
        )
    return protocol, needed


def _items_needed(protocol: Protocol) -> int | None:
    """Items that every lab must have, where the plan can say so."""
    plan, instead = protocol.plan, protocol.record.instead
    other = "" if instead is None else f", or take --learner {instead}"
    if plan.exact_only:
        raise BadProtocol(f"no lab could run this protocol: {plan.exact_only}{other}")
    if not protocol.record.lists:
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
    what = what if protocol.record.lists else "linear rules"
    usual = f", the standard for {what}" if standard_taken else ""
    prose.print(
        f"Wrote {out}: {hypotheses(protocol.recipe.C)}, learner {chosen}{usual}.",
        markup=False,
        soft_wrap=True,
    )
    for remark in _remarks(protocol, sample, needed, named):
        prose.print(remark, markup=False, soft_wrap=True)
    prose.print(f"Fingerprint {protocol.fingerprint}", markup=False, soft_wrap=True)
    prose.print("Publish the file, or at least its fingerprint, before any lab asks for a label.")


def _remarks(
    protocol: Protocol, sample: PublicSample | None, needed: int | None, named: Features | None
) -> Iterator[str]:
    """What somebody who has just written a protocol should know."""
    yield from loss_words(protocol)
    if sample is not None:
        yield _first_candidates(sample)
    if (cover := protocol.preference).get("from") == "cover":
        yield (
            f"The candidates are a cover of the class, {len(cover['members']):,} of it: every other hypothesis differs from "
            "one of them on few public items. All have the handicap 0, so two that never differ in a lab are both left."
        )
    yield from cut_words(protocol.content["class"])
    yield from _placeholders(protocol.content["class"], named)
    if isinstance(plan := protocol.plan, LatticePlan):
        yield from lattice_remarks(protocol.recipe.C, plan)
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
        also = " and their ranges" if ranges or section["kind"] not in UNLISTED else ""
        yield f"The columns {said}{also} are placeholders: write yours into the file, then publish it."
    elif ranges:
        yield f"The ranges of {said} are placeholders: write public ones into the file, then publish it."


@protocol_app.command("show")
def show_command(
    protocol_file: Annotated[Path, typer.Argument(metavar="PROTOCOL", help="a protocol file")],
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Check a protocol file, written by hand or not, and print its fingerprint."""
    protocol = Protocol.read(protocol_file)
    C = protocol.recipe.C
    if as_json:
        payload = {"schema": "replical.protocol-show/1", "file": str(protocol_file), "hypotheses": size_of(C)}
        answer(payload | {"learner": protocol.plan.learner, "fingerprint": protocol.fingerprint})
    else:
        prose.print(f"{protocol_file}: {hypotheses(C)}, learner {protocol.plan.learner}.", markup=False, soft_wrap=True)
        for lost in cut_words(protocol.content["class"]):
            prose.print(lost, markup=False, soft_wrap=True)
        for costs in loss_words(protocol):
            prose.print(costs, markup=False, soft_wrap=True)
        prose.print(f"Fingerprint {protocol.fingerprint}", markup=False, soft_wrap=True)
