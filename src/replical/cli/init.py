"""``replical init``: a protocol, from a lab's table or from flags, and the commands that come next."""

from __future__ import annotations

import secrets
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.classes.base import Label
from replical.classes.catalogue import KINDS
from replical.classes.recipe import Recipe
from replical.cli import inputs as flags
from replical.cli import protocol_sections as sections
from replical.cli import questions
from replical.cli.order import ProtocolOrder, ask_order, by_columns, read_order
from replical.cli.output import AsJson, answer, prose
from replical.cli.protocol import check_new, say_written, write_protocol
from replical.cli.questions import MANY, SHORTLIST, Choices
from replical.core.text import count, listing
from replical.errors import BadProtocol, BadTable, BadUsage
from replical.lab.model_columns import ModelColumns, models_alike
from replical.lab.protocol import Protocol, recipe_of
from replical.lab.public import PublicSample, check_features, check_ids, read_public
from replical.lab.schema import SCHEMA
from replical.lab.tables import grouped_columns, read_groups, read_pool
from replical.learners.catalogue import find, standard_learner
from replical.learners.parameters import PARAMETERS
from replical.pools.groups import Groups

# What --set takes, beside the plan and what is about a class.
_RARE = tuple(name for name in PARAMETERS if name not in ("epsilon", "delta", "rho", "labs"))
_FEW = 20  # names that are all listed
_SHOWN = 8  # columns that are proposed to be shown, if there are no more


