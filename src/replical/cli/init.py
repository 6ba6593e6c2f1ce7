"""``replical init``: from a lab's table to a protocol, one question at a time, and the command that comes next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from replical.classes.base import Label
from replical.classes.catalogue import recipe
from replical.cli.inputs import file_and_column, never_over, parameter
from replical.cli.output import answer, prose, reading
from replical.cli.protocol import check_new, say_written, write_protocol
from replical.cli.protocol_sections import models_section, preference_section, read_candidates
from replical.cli.wizard import (
    DRAWN,
    LEARNER_WORDS,
    NONE,
    UNKNOWN,
    ask,
    at_a_terminal,
    label_text,
    label_values,
    learner_id,
    optional,
    seed_text,
    share,
)
from replical.core.text import count, listing
from replical.errors import BadTable, BadUsage
from replical.lab.model_columns import ModelColumns, model_columns, models_alike
from replical.lab.protocol import Protocol
from replical.lab.public import PublicSample, check_features, read_public
from replical.lab.schema import SCHEMA
from replical.learners.catalogue import find, standard_learner

_FEW = 20  # names that are all listed


def init_command(
    pool: Annotated[
        Path | None, typer.Option(help="your table: an id and what every model says, one row per item")
    ] = None,
    out: Annotated[Path, typer.Option(help="the protocol to write")] = Path("protocol.toml"),
    id_column: Annotated[str, typer.Option("--id", help="column with the ids of the items")] = "id",
    label_column: Annotated[
        str | None, typer.Option(help="column with the right answers, if the table has one (one named label is found)")
    ] = None,
    values: Annotated[
        str | None,
        typer.Option("--label-values", help="the labels in their public order (default: read from the table)"),
    ] = None,
    candidates: Annotated[
        str | None, typer.Option(help="FILE or FILE:COLUMN with the names of the models (default: read from the table)")
    ] = None,
    leave_out: Annotated[list[str] | None, typer.Option(help="a column that is no model; once for each")] = None,
    public: Annotated[
        str | None, typer.Option(help="FILE:COLUMN: labelled items that belong to no lab, to put good models first")
    ] = None,
    nu: Annotated[float | None, parameter("nu", "how often the best model errs, at most (default: unknown)")] = None,
    learner: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(LEARNER_WORDS)}, or any other (default: handicap)"),
    ] = None,
    epsilon: Annotated[
        float | None, parameter("epsilon", "how much more often than the best the chosen model may err (0.05)")
    ] = None,
    delta: Annotated[float | None, parameter("delta", "how often that may be missed (0.05)")] = None,
    rho: Annotated[float | None, parameter("rho", "how often two labs may differ (0.1)")] = None,
    labs: Annotated[int | None, parameter("labs")] = None,
    batch: Annotated[int | None, parameter("batch")] = None,
    max_labels: Annotated[int | None, parameter("max_labels")] = None,
    seed: Annotated[str | None, typer.Option(help="the published random text (default: drawn now)")] = None,
    title: Annotated[str | None, typer.Option(help="for people; not in the fingerprint")] = None,
    force: Annotated[bool, typer.Option("--force", help="replace an existing protocol")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Write a protocol for the models of a table, and say what to do next.

    Models and labels are read from the table. At a terminal the rest is asked for, with a default for everything;
    otherwise flags or defaults are taken.
    """
    table = _table(pool)
    check_new(out, force=force)
    never_over({"--out": out}, {"--pool": table})
    models = None if candidates is None else read_candidates(candidates)
    with reading(table) as update:
        found = model_columns(
            table,
            id_column=id_column,
            truth=label_column,
            values=None if values is None else label_values(values),
            models=None if models is None else [each["name"] for each in models],
            without=leave_out or [],
            progress=update,
        )
    if not as_json:
        _say_table(table, found)
    section = models_section(found.models) if models is None else {"kind": "table", "candidates": models}
    public_items = ask("--public", public, _reader_of(section, found, table, id_column), default=NONE, needed=False)
    sample = None if public_items is None else public_items.sample
    looked_at = table if public_items is None else public_items.file
    alike = models_alike(looked_at, found.models, found.values)
    if alike and not as_json:
        _say_alike(alike, looked_at)
    best = ask("--nu", nu, optional(UNKNOWN, share("nu")), default=UNKNOWN, needed=False)
    record = find(ask("--learner", learner, learner_id, default=standard_learner(), needed=False))
    numbers = {
        "epsilon": ask("--epsilon", epsilon, share("epsilon"), default="0.05", needed=False),
        "delta": ask("--delta", delta, share("delta"), default="0.05", needed=False),
        "rho": ask("--rho", rho, share("rho"), default="0.1", needed=False),
        "nu": best if record.uses("nu") and (best == 0 or record.id != "handicap") else None,
        "labs": labs,
        "batch": batch,
        "max_labels": max_labels,
    }
    reply = seed if seed is not None else ask("--seed", None, str, default=DRAWN, needed=False)
    text = seed if seed is not None else seed_text(reply)
    content: dict[str, Any] = {"schema": SCHEMA} | ({} if title is None else {"title": title})
    content |= {"seed": text, "class": section, "labels": {"values": list(found.values)}}
    content |= {} if sample is None else preference_section(record.id, "order", sample.section)
    content["learner"] = {"name": record.id} | {key: value for key, value in numbers.items() if value is not None}
    protocol, needed = write_protocol(content, out, sample)
    steps = list(next_steps(out, table, id_column, found.truth, None if public_items is None else public_items.file))
    if as_json:
        told: dict[str, Any] = {"file": str(out), "learner": record.id, "fingerprint": protocol.fingerprint}
        told |= {"models": found.models, "labels": found.values, "alike": alike, "next": steps}
        answer({"schema": "replical.init/1"} | told)
        return
    _say_choices(protocol, ordered=sample is not None, drawn=text != reply, told=best)
    say_written(protocol, out, needed, sample, standard_taken=False)
    _say_next(steps, table)


