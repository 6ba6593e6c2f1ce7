"""``replical protocol new``: write what is published before any label."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.classes.base import Label
from replical.classes.catalogue import numbers
from replical.classes.recipe import Recipe
from replical.cli.finite import losses_of
from replical.cli.inputs import file_and_column, read_prior
from replical.cli.losses import labels_section, loss_words
from replical.cli.options import CLASSES, parameter
from replical.cli.options import learner as learner_flag
from replical.cli.output import answer, notes, number, progress, prose, reading, whole
from replical.core.files import decode, read_bytes, read_csv, write_whole
from replical.errors import BadProtocol, BadTable, BadUsage
from replical.lab.protocol import Protocol, priced
from replical.lab.public import FEW, PublicSample, read_public
from replical.lab.quantiles import KINDS as CUT
from replical.lab.quantiles import quantile_section
from replical.lab.shape import SCHEMA
from replical.lab.signatures import read_public as read_key
from replical.lab.tables import read_pool
from replical.lab.yardstick import MEANING, file_section
from replical.plans.boosted import USUAL
from replical.plans.catalogue import find, standard
from replical.worlds.population import Population
from replical.worlds.theta import theta as disagreement_coefficient

_MOST = 10**10  # items that no pool holds
_USUAL_BINS = 100  # cuts a public column

protocol_app = typer.Typer(help="Write and look at protocols.", add_completion=False, rich_markup_mode=None)


@protocol_app.callback()
def protocol_group() -> None:
    """Write protocols."""


@protocol_app.command("new")
def new_command(
    out: Annotated[Path | None, typer.Option(help="the file to write")] = None,
    class_spec: Annotated[str | None, typer.Option("--class", help=CLASSES)] = None,
    candidates: Annotated[
        str | None, typer.Option(help="FILE or FILE:COLUMN with the names of candidate models, one a row")
    ] = None,
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
        str | None, typer.Option(help="what an error costs, by true label, e.g. no=1,yes=5; for settled")
    ] = None,
    abstain: Annotated[str | None, typer.Option(help="what a candidate says that abstains; for settled")] = None,
    price: Annotated[
        float | None, typer.Option(parser=number, help="what abstaining costs, as a share of the costliest error")
    ] = None,
    learner: Annotated[str | None, learner_flag()] = None,
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
    yardstick: Annotated[
        str | None,
        typer.Option(
            help="measure distances on public items: cells (of the class), string:M (drawn from the text), or FILE"
        ),
    ] = None,
    items: Annotated[int | None, parameter("items")] = None,
    finish: Annotated[str | None, parameter("finish")] = None,
    kappa: Annotated[float | None, parameter("kappa")] = None,
    a: Annotated[float | None, parameter("a")] = None,
    b: Annotated[float | None, parameter("b")] = None,
    batch: Annotated[int | None, parameter("batch")] = None,
    query: Annotated[str | None, parameter("query")] = None,
    T: Annotated[float | None, parameter("T")] = None,
    k_loop: Annotated[int | None, parameter("k_loop")] = None,
    k_final: Annotated[int | None, parameter("k_final")] = None,
    stop: Annotated[str | None, parameter("stop")] = None,
    stop_delta: Annotated[float | None, parameter("stop_delta")] = None,
    boosting: Annotated[str | None, parameter("boosting")] = None,
    strings: Annotated[int | None, parameter("strings")] = None,
    runs: Annotated[int | None, parameter("runs")] = None,
    labs: Annotated[int | None, parameter("labs")] = None,
    shift: Annotated[float | None, parameter("shift")] = None,
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
    out = Path(_needed("--out", None if out is None else str(out)))
    if os.path.exists(out) and not force:
        raise BadProtocol(f"{out} exists: a published protocol is not overwritten; use --force, or another name")
    values = _label_values(_needed("--label-values", label_values))
    text = _seed(seed, seed_file, fresh=fresh_seed)
    section = _class_section(class_spec, candidates, cuts) if cuts_from is None else _cut(class_spec, cuts_from, bins)
    if bins is not None and cuts_from is None:
        raise BadUsage("--bins is for --cuts-from; else write the number into --class, e.g. stumps:5,40")
    labels = labels_section(values, weights, abstain, price)
    class_recipe = priced(section, labels, text)
    public = read_prior(class_recipe.C, prior, prefer)
    sample = None if order_from is None else _order_from(order_from, class_recipe, prior, prefer)
    learner_section: dict[str, Any] = {
        "name": _needed("--learner", learner, _standard(class_recipe, nu)),
        "plan": plan_name,
        "epsilon": number(_needed("--epsilon", epsilon)),
        "delta": number(_needed("--delta", delta)),
        "rho": number(_needed("--rho", rho)),
        "nu": nu,
        "theta": theta if theta_from is None else _theta_from(theta_from, class_recipe),
        "items": items, "finish": finish, "kappa": kappa, "a": a, "b": b, "batch": batch, "query": query, "T": T,
        "k_loop": k_loop, "k_final": k_final, "stop": stop, "stop_delta": stop_delta, "boosting": boosting,
        "strings": strings, "runs": runs, "labs": labs, "shift": shift, "max_labels": max_labels,
    }  # fmt: skip
    content: dict[str, Any] = {"schema": SCHEMA}
    if title is not None:
        content["title"] = title
    content |= {"seed": text} | ({"register": True} if register else {})
    content |= {} if beacon is None else {"beacon": beacon}
    content |= {"class": section, "labels": labels}
    if sample is not None:
        content["prior"] = sample.section
    elif public.kind == "weights" and public.values is not None:
        content["prior"] = {"kind": "weights", "weights": public.values.tolist()}
    elif public.places is not None:
        content["prior"] = {"kind": "order", "order": public.places.argsort().tolist()}
    if yardstick is not None:
        content["yardstick"] = _yardstick_section(yardstick, out, class_recipe)
    by_distance = yardstick is not None or shift  # what they are about
    models = "candidates" in section and not by_distance
    learner_section |= _finish(learner_section, models=models) | _boosting(learner_section)
    learner_section |= _many(learner_section, lab or [], public=yardstick is not None)
    content["learner"] = {key: value for key, value in learner_section.items() if value is not None}
    content |= _labs_section(lab or [], lab_key or [])
    beside = out.parent / content["yardstick"]["file"] if "file" in content.get("yardstick", {}) else None
    protocol = Protocol.of(content, yardstick=beside)
    needed = _items_needed(protocol)
    write_whole(out, protocol.toml(), what="the protocol", refuse=BadProtocol)
    chosen = protocol.plan.learner
    if sample is not None and len(sample) < FEW:
        notes.print(
            f"Note: {len(sample)} items make a rough order; 50 to 200 labelled items are usual.", soft_wrap=True
        )
    if as_json:
        told = {"file": str(out), "learner": chosen, "fingerprint": protocol.fingerprint}
        answer({"schema": "replical.protocol-new/1"} | told)
    else:
        _say_written(protocol, out, needed, sample, standard_taken=learner is None)


def _remarks(protocol: Protocol, sample: PublicSample | None, needed: int | None) -> Iterator[str]:
    """What somebody who has just written a protocol should know."""
    yield from loss_words(protocol)
    if sample is not None:
        yield _first_of(sample)
    if protocol.record.rounds and protocol.plan.choice == "labels":
        finish = protocol.given("finish")
        yield f"Finish {finish}: nothing is proven of how often labs agree. --learner settled has a proof."
    if protocol.yardstick is not None:
        source = protocol.content["yardstick"]["source"]
        yield f"Distances are measured on {protocol.yardstick.size:,} public items: {MEANING[source]}."
    yield from losses_of(protocol.content["class"], protocol.given("epsilon"), protocol.given("delta"))
    features = protocol.content["class"].get("features")
    if features and "quantiles" not in protocol.content["class"]:
        columns = ", ".join(features[:3]) + (" .." if len(features) > 3 else "")
        yield f"The columns {columns} and their ranges are placeholders: write yours into the file, then publish it."
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


@protocol_app.command("show")
def show_command(
    protocol_file: Annotated[Path, typer.Argument(metavar="PROTOCOL", help="a protocol file")],
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Check a protocol file, written by hand or not, and print its fingerprint."""
    protocol = Protocol.read(protocol_file)
    size = len(protocol.recipe.C)
    if as_json:
        payload = {"schema": "replical.protocol-show/1", "file": str(protocol_file), "hypotheses": size}
        answer(payload | {"learner": protocol.plan.learner, "fingerprint": protocol.fingerprint})
    else:
        prose.print(
            f"{protocol_file}: {size:,} hypotheses, learner {protocol.plan.learner}.", markup=False, soft_wrap=True
        )
        for lost in losses_of(protocol.content["class"], protocol.given("epsilon"), protocol.given("delta")):
            prose.print(lost, markup=False, soft_wrap=True)
        prose.print(f"Fingerprint {protocol.fingerprint}", markup=False, soft_wrap=True)


