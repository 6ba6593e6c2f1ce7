"""What the certificate of a lattice says: does it fit together, as far as that is seen without the journal?

Which cell it is, labels decide that nobody publishes. What follows from the bounds that are told of the directions left, is
recomputed; what no labels can have led to is found out. A check returns nothing if all is well, and a sentence if not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import size_of
from replical.lab.certificate.checks import (
    Checks,
    check_counts,
    check_hypothesis,
    check_summary,
    index_of,
)
from replical.lab.certificate.file import EnclosingPart, HypothesisSet, condition_part, shared_of
from replical.lab.protocol import Protocol
from replical.lattice.cones import cells_of, crossings_of
from replical.lattice.learner import CONTRADICTED, SEPARABLE, own_conditions
from replical.lattice.linear import Linear
from replical.lattice.plan import LatticePlan
from replical.learners.proof import is_count, is_number, same
from replical.learners.result import Enclosing, Result

_ROOM = 1e-3  # by which doubles and the lattice's axes may be off


def left(protocol: Protocol, result: Result) -> dict[str, HypothesisSet]:
    """How many cells are left, and the one chosen."""
    assert result.hypothesis is not None, "Lattice always has an answer"
    assert result.enclosing is not None, "and says whether it is enclosed"
    return cells_left(protocol, result.hypothesis, result.enclosing.axes)


def cells_left(protocol: Protocol, h: int, axes: Sequence[tuple[float, float]] | None) -> dict[str, HypothesisSet]:
    """How many cells are left between such bounds, listed where that is the answer alone; and the answer `h`."""
    count = size_of(protocol.recipe.C) if axes is None else cells_of(axes)
    answer: HypothesisSet = {"count": 1, "ranges": [[h, h]]}
    return {"survivors": answer if count == 1 else {"count": count, "ranges": []}, "kept": answer}


def part(protocol: Protocol, result: Result) -> EnclosingPart:
    """What a run of Lattice knows, as it is written."""
    assert result.enclosing is not None, "every run ends with it"
    return _part(protocol, result.enclosing)


def _part(protocol: Protocol, found: Enclosing) -> EnclosingPart:
    C = protocol.recipe.C
    assert isinstance(C, Linear), "whose cells they are"
    return {
        "enclosed": found.enclosed,
        "cell": list(found.cell),
        "direction": C.normal(C.number(found.cell)).tolist(),
        "axes": None if found.axes is None else [list(each) for each in found.axes],
        "wrong": found.wrong,
        "open": found.open,
    }


def by_itself(checks: Checks, body: Mapping[str, Any], protocol: Protocol) -> bool:
    """What the file alone shows of a run on a lattice; was it fit to be read on?"""
    readable = checks("the hypothesis is a cell of the lattice", lambda: check_hypothesis(body, protocol))
    readable &= checks("cell and direction are those of the hypothesis", lambda: _cell(body, protocol))
    readable &= checks("the bounds along the axes are bounds", lambda: _axes(body, protocol))
    if not readable:
        return False
    told = body["shared"]
    checks("the shared words follow from the string", lambda: same(told, shared_of(protocol, index_of(body))))
    checks("cells that are left follow from the bounds", lambda: _left(body, protocol))
    checks("the summary counts every item", lambda: check_summary(body, protocol))
    checks("labels, skips and rounds add up", lambda: check_counts(body, protocol))
    checks("the rounds follow the plan and are possible", lambda: _rounds(body, protocol))
    checks("every condition is recomputed", lambda: _conditions(body, protocol))
    checks("what is proven is what is certified", lambda: _proof(body, protocol))
    checks("the error is that of the items told", lambda: _error(body, protocol))
    return True


def _lattice(protocol: Protocol) -> tuple[Linear, LatticePlan]:
    C, plan = protocol.recipe.C, protocol.plan
    assert isinstance(C, Linear), "asked of lattices only"
    assert isinstance(plan, LatticePlan), "asked of lattices only"
    return C, plan


def _noisy(body: Mapping[str, Any]) -> bool:
    """Did labels contradict every half-space, or were they taken to?"""
    return any(each["name"] == SEPARABLE for each in body["conditions"])


def _enclosing(body: Mapping[str, Any], protocol: Protocol) -> Enclosing:
    """What the run knew, as far as it follows from the bounds, the counts and whether all is in one cell."""
    (_, plan), part = _lattice(protocol), body["enclosing"]
    axes = None if part["axes"] is None else tuple((low, high) for low, high in part["axes"])
    crossed = 1.0 if axes is None else crossings_of(axes)
    rho = 0.0 if part["enclosed"] else 1.0 if _noisy(body) else plan.rho_proven(crossed)
    accurate = not _noisy(body) and _most(body, plan) <= plan.epsilon
    return Enclosing(
        enclosed=part["enclosed"],
        certified=rho <= plan.rho and accurate,
        rho_proven=rho,
        rho_predicted=body["rho_predicted"],
        crossings=crossed,
        cell=tuple(part["cell"]),
        accurate=accurate,
        axes=axes,
        wrong=part["wrong"],
        open=part["open"],
    )


def _most(body: Mapping[str, Any], plan: LatticePlan) -> float:
    """The bound on the answer's error that follows from the items told."""
    part = body["enclosing"]
    return plan.error_at_most(part["wrong"] + part["open"], body["pool"]["items"])


