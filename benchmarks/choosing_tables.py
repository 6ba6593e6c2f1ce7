"""Tables and the figure of benchmarks/choosing.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from replical.study.pictures.style import colour, new_figure, save, style

Found = dict[str, Any]
NAMES = {
    "settled": "Settled",
    "argmax": "argmax, as many labels as Settled",
    "model-picker-equal": "Model Picker, at most as many labels",
    "model-picker": "Model Picker, whole pool",
    "public-first": "first of the public order, no labels",
    "a2": "A²",
    "rounded-a2": "Rounded A²",
}


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%"


def markdown(columns: Iterable[str], rows: Iterable[list[str]]) -> str:
    columns = list(columns)
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in rows)]) + "\n"


def tables(found: Found) -> str:
    """All tables, one after the other."""
    pools = found["pools"]
    parts = ["The sets\n\n" + markdown(ABOUT, map(about_row, found["sets"]))]
    parts += [f"{title}, all sets, by items in a pool\n\n{side_by_side(pools, cell)}" for title, cell in CELLS.items()]
    for pool in pools:
        head = f"{pool['items']:,} items, all sets, {pool['strings']} strings each\n\n"
        parts.append(head + markdown(TOTALS, map(total_row, pool["totals"])))
    forecast = [row for pool in pools if any(each["forecasts"] for each in pool["sets"]) for row in forecast_rows(pool)]
    parts.append("Forecasts before the first label, all sets\n\n" + markdown(FORECASTS, forecast))
    for pool in pools:
        if any(each["forecasts"] for each in pool["sets"]):
            rows = markdown(FORECAST_SETS, map(forecast_row, pool["sets"]))
            parts.append(f"Forecasts, {pool['items']:,} items, set by set\n\n{rows}")
    parts += [f"{pool['items']:,} items, set by set\n\n" + markdown(SETS, map(set_row, pool["sets"])) for pool in pools]
    return "\n".join(parts)


ABOUT = ("set", "models", "labels", "rows", "best error", "second best: more by", "models within ε",
         "best on public items: excess, mean (largest)", "what it is")  # fmt: skip


def about_row(of: Found) -> list[str]:
    counts = (f"{of[name]:,}" for name in ("models", "labels", "rows"))
    errors = (f"{of[name]:.3f}" for name in ("best_error", "second_excess"))
    first = f"{of['public_first_excess_mean']:.4f} ({of['public_first_excess_max']:.3f})"
    return [of["name"], *counts, *errors, str(of["within_epsilon"]), first, of["words"]]


def side_by_side(pools: list[Found], cell: Callable[[Found], str]) -> str:
    """One row a way to choose, one column a pool size; without rows in which there is nothing."""
    columns = ("method", "order", *(f"{pool['items']:,}" for pool in pools))
    ways = zip(*(pool["totals"] for pool in pools), strict=True)
    rows = ([NAMES[some[0]["method"]], some[0]["order"], *map(cell, some)] for some in ways)
    return markdown(columns, (row for row in rows if any(row[2:])))


def agree_cell(each: Found) -> str:
    agree = share(each["agreements"], each["pairs"])
    return f"{agree} ({100 * each['agreement_low']:.0f} to {100 * each['agreement_high']:.0f}%)"


def certified_cell(each: Found) -> str:
    return share(each["certified"], each["labs"]) if each["method"] in ("settled", "rounded-a2") else ""


CELLS: dict[str, Callable[[Found], str]] = {
    "Pairs that agree (95% interval)": agree_cell,
    "Labs certified": certified_cell,
    "Labels a lab, typical (median)": lambda each: f"{each['labels_geometric']:,.0f} ({each['labels_median']:,.0f})",
    "Error above the best, mean (99%)": lambda each: f"{each['excess_mean']:.4f} ({each['excess_99']:.3f})",
}

TOTALS = ("method", "order", "pairs that agree (95% interval)", "certified labs", "certified and different",
          "wrong certificates", "labels: typical", "mean", "median", "excess: mean", "99%", "labs above ε")  # fmt: skip


def total_row(each: Found) -> list[str]:
    settled = each["method"] == "settled"
    proves = settled or each["method"] == "rounded-a2"
    return [
        NAMES[each["method"]],
        each["order"],
        agree_cell(each),
        certified_cell(each),
        f"{each['certified_and_different']} of {each['certified_pairs']}" if proves else "",
        f"{each['wrong_certificates']} of {each['certified']}" if settled else "",
        *(f"{each[name]:,.0f}" for name in ("labels_geometric", "labels_mean", "labels_median")),
        *(f"{each[name]:.4f}" for name in ("excess_mean", "excess_99")),
        f"{each['excess_above_epsilon']} of {each['labs']}",
    ]


FORECASTS = ("items", "method", "order", "typical ratio forecast / fact", "typical factor off", "within 2", "range covers",
             "certified: forecast", "fact")  # fmt: skip


def forecast_rows(pool: Found) -> list[list[str]]:
    """One row a method, over all sets."""
    rows = []
    for some in zip(*(each["forecasts"] for each in pool["sets"]), strict=True):
        ratios = [each["ratio"] for each in some]
        off = [max(ratio, 1 / ratio) for ratio in ratios]
        certified = (sum(each[name] for each in some) / len(some) for name in ("certified", "certified_fact"))
        rows.append(
            [
                f"{pool['items']:,}",
                NAMES[some[0]["method"]],
                some[0]["order"],
                f"{geometric_mean(ratios):.2f}",
                f"{median(off):.2f}",
                f"{sum(each <= 2 for each in off)} of {len(off)}",
                f"{sum(each['covered'] for each in some)} of {len(some)}",
                *(f"{100 * each:.0f}%" for each in certified),
            ]
        )
    return rows


FORECAST_SETS = ("set", "Settled: forecast (range)", "fact", "ratio", "Rounded A²: forecast (range)", "fact", "ratio")


def forecast_row(of: Found) -> list[str]:
    cells = [of["name"]]
    for each in of["forecasts"]:
        said = f"{each['labels']:,.0f} ({each['labels_low']:,.0f} to {each['labels_high']:,.0f})"
        cells += [said, f"{each['labels_fact']:,.0f}", f"{each['ratio']:.2f}"]
    return cells


SETS = ("set", "certified", "agree: Settled", "argmax", "Model Picker", "A²", "Rounded A²", "labels: Settled",
        "Model Picker", "A²", "Rounded A²", "excess: Settled", "argmax", "Model Picker", "A²", "Rounded A²")  # fmt: skip


def set_row(of: Found) -> list[str]:
    """One set; two figures in a cell belong to the public and the random order."""

    def cell(method: str, show: Callable[[Found], str]) -> str:
        return " / ".join(show(each) for each in of["figures"] if each["method"] == method)

    every = ("settled", "argmax", "model-picker", "a2", "rounded-a2")
    return [
        of["name"],
        cell("settled", lambda each: share(each["certified"], each["labs"])),
        *(cell(method, lambda each: share(each["agreements"], each["pairs"])) for method in every),
        cell("settled", lambda each: f"{each['labels_mean']:,.0f}"),
        *(f"{one(of, method)['labels_mean']:,.0f}" for method in every[2:]),
        *(cell(method, lambda each: f"{each['excess_mean']:.4f}") for method in every),
    ]


def one(of: Found, method: str) -> Found:
    """With the public order: labels of these methods do not depend on it."""
    return next(each for each in of["figures"] if (each["method"], each["order"]) == (method, "public"))


MARKS = {  # colour and marker
    "settled": (colour("settled"), "o"),
    "argmax": ("#555555", "X"),
    "model-picker": ("#CC79A7", "P"),
    "a2": (colour("a2"), "s"),
    "rounded-a2": (colour("rounded-a2"), "D"),
}


def figure(found: Found, path: Path) -> None:
    """Labels against agreement (the upper left is best) and against excess error (the lower left); a column a pool size."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullLocator, PercentFormatter, StrMethodFormatter

    pools = found["pools"]
    with style():
        drawn = new_figure(2.4 * len(pools) + 0.7, 6.4)
        axes = drawn.subplots(2, len(pools), sharex=True, sharey="row", squeeze=False)
        for (agree, excess), pool in zip(axes.T, pools, strict=True):
            for each in pool["totals"]:
                if each["method"] not in MARKS:
                    continue
                shade, mark = MARKS[each["method"]]
                look = {"marker": mark, "color": shade, "mfc": shade if each["order"] == "public" else "white"}
                look["zorder"] = 3 + (each["method"] == "settled") + 0.5 * (each["order"] == "public")
                look["markersize"] = 7 if each["order"] == "public" else 9  # so that both are seen in one place
                x, y = each["labels_geometric"], each["agreements"] / each["pairs"]
                x *= 1.06 if each["method"] == "argmax" else 1  # beside Settled, not on top of it
                bars = [[y - each["agreement_low"]], [each["agreement_high"] - y]]
                agree.errorbar(x, y, yerr=bars, elinewidth=0.9, **look)
                if each["method"] == "settled":
                    side, at = ("right", (-7, 0)) if each["order"] == "public" else ("left", (6, 7))
                    words = share(each["certified"], each["labs"])
                    agree.annotate(
                        words, (x, y), at, textcoords="offset points", ha=side, va="center", size=8, color=shade
                    )
                above = [[0], [each["excess_99"] - each["excess_mean"]]]
                excess.errorbar(x, each["excess_mean"], yerr=above, elinewidth=0.9, **look)
            agree.set(title=f"{pool['items']:,} items per lab", xscale="log", ylim=(0, 1.12))
            excess.set(xlabel="labels per lab", ylim=(-0.003, None))
            excess.axhline(found["epsilon"], color="black", lw=0.8, ls="--")
            excess.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
            excess.xaxis.set_minor_locator(NullLocator())
            excess.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        asked = [each["labels_geometric"] for pool in pools for each in pool["totals"] if each["method"] in MARKS]
        axes[0, 0].set_xlim(min(asked) / 1.6, max(asked) * 1.3)  # room for words beside the first mark
        axes[0, 0].set_ylabel("pairs of labs that agree (bar: 95% interval;\nbeside Settled: share of certified labs)")
        axes[0, 0].yaxis.set_major_formatter(PercentFormatter(1, 0))
        axes[1, 0].set_ylabel("error above the best model's\n(mark: mean, bar up to 99%, dashes: ε)")
        shown = [
            Line2D([], [], ls="", marker=mark, color=shade, markersize=8, label=NAMES[method])
            for method, (shade, mark) in MARKS.items()
        ]
        orders = [
            Line2D([], [], ls="", marker="o", color="black", mfc=fill, markersize=8, label=f"{order} order")
            for order, fill in (("public", "black"), ("random", "white"))
        ]
        drawn.legend(handles=[*shown, *orders], loc="outside lower center", ncols=5)
        for kind in (".svg", ".png"):
            save(drawn, path.with_suffix(kind))
