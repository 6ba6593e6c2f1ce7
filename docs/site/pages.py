"""Pages that are made from the code itself: every public name, every command. They are written anew with every site."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import replical
from replical.cli.commands import COMMANDS, GROUPS, app, load

# Which shelf a public name is on: by the room it lives in.
SHELVES = {
    "learners": "Learners, their plans and results",
    "lattice": "Half-spaces without a list",
    "classes": "Classes of hypotheses",
    "pools": "Items, labels and what is left",
    "core": "Randomness and limits",
    "lab": "A real lab: protocol, items, journal, run",
    "worlds": "Simulated worlds, audits, forecasts",
    "bounds": "Bounds",
}
SKLEARN = "scikit-learn's way"
MODULES = ("bounds.complexity", "bounds.subroutines", "errors")  # each on one page


def write(docs: Path) -> None:
    """Write `reference/api.md`, a page for each name below it, and `reference/commands.md`."""
    reference = docs / "reference"
    (reference / "api").mkdir(parents=True, exist_ok=True)
    shelves: dict[str, list[tuple[str, str]]] = {title: [] for title in (SKLEARN, *SHELVES.values())}
    for name, home in replical._HOMES.items():
        if home in MODULES:  # on the module's own page
            continue
        shelves[SHELVES[home.split(".", maxsplit=1)[0]]].append((name, f"replical.{name}"))
    estimators = importlib.import_module("replical.sklearn")
    shelves[SKLEARN] = [(name, f"replical.sklearn.{name}") for name in estimators.__all__]
    for names in shelves.values():
        for name, path in names:
            _put(reference / "api" / f"{name}.md", _name_page(name, path))
    modules = [(name.rpartition(".")[2], f"replical.{name}") for name in MODULES]
    for name, path in modules:
        _put(reference / "api" / f"{name}.md", _module_page(name, path))
    _put(reference / "api.md", _contents({**shelves, "Modules": modules}))
    _put(reference / "commands.md", commands_page())


def _put(file: Path, text: str) -> None:
    """Written only where it changed, so that an unchanged page is not built again."""
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def _contents(shelves: dict[str, list[tuple[str, str]]]) -> str:
    lines = [
        "# Python reference",
        "",
        "Every public name, from its docstring. `from replical import NAME` unless said.",
    ]
    for title, names in shelves.items():
        lines += ["", f"## {title}", "", "| name | |", "|---|---|"]
        lines += [f"| [`{name}`](api/{name}.md) | {_first_line(path)} |" for name, path in sorted(names)]
    every = sorted({name for names in shelves.values() for name, _ in names})
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *(f"api/{name}" for name in every), "```", ""])


def _first_line(path: str) -> str:
    doc = (_object(path).__doc__ or "").strip().splitlines()
    return doc[0].replace("|", "\\|") if doc else ""


def _object(path: str) -> Any:
    module, _, name = path.rpartition(".")
    found = getattr(importlib.import_module(module), name, None)
    return importlib.import_module(path) if found is None else found


def _name_page(name: str, path: str) -> str:
    thing = _object(path)
    kind = "autoclass" if isinstance(thing, type) else "autofunction"
    home = f"{thing.__module__}.{thing.__qualname__}"
    # Attributes that the docstring lists are described there; a property of the same name is not shown twice.
    listed = re.findall(r"^    (\w+)$", thing.__doc__ or "", re.MULTILINE)
    twice = [name for name in listed if isinstance(getattr(thing, name, None), property)]
    members = (
        [":members:", *([f":exclude-members: {', '.join(twice)}"] if twice else [])] if kind == "autoclass" else []
    )
    module = path.rpartition(".")[0]
    body = [f"# {name}", "", f"`from {module} import {name}`", "", "```{eval-rst}", f".. {kind}:: {home}"]
    return "\n".join([*body, *(f"   {option}" for option in members), "```", ""])


def _module_page(name: str, path: str) -> str:
    return "\n".join([f"# {name}", "", "```{eval-rst}", f".. automodule:: {path}", "   :members:", "```", ""])


def commands_page() -> str:
    """Every command with its usage, what it does and its options, as ``--help`` says."""
    import typer

    root = typer.main.get_command(app)
    context = root.make_context("replical", [], resilient_parsing=True)
    lines = ["# Commands", "", "What `replical COMMAND --help` says, for every command.", ""]
    lines += ["| command | |", "|---|---|"]
    for name, (_, line) in COMMANDS.items():
        lines.append(f"| [`{name}`](#replical-{name}) | {line} |")
        inside = GROUPS.get(name, {})
        lines += [f"| [`{name} {each}`](#replical-{name}-{each}) | {about} |" for each, (_, about) in inside.items()]
    for path, command in _commands():
        lines += _command(command, context, f"replical {' '.join(path)}", len(path) + 1)
    return "\n".join([*lines, ""])


def _commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command, and every group before its own."""
    for name in COMMANDS:
        yield (name,), load(name)
        for each in GROUPS.get(name, {}):
            command = load(name, each)
            yield (name, each), command
            yield from (((name, each, inner), part) for inner, part in getattr(command, "commands", {}).items())


def _command(command: Any, parent: Any, title: str, level: int) -> list[str]:
    context = type(parent)(command, info_name=title, parent=None, terminal_width=100, max_content_width=100)
    return ["", f"{'#' * level} {title}", "", "```text", command.get_help(context).strip(), "```"]