def init_command(
    pool: Annotated[Path | None, typer.Option(help="your table, a row an item: an id, what every model says")] = None,
    public: Annotated[
        str | None,
        typer.Option(
            help="FILE:COLUMN: labelled items that belong to no lab, to put good models first; FILE: without labels, of "
            "which a hundred are asked at a terminal, or what --prefer ORDER.json was made from"
        ),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(help="column with the right answers, if the table has one  [default: found by its name]"),
    ] = None,
    leave_out: flags.LeaveOut = None,
    id_column: flags.IdColumn = "id",
    out: Annotated[Path, typer.Option(help="the protocol to write")] = Path("protocol.toml"),
    epsilon: Annotated[
        float | None,
        flags.parameter("epsilon", "how much more often than the best the chosen may err  [default: 0.05]"),
    ] = None,
    delta: Annotated[float | None, flags.parameter("delta", "how often that may fail  [default: 0.05]")] = None,
    rho: Annotated[float | None, flags.parameter("rho", "how often two labs may differ  [default: 0.1]")] = None,
    labs: Annotated[int | None, flags.parameter("labs", "how many labs are to agree  [default: 2]")] = None,
    seed: Annotated[str | None, typer.Option(help="the published random text  [default: drawn now]")] = None,
    lab: Annotated[
        list[str] | None,
        typer.Option(help="a lab that takes part, NAME, or NAME=FILE with its public key; once for each, in an order"),
    ] = None,
    register: Annotated[bool, typer.Option("--register", help="labs register before their first label")] = False,
    beacon: Annotated[
        str | None,
        typer.Option(
            help="which public value, not known when labs register, takes part in their private seeds; in words"
        ),
    ] = None,
    candidates: flags.Candidates = None,
    values: flags.LabelValues = None,
    class_spec: Annotated[
        str | None,
        typer.Option("--class", help=f"rules in place of models: {flags.CLASSES}; or linear:D, without a list"),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="columns of a --class, e.g. age,dose, or a .txt or .csv with them (CSV: feature, low, high)"),
    ] = None,
    cuts: Annotated[
        str | None,
        typer.Option(
            help="where scores of --candidates are cut, e.g. .5; of --class thresholds or stumps: FILE:COLUMN,.. "
            "with public values, to cut at quantiles"
        ),
    ] = None,
    weights: flags.Weights = None,
    abstain: flags.Abstain = None,
    price: flags.Price = None,
    prefer: flags.Prefer = None,
    handicap: Annotated[
        str | None,
        typer.Option(
            help="where handicaps come from, if not from an order: exponentials, zero, cover:FILE of public unlabelled "
            "items, or values:FILE, a CSV with columns candidate and handicap"
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            help="handicap, or lattice for --class linear; the paper's: see replical paper audit --help",
            autocompletion=lambda: ["handicap", "lattice"],
        ),
    ] = None,
    given: flags.Set = None,
    title: Annotated[str | None, typer.Option(help="for people; not in the fingerprint")] = None,
    force: Annotated[bool, typer.Option("--force", help="replace an existing protocol")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="ask nothing: take what is proposed")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a protocol: for the models of a table (--pool), of a list (--candidates), or for rules (--class).

    Models and labels are read from the table (--pool). At a terminal it asks what flags leave open; elsewhere, and with
    --yes, everything else has a default. It says what to type next. --set takes the rare parameters: shortlist, group and
    group_size for items that belong together, group_weights, population, batch, max_labels, nu, theta, bins, step,
    intercept, those of a loss (loss, clip, grid, scores), and those of the paper's learners (plan, T, k_loop, ..).
    """
    rare = flags.settings(
        given, _RARE, {"plan": flags.PLAN, **sections.CLASS_KEYS, **sections.POOL_KEYS, **sections.LOSS_KEYS}
    )
    of_pool, of_loss = (
        {key: rare.pop(key) for key in keys if key in rare} for keys in (sections.POOL_KEYS, sections.LOSS_KEYS)
    )
    loss = _loss(of_loss, values, candidates)
    of_class, shortlist = {key: rare.pop(key, None) for key in sections.CLASS_KEYS}, rare.pop("shortlist", None)
    named = sections.features_of(features)
    check_new(out, force=force)
    apart = [*(leave_out or []), *(of_pool[key] for key in ("group",) if key in of_pool)]
    said = Choices(pool=pool, leave_out=apart, abstain=abstain, price=price, public=public, prefer=prefer,
        handicap=handicap, labs=labs, epsilon=epsilon, shortlist=shortlist)  # fmt: skip
    asks = questions.may_ask(yes=yes, as_json=as_json)
    if loss or (pool is None and (class_spec or candidates or cuts)):
        listed = sections.class_section(class_spec, candidates, cuts=cuts, bins=of_class["bins"], named=named)
        start = _Start(listed[0], ()) if loss else _begin(*listed, values, abstain)
    else:
        _no_rules({"--class": class_spec, "--cuts": cuts, "--set bins": of_class["bins"]})
        start = _read_and_ask(
            said,
            lambda: _read_table(said, out, id_column, label_column, values, candidates),
            asks=asks,
            ours=learner in (None, "handicap"),
            alone=not of_pool,
            lists_labs=bool(lab),
            quiet=as_json,
        )
    section, lists = sections.add_features(start.section, named), KINDS[start.section["kind"]].lists
    text = secrets.token_hex(16) if seed is None else seed
    epsilon, delta, rho = (
        _share(*each)
        for each in (("epsilon", said.epsilon, questions.EPSILON), ("delta", delta, 0.05), ("rho", rho, 0.1))
    )
    section |= sections.lattice_keys(section, epsilon, of_class["step"], of_class["intercept"])
    labels = sections.labels_section(start.values, weights, said.abstain, said.price, loss)
    class_recipe = recipe_of(section, labels, text)
    made, public_file, sample = _public_order(said, start, class_recipe, labels, id_column, asks, out)
    looked_at = start.table if public_file is None else public_file
    alike = models_alike(looked_at, start.found.models, start.found.values) if start.found and looked_at else []
    if alike and not as_json:
        _say_alike(alike, looked_at)
    record = find(standard_learner(lists=lists) if learner is None else sections.learner_id(learner))
    numbers = {
        "epsilon": epsilon,
        "delta": delta,
        "rho": rho,
        "labs": len(lab) if lab and len(lab) > 1 and said.labs is None and record.uses("labs") else said.labs,
        **rare,
    }
    content: dict[str, Any] = {"schema": SCHEMA} | ({} if title is None else {"title": title})
    content |= {"seed": text} | ({"register": True} if register else {})
    content |= ({} if beacon is None else {"beacon": beacon}) | {"class": section, "labels": labels}
    content |= _pool_section(of_pool, said, class_recipe, id_column)
    content |= _preference(
        record.id, made, sample, handicap, class_recipe, text, epsilon, None if made else said.prefer
    )
    if said.shortlist is not None:
        content["handicap"] = {"from": "exponentials"} | content.get("handicap", {}) | {"shortlist": said.shortlist}
    content["learner"] = {"name": record.id} | {key: value for key, value in numbers.items() if value is not None}
    content |= sections.labs_section(lab or [])
    protocol, needed = write_protocol(content, out, sample)
    steps = [*_next_steps(start, out, id_column, public_file)]
    if as_json:
        fields: dict[str, Any] = {"file": str(out), "learner": record.id, "fingerprint": protocol.fingerprint}
        fields |= {"models": start.models, "labels": list(start.values), "alike": alike, "next": steps}
        answer({"schema": "replical.init/1"} | fields)
        return
    if start.table is not None:
        _say_choices(protocol, ordered=protocol.preference.get("from") == "order", drawn=seed is None)
    elif seed is None:
        prose.say("The seed was drawn now; best is a text that was drawn in public: --seed.")
    say_written(protocol, out, needed, sample, standard_taken=start.table is None and learner is None, named=named)
    _say_next(steps, start.table)


def _pool_section(of_pool: dict[str, Any], said: Choices, models: Recipe, id_column: str) -> dict[str, Any]:
    """The section of a protocol about the labs' items; a table that is the population is named by its fingerprint."""
    asked = {} if said.group is None else {"group": said.group, "group_size": said.group_size}
    if "population" in of_pool:
        asked = {"population": read_pool(_table(said.pool), models, id_column=id_column).fingerprint}
    section = of_pool | asked
    if said.pool is not None and {"group", "group_size"} <= set(section):
        groups = Counter(read_groups(said.pool, section["group"], id_column=id_column).values())
        Groups(section["group_size"]).check([*groups.values()])
    return {"pool": section} if section else {}


