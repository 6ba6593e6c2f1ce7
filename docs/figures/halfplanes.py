"""Makes the picture of DIS(V) shrinking in the plane: one run of CAL over a net of half-planes.

python docs/figures/halfplanes.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.lines import Line2D

from replical.classes.catalogue import parse
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.learners.planning import learner_for, plan
from replical.study.pictures.style import new_figure, save, style
from replical.worlds.world import Population

OUT = Path(__file__).with_name("halfplanes.svg")
SEED, ITEMS, EDGE = "cost-of-replicability 1", 4000, 3.0
LOOKS = (0, 3, 8)  # labels after which the picture looks, and at the end
# Seen on white and on a dark ground: points are pixels, and those do not follow the reader's setting.
SETTLED, DISPUTED = ("#8a8f93", "#c98500"), "#2a8fcb"


def main() -> None:
    """Run CAL, keep V after every label, draw four of them."""
    C, cells = parse("halfspaces:2,2000", seed=SEED)
    target = int(np.argmin(np.abs(C.offsets)))  # the line that passes nearest to the middle
    lab = PrivateRandomness.simulated(SEED, "half-planes")
    population = Population(C, target=target, cells=cells)
    pool = population.pool(ITEMS, lab)
    cal = learner_for(plan("cal", C, epsilon=0.005, delta=0.05, pool="finite"))
    spaces, asked = run(cal, pool, population.labels(pool, lab))
    points, line = np.asarray(pool.items), (C.normals[target], C.offsets[target])
    looks = [*(after for after in LOOKS if after < len(asked)), len(asked)]
    with style():
        figure = new_figure(2.75 * len(looks), 3.5)
        for axes, after in zip(figure.subplots(1, len(looks)), looks, strict=True):
            draw(axes, points, spaces[after], asked[:after], line)
        figure.legend(handles=keys(), loc="outside lower center", ncols=6, columnspacing=1.2, handletextpad=0.3)
        save(figure, OUT)


def run(cal, pool, labels):
    """V before each label and at the end; the items asked, with their labels."""
    spaces, asked, conversation = [pool.version_space()], [], cal.run(pool, SharedRandomness(SEED))
    try:
        query = next(conversation)
        while True:
            answers = labels.answer(query)
            asked.append((int(query.items[0]), int(answers.counts[0].argmax())))
            spaces.append(spaces[-1].keep(spaces[-1].errors(answers) == 0))
            query = conversation.send(answers)
    except StopIteration:
        return spaces, asked


def draw(axes, points, V, asked, line) -> None:
    """Points disputed or settled, those asked, the target's line."""
    says = V.predictions.codes(int(V.indices[0]))
    parts = [(~V.disagreement & (says == code), shade) for code, shade in enumerate(SETTLED)]
    for chosen, shade in (*parts, (V.disagreement, DISPUTED)):
        x, y = points[chosen].T
        axes.plot(x, y, ".", color=shade, markersize=2.6, markeredgewidth=0, rasterized=True)
    w, b = line
    along = np.array([-2 * EDGE, 2 * EDGE])
    axes.plot(b * w[0] - along * w[1], b * w[1] + along * w[0], color="black", linewidth=1.2)
    for code, face in enumerate(("white", "black")):
        x, y = points[[item for item, label in asked if label == code]].T
        axes.plot(x, y, "o", markerfacecolor=face, markeredgecolor="black", markersize=5.5)
    axes.set_title(f"{len(asked)} labels: Δ(V) = {100 * float(V.mass):.2g}%, |V| = {V.size:,}", fontsize=8.5)
    axes.spines[:].set_visible(False)
    axes.set(xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE), xticks=[], yticks=[], aspect="equal")


def keys() -> list[Line2D]:
    """Entries of the legend."""
    dots = (("disputed, DIS(V)", DISPUTED), ("settled, label 0", SETTLED[0]), ("settled, label 1", SETTLED[1]))
    entries = [Line2D([], [], ls="", marker=".", color=shade, markersize=9, label=name) for name, shade in dots]
    for code, face in enumerate(("white", "black")):
        look = {"color": "black", "markerfacecolor": face, "markersize": 5.5}
        entries.append(Line2D([], [], ls="", marker="o", label=f"asked, label {code}", **look))
    return [*entries, Line2D([], [], color="black", linewidth=1.2, label="target")]


if __name__ == "__main__":
    main()
