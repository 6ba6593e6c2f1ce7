"""``replical data apply``: what the rule of a certificate says about a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from replical.cli.inputs import IdColumn, never_over
from replical.cli.output import Json, answer, prose
from replical.core.files import write_whole
from replical.core.text import count
from replical.errors import BadTable
from replical.lab.certificate.rule import read_rule


def apply_command(
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="the certificate of a rule on features")],
    table: Annotated[Path, typer.Option(help="items with the rule's columns: .parquet or .csv")],
    out: Annotated[Path, typer.Option(help="the CSV file to write: id and label")],
    id_column: IdColumn = "id",
    as_json: Json = False,
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
        told = {"rule": rule.words, "certified": rule.certified, "items": len(said), "labels": counts}
        answer({"schema": "replical.apply/1", **told, "file": str(out)})
        return
    each = ", ".join(f"{label} {number:,}" for label, number in counts.items())
    proven = "" if rule.certified else " Not certified: other labs may have another rule."
    prose.say(f"{rule.words}: {count(len(said), 'item')} ({each}) in {out}.{proven}")
