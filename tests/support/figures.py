"""What is wrong with a figure of matplotlib: legends on curves, words on words, words beyond its edge."""

from itertools import combinations, pairwise

import numpy as np

NEAR = 3  # pixels: about half a marker
FAR = 1e5  # pixels: a line that long leaves the figure


def recorded(monkeypatch):
    """All figures that are saved from now on, instead of being saved."""
    from matplotlib.figure import Figure

    seen = []

    def record(figure, *_, **__):
        if not any(figure is other for other in seen):
            seen.append(figure)
            figure.draw_without_rendering()  # it is laid out, as if it had been saved

    monkeypatch.setattr(Figure, "savefig", record)
    return seen


def faults(figure):
    """Sentences, one a fault."""
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.legend import Legend

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    panels = figure.findobj(Axes)
    data = np.concatenate([np.empty((0, 2)), *map(_places, panels)])
    found = []
    for legend in figure.findobj(Legend):
        box = legend.get_window_extent(renderer).padded(NEAR)
        inside = int(sum(box.contains(x, y) for x, y in data))
        if inside:
            found.append(f"a legend lies on {inside} points of the data")
    words = [(text.get_text(), text.get_window_extent(renderer)) for text in _texts(figure, panels)]
    edge = figure.bbox.padded(1)
    for text, box in words:
        if box.x0 < edge.x0 or box.y0 < edge.y0 or box.x1 > edge.x1 or box.y1 > edge.y1:
            found.append(f"{text!r} is cut off")
    for (one, first), (two, second) in combinations(words, 2):
        if first.padded(-1).overlaps(second.padded(-1)):
            found.append(f"{one!r} lies on {two!r}")
    return found


def _places(axes):
    """Pixels on which data are drawn: along lines, at markers, along bars; shaded areas are no data."""
    parts = [np.empty((0, 2))]
    for line in axes.lines:
        path = line.get_path().transformed(line.get_transform())
        parts.append(_along(path) if line.get_linestyle() not in ("None", "none", "") else path.vertices)
    for collection in axes.collections:
        if len(collection.get_offsets()) > 1 or collection.get_paths() == []:
            parts.append(collection.get_offset_transform().transform(collection.get_offsets()))
        else:
            transform = collection.get_transform()
            parts += [_along(path.transformed(transform)) for path in collection.get_paths()]
    at = np.concatenate(parts)
    at = at[np.isfinite(at).all(axis=1)]
    low, high = axes.bbox.min - NEAR, axes.bbox.max + NEAR
    return at[((at >= low) & (at <= high)).all(axis=1)]


def _along(path):
    """Points of a line, close to each other."""
    at = path.vertices[np.isfinite(path.vertices).all(axis=1)]
    pieces = [(one, two) for one, two in pairwise(at) if np.abs(two - one).max() < FAR]
    return np.concatenate(
        [at, *(np.linspace(one, two, 2 + int(np.abs(two - one).max() / NEAR)) for one, two in pieces)]
    )


def _texts(figure, panels):
    """Everything that is written, but ticks that are not drawn."""
    from matplotlib.text import Text

    unseen = set()
    for axes in panels:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high or not axis.get_visible() or not axes.axison:
                    unseen |= {id(tick.label1), id(tick.label2)}
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [text for text in texts if id(text) not in unseen]