@dataclass(frozen=True)
class _Start:
    """What a protocol begins with: the class and its labels; and what a table said, where they were read from one."""

    section: dict[str, Any]
    values: tuple[Label, ...]
    table: Path | None = None
    found: ModelColumns | None = None

    @property
    def models(self) -> list[str] | None:
        """The names of the models; None for rules."""
        listed = self.section.get("candidates")
        return None if listed is None else [each["name"] for each in listed]


def _begin(section: dict[str, Any], known: Sequence[Label], values: str | None, abstain: str | None) -> _Start:
    """Without a table of a lab's; the labels that are `known` need not be named."""
    known = sections.as_labels(label for label in known if str(label) != abstain)
    labels = known if values is None else sections.label_values(values)
    if len(labels) < 2:
        raise BadProtocol("the flag --label-values is missing: name the labels, e.g. --label-values no,yes")
    for label in known:
        if str(label) not in map(str, labels):
            raise BadProtocol(f"the models say {label!r}, which is none of the labels {values}: name every label")
    return _Start(section, labels)


def _loss(said: dict[str, Any], values: str | None, candidates: str | None) -> dict[str, Any]:
    """What is said of a loss, in place of a list of labels."""
    named = next((key for key in ("loss", "scores") if key in said), None)
    if said and named is None:
        raise BadUsage(f"{' and '.join(said)} is about a loss: name it too, e.g. --set loss=absolute")
    if named is not None and values is not None:
        raise BadUsage(f"with --set {named}={said[named]} labels are not listed: leave out --label-values")
    if named is not None and candidates is None:
        raise BadUsage(f"with --set {named}={said[named]} models say anything, so name them: give --candidates FILE")
    return said


def _share(name: str, said: float | None, usual: float) -> float:
    """A share that was given, or the usual one."""
    return float(PARAMETERS[name].check(usual if said is None else said))


def _no_rules(given: Mapping[str, object]) -> None:
    """Refuse, beside a table of models, what is about rules or scores."""
    for flag, said in given.items():
        if said is not None:
            raise BadUsage(f"{flag} is not about the models of a table: leave out {flag}, or --pool")


def _read_and_ask(
    said: Choices, read: Callable[[], _Start], *, asks: bool, ours: bool, alone: bool, lists_labs: bool, quiet: bool
) -> _Start:
    """What is read from a table; whoever can be asked is asked which, and about it."""
    if asks and said.pool is None:
        questions.ask(questions.about_the_table(), said)
    start = read()
    others = (*(start.models or []), *said.leave_out)
    grouped = grouped_columns(_table(start.table), others) if ours and alone else []
    if not quiet:
        _say_table(start, () if asks else grouped)
    if not asks or start.found is None:
        return start
    rest = questions.about_the_rest(said, start.found, grouped, labs=ours and not lists_labs, shortlist=ours)
    questions.ask(rest, said)
    return read()


def _read_table(
    said: Choices, out: Path, id_column: str, label_column: str | None, values: str | None, candidates: str | None
) -> _Start:
    """Models and labels, from a lab's table."""
    table = _table(said.pool)
    flags.never_over({"--out": out}, {"--pool": table})
    without, abstain = said.leave_out, said.abstain
    section, labels, found = sections.read_models(table, id_column, label_column, values, candidates, without, abstain)
    return _Start(section, labels, table, found)