def _cell(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Are cell and direction those of the answer's number, and does a half-space lie in the cell?"""
    C, _ = _lattice(protocol)
    part, cell = body["enclosing"], C.cell_of(index_of(body) or 0)
    if wrong := same(part["cell"], list(cell)):
        return wrong
    if not _holds_a_direction(C, np.add(cell, [[0.0], [1.0]])):
        return "no direction lies in this cell"
    return same(part["direction"], _part(protocol, _enclosing(body, protocol))["direction"])


def _holds_a_direction(C: Linear, ends: NDArray[np.float64]) -> bool:
    """Does some unit vector lie between the lower and the upper `ends`, in cells along the axes?"""
    walls = (ends + C.shift) * C.step
    nearest = np.where(walls[0] * walls[1] <= 0, 0.0, np.abs(walls).min(axis=0))
    return math.hypot(*nearest) <= 1 + _ROOM and math.hypot(*np.abs(walls).max(axis=0)) >= 1 - _ROOM


def _axes(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Are there bounds and counts of errors where nothing contradicts, in six digits, around the answer's cell?"""
    C, plan = _lattice(protocol)
    part = body["enclosing"]
    axes, wrong, unknown, items = part["axes"], part["wrong"], part["open"], body["pool"]["items"]
    if not isinstance(part["enclosed"], bool):
        return "everything lies in one cell or it does not"
    if _noisy(body) or plan.noisy:
        told = (part["enclosed"], axes, wrong, unknown, _noisy(body))
        return same(told, (False, None, None, None, True))
    if not (is_count(wrong) and is_count(unknown) and wrong + unknown <= items):
        return "items that the answer errs on, and those of which that is not known, are counts of the pool's items"
    if axes is None:
        if part["enclosed"]:
            return "nothing bounds what is left, and yet it lies in one cell"
        return None if (wrong, unknown) == (0, items) else "nothing bounds what is left, and yet labels follow from it"
    if len(axes) != C.d or not all(
        len(each) == 2 and all(map(_six_digits, each)) and each[0] <= each[1] for each in axes
    ):
        return f"there are {C.d} pairs of bounds in six digits, the smaller first"
    for cell, (low, high) in zip(part["cell"], axes, strict=True):
        if part["enclosed"] and not cell <= low <= high <= cell + 1:
            return f"everything that is left is said to lie in one cell, and reaches from {low} to {high} around {cell}"
        if not (low <= cell + 1 and cell <= high):
            return f"what is left lies between {low} and {high}, and the answer in cell {cell}"
    return None if _holds_a_direction(C, np.transpose(axes)) else "no direction lies between these bounds"


def _six_digits(value: Any) -> bool:
    """A number in six digits."""
    return is_number(value) and math.isfinite(value) and round(value, 6) == value


def _left(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Survivors are the cells between the bounds, kept is the answer."""
    told = cells_left(protocol, index_of(body) or 0, body["enclosing"]["axes"])
    return same({key: body[key] for key in told}, told)


def _rounds(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Items one by one while nothing contradicts; at least one label for each coordinate before anything is bounded."""
    C, plan = _lattice(protocol)
    rounds, items, asked = body["rounds"], body["pool"]["items"], body["labels"]["asked"]
    single = not (_noisy(body) or plan.noisy)
    for each in rounds:
        if each["disagreement"][1:] != [items] or each["disagreement"][0] > items:
            return f"round {each['round']}: disagreement is measured on {items} items"
        if not 1 <= each["survivors"] <= C.size or each["drawn"] != each["scanned"] or each["drawn"] < 1:
            return f"round {each['round']}: other items are looked at than are asked, or no cell is left"
        if single and each["drawn"] != 1:
            return f"round {each['round']}: the plan asks for one label per round"
    if rounds and rounds[0]["survivors"] != C.size:
        return "the first round begins with another number of cells than the lattice has"
    if body["enclosing"]["axes"] is not None and asked < C.d - 1:
        return f"{asked} labels bound no direction with {C.d} coordinates"
    if body["enclosing"]["enclosed"] and asked < C.d:
        return f"{asked} labels put no direction with {C.d} coordinates into one cell"
    if single and body["enclosing"]["axes"] is not None:
        # At least so many labels follow from others; of these the plan checks some, beside d - 1 that bound anything.
        known = items - body["enclosing"]["open"] - body["labels"]["skipped"]
        checks = min(plan.checks, known - (C.d - 1))
        if asked - (C.d - 1) < checks:
            return f"{asked} labels are fewer than bound the directions and check the answer {checks} times"
    most = plan.noisy_labels(items)
    return (
        None if single or asked <= max(most, body["labels"]["answered"]) else f"the plan asks for {most} labels at most"
    )


def _conditions(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    C, plan = _lattice(protocol)
    part = body["enclosing"]
    if _noisy(body):
        return same(body["conditions"], [condition_part(each) for each in (*plan.conditions, CONTRADICTED)])
    cells = C.size if part["axes"] is None else cells_of(part["axes"])
    own = own_conditions(plan, cells, _most(body, plan), enclosed=part["enclosed"])
    return same(body["conditions"], [condition_part(each) for each in (*plan.conditions, *own)])


def _proof(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """ρ follows from the bounds, what is certified from it and from the error; the verdict has words if it is not."""
    found, verdict = _enclosing(body, protocol), body["verdict"]
    claim = (body["certified"], body["labels_sufficient"], body["rho_proven"], verdict["certified"])
    if wrong := same(claim, (found.certified, found.certified, found.rho_proven, found.certified)):
        return wrong
    words = [verdict["why"], verdict["helps"]]
    if not all(isinstance(each, str) and (each == "") == found.certified for each in words):
        return "a verdict says in words why and what helps, if something is missing"
    predicted = body["rho_predicted"]
    if not (is_number(predicted) and round(predicted, 6) == predicted):
        return "the prediction of rho has six digits"
    return same(predicted, 0.0) if found.enclosed else None


def _error(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Estimate and bound follow from the items that the answer errs on, surely or perhaps."""
    _, plan = _lattice(protocol)
    if _noisy(body):
        return same(body["answer_error"], None)
    part, items = body["enclosing"], body["pool"]["items"]
    return same(
        body["answer_error"],
        {
            "estimate": (part["wrong"] + part["open"] / 2) / items,
            "low": 0.0,
            "high": _most(body, plan),
            "level": float(plan["delta"]),
            "of": "error",
            "labels": 0,
            "skipped": 0,
        },
    )