def _say_written(
    protocol: Protocol, out: Path, needed: int | None, sample: PublicSample | None, *, standard_taken: bool
) -> None:
    """What was written, and what whoever publishes it should know."""
    chosen, section = protocol.plan.learner, protocol.content["class"]
    what = "candidate models" if "candidates" in section else "rules on features"
    usual = f", the standard for {what}" if standard_taken else ""
    prose.print(
        f"Wrote {out}: {len(protocol.recipe.C):,} hypotheses, learner {chosen}{usual}.",
        markup=False,
        soft_wrap=True,
    )
    for remark in _remarks(protocol, sample, needed):
        prose.print(remark, markup=False, soft_wrap=True)
    prose.print(f"Fingerprint {protocol.fingerprint}", markup=False, soft_wrap=True)
    prose.print("Publish the file, or at least its fingerprint, before any lab asks for a label.")


def _items_needed(protocol: Protocol) -> int | None:
    """Items that every lab must have, where the plan can say so.

    Raises
    ------
    BadProtocol
        If no lab could run it.
    """
    plan, instead = protocol.plan, protocol.record.instead
    other = "" if instead is None else f", or take --learner {instead}"
    if plan.exact_only:
        raise BadProtocol(f"no lab could run this protocol: {plan.exact_only}{other}")
    cost = plan.cost(protocol.setting())
    if cost.kind != "most" or cost.unlabelled is None:
        return None
    if cost.unlabelled > _MOST:
        raise BadProtocol(
            f"no lab could run this protocol: {plan.learner} needs about {cost.unlabelled:.2g} items, and no pool holds so "
            f"many: ask for less by larger epsilon or rho{other}"
        )
    return cost.unlabelled


