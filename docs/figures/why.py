"""Draws the table of the README, from what `replical demo` measures.

    python docs/figures/why.py

Two public hundreds, one like the labs' items and one from elsewhere, and three ways to choose. The colours follow the
reader's light or dark setting; the picture brings its own ground, so that it can be read on a page of the other setting
too. It is narrow, so that a telephone shows it large enough.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from replical.cli.demo import ITEMS, PUBLIC, TEXTS, measure, trials
from replical.worlds.baseline import WAYS, Figures

OUT = Path(__file__).with_name("why.svg")
WIDTH, HEIGHT, EDGE = 500, 540, 14
LABELS, AGREE, PROVEN, EXCESS = 180, 262, 356, 376  # right edges of three columns, left edge of the last
PER_ERROR = (WIDTH - EXCESS) / 0.125  # of a bar
NOTES = (
    "favourite: fewest errors on the public flights",
    "usual way: fewest errors on these and as many of the lab's own",
    "* than the best model: mean (typical value)",
    f"{TEXTS} times, with new labs: {ITEMS:,} flights each, of 100,000 real",
    "No proof? Then handicap says so, and names the models left.",
)
STYLE = """
.ground { fill: #ffffff }
text { font: 16px system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 14px; fill: #57606a } .head { font-weight: 600 } .end { text-anchor: end }
.good { fill: #0a7c5a } .bad { fill: #b3402a } .plain { fill: #8c959f } .line { stroke: #d4d8dd }
@media (prefers-color-scheme: dark) {
  .ground { fill: #1d2425 }
  text { fill: #e6edf3 } .small { fill: #9aa4ae } .good { fill: #35c794 } .bad { fill: #f0907c } .line { stroke: #3a4149 }
}"""


def main() -> None:
    """Run the demo's labs and draw."""
    alike, elsewhere = (measure(trial) for trial in trials())
    parts = [
        text(0, 16, "Three labs choose one of twelve models", "head"),
        *panel(34, f"The {PUBLIC} public flights are like those of the labs", alike),
        *panel(238, "They are from elsewhere: half of them late", elsewhere),
        *(text(0, 460 + 19 * number, words, "small") for number, words in enumerate(NOTES)),
    ]
    body = "\n".join(parts)
    width, height = WIDTH + 2 * EDGE, HEIGHT + 2 * EDGE
    place = f'viewBox="{-EDGE} {-EDGE} {width} {height}" width="{width}" height="{height}"'
    ground = f'<rect class="ground" x="{-EDGE}" y="{-EDGE}" width="{width}" height="{height}" rx="6"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {place}>'
    OUT.write_text(f"{head}\n<style>{STYLE}\n</style>\n{ground}\n{body}\n</svg>\n", encoding="utf-8")
    for name, found in (("alike", alike), ("elsewhere", elsewhere)):
        for way in WAYS:
            print(f"{name}: {found[way]}")


def panel(top: int, title: str, found: dict[str, Figures]) -> list[str]:
    """One public hundred: a row for each way."""
    heads = ((LABELS, "labels"), (AGREE, "agree"), (PROVEN, "proven"))
    parts = [f'<line class="line" x1="0" y1="{top}" x2="{WIDTH}" y2="{top}"/>', text(0, top + 24, title, "head")]
    parts += [text(x, top + 48, words, "small end") for x, words in heads]
    parts.append(text(EXCESS, top + 48, "errs more*", "small"))
    for number, (way, name) in enumerate(WAYS.items()):
        parts += row(top + 78 + 44 * number, name, found[way])
    return parts


def row(y: int, name: str, of: Figures) -> list[str]:
    """Labels a lab, how often labs agree, who proves it, and a bar for the mean error above the best."""
    proves, bad = of.proven > 0, of.mean > 0.05
    width = max(2.0, of.mean * PER_ERROR)
    bar = f'<rect class="{"bad" if bad else "plain"}" x="{EXCESS}" y="{y + 8}" width="{width:.1f}" height="7"/>'
    return [
        text(0, y, name, "head"),
        text(LABELS, y, f"{of.labels:.0f}", "end"),
        text(AGREE, y, f"{of.same}/{of.texts}", "end"),
        text(PROVEN, y, f"{of.proven}/{of.labs}" if proves else "nothing", f"end {'good' if proves else ''}"),
        text(EXCESS, y, f"{of.mean:.3f} ({of.median:.3f})", "bad" if bad else ""),
        bar,
    ]


def text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(words)}</text>'


if __name__ == "__main__":
    main()
