"""No number of a lattice's certificate is believed in silence, and forgeries that fit together are found out."""

import copy

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")

from faults.lab.test_forgeries import caught, judged
from replical.lab.certificate.verify import verify
from replical.lattice.certificate import cells_left
from support.certificates import resealed
from support.lab import Run
from support.linear import columns, content

RUNS = {
    "enclosed": ({}, {}),
    "not enclosed": ({"max_labels": 30}, {"items": 300}),
    "noisy": ({"nu": 0.05, "max_labels": 40}, {"items": 300, "wrong": 0.05}),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    made = {}
    for kind, (learner, items) in RUNS.items():
        folder = tmp_path_factory.mktemp("lattice")
        made[kind] = Run(folder, content(**learner), columns(**({"items": 600} | items)))
    yield made
    for run in made.values():
        run.journal.close()


def test_the_runs_are_what_they_are_called(runs):
    bodies = {kind: run.certificate["body"] for kind, run in runs.items()}
    assert bodies["enclosed"]["certified"]
    assert bodies["enclosed"]["rho_proven"] == 0.0
    assert not bodies["not enclosed"]["proof"]["enclosed"]
    assert bodies["noisy"]["rho_proven"] == 1.0
    assert bodies["noisy"]["proof"]["axes"] is None


@pytest.mark.parametrize("kind", RUNS)
def test_each_level_finds_a_run_to_be_right(runs, kind):
    run = runs[kind]
    for given in ((), (run.lab,), (run.lab, run.journal)):
        assert verify(run.certificate, *given).failed == ()


@pytest.mark.slow
@pytest.mark.parametrize("kind", RUNS)
def test_a_changed_number_is_found_out_or_listed(runs, kind):
    found, silent = judged(runs[kind])
    assert silent == []
    assert caught(found)["self"] > 100


def forged(run, change):
    """A certificate whose body was changed, sealed again as if it were one."""
    made = copy.deepcopy(run.certificate)
    change(made["body"], run.protocol)
    return resealed(made)


def neighbour(body, protocol):
    """Another cell, told as its own: number, words and direction fit, the bounds are moved with it."""
    C, part = protocol.recipe.C, body["proof"]
    cell = [part["cell"][0] + 1, *part["cell"][1:]]
    h = C.number(cell)
    body["hypothesis"] = {"index": h, "description": protocol.recipe.describe(h)}
    part |= {"cell": cell, "direction": C.normal(h).tolist()}
    part["axes"][0] = [round(each + 1, 6) for each in part["axes"][0]]
    body["survivors"] = cells_left(protocol.recipe, h, part["axes"])


def other_cell(body, protocol):
    """Another cell, and nothing else."""
    C = protocol.recipe.C
    cell = [body["proof"]["cell"][0] + 1, *body["proof"]["cell"][1:]]
    h = C.number(cell)
    body["hypothesis"] = {"index": h, "description": protocol.recipe.describe(h)}
    body["proof"] |= {"cell": cell, "direction": C.normal(h).tolist()}


def far_away(body, protocol):
    """A corner of the lattice where no half-space lies."""
    C, part = protocol.recipe.C, body["proof"]
    cell = [3] * C.d
    h = C.number(cell)
    body["hypothesis"] = {"index": h, "description": protocol.recipe.describe(h)}
    part |= {"cell": cell, "direction": C.normal(h).tolist(), "axes": [[3.2, 3.4]] * C.d}
    body["survivors"] = cells_left(protocol.recipe, h, part["axes"])


def turned(body, _):
    """The direction of somebody else."""
    body["proof"]["direction"] = [-each for each in body["proof"]["direction"]]


def narrowed(body, _):
    """Not all is in one cell, and it is said to be."""
    body["proof"]["enclosed"] = True


def proven(body, _):
    """Certified, without a proof."""
    body |= {"certified": True, "rho_proven": 0.0}
    body["verdict"] = {"certified": True, "why": "", "helps": ""}


def unchecked(body, protocol):
    """A run that never asked whether some half-space makes no error."""
    asked = protocol.recipe.C.d + 3
    body["rounds"] = body["rounds"][:asked]
    body["labels"] |= {"asked": asked, "answered": asked}
    body["transcript"]["entries"] = asked


def nowhere(body, protocol):
    """Bounds inside of the cell, and no half-space within them."""
    C, part = protocol.recipe.C, body["proof"]
    walls = (np.add(part["cell"], [[0.0], [1.0]]) + C.shift) * C.step
    inner = (np.abs(walls).argmin(axis=0) + np.array(part["cell"])).astype(float)
    part["axes"] = [[min(max(each, c), c + 1.0)] * 2 for each, c in zip(inner.tolist(), part["cell"], strict=True)]
    body["survivors"] = cells_left(protocol.recipe, body["hypothesis"]["index"], part["axes"])


def unbounded(body, _):
    """Labels follow from directions that nothing bounds."""
    body["proof"]["axes"] = None


def accurate(body, _):
    """An error that the items told do not have."""
    body["answer_error"]["high"] = 0.001


@pytest.mark.parametrize(
    ("kind", "change", "level"),
    [
        ("enclosed", neighbour, "journal"),
        ("enclosed", other_cell, "self"),
        ("enclosed", far_away, "self"),
        ("enclosed", turned, "self"),
        ("enclosed", accurate, "self"),
        ("enclosed", unchecked, "self"),
        ("enclosed", nowhere, "self"),
        ("not enclosed", unbounded, "self"),
        ("not enclosed", narrowed, "self"),
        ("not enclosed", proven, "self"),
        ("noisy", proven, "self"),
        ("noisy", turned, "self"),
    ],
)
def test_a_forgery_is_found_out(runs, kind, change, level):
    run = runs[kind]
    made = forged(run, change)
    given = {"self": (), "journal": (run.lab, run.journal)}[level]
    assert not verify(made, *given).valid
    if level == "journal":
        assert "hypothesis" in [each for check in verify(made).unchecked for each in check.fields]
