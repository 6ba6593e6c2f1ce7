"""Makes the pictures of the tutorial: a run with handwritten digits, labelled at the page in a real browser.

    python docs/tutorial/screenshots.py

Needs scikit-learn, pillow, and Debian's chromium with its driver.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

ROOT = Path(__file__).parents[2]
FIGURES = Path(__file__).parent / "figures"
sys.path.insert(0, str(ROOT / "tests"))
from support.browser import browsers  # noqa: E402

LABELS = 60
SHOWN = "const it = document.querySelector('#item-id').innerText; return it.startsWith('Item') && it"
RULES = """# What to do

Say whether the digit is **even** or **odd**.

- Look at the picture only; nobody else's opinion is shown to you.
- Press `s` if you cannot say, `u` to take your last answer back.
"""


def make_files(folder: Path) -> None:
    """A protocol, a pool with pictures, and instructions."""
    digits = load_digits()
    X, parity = digits.data, np.where(digits.target % 2, "odd", "even")
    models = {f"logistic-{C}": LogisticRegression(C=C, max_iter=2000) for C in (0.0001, 0.001, 0.01)}
    models |= {f"knn-{k}": KNeighborsClassifier(k) for k in (1, 5, 25)}
    models |= {f"tree-{d}": DecisionTreeClassifier(max_depth=d, random_state=0) for d in (2, 4, 8)}
    public, rows = np.arange(500), np.arange(500, len(X))
    table = {"id": [f"digit-{row:04d}" for row in rows], "picture": [f"{row}.png" for row in rows]}
    for name, model in models.items():
        table[name] = model.fit(X[public], parity[public]).predict(X[rows])
    pq.write_table(pa.table(table), folder / "lab.parquet")
    (folder / "media").mkdir()
    for row in rows:
        picture = Image.fromarray((255 - digits.images[row] * 15.9).astype(np.uint8))
        picture.resize((240, 240), Image.Resampling.BICUBIC).save(folder / "media" / f"{row}.png")
    (folder / "models.txt").write_text("\n".join(models))
    (folder / "rules.md").write_text(RULES)


def main() -> None:
    """Serve, label a little, take pictures."""
    FIGURES.mkdir(exist_ok=True)
    replical = [sys.executable, "-m", "replical"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder)
        new = ["protocol", "new", "--out", "protocol.toml", "--candidates", "models.txt", "--label-values", "even,odd"]
        new += ["--learner", "rounded-a2", "--epsilon", ".1", "--delta", ".05", "--rho", ".1", "--kappa", ".03"]
        new += ["--batch", "3", "--seed", "tutorial", "--title", "Even or odd?"]
        subprocess.run([*replical, *new], cwd=folder, check=True)
        run = [
            "run",
            "protocol.toml",
            "--pool",
            "lab.parquet",
            "--ask",
            "page",
            "--show",
            "picture",
            "--media",
            "media",
        ]
        run += [
            "--instructions",
            "rules.md",
            "--journal",
            "lab.db",
            "--out",
            "lab.json",
            "--port",
            "0",
            "--truths",
            "0",
        ]
        server = subprocess.Popen([*replical, *run], cwd=folder, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            url = next(line.split()[-1] for line in server.stderr if line.startswith("Label at"))
            take(url)
        finally:
            server.terminate()
            server.wait()


def take(url: str) -> None:
    """Three pictures: desktop, phone, dark."""
    digits = load_digits().target
    with browsers() as window:
        desk = window(size=(1000, 900))
        desk.open(url)
        desk.type("#name", "Ann")
        desk.click("#who button")
        for _ in range(LABELS):
            shown = desk.until(SHOWN)
            odd = digits[int(shown.rpartition("-")[2])] % 2
            desk.click(f"#choices button:nth-child({1 + odd})")
            desk.until("return document.querySelector('#item-id').innerText !== arguments[0]", shown)
        desk.until(f"if (document.getAnimations().length) return false; {SHOWN}")
        desk.screenshot(FIGURES / "page.png")
        for name, options in (
            ("page-phone.png", {"phone": True}),
            ("page-dark.png", {"dark": True, "size": (1000, 900)}),
        ):
            other = window(**options)
            other.open(url)
            other.click("#who button")
            other.until(f"if (document.getAnimations().length) return false; {SHOWN}")
            other.screenshot(FIGURES / name)


if __name__ == "__main__":
    main()