def _finish(learner: dict[str, Any], *, models: bool) -> dict[str, Any]:
    """How to round among models, where nobody says: by excess error. They differ too much for the distance to prove much."""
    if not models or learner["finish"] is not None or not find(learner["name"]).uses("finish"):
        return {}
    epsilon = learner["epsilon"]
    own = {"a": learner["a"], "b": learner["b"]}
    return {"finish": "excess", "a": epsilon / 2, "b": epsilon} | {key: x for key, x in own.items() if x is not None}


def _boosting(learner: dict[str, Any]) -> dict[str, Any]:
    """Which way of boosting a plan means is written down: files without the word are older than the choice."""
    if learner["boosting"] is not None or not find(learner["name"]).uses("boosting"):
        return {}
    return {"boosting": USUAL.get(learner["plan"] or "tight")}


def _many(learner: dict[str, Any], names: list[str], *, public: bool) -> dict[str, Any]:
    """As many labs as are listed, where a learner's numbers depend on how many they are and nobody says so."""
    record = find(learner["name"])
    any_number = public and record.setting == "realizable"  # with a yardstick the promise is to every lab
    if learner["labs"] is not None or not record.uses("labs") or any_number or len(names) < 2:
        return {}
    return {"labs": len(names)}


def _labs_section(names: list[str], keys: list[str]) -> dict[str, Any]:
    """Who takes part, and who of them signs with which key."""
    found = {}
    for text in keys:
        name = next((each for each in names if text.startswith(f"{each}=")), None)
        if name is None:
            raise BadProtocol(f"--lab-key is NAME=FILE with the name of a lab that --lab lists, got {text!r}")
        if name in found:
            raise BadProtocol(f"--lab-key gives the lab {name!r} two keys: every lab has one")
        found[name] = read_key(Path(text.removeprefix(f"{name}=")))
    return ({"labs": {"names": names} | ({"keys": found} if found else {})}) if names else {}


def _needed(flag: str, value: Any, default: str | None = None) -> str:
    """What was given, or what a person at a terminal says, or the default."""
    if value is not None:
        return str(value)
    if sys.stdin.isatty() and sys.stderr.isatty():
        return str(typer.prompt(flag.removeprefix("--").replace("-", " "), default=default, err=True))
    if default is not None:
        return default
    raise BadProtocol(f"the flag {flag} is missing")


def _label_values(text: str) -> tuple[Label, ...]:
    words = [word.strip() for word in text.split(",")]
    if len(words) < 2 or not all(words):
        raise BadProtocol(f"--label-values lists the labels, separated by commas, e.g. no,yes; got {text!r}")
    whole_numbers = all(re.fullmatch("-?[0-9]{1,18}", word) for word in words)
    return tuple(int(word) for word in words) if whole_numbers else tuple(words)


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
    return _needed("--seed", seed)