def _table(pool: Path | None) -> Path:
    """The table that was named, or that a person at a terminal names."""
    if pool is None and not at_a_terminal():
        raise BadUsage(
            "init reads models and labels from your table: replical init --pool FILE; to try it without one, replical "
            "quickstart makes a table"
        )
    return ask("--pool", pool, _existing_file)


def _existing_file(text: str) -> Path:
    if not Path(text).exists():
        raise BadTable(f"there is no file {text}")
    return Path(text)


def _say_table(table: Path, found: ModelColumns) -> None:
    """What was read from the table: whoever sees a column that is no model can leave it out."""
    labels = _some([label_text((value,)) for value in found.values])
    _line(f"{table}: {count(found.rows, 'item')}, {count(len(found.models), 'model')}, labels {labels}.")
    right = "" if found.truth is not None else " If one holds the right answers: --label-column COLUMN."
    _line(f"Models: {_some(found.models)}. If one is not: --leave-out COLUMN.{right}")
    if found.truth is not None:
        _line(f"The column {found.truth} holds the right answers; a run reads one when it asks for it.")
    if len(found.never) == 1:
        word = label_text(found.never)
        new = _command_line("protocol", "new", "--candidates", table, "--abstain", found.never[0], "--price", 0.1)
        _line(f"No right answer is {word}. If models abstain that way, it can have a price: {new}")
    if found.others:
        _line(f"Left alone: {_some(found.others)}.")


_ALIKE = 3  # groups of models, and models of a group, that are named


def _say_alike(groups: list[list[str]], table: Path) -> None:
    """Models that may be one model: only whoever made them knows."""
    names = "; ".join(listing(group[:_ALIKE], len(group)) for group in groups[:_ALIKE])
    more = f"; and {count(len(groups) - _ALIKE, 'more group')}" if len(groups) > _ALIKE else ""
    _line(
        f"The same on every item of {table}: {names}{more}. If that is one model, leave all but one out (--leave-out "
        f"{groups[0][-1]}); if not, a run may end with both, and says so."
    )


