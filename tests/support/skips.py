"""What did not run, and what would run it: the last lines of a run of the tests."""

import re
from collections import Counter

from replical.errors import EXTRAS

PIP = "pip install -c constraints.txt -e '.[{}]'"
# Extras of packages that only tests import by these names.
EXTRA = EXTRAS | {"pandas": "frames", "polars": "frames", "psycopg": "postgres", "torch": "gpu", "numba": "fast",
                  "PyTorch": "gpu", "sphinx": "docs", "myst_nb": "docs", "nbclient": "docs", "PIL": "plot",
                  "cloudpickle": "study", "jsonschema": "test", "securesystemslib": "test", "skactiveml": "peers",
                  "vowpalwabbit": "peers"}  # fmt: skip
OTHER = {
    "chromium": "install chromium and chromedriver",
    "PostgreSQL": "install PostgreSQL's server programs (Debian: postgresql)",
    "layer in front of the disk": "Linux with a C compiler (Debian: gcc)", "openssl": "install openssl 3",
    "no bash": "install bash", "kill -9": "Linux or macOS", "process groups": "Linux or macOS",
    "limits on files": "Linux or macOS", "so many": "ulimit -n 4096",
}  # fmt: skip


def remedy(reason):
    """What would run a test that was skipped for this reason."""
    package = re.search(r"could not import '(\w+)", reason) or re.search(r"\b(PyTorch|numba)\b", reason)
    if package and package[1] in EXTRA:
        return PIP.format(EXTRA[package[1]])
    return next((what for word, what in OTHER.items() if word in reason), "see the reason")


def lines(reasons, expression=""):
    """One line for each remedy, and one for tests that an expression leaves out."""
    counts = Counter(map(remedy, reasons))
    first = {remedy(reason): reason for reason in reversed(reasons)}
    told = [f"  {counts[what]} skipped ({first[what]:.90}): {what}" for what in sorted(counts)]
    left = [name for name in ("slow", "nightly") if f"not {name}" in expression]
    return told + ([f"  tests marked {' or '.join(left)}: make nightly"] if left else [])
