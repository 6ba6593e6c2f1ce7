"""What protocols may say: texts that are hard to write down, and a section for every kind of class."""

SECTIONS = {
    "thresholds": {"kind": "thresholds", "features": ["dose"], "cuts": [[0.5, 1.5, 2.5]]},
    "intervals": {"kind": "intervals", "features": ["dose"], "bins": 5, "range": [[0.0, 10.0]]},
    "stumps": {"kind": "stumps", "features": ["dose", "age"], "cuts": [[1.0], [40.0, 55.0]]},
    "boxes": {"kind": "boxes", "features": ["dose", "age"], "bins": 2, "range": [[0.0, 10.0], [20.0, 60.0]]},
    "halfspaces": {"kind": "halfspaces", "features": ["dose", "age"], "count": 7, "range": [[0.0, 10.0], [20.0, 60.0]]},
    "star": {"kind": "star", "features": ["cell"], "count": 4},
    "table": {"kind": "table", "candidates": [{"name": "a"}, {"name": "b"}]},
}


NASTY = ['"', "\\", "'''", '"""', "\n", "\r\n", "\t", "\x00", "\x1f", "\x7f", "\x85", "\u2028", "é", "é", "💥", "# no",
         "=", "]"]  # fmt: skip