def _some(names: Sequence[Label]) -> str:
    """All names where they are few, else the first and the last ones."""
    texts = list(map(str, names))
    return ", ".join(texts if len(texts) <= _FEW else [*texts[:2], "..", *texts[-2:]])


def _line(text: str) -> None:
    prose.print(text, markup=False, soft_wrap=True)


def _command_line(*words: object) -> str:
    """A command of replical's, as one types it."""
    return shlex.join(["replical", *map(str, words)])


class PublicItems(NamedTuple):
    """The public labelled items, and the file they are from."""

    file: Path
    sample: PublicSample


def _reader_of(
    section: dict[str, Any], found: ModelColumns, table: Path, id_column: str
) -> Callable[[str], PublicItems | None]:
    """Reads FILE:COLUMN as public items of these models, which are not those of the table."""
    models = recipe(section, found.values, "")

    def read(text: str) -> PublicItems | None:
        if text.strip() in ("", NONE):
            return None
        file, column = file_and_column("--public", text)
        if file.exists() and file.samefile(table):
            raise BadUsage(f"public items belong to no lab, and {file} is your table: give --public a table of its own")
        sample = read_public(file, column, models)
        check_features(models, file, table, id_column=id_column, without=[column, *filter(None, [found.truth])])
        return PublicItems(file, sample)

    return read


def next_steps(out: Path, pool: Path, id_column: str, truth: str | None, public: Path | None) -> Iterator[str]:
    """The commands that come next, as one types them."""
    labels = ["--ask", "page"] if truth is None else ["--labels", f"{pool}:{truth}"]
    ids = [] if id_column == "id" else ["--id", id_column]
    apart = [] if public is None else ["--public", public]
    certificate = pool.with_suffix(".json").name
    files = ["--journal", pool.with_suffix(".db").name, "--out", certificate]
    for words in (
        ["run", out, "--pool", pool, *ids, *apart, *labels, *files],
        ["verify", certificate, "--pool", pool, *ids, "--journal", files[1]],
        ["compare", certificate, "OTHER-LAB.json"],
    ):
        yield _command_line(*words)


def _say_choices(protocol: Protocol, *, ordered: bool, drawn: bool, told: float | None) -> None:
    """Every number with one sentence why; how often the best model errs may have been `told` in vain."""
    chosen = protocol.content["learner"]
    more = f"{100 * chosen['epsilon']:g}"
    lines = {
        f"learner {chosen['name']}": LEARNER_WORDS.get(chosen["name"], "as you asked"),
        f"epsilon {chosen['epsilon']}": f"the chosen model makes at most {more} more errors in 100 items than the best",
        f"delta {chosen['delta']}": "how often that may be missed",
        f"rho {chosen['rho']}": "how often labs that prove their answers may have different models",
    }
    nu = chosen.get("nu")
    unknown = UNKNOWN if told is None else "left out"
    lines |= (
        {f"nu {unknown}": "how often the best model errs; this learner does without"}
        if nu is None
        else {f"nu {nu}": "how often the best model errs, at most"}
    )
    lines |= (
        {"order by errors": "on public items: good models come first"}
        if ordered
        else {"handicaps random": "public labelled items would put good models first: --public FILE:COLUMN"}
    )
    lines |= (
        {"seed drawn now": "all labs share this text; best is one that was drawn in public: --seed"} if drawn else {}
    )
    for what, why in lines.items():
        _line(f"  {what:18}{why}")


def _say_next(steps: list[str], table: Path) -> None:
    """What to type."""
    run, verify, compare = steps
    _line(f"Next, on {table}; every other lab does the same with its own table, which has the same columns:")
    _line(f"  {run}")
    _line("Then anyone can check the certificate, and compare it with another lab's:")
    _line(f"  {verify}")
    _line(f"  {compare}")
