"""``replical doctor``: versions, optional parts, and whether this machine makes the published bits."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import typer

from replical import __version__
from replical.cli.output import AsJson, answer, prose
from replical.core.kernels import backend
from replical.core.randomness import wrong_words
from replical.gpu import device

_CORE = ("numpy", "scipy", "typer", "rich")
_OPTIONAL = (
    "pyarrow",
    "sqlalchemy",
    "starlette",
    "uvicorn",
    "matplotlib",
    "dask",
    "scikit-learn",
    "opendp",
    "cryptography",
    "numba",
    "torch",
)


def doctor_command(as_json: AsJson = False) -> None:
    """Show versions and optional parts, and test the shared randomness against its golden words."""
    versions = {name: _version(name) for name in (*_CORE, *_OPTIONAL)}
    wrong = wrong_words()
    if as_json:
        system = {"replical": __version__, "python": platform.python_version(), "packages": versions}
        bits = {"golden": not wrong, "wrong_words": wrong, "kernels": backend.in_use(), "cards": device.cards()}
        answer({"schema": "replical.doctor/1", **system, **bits})
    else:
        prose.print(f"replical {__version__}, Python {platform.python_version()}, {platform.platform()}")
        for name, version in versions.items():
            prose.print(f"  {name:<14} {version or 'not installed (optional)'}")
        prose.say(_kernels())
        for line in _cards():
            prose.say(line)
        verdict = "as published" if not wrong else f"WRONG at {', '.join(wrong)}: results will not match other labs"
        prose.say(f"Golden words of the shared randomness: {verdict}.")
    if wrong:
        raise typer.Exit(1)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cards() -> list[str]:
    if found := device.cards():
        return [
            f"Card {card['device']}: {card['name']}, {card['memory'] / 2**30:.1f} GiB of memory, "
            f"{card['free'] / 2**30:.1f} GiB free; --device {card['device']} uses it."
            for card in found
        ]
    why = backend.torch_trouble() or "PyTorch finds none here"
    remedy = "" if backend.torch_trouble() is None else ': pip install "replical[gpu]"'
    return [f"Cards: none that can be used, {why}{remedy}."]


def _kernels() -> str:
    if backend.in_use() == backend.NUMBA:
        return "Kernels: numba, once there is enough work to pay for loading it."
    return (
        f"Kernels: NumPy; numba would be faster, with the same results, but {backend.trouble()}: "
        'pip install "replical[fast]".'
    )
