"""Makes the picture of the README, from what `replical demo` measures.

    python docs/figures/why.py

Three labs with one text, and 60 texts, one square each. The colours follow the reader's light or dark setting; the
picture brings its own ground, so that it can be read on a page of the other setting too.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from replical.cli.demo import ITEMS, PUBLIC, SEED, TEXTS
from replical.core.parallel import cores, ordered_map
from replical.worlds.baseline import ArgmaxComparison, Choice, Outcome, identical
from replical.worlds.datasets import twelve_models

OUT = Path(__file__).with_name("why.svg")
WIDTH, HEIGHT = 860, 366
SIDE, GAP, ACROSS = 15, 4, 20  # squares, and how many in a row
EDGE = 14  # around everything
STYLE = """
.ground { fill: #ffffff }
text { font: 14px system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 12.5px; fill: #57606a } .head { font-weight: 600 }
.same { fill: #0a7c5a } .other { fill: #d4d8dd } .name { font-family: ui-monospace, monospace; font-size: 13px }
.agree { fill: #0a7c5a; font-weight: 600 } .differ { fill: #b3402a } .line { stroke: #d4d8dd }
@media (prefers-color-scheme: dark) {
  .ground { fill: #1d2425 }
  text { fill: #e6edf3 } .small { fill: #9aa4ae } .same { fill: #35c794 } .other { fill: #3a4149 }
  .agree { fill: #35c794 } .differ { fill: #f0907c } .line { stroke: #3a4149 }
}"""


def main() -> None:
    """Run the demo's labs and draw."""
    trial = ArgmaxComparison(world=twelve_models(ITEMS), seed=SEED, public=PUBLIC)
    outcomes = list(ordered_map(trial, range(TEXTS), cores()))
    labels = sum(choice.labels for outcome in outcomes for choice in outcome.handicap) / sum(
        len(outcome.handicap) for outcome in outcomes
    )
    shown = next(outcome for outcome in outcomes if outcome.proven and not identical(outcome.argmax))
    names = trial.world.C
    rows = [
        ("replical: handicap", "every lab proves it", "handicap"),
        ("fewest errors on as many labels", "the usual way; nothing is proven", "argmax"),
        ("the same, ties broken by the public order", "nothing is proven", "in_order"),
    ]
    parts = [
        text(0, 18, f"Three labs, twelve models, about {labels:.0f} labels per lab", "head"),
        text(LEFT, 18, f"{TEXTS} times, with new labs: all three the same?", "head"),
    ]
    for row, (title, note, way) in enumerate(rows):
        top = 46 + 112 * row
        parts.append(f'<line class="line" x1="0" y1="{top - 14}" x2="{WIDTH}" y2="{top - 14}"/>')
        parts += [text(0, top + 6, title, "head"), text(0, top + 24, note, "small")]
        for lab, choice in enumerate(getattr(shown, way)):
            agree = "agree" if identical(getattr(shown, way)) else "differ"
            parts.append(text(130 * lab, top + 52, f"lab {'ABC'[lab]}", "small"))
            parts.append(text(130 * lab, top + 72, described(names, choice), f"name {agree}"))
        parts += squares(outcomes, way, top)
    body = "\n".join(parts)
    width, height = WIDTH + 2 * EDGE, HEIGHT + 2 * EDGE
    place = f'viewBox="{-EDGE} {-EDGE} {width} {height}" width="{width}" height="{height}"'
    ground = f'<rect class="ground" x="{-EDGE}" y="{-EDGE}" width="{width}" height="{height}" rx="6"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {place}>'
    OUT.write_text(f"{head}\n<style>{STYLE}\n</style>\n{ground}\n{body}\n</svg>\n", encoding="utf-8")
    print(f"{OUT.name}: text {shown.text!r}; {labels:.1f} labels per lab")


LEFT = WIDTH - ACROSS * (SIDE + GAP) - 46


def described(names: object, choice: Choice) -> str:
    return names.describe(choice.model) if choice.model is not None else "no answer"  # type: ignore[attr-defined]


def squares(outcomes: list[Outcome], way: str, top: int) -> list[str]:
    """One square a text, those with one answer first; their number beside them."""
    same = sum(identical(getattr(outcome, way)) for outcome in outcomes)
    parts = []
    for number in range(len(outcomes)):
        x, y = LEFT + (SIDE + GAP) * (number % ACROSS), top + (SIDE + GAP) * (number // ACROSS)
        fill = "same" if number < same else "other"
        parts.append(f'<rect class="{fill}" x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" rx="2"/>')
    return [*parts, text(LEFT, top + 3 * (SIDE + GAP) + 18, f"{same} of {len(outcomes)}", "head")]


def text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(words)}</text>'


if __name__ == "__main__":
    main()
