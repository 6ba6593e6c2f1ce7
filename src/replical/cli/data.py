"""Tables in and out: ``replical data candidates``, ``predict`` and ``apply``.

Models fitted on public rows become a class, what they say about a lab's table a pool; a published rule labels a table.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.cli.inputs import never_over, whole
from replical.cli.labels import IdColumn
from replical.cli.output import answer, progress, prose
from replical.core.files import write_whole
from replical.core.parallel import cores
from replical.core.text import count
from replical.errors import BadTable, BadUsage, MissingExtra
from replical.lab.certificate.rule import read_rule

Workers = Annotated[
    int | None, typer.Option(parser=whole, help="processes that work at the same time; one a core if left out")
]


def candidates_command(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="the recipe, a TOML file")],
    public: Annotated[Path, typer.Option(help="public rows with features and labels: .parquet or .csv")],
    out: Annotated[Path, typer.Option(help="the folder to write; if it was begun before, it is continued")],
    id_column: IdColumn = "id",
    workers: Workers = None,
    skip_failed: Annotated[bool, typer.Option("--skip-failed", help="leave out models whose fit fails")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Fit every model of a recipe on public rows.

    The folder then has the models, candidates.csv for init --candidates, and order.txt, the public order by errors
    on rows that no model was fitted on, for init --prefer.
    """
    _needs_sklearn()
    from replical.sklearn.candidates import fit_candidates
    from replical.sklearn.family import Family

    never_over({"--out": out}, {"the recipe": recipe, "--public": public})
    family = Family.read(recipe)
    with progress("fitted") as update:
        models = fit_candidates(
            family,
            public,
            out,
            id_column=id_column,
            workers=_workers(workers),
            skip_failed=skip_failed,
            progress=update,
        )
    failed = [each["name"] for each in models.content["models"] if "failed" in each]
    best = models.content["order"][0]
    if as_json:
        told = {"candidates": len(models.names), "failed": failed, "best": best, "digest": models.content["digest"]}
        answer({"schema": "replical.models/1", **told, "folder": str(out)})
        return
    left_out = f" ({count(len(failed), 'fit')} failed and left out: {', '.join(failed[:5])})" if failed else ""
    prose.say(f"{count(len(models.names), 'candidate')} in {out}{left_out}.")
    prose.say(f"Best on the public rows held out: {best}.")
    values = ",".join(map(str, family.labels))
    prose.say(
        f"Next: replical init --candidates {out / 'candidates.csv'}:name --prefer {out / 'order.txt'} "
        f"--label-values {values} --out protocol.toml"
    )


def _needs_sklearn() -> None:
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise MissingExtra("candidates are fitted by scikit-learn: pip install 'replical[models]'") from error


def _workers(given: int | None) -> int:
    if given is not None and given < 1:
        raise BadUsage(f"--workers must be at least 1, got {given}")
    return cores() if given is None else given


def predict_command(
    models: Annotated[Path, typer.Argument(metavar="MODELS", help="the folder that replical data candidates wrote")],
    table: Annotated[Path, typer.Option(help="the lab's items with their features: .parquet or .csv")],
    out: Annotated[Path, typer.Option(help="the pool to write, a .parquet file")],
    id_column: IdColumn = "id",
    keep: Annotated[list[str] | None, typer.Option(help="a column of the table to keep, e.g. one to show")] = None,
    workers: Workers = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Write what every fitted candidate says about every item: a pool for replical run."""
    _needs_sklearn()
    import pyarrow as pa
    from pyarrow import parquet

    from replical.lab.columns import open_table
    from replical.lab.tables import read_features
    from replical.sklearn.models import Models

    never_over({"--out": out}, {"--table": table})
    if out.suffix != ".parquet":
        raise BadUsage(f"predictions are written as .parquet, got {out}")
    found = Models.read(models)
    ids, X = read_features(table, found.family.features, id_column=id_column)
    kept: dict[str, list[Any]] = {each: [] for each in keep or []}
    if id_column in found.names:
        raise BadUsage(
            f"a model is called {id_column} as the column of ids is: rename that column, and name it with --id COLUMN"
        )
    if clash := set(kept) & {id_column, *found.names}:
        raise BadUsage(f"--keep {sorted(clash)[0]}: a column of that name is written anyway")
    if kept:
        with open_table(table, (*kept,), texts=tuple(kept)) as rows:
            for block in rows.blocks([*kept], together=True):
                for name, column in block.columns.items():
                    kept[name] += column.to_pylist()
    with progress("models that predict") as update:
        said = found.predict(X, workers=_workers(workers), progress=update)
    content = {id_column: ids, **kept, **{name: pa.array(column).dictionary_encode() for name, column in said.items()}}
    write_whole(out, lambda part: parquet.write_table(pa.table(content), part), what="the pool", refuse=BadTable)
    if as_json:
        told = {"items": len(ids), "candidates": len(said), "models": found.content["digest"]}
        answer({"schema": "replical.predict/1", **told, "pool": str(out)})
        return
    prose.say(f"{count(len(ids), 'item')}, {count(len(said), 'candidate')}: {out}")


def apply_command(
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="the certificate of a rule on features")],
    table: Annotated[Path, typer.Option(help="items with the rule's columns: .parquet or .csv")],
    out: Annotated[Path, typer.Option(help="the CSV file to write: id and label")],
    id_column: IdColumn = "id",
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
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
