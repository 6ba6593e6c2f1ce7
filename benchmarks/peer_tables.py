"""Tables and the figure of benchmarks/peers.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from choosing_tables import ABOUT, about_row, agree_cell, markdown, share

from replical.study.pictures.style import colour, new_figure, save, style

Found = dict[str, Any]
OURS = {
    ("handicap", "public"): "replical handicap, public order",
    ("handicap", "random"): "replical handicap, exponentials",
    ("a2", "public"): "replical a2",
    ("public-first", "public"): "first of the public order",
}
PEERS = (
    "argmax",
    "argmax with the public items",
    "Model Picker",
    "scikit-activeml, random",
    "scikit-activeml, uncertainty",
    "scikit-activeml, committee",
    "Vowpal Wabbit",
)
NEW = ", new model"
COLUMNS = ("who", "labels per lab", "pairs that agree (95% interval)", "error above the best: mean (largest)",
           "labs above ε", "labs with a proof", "items that both answers label alike",
           "labels to reach ε (labs that did not)", "to reach .01")  # fmt: skip


def rows(found: Found, entries: list[Found]) -> Iterator[tuple[str, Found]]:
    """Names and figures in the order of the tables: ours, then who chooses a candidate, then who trains a new model."""
    known = {(each["method"], each["order"]): each for each in entries}
    for way, name in OURS.items():
        if way in known:
            yield name, known[way]
    for kind in ("", NEW):
        for name in PEERS:
            for budget in found["size"]["budgets"]:
                if (each := known.get((f"{name}{kind}, {budget}", "public"))) is not None:
                    yield f"{name}{kind}, budget {budget}", each


def cells(name: str, each: Found) -> list[str]:
    proves = each["method"] == "handicap"
    return [
        name,
        f"{each['labels_median']:,.0f}",
        agree_cell(each),
        error_cell(each),
        f"{each['excess_above_epsilon']} of {each['labs']}",
        share(each["certified"], each["labs"]) if proves else "",
        f"{100 * each['alike_mean']:.1f}%",
        *map(reached_cell, each["reached"]),
    ]


def reached_cell(each: Found) -> str:
    return f"{'never' if each['median'] is None else format(each['median'], ',.0f')} ({each['never']})"


def error_cell(each: Found) -> str:
    return f"{each['excess_mean']:+.4f} ({each['excess_max']:+.3f})"


def by_world(found: Found, title: str, cell: Callable[[Found], str]) -> str:
    """One row a way, one column a world; without rows in which there is nothing."""
    worlds = found["worlds"]
    listed = [list(rows(found, each["figures"])) for each in worlds]
    lines = ([some[0][0], *(cell(each) for _, each in some)] for some in zip(*listed, strict=True))
    shown = (line for line in lines if any(line[1:]))
    return f"**{title}**\n\n{markdown(('who', *(each['name'] for each in worlds)), shown)}"


def times(found: Found) -> str:
    """Milliseconds a label, the median, by items in the pool."""
    pools = found["times"]
    columns = ("who", *(f"{pool['items']:,} items" for pool in pools))
    lines = []
    for some in zip(*(pool["peers"] for pool in pools), strict=True):
        shown = ("not installed" if "missing" in each else milliseconds(each["median_ms"]) for each in some)
        lines.append([some[0]["who"], *shown])
    return "**Milliseconds of the processor for one label, median**\n\n" + markdown(columns, lines)


def milliseconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def own_number(found: Found, each: Found) -> str:
    """Labels, where they are not what a budget says."""
    budgets = (0, *found["size"]["budgets"])
    return "" if each["labels_median"] in budgets else f"{each['labels_median']:,.0f}"


def checks(found: Found) -> str:
    """What check_estimator of scikit-learn says."""
    lines = []
    for each in found["checks"]:
        counts = [str(each.get(status, 0)) for status in ("passed", "failed", "skipped")]
        why = "not installed" if "missing" in each else f"cannot be run: {each['error']}" if "error" in each else ""
        lines.append([f"`{each['who']}`", *((why, "", "") if why else counts)])
    return "**check_estimator**\n\n" + markdown(("estimator", "checks passed", "failed", "skipped"), lines)


def head(found: Found) -> str:
    """What was measured: versions, pools, strings."""
    known = {"replical": found["machine"]["replical"], **found["versions"]}
    versions = ", ".join(f"{name} {number}" for name, number in known.items())
    left = f" Not installed and left out: {', '.join(found['left_out'])}." if found["left_out"] else ""
    size, here = found["size"], found["machine"]
    return (
        f"{versions}; Python {here['python']}.{left}\n"
        f"Pools of {size['items']:,} items, {size['strings']} pairs of labs in each of {len(found['worlds'])} worlds.\n"
    )


def together(found: Found) -> str:
    """The table of docs/explanation/choosing.md: all worlds together."""
    return markdown(COLUMNS, (cells(*each) for each in rows(found, found["totals"])))


def overview(found: Found) -> str:
    """All worlds together, then agreement and error world by world, then times."""
    labels = by_world(found, "Labels per lab, median, where no budget says it", lambda each: own_number(found, each))
    agree = by_world(found, "Pairs that agree, world by world", lambda each: share(each["agreements"], each["pairs"]))
    error = by_world(found, "Error above the best, mean, world by world", lambda each: f"{each['excess_mean']:+.4f}")
    return "\n".join(
        [
            head(found),
            "**All worlds together**\n\n" + together(found),
            agree,
            error,
            labels,
            times(found),
            checks(found),
        ]
    )


def tables(found: Found) -> str:
    """All tables."""
    parts = [overview(found), "**The worlds**\n\n" + markdown(ABOUT, map(about_row, found["worlds"]))]
    for each in found["worlds"]:
        parts.append(
            f"**{each['name']}**\n\n" + markdown(COLUMNS, (cells(*row) for row in rows(found, each["figures"])))
        )
    return "\n".join(parts)


def shade(each: Found) -> str:
    """Ours have their own colours; of the others, new models stand apart."""
    if each["method"] in ("handicap", "a2"):
        return colour(each["method"])
    return "#CC79A7" if NEW in each["method"] else "#777777"


def figure(found: Found, path: Path) -> None:
    """One line a way: on the left how often two labs agree, on the right how much its answer errs above the best."""
    from matplotlib.ticker import PercentFormatter

    listed = list(rows(found, found["totals"]))
    names = [f"{name.split(', budget')[0]}: {each['labels_median']:,.0f} labels" for name, each in listed]
    with style():
        drawn = new_figure(10, 1.1 + 0.23 * len(listed))
        agree, error = drawn.subplots(1, 2, sharey=True)
        for place, (_, each) in enumerate(listed):
            look = {"marker": "o", "color": shade(each), "elinewidth": 0.9}
            y, mean = each["agreements"] / each["pairs"], each["excess_mean"]
            agree.errorbar(y, place, xerr=[[y - each["agreement_low"]], [each["agreement_high"] - y]], **look)
            error.errorbar(mean, place, xerr=[[0], [max(0.0, each["excess_99"] - mean)]], **look)
        agree.set(title="pairs of labs that agree", xlabel="bar: 95% interval", xlim=(-0.02, 1.02))
        agree.xaxis.set_major_formatter(PercentFormatter(1, 0))
        agree.set_yticks(range(len(listed)), names)
        agree.invert_yaxis()
        error.set(title="error above the best candidate's", xlabel="mark: mean, bar up to 99%; dashes: 0 and ε")
        for line in (0, found["setting"]["epsilon"]):
            error.axvline(line, color="black", lw=0.8, ls="--")
        for kind in (".svg", ".png"):
            save(drawn, path.with_suffix(kind))
