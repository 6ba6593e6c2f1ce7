"""Tables: ``replical data import``, logs of evaluations as a table; ``data apply``, what a certified rule says of one."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from replical.cli.inputs import IdColumn, never_over
from replical.cli.output import AsJson, answer, prose, reading, warn
from replical.core.files import write_whole
from replical.core.text import count
from replical.errors import BadTable, BadUsage
from replical.evals.logs import FORMS, Form, What, find, join
from replical.evals.tables import write
from replical.lab.certificate.rule import read_rule


def import_command(
    logs: Annotated[list[str], typer.Argument(metavar="LOG..", help="a log, NAME=LOG to name its model, or a folder")],
    out: Annotated[Path, typer.Option(help="the table to write: .parquet or .csv")],
    what: Annotated[str, typer.Option(help="the cells: outputs, or scores")] = "outputs",
    answers: Annotated[str, typer.Option(help="what is kept of outputs: plain, text or number")] = "plain",
    metric: Annotated[str | None, typer.Option(help="a score of lm-evaluation-harness; its first if left out")] = None,
    task: Annotated[str | None, typer.Option(help="which task, or a pattern, if the logs hold several")] = None,
    reader: Annotated[str | None, typer.Option(help="other formats: the name of an installed package's reader")] = None,
    common: Annotated[bool, typer.Option("--common", help="leave out items that some model has not answered")] = False,
    as_json: AsJson = False,
) -> None:
    """Write logs of evaluations as one table: a row an item, a column a model, the right answers as label.

    It reads samples of lm-evaluation-harness, instances of Every Eval Ever (Inspect and HELM can be converted to these),
    and JSONL or CSV with item, model, output, score, gold.
    """
    if what not in ("outputs", "scores"):
        raise BadUsage(f"--what is outputs or scores, got {what!r}")
    if answers not in FORMS:
        raise BadUsage(f"--answers is {', '.join(FORMS[:-1])} or {FORMS[-1]}, got {answers!r}")
    if out.suffix not in (".parquet", ".csv"):
        raise BadUsage(f"a table ends in .parquet or .csv, got {out}")
    files = find(logs, "*" if reader else "*.jsonl")
    never_over({"--out": out}, {str(path): path for _, path in files})
    form: Form = answers  # type: ignore[assignment]
    cells: What = what  # type: ignore[assignment]
    with reading(Path("logs")) as update:
        joined = join(files, what=cells, form=form, metric=metric, task=task, reader=reader, progress=update)
    columns = joined.columns(common=common)
    write(columns, out)
    if joined.against:
        warn(
            f"of {count(joined.against, 'output')} the log's own score says otherwise than the right answer, first in "
            f"{joined.first}: --what scores takes the scores, --answers another form of outputs"
        )
    items, left_out = len(columns["id"]), len(joined.items) - len(columns["id"])
    if as_json:
        fields = {"items": items, "left_out": left_out, "models": list(joined.cells), "labelled": "label" in columns}
        answer({"schema": "replical.import/1", **fields, "against_score": joined.against, "table": str(out)})
        return
    labelled = ", with the right answers" if "label" in columns else ""
    without = f" ({count(left_out, 'item')} left out)" if left_out else ""
    words = f"{count(items, 'item')}{without}, {count(len(joined.cells), 'model')}{labelled}: {out}"
    prose.say(words)
    then = f"replical board {out}" + ("" if what == "outputs" else " --scores 0:1")
    if "label" in columns or what == "scores":
        prose.say(f"Next: {then}")


def apply_command(
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="the certificate of a rule on features")],
    table: Annotated[Path, typer.Option(help="items with the rule's columns: .parquet or .csv")],
    out: Annotated[Path, typer.Option(help="the CSV file to write: id and label")],
    id_column: IdColumn = "id",
    as_json: AsJson = False,
) -> None:
    """Write what a published rule says about every row of a table. The certificate is checked by itself first."""
    never_over({"--out": out}, {"the certificate": certificate, "--table": table})
    rule = read_rule(certificate)
    said = rule.predict(table, id_column=id_column)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([(id_column, "label"), *said.items()])
    write_whole(out, text.getvalue(), what="the labels", refuse=BadTable)
    counts = {str(label): list(said.values()).count(label) for label in rule.recipe.C.labels}
    if as_json:
        fields = {"rule": rule.words, "certified": rule.certified, "items": len(said), "labels": counts}
        answer({"schema": "replical.apply/1", **fields, "file": str(out)})
        return
    each = ", ".join(f"{label} {number:,}" for label, number in counts.items())
    proven = "" if rule.certified else " Not certified: other labs may have another rule."
    prose.say(f"{rule.words}: {count(len(said), 'item')} ({each}) in {out}.{proven}")
