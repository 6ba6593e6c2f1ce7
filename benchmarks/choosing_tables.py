"""Tables and the figure of benchmarks/choosing.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from replical.study.pictures.style import new_figure, save, style

Found = dict[str, Any]
Cell = Callable[[Found], str]
NAMES = {
    "handicap": "Handicap",
    "handicap, nu = 0": "Handicap, `nu = 0`",
    "usual": "usual way, as many labels",
    "public-first": "first of the public order, no labels",
}
PROVES = tuple(method for method in NAMES if method not in ("usual", "public-first"))


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%"


def markdown(columns: Iterable[str], rows: Iterable[list[str]]) -> str:
    columns = list(columns)
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in rows)]) + "\n"


def tables(found: Found) -> str:
    """All tables, one after the other."""
    pools = found["pools"]
    parts = ["The sets\n\n" + about_sets(found)]
    parts += [f"{title}, all sets, by items in a pool\n\n{side_by_side(pools, cell)}" for title, cell in CELLS.items()]
    parts.append("What labs know together, all sets\n\n" + together(pools))
    if found["growth"]:
        parts.append("Pools grown four times by half: labs certified\n\n" + growth(found["growth"]))
    for pool in pools:
        head = f"{pool['items']:,} items, all sets, {pool['strings']} strings each\n\n"
        parts.append(head + markdown(TOTALS, map(total_row, pool["totals"])))
    parts += [f"{pool['items']:,} items, set by set\n\n" + by_set(pool) for pool in pools]
    return "\n".join(parts)


def page(found: Found) -> list[str]:
    """The tables of docs/explanation/choosing.md."""
    pools = found["pools"]
    tables = [summary(pools), summary(pools, "generated"), together(pools), growth(found["growth"])]
    return [*tables, about_sets(found)]


def summary(pools: list[Found], part: str = "totals") -> str:
    """One row a way to choose and pool size, of the ways that were tried on every set."""
    rows = []
    for method, order in dict.fromkeys((each["method"], each["order"]) for pool in pools for each in pool["totals"]):
        for pool in pools:
            for each in pool[part]:
                if (
                    (each["method"], each["order"]) == (method, order)
                    and method in NAMES
                    and each["sets"] == max(one["sets"] for one in pool[part])
                ):
                    known = [cell(each) for cell in CELLS.values()]
                    rows.append([NAMES[method], words(method, order), f"{pool['items']:,}", *known])
    return markdown(("method", "handicaps or order", "items", *CELLS), rows)


def about_sets(found: Found) -> str:
    return markdown(ABOUT, map(about_row, found["sets"]))


ABOUT = ("set", "models", "labels", "rows", "best error", "second best: more by", "models within ε",
         "best on public items: excess, mean (largest)", "what it is")  # fmt: skip


def about_row(of: Found) -> list[str]:
    counts = (f"{of[name]:,}" for name in ("models", "labels", "rows"))
    errors = (f"{of[name]:.3f}" for name in ("best_error", "second_excess"))
    first = f"{of['public_first_excess_mean']:.4f} ({of['public_first_excess_max']:.3f})"
    return [of["name"], *counts, *errors, str(of["within_epsilon"]), first, of["words"]]


def side_by_side(pools: list[Found], cell: Callable[[Found], str]) -> str:
    """One row a way to choose, one column a pool size; without rows in which there is nothing."""
    columns = ("method", "handicaps or order", *(f"{pool['items']:,}" for pool in pools))
    known = [{(each["method"], each["order"]): each for each in pool["totals"]} for pool in pools]
    ways = dict.fromkeys(way for of_pool in known for way in of_pool if of_pool[way]["sets"] == most(pools))
    rows = ([NAMES[way[0]], words(*way), *(cell(some[way]) if way in some else "" for some in known)] for way in ways)
    return markdown(columns, (row for row in rows if any(row[2:])))


def most(pools: list[Found]) -> int:
    return max(each["sets"] for pool in pools for each in pool["totals"])


def words(method: str, order: str) -> str:
    """Where handicaps or the order come from."""
    if (method, order) == ("handicap", "random"):
        return "exponentials"
    return "public, from elsewhere" if order == "elsewhere" else order


def together(pools: list[Found]) -> str:
    """One common survivor, and the joint tolerance: of one lab, two and three."""
    columns = ("items", "handicaps", "one lab left with one survivor", "two: one common", "three: one common",
               "no common survivor", "ideal answer not among the common", "tolerance of one lab: median (90%), at most ε",
               "of two", "of three")  # fmt: skip
    rows = []
    for pool in pools:
        for each in pool["totals"]:
            known = [one for one in each["together"] if one is not None]
            if each["sets"] < most(pools) or not known:
                continue
            alone = [share(one["one_common"], one["groups"]) for one in known]
            wrong = [f"{one[name]} of {one['groups']}" for name in ("none_common", "wrong") for one in known[-1:]]
            tolerance = [
                f"{one['tolerance_median']:.3f} ({one['tolerance_90']:.3f}), {share(one['tolerance_within'], one['groups'])}"
                for one in known
                if one["tolerance_median"] is not None
            ]
            cells = [*filled(alone), *wrong, *filled(tolerance)]
            rows.append([f"{pool['items']:,}", words(each["method"], each["order"]), *cells])
    return markdown(columns, rows)


def filled(cells: list[str]) -> list[str]:
    return [*cells, *[""] * (3 - len(cells))]


def growth(found: list[Found]) -> str:
    rows = [
        [
            words("handicap", each["order"]),
            f"{each['items'][0]:,}",
            *(share(count, each["labs"]) for count in each["certified"]),
            f"{each['wrong']} of {each['certified'][-1]}",
        ]
        for each in found
    ]
    return markdown(("handicaps", "items at first", "first", "×1.5", "×2.25", "×3.4", "×5.1", "wrong"), rows)


def agree_cell(each: Found) -> str:
    agree = share(each["agreements"], each["pairs"])
    return f"{agree} ({100 * each['agreement_low']:.0f} to {100 * each['agreement_high']:.0f}%)"


def certified_cell(each: Found) -> str:
    return share(each["certified"], each["labs"]) if each["method"] in PROVES else ""


CELLS: dict[str, Cell] = {
    "Pairs that agree (95% interval)": agree_cell,
    "Labs certified": certified_cell,
    "Labels a lab, typical (median)": lambda each: f"{each['labels_geometric']:,.0f} ({each['labels_median']:,.0f})",
    "Error above the best: mean": lambda each: f"{each['excess_mean']:.4f}",
    "median": lambda each: f"{each['excess_median']:.4f}",
    "99%": lambda each: f"{each['excess_99']:.3f}",
}

TOTALS = ("method", "order", "pairs", "pairs that agree (95% interval)", "certified labs", "certified and different",
          "wrong certificates", "labels: typical", "mean", "median", "excess: mean", "median", "99%",
          "labs above ε")  # fmt: skip


def total_row(each: Found) -> list[str]:
    proves = each["method"] in PROVES
    return [
        NAMES[each["method"]],
        words(each["method"], each["order"]),
        f"{each['pairs']}",
        agree_cell(each),
        certified_cell(each),
        f"{each['certified_and_different']} of {each['certified_pairs']}" if proves else "",
        f"{each['wrong_certificates']} of {each['certified']}" if proves else "",
        *(f"{each[name]:,.0f}" for name in ("labels_geometric", "labels_mean", "labels_median")),
        *(f"{each[name]:.4f}" for name in ("excess_mean", "excess_median", "excess_99")),
        f"{each['excess_above_epsilon']} of {each['labs']}",
    ]


def by_set(pool: Found) -> str:
    """One row a set; in each cell labels, certified labs, pairs that agree, mean excess error."""
    ways = dict.fromkeys(
        (each["method"], each["order"]) for of in pool["sets"] for each in of["figures"] if each["method"] in PROVES
    )
    rows = []
    for of in pool["sets"]:
        known = {(each["method"], each["order"]): each for each in of["figures"]}
        rows.append([of["name"], *(set_cell(known[way]) if way in known else "" for way in ways)])
    return markdown(("set", *(f"{NAMES[way[0]]}, {words(*way)}" for way in ways)), rows)


def set_cell(each: Found) -> str:
    certified, agree = each["certified"] / each["labs"], each["agreements"] / each["pairs"]
    return f"{each['labels_mean']:,.0f} · {certified:.2f} · {agree:.2f} · {each['excess_mean']:.4f}"


MARKS = {  # colour and marker
    "handicap": ("#111111", "o"),
    "usual": ("#888888", "X"),
}


def drawn_in_it(each: Found) -> bool:
    return each["method"] in MARKS and each["order"] != "elsewhere"


def figure(found: Found, path: Path) -> None:
    """Labels against agreement (the upper left is best) and against excess error (the lower left); a column a pool size."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullLocator, PercentFormatter, StrMethodFormatter

    pools = found["pools"]
    largest = [each["excess_99"] for pool in pools for each in pool["totals"] if drawn_in_it(each)]
    top = 1.1 * max(found["epsilon"], *largest)
    with style():
        drawn = new_figure(2.4 * len(pools) + 0.7, 6.4)
        axes = drawn.subplots(2, len(pools), sharex=True, sharey="row", squeeze=False)
        for (agree, excess), pool in zip(axes.T, pools, strict=True):
            for each in pool["totals"]:
                if not drawn_in_it(each):
                    continue
                shade, mark = MARKS[each["method"]]
                look = {"marker": mark, "color": shade, "mfc": shade if each["order"] == "public" else "white"}
                look["zorder"] = 3 + (each["method"] == "handicap") + 0.5 * (each["order"] == "public")
                look["markersize"] = 7 if each["order"] == "public" else 9  # so that both are seen in one place
                x, y = each["labels_geometric"], each["agreements"] / each["pairs"]
                x *= 1.06 if each["method"] == "usual" else 1  # beside Handicap, not on top of it
                bars = [[y - each["agreement_low"]], [each["agreement_high"] - y]]
                agree.errorbar(x, y, yerr=bars, elinewidth=0.9, **look)
                if each["method"] == "handicap":
                    side, at = ("right", (-7, 0)) if each["order"] == "public" else ("left", (6, 7))
                    words = share(each["certified"], each["labs"])
                    agree.annotate(
                        words, (x, y), at, textcoords="offset points", ha=side, va="center", size=8, color=shade
                    )
                above = [[0], [each["excess_99"] - each["excess_mean"]]]
                excess.errorbar(x, each["excess_mean"], yerr=above, elinewidth=0.9, **look)
            agree.set(title=f"{pool['items']:,} items per lab", xscale="log", ylim=(0, 1.12))
            excess.set(xlabel="labels per lab", ylim=(-0.003, top))
            excess.axhline(found["epsilon"], color="black", lw=0.8, ls="--")
            for each in pool["totals"]:
                if (each["method"], each["order"]) == ("public-first", "public"):
                    excess.axhline(each["excess_mean"], color=MARKS["usual"][0], lw=1.2, ls=":")
            excess.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
            excess.xaxis.set_minor_locator(NullLocator())
            excess.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        asked = [each["labels_geometric"] for pool in pools for each in pool["totals"] if each["method"] in MARKS]
        axes[0, 0].set_xlim(min(asked) / 1.6, max(asked) * 1.3)  # room for words beside the first mark
        axes[0, 0].set_ylabel("pairs of labs that agree (bar: 95% interval;\nbeside Handicap: share of certified labs)")
        axes[0, 0].yaxis.set_major_formatter(PercentFormatter(1, 0))
        axes[1, 0].set_ylabel("error above the best model's\n(mark: mean, bar up to 99%, dashes: ε)")
        (ours, dot), (grey, cross) = MARKS["handicap"], MARKS["usual"]
        shown = [
            Line2D([], [], ls="", marker=mark, color=shade, mfc=fill, markersize=8, label=words)
            for shade, mark, fill, words in (
                (ours, dot, ours, "Handicap, public order"),
                (ours, dot, "white", "Handicap, exponentials"),
                (grey, cross, grey, NAMES["usual"]),
            )
        ]
        favourite = Line2D([], [], color=grey, lw=1.2, ls=":", label="public favourite: all agree")
        drawn.legend(handles=[*shown, favourite], loc="outside lower center", ncols=2)
        for kind in (".svg", ".png"):
            save(drawn, path.with_suffix(kind))