def _class_section(spec: str | None, candidates: str | None, cuts: str | None) -> dict[str, Any]:
    if cuts is not None and candidates is None:
        raise BadUsage("--cuts are for the scores of --candidates; for a feature give --cuts-from")
    if (spec is None) == (candidates is None):
        raise BadProtocol("give --class SPEC or --candidates FILE, and not both")
    if candidates is not None:
        at = {} if cuts is None else {"cuts": [_cut_or_band(word.strip()) for word in cuts.split(",")]}
        return {"kind": "table", "candidates": _listed(candidates)} | at
    kind, sizes = numbers(spec or "", BadProtocol)
    assert kind.section is not None, "whatever has numbers can be written as a section"
    return kind.section(sizes)


def _cut_or_band(word: str) -> float | list[float]:
    ends = [number(end) for end in word.split("-")]
    return ends[0] if len(ends) == 1 else ends


def _cut(spec: str | None, source: str, bins: int | None) -> dict[str, Any]:
    """Cuts at quantiles of public columns."""
    if spec not in CUT:
        raise BadUsage(
            f"--cuts-from makes the cuts of --class {' or --class '.join(CUT)}, without numbers; got {spec!r}"
        )
    file, column = file_and_column("--cuts-from", source)
    columns = [column] if spec == "thresholds" else column.split(",")
    return quantile_section(spec, file, columns, _USUAL_BINS if bins is None else bins)


def _listed(source: str) -> list[dict[str, str]]:
    """Candidates: the lines of a text file, or the rows of a CSV file, with their digests where it has such a column."""
    path, _, column = source.rpartition(":")
    if not path or Path(source).exists():
        path, column = source, ""
    file, what = Path(path), "the candidates"
    text = decode(read_bytes(file, what=what, refuse=BadTable), file, what=what, refuse=BadTable)
    if not column and file.suffix != ".csv":
        names = [{"name": line.strip()} for line in text.splitlines() if line.strip()]
        if not names:
            raise BadTable(f"{path} is empty: write the names of the candidates into it, one a line")
        return names
    rows = read_csv(text, file, what=what, refuse=BadTable, strict=False).named()
    column = column or "name"
    if not rows or column not in rows[0]:
        raise BadTable(f"{path} has no column {column!r} with the names of candidates")
    return [{"name": row[column]} | ({"digest": row["digest"]} if row.get("digest") else {}) for row in rows]


def _yardstick_section(source: str, out: Path, class_recipe: Recipe) -> dict[str, Any]:
    """cells, string:M, or a file, named as it is found from where the protocol is written."""
    if source == "cells":
        return {"source": "cells"}
    kind, _, size = source.partition(":")
    if kind == "string" and not Path(source).exists():
        if not re.fullmatch("[0-9]{1,9}", size):
            raise BadProtocol(f"--yardstick string:M draws M items, e.g. string:10000; got {source!r}")
        return {"source": "string", "items": int(size)}
    if not Path(source).exists():
        raise BadProtocol(f"--yardstick is cells, string:M or a file, and there is no file {source}")
    return file_section(Path(source), os.path.relpath(source, out.parent), class_recipe)


def _order_from(source: str, class_recipe: Recipe, prior: Path | None, prefer: Path | None) -> PublicSample:
    if prior is not None or prefer is not None:
        other = "--prior" if prior is not None else "--prefer"
        raise BadUsage(f"--order-from makes an order of its own: give it or {other}, not both")
    file, column = file_and_column("--order-from", source)
    return read_public(file, column, class_recipe)


def _first_of(sample: PublicSample) -> str:
    """Who comes first, and on how many items that rests."""
    losses, describe = sample.items.recipe.losses, sample.items.recipe.describe
    errors, least = (sample.errors, "fewest errors") if losses is None else (sample.errors / losses.unit, "least loss")
    first = [f"{describe(h)} ({errors[h]:.6g})" for h in sample.section["order"][:3]]
    return f"Order from {len(sample):,} public items; {least}: {', '.join(first)}."


def _standard(class_recipe: Recipe, nu: float | None) -> str:
    """The learner where nobody names one: errors that are not all alike are for settled."""
    return standard(models=class_recipe.models or class_recipe.losses is not None, noiseless=nu == 0)


def _theta_from(file: Path, class_recipe: Recipe) -> float:
    """Θ on a public pool, computed once and published: an estimate of each lab's own would couple nothing."""
    with reading(file) as update:
        lab = read_pool(file, class_recipe, progress=update)
    with progress("disagreement coefficient") as update:
        return disagreement_coefficient(
            class_recipe.C, Population(class_recipe.C, target=0, cells=lab.items), progress=update
        ).value