def _table(pool: Path | None) -> Path:
    """The table that was named."""
    if pool is None:
        raise BadUsage(
            "init reads models and labels from your table, replical init --pool FILE, or takes --candidates FILE or "
            "--class SPEC; to try it without any, replical demo --files FOLDER makes tables"
        )
    if not pool.exists():
        raise BadTable(f"there is no file {pool}")
    return pool


def _public_order(
    said: Choices, start: _Start, models: Recipe, labels: Mapping[str, Any], id_column: str, asks: bool, out: Path
) -> ProtocolOrder:
    """An order that was made before or is made now, or the labelled items that make one."""
    file, public = said.prefer, said.public
    if file is not None and file.suffix == ".json":
        return read_order(file, public, start.table, models, id_column, instead=said.handicap)
    if said.by is not None:
        return ProtocolOrder(by_columns(said.by, models, descending=said.descending).section(models, None, said.by, ""))
    if public is None:
        return ProtocolOrder()
    if file is not None or said.handicap is not None:
        raise BadUsage("--public makes an order of its own: give it, or --prefer, or --handicap")
    if Path(public).is_file():
        if not asks or start.found is None or start.table is None:
            raise BadUsage(_without_a_column(public))
        draft, kept = {"class": start.section, "labels": labels}, out.with_suffix(".public.db")
        return ask_order(Path(public), start.table, models, draft, kept, start.found.shown, id_column)
    return _labelled_items(public, start, models, id_column)


def _without_a_column(public: str) -> str:
    """What to do with a public table of which no column was named."""
    column = questions.usual_column(Path(public)) or "COLUMN"
    return (
        f"--public {public} names no column: give --public {public}:{column} if it is labelled; if not, have a hundred "
        f"labels asked for first: replical data order {public} --ask page --journal public.db --out order.json"
    )


def _labelled_items(public: str, start: _Start, models: Recipe, id_column: str) -> ProtocolOrder:
    """The public labelled items of FILE:COLUMN, which make an order."""
    file, column = flags.file_and_column("--public", public)
    table, found = start.table, start.found
    if table is not None and file.exists() and file.samefile(table):
        raise BadUsage(f"public items belong to no lab, and {file} is your table: give --public a table of its own")
    sample = read_public(file, column, models)
    if table is not None and found is not None:
        check_ids(sample.items, str(file), table, id_column=id_column)
        check_features(models, file, table, id_column=id_column, without=[column, *filter(None, [found.truth])])
    return ProtocolOrder(None, file, sample)


def _preference(
    learner: str,
    made: dict[str, Any] | None,
    sample: PublicSample | None,
    handicap: str | None,
    models: Recipe,
    seed: str,
    epsilon: float,
    prefer: Path | None,
) -> dict[str, Any]:
    """The section of a protocol about who is preferred, where anybody is."""
    if made is not None:
        return sections.preference_section(learner, "order", made)
    if sample is not None:
        return sections.preference_section(learner, "order", sample.section)
    if handicap is not None:
        return {"handicap": sections.handicap_section(handicap, models, seed, epsilon)}
    prior = flags.read_prior(models.C, prefer)
    if prior.kind == "weights" and prior.values is not None:
        return sections.preference_section(learner, "weights", {"weights": prior.values.tolist()})
    if prior.places is not None:
        return sections.preference_section(learner, "order", {"order": prior.places.argsort().tolist()})
    return {}


def _say_table(start: _Start, grouped: Sequence[str]) -> None:
    """What was read from the table: whoever sees a column that is no model can leave it out."""
    table, found = start.table, start.found
    assert found is not None, "it was read"
    prose.say(
        f"{table}: {count(found.rows, 'item')}, {count(len(found.models), 'model')}, labels {_some(start.values)}."
    )
    right = "" if found.truth is not None else " If one holds the right answers: --label-column COLUMN."
    prose.say(f"Models: {_some(found.models)}. If one of them is no model: --leave-out COLUMN.{right}")
    if found.truth is not None:
        prose.say(f"The column {found.truth} holds the right answers; a run reads one when it asks for it.")
    if len(found.never) == 1 and found.never[0] in start.values:
        new = _command_line("init", "--pool", table, "--abstain", found.never[0], "--price", 0.1)
        prose.say(f"No right answer is {found.never[0]!r}. If models abstain that way, it can have a price: {new}")
    if found.others:
        prose.say(f"Left alone: {_some(found.others)}.")
    for column in grouped:
        prose.say(
            f"Do items with one {column} belong together? Then they are no draws of their own: --set group={column} --set "
            "group_size=N, where no lab has more than N of one."
        )


_ALIKE = 3  # groups of models, and models of a group, that are named


def _say_alike(groups: list[list[str]], table: Path | None) -> None:
    """Models that may be one model: only whoever made them knows."""
    names = "; ".join(listing(group[:_ALIKE], len(group)) for group in groups[:_ALIKE])
    more = f"; and {count(len(groups) - _ALIKE, 'more group')}" if len(groups) > _ALIKE else ""
    prose.say(
        f"The same on every item of {table}: {names}{more}. If that is one model, leave all but one out (--leave-out "
        f"{groups[0][-1]}); if not, a run may end with both, and says so."
    )


def _some(names: Sequence[Label]) -> str:
    """All names where they are few, else the first and the last ones."""
    texts = list(map(str, names))
    return ", ".join(texts if len(texts) <= _FEW else [*texts[:2], "..", *texts[-2:]])


def _command_line(*words: object) -> str:
    """A command of replical's, as one types it."""
    return shlex.join(["replical", *map(str, words)])


def _next_steps(start: _Start, out: Path, id_column: str, public: Path | None) -> Iterator[str]:
    """The commands that come next, as one types them; none where no table is known."""
    pool, found = start.table, start.found
    if pool is None or found is None:
        return
    show = ["--show", ",".join(found.shown)] if 0 < len(found.shown) <= _SHOWN else []
    labels = ["--ask", "page", *show] if found.truth is None else ["--labels", f"{pool}:{found.truth}"]
    ids = [] if id_column == "id" else ["--id", id_column]
    apart = [] if public is None else ["--public", public]
    certificate = pool.with_suffix(".json").name
    files = ["--journal", pool.with_suffix(".db").name, "--out", certificate]
    for words in (
        ["run", out, "--pool", pool, *ids, *apart, *labels, *files],
        ["verify", certificate, "--pool", pool, *ids, "--journal", files[1], *apart],
        ["compare", certificate, "OTHER-LAB.json"],
    ):
        yield _command_line(*words)


def _say_choices(protocol: Protocol, *, ordered: bool, drawn: bool) -> None:
    """Every number with one sentence why."""
    chosen = protocol.content["learner"]
    more = f"makes at most {100 * chosen['epsilon']:g} more errors in 100 items than the best"
    if protocol.recipe.losses is not None:
        more = f"loses at most {chosen['epsilon']:g} of a costliest error more than the best"
    lines = {
        f"learner {chosen['name']}": (
            "proves its answer whatever the models' errors are" if chosen["name"] == "handicap" else "as you asked"
        ),
        f"epsilon {chosen['epsilon']}": f"the chosen model {more}{protocol.plan.among}",
        f"delta {chosen['delta']}": "how often that may fail",
        f"rho {chosen['rho']}": "how often labs that prove their answers may have different models",
    }
    labs = chosen.get("labs", 2)
    lines[f"labs {labs}"] = f"the promise is about {'any two labs' if labs == 2 else 'all of them together'}"
    if "nu" in chosen:
        lines[f"nu {chosen['nu']}"] = "how often the best model errs, at most"
    if not ordered:
        lines["handicaps random"] = (
            "public labelled items would put good models first: --public FILE:COLUMN; or a hundred that are asked for: "
            "replical data order"
        )
    elif "public_column" in protocol.preference:
        lines["order by errors"] = "on public items: good models come first"
    else:
        lines["a public order"] = "good models come first"
    if ordered and protocol.plan.n > MANY and protocol.plan.members is None:
        lines["no shortlist"] = f"all {protocol.plan.n} are candidates. {SHORTLIST}: --set shortlist=20"
    if drawn:
        lines["seed drawn now"] = "all labs share this text; best is one that was drawn in public: --seed"
    for what, why in lines.items():
        prose.say(f"  {what:18}{why}")


def _say_next(steps: list[str], table: Path | None) -> None:
    """What to type."""
    if not steps:
        return
    run, verify, compare = steps
    prose.say(f"Next, on {table}; every other lab does the same with its own table, which has the same columns:")
    prose.say(f"  {run}")
    prose.say("Then anyone can check the certificate, and compare it with another lab's:")
    prose.say(f"  {verify}")
    prose.say(f"  {compare}")
